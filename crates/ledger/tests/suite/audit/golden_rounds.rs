//! The golden logs of rounds of version 2 and bundles of such rounds: rivals, cycles by every rule, lasting silence, and notices, for
//! whoever counts and hashes rounds without this code (round.md, "When it is decided", rules 8 and 9).

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::facts::ConsensusVerb as Verb;
use x811_protocol::facts::consensus::Decision;
use x811_protocol::id::RoundId;
use x811_protocol::observation::Observation;
use x811_protocol::parameters::{CycleRule, Rounds};
use x811_protocol::stream::Subject;

use super::base::{BASE, Base};
use super::bundles::{bundle_of, signed};
use super::council::{Council, running};
use super::golden::is_golden;
use super::ledgerbox::Ledgerbox;
use super::scene::{audit, exported_under, found};

/// How long votes are taken.
const LIFE_MS: u64 = 200_000;

/// A round, as messages about it name it.
type Named = (RoundId, Digest);

fn block(humans: &[Did], cycle: CycleRule) -> Rounds {
    Rounds {
        cycle,
        cycle_network: Some(BASE.to_owned()),
        draw_ms: 80_000,
        execution_ms: 4_000,
        hold_ms: 20_000,
        human_ms: 5_000,
        humans: humans.to_vec(),
        retry_base_ms: 1_000,
        ..Rounds::DEFAULT
    }
}

struct Rounding {
    ledgerbox: Ledgerbox,
    council: Council,
    /// How many proposals there were.
    proposed: usize,
}

impl Rounding {
    async fn new() -> Rounding {
        let ledgerbox = running(block(&[], CycleRule::Oldest)).await;
        ledgerbox.sweep().await;
        let council = Council::new(&ledgerbox, 4).await;
        Rounding {
            ledgerbox,
            council,
            proposed: 0,
        }
    }

    /// From here on cycles are broken so, and the last member is the human.
    async fn under(&mut self, cycle: CycleRule) {
        let humans = [self.council.members[3].did];
        self.ledgerbox.crash().await;
        self.ledgerbox.parameters.rounds = Some(Arc::new(block(&humans, cycle)));
        self.ledgerbox.start().await.unwrap();
        self.ledgerbox.sweep().await;
    }

    async fn away_ms(&mut self, ms: u64) {
        self.ledgerbox.crash().await;
        self.ledgerbox.clock.advance_ms(ms);
        self.ledgerbox.start().await.unwrap();
    }

    /// An action of its own about that resource.
    async fn propose(
        &mut self,
        resource: &str,
        life_ms: u64,
        change: impl FnOnce(&mut Value),
    ) -> Named {
        self.proposed += 1;
        let to = format!("link {}", self.proposed);
        let proposal = self.council.proposal(&self.ledgerbox, life_ms, |it| {
            it["action"]["resource"] = json!([resource]);
            it["action"]["to"] = json!(to);
            change(it);
        });
        self.ledgerbox.accept(&proposal).await;
        (self.council.round.unwrap(), self.council.proposal_hash)
    }

    async fn say(&mut self, of: Named, from: usize, verb: Verb, said: Value) {
        (self.council.round, self.council.proposal_hash) = (Some(of.0), of.1);
        self.council.say(&self.ledgerbox, from, verb, said).await;
    }

    async fn vote(&mut self, of: Named, seats: impl IntoIterator<Item = usize>, decision: &str) {
        for from in seats {
            self.ledgerbox.watch_ms(200).await;
            let said = json!({ "decision": decision, "rationale": format!("says seat {from}") });
            self.say(of, from, Verb::Vote, said).await;
        }
    }

    /// Half of the seats of `of` reject it, as `by` stands in its way.
    async fn block(&mut self, of: Named, by: Named) {
        for from in [0, 1] {
            self.ledgerbox.watch_ms(200).await;
            let said = json!({
                "decision": "reject", "rationale": format!("seat {from}"), "blocked_by": [by.0],
            });
            self.say(of, from, Verb::Vote, said).await;
        }
    }

