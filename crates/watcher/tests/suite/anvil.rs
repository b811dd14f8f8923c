//! The watcher against a real chain: Anvil under Base's chain id, with a token at USDC's address.

#![expect(
    clippy::expect_used,
    reason = "a harness stops the test at once and says what was missing"
)]

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use imbl::OrdSet;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use x811_protocol::evm::{BlockHash, ChainId, EvmAddress, TxHash};
use x811_protocol::observation::{
    BlindCause, MinedTransaction, Observation, Sweep, TransactionStatus,
};
use x811_protocol::parameters::FinalBy;
use x811_protocol::wallet::{binding_hash, binding_message};
use x811_watcher::contract_wallet::{Undecided, is_valid_signature};
use x811_watcher::{
    ChainSource as _, Channels, CheckFailure, Endpoint, Expected, MemoryBlockStore, Misfit,
    NetworkHealth, RpcLimits, RpcSource, WatchedNetwork, Watcher, verify_endpoint,
};

const BASE: ChainId = ChainId::new(8453);
const BASE_USDC: &str = "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913";
const RUNTIME_CODE: &str = include_str!("../../../../contracts/artifacts/TestUsdc.runtime.bin");
const AGENT: &str = "did:x811:019c8c61-8129-7511-9f31-aa5142e65448";
const LEDGER: &str = "did:x811:019c8c61-8129-7511-9f31-aa5142e65449";
const WALLET_CODE: &str = include_str!("../../../../contracts/artifacts/TestWallet.runtime.bin");
const CONFIRMED_DEPTH: u64 = 12;
const PATIENCE: Duration = Duration::from_secs(20);

/// A running Anvil and a client for what only tests do with it.
struct Anvil {
    process: Child,
    url: String,
    http: reqwest::Client,
}

impl Anvil {
    /// Starts it on a free port; each transaction is mined at once.
    fn start() -> Anvil {
        drop(rustls::crypto::ring::default_provider().install_default());
        let http = reqwest::Client::builder()
            .no_proxy()
            .build()
            .expect("an HTTP client");
        let binary = binary();
        let mut process = Command::new(&binary)
            .args(["--port", "0", "--chain-id", &BASE.to_string()])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}", binary.display()));
        let mut lines = BufReader::new(process.stdout.take().expect("stdout is piped")).lines();
        let address = lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| line.strip_prefix("Listening on ").map(str::to_owned))
            .expect("anvil says where it listens");
        // An unread pipe would stop it in the end.
        std::thread::spawn(move || lines.for_each(drop));
        Anvil {
            process,
            url: format!("http://{address}"),
            http,
        }
    }

    fn source(&self) -> RpcSource {
        RpcSource::new(&self.url, RpcLimits::default()).expect("the URL is good")
    }

    async fn rpc(&self, method: &str, params: Value) -> Value {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let response = self.http.post(&self.url).json(&request).send().await;
        let answer = response
            .expect("anvil answers")
            .json::<Value>()
            .await
            .expect("in JSON");
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    async fn mine(&self, blocks: u64) {
        self.rpc("anvil_mine", json!([blocks])).await;
    }

    /// The number of the newest block.
    async fn head(&self) -> u64 {
        let number = self.rpc("eth_blockNumber", json!([])).await;
        let digits = number.as_str().and_then(|hex| hex.strip_prefix("0x"));
        let number = digits.map(|digits| u64::from_str_radix(digits, 16));
        number.expect("a quantity").expect("in hex")
    }

    async fn deploy_token(&self) {
        self.place(usdc(), RUNTIME_CODE).await;
    }

    /// Puts `code` at `address`.
    async fn place(&self, address: EvmAddress, code: &str) {
        let code = format!("0x{}", code.trim());
        self.rpc("anvil_setCode", json!([address, code])).await;
    }

    /// The contract wallet of `owner` at `address`.
    async fn place_wallet(&self, address: EvmAddress, owner: EvmAddress) {
        self.place(address, WALLET_CODE).await;
        let owner = format!("0x{:0>64}", hex_digits(owner));
        let first_slot = format!("0x{}", "0".repeat(64));
        let written = json!([address, first_slot, owner]);
        self.rpc("anvil_setStorageAt", written).await;
    }

    /// The signature of an account that Anvil signs for, per EIP-191.
    async fn sign(&self, signer: EvmAddress, text: &str) -> Vec<u8> {
        let digits: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
        let data = json!([signer, format!("0x{digits}")]);
        let signature = self.rpc("eth_sign", data).await;
        let digits = &signature.as_str().expect("a signature").as_bytes()[2..];
        let byte = |pair: &[u8]| {
            let pair = str::from_utf8(pair).expect("digits");
            u8::from_str_radix(pair, 16).expect("digits")
        };
        digits.chunks(2).map(byte).collect()
    }

    /// Calls `function(address, uint256)` of the token from an account that Anvil signs for.
    async fn call_token(
        &self,
        from: EvmAddress,
        selector: &str,
        to: EvmAddress,
        micro_usdc: u64,
    ) -> TxHash {
        let to = hex_digits(to);
        let transaction = json!({
            "from": from, "to": BASE_USDC, "gas": "0x30d40",
            "data": format!("{selector}{to:0>64}{micro_usdc:064x}"),
        });
        let hash = self.rpc("eth_sendTransaction", json!([transaction])).await;
        hash.as_str().expect("a hash").parse().expect("a hash")
    }

    async fn mint(&self, to: EvmAddress, micro_usdc: u64) -> TxHash {
        self.call_token(to, "0x40c10f19", to, micro_usdc).await
    }

    async fn transfer(&self, from: EvmAddress, to: EvmAddress, micro_usdc: u64) -> TxHash {
        self.call_token(from, "0xa9059cbb", to, micro_usdc).await
    }

    async fn accounts(&self) -> [EvmAddress; 2] {
        let accounts = self.rpc("eth_accounts", json!([])).await;
        [0, 1].map(|index| {
            let text = accounts[index].as_str().expect("an address");
            EvmAddress::parse_lenient(text).expect("an address")
        })
    }
}

