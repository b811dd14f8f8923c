//! Takes records one by one and checks everything that can be checked of each.

use std::collections::BTreeMap;

use x811_eventlog::{ChainVerifier, Frontier, Hash, Record};
use x811_protocol::did::Did;
use x811_protocol::event::Event;
use x811_protocol::id::InteractionId;
use x811_protocol::interaction::State;
use x811_protocol::time::TimestampMs;

use super::body::{self, Rules};
use super::decision::{Decided, KNOWN_RULES};
use super::finding::{Cause, Finding, Findings, Spot};
use super::links::Links;
use super::replay::{Replay, Replayed};
use super::report::{FactCounts, Paid, Report};
use super::rows::Rows;
use super::signature;
use super::uniqueness::Used;
use crate::agent::Agent;
use crate::stream::Stream;
use crate::world::World;

/// A record as a source has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The leaf bytes.
    pub leaf: Vec<u8>,
    /// The body, if it is there.
    pub body: Option<Vec<u8>>,
    /// Line of the leaf in an export, from 1.
    pub line: Option<u64>,
    /// Line of the body in an export, from 1.
    pub body_line: Option<u64>,
}

/// Checks a log record by record and never stops at the first fault. A pure function of what it is
/// given: no clock, no store, no configuration.
///
/// Memory grows with the number of envelopes (their ids, for uniqueness) and interactions (their
/// rows, for comparison), some hundred bytes each.
#[derive(Debug, Clone)]
pub struct Auditor {
    chain: ChainVerifier,
    links: Links,
    frontier: Frontier,
    last_hash: Hash,
    pub(super) replay: Replay,
    pub(super) used: Used,
    pub(super) rows: Rows,
    pub(super) findings: Findings,
    envelopes: u64,
    signatures_valid: u64,
    facts: FactCounts,
    not_re_decided: u64,
    paid: BTreeMap<String, Paid>,
    /// Streams of interactions seen, and whether each could be replayed.
    unknown: std::collections::BTreeSet<String>,
    /// A head somebody noted, and where it was found.
    expected_head: Option<Hash>,
    expected_head_position: Option<u64>,
}

impl Default for Auditor {
    fn default() -> Self {
        Auditor::new()
    }
}

impl Auditor {
    /// Before the first record.
    pub fn new() -> Auditor {
        Auditor {
            chain: ChainVerifier::new(),
            links: Links::default(),
            frontier: Frontier::new(),
            last_hash: Hash::ZERO,
            replay: Replay::new(),
            used: Used::default(),
            rows: Rows::default(),
            findings: Findings::default(),
            envelopes: 0,
            signatures_valid: 0,
            facts: FactCounts::default(),
            not_re_decided: 0,
            paid: BTreeMap::new(),
            unknown: std::collections::BTreeSet::new(),
            expected_head: None,
            expected_head_position: None,
        }
    }

    /// Also looks for the record of this hash: a head that somebody noted earlier. A log that does
    /// not hold it is not the one they saw.
    #[must_use]
    pub fn expecting(mut self, head: Option<Hash>) -> Auditor {
        self.expected_head = head;
        self
    }

    /// Records taken so far, unreadable ones included.
    pub fn size(&self) -> u64 {
        self.frontier.size()
    }

    /// Hash of the last record taken.
    pub fn last_hash(&self) -> Hash {
        self.last_hash
    }

    /// The tree over the records taken so far.
    pub fn frontier(&self) -> &Frontier {
        &self.frontier
    }

    /// What was found so far, in the order it was found. A link that does not fit is only reported
    /// with the record behind it.
    pub fn findings(&self) -> &[Finding] {
        self.findings.list()
    }

    /// The state that the log leads to, as far as it can be replayed.
    pub fn world(&self) -> &World {
        self.replay.world()
    }

