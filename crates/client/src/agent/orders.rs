//! How a loop begins: REQUESTs that are sent once, and interactions found at the ledger.

use x811_protocol::id::InteractionId;
use x811_protocol::interaction::StateName;

use super::caps::{Commitment, is_recent};
use super::case::Case;
use super::engine::Engine;
use super::outbox::Act;
use super::run::{LoopError, Order};
use super::world::World;

impl<W: World> Engine<W> {
    /// Takes up an interaction that the ledger has and the state file has not.
    pub(super) fn adopt(&mut self, case: &Case) {
        let me = self.world.me();
        let now = self.world.now();
        let accepted = case.said(Act::Accept, me);
        let may_have_paid = !case.is_over() || case.state == StateName::Completed;
        if let (Some(accepted), Some((_, offer)), Some(part)) =
            (accepted, &case.offer, &self.initiator)
        {
            let made = Commitment {
                interaction: case.id,
                counterparty: case.provider,
                network: part.rules.network.clone(),
                total: offer.total_cost,
                at_ms: accepted.at_ms,
            };
            let counts = may_have_paid || !case.payments.is_empty();
            let is_new = |known: &Commitment| known.interaction != case.id;
            if counts && is_recent(&made, now) && self.state.commitments.iter().all(is_new) {
                self.state.commitments.push(made);
            }
        }
        if !case.is_over() {
            self.state.touch(case.id);
        }
    }

    /// Whatever was going on when the last loop ended is looked at anew.
    pub(super) fn resume(&mut self) {
        let going: Vec<InteractionId> = self.state.tasks.keys().copied().collect();
        for id in going {
            self.state.touch(id);
        }
    }

    /// Seals the REQUESTs that were not sealed yet.
    pub(super) fn order(&mut self, orders: &[Order]) -> Result<(), LoopError> {
        for Order { provider, request } in orders {
            let key = &request.idempotency_key;
            if self.state.requests.contains_key(key) {
                continue;
            }
            let sealed = self.world.seal(*provider, request)?;
            let id = InteractionId::from(sealed.header.id);
            self.state.requests.insert(key.clone(), id);
            self.put(id, Act::Request, &sealed, None);
            // Nothing to look at before it is accepted.
            if let Some(task) = self.state.tasks.get_mut(&id) {
                task.look_at_ms = None;
            }
            self.save()?;
        }
        Ok(())
    }
}
