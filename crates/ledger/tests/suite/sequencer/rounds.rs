//! Rounds on a running ledger: the walks of round.md, what restarts and audits make of them, and who is
//! refused.

use super::bundles::{audited, bundle_of};
use super::council::{Council, running};
use super::ledgerbox::Ledgerbox;
use super::sessions::types_but_notices as types;
use serde_json::{Value, json};
use x811_audit::{Options, audit_export};
use x811_protocol::code::Code;
use x811_protocol::facts::ConsensusVerb as Verb;
use x811_protocol::facts::consensus::Decision;
use x811_protocol::parameters::Rounds;
use x811_protocol::round::StateName;

const FOR: &str = "approve";

fn vote(from: usize, decision: &str) -> Value {
    json!({ "decision": decision, "rationale": format!("{decision}, says seat {from}") })
}

/// It adds up, audits clean, its bundle too, and goes on the same after a restart.
async fn holds(ledgerbox: &mut Ledgerbox, council: &Council) {
    ledgerbox.assert_log_adds_up().await;
    let report = audited(ledgerbox).await;
    assert_eq!(report.findings, []);
    let bundle = bundle_of(ledgerbox, council.subject()).await;
    let report = audit_export(bundle.as_slice(), Options::default()).unwrap();
    assert_eq!(report.findings, []);
    ledgerbox.restart().await;
    ledgerbox.assert_log_adds_up().await;
}

fn state(ledgerbox: &Ledgerbox, council: &Council) -> StateName {
    let world = ledgerbox.ledger().world();
    let live = world.round(council.round.unwrap());
    live.map_or(StateName::Done, |live| live.state.name())
}

fn row(ledgerbox: &Ledgerbox, council: &Council) -> (String, Value) {
    let rows = ledgerbox.rows.rows();
    let row = &rows.subjects[&council.subject()];
    (row.state.clone(), row.detail.clone())
}

/// The first walk of round.md, record by record.
#[tokio::test]
async fn cc_013_the_walk_of_a_majority_round_on_a_ledger() {
    let mut ledgerbox = running(Rounds::DEFAULT).await;
    let mut council = Council::new(&ledgerbox, 5).await;
    let proposal = council.proposal(&ledgerbox, 60_000, |_| {});
    let accepted = ledgerbox.accept(&proposal).await;
    assert_eq!(accepted.state, Some("proposed"));
    assert_eq!(accepted.subject.unwrap().kind, "round");
    for from in 1..5 {
        council.say(&ledgerbox, from, Verb::Ready, json!({})).await;
    }
    let mut first = None;
    for (from, decision) in [(0, FOR), (1, FOR), (2, "reject")] {
        ledgerbox.advance_ms(100).await;
        let said = council
            .say(&ledgerbox, from, Verb::Vote, vote(from, decision))
            .await;
        if from == 1 {
            first = Some(said);
        }
    }
    let second = council
        .say(&ledgerbox, 1, Verb::Vote, vote(1, "reject"))
        .await;
    assert_eq!(
        (second.counted, second.code),
        (Some(false), Some(Code::Duplicate))
    );
    let again = council.message(&ledgerbox, &council.members[1], Verb::Vote, &vote(1, FOR));
    assert_eq!(Some(ledgerbox.repeat(&again).await), first);
    let third = council.message(
        &ledgerbox,
        &council.members[1],
        Verb::Vote,
        &vote(1, "abstain"),
    );
    assert_eq!(ledgerbox.code(&third).await, Code::Duplicate);
    council.say(&ledgerbox, 3, Verb::Vote, vote(3, FOR)).await;
    let (shown, detail) = row(&ledgerbox, &council);
    assert_eq!((shown.as_str(), &detail["outcome"]), ("open", &Value::Null));
    assert_eq!(detail["voted"].as_array().unwrap().len(), 4);
    ledgerbox.advance_ms(60_001).await;
    let late = council.message(&ledgerbox, &council.members[4], Verb::Vote, &vote(3, FOR));
    assert_eq!(ledgerbox.code(&late).await, Code::Late);
    assert_eq!(state(&ledgerbox, &council), StateName::Committed);
    for from in 0..4 {
        council
            .say(&ledgerbox, from, Verb::Executed, json!({}))
            .await;
    }
    ledgerbox.advance_ms(Rounds::DEFAULT.execution_ms + 1).await;
    let said = "envelope_accepted";
    let mut expected = vec![said, "round_opened"];
    expected.extend([said; 7]);
    expected.extend([said, "anomaly_noted", said, "lapsed", "round_decided"]);
    expected.extend([said; 4]);
    expected.push("lapsed");
    assert_eq!(types(&ledgerbox, council.subject()).await, expected);
    let (shown, detail) = row(&ledgerbox, &council);
    assert_eq!(shown, "done");
    let outcome = &detail["outcome"];
    assert_eq!(
        (&outcome["outcome"], &outcome["reason"]),
        (&json!("commit"), &json!("accepted"))
    );
    assert_eq!(
        (&outcome["approve"], &outcome["reject"]),
        (&json!(3), &json!(1))
    );
    holds(&mut ledgerbox, &council).await;
}

