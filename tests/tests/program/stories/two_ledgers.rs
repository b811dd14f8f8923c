//! One conversation, its envelopes shown to two ledgers on one chain where both agents are
//! registered: a transfer under an EIP-3009 authorization is paid at the ledger that its nonce names.

use super::stage::Stage;
use super::undeclared;
use reqwest::{Client, StatusCode};
use serde_json::{Map, Value};
use x811_client::clock::SystemClock;
use x811_client::compose::{Composer, Request};
use x811_client::entropy::SystemEntropy;
use x811_client::home::Home;
use x811_client::http::LedgerClient;
use x811_protocol::facts::AcceptancePolicy;
use x811_protocol::money::MicroUsdc;
use x811_tests::anvil::BASE_USDC;
use x811_tests::binary::{Finished, Server, run};

/// A schedule that ends soon.
const SHORT: [&str; 4] = [
    "--confirmation-ms",
    "5000",
    "--looks-ms",
    "2000,2000,2000,2000",
];

/// Runs `x811` as an agent of the stage, at another ledger.
fn at(other: &Server, stage: &Stage, agent: &str, arguments: &[&str]) -> Finished {
    let home = stage.folder.path().join("home");
    let first = ["--ledger", other.url(), "--home", home.to_str().unwrap()];
    run(&[&first[..], &["--json", "--agent", agent], arguments].concat())
}

/// What the two agents said to each other behind that place, in the order of the ledger.
fn said(stage: &Stage, behind: u64) -> Vec<(u64, Value)> {
    let mut said = Vec::new();
    for agent in ["ada", "bert"] {
        let inbox = stage.x811(agent, &["inbox", "--limit", "50"]).ok().json();
        for message in inbox["messages"].as_array().unwrap() {
            let (position, envelope) = (&message["position"], &message["envelope"]);
            let position = position.as_u64().unwrap();
            if position > behind && envelope["type"] != "x811/error" {
                said.push((position, envelope.clone()));
            }
        }
    }
    said.sort_by_key(|(position, _)| *position);
    said
}

/// Shows the envelopes to a ledger, which takes each of them.
async fn show(ledger: &Server, envelopes: &[(u64, Value)]) {
    let client = LedgerClient::new(ledger.url()).unwrap();
    for (_, envelope) in envelopes {
        let id = envelope["id"].as_str().unwrap().parse().unwrap();
        let sent = client.send_bytes(id, envelope.to_string().as_bytes()).await;
        assert!(sent.is_ok(), "{envelope} {sent:?}");
    }
}

async fn post(url: &str, envelope: &str) -> (StatusCode, String) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let http = Client::builder().no_proxy().build().unwrap();
    let request = http.post(format!("{url}/api/v1/messages"));
    let answer = request.body(envelope.to_owned()).send().await.unwrap();
    (answer.status(), answer.text().await.unwrap())
}

/// A REQUEST of ada's by a client that does not name the ledger; the interaction.
async fn unnamed_request(stage: &Stage, bert: &str) -> String {
    let home = Home::new(stage.folder.path().join("home"));
    let ada = home.agent(&"ada".parse().unwrap()).unwrap();
    let request = Request {
        task_type: "echo".to_owned(),
        parameters: Map::new(),
        max_budget: MicroUsdc::from_micro_usdc(50_000).unwrap(),
        deadline_s: 60,
        acceptance_policy: AcceptancePolicy::Auto,
        threshold_amount: None,
        callback_url: None,
        idempotency_key: "unnamed".to_owned(),
    };
    let composer = Composer::new(&ada, &SystemEntropy, &SystemClock);
    let sealed = composer.seal(bert.parse().unwrap(), &request).unwrap();
    let client = LedgerClient::new(stage.server.as_ref().unwrap().url()).unwrap();
    let _ = client.send(&sealed).await.unwrap();
    sealed.header.id.to_string()
}

