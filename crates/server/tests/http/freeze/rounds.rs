//! Rounds: one that commits, a sealed one, one that fails and is decided by a human.

use super::{Cast, Recorder};
use crate::rounds::signed;
use crate::world::Agent;
use serde_json::{Value, json};
use x811_ledger::clock::Clock as _;
use x811_protocol::canonical::to_canonical;
use x811_protocol::digest::Digest;
use x811_protocol::facts::ConsensusVerb as Verb;
use x811_protocol::facts::consensus::Decision;
use x811_protocol::id::RoundId;
use x811_protocol::round::{Opened, commitment};

const PARTS: [&str; 3] = ["", "/history", "/bundle"];

/// 16 bytes that nothing else has.
const SALT: &str = "QUJDREVGR0hJSktMTU5PUA";

pub(super) async fn session(recorder: &mut Recorder, cast: &Cast) {
    committed(recorder, cast).await;
    sealed(recorder, cast).await;
    escalated(recorder, cast).await;
}

impl Recorder {
    async fn consensus(
        &mut self,
        name: &str,
        from: &Agent,
        verb: Verb,
        payload: Value,
        notices: u64,
    ) -> Value {
        let header = from.header(&self.world, self.world.ledger(), verb.as_str());
        let message = from.say_as(header, signed(from, verb, payload));
        self.send(name, &message, notices).await
    }

    /// A round of Ada, Bert and Cleo; and the hash of its proposal.
    async fn proposed(&mut self, cast: &Cast, change: impl Fn(&mut Value)) -> (RoundId, Digest) {
        let world = self.world.clone();
        let header = cast
            .ada
            .header(&world, world.ledger(), Verb::Propose.as_str());
        let mut payload = json!({
            "proposal_id": header.id, "consensus_round_id": header.id, "proposer": cast.ada.did,
            "mechanism": "majority", "subject": "Move to the second link",
            "action": { "type": "com.example.route", "risk": "low", "reversible": true },
            "timeout": header.created_ms.saturating_add_ms(9_999).to_rfc3339(), "quorum": 2,
            "leader": world.ledger(), "participants": [cast.ada.did, cast.bert.did, cast.cleo.did],
        });
        change(&mut payload);
        let round = header.id.into();
        let hash = Digest::of(&to_canonical(&payload));
        let message = cast
            .ada
            .say_as(header, signed(&cast.ada, Verb::Propose, payload));
        self.send("propose", &message, 2).await;
        (round, hash)
    }

    /// A vote that says that.
    fn vote(&self, voter: &Agent, (round, hash): (RoundId, Digest), said: Value) -> Value {
        let mut payload = json!({
            "proposal_id": round, "consensus_round_id": round, "proposal_hash": hash,
            "voter": voter.did, "timestamp": self.world.clock.wall().to_rfc3339(),
        });
        for (name, value) in said.as_object().unwrap() {
            payload[name] = value.clone();
        }
        payload
    }
}

async fn committed(recorder: &mut Recorder, cast: &Cast) {
    let round = recorder.proposed(cast, |_| {}).await;
    let path = format!("/api/v1/rounds/{}", round.0);
    let about = json!({"proposal_id": round.0});
    let ready = json!({"proposal_id": round.0, "proposal_hash": round.1, "leader": recorder.world.ledger(), "term": 1});
    recorder
        .consensus("ready", &cast.bert, Verb::Ready, ready, 0)
        .await;
    for (name, voter, said) in [
        (
            "vote",
            &cast.bert,
            json!({"decision": "approve", "rationale": "as I see it"}),
        ),
        ("vote again", &cast.bert, json!({"decision": "reject"})),
        ("vote of nothing", &cast.cleo, json!({"decision": "maybe"})),
        (
            "vote of a stranger",
            &cast.eve,
            json!({"decision": "approve"}),
        ),
    ] {
        let vote = recorder.vote(voter, round, said);
        recorder.consensus(name, voter, Verb::Vote, vote, 0).await;
    }
    recorder.covered().await;
    recorder
        .shown_to_all(cast, "round open", &path, &PARTS)
        .await;
    recorder
        .consensus(
            "withdraw too late",
            &cast.ada,
            Verb::Withdraw,
            about.clone(),
            0,
        )
        .await;
    for (voter, notices) in [(&cast.ada, 0), (&cast.cleo, 2)] {
        let vote = recorder.vote(voter, round, json!({"decision": "approve"}));
        recorder
            .consensus("vote of the rest", voter, Verb::Vote, vote, notices)
            .await;
    }
    recorder.pass(10_000, 0).await;
    let executed = json!({"proposal_id": round.0, "report": "done"});
    recorder
        .consensus("executed", &cast.ada, Verb::Executed, executed, 0)
        .await;
    recorder.covered().await;
    recorder
        .shown_to_all(cast, "round committed", &path, &PARTS)
        .await;
    let trace = format!("/api/v1/traces/{}", round.0);
    recorder
        .shown_to_all(cast, "round trace", &trace, &["", "?format=svg"])
        .await;
}