/// The second walk: sealed and weighted. Nothing shows what a commitment stands for.
#[tokio::test]
async fn cx_51_the_walk_of_a_weighted_and_sealed_round_on_a_ledger() {
    let mut ledgerbox = running(Rounds::DEFAULT).await;
    let mut council = Council::new(&ledgerbox, 3).await;
    let proposal = council.proposal(&ledgerbox, 60_000, |it| {
        it["mechanism"] = json!("weighted");
        it["voting"] = json!("sealed");
        it["weights"] = json!([50, 30, 20]);
        it["threshold"] = json!({"num": 1, "den": 2});
        it["quorum"] = json!(1);
    });
    ledgerbox.accept(&proposal).await;
    assert_eq!(state(&ledgerbox, &council), StateName::Proposed);
    let weights_hash = {
        let world = ledgerbox.ledger().world();
        let live = world.round(council.round.unwrap()).unwrap();
        live.state.opening.proposal.weights_hash.unwrap()
    };
    let other = json!({ "weights_hash": x811_protocol::digest::Digest::ZERO });
    let mistaken = council.message(&ledgerbox, &council.members[0], Verb::Ready, &other);
    assert_eq!(ledgerbox.code(&mistaken).await, Code::TermsMismatch);
    let known = json!({ "weights_hash": weights_hash });
    council.all_ready(&ledgerbox, &known).await;
    assert_eq!(state(&ledgerbox, &council), StateName::Open);
    let at = ledgerbox.now().to_rfc3339();
    for from in 0..3 {
        let sealed = council.sealed(from, Decision::Approve, "yes");
        council.say(&ledgerbox, from, Verb::Vote, sealed).await;
    }
    assert_eq!(state(&ledgerbox, &council), StateName::Open);
    let reveal = json!({ "decision": "approve", "rationale": "yes", "timestamp": at });
    let early = council.message(&ledgerbox, &council.members[0], Verb::Reveal, &reveal);
    let refusal = ledgerbox.refuse(&early).await;
    assert_eq!(refusal.code, Code::TooEarly);
    assert_eq!(refusal.retry_after_ms, Some(60_001));
    ledgerbox.advance_ms(60_001).await;
    assert_eq!(state(&ledgerbox, &council), StateName::Revealing);
    for from in [0, 2] {
        let said = council
            .say(&ledgerbox, from, Verb::Reveal, reveal.clone())
            .await;
        let again = council.message(&ledgerbox, &council.members[from], Verb::Reveal, &reveal);
        assert_eq!(ledgerbox.repeat(&again).await, said);
    }
    ledgerbox.advance_ms(10_001).await;
    let types = types(&ledgerbox, council.subject()).await;
    let said = "envelope_accepted";
    let end = [
        "lapsed",
        said,
        said,
        "lapsed",
        "round_decided",
        "anomaly_noted",
    ];
    assert_eq!(types[types.len() - 6..], end);
    let (shown, detail) = row(&ledgerbox, &council);
    assert_eq!(shown, "committed");
    assert_eq!(detail["outcome"]["invalid"], 1);
    holds(&mut ledgerbox, &council).await;
}

