//! What a breach of an agreement costs its provider beside sessions: trust, and its seats in new rounds
//! (CX-49, CC-112, CC-113).

use super::bargain::Bargain;
use super::bundles::{audited, bundle_of};
use super::conduct::{Scene, broken, excluding, exclusion_of, lift};
use super::council::Council;
use super::ledgerbox::{Ledgerbox, parameters};
use super::party::{Account, Party};
use super::trust::held_by_second_implementation;
use serde_json::json;
use std::sync::Arc;
use x811_audit::{Unchecked, audit_export};
use x811_ledger::port::ReadModel as _;
use x811_protocol::code::Code;
use x811_protocol::facts::ConsensusVerb;
use x811_protocol::parameters::{Capabilities, Exclusion, Rounds};
use x811_protocol::trust::TrustCounters;

/// How long votes are taken.
const VOTES_MS: u64 = 86_400_000;

/// A ledger that excludes by that block, and opens rounds.
async fn deciding(block: Capabilities) -> Ledgerbox {
    let mut parameters = parameters();
    parameters.capabilities = Some(block);
    parameters.rounds = Some(Arc::new(Rounds::DEFAULT));
    parameters.limits.open_per_pair = 1_000;
    Ledgerbox::with(parameters).await
}

fn counters(f: u32, d: u32) -> TrustCounters {
    TrustCounters {
        f,
        d,
        ..TrustCounters::NONE
    }
}

fn trust(ledgerbox: &Ledgerbox, agent: &Party) -> TrustCounters {
    ledgerbox.ledger().world().trust(agent.did)
}

/// It adds up, audits clean, and goes on the same after a restart, from a snapshot and from the log.
async fn holds(ledgerbox: &mut Ledgerbox) {
    ledgerbox.assert_log_adds_up().await;
    assert_eq!(audited(ledgerbox).await.findings, []);
    ledgerbox.restart().await;
    ledgerbox.snapshots.clear();
    ledgerbox.restart().await;
    ledgerbox.assert_log_adds_up().await;
}

/// Who advertises what it does not have, or gains by a broken promise, pays for it: a RESULT that is late
/// under an agreement costs a failure, as any other, and a dispute that no consumer had to claim.
#[tokio::test]
async fn cc_075_cc_112_and_cx_49_a_breach_counts_as_a_dispute_of_the_provider_alone() {
    let mut ledgerbox = excluding(None).await;
    let scene = Scene::set(&ledgerbox).await;
    let (provider, consumer) = (&scene.first.provider, &scene.first.consumer);
    assert_eq!(trust(&ledgerbox, provider), TrustCounters::NONE);
    for count in 1..=2 {
        broken(&ledgerbox, &scene.first).await;
        assert_eq!(trust(&ledgerbox, provider), counters(count, count));
        assert_eq!(trust(&ledgerbox, consumer), TrustCounters::NONE);
    }
    // Known as of any record: each breach is a row of its own, at its own record.
    ledgerbox.settle().await;
    let events = ledgerbox.events().await;
    let breach = events
        .iter()
        .rfind(|(_, event)| event.type_name() == "breach_recorded");
    let position = breach.unwrap().0.position();
    for (as_of, due) in [(position, counters(2, 2)), (position - 1, counters(2, 1))] {
        let row = ledgerbox.rows.trust(provider.did, as_of).await.unwrap();
        assert_eq!(row.row.unwrap().trust, due);
    }
    held_by_second_implementation(&ledgerbox).await;
    holds(&mut ledgerbox).await;
    assert_eq!(trust(&ledgerbox, &scene.first.provider), counters(2, 2));
}

/// Two consumers with agreements with a provider that takes part in rounds.
async fn seated(ledgerbox: &Ledgerbox) -> (Scene, Party) {
    let provider = ledgerbox.party();
    let registration = ledgerbox.registration(&provider, &["x811.consensus"], &[]);
    ledgerbox.accept(&registration).await;
    let consumer = ledgerbox.initiator(&Account::new(0x46)).await;
    let bargain = Bargain::with(ledgerbox, consumer, provider.clone()).await;
    (Scene::between(ledgerbox, bargain).await, provider)
}

/// The code by which a new proposal is refused, if it is.
async fn proposed(ledgerbox: &Ledgerbox, council: &mut Council) -> Option<Code> {
    let proposal = council.proposal(ledgerbox, VOTES_MS, |_| {});
    let answer = ledgerbox.submit(&proposal).await;
    answer.err().map(|refusal| refusal.code)
}

#[tokio::test]
async fn cc_113_who_is_excluded_has_no_seat_in_new_rounds_and_keeps_those_it_has() {
    let mut ledgerbox = deciding(Capabilities {
        exclusion: Some(Exclusion::DEFAULT),
        ..Capabilities::DEFAULT
    })
    .await;
    let (scene, provider) = seated(&ledgerbox).await;
    let mut running = Council::new(&ledgerbox, 2).await;
    running.members.push(provider.clone());
    assert_eq!(proposed(&ledgerbox, &mut running).await, None);
    scene.exclude(&ledgerbox).await;

    // As a participant, as the proposer, and where it is left out.
    let mut council = Council::new(&ledgerbox, 2).await;
    council.members.push(provider.clone());
    let excluded = Some(Code::Excluded);
    assert_eq!(proposed(&ledgerbox, &mut council).await, excluded);
    council.members.rotate_right(1);
    assert_eq!(proposed(&ledgerbox, &mut council).await, excluded);
    council.members.remove(0);
    assert_eq!(proposed(&ledgerbox, &mut council).await, None);
    // A round that was open before goes on, as agreements do.
    let vote = json!({"decision": "approve"});
    running.say(&ledgerbox, 2, ConsensusVerb::Vote, vote).await;

    // What it broke elsewhere is in no bundle of a round, which says that nobody checked.
    let bundle = bundle_of(&ledgerbox, council.subject()).await;
    let report = audit_export(&bundle[..], None).unwrap();
    assert_eq!(report.findings, []);
    let unchecked = report.extract.unwrap().not_checked;
    assert_eq!(unchecked.get(&Unchecked::Exclusions), Some(&1));

    let operator = ledgerbox.provider().await;
    let position = exclusion_of(&ledgerbox, &provider).unwrap();
    let order = lift(&ledgerbox, &operator, &provider, position);
    ledgerbox.ledger().lift_exclusion(order).await.unwrap();
    council.members.push(provider);
    assert_eq!(proposed(&ledgerbox, &mut council).await, None);
    holds(&mut ledgerbox).await;
}
