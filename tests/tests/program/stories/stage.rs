//! What the stories play on: an Anvil with USDC where Base has it, a ledger, and two agents who act
//! through the command line.

use alloy::primitives::{Address, B256};
use serde_json::Value;
use std::path::PathBuf;
use tempfile::TempDir;
use x811_protocol::key::SecretKey;
use x811_tests::anvil::{Anvil, BASE_USDC, LOCAL_CHAIN_ID};
use x811_tests::binary::{Finished, Server, run};

/// Test USDC that the initiator starts with, in micro-USDC.
const PURSE_MICRO_USDC: u64 = 10_000_000;

/// Wei that the initiator starts with, for gas.
const GAS_WEI: u128 = 1_000_000_000_000_000_000;

pub(crate) struct Stage {
    pub(crate) anvil: Anvil,
    pub(crate) folder: TempDir,
    pub(crate) server: Option<Server>,
    /// More options of `x811 serve`.
    options: Vec<String>,
}

impl Stage {
    /// A chain with a block a second, and a ledger on it; `{rpc}` in an option is its endpoint.
    pub(crate) async fn set(options: &[&str]) -> Stage {
        let anvil = Anvil::start(LOCAL_CHAIN_ID, Some(1));
        anvil.deploy_usdc(BASE_USDC).await;
        let mut all = vec![
            "--network".to_owned(),
            "local".to_owned(),
            "--rpc".to_owned(),
            anvil.rpc_url(),
            "--token".to_owned(),
            BASE_USDC.to_string(),
        ];
        let rpc_url = anvil.rpc_url();
        all.extend(
            options
                .iter()
                .map(|option| option.replace("{rpc}", &rpc_url)),
        );
        Stage::on(anvil, all)
    }

    /// The same with its cast; gives the DID of the provider.
    pub(crate) async fn peopled(options: &[&str]) -> (Stage, String) {
        let stage = Stage::set(options).await;
        let bert = stage.cast().await;
        (stage, bert)
    }

    /// A ledger on a chain that is there, with exactly these options.
    pub(crate) fn on(anvil: Anvil, options: Vec<String>) -> Stage {
        let mut stage = Stage {
            anvil,
            folder: TempDir::new().unwrap(),
            server: None,
            options,
        };
        stage.start();
        stage
    }

    /// The transaction that the last PAYMENT of the interaction names.
    pub(crate) fn payment(&self, interaction: &str) -> B256 {
        let history = self.x811("bert", &["history", interaction]).ok().json();
        let records = history["records"].as_array().unwrap().iter();
        let mut named = records.filter_map(|it| it["leaf"]["event"]["facts"]["tx_hash"].as_str());
        named.next_back().unwrap().parse().unwrap()
    }

