//! Somebody with the database changes a record and writes every hash behind it anew: signatures,
//! facts and the rules still speak.

use serde_json::{Value, json};
use x811_audit::Cause;

use super::base::{Base, tx};
use super::deal::{Deal, TOTAL_MICRO_USDC, Until};
use super::ledgerbox::impatient;
use super::party::Account;
use super::scene::{
    Kept, Parts, audit, causes_at, exported, found, names, pay, settled_and_disputed,
};

/// Message, member, what it is changed to, and what has to be found at that record.
type Change = (&'static str, &'static str, Value, &'static [Cause]);

const FACTS: &[Cause] = &[Cause::FactsDiffer];
const DECISION: &[Cause] = &[Cause::ReDecisionDiffers];
const FACTS_AND_DECISION: &[Cause] = &[Cause::FactsDiffer, Cause::ReDecisionDiffers];
const ENVELOPE: &[Cause] = &[Cause::EnvelopeDiffers];
const ENVELOPE_AND_DECISION: &[Cause] = &[Cause::EnvelopeDiffers, Cause::ReDecisionDiffers];
const LATER_MS: u64 = 1_767_312_999_999;
const STRANGER: &str = "0x00000000000000000000000000000000000000b1";

fn first_messages() -> Vec<Change> {
    let did = "did:x811:019b76da-a800-7000-8000-0000000000d1";
    let (request, offer, register) = ("x811/request", "x811/offer", "x811.registry/register");
    let proof: &[Cause] = &[Cause::ProofInvalid, Cause::FactsDiffer];
    vec![
        (register, "/capabilities", json!(["more"]), FACTS),
        (register, "/wallets", json!([]), FACTS),
        (register, "/wallets/0/address", json!(STRANGER), proof),
        (request, "/facts/max_budget", json!("9000000"), FACTS),
        (
            request,
            "/facts/task_type",
            json!("other"),
            FACTS_AND_DECISION,
        ),
        (request, "/envelope/to", json!(did), ENVELOPE_AND_DECISION),
        (
            request,
            "/derived/deadline_at_ms",
            json!(LATER_MS),
            DECISION,
        ),
        (offer, "/facts/expiry_s", json!(299), FACTS),
        (offer, "/facts/price", json!("1"), &[Cause::Unreadable]),
        (offer, "/derived/payee", json!(STRANGER), DECISION),
        (
            offer,
            "/derived/deadline_at_ms",
            json!(LATER_MS),
            &[Cause::StateDiffers],
        ),
    ]
}

fn later_messages() -> Vec<Change> {
    let other = || json!("a".repeat(64));
    let (accept, payment) = ("x811/accept", "x811/payment");
    let digest: &[Cause] = &[Cause::SignatureInvalid, Cause::BodyChanged];
    vec![
        (accept, "/facts/offer_hash", other(), FACTS_AND_DECISION),
        (accept, "/envelope/digest", other(), digest),
        (accept, "/envelope/nonce_tag", other(), ENVELOPE),
        (
            accept,
            "/envelope/created_ms",
            json!(LATER_MS),
            ENVELOPE_AND_DECISION,
        ),
        (
            "x811/result",
            "/derived/deadline_at_ms",
            json!(LATER_MS),
            DECISION,
        ),
        (
            "x811/verify",
            "/facts/result_hash",
            other(),
            FACTS_AND_DECISION,
        ),
        (payment, "/facts/amount", json!("1"), FACTS_AND_DECISION),
        (payment, "/envelope/size", json!(1), ENVELOPE),
        (
            "x811/error",
            "/code",
            json!("X811-4001"),
            FACTS_AND_DECISION,
        ),
    ]
}

#[tokio::test]
async fn promise_4_a_changed_member_is_found_after_rehashing() {
    let bytes = exported(&settled_and_disputed().await).await;
    for (message, member, to, causes) in first_messages().into_iter().chain(later_messages()) {
        let mut parts = Parts::of(&bytes);
        let at = parts.find_message(message);
        let before = std::mem::replace(parts.records[at].member(member), to.clone());
        assert_ne!(before, to, "{message}{member} is changed");
        let report = audit(&parts.rehashed());
        let here = causes_at(&report, at as u64);
        for cause in causes {
            assert!(
                here.contains(cause),
                "{message}{member}: no {cause} in {:?}",
                found(&report)
            );
        }
    }
}

#[tokio::test]
async fn promise_4_a_foreign_key_is_found() {
    let mut parts = Parts::of(&exported(&settled_and_disputed().await).await);
    let (offer, accept) = (
        parts.find_message("x811/offer"),
        parts.find_message("x811/accept"),
    );
    for member in ["/envelope/key", "/envelope/from"] {
        let foreign = parts.records[offer].member(member).clone();
        *parts.records[accept].member(member) = foreign;
    }
    let report = audit(&parts.rehashed());
    let here = causes_at(&report, accept as u64);
    assert!(here.contains(&Cause::SignatureInvalid), "{here:?}");
}

/// The attacker signs with a key of their own and writes it into the record.
#[tokio::test]
async fn promise_4_a_key_that_was_never_registered_is_found() {
    use x811_protocol::key::SecretKey;
    let mut parts = Parts::of(&exported(&settled_and_disputed().await).await);
    let at = parts.find_message("x811/accept");
    let key = SecretKey::from_seed([9; 32]);
    let record = &mut parts.records[at];
    let digest = x811_protocol::digest::Digest::of(record.body.as_ref().unwrap());
    let from = record.member("/envelope/from").as_str().unwrap().to_owned();
    *record.member("/envelope/key") = json!(format!("{from}#{}", key.public()));
    *record.member("/envelope/signature") = json!(key.sign(digest.as_bytes()));
    let report = audit(&parts.rehashed());
    assert_eq!(causes_at(&report, at as u64), [Cause::KeyNotTheSenders]);
}

#[tokio::test]
async fn promise_4_a_changed_or_swapped_body_is_found() {
    let parts = Parts::of(&exported(&settled_and_disputed().await).await);
    let (offer, result) = (
        parts.find_message("x811/offer"),
        parts.find_message("x811/result"),
    );
    let mut changed = parts.clone();
    let body = String::from_utf8(changed.records[result].body.take().unwrap()).unwrap();
    changed.records[result].body = Some(body.replace("Guten", "Guter").into_bytes());
    let report = audit(&changed.sealed());
    assert_eq!(
        found(&report),
        [(result as u64, "body", Cause::BodyChanged)]
    );
    assert_eq!(report.facts.broken, 1);

    let mut swapped = parts;
    let body = swapped.records[offer].body.clone();
    swapped.records[result].body = body;
    let report = audit(&swapped.joined());
    assert_eq!(
        found(&report),
        [(result as u64, "body", Cause::BodyChanged)]
    );
}

/// Dropping a ledger's own record and renumbering leaves no gap in the chain; the rules see it.
#[tokio::test]
async fn promise_4_a_dropped_record_is_found_after_rehashing() {
    let parts = Parts::of(&exported(&settled_and_disputed().await).await);
    let last = parts.records.len() - 1;
    for at in 0..last {
        let mut changed = parts.clone();
        let dropped = changed.records.remove(at);
        let stream = &dropped.draft.stream;
        for later in changed.records[at..]
            .iter_mut()
            .filter(|r| r.draft.stream == *stream)
        {
            later.draft.stream_seq -= 1;
        }
        // What only its own stream's end or the readers' rows would show is not in a file.
        let is_last = !changed.records[at..]
            .iter()
            .any(|later| later.draft.stream == *stream);
        let report = audit(&changed.rehashed());
        let is_notice = dropped.event_type() == "notice_issued";
        assert!(
            !report.is_clean() || is_last || is_notice && report.notices_owed > 0,
            "{at}: {}",
            dropped.event_type()
        );
    }
}

#[tokio::test]
async fn promise_5_a_transfer_that_pays_twice_is_found() {
    let mut ledgerbox = impatient().await;
    let first = Deal::opened(&ledgerbox, Until::Verified).await;
    let (initiator, provider) = (first.initiator.clone(), first.provider.clone());
    pay(&mut ledgerbox, &first, 1, TOTAL_MICRO_USDC).await;
    let mut second = Deal::between(&ledgerbox, &initiator, &provider, Account::new(0x46));
    second.go(&ledgerbox, Until::Verified).await;
    pay(&mut ledgerbox, &second, 2, TOTAL_MICRO_USDC).await;
    ledgerbox.accept(&second.payment(&ledgerbox, 1)).await;
    ledgerbox.watch_ms(8_000).await;

    let mut parts = Parts::of(&exported(&ledgerbox).await);
    let confirmed: Vec<usize> = (0..parts.records.len())
        .filter(|at| parts.records[*at].event_type() == "confirmed")
        .collect();
    let [one, two] = confirmed[..] else {
        panic!("two are paid: {confirmed:?}");
    };
    for member in ["/claims", "/evidence"] {
        let used = parts.records[one].member(member).clone();
        assert!(used.to_string().contains(&tx(1).to_string()));
        *parts.records[two].member(member) = used;
    }
    let report = audit(&parts.rehashed());
    let here = causes_at(&report, two as u64);
    assert!(here.contains(&Cause::TransferUsedTwice), "{here:?}");
}

#[tokio::test]
async fn promise_5_a_payment_without_evidence_is_found() {
    let bytes = exported(&settled_and_disputed().await).await;
    let table = [
        ("/evidence/0/depth", json!(1), Cause::NoEvidence),
        ("/evidence/0/level", json!("seen"), Cause::NoEvidence),
        ("/evidence/0/network", json!("other"), Cause::NoEvidence),
        ("/evidence/0/block/number", json!(1), Cause::NoEvidence),
        (
            "/evidence/0/transfers/0/amount",
            json!("1"),
            Cause::NoEvidence,
        ),
        ("/evidence/0/transfers", json!([]), Cause::NoEvidence),
        ("/evidence/0/transfer_count", json!(0), Cause::NoEvidence),
        (
            "/evidence/0/transfers/0/amount",
            json!("1025001"),
            Cause::ReDecisionDiffers,
        ),
        ("/claims/0/ordinal", json!(1), Cause::ReDecisionDiffers),
        ("/claims/0/chain_id", json!(1), Cause::NoEvidence),
        (
            "/records/verify",
            json!("a".repeat(64)),
            Cause::ReDecisionDiffers,
        ),
        ("/provider_seq", json!(1), Cause::ReDecisionDiffers),
        ("/evidence", json!([]), Cause::StateDiffers),
    ];
    for (member, to, cause) in table {
        let mut parts = Parts::of(&bytes);
        let at = parts.find_event("confirmed");
        *parts.records[at].member(member) = to;
        let report = audit(&parts.rehashed());
        let here = causes_at(&report, at as u64);
        assert!(here.contains(&cause), "{member}: {here:?}");
    }
}

#[tokio::test]
async fn rule_29_only_a_transaction_that_reverted_has_a_reason_for_that() {
    let bytes = exported(&settled_and_disputed().await).await;
    let mut parts = Parts::of(&bytes);
    let at = parts.find_event("refuted");
    assert_eq!(*parts.records[at].member("/cause"), json!("short"));
    parts.records[at].member("")["reason"] = json!("token_paused");
    let report = audit(&parts.rehashed());
    let here = causes_at(&report, at as u64);
    assert!(here.contains(&Cause::ReDecisionDiffers), "{here:?}");
}

#[tokio::test]
async fn lc_5_looks_and_refutations_are_decided_again() {
    let bytes = exported(&settled_and_disputed().await).await;
    let table = [
        (
            "refuted",
            "/evidence/transfers",
            json!([]),
            Cause::ReDecisionDiffers,
        ),
        (
            "refuted",
            "/cause",
            json!("used_already"),
            Cause::StateDiffers,
        ),
        ("refuted", "/evidence/depth", json!(1), Cause::NoEvidence),
        (
            "refuted",
            "/evidence/transfers/0/amount",
            json!("1025000"),
            Cause::ReDecisionDiffers,
        ),
        ("looked", "/finding", json!([]), Cause::ReDecisionDiffers),
        (
            "looked",
            "/head/timestamp_s",
            json!(1_767_225_600),
            Cause::StateDiffers,
        ),
        (
            "seen",
            "/transfers/0/from",
            json!(STRANGER),
            Cause::NoEvidence,
        ),
        ("lapsed", "/code", json!("X811-4020"), Cause::StateDiffers),
    ];
    for (event, member, to, cause) in table {
        let mut parts = Parts::of(&bytes);
        let at = parts.find_event(event);
        *parts.records[at].member(member) = to;
        let report = audit(&parts.rehashed());
        let here = causes_at(&report, at as u64);
        assert!(here.contains(&cause), "{event}{member}: {here:?}");
    }
}

#[tokio::test]
async fn lc_5_what_is_bound_as_late_is_decided_again() {
    let mut ledgerbox = impatient().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    pay(&mut ledgerbox, &deal, 1, TOTAL_MICRO_USDC).await;
    ledgerbox.watch_ms(8_000).await;
    assert_eq!(ledgerbox.state(deal.id()), "completed");
    let account = Account::new(0x46);
    let mut other = Deal::between(&ledgerbox, &deal.initiator, &deal.provider, account);
    other.go(&ledgerbox, Until::Verified).await;
    ledgerbox.accept(&other.payment(&ledgerbox, 2)).await;
    ledgerbox.watch_ms(20_000).await;
    assert_eq!(ledgerbox.state(other.id()), "disputed");
    let block = Base::head_number(ledgerbox.now()) + 1;
    // A rest, and what would have paid in time.
    let amounts = [5, TOTAL_MICRO_USDC];
    ledgerbox
        .base
        .mine(tx(2), block, other.account.address, &amounts);
    ledgerbox.watch_ms(8_000).await;
    let bytes = exported(&ledgerbox).await;
    let late = |bytes: &[u8]| Parts::of(bytes).find_event("late");
    assert_eq!(found(&audit(&bytes)), []);
    let table = [
        ("/claims/0/ordinal", json!(0), Cause::ReDecisionDiffers),
        ("/claims/0/ordinal", json!(7), Cause::StateDiffers),
        ("/claims/0/chain_id", json!(1), Cause::NoEvidence),
        ("/evidence/0/depth", json!(1), Cause::NoEvidence),
        ("/evidence/0/network", json!("other"), Cause::NoEvidence),
        ("/evidence/0/block/number", json!(1), Cause::NoEvidence),
        ("/evidence/0/transfer_count", json!(1), Cause::NoEvidence),
        (
            "/evidence/0/transfers/1/amount",
            json!("1025001"),
            Cause::ReDecisionDiffers,
        ),
        (
            "/evidence/0/transfers/1/from",
            json!(STRANGER),
            Cause::NoEvidence,
        ),
    ];
    for (member, to, cause) in table {
        let mut parts = Parts::of(&bytes);
        *parts.records[late(&bytes)].member(member) = to;
        let here = causes_at(&audit(&parts.rehashed()), late(&bytes) as u64);
        assert!(here.contains(&cause), "{member}: {here:?}");
    }
    // Seen in a block that is older than the ACCEPT, wherever it is named.
    let mut parts = Parts::of(&bytes);
    let at = late(&bytes);
    let block = parts.records[at].member("/evidence/0/block").clone();
    let is_seen = |it: &Kept| it.event_type() == "seen" && it.draft.event["block"] == block;
    let seen = parts.find(is_seen);
    for (record, member) in [(seen, "/block"), (at, "/evidence/0/block")] {
        *parts.records[record].member(&format!("{member}/number")) = json!(1);
        *parts.records[record].member(&format!("{member}/timestamp_s")) = json!(1);
    }
    let report = audit(&parts.rehashed());
    names(&report, at, "evidence[0].block", Cause::NoEvidence);
}

#[tokio::test]
async fn lc_3_an_envelope_recorded_twice_is_found() {
    let mut parts = Parts::of(&exported(&settled_and_disputed().await).await);
    let at = parts.find_message("x811/request");
    let copy = parts.records[at].clone();
    parts.records.push(copy);
    let position = parts.records.len() as u64 - 1;
    parts.records[position as usize].draft.recorded_at_ms =
        parts.records[position as usize - 1].draft.recorded_at_ms;
    let report = audit(&parts.rehashed());
    let here = causes_at(&report, position);
    for cause in [
        Cause::EnvelopeUsedTwice,
        Cause::NonceUsedTwice,
        Cause::IdempotencyKeyUsedTwice,
    ] {
        assert!(here.contains(&cause), "{cause}: {here:?}");
    }
}

#[tokio::test]
async fn lc_1_4_a_gap_longer_than_the_silence_is_found() {
    let mut ledgerbox = impatient().await;
    ledgerbox.restart().await;
    let mut parts = Parts::of(&exported(&ledgerbox).await);
    let at = parts.find_event("ledger_resumed");
    *parts.records[at].member("/gap_ms") = json!(60_000);
    let report = audit(&parts.rehashed());
    assert_eq!(
        found(&report),
        [(at as u64, "gap_ms", Cause::ReDecisionDiffers)]
    );
}