/// The third walk: the ledger was away, a retry, humans.
#[tokio::test]
async fn cx_25_the_walk_of_an_optimistic_round_on_a_ledger() {
    let mut ledgerbox = running(Rounds::DEFAULT).await;
    let mut council = Council::new(&ledgerbox, 4).await;
    let human = council.members[3].did;
    ledgerbox.crash().await;
    ledgerbox.parameters.rounds = Some(std::sync::Arc::new(Rounds {
        humans: vec![human],
        ..Rounds::DEFAULT
    }));
    ledgerbox.start().await.unwrap();
    let optimistic = |it: &mut Value| it["mechanism"] = json!("optimistic");
    let proposal = council.proposal(&ledgerbox, 60_000, optimistic);
    ledgerbox.accept(&proposal).await;
    let first = council.round.unwrap();
    for from in 1..3 {
        council.say(&ledgerbox, from, Verb::Ready, json!({})).await;
    }
    ledgerbox.advance_ms(20_000).await;
    ledgerbox.down_ms(30_000).await;
    ledgerbox.advance_ms(10_001).await;
    assert_eq!(state(&ledgerbox, &council), StateName::Failed);
    let (_, detail) = row(&ledgerbox, &council);
    assert_eq!(detail["outcome"]["reason"], "ledger_down");
    let again = move |it: &mut Value| {
        optimistic(it);
        it["attempt"] = json!(2);
        it["resubmission_of"] = json!(first);
    };
    let early = council.proposal(&ledgerbox, 60_000, again);
    assert_eq!(ledgerbox.code(&early).await, Code::TooEarly);
    ledgerbox.advance_ms(5_001).await;
    let retry = council.proposal(&ledgerbox, 60_000, again);
    ledgerbox.accept(&retry).await;
    let of_first = types(&ledgerbox, x811_protocol::stream::Subject::Round(first)).await;
    assert_eq!(of_first.last(), Some(&"resubmitted"));
    ledgerbox.settle().await;
    assert!(ledgerbox.ledger().world().round(first).is_none());
    council
        .say(&ledgerbox, 1, Verb::Ready, json!({ "term": 2 }))
        .await;
    ledgerbox.advance_ms(60_001).await;
    let (_, detail) = row(&ledgerbox, &council);
    assert_eq!(detail["outcome"]["reason"], "partition");
    let plea = json!({ "reason": "time_critical" });
    let escalated = council.say(&ledgerbox, 0, Verb::Escalate, plea).await;
    assert_eq!(state(&ledgerbox, &council), StateName::Escalated);
    let ruling = json!({
        "decision": "approve", "escalation": escalated.position + 1, "rationale": "no time",
    });
    let other = council.message(
        &ledgerbox,
        &council.members[1],
        Verb::HumanDecision,
        &ruling,
    );
    assert_eq!(ledgerbox.code(&other).await, Code::NotEligible);
    let ruled = council
        .say(&ledgerbox, 3, Verb::HumanDecision, ruling)
        .await;
    assert_eq!(ruled.state, Some("human_approved"));
    for from in 0..3 {
        council
            .say(&ledgerbox, from, Verb::Executed, json!({}))
            .await;
    }
    council.say(&ledgerbox, 3, Verb::Failed, json!({})).await;
    ledgerbox.settle().await;
    let types = types(&ledgerbox, council.subject()).await;
    assert_eq!(types.last(), Some(&"round_escalated"));
    assert_eq!(row(&ledgerbox, &council).0, "done");
    assert!(
        ledgerbox
            .ledger()
            .world()
            .round(council.round.unwrap())
            .is_none(),
        "it is over once what follows stands"
    );
    holds(&mut ledgerbox, &council).await;
}

