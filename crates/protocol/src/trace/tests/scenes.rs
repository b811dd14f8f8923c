//! Traces that a ledger could have served, of every shape. Unlike the graphs beside them, what they say fits
//! together.

use super::super::nodes;
use super::*;
use crate::event::{CloseReason, Effect};
use crate::round::votes_digest;

/// A record before it has a place: its subject, event and payload.
type Draft = (Subject, Event, Value);

/// A trace, and its name.
pub(super) struct Scene {
    pub(super) name: &'static str,
    pub(super) nodes: Vec<Node>,
    pub(super) wid: Wid,
}

impl Scene {
    /// Records stand at one position after the other, a second apart but where one follows from the other.
    fn of(name: &'static str, subject: Subject, drafts: &[Draft]) -> Scene {
        let recorded = drafts.iter().enumerate().map(|(at, (of, event, payload))| {
            let seconds = if follows(event) {
                at as u64
            } else {
                at as u64 + 1
            };
            Recorded {
                event,
                hash: Digest::of(&at.to_be_bytes()),
                payload: payload.as_object(),
                position: at as u64 + 20,
                recorded_at_ms: at_ms(seconds),
                subject: *of,
            }
        });
        let wid = subject.public_id().parse().unwrap();
        let nodes = nodes(subject, recorded);
        Scene { name, nodes, wid }
    }

    /// The claims of its nodes, as they are served.
    pub(super) fn claims(&self) -> Vec<Claims> {
        let (served, wid) = (at_ms(1_000), self.wid.to_string());
        let each = self.nodes.iter();
        each.map(|node| Claims::of(node, &wid, served, signer().0.did))
            .collect()
    }
}

/// True for the second of two records that stand together.
fn follows(event: &Event) -> bool {
    matches!(event, Event::Effect(Effect::SessionClosed(closed)) if closed.reason == CloseReason::Agreed)
}

fn at_ms(seconds: u64) -> TimestampMs {
    TimestampMs::new(1_700_000_000_000 + seconds * 1_000)
}

fn hash_of(text: &str) -> Digest {
    Digest::of(text.as_bytes())
}

/// A proposal of that attempt, with three participants.
fn propose(attempt: u32, mechanism: &str) -> Draft {
    let id = round(attempt);
    let mut facts = serde_json::to_value(proposal(id, None)).unwrap()["facts"].clone();
    facts["attempt"] = json!(attempt);
    facts["mechanism"] = json!(mechanism);
    facts["participants"] = json!([did(1), did(2), did(3)]);
    facts["subject_hash"] = json!(hash_of("Use the second link"));
    facts["timeout_ms"] = json!(at_ms(500));
    if attempt > 1 {
        facts["resubmission_of"] = json!(round(attempt - 1));
    }
    if mechanism == "weighted" {
        let participants = [did(1), did(2), did(3)];
        facts["weights"] = json!([5, 3, 2]);
        facts["weights_hash"] = json!(weights_hash(&participants, &[5, 3, 2]));
        facts["threshold"] = json!({ "num": 1, "den": 2 });
    }
    let event = accepted(did(1), &facts, "propose", false);
    (
        Subject::Round(id),
        event,
        json!({ "subject": "Use the second link" }),
    )
}

fn vote_hash(attempt: u32, from: u32) -> Digest {
    Digest::of(&[attempt.to_be_bytes(), from.to_be_bytes()].concat())
}

fn cast(attempt: u32, from: u32, decision: &str) -> Draft {
    let id = round(attempt);
    let why = format!("{decision}, says {from}");
    let facts = json!({
        "consensus_round_id": id, "decision": decision, "proposal_hash": Digest::ZERO,
        "proposal_id": id, "rationale_hash": hash_of(&why), "rationale_tag": Digest::ZERO,
        "timestamp_ms": 5, "vote_hash": vote_hash(attempt, from),
    });
    let token = own_token(
        &OwnKey::ed25519(from),
        &own_claims(u128::from(from) + 90, &[]),
    );
    let payload = json!({ "rationale": why, "ect": token });
    (
        Subject::Round(id),
        accepted(did(from), &facts, "vote", false),
        payload,
    )
}

