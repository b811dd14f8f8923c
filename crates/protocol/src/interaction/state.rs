//! What is known of an interaction: one variant per state, each with just its own data.
//!
//! Members stand in the order of their names: a state is hashed in that order after every record, and
//! so nothing has to be put in order then.

use super::written::WrittenOnce;
use crate::authorization::{fee_nonce, payment_nonce};
use crate::code::Code;
use crate::did::Did;
use crate::digest::Digest;
use crate::event::{EngagedContract, UsedAgreement, Window};
use crate::evm::{EvmAddress, TxHash};
use crate::id::{EnvelopeId, InteractionId};
use crate::machine::{RecordRef, not_restored};
use crate::money::MicroUsdc;
use crate::observation::NetworkHead;
use crate::parameters::{Network, Parameters};
use crate::settlement::claim::Due;
use crate::settlement::{Aftermath, Bill, Completion, Declared, Nonces, Phase, Watched};
use crate::time::TimestampMs;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use std::sync::Arc;

named! {
    /// Names of the ten states (AE-9).
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
    pub enum StateName {
        /// REQUEST recorded, OFFER awaited.
        Pending = "pending",
        /// OFFER recorded, ACCEPT or REJECT awaited.
        Offered = "offered",
        /// ACCEPT recorded, RESULT awaited.
        Accepted = "accepted",
        /// RESULT recorded, VERIFY awaited.
        Delivered = "delivered",
        /// VERIFY recorded, payment awaited or watched.
        Verified = "verified",
        /// The payment is confirmed on the network.
        Completed = "completed",
        /// A window passed before delivery.
        Expired = "expired",
        /// The initiator declined the OFFER.
        Rejected = "rejected",
        /// The result or the payment is in dispute.
        Disputed = "disputed",
        /// The initiator never verified.
        Failed = "failed",
    }
}

impl StateName {
    /// Whether no message leads out of it (AE-23…27).
    pub fn is_terminal(self) -> bool {
        match self {
            StateName::Pending
            | StateName::Offered
            | StateName::Accepted
            | StateName::Delivered
            | StateName::Verified => false,
            StateName::Completed
            | StateName::Expired
            | StateName::Rejected
            | StateName::Disputed
            | StateName::Failed => true,
        }
    }
}

/// What the REQUEST fixed.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Opening {
    /// The agreement it is under, if the REQUEST named one.
    pub agreement: Option<UsedAgreement>,
    /// The contract it was opened by, if the REQUEST named one.
    pub contract: Option<EngagedContract>,
    /// The interaction (AX-1).
    pub id: InteractionId,
    /// Consumer and payer.
    pub initiator: Did,
    /// The most the initiator will pay, fee included.
    pub max_budget: MicroUsdc,
    /// The parameters it keeps to its end. Not in the stored form: see
    /// [`State::with_parameters`].
    #[serde(skip, default = "not_restored")]
    pub parameters: Arc<Parameters>,
    /// Worker and payee.
    pub provider: Did,
    /// The record of the REQUEST.
    pub record: RecordRef,
}

/// What the OFFER fixed; binding (AE-67).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Offer {
    /// Hash that the ACCEPT must repeat.
    pub offer_hash: Digest,
    /// Whom to pay, fixed when the OFFER was recorded.
    pub payee: EvmAddress,
    /// For the provider.
    pub price: MicroUsdc,
    /// For the treasury.
    pub protocol_fee: MicroUsdc,
    /// The record of the OFFER.
    pub record: RecordRef,
    /// Price and protocol fee together.
    pub total: MicroUsdc,
}

/// When an OFFER ends: the part the ledger counts moves with downtime, the signed part never does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OfferDeadline {
    /// Receipt plus the ledger's window.
    pub ledger: TimestampMs,
    /// `created` plus the smaller of `expiry` and the window (AX-5).
    pub signed: TimestampMs,
}

impl OfferDeadline {
    /// The earlier of the two.
    pub fn effective(self) -> TimestampMs {
        self.ledger.min(self.signed)
    }
}

/// What the ACCEPT fixed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Acceptance {
    /// When it was recorded.
    pub at: TimestampMs,
    /// Last known heads then: a payment must be younger.
    pub heads: Vec<NetworkHead>,
    /// The record of the ACCEPT.
    pub record: RecordRef,
}

