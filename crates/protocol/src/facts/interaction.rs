//! Facts of the eight core types, which the machine `interaction` decides on.

use serde::{Deserialize, Deserializer, Serialize};
use serde_with::skip_serializing_none;

use super::UnknownWord;
use super::member::{
    checked_text, given, given_integer, is_network_name, positive_integer, task_type,
};
use crate::code::Code;
use crate::did::Did;
use crate::digest::Digest;
use crate::evm::{EvmAddress, TxHash};
use crate::id::{AgreementId, ContractId, EnvelopeId};
use crate::money::MicroUsdc;
use crate::payload::content_type::is_content_type;
use crate::refusal::Refusal;

/// Facts of a REQUEST (AE-40 to AE-48).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestFacts {
    /// How the initiator's software treats an OFFER.
    pub acceptance_policy: AcceptancePolicy,
    /// The agreement that it is made under.
    #[serde(default, deserialize_with = "given")]
    pub agreement_id: Option<AgreementId>,
    /// Execution time the initiator allows, seconds, at least 1.
    #[serde(deserialize_with = "positive_integer")]
    pub deadline_s: u64,
    /// SHA-256 of `from`, a zero byte and the idempotency key (AX-12).
    pub idempotency_tag: Digest,
    /// The most the initiator pays, fee included.
    pub max_budget: MicroUsdc,
    /// The contract that it opens an interaction of.
    #[serde(default, deserialize_with = "given")]
    pub negotiation_id: Option<ContractId>,
    /// SHA-256 of the payload's RFC 8785 form.
    pub payload_hash: Digest,
    /// The capability asked for; 1 to 128 characters.
    #[serde(deserialize_with = "task_type")]
    pub task_type: String,
    /// Up to here policy `threshold` accepts by itself; absent counts as zero (AX-13).
    #[serde(default, deserialize_with = "given")]
    pub threshold_amount: Option<MicroUsdc>,
}

impl RequestFacts {
    /// SHA-256 of `from`, a zero byte and `key`: one text for each initiator and idempotency key, without
    /// the key itself (AX-12).
    pub fn tag(from: Did, key: &str) -> Digest {
        Digest::of_parts(&[from.to_string().as_bytes(), &[0], key.as_bytes()])
    }
}

impl RequestFacts {
    /// The amount up to which policy `threshold` accepts by itself: zero when none is given, so
    /// that everything goes to a person (AX-13).
    pub fn threshold(&self) -> MicroUsdc {
        self.threshold_amount.unwrap_or(MicroUsdc::ZERO)
    }
}

/// Facts of an OFFER (AE-49 to AE-56). The fee and the total are exact (AX-4).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OfferFacts {
    /// SHA-256 of the RFC 8785 form of `deliverables`.
    pub deliverables_hash: Digest,
    /// Execution time the provider expects, seconds, at least 1.
    #[serde(deserialize_with = "positive_integer")]
    pub estimated_time_s: u64,
    /// How long the offer holds, seconds from the envelope's `created`, at least 1.
    #[serde(deserialize_with = "positive_integer")]
    pub expiry_s: u64,
    /// SHA-256 of the payload's RFC 8785 form: the `offer_hash` of an ACCEPT (AE-57).
    pub payload_hash: Digest,
    /// The account to pay, if the offer names one.
    #[serde(default, deserialize_with = "given")]
    pub payment_address: Option<EvmAddress>,
    /// What the provider gets.
    pub price: MicroUsdc,
    /// 2.5 % of the price, rounded half-up to a micro-USDC.
    pub protocol_fee: MicroUsdc,
    /// The REQUEST answered.
    pub request_id: EnvelopeId,
    /// Price and fee.
    pub total_cost: MicroUsdc,
}

impl OfferFacts {
    /// What a record may hold: the fee is at most one micro-USDC beside the exact one, which only the
    /// leniency for the published SDK takes (decision 0190); see [`OfferFacts::check_exact_fee`].
    pub(super) fn consistent(&self) -> Result<(), Refusal> {
        let beside = self
            .protocol_fee
            .as_micro_usdc()
            .abs_diff(self.price.protocol_fee().as_micro_usdc());
        if beside > 1 {
            return self.check_exact_fee();
        }
        if Some(self.total_cost) != self.price.checked_add(self.protocol_fee) {
            return Err(self.wrong_amounts());
        }
        if self.payment_address == Some(EvmAddress::ZERO) {
            return Err(zero_address("payment_address"));
        }
        Ok(())
    }