/// The decision over the votes of `voters`, of three.
fn decide(attempt: u32, voters: &[u32], change: impl FnOnce(&mut Value)) -> Draft {
    let id = round(attempt);
    let digest = votes_digest(voters.iter().map(|from| vote_hash(attempt, *from)));
    let mut event = json!({
        "type": "round_decided", "cause": 1, "outcome": "abort", "reason": "no_quorum",
        "votes_digest": digest,
        "tally": {
            "abstain": 0, "approve": voters.len(), "connected": 3, "eligible": 3, "invalid": 0,
            "mechanism": "majority", "quorum_met": false, "quorum_required": 2,
            "received": voters.len(), "reject": 0,
        },
    });
    change(&mut event);
    (
        Subject::Round(id),
        Event::from_value(&event).unwrap(),
        Value::Null,
    )
}

fn escalate(attempt: u32, reason: &str) -> Draft {
    let event = json!({
        "type": "round_escalated", "cause": 7, "reason": reason, "votes_digest": Digest::ZERO,
    });
    let event = Event::from_value(&event).unwrap();
    (Subject::Round(round(attempt)), event, Value::Null)
}

fn rule(attempt: u32) -> Draft {
    let facts = json!({
        "decision": "approve", "escalation": 7, "proposal_id": round(attempt),
        "rationale_hash": hash_of("it is safe"),
    });
    let event = accepted(did(9), &facts, "human-decision", false);
    (
        Subject::Round(round(attempt)),
        event,
        json!({ "rationale": "it is safe" }),
    )
}

/// Two attempts without a quorum, and a human.
fn retried() -> Scene {
    Scene::of(
        "retried",
        Subject::Round(round(1)),
        &[
            propose(1, "majority"),
            cast(1, 1, "approve"),
            decide(1, &[1], |_| {}),
            propose(2, "majority"),
            cast(2, 2, "approve"),
            decide(2, &[2], |_| {}),
            escalate(2, "retries"),
            rule(2),
            escalate(2, "execution"),
        ],
    )
}

/// Three votes, of which two approve.
fn committed() -> Scene {
    let decided = decide(1, &[1, 2, 3], |it| {
        it["outcome"] = json!("commit");
        it["reason"] = json!("accepted");
        it["tally"]["approve"] = json!(2);
        it["tally"]["reject"] = json!(1);
        it["tally"]["quorum_met"] = json!(true);
    });
    let votes = [(1, "approve"), (2, "approve"), (3, "reject")];
    let votes = votes.map(|(from, decision)| cast(1, from, decision));
    let mut drafts = vec![propose(1, "majority")];
    drafts.extend(votes);
    drafts.extend([decided, escalate(1, "execution")]);
    Scene::of("committed", Subject::Round(round(1)), &drafts)
}

/// Weights, and an abstention.
fn weighted() -> Scene {
    let decided = decide(1, &[1, 2], |it| {
        it["reason"] = json!("rejected");
        it["tally"]["approve"] = json!(1);
        it["tally"]["abstain"] = json!(1);
        it["tally"]["mechanism"] = json!("weighted");
        it["tally"]["quorum_met"] = json!(true);
        it["tally"]["quorum_required"] = json!(1);
        it["tally"]["weights"] = json!({
            "approve": 5, "participating": 8, "threshold": { "den": 2, "num": 1 }, "total": 10,
        });
    });
    let drafts = [
        propose(1, "weighted"),
        cast(1, 1, "approve"),
        cast(1, 2, "abstain"),
        decided,
    ];
    Scene::of("weighted", Subject::Round(round(1)), &drafts)
}

