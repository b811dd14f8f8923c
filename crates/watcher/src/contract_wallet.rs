//! Whether a contract takes a signature for its own (ERC-1271): asked once, when the wallet is bound
//! to an agent, and never again. What the contract says later may differ, so a node's answer of now
//! is recorded as the ledger's word.

use futures_util::future::join_all;
use x811_protocol::evm::{ChainId, EvmAddress};

use crate::source::{CallAnswer, ChainSource, HeadTag, SourceError};

/// The selector of `isValidSignature(bytes32,bytes)`, and what a contract returns for yes.
const MAGIC: [u8; 4] = [0x16, 0x26, 0xba, 0x7e];
const WORD: usize = 32;

/// Asks all endpoints of a network, each as of its own latest block. Two must say the same where
/// there are two (settlement-watcher.md rule 26).
///
/// A contract that answers anything but the 32 bytes of ERC-1271, or fails, says no. An empty answer
/// says nothing: there is no contract yet, or the endpoint did not pass the call on.
///
/// # Errors
/// [`Undecided`] when not enough endpoints answered, or they contradict each other.
pub async fn is_valid_signature<S: ChainSource>(
    endpoints: &[S],
    chain_id: ChainId,
    wallet: EvmAddress,
    hash: [u8; 32],
    signature: &[u8],
) -> Result<bool, Undecided> {
    let input = input(hash, signature);
    let asked = endpoints
        .iter()
        .map(|source| ask(source, chain_id, wallet, &input));
    let (mut yes, mut no, mut failure) = (0, 0, None);
    for answer in join_all(asked).await {
        match answer {
            Ok(true) => yes += 1,
            Ok(false) => no += 1,
            Err(error) => failure = Some(error),
        }
    }
    let quorum = endpoints.len().clamp(1, 2);
    match (yes >= quorum, no >= quorum) {
        (true, false) => Ok(true),
        (false, true) => Ok(false),
        (true, true) => Err(Undecided::Contradiction),
        (false, false) => Err(failure.unwrap_or(Undecided::Contradiction)),
    }
}

/// Why it is not known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Undecided {
    /// Too few endpoints gave an answer.
    #[error(transparent)]
    Silent(#[from] SourceError),
    /// One serves another chain, so that its answer is no answer.
    #[error("the RPC endpoint serves chain {actual} instead of chain {expected}")]
    OtherChain {
        /// The network's chain.
        expected: ChainId,
        /// The endpoint's chain.
        actual: ChainId,
    },
    /// The answer is empty.
    #[error(
        "the answer is empty: deploy the contract before it is registered (an account with a key is \
         of kind eoa), or exchange an endpoint that does not pass calls on"
    )]
    Empty,
    /// They answered differently.
    #[error("the RPC endpoints contradict each other about the contract")]
    Contradiction,
}

async fn ask(
    source: &impl ChainSource,
    expected: ChainId,
    wallet: EvmAddress,
    input: &[u8],
) -> Result<bool, Undecided> {
    let actual = source.chain_id().await?;
    if actual != expected {
        return Err(Undecided::OtherChain { expected, actual });
    }
    let head = source.head(HeadTag::Latest).await?;
    let head = head.ok_or(SourceError::Behind {
        method: "eth_getBlockByNumber",
    })?;
    match source.call(wallet, input, head.hash).await? {
        CallAnswer::Returned(answer) if answer.is_empty() => Err(Undecided::Empty),
        CallAnswer::Returned(answer) => Ok(is_yes(&answer)),
        CallAnswer::Failed => Ok(false),
    }
}

/// The magic value, padded to a word on the right.
fn is_yes(answer: &[u8]) -> bool {
    let mut yes = [0; WORD];
    yes[..MAGIC.len()].copy_from_slice(&MAGIC);
    answer == yes
}

/// The call: selector, hash, where the signature begins, how long it is, and the signature padded to
/// whole words.
fn input(hash: [u8; 32], signature: &[u8]) -> Vec<u8> {
    let word = |number: usize| {
        let mut word = [0; WORD];
        word[WORD - 8..].copy_from_slice(&(number as u64).to_be_bytes());
        word
    };
    let mut input = MAGIC.to_vec();
    input.extend(hash);
    input.extend(word(2 * WORD));
    input.extend(word(signature.len()));
    input.extend(signature);
    let padding = signature.len().next_multiple_of(WORD) - signature.len();
    input.resize(input.len() + padding, 0);
    input
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_18_the_call_is_encoded_as_the_abi_says() {
        let input = input([0xab; 32], &[0xcd; 65]);
        assert_eq!(input.len(), 4 + 32 + 32 + 32 + 96);
        assert_eq!(input[..4], MAGIC);
        assert_eq!(input[4..36], [0xab; 32]);
        assert_eq!((input[67], input[99]), (64, 65));
        assert_eq!(input[100..165], [0xcd; 65]);
        assert!(input[165..].iter().all(|byte| *byte == 0));
        assert_eq!(super::input([0; 32], &[1; 32]).len(), 4 + 4 * 32);
    }

    #[test]
    fn rule_18_only_the_padded_magic_value_is_a_yes() {
        let yes = [&MAGIC[..], &[0; 28]].concat();
        assert!(is_yes(&yes));
        let left_padded = [&[0; 28], &MAGIC[..]].concat();
        let longer = [yes.clone(), vec![0; 32]].concat();
        let dirty = [&MAGIC[..], &[1; 28]].concat();
        for no in [vec![0], MAGIC.to_vec(), left_padded, longer, dirty] {
            assert!(!is_yes(&no), "{no:?}");
        }
    }
}
