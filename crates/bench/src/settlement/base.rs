//! The bench's chain: an Anvil of its own, transfers on it, and what it costs to ask for them one
//! by one.

use std::path::Path;

use serde_json::{Value, json};
use x811_protocol::digest::Digest;
use x811_protocol::evm::{EvmAddress, TxHash};
use x811_protocol::money::MicroUsdc;

use super::CHAIN_ID;
use crate::broken;
use crate::cpu::{Elapsed, Stopwatch};
use x811_console::failure::Failure;
use x811_devchain::anvil::node::{Chain, Mining, Node};
use x811_devchain::anvil::rpc::{Anvil, quantity, text};
use x811_devchain::anvil::token::{BASE_USDC, Token};

/// The topic of a transfer: `keccak256("Transfer(address,address,uint256)")`.
const TRANSFER_TOPIC: &str = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

/// The selector of `transfer(address,uint256)`.
const TRANSFER: &str = "a9059cbb";

/// Gas of a transfer, and some more.
const TRANSFER_GAS: &str = "0x186a0";

/// What the payer starts with, in micro-USDC: a million USDC.
const PURSE_MICRO_USDC: u64 = 1_000_000_000_000;

/// Transactions sent in one request.
const SENT_AT_ONCE: usize = 250;

/// A chain for one run.
pub(super) struct Base {
    node: Node,
    anvil: Anvil,
    token: EvmAddress,
    payer: Value,
}

impl Base {
    /// Starts it, with the token where Base has it and one account that pays.
    pub(super) async fn start(program: &Path) -> Result<Base, Failure> {
        let chain = Chain {
            chain_id: CHAIN_ID,
            port: 0,
            mining: Mining::OnDemand,
        };
        let node = Node::start(program, chain).await?;
        let anvil = Anvil::connect(node.rpc_url()).await?;
        let address = EvmAddress::parse_checksummed(BASE_USDC).map_err(broken)?;
        let accounts = anvil.call("eth_accounts", json!([])).await?;
        let payer = accounts.get(0).cloned().unwrap_or_default();
        let account = payer.as_str().unwrap_or_default();
        let account = EvmAddress::parse_lenient(account).map_err(broken)?;
        let token = Token::new(Anvil::connect(node.rpc_url()).await?, address);
        token.place().await?;
        let purse = MicroUsdc::from_micro_usdc(PURSE_MICRO_USDC).map_err(broken)?;
        token.fund(account, purse).await?;
        Ok(Base {
            node,
            anvil,
            token: address,
            payer,
        })
    }

    pub(super) fn rpc_url(&self) -> &str {
        self.node.rpc_url()
    }

    pub(super) fn token(&self) -> EvmAddress {
        self.token
    }

    pub(super) async fn head_number(&self) -> Result<u64, Failure> {
        Ok(self.anvil.block_number().await?)
    }

    pub(super) async fn mine(&self, blocks: u64) -> Result<(), Failure> {
        Ok(self.anvil.mine(blocks).await?)
    }

    /// Sends transfers into the pool, to as many payees, and does not mine them.
    pub(super) async fn send(&self, first: u64, count: u64) -> Result<Vec<TxHash>, Failure> {
        // Anvil takes the calls of one request in any order.
        let method = "eth_getTransactionCount";
        let used = self.anvil.call(method, json!([self.payer, "latest"]));
        let used = quantity(&used.await?).ok_or_else(|| broken("the payer has no nonce"))?;
        let transfers: Vec<Value> = (first..first + count)
            .map(|index| {
                let nonce = format!("0x{:x}", used + index - first);
                let payee = hex_of(&Digest::of(&index.to_be_bytes()).as_bytes()[..20]);
                let data = format!("0x{TRANSFER}{payee:0>64}{:064x}", 1 + index % 100_000);
                json!([{
                    "from": self.payer, "to": self.token, "nonce": nonce, "gas": TRANSFER_GAS,
                    "data": data,
                }])
            })
            .collect();
        let mut hashes = Vec::with_capacity(transfers.len());
        for some in transfers.chunks(SENT_AT_ONCE) {
            for sent in self.anvil.call_many("eth_sendTransaction", some).await? {
                let hash = sent.as_str().unwrap_or_default();
                hashes.push(hash.parse().map_err(broken)?);
            }
        }
        Ok(hashes)
    }

    /// Mines until the pool is empty, blocks as full as their gas allows; returns how many.
    pub(super) async fn mine_all(&self) -> Result<u64, Failure> {
        let mut blocks = 0;
        loop {
            let pool = self.anvil.call("txpool_status", json!([])).await?;
            let waiting = pool.get("pending").and_then(quantity).unwrap_or(0);
            if waiting == 0 {
                return Ok(blocks);
            }
            self.mine(1).await?;
            blocks += 1;
        }
    }

    /// The transfers of blocks, asked for by block hash: what no tail can be faster than.
    pub(super) async fn logs(&self, first: u64, last: u64) -> Result<(u64, Elapsed), Failure> {
        let stopwatch = Stopwatch::start(std::process::id());
        let mut transfers = 0;
        for number in first..=last {
            let hash = self.anvil.block_hash(number).await?;
            let filter =
                json!([{"blockHash": hash, "address": self.token, "topics": [TRANSFER_TOPIC]}]);
            let logs = self.anvil.call("eth_getLogs", filter).await?;
            transfers += logs.as_array().map_or(0, Vec::len) as u64;
        }
        Ok((transfers, stopwatch.elapsed()))
    }

    /// One receipt for each, in requests of so many at a time; all must have moved something.
    pub(super) async fn receipts(
        &self,
        hashes: &[TxHash],
        at_once: usize,
    ) -> Result<Elapsed, Failure> {
        let method = "eth_getTransactionReceipt";
        let asked: Vec<Value> = hashes.iter().map(|hash| json!([hash])).collect();
        let stopwatch = Stopwatch::start(std::process::id());
        for some in asked.chunks(at_once) {
            let receipts = match some {
                [alone] => vec![self.anvil.call(method, alone.clone()).await?],
                several => self.anvil.call_many(method, several).await?,
            };
            for receipt in receipts {
                let logs = receipt.get("logs").and_then(Value::as_array);
                if text(&receipt, "status") != "0x1" || logs.is_none_or(Vec::is_empty) {
                    return Err(broken("a transfer has no receipt"));
                }
            }
        }
        Ok(stopwatch.elapsed())
    }

    pub(super) async fn stop(self) {
        self.node.stop().await;
    }
}

/// Hashes of transactions that were never sent.
pub(super) fn made_up(count: u64) -> impl Iterator<Item = TxHash> {
    (0..count).map(|index| TxHash::from_bytes(*Digest::of(&index.to_le_bytes()).as_bytes()))
}

fn hex_of(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
