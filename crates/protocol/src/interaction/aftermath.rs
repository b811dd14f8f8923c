//! What is watched after an interaction is over: a confirmed transfer until it is *final*, and for
//! a while what else was declared.
//!
//! The state stays what it is, for a reorganisation of Base does not undo what two parties did. But
//! a transfer that disappears is recorded as *reversed* and one that comes back as *returned*; what
//! arrives too late is bound to the interaction as *late*, so that it pays no other.
//!
//! Source: ledger-contract.md section 5, settlement-watcher.md rules 21 to 24.

use super::claim::{self, Candidate, Due};
use super::view::{TRANSFERS_QUOTED, View};
use super::{Completion, Context, Deal, Declared, Standing, State};
use crate::event::{Claim, Event, Evidence, Final, Late, Reversed, Seen, TransactionNamed};
use crate::evm::TxHash;
use crate::observation::{Block, MinedTransaction, Sweep, TransactionStatus, Transfer};
use crate::time::TimestampMs;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What is still watched of an interaction that is over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Aftermath {
    /// Every transaction ever declared, in order of declaration.
    pub declared: Vec<Declared>,
    /// The transfers that were bound to the interaction when it was over.
    pub late: Vec<Claim>,
    /// Name of the network.
    pub network: String,
    /// The transfers that paid; empty when none did.
    pub paid: Vec<PaidTransfer>,
    /// Since when that moment recedes, because the network is blind.
    pub paused_since: Option<TimestampMs>,
    /// The last moment at which anything is still recorded.
    pub until: TimestampMs,
}

/// A transfer that paid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PaidTransfer {
    /// What is bound.
    pub claim: Claim,
    /// What was seen. The same signed transaction can do something else in another block.
    pub transfer: Transfer,
}

/// A payment that was declared and did not lead to completion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unpaid {
    /// What is still watched.
    pub aftermath: Aftermath,
    /// What had been agreed.
    pub deal: Arc<Deal>,
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
            .filter(|declared| matches!(declared.standing, Standing::Gone(_)))
            .map(|declared| declared.tx_hash)
    }

    /// Whether the transaction holds a transfer that paid.
    pub fn has_paid(&self, tx_hash: TxHash) -> bool {
        self.paid.iter().any(|paid| paid.claim.tx_hash == tx_hash)
    }

    fn is_late(&self, tx_hash: TxHash) -> bool {
        self.late.iter().any(|claim| claim.tx_hash == tx_hash)
    }

    /// Whether transfers of the transaction may still be bound: none of it was, by now.
    pub fn may_be_late(&self, tx_hash: TxHash) -> bool {
        !self.has_paid(tx_hash) && !self.is_late(tx_hash)
    }

    /// Whether nothing can come of any transaction that did not pay.
    fn is_settled_otherwise(&self) -> bool {
        self.declared.iter().all(|declared| {
            let is_refuted = matches!(declared.standing, Standing::Refuted(_));
            is_refuted || self.has_paid(declared.tx_hash) || self.is_late(declared.tx_hash)
        })
    }

    fn still_pays(&self, tx_hash: TxHash, mined: &MinedTransaction) -> bool {
        let mut paid = self
            .paid
            .iter()
            .filter(|paid| paid.claim.tx_hash == tx_hash);
        mined.succeeded && paid.all(|paid| mined.transfers.contains(&paid.transfer))
    }

    fn stand(
        &mut self,
        tx_hash: TxHash,
        next: impl FnOnce(Standing) -> Option<Standing>,
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
    pub(super) fn stand_by(&mut self, evidence: &[Evidence]) {
        for shown in evidence {
            let mut declared = self.declared.iter_mut();
            if let Some(declared) = declared.find(|known| known.tx_hash == shown.tx_hash) {
                declared.standing = Standing::Seen(shown.block);
            }
        }
    }

    pub(super) fn seen(&mut self, seen: &Seen) -> Result<(), &'static str> {
        self.stand(seen.tx_hash, |standing| match standing {
            Standing::Seen(block) if block == seen.block => None,
            Standing::Unseen | Standing::Seen(_) | Standing::Gone(_) => {
                Some(Standing::Seen(seen.block))
            }
            Standing::Refuted(_) => None,
        })
    }

    pub(super) fn unseen(&mut self, tx_hash: TxHash) -> Result<(), &'static str> {
        let has_paid = self.has_paid(tx_hash);
        self.stand(tx_hash, |standing| match standing {
            Standing::Seen(block) if has_paid => Some(Standing::Gone(block)),
            Standing::Seen(_) => Some(Standing::Unseen),
            Standing::Unseen | Standing::Gone(_) | Standing::Refuted(_) => None,
        })
    }

    pub(super) fn late(&mut self, late: &Late) -> Result<(), &'static str> {
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