/// What the RESULT fixed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delivery {
    /// The record of the RESULT.
    pub record: RecordRef,
    /// Hash that the VERIFY must repeat.
    pub result_hash: Digest,
}

/// Everything agreed once the ACCEPT is in, and never changed again: the states that follow share
/// it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deal {
    /// From the ACCEPT.
    pub acceptance: Acceptance,
    /// From the OFFER.
    pub offer: Offer,
    /// From the REQUEST.
    pub opening: Opening,
    /// What it is hashed as, once that has been written.
    #[serde(skip)]
    pub written: WrittenOnce,
}

impl Deal {
    /// What a payment on `network` is held to.
    pub fn bill<'a>(&'a self, network: &'a Network) -> Bill<'a> {
        let offer = &self.offer;
        Bill {
            due: Due {
                price: offer.price,
                protocol_fee: offer.protocol_fee,
                total: offer.total,
                payee: offer.payee,
                treasury: network.treasury,
            },
            heads: &self.acceptance.heads,
            network,
            since: self.acceptance.at,
        }
    }

    /// The nonces of authorizations for a payment at `ledger`.
    pub fn nonces(&self, ledger: Did) -> Nonces {
        let (id, offer_hash) = (self.opening.id, self.offer.offer_hash);
        Nonces {
            fee: fee_nonce(ledger, id, offer_hash),
            payment: payment_nonce(ledger, id, offer_hash),
        }
    }
}

/// A PAYMENT of the interaction.
pub type PaymentRecord = RecordRef;

/// Where the schedule of AE-104 stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Schedule {
    /// Inside the confirmation window.
    Confirmation {
        /// When it ends.
        deadline: TimestampMs,
    },
    /// Waiting for a fresh head at or after `due`.
    Look {
        /// 1 to 4.
        number: u64,
        /// When it is due.
        due: TimestampMs,
    },
}

/// A payment being watched.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settlement {
    /// Every transaction ever declared, in order of declaration.
    pub declared: Vec<Declared>,
    /// Negative looks plus refutations; at four the interaction is disputed.
    pub failures: u64,
    /// Code of the last failure.
    pub last_failure: Option<Code>,
    /// Name of the network.
    pub network: String,
    /// Since when its clock stands still, because the network is blind.
    pub paused_since: Option<TimestampMs>,
    /// Every PAYMENT, in order.
    pub payments: Vec<PaymentRecord>,
    /// What comes next: the end of the confirmation window, or a look.
    pub schedule: Schedule,
    /// When the first PAYMENT was recorded (T0).
    pub started_at: TimestampMs,
}

/// Inside `verified`: before or after the first PAYMENT.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Stage {
    /// No PAYMENT yet.
    Awaiting {
        /// End of the payment window.
        deadline: TimestampMs,
    },
    /// A PAYMENT is recorded, and the network is watched for it.
    Watching(Settlement),
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

/// What stays known of an interaction in dispute.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dispute {
    /// Who, and why.
    pub closing: Closing,
    /// What is still watched of a payment that was declared.
    pub unpaid: Option<Box<Unpaid>>,
}

/// What stays known of an interaction that ended unpaid.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Closing {
    /// Why, where a code says it.
    pub code: Option<Code>,
    /// The last message that opened a window, named by notices.
    pub opener: EnvelopeId,
    /// From the REQUEST.
    pub opening: Opening,
}

/// The state of an interaction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum State {
    /// The REQUEST is recorded, and the OFFER awaited.
    Pending {
        /// End of the OFFER window.
        deadline: TimestampMs,
        /// From the REQUEST.
        opening: Opening,
    },
    /// The OFFER is recorded, and an ACCEPT or REJECT awaited.
    Offered {
        /// When it ends.
        deadline: OfferDeadline,
        /// From the OFFER.
        offer: Offer,
        /// From the REQUEST.
        opening: Opening,
    },
    /// The ACCEPT is recorded, and the RESULT awaited.
    Accepted {
        /// End of the RESULT window.
        deadline: TimestampMs,
        /// What was agreed.
        deal: Arc<Deal>,
    },
    /// The RESULT is recorded, and the VERIFY awaited.
    Delivered {
        /// End of the VERIFY window.
        deadline: TimestampMs,
        /// What was agreed.
        deal: Arc<Deal>,
        /// What was delivered.
        delivery: Delivery,
    },
    /// VERIFY said yes.
    Verified {
        /// What was agreed.
        deal: Arc<Deal>,
        /// What was delivered.
        delivery: Delivery,
        /// How far the payment is.
        settlement: Stage,
        /// The record of the VERIFY.
        verification: RecordRef,
    },
    /// The payment is confirmed, and the interaction over.
    Completed {
        /// What is still watched; absent once there is nothing more to see.
        aftermath: Option<Aftermath>,
        /// How it was paid.
        completion: Completion,
        /// What was agreed.
        deal: Arc<Deal>,
        /// The last PAYMENT.
        opener: EnvelopeId,
    },
    /// A window passed before delivery.
    Expired(Closing),
    /// The OFFER was declined.
    Rejected(Closing),
    /// The result or the payment is in dispute.
    Disputed(Dispute),
    /// The initiator did not verify in time.
    Failed(Closing),
}

