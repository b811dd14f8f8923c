//! Rounds of every mechanism and with every end, for the log of every event.

use serde_json::{Value, json};
use x811_protocol::facts::ConsensusVerb as Verb;
use x811_protocol::facts::consensus::Decision;
use x811_protocol::key::SecretKey;
use x811_protocol::parameters::{LeaderPolicy, Leaders, Rounds};

use super::council::Council;
use super::ledgerbox::Ledgerbox;
use super::party::Party;

/// How long each round has for votes.
const LIFE_MS: u64 = 10_000;

/// Agents that parameters name before they register: two that may lead, and a human.
fn named() -> [Party; 3] {
    [0x61, 0x62, 0x63].map(|seed| Party {
        did: format!("did:x811:019c8c61-8129-7511-9f31-aa5142e654{seed:02x}")
            .parse()
            .unwrap(),
        key: SecretKey::from_seed([seed; 32]),
    })
}

/// Windows that pass soon, and every member.
pub(crate) fn block() -> Rounds {
    let [leader, other, human] = named().map(|party| party.did);
    Rounds {
        cycle_network: Some("base".to_owned()),
        execution_ms: 4_000,
        human_ms: 5_000,
        humans: vec![human],
        leaders: Leaders {
            dids: vec![leader, other],
            policy: LeaderPolicy::Listed,
        },
        liveness_ms: Some(60_000),
        open_ms: 3_000,
        resubmit_ms: 6_000,
        retry_base_ms: 1_000,
        reveal_ms: 2_000,
        signal_ms: 2_000,
        ..Rounds::DEFAULT
    }
}

struct Rounding<'a> {
    ledgerbox: &'a Ledgerbox,
    council: Council,
    leader: Party,
    other: Party,
    human: Party,
}

/// A vote with a reason of its own.
fn vote(from: usize, decision: &str) -> Value {
    json!({ "decision": decision, "rationale": format!("{decision}, says seat {from}") })
}

