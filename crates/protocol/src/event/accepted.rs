//! `envelope_accepted`: who said what, and what the machines decide on (record.md section 3).

use crate::capability::version::Version;
use crate::digest::Digest;
use crate::envelope::AcceptedHeader;
use crate::evm::EvmAddress;
use crate::facts::{AmountOf, Facts, FactsOf};
use crate::id::{AgreementId, ContractId};
use crate::money::MicroUsdc;
use crate::observation::NetworkHead;
use crate::round::{self, Seed};
use crate::time::TimestampMs;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;
use std::fmt;

/// An accepted envelope.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored")]
pub struct EnvelopeAccepted {
    /// What the decision used that is neither fact nor recomputable.
    pub derived: Derived,
    /// Who, when, with which key; enough to check the signature alone (profile `digest`).
    pub envelope: AcceptedHeader,
    /// A pure function of the body.
    pub facts: Facts,
}

/// What a decision used besides the facts; absent members do not apply to the message.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Derived {
    /// REQUEST under an agreement: what it was held to.
    pub agreement: Option<UsedAgreement>,
    /// Proposal of a round: the proposer's trust in hundredths.
    pub authority: Option<u64>,
    /// REQUEST that names a contract: what it was held to.
    pub contract: Option<EngagedContract>,
    /// End of the window that this message opens.
    pub deadline_at_ms: Option<TimestampMs>,
    /// Request of a session: position of the descriptor it was decided by.
    pub descriptor: Option<u64>,
    /// Message of a round that moves nothing.
    pub effect: Option<round::Effect>,
    /// ACCEPT: last known heads; absent when none is known.
    pub heads: Option<Vec<NetworkHead>>,
    /// REQUEST: position of the parameters the interaction is opened under.
    pub parameters: Option<u64>,
    /// OFFER: who will have to be paid.
    pub payee: Option<EvmAddress>,
    /// PAYMENT: how the payer is bound to the initiator.
    pub payer_binding: Option<PayerBinding>,
    /// Vote of a round: the block that draws in the cycle that it closes.
    pub seed: Option<Seed>,
    /// Signature of an agreement: how many there are with this one, 1 or 2.
    pub signatures: Option<u64>,
    /// Request of a session: the version that both will use.
    pub version: Option<Version>,
    /// Whether one of the two deprecates that version; only where it is so.
    pub version_deprecated: Option<bool>,
}

/// The agreement that a REQUEST is made under (capability.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UsedAgreement {
    /// Id of the agreement.
    pub id: AgreementId,
    /// The revision in force.
    pub revision: u64,
}

/// The contract that a REQUEST opens the interaction of, and what the OFFER is held to by it
/// (contract.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EngagedContract {
    /// Position of the accept.
    pub accept: u64,
    /// What the OFFER must carry.
    pub amount: MicroUsdc,
    /// As which member.
    pub amount_of: AmountOf,
    /// What the OFFER's deliverables must hash to, if they were agreed on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deliverables_hash: Option<Digest>,
    /// Id of the contract: the envelope id of its first offer.
    pub id: ContractId,
    /// SHA-256 of the agreed terms' RFC 8785 form.
    pub terms_hash: Digest,
}

/// How a payer is bound to the initiator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PayerBinding {
    /// A wallet bound to the initiator's DID.
    Wallet,
    /// By the nonce of an EIP-3009 authorization: only transfers made under it count.
    Authorization,
    /// Not checked, by configuration.
    Unchecked,
}

/// The stored form: facts can only be read once the envelope's type is known.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    envelope: AcceptedHeader,
    facts: Value,
    derived: Derived,
}

impl TryFrom<Stored> for EnvelopeAccepted {
    type Error = crate::refusal::Refusal;

    fn try_from(stored: Stored) -> Result<Self, Self::Error> {
        let facts = Facts::from_value(&stored.envelope.message_type, &stored.facts)?;
        Ok(EnvelopeAccepted {
            envelope: stored.envelope,
            facts,
            derived: stored.derived,
        })
    }
}

/// An accepted envelope whose members stand in their order, so that its type is known where its
/// facts begin. Whatever else it may be is left to the derived reader.
pub(super) struct InOrder(pub(super) EnvelopeAccepted);

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum Member {
    Derived,
    Envelope,
    Facts,
}

impl<'de> Deserialize<'de> for InOrder {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<InOrder, D::Error> {
        reader.deserialize_map(InOrderVisitor)
    }
}

struct InOrderVisitor;

impl<'de> Visitor<'de> for InOrderVisitor {
    type Value = InOrder;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an accepted envelope")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<InOrder, A::Error> {
        let other = || de::Error::custom("another member is due");
        let Some(Member::Derived) = members.next_key()? else {
            return Err(other());
        };
        let derived = members.next_value()?;
        let Some(Member::Envelope) = members.next_key()? else {
            return Err(other());
        };
        let envelope: AcceptedHeader = members.next_value()?;
        let Some(Member::Facts) = members.next_key()? else {
            return Err(other());
        };
        let facts = members.next_value_seed(FactsOf(&envelope.message_type))?;
        if members.next_key::<Member>()?.is_some() {
            return Err(other());
        }
        Ok(InOrder(EnvelopeAccepted {
            derived,
            envelope,
            facts,
        }))
    }
}
