//! A registration with a contract wallet, over HTTP: its contract is asked through the configured
//! endpoints (settlement-watcher.md rule 18, ledger-contract.md section 4).

use crate::world::{Agent, TOKEN, World};
use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use x811_protocol::envelope::SealedEnvelope;
use x811_protocol::evm::EvmAddress;
use x811_server::{NetworkConfig, RpcUrl};

const YES: &str = "0x1626ba7e00000000000000000000000000000000000000000000000000000000";
const NO: &str = "0xffffffff00000000000000000000000000000000000000000000000000000000";
const DECIMALS: &str = "0x0000000000000000000000000000000000000000000000000000000000000006";
const WALLET: EvmAddress = EvmAddress::from_bytes([0x5a; 20]);

/// A node with one block, on which every contract says the same.
struct Node {
    url: String,
    said: Arc<Said>,
}

#[derive(Default)]
struct Said {
    /// What contracts say: 0 no, 1 yes, 2 the node is out of order.
    answer: AtomicU64,
    asked: AtomicUsize,
}

impl Node {
    async fn start() -> Node {
        let said = Arc::new(Said::default());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new()
            .route("/", post(answer))
            .with_state(said.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Node { url, said }
    }

    fn says(&self, answer: u64) {
        self.said.answer.store(answer, Ordering::Relaxed);
    }
}

async fn answer(State(said): State<Arc<Said>>, Json(request): Json<Value>) -> Json<Value> {
    Json(match request.as_array() {
        Some(calls) => calls.iter().map(|call| reply(&said, call)).collect(),
        None => reply(&said, &request),
    })
}

fn reply(said: &Said, call: &Value) -> Value {
    let word = |byte: u8| format!("0x{}", format!("{byte:02x}").repeat(32));
    let is_token = call["params"][0]["to"] == json!(TOKEN);
    let result = match call["method"].as_str().unwrap() {
        "eth_chainId" => json!("0x7a69"),
        "eth_getCode" => json!("0x01"),
        "eth_getLogs" => json!([]),
        "eth_call" if is_token => json!(DECIMALS),
        "eth_call" => {
            said.asked.fetch_add(1, Ordering::Relaxed);
            assert_eq!(call["params"][0]["to"], json!(WALLET));
            assert_eq!(call["params"][1]["blockHash"], json!(word(0x11)));
            match said.answer.load(Ordering::Relaxed) {
                0 => json!(NO),
                1 => json!(YES),
                _ => {
                    let error = json!({ "code": -32_000, "message": "header not found" });
                    return json!({ "jsonrpc": "2.0", "id": call["id"], "error": error });
                }
            }
        }
        _ => json!({
            "number": "0x0", "hash": word(0x11), "parentHash": word(0x10), "timestamp": "0x1",
        }),
    };
    json!({ "jsonrpc": "2.0", "id": call["id"], "result": result })
}

async fn world(node: &Node) -> World {
    let url = RpcUrl::new(node.url.clone());
    World::start_with(|config| config.network = NetworkConfig::local(url, TOKEN)).await
}

fn registration(world: &World, agent: &Agent) -> SealedEnvelope {
    let mut payload = agent.registration_payload(world);
    let contract = json!({ "address": WALLET.to_checksum(), "kind": "erc1271", "proof": "0x0102" });
    payload["wallets"].as_array_mut().unwrap().push(contract);
    agent.say(world, world.ledger(), "x811.registry/register", payload)
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_18_a_contract_wallet_is_bound_when_its_contract_says_yes() {
    let node = Node::start().await;
    let world = world(&node).await;
    let agent = Agent::new();
    let message = registration(&world, &agent);
    node.says(2);
    let refused = world.post(message.json.clone()).await;
    assert!(refused.headers.contains_key("retry-after"));
    let refused = refused.refused(503, "X811-9002");
    assert!(refused["message"].as_str().unwrap().contains("try again"));
    node.says(1);
    world.accept(&message).await;
    assert_eq!(node.said.asked.load(Ordering::Relaxed), 2);
    let shown = world.get(&format!("/api/v1/agents/{}", agent.uuid())).await;
    let shown = shown.expect(200);
    let kinds = shown["wallets"].as_array().unwrap().iter();
    let kinds: Vec<&Value> = kinds.map(|wallet| &wallet["kind"]).collect();
    assert_eq!(kinds, ["eoa", "erc1271"]);
    // A repeat is answered from the log.
    let again = world.post(message.json.clone()).await;
    assert_eq!(again.status, 409, "{}", again.text);
    assert_eq!(node.said.asked.load(Ordering::Relaxed), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_18_a_contract_wallet_is_refused_when_its_contract_says_no() {
    let node = Node::start().await;
    let world = world(&node).await;
    let agent = Agent::new();
    let refused = world.post(registration(&world, &agent).json).await;
    let refused = refused.refused(400, "X811-1005");
    let message = refused["message"].as_str().unwrap();
    assert!(
        message.contains("wallets[1]") && message.contains("deploy"),
        "{message}"
    );
    world.accept(&agent.registration(&world)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_18_a_node_that_is_not_there_leaves_the_nonce_unspent() {
    let world = World::start_blind_with(|_| {}).await;
    let agent = Agent::new();
    let message = registration(&world, &agent);
    for _ in 0..2 {
        let refused = world.post(message.json.clone()).await;
        let refused = refused.refused(503, "X811-9002");
        let text = refused["message"].as_str().unwrap();
        assert!(!text.contains("127.0.0.1"), "{text}");
    }
    world.accept(&agent.registration(&world)).await;
}
