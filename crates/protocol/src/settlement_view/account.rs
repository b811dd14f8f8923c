//! What the records of an interaction say of its money, one after the other.

use super::sentence;
use super::{
    AgreedContract, Due, Live, MoneyStanding, Next, NextStep, Proof, SettlementClock,
    SettlementView, Transaction, TransactionStanding,
};
use crate::code::Code;
use crate::event::{
    Claim, Confirmed, Event, Evidence, FindingStatus, Late, Level, Looked, Refuted, RefutedCause,
    RevertReason, Seen, SettlementEvent, Window,
};
use crate::evm::{EvmAddress, TxHash};
use crate::facts::{CoreFacts, DisputeCode, PaymentFacts};
use crate::id::InteractionId;
use crate::interaction::{FAILURES_TO_DISPUTE, Outline, StateName};
use crate::machine::Recorded;
use crate::money::MicroUsdc;
use crate::observation::Transfer;
use crate::time::TimestampMs;

/// What is known so far.
#[derive(Debug, Default)]
pub(super) struct Account {
    outline: Outline,
    contract: Option<AgreedContract>,
    state: Option<StateName>,
    total: Option<MicroUsdc>,
    payee: Option<EvmAddress>,
    network: Option<String>,
    transactions: Vec<Transaction>,
    /// Claimed transfers and what each moved.
    claims: Vec<(Claim, MicroUsdc)>,
    /// Transactions that a confirmation rests on.
    paid_by: Vec<TxHash>,
    /// The level of a confirmation: that of its weakest evidence.
    confirmed: Option<Level>,
    is_final: bool,
    has_returned: bool,
    proof: Option<Proof>,
    /// The depth at which the last look found something waiting.
    waits_at: Option<u64>,
    /// The last refutation, unless a PAYMENT followed it.
    refusal: Option<Refusal>,
    failure: Option<Code>,
    dispute: Option<DisputeCode>,
    closed: Option<Code>,
    last_position: u64,
}

/// What was said of a transaction that does not pay.
#[derive(Debug, Clone, Copy)]
struct Refusal {
    cause: RefutedCause,
    reason: Option<RevertReason>,
    code: Code,
    tx_hash: TxHash,
}

impl Account {
    pub(super) fn note(&mut self, record: &Recorded<'_>) {
        self.state = self.outline.follow(record.event);
        self.last_position = record.position;
        match record.event {
            Event::EnvelopeAccepted(accepted) => {
                let contract = accepted.derived.contract.map(AgreedContract::from);
                self.contract = contract.or(self.contract);
                self.payee = accepted.derived.payee.or(self.payee);
                if let Some(facts) = accepted.facts.core() {
                    self.note_facts(facts);
                }
            }
            Event::Lapsed(lapsed) => {
                if lapsed.window != Window::Confirmation.into() {
                    self.closed = Some(lapsed.code);
                }
            }
            Event::Settlement(event) => self.observed(record, event),
            Event::Ledger(_)
            | Event::Network(_)
            | Event::Agent(_)
            | Event::NoticeIssued(_)
            | Event::CycleDrawn(_)
            | Event::StateRoot(_)
            | Event::Effect(_) => {}
        }
    }

    fn observed(&mut self, record: &Recorded<'_>, event: &SettlementEvent) {
        match event {
            SettlementEvent::Looked(looked) => self.looked(looked),
            SettlementEvent::Seen(seen) => self.seen(seen),
            SettlementEvent::Unseen(named) => self.unseen(named.tx_hash),
            SettlementEvent::Refuted(refuted) => self.refuted(refuted),
            SettlementEvent::Confirmed(confirmed) => self.confirmed(record, confirmed),
            SettlementEvent::Final(reached) => {
                self.is_final |= self.are_below(reached.head.number);
            }
            SettlementEvent::Reversed(reversed) => {
                self.unseen(reversed.tx_hash);
                self.stand(reversed.tx_hash, TransactionStanding::Reversed);
                self.is_final &= !self.paid_by.contains(&reversed.tx_hash);
            }
            SettlementEvent::Returned(named) => self.returned(named.tx_hash),
            SettlementEvent::Late(late) => self.late(record, late),
        }
    }

