//! `x811 anvil`: what happens on the chain happens through the command, and the ledger runs with
//! its production settings for Base.

use super::stage::{Stage, text};
use alloy::primitives::{Address, B256};
use alloy::providers::Provider;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use x811_client::clock::{Clock as _, SystemClock};
use x811_tests::anvil::{Anvil, BASE_CHAIN_ID, BASE_USDC, DEV_KEYS, LOCAL_CHAIN_ID, binary};
use x811_tests::binary::{Finished, run, x811};

/// A running `x811 anvil start`, asked to end when dropped.
pub(crate) struct Playground {
    process: Child,
    /// What it said of itself.
    pub(crate) started: Value,
}

impl Playground {
    pub(crate) fn start() -> Playground {
        let mut process = Command::new(x811())
            .args(["--json", "anvil", "start", "--port", "0"])
            .args(["--block-time", "1", "--anvil"])
            .arg(binary())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let stdout = process.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        Playground {
            process,
            started: serde_json::from_str(&line).unwrap(),
        }
    }

    pub(crate) fn rpc_url(&self) -> String {
        text(&self.started, "rpc_url")
    }

    /// Runs a verb on it.
    pub(crate) fn does(&self, words: &[&str]) -> Finished {
        let rpc_url = self.rpc_url();
        run(&[&["--json", "anvil"], words, &["--rpc", &rpc_url]].concat())
    }
}

impl Drop for Playground {
    fn drop(&mut self) {
        let id = self.process.id().to_string();
        // Already gone is as good.
        let _ = Command::new("kill").arg(id).status();
        let _ = self.process.wait();
    }
}

/// Production settings: no `--network`, no `--token`, no `--confirmed-depth`.
#[tokio::test]
async fn an_interaction_settles_on_the_playground_with_the_settings_for_base() {
    let playground = Playground::start();
    let rpc_url = playground.rpc_url();
    let anvil = Anvil::attach(&rpc_url);
    let stage = Stage::on(anvil, vec!["--rpc".to_owned(), rpc_url]);
    let bert = stage.cast().await;
    let interaction = stage.deliver(&bert);

    let payment = stage.pay(&interaction);
    assert_eq!(payment["network"], "base");
    assert_eq!(payment["origin"], "signed", "{payment}");
    stage.until_recorded(&interaction, "\"seen\"").await;
    let _ = playground.does(&["mine", "12"]).ok();

    let paid = stage.until_decided(&interaction).await;
    assert_eq!(paid.code, Some(0), "{paid:?}");
    let report = stage.audit();
    assert_eq!(report["verdict"], "clean", "{report}");
    assert_eq!(report["interactions"]["completed"], 1);
}

