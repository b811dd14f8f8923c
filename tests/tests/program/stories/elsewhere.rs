//! Payments made by other means than `x811 pay`: what counts is said before money moves, and what
//! does not count before a PAYMENT names it.

use super::stage::{Stage, text};
use super::undeclared::nonce_of;
use alloy::network::TransactionBuilder as _;
use alloy::primitives::{Address, B256, address};
use alloy::providers::Provider as _;
use alloy::providers::ext::AnvilApi as _;
use alloy::rpc::types::TransactionRequest;
use alloy::sol_types::SolEvent as _;
use x811_tests::anvil::{Anvil, BASE_USDC, DEV_KEYS, usdc};
use x811_tests::binary::Finished;

/// What the offer of these stories costs with its fee.
const TOTAL_MICRO_USDC: u64 = 29_725;
/// An account with ETH that is no party, such as an exchange's.
const EXCHANGE: usize = 7;
const ENTRY_POINT: Address = address!("0000000071727De22E5E9d8BAf0edAc6f37da032");
const USDBC: Address = address!("d9aAEc86B65D86f6A7B5B1b0c42FFA531710b6CA");

alloy::sol! {
    event UserOperationEvent(
        bytes32 indexed userOpHash, address indexed sender, address indexed paymaster,
        uint256 nonce, bool success, uint256 actualGasCost, uint256 actualGasUsed
    );
}

/// Declares a transaction after a check.
fn declare(stage: &Stage, interaction: &str, tx_hash: B256, more: &[&str]) -> Finished {
    let (tx_hash, rpc_url) = (tx_hash.to_string(), stage.anvil.rpc_url());
    let words = [
        "send",
        "payment",
        interaction,
        "--tx",
        &tx_hash,
        "--rpc",
        &rpc_url,
    ];
    stage.x811("ada", &[&words[..], more].concat())
}

/// It is refused with these words, and the ledger has no PAYMENT.
fn refused(stage: &Stage, interaction: &str, finished: &Finished, words: &str) {
    assert_eq!(finished.code, Some(1), "{finished:?}");
    assert!(finished.stdout.contains(words), "{words}: {finished:?}");
    let history = stage.x811("ada", &["history", interaction]).ok();
    assert!(!history.stdout.contains("x811/payment"), "{history:?}");
}

/// A transfer of the total that is in a block.
async fn transferred(anvil: &Anvil, key: &str, token: Address, to: Address) -> B256 {
    let tx_hash = anvil.transfer(key, token, to, TOTAL_MICRO_USDC).await;
    assert!(anvil.receipt(tx_hash).await.status());
    tx_hash
}

/// A transaction with one call of a contract that logs that a user operation was carried out.
async fn user_operation(anvil: &Anvil, hash: B256) -> B256 {
    let topic = UserOperationEvent::SIGNATURE_HASH;
    let logs = format!("5f5f5f357f{topic:x}60805fa400");
    anvil.place(ENTRY_POINT, &logs).await;
    let bundler = Anvil::dev_account(EXCHANGE).address();
    let provider = anvil.provider();
    provider.anvil_impersonate_account(bundler).await.unwrap();
    let request = TransactionRequest::default()
        .with_from(bundler)
        .with_to(ENTRY_POINT)
        .with_input(hash)
        .with_gas_limit(200_000);
    let sent = provider.send_transaction(request).await.unwrap();
    let tx_hash = *sent.tx_hash();
    assert!(anvil.receipt(tx_hash).await.status());
    tx_hash
}

#[tokio::test]
async fn rule_18_what_counts_is_said_before_money_moves() {
    let (stage, bert) = Stage::peopled(&[]).await;
    let interaction = stage.request(&bert, "hello");
    let offer = [
        "send",
        "offer",
        &interaction,
        "--price",
        "0.029",
        "--time",
        "5",
    ];
    let _ = stage.x811("bert", &offer).ok();
    let show = ["pay", &interaction, "--instructions"];
    let shown = stage.x811_in_words("ada", &show).ok();
    assert!(
        shown.stdout.contains("do not pay before it is verified"),
        "{shown:?}"
    );
    let shown = stage.x811("ada", &show).ok().json();
    assert_eq!(text(&shown, "amount_usdc"), "0.029725");
    assert_eq!(text(&shown, "token"), BASE_USDC.to_string());
    let nonce = nonce_of(&stage, &interaction).to_string();
    assert_eq!(text(&shown, "authorization_nonce"), nonce);
    let ada = stage.x811("", &["agent", "show", "ada"]).ok().json();
    assert_eq!(shown["wallets"][0], ada["agents"][0]["wallet"], "{shown}");
    assert!(shown.get("pay_by_ms").is_none(), "{shown}");
}