    fn note_facts(&mut self, facts: CoreFacts<'_>) {
        match facts {
            CoreFacts::Offer(offer) => self.total = Some(offer.total_cost),
            CoreFacts::Verify(verify) if !verify.verified => self.dispute = verify.dispute_code,
            CoreFacts::Payment(payment) => self.declared(payment),
            CoreFacts::Request(_)
            | CoreFacts::Accept(_)
            | CoreFacts::Reject(_)
            | CoreFacts::Result(_)
            | CoreFacts::Verify(_)
            | CoreFacts::Error(_) => {}
        }
    }

    fn declared(&mut self, payment: &PaymentFacts) {
        self.network.get_or_insert_with(|| payment.network.clone());
        self.refusal = None;
        self.waits_at = None;
        for tx_hash in std::iter::once(payment.tx_hash).chain(payment.fee_tx_hash) {
            self.transaction(tx_hash);
        }
    }

    /// The transaction of that hash; a claimed one was always named before.
    fn transaction(&mut self, tx_hash: TxHash) -> &mut Transaction {
        let mut known = self.transactions.iter();
        let place = known.position(|known| known.tx_hash == tx_hash);
        let place = place.unwrap_or_else(|| {
            self.transactions.push(Transaction {
                tx_hash,
                standing: TransactionStanding::Unseen,
                block_number: None,
                depth: None,
                amount_micro_usdc: None,
                endpoints: Vec::new(),
            });
            self.transactions.len() - 1
        });
        &mut self.transactions[place]
    }

    fn stand(&mut self, tx_hash: TxHash, standing: TransactionStanding) {
        self.transaction(tx_hash).standing = standing;
    }

    fn looked(&mut self, looked: &Looked) {
        if !looked.is_pending() {
            self.failure.get_or_insert(Code::PaymentConfirmationTimeout);
        }
        self.waits_at = None;
        for finding in &looked.finding {
            let transaction = self.transaction(finding.tx_hash);
            transaction.depth = finding.depth;
            let waits_at = finding
                .depth
                .filter(|_| finding.status == FindingStatus::Seen);
            self.waits_at = waits_at.max(self.waits_at);
            let transaction = self.transaction(finding.tx_hash);
            if finding.status == FindingStatus::Insufficient {
                transaction.standing = TransactionStanding::Insufficient;
            }
        }
    }

    fn seen(&mut self, seen: &Seen) {
        let transaction = self.transaction(seen.tx_hash);
        transaction.block_number = Some(seen.block.number);
        transaction.depth = None;
        transaction.amount_micro_usdc = Some(sum(seen.transfers.iter().map(|t| t.amount)));
        if transaction.standing == TransactionStanding::Unseen {
            transaction.standing = TransactionStanding::Seen;
        }
    }

    /// In no block any more. A claimed one stays claimed until it is reversed, and a reversed one
    /// reversed until it has returned, however often it comes and goes.
    fn unseen(&mut self, tx_hash: TxHash) {
        let transaction = self.transaction(tx_hash);
        transaction.block_number = None;
        transaction.depth = None;
        match transaction.standing {
            TransactionStanding::Claimed { .. } | TransactionStanding::Reversed => {}
            TransactionStanding::Unseen
            | TransactionStanding::Seen
            | TransactionStanding::Insufficient
            | TransactionStanding::Refuted { .. } => {
                transaction.standing = TransactionStanding::Unseen;
            }
        }
    }

    fn refuted(&mut self, refuted: &Refuted) {
        let (cause, reason, code) = (refuted.cause, refuted.reason, refuted.code);
        self.witness(&refuted.evidence);
        let standing = TransactionStanding::Refuted {
            cause,
            reason,
            code,
        };
        self.stand(refuted.tx_hash, standing);
        self.failure = Some(code);
        self.refusal = Some(Refusal {
            cause,
            reason,
            code,
            tx_hash: refuted.tx_hash,
        });
    }