#[tokio::test]
async fn every_verb_does_what_it_says() {
    let playground = Playground::start();
    let anvil = Anvil::attach(&playground.rpc_url());
    let provider = anvil.provider();
    let id = provider.get_chain_id().await.unwrap();
    assert_eq!(id, BASE_CHAIN_ID);
    assert_eq!(
        playground.started["accounts"][0]["private_key"],
        DEV_KEYS[0]
    );
    let _ = playground.does(&["halt"]).ok();
    let head = provider.get_block_number().await.unwrap();

    let mined = playground.does(&["mine", "5"]).ok().json();
    assert_eq!(mined["head_number"], head + 5);

    let payer = Anvil::dev_account(0).address();
    let account = Address::repeat_byte(0x42).to_string();
    let _ = playground.does(&["fund", &account, "0.000001"]).ok();
    let refused = playground.does(&["fund", &account, "0"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");

    let sent = transfer(provider, payer, account.parse().unwrap()).await;
    let dropped = playground.does(&["drop", &sent.to_string()]).ok().json();
    assert_eq!(dropped["tx_hash"], sent.to_string());
    let gone = playground.does(&["drop", &sent.to_string()]);
    assert_eq!(gone.code, Some(2), "{gone:?}");

    let sent = transfer(provider, payer, account.parse().unwrap()).await;
    let _ = playground.does(&["mine", "1"]).ok();
    assert_eq!(status(provider, sent).await, Some(true));

    for (verb, undo) in [
        (vec!["pause"], vec!["unpause"]),
        (
            vec!["blacklist", account.as_str()],
            vec!["blacklist", account.as_str(), "--remove"],
        ),
    ] {
        let _ = playground.does(&verb).ok();
        let sent = transfer(provider, payer, account.parse().unwrap()).await;
        let _ = playground.does(&["mine", "1"]).ok();
        assert_eq!(status(provider, sent).await, Some(false), "{verb:?}");
        let _ = playground.does(&undo).ok();
        let sent = transfer(provider, payer, account.parse().unwrap()).await;
        let _ = playground.does(&["mine", "1"]).ok();
        assert_eq!(status(provider, sent).await, Some(true), "{undo:?}");
    }
}

#[tokio::test]
async fn a_reorg_takes_transactions_away_or_mines_them_again_in_another_block() {
    let playground = Playground::start();
    let anvil = Anvil::attach(&playground.rpc_url());
    let provider = anvil.provider();
    let _ = playground.does(&["halt"]).ok();
    let _ = playground.does(&["mine", "10"]).ok();
    let (payer, payee) = (Anvil::dev_account(0).address(), Address::repeat_byte(0x42));
    let mut sent = Vec::new();
    for _ in 0..3 {
        sent.push(transfer(provider, payer, payee).await);
        let _ = playground.does(&["mine", "1"]).ok();
    }
    let head = provider.get_block_number().await.unwrap();
    let before = provider.get_transaction_receipt(sent[2]).await.unwrap();

    let kept = playground.does(&["reorg", "4", "--keep-transactions"]);
    let kept = kept.ok().json();
    assert_eq!(kept["transactions"].as_array().unwrap().len(), 3, "{kept}");
    assert_ne!(kept["old_hash"], kept["new_hash"]);
    assert_eq!(provider.get_block_number().await.unwrap(), head);
    let after = provider.get_transaction_receipt(sent[2]).await.unwrap();
    let (before, after) = (before.unwrap(), after.unwrap());
    assert!(after.status());
    assert_ne!(before.block_hash, after.block_hash);

    let gone = playground.does(&["reorg", "4"]).ok().json();
    assert_eq!(gone["kept"], false);
    for hash in sent {
        assert_eq!(status(provider, hash).await, None);
    }
    let refused = playground.does(&["reorg", "9999"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
}

/// Anvil by itself lets its clock stay at the last common block: three such reorganisations, and a
/// ledger calls the chain stale.
#[tokio::test]
async fn rule_25_after_any_number_of_reorgs_blocks_are_as_young_as_before() {
    let playground = Playground::start();
    let anvil = Anvil::attach(&playground.rpc_url());
    let _ = playground.does(&["mine", "10"]).ok();
    for _ in 0..16 {
        anvil.next_block().await;
    }
    for _ in 0..3 {
        let age_s = || async { age_of_head_s(anvil.provider()).await };
        let reorganised = playground.does(&["reorg", "15"]).ok().json();
        let age = age_s().await;
        assert!((-1..=5).contains(&age), "{age} s after {reorganised}");
        anvil.next_block().await;
        let age = age_s().await;
        assert!((-1..=5).contains(&age), "{age} s at the next block");
    }
}

/// Rule 24 rehearsed: a payment that was confirmed is taken away, everybody is told, and it is
/// confirmed again when it returns, by the same bytes.
#[tokio::test]
async fn sw_24_an_operator_takes_a_payment_away_and_brings_it_back() {
    let playground = Playground::start();
    let rpc_url = playground.rpc_url();
    let anvil = Anvil::attach(&rpc_url);
    let stage = Stage::on(anvil, vec!["--rpc".to_owned(), rpc_url]);
    let bert = stage.cast().await;
    // The reorganisations must not take away what the payer was given.
    let _ = playground.does(&["mine", "20"]).ok();
    for _ in 0..3 {
        let interaction = stage.deliver(&bert);
        let _ = stage.pay(&interaction);
        stage.until_recorded(&interaction, "\"seen\"").await;
        let _ = playground.does(&["mine", "12"]).ok();
        assert_eq!(stage.until_decided(&interaction).await.code, Some(0));

        let file = stage.folder.path().join(format!("{interaction}.json"));
        let file = file.to_str().unwrap();
        let _ = playground.does(&["reorg", "20", "--save", file]).ok();
        let again = playground.does(&["reorg", "1", "--save", file]);
        assert_eq!(again.code, Some(4), "nothing is overwritten: {again:?}");
        stage.until_recorded(&interaction, "\"reversed\"").await;
        let paid = stage.x811("bert", &["provider", "paid", &interaction]);
        assert_ne!(paid.code, Some(0), "{paid:?}");

        let _ = playground.does(&["resend", file]).ok();
        stage.anvil.next_block().await;
        let _ = playground.does(&["mine", "12"]).ok();
        stage.until_recorded(&interaction, "\"returned\"").await;
        assert_eq!(stage.until_decided(&interaction).await.code, Some(0));
        let status = stage.x811("", &["status"]).json();
        assert_eq!(status["networks"][0]["sight"], "fresh", "{status}");
    }
    let report = stage.audit();
    assert_eq!(report["verdict"], "clean", "{report}");
    assert_eq!(report["interactions"]["completed"], 3, "{report}");
}

#[tokio::test]
async fn a_halted_chain_stands_still_and_a_resumed_one_goes_on() {
    let playground = Playground::start();
    let anvil = Anvil::attach(&playground.rpc_url());
    let provider = anvil.provider();
    let head = || async { provider.get_block_number().await.unwrap() };
    let halted = playground.does(&["halt"]).ok().json();
    assert_eq!(halted["halted"], true, "{halted}");
    assert!(halted.get("block_time_s").is_none(), "{halted}");
    let stopped_at = head().await;
    assert_eq!(halted["head_number"], stopped_at);
    // A transaction waits while a chain with the same time between blocks makes two.
    let payer = Anvil::dev_account(0).address();
    let sent = transfer(provider, payer, Address::repeat_byte(0x42)).await;
    let going = Anvil::start(LOCAL_CHAIN_ID, Some(1));
    going.next_block().await;
    going.next_block().await;
    assert_eq!(head().await, stopped_at);
    assert_eq!(status(provider, sent).await, None);

    let resumed = playground.does(&["resume", "--block-time", "1"]);
    let resumed = resumed.ok().json();
    assert_eq!(
        (&resumed["halted"], &resumed["block_time_s"]),
        (&Value::from(false), &Value::from(1))
    );
    anvil.next_block().await;
    anvil.next_block().await;
    assert!(head().await >= stopped_at + 2);
    assert_eq!(status(provider, sent).await, Some(true));
    let refused = playground.does(&["resume", "--block-time", "0"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
}

/// A ledger answers HTTP too, but is no chain; nothing answers on port 1.
#[tokio::test]
async fn an_endpoint_that_is_not_anvil_is_left_alone() {
    let stranger = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = stranger.local_addr().unwrap();
    let answering = std::thread::spawn(move || answer_as_geth(&stranger));
    let rpc_url = format!("http://{address}");
    let refused = run(&["--json", "anvil", "mine", "1", "--rpc", &rpc_url]);
    answering.join().unwrap();
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stdout.contains("not_anvil"), "{refused:?}");
    assert!(refused.stdout.contains("Geth/v1.16.0"), "{refused:?}");

    let refused = run(&["anvil", "mine", "1", "--rpc", "http://127.0.0.1:1"]);
    assert_eq!(refused.code, Some(3), "{refused:?}");
    assert!(refused.stderr.contains("x811 anvil start"), "{refused:?}");
}

/// Answers one request as a Geth node would, and fails on any other.
fn answer_as_geth(listener: &std::net::TcpListener) {
    use std::io::{Read, Write};
    let (mut stream, _) = listener.accept().unwrap();
    let mut request = [0; 4_096];
    let length = stream.read(&mut request).unwrap();
    let mut request = String::from_utf8_lossy(&request[..length]).into_owned();
    while !request.contains('}') {
        let mut more = [0; 4_096];
        let length = stream.read(&mut more).unwrap();
        request.push_str(&String::from_utf8_lossy(&more[..length]));
    }
    assert!(request.contains("web3_clientVersion"), "{request}");
    let body = r#"{"jsonrpc":"2.0","id":1,"result":"Geth/v1.16.0"}"#;
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
    let length = body.len();
    write!(stream, "{head}\r\ncontent-length: {length}\r\n\r\n{body}").unwrap();
}

/// Sends 0.000001 USDC from an account whose key Anvil has; does not mine.
async fn transfer(provider: &impl Provider, from: Address, to: Address) -> B256 {
    use alloy::sol_types::SolCall;
    let call = x811_tests::anvil::usdc::transferCall {
        to,
        value: alloy::primitives::U256::ONE,
    };
    let request = serde_json::json!([{
        "from": from, "to": BASE_USDC, "gas": "0x30d40",
        "data": alloy::primitives::Bytes::from(call.abi_encode()),
    }]);
    let sent = provider.raw_request("eth_sendTransaction".into(), request);
    sent.await.unwrap()
}

/// Whether a mined transaction succeeded.
async fn status(provider: &impl Provider, hash: B256) -> Option<bool> {
    let receipt = provider.get_transaction_receipt(hash).await.unwrap();
    receipt.map(|receipt| receipt.status())
}

/// How much older than now the newest block is, by its own timestamp.
async fn age_of_head_s(provider: &impl Provider) -> i64 {
    let head = provider.get_block_by_number(alloy::eips::BlockNumberOrTag::Latest);
    let head_s = head.await.unwrap().unwrap().header.timestamp;
    let now_ms = SystemClock.now().as_ms();
    i64::try_from(now_ms / 1_000).unwrap() - i64::try_from(head_s).unwrap()
}