impl State {
    /// The name of the state, as AE-9 writes it.
    pub fn name(&self) -> StateName {
        match self {
            State::Pending { .. } => StateName::Pending,
            State::Offered { .. } => StateName::Offered,
            State::Accepted { .. } => StateName::Accepted,
            State::Delivered { .. } => StateName::Delivered,
            State::Verified { .. } => StateName::Verified,
            State::Completed { .. } => StateName::Completed,
            State::Expired(_) => StateName::Expired,
            State::Rejected(_) => StateName::Rejected,
            State::Disputed(_) => StateName::Disputed,
            State::Failed(_) => StateName::Failed,
        }
    }

    /// What the REQUEST fixed.
    pub fn opening(&self) -> &Opening {
        match self {
            State::Pending { opening, .. } | State::Offered { opening, .. } => opening,
            State::Accepted { deal, .. }
            | State::Delivered { deal, .. }
            | State::Verified { deal, .. }
            | State::Completed { deal, .. } => &deal.opening,
            State::Disputed(dispute) => &dispute.closing.opening,
            State::Expired(closing) | State::Rejected(closing) | State::Failed(closing) => {
                &closing.opening
            }
        }
    }

    /// The OFFER, while the state still needs it.
    pub fn offer(&self) -> Option<&Offer> {
        match self {
            State::Offered { offer, .. } => Some(offer),
            State::Accepted { deal, .. }
            | State::Delivered { deal, .. }
            | State::Verified { deal, .. }
            | State::Completed { deal, .. } => Some(&deal.offer),
            State::Pending { .. }
            | State::Expired(_)
            | State::Rejected(_)
            | State::Disputed(_)
            | State::Failed(_) => None,
        }
    }

    /// The payment being watched, if one is.
    pub fn settlement(&self) -> Option<&Settlement> {
        let State::Verified {
            settlement: Stage::Watching(settlement),
            ..
        } = self
        else {
            return None;
        };
        Some(settlement)
    }

    /// How it was paid, if it was.
    pub fn completion(&self) -> Option<&Completion> {
        let State::Completed { completion, .. } = self else {
            return None;
        };
        Some(completion)
    }

    /// What is still watched of an interaction that is over, and what had been agreed.
    pub fn aftermath(&self) -> Option<(&Deal, &Aftermath)> {
        if let State::Completed {
            deal, aftermath, ..
        } = self
        {
            return Some((deal, aftermath.as_ref()?));
        }
        let State::Disputed(dispute) = self else {
            return None;
        };
        let unpaid = dispute.unpaid.as_ref()?;
        Some((&unpaid.deal, &unpaid.aftermath))
    }

    pub(super) fn aftermath_mut(&mut self) -> Option<&mut Aftermath> {
        if let State::Completed { aftermath, .. } = self {
            return aftermath.as_mut();
        }
        let State::Disputed(dispute) = self else {
            return None;
        };
        Some(&mut dispute.unpaid.as_mut()?.aftermath)
    }