    async fn cycle(&mut self, resource: &str) -> [Named; 2] {
        let early = self.propose(resource, LIFE_MS, |_| {}).await;
        self.ledgerbox.watch_ms(1_000).await;
        let late = self.propose(resource, LIFE_MS, |_| {}).await;
        self.block(early, late).await;
        self.block(late, early).await;
        [early, late]
    }

    /// One waits for two above it; the highest is accepted, and the others are superseded.
    async fn rivals(&mut self) -> Named {
        let low = self.propose("rivals", LIFE_MS, |_| {}).await;
        let rank = |it: &mut Value, specificity: u64| it["specificity"] = json!(specificity);
        let middle = self.propose("rivals", LIFE_MS, |it| rank(it, 5)).await;
        let high = self.propose("rivals", LIFE_MS, |it| rank(it, 9)).await;
        self.vote(low, 0..4, "approve").await;
        self.vote(high, 0..4, "approve").await;
        self.vote(middle, 0..4, "approve").await;
        self.ledgerbox.watch_ms(6_000).await;
        low
    }

    /// It is held no longer than that, though the ledger was away meanwhile, and is done.
    async fn held_too_long(&mut self) {
        let low = self.propose("patience", LIFE_MS, |_| {}).await;
        let high = self
            .propose("patience", LIFE_MS, |it| it["specificity"] = json!(9))
            .await;
        self.vote(low, 0..4, "approve").await;
        self.away_ms(4_000).await;
        self.ledgerbox.watch_ms(24_000).await;
        self.vote(high, 0..4, "approve").await;
        self.ledgerbox.watch_ms(6_000).await;
    }

    /// Sealed, with a second vote and one that is not revealed; held, and accepted when its rival is rejected.
    async fn sealed(&mut self) -> Named {
        let high = self
            .propose("seals", LIFE_MS, |it| it["specificity"] = json!(9))
            .await;
        let low = self
            .propose("seals", 15_000, |it| it["voting"] = json!("sealed"))
            .await;
        let at = self.ledgerbox.now().to_rfc3339();
        for from in 0..4 {
            let sealed = self.council.sealed(from, Decision::Approve, "yes");
            self.say(low, from, Verb::Vote, sealed).await;
        }
        let other = self.council.sealed(0, Decision::Reject, "no");
        self.say(low, 0, Verb::Vote, other).await;
        self.ledgerbox.watch_ms(16_000).await;
        for from in 0..3 {
            let shown = json!({ "decision": "approve", "rationale": "yes", "timestamp": at });
            self.say(low, from, Verb::Reveal, shown).await;
        }
        self.ledgerbox.watch_ms(11_000).await;
        self.vote(high, 0..4, "reject").await;
        self.ledgerbox.watch_ms(6_000).await;
        low
    }

    /// The oldest of a cycle stays, and goes on.
    async fn oldest(&mut self) {
        let [early, _] = self.cycle("age").await;
        self.vote(early, 2..4, "approve").await;
    }

    /// A circle of three: the oldest stays, and is neither the one that closed it nor the one before. Another
    /// round is blocked by one of them, and is none of the circle.
    async fn circle(&mut self) -> [Named; 4] {
        let first = self.propose("circle", LIFE_MS, |_| {}).await;
        self.ledgerbox.watch_ms(1_000).await;
        let second = self.propose("circle", LIFE_MS, |_| {}).await;
        self.ledgerbox.watch_ms(1_000).await;
        let third = self.propose("circle", LIFE_MS, |_| {}).await;
        let beside = self.propose("beside", LIFE_MS, |_| {}).await;
        self.block(beside, first).await;
        self.block(third, first).await;
        self.block(first, second).await;
        self.block(second, third).await;
        self.vote(first, 2..4, "approve").await;
        self.vote(beside, 2..4, "reject").await;
        self.ledgerbox.watch_ms(6_000).await;
        [first, second, third, beside]
    }