/// A commitment that a cycle of rounds ends before it is revealed.
fn superseded() -> Scene {
    let decided = decide(1, &[], |it| {
        it["reason"] = json!("superseded");
        it["winner"] = json!(round(7));
        it["tally"]["invalid"] = json!(1);
    });
    let drafts = [propose(1, "majority"), decided];
    Scene::of("superseded", Subject::Round(round(1)), &drafts)
}

/// More votes than a node names itself.
fn crowded() -> Scene {
    let voters: Vec<u32> = (10..260).collect();
    let decided = decide(1, &voters, |it| {
        it["outcome"] = json!("commit");
        it["reason"] = json!("accepted");
        it["tally"]["eligible"] = json!(260);
        it["tally"]["connected"] = json!(260);
        it["tally"]["quorum_required"] = json!(130);
        it["tally"]["quorum_met"] = json!(true);
    });
    let mut drafts = vec![propose(1, "majority")];
    drafts.extend(voters.iter().map(|from| cast(1, *from, "approve")));
    drafts.push(decided);
    Scene::of("crowded", Subject::Round(round(1)), &drafts)
}

const TRANSLATE: &str = "com.example.translate";

fn of_session(by: u32, verb: &str, facts: &Value, payload: Value) -> Draft {
    (
        Subject::Session(session(by)),
        capability(verb, facts),
        payload,
    )
}

fn request(by: u32) -> Draft {
    let mut facts = json!({
        "parameters_hash": Digest::ZERO, "type": TRANSLATE,
        "protocol": { "deprecated": [], "max": "1.0.0", "min": "1.0.0" },
    });
    if by > 1 {
        facts["agreement_id"] = json!(session(1));
        facts["revision"] = json!(by - 1);
        facts["reason"] = json!("inadequate");
    }
    of_session(by, "request", &facts, Value::Null)
}

fn close(by: u32, reason: &str, closed_by: Option<u32>) -> Draft {
    let mut event = json!({ "type": "session_closed", "cause": 1, "reason": reason });
    if let Some(from) = closed_by {
        event["closed_by"] = json!(did(from));
    }
    let event = Event::from_value(&event).unwrap();
    (Subject::Session(session(by)), event, Value::Null)
}

/// The records of the session that makes that revision, the first of which stands at `at`.
fn signed(by: u32, at: u64, terms: &Value, before: Option<&Value>) -> [Draft; 4] {
    let agree = json!({
        "agreement_hash": Digest::ZERO, "agreement_id": session(1), "consumer": did(1),
        "duration_s": 60, "kid": signer().0.to_string(), "parameters_hash": Digest::ZERO,
        "provider": did(2), "revision": by, "session_id": session(by),
        "terms_hash": Digest::ZERO, "type": TRANSLATE, "version": "1.0.0",
    });
    let payload = json!({ "agreement": { "terms": terms } });
    let (agreed, starts) = (agreed(u64::from(by), by, terms, before), at_ms(at + 3));
    let mut agreed = serde_json::to_value(agreed).unwrap();
    let duration_s = terms["duration_s"].as_u64().unwrap();
    agreed["starts_at_ms"] = json!(starts);
    agreed["ends_at_ms"] = json!(starts.saturating_add_ms(duration_s * 1_000));
    let agreement = Subject::Agreement(session(1).into());
    [
        request(by),
        of_session(by, "agree", &agree, payload),
        (agreement, Event::from_value(&agreed).unwrap(), Value::Null),
        close(by, "agreed", Some(2)),
    ]
}

/// Made, negotiated again, and revoked.
fn revoked() -> Scene {
    let (first, second) = (
        json!({ "duration_s": 60 }),
        json!({ "duration_s": 90, "tone": "dry" }),
    );
    let revoke = json!({
        "agreement_id": session(1), "reason_hash": hash_of("moved away"), "revision": 2,
    });
    let revoke = (
        Subject::Agreement(session(1).into()),
        capability("revoke", &revoke),
        json!({ "reason": "moved away" }),
    );
    let mut drafts: Vec<Draft> = signed(1, 0, &first, None).into();
    drafts.extend(signed(2, 4, &second, Some(&first)));
    drafts.push(revoke);
    Scene::of("revoked", Subject::Agreement(session(1).into()), &drafts)
}