    /// Holds fee and total to the price: 2.5 %, rounded half-up to a micro-USDC (AX-4).
    ///
    /// # Errors
    /// X811-4001 with the amounts that would be right.
    pub fn check_exact_fee(&self) -> Result<(), Refusal> {
        let fee = self.price.protocol_fee();
        let total = self.price.checked_add(fee);
        if (Some(self.total_cost), self.protocol_fee) == (total, fee) {
            return Ok(());
        }
        Err(self.wrong_amounts())
    }

    fn wrong_amounts(&self) -> Refusal {
        let fee = self.price.protocol_fee();
        let message = match self.price.checked_add(fee) {
            None => "price and fee together are above what a record can hold".to_owned(),
            Some(total) => format!(
                "fee and total do not follow from the price {}; protocol_fee must be {} (2.5 %, \
                 rounded half-up to six digits) and total_cost {}",
                self.price.to_usdc_decimal(),
                fee.to_usdc_decimal(),
                total.to_usdc_decimal(),
            ),
        };
        Refusal::guard(Code::InvalidStateTransition, message)
    }
}

/// Facts of an ACCEPT (AE-57).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AcceptFacts {
    /// What the initiator believes the OFFER's payload hash to be.
    pub offer_hash: Digest,
    /// The OFFER accepted.
    pub offer_id: EnvelopeId,
}

/// Facts of a REJECT (AE-58).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RejectFacts {
    /// Why, in a word.
    pub code: RejectCode,
    /// The OFFER rejected.
    pub offer_id: EnvelopeId,
}

/// Facts of a RESULT (AE-59, AE-60).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResultFacts {
    /// Whether the inline content has the stated hash; absent for content by URL.
    #[serde(default, deserialize_with = "given")]
    pub content_matches: Option<bool>,
    /// MIME type of the content; at most 128 characters.
    #[serde(deserialize_with = "content_type")]
    pub content_type: String,
    /// Where the content is.
    pub location: Location,
    /// The OFFER fulfilled.
    pub offer_id: EnvelopeId,
    /// The REQUEST answered.
    pub request_id: EnvelopeId,
    /// SHA-256 of the content, as the provider states it (AX-19).
    pub result_hash: Digest,
    /// Size of the content in bytes, if the provider states it.
    #[serde(default, deserialize_with = "given_integer")]
    pub result_size: Option<u64>,
}

impl ResultFacts {
    pub(super) fn consistent(&self) -> Result<(), Refusal> {
        if self.content_matches.is_some() == (self.location == Location::Inline) {
            return Ok(());
        }
        Err(Refusal::shape(
            "content_matches belongs to inline content, and only to it",
        ))
    }
}

/// Facts of a VERIFY (AE-61 to AE-63).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerifyFacts {
    /// Why not; present exactly when `verified` is false.
    #[serde(default, deserialize_with = "given")]
    pub dispute_code: Option<DisputeCode>,
    /// The OFFER of the interaction.
    pub offer_id: EnvelopeId,
    /// The REQUEST of the interaction.
    pub request_id: EnvelopeId,
    /// The hash of the RESULT that was looked at.
    pub result_hash: Digest,
    /// Whether the result is accepted.
    pub verified: bool,
}

impl VerifyFacts {
    pub(super) fn consistent(&self) -> Result<(), Refusal> {
        if self.verified != self.dispute_code.is_some() {
            return Ok(());
        }
        Err(Refusal::shape(
            "dispute_code belongs to verified=false, and only to it",
        ))
    }
}

