//! A chain that is made up: every payment that a ledger waits for is mined, confirmed and final at
//! once, and the ledger is told so as its watcher would tell it.

use std::collections::BTreeMap;

use x811_ledger::clock::ManualClock;
use x811_protocol::evm::{BlockHash, TxHash};
use x811_protocol::money::MicroUsdc;
use x811_protocol::observation::{
    Block, MinedTransaction, Observation, Sweep, TransactionStatus, Transfer,
};
use x811_protocol::time::TimestampMs;

use super::ledger::{BenchLedger, NETWORK};
use super::traffic::{PAYEE, PAYER};

/// Blocks on top of a payment: more than any network here asks for.
const DEPTH: u64 = 12;

/// The label of its endpoint.
const ENDPOINT: &str = "bench";

/// A chain on which everybody pays the same.
#[derive(Debug)]
pub(super) struct Chain {
    /// Of its last block.
    height: u64,
    amount: MicroUsdc,
}

impl Chain {
    /// One without blocks.
    pub(super) fn paying(amount: MicroUsdc) -> Chain {
        Chain { height: 0, amount }
    }

    /// Pays everything that is waited for, in the next block.
    pub(super) async fn settle(&mut self, ledger: &BenchLedger<ManualClock>, now: TimestampMs) {
        let watched = ledger.watched();
        if watched.is_empty() {
            return;
        }
        let paid_in = block(self.height + 1, now);
        let head = block(paid_in.number + DEPTH, now);
        self.height = head.number;
        let mined = |hash: TxHash| (hash, TransactionStatus::Mined(self.transfer(paid_in)));
        let transactions: BTreeMap<_, _> = watched.into_iter().map(mined).collect();
        for (head, finalized) in [(paid_in, None), (head, None), (head, Some(head))] {
            let sweep = Sweep {
                network: NETWORK.to_owned(),
                head,
                safe_number: None,
                finalized,
                silent: Vec::new(),
                recorded: BTreeMap::new(),
                followed_from: 0,
                endpoints: vec![ENDPOINT.to_owned()],
                transactions: transactions.clone(),
            };
            ledger.observe(Observation::Sweep(sweep)).await;
        }
    }

    fn transfer(&self, block: Block) -> MinedTransaction {
        MinedTransaction {
            block,
            succeeded: true,
            transfers: vec![Transfer {
                authorization_nonce: None,
                ordinal: 0,
                from: PAYER,
                to: PAYEE,
                amount: self.amount,
            }],
            authorizations: BTreeMap::new(),
            hindrance: None,
            endpoints: vec![ENDPOINT.to_owned()],
        }
    }
}

fn block(number: u64, now: TimestampMs) -> Block {
    let mut hash = [0; 32];
    hash[..8].copy_from_slice(&number.to_be_bytes());
    Block {
        number,
        hash: BlockHash::from_bytes(hash),
        timestamp_s: now.as_ms() / 1_000,
    }
}