    /// A cycle is put to a human, who decides one of its rounds and not the other.
    async fn asked(&mut self) {
        let [early, _] = self.cycle("questions").await;
        let escalation = {
            let world = self.ledgerbox.ledger().world();
            world.round(early.0).unwrap().state.escalation()
        };
        let ruling = json!({
            "decision": "approve", "escalation": escalation.unwrap(), "rationale": "so be it",
        });
        self.say(early, 3, Verb::HumanDecision, ruling).await;
        self.ledgerbox.watch_ms(6_000).await;
    }

    async fn mine(&mut self) {
        let height = {
            let world = self.ledgerbox.ledger().world();
            *world.heights_awaited(BASE).first().unwrap()
        };
        self.ledgerbox.watch_ms(70_000).await;
        let (network, block) = (BASE.to_owned(), Base::block(height));
        let header = Observation::Header { network, block };
        self.ledgerbox.observe(header).await;
        self.ledgerbox.watch_ms(2_000).await;
    }

    /// A block draws; the moment of both rounds came before.
    async fn drawn(&mut self) -> Named {
        let both = self.cycle("blocks").await;
        for one in both {
            self.vote(one, 2..4, "abstain").await;
        }
        self.mine().await;
        both[1]
    }

    /// One is taken back while it waits, and the block draws among those that are left.
    async fn left(&mut self) {
        let early = self.propose("leavers", LIFE_MS, |_| {}).await;
        let late = self
            .propose("leavers", LIFE_MS, |it| it["blocked_by"] = json!([early.0]))
            .await;
        self.block(early, late).await;
        self.say(late, 0, Verb::Withdraw, json!({})).await;
        self.mine().await;
        self.vote(early, 2..4, "reject").await;
    }

    /// No block comes in time, though the ledger was away meanwhile: the oldest stays.
    async fn passed(&mut self) {
        let [early, _] = self.cycle("delays").await;
        self.away_ms(3_000).await;
        self.ledgerbox.watch_ms(85_000).await;
        self.vote(early, 2..4, "reject").await;
    }

    /// The same voters are missing twice, so that a human is asked with retries left.
    async fn silent(&mut self) -> Named {
        let first = self.propose("silence", 20_000, |_| {}).await;
        self.vote(first, [1], "approve").await;
        self.ledgerbox.watch_ms(22_000).await;
        let again = format!("link {}", self.proposed);
        let second = self
            .propose("silence", 30_000, |it| {
                it["attempt"] = json!(2);
                it["resubmission_of"] = json!(first.0);
                it["action"]["to"] = json!(again);
            })
            .await;
        self.vote(second, [2], "approve").await;
        self.ledgerbox.watch_ms(38_000).await;
        // Of another action, and after an abstention.
        let third = self.propose("silence", 20_000, |_| {}).await;
        self.vote(third, 0..3, "abstain").await;
        self.ledgerbox.watch_ms(22_000).await;
        second
    }

    /// The same voters are missing in two rounds about one thing, the second of which retries nothing.
    async fn silent_again(&mut self) -> Named {
        let first = self.propose("silence", 20_000, |_| {}).await;
        self.vote(first, [1], "approve").await;
        self.ledgerbox.watch_ms(22_000).await;
        let second = self.propose("silence", 20_000, |_| {}).await;
        self.vote(second, [2], "approve").await;
        self.ledgerbox.watch_ms(22_000).await;
        second
    }

    /// One that is still held when the log ends.
    async fn waiting(&mut self) {
        let low = self.propose("ends", LIFE_MS, |_| {}).await;
        let above = |it: &mut Value| it["specificity"] = json!(9);
        let _ = self.propose("ends", LIFE_MS, above).await;
        self.vote(low, 0..4, "approve").await;
    }
}

