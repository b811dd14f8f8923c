//! The trait of machines whose subjects are paid over a network, and the turn of a sweep.

use super::{Aftermath, Context, Watched};
use crate::code::Code;
use crate::did::Did;
use crate::event::{Claim, Event};
use crate::evm::TxHash;
use crate::machine::{Input, Journal, LedgerView as _, Machine, lapse_due};
use crate::observation::Sweep;
use crate::time::TimestampMs;
use std::collections::BTreeSet;

/// A machine whose subjects are paid over a network. The interaction is the first.
pub trait SettlingMachine: Machine {
    /// Returns the agent that is paid and whose receipts count.
    fn payee(state: &Self::State) -> Did;

    /// Returns its payment, while that is watched.
    fn watched(state: &Self::State) -> Option<Watched<'_>>;

    /// Returns what is watched of the payment after the end of the subject.
    fn aftermath(state: &Self::State) -> Option<&Aftermath>;

    /// Returns the state with its settlement clock stopped at `at`, when the payment is on `network`.
    fn blinded(state: Self::State, network: &str, at: TimestampMs) -> Self::State;

    /// Returns the state with its settlement clock running again from `at`, when the payment is on `network`.
    fn sighted(state: Self::State, network: &str, at: TimestampMs) -> Self::State;

    /// Returns the transactions that paid, or were bound late, and have disappeared.
    fn reversed(state: &Self::State) -> BTreeSet<TxHash>;

    /// Returns the position of the record that a message of payment repeats.
    fn repeated(state: &Self::State, input: &Input<'_>) -> Option<u64>;

    /// Returns the events that `sweep` causes; none where nothing new was seen.
    fn observe(
        state: &Self::State,
        sweep: &Sweep,
        looked_up: &Context<'_>,
        now: TimestampMs,
    ) -> Vec<Event>;
}

/// The claims of other subjects on the transactions of a sweep.
#[derive(Debug, Clone, Copy)]
pub struct OtherClaims<'a> {
    /// Of the transactions that a subject which is over has declared, those that another one still waits for.
    pub awaited: &'a BTreeSet<TxHash>,
    /// Transfers that already pay something.
    pub claimed: &'a BTreeSet<Claim>,
}

/// Records the lapses that are due and returns their codes, then records what `sweep` causes. A subject
/// that a lapse has just ended takes part in the next sweep.
///
/// # Errors
/// The fault of the journal, when it refuses what was decided.
pub fn take_sweep<M: SettlingMachine, J: Journal<M>>(
    journal: &mut J,
    sweep: &Sweep,
    others: OtherClaims<'_>,
    now: TimestampMs,
) -> Result<Vec<Code>, J::Fault> {
    let lapses = lapse_due(journal, now)?;
    if !lapses.is_empty() && journal.state().is_some_and(M::is_terminal) {
        return Ok(lapses);
    }
    for event in caused(journal, sweep, others, now) {
        journal.record(event)?;
    }
    Ok(lapses)
}

fn caused<M: SettlingMachine, J: Journal<M>>(
    journal: &J,
    sweep: &Sweep,
    OtherClaims { awaited, claimed }: OtherClaims<'_>,
    now: TimestampMs,
) -> Vec<Event> {
    let (Some(state), Ok(view)) = (journal.state(), journal.view()) else {
        return Vec::new();
    };
    let payee = view.agent(M::payee(state));
    let looked_up = Context {
        awaited,
        claimed,
        last_receipt: payee.and_then(|payee| payee.last_receipt),
        ledger: view.ledger(),
        parameters: view.parameters().1,
        receipts: payee.map_or(0, |payee| payee.receipts),
    };
    M::observe(state, sweep, &looked_up, now)
}
