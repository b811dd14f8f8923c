//! What is watched of each network, kept up to date record by record: what a head or a publication
//! costs depends on what may come of it, not on how many interactions are alive.

use super::World;
use imbl::{OrdMap, OrdSet};
use std::collections::BTreeSet;
use x811_protocol::evm::{EvmAddress, TxHash};
use x811_protocol::id::InteractionId;
use x811_protocol::interaction::{Declared, Schedule, Standing, State};
use x811_protocol::time::TimestampMs;

/// What is watched of one network. Several interactions may have declared the same transaction, so
/// each entry says whose it is.
#[derive(Debug, Clone, Default)]
pub(super) struct Watches {
    /// Every transaction that somebody declared.
    hashes: OrdSet<TxHash>,
    /// Position of the PAYMENT that declared it, and whose.
    declarers: OrdMap<TxHash, OrdSet<(u64, InteractionId)>>,
    /// Transactions that may confirm a payment at any head.
    undecided: OrdSet<(TxHash, InteractionId)>,
    /// Transactions that paid and are in no block.
    gone: OrdSet<(TxHash, InteractionId)>,
    /// When a look for a payment is due.
    looks: OrdSet<(TimestampMs, InteractionId)>,
}

impl World {
    /// Every transaction being watched on a network. A copy shares its structure with the others:
    /// taking it, and comparing it with an earlier one, costs as much as has changed in between.
    pub fn watched(&self, network: &str) -> OrdSet<TxHash> {
        let watches = self.watches.get(network);
        watches.map_or_else(OrdSet::new, |watches| watches.hashes.clone())
    }

    /// Interactions that declared a transaction, in order of PAYMENT.
    pub fn declarers(&self, network: &str, tx_hash: TxHash) -> Vec<InteractionId> {
        let declarers = self.declarers_of(network, tx_hash);
        declarers.map(|(_, id)| *id).collect()
    }

    /// Transactions that the ledger wants to know of as of a head at `head_at`, even where nothing
    /// changed: a look waits for them, or they paid and disappeared.
    pub fn wanted(&self, network: &str, head_at: TimestampMs) -> BTreeSet<TxHash> {
        let Some(watches) = self.watches.get(network) else {
            return BTreeSet::new();
        };
        let due = watches.looks.iter().take_while(|(due, _)| *due <= head_at);
        let looked_for = due
            .filter_map(|(_, id)| self.interactions.get(id)?.state.settlement())
            .flat_map(|settlement| hashes(&settlement.declared));
        let gone = watches.gone.iter().map(|(tx_hash, _)| *tx_hash);
        looked_for.chain(gone).collect()
    }

    /// Transactions that may confirm a payment at any head: all that it declared while no look has
    /// come, and afterwards those of which anything was seen.
    pub fn undecided(&self, network: &str) -> BTreeSet<TxHash> {
        let watches = self.watches.get(network).into_iter();
        let undecided = watches.flat_map(|watches| watches.undecided.iter());
        undecided.map(|(tx_hash, _)| *tx_hash).collect()
    }

    /// Whether the ledger takes the transaction to be in a block.
    pub fn takes_for_mined(&self, network: &str, tx_hash: TxHash) -> bool {
        let declarers = self.declarers_of(network, tx_hash);
        let watching = declarers.filter_map(|(_, id)| self.watching(*id)?.state.watched());
        let mut declared = watching.flat_map(|(_, declared)| declared);
        declared.any(|declared| {
            declared.tx_hash == tx_hash && matches!(declared.standing, Standing::Seen(_))
        })
    }

    /// Payers and payees of the payments that wait for a transaction.
    pub fn payment_accounts(&self, network: &str, tx_hash: TxHash) -> BTreeSet<EvmAddress> {
        let payments = self.declarers_of(network, tx_hash).filter_map(|(_, id)| {
            let state = &self.interactions.get(id)?.state;
            let declared = state.settlement()?.declared(tx_hash)?;
            Some([declared.payer, state.offer()?.payee])
        });
        payments.flatten().collect()
    }

