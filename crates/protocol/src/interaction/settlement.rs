//! What a look at Base means for a payment being watched: seen, confirmed, refuted, looked.
//!
//! Confirmation may come at any block; the schedule only decides when to give up. A look is answered
//! by a *fresh* head at or after its due time, so that nobody is disputed because the ledger was
//! blind. Refutations and negative looks share one counter; at four the interaction is disputed.
//!
//! Source: design.md section 7, ledger-contract.md section 5, AE-104, AE-105.

use super::claim::{self, Candidate, Due};
use super::{Context, Deal, Declared, Schedule, Settlement, Stage, Standing, State};
use crate::digest::Digest;
use crate::event::{
    Claim, Confirmed, Event, Evidence, Finding, FindingStatus, Level, Looked, Refuted,
    RefutedCause, Seen, SettlementRecords, TransactionNamed,
};
use crate::evm::TxHash;
use crate::money::MicroUsdc;
use crate::observation::{MinedTransaction, Sweep, TransactionStatus, Transfer};
use crate::parameters::Network;
use crate::time::TimestampMs;

/// Failures at which an interaction is disputed (AE-105).
pub const FAILURES_TO_DISPUTE: u64 = 4;

/// Most transfers that one event quotes beside the claimed ones, and most that it claims; with eight
/// declared transactions a leaf stays in bounds.
const TRANSFERS_QUOTED: usize = 64;

/// The ACCEPT's clock and a block's may differ by this much.
const ACCEPT_SLACK_MS: u64 = 2_000;

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
    View {
        state,
        deal,
        settlement,
        network,
        sweep,
        context,
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
    Event::Confirmed(Confirmed {
        evidence: Vec::new(),
        claims: Vec::new(),
        surplus: None,
        records: records(deal, settlement, state),
        provider_seq: context.provider.receipts,
        provider_prev: context.provider.last_receipt,
    })
}

/// One interaction against one sweep.
struct View<'a> {
    state: &'a State,
    deal: &'a Deal,
    settlement: &'a Settlement,
    network: &'a Network,
    sweep: &'a Sweep,
    context: &'a Context<'a>,
    now: TimestampMs,
}

