//! Values of settings that have a form of their own, read alike from file, environment and command
//! line.

use std::fmt;
use std::str::FromStr;

use clap::ValueEnum;
use serde::{Deserialize, Deserializer, Serialize};
use x811_protocol::evm::EvmAddress;
use x811_protocol::money::MicroUsdc;
use x811_protocol::parameters::{FinalBy, Leniency};
use x811_server::LogReaders;
use x811_server::limits::{AddressBlock, NoAddressBlock};

/// Which network payments are made on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Preset {
    /// Base: chain 8453, Circle's USDC.
    Base,
    /// Base Sepolia: chain 84532, Circle's test USDC.
    BaseSepolia,
    /// A chain of your own, such as Anvil's: chain 31337.
    Local,
}

/// Whether a payer must be a wallet bound to the initiator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Binding {
    /// The payer must be a bound wallet.
    Wallet,
    /// Anybody may pay; for tests only.
    Unchecked,
}

/// Condition for safe and final blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Finality {
    /// Heads that the endpoints name.
    Tag,
    /// 600 blocks above the confirmed depth.
    Depth,
}

impl From<Finality> for FinalBy {
    fn from(way: Finality) -> FinalBy {
        match way {
            Finality::Tag => FinalBy::Tag,
            Finality::Depth => FinalBy::Depth,
        }
    }
}

impl From<FinalBy> for Finality {
    fn from(way: FinalBy) -> Finality {
        match way {
            FinalBy::Tag => Finality::Tag,
            FinalBy::Depth => Finality::Depth,
        }
    }
}

/// Who reads the ledger's log as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Readers {
    /// The auditors, by signed reads.
    Auditors,
    /// Anybody reads the log.
    Public,
}

impl From<Readers> for LogReaders {
    fn from(readers: Readers) -> LogReaders {
        match readers {
            Readers::Auditors => LogReaders::Auditors,
            Readers::Public => LogReaders::Public,
        }
    }
}

impl From<LogReaders> for Readers {
    fn from(readers: LogReaders) -> Readers {
        match readers {
            LogReaders::Auditors => Readers::Auditors,
            LogReaders::Public => Readers::Public,
        }
    }
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum LogFormat {
    /// Lines for people.
    Text,
    /// One JSON object a line.
    Json,
}

/// An address with its EIP-55 checksum, so that a slip of the finger is noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(super) struct Address(pub(super) EvmAddress);

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Address, String> {
        EvmAddress::parse_checksummed(text)
            .map(Address)
            .map_err(|error| format!("{error}; give the address with its EIP-55 checksum"))
    }
}

impl TryFrom<String> for Address {
    type Error = String;

    fn try_from(text: String) -> Result<Address, String> {
        text.parse()
    }
}

impl From<Address> for String {
    fn from(address: Address) -> String {
        address.0.to_checksum()
    }
}

/// An amount, written in USDC with at most six places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(super) struct Usdc(pub(super) MicroUsdc);

impl FromStr for Usdc {
    type Err = String;

    fn from_str(text: &str) -> Result<Usdc, String> {
        MicroUsdc::from_usdc_decimal(text)
            .map(Usdc)
            .map_err(|error| error.to_string())
    }
}

impl TryFrom<String> for Usdc {
    type Error = String;

    fn try_from(text: String) -> Result<Usdc, String> {
        text.parse()
    }
}

impl From<Usdc> for String {
    fn from(amount: Usdc) -> String {
        amount.0.to_usdc_decimal()
    }
}

/// Addresses of a network, such as `10.0.0.0/8`, or one address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(super) struct Block(pub(super) AddressBlock);

impl FromStr for Block {
    type Err = String;

    fn from_str(text: &str) -> Result<Block, String> {
        text.parse()
            .map(Block)
            .map_err(|error: NoAddressBlock| error.to_string())
    }
}

impl TryFrom<String> for Block {
    type Error = String;

    fn try_from(text: String) -> Result<Block, String> {
        text.parse()
    }
}

impl From<Block> for String {
    fn from(block: Block) -> String {
        block.0.to_string()
    }
}

/// The address of an endpoint that may hold a key: shown to nobody.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Secret(pub(super) String);

impl FromStr for Secret {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Secret, Self::Err> {
        Ok(Secret(text.to_owned()))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(hidden)")
    }
}

/// A check that may be relaxed, by the name it has in a file.
pub(super) fn leniency(text: &str) -> Result<Leniency, String> {
    match text {
        "uuids" => Ok(Leniency::Uuids),
        "addresses" => Ok(Leniency::Addresses),
        "reference_sdk" => Ok(Leniency::ReferenceSdk),
        _ => Err("there are `uuids`, `addresses` and `reference_sdk`".to_owned()),
    }
}

/// One string, or a list of strings: settings that took one take several.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a string or a list of strings")]
enum OneOrSeveral {
    One(String),
    Several(Vec<String>),
}

/// Reads a setting that is given once in a file, as one string or as a list.
pub(super) fn one_or_several<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<String>>, D::Error> {
    let given = match OneOrSeveral::deserialize(deserializer)? {
        OneOrSeveral::One(one) => vec![one],
        OneOrSeveral::Several(several) => several,
    };
    Ok(Some(given))
}

/// The four looks, with commas between.
pub(super) fn looks(text: &str) -> Result<[u64; 4], String> {
    let four =
        || "give four numbers with commas between, such as 5000,15000,60000,300000".to_owned();
    let looks: Result<Vec<u64>, _> = text.split(',').map(|ms| ms.trim().parse()).collect();
    looks
        .ok()
        .and_then(|looks| looks.try_into().ok())
        .ok_or_else(four)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_are_four_numbers() {
        assert_eq!(
            looks("5000,15000,60000,300000"),
            Ok([5_000, 15_000, 60_000, 300_000])
        );
        for text in ["", "1,2,3", "1,2,3,4,5", "1,2,3,x", "1;2;3;4", "-1,2,3,4"] {
            assert!(looks(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_address_needs_its_checksum() {
        let address = "0x036CbD53842c5426634e7929541eC2318f3dCF7e";
        assert_eq!(String::from(address.parse::<Address>().unwrap()), address);
        assert!(address.to_lowercase().parse::<Address>().is_err());
    }
}
