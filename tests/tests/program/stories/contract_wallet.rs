//! A contract wallet (ERC-1271): bound when its contract takes its owner's signature, it pays, and
//! the audit calls the binding what it is, the ledger's word. Whatever else a contract or a node says
//! binds nothing.

use super::stage::{Stage, text};
use super::undeclared::nonce_of;
use alloy::primitives::{Address, B256, U256, address, hex};
use alloy::signers::SignerSync as _;
use alloy::sol_types::{SolStruct as _, eip712_domain};
use serde_json::json;
use std::time::Duration;
use x811_tests::anvil::{Anvil, BASE_USDC, DEV_KEYS, LOCAL_CHAIN_ID, usdc};
use x811_tests::binary::Finished;
use x811_tests::proxy::{Act, Call, Proxy, rules};

const WALLET: Address = address!("5A5A5a5a5A5A5a5A5a5A5A5A5A5A5A5A5A5a5A5a");
/// The development accounts that own the wallet, do not, and send its transfer.
const OWNER: usize = 4;
const OTHER: usize = 5;
const RELAYER: usize = 6;
/// What the offer of these stories costs with its fee.
const TOTAL_MICRO_USDC: u64 = 29_725;
/// How `x811` ends when the ledger refuses.
const REFUSED: Option<i32> = Some(1);

/// What a node does instead of answering.
type Failing = fn() -> Act;

alloy::sol! {
    struct TransferWithAuthorization {
        address from;
        address to;
        uint256 value;
        uint256 validAfter;
        uint256 validBefore;
        bytes32 nonce;
    }
}

/// Ada has no key on the chain, only a contract; Bert is as ever.
fn cast(stage: &Stage) -> String {
    let _ = stage.x811("", &["agent", "new", "ada", "--no-wallet"]).ok();
    let _ = stage.x811("", &["agent", "new", "bert"]).ok();
    let register = ["agent", "register", "--capability", "echo"];
    text(&stage.x811("bert", &register).ok().json(), "did")
}

/// The signature of a development account over what `wallet` must sign to be `agent`'s (EIP-191).
fn binding(stage: &Stage, agent: &str, wallet: Address, signer: usize) -> Vec<u8> {
    let asked = ["agent", "binding", "--wallet", &wallet.to_string()];
    let asked = stage.x811(agent, &asked).ok().json();
    let signer = Anvil::dev_account(signer);
    let text = text(&asked, "text");
    signer.sign_message_sync(text.as_bytes()).unwrap().into()
}

fn register(stage: &Stage, wallet: Address, signature: &[u8]) -> Finished {
    let wallet = format!("{wallet}={}", hex::encode_prefixed(signature));
    stage.x811("ada", &["agent", "register", "--contract-wallet", &wallet])
}

fn refused(finished: &Finished, code: &str, words: &str) {
    assert_eq!(finished.code, REFUSED, "{finished:?}");
    assert!(finished.stdout.contains(code), "{finished:?}");
    assert!(finished.stdout.contains(words), "{finished:?}");
}

/// Moves the wallet's money as its owner signed it for that interaction, sent by somebody else.
async fn transfer(stage: &Stage, interaction: &str) -> B256 {
    let signed = TransferWithAuthorization {
        from: WALLET,
        to: stage.payee(interaction),
        value: U256::from(TOTAL_MICRO_USDC),
        validAfter: U256::ZERO,
        validBefore: U256::MAX,
        nonce: B256::from(*nonce_of(stage, interaction).as_bytes()),
    };
    let domain = eip712_domain! {
        name: "USD Coin",
        version: "2",
        chain_id: LOCAL_CHAIN_ID,
        verifying_contract: BASE_USDC,
    };
    let digest = signed.eip712_signing_hash(&domain);
    let signature = Anvil::dev_account(OWNER).sign_hash_sync(&digest).unwrap();
    let call = usdc::transferWithAuthorization_1Call {
        from: signed.from,
        to: signed.to,
        value: signed.value,
        validAfter: signed.validAfter,
        validBefore: signed.validBefore,
        nonce: signed.nonce,
        signature: signature.as_bytes().into(),
    };
    let sent = stage.anvil.send(DEV_KEYS[RELAYER], BASE_USDC, &call).await;
    assert!(stage.anvil.receipt(sent).await.status(), "{sent} reverted");
    sent
}

