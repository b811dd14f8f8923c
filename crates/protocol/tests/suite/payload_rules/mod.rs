//! What a payload must look like, member by member: AE-38 to AE-67 and the resolutions of part 12
//! that touch a single payload. The examples are those of the specification's section 8, with its
//! broken hashes and addresses corrected as part 13 of the requirement list says.

#![expect(
    clippy::unwrap_used,
    reason = "what a test's own fixture lacks fails that test"
)]

mod advertise;
mod answers;
mod checklist;
mod facts_form;
mod forms;
mod freeze;
mod messages;
mod negotiation;
mod offer;
mod payment;
mod reference_sdk;
mod registration;
mod request;
mod result;
mod rotation;

use serde_json::{Map, Value};
use x811_protocol::code::Code;
use x811_protocol::did::Did;
use x811_protocol::facts::Facts;
use x811_protocol::payload::{self, PayloadRules};
use x811_protocol::refusal::Refusal;

const INITIATOR: &str = "did:x811:019c8c61-8129-7511-9f31-aa5142e65448";
const LEDGER: &str = "did:x811:019c8c61-8129-7511-9f31-aa5142e65449";
const REQUEST_ID: &str = "0190a1b2-c3d4-7e5f-8901-234567890abc";
const OFFER_ID: &str = "0190a1b2-d4e5-7f60-9012-345678901bcd";
/// SHA-256 of the content in the specification's RESULT example.
const RESULT_HASH: &str = "6a4e66853ecb9d0e5c024b930a629f8c524673cae37055c9171d4243a2820c9f";
const PROVIDER_ADDRESS: &str = "0x742D35CC6634C0532925a3B844Bc9E7595F2bD18";
const INITIATOR_ADDRESS: &str = "0xaBC1234567890DeFAbC1234567890DefABc12345";
const ZERO_ADDRESS: &str = "0x0000000000000000000000000000000000000000";

/// What a row of a table expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Accepted,
    Refused(Code, u16),
}

const ACCEPTED: Verdict = Verdict::Accepted;
const MALFORMED: Verdict = Verdict::Refused(Code::InvalidStateTransition, 400);
const GUARD: Verdict = Verdict::Refused(Code::InvalidStateTransition, 422);
const BAD_ADDRESS: Verdict = Verdict::Refused(Code::InvalidPaymentAddress, 400);
const BAD_TX_HASH: Verdict = Verdict::Refused(Code::InsufficientBalance, 400);

fn did(text: &str) -> Did {
    text.parse().unwrap()
}

fn object(payload: &Value) -> &Map<String, Value> {
    payload.as_object().unwrap()
}

fn facts_under(rules: &PayloadRules, kind: &str, payload: &Value) -> Result<Facts, Refusal> {
    let read = read_under(rules, kind, payload);
    freeze::refusal(kind, payload, read.as_ref().err());
    read
}

/// The same, of a payload that is in no table.
fn read_under(rules: &PayloadRules, kind: &str, payload: &Value) -> Result<Facts, Refusal> {
    payload::facts(
        &kind.parse().unwrap(),
        did(INITIATOR),
        object(payload),
        rules,
    )
}

fn facts(kind: &str, payload: &Value) -> Result<Facts, Refusal> {
    facts_under(&PayloadRules::default(), kind, payload)
}

/// The record form of an accepted payload's facts.
fn recorded(kind: &str, payload: &Value) -> Value {
    facts(kind, payload).unwrap().to_value()
}

/// The payload with one member replaced, or removed when `member` is `None`.
fn with(payload: &Value, name: &str, member: Option<Value>) -> Value {
    let mut payload = payload.clone();
    let members = payload.as_object_mut().unwrap();
    match member {
        Some(value) => members.insert(name.to_owned(), value),
        None => members.remove(name),
    };
    payload
}

/// Puts every value in the place of one member of a good payload and compares the verdicts. Every
/// refusal must name the member.
fn check_member(
    kind: &str,
    good: &Value,
    name: &str,
    table: impl IntoIterator<Item = (Option<Value>, Verdict)>,
) {
    assert!(facts(kind, good).is_ok(), "the unchanged example is good");
    for (member, expected) in table {
        let shown = member.clone();
        let outcome = facts(kind, &with(good, name, member));
        assert_eq!(
            verdict(&outcome),
            expected,
            "{kind} {name} = {shown:?}: {outcome:?}"
        );
        if let Err(refusal) = outcome {
            assert!(
                refusal.message.contains(name),
                "{name} is named in {:?}",
                refusal.message
            );
            assert!(refusal.message.chars().count() <= 512);
        }
    }
}

fn verdict(outcome: &Result<Facts, Refusal>) -> Verdict {
    match outcome {
        Ok(_) => Verdict::Accepted,
        Err(refusal) => Verdict::Refused(refusal.code, refusal.http_status()),
    }
}
