//! What the ledger tells of rounds (round.md, `notice_issued`; machines.md section 8): one notice for each
//! cause, addressed to itself, which members read, and humans where they are asked.

use super::bundles::{audited, bundle_of};
use super::council::{Council, running};
use super::ledgerbox::Ledgerbox;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use x811_audit::{Options, audit_export};
use x811_ledger::port::LedgerStore as _;
use x811_protocol::did::Did;
use x811_protocol::envelope::AcceptedHeader;
use x811_protocol::event::Event;
use x811_protocol::facts::ConsensusVerb as Verb;
use x811_protocol::jws::DetachedJws;
use x811_protocol::parameters::Rounds;
use x811_protocol::round::StateName;

/// A notice as its record and its body have it, and who gets it beside the ledger.
struct Noticed {
    cause: u64,
    envelope: AcceptedHeader,
    payload: Map<String, Value>,
    readers: BTreeSet<Did>,
}

async fn noticed(ledgerbox: &Ledgerbox) -> Vec<Noticed> {
    ledgerbox.settle().await;
    let mut all = Vec::new();
    for (record, event) in ledgerbox.events().await {
        let Event::NoticeIssued(notice) = event else {
            continue;
        };
        assert!(record.stream().starts_with("round:"));
        assert_eq!(notice.code, None, "codes stand in the body alone");
        assert_eq!(notice.to, ledgerbox.identity.did);
        let header = &notice.envelope;
        assert_eq!(header.message_type.as_str(), "x811.consensus/notice");
        let position = record.position();
        let bodies = ledgerbox.store.bodies(&[position]).await.unwrap();
        let body: Value = serde_json::from_slice(&bodies[&position].bytes).unwrap();
        let rows = ledgerbox.rows.rows();
        let delivered = rows.deliveries.keys().filter(|(_, at)| *at == position);
        let readers = delivered.map(|(reader, _)| *reader);
        all.push(Noticed {
            cause: notice.cause,
            envelope: notice.envelope,
            payload: body["payload"].as_object().unwrap().clone(),
            readers: readers
                .filter(|reader| *reader != ledgerbox.identity.did)
                .collect(),
        });
    }
    all
}

/// What each tells, in the order of their causes.
async fn news(ledgerbox: &Ledgerbox) -> Vec<Value> {
    let mut all = noticed(ledgerbox).await;
    all.sort_by_key(|notice| notice.cause);
    all.iter()
        .map(|notice| notice.payload["event"].clone())
        .collect()
}

async fn holds(ledgerbox: &mut Ledgerbox, council: &Council) {
    ledgerbox.assert_log_adds_up().await;
    assert_eq!(audited(ledgerbox).await.findings, []);
    let bundle = bundle_of(ledgerbox, council.subject()).await;
    let report = audit_export(bundle.as_slice(), Options::default()).unwrap();
    assert_eq!(report.findings, []);
    ledgerbox.restart().await;
    ledgerbox.assert_log_adds_up().await;
}

/// A ledger whose human takes part in no round, who is the last party.
async fn with_human(block: Rounds, members: usize) -> (Ledgerbox, Council, Did) {
    let mut ledgerbox = running(block.clone()).await;
    let council = Council::new(&ledgerbox, members).await;
    let human = council.stranger.did;
    ledgerbox.crash().await;
    ledgerbox.parameters.rounds = Some(Arc::new(Rounds {
        humans: vec![human],
        ..block
    }));
    ledgerbox.start().await.unwrap();
    (ledgerbox, council, human)
}

async fn vote(ledgerbox: &Ledgerbox, council: &Council, from: usize, decision: &str) {
    ledgerbox.advance_ms(100).await;
    let vote = json!({ "decision": decision, "rationale": format!("{decision} of {from}") });
    council.say(ledgerbox, from, Verb::Vote, vote).await;
}

