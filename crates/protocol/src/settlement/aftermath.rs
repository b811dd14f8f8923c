//! What is watched after a bill is paid or given up: a confirmed transfer until it is *final*, and for
//! a while what else was declared.
//!
//! The state stays what it is, for a reorganisation of Base does not undo what two parties did. But
//! a transfer that disappears is recorded as *reversed* and one that comes back as *returned*; what
//! arrives too late is bound as *late*, so that it pays nothing else.
//!
//! Source: ledger-contract.md section 5, settlement-watcher.md rules 21 to 24.

use super::bound::{LateWatch, PaidTransfer};
use super::claim::{self, Candidate, Due};
use super::view::{TRANSFERS_QUOTED, View};
use super::{Completion, Declared, DeclaredStanding};
use crate::digest::Digest;
use crate::event::{
    Claim, Event, Evidence, Final, Late, Reversed, Seen, SettlementEvent, TransactionNamed,
};
use crate::evm::TxHash;
use crate::observation::{Block, MinedTransaction, TransactionStatus};
use crate::time::TimestampMs;
use serde::{Deserialize, Serialize};

/// What is still watched of a bill that is over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Aftermath {
    /// Every transaction ever declared, in order of declaration.
    pub declared: Vec<Declared>,
    /// The transfers that were bound when it was over.
    pub late: Vec<Claim>,
    /// The watch over those transfers; `None` while there are none.
    pub late_watch: Option<LateWatch>,
    /// Name of the network.
    pub network: String,
    /// The transfers that paid; empty when none did.
    pub paid: Vec<PaidTransfer>,
    /// Since when that moment recedes, because the network is blind.
    pub paused_since: Option<TimestampMs>,
    /// The last moment at which anything is still recorded.
    pub until: TimestampMs,
}

impl Aftermath {
    /// The declared transaction of that hash.
    pub fn declared(&self, tx_hash: TxHash) -> Option<&Declared> {
        self.declared
            .iter()
            .find(|declared| declared.tx_hash == tx_hash)
    }

    /// Transactions that paid and are in no block, or in one where they do not pay any more.
    pub fn gone(&self) -> impl Iterator<Item = TxHash> + Clone {
        self.declared
            .iter()
            .filter(|declared| matches!(declared.standing, DeclaredStanding::Gone(_)))
            .map(|declared| declared.tx_hash)
    }

    /// Whether the transaction holds a transfer that paid.
    pub fn has_paid(&self, tx_hash: TxHash) -> bool {
        self.paid.iter().any(|paid| paid.claim.tx_hash == tx_hash)
    }

    /// What became of the transfers that were bound late, where there are any that are watched.
    pub fn late_watch(&self) -> Option<&LateWatch> {
        self.late_watch.as_ref()
    }

    /// Whether the transaction holds a transfer that was bound late and is watched.
    pub fn is_watched_late(&self, tx_hash: TxHash) -> bool {
        let mut late = self.late_watch().into_iter().flat_map(|it| &it.transfers);
        late.any(|bound| bound.claim.tx_hash == tx_hash)
    }

    /// Whether the transaction holds a transfer whose disappearance is recorded: one that paid, or one
    /// that was bound late and is watched.
    pub fn is_bound(&self, tx_hash: TxHash) -> bool {
        self.has_paid(tx_hash) || self.is_watched_late(tx_hash)
    }

    /// The transfers of the transaction that [`Aftermath::is_bound`] speaks of.
    pub fn bound_of(&self, tx_hash: TxHash) -> impl Iterator<Item = &PaidTransfer> {
        let late = self.late_watch().into_iter().flat_map(|it| &it.transfers);
        let bound = self.paid.iter().chain(late);
        bound.filter(move |bound| bound.claim.tx_hash == tx_hash)
    }

    /// The last moment at which anything is still recorded: that of what was bound late may come after
    /// [`Aftermath::until`].
    pub fn ends_at(&self) -> TimestampMs {
        let late = self.late_watch().filter(|watch| !watch.is_final);
        late.map_or(self.until, |watch| watch.until.max(self.until))
    }

    /// Moves what is still recorded by `by_ms` of time that does not count.
    pub(crate) fn shift(&mut self, by_ms: u64) {
        self.until = self.until.saturating_add_ms(by_ms);
        if let Some(watch) = &mut self.late_watch {
            watch.until = watch.until.saturating_add_ms(by_ms);
        }
    }

