//! The words of the settlement chain: accounts, hashes, chain ids.
//!
//! An address on the wire must carry its EIP-55 checksum, because a mistyped payee cannot be paid
//! back (AX-15). Inside the ledger and in records everything is lower-case hex (record.md
//! section 1), so that equal accounts are equal strings.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer};
use sha3::{Digest as _, Keccak256};

use crate::spelled::{Spelled, from_text, written_as_spelled};

/// An account on an EVM chain: 20 bytes.
///
/// `Display` and serde use the record form, lower-case `0x` hex.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EvmAddress([u8; 20]);

impl EvmAddress {
    /// The zero address, to which nothing may be paid.
    pub const ZERO: Self = Self([0; 20]);

    /// The account with these 20 bytes.
    pub const fn from_bytes(bytes: [u8; 20]) -> Self {
        Self(bytes)
    }

    /// The 20 bytes.
    pub const fn as_bytes(&self) -> &[u8; 20] {
        &self.0
    }

    /// Reads `0x` and 40 hex digits whose letter case is the EIP-55 checksum (AE-56, AX-15).
    ///
    /// All-lower-case text is refused unless it holds no letters: it carries no checksum.
    ///
    /// # Errors
    /// [`AddressError::Form`] or [`AddressError::Checksum`].
    pub fn parse_checksummed(text: &str) -> Result<Self, AddressError> {
        let address = Self::parse_lenient(text)?;
        if address.checksummed().as_str() != text {
            let expected = address.to_checksum();
            return Err(AddressError::Checksum { expected });
        }
        Ok(address)
    }

    /// Reads `0x` and 40 hex digits of any case: the interoperability switch of AX-15.
    ///
    /// # Errors
    /// [`AddressError::Form`].
    pub fn parse_lenient(text: &str) -> Result<Self, AddressError> {
        decode_prefixed(text).map(Self).ok_or(AddressError::Form)
    }

    /// Reads the record form: `0x` and 40 lower-case hex digits.
    ///
    /// # Errors
    /// [`AddressError::Form`] or [`AddressError::NotLowerCase`].
    pub fn parse_lower(text: &str) -> Result<Self, AddressError> {
        let address = Self::parse_lenient(text)?;
        if has_upper_case(text) {
            return Err(AddressError::NotLowerCase);
        }
        Ok(address)
    }

    /// The EIP-55 form: a letter is upper case where the Keccak-256 hash of the lower-case hex has
    /// a nibble of 8 or more.
    pub fn to_checksum(self) -> String {
        self.checksummed().as_str().to_owned()
    }

    fn checksummed(self) -> Spelled<42> {
        let lower = Spelled::<40>::hex("", &self.0);
        let hash = Keccak256::digest(lower.as_str());
        Spelled::behind("0x", |digits| {
            digits.copy_from_slice(lower.as_str().as_bytes());
            let (pairs, _) = digits.as_chunks_mut();
            for ([high, low], byte) in pairs.iter_mut().zip(hash) {
                if byte & 0x80 != 0 {
                    high.make_ascii_uppercase();
                }
                if byte & 0x08 != 0 {
                    low.make_ascii_uppercase();
                }
            }
        })
    }

    fn spelled(&self) -> Spelled<42> {
        Spelled::hex("0x", &self.0)
    }
}

written_as_spelled!(EvmAddress);

impl<'de> Deserialize<'de> for EvmAddress {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_text(deserializer, Self::parse_lower)
    }
}

/// Why a text is not an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Not `0x` and 40 hex digits.
    #[error("not an Ethereum address; write 0x and 40 hex digits")]
    Form,
    /// The letter case is not the EIP-55 checksum.
    #[error(
        "the EIP-55 checksum does not fit, so a digit may be mistyped; check the account and, if \
         its digits are right, write {expected}"
    )]
    Checksum {
        /// The same digits, correctly checksummed.
        expected: String,
    },
    /// The record form has an upper-case digit.
    #[error("a recorded address is lower case; write it without upper-case digits")]
    NotLowerCase,
}

/// The hash of a transaction: 32 bytes, written `0x` and 64 lower-case hex digits (AX-18).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TxHash([u8; 32]);

/// The hash of a block: 32 bytes, written like a [`TxHash`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockHash([u8; 32]);

/// Why a text is not a transaction or block hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HashError {
    /// Not `0x` and 64 hex digits.
    #[error("not a hash of the chain; write 0x and 64 hex digits")]
    Form,
    /// The record form has an upper-case digit.
    #[error("a recorded hash is lower case; write it without upper-case digits")]
    NotLowerCase,
}

/// The two hashes differ in meaning only; one text form serves both.
macro_rules! chain_hash {
    ($name:ident) => {
        impl $name {
            /// The hash with these 32 bytes.
            pub const fn from_bytes(bytes: [u8; 32]) -> Self {
                Self(bytes)
            }

            /// The 32 bytes.
            pub const fn as_bytes(&self) -> &[u8; 32] {
                &self.0
            }

            /// Reads the record form: `0x` and 64 lower-case hex digits.
            ///
            /// # Errors
            /// [`HashError::Form`] or [`HashError::NotLowerCase`].
            pub fn parse_lower(text: &str) -> Result<Self, HashError> {
                let hash = text.parse()?;
                if has_upper_case(text) {
                    return Err(HashError::NotLowerCase);
                }
                Ok(hash)
            }

            fn spelled(&self) -> Spelled<66> {
                Spelled::hex("0x", &self.0)
            }
        }

        /// Reads the wire form: `0x` and 64 hex digits of any case.
        impl FromStr for $name {
            type Err = HashError;

            fn from_str(text: &str) -> Result<Self, HashError> {
                decode_prefixed(text).map(Self).ok_or(HashError::Form)
            }
        }

        written_as_spelled!($name);

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                from_text(deserializer, Self::parse_lower)
            }
        }
    };
}

