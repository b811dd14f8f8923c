//! What a log says was not there, or did not pay, asked for once more.
//!
//! A look names its head. Where the endpoint holds that very block, and below it, deep enough, what
//! the look says was not there, the look was wrong: a block has the same blocks below it for
//! everybody. Where it holds another block at that height a reorganisation came between, and nothing
//! follows.

use std::collections::{BTreeMap, BTreeSet};

use x811_protocol::evm::{EvmAddress, TxHash};
use x811_protocol::money::MicroUsdc;
use x811_protocol::observation::{Block, Transfer};
use x811_protocol::settlement::{Fit, Since};

use super::compare::{Difference, moved, paying};
use super::{NOT_HELD, Testimony, Witness, latest, unknown};
use crate::source::{ChainSource, Header, Receipt, ReceiptAnswer, SourceError};

/// A transaction in which a look did not find what pays.
#[derive(Debug, Clone, Copy)]
pub struct Sought {
    /// The token that was to be paid with.
    pub token: EvmAddress,
    /// Hash of the transaction that is absent.
    pub tx_hash: TxHash,
    /// The head of the look.
    pub head: Block,
    /// So many blocks up to that head, its own included, and it should have been found.
    pub confirmed_depth: u64,
    /// Which of its transfers can pay.
    pub fit: Fit,
    /// From when on they can.
    pub since: Since,
    /// Whether the log has it in a block, later or on another branch.
    pub came_later: bool,
    /// What the look should have found: a transfer to the payee of just this amount; any that can
    /// pay, where the look found nothing at all.
    pub amount: Option<MicroUsdc>,
}

impl Sought {
    fn is(&self, transfer: &Transfer) -> bool {
        self.amount
            .is_none_or(|amount| transfer.amount == amount && transfer.to == self.fit.payee)
    }
}

impl<S: ChainSource> Witness<S> {
    /// Whether the chain has any of these, in order. [`Testimony::Same`] where it has not,
    /// [`Testimony::Differs`] where a look that named its head should have found it. Ask for
    /// [`ASKED_TOGETHER`](super::ASKED_TOGETHER) at a time.
    ///
    /// # Errors
    /// When the endpoint gives no usable answer, however often it is asked.
    pub async fn seek(&mut self, sought: &[Sought]) -> Result<Vec<Testimony>, SourceError> {
        self.head = latest(&self.source).await?;
        let asked: Vec<_> = sought.iter().map(|it| (it.token, it.tx_hash)).collect();
        let answers = self.receipts(&asked).await?;
        let found = sought.iter().zip(&answers);
        let looked: BTreeSet<u64> = found
            .filter(|(_, answer)| matches!(answer, ReceiptAnswer::Mined(_)))
            .map(|(sought, _)| sought.head.number)
            .collect();
        let headers = self.headers(looked, &answers).await?;
        let weigh = |(sought, answer)| weigh(sought, answer, &headers);
        Ok(sought.iter().zip(&answers).map(weigh).collect())
    }
}

fn weigh(sought: &Sought, answer: &ReceiptAnswer, headers: &BTreeMap<u64, Header>) -> Testimony {
    match answer {
        ReceiptAnswer::NotFound => Testimony::Same,
        ReceiptAnswer::TooLarge => unknown("the receipt is too long to be read"),
        ReceiptAnswer::Unanswered => unknown("the endpoint gives no receipt to be read"),
        ReceiptAnswer::Mined(receipt) => found(sought, receipt, headers),
    }
}

/// It is there: should it have been found?
fn found(sought: &Sought, receipt: &Receipt, headers: &BTreeMap<u64, Header>) -> Testimony {
    let block = headers.get(&receipt.block_number).map(Header::block);
    let Some(block) = block.filter(|block| block.hash == receipt.block_hash) else {
        return unknown(NOT_HELD);
    };
    let may_pay = receipt.succeeded && sought.since.admits(&block);
    let mut paying = paying(&sought.fit, receipt).filter(|it| may_pay && sought.is(it));
    let Some(first) = paying.next() else {
        return match sought.amount {
            Some(_) => Testimony::Same,
            None => unknown("it is there, and nothing in it pays"),
        };
    };
    let above = sought.head.number.saturating_add(1);
    let depth = above.saturating_sub(block.number);
    if depth < sought.confirmed_depth {
        return match sought.came_later {
            true => Testimony::Same,
            false => {
                unknown("it pays, and came after the look that did not find it, or just before")
            }
        };
    }
    let looked_at = headers.get(&sought.head.number);
    if looked_at.is_none_or(|header| header.hash != sought.head.hash) {
        return unknown(
            "it pays, and the head of the look that did not say so is not on the endpoint's branch: a \
             reorganisation replaced it, or there was never such a block",
        );
    }
    let not = match sought.amount {
        Some(_) => "did not pay",
        None => "was not found",
    };
    let sentence = format!(
        "the network has a transfer that the log says {not}: {} in block {} ({}), {depth} blocks \
         deep at the head {} of that look",
        moved(first),
        block.number,
        block.hash,
        sought.head.number
    );
    Testimony::Differs(vec![Difference::of("status", sentence)])
}