    pub(crate) fn data_dir(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// The ledger's key for that role, as its operator has it.
    pub(crate) fn key(&self, role: &str) -> SecretKey {
        let seed = self.data_dir().join(format!("keys/{role}.seed"));
        let seed = std::fs::read_to_string(seed).unwrap();
        let mut bytes = [0; 32];
        hex::decode_to_slice(seed.trim(), &mut bytes).unwrap();
        SecretKey::from_seed(bytes)
    }

    /// Starts the ledger again on the same directory.
    pub(crate) fn start(&mut self) {
        let options: Vec<&str> = self.options.iter().map(String::as_str).collect();
        let started = Server::start(&self.data_dir(), &options);
        self.server = Some(started.unwrap_or_else(|ended| panic!("the ledger starts: {ended:?}")));
    }

    /// Starts the ledger again, from now on with these options besides.
    pub(crate) fn start_with(&mut self, more: &[&str]) {
        self.options
            .extend(more.iter().map(|option| (*option).to_owned()));
        self.kill();
        self.start();
    }

    /// Ends the ledger as a power cut would.
    pub(crate) fn kill(&mut self) {
        if let Some(server) = self.server.take() {
            server.kill();
        }
    }

    /// Runs `x811` as an agent of this stage.
    pub(crate) fn x811(&self, agent: &str, arguments: &[&str]) -> Finished {
        let arguments = [&["--json"], arguments].concat();
        self.x811_in_words(agent, &arguments)
    }

    /// Runs it for its text.
    pub(crate) fn x811_in_words(&self, agent: &str, arguments: &[&str]) -> Finished {
        let home = self.folder.path().join("home");
        let url = self
            .server
            .as_ref()
            .map_or("http://127.0.0.1:1", Server::url);
        let mut all = vec!["--ledger", url, "--home", home.to_str().unwrap()];
        if !agent.is_empty() {
            all.extend(["--agent", agent]);
        }
        all.extend(arguments);
        run(&all)
    }

    /// Makes Ada (who pays) and Bert (who works), registered and funded; returns Bert's DID.
    pub(crate) async fn cast(&self) -> String {
        for name in ["ada", "bert"] {
            let _ = self.x811("", &["agent", "new", name]).ok();
        }
        let ada = self.x811("ada", &["agent", "register"]).ok().json();
        let bert = self
            .x811("bert", &["agent", "register", "--capability", "echo"])
            .ok()
            .json();
        let wallet: Address = text(&ada, "wallet").parse().unwrap();
        self.anvil.give_gas(wallet, GAS_WEI).await;
        self.anvil.mint(BASE_USDC, wallet, PURSE_MICRO_USDC).await;
        text(&bert, "did")
    }

    /// REQUEST to VERIFY; returns the interaction.
    pub(crate) fn deliver(&self, bert: &str) -> String {
        self.deliver_about(bert, "hello")
    }

    /// The same, with a text that is in REQUEST and RESULT.
    pub(crate) fn deliver_about(&self, bert: &str, text: &str) -> String {
        let id = self.request(bert, text);
        self.deliver_on(&id, text);
        id
    }

    /// What follows a REQUEST, up to the VERIFY.
    pub(crate) fn deliver_on(&self, id: &str, text: &str) {
        let offer = ["send", "offer", id, "--price", "0.029", "--time", "5"];
        let _ = self.x811("bert", &offer).ok();
        let _ = self.x811("ada", &["send", "accept", id]).ok();
        let _ = self
            .x811("bert", &["send", "result", id, "--content", text])
            .ok();
        let _ = self.x811("ada", &["send", "verify", id]).ok();
    }

    /// A REQUEST with a text; returns the interaction.
    pub(crate) fn request(&self, bert: &str, about: &str) -> String {
        let request = [
            "send", "request", "--to", bert, "--task", "echo", "--budget", "0.05",
        ];
        let about = format!("text={about}");
        let request = [&request[..], &["--deadline", "60", "--param", &about]].concat();
        text(&self.x811("ada", &request).ok().json(), "interaction_id")
    }

    /// Transfers and declares; returns the answer.
    pub(crate) fn pay(&self, interaction: &str) -> Value {
        let rpc_url = self.anvil.rpc_url();
        self.x811("ada", &["pay", interaction, "--rpc", &rpc_url])
            .ok()
            .json()
    }

    /// Whom the OFFER says to pay.
    pub(crate) fn payee(&self, interaction: &str) -> Address {
        let paid = self.x811("bert", &["provider", "paid", interaction]).json();
        text(&paid, "payee").parse().unwrap()
    }

    /// The Ethereum key of an agent, from its own file.
    pub(crate) fn wallet_key(&self, agent: &str) -> String {
        let file = self
            .folder
            .path()
            .join("home/agents")
            .join(format!("{agent}.json"));
        let file: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        text(&file, "wallet_key")
    }

    /// Asks until `provider paid` gives another answer than "not yet".
    pub(crate) async fn until_decided(&self, interaction: &str) -> Finished {
        for _ in 0..240 {
            let paid = self.x811("bert", &["provider", "paid", interaction]);
            if paid.code != Some(10) {
                return paid;
            }
            self.anvil.next_block().await;
        }
        panic!("nothing was decided within 240 blocks");
    }

    /// Waits until the interaction's history says `word`.
    pub(crate) async fn until_recorded(&self, interaction: &str, word: &str) {
        for _ in 0..60 {
            let history = self.x811("bert", &["history", interaction]).ok();
            if history.stdout.contains(word) {
                return;
            }
            self.anvil.next_block().await;
        }
        panic!("{word} was not recorded within 60 blocks");
    }

    /// The audit of the data directory of the running ledger, once a checkpoint covers all of it.
    pub(crate) fn audit(&self) -> Value {
        for _ in 0..200 {
            let report = self.audit_stopped();
            if report["tail"].is_null() {
                return report;
            }
        }
        panic!("no checkpoint covers the log");
    }

    /// The audit of the data directory as it is.
    pub(crate) fn audit_stopped(&self) -> Value {
        let data_dir = self.data_dir();
        let audit = self.x811("", &["audit", data_dir.to_str().unwrap()]);
        assert!(matches!(audit.code, Some(21 | 22)), "{audit:?}");
        audit.json()
    }
}

/// A text member.
pub(crate) fn text(json: &Value, name: &str) -> String {
    let value = json.get(name).and_then(Value::as_str);
    value
        .unwrap_or_else(|| panic!("no `{name}` in {json}"))
        .to_owned()
}