impl Rounding<'_> {
    async fn open(&mut self, change: impl FnOnce(&mut Value)) {
        let wait_ms = block().open_ms;
        let proposal = self
            .council
            .proposal(self.ledgerbox, LIFE_MS + wait_ms, change);
        self.ledgerbox.accept(&proposal).await;
    }

    async fn say(&self, from: &Party, verb: Verb, extra: Value) -> u64 {
        let message = self.council.message(self.ledgerbox, from, verb, &extra);
        self.ledgerbox.accept(&message).await.position
    }

    async fn seat(&self, from: usize, verb: Verb, extra: Value) -> u64 {
        self.say(&self.council.members[from], verb, extra).await
    }

    async fn pass_ms(&self, ms: u64) {
        self.ledgerbox.watch_ms(ms).await;
    }

    /// The final tally as its leader signs it.
    fn tally(&self) -> Value {
        let world = self.ledgerbox.ledger().world();
        let live = world.round(self.council.round.unwrap()).unwrap();
        live.state.decided.unwrap().to_value()
    }

    /// Committed with a second vote, reports of both kinds, and a round that stands in the way.
    async fn committed(&mut self) {
        self.open(|it| it["mechanism"] = json!("optimistic")).await;
        let in_the_way = self.council.round;
        self.open(|it| {
            it["f"] = json!(1);
            it["quorum"] = json!(3);
            it["urgency"] = json!(7);
            it["specificity"] = json!(2);
            it["blocked_by"] = json!([in_the_way]);
        })
        .await;
        self.seat(0, Verb::Ready, json!({})).await;
        for (from, decision) in [(0, "approve"), (1, "approve"), (1, "abstain")] {
            self.seat(from, Verb::Vote, vote(from, decision)).await;
        }
        let mut blocked = vote(2, "reject");
        blocked["blocked_by"] = json!([in_the_way]);
        self.seat(2, Verb::Vote, blocked).await;
        self.seat(3, Verb::Vote, vote(3, "approve")).await;
        self.seat(0, Verb::Executed, json!({ "report": "done" }))
            .await;
        self.seat(1, Verb::Failed, json!({ "report": { "code": 7 } }))
            .await;
        self.pass_ms(LIFE_MS + 5_000).await;
    }

    /// Weighted and sealed, led by an agent; another claims to lead.
    async fn weighted(&mut self) {
        let leader = self.leader.did;
        self.open(|it| {
            it["mechanism"] = json!("weighted");
            it["voting"] = json!("sealed");
            it["weights"] = json!([50, 30, 20, 10]);
            it["threshold"] = json!({"num": 1, "den": 2});
            it["quorum"] = json!(1);
            it["reveal_ms"] = json!(3_000);
            it["leader"] = json!(leader);
        })
        .await;
        let weights_hash = {
            let world = self.ledgerbox.ledger().world();
            let live = world.round(self.council.round.unwrap()).unwrap();
            live.state.opening.proposal.weights_hash
        };
        let ready = json!({ "leader": leader, "weights_hash": weights_hash });
        for from in 0..4 {
            self.seat(from, Verb::Ready, ready.clone()).await;
        }
        let hash = self.council.proposal_hash;
        let call = json!({ "proposal_hash": hash, "term": 1, "weights_hash": weights_hash });
        self.say(&self.leader, Verb::VoteRequest, call).await;
        let at = self.ledgerbox.now().to_rfc3339();
        for from in 0..4 {
            let sealed = self.council.sealed(from, Decision::Approve, "yes");
            self.seat(from, Verb::Vote, sealed).await;
        }
        self.say(&self.other, Verb::Abort, json!({})).await;
        self.pass_ms(LIFE_MS + 4_000).await;
        for from in 0..3 {
            let shown = json!({ "decision": "approve", "rationale": "yes", "timestamp": at });
            self.seat(from, Verb::Reveal, shown).await;
        }
        self.pass_ms(4_000).await;
        let signal = json!({ "tally": self.tally(), "rationale": "as they voted" });
        self.say(&self.leader, Verb::Commit, signal).await;
        for from in 0..4 {
            self.seat(from, Verb::Executed, json!({})).await;
        }
    }

    /// The leader's word decides, against the votes.
    async fn led(&mut self) {
        let leader = self.leader.did;
        self.open(|it| {
            it["mechanism"] = json!("leader");
            it["quorum"] = json!(0);
            it["leader"] = json!(leader);
        })
        .await;
        self.call().await;
        self.seat(0, Verb::Vote, vote(0, "approve")).await;
        self.say(&self.leader, Verb::Suspend, json!({})).await;
        self.say(&self.leader, Verb::Resume, json!({})).await;
        let against = json!({ "rationale": "it is too early" });
        self.say(&self.leader, Verb::Abort, against).await;
    }

    async fn call(&self) {
        let call = json!({ "proposal_hash": self.council.proposal_hash, "term": 1 });
        self.say(&self.leader, Verb::VoteRequest, call).await;
    }

    /// Nobody votes; it is retried, and that is taken back. The round is about a thing for which nobody was silent
    /// before.
    async fn retried(&mut self) {
        let link = json!(["Link B"]);
        self.open(|it| it["action"]["resource"] = link.clone())
            .await;
        let failed = self.council.round;
        self.pass_ms(LIFE_MS + 5_000).await;
        self.open(|it| {
            it["action"]["resource"] = link;
            it["attempt"] = json!(2);
            it["resubmission_of"] = json!(failed);
            it["quorum"] = json!(2);
        })
        .await;
        self.seat(0, Verb::Withdraw, json!({})).await;
    }

    /// Failed, and humans are asked: they approve, reject, or say nothing.
    async fn escalated(&mut self) {
        for ruling in [Some("approve"), Some("reject"), None] {
            self.open(|it| it["mechanism"] = json!("optimistic")).await;
            self.pass_ms(LIFE_MS + 4_000).await;
            let plea = json!({ "reason": "time_critical" });
            let escalation = self.seat(0, Verb::Escalate, plea).await + 1;
            if let Some(ruling) = ruling {
                let ruling = json!({
                    "decision": ruling, "escalation": escalation, "rationale": "so be it",
                });
                self.say(&self.human, Verb::HumanDecision, ruling).await;
            }
            self.pass_ms(6_000).await;
        }
    }

    /// A leader that does not open, one that is suspended at the timeout, and one that does not sign.
    async fn silent(&mut self) {
        let leader = self.leader.did;
        self.open(|it| it["leader"] = json!(leader)).await;
        self.pass_ms(10_000).await;
        self.open(|it| it["leader"] = json!(leader)).await;
        self.call().await;
        self.say(&self.leader, Verb::Suspend, json!({})).await;
        self.pass_ms(LIFE_MS + 10_000).await;
        self.open(|it| it["leader"] = json!(leader)).await;
        self.call().await;
        for from in 0..4 {
            self.seat(from, Verb::Vote, json!({ "decision": "approve" }))
                .await;
        }
        self.pass_ms(5_000).await;
        // One that is still open when the log ends.
        self.open(|_| {}).await;
    }
}

/// All of them.
pub(crate) async fn decided(ledgerbox: &Ledgerbox) {
    let council = Council::new(ledgerbox, 4).await;
    let [leader, other, human] = named();
    for party in [&leader, &other, &human] {
        let registration = ledgerbox.registration(party, &["x811.consensus"], &[]);
        ledgerbox.accept(&registration).await;
    }
    let mut rounding = Rounding {
        ledgerbox,
        council,
        leader,
        other,
        human,
    };
    rounding.committed().await;
    rounding.weighted().await;
    rounding.led().await;
    rounding.retried().await;
    rounding.escalated().await;
    rounding.silent().await;
}
