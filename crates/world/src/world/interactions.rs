//! What is kept of interactions in addition to what every machine has: routes, requests, receipts, watches.

use super::apply::Applying;
use super::{Fault, HeldMachine, Live, OwedNotice, World};
use imbl::OrdSet;
use std::collections::BTreeMap;
use std::sync::Arc;
use x811_protocol::did::Did;
use x811_protocol::event::{Effect, Event, SettlementEvent};
use x811_protocol::facts::Facts;
use x811_protocol::id::InteractionId;
use x811_protocol::interaction::{Interaction, State};
use x811_protocol::machine::{Machine as _, Told};
use x811_protocol::parameters::{Leniency, Parameters};
use x811_protocol::settlement::SettlingMachine;
use x811_protocol::stream::{Stream, Subject};
use x811_protocol::time::TimestampMs;

impl World {
    /// Takes a record of an interaction in, and what follows from it for those it is between.
    pub(super) fn apply_interaction(
        &mut self,
        step: &Applying<'_>,
        id: InteractionId,
    ) -> Result<(), Fault> {
        let (before, mut live) = self.evolved::<Interaction>(step, id)?;
        self.pause_if_blind(step, &mut live);
        self.note_envelope(step, id, &mut live);
        let before = before.as_deref();
        let state = before.map(|before| &before.state);
        self.count_request(state, &live.state);
        self.count_receipt(step, &live);
        self.count_merit(state, &live.state);
        self.replace_subject::<Interaction>(id, before, live);
        Ok(())
    }

    /// The message that opens a subject names the parameters that it keeps.
    pub(super) fn opening_parameters(
        &self,
        step: &Applying<'_>,
    ) -> Result<Option<Arc<Parameters>>, Fault> {
        if let Event::Effect(Effect::Agreed(agreed)) = step.event {
            // A revision keeps those of the session that made it; an extract may not have that.
            let session = self.subjects.sessions.get(agreed.session);
            let kept = session.map(|live| live.state.parameters.clone());
            return Ok(kept.or_else(|| self.parameters().map(|(_, set)| set.clone())));
        }
        if let (Stream::Of(Subject::Conduct(_)), Event::Effect(_)) = (step.stream, step.event) {
            // Of those in force: what excludes is no business of the session alone.
            return Ok(self.parameters().map(|(_, set)| set.clone()));
        }
        let Event::EnvelopeAccepted(accepted) = step.event else {
            return Ok(None);
        };
        let Some(position) = accepted.derived.parameters else {
            return Ok(None);
        };
        let in_force = self.parameters().filter(|(known, _)| *known == position);
        let (_, parameters) = in_force
            .ok_or_else(|| step.misplaced("it was opened under parameters not in force"))?;
        Ok(Some(parameters.clone()))
    }

    /// Keeps the envelopes by which others refer to the interaction, until nobody can send anything about it
    /// or is owed anything. The published SDK refers to a REQUEST by its idempotency key.
    fn note_envelope(&mut self, step: &Applying<'_>, id: InteractionId, live: &mut Live) {
        if let Event::EnvelopeAccepted(accepted) = step.event {
            live.envelopes.push(accepted.envelope.id);
            self.routes.insert(accepted.envelope.id, id);
            let parameters = &live.state.opening().parameters;
            if let Facts::Request(request) = &accepted.facts
                && parameters.is_lenient(Leniency::ReferenceSdk)
            {
                live.request_tag = Some(request.idempotency_tag);
                self.requests.insert(request.idempotency_tag, id);
            }
        }
        if live.state.name().is_terminal() && live.notices_owed == 0 {
            for envelope in live.envelopes.drain(..) {
                self.routes.remove(&envelope);
            }
            if let Some(tag) = live.request_tag.take() {
                self.requests.remove(&tag);
            }
        }
    }

    /// Lists the envelopes of all interactions once they are put back.
    pub(super) fn list_envelopes(&mut self) {
        for (id, live) in self.subjects.interactions.iter() {
            for envelope in &live.envelopes {
                self.routes.insert(*envelope, *id);
            }
            if let Some(tag) = live.request_tag {
                self.requests.insert(tag, *id);
            }
        }
    }

    /// A settlement that begins while its network is blind begins with its clock stopped.
    fn pause_if_blind(&self, step: &Applying<'_>, live: &mut Live) {
        let is_blind = |network: &&str| {
            let sight = self.networks.get(*network);
            sight.is_some_and(|sight| sight.blind_since.is_some())
        };
        let network = live.state.watched().map(|payment| payment.network);
        if let Some(network) = network.filter(is_blind) {
            live.state = live.state.clone().blinded(network, step.at);
        }
    }