    /// Its payment, while that is watched.
    pub fn watched(&self) -> Option<Watched<'_>> {
        if let State::Verified {
            deal,
            settlement: Stage::Watching(settlement),
            ..
        } = self
        {
            let (is_recent, look_due) = match settlement.schedule {
                Schedule::Confirmation { .. } => (true, None),
                Schedule::Look { due, .. } => (false, Some(due)),
            };
            let look_due = look_due.filter(|_| settlement.paused_since.is_none());
            return Some(Watched {
                declared: &settlement.declared,
                heads: &deal.acceptance.heads,
                network: &settlement.network,
                payee: deal.offer.payee,
                phase: Phase::Awaited {
                    is_recent,
                    look_due,
                },
            });
        }
        let (deal, aftermath) = self.aftermath()?;
        Some(Watched {
            declared: &aftermath.declared,
            heads: &deal.acceptance.heads,
            network: &aftermath.network,
            payee: deal.offer.payee,
            phase: Phase::Over(aftermath),
        })
    }

    /// Why it ended unpaid, where a code says it.
    pub fn closing_code(&self) -> Option<Code> {
        match self {
            State::Disputed(dispute) => dispute.closing.code,
            State::Expired(closing) | State::Rejected(closing) | State::Failed(closing) => {
                closing.code
            }
            State::Pending { .. }
            | State::Offered { .. }
            | State::Accepted { .. }
            | State::Delivered { .. }
            | State::Verified { .. }
            | State::Completed { .. } => None,
        }
    }

    /// The message that opened the last window; notices name it (AX-32).
    pub fn opener(&self) -> EnvelopeId {
        match self {
            State::Pending { opening, .. } => opening.record.envelope,
            State::Offered { offer, .. } => offer.record.envelope,
            State::Accepted { deal, .. } => deal.acceptance.record.envelope,
            State::Delivered { delivery, .. } => delivery.record.envelope,
            State::Verified {
                verification,
                settlement,
                ..
            } => match settlement {
                Stage::Awaiting { .. } => verification.envelope,
                Stage::Watching(settlement) => {
                    settlement.payments.last().unwrap_or(verification).envelope
                }
            },
            State::Completed { opener, .. } => *opener,
            State::Disputed(dispute) => dispute.closing.opener,
            State::Expired(closing) | State::Rejected(closing) | State::Failed(closing) => {
                closing.opener
            }
        }
    }

    /// The window that is open.
    pub fn open_window(&self) -> Option<Window> {
        match self {
            State::Pending { .. } => Some(Window::Offer),
            State::Offered { .. } => Some(Window::Accept),
            State::Accepted { .. } => Some(Window::Result),
            State::Delivered { .. } => Some(Window::Verify),
            State::Verified {
                settlement: Stage::Awaiting { .. },
                ..
            } => Some(Window::Payment),
            State::Verified {
                settlement: Stage::Watching(settlement),
                ..
            } => match settlement.schedule {
                Schedule::Confirmation { .. } => Some(Window::Confirmation),
                Schedule::Look { .. } => None,
            },
            State::Completed { .. }
            | State::Expired(_)
            | State::Rejected(_)
            | State::Disputed(_)
            | State::Failed(_) => None,
        }
    }

    /// The last moment before time alone acts. Looks are not among them: a fresh head answers those.
    pub fn deadline(&self) -> Option<TimestampMs> {
        match self {
            State::Pending { deadline, .. }
            | State::Accepted { deadline, .. }
            | State::Delivered { deadline, .. } => Some(*deadline),
            State::Offered { deadline, .. } => Some(deadline.effective()),
            State::Verified {
                deal, settlement, ..
            } => match settlement {
                Stage::Awaiting { deadline } => Some(*deadline),
                Stage::Watching(settlement) if deal.offer.total.is_zero() => {
                    Some(settlement.started_at)
                }
                Stage::Watching(settlement) => settlement.confirmation_deadline(),
            },
            State::Completed { .. }
            | State::Expired(_)
            | State::Rejected(_)
            | State::Disputed(_)
            | State::Failed(_) => None,
        }
    }
}

impl Settlement {
    /// End of the confirmation window, while its clock runs.
    pub fn confirmation_deadline(&self) -> Option<TimestampMs> {
        match (self.schedule, self.paused_since) {
            (Schedule::Confirmation { deadline }, None) => Some(deadline),
            (Schedule::Confirmation { .. }, Some(_)) | (Schedule::Look { .. }, _) => None,
        }
    }

    /// The declared transaction of that hash.
    pub fn declared(&self, tx_hash: TxHash) -> Option<&Declared> {
        self.declared
            .iter()
            .find(|declared| declared.tx_hash == tx_hash)
    }
}
