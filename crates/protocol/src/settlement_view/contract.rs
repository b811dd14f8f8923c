//! The contract that an interaction was opened by.

use crate::digest::Digest;
use crate::event::EngagedContract;
use crate::id::ContractId;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Terms that were agreed on before the REQUEST, which the OFFER had to carry (contract.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgreedContract {
    /// Which, as answers write it.
    #[serde(serialize_with = "as_public", deserialize_with = "public")]
    pub id: ContractId,
    /// SHA-256 of the agreed terms' RFC 8785 form.
    pub terms_hash: Digest,
}

impl From<EngagedContract> for AgreedContract {
    fn from(engaged: EngagedContract) -> AgreedContract {
        AgreedContract {
            id: engaged.id,
            terms_hash: engaged.terms_hash,
        }
    }
}

fn as_public<S: Serializer>(id: &ContractId, writer: S) -> Result<S::Ok, S::Error> {
    writer.serialize_str(&id.to_public())
}

fn public<'de, D: Deserializer<'de>>(reader: D) -> Result<ContractId, D::Error> {
    let text = String::deserialize(reader)?;
    ContractId::from_public(&text).map_err(serde::de::Error::custom)
}