    fn confirmed(&mut self, record: &Recorded<'_>, confirmed: &Confirmed) {
        self.claim(&confirmed.evidence, &confirmed.claims);
        let levels = confirmed.evidence.iter().map(|evidence| evidence.level);
        self.confirmed = Some(levels.min().unwrap_or(Level::Final));
        self.paid_by = confirmed.claims.iter().map(|it| it.tx_hash).collect();
        self.proof = Some(proof(record));
    }

    /// Whether every transaction that a confirmation rests on is in a block up to that height.
    fn are_below(&self, number: u64) -> bool {
        self.paid_by.iter().all(|tx_hash| {
            let mut known = self.transactions.iter();
            let known = known.find(|known| known.tx_hash == *tx_hash);
            known
                .and_then(|it| it.block_number)
                .is_some_and(|block| block <= number)
        })
    }

    fn late(&mut self, record: &Recorded<'_>, late: &Late) {
        self.claim(&late.evidence, &late.claims);
        self.proof.get_or_insert_with(|| proof(record));
    }

    fn returned(&mut self, tx_hash: TxHash) {
        let level = Level::Confirmed;
        self.stand(tx_hash, TransactionStanding::Claimed { level });
        self.has_returned = true;
    }

    fn claim(&mut self, evidence: &[Evidence], claims: &[Claim]) {
        for evidence in evidence {
            self.witness(evidence);
            let level = evidence.level;
            self.stand(evidence.tx_hash, TransactionStanding::Claimed { level });
        }
        let claimed = claims
            .iter()
            .map(|claim| (*claim, amount_of(evidence, claim)));
        self.claims.extend(claimed);
    }

    /// What evidence says of a transaction, whatever it proves.
    fn witness(&mut self, evidence: &Evidence) {
        let transaction = self.transaction(evidence.tx_hash);
        transaction.block_number = Some(evidence.block.number);
        transaction.depth = Some(evidence.depth);
        transaction.amount_micro_usdc = Some(sum(amounts(&evidence.transfers)));
        transaction.endpoints.clone_from(&evidence.endpoints);
    }

    pub(super) fn view(mut self, id: InteractionId, live: Live) -> SettlementView {
        for transaction in &mut self.transactions {
            let now = transaction.block_number.and_then(|n| live.depth_of(n));
            transaction.depth = now.or(transaction.depth);
        }
        let standing = self.standing(&live);
        let (paid_micro_usdc, surplus_micro_usdc) = self.sums();
        let mut view = SettlementView {
            interaction_id: id,
            state: self.state.unwrap_or(StateName::Pending),
            contract: self.contract,
            paid: standing.paid(),
            sentence: String::new(),
            standing,
            next: self.next(standing, &live),
            live,
            network: self.network,
            payee: self.payee,
            due_micro_usdc: self.total,
            paid_micro_usdc,
            surplus_micro_usdc,
            transactions: self.transactions,
            claims: self.claims.into_iter().map(|(claim, _)| claim).collect(),
            failures: self.outline.failures(),
            failures_to_dispute: FAILURES_TO_DISPUTE,
            proof: self.proof,
            last_position: self.last_position,
        };
        view.sentence = sentence::of(&view);
        view
    }

    /// What the claimed transfers add up to, reversed ones left out, and what of it is surplus.
    fn sums(&self) -> (MicroUsdc, MicroUsdc) {
        let paid = self.claimed_in(|known| known.standing != TransactionStanding::Reversed);
        let surplus = self.total.and_then(|total| paid.checked_sub(total));
        (paid, surplus.unwrap_or(MicroUsdc::ZERO))
    }

    /// What the claimed transfers of such transactions add up to.
    fn claimed_in(&self, is_such: impl Fn(&Transaction) -> bool) -> MicroUsdc {
        let of_such = self.claims.iter().filter(|(claim, _)| {
            let mut transactions = self.transactions.iter();
            transactions.any(|known| known.tx_hash == claim.tx_hash && is_such(known))
        });
        sum(of_such.map(|(_, amount)| *amount))
    }

