//! From a record to the next world. One arm for each event; nothing is skipped.

use super::{Fault, FirstAnswer, World};
use crate::agent::Agent;
use crate::erasure;
use crate::keyring::Keyring;
use crate::registry;
use std::sync::Arc;
use x811_eventlog::{Head, Record};
use x811_protocol::digest::Digest;
use x811_protocol::event::{
    AgentEvent, Event, LedgerEvent, LedgerKeyRotated, LedgerOpened, LedgerRole, NetworkBlind,
    NetworkEvent, NetworkSighted, RulesChanged, SettlementEvent,
};
use x811_protocol::interaction::Interaction;
use x811_protocol::observation::{Block, NetworkHead};
use x811_protocol::parameters::Parameters;
use x811_protocol::payload::is_reserved;
use x811_protocol::rules::Rules;
use x811_protocol::settlement::SettlingMachine as _;
use x811_protocol::stream::{Stream, Subject};
use x811_protocol::time::TimestampMs;

/// Which subjects a record changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Touched {
    /// The record changed no subject.
    Nothing,
    /// The record changed this subject.
    Subject(Subject),
    /// The clocks of every live one.
    EveryClock,
}

/// Where the records stand that an effect may follow from: the last one that is none itself, and the
/// effects behind it (machines.md section 4).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Causes {
    /// Nothing that an effect could follow from.
    #[default]
    None,
    /// From this position on.
    From(u64),
    /// The record before is not here.
    Unknown,
}

/// A record being applied.
pub(super) struct Applying<'a> {
    pub(super) event: &'a Event,
    pub(super) stream: &'a Stream,
    /// Of the stream.
    pub(super) name: &'a str,
    pub(super) position: u64,
    pub(super) hash: Digest,
    pub(super) at: TimestampMs,
}

impl Applying<'_> {
    pub(super) fn misplaced(&self, why: &'static str) -> Fault {
        Fault::Misplaced {
            position: self.position,
            event: self.event.type_name(),
            stream: self.name.to_owned(),
            why,
        }
    }
}

/// The rules that a record puts in force, if this program knows them.
fn known(step: &Applying<'_>, rules: RulesChanged) -> Result<RulesChanged, Fault> {
    let unknown = Fault::UnknownRules {
        position: step.position,
        rules_version: rules.rules_version,
    };
    match Rules::of(rules.rules_version) {
        None => Err(unknown),
        Some(_) if rules.known().is_none() => {
            Err(step.misplaced("`reader` is not the one of these rules"))
        }
        Some(_) => Ok(rules),
    }
}

impl World {
    /// The world after `record`, which must be the next one of the log.
    ///
    /// # Errors
    /// The rules do not allow it; the world is then as it was.
    pub fn apply(&mut self, record: &Record, event: &Event) -> Result<Touched, Fault> {
        self.apply_in(&World::stream_of(record, event)?, record, event)
    }

    /// The stream that a record names.
    pub fn stream_of(record: &Record, event: &Event) -> Result<Stream, Fault> {
        record.stream().parse().map_err(|_| Fault::Misplaced {
            position: record.position(),
            event: event.type_name(),
            stream: record.stream().to_owned(),
            why: "there is no stream of that name",
        })
    }

