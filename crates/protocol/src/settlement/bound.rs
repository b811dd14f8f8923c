//! Transfers that are bound: those that paid, and those that came late. What a
//! disappearance, a return or the finalized head makes of them, and what is final.
//!
//! Source: ledger-contract.md section 5, settlement-watcher.md rules 22 to 24.

use super::{Aftermath, Completion, DeclaredStanding};
use crate::event::{Claim, Evidence, Late};
use crate::evm::TxHash;
use crate::observation::{Block, Transfer};
use crate::time::TimestampMs;
use serde::{Deserialize, Serialize};

/// What became of the transfers that were bound when the bill was over: watched like those that
/// paid.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LateWatch {
    /// None of them can be reorganised away any more.
    pub is_final: bool,
    /// Their transactions that have disappeared, in order of their disappearance.
    pub reversed: Vec<TxHash>,
    /// What was seen of each.
    pub transfers: Vec<PaidTransfer>,
    /// The last moment at which anything of them is still recorded.
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

impl PaidTransfer {
    /// The claimed transfer, as the evidence shows it; `None` where it does not.
    pub(crate) fn shown(claim: &Claim, evidence: &[Evidence]) -> Option<PaidTransfer> {
        let transfer = evidence
            .iter()
            .filter(|evidence| evidence.tx_hash == claim.tx_hash)
            .flat_map(|evidence| &evidence.transfers)
            .find(|transfer| transfer.ordinal == claim.ordinal)?;
        Some(PaidTransfer {
            claim: *claim,
            transfer: transfer.plain(),
        })
    }
}

impl Aftermath {
    /// Watches what an event bound late from now on, up to `until`.
    pub(crate) fn watch_late(&mut self, late: &Late, until: TimestampMs) {
        let shown = |claim: &Claim| PaidTransfer::shown(claim, &late.evidence);
        let before = self.late_watch.take();
        let (mut transfers, reversed) =
            before.map_or_else(Default::default, |watch| (watch.transfers, watch.reversed));
        transfers.extend(late.claims.iter().filter_map(shown));
        self.late_watch = Some(LateWatch {
            is_final: false,
            reversed,
            transfers,
            until,
        });
        self.stand_by(&late.evidence);
    }

    fn is_gone(&self, tx_hash: TxHash) -> bool {
        let declared = self.declared(tx_hash);
        declared.is_some_and(|it| matches!(it.standing, DeclaredStanding::Gone(_)))
    }

    fn is_there(&self, tx_hash: TxHash) -> bool {
        let declared = self.declared(tx_hash);
        declared.is_some_and(|it| matches!(it.standing, DeclaredStanding::Seen(_)))
    }

    /// Whether each of these transactions is in a block at or below the head.
    pub(crate) fn are_below(
        &self,
        mut transactions: impl Iterator<Item = TxHash>,
        head: &Block,
    ) -> bool {
        transactions.all(
            |tx_hash| match self.declared(tx_hash).map(|it| it.standing) {
                Some(DeclaredStanding::Seen(block)) => block.number <= head.number,
                Some(
                    DeclaredStanding::Unseen
                    | DeclaredStanding::Gone(_)
                    | DeclaredStanding::Refuted(_),
                )
                | None => false,
            },
        )
    }
}

/// What a disappearance, a return or the finalized head makes of the transfers that are bound: those
/// that paid, and those that came late.
pub(crate) fn evolve_bound(
    completion: Option<&mut Completion>,
    aftermath: &mut Aftermath,
    event: &Bound<'_>,
) -> Result<(), &'static str> {
    if let Bound::Final(head) = event {
        return reach_finality(completion, aftermath, head);
    }
    let (Bound::Reversed(tx_hash) | Bound::Returned(tx_hash)) = *event else {
        return Ok(());
    };
    let (is_gone, is_there) = (aftermath.is_gone(tx_hash), aftermath.is_there(tx_hash));
    let (is_final, reversed) = if aftermath.is_watched_late(tx_hash) {
        let watch = aftermath.late_watch.as_mut();
        watch.map(|watch| (watch.is_final, &mut watch.reversed))
    } else {
        completion.map(|completion| (completion.is_final, &mut completion.reversed))
    }
    .ok_or("no transfer of the transaction is bound")?;
    let is_reversed = reversed.contains(&tx_hash);
    if let Bound::Reversed(_) = event {
        if !is_gone || is_reversed || is_final {
            return Err("the transaction did not pay, or has not disappeared");
        }
        reversed.push(tx_hash);
    } else {
        if !is_there || !is_reversed {
            return Err("the transaction had not disappeared, or is not back");
        }
        reversed.retain(|known| *known != tx_hash);
    }
    Ok(())
}

/// Those that paid are final once all of them are at or below the head, and so are those that came
/// late: at least one of the two.
fn reach_finality(
    completion: Option<&mut Completion>,
    aftermath: &mut Aftermath,
    head: &Block,
) -> Result<(), &'static str> {
    let reached = Reached::by(completion.as_deref(), aftermath, head);
    if !reached.paid && !reached.late {
        return Err("a transfer that paid is not at or below the finalized head");
    }
    if let Some(completion) = completion {
        completion.is_final |= reached.paid;
    }
    if let Some(watch) = &mut aftermath.late_watch {
        watch.is_final |= reached.late;
    }
    Ok(())
}

/// Which transfers a finalized head makes final that were not yet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reached {
    /// Those that paid.
    pub(crate) paid: bool,
    /// Those that were bound late.
    pub(crate) late: bool,
}

impl Reached {
    /// What the finalized `head` reaches.
    pub(crate) fn by(
        completion: Option<&Completion>,
        aftermath: &Aftermath,
        head: &Block,
    ) -> Reached {
        let paid = completion.filter(|it| !it.is_final && it.reversed.is_empty());
        let late = aftermath.late_watch();
        let late = late.filter(|it| !it.is_final && it.reversed.is_empty());
        Reached {
            paid: paid.is_some_and(|it| {
                let paid = it.claims.iter().map(|claim| claim.tx_hash);
                aftermath.are_below(paid, head)
            }),
            late: late.is_some_and(|it| {
                let late = it.transfers.iter().map(|bound| bound.claim.tx_hash);
                aftermath.are_below(late, head)
            }),
        }
    }
}

/// An event about transfers that are bound.
pub(crate) enum Bound<'a> {
    Reversed(TxHash),
    Returned(TxHash),
    Final(&'a Block),
}

/// The aftermath, unless nothing more can come of it.
pub(crate) fn unless_over(completion: &Completion, aftermath: Aftermath) -> Option<Aftermath> {
    let is_late_open = aftermath.late_watch().is_some_and(|watch| !watch.is_final);
    let is_over = completion.is_final && aftermath.is_settled_otherwise() && !is_late_open;
    (!is_over).then_some(aftermath)
}
