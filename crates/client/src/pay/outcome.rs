//! The outcome of a signed transfer: own transactions, then those of others under its authorization.

use alloy::eips::BlockId;
use x811_protocol::evm::TxHash;

use super::{NonceUse, PayClient, PayError, Receipt, SETTLED_BLOCKS, SignedTransfer};

/// The outcome of a signed transfer so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The payee was paid: by the transfer, by one that it replaces, or by another account's
    /// transaction under its authorization.
    Paid {
        /// The transaction.
        tx_hash: TxHash,
        /// Height of its block.
        block_number: u64,
    },
    /// The transfer paid nothing and never will: it reverted, its time is over, or another transaction
    /// took its account nonce.
    Lost,
    /// The transfer can still pay.
    Open,
}

impl PayClient {
    /// The outcome of a transfer so far.
    ///
    /// # Errors
    /// [`PayError::Cancelled`] when its authorization was cancelled; [`PayError`].
    pub async fn outcome(&self, signed: &SignedTransfer) -> Result<Outcome, PayError> {
        let mined = self.mined(signed).await?;
        if let Some((tx_hash, Receipt::Succeeded { block_number })) = mined {
            return Ok(Outcome::Paid {
                tx_hash,
                block_number,
            });
        }
        let Some(authorization) = signed.authorization else {
            return Ok(mined.map_or(Outcome::Open, |_| Outcome::Lost));
        };
        // Nodes behind one endpoint are at different blocks: all that proves a loss is asked of one block.
        let head = self.latest_block().await?.header;
        let as_of = BlockId::number(head.number);
        let used = self.nonce_use_at(signed.payer, authorization.nonce, as_of);
        match used.await {
            Ok(NonceUse::Used {
                tx_hash,
                block_number,
            }) => {
                return Ok(Outcome::Paid {
                    tx_hash,
                    block_number,
                });
            }
            // A node's state is ahead of its logs for a moment after each block.
            Err(PayError::SpentUnseen { .. }) => return Ok(Outcome::Open),
            Err(error) => return Err(error),
            Ok(NonceUse::Unused) => {}
        }
        let has_reverted = mined.is_some_and(|(_, receipt)| receipt.block_number() <= head.number);
        // A node can have the state of a block before it names the block, and then this transfer itself may
        // have spent the account nonce: what proves a loss is in a block that others follow.
        let settled = BlockId::number(head.number.saturating_sub(SETTLED_BLOCKS));
        let is_lost = has_reverted
            || head.timestamp >= authorization.valid_before_s
            || self.is_nonce_spent(signed, settled).await?;
        Ok(if is_lost {
            Outcome::Lost
        } else {
            Outcome::Open
        })
    }
}