/// Our own REQUEST names its ledger, and no other takes it.
#[tokio::test]
async fn mach_1_a_request_of_ours_is_good_at_one_ledger() {
    let stage = Stage::set(&SHORT).await;
    let data_dir = stage.folder.path().join("other");
    let (rpc_url, token) = (stage.anvil.rpc_url(), BASE_USDC.to_string());
    let chain = ["--network", "local", "--rpc", &rpc_url, "--token", &token];
    let other = Server::start(&data_dir, &chain).unwrap();
    let bert = stage.cast().await;
    for agent in ["ada", "bert"] {
        let register = ["agent", "register", "--capability", "echo"];
        let _ = at(&other, &stage, agent, &register).ok();
    }
    // Both know the agent: the ledger that it is sent to is asked for its name.
    let _ = stage.request(&bert, "hello");
    let [(_, request)] = &said(&stage, 0)[..] else {
        panic!("a REQUEST alone");
    };
    let status = stage.x811("", &["status"]).ok().json();
    assert_eq!(request["payload"]["ledger"], status["did"]);
    let (status, body) = post(other.url(), &request.to_string()).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{body}");
    assert!(body.contains("X811-4001"), "{body}");
}

#[tokio::test]
async fn lc_5_two_ledgers_one_conversation_one_transfer_is_paid_once() {
    let stage = Stage::set(&SHORT).await;
    let (rpc_url, token) = (stage.anvil.rpc_url(), BASE_USDC.to_string());
    let chain = ["--network", "local", "--rpc", &rpc_url, "--token", &token];
    let data_dir = stage.folder.path().join("other");
    let other = Server::start(&data_dir, &[&chain[..], &SHORT].concat()).unwrap();
    let bert = stage.cast().await;
    for agent in ["ada", "bert"] {
        let register = ["agent", "register", "--capability", "echo"];
        let registered = at(&other, &stage, agent, &register).ok().json();
        let warnings = registered["warnings"].as_array().unwrap();
        assert_eq!(
            warnings.len(),
            1,
            "another ledger knows the DID: {registered}"
        );
    }

    let interaction = unnamed_request(&stage, &bert).await;
    stage.deliver_on(&interaction, "hello");
    let spoken = said(&stage, 0);
    assert_eq!(spoken.len(), 5, "REQUEST to VERIFY: {spoken:?}");
    show(&other, &spoken).await;
    let transfer = undeclared::pay(&stage, &interaction).await;
    let tx_hash = transfer.tx_hash.to_string();
    // The payer is a bound wallet at both, and the PAYMENT names no nonce.
    let payment = ["send", "payment", &interaction, "--tx", &tx_hash];
    let _ = stage.x811("ada", &payment).ok();
    show(&other, &said(&stage, spoken[4].0)).await;

    assert_eq!(stage.until_decided(&interaction).await.code, Some(0));
    let mut elsewhere = at(&other, &stage, "bert", &["provider", "paid", &interaction]);
    for _ in 0..60 {
        if elsewhere.code != Some(10) {
            break;
        }
        stage.anvil.next_block().await;
        elsewhere = at(&other, &stage, "bert", &["provider", "paid", &interaction]);
    }
    assert_eq!(elsewhere.code, Some(11), "{elsewhere:?}");
    let history = at(&other, &stage, "bert", &["history", &interaction]).ok();
    assert!(history.stdout.contains("\"unauthorized\""), "{history:?}");

    for (data_dir, checked) in [(stage.data_dir(), 1), (data_dir, 1)] {
        let log = data_dir.join("log.x811");
        let data_dir = data_dir.to_str().unwrap();
        // It waits for the checkpoint over all that was recorded; what is behind the last one is not audited.
        let _ = run(&[
            "--json",
            "export",
            data_dir,
            "--output",
            log.to_str().unwrap(),
        ])
        .ok();
        let audit = run(&["--json", "audit", data_dir, "--rpc", &rpc_url]);
        let report = audit.unverified().json();
        assert_eq!(report["transfers"]["checked"], checked, "{report}");
    }
}