    fn standing(&self, live: &Live) -> MoneyStanding {
        if let Some(tx_hash) = self.missing() {
            return MoneyStanding::Reversed { tx_hash };
        }
        if let Some(tx_hash) = self.in_no_block() {
            return MoneyStanding::InNoBlock { tx_hash };
        }
        match self.confirmed {
            Some(_) if self.total.is_some_and(MicroUsdc::is_zero) => MoneyStanding::NothingDue,
            Some(_) if self.is_final => MoneyStanding::Final,
            Some(_) if self.has_returned => MoneyStanding::Returned,
            Some(Level::Final) => MoneyStanding::Final,
            Some(Level::Safe) => MoneyStanding::Safe,
            Some(Level::Confirmed | Level::Seen) => MoneyStanding::Confirmed,
            None => self.unconfirmed(live),
        }
    }

    /// A transaction that disappeared and whose money is missing now; a surplus is not missed.
    fn missing(&self) -> Option<TxHash> {
        let mut transactions = self.transactions.iter();
        let reversed =
            transactions.find(|known| known.standing == TransactionStanding::Reversed)?;
        let is_covered = self.total.is_some_and(|total| self.sums().0 >= total);
        (!is_covered).then_some(reversed.tx_hash)
    }

    /// A claimed transaction that is in no block at the moment, where the total is not covered
    /// without it.
    fn in_no_block(&self) -> Option<TxHash> {
        let is_claimed =
            |known: &Transaction| matches!(known.standing, TransactionStanding::Claimed { .. });
        let mut transactions = self.transactions.iter();
        let gone = transactions.find(|known| is_claimed(known) && known.block_number.is_none())?;
        let total = self.total?;
        let in_blocks = self.claimed_in(|known| is_claimed(known) && known.block_number.is_some());
        (self.sums().0 >= total && in_blocks < total).then_some(gone.tx_hash)
    }

    fn unconfirmed(&self, live: &Live) -> MoneyStanding {
        match self.state.unwrap_or(StateName::Pending) {
            StateName::Pending
            | StateName::Offered
            | StateName::Accepted
            | StateName::Delivered => MoneyStanding::NotDue,
            StateName::Verified | StateName::Completed => self.watched(live),
            StateName::Expired | StateName::Rejected | StateName::Failed => {
                MoneyStanding::Closed { code: self.closed }
            }
            StateName::Disputed if self.claims.is_empty() => MoneyStanding::Disputed {
                code: self.closed.or(self.failure),
                dispute_code: self.dispute,
            },
            StateName::Disputed => MoneyStanding::Late {
                in_full: self.total.is_some_and(|total| self.sums().0 >= total),
            },
        }
    }

    fn watched(&self, live: &Live) -> MoneyStanding {
        if self.transactions.is_empty() {
            return MoneyStanding::NotDeclared;
        }
        let in_a_block = self.transactions.iter().filter(|known| {
            matches!(
                known.standing,
                TransactionStanding::Seen | TransactionStanding::Insufficient
            )
        });
        let shallowest = in_a_block.min_by_key(|known| known.depth);
        match (shallowest, self.refusal) {
            (Some(shallowest), _) => self.seen_at(shallowest, live),
            (
                None,
                Some(Refusal {
                    cause,
                    reason,
                    code,
                    tx_hash,
                }),
            ) => MoneyStanding::Refused {
                cause,
                reason,
                code,
                tx_hash,
            },
            (None, None) => MoneyStanding::Declared,
        }
    }

