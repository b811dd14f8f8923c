//! What a look at Base means for a payment being watched: seen, confirmed, refuted, looked.
//!
//! Confirmation may come at any block; the schedule only decides when to give up. A look is answered
//! by a *fresh* head at or after its due time, so that nobody is disputed because the ledger was
//! blind. Refutations and negative looks share one counter; at four the interaction is disputed.
//!
//! Source: design.md section 7, ledger-contract.md section 5, AE-104, AE-105.

use super::age::Age;
use super::claim::Candidate;
use super::narrow::{Choice, Covered};
use super::view::View;
use super::{Context, Deal, Declared, DeclaredStanding, Schedule, Settlement, Stage, State};
use crate::digest::Digest;
use crate::event::{
    Confirmed, Event, Finding, FindingStatus, Looked, Refuted, RefutedCause, Seen, SettlementEvent,
    SettlementRecords, TransactionNamed,
};
use crate::money::MicroUsdc;
use crate::observation::{MinedTransaction, Sweep, TransactionStatus};
use crate::time::TimestampMs;

/// Failures at which an interaction is disputed (AE-105).
pub const FAILURES_TO_DISPUTE: u64 = 4;

/// The events that `sweep` causes; none when nothing new was seen.
pub(super) fn observe(
    state: Option<&State>,
    sweep: &Sweep,
    context: &Context<'_>,
    now: TimestampMs,
) -> Vec<Event> {
    let Some(
        state @ State::Verified {
            deal,
            settlement: Stage::Watching(settlement),
            ..
        },
    ) = state
    else {
        return Vec::new();
    };
    let Some(network) = deal.opening.parameters.network(&settlement.network) else {
        return Vec::new();
    };
    if sweep.network != settlement.network || deal.offer.total.is_zero() {
        return Vec::new();
    }
    let view = View {
        deal,
        network,
        declared: &settlement.declared,
        sweep,
        context,
    };
    Watching {
        state,
        settlement,
        view,
        now,
    }
    .events()
}

/// The confirmation of an interaction that costs nothing: any well-formed hash will do.
pub(super) fn confirm_nothing_due(
    deal: &Deal,
    settlement: &Settlement,
    state: &State,
    context: &Context<'_>,
) -> Event {
    Event::Settlement(SettlementEvent::Confirmed(Confirmed {
        evidence: Vec::new(),
        claims: Vec::new(),
        surplus: None,
        records: records(deal, settlement, state),
        provider_seq: context.provider.receipts,
        provider_prev: context.provider.last_receipt,
    }))
}

/// A payment being watched, against one sweep.
struct Watching<'a> {
    state: &'a State,
    settlement: &'a Settlement,
    view: View<'a>,
    now: TimestampMs,
}