/// The outcome reaches every member with the ledger's own signal inside, which anybody can check.
#[tokio::test]
async fn cc_023_and_cc_117_members_are_told_the_outcome_and_humans_what_is_odd() {
    let (mut ledgerbox, mut council, human) = with_human(Rounds::DEFAULT, 3).await;
    let proposal = council.proposal(&ledgerbox, 60_000, |_| {});
    ledgerbox.accept(&proposal).await;
    vote(&ledgerbox, &council, 0, "approve").await;
    vote(&ledgerbox, &council, 1, "approve").await;
    vote(&ledgerbox, &council, 1, "reject").await;
    vote(&ledgerbox, &council, 2, "reject").await;
    ledgerbox.advance_ms(Rounds::DEFAULT.execution_ms + 1).await;
    let events = ["round_opened", "anomaly_noted", "round_decided", "lapsed"];
    assert_eq!(news(&ledgerbox).await, events);
    let members: BTreeSet<Did> = council.members.iter().map(|party| party.did).collect();
    let round = council.round.unwrap();
    for notice in noticed(&ledgerbox).await {
        let payload = &notice.payload;
        assert_eq!(payload["subject"], json!({ "kind": "round", "id": round }));
        assert_eq!(payload["cause_position"], notice.cause);
        match payload["event"].as_str().unwrap() {
            "anomaly_noted" => {
                assert_eq!(notice.readers, BTreeSet::from([human]));
                assert_eq!(payload["kind"], "second_vote");
                assert_eq!(payload["agents"], json!([council.members[1].did]));
                continue;
            }
            "round_decided" => {
                assert_eq!(payload["outcome"], "commit");
                assert_eq!(payload["tally"]["approve"], 2);
                assert_eq!(payload["proposal_id"], json!(round));
                let text = payload["signature"].as_str().unwrap();
                let signed = DetachedJws::parse(text, "x811-commit+jws").unwrap();
                assert_eq!(signed.kid, notice.envelope.key);
                assert!(signed.verify(payload));
                let mut other = payload.clone();
                other["outcome"] = json!("abort");
                assert!(!signed.verify(&other));
            }
            "lapsed" => {
                assert_eq!(payload["code"], "CCN-5008");
                assert_eq!(payload["related_message_id"], json!(round));
            }
            _ => assert_eq!(payload["leader"], json!(ledgerbox.identity.did)),
        }
        assert_eq!(notice.readers, members, "{payload:?}");
    }
    holds(&mut ledgerbox, &council).await;
}

/// An escalation is told to humans too, with where the proposal and all votes stand.
#[tokio::test]
async fn cc_055_humans_are_told_of_an_escalation_with_all_votes() {
    let block = Rounds {
        retries: 0,
        ..Rounds::DEFAULT
    };
    let (mut ledgerbox, mut council, human) = with_human(block, 5).await;
    let proposal = council.proposal(&ledgerbox, 60_000, |_| {});
    let proposed = ledgerbox.accept(&proposal).await;
    let vote = json!({ "decision": "approve" });
    let voted = council.say(&ledgerbox, 2, Verb::Vote, vote).await;
    ledgerbox.advance_ms(60_001).await;
    let world = ledgerbox.ledger().world();
    let state = world.round(council.round.unwrap()).unwrap().state.name();
    assert_eq!(state, StateName::Escalated);
    let told = noticed(&ledgerbox).await;
    let is_it = |notice: &&Noticed| notice.payload["event"] == "round_escalated";
    let told = told.iter().find(is_it).unwrap();
    assert_eq!(told.payload["reason"], "retries");
    assert_eq!(told.payload["proposal"], proposed.position);
    assert_eq!(told.payload["votes"], json!([voted.position]));
    assert!(told.readers.contains(&human));
    assert_eq!(told.readers.len(), 6);
    holds(&mut ledgerbox, &council).await;
}

/// A notice is signed beside the sequencer: one that was lost with the process is signed at the next start.
#[tokio::test]
async fn lc_1_6_a_notice_of_a_round_is_given_after_a_crash() {
    let mut ledgerbox = running(Rounds::DEFAULT).await;
    let mut council = Council::new(&ledgerbox, 3).await;
    let proposal = council.proposal(&ledgerbox, 60_000, |_| {});
    ledgerbox.accept(&proposal).await;
    ledgerbox.crash().await;
    ledgerbox.start().await.unwrap();
    assert_eq!(news(&ledgerbox).await, ["round_opened"]);
    holds(&mut ledgerbox, &council).await;
}
