//! The version of a block of parameters.

use serde::{Deserialize, Serialize};

/// The version of a recorded block: which rules of its page of the specification are in force. A log
/// keeps its meaning under every later program, so a block without a known version is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Option<u64>", into = "u64")]
pub enum BlockVersion {
    /// All rules of round.md and of capability.md.
    Two,
}

impl TryFrom<Option<u64>> for BlockVersion {
    type Error = String;

    fn try_from(number: Option<u64>) -> Result<BlockVersion, String> {
        match number {
            Some(2) => Ok(BlockVersion::Two),
            Some(number) => Err(format!(
                "unknown version: the block's `version` is {number}, this program knows 2; use the version of \
                 x811 that wrote it"
            )),
            None => Err(
                "missing field `version` of the block, this program knows 2: write `version` 2"
                    .to_owned(),
            ),
        }
    }
}

impl From<BlockVersion> for u64 {
    fn from(version: BlockVersion) -> u64 {
        match version {
            BlockVersion::Two => 2,
        }
    }
}