/// Who is refused, and by which code; nothing of it is recorded.
#[tokio::test]
async fn cc_103_who_may_not_take_part_leaves_no_record() {
    let mut ledgerbox = running(Rounds {
        open_per_proposer: 1,
        seats_per_proposer: 4,
        ..Rounds::DEFAULT
    })
    .await;
    let mut council = Council::new(&ledgerbox, 3).await;
    let stranger = council.stranger.did;
    let size = ledgerbox.records().await.len();
    for (change, code) in [
        (
            json!({ "participants": [council.members[0].did, stranger] }),
            Code::NotEligible,
        ),
        (json!({ "leader": stranger }), Code::NotEligible),
        (
            json!({ "blocked_by": [council.proposal(&ledgerbox, 1, |_| {}).header.id] }),
            Code::NotEligible,
        ),
        (
            json!({ "resubmission_of": council.round, "attempt": 2 }),
            Code::WrongState,
        ),
        (json!({ "mechanism": "dictate" }), Code::UnknownValue),
        (json!({ "quorum": "two" }), Code::Schema),
    ] {
        let proposal = council.proposal(&ledgerbox, 60_000, |it| {
            for (name, value) in change.as_object().unwrap() {
                it[name] = value.clone();
            }
        });
        assert_eq!(ledgerbox.code(&proposal).await, code, "{change}");
    }
    assert_eq!(ledgerbox.records().await.len(), size);
    let proposal = council.proposal(&ledgerbox, 60_000, |_| {});
    ledgerbox.accept(&proposal).await;
    let voted = council.message(&ledgerbox, &council.stranger, Verb::Vote, &vote(3, FOR));
    assert_eq!(ledgerbox.code(&voted).await, Code::WrongState);
    let open = council.round;
    let further = council.proposal(&ledgerbox, 60_000, |_| {});
    assert_eq!(ledgerbox.code(&further).await, Code::RateLimitExceeded);
    council.round = open;
    ledgerbox.advance_ms(60_001).await;
    assert_eq!(state(&ledgerbox, &council), StateName::Failed);
    let further = council.proposal(&ledgerbox, 60_000, |_| {});
    ledgerbox.accept(&further).await;
    holds(&mut ledgerbox, &council).await;
}

/// A ledger without the block runs none, and what is open stays when it is left out again.
#[tokio::test]
async fn cc_001_rounds_are_off_without_their_block() {
    let mut ledgerbox = running(Rounds::DEFAULT).await;
    let mut council = Council::new(&ledgerbox, 3).await;
    let proposal = council.proposal(&ledgerbox, 60_000, |_| {});
    ledgerbox.accept(&proposal).await;
    let open = council.round;
    ledgerbox.crash().await;
    ledgerbox.parameters.rounds = None;
    ledgerbox.start().await.unwrap();
    let further = council.proposal(&ledgerbox, 60_000, |_| {});
    assert_eq!(ledgerbox.code(&further).await, Code::InvalidStateTransition);
    council.round = open;
    let ready = council.message(&ledgerbox, &council.members[0], Verb::Ready, &json!({}));
    assert_eq!(
        ledgerbox.code(&ready).await,
        Code::TermsMismatch,
        "the hash of the further proposal"
    );
    holds(&mut ledgerbox, &council).await;
}

/// Attack: whoever sends the message cannot sign inside it with another key, or sign another payload.
#[tokio::test]
async fn cc_102_cx_3_and_cx_9_an_inner_signature_by_another_key_is_refused() {
    let ledgerbox = running(Rounds::DEFAULT).await;
    let mut council = Council::new(&ledgerbox, 3).await;
    let proposal = council.proposal(&ledgerbox, 60_000, |_| {});
    ledgerbox.accept(&proposal).await;
    let [one, two] = [0, 1].map(|number| council.members[number].clone());
    let honest = council.message(&ledgerbox, &one, Verb::Vote, &vote(3, FOR));
    let stolen: Value = serde_json::from_slice(&honest.json).unwrap();
    let payload = stolen["payload"].clone();
    let replayed = ledgerbox.seal(&two, Verb::Vote.as_str(), &ledgerbox.identity, payload);
    assert_eq!(
        ledgerbox.code(&replayed).await,
        Code::Schema,
        "the voter is another"
    );
    let mut changed = stolen["payload"].clone();
    changed["decision"] = json!("reject");
    let changed = ledgerbox.seal(&one, Verb::Vote.as_str(), &ledgerbox.identity, changed);
    assert_eq!(ledgerbox.code(&changed).await, Code::JwsInvalid);
}