    fn is_late(&self, tx_hash: TxHash) -> bool {
        self.late.iter().any(|claim| claim.tx_hash == tx_hash)
    }

    /// Whether transfers of the transaction may still be bound: none of it was, by now.
    pub fn may_be_late(&self, tx_hash: TxHash) -> bool {
        !self.has_paid(tx_hash) && !self.is_late(tx_hash)
    }

    /// Whether nothing can come of any transaction that did not pay.
    pub(crate) fn is_settled_otherwise(&self) -> bool {
        self.declared.iter().all(|declared| {
            let is_refuted = matches!(declared.standing, DeclaredStanding::Refuted(_));
            is_refuted || self.has_paid(declared.tx_hash) || self.is_late(declared.tx_hash)
        })
    }

    fn still_pays(&self, tx_hash: TxHash, mined: &MinedTransaction) -> bool {
        let mut bound = self.bound_of(tx_hash);
        mined.succeeded && bound.all(|bound| mined.transfers.contains(&bound.transfer))
    }

    fn stand(
        &mut self,
        tx_hash: TxHash,
        next: impl FnOnce(DeclaredStanding) -> Option<DeclaredStanding>,
    ) -> Result<(), &'static str> {
        let mut declared = self.declared.iter_mut();
        let declared = declared
            .find(|declared| declared.tx_hash == tx_hash)
            .ok_or("the transaction is not declared")?;
        declared.standing = next(declared.standing).ok_or("the transaction cannot stand so")?;
        Ok(())
    }

    /// What paid is where its evidence says, whatever was found of it before: a short transaction
    /// is refuted alone and pays together with another.
    pub(crate) fn stand_by(&mut self, evidence: &[Evidence]) {
        for shown in evidence {
            let mut declared = self.declared.iter_mut();
            if let Some(declared) = declared.find(|known| known.tx_hash == shown.tx_hash) {
                declared.standing = DeclaredStanding::Seen(shown.block);
            }
        }
    }

    pub(crate) fn seen(&mut self, seen: &Seen) -> Result<(), &'static str> {
        self.stand(seen.tx_hash, |standing| match standing {
            DeclaredStanding::Seen(block) if block == seen.block => None,
            DeclaredStanding::Unseen | DeclaredStanding::Seen(_) | DeclaredStanding::Gone(_) => {
                Some(DeclaredStanding::Seen(seen.block))
            }
            DeclaredStanding::Refuted(_) => None,
        })
    }

    pub(crate) fn unseen(&mut self, tx_hash: TxHash) -> Result<(), &'static str> {
        let is_bound = self.is_bound(tx_hash);
        self.stand(tx_hash, |standing| match standing {
            DeclaredStanding::Seen(block) if is_bound => Some(DeclaredStanding::Gone(block)),
            DeclaredStanding::Seen(_) => Some(DeclaredStanding::Unseen),
            DeclaredStanding::Unseen | DeclaredStanding::Gone(_) | DeclaredStanding::Refuted(_) => {
                None
            }
        })
    }

    pub(crate) fn late(&mut self, late: &Late) -> Result<(), &'static str> {
        if late.claims.is_empty() {
            return Err("a late payment claims transfers");
        }
        for claim in &late.claims {
            let is_shown = late.evidence.iter().any(|evidence| {
                let mut ordinals = evidence.transfers.iter().map(|transfer| transfer.ordinal);
                evidence.tx_hash == claim.tx_hash && ordinals.any(|known| known == claim.ordinal)
            });
            if !is_shown || self.declared(claim.tx_hash).is_none() {
                return Err("a claim names a transfer without evidence");
            }
            if self.late.contains(claim) || self.paid.iter().any(|paid| paid.claim == *claim) {
                return Err("the transfer is claimed already");
            }
            self.late.push(*claim);
        }
        Ok(())
    }
}

/// Which of these transfers are bound as late: those that would have paid, or all that came, up to
/// the number that one event may claim (settlement-watcher.md rule 22).
pub fn late_of(due: &Due, candidates: Vec<Candidate>) -> Vec<Candidate> {
    let mut chosen = claim::choose(due, &candidates).unwrap_or(candidates);
    chosen.truncate(TRANSFERS_QUOTED);
    chosen
}

