//! The contract that an interaction was opened by.

use crate::answer::written::public;
use crate::digest::Digest;
use crate::event::EngagedContract;
use crate::id::ContractId;
use serde::{Deserialize, Serialize};

/// Terms that were agreed on before the REQUEST, which the OFFER had to carry (contract.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = SettlementContract))]
pub struct AgreedContract {
    /// Which, as answers write it.
    #[serde(with = "public")]
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