    /// Notices follow every lapse, every refutation, a dispute and a reversal (ledger-contract.md
    /// section 1.6).
    pub(super) fn settle_notices(
        &mut self,
        step: &Applying<'_>,
        subject: Subject,
        told: Option<Told>,
        parties: &[Did],
        owed_of_it: &mut u64,
    ) -> Result<(), Fault> {
        if let Event::NoticeIssued(notice) = step.event {
            let key = (notice.cause, notice.to);
            let owed = self.owed.get(&key);
            if owed.is_none_or(|owed| owed.subject != subject) {
                return Err(step.misplaced("nobody was owed this notice"));
            }
            let left = owed_of_it.checked_sub(1);
            *owed_of_it = left.ok_or_else(|| step.misplaced("nobody was owed this notice"))?;
            self.told = self.owed.remove(&key).and_then(|owed| owed.news);
            return Ok(());
        }
        let Some(Told {
            code,
            more,
            news,
            related,
        }) = told
        else {
            return Ok(());
        };
        for to in parties {
            let notice = OwedNotice {
                subject,
                code,
                more: more.clone(),
                news,
                related,
            };
            let known = self.owed.insert((step.position, *to), notice);
            *owed_of_it += u64::from(known.is_none());
        }
        Ok(())
    }

    fn count_receipt(&mut self, step: &Applying<'_>, live: &Live) {
        if let Event::Settlement(SettlementEvent::Confirmed(_) | SettlementEvent::Reversed(_)) =
            step.event
        {
            let hash = step.hash;
            self.change_agent(live.state.opening().provider, |agent| {
                agent.receipts += 1;
                agent.last_receipt = Some(hash);
            });
        }
    }

    /// Counts the open interactions of an initiator. A forged log may register it after its REQUEST, which
    /// nobody counted then.
    fn count_request(&mut self, before: Option<&State>, after: &State) {
        let is_open = |state: &State| !state.name().is_terminal();
        let change: fn(u64) -> u64 = match (before.is_some_and(is_open), is_open(after)) {
            (false, true) => |open| open + 1,
            (true, false) => |open| open.saturating_sub(1),
            (_, _) => return,
        };
        self.change_agent(after.opening().initiator, |agent| {
            agent.open_requests = change(agent.open_requests);
        });
    }

    /// Changes the states whose payments are watched on that network.
    pub(super) fn change_watched<M: HeldMachine + SettlingMachine>(
        &mut self,
        network: &str,
        change: impl Fn(M::State) -> M::State,
    ) {
        let is_there = |state| M::watched(state).is_some_and(|payment| payment.network == network);
        let held = M::of(self).all_held();
        let there = held.filter(|(_, live)| is_there(&live.state));
        let ids: Vec<M::Id> = there.map(|(id, _)| *id).collect();
        self.change_states::<M>(ids, change);
    }

    /// Lets go of what has been watched for as long as it is to be.
    pub(super) fn retire(&mut self, step: &Applying<'_>) {
        while let Some((until, id)) = self.retiring.get_min().copied()
            && until < step.at
        {
            let Some(live) = self.subjects.interactions.aftermath.remove(&id) else {
                // A notice about it is owed first.
                return;
            };
            self.reindex::<Interaction>(id, Some(&live.state), None);
            if *step.stream == Stream::interaction(id) {
                self.subjects.interactions.ended = Some((id, live));
            }
        }
    }

    /// Names that stand for another chain or token in `parameters` than for interactions that are
    /// live, or over and their transactions still watched; and for how many.
    pub fn networks_moved(&self, parameters: &Parameters) -> BTreeMap<String, u64> {
        let mut moved = BTreeMap::new();
        for (_, live) in self.subjects.interactions.all_held() {
            for name in parameters.moved_since(&live.state.opening().parameters) {
                *moved.entry(name.to_owned()).or_default() += 1;
            }
        }
        moved
    }

    /// Looks an interaction up by what is watched of it `after` a record, and no longer by what was `before`.
    pub(super) fn reindex_payment(&mut self, before: Option<&State>, after: Option<&State>) {
        let Some(id) = after.or(before).map(Interaction::id) else {
            return;
        };
        let until = [before, after].map(|state| state.and_then(watched_until).into_iter());
        put_in_place(&mut self.retiring, id, until);
        self.rewatch(id, before, after);
    }
}

/// Puts the entries of a subject `after` a record in the place of those `before` it.
pub(super) fn put_in_place<K: Ord + Clone, I: Ord + Copy>(
    index: &mut OrdSet<(K, I)>,
    id: I,
    [before, after]: [impl Iterator<Item = K> + Clone; 2],
) {
    if before.clone().eq(after.clone()) {
        return;
    }
    for entry in before {
        index.remove(&(entry, id));
    }
    for entry in after {
        index.insert((entry, id));
    }
}

/// When the watching of an interaction that is over ends, while that clock runs.
pub(super) fn watched_until(state: &State) -> Option<TimestampMs> {
    let (_, aftermath) = state.aftermath()?;
    aftermath
        .paused_since
        .is_none()
        .then(|| aftermath.ends_at())
}
