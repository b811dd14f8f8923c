//! Words that answers write otherwise than records do.

/// An address as people compare it, with its EIP-55 checksum; read in any letter case.
pub(crate) mod checksummed {
    use crate::evm::EvmAddress;
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        address: &EvmAddress,
        writer: S,
    ) -> Result<S::Ok, S::Error> {
        address.to_checksum().serialize(writer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        reader: D,
    ) -> Result<EvmAddress, D::Error> {
        let text = String::deserialize(reader)?;
        EvmAddress::parse_lenient(&text).map_err(D::Error::custom)
    }

    /// The same of an address that may be absent.
    pub(crate) mod option {
        use super::{Deserialize, Deserializer, EvmAddress, Serialize, Serializer};

        #[derive(Serialize, Deserialize)]
        #[serde(transparent)]
        struct Shown(#[serde(with = "super")] EvmAddress);

        #[expect(clippy::ref_option, reason = "serde gives the field by reference")]
        pub(crate) fn serialize<S: Serializer>(
            address: &Option<EvmAddress>,
            writer: S,
        ) -> Result<S::Ok, S::Error> {
            address.map(Shown).serialize(writer)
        }

        pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
            reader: D,
        ) -> Result<Option<EvmAddress>, D::Error> {
            let shown = Option::<Shown>::deserialize(reader)?;
            Ok(shown.map(|Shown(address)| address))
        }
    }
}

/// The id of a negotiation with `neg-` before it.
pub(crate) mod public {
    use crate::id::ContractId;
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(id: &ContractId, writer: S) -> Result<S::Ok, S::Error> {
        writer.serialize_str(&id.to_public())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        reader: D,
    ) -> Result<ContractId, D::Error> {
        let text = String::deserialize(reader)?;
        ContractId::from_public(&text).map_err(D::Error::custom)
    }
}