/// A session whose terms were rejected, with a long reason.
fn rejected() -> Scene {
    let facts = json!({
        "rationale_hash": Digest::ZERO, "session_id": session(1), "step_id": session(1),
    });
    let why = json!({ "rationale": "too dear, ".repeat(200) });
    let drafts = [
        request(1),
        of_session(1, "reject", &facts, why),
        close(1, "rejected", Some(1)),
    ];
    Scene::of("rejected", Subject::Session(session(1)), &drafts)
}

fn terms(deadline_s: u64) -> Value {
    json!({ "deadline_s": deadline_s, "payee": did(2), "payer": did(1) })
}

fn by(from: u32, number: u32, verb: &str, facts: &Value, payload: Value) -> Draft {
    let mut event = serde_json::to_value(negotiation(verb, number, facts)).unwrap();
    event["envelope"]["from"] = json!(did(from));
    let event = Event::from_value(&event).unwrap();
    (Subject::Contract(negotiated()), event, payload)
}

fn negotiated() -> crate::id::ContractId {
    crate::id::ContractId::from_public(&format!("neg-{}", round(1))).unwrap()
}

fn bargain(last: Draft, more: Option<Draft>) -> Vec<Draft> {
    let offer = json!({ "expires_at_ms": 9_000, "terms": terms_facts(&terms(90)) });
    let counter = json!({
        "negotiation_id": round(1), "step_id": round(1), "terms": terms_facts(&terms(60)),
    });
    let said = json!({ "message": "at last", "terms": terms(90) });
    let mut drafts = vec![
        by(1, 1, "offer", &offer, said),
        by(2, 2, "counter", &counter, json!({ "terms": terms(60) })),
        last,
    ];
    drafts.extend(more);
    drafts
}

/// Offered, countered, accepted and engaged.
fn engaged() -> Scene {
    let accept = json!({
        "negotiation_id": round(1), "step_id": round(2),
        "terms_hash": Digest::of(&to_canonical(&terms(60))),
    });
    let engaged = json!({ "type": "engaged", "cause": 9, "interaction": round(7) });
    let engaged = Event::from_value(&engaged).unwrap();
    let engaged = (Subject::Contract(negotiated()), engaged, Value::Null);
    let accept = by(1, 3, "accept", &accept, json!({}));
    let drafts = bargain(accept, Some(engaged));
    Scene::of("engaged", Subject::Contract(negotiated()), &drafts)
}

/// Terms that nobody accepted in time.
fn lapsed() -> Scene {
    let lapsed = json!({ "type": "lapsed", "window": "contract", "code": "X811-4021" });
    let lapsed = Event::from_value(&lapsed).unwrap();
    let lapsed = (Subject::Contract(negotiated()), lapsed, Value::Null);
    let drafts = bargain(lapsed, None);
    Scene::of("lapsed", Subject::Contract(negotiated()), &drafts)
}

type Story = fn() -> Scene;

/// Every shape, by its name.
const SCENES: [(&str, Story); 9] = [
    ("retried", retried),
    ("committed", committed),
    ("weighted", weighted),
    ("superseded", superseded),
    ("crowded", crowded),
    ("revoked", revoked),
    ("rejected", rejected),
    ("engaged", engaged),
    ("lapsed", lapsed),
];

pub(super) fn all() -> Vec<Scene> {
    SCENES.map(|(_, scene)| scene()).into()
}

/// The scene of that name.
pub(super) fn scene(name: &str) -> Scene {
    let mut scenes = SCENES.iter();
    scenes.find(|(known, _)| *known == name).unwrap().1()
}