/// What a log has of rounds: events, windows that lapsed and reasons of decisions.
async fn said(ledgerbox: &Ledgerbox) -> BTreeSet<String> {
    let records = ledgerbox.records().await;
    let rounds = { records.iter() }.filter(|record| record.stream().starts_with("round:"));
    let events = rounds.map(x811_eventlog::Record::event);
    let words = events.flat_map(|event| {
        ["type", "window", "reason", "kind"].map(|name| event[name].as_str().map(str::to_owned))
    });
    words.flatten().collect()
}

/// `X811_VECTORS=write cargo nextest run -p x811-ledger --test suite golden` writes it anew.
#[tokio::test]
async fn golden_log_of_rivals_and_cycles_is_what_is_written() {
    let mut rounding = Rounding::new().await;
    let held = rounding.rivals().await;
    rounding.held_too_long().await;
    rounding.oldest().await;
    rounding.under(CycleRule::Escalate).await;
    let sealed = rounding.sealed().await;
    rounding.asked().await;
    let silent = rounding.silent().await;
    rounding.under(CycleRule::Random).await;
    let drawn = rounding.drawn().await;
    rounding.left().await;
    rounding.passed().await;
    rounding.waiting().await;
    let ledgerbox = &rounding.ledgerbox;
    let said = said(ledgerbox).await;
    for word in [
        "accepted",
        "anomaly_noted",
        "cycle_drawn",
        "deadlock",
        "draw",
        "hold",
        "human",
        "no_quorum",
        "notice_issued",
        "rejected",
        "resubmitted",
        "superseded",
        "tie",
        "unrevealed",
        "withdrawn",
    ] {
        assert!(said.contains(word), "{word} is not in {said:?}");
    }
    let of_rounds = [
        ("round-held", held),
        ("round-sealed", sealed),
        ("round-silent", silent),
        ("round-drawn", drawn),
    ];
    written(ledgerbox, "log-rounds", &of_rounds).await;
}

/// The whole log, and bundles of these rounds.
async fn written(ledgerbox: &Ledgerbox, log: &str, of_rounds: &[(&str, Named)]) {
    let note = signed(ledgerbox, ledgerbox.records().await.len()).await;
    let whole = exported_under(ledgerbox, Some(&note)).await;
    let mut files = vec![(log, whole)];
    for (name, (round, _)) in of_rounds {
        files.push((name, bundle_of(ledgerbox, Subject::Round(*round)).await));
    }
    for (name, bytes) in files {
        assert_eq!(found(&audit(&bytes)), [], "{name}");
        let is_golden = is_golden(&format!("bundle/{name}.x811"), &bytes);
        assert!(is_golden, "what is written has changed: {name}");
    }
}

/// A cycle of more than two, which is closed by its oldest round, by its youngest or by neither: here by the
/// one in the middle.
#[tokio::test]
async fn golden_log_of_a_circle_of_three_is_what_is_written() {
    let mut rounding = Rounding::new().await;
    let three = rounding.circle().await;
    let again = rounding.silent_again().await;
    let ledgerbox = &rounding.ledgerbox;
    let escalated = ledgerbox.rows.rows().subjects[&Subject::Round(again.0)].clone();
    assert_eq!(escalated.state, "undecided", "nobody is named who could");
    let reasons = three.map(|(round, _)| {
        let rows = ledgerbox.rows.rows();
        let row = &rows.subjects[&Subject::Round(round)];
        (
            row.detail["outcome"]["reason"].clone(),
            row.detail["superseded_by"].clone(),
        )
    });
    let oldest = json!(three[0].0);
    let due = [
        ("tie", Value::Null),
        ("superseded", oldest.clone()),
        ("superseded", oldest),
        ("rejected", Value::Null),
    ];
    assert_eq!(reasons, due.map(|(reason, by)| (json!(reason), by)));
    let [first, ..] = three;
    let of_rounds = [("round-circle", first), ("round-silent-again", again)];
    written(ledgerbox, "log-circle", &of_rounds).await;
}