impl Watching<'_> {
    fn events(&self) -> Vec<Event> {
        let mut events = self.sightings();
        let covered = self.view.covered();
        if let Covered::By(choice) = &covered
            && self.deep_enough_for_total(&choice.claims)
        {
            events.push(self.confirmation(choice));
            return events;
        }
        // What is enough in too many parts is not too little: it waits.
        let is_covered = !matches!(covered, Covered::No);
        let refutations = if is_covered {
            Vec::new()
        } else {
            self.refutations()
        };
        let failures = self.settlement.failures + refutations.len() as u64;
        let look = self.look(&refutations, is_covered);
        events.extend(
            refutations
                .into_iter()
                .map(SettlementEvent::Refuted)
                .map(Event::Settlement),
        );
        if failures < FAILURES_TO_DISPUTE {
            events.extend(look.map(SettlementEvent::Looked).map(Event::Settlement));
        }
        events
    }

    /// Declared transactions that are in a block where they were not before, or in none any more.
    fn sightings(&self) -> Vec<Event> {
        let declared = self.settlement.declared.iter();
        declared
            .filter_map(
                |declared| match self.view.sweep.transactions.get(&declared.tx_hash)? {
                    TransactionStatus::Mined(mined) => self.seen(declared, mined),
                    TransactionStatus::NotFound => self.unseen(declared),
                },
            )
            .collect()
    }

    fn seen(&self, declared: &Declared, mined: &MinedTransaction) -> Option<Event> {
        let known = match declared.standing {
            DeclaredStanding::Unseen | DeclaredStanding::Gone(_) => false,
            DeclaredStanding::Seen(block) => block == mined.block,
            DeclaredStanding::Refuted(_) => true,
        };
        (!known).then(|| {
            Event::Settlement(SettlementEvent::Seen(Seen {
                tx_hash: declared.tx_hash,
                block: mined.block,
                transfers: self.view.quoted(declared, mined, &[]),
            }))
        })
    }

    /// A head below the block only lags; one that reached it shows a reorganisation.
    fn unseen(&self, declared: &Declared) -> Option<Event> {
        let DeclaredStanding::Seen(block) = declared.standing else {
            return None;
        };
        (self.view.sweep.head.number >= block.number).then_some(Event::Settlement(
            SettlementEvent::Unseen(TransactionNamed {
                tx_hash: declared.tx_hash,
            }),
        ))
    }

    fn confirmation(&self, choice: &Choice) -> Event {
        let chosen = &choice.claims;
        let paid = chosen
            .iter()
            .map(|c| u128::from(c.amount.as_micro_usdc()))
            .sum::<u128>();
        let surplus = paid.saturating_sub(u128::from(self.view.deal.offer.total.as_micro_usdc()));
        let surplus = u64::try_from(surplus)
            .ok()
            .and_then(|surplus| MicroUsdc::from_micro_usdc(surplus).ok())
            .unwrap_or(MicroUsdc::MAX);
        Event::Settlement(SettlementEvent::Confirmed(Confirmed {
            evidence: self.view.evidence_of(chosen, choice.quoted.as_ref()),
            claims: self.view.claims(chosen),
            surplus: (!surplus.is_zero()).then_some(surplus),
            records: records(self.view.deal, self.settlement, self.state),
            provider_seq: self.view.context.provider.receipts,
            provider_prev: self.view.context.provider.last_receipt,
        }))
    }

    /// Definite failures of transactions not refuted before, as many as the counter still takes.
    fn refutations(&self) -> Vec<Refuted> {
        let room = FAILURES_TO_DISPUTE.saturating_sub(self.settlement.failures);
        self.settlement
            .declared
            .iter()
            .filter(|declared| !matches!(declared.standing, DeclaredStanding::Refuted(_)))
            .filter_map(|declared| {
                let mined = self
                    .view
                    .mined(declared.tx_hash)
                    .filter(|mined| self.view.is_deep(mined))?;
                let cause = self.refutation(declared, mined)?;
                Some(Refuted {
                    tx_hash: declared.tx_hash,
                    cause,
                    reason: self.view.revert_reason(declared, mined),
                    code: cause.code(),
                    evidence: self.view.evidence(declared, mined, &[]),
                })
            })
            .take(usize::try_from(room).unwrap_or(usize::MAX))
            .collect()
    }

    fn refutation(&self, declared: &Declared, mined: &MinedTransaction) -> Option<RefutedCause> {
        if !mined.succeeded {
            return Some(RefutedCause::Reverted);
        }
        match self.view.age_of(declared, mined) {
            Age::Young => {}
            Age::Old => return Some(RefutedCause::OlderThanAccept),
            Age::Open => return None,
        }
        if mined.transfers.is_empty() {
            return Some(RefutedCause::WrongToken);
        }
        let mut fitting = self.view.fitting(declared, mined).peekable();
        if fitting.peek().is_none() {
            let fit = self.view.fit(declared);
            let mut transfers = mined.transfers.iter();
            let is_unauthorized = transfers.any(|transfer| fit.is_between(transfer));
            return Some(if is_unauthorized {
                RefutedCause::Unauthorized
            } else {
                RefutedCause::OtherPayee
            });
        }
        if fitting.all(|transfer| self.view.is_claimed(declared.tx_hash, transfer.ordinal)) {
            return Some(RefutedCause::UsedAlready);
        }
        // Short is only definite once nothing else that was declared can still add to it.
        let all_deep = self.settlement.declared.iter().all(|other| {
            self.view
                .mined(other.tx_hash)
                .is_some_and(|mined| self.is_definite(other, mined))
        });
        all_deep.then_some(RefutedCause::Short)
    }

    /// Whether nothing more can come of it: it is deep enough, and known to be old or not. What was
    /// refuted before stays so, whether or not a watcher that has just begun knows its age again.
    fn is_definite(&self, declared: &Declared, mined: &MinedTransaction) -> bool {
        if matches!(declared.standing, DeclaredStanding::Refuted(_)) {
            let depth = self.view.sweep.depth_of(&mined.block);
            return depth >= self.view.network.confirmed_depth;
        }
        self.view.is_deep(mined) && self.view.age_of(declared, mined) != Age::Open
    }

    /// The answer to the look that is due, if this head may give it.
    fn look(&self, refutations: &[Refuted], covered: bool) -> Option<Looked> {
        let Schedule::Look { number, due } = self.settlement.schedule else {
            return None;
        };
        let head_ms = TimestampMs::new(self.view.sweep.head.timestamp_s.saturating_mul(1_000));
        let fresh = self.now.since(head_ms) < self.view.network.fresh_ms;
        let answers = self.settlement.paused_since.is_none() && head_ms >= due && self.now >= due;
        if !fresh || !answers {
            return None;
        }
        let finding = self
            .settlement
            .declared
            .iter()
            .map(|declared| self.finding(declared, refutations, covered))
            .collect::<Option<Vec<_>>>()?;
        Some(Looked {
            look: number,
            due_at_ms: due,
            head: self.view.sweep.head,
            finding,
        })
    }

    /// How one transaction stands; `None` when this sweep did not ask for it.
    fn finding(
        &self,
        declared: &Declared,
        refutations: &[Refuted],
        covered: bool,
    ) -> Option<Finding> {
        let asked = self.view.sweep.transactions.get(&declared.tx_hash)?;
        let refuted = matches!(declared.standing, DeclaredStanding::Refuted(_))
            || refutations
                .iter()
                .any(|refuted| refuted.tx_hash == declared.tx_hash);
        let (status, depth) = match asked {
            TransactionStatus::NotFound => (FindingStatus::NotFound, None),
            TransactionStatus::Mined(mined) => {
                let depth = Some(self.view.sweep.depth_of(&mined.block));
                // Covered but not confirmed: only the level that the amount asks for is missing.
                if self.is_definite(declared, mined) && !covered {
                    (FindingStatus::Insufficient, depth)
                } else {
                    (FindingStatus::Seen, depth)
                }
            }
        };
        let status = if refuted {
            FindingStatus::Refuted
        } else {
            status
        };
        Some(Finding {
            tx_hash: declared.tx_hash,
            status,
            depth,
        })
    }

    /// Totals above the network's limit wait for level *safe*; where no endpoint names such heads, for
    /// the depth that stands in for it.
    fn deep_enough_for_total(&self, chosen: &[Candidate]) -> bool {
        let needs_safe = self
            .view
            .network
            .safe_above
            .is_some_and(|limit| self.view.deal.offer.total > limit);
        !needs_safe
            || chosen.iter().all(|candidate| {
                self.view
                    .mined(candidate.tx_hash)
                    .is_some_and(|mined| self.view.is_safe(mined))
            })
    }
}

/// The record hashes that a confirmation rests on.
fn records(deal: &Deal, settlement: &Settlement, state: &State) -> SettlementRecords {
    let (result, verify) = match state {
        State::Verified {
            delivery,
            verification,
            ..
        } => (delivery.record.hash, verification.hash),
        State::Pending { .. }
        | State::Offered { .. }
        | State::Accepted { .. }
        | State::Delivered { .. }
        | State::Completed { .. }
        | State::Expired(_)
        | State::Rejected(_)
        | State::Disputed(_)
        | State::Failed(_) => (Digest::ZERO, Digest::ZERO),
    };
    SettlementRecords {
        request: deal.opening.record.hash,
        offer: deal.offer.record.hash,
        accept: deal.acceptance.record.hash,
        result,
        verify,
        payments: settlement
            .payments
            .iter()
            .map(|payment| payment.hash)
            .collect(),
    }
}