    /// Takes the next record as it is stored.
    pub fn take(&mut self, entry: Entry) {
        let hash = Hash::of_leaf(&entry.leaf);
        let order = self.frontier.size();
        self.frontier.push(hash);
        self.last_hash = hash;
        if self.expected_head == Some(hash) {
            self.expected_head_position = Some(order);
        }
        let (record, breaks) = self.chain.push_bytes(entry.leaf);
        let position = record
            .as_ref()
            .map(Record::position)
            .or_else(|| breaks.first().map(|broken| broken.position))
            .unwrap_or(order);
        let spot = Spot {
            position,
            line: entry.line,
            stream: record.as_ref().map(|record| record.stream().to_owned()),
        };
        let has_gap = breaks
            .iter()
            .any(|broken| matches!(broken.cause, x811_eventlog::Cause::StreamGap { .. }));
        self.links.take(&spot, breaks, &mut self.findings);
        let Some(record) = record else {
            self.replay.step_over();
            return;
        };
        let body_spot = Spot {
            line: entry.body_line.or(entry.line),
            ..spot.clone()
        };
        match Event::from_value(record.event()) {
            Ok(event) => self.check(&Taken {
                spot,
                body_spot,
                record,
                event,
                body: entry.body,
                has_gap,
            }),
            Err(error) => {
                let sentence = format!("the event cannot be read: {error}");
                self.findings
                    .add(&spot, "event", Cause::Unreadable, sentence);
                self.lose(&record);
                self.replay.give_up(&record);
            }
        }
    }

    fn check(&mut self, taken: &Taken) {
        let Taken {
            spot,
            record,
            event,
            ..
        } = taken;
        let before = self.replay.world().clone();
        let at = TimestampMs::new(record.recorded_at_ms());
        let ledger = before.identity().map(|ledger| ledger.did);
        self.check_envelope(taken, &before, ledger);
        let nonce_window_ms = before
            .parameters()
            .map_or(0, |(_, parameters)| parameters.limits.nonce_window_ms);
        let replayed = self.replay.take(record, event);
        if !matches!(replayed, Replayed::Skipped) {
            signature::key_is_the_senders(spot, &before, &self.replay, event, &mut self.findings);
            body::proofs(spot, event, ledger, &mut self.findings);
        }
        if matches!(replayed, Replayed::Applied(_)) {
            self.decide_again(spot, &before, event, at);
        }
        self.used
            .take(spot, at, nonce_window_ms, event, &mut self.findings);
        self.rows.note(self.replay.world(), record, event);
        self.keep(taken, &before, replayed);
    }

    /// Signature, body and facts: what needs no state but the parameters in force.
    fn check_envelope(&mut self, taken: &Taken, before: &World, ledger: Option<Did>) {
        let Taken {
            body_spot, event, ..
        } = taken;
        let body = taken.body.as_deref();
        if let Some(envelope) = event.envelope() {
            self.envelopes += 1;
            let holds = signature::holds(&taken.spot, envelope, body, &mut self.findings);
            self.signatures_valid += u64::from(holds);
        }
        let rules = Rules {
            parameters: before.parameters().map(|(_, parameters)| &**parameters),
            ledger,
            sender: self.replayed_sender(before, event),
        };
        let verdict = body::judge(body_spot, event, body, rules, &mut self.findings);
        if let Some(verdict) = verdict {
            self.facts.count(verdict);
        }
    }