impl Drop for Anvil {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// The binary inside npm's platform package; the wrapper beside it would add a Node process.
fn binary() -> std::path::PathBuf {
    let os = std::env::consts::OS
        .replace("macos", "darwin")
        .replace("windows", "win32");
    let arch = std::env::consts::ARCH
        .replace("x86_64", "amd64")
        .replace("aarch64", "arm64");
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../node_modules/@foundry-rs")
        .join(format!(
            "anvil-{os}-{arch}/bin/anvil{}",
            std::env::consts::EXE_SUFFIX
        ));
    assert!(
        path.is_file(),
        "there is no {}: run scripts/test.sh, which installs it",
        path.display()
    );
    path
}

fn hex_digits(account: EvmAddress) -> String {
    account.to_string().trim_start_matches("0x").to_owned()
}

fn usdc() -> EvmAddress {
    EvmAddress::parse_lower(BASE_USDC).expect("an address")
}

/// A watcher on `anvil`, and both ends of its channels.
struct Rig {
    observations: mpsc::Receiver<Observation>,
    watched: watch::Sender<OrdSet<TxHash>>,
    last: Option<Observation>,
    health: watch::Receiver<NetworkHealth>,
}

impl Rig {
    fn start(anvil: &Anvil) -> Rig {
        Rig::through(anvil, &["anvil"])
    }

    /// The same through several endpoints, all of that Anvil.
    fn through(anvil: &Anvil, labels: &[&str]) -> Rig {
        let network = WatchedNetwork {
            name: "base".to_owned(),
            chain_id: BASE,
            token: usdc(),
            confirmed_depth: CONFIRMED_DEPTH,
            final_by: FinalBy::Tag,
            poll_ms: 20,
            block_ms: 0,
        };
        let endpoints = labels.iter().map(|label| Endpoint {
            source: anvil.source(),
            label: (*label).to_owned(),
            jitter_seed: 1,
        });
        let (watched, receiver) = watch::channel(OrdSet::new());
        let (sender, observations) = mpsc::channel(16);
        let all = receiver.clone();
        let channels = Channels {
            watched: receiver,
            expecting: Arc::new(move |_head| Expected {
                looked_for: all.borrow().iter().copied().collect(),
                undecided: BTreeSet::new(),
                recorded: BTreeSet::new(),
                headers: BTreeSet::new(),
            }),
            accounts_of: Arc::new(|_| BTreeSet::new()),
            observations: sender,
        };
        let blocks = MemoryBlockStore::default();
        let watcher = Watcher::new(endpoints.collect(), network, blocks, channels);
        let health = watcher.health();
        tokio::spawn(watcher.run(std::future::pending()));
        Rig {
            observations,
            watched,
            last: None,
            health,
        }
    }

    fn watch(&self, hashes: &[TxHash]) {
        self.watched.send_replace(hashes.iter().copied().collect());
    }

