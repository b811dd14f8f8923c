//! Rounds and who is excluded from them (CC-113): the operator lets a friend's proposal in that the rules
//! refuse.

use std::sync::Arc;

use serde_json::json;
use x811_audit::Cause;
use x811_protocol::facts::ConsensusVerb as Verb;
use x811_protocol::parameters::{Capabilities, Exclusion, Rounds};

use super::super::bargain::Bargain;
use super::super::conduct::{Scene, exclusion_of, lift};
use super::super::council::Council;
use super::super::ledgerbox::{Ledgerbox, parameters};
use super::super::party::Account;
use super::Story;

/// An agent is excluded, the exclusion is lifted, and it proposes a round that is decided.
pub(super) async fn honest() -> Story {
    let mut parameters = parameters();
    parameters.capabilities = Some(Capabilities {
        exclusion: Some(Exclusion::DEFAULT),
        ..Capabilities::DEFAULT
    });
    parameters.rounds = Some(Arc::new(Rounds {
        execution_ms: 4_000,
        ..Rounds::DEFAULT
    }));
    parameters.limits.open_per_pair = 1_000;
    let ledgerbox = Ledgerbox::with(parameters).await;
    let friend = ledgerbox.party();
    let registration = ledgerbox.registration(&friend, &["x811.consensus"], &[]);
    ledgerbox.accept(&registration).await;
    let consumer = ledgerbox.initiator(&Account::new(0x46)).await;
    let bargain = Bargain::with(&ledgerbox, consumer, friend.clone()).await;
    let scene = Scene::between(&ledgerbox, bargain).await;
    scene.exclude(&ledgerbox).await;
    let operator = ledgerbox.provider().await;
    let position = exclusion_of(&ledgerbox, &friend).unwrap();
    let order = lift(&ledgerbox, &operator, &friend, position);
    ledgerbox.ledger().lift_exclusion(order).await.unwrap();
    let mut council = Council::new(&ledgerbox, 2).await;
    council.members.insert(0, friend);
    let proposal = council.proposal(&ledgerbox, 60_000, |_| {});
    ledgerbox.accept(&proposal).await;
    for from in 0..3 {
        ledgerbox.watch_ms(200).await;
        let said = json!({ "decision": "approve" });
        council.say(&ledgerbox, from, Verb::Vote, said).await;
    }
    Story::at_rest(ledgerbox).await
}

#[tokio::test]
async fn cc_113_the_honest_log_of_a_lifted_exclusion_holds() {
    assert_eq!(honest().await.report().findings, []);
}

/// Nothing was lifted: the whole log is signed anew without the order, and without what was told of it. The
/// proposal is refused by the rules, and what follows from it stands on nothing.
#[tokio::test]
async fn cc_113_an_excluded_proposers_round_is_let_in() {
    let mut story = honest().await;
    let order = story.events("exclusion_lifted")[0];
    let told = story.names(|it| it.event_type() == "notice_issued" && it.event["cause"] == order);
    assert_eq!(told.len(), 1);
    story.without([order]).without(told);
    let proposed = story.messages(Verb::Propose.as_str())[0];
    let position = story.position(proposed);
    let report = story.report();
    let refused = report.findings.iter().find(|it| it.position == position);
    let refused = refused.expect("the proposal is named");
    assert_eq!(refused.cause, Cause::ReDecisionDiffers);
    assert!(refused.sentence.contains("CCN-3002"), "{refused:?}");
    story.is_found();
}

/// It is let in before the order comes.
#[tokio::test]
async fn cc_113_a_round_is_let_in_before_its_proposers_exclusion_is_lifted() {
    let mut story = honest().await;
    let order = story.events("exclusion_lifted")[0];
    let proposed = story.messages(Verb::Propose.as_str())[0];
    let opened = story.events("round_opened")[0];
    story.moved(proposed, order).moved(opened, order);
    story.is_found();
}