    /// Whether an interaction that is not over declared the transaction.
    pub(crate) fn is_awaited(&self, network: &str, tx_hash: TxHash) -> bool {
        self.declarers_of(network, tx_hash)
            .filter_map(|(_, id)| self.interactions.get(id))
            .any(|live| !live.state.name().is_terminal())
    }

    fn declarers_of(
        &self,
        network: &str,
        tx_hash: TxHash,
    ) -> impl Iterator<Item = &(u64, InteractionId)> {
        let watches = self.watches.get(network);
        let declarers = watches.and_then(|watches| watches.declarers.get(&tx_hash));
        declarers.into_iter().flatten()
    }

    /// Watches what `state` declares.
    pub(super) fn watch(&mut self, id: InteractionId, state: &State) {
        if let Some((network, declared)) = state.watched() {
            let watches = self.watches.entry(network.to_owned()).or_default();
            watches.add(id, state, declared);
        }
    }

    /// Watches it no longer; `state` is the one it was watched for.
    pub(super) fn unwatch(&mut self, id: InteractionId, state: &State) {
        if let Some((network, declared)) = state.watched()
            && let Some(watches) = self.watches.get_mut(network)
        {
            watches.remove(id, state, declared);
        }
    }
}

impl Watches {
    /// How many transactions are watched.
    pub(super) fn len(&self) -> usize {
        self.hashes.len()
    }

    fn add(&mut self, id: InteractionId, state: &State, declared: &[Declared]) {
        for Declared {
            tx_hash, payment, ..
        } in declared
        {
            self.hashes.insert(*tx_hash);
            let declarers = self.declarers.entry(*tx_hash).or_default();
            declarers.insert((*payment, id));
        }
        for tx_hash in undecided(state) {
            self.undecided.insert((tx_hash, id));
        }
        for tx_hash in gone(state) {
            self.gone.insert((tx_hash, id));
        }
        if let Some(due) = look_due(state) {
            self.looks.insert((due, id));
        }
    }

    fn remove(&mut self, id: InteractionId, state: &State, declared: &[Declared]) {
        for Declared {
            tx_hash, payment, ..
        } in declared
        {
            let Some(declarers) = self.declarers.get_mut(tx_hash) else {
                continue;
            };
            declarers.remove(&(*payment, id));
            if declarers.is_empty() {
                self.declarers.remove(tx_hash);
                self.hashes.remove(tx_hash);
            }
        }
        for tx_hash in undecided(state) {
            self.undecided.remove(&(tx_hash, id));
        }
        for tx_hash in gone(state) {
            self.gone.remove(&(tx_hash, id));
        }
        if let Some(due) = look_due(state) {
            self.looks.remove(&(due, id));
        }
    }
}

fn hashes(declared: &[Declared]) -> impl Iterator<Item = TxHash> {
    declared.iter().map(|declared| declared.tx_hash)
}

fn undecided(state: &State) -> impl Iterator<Item = TxHash> {
    state.settlement().into_iter().flat_map(|settlement| {
        let is_recent = matches!(settlement.schedule, Schedule::Confirmation { .. });
        let declared = settlement.declared.iter();
        declared
            .filter(move |declared| is_recent || declared.standing != Standing::Unseen)
            .map(|declared| declared.tx_hash)
    })
}

fn gone(state: &State) -> impl Iterator<Item = TxHash> {
    let aftermath = state.aftermath().into_iter();
    aftermath.flat_map(|(_, aftermath)| aftermath.gone())
}

/// When the next look is due, while the settlement's clock runs.
fn look_due(state: &State) -> Option<TimestampMs> {
    let settlement = state.settlement().filter(|s| s.paused_since.is_none())?;
    match settlement.schedule {
        Schedule::Look { due, .. } => Some(due),
        Schedule::Confirmation { .. } => None,
    }
}