chain_hash!(TxHash);
chain_hash!(BlockHash);

/// The number of a chain (EIP-155): 8453 is Base, 84532 Base Sepolia, 31337 Anvil.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(transparent)]
pub struct ChainId(u64);

impl ChainId {
    /// The chain with this number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The EIP-155 number of the chain.
    pub const fn as_u64(self) -> u64 {
        self.0
    }

    /// True for Base and Base Sepolia, whose nodes name `safe` and `finalized` heads.
    pub const fn is_base(self) -> bool {
        matches!(self.0, 8_453 | 84_532)
    }

    /// Whether people run chains of this number themselves and set their time: Anvil's and Hardhat's
    /// (31337), and Ganache's (1337).
    pub const fn is_own(self) -> bool {
        matches!(self.0, 31_337 | 1_337)
    }
}

impl fmt::Display for ChainId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

fn decode_prefixed<const BYTES: usize>(text: &str) -> Option<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    hex::decode_to_slice(text.strip_prefix("0x")?, &mut bytes).ok()?;
    Some(bytes)
}

fn has_upper_case(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// EIP-55's own published vectors: all caps, all lower, and mixed.
    const EIP_55: [&str; 8] = [
        "0x52908400098527886E0F7030069857D2E4169EE7",
        "0x8617E340B3D01FA5F11F306F4090FD50E238070D",
        "0xde709f2102306220921060314715629080e2fb77",
        "0x27b1fdb04752bbc536007a920d24acb045561c26",
        "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
        "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
        "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
        "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
    ];

    #[test]
    fn ax_015_eip_55_vectors() {
        for text in EIP_55 {
            let address = EvmAddress::parse_checksummed(text).unwrap();
            assert_eq!(address.to_checksum(), text);
            assert_eq!(address.to_string(), text.to_lowercase());
        }
    }

    #[test]
    fn ax_015_the_specification_s_own_addresses_fail() {
        let table = [
            (
                "0x742d35Cc6634C0532925a3b844Bc9e7595f2bD18",
                "0x742D35CC6634C0532925a3B844Bc9E7595F2bD18",
            ),
            (
                "0xAbC1234567890DefAbC1234567890DefAbC12345",
                "0xaBC1234567890DeFAbC1234567890DefABc12345",
            ),
        ];
        for (printed, corrected) in table {
            let refused = EvmAddress::parse_checksummed(printed).unwrap_err();
            assert_eq!(
                refused,
                AddressError::Checksum {
                    expected: corrected.to_owned()
                }
            );
            let address = EvmAddress::parse_checksummed(corrected).unwrap();
            assert_eq!(EvmAddress::parse_lenient(printed), Ok(address));
        }
    }

    #[test]
    fn ax_015_malformed_addresses() {
        for text in [
            "",
            "0x",
            "742D35CC6634C0532925a3B844Bc9E7595F2bD18",
            "0X742D35CC6634C0532925a3B844Bc9E7595F2bD18",
            "0x742D35CC6634C0532925a3B844Bc9E7595F2bD1",
            "0x742D35CC6634C0532925a3B844Bc9E7595F2bD188",
            "0x742D35CC6634C0532925a3B844Bc9E7595F2bD1g",
            " 0x742D35CC6634C0532925a3B844Bc9E7595F2bD18",
        ] {
            assert_eq!(
                EvmAddress::parse_checksummed(text),
                Err(AddressError::Form),
                "{text:?}"
            );
            assert_eq!(
                EvmAddress::parse_lenient(text),
                Err(AddressError::Form),
                "{text:?}"
            );
        }
        let lower = EIP_55[0].to_lowercase();
        assert!(
            EvmAddress::parse_checksummed(&lower).is_err(),
            "no checksum"
        );
        assert_eq!(
            EvmAddress::parse_lower(EIP_55[0]),
            Err(AddressError::NotLowerCase)
        );
    }

    #[test]
    fn ax_018_transaction_hashes_are_stored_lower_case() {
        let upper = format!("0x{}", "AB".repeat(32));
        let hash: TxHash = upper.parse().unwrap();
        assert_eq!(hash.to_string(), upper.to_lowercase());
        assert_eq!(TxHash::parse_lower(&upper), Err(HashError::NotLowerCase));
        let json = serde_json::to_string(&hash).unwrap();
        assert_eq!(serde_json::from_str::<TxHash>(&json).unwrap(), hash);
        for text in [
            "".to_owned(),
            "ab".repeat(32),
            format!("0x{}", "ab".repeat(31)),
            format!("0x{}", "ab".repeat(33)),
            format!("0X{}", "ab".repeat(32)),
            format!("0x{}", "zz".repeat(32)),
        ] {
            assert_eq!(text.parse::<TxHash>(), Err(HashError::Form), "{text}");
            assert_eq!(text.parse::<BlockHash>(), Err(HashError::Form), "{text}");
        }
    }

    proptest! {
        #[test]
        fn ax_015_checksum_round_trip(bytes in any::<[u8; 20]>()) {
            let address = EvmAddress::from_bytes(bytes);
            prop_assert_eq!(EvmAddress::parse_checksummed(&address.to_checksum()), Ok(address));
            prop_assert_eq!(EvmAddress::parse_lower(&address.to_string()), Ok(address));
        }
    }
}