async fn sealed(recorder: &mut Recorder, cast: &Cast) {
    let round = recorder
        .proposed(cast, |it| {
            it["voting"] = json!("sealed");
            it["reveal_ms"] = json!(11_999);
        })
        .await;
    let voters = [&cast.ada, &cast.bert, &cast.cleo];
    let voted_at = recorder.world.clock.wall().to_rfc3339();
    for voter in voters {
        let opened = Opened {
            decision: Decision::Approve,
            proposal_id: round.0,
            rationale: None,
            round: round.0,
            salt: SALT,
            voter: voter.did,
        };
        let vote = recorder.vote(voter, round, json!({"commitment": commitment(&opened)}));
        recorder
            .consensus("sealed vote", voter, Verb::Vote, vote, 0)
            .await;
    }
    recorder.pass(10_000, 1).await;
    for (voter, notices) in voters.into_iter().zip([0, 0, 4]) {
        let reveal = json!({
            "proposal_id": round.0, "consensus_round_id": round.0, "voter": voter.did, "salt": SALT,
            "decision": "approve", "timestamp": voted_at,
        });
        recorder
            .consensus("reveal", voter, Verb::Reveal, reveal, notices)
            .await;
    }
    recorder.pass(12_000, 0).await;
    recorder.covered().await;
    recorder
        .shown_to_all(
            cast,
            "round sealed",
            &format!("/api/v1/rounds/{}", round.0),
            &PARTS,
        )
        .await;
}

async fn escalated(recorder: &mut Recorder, cast: &Cast) {
    let round = recorder.proposed(cast, |_| {}).await;
    let vote = recorder.vote(
        &cast.bert,
        round,
        json!({"decision": "reject", "rationale": "it is slow"}),
    );
    recorder
        .consensus("vote against", &cast.bert, Verb::Vote, vote, 0)
        .await;
    recorder.pass(10_000, 3).await;
    let plea = json!({"proposal_id": round.0, "reason": "time_critical"});
    recorder
        .consensus("escalate", &cast.ada, Verb::Escalate, plea, 2)
        .await;
    let path = format!("/api/v1/escalations/{}", round.0);
    recorder
        .shown_to_all(cast, "escalation", &path, &[""])
        .await;
    let shown = recorder
        .get("escalation by human", Some(&cast.human), &path)
        .await
        .json();
    let ruling = json!({
        "proposal_id": round.0, "escalation": shown["escalation"], "decision": "approve",
        "rationale": "it is slow, and it works",
    });
    recorder
        .consensus(
            "ruling by bert",
            &cast.bert,
            Verb::HumanDecision,
            ruling.clone(),
            0,
        )
        .await;
    recorder
        .consensus("ruling", &cast.human, Verb::HumanDecision, ruling, 0)
        .await;
    recorder.covered().await;
    recorder
        .shown_to_all(
            cast,
            "round escalated",
            &format!("/api/v1/rounds/{}", round.0),
            &PARTS,
        )
        .await;
    recorder
        .get(
            "notices for the human",
            Some(&cast.human),
            &format!("/api/v1/messages/{}", cast.human.uuid()),
        )
        .await;
}
