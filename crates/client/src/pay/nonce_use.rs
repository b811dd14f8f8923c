//! Use of an EIP-3009 nonce: the token's state, then the log of its use.

use alloy::eips::BlockId;
use alloy::primitives::B256;
use alloy::rpc::types::{Filter, Log};
use alloy::sol_types::SolEvent;
use x811_protocol::digest::Digest;
use x811_protocol::evm::{EvmAddress, TxHash};

use super::authorization::{AuthorizationCanceled, AuthorizationUsed};
use super::log_search::Searched;
use super::{PayClient, PayError, address};

/// Use of an EIP-3009 nonce.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NonceUse {
    /// The token has not seen the nonce.
    Unused,
    /// A transfer was made under it.
    Used {
        /// The transaction of the transfer.
        tx_hash: TxHash,
        /// Height of its block.
        block_number: u64,
    },
}

impl PayClient {
    /// Use of a nonce of `payer`, from the token's state and then from its logs.
    ///
    /// # Errors
    /// [`PayError::Cancelled`], [`PayError::SpentUnseen`] when nothing can be paid under it and no
    /// transfer is found; [`PayError`].
    pub async fn nonce_use(&self, payer: EvmAddress, nonce: Digest) -> Result<NonceUse, PayError> {
        self.nonce_use_at(payer, nonce, BlockId::latest()).await
    }

    /// The same, with the token's state as of `block`. A node that does not have that block yet answers
    /// with an error, never with an older state.
    pub(super) async fn nonce_use_at(
        &self,
        payer: EvmAddress,
        nonce: Digest,
        block: BlockId,
    ) -> Result<NonceUse, PayError> {
        match self.is_spent(payer, nonce, block).await? {
            None => Err(PayError::NoAuthorizations {
                token: self.token,
                why: "it has no authorizationState",
            }),
            Some(false) => Ok(NonceUse::Unused),
            Some(true) => match self.newest_log(&self.uses(payer, nonce)).await? {
                Searched::Found(log) => told_use(&log, nonce),
                Searched::Nothing { blocks } => Err(PayError::SpentUnseen {
                    nonce,
                    searched_blocks: blocks,
                }),
            },
        }
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
