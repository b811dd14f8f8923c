//! A scripted Base behind JSON-RPC: a block every two seconds of the test's clock, transactions that
//! failed on command, nothing else.

use crate::world::{BEGUN, World};
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
const BLOCK_MS: u64 = 2_000;

/// What the endpoint shows.
#[derive(Debug, Default)]
struct Shown {
    head: u64,
    /// Failed transactions and their blocks.
    failed: BTreeMap<String, u64>,
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
            failed: BTreeMap::new(),
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

    /// A ledger that watches this network.
    pub(crate) async fn watched(&self) -> World {
        let configure = |config: &mut ServerConfig| {
            config.network.endpoints[0].rpc_url = RpcUrl::new(&self.url);
            config.network.poll_ms = 2;
        };
        World::start_with(configure).await
    }

    /// The transaction fails in the next block.
    pub(crate) fn fail(&self, tx_hash: &str) {
        let mut shown = self.shown.lock().unwrap();
        let block = shown.head + 1;
        shown.failed.insert(tx_hash.to_owned(), block);
    }

    /// Lets `ms` pass in steps of a block, each seen by the ledger before the next.
    pub(crate) async fn watch_ms(&self, world: &World, ms: u64) {
        for _ in 0..ms.div_ceil(BLOCK_MS) {
            world.clock.advance_ms(BLOCK_MS);
            let since_ms = world.clock.wall().since(BEGUN);
            let head = OLD_BLOCKS + since_ms / BLOCK_MS;
            self.shown.lock().unwrap().head = head;
            while world.get("/ready").await.json()["networks"][0]["head_number"] != head {
                tokio::task::yield_now().await;
            }
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
            "eth_getLogs" => json!([]),
            other => panic!("{other} is not scripted"),
        }
    }

    fn receipt(&self, tx_hash: &str) -> Value {
        let Some(block) = self
            .failed
            .get(tx_hash)
            .filter(|block| **block <= self.head)
        else {
            return Value::Null;
        };
        json!({
            "transactionHash": tx_hash,
            "blockNumber": format!("{block:#x}"),
            "blockHash": hash(*block),
            "status": "0x0",
            "logs": [],
        })
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
