//! Takes records one by one and checks everything that can be checked of each.

mod agent_keys;
mod attested;
mod checkpoints;
mod conclude;
mod erasing;
mod expected;
mod late_lapse;
mod lateness;
mod noted;
mod overdue;
mod prefix;

use std::collections::{BTreeMap, BTreeSet};

use x811_eventlog::{ChainVerifier, Frontier, Hash, Record};
use x811_protocol::did::Did;
use x811_protocol::event::{Event, LedgerEvent, LedgerOpened, unknown_rules};
use x811_protocol::id::InteractionId;
use x811_protocol::payload::PayloadRules;
use x811_protocol::rules::Rules;
use x811_protocol::settlement;
use x811_protocol::time::TimestampMs;

use self::prefix::Prefix;
use crate::export::PathLine;
use crate::extract::Extract;
use crate::finding::findings::{Cause, Finding, Findings, Spot};
use crate::finding::remarks::Remarks;
use crate::finding::unchecked::Unchecked;
use crate::finding::verdict::{FactCounts, Verdict};
use crate::identity::agent_keys::AgentKeys;
use crate::identity::checkpoints::Covered;
use crate::identity::noted::Noted;
use crate::identity::trust::Trusting;
use crate::money::listing::Listed as Accounts;
use crate::money::payments::{self, Payments};
use crate::money::short::SeenTransfers;
use crate::network::draws::{self, RecordedDraw};
use crate::network::heads::{self, Heads, Mentioned};
use crate::network::observed::Observations;
use crate::network::on_chain::SaidOfNetwork;
use crate::network::story::{self, Stories};
use crate::options::Options;
use crate::record::body::{self, Basis};
use crate::record::erased::Erased;
use crate::record::examine::{Entry, EntryContent, Examined, Whole};
use crate::record::links::Links;
use crate::record::signature;
use crate::record::uniqueness::Used;
use crate::replay::agent_rows::AgentRows;
use crate::replay::decided::Decided;
use crate::replay::effects::Effects;
use crate::replay::owing::Owing;
use crate::replay::rows::Rows;
use crate::replay::state::Replay;
use crate::report::document::TransferCounts;
use crate::report::parameters::ParametersSeen;
use crate::time::downtime::{Away, Downtimes};
use crate::time::late_lapse::Pace;
use crate::time::lateness::LateLapses;
use crate::time::overdue::Turns;
use crate::time::signing_order::SigningOrder;
use x811_protocol::stream::{Stream, Subject};
use x811_world::agent::Agent;
use x811_world::reading::payload_rules;
use x811_world::schemas::Schemas;
use x811_world::{Fault, Touched, World};

/// Checks a log record by record and never stops at the first fault. A pure function of what it is
/// given: no clock, no store, no configuration.
///
/// Memory grows with the number of envelopes (their ids, for uniqueness) and interactions (their
/// rows, for comparison), some hundred bytes each.
#[derive(Debug, Clone, Default)]
pub struct Auditor {
    pub(crate) chain: ChainVerifier,
    pub(crate) links: Links,
    pub(crate) frontier: Frontier,
    pub(crate) last_hash: Hash,
    pub(crate) replay: Replay,
    pub(crate) used: Used,
    pub(crate) rows: Rows,
    pub(crate) agents: AgentRows,
    pub(crate) agent_keys: AgentKeys,
    pub(crate) erased: Erased,
    /// Where this is one interaction alone.
    pub(crate) extract: Option<Extract>,
    /// How far checkpoints cover it.
    pub(crate) prefix: Prefix,
    /// When the last record was recorded.
    pub(crate) last_at_ms: u64,
    /// Checkpoints that hold.
    pub(crate) checkpoints: Vec<Covered>,
    /// Lapses before decisions.
    pub(crate) pace: Pace,
    pub(crate) late_lapses: LateLapses,
    pub(crate) downtimes: Downtimes,
    away: Away,
    /// Whose they have to be.
    pub(crate) trusting: Trusting,
    pub(crate) findings: Findings,
    pub(crate) envelopes: u64,
    pub(crate) signatures_valid: u64,
    pub(crate) facts: FactCounts,
    pub(crate) wallets: FactCounts,
    pub(crate) erasures: FactCounts,
    pub(crate) state_roots: FactCounts,
    pub(crate) not_re_decided: u64,
    /// How late a lapse may be.
    pub(crate) turns: Turns,
    /// Effects of records on other streams.
    pub(crate) effects: Effects,
    /// What parameters of sessions are held to.
    schemas: Schemas,
    /// Notices that parties are owed, by when their causes were recorded.
    pub(crate) owing: Owing,
    /// Some rule from here on is not known.
    pub(crate) rules_are_unknown: bool,
    /// True once a record under unknown rules replaced a key of the ledger, or cannot be read and may have.
    keys_are_unknown: bool,
    /// Number of checkpoints that no known key signed, once keys are unknown.
    pub(crate) unverifiable_checkpoints: u64,
    /// Position 0, where it puts such rules in force: no world is made of it.
    opened_unknown: Option<Box<LedgerOpened>>,
    pub(crate) observations: Observations,
    pub(crate) payments: Payments,
    pub(crate) parameters: ParametersSeen,
    /// What was said of blocks and transactions.
    pub(crate) stories: Stories,
    heads: Heads,
    seen_transfers: SeenTransfers,
    pub(crate) signing_order: SigningOrder,
    pub(crate) remarks: Remarks,
    pub(crate) transfers: TransferCounts,
    /// Evidence, where it is asked for.
    pub(crate) evidence: Option<SaidOfNetwork>,
    /// Draws among rounds, where evidence is kept.
    pub(crate) draws: Vec<RecordedDraw>,
    /// Streams of subjects with a record that could not be replayed.
    pub(crate) unknown: BTreeSet<String>,
    /// Interactions by the state they were left in, and how many were not replayed; at the end.
    pub(crate) states: (BTreeMap<String, u64>, u64),
    /// What is kept to list every interaction, where that is asked for.
    pub(crate) accounts: Option<Accounts>,
    /// A checkpoint somebody noted, until it was compared; and once it was, if it holds.
    pub(crate) noted: Option<Noted>,
    pub(crate) noted_held: Option<Covered>,
    /// A head somebody noted, and where it was found.
    pub(crate) expected_head: Option<Hash>,
    pub(crate) expected_head_position: Option<u64>,
}

