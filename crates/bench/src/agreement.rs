//! Agreements that live a year, for `x811-bench restart`: what a ledger that holds them takes of memory, and
//! what they add to a start.

use rayon::prelude::*;
use serde_json::{Map, Value, json};
use std::ops::Range;
use std::time::Duration;
use x811_client::compose::{Advert, AnsweredTerms, ComposeError, SessionStep};
use x811_ledger::clock::ManualClock;
use x811_protocol::canonical::members_to_canonical;
use x811_protocol::capability::version::{Version, VersionRange};
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::id::SessionId;

use super::broken;
use super::history::PastClock;
use super::ledger::BenchLedger;
use super::traffic::{Agents, Conversation, Message, Pair};
use x811_console::failure::Failure;

/// What every agent here offers, and everybody agrees on.
const TYPE: &str = "tool.api";

/// The one version there is.
const VERSION: &str = "1.0.0";

/// A year: none of them ends while it is measured.
const DURATION_S: u64 = 31_536_000;

/// Sessions whose messages are in memory together.
const PART: usize = 1_000;

/// Sessions at once.
const AT_ONCE: usize = 256;

/// Longer than nonces are held for: what they take is no part of an agreement.
const FORGOTTEN: Duration = Duration::from_secs(20 * 60);

/// Has the first `count` agents publish what they offer, for the `revision`th time.
async fn advertise(
    ledger: &BenchLedger<ManualClock>,
    agents: &Agents,
    clock: &PastClock,
    (revision, count): (u64, usize),
) -> Result<(), Failure> {
    let adverts = (0..count).map(|number| {
        let advert = Advert {
            agent: agents.did(number),
            revision,
            descriptor: descriptor(),
        };
        let sealed = agents.tell_at(number, ledger.did(), &advert, clock);
        sealed.map(Message::from)
    });
    let adverts: Result<Vec<Message>, ComposeError> = adverts.collect();
    ledger.accept_all(adverts.map_err(broken)?).await
}

/// Has every agent publish what it offers.
pub(super) async fn prepare(
    ledger: &BenchLedger<ManualClock>,
    agents: &Agents,
    clock: &PastClock,
) -> Result<(), Failure> {
    advertise(ledger, agents, clock, (1, agents.count())).await?;
    ledger.rows_caught_up().await
}

/// Has those made between the agents that have these numbers, and forgets everything but them.
pub(super) async fn make(
    ledger: &BenchLedger<ManualClock>,
    agents: &Agents,
    clock: &PastClock,
    numbers: Range<usize>,
    revision: u64,
) -> Result<(), Failure> {
    let protocol = versions()?;
    let end = numbers.end;
    for first in numbers.step_by(PART) {
        let numbers = first..end.min(first + PART);
        let ledger_did = ledger.did();
        let sessions = numbers.into_par_iter().map(|number| {
            session(&agents.pair(number).at(clock), ledger_did, &protocol).map_err(broken)
        });
        let sessions: Vec<Conversation> = sessions.collect::<Result<_, Failure>>()?;
        ledger.converse(sessions, AT_ONCE).await?;
        ledger.rows_caught_up().await?;
    }
    clock.pass(FORGOTTEN);
    // The next record forgets what is too old.
    advertise(ledger, agents, clock, (revision, 1)).await?;
    ledger.rows_caught_up().await
}

fn descriptor() -> Map<String, Value> {
    members(json!({
        "min_version": VERSION, "max_version": VERSION, "deprecated_versions": [],
        "capabilities": [{
            "type": TYPE, "category": "tool_access", "version": VERSION, "parameters": {},
            "constraints": {}, "availability": "available",
        }],
    }))
}

/// Everything that two say until both have signed.
fn session(
    pair: &Pair<'_>,
    ledger: Did,
    protocol: &VersionRange,
) -> Result<Conversation, ComposeError> {
    let request = pair.ask(&SessionStep::Request {
        capability: TYPE.to_owned(),
        protocol: protocol.clone(),
        parameters: Map::new(),
        renews: None,
    })?;
    let session = SessionId::from(request.header.id);
    let response = pair.reply(&SessionStep::Response {
        session,
        willing: true,
        lifetime_ms: None,
    })?;
    let terms = members(json!({"duration_s": DURATION_S, "max_requests": 1_000}));
    let offer = pair.ask(&SessionStep::Offer {
        session,
        terms: terms.clone(),
    })?;
    let accept = pair.reply(&SessionStep::Accept {
        answers: AnsweredTerms {
            session,
            step: offer.header.id,
        },
        terms_hash: Digest::of(&members_to_canonical(&terms)),
    })?;
    let agreement = members(json!({
        "ledger": ledger, "agreement_id": session, "revision": 1, "session_id": session,
        "consumer": pair.initiator(), "provider": pair.provider(), "type": TYPE, "version": VERSION,
        "parameters": {}, "terms": terms,
    }));
    let [consumer, provider] = pair.sign(&agreement)?;
    let said = [request, response, offer, accept, consumer, provider];
    Ok(said.into_iter().map(Message::from).collect())
}

fn versions() -> Result<VersionRange, Failure> {
    let version: Version = VERSION.parse().map_err(broken)?;
    Ok(VersionRange {
        min: version,
        max: version,
        deprecated: Vec::new(),
    })
}

fn members(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Map::new()
        }
    }
}
