//! Was the provider paid? Read from the records of one interaction, never from a summary.
//!
//! *Paid* means that the ledger has evidence of the transfers on Base, at the depth it was set to
//! wait for, and nothing has taken them away since.

use serde::Serialize;
use x811_protocol::code::Code;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::CoreType;
use x811_protocol::event::{Claim, Event, Evidence, RefutedCause};
use x811_protocol::evm::TxHash;
use x811_protocol::facts::{DisputeCode, Facts};
use x811_protocol::interaction::StateName;
use x811_protocol::money::MicroUsdc;
use x811_protocol::time::TimestampMs;

use crate::transcript::{Entry, Transcript};

/// Paid, not yet, or no.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "paid", rename_all = "snake_case")]
pub enum PaymentStatus {
    /// Yes.
    Yes(Settled),
    /// It may still come.
    NotYet(Waiting),
    /// It will not come any more.
    No(Unpaid),
}

/// How it was paid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Settled {
    /// Each transaction that carries a claimed transfer; empty when nothing was due.
    pub evidence: Vec<Evidence>,
    /// What the claimed transfers add up to.
    pub amount: MicroUsdc,
    /// When the ledger recorded it.
    pub recorded_at_ms: TimestampMs,
    /// Where it is recorded.
    pub position: u64,
    /// Hash of that record.
    pub record_hash: Digest,
    /// Whether it came after the interaction had been disputed.
    pub late: bool,
}

/// What is being waited for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "waiting_for", rename_all = "snake_case")]
pub enum Waiting {
    /// The work is not yet agreed, delivered or verified: nothing is due.
    Work {
        /// The state.
        #[serde(serialize_with = "state_text")]
        state: StateName,
    },
    /// The initiator has to pay.
    Payment {
        /// End of the payment window.
        #[serde(skip_serializing_if = "Option::is_none")]
        deadline_at_ms: Option<TimestampMs>,
    },
    /// The initiator named transactions; Base has to confirm one.
    Confirmation {
        /// Every transaction named, in order.
        transactions: Vec<Declared>,
        /// Looks answered so far, of four.
        looks: u64,
    },
}

/// A transaction the initiator named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Declared {
    /// Which.
    pub tx_hash: TxHash,
    /// The block it was last seen in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_number: Option<u64>,
    /// Blocks on top of it when last looked at, its own included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<u64>,
    /// Why it definitely does not pay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refuted: Option<RefutedCause>,
}

/// Why it will not be paid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unpaid {
    /// How the interaction ended.
    #[serde(serialize_with = "state_text")]
    pub state: StateName,
    /// Why.
    pub why: UnpaidCause,
    /// Every transaction named, in order.
    pub transactions: Vec<Declared>,
}

/// Why it will not be paid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "cause", rename_all = "snake_case")]
pub enum UnpaidCause {
    /// The offer was turned down.
    Rejected,
    /// A window passed.
    Lapsed {
        /// Which, by its code.
        code: Code,
    },
    /// The initiator disputes the result.
    ResultDisputed {
        /// Why.
        dispute_code: Option<DisputeCode>,
    },
    /// No named transaction paid within the whole schedule.
    NoPayment {
        /// The code of the last failure; X811-5030 when nothing was ever found.
        code: Code,
    },
    /// It was confirmed and then disappeared from Base.
    Reversed {
        /// Which transaction.
        tx_hash: TxHash,
    },
}

/// Reads the answer off the records.
pub fn payment_status(transcript: &Transcript) -> PaymentStatus {
    let mut found = Found::default();
    for entry in &transcript.entries {
        found.note(entry);
    }
    found.status(transcript)
}

/// What the records say of the payment so far.
#[derive(Default)]
struct Found {
    declared: Vec<Declared>,
    looks: u64,
    lapse: Option<Code>,
    last_failure: Option<Code>,
    dispute: Option<Option<DisputeCode>>,
    settled: Option<Settled>,
    late: Vec<Settled>,
    reversed: Vec<TxHash>,
}

impl Found {
    fn note(&mut self, entry: &Entry) {
        match &entry.event {
            Event::EnvelopeAccepted(accepted) => self.note_facts(&accepted.facts),
            Event::Lapsed(lapsed) => self.lapse = Some(lapsed.code),
            Event::Looked(looked) => {
                if !looked.is_pending() {
                    self.looks = looked.look;
                }
                for finding in &looked.finding {
                    self.update(finding.tx_hash, |known| known.depth = finding.depth);
                }
            }
            Event::Seen(seen) => {
                self.update(seen.tx_hash, |known| {
                    known.block_number = Some(seen.block.number)
                });
            }
            Event::Unseen(named) => self.update(named.tx_hash, |known| {
                known.block_number = None;
                known.depth = None;
            }),
            Event::Refuted(refuted) => {
                self.last_failure = Some(refuted.code);
                self.update(refuted.tx_hash, |known| known.refuted = Some(refuted.cause));
            }
            Event::Confirmed(confirmed) => {
                let settled = Settled::new(entry, &confirmed.evidence, &confirmed.claims, false);
                self.settled = Some(settled);
            }
            Event::Late(late) => {
                let settled = Settled::new(entry, &late.evidence, &late.claims, true);
                self.late.push(settled);
            }
            Event::Reversed(reversed) => self.reversed.push(reversed.tx_hash),
            Event::Returned(named) => self.reversed.retain(|hash| *hash != named.tx_hash),
            Event::LedgerOpened(_)
            | Event::ParametersSet(_)
            | Event::RulesChanged(_)
            | Event::LedgerKeyRotated(_)
            | Event::LedgerResumed(_)
            | Event::BodiesErased(_)
            | Event::NetworkBlind(_)
            | Event::NetworkSighted(_)
            | Event::AgentRegistered(_)
            | Event::AgentUpdated(_)
            | Event::KeyRotated(_)
            | Event::AgentDeactivated(_)
            | Event::AgentReactivated(_)
            | Event::AgentRevoked(_)
            | Event::Final(_)
            | Event::NoticeIssued(_)
            | Event::StateRoot(_) => {}
        }
    }