impl Auditor {
    /// Before the first record.
    pub fn new() -> Auditor {
        Auditor::default()
    }

    /// Before the first record of a bundle of `subject`, or of one that does not say which.
    pub(crate) fn of_extract(self, subject: Option<Subject>) -> Auditor {
        Auditor {
            replay: Replay::of_extract(),
            extract: Some(Extract::of(subject)),
            ..self
        }
    }

    /// What is particular to a bundle, where this is one.
    pub(crate) fn extract(&mut self) -> Option<(&mut Extract, &mut Findings)> {
        let findings = &mut self.findings;
        self.extract.as_mut().map(|extract| (extract, findings))
    }

    /// Also looks for the record of this hash: a head that somebody noted earlier. A log that does
    /// not hold it is not the one they saw.
    #[must_use]
    pub fn expecting(mut self, head: Option<Hash>) -> Auditor {
        self.expected_head = head;
        self
    }

    /// One that does what `options` ask for.
    pub fn with(options: &Options) -> Auditor {
        Auditor {
            evidence: options.keeps_evidence.then(SaidOfNetwork::default),
            accounts: options.listing.map(Accounts::of),
            noted: options.noted_checkpoint.clone().map(Noted::of),
            trusting: Trusting::by(options),
            agent_keys: AgentKeys::knowing(options.agent_keys.clone()),
            ..Auditor::new().expecting(options.expected_head)
        }
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
        let mut examined = Examined::of(entry, self.rules());
        signature::check_all(examined.whole_mut().into_iter().collect());
        self.settle(examined, None);
    }

    /// The rules in force that decide how payloads are read.
    pub fn rules(&self) -> Option<PayloadRules> {
        payload_rules(self.world())
    }