    /// Waits for an observation that `wanted` finds something in, the last one included.
    async fn until<T>(&mut self, wanted: impl Fn(&Observation) -> Option<T>) -> T {
        let waiting = async {
            loop {
                if let Some(found) = self.last.as_ref().and_then(&wanted) {
                    return found;
                }
                self.last = self.observations.recv().await;
                assert!(self.last.is_some(), "the watcher has ended");
            }
        };
        let found = tokio::time::timeout(PATIENCE, waiting).await;
        found.unwrap_or_else(|_| {
            let health = self.health.borrow().clone();
            panic!(
                "not observed in time; the last: {:?}; {health:?}",
                self.last
            )
        })
    }

    async fn until_sweep<T>(&mut self, wanted: impl Fn(&Sweep) -> Option<T>) -> T {
        self.until(|observation| match observation {
            Observation::Sweep(sweep) => wanted(sweep),
            Observation::Unreachable { .. } | Observation::Header { .. } => None,
        })
        .await
    }

    /// Waits until `hash` is seen at `depth` blocks or deeper.
    async fn until_deep(&mut self, hash: TxHash, depth: u64) -> MinedTransaction {
        self.until_sweep(|sweep| match sweep.transactions.get(&hash)? {
            TransactionStatus::Mined(mined) if sweep.depth_of(&mined.block) >= depth => {
                Some(mined.clone())
            }
            TransactionStatus::Mined(_) | TransactionStatus::NotFound => None,
        })
        .await
    }