/// Facts of a PAYMENT (AE-64, AE-65).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PaymentFacts {
    /// The whole amount paid, fee included (AX-17).
    pub amount: MicroUsdc,
    /// The nonce of the EIP-3009 authorization that the transfer was made under, when the payment
    /// rests on it.
    #[serde(default, deserialize_with = "given")]
    pub authorization_nonce: Option<Digest>,
    /// A second transaction that moved the fee, if it is another than `tx_hash`.
    #[serde(default, deserialize_with = "given")]
    pub fee_tx_hash: Option<TxHash>,
    /// Name of the settlement network; 1 to 32 of `[a-z0-9-]`.
    #[serde(deserialize_with = "network")]
    pub network: String,
    /// The OFFER of the interaction.
    pub offer_id: EnvelopeId,
    /// The account that was paid.
    pub payee_address: EvmAddress,
    /// The account that paid.
    pub payer_address: EvmAddress,
    /// The REQUEST of the interaction.
    pub request_id: EnvelopeId,
    /// The transaction that moved the USDC.
    pub tx_hash: TxHash,
}

impl PaymentFacts {
    pub(super) fn consistent(&self) -> Result<(), Refusal> {
        if self.fee_tx_hash == Some(self.tx_hash) {
            return Err(Refusal::shape("fee_tx_hash repeats tx_hash; leave it out"));
        }
        if self.payer_address == EvmAddress::ZERO {
            return Err(zero_address("payer_address"));
        }
        if self.payee_address == EvmAddress::ZERO {
            return Err(zero_address("payee_address"));
        }
        if self.payer_address == self.payee_address {
            return Err(Refusal::guard(
                Code::InvalidPaymentAddress,
                "payer_address and payee_address are one account; name the account that paid and \
                 the provider's that was paid",
            ));
        }
        Ok(())
    }
}

/// Facts of an ERROR (AE-66).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorFacts {
    /// The code of the registry.
    pub code: Code,
    /// The envelope that caused the error, if it is named.
    #[serde(default, deserialize_with = "given")]
    pub related_message_id: Option<EnvelopeId>,
}
words! {
    /// How the initiator's software treats an OFFER (AE-45, AE-109 to AE-117).
    AcceptancePolicy, "auto, human_approval, threshold" {
        /// Accept what fits budget, time and trust.
        Auto = "auto",
        /// Ask a person, always.
        HumanApproval = "human_approval",
        /// Accept up to an amount; ask a person above it.
        Threshold = "threshold",
    }
}

words! {
    /// Why an OFFER was rejected (AE-58).
    RejectCode,
    "PRICE_TOO_HIGH, DEADLINE_TOO_SHORT, TRUST_TOO_LOW, POLICY_REJECTED, OTHER" {
        /// The total is over the budget.
        PriceTooHigh = "PRICE_TOO_HIGH",
        /// The work would take too long.
        DeadlineTooShort = "DEADLINE_TOO_SHORT",
        /// The provider is not trusted enough.
        TrustTooLow = "TRUST_TOO_LOW",
        /// Another rule of the initiator's policy.
        PolicyRejected = "POLICY_REJECTED",
        /// Another reason than those named.
        Other = "OTHER",
    }
}

words! {
    /// Why a RESULT was disputed (AE-63).
    DisputeCode, "WRONG_RESULT, INCOMPLETE, TIMEOUT, QUALITY, OTHER" {
        /// It is wrong.
        WrongResult = "WRONG_RESULT",
        /// A deliverable is missing.
        Incomplete = "INCOMPLETE",
        /// It took too long.
        Timeout = "TIMEOUT",
        /// It is not good enough.
        Quality = "QUALITY",
        /// Another reason than those named.
        Other = "OTHER",
    }
}

words! {
    /// Where the content of a RESULT is (AX-20).
    Location, "inline, url" {
        /// In the payload; also when a URL is given beside it.
        Inline = "inline",
        /// Behind `result_url` only.
        Url = "url",
    }
}

fn zero_address(member: &str) -> Refusal {
    Refusal::guard(
        Code::InvalidPaymentAddress,
        format!("{member} is the zero address, which nobody owns; give a real account"),
    )
}

fn content_type<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    checked_text(
        deserializer,
        is_content_type,
        "content_type must be a MIME type, at most 128",
    )
}

fn network<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    checked_text(
        deserializer,
        is_network_name,
        "network must be 1 to 32 of [a-z0-9-]",
    )
}