    /// Takes the next entry, once it has been examined, with its path under a bundle's checkpoint.
    pub fn settle(&mut self, examined: Examined, path: Option<&PathLine>) {
        let Examined {
            hash,
            line,
            content,
        } = examined;
        self.compare_noted();
        self.leave_prefix();
        let order = self.frontier.size();
        self.frontier.push(hash);
        self.last_hash = hash;
        if self.expected_head == Some(hash) {
            self.expected_head_position = Some(order);
        }
        match content {
            EntryContent::Whole(whole) => {
                self.last_at_ms = self.last_at_ms.max(whole.record.recorded_at_ms());
                let has_gap = self.link(&whole.spot, &whole.record, path);
                if let Some(extract) = &mut self.extract {
                    extract.note(whole.stream.as_ref(), &whole.event);
                    self.leave(&whole.event);
                }
                self.check(*whole, has_gap);
            }
            EntryContent::NoEvent(record, why) => {
                self.last_at_ms = self.last_at_ms.max(record.recorded_at_ms());
                let spot = Spot::of(&record, line);
                self.link(&spot, &record, path);
                self.lose(&record);
                self.rules_are_unknown |= unknown_rules(record.event_json()).is_some();
                if !self.knows_rules() {
                    self.keys_are_unknown = true;
                    return self.pass_over();
                }
                let sentence = format!("the event cannot be read: {why}");
                self.findings
                    .add(&spot, "event", Cause::Unreadable, sentence);
                self.replay.give_up(&record);
            }
            EntryContent::NoRecord(error) => {
                if let Some(extract) = &self.extract {
                    let (spot, cause) = (extract.beyond(line), Cause::BytesChanged);
                    self.findings.add(&spot, "leaf", cause, error.to_string());
                } else {
                    let broken = self.chain.push_unreadable(hash, error);
                    let spot = Spot {
                        line,
                        ..Spot::at(broken.position)
                    };
                    self.links.take(&spot, vec![broken], &mut self.findings);
                }
                self.replay.step_over();
            }
        }
    }

    /// Holds the record against those before it; whether it is not the next of its stream.
    fn link(&mut self, spot: &Spot, record: &Record, path: Option<&PathLine>) -> bool {
        if let Some(extract) = &mut self.extract {
            return extract.take(spot, record, path, &mut self.findings);
        }
        let breaks = self.chain.push(record);
        let has_gap = breaks
            .iter()
            .any(|broken| matches!(broken.cause, x811_eventlog::Cause::StreamGap { .. }));
        self.links.take(spot, breaks, &mut self.findings);
        has_gap
    }

    /// Counts what of a record takes the rest of the log to check.
    fn leave(&mut self, event: &Event) {
        let envelopes = u64::from(event.envelope().is_some());
        let claims = event.claims().len() as u64;
        self.findings.leave(Unchecked::UsedOnce, envelopes);
        self.findings.leave(Unchecked::ClaimedOnce, claims);
    }

    fn check(&mut self, mut whole: Whole, has_gap: bool) {
        if names_unknown_rules(&whole.event) {
            self.rules_are_unknown = true;
            if let Event::Ledger(LedgerEvent::Opened(opened)) = &whole.event {
                self.opened_unknown = Some(Box::new(opened.clone()));
            }
        }
        if !self.knows_rules() {
            self.keys_are_unknown |=
                matches!(&whole.event, Event::Ledger(LedgerEvent::KeyRotated(_)));
            self.check_signature(&mut whole);
            self.rows.note(&whole);
            self.lose(&whole.record);
            return self.pass_over();
        }
        let found = self.findings.list().len();
        self.check_envelope(&mut whole);
        let at = TimestampMs::new(whole.record.recorded_at_ms());
        let nonce_window_ms = self
            .world()
            .parameters()
            .map_or(0, |(_, parameters)| parameters.limits.nonce_window_ms);
        self.check_erasure(&whole, at);
        let mut late = Findings::default();
        self.late_lapse(&whole, at, &mut late);
        let replayed = self.replay(&whole, at);
        let (spot, record, event) = (&whole.spot, &whole.record, &whole.event);
        self.used
            .take(spot, at, nonce_window_ms, event, &mut self.findings);
        self.rows.note(&whole);
        self.turns.note(whole.stream.as_ref(), event, at);
        let is_extract = self.extract.is_some();
        if let (Some(stream), Replayed::Applied(_)) = (&whole.stream, &replayed) {
            let findings = &mut self.findings;
            self.effects
                .check(spot, stream, event, is_extract, findings);
        }
        match replayed {
            Replayed::Applied(touched) => {
                let position = record.position();
                if let Some(stream) = &whole.stream {
                    let (world, recorded) = (self.replay.world(), (stream, event));
                    let left = self.effects.note(world, position, recorded, is_extract);
                    self.findings.leave(Unchecked::EffectsElsewhere, left);
                    let is_word = is_extract && Effects::rests_on_others(world, stream, event);
                    self.findings
                        .leave(Unchecked::RivalProposals, u64::from(is_word));
                }
                if let (Some(Stream::Of(Subject::Descriptor(_))), Some(body)) =
                    (&whole.stream, &whole.body)
                {
                    self.schemas.take_advert(body);
                }
                self.rows.fold(self.replay.world(), record, &touched);
                self.agents.take(self.replay.world(), record, event);
                self.agent_keys.take(spot, event);
                self.attest(whole.stream.as_ref(), position, event);
                if let (Some(accounts), Some(Stream::Of(subject @ Subject::Interaction(id)))) =
                    (&mut self.accounts, &whole.stream)
                    && let Some(number) = self.rows.number(*subject)
                {
                    let after = self.replay.world().latest(*id).map(|live| &live.state);
                    accounts.take(number, position, event, after);
                }
                self.owing.note(self.replay.world(), position, at, event);
                self.findings.extend(late);
                if !self.findings.breaks_a_rule(position, found) {
                    self.observations.count(event);
                    self.downtimes.note(event);
                }
            }
            Replayed::Refused(fault) => {
                self.lose(record);
                // A gap in the stream has been named, and says all there is to say.
                if !has_gap {
                    let (cause, sentence) = (Cause::StateDiffers, fault.to_string());
                    self.findings.add(spot, "event", cause, sentence);
                }
            }
            Replayed::Skipped => self.lose(record),
        }
    }