    async fn until_not_found(&mut self, hash: TxHash) {
        self.until_sweep(|sweep| {
            (sweep.transactions.get(&hash)? == &TransactionStatus::NotFound).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn rule_09_a_real_endpoint_is_checked() {
    let anvil = Anvil::start();
    let source = anvil.source();
    let no_code = Misfit::NoTokenCode {
        token: usdc(),
        chain_id: BASE,
    };
    assert_eq!(
        verify_endpoint(&source, BASE, usdc()).await,
        Err(CheckFailure::Misfit(no_code))
    );
    // A contract that answers nothing, and one that reverts.
    for code in ["0x00", "0x5f5ffd"] {
        anvil.rpc("anvil_setCode", json!([BASE_USDC, code])).await;
        let no_decimals = Misfit::Decimals {
            token: usdc(),
            actual: None,
        };
        assert_eq!(
            verify_endpoint(&source, BASE, usdc()).await,
            Err(CheckFailure::Misfit(no_decimals))
        );
    }
    anvil.deploy_token().await;
    assert_eq!(verify_endpoint(&source, BASE, usdc()).await, Ok(()));
    let expected = ChainId::new(84_532);
    let wrong_chain = Misfit::ChainId {
        expected,
        actual: BASE,
    };
    assert_eq!(
        verify_endpoint(&source, expected, usdc()).await,
        Err(CheckFailure::Misfit(wrong_chain))
    );
}

#[tokio::test]
async fn a_transfer_is_seen_confirmed_and_lost_in_a_reorg() {
    let anvil = Anvil::start();
    let [payer, payee] = anvil.accounts().await;
    anvil.deploy_token().await;
    anvil.mine(20).await;
    let mut rig = Rig::start(&anvil);
    rig.until_sweep(|sweep| (sweep.head.number >= 20).then_some(()))
        .await;

    let mint = anvil.mint(payer, 1_000_000).await;
    rig.watch(&[mint]);
    let minted = rig.until_deep(mint, 1).await;
    // Of those that follow Anvil may mine several in one block.
    let payment = anvil.transfer(payer, payee, 29_725).await;
    let nothing = anvil.transfer(payer, payee, 0).await;
    let overdraft = anvil.transfer(payer, payee, 5_000_000).await;
    let unknown = TxHash::from_bytes([7; 32]);
    rig.watch(&[mint, payment, nothing, overdraft, unknown]);

    let seen = rig.until_deep(payment, 1).await;
    assert!(seen.succeeded);
    let [transfer] = seen.transfers.as_slice() else {
        panic!("one transfer: {seen:?}")
    };
    assert_eq!(
        (transfer.ordinal, transfer.from, transfer.to),
        (0, payer, payee)
    );
    assert_eq!(transfer.amount.as_micro_usdc(), 29_725);
    assert_eq!(minted.transfers[0].from, EvmAddress::ZERO);
    let zero = rig.until_deep(nothing, 1).await;
    assert_eq!(zero.transfers[0].amount.as_micro_usdc(), 0);
    let reverted = rig.until_deep(overdraft, 1).await;
    assert!(
        !reverted.succeeded && reverted.transfers.is_empty(),
        "rule 12: {reverted:?}"
    );
    rig.until_not_found(unknown).await;

    anvil.mine(CONFIRMED_DEPTH).await;
    assert_eq!(rig.until_deep(payment, CONFIRMED_DEPTH).await, seen);
    // Back to the mint's block, the one before the payment's.
    let depth_blocks = anvil.head().await - minted.block.number;
    anvil.rpc("anvil_reorg", json!([depth_blocks, []])).await;
    rig.until_not_found(payment).await;
    // A sweep that the reorganisation overtook is made good by the next block's.
    anvil.mine(1).await;
    assert_eq!(rig.until_deep(mint, 1).await, minted);
}

/// The realistic reorg: the signed transaction comes back in another block, at another place in it.
#[tokio::test]
async fn sw_23_the_same_transaction_in_another_block_has_the_same_ordinal() {
    let anvil = Anvil::start();
    let [payer, payee] = anvil.accounts().await;
    anvil.deploy_token().await;
    anvil.mint(payer, 1_000_000).await;
    anvil.mine(20).await;
    let mut rig = Rig::start(&anvil);
    let payment = anvil.transfer(payer, payee, 29_725).await;
    rig.watch(&[payment]);
    let before = rig.until_deep(payment, 1).await;
    let raw = anvil
        .rpc("eth_getRawTransactionByHash", json!([payment]))
        .await;
    anvil.mine(3).await;
    anvil.rpc("anvil_reorg", json!([4, [[raw, 2]]])).await;
    let after = rig
        .until_sweep(|sweep| match sweep.transactions.get(&payment)? {
            TransactionStatus::Mined(mined) if mined.block != before.block => Some(mined.clone()),
            TransactionStatus::Mined(_) | TransactionStatus::NotFound => None,
        })
        .await;
    assert_eq!(after.transfers, before.transfers);
    assert_eq!(after.block.number, before.block.number + 2);
    anvil.mine(CONFIRMED_DEPTH).await;
    assert_eq!(rig.until_deep(payment, CONFIRMED_DEPTH).await, after);
}

/// `anvil_rollback` announces nothing, and the new branch is as long as the old one.
#[tokio::test]
async fn sw_23_a_rollback_and_a_new_branch_of_the_same_length_are_noticed() {
    let anvil = Anvil::start();
    let [payer, payee] = anvil.accounts().await;
    anvil.deploy_token().await;
    anvil.mint(payer, 1_000_000).await;
    anvil.mine(20).await;
    let mut rig = Rig::start(&anvil);
    let payment = anvil.transfer(payer, payee, 29_725).await;
    rig.watch(&[payment]);
    rig.until_deep(payment, 1).await;
    anvil.rpc("anvil_rollback", json!([1])).await;
    anvil.rpc("evm_increaseTime", json!([7])).await;
    anvil.mine(1).await;
    rig.until_not_found(payment).await;
}

#[tokio::test]
async fn sw_26_two_endpoints_confirm_and_are_named() {
    let anvil = Anvil::start();
    let [payer, payee] = anvil.accounts().await;
    anvil.deploy_token().await;
    anvil.mint(payer, 1_000_000).await;
    anvil.mine(20).await;
    let mut rig = Rig::through(&anvil, &["one", "two"]);
    // More than one batch of receipts, most of them of nothing.
    let mut hashes: Vec<TxHash> = (0..120).map(|n| TxHash::from_bytes([n; 32])).collect();
    let payment = anvil.transfer(payer, payee, 29_725).await;
    let overdraft = anvil.transfer(payer, payee, 5_000_000).await;
    hashes.extend([payment, overdraft]);
    rig.watch(&hashes);
    anvil.mine(CONFIRMED_DEPTH).await;
    rig.until_deep(payment, CONFIRMED_DEPTH).await;
    let failed = rig.until_deep(overdraft, CONFIRMED_DEPTH).await;
    assert!(!failed.succeeded);
    rig.until_not_found(TxHash::from_bytes([119; 32])).await;
    let endpoints = rig.until_sweep(|sweep| Some(sweep.endpoints.clone())).await;
    assert_eq!(endpoints, ["one", "two"]);
}

#[tokio::test]
async fn rule_11_a_transfer_from_before_the_window_is_found() {
    let anvil = Anvil::start();
    let [payer, _] = anvil.accounts().await;
    anvil.deploy_token().await;
    let old = anvil.mint(payer, 5).await;
    anvil.mine(300).await;
    let mut rig = Rig::start(&anvil);
    rig.watch(&[old]);
    assert_eq!(rig.until_deep(old, 300).await.block.number, 1);
}

#[tokio::test]
async fn rule_25_a_dead_endpoint_is_unreachable() {
    let anvil = Anvil::start();
    anvil.deploy_token().await;
    let mut rig = Rig::start(&anvil);
    rig.until_sweep(|_| Some(())).await;
    drop(anvil);
    let cause = rig.until(|observation| match observation {
        Observation::Unreachable { cause, .. } => Some(*cause),
        Observation::Sweep(_) | Observation::Header { .. } => None,
    });
    assert_eq!(cause.await, BlindCause::Unreachable);
}

#[tokio::test]
async fn rule_18_a_contract_wallet_takes_its_owners_signature_over_the_binding_alone() {
    let anvil = Anvil::start();
    let [owner, other] = anvil.accounts().await;
    let wallet = EvmAddress::from_bytes([0x5a; 20]);
    anvil.place_wallet(wallet, owner).await;
    let (agent, ledger) = (
        AGENT.parse().expect("a DID"),
        LEDGER.parse().expect("a DID"),
    );
    let text = binding_message(agent, ledger, wallet);
    let hash = binding_hash(agent, ledger, wallet);
    let sources = [anvil.source(), anvil.source()];
    let judge = async |wallet: EvmAddress, hash: [u8; 32], signature: &[u8]| {
        is_valid_signature(&sources, BASE, wallet, hash, signature).await
    };
    let owners = anvil.sign(owner, &text).await;
    assert_eq!(judge(wallet, hash, &owners).await, Ok(true));
    let others = anvil.sign(other, &text).await;
    assert_eq!(
        judge(wallet, hash, &others).await,
        Ok(false),
        "not the owner"
    );
    let elsewhere = binding_hash(ledger, ledger, wallet);
    assert_eq!(
        judge(wallet, elsewhere, &owners).await,
        Ok(false),
        "another agent"
    );
    assert_eq!(
        judge(wallet, hash, &owners[..64]).await,
        Ok(false),
        "it reverts"
    );
    assert_eq!(
        judge(owner, hash, &owners).await,
        Err(Undecided::Empty),
        "no contract"
    );
    anvil.place_wallet(wallet, other).await;
    assert_eq!(judge(wallet, hash, &owners).await, Ok(false), "sold");
    let other_chain = is_valid_signature(&sources, ChainId::new(1), wallet, hash, &others).await;
    assert!(matches!(other_chain, Err(Undecided::OtherChain { .. })));
}

#[tokio::test]
async fn rule_18_a_contract_that_fails_says_no_and_a_node_that_fails_says_nothing() {
    let anvil = Anvil::start();
    let sources = [anvil.source()];
    let table = [
        ("it reverts", "60006000fd"),
        ("it reverts with words", "6308c379a05f526004601cfd"),
        ("it never ends", "5b600056"),
        ("no instruction", "fe"),
        ("nothing on the stack", "01"),
        ("it jumps nowhere", "60ff56"),
        ("it answers a megabyte", "620f4240 6000f3"),
        ("the value on the wrong side", "631626ba7e60005260206000f3"),
        (
            "a word too many",
            "7f1626ba7e000000000000000000000000000000000000000000000000000000005f5260405ff3",
        ),
    ];
    for (index, (name, code)) in (1..).zip(table) {
        let wallet = EvmAddress::from_bytes([index; 20]);
        anvil.place(wallet, &code.replace(' ', "")).await;
        let verdict = is_valid_signature(&sources, BASE, wallet, [1; 32], &[2; 65]).await;
        assert_eq!(verdict, Ok(false), "{name}");
    }
    let yes = EvmAddress::from_bytes([0x77; 20]);
    anvil
        .place(
            yes,
            "7f1626ba7e000000000000000000000000000000000000000000000000000000005f5260205ff3",
        )
        .await;
    let verdict = is_valid_signature(&sources, BASE, yes, [1; 32], &[2; 65]).await;
    assert_eq!(verdict, Ok(true));
    let unknown = sources[0]
        .call(yes, &[], BlockHash::from_bytes([9; 32]))
        .await;
    assert!(unknown.is_err(), "a block it does not have: {unknown:?}");
    drop(anvil);
    let verdict = is_valid_signature(&sources, BASE, yes, [1; 32], &[2; 65]).await;
    assert!(matches!(verdict, Err(Undecided::Silent(_))), "{verdict:?}");
}