/// What a disappearance, a return or the finalized head makes of a completed interaction.
pub(super) fn evolve_paid(
    completion: &mut Completion,
    aftermath: &Aftermath,
    event: &Paid<'_>,
) -> Result<(), &'static str> {
    match event {
        Paid::Reversed(tx_hash) => {
            let declared = aftermath.declared(*tx_hash);
            let is_gone = declared.is_some_and(|d| matches!(d.standing, Standing::Gone(_)));
            if !is_gone || completion.reversed.contains(tx_hash) || completion.is_final {
                return Err("the transaction did not pay, or has not disappeared");
            }
            completion.reversed.push(*tx_hash);
        }
        Paid::Returned(tx_hash) => {
            let declared = aftermath.declared(*tx_hash);
            let is_back = declared.is_some_and(|d| matches!(d.standing, Standing::Seen(_)));
            if !is_back || !completion.reversed.contains(tx_hash) {
                return Err("the transaction had not disappeared, or is not back");
            }
            completion.reversed.retain(|known| known != tx_hash);
        }
        Paid::Final(head) => {
            let mut blocks = paid_in(aftermath);
            let is_below = blocks.all(|block| block.is_some_and(|b| b.number <= head.number));
            if completion.is_final || !completion.reversed.is_empty() || !is_below {
                return Err("a transfer that paid is not at or below the finalized head");
            }
            completion.is_final = true;
        }
    }
    Ok(())
}

/// An event about transfers that paid.
pub(super) enum Paid<'a> {
    Reversed(TxHash),
    Returned(TxHash),
    Final(&'a Block),
}

/// The aftermath, unless nothing more can come of it.
pub(super) fn unless_over(completion: &Completion, aftermath: Aftermath) -> Option<Aftermath> {
    let is_over = completion.is_final && aftermath.is_settled_otherwise();
    (!is_over).then_some(aftermath)
}

/// The blocks of the transactions that paid; `None` for one that is in none.
fn paid_in(aftermath: &Aftermath) -> impl Iterator<Item = Option<Block>> {
    let declared = aftermath.declared.iter();
    declared
        .filter(|declared| aftermath.has_paid(declared.tx_hash))
        .map(|declared| match declared.standing {
            Standing::Seen(block) => Some(block),
            Standing::Unseen | Standing::Gone(_) | Standing::Refuted(_) => None,
        })
}

/// Which of these transfers are bound as late: those that would have paid, or all that came, up to
/// the number that one event may claim (settlement-watcher.md rule 22).
pub fn late_of(due: &Due, candidates: Vec<Candidate>) -> Vec<Candidate> {
    let mut chosen = claim::choose(due, &candidates).unwrap_or(candidates);
    chosen.truncate(TRANSFERS_QUOTED);
    chosen
}

/// The events that `sweep` causes for an interaction that is over.
pub(super) fn observe(
    state: &State,
    sweep: &Sweep,
    context: &Context<'_>,
    now: TimestampMs,
) -> Vec<Event> {
    let Some((deal, aftermath)) = state.aftermath() else {
        return Vec::new();
    };
    if now > aftermath.until && aftermath.paused_since.is_none() {
        return Vec::new();
    }
    let network = deal.opening.parameters.network(&aftermath.network);
    let Some(network) = network.filter(|network| network.name == sweep.network) else {
        return Vec::new();
    };
    let view = View {
        deal,
        network,
        declared: &aftermath.declared,
        sweep,
        context,
    };
    let head_ms = TimestampMs::new(sweep.head.timestamp_s.saturating_mul(1_000));
    Over {
        completion: state.completion(),
        aftermath,
        view,
        is_fresh: now.since(head_ms) < network.fresh_ms,
    }
    .events()
}

/// An interaction that is over, against one sweep.
struct Over<'a> {
    /// How it was paid, if it was.
    completion: Option<&'a Completion>,
    aftermath: &'a Aftermath,
    view: View<'a>,
    /// Only a fresh head shows that something is not there.
    is_fresh: bool,
}

