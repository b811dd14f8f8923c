//! Live interactions and what is looked up by them: routes, deadlines, owed notices.

use super::apply::Applying;
use super::{Fault, Live, OwedNotice, World};
use imbl::OrdSet;
use std::collections::BTreeMap;
use std::sync::Arc;
use x811_protocol::did::Did;
use x811_protocol::event::{Effect, Event, SettlementEvent};
use x811_protocol::facts::Facts;
use x811_protocol::id::InteractionId;
use x811_protocol::interaction::{Interaction, State};
use x811_protocol::machine::{Machine, Recorded, Told};
use x811_protocol::parameters::{Leniency, Parameters};
use x811_protocol::stream::{Stream, Subject};
use x811_protocol::time::TimestampMs;

impl World {
    pub(super) fn apply_interaction(
        &mut self,
        step: &Applying<'_>,
        id: InteractionId,
    ) -> Result<(), Fault> {
        let before = self.watching(id).cloned();
        let parameters = self.opening_parameters(step)?;
        let recorded = Recorded {
            event: step.event,
            position: step.position,
            hash: step.hash,
            recorded_at_ms: step.at,
            parameters: parameters.as_ref(),
        };
        let state = before.as_ref().map(|live| live.state.clone());
        let state = Interaction::evolve(state, &recorded)?;
        if Interaction::id(&state) != id {
            return Err(step.misplaced("the stream is named by the id of its REQUEST"));
        }
        let mut live = match &before {
            Some(live) => (**live).clone().with_state(state),
            None => Live::opened(state, step),
        };
        live.note(step);
        self.pause_if_blind(step, &mut live);
        // Nothing of the world has changed up to here. A notice that nobody is owed is refused before
        // anything does, and nothing is refused behind that.
        let told = before
            .as_ref()
            .and_then(|before| Interaction::told(&before.state, step.event, &live.state));
        let parties = match told {
            Some(_) => Interaction::members(&live.state),
            None => Vec::new(),
        };
        let owed = &mut live.notices_owed;
        self.settle_notices(step, Subject::Interaction(id), told, &parties, owed)?;
        if let Event::EnvelopeAccepted(accepted) = step.event {
            live.envelopes.push(accepted.envelope.id);
            self.routes.insert(accepted.envelope.id, id);
            self.note_request(&accepted.facts, id, &mut live);
        }
        self.count_receipt(step, &live);
        self.count_merit(before.as_deref().map(|before| &before.state), &live.state);
        self.replace_live(id, before.as_ref(), live);
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

    /// The published SDK refers to a REQUEST by its idempotency key.
    fn note_request(&mut self, facts: &Facts, id: InteractionId, live: &mut Live) {
        let parameters = &live.state.opening().parameters;
        if let Facts::Request(request) = facts
            && parameters.is_lenient(Leniency::ReferenceSdk)
        {
            live.request_tag = Some(request.idempotency_tag);
            self.requests.insert(request.idempotency_tag, id);
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

    /// Puts `live` in place of `before` in every index, or drops it once it is over.
    pub(super) fn replace_live(
        &mut self,
        id: InteractionId,
        before: Option<&Arc<Live>>,
        live: Live,
    ) {
        if before.is_none() {
            self.count_open(&live, |open| open + 1);
        }
        let was_terminal = before.is_some_and(|before| before.state.name().is_terminal());
        if live.state.name().is_terminal() && !was_terminal {
            // A forged log may register the initiator after its REQUEST, which nobody counted then.
            self.count_open(&live, |open| open.saturating_sub(1));
        }
        let before = before.map(|before| &before.state);
        if live.state.name().is_terminal() && live.notices_owed == 0 {
            self.close(id, before, live);
            return;
        }
        if was_terminal {
            self.aftermath.remove(&id);
        }
        self.reindex(id, before, Some(&live.state));
        self.interactions.insert(id, Arc::new(live));
    }

    /// Nobody can send anything about it or is owed anything: it is held only while its
    /// transactions are watched.
    fn close(&mut self, id: InteractionId, before: Option<&State>, mut live: Live) {
        for envelope in live.envelopes.drain(..) {
            self.routes.remove(&envelope);
        }
        if let Some(tag) = live.request_tag.take() {
            self.requests.remove(&tag);
        }
        self.interactions.remove(&id);
        if live.state.aftermath().is_none() {
            self.aftermath.remove(&id);
            self.reindex(id, before, None);
            self.ended = Some((id, Arc::new(live)));
            return;
        }
        self.reindex(id, before, Some(&live.state));
        self.aftermath.insert(id, Arc::new(live));
    }

    /// Lets go of what has been watched for as long as it is to be.
    pub(super) fn retire(&mut self, step: &Applying<'_>) {
        while let Some((until, id)) = self.retiring.get_min().copied()
            && until < step.at
        {
            let Some(live) = self.aftermath.remove(&id) else {
                // A notice about it is owed first.
                return;
            };
            self.reindex(id, Some(&live.state), None);
            if *step.stream == Stream::interaction(id) {
                self.ended = Some((id, live));
            }
        }
    }

    /// Whether nothing about the interaction, if there ever was one, can be recorded any more at
    /// `now`: nobody is owed anything and no transaction of it is watched.
    pub fn is_over(&self, id: InteractionId, now: TimestampMs) -> bool {
        if self.interactions.contains_key(&id) {
            return false;
        }
        let watched = self.aftermath.get(&id);
        watched.is_none_or(|live| watched_until(&live.state).is_some_and(|until| until < now))
    }

    /// Names that stand for another chain or token in `parameters` than for interactions that are
    /// live, or over and their transactions still watched; and for how many.
    pub fn networks_moved(&self, parameters: &Parameters) -> BTreeMap<String, u64> {
        let mut moved = BTreeMap::new();
        for live in self.interactions.values().chain(self.aftermath.values()) {
            for name in parameters.moved_since(&live.state.opening().parameters) {
                *moved.entry(name.to_owned()).or_default() += 1;
            }
        }
        moved
    }

    /// Counts an interaction that opens or ends, for its initiator and its pair.
    fn count_open(&mut self, live: &Live, change: impl Fn(u64) -> u64) {
        let opening = live.state.opening();
        let pair = (opening.initiator, opening.provider);
        self.change_agent(opening.initiator, |agent| {
            agent.open_requests = change(agent.open_requests);
        });
        self.count_open_pair(pair, change);
    }

    pub(super) fn count_open_pair(&mut self, pair: (Did, Did), change: impl Fn(u64) -> u64) {
        match change(self.open_between(pair.0, pair.1)) {
            0 => self.open_pairs.remove(&pair),
            open => self.open_pairs.insert(pair, open),
        };
    }

    /// Looks the interaction up by what it is `after` a record, and no longer by what it was
    /// `before`.
    pub(super) fn reindex(
        &mut self,
        id: InteractionId,
        before: Option<&State>,
        after: Option<&State>,
    ) {
        let (deadlines, retiring) = (&mut self.deadlines, &mut self.retiring);
        let of = |moment: fn(&State) -> Option<TimestampMs>| {
            [before, after].map(|state| state.and_then(moment).into_iter())
        };
        put_in_place(deadlines, Subject::Interaction(id), of(State::deadline));
        put_in_place(retiring, id, of(watched_until));
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
fn watched_until(state: &State) -> Option<TimestampMs> {
    let (_, aftermath) = state.aftermath()?;
    aftermath
        .paused_since
        .is_none()
        .then(|| aftermath.ends_at())
}