#[tokio::test]
async fn rule_18_a_contract_wallet_is_bound_and_pays() {
    let stage = Stage::set(&[]).await;
    let owner = Anvil::dev_account(OWNER).address();
    stage.anvil.deploy_wallet(WALLET, owner).await;
    stage.anvil.mint(BASE_USDC, WALLET, TOTAL_MICRO_USDC).await;
    let bert = cast(&stage);
    let signature = binding(&stage, "ada", WALLET, OWNER);
    let registered = register(&stage, WALLET, &signature).ok().json();
    assert_eq!(registered["contract_wallets"][0], WALLET.to_string());
    let ada = registered["did"].as_str().unwrap();
    let shown = stage.x811("ada", &["agent", "show", "--did", ada]).ok();
    let wallet = json!({ "address": WALLET.to_string(), "kind": "erc1271" });
    assert_eq!(shown.json()["wallets"], json!([wallet]));

    let interaction = stage.deliver(&bert);
    let paid = transfer(&stage, &interaction).await;
    let (paid, payer) = (paid.to_string(), WALLET.to_string());
    let payment = ["send", "payment", &interaction, "--tx", &paid];
    let _ = stage
        .x811("ada", &[&payment[..], &["--payer", &payer]].concat())
        .ok();
    let decided = stage.until_decided(&interaction).await;

    assert_eq!(decided.code, Some(0), "{decided:?}");
    // Nobody asks again: what the contract says from now on changes nothing.
    stage.anvil.deploy_wallet(WALLET, Address::ZERO).await;
    let report = stage.audit();
    assert_eq!(report["verdict"], "clean", "{report}");
    assert_eq!(report["interactions"]["completed"], 1, "{report}");
    let wallets = &report["wallets"];
    assert_eq!(wallets["proven"], 1, "Bert's key proves itself: {wallets}");
    assert_eq!(wallets["asserted"], 1, "Ada's contract was asked");
    assert_eq!(wallets["broken"], 0, "{wallets}");
}

#[tokio::test]
async fn rule_18_what_a_contract_does_not_take_binds_nothing() {
    let stage = Stage::set(&[]).await;
    let _ = cast(&stage);
    let envelopes = stage.audit()["envelopes"].clone();
    let owner = Anvil::dev_account(OWNER).address();
    let owners = binding(&stage, "ada", WALLET, OWNER);
    stage.anvil.deploy_wallet(WALLET, owner).await;
    let wallet = WALLET.to_string();
    for (name, signature) in [
        ("another key", binding(&stage, "ada", WALLET, OTHER)),
        ("another agent", binding(&stage, "bert", WALLET, OWNER)),
        ("another wallet", binding(&stage, "ada", owner, OWNER)),
        ("half a signature", owners[..32].to_vec()),
    ] {
        let answer = register(&stage, WALLET, &signature);
        assert_eq!(answer.code, REFUSED, "{name}");
        refused(&answer, "X811-1005", "wallets[0]");
    }
    let contracts = [
        ("it reverts", "5f5ffd"),
        ("it never ends", "5b5f56"),
        (
            "it answers 31 bytes",
            "7f1626ba7e000000000000000000000000000000000000000000000000000000005f52601f5ff3",
        ),
        (
            "it answers 64 bytes",
            "7f1626ba7e000000000000000000000000000000000000000000000000000000005f5260405ff3",
        ),
        ("it answers a megabyte", "620f42405ff3"),
    ];
    for (name, runtime) in contracts {
        stage.anvil.place(WALLET, runtime).await;
        let answer = register(&stage, WALLET, &owners);
        assert_eq!(answer.code, REFUSED, "{name}: {answer:?}");
        refused(&answer, "X811-1005", "wallets[0]");
    }
    // An empty answer is no verdict: the contract may not be deployed yet.
    for (name, runtime) in [("it answers nothing", "00"), ("there is none", "")] {
        stage.anvil.place(WALLET, runtime).await;
        let answer = register(&stage, WALLET, &owners);
        assert_ne!(answer.code, Some(0), "{name}: {answer:?}");
        for words in ["X811-9002", "deploy the contract"] {
            assert!(answer.stdout.contains(words), "{name}: {answer:?}");
        }
    }
    // An account with a key is none, whatever its key has signed.
    let own = binding(&stage, "ada", owner, OWNER);
    refused(&register(&stage, owner, &own), "X811-9002", "of kind eoa");
    assert_eq!(stage.audit()["envelopes"], envelopes, "nothing is recorded");

    stage.anvil.deploy_wallet(WALLET, owner).await;
    let _ = register(&stage, WALLET, &owners).ok();
    // An update that does not name it would unbind it.
    let update = ["agent", "update", "--capability", "sum"];
    let answer = stage.x811("ada", &update);
    assert_eq!(answer.code, Some(4), "{answer:?}");
    let named = format!("{wallet}={}", hex::encode_prefixed(&owners));
    let update = [&update[..], &["--contract-wallet", &named]].concat();
    let _ = stage.x811("ada", &update).ok();
}