    fn seen_at(&self, shallowest: &Transaction, live: &Live) -> MoneyStanding {
        let (depth, of) = (shallowest.depth, live.rules.map(|r| r.confirmed_depth));
        let safe_above = live.rules.and_then(|rules| rules.safe_above_micro_usdc);
        let waits_for_safe = self
            .total
            .zip(safe_above)
            .is_some_and(|(total, limit)| total > limit);
        match (depth, of) {
            (Some(depth), Some(of))
                if depth >= of
                    && waits_for_safe
                    && shallowest.standing == TransactionStanding::Seen =>
            {
                MoneyStanding::WaitingForSafe { depth }
            }
            // Enough and deep is confirmed, unless it came in too many parts.
            (_, Some(of)) if !waits_for_safe && self.waits_at.is_some_and(|depth| depth >= of) => {
                MoneyStanding::TooManyTransfers
            }
            (depth, of) => MoneyStanding::Seen { depth, of },
        }
    }

    fn next(&self, standing: MoneyStanding, live: &Live) -> Next {
        let at_ms = live.due.map(Due::at_ms);
        let (what, at_ms) = match standing {
            MoneyStanding::NotDue => (NextStep::Message, at_ms),
            MoneyStanding::NotDeclared => (NextStep::Payment, at_ms),
            MoneyStanding::Declared
            | MoneyStanding::Seen { .. }
            | MoneyStanding::WaitingForSafe { .. }
            | MoneyStanding::TooManyTransfers
            | MoneyStanding::Refused { .. } => match (live.clock, live.due) {
                (SettlementClock::Stopped { .. }, _) => (NextStep::Sight, None),
                (_, Some(Due::Look { .. })) => (NextStep::Look, at_ms),
                (_, Some(Due::Window { .. } | Due::Watch { .. }) | None) => {
                    (NextStep::Confirmation, at_ms)
                }
            },
            MoneyStanding::Confirmed | MoneyStanding::Safe | MoneyStanding::Returned => {
                (self.while_watched(NextStep::Final, live).0, None)
            }
            MoneyStanding::InNoBlock { .. } | MoneyStanding::Reversed { .. } => {
                self.while_watched(NextStep::Return, live)
            }
            MoneyStanding::Late { in_full: false } | MoneyStanding::Disputed { .. } => {
                self.while_watched(NextStep::Late, live)
            }
            MoneyStanding::Final
            | MoneyStanding::Late { in_full: true }
            | MoneyStanding::NothingDue
            | MoneyStanding::Closed { .. } => (NextStep::Nothing, None),
        };
        Next { what, at_ms }
    }

    /// `step`, unless nothing is watched any more; with the records alone nobody knows that.
    fn while_watched(&self, step: NextStep, live: &Live) -> (NextStep, Option<TimestampMs>) {
        let until = match live.due {
            Some(Due::Watch { at_ms }) => Some(at_ms),
            Some(Due::Window { .. } | Due::Look { .. }) | None => None,
        };
        let may_be_watched = until.is_some() || live.rules.is_none();
        if !may_be_watched || self.transactions.is_empty() {
            return (NextStep::Nothing, None);
        }
        match live.clock {
            SettlementClock::Stopped { .. } => (step, None),
            SettlementClock::Idle | SettlementClock::Running => (step, until),
        }
    }
}

fn proof(record: &Recorded<'_>) -> Proof {
    Proof {
        position: record.position,
        record_hash: record.hash,
        recorded_at_ms: record.recorded_at_ms,
    }
}

fn amounts(transfers: &[Transfer]) -> impl Iterator<Item = MicroUsdc> {
    transfers.iter().map(|transfer| transfer.amount)
}

fn amount_of(evidence: &[Evidence], claim: &Claim) -> MicroUsdc {
    let mut claimed = evidence
        .iter()
        .filter(|evidence| evidence.tx_hash == claim.tx_hash)
        .flat_map(|evidence| &evidence.transfers);
    let transfer = claimed.find(|transfer| transfer.ordinal == claim.ordinal);
    transfer.map_or(MicroUsdc::ZERO, |transfer| transfer.amount)
}

fn sum(amounts: impl Iterator<Item = MicroUsdc>) -> MicroUsdc {
    amounts.fold(MicroUsdc::ZERO, |sum, amount| {
        sum.checked_add(amount).unwrap_or(MicroUsdc::MAX)
    })
}
