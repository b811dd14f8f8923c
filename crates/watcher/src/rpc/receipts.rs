//! Receipts in batches, each batch together with a block that only a node which is not behind can
//! know: nodes behind one address answer a batch alone.
//!
//! A batch that fails is halved, because providers limit batches in different ways and one receipt
//! that cannot be read must not hide the others. One that is left alone is asked for without a
//! batch, which some endpoints refuse altogether.

use std::collections::VecDeque;

use alloy::rpc::client::Waiter;
use alloy::transports::TransportError;
use x811_protocol::evm::{BlockHash, EvmAddress, TxHash};

use super::answers::{RpcHeader, RpcReceipt};
use super::{RpcSource, SourceError};
use crate::source::ReceiptAnswer;

const RECEIPT: &str = "eth_getTransactionReceipt";
const BLOCK: &str = "eth_getBlockByHash";

impl RpcSource {
    /// At most one batch of them, in order.
    pub(super) async fn receipts_of(
        &self,
        transactions: &[TxHash],
        token: EvmAddress,
        as_of: BlockHash,
    ) -> Result<Vec<ReceiptAnswer>, SourceError> {
        let mut answers = Vec::with_capacity(transactions.len());
        let mut left = VecDeque::from([transactions]);
        while let Some(part) = left.pop_front() {
            match part {
                [] => {}
                [alone] => answers.push(self.receipt_alone(*alone, token, as_of).await?),
                several => match self.receipt_batch(several, token, as_of).await {
                    Ok(batch) => answers.extend(batch),
                    Err(error @ (SourceError::Behind { .. } | SourceError::Unreachable { .. })) => {
                        return Err(error);
                    }
                    Err(
                        SourceError::Refused { .. }
                        | SourceError::Malformed { .. }
                        | SourceError::TooLarge { .. },
                    ) => {
                        let (first, second) = several.split_at(several.len() / 2);
                        left.push_front(second);
                        left.push_front(first);
                    }
                },
            }
        }
        Ok(answers)
    }

    async fn receipt_alone(
        &self,
        transaction: TxHash,
        token: EvmAddress,
        as_of: BlockHash,
    ) -> Result<ReceiptAnswer, SourceError> {
        let block: Option<RpcHeader> = self.ask(BLOCK, (as_of, false)).await?;
        known(block, as_of)?;
        match self.ask(RECEIPT, [transaction]).await {
            Ok(receipt) => read(receipt, token),
            Err(SourceError::TooLarge { .. }) => Ok(ReceiptAnswer::TooLarge),
            Err(error) => Err(error),
        }
    }

    async fn receipt_batch(
        &self,
        transactions: &[TxHash],
        token: EvmAddress,
        as_of: BlockHash,
    ) -> Result<Vec<ReceiptAnswer>, SourceError> {
        let failed = |error: TransportError| self.failure(RECEIPT, error);
        let mut batch = self.client.new_batch();
        let block: Waiter<Option<RpcHeader>> =
            batch.add_call(BLOCK, &(as_of, false)).map_err(failed)?;
        let mut receipts: Vec<Waiter<Option<RpcReceipt>>> = Vec::with_capacity(transactions.len());
        for transaction in transactions {
            receipts.push(batch.add_call(RECEIPT, &[transaction]).map_err(failed)?);
        }
        batch.send().await.map_err(failed)?;
        known(block.await.map_err(|error| self.missing(error))?, as_of)?;
        let mut answers = Vec::with_capacity(transactions.len());
        for receipt in receipts {
            let receipt = receipt.await.map_err(|error| self.missing(error))?;
            answers.push(read(receipt, token)?);
        }
        Ok(answers)
    }

    /// An answer that is missing from a batch is no failure of the connection: asked for in a
    /// smaller batch, it may be there.
    fn missing(&self, error: TransportError) -> SourceError {
        let failure = self.failure(RECEIPT, error);
        if let SourceError::Unreachable { method, detail } = failure {
            return SourceError::Malformed { method, detail };
        }
        failure
    }
}

/// Only a node that knows `as_of` has a say.
fn known(block: Option<RpcHeader>, as_of: BlockHash) -> Result<(), SourceError> {
    let header = block.map(RpcHeader::read).transpose();
    match header {
        Ok(Some(header)) if header.hash == as_of => Ok(()),
        Ok(_) => Err(SourceError::Behind { method: BLOCK }),
        Err(detail) => Err(malformed(BLOCK, detail)),
    }
}

fn read(receipt: Option<RpcReceipt>, token: EvmAddress) -> Result<ReceiptAnswer, SourceError> {
    let receipt = receipt.map(|receipt| receipt.read(token)).transpose();
    let receipt = receipt.map_err(|detail| malformed(RECEIPT, detail))?;
    Ok(receipt
        .flatten()
        .map_or(ReceiptAnswer::NotFound, ReceiptAnswer::Mined))
}

fn malformed(method: &'static str, detail: &'static str) -> SourceError {
    SourceError::Malformed {
        method,
        detail: detail.to_owned(),
    }
}

#[cfg(test)]
mod tests;