    /// The sender as its records have it, where all of them could be replayed.
    fn replayed_sender<'a>(&self, before: &'a World, event: &Event) -> Option<&'a Agent> {
        let from = event.envelope()?.from;
        let known = self.replay.knows(&Stream::Agent(from));
        before.agent(from).filter(|_| known).map(|agent| &**agent)
    }

    fn decide_again(&mut self, spot: &Spot, before: &World, event: &Event, at: TimestampMs) {
        if before.identity().is_some() && before.rules_version() != KNOWN_RULES {
            self.not_re_decided += 1;
            return;
        }
        let Some(stream) = spot.stream.as_deref().and_then(|name| name.parse().ok()) else {
            return;
        };
        let decided = Decided {
            spot,
            before,
            stream: &stream,
            event,
            at,
            used: &self.used,
        };
        decided.check(&mut self.findings);
    }

    fn keep(&mut self, taken: &Taken, before: &World, replayed: Replayed) {
        let (spot, record) = (&taken.spot, &taken.record);
        match replayed {
            Replayed::Applied(touched) => {
                self.rows
                    .fold(self.replay.world(), record.position(), &touched);
                self.count_payment(record, &taken.event, before);
            }
            Replayed::Refused(fault) => {
                self.lose(record);
                // A gap in the stream has been named, and says all there is to say.
                if !taken.has_gap {
                    let (cause, sentence) = (Cause::StateDiffers, fault.to_string());
                    self.findings.add(spot, "event", cause, sentence);
                }
            }
            Replayed::Skipped => self.lose(record),
        }
    }

    fn count_payment(&mut self, record: &Record, event: &Event, before: &World) {
        let Event::Confirmed(_) = event else {
            return;
        };
        let Ok(Stream::Interaction(id)) = record.stream().parse() else {
            return;
        };
        let state = before.interaction(id).map(|live| &live.state);
        let settlement = state.and_then(State::settlement);
        let offer = state.and_then(State::offer);
        if let (Some(settlement), Some(offer)) = (settlement, offer) {
            let paid = self.paid.entry(settlement.network.clone()).or_default();
            paid.interactions += 1;
            paid.total_micro_usdc += u128::from(offer.total.as_micro_usdc());
            paid.fee_micro_usdc += u128::from(offer.protocol_fee.as_micro_usdc());
        }
    }

    /// The record's stream is not known any more.
    fn lose(&mut self, record: &Record) {
        self.unknown.insert(record.stream().to_owned());
    }

    /// Whether all that the log says of an interaction was replayed.
    pub(super) fn knows(&self, id: InteractionId) -> bool {
        !self.unknown.contains(&Stream::Interaction(id).to_string())
    }

    /// Where the end shows.
    pub(super) fn end(&self) -> Spot {
        Spot {
            position: self.size().saturating_sub(1),
            line: self.links.last().and_then(|last| last.line),
            stream: None,
        }
    }

    /// Nothing follows. `noted` is the hash that a head kept elsewhere names for the last record:
    /// when it differs, it was the last record that changed.
    pub(super) fn close(&mut self, noted: Option<Hash>) {
        let differs = noted.is_some_and(|noted| noted != self.last_hash);
        self.links.finish(differs, &mut self.findings);
        if let Some(expected) = self.expected_head
            && self.expected_head_position.is_none()
        {
            let sentence = format!(
                "no record has the hash {expected} that was expected: this is not the log it was \
                 noted from, or it was cut off before it"
            );
            let spot = self.end();
            self.findings
                .add(&spot, "head", Cause::HeadDiffers, sentence);
        }
    }

    /// The outcome. What cannot be known from the records alone (a tail that was cut off) shows
    /// only against a head from elsewhere: see [`Auditor::expecting`] and the sources.
    pub fn finish(mut self) -> Report {
        self.close(None);
        self.report()
    }

    pub(super) fn report(self) -> Report {
        let world = self.replay.world();
        let mut interactions: BTreeMap<String, u64> = BTreeMap::new();
        let mut interactions_unknown = 0;
        for (id, expected) in self.rows.interactions(world) {
            if self.knows(id) {
                *interactions.entry(expected.row.state).or_default() += 1;
            } else {
                interactions_unknown += 1;
            }
        }
        let (notices_owed, ledger) = (
            world.owed().count() as u64,
            world.identity().map(|ledger| ledger.did.to_string()),
        );
        let (findings, findings_left_out) = self.findings.finish();
        Report {
            clean: findings.is_empty(),
            ledger,
            records: self.frontier.size(),
            envelopes: self.envelopes,
            signatures_valid: self.signatures_valid,
            facts: self.facts,
            not_replayed: self.replay.not_replayed(),
            not_re_decided: self.not_re_decided,
            interactions,
            interactions_unknown,
            notices_owed,
            paid: self.paid,
            head: self.last_hash,
            root: self.frontier.root(),
            expected_head_position: self.expected_head_position,
            read_model: None,
            findings,
            findings_left_out,
        }
    }
}

/// A readable record, being checked.
struct Taken {
    spot: Spot,
    body_spot: Spot,
    record: Record,
    event: Event,
    body: Option<Vec<u8>>,
    /// It is not the next record of its stream.
    has_gap: bool,
}