/// The proxy answers while a command is waited for.
#[tokio::test(flavor = "multi_thread")]
async fn rule_18_a_node_that_fails_says_nothing_and_nothing_is_recorded() {
    let anvil = Anvil::start(LOCAL_CHAIN_ID, Some(1));
    anvil.deploy_usdc(BASE_USDC).await;
    let owner = Anvil::dev_account(OWNER).address();
    anvil.deploy_wallet(WALLET, owner).await;
    let proxy = Proxy::start(&anvil.rpc_url()).await;
    let token = BASE_USDC.to_string();
    let options = [
        "--network",
        "local",
        "--rpc-url",
        proxy.url(),
        "--token",
        &token,
    ];
    let stage = Stage::on(anvil, options.map(str::to_owned).to_vec());
    let _ = cast(&stage);
    let envelopes = stage.audit()["envelopes"].clone();
    let signature = binding(&stage, "ada", WALLET, OWNER);

    let failures: [(&str, &str, Failing); 6] = [
        ("it hangs", "eth_call", || Act::Hang),
        ("it hangs up", "eth_call", || Act::Close),
        ("it is broken", "eth_call", || Act::Status(500, None)),
        ("it stops in the middle", "eth_call", || Act::Cut),
        ("it has not the block", "eth_call", || {
            Act::Error(-32_000, "header not found")
        }),
        ("it is another chain", "eth_chainId", || {
            Act::Replace("0x1".into())
        }),
    ];
    for (name, method, act) in failures {
        proxy.rule(move |call| meet(call, method, act));
        let answer = register(&stage, WALLET, &signature);
        assert_ne!(answer.code, Some(0), "{name}: {answer:?}");
        assert!(answer.stdout.contains("X811-9002"), "{name}: {answer:?}");
        assert!(answer.stdout.contains("try again"), "{name}: {answer:?}");
        assert!(!answer.stdout.contains(proxy.url()), "{name}: {answer:?}");
    }
    proxy.heal();
    assert_eq!(stage.audit()["envelopes"], envelopes, "nothing is recorded");
    // Nodes that read `data` alone, or take no block hash, are asked as they can answer.
    let partial: [fn(&Call<'_>) -> Act; 2] = [rules::ignores_input, rules::rejects_block_hashes];
    for rule in partial {
        proxy.rule(rule);
        let registered = register(&stage, WALLET, &signature);
        assert_eq!(registered.code, Some(0), "{registered:?}");
        let _ = stage.x811("ada", &["agent", "deactivate"]).ok();
        let _ = stage.x811("ada", &["agent", "reactivate"]).ok();
    }
    // A node that is slow is not one that fails.
    let slow: Failing = || Act::Delay(Duration::from_millis(500));
    proxy.rule(move |call| meet(call, "eth_call", slow));
    let _ = register(&stage, WALLET, &signature).ok();
}

/// Calls of that method; of contracts, only the wallet.
fn meet(call: &Call<'_>, method: &str, act: Failing) -> Act {
    let is_about_another = method == "eth_call" && !call.names(format!("{WALLET:#x}"));
    match call.method == method && !is_about_another {
        true => act(),
        false => Act::Pass,
    }
}