impl Over<'_> {
    fn events(&self) -> Vec<Event> {
        let mut events = Vec::new();
        for declared in &self.aftermath.declared {
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
        events.extend(self.finality());
        events.extend(self.late());
        events
    }

    /// Whether a transaction in a block does what it is remembered for.
    fn stands(&self, declared: &Declared, mined: &MinedTransaction) -> bool {
        self.aftermath.still_pays(declared.tx_hash, mined)
            || !self.aftermath.has_paid(declared.tx_hash)
    }

    fn there(&self, declared: &Declared, mined: &MinedTransaction, events: &mut Vec<Event>) {
        let is_known = match declared.standing {
            Standing::Seen(block) => block == mined.block,
            Standing::Unseen | Standing::Gone(_) => false,
            Standing::Refuted(_) => true,
        };
        let tx_hash = declared.tx_hash;
        if !is_known {
            events.push(Event::Seen(Seen {
                tx_hash,
                block: mined.block,
                transfers: self.view.quoted(declared, mined, &[]),
            }));
        }
        if self.is_reversed(tx_hash) && self.view.is_deep(mined) {
            events.push(Event::Returned(TransactionNamed { tx_hash }));
        }
    }

    /// A head below the block only lags. The new branch is confirmed-deep without the transaction
    /// once its block at the old one's height is.
    fn missing(&self, declared: &Declared, events: &mut Vec<Event>) {
        let tx_hash = declared.tx_hash;
        let is_final = self.completion.is_some_and(|it| it.is_final);
        if is_final && self.aftermath.has_paid(tx_hash) {
            // No reorganisation takes it away, whatever an endpoint says.
            return;
        }
        let (block, is_new) = match declared.standing {
            Standing::Seen(block) => (block, true),
            Standing::Gone(block) => (block, false),
            Standing::Unseen | Standing::Refuted(_) => return,
        };
        let depth = self.view.sweep.depth_of(&block);
        if depth == 0 {
            return;
        }
        if is_new {
            events.push(Event::Unseen(TransactionNamed { tx_hash }));
        }
        let is_deep = depth >= self.view.network.confirmed_depth;
        if is_deep
            && self.is_fresh
            && self.aftermath.has_paid(tx_hash)
            && !self.is_reversed(tx_hash)
        {
            events.extend(self.reversal(tx_hash, events).map(Event::Reversed));
        }
    }

    /// `None` after another of the same decision, because each names the provider's receipt before
    /// it. Decided again, the same sweep causes the next.
    fn reversal(&self, tx_hash: TxHash, before: &[Event]) -> Option<Reversed> {
        let provider = self.view.context.provider;
        let is_first = !before.iter().any(|it| matches!(it, Event::Reversed(_)));
        is_first.then_some(())?;
        Some(Reversed {
            tx_hash,
            provider_seq: provider.receipts,
            provider_prev: provider.last_receipt?,
        })
    }

    fn is_reversed(&self, tx_hash: TxHash) -> bool {
        self.completion
            .is_some_and(|completion| completion.reversed.contains(&tx_hash))
    }

    /// Every transaction that paid is at or below the finalized head, and this sweep shows them.
    fn finality(&self) -> Option<Event> {
        let completion = self
            .completion
            .filter(|c| !c.is_final && c.reversed.is_empty())?;
        let claims = completion.claims.iter().map(|claim| claim.tx_hash);
        let head = self.final_head(claims.clone())?;
        let is_final = |tx_hash: TxHash| {
            self.view.mined(tx_hash).is_some_and(|mined| {
                mined.block.number <= head.number && self.aftermath.still_pays(tx_hash, mined)
            })
        };
        let mut claims = claims;
        claims.all(is_final).then_some(Event::Final(Final { head }))
    }

    /// The finalized head. Where no endpoint names one, the highest block of these transactions, once
    /// its depth stands in for that.
    fn final_head(&self, transactions: impl Iterator<Item = TxHash>) -> Option<Block> {
        self.view.sweep.finalized.or_else(|| {
            let mined = transactions.filter_map(|tx_hash| self.view.mined(tx_hash));
            let highest = mined.max_by_key(|mined| mined.block.number)?;
            self.view.stands_in(highest).then_some(highest.block)
        })
    }

    /// What else came, at confirmed depth. An interaction that still waits for its payment and
    /// declares the same transaction goes first; a transaction that paid in part is left to others.
    fn late(&self) -> Option<Event> {
        let mut candidates = self.view.candidates();
        candidates.retain(|candidate| {
            self.aftermath.may_be_late(candidate.tx_hash)
                && !self.view.context.awaited.contains(&candidate.tx_hash)
        });
        let chosen = late_of(&self.view.due(), candidates);
        if chosen.is_empty() {
            return None;
        }
        Some(Event::Late(Late {
            evidence: self.view.evidence_of(&chosen, None),
            claims: self.view.claims(&chosen),
        }))
    }
}
