//! Receipts in batches, each batch together with a block that only a node which is not behind can
//! know: nodes behind one address answer a batch alone.
//!
//! A batch that fails as a whole is halved, because providers limit batches in different ways. Of one
//! that fails in part, what was answered counts, and only the rest is asked for again: one receipt
//! that cannot be read must not hide the others. One that is left alone is at last asked for without
//! a batch, which some endpoints refuse altogether, and others answer in part or under wrong ids.

use std::collections::{BTreeMap, VecDeque};

use alloy::rpc::client::Waiter;
use alloy::transports::TransportError;
use x811_protocol::evm::{BlockHash, EvmAddress, TxHash};

use super::answers::{RpcHeader, RpcReceipt};
use super::{RpcSource, SourceError};
use crate::source::ReceiptAnswer;

const RECEIPT: &str = "eth_getTransactionReceipt";
const BLOCK: &str = "eth_getBlockByHash";

/// What became of each member of a batch.
type Members = Vec<Result<ReceiptAnswer, SourceError>>;

impl RpcSource {
    /// At most one batch of them, each once, in order. An error is none of them answered.
    pub(super) async fn receipts_of(
        &self,
        transactions: &[TxHash],
        token: EvmAddress,
        as_of: BlockHash,
    ) -> Result<Vec<ReceiptAnswer>, SourceError> {
        let mut answers: BTreeMap<TxHash, ReceiptAnswer> = BTreeMap::new();
        let mut left = VecDeque::from([transactions.to_vec()]);
        while let Some(part) = left.pop_front() {
            let members = match self.receipt_batch(&part, token, as_of).await {
                Err(error) if ends_the_asking(&error) => {
                    return or_some(answers, transactions, error);
                }
                Err(_) if part.len() > 1 => {
                    // The batch is too long, or the endpoint takes no batches.
                    push_halves(&mut left, part);
                    continue;
                }
                Err(_) => vec![self.receipt_alone(part[0], token, as_of).await],
                Ok(members) if is_one_unreadable(&members) => {
                    vec![self.receipt_alone(part[0], token, as_of).await]
                }
                Ok(members) => members,
            };
            let mut again = Vec::new();
            let size = part.len();
            let is_alone = size == 1;
            for (transaction, member) in part.into_iter().zip(members) {
                match member {
                    Ok(answer) => drop(answers.insert(transaction, answer)),
                    Err(error) if ends_the_asking(&error) => {
                        return or_some(answers, transactions, error);
                    }
                    // An invented hash must not mark the endpoint as failing.
                    Err(error) if is_alone || is_about_it_alone(&error) => {
                        tracing::debug!(tx = %transaction, %error, "no receipt");
                        answers.insert(transaction, ReceiptAnswer::Unanswered);
                    }
                    Err(_) => again.push(transaction),
                }
            }
            // As long as before, it would be answered as before.
            if again.len() == size {
                push_halves(&mut left, again);
            } else if !again.is_empty() {
                left.push_front(again);
            }
        }
        Ok(in_order(answers, transactions))
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

    /// Requests one batch. An error concerns the whole batch.
    async fn receipt_batch(
        &self,
        transactions: &[TxHash],
        token: EvmAddress,
        as_of: BlockHash,
    ) -> Result<Members, SourceError> {
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
        let mut members = Members::with_capacity(transactions.len());
        for (transaction, receipt) in transactions.iter().zip(receipts) {
            let receipt = receipt.await.map_err(|error| self.missing(error));
            let member = receipt.and_then(|receipt| read(receipt, token));
            if is_of_another(&member, *transaction) {
                return Err(malformed(RECEIPT, "a receipt of another transaction"));
            }
            members.push(member);
        }
        Ok(members)
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

fn push_halves(left: &mut VecDeque<Vec<TxHash>>, mut part: Vec<TxHash>) {
    let second = part.split_off(part.len() / 2);
    left.push_front(second);
    left.push_front(part);
}

fn is_one_unreadable(members: &[Result<ReceiptAnswer, SourceError>]) -> bool {
    matches!(members, [Err(SourceError::Malformed { .. })])
}

/// True if the node confused the members of the batch: a null among them may belong to another transaction, too.
fn is_of_another(member: &Result<ReceiptAnswer, SourceError>, asked: TxHash) -> bool {
    matches!(member, Ok(ReceiptAnswer::Mined(receipt)) if receipt.tx_hash != asked)
}

/// True if the node answered the batch and refused this receipt, so that a smaller batch would not help.
fn is_about_it_alone(error: &SourceError) -> bool {
    matches!(
        error,
        SourceError::Refused { .. } | SourceError::NotYet { .. }
    )
}

/// Asked for in other pieces, it would not be answered either.
fn ends_the_asking(error: &SourceError) -> bool {
    match error {
        SourceError::Behind { .. } | SourceError::Unreachable { .. } | SourceError::Busy { .. } => {
            true
        }
        SourceError::Refused { .. }
        | SourceError::NotYet { .. }
        | SourceError::Malformed { .. }
        | SourceError::TooLarge { .. } => false,
    }
}

fn or_some(
    answers: BTreeMap<TxHash, ReceiptAnswer>,
    transactions: &[TxHash],
    error: SourceError,
) -> Result<Vec<ReceiptAnswer>, SourceError> {
    if answers.is_empty() {
        return Err(error);
    }
    Ok(in_order(answers, transactions))
}

fn in_order(
    mut answers: BTreeMap<TxHash, ReceiptAnswer>,
    transactions: &[TxHash],
) -> Vec<ReceiptAnswer> {
    let answer = |transaction| answers.remove(transaction);
    let answers = transactions.iter().map(answer);
    answers
        .map(|answer| answer.unwrap_or(ReceiptAnswer::Unanswered))
        .collect()
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