    /// The world after `record`, whose stream has been read.
    pub fn apply_in(
        &mut self,
        stream: &Stream,
        record: &Record,
        event: &Event,
    ) -> Result<Touched, Fault> {
        let position = record.position();
        let step = Applying {
            event,
            stream,
            name: record.stream(),
            position,
            hash: Digest::from_bytes(*record.hash().as_bytes()),
            at: TimestampMs::new(record.recorded_at_ms()),
        };
        if position != self.head.size {
            return Err(step.misplaced("it is not the next record"));
        }
        if self.next_seq(stream) != Some(record.stream_seq()) {
            return Err(step.misplaced("it is not the next of its stream"));
        }
        let causes = self.causes_after(&step)?;
        let ended = self.subjects.take_ended();
        let moved = std::mem::take(&mut self.trust_moved);
        let rounds_moved = std::mem::take(&mut self.rounds_moved);
        let told = self.told.take();
        let touched = match self.dispatch(&step) {
            Ok(touched) => touched,
            Err(fault) => {
                self.subjects.put_ended(ended);
                self.trust_moved = moved;
                self.rounds_moved = rounds_moved;
                self.told = told;
                return Err(fault);
            }
        };
        self.causes = causes;
        self.note_heads(&step);
        // First, as the running ledger does: a nonce may come again once it is forgotten.
        self.forget_old(step.at);
        self.retire(&step);
        self.remember_envelope(&step);
        self.fold_state(&step)?;
        self.head = Head::after(record);
        self.frontier.push(record.hash());
        Ok(touched)
    }

    /// Refuses an effect whose cause is not directly before it; otherwise what effects may follow from
    /// next.
    fn causes_after(&self, step: &Applying<'_>) -> Result<Causes, Fault> {
        let Event::Effect(effect) = step.event else {
            let is_root = matches!(step.event, Event::StateRoot(_));
            return Ok(if is_root {
                self.causes
            } else {
                Causes::From(step.position)
            });
        };
        match self.causes {
            Causes::From(first) if (first..step.position).contains(&effect.cause()) => {
                Ok(self.causes)
            }
            Causes::Unknown if effect.cause() < step.position => Ok(self.causes),
            Causes::None | Causes::From(_) | Causes::Unknown => {
                Err(step.misplaced("its cause is not the record before it"))
            }
        }
    }

    /// Remembers the heads that a record names as such, so that the last one is known after a restart
    /// too. They are no part of any state.
    fn note_heads(&mut self, step: &Applying<'_>) {
        match (step.stream, step.event) {
            (Stream::Network(name), Event::Network(NetworkEvent::Sighted(sighted))) => {
                self.note_head(name, sighted.head);
            }
            (
                Stream::Network(name),
                Event::Network(NetworkEvent::Blind(NetworkBlind { head, .. })),
            ) => {
                head.iter().for_each(|head| self.note_head(name, *head));
            }
            (
                Stream::Of(Subject::Interaction(id)),
                Event::Settlement(SettlementEvent::Looked(looked)),
            ) => {
                let watched = self.latest(*id).and_then(|live| live.state.watched());
                if let Some(name) = watched.map(|payment| payment.network.to_owned()) {
                    self.note_head(&name, looked.head);
                }
            }
            (_, Event::EnvelopeAccepted(accepted)) => {
                for head in accepted.derived.heads.iter().flatten() {
                    if let Some(sight) = self.networks.get_mut(&head.network) {
                        sight.recorded = Some(head.clone());
                    }
                }
            }
            (_, _) => {}
        }
    }

    fn note_head(&mut self, network: &str, head: Block) {
        if let Some(sight) = self.networks.get_mut(network) {
            sight.recorded = Some(NetworkHead::new(network, head));
        }
    }

    /// The next place in a stream; `None` where the stream cannot exist yet.
    pub fn next_seq(&self, stream: &Stream) -> Option<u64> {
        match stream {
            Stream::Ledger => Some(self.ledger_seq),
            Stream::Network(name) => Some(self.networks.get(name).map_or(0, |s| s.next_seq)),
            Stream::Agent(did) => Some(self.agents.get(did).map_or(0, |a| a.identity_seq)),
            Stream::Mail(did) => self.agents.get(did).map(|agent| agent.mail_seq),
            Stream::Of(subject) => Some(self.next_seq_of(*subject)),
            Stream::Roots => Some(self.roots.next_seq),
        }
    }

