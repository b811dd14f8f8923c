//! Agents who decide together: how to say what is said in a round.

use super::ledgerbox::Ledgerbox;
use super::party::Party;
use serde_json::{Value, json};
use std::sync::Arc;
use x811_ledger::answer::Accepted;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::SealedEnvelope;
use x811_protocol::facts::ConsensusVerb as Verb;
use x811_protocol::facts::consensus::Decision;
use x811_protocol::id::RoundId;
use x811_protocol::jws;
use x811_protocol::key::KeyId;
use x811_protocol::parameters::Rounds;
use x811_protocol::round::{Opened, commitment};
use x811_protocol::stream::Subject;
use x811_protocol::time::TimestampMs;

/// 16 bytes.
const SALT: &str = "AAAAAAAAAAAAAAAAAAAAAA";

/// Who has agreed to take part, and somebody who has not.
pub(crate) struct Council {
    pub(crate) members: Vec<Party>,
    pub(crate) stranger: Party,
    pub(crate) round: Option<RoundId>,
    pub(crate) proposal_hash: Digest,
    pub(crate) timeout: TimestampMs,
}

/// A ledger that runs rounds.
pub(crate) async fn running(block: Rounds) -> Ledgerbox {
    Ledgerbox::but(|it| it.rounds = Some(Arc::new(block))).await
}

impl Council {
    /// That many new members.
    pub(crate) async fn new(ledgerbox: &Ledgerbox, members: usize) -> Council {
        let mut council = Council {
            members: Vec::new(),
            stranger: ledgerbox.provider().await,
            round: None,
            proposal_hash: Digest::ZERO,
            timeout: ledgerbox.now(),
        };
        for _ in 0..members {
            let party = ledgerbox.party();
            let registration = ledgerbox.registration(&party, &["x811.consensus"], &[]);
            ledgerbox.accept(&registration).await;
            council.members.push(party);
        }
        council
    }

    pub(crate) fn subject(&self) -> Subject {
        Subject::Round(self.round.unwrap())
    }

    /// A proposal by the first, for that long; `change` makes it another one.
    pub(crate) fn proposal(
        &mut self,
        ledgerbox: &Ledgerbox,
        after_ms: u64,
        change: impl FnOnce(&mut Value),
    ) -> SealedEnvelope {
        let mut letter = ledgerbox.letter(Verb::Propose.as_str(), &ledgerbox.identity, json!({}));
        let participants: Vec<_> = self.members.iter().map(|party| party.did).collect();
        self.timeout = ledgerbox.now().saturating_add_ms(after_ms);
        let mut payload = json!({
            "proposal_id": letter.id, "consensus_round_id": letter.id,
            "proposer": self.members[0].did, "mechanism": "majority",
            "subject": "Route traffic over the second link",
            "action": {
                "type": "com.example.route", "resource": ["Link A"], "risk": "low",
                "reversible": true,
            },
            "timeout": self.timeout.to_rfc3339(), "quorum": participants.len() / 2 + 1,
            "leader": ledgerbox.identity.did, "participants": participants,
        });
        change(&mut payload);
        self.round = Some(letter.id.into());
        self.proposal_hash = Digest::of(&x811_protocol::canonical::to_canonical(&payload));
        letter.payload = signed(&self.members[0], Verb::Propose, payload);
        self.members[0].seal(&letter)
    }

    /// What that verb says of the round; `extra` has its other members.
    pub(crate) fn message(
        &self,
        ledgerbox: &Ledgerbox,
        from: &Party,
        verb: Verb,
        extra: &Value,
    ) -> SealedEnvelope {
        let round = self.round.unwrap();
        let mut payload = json!({ "proposal_id": round });
        let more = match verb {
            Verb::Ready => json!({
                "proposal_hash": self.proposal_hash, "leader": ledgerbox.identity.did, "term": 1,
            }),
            Verb::Vote => json!({
                "consensus_round_id": round, "proposal_hash": self.proposal_hash,
                "voter": from.did, "timestamp": ledgerbox.now().to_rfc3339(),
            }),
            Verb::Reveal => json!({
                "consensus_round_id": round, "voter": from.did, "salt": SALT,
            }),
            Verb::Propose
            | Verb::VoteRequest
            | Verb::Commit
            | Verb::Abort
            | Verb::Suspend
            | Verb::Resume
            | Verb::Withdraw
            | Verb::Escalate
            | Verb::HumanDecision
            | Verb::Executed
            | Verb::Failed => json!({}),
        };
        for members in [&more, extra] {
            for (name, value) in members.as_object().unwrap() {
                payload[name] = value.clone();
            }
        }
        let payload = signed(from, verb, payload);
        ledgerbox.seal(from, verb.as_str(), &ledgerbox.identity, payload)
    }

    pub(crate) async fn say(
        &self,
        ledgerbox: &Ledgerbox,
        from: usize,
        verb: Verb,
        extra: Value,
    ) -> Accepted {
        let message = self.message(ledgerbox, &self.members[from], verb, &extra);
        ledgerbox.accept(&message).await
    }

    pub(crate) async fn all_ready(&self, ledgerbox: &Ledgerbox, extra: &Value) {
        for from in 0..self.members.len() {
            self.say(ledgerbox, from, Verb::Ready, extra.clone()).await;
        }
    }

    /// What the seat of that number commits to.
    pub(crate) fn sealed(&self, from: usize, decision: Decision, why: &str) -> Value {
        let round = self.round.unwrap();
        let opened = Opened {
            decision,
            proposal_id: round,
            rationale: Some(why),
            round,
            salt: SALT,
            voter: self.members[from].did,
        };
        json!({ "commitment": commitment(&opened) })
    }
}

/// The payload with its signature inside.
pub(crate) fn signed(from: &Party, verb: Verb, mut payload: Value) -> Value {
    let kid = KeyId {
        did: from.did,
        key: from.key.public(),
    };
    let object = payload.as_object().unwrap();
    let signature = jws::sign_object(&from.key, &kid, verb.jws_type(), object);
    payload[jws::MEMBER] = signature.into();
    payload
}