    /// True if this version knows the ledger's keys in force.
    pub(crate) fn knows_keys(&self) -> bool {
        !self.keys_are_unknown
    }

    /// Whether this version knows the decision rules in force.
    pub(crate) fn knows_rules(&self) -> bool {
        !self.rules_are_unknown
    }

    /// Behind rules that this version does not know it decides nothing, and totals nothing.
    fn pass_over(&mut self) {
        self.not_re_decided += 1;
        self.replay.stop();
    }

    fn check_signature(&mut self, whole: &mut Whole) {
        self.envelopes += u64::from(whole.signature_holds.is_some());
        self.signatures_valid += u64::from(whole.signature_holds == Some(true));
        self.findings
            .extend(std::mem::take(&mut whole.signature_findings));
    }

    /// Signature, body and facts: what was found of the record alone, where the rules it was
    /// examined under are in force, and what takes the records before it.
    fn check_envelope(&mut self, whole: &mut Whole) {
        self.check_signature(whole);
        let payload = self.rules();
        let judged = whole.judgement.take();
        let verdict = match judged.filter(|judgement| judgement.rules == payload) {
            Some(judgement) => {
                self.findings.extend(judgement.findings);
                judgement.verdict
            }
            None => {
                let basis = Basis {
                    payload,
                    ledger: self.ledger(),
                    sender: self.replayed_sender(&whole.event),
                };
                let body = whole.body.as_deref();
                let mut findings = Findings::default();
                let verdict =
                    body::judge(&whole.body_spot, &whole.event, body, basis, &mut findings);
                self.findings.extend(findings);
                verdict
            }
        };
        if let Some(verdict) = verdict {
            self.facts.count(verdict);
        }
        self.erased.note(whole);
    }

    /// Who the ledger says it is, with the keys in force; `said` where position 0 was not replayed.
    pub(crate) fn opened(&self, said: Option<&LedgerOpened>) -> Option<LedgerOpened> {
        let world = self.world();
        let (Some(opened), Some(keyring)) = (world.identity(), world.keyring()) else {
            return said.cloned();
        };
        Some(LedgerOpened {
            keys: *keyring.in_force(),
            ..(**opened).clone()
        })
    }

    /// What position 0 says, whether or not its rules are known.
    pub(crate) fn identity(&self) -> Option<&LedgerOpened> {
        let known = self.world().identity().map(|opened| &**opened);
        known.or(self.opened_unknown.as_deref())
    }

    fn ledger(&self) -> Option<Did> {
        self.world().identity().map(|ledger| ledger.did)
    }

    /// The sender as its records have it, where all of them could be replayed.
    fn replayed_sender(&self, event: &Event) -> Option<&Agent> {
        let from = event.envelope()?.from;
        let agent = self.world().agent(from).map(|agent| &**agent);
        agent.filter(|_| self.replay.knows(&Stream::Agent(from)))
    }