    fn dispatch(&mut self, step: &Applying<'_>) -> Result<Touched, Fault> {
        match step.stream {
            Stream::Ledger => self.apply_ledger(step),
            Stream::Network(name) => self.apply_network(step, name),
            Stream::Agent(did) => {
                let agent = match (step.event, self.agents.get(did)) {
                    (Event::Agent(AgentEvent::Registered(registered)), None) => {
                        let parameters = self.parameters().map(|(_, parameters)| &**parameters);
                        if !registry::form_fits(registered, parameters) {
                            let why = "no leniency is recorded for the form of this registration";
                            return Err(step.misplaced(why));
                        }
                        Agent::registered(registered, step.position, step.at)
                    }
                    (Event::Agent(AgentEvent::Registered(_)), Some(_)) | (_, None) => None,
                    (event, Some(agent)) => agent.after(event, step.position),
                };
                let agent = agent.ok_or_else(|| step.misplaced("the DID's history forbids it"))?;
                self.agents.insert(*did, Arc::new(agent));
                Ok(Touched::Nothing)
            }
            Stream::Mail(did) => {
                let Event::EnvelopeAccepted(accepted) = step.event else {
                    return Err(step.misplaced("a mail stream holds accepted envelopes"));
                };
                if is_reserved(&accepted.envelope.message_type) {
                    return Err(step.misplaced("a message of a machine is no mail"));
                }
                self.change_agent(*did, |agent| agent.mail_seq += 1);
                Ok(Touched::Nothing)
            }
            Stream::Of(subject) => {
                self.apply_to(*subject, step)?;
                Ok(Touched::Subject(*subject))
            }
            Stream::Roots => {
                self.apply_root(step)?;
                Ok(Touched::Nothing)
            }
        }
    }

    pub(super) fn change_agent(
        &mut self,
        did: x811_protocol::did::Did,
        change: impl FnOnce(&mut Agent),
    ) {
        if let Some(agent) = self.agents.get_mut(&did) {
            change(Arc::make_mut(agent));
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "refuses every other event")]
    fn apply_ledger(&mut self, step: &Applying<'_>) -> Result<Touched, Fault> {
        let begun = self.identity.is_some();
        let touched = match step.event {
            Event::Ledger(LedgerEvent::Opened(opened)) if !begun => {
                let rules = RulesChanged {
                    rules_version: opened.rules_version,
                    reader: opened.reader,
                };
                self.rules = known(step, rules)?;
                self.check_continues(step, opened)?;
                self.open(step, opened)
            }
            Event::Ledger(LedgerEvent::ParametersSet(parameters)) if begun => {
                self.set_parameters(step, parameters)
            }
            Event::Ledger(LedgerEvent::Resumed(resumed)) if begun => {
                self.shift_every_clock(resumed.gap_ms, step.at);
                Touched::EveryClock
            }
            Event::Ledger(LedgerEvent::BodiesErased(erased)) if begun => {
                erasure::check_form(erased, step.position).map_err(|why| step.misplaced(why))?;
                Touched::Nothing
            }
            Event::Ledger(LedgerEvent::KeyRotated(rotated)) if begun => {
                self.rotate_key(step, rotated)?;
                Touched::Nothing
            }
            Event::Ledger(LedgerEvent::RulesChanged(rules)) if begun => {
                let rules = known(step, *rules)?;
                if rules.rules_version <= self.rules.rules_version {
                    return Err(step.misplaced("rules change to a later version only"));
                }
                self.rules = rules;
                Touched::Nothing
            }
            _ => {
                return Err(step.misplaced("the ledger stream does not take it here"));
            }
        };
        self.ledger_seq += 1;
        Ok(touched)
    }

    /// A log goes on from another one, by its last checkpoint.
    fn check_continues(&self, step: &Applying<'_>, opened: &LedgerOpened) -> Result<(), Fault> {
        let Some(before) = &opened.continues else {
            return Ok(());
        };
        if before.origin == opened.origin || before.size == 0 {
            return Err(step.misplaced("a log goes on from another one that has records"));
        }
        Ok(())
    }