#[tokio::test]
async fn rule_18_what_does_not_count_is_refused_before_a_payment_names_it() {
    let (stage, bert) = Stage::peopled(&[]).await;
    let interaction = stage.deliver(&bert);
    let (anvil, payee) = (&stage.anvil, stage.payee(&interaction));
    let exchange = Anvil::dev_account(EXCHANGE).address();
    anvil.mint(BASE_USDC, exchange, 3 * TOTAL_MICRO_USDC).await;
    let key = DEV_KEYS[EXCHANGE];
    let from_exchange = transferred(anvil, key, BASE_USDC, payee).await;
    let answer = declare(&stage, &interaction, from_exchange, &[]);
    refused(&stage, &interaction, &answer, "name it with --payer");
    let payer = exchange.to_string();
    let answer = declare(&stage, &interaction, from_exchange, &["--payer", &payer]);
    refused(&stage, &interaction, &answer, "an account of an exchange");

    let elsewhere = transferred(anvil, key, BASE_USDC, exchange).await;
    let answer = declare(&stage, &interaction, elsewhere, &[]);
    refused(&stage, &interaction, &answer, "moved no USDC to");

    anvil.deploy_usdc(USDBC).await;
    anvil.mint(USDBC, exchange, TOTAL_MICRO_USDC).await;
    let bridged = transferred(anvil, key, USDBC, payee).await;
    let answer = declare(&stage, &interaction, bridged, &[]);
    refused(&stage, &interaction, &answer, "USDbC");

    let hash = B256::repeat_byte(0x42);
    let carried_by = user_operation(anvil, hash).await.to_string();
    let answer = declare(&stage, &interaction, hash, &[]);
    refused(&stage, &interaction, &answer, &carried_by);

    let wallet = stage.wallet_key("ada");
    let too_much = usdc::transferCall {
        to: payee,
        value: alloy::primitives::U256::from(u64::MAX),
    };
    let reverted = anvil.send(&wallet, BASE_USDC, &too_much).await;
    assert!(!anvil.receipt(reverted).await.status());
    let answer = declare(&stage, &interaction, reverted, &[]);
    refused(&stage, &interaction, &answer, "reverted");

    // What counts passes the check, and so does what is not known yet.
    let good = transferred(anvil, &wallet, BASE_USDC, payee).await;
    let _ = declare(&stage, &interaction, good, &[]).ok();
    let _ = declare(&stage, &interaction, B256::repeat_byte(0x43), &[]).ok();
    let paid = stage.until_decided(&interaction).await;
    assert_eq!(paid.code, Some(0), "{paid:?}");
}

/// Who declares it all the same learns from the ledger what did not count.
#[tokio::test]
async fn rule_18_the_provider_is_told_why_money_from_elsewhere_does_not_count() {
    let (stage, bert) = Stage::peopled(&["--confirmed-depth", "2"]).await;
    let interaction = stage.deliver(&bert);
    let (anvil, payee) = (&stage.anvil, stage.payee(&interaction));
    let exchange = Anvil::dev_account(EXCHANGE).address();
    anvil.mint(BASE_USDC, exchange, TOTAL_MICRO_USDC).await;
    let sent = transferred(anvil, DEV_KEYS[EXCHANGE], BASE_USDC, payee).await;
    let _ = declare(&stage, &interaction, sent, &["--unchecked"]).ok();
    stage.until_recorded(&interaction, "other_payee").await;
    let told = stage.x811("bert", &["provider", "paid", &interaction]);
    for words in ["such as one of an exchange", "has to be returned"] {
        assert!(told.stdout.contains(words), "{told:?}");
    }
}

/// The agent's key was exchanged for one that no registration names.
#[tokio::test]
async fn rule_18_an_unbound_wallet_pays_by_authorization_and_never_plainly() {
    let (stage, bert) = Stage::peopled(&[]).await;
    let interaction = stage.deliver(&bert);
    let unbound = Anvil::dev_account(EXCHANGE).address();
    stage.anvil.mint(BASE_USDC, unbound, TOTAL_MICRO_USDC).await;
    let path = stage.folder.path().join("home/agents/ada.json");
    let file = std::fs::read_to_string(&path).unwrap();
    let (old, new) = (stage.wallet_key("ada"), DEV_KEYS[EXCHANGE]);
    let exchanged = file.replace(&old, new.trim_start_matches("0x"));
    assert_ne!(exchanged, file);
    std::fs::write(&path, exchanged).unwrap();
    let rpc_url = stage.anvil.rpc_url();
    let pay = ["pay", &interaction, "--rpc", &rpc_url];

    let refused = stage.x811("ada", &[&pay[..], &["--plain-transfer"]].concat());
    assert!(refused.stdout.contains("no wallet bound"), "{refused:?}");
    let balance = stage.anvil.balance(BASE_USDC, unbound).await;
    assert_eq!(balance, TOTAL_MICRO_USDC, "nothing was paid");

    let _ = stage.x811("ada", &pay).ok();
    let paid = stage.until_decided(&interaction).await;
    assert_eq!(paid.code, Some(0), "{paid:?}");
}
