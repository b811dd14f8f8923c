//! What a look at Base means for a payment being watched: seen, confirmed, refuted, looked.
//!
//! Confirmation may come at any block; the schedule only decides when to give up. A look is answered
//! by a *fresh* head at or after its due time, so that nobody is disputed because the ledger was
//! blind. Refutations and negative looks share one counter; at four the interaction is disputed.
//!
//! Source: design.md section 7, ledger-contract.md section 5, AE-104, AE-105.

use super::{Deal, Schedule, Settlement, Stage, State};
use crate::digest::Digest;
use crate::event::{
    Confirmed, Event, Finding, FindingStatus, Looked, Refuted, SettlementEvent, SettlementRecords,
};
use crate::machine::AgentView;
use crate::observation::{Sweep, TransactionStatus};
use crate::settlement::{self, Choice, Covered, Declared, DeclaredStanding, View};
use crate::time::TimestampMs;

/// Failures at which an interaction is disputed (AE-105).
pub const FAILURES_TO_DISPUTE: u64 = 4;

/// The events that `sweep` causes; none when nothing new was seen.
pub(super) fn observe(
    state: &State,
    sweep: &Sweep,
    looked_up: &settlement::Context<'_>,
    now: TimestampMs,
) -> Vec<Event> {
    let State::Verified {
        deal,
        settlement: Stage::Watching(settlement),
        ..
    } = state
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
        bill: &deal.bill(network),
        own: deal.nonces(looked_up.ledger),
        declared: &settlement.declared,
        sweep,
        context: looked_up,
    };
    Watching {
        state,
        deal,
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
    payee: Option<AgentView<'_>>,
) -> Event {
    Event::Settlement(SettlementEvent::Confirmed(Confirmed {
        evidence: Vec::new(),
        claims: Vec::new(),
        surplus: None,
        records: records(deal, settlement, state),
        provider_seq: payee.map_or(0, |payee| payee.receipts),
        provider_prev: payee.and_then(|payee| payee.last_receipt),
    }))
}

/// A payment being watched, against one sweep.
struct Watching<'a> {
    state: &'a State,
    deal: &'a Deal,
    settlement: &'a Settlement,
    view: View<'a>,
    now: TimestampMs,
}

impl Watching<'_> {
    fn events(&self) -> Vec<Event> {
        let mut events = self.view.sightings();
        let covered = self.view.covered();
        if let Covered::By(choice) = &covered
            && self.view.are_sure_enough(&choice.claims)
        {
            events.push(self.confirmation(choice));
            return events;
        }
        // What is enough in too many parts is not too little: it waits.
        let is_covered = !matches!(covered, Covered::No);
        let refutations = if is_covered {
            Vec::new()
        } else {
            let room = FAILURES_TO_DISPUTE.saturating_sub(self.settlement.failures);
            let room = usize::try_from(room).unwrap_or(usize::MAX);
            self.view.refutations().take(room).collect()
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

    fn confirmation(&self, choice: &Choice) -> Event {
        let chosen = &choice.claims;
        Event::Settlement(SettlementEvent::Confirmed(Confirmed {
            evidence: self.view.evidence_of(chosen, choice.quoted.as_ref()),
            claims: self.view.claims(chosen),
            surplus: self.view.bill.surplus(chosen.iter().map(|it| it.amount)),
            records: records(self.deal, self.settlement, self.state),
            provider_seq: self.view.context.receipts,
            provider_prev: self.view.context.last_receipt,
        }))
    }

    /// The answer to the look that is due, if this head may give it.
    fn look(&self, refutations: &[Refuted], covered: bool) -> Option<Looked> {
        let Schedule::Look { number, due } = self.settlement.schedule else {
            return None;
        };
        let head_ms = TimestampMs::new(self.view.sweep.head.timestamp_s.saturating_mul(1_000));
        let fresh = self.now.since(head_ms) < self.view.bill.network.fresh_ms;
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
                if self.view.is_definite(declared, mined) && !covered {
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
