//! What kept the token from moving, read for people (settlement-watcher.md rule 29).

use std::collections::BTreeSet;

use x811_protocol::evm::{BlockHash, EvmAddress};
use x811_protocol::observation::Hindrance;

use crate::source::{CallAnswer, ChainSource, SourceError};

/// The selector of `paused()`.
const PAUSED: [u8; 4] = [0x5c, 0x97, 0x5a, 0xbb];
/// The selector of `isBlacklisted(address)`.
const IS_BLACKLISTED: [u8; 4] = [0xfe, 0x57, 0x5a, 0x87];
/// Zeros in front of an address that is an argument.
const PADDING: [u8; 12] = [0; 12];

/// What kept `token` from moving as of a block: that it was paused, else the first of `accounts`
/// that its issuer had blacklisted. A token that knows neither says nothing.
pub(crate) async fn hindrance(
    source: &impl ChainSource,
    token: EvmAddress,
    accounts: &BTreeSet<EvmAddress>,
    as_of: BlockHash,
) -> Result<Option<Hindrance>, SourceError> {
    if is_yes(&source.call(token, &PAUSED, as_of).await?) {
        return Ok(Some(Hindrance::Paused));
    }
    for account in accounts {
        let input = [&IS_BLACKLISTED[..], &PADDING, account.as_bytes()].concat();
        if is_yes(&source.call(token, &input, as_of).await?) {
            return Ok(Some(Hindrance::Blacklisted(*account)));
        }
    }
    Ok(None)
}

/// Whether the answer is the word for `true`.
fn is_yes(answer: &CallAnswer) -> bool {
    let CallAnswer::Returned(bytes) = answer else {
        return false;
    };
    matches!(bytes.split_last(), Some((1, zeros)) if zeros == [0; 31])
}