    fn note_facts(&mut self, facts: &Facts) {
        if let Facts::Verify(verify) = facts
            && !verify.verified
        {
            self.dispute = Some(verify.dispute_code);
        }
        if let Facts::Payment(payment) = facts {
            for tx_hash in [Some(payment.tx_hash), payment.fee_tx_hash]
                .into_iter()
                .flatten()
            {
                if self.declared.iter().all(|known| known.tx_hash != tx_hash) {
                    self.declared.push(Declared {
                        tx_hash,
                        block_number: None,
                        depth: None,
                        refuted: None,
                    });
                }
            }
        }
    }

    fn update(&mut self, tx_hash: TxHash, change: impl FnOnce(&mut Declared)) {
        let mut declared = self.declared.iter_mut();
        if let Some(known) = declared.find(|known| known.tx_hash == tx_hash) {
            change(known);
        }
    }

    fn status(mut self, transcript: &Transcript) -> PaymentStatus {
        let state = transcript.view.state;
        if let (Some(_), Some(tx_hash)) = (&self.settled, self.reversed.first()) {
            let why = UnpaidCause::Reversed { tx_hash: *tx_hash };
            return self.unpaid(state, why);
        }
        if let Some(settled) = self
            .settled
            .take()
            .or_else(|| self.late_payment(transcript))
        {
            return PaymentStatus::Yes(settled);
        }
        let why = match state {
            StateName::Pending
            | StateName::Offered
            | StateName::Accepted
            | StateName::Delivered => return PaymentStatus::NotYet(Waiting::Work { state }),
            StateName::Verified | StateName::Completed => {
                return PaymentStatus::NotYet(self.waiting(transcript));
            }
            StateName::Rejected => UnpaidCause::Rejected,
            StateName::Expired | StateName::Failed => self.lapsed(),
            StateName::Disputed => match self.dispute {
                Some(dispute_code) => UnpaidCause::ResultDisputed { dispute_code },
                None if self.declared.is_empty() => self.lapsed(),
                None => UnpaidCause::NoPayment {
                    code: self
                        .last_failure
                        .unwrap_or(Code::PaymentConfirmationTimeout),
                },
            },
        };
        self.unpaid(state, why)
    }

    /// Late transfers that together cover the total.
    fn late_payment(&mut self, transcript: &Transcript) -> Option<Settled> {
        let total = transcript.offer()?.1.total_cost;
        let mut late = std::mem::take(&mut self.late).into_iter();
        let mut sum = late.next()?;
        for more in late {
            sum.amount = sum.amount.checked_add(more.amount)?;
            sum.evidence.extend(more.evidence);
            sum.recorded_at_ms = more.recorded_at_ms;
            sum.position = more.position;
            sum.record_hash = more.record_hash;
        }
        (sum.amount >= total).then_some(sum)
    }

    fn waiting(self, transcript: &Transcript) -> Waiting {
        if self.declared.is_empty() {
            return Waiting::Payment {
                deadline_at_ms: transcript.view.deadline_at_ms,
            };
        }
        Waiting::Confirmation {
            transactions: self.declared,
            looks: self.looks,
        }
    }

    fn lapsed(&self) -> UnpaidCause {
        UnpaidCause::Lapsed {
            code: self.lapse.unwrap_or(Code::PaymentTimeout),
        }
    }

    fn unpaid(self, state: StateName, why: UnpaidCause) -> PaymentStatus {
        PaymentStatus::No(Unpaid {
            state,
            why,
            transactions: self.declared,
        })
    }
}

impl Settled {
    fn new(entry: &Entry, evidence: &[Evidence], claims: &[Claim], late: bool) -> Settled {
        Settled {
            evidence: evidence.to_vec(),
            amount: claimed(evidence, claims),
            recorded_at_ms: entry.record.recorded_at_ms,
            position: entry.record.position,
            record_hash: entry.record.record_hash,
            late,
        }
    }
}

/// What the claimed transfers add up to.
fn claimed(evidence: &[Evidence], claims: &[Claim]) -> MicroUsdc {
    let is_claimed = |tx_hash: TxHash, ordinal: u64| {
        let mut claims = claims.iter();
        claims.any(|claim| claim.tx_hash == tx_hash && claim.ordinal == ordinal)
    };
    evidence
        .iter()
        .flat_map(|seen| {
            seen.transfers
                .iter()
                .map(move |transfer| (seen.tx_hash, transfer))
        })
        .filter(|(tx_hash, transfer)| is_claimed(*tx_hash, transfer.ordinal))
        .fold(MicroUsdc::ZERO, |sum, (_, transfer)| {
            sum.checked_add(transfer.amount).unwrap_or(MicroUsdc::MAX)
        })
}

fn state_text<S: serde::Serializer>(state: &StateName, writer: S) -> Result<S::Ok, S::Error> {
    writer.serialize_str(state.as_str())
}

impl Transcript {
    /// Whether a PAYMENT has been recorded.
    pub fn has_payment(&self) -> bool {
        self.accepted(CoreType::Payment).next().is_some()
    }
}

#[cfg(test)]
mod tests;