    fn open(&mut self, step: &Applying<'_>, opened: &LedgerOpened) -> Touched {
        let own = Agent::of_ledger(opened, step.position, step.at);
        self.agents.insert(opened.did, Arc::new(own));
        self.keyring = Some(Arc::new(Keyring::opened(opened.keys)));
        self.identity = Some(Arc::new(opened.clone()));
        Touched::Nothing
    }

    /// From here on the ledger signs with another key.
    fn rotate_key(&mut self, step: &Applying<'_>, rotated: &LedgerKeyRotated) -> Result<(), Fault> {
        let (Some(identity), Some(keyring)) = (&self.identity, &self.keyring) else {
            return Err(step.misplaced("the log has not begun"));
        };
        let ledger = identity.did;
        let keyring = keyring
            .rotated(ledger, rotated, step.position)
            .map_err(|why| step.misplaced(why))?;
        if rotated.role == LedgerRole::Envelope {
            self.change_agent(ledger, |agent| agent.sign_with(rotated.new_key));
        }
        self.keyring = Some(Arc::new(keyring));
        Ok(())
    }

    fn set_parameters(&mut self, step: &Applying<'_>, parameters: &Parameters) -> Touched {
        let before = self.parameters().map(|(_, before)| before.clone());
        for network in &parameters.networks {
            let sight = self.networks.entry(network.name.clone()).or_default();
            let was = before.as_ref().and_then(|set| set.network(&network.name));
            if was.is_some_and(|was| was.chain_id != network.chain_id) {
                // Of another chain.
                sight.recorded = None;
            }
        }
        self.parameters
            .insert(step.position, Arc::new(parameters.clone()));
        Touched::Nothing
    }

    fn apply_network(&mut self, step: &Applying<'_>, name: &str) -> Result<Touched, Fault> {
        let blind = self
            .networks
            .get(name)
            .is_some_and(|sight| sight.blind_since.is_some());
        match (step.event, blind) {
            (Event::Network(NetworkEvent::Blind(blind)), false) => {
                if !blind.silent.is_sorted_by(|one, next| one < next) {
                    return Err(step.misplaced("`silent` names each endpoint once, in order"));
                }
                self.change_watched::<Interaction>(name, |state| {
                    Interaction::blinded(state, name, step.at)
                });
                self.networks
                    .entry(name.to_owned())
                    .or_default()
                    .blind_since = Some(step.at);
            }
            (Event::Network(NetworkEvent::Sighted(NetworkSighted { .. })), true) => {
                self.change_watched::<Interaction>(name, |state| {
                    Interaction::sighted(state, name, step.at)
                });
                self.networks
                    .entry(name.to_owned())
                    .or_default()
                    .blind_since = None;
            }
            (_, _) => return Err(step.misplaced("blind and sighted take turns in this stream")),
        }
        self.networks.entry(name.to_owned()).or_default().next_seq += 1;
        Ok(Touched::EveryClock)
    }

    fn shift_every_clock(&mut self, gap_ms: u64, back_at: TimestampMs) {
        self.move_every_window(gap_ms, back_at);
        let names: Vec<String> = self.networks.keys().cloned().collect();
        for name in names {
            if let Some(sight) = self.networks.get_mut(&name) {
                sight.blind_since = sight
                    .blind_since
                    .map(|since| since.saturating_add_ms(gap_ms));
            }
        }
    }

    /// Nonces and ids of accepted envelopes are held for their windows.
    fn remember_envelope(&mut self, step: &Applying<'_>) {
        if let Some(envelope) = step.event.envelope() {
            let answer = FirstAnswer::Record(step.position);
            self.nonces.insert(envelope.nonce_tag, answer, step.at);
            self.envelope_ids
                .insert(envelope.id, step.position, step.at);
            let (from, bytes) = (envelope.from, envelope.size);
            self.change_agent(from, |agent| agent.count_body(bytes, step.at));
        }
    }
}
