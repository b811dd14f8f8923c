//! Decides again what the ledger decided, from the log alone, and compares.

use x811_eventlog::FORMAT_VERSION;
use x811_protocol::envelope::{AcceptedHeader, CoreType, MessageType};
use x811_protocol::event::{
    AgentEvent, AgentStatusChanged, EnvelopeAccepted, Event, LedgerEvent, LedgerResumed,
    NetworkEvent, NetworkSighted, SettlementEvent,
};
use x811_protocol::facts::{CapabilityFacts, ConsensusFacts, Facts};
use x811_protocol::id::SessionId;
use x811_protocol::machine::{Conclusion, Input};
use x811_protocol::parameters::Leniency;
use x811_protocol::refusal::Refusal;

use super::as_recorded::AsRecorded;
use crate::finding::findings::{Cause, Findings};
use crate::finding::unchecked::Unchecked;
use crate::money::aftermath;
use crate::money::settlement;
use crate::network::heads;
use crate::record::body::agree;
use crate::replay::decided::Decided;
use x811_protocol::stream::{Stream, Subject};
use x811_world::HeldMachine;
use x811_world::agent::AgentStanding;
use x811_world::quota;
use x811_world::reading::not_open;
use x811_world::registry;
use x811_world::with_machine;

impl Decided<'_> {
    /// Names every difference.
    pub(crate) fn check(&self, findings: &mut Findings) {
        self.lapse_came_first(findings);
        self.root_came_first(findings);
        match self.event {
            Event::EnvelopeAccepted(accepted) => {
                self.times(&accepted.envelope, findings);
                self.envelope(&accepted.envelope, findings);
                self.sender_is_active(&accepted.envelope, findings);
                self.message(accepted, findings);
            }
            Event::Agent(event) => {
                let envelope = event.envelope();
                self.times(envelope, findings);
                self.envelope(envelope, findings);
                self.registry(envelope, findings);
            }
            Event::NoticeIssued(notice) => self.notice(notice, findings),
            Event::Ledger(LedgerEvent::ExclusionLifted(lifted)) => self.lifted(lifted, findings),
            Event::Ledger(LedgerEvent::Resumed(resumed)) => self.resumed(*resumed, findings),
            Event::Network(NetworkEvent::Sighted(sighted)) => self.sighted(sighted, findings),
            Event::Settlement(SettlementEvent::Seen(_)) => {
                settlement::check(self, findings);
                aftermath::check(self, findings);
            }
            Event::Settlement(
                SettlementEvent::Looked(_)
                | SettlementEvent::Refuted(_)
                | SettlementEvent::Confirmed(_),
            ) => {
                settlement::check(self, findings);
            }
            Event::Settlement(
                SettlementEvent::Unseen(_)
                | SettlementEvent::Final(_)
                | SettlementEvent::Reversed(_)
                | SettlementEvent::Returned(_)
                | SettlementEvent::Late(_),
            ) => aftermath::check(self, findings),
            Event::Ledger(LedgerEvent::Opened(opened)) => {
                if opened.format != FORMAT_VERSION {
                    let sentence = format!("the leaves of this log are of format {FORMAT_VERSION}");
                    self.differs("format", sentence, findings);
                }
            }
            Event::Ledger(
                LedgerEvent::ParametersSet(_)
                | LedgerEvent::RulesChanged(_)
                | LedgerEvent::KeyRotated(_)
                | LedgerEvent::BodiesErased(_),
            )
            | Event::Network(NetworkEvent::Blind(_))
            | Event::Lapsed(_)
            | Event::CycleDrawn(_)
            | Event::StateRoot(_)
            | Event::Effect(_) => {}
        }
        heads::check(self, findings);
    }

    /// The place of a root holds nothing else.
    fn root_came_first(&self, findings: &mut Findings) {
        let is_root = matches!(self.event, Event::StateRoot(_));
        if self.before.state_root_due().is_some() && !is_root {
            let sentence = "a root of all states is due at this place";
            self.differs("event", sentence, findings);
        }
    }

    /// A window that had passed lapses before anything else happens (ledger-contract.md
    /// section 1.3).
    fn lapse_came_first(&self, findings: &mut Findings) {
        let Some(subject) = self.stream.subject() else {
            return;
        };
        if let Event::EnvelopeAccepted(accepted) = self.event {
            for named in accepted.facts.names() {
                self.had_not_passed(named, findings);
            }
        }
        let is_time_itself = matches!(self.event, Event::Lapsed(_) | Event::NoticeIssued(_));
        if !is_time_itself && !claims_nothing(self.event) {
            self.had_not_passed(subject, findings);
        }
    }

    fn had_not_passed(&self, subject: Subject, findings: &mut Findings) {
        if let Some(deadline) = self.before.deadline_of(subject)
            && self.at > deadline
        {
            let whose = if self.stream.subject() == Some(subject) {
                String::new()
            } else {
                format!(" of {subject}")
            };
            let sentence = format!(
                "the window{whose} ended at {}, before this was recorded: its lapse should have \
                 come first",
                deadline.to_rfc3339()
            );
            self.differs("recorded_at_ms", sentence, findings);
        }
    }

    /// AE-89, AE-75, at the moment that was recorded.
    fn times(&self, envelope: &AcceptedHeader, findings: &mut Findings) {
        let tolerance_ms = self
            .before
            .parameters()
            .map_or(0, |(_, parameters)| parameters.limits.clock_tolerance_ms);
        let apart_ms = envelope.created_ms.as_ms().abs_diff(self.at.as_ms());
        if apart_ms > tolerance_ms {
            let sentence = format!(
                "created {apart_ms} ms from when it was recorded; at most {tolerance_ms} ms are \
                 accepted"
            );
            self.differs("envelope.created_ms", sentence, findings);
        }
        let created = envelope.created_ms;
        let Some(expires) = envelope.expires_ms else {
            return;
        };
        if expires <= self.at {
            let sentence = "it had expired when it was recorded";
            self.differs("envelope.expires_ms", sentence, findings);
        } else if expires < created {
            let sentence = "it expires before it was created, and such messages are refused";
            self.differs("envelope.expires_ms", sentence, findings);
        }
    }

    /// What an envelope is refused for, whatever it says (ledger-contract.md section 3, AX-41).
    fn envelope(&self, envelope: &AcceptedHeader, findings: &mut Findings) {
        if envelope.from == envelope.to && !self.is_of_reference_sdk() {
            let sentence = "sender and recipient are one agent, and such messages are refused";
            self.differs("envelope.to", sentence, findings);
        }
        let Some((_, parameters)) = self.before.parameters() else {
            return;
        };
        if !parameters.is_lenient(Leniency::Uuids) && !envelope.id_time_fits() {
            let sentence = "the time inside the id is more than 5 minutes from when it was created";
            self.differs("envelope.id", sentence, findings);
        }
        let most = parameters.limits.envelope_bytes;
        if envelope.size > most {
            let sentence = format!("at most {most} bytes are taken");
            self.differs("envelope.size", sentence, findings);
        }
    }

    fn sender_is_active(&self, envelope: &AcceptedHeader, findings: &mut Findings) {
        let sender = self.before.agent(envelope.from);
        if sender.is_some_and(|agent| agent.standing(self.at) != AgentStanding::Active) {
            let sentence = "the sender's DID was not active, and its messages were not taken";
            self.differs("envelope.from", sentence, findings);
        }
    }

    fn message(&self, accepted: &EnvelopeAccepted, findings: &mut Findings) {
        let envelope = &accepted.envelope;
        self.leaves(Unchecked::Quotas, findings);
        let input = Input {
            envelope,
            facts: &accepted.facts,
        };
        let subject = self.stream.subject();
        let within_limits = match subject {
            Some(subject) => with_machine!(subject, M(id) => {
                quota::message::<M>(self.before, id, &input, self.at)
            }),
            None => quota::body(self.before, envelope, self.at),
        };
        if let Err(limit) = within_limits {
            self.differs("event", limit.to_string(), findings);
        }
        self.routed(accepted, findings);
        self.mailed(accepted, findings);
        let Some(subject) = subject else {
            return;
        };
        if let Subject::Session(id) = subject {
            self.check_session(id, accepted, findings);
        } else if let Subject::Round(_) = subject {
            self.leave_unchecked_of_round(accepted, findings);
        } else if let Subject::Conduct(_) = subject {
            // No message belongs there: `apply` has refused it.
            return;
        }
        with_machine!(subject, M(id) => self.about::<M>(id, accepted, findings));
    }

    /// Decides a message about a subject again.
    fn about<M: HeldMachine>(
        &self,
        id: M::Id,
        accepted: &EnvelopeAccepted,
        findings: &mut Findings,
    ) {
        let input = Input {
            envelope: &accepted.envelope,
            facts: &accepted.facts,
        };
        let state = M::state(self.before, id);
        let view = AsRecorded::of(self, accepted).ok_or_else(not_open);
        let again = view.and_then(|view| {
            let context = M::context(&view, state, &input)?;
            M::decide(state, &input, &context, self.at)
        });
        self.derived_again(accepted, again, findings);
    }

    /// Checks the signatures of an agreement, and counts what an extract does not know of a session.
    fn check_session(&self, id: SessionId, accepted: &EnvelopeAccepted, findings: &mut Findings) {
        let state = self.before.session(id).map(|live| &live.state);
        if state.is_none() {
            // What either had broken elsewhere is not here.
            self.leaves(Unchecked::Exclusions, findings);
        }
        if matches!(accepted.facts, Facts::Capability(CapabilityFacts::Agree(_))) {
            self.terms_are_signed(state, &accepted.envelope, findings);
        }
    }

    /// Counts what an extract does not know of a round.
    fn leave_unchecked_of_round(&self, accepted: &EnvelopeAccepted, findings: &mut Findings) {
        if accepted.derived.authority.is_some() {
            // What an agent has earned is the sum of interactions that are not here.
            self.leaves(Unchecked::TrustInputs, findings);
        }
        let is_proposal = matches!(accepted.facts, Facts::Consensus(ConsensusFacts::Propose(_)));
        if is_proposal && self.before.has_capabilities() {
            // What any of them had broken is not here.
            self.leaves(Unchecked::Exclusions, findings);
        }
    }

    fn derived_again(
        &self,
        accepted: &EnvelopeAccepted,
        again: Result<Conclusion, Refusal>,
        findings: &mut Findings,
    ) {
        let again = again.and_then(|again| match again {
            Conclusion::Record(derived) => Ok(derived),
            Conclusion::Repeat { .. } => Err(Refusal::state(
                "its sender has sent the same message before",
            )),
        });
        match again {
            Err(refusal) => {
                let sentence = format!("the rules refuse this message here: {refusal}");
                self.differs("event", sentence, findings);
            }
            Ok(again) => {
                let (cause, found) = (Cause::ReDecisionDiffers, &accepted.derived);
                agree(self.spot, "derived", cause, found, &again, findings);
            }
        }
    }

    /// Whether it registers or deactivates in the form of the published SDK, where that is taken.
    fn is_of_reference_sdk(&self) -> bool {
        let parameters = self.before.parameters();
        let parameters = parameters.map(|(_, parameters)| &**parameters);
        if let Event::Agent(AgentEvent::Deactivated(AgentStatusChanged { envelope })) = self.event {
            let agent = self.before.agent(envelope.from);
            return agent.is_some_and(|agent| agent.reference_sdk.is_some())
                && envelope.from == envelope.to
                && envelope.message_type == MessageType::Core(CoreType::Request)
                && parameters.is_some_and(|set| set.is_lenient(Leniency::ReferenceSdk));
        }
        let Event::Agent(AgentEvent::Registered(registered)) = self.event else {
            return false;
        };
        registered.reference_sdk.is_some() && registry::form_fits(registered, parameters)
    }

    /// A message to the registry: whose stream, to whom, and whether the DID's standing allowed it.
    fn registry(&self, envelope: &AcceptedHeader, findings: &mut Findings) {
        if *self.stream != Stream::Agent(envelope.from) {
            let sentence = "it is in the stream of another DID than the sender's";
            self.differs("stream", sentence, findings);
        }
        // Its form is held to the leniency by `World::apply`, and to its body beside.
        let is_of_reference_sdk = self.is_of_reference_sdk();
        let ledger = self.before.identity().map(|ledger| ledger.did);
        if ledger.is_some_and(|ledger| ledger != envelope.to) && !is_of_reference_sdk {
            let sentence = "a message to the registry is addressed to the ledger it is for";
            self.differs("envelope.to", sentence, findings);
        }
        let Some(verb) = registry::verb(self.event) else {
            return;
        };
        if envelope.message_type != verb.message_type() && !is_of_reference_sdk {
            let sentence = format!("its envelope is no {verb}, and nothing else leads to it");
            self.differs("type", sentence, findings);
        }
        let agent = self.before.agent(envelope.from).map(|agent| &**agent);
        self.leaves(Unchecked::Quotas, findings);
        let within_limits = quota::registry(self.before, envelope, verb, self.at);
        if let Err(refusal) = within_limits.and_then(|()| registry::permitted(agent, verb, self.at))
        {
            let sentence = format!("the rules refuse this message here: {refusal}");
            self.differs("event", sentence, findings);
        }
        if let Err(refusal) = registry::new_keys_fit(self.event) {
            let sentence = format!("the rules refuse this message here: {refusal}");
            self.differs("event", sentence, findings);
        }
        if registry::expiry(self.event).is_some_and(|expires| expires <= self.at) {
            let sentence = "it lies before the moment of the record, and such are refused";
            self.differs("expires_at_ms", sentence, findings);
        }
        if let Event::Agent(AgentEvent::KeyRotated(rotated)) = self.event
            && rotated.old_key != envelope.key.key
        {
            let sentence = "a rotation replaces the key that signs it and no other";
            self.differs("old_key", sentence, findings);
        }
    }

    /// Nobody was away for longer than since the record before.
    fn resumed(&self, resumed: LedgerResumed, findings: &mut Findings) {
        // Of an extract the record before may be an earlier one: then the gap is only bounded.
        self.leaves(Unchecked::Downtimes, findings);
        let since_ms = self.at.since(self.last_at);
        if resumed.gap_ms > since_ms {
            let sentence = format!(
                "it moves every window by {} ms, but the record before is only {since_ms} ms old",
                resumed.gap_ms
            );
            self.differs("gap_ms", sentence, findings);
        }
    }

    fn sighted(&self, sighted: &NetworkSighted, findings: &mut Findings) {
        let Stream::Network(name) = self.stream else {
            return;
        };
        let blind_since = self.before.sight(name).and_then(|sight| sight.blind_since);
        if let Some(since) = blind_since
            && self.at.since(since) != sighted.blind_ms
        {
            let sentence = format!("nothing was seen for {} ms", self.at.since(since));
            self.differs("blind_ms", sentence, findings);
        }
    }
}

/// Whether it is a confirmation of which no claim is left: it stands where a deadline has passed.
fn claims_nothing(event: &Event) -> bool {
    let Event::Settlement(SettlementEvent::Confirmed(confirmed)) = event else {
        return false;
    };
    confirmed.claims.is_empty()
}
