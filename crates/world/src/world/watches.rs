//! What is watched of each network, kept up to date record by record: what a head or a publication
//! costs depends on what may come of it, not on how many interactions are alive.

use super::World;
use super::interactions::put_in_place;
use imbl::{OrdMap, OrdSet};
use std::collections::BTreeSet;
use x811_protocol::evm::{BlockHash, EvmAddress, TxHash};
use x811_protocol::id::InteractionId;
use x811_protocol::interaction::State;
use x811_protocol::settlement::{Declared, DeclaredStanding, Watched};
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
    /// Heads recorded at an ACCEPT that a declared transaction was seen, or refuted, at or below.
    recorded: OrdSet<((u64, BlockHash), InteractionId)>,
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
            .filter_map(|(_, id)| self.interaction(*id)?.state.watched())
            .flat_map(|payment| hashes(payment.declared));
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

    /// Heads recorded at an ACCEPT, by height and hash, of which the ledger has to know whether they
    /// are on the branch of the next head (ledger-contract.md section 5, "Age").
    pub fn recorded_in_question(&self, network: &str) -> BTreeSet<(u64, BlockHash)> {
        let watches = self.watches.get(network).into_iter();
        let recorded = watches.flat_map(|watches| watches.recorded.iter());
        recorded.map(|(head, _)| *head).collect()
    }

    /// Whether the ledger takes the transaction to be in a block.
    pub fn takes_for_mined(&self, network: &str, tx_hash: TxHash) -> bool {
        let declarers = self.declarers_of(network, tx_hash);
        let watching = declarers.filter_map(|(_, id)| self.watching(*id)?.state.watched());
        let mut declared = watching.flat_map(|payment| payment.declared);
        declared.any(|declared| {
            declared.tx_hash == tx_hash && matches!(declared.standing, DeclaredStanding::Seen(_))
        })
    }

    /// Payers and payees of the payments that wait for a transaction.
    pub fn payment_accounts(&self, network: &str, tx_hash: TxHash) -> BTreeSet<EvmAddress> {
        let payments = self.declarers_of(network, tx_hash).filter_map(|(_, id)| {
            let watched = self.interaction(*id)?.state.watched()?;
            watched.accounts(tx_hash)
        });
        payments.flatten().collect()
    }

    /// Whether an interaction that is not over declared the transaction.
    pub fn is_awaited(&self, network: &str, tx_hash: TxHash) -> bool {
        self.declarers_of(network, tx_hash)
            .filter_map(|(_, id)| self.interaction(*id))
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

    /// Watches what the interaction declares `after` a record, and no longer what it did `before`.
    pub(super) fn rewatch(
        &mut self,
        id: InteractionId,
        before: Option<&State>,
        after: Option<&State>,
    ) {
        let [before, after] = [before, after].map(|state| state.and_then(State::watched));
        let [from, to] = [before, after].map(|payment| payment.map(|payment| payment.network));
        if from == to {
            self.change_watches(to, |watches| watches.replace(id, [before, after]));
        } else {
            self.change_watches(from, |watches| watches.replace(id, [before, None]));
            self.change_watches(to, |watches| watches.replace(id, [None, after]));
        }
    }

    fn change_watches(&mut self, network: Option<&str>, change: impl FnOnce(&mut Watches)) {
        let Some(network) = network else {
            return;
        };
        match self.watches.get_mut(network) {
            Some(watches) => change(watches),
            None => change(self.watches.entry(network.to_owned()).or_default()),
        }
    }
}

impl Watches {
    /// How many transactions are watched.
    pub(super) fn len(&self) -> usize {
        self.hashes.len()
    }

    /// Puts what is watched of the second state in the place of what is of the first.
    fn replace(&mut self, id: InteractionId, payments: [Option<Watched<'_>>; 2]) {
        let [before, after] = payments.map(declared);
        if !before.clone().eq(after.clone()) {
            before.for_each(|(tx_hash, payment)| self.forget(tx_hash, (payment, id)));
            after.for_each(|(tx_hash, payment)| self.expect(tx_hash, (payment, id)));
        }
        let of = payments.map(Option::into_iter);
        let undecided = of.clone().map(|it| it.flat_map(Watched::undecided));
        put_in_place(&mut self.undecided, id, undecided);
        let gone = of.clone().map(|it| it.flat_map(Watched::gone));
        put_in_place(&mut self.gone, id, gone);
        let looks = of.clone().map(|it| it.filter_map(Watched::look_due));
        put_in_place(&mut self.looks, id, looks);
        let recorded = of.map(|it| it.filter_map(Watched::recorded_above));
        put_in_place(&mut self.recorded, id, recorded);
    }

    fn expect(&mut self, tx_hash: TxHash, declarer: (u64, InteractionId)) {
        self.hashes.insert(tx_hash);
        self.declarers.entry(tx_hash).or_default().insert(declarer);
    }

    fn forget(&mut self, tx_hash: TxHash, declarer: (u64, InteractionId)) {
        let Some(declarers) = self.declarers.get_mut(&tx_hash) else {
            return;
        };
        declarers.remove(&declarer);
        if declarers.is_empty() {
            self.declarers.remove(&tx_hash);
            self.hashes.remove(&tx_hash);
        }
    }
}

fn hashes(declared: &[Declared]) -> impl Iterator<Item = TxHash> {
    declared.iter().map(|declared| declared.tx_hash)
}

/// Declared transactions, each with the position of the PAYMENT that declared it.
fn declared(watched: Option<Watched<'_>>) -> impl Iterator<Item = (TxHash, u64)> + Clone {
    let watched = watched.into_iter();
    watched.flat_map(|it| it.declared.iter().map(|it| (it.tx_hash, it.payment)))
}
