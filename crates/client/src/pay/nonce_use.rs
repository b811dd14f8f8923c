//! What became of an EIP-3009 nonce: the token's state, then the log that says how it was used.

use alloy::primitives::B256;
use alloy::providers::Provider;
use alloy::rpc::types::{Filter, Log};
use alloy::sol_types::SolEvent;
use alloy::transports::RpcError;
use x811_protocol::digest::Digest;
use x811_protocol::evm::{EvmAddress, TxHash};

use super::authorization::{AuthorizationCanceled, AuthorizationUsed};
use super::{PayClient, PayError, address};

/// How far back the log is looked for, in blocks: more than five hours of Base.
const MAX_SEARCHED_BLOCKS: u64 = 10_000;

/// Blocks asked for in one call. An endpoint that refuses so many is asked for the next number.
const BLOCKS_PER_CALL: [u64; 6] = [2_000, 500, 100, 10, 5, 1];

/// Calls of one search.
const MAX_CALLS: usize = 400;

/// What became of a nonce.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NonceUse {
    /// The token has not seen the nonce.
    Unused,
    /// A transfer was made under it.
    Used {
        /// In this transaction.
        tx_hash: TxHash,
        /// In this block.
        block_number: u64,
    },
}

impl PayClient {
    /// What became of a nonce of `payer`, from the token's state and then from its logs.
    ///
    /// # Errors
    /// [`PayError::Cancelled`], [`PayError::SpentUnseen`] when nothing can be paid under it and no
    /// transfer is found; [`PayError`].
    pub async fn nonce_use(&self, payer: EvmAddress, nonce: Digest) -> Result<NonceUse, PayError> {
        match self.is_spent(payer, nonce).await? {
            None => Err(PayError::NoAuthorizations {
                token: self.token,
                why: "it has no authorizationState",
            }),
            Some(false) => Ok(NonceUse::Unused),
            Some(true) => self.search(payer, nonce).await,
        }
    }

    /// Searches the logs backwards from the newest block.
    async fn search(&self, payer: EvmAddress, nonce: Digest) -> Result<NonceUse, PayError> {
        let head = self.provider.get_block_number().await;
        let head = head.map_err(|error| self.failed(&error))?;
        let oldest = head.saturating_sub(MAX_SEARCHED_BLOCKS);
        let mut sizes = BLOCKS_PER_CALL.into_iter();
        let mut size = sizes.next().unwrap_or(1);
        let mut end = head.saturating_add(1);
        for _ in 0..MAX_CALLS {
            if end <= oldest {
                break;
            }
            let begin = oldest.max(end.saturating_sub(size));
            let filter = self.uses(payer, nonce).from_block(begin).to_block(end - 1);
            match self.provider.get_logs(&filter).await {
                Ok(logs) => {
                    let mut logs = logs.iter();
                    if let Some(log) = logs.find(|log| log.address() == address(self.token)) {
                        return told_use(log, nonce);
                    }
                    end = begin;
                }
                Err(error) => match sizes.next() {
                    Some(smaller) if matches!(error, RpcError::ErrorResp(_)) => size = smaller,
                    Some(_) | None => return Err(self.failed(&error)),
                },
            }
        }
        Err(PayError::SpentUnseen {
            nonce,
            searched_blocks: head.saturating_add(1) - end,
        })
    }

    fn uses(&self, payer: EvmAddress, nonce: Digest) -> Filter {
        Filter::new()
            .address(address(self.token))
            .event_signature(vec![
                AuthorizationUsed::SIGNATURE_HASH,
                AuthorizationCanceled::SIGNATURE_HASH,
            ])
            .topic1(address(payer).into_word())
            .topic2(B256::from(*nonce.as_bytes()))
    }
}

fn told_use(log: &Log, nonce: Digest) -> Result<NonceUse, PayError> {
    if log.topic0() == Some(&AuthorizationCanceled::SIGNATURE_HASH) {
        return Err(PayError::Cancelled { nonce });
    }
    match (log.transaction_hash, log.block_number) {
        (Some(tx_hash), Some(block_number)) => Ok(NonceUse::Used {
            tx_hash: TxHash::from_bytes(tx_hash.0),
            block_number,
        }),
        _ => Err(PayError::SpentUnseen {
            nonce,
            searched_blocks: 0,
        }),
    }
}