/// A bill that is over, against one sweep.
pub(crate) struct Over<'a> {
    aftermath: &'a Aftermath,
    /// How it was paid, if it was.
    completion: Option<&'a Completion>,
    view: View<'a>,
    /// Only a fresh head shows that something is not there.
    is_fresh: bool,
    /// Whether more than what was bound late is watched.
    is_in_time: bool,
}

impl<'a> Over<'a> {
    /// `None` when nothing of it is watched any more.
    pub(crate) fn at(
        now: TimestampMs,
        aftermath: &'a Aftermath,
        completion: Option<&'a Completion>,
        view: View<'a>,
    ) -> Option<Over<'a>> {
        let is_before = |end| now <= end || aftermath.paused_since.is_some();
        is_before(aftermath.ends_at()).then_some(())?;
        let head_ms = TimestampMs::new(view.sweep.head.timestamp_s.saturating_mul(1_000));
        Some(Over {
            aftermath,
            completion,
            view,
            is_fresh: now.since(head_ms) < view.bill.network.fresh_ms,
            is_in_time: is_before(aftermath.until),
        })
    }

    /// The events that the sweep causes.
    pub(crate) fn events(&self) -> Vec<Event> {
        let mut events = Vec::new();
        let watched =
            |it: &&Declared| self.is_in_time || self.aftermath.is_watched_late(it.tx_hash);
        for declared in self.aftermath.declared.iter().filter(watched) {
            match self.view.sweep.transactions.get(&declared.tx_hash) {
                Some(TransactionStatus::Mined(mined)) if self.stands(declared, mined) => {
                    self.there(declared, mined, &mut events);
                }
                Some(TransactionStatus::Mined(_) | TransactionStatus::NotFound) => {
                    self.missing(declared, &mut events);
                }
                None => {}
            }
        }
        // Before finality, with which the watching may end.
        if self.is_in_time {
            events.extend(self.late());
        }
        // What is bound or comes back becomes final together with others of its group, so the group has
        // to be recorded first: the next sweep decides on it.
        let changes_groups = |it: &Event| {
            matches!(
                it,
                Event::Settlement(SettlementEvent::Late(_) | SettlementEvent::Returned(_))
            )
        };
        if !events.iter().any(changes_groups) {
            events.extend(self.finality());
        }
        events
    }

    /// Whether a transaction in a block does what it is remembered for.
    fn stands(&self, declared: &Declared, mined: &MinedTransaction) -> bool {
        self.aftermath.still_pays(declared.tx_hash, mined)
            || !self.aftermath.is_bound(declared.tx_hash)
    }

    fn there(&self, declared: &Declared, mined: &MinedTransaction, events: &mut Vec<Event>) {
        let is_known = match declared.standing {
            DeclaredStanding::Seen(block) => block == mined.block,
            DeclaredStanding::Unseen | DeclaredStanding::Gone(_) => false,
            DeclaredStanding::Refuted(_) => true,
        };
        let tx_hash = declared.tx_hash;
        if !is_known {
            events.push(Event::Settlement(SettlementEvent::Seen(Seen {
                tx_hash,
                block: mined.block,
                transfers: self.view.quoted(declared, mined, &[]),
            })));
        }
        if self.is_reversed(tx_hash) && self.view.is_deep(mined) {
            events.push(Event::Settlement(SettlementEvent::Returned(
                TransactionNamed { tx_hash },
            )));
        }
    }

    /// A head below the block only lags. The new branch is confirmed-deep without the transaction
    /// once its block at the old one's height is.
    fn missing(&self, declared: &Declared, events: &mut Vec<Event>) {
        let tx_hash = declared.tx_hash;
        if self.is_final(tx_hash) {
            // No reorganisation takes it away, whatever an endpoint says.
            return;
        }
        let (block, is_new) = match declared.standing {
            DeclaredStanding::Seen(block) => (block, true),
            DeclaredStanding::Gone(block) => (block, false),
            DeclaredStanding::Unseen | DeclaredStanding::Refuted(_) => return,
        };
        let depth = self.view.sweep.depth_of(&block);
        if depth == 0 {
            return;
        }
        if is_new {
            events.push(Event::Settlement(SettlementEvent::Unseen(
                TransactionNamed { tx_hash },
            )));
        }
        let is_deep = depth >= self.view.bill.network.confirmed_depth;
        if is_deep
            && self.is_fresh
            && self.aftermath.is_bound(tx_hash)
            && !self.is_reversed(tx_hash)
        {
            events.extend(
                self.reversal(tx_hash, events)
                    .map(SettlementEvent::Reversed)
                    .map(Event::Settlement),
            );
        }
    }

    /// `None` after another of the same decision, because each names the provider's receipt before
    /// it. Decided again, the same sweep causes the next.
    fn reversal(&self, tx_hash: TxHash, before: &[Event]) -> Option<Reversed> {
        let is_first = !before
            .iter()
            .any(|it| matches!(it, Event::Settlement(SettlementEvent::Reversed(_))));
        is_first.then_some(())?;
        Some(Reversed {
            tx_hash,
            provider_seq: self.view.context.receipts,
            // Of a late payment alone there is no receipt.
            provider_prev: self.view.context.last_receipt.unwrap_or(Digest::ZERO),
        })
    }

    fn is_reversed(&self, tx_hash: TxHash) -> bool {
        let paid = self.completion.map(|it| &it.reversed);
        let late = self.aftermath.late_watch().map(|it| &it.reversed);
        let mut reversed = paid.into_iter().chain(late).flatten();
        reversed.any(|known| *known == tx_hash)
    }

    fn is_final(&self, tx_hash: TxHash) -> bool {
        if self.aftermath.is_watched_late(tx_hash) {
            self.aftermath.late_watch().is_some_and(|it| it.is_final)
        } else {
            self.aftermath.has_paid(tx_hash) && self.completion.is_some_and(|it| it.is_final)
        }
    }

    /// Transactions that may reach finality together: those that paid, and those that came late.
    fn not_final_yet(&self) -> Vec<Vec<TxHash>> {
        let paid = self.completion.filter(|_| self.is_in_time);
        let paid = paid.filter(|it| !it.is_final && it.reversed.is_empty());
        let paid = paid.map(|it| it.claims.iter().map(|claim| claim.tx_hash).collect());
        let late = self.aftermath.late_watch();
        let late = late.filter(|it| !it.is_final && it.reversed.is_empty());
        let late = late.map(|it| it.transfers.iter().map(|bound| bound.claim.tx_hash));
        paid.into_iter()
            .chain(late.map(Iterator::collect))
            .collect()
    }

    /// Every transaction that paid, or every one that came late, is at or below the finalized head,
    /// and this sweep shows them. It must show all that the record will make final.
    fn finality(&self) -> Option<Event> {
        let open = self.not_final_yet();
        open.iter().find_map(|group| {
            let head = self.final_head(group.iter().copied())?;
            let is_shown = |tx_hash: &TxHash| {
                self.view.mined(*tx_hash).is_some_and(|mined| {
                    mined.block.number <= head.number && self.aftermath.still_pays(*tx_hash, mined)
                })
            };
            let mut reached = open.iter().filter(|other| {
                *other == group || self.aftermath.are_below(other.iter().copied(), &head)
            });
            let is_final = reached.all(|group| group.iter().all(is_shown));
            is_final.then_some(Event::Settlement(SettlementEvent::Final(Final { head })))
        })
    }

    /// The finalized head. Where no endpoint names one, the highest block of these transactions, once
    /// its depth stands in for that.
    fn final_head(&self, transactions: impl Iterator<Item = TxHash>) -> Option<Block> {
        self.view.finalized().or_else(|| {
            let mined = transactions.filter_map(|tx_hash| self.view.mined(tx_hash));
            let highest = mined.max_by_key(|mined| mined.block.number)?;
            self.view.stands_in(highest).then_some(highest.block)
        })
    }

    /// What else came, at confirmed depth. A subject that still waits for its payment and declares the
    /// same transaction goes first; a transaction that paid in part is left to others.
    fn late(&self) -> Option<Event> {
        let mut candidates = self.view.candidates();
        candidates.retain(|candidate| {
            self.aftermath.may_be_late(candidate.tx_hash)
                && !self.view.context.awaited.contains(&candidate.tx_hash)
        });
        let chosen = late_of(&self.view.bill.due, candidates);
        if chosen.is_empty() {
            return None;
        }
        Some(Event::Settlement(SettlementEvent::Late(Late {
            evidence: self.view.evidence_of(&chosen, None),
            claims: self.view.claims(&chosen),
        })))
    }
}