impl View<'_> {
    fn events(&self) -> Vec<Event> {
        let mut events = self.sightings();
        let chosen = claim::choose(&self.due(), &self.candidates())
            .filter(|chosen| chosen.len() <= TRANSFERS_QUOTED);
        if let Some(chosen) = &chosen
            && self.deep_enough_for_total(chosen)
        {
            events.push(self.confirmation(chosen));
            return events;
        }
        let refutations = if chosen.is_none() {
            self.refutations()
        } else {
            Vec::new()
        };
        let failures = self.settlement.failures + refutations.len() as u64;
        let look = self.look(&refutations, chosen.is_some());
        events.extend(refutations.into_iter().map(Event::Refuted));
        if failures < FAILURES_TO_DISPUTE {
            events.extend(look.map(Event::Looked));
        }
        events
    }

    /// Declared transactions that are in a block where they were not before, or in none any more.
    fn sightings(&self) -> Vec<Event> {
        let declared = self.settlement.declared.iter();
        declared
            .filter_map(
                |declared| match self.sweep.transactions.get(&declared.tx_hash)? {
                    TransactionStatus::Mined(mined) => self.seen(declared, mined),
                    TransactionStatus::NotFound => self.unseen(declared),
                },
            )
            .collect()
    }

    fn seen(&self, declared: &Declared, mined: &MinedTransaction) -> Option<Event> {
        let known = match declared.standing {
            Standing::Unseen => false,
            Standing::Seen(block) => block == mined.block,
            Standing::Refuted(_) => true,
        };
        (!known).then(|| {
            Event::Seen(Seen {
                tx_hash: declared.tx_hash,
                block: mined.block,
                transfers: self.quoted(declared, mined, &[]),
            })
        })
    }

    /// A head below the block only lags; one that reached it shows a reorganisation.
    fn unseen(&self, declared: &Declared) -> Option<Event> {
        let Standing::Seen(block) = declared.standing else {
            return None;
        };
        (self.sweep.head.number >= block.number).then_some(Event::Unseen(TransactionNamed {
            tx_hash: declared.tx_hash,
        }))
    }

    fn due(&self) -> Due {
        let offer = &self.deal.offer;
        Due {
            price: offer.price,
            protocol_fee: offer.protocol_fee,
            total: offer.total,
            payee: offer.payee,
            treasury: self.network.treasury,
        }
    }

    /// Unclaimed fitting transfers of everything deep enough, in order of (declaration, ordinal).
    fn candidates(&self) -> Vec<Candidate> {
        let mut candidates = Vec::new();
        for declared in &self.settlement.declared {
            let Some(mined) = self.mined(declared.tx_hash) else {
                continue;
            };
            if !mined.succeeded || !self.is_deep(mined) || self.is_older_than_accept(mined) {
                continue;
            }
            candidates.extend(self.unclaimed(declared, mined).map(|transfer| Candidate {
                tx_hash: declared.tx_hash,
                ordinal: transfer.ordinal,
                to: transfer.to,
                amount: transfer.amount,
            }));
        }
        candidates
    }

    fn confirmation(&self, chosen: &[Candidate]) -> Event {
        let paid = chosen
            .iter()
            .map(|c| u128::from(c.amount.as_micro_usdc()))
            .sum::<u128>();
        let surplus = paid.saturating_sub(u128::from(self.deal.offer.total.as_micro_usdc()));
        let surplus = u64::try_from(surplus)
            .ok()
            .and_then(|surplus| MicroUsdc::from_micro_usdc(surplus).ok())
            .unwrap_or(MicroUsdc::MAX);
        let evidence = self
            .settlement
            .declared
            .iter()
            .filter(|declared| chosen.iter().any(|c| c.tx_hash == declared.tx_hash))
            .filter_map(|declared| {
                Some(self.evidence(declared, self.mined(declared.tx_hash)?, chosen))
            })
            .collect();
        Event::Confirmed(Confirmed {
            evidence,
            claims: chosen
                .iter()
                .map(|c| self.claim(c.tx_hash, c.ordinal))
                .collect(),
            surplus: (!surplus.is_zero()).then_some(surplus),
            records: records(self.deal, self.settlement, self.state),
            provider_seq: self.context.provider.receipts,
            provider_prev: self.context.provider.last_receipt,
        })
    }

    /// Definite failures of transactions not refuted before, as many as the counter still takes.
    fn refutations(&self) -> Vec<Refuted> {
        let room = FAILURES_TO_DISPUTE.saturating_sub(self.settlement.failures);
        self.settlement
            .declared
            .iter()
            .filter(|declared| !matches!(declared.standing, Standing::Refuted(_)))
            .filter_map(|declared| {
                let mined = self
                    .mined(declared.tx_hash)
                    .filter(|mined| self.is_deep(mined))?;
                let cause = self.refutation(declared, mined)?;
                Some(Refuted {
                    tx_hash: declared.tx_hash,
                    cause,
                    code: cause.code(),
                    evidence: self.evidence(declared, mined, &[]),
                })
            })
            .take(usize::try_from(room).unwrap_or(usize::MAX))
            .collect()
    }

    fn refutation(&self, declared: &Declared, mined: &MinedTransaction) -> Option<RefutedCause> {
        if !mined.succeeded {
            return Some(RefutedCause::Reverted);
        }
        if self.is_older_than_accept(mined) {
            return Some(RefutedCause::OlderThanAccept);
        }
        if mined.transfers.is_empty() {
            return Some(RefutedCause::WrongToken);
        }
        let mut fitting = mined
            .transfers
            .iter()
            .filter(|transfer| self.fits(declared, transfer))
            .peekable();
        if fitting.peek().is_none() {
            return Some(RefutedCause::OtherPayee);
        }
        if fitting.all(|transfer| self.is_claimed(declared.tx_hash, transfer.ordinal)) {
            return Some(RefutedCause::UsedAlready);
        }
        // Short is only definite once nothing else that was declared can still add to it.
        let all_deep = self.settlement.declared.iter().all(|other| {
            self.mined(other.tx_hash)
                .is_some_and(|mined| self.is_deep(mined))
        });
        all_deep.then_some(RefutedCause::Short)
    }

    /// The answer to the look that is due, if this head may give it.
    fn look(&self, refutations: &[Refuted], covered: bool) -> Option<Looked> {
        let Schedule::Look { number, due } = self.settlement.schedule else {
            return None;
        };
        let head_ms = TimestampMs::new(self.sweep.head.timestamp_s.saturating_mul(1_000));
        let fresh = self.now.since(head_ms) < self.network.fresh_ms;
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
            head: self.sweep.head,
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
        let asked = self.sweep.transactions.get(&declared.tx_hash)?;
        let refuted = matches!(declared.standing, Standing::Refuted(_))
            || refutations
                .iter()
                .any(|refuted| refuted.tx_hash == declared.tx_hash);
        let (status, depth) = match asked {
            TransactionStatus::NotFound => (FindingStatus::NotFound, None),
            TransactionStatus::Mined(mined) => {
                let depth = Some(self.sweep.depth_of(&mined.block));
                // Covered but not confirmed: only the level that the amount asks for is missing.
                if self.is_deep(mined) && !covered {
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

    fn evidence(
        &self,
        declared: &Declared,
        mined: &MinedTransaction,
        chosen: &[Candidate],
    ) -> Evidence {
        Evidence {
            network: self.settlement.network.clone(),
            tx_hash: declared.tx_hash,
            block: mined.block,
            depth: self.sweep.depth_of(&mined.block),
            level: self.level(mined),
            endpoints: mined.endpoints.clone(),
            transfers: self.quoted(declared, mined, chosen),
            transfer_count: mined.transfers.len() as u64,
            authorization_nonce: None,
        }
    }

    fn level(&self, mined: &MinedTransaction) -> Level {
        let at_or_below = |head: Option<u64>| head.is_some_and(|head| mined.block.number <= head);
        if !self.is_deep(mined) {
            Level::Seen
        } else if at_or_below(self.sweep.finalized.map(|head| head.number)) {
            Level::Final
        } else if at_or_below(self.sweep.safe_number) {
            Level::Safe
        } else {
            Level::Confirmed
        }
    }

    /// Totals above the network's limit wait for level *safe*.
    fn deep_enough_for_total(&self, chosen: &[Candidate]) -> bool {
        let needs_safe = self
            .network
            .safe_above
            .is_some_and(|limit| self.deal.offer.total > limit);
        !needs_safe
            || chosen.iter().all(|candidate| {
                self.mined(candidate.tx_hash)
                    .is_some_and(|mined| self.level(mined) >= Level::Safe)
            })
    }

    fn mined(&self, tx_hash: TxHash) -> Option<&MinedTransaction> {
        match self.sweep.transactions.get(&tx_hash)? {
            TransactionStatus::Mined(mined) => Some(mined),
            TransactionStatus::NotFound => None,
        }
    }

    fn is_deep(&self, mined: &MinedTransaction) -> bool {
        self.sweep.depth_of(&mined.block) >= self.network.confirmed_depth
    }

    /// Block number at or below the head recorded at ACCEPT; without one, by the clock.
    fn is_older_than_accept(&self, mined: &MinedTransaction) -> bool {
        let acceptance = &self.deal.acceptance;
        match acceptance
            .heads
            .iter()
            .find(|head| head.network == self.settlement.network)
        {
            Some(head) => mined.block.number <= head.number,
            None => {
                let block_ms = mined.block.timestamp_s.saturating_mul(1_000);
                TimestampMs::new(block_ms) < acceptance.at.saturating_sub_ms(ACCEPT_SLACK_MS)
            }
        }
    }

    /// Fitting transfers that pay no interaction yet, in order of ordinal.
    fn unclaimed<'v>(
        &'v self,
        declared: &'v Declared,
        mined: &'v MinedTransaction,
    ) -> impl Iterator<Item = &'v Transfer> {
        mined.transfers.iter().filter(|transfer| {
            self.fits(declared, transfer) && !self.is_claimed(declared.tx_hash, transfer.ordinal)
        })
    }

    /// Fitting transfers in order of ordinal: all chosen ones, and as many more as an event may
    /// quote.
    fn quoted(
        &self,
        declared: &Declared,
        mined: &MinedTransaction,
        chosen: &[Candidate],
    ) -> Vec<Transfer> {
        let is_chosen = |transfer: &Transfer| {
            chosen
                .iter()
                .any(|c| (c.tx_hash, c.ordinal) == (declared.tx_hash, transfer.ordinal))
        };
        let fitting = mined
            .transfers
            .iter()
            .filter(|transfer| self.fits(declared, transfer));
        let share = TRANSFERS_QUOTED / self.settlement.declared.len().max(1);
        let mut room = share.saturating_sub(fitting.clone().filter(|t| is_chosen(t)).count());
        fitting
            .filter(|transfer| {
                let has_room = room > 0;
                if !is_chosen(transfer) {
                    room = room.saturating_sub(1);
                }
                is_chosen(transfer) || has_room
            })
            .copied()
            .collect()
    }

    /// From the payer to payee or treasury, above zero (a zero transfer can be forged by anyone).
    fn fits(&self, declared: &Declared, transfer: &Transfer) -> bool {
        let to_us =
            transfer.to == self.deal.offer.payee || Some(transfer.to) == self.network.treasury;
        transfer.from == declared.payer && to_us && !transfer.amount.is_zero()
    }

    fn is_claimed(&self, tx_hash: TxHash, ordinal: u64) -> bool {
        self.context.claimed.contains(&self.claim(tx_hash, ordinal))
    }

    fn claim(&self, tx_hash: TxHash, ordinal: u64) -> Claim {
        Claim {
            chain_id: self.network.chain_id,
            tx_hash,
            ordinal,
        }
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
