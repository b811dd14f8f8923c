//! What is watched of an interaction that is over.

use super::State;
use crate::event::Event;
use crate::evm::TxHash;
use crate::observation::{Block, Sweep};
use crate::settlement::{Context, Over, Reached, View};
use crate::time::TimestampMs;

/// The events that `sweep` causes for an interaction that is over.
pub(super) fn observe(
    state: &State,
    sweep: &Sweep,
    looked_up: &Context<'_>,
    now: TimestampMs,
) -> Vec<Event> {
    let Some((deal, aftermath)) = state.aftermath() else {
        return Vec::new();
    };
    let network = deal.opening.parameters.network(&aftermath.network);
    let Some(network) = network.filter(|network| network.name == sweep.network) else {
        return Vec::new();
    };
    let view = View {
        bill: &deal.bill(network),
        own: deal.nonces(looked_up.ledger),
        declared: &aftermath.declared,
        sweep,
        context: looked_up,
    };
    let over = Over::at(now, aftermath, state.completion(), view);
    over.map_or_else(Vec::new, |over| over.events())
}

impl State {
    /// The transactions that a finalized head makes final: those that paid, those that were bound late,
    /// or both.
    pub fn made_final_by(&self, head: &Block) -> Vec<TxHash> {
        let Some((_, aftermath)) = self.aftermath() else {
            return Vec::new();
        };
        let reached = Reached::by(self.completion(), aftermath, head);
        let paid = self.completion().filter(|_| reached.paid);
        let paid = paid.into_iter().flat_map(|it| &it.claims);
        let late = aftermath.late_watch().filter(|_| reached.late);
        let late = late.into_iter().flat_map(|it| &it.transfers);
        let late = late.map(|bound| bound.claim.tx_hash);
        paid.map(|claim| claim.tx_hash).chain(late).collect()
    }

    /// Whether all that was bound late is final.
    pub fn is_late_final(&self) -> bool {
        match self.aftermath() {
            None => self.completion().is_some_and(|it| it.is_final),
            Some((_, aftermath)) => aftermath.late_watch().is_some_and(|watch| watch.is_final),
        }
    }

    /// Transactions that paid, or were bound late, and have disappeared.
    pub fn reversed(&self) -> impl Iterator<Item = TxHash> {
        let paid = self.completion().map(|completion| &completion.reversed);
        let late = self.aftermath().and_then(|(_, it)| it.late_watch());
        let late = late.map(|watch| &watch.reversed);
        paid.into_iter().chain(late).flatten().copied()
    }
}
