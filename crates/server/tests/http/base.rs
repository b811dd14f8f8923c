//! A scripted Base behind JSON-RPC: a block every two seconds of the test's clock, transactions that
//! failed or paid on command, nothing else.

use crate::world::{Agent, BEGUN, TOKEN, World};
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use x811_ledger::clock::Clock as _;
use x811_server::{RpcUrl, ServerConfig};

/// Blocks made before the test began.
const OLD_BLOCKS: u64 = 1_000;

/// Milliseconds between two blocks.
pub(crate) const BLOCK_MS: u64 = 2_000;

/// The first topic of a `Transfer` log.
const TRANSFER: &str = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

/// What the endpoint shows.
#[derive(Debug, Default)]
struct Shown {
    head: u64,
    /// Transactions by hash.
    mined: BTreeMap<String, Mined>,
}

/// A transaction.
#[derive(Debug)]
struct Mined {
    block: u64,
    /// The logs of its receipt; none when it failed.
    logs: Vec<Value>,
}

/// The network, and the endpoint that serves it.
#[derive(Debug, Clone)]
pub(crate) struct Base {
    url: String,
    shown: Arc<Mutex<Shown>>,
}

impl Base {
    /// Serves the network on a free port of loopback until the test ends.
    pub(crate) async fn serve() -> Base {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shown = Arc::new(Mutex::new(Shown {
            head: OLD_BLOCKS,
            mined: BTreeMap::new(),
        }));
        let asked = shown.clone();
        let answer = move |Json(request): Json<Value>| async move {
            let shown = asked.lock().unwrap();
            let answered = |call: &Value| {
                let result = shown.answer(call);
                json!({ "jsonrpc": "2.0", "id": call["id"], "result": result })
            };
            let batch = request.as_array().map(|calls| calls.iter().map(answered));
            Json(batch.map_or_else(|| answered(&request), Iterator::collect))
        };
        let router = Router::new().route("/", post(answer));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Base { url, shown }
    }

    /// Where it is served.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// A ledger that watches this network.
    pub(crate) async fn watched(&self) -> World {
        let configure = |config: &mut ServerConfig| {
            config.network.endpoints[0].rpc_url = RpcUrl::new(&self.url);
            config.network.poll_ms = 2;
        };
        World::start_with(configure).await
    }

    /// A network, a ledger that has seen a block of it, and two agents there.
    pub(crate) async fn peopled() -> (Base, World, [Agent; 2]) {
        let base = Base::serve().await;
        let world = base.watched().await;
        let agents = [world.agent().await, world.agent().await];
        base.watch_ms(&world, BLOCK_MS).await;
        (base, world, agents)
    }

    /// The transaction fails in the next block.
    pub(crate) fn fail(&self, tx_hash: &str) {
        self.mine(tx_hash, Vec::new());
    }

    /// In the next block the transaction moves that much from one agent's wallet to the other's.
    pub(crate) fn pay(&self, tx_hash: &str, from: &Agent, to: &Agent, amount_micro_usdc: u64) {
        let padded = |agent: &Agent| {
            let address = agent.address().to_string();
            format!("0x{:0>64}", address.trim_start_matches("0x"))
        };
        let log = json!({
            "address": TOKEN.to_string(),
            "topics": [TRANSFER, padded(from), padded(to)],
            "data": format!("{amount_micro_usdc:#066x}"),
        });
        self.mine(tx_hash, vec![log]);
    }

    fn mine(&self, tx_hash: &str, logs: Vec<Value>) {
        let mut shown = self.shown.lock().unwrap();
        let block = shown.head + 1;
        shown
            .mined
            .insert(tx_hash.to_owned(), Mined { block, logs });
    }

    /// Lets `ms` pass in steps of a block, each seen by the ledger before the next.
    pub(crate) async fn watch_ms(&self, world: &World, ms: u64) {
        for _ in 0..ms.div_ceil(BLOCK_MS) {
            world.clock.advance_ms(BLOCK_MS);
            self.follow(world).await;
        }
    }

    /// Shows the block of this moment, and waits until the ledger has seen it.
    pub(crate) async fn follow(&self, world: &World) {
        let since_ms = world.clock.wall().since(BEGUN);
        let head = OLD_BLOCKS + since_ms / BLOCK_MS;
        self.shown.lock().unwrap().head = head;
        while world.get("/ready").await.json()["networks"][0]["head_number"] != head {
            tokio::task::yield_now().await;
        }
    }
}

impl Shown {
    fn answer(&self, call: &Value) -> Value {
        let argument = call["params"][0].as_str().unwrap_or_default();
        match call["method"].as_str().unwrap() {
            "eth_chainId" => json!("0x7a69"),
            "eth_getCode" => json!("0x00"),
            "eth_call" => json!(format!("0x{:064x}", 6)),
            "eth_getBlockByNumber" => block(number(argument).unwrap_or(self.head)),
            "eth_getBlockByHash" => block(number(argument).unwrap()),
            "eth_getTransactionReceipt" => self.receipt(argument),
            "eth_getLogs" => self.logs(&call["params"][0]),
            other => panic!("{other} is not scripted"),
        }
    }

    /// The token's transfers in the block that the filter names.
    fn logs(&self, filter: &Value) -> Value {
        let block = number(filter["blockHash"].as_str().unwrap()).unwrap();
        let there = self.mined.iter().filter(|(_, mined)| mined.block == block);
        let logs = there.flat_map(|(tx_hash, mined)| mined.placed_logs(tx_hash));
        logs.collect()
    }

    fn receipt(&self, tx_hash: &str) -> Value {
        let mined = self.mined.get(tx_hash);
        let Some(mined) = mined.filter(|mined| mined.block <= self.head) else {
            return Value::Null;
        };
        json!({
            "transactionHash": tx_hash,
            "blockNumber": format!("{:#x}", mined.block),
            "blockHash": hash(mined.block),
            "status": if mined.logs.is_empty() { "0x0" } else { "0x1" },
            "logs": mined.placed_logs(tx_hash),
        })
    }
}

impl Mined {
    fn placed_logs(&self, tx_hash: &str) -> Vec<Value> {
        let mut logs = self.logs.clone();
        for (index, log) in logs.iter_mut().enumerate() {
            log["blockHash"] = json!(hash(self.block));
            log["blockNumber"] = json!(format!("{:#x}", self.block));
            log["transactionHash"] = json!(tx_hash);
            log["transactionIndex"] = json!("0x0");
            log["logIndex"] = json!(format!("{index:#x}"));
            log["removed"] = json!(false);
        }
        logs
    }
}

/// A block number, written as one or as the hash of one.
fn number(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x")?.trim_start_matches('0');
    u64::from_str_radix(digits, 16).ok()
}

fn hash(number: u64) -> String {
    format!("{number:#066x}")
}

fn block(number: u64) -> Value {
    let timestamp_s = BEGUN.as_ms() / 1_000 + 2 * number - 2 * OLD_BLOCKS;
    json!({
        "number": format!("{number:#x}"),
        "hash": hash(number),
        "parentHash": hash(number.saturating_sub(1)),
        "timestamp": format!("{timestamp_s:#x}"),
    })
}