    /// Replays the record. What takes the world before it comes first, for the world changes in
    /// its place.
    fn replay(&mut self, whole: &Whole, at: TimestampMs) -> Replayed {
        let Whole {
            spot,
            record,
            event,
            ..
        } = whole;
        let ledger = self.ledger();
        let last_at = TimestampMs::new(self.world().head().recorded_at_ms);
        if !self.replay.admits(record) {
            return Replayed::Skipped;
        }
        let registered = signature::key_is_registered(self.world(), event);
        let stream = whole.stream.as_ref();
        let mentioned = stream.map_or_else(Vec::new, |stream| {
            heads::mentioned(self.world(), stream, event)
        });
        let again = self.decide_again(whole, &mentioned, last_at, at);
        let draw = self
            .evidence
            .is_some()
            .then(|| draws::recorded(self.world(), whole));
        let payment = payments::change(self.world(), stream, event);
        let told = story::told(self.world(), stream, event, (mentioned, &self.heads));
        let applied = self.replay.apply(stream, record, event);
        if let Event::StateRoot(_) = event {
            let is_known = self.world().can_compute_root();
            self.state_roots.count(match &applied {
                Ok(_) if is_known => Verdict::Proven,
                Ok(_) => Verdict::Asserted,
                Err(_) => Verdict::Broken,
            });
        }
        let (replay, findings) = (&self.replay, &mut self.findings);
        signature::key_is_the_senders(spot, registered, ledger, replay, event, findings);
        body::proofs(spot, event, ledger, &mut self.wallets, findings);
        match applied {
            Ok(touched) => {
                self.findings.extend(again);
                self.stories
                    .take(spot, told, &mut self.findings, &mut self.remarks);
                if let Some(change) = payment {
                    self.payments.take(record.position(), change);
                }
                let (position, world) = (record.position(), self.replay.world());
                self.seen_transfers
                    .take(world, whole.stream.as_ref(), event);
                self.parameters
                    .take(position, event, world, &mut self.remarks);
                self.transfers.not_checked += settlement::evidence(event).len() as u64;
                self.keep_evidence(whole);
                self.draws.extend(draw.flatten());
                Replayed::Applied(touched)
            }
            Err(fault) => Replayed::Refused(fault),
        }
    }

    /// What deciding again finds.
    fn decide_again(
        &mut self,
        whole: &Whole,
        mentioned: &[Mentioned],
        last_at: TimestampMs,
        at: TimestampMs,
    ) -> Findings {
        let before = self.replay.world();
        let mut findings = Findings::default();
        if let Some(stream) = &whole.stream {
            let decided = Decided {
                spot: &whole.spot,
                before,
                last_at,
                stream,
                event: &whole.event,
                body: whole.body.as_deref(),
                at,
                rows: &self.rows,
                owing: &self.owing,
                used: &self.used,
                schemas: &self.schemas,
                is_extract: self.extract.is_some(),
            };
            decided.check(&mut findings);
            let remarks = &mut self.remarks;
            if let Some(sentence) = decided.late_escalation() {
                remarks.add(whole.spot.position, sentence);
            }
            self.seen_transfers.check(&decided, &mut findings, remarks);
            self.heads.take(&decided, mentioned, &mut findings, remarks);
            self.away.take(&decided, remarks);
        }
        findings
    }

    /// Keeps what a record that was replayed shows of the network, where that is asked for.
    fn keep_evidence(&mut self, whole: &Whole) {
        let (Some(kept), Some(Stream::Of(Subject::Interaction(id)))) =
            (&mut self.evidence, &whole.stream)
        else {
            return;
        };
        // The record may have ended the interaction.
        let world = self.replay.world();
        if let (Some(live), Some(ledger)) = (world.latest(*id), world.identity()) {
            kept.take(&whole.spot, *id, (&live.state, ledger.did), &whole.event);
        }
    }

    /// The record's stream is not known any more.
    fn lose(&mut self, record: &Record) {
        if let Ok(Stream::Of(_)) = record.stream().parse() {
            self.unknown.insert(record.stream().to_owned());
        }
    }

    /// True if every record of an interaction was replayed.
    pub fn knows(&self, id: InteractionId) -> bool {
        self.has_replayed(Subject::Interaction(id))
    }

    /// True if every record of a subject was replayed.
    pub fn has_replayed(&self, subject: Subject) -> bool {
        self.unknown.is_empty() || !self.unknown.contains(&subject.to_string())
    }

    /// Where the end shows.
    pub fn end(&self) -> Spot {
        if let Some(extract) = &self.extract {
            return extract.end(None);
        }
        Spot {
            line: self.links.last().and_then(|last| last.line),
            ..Spot::at(self.size().saturating_sub(1))
        }
    }
}

/// What became of a record.
enum Replayed {
    /// The rules allow it.
    Applied(Touched),
    /// The rules do not allow it: its stream ends here.
    Refused(Fault),
    /// Its stream ended before, or it came too late.
    Skipped,
}

/// Whether the event puts rules in force that this program does not know.
#[expect(clippy::wildcard_enum_match_arm, reason = "only these name rules")]
fn names_unknown_rules(event: &Event) -> bool {
    let version = match event {
        Event::Ledger(LedgerEvent::Opened(opened)) => Some(opened.rules_version),
        Event::Ledger(LedgerEvent::RulesChanged(rules)) => Some(rules.rules_version),
        _ => None,
    };
    version.is_some_and(|version| Rules::of(version).is_none())
}
