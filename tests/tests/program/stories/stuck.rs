//! Transfers that are not included as they were signed: the network's fees rise, or somebody else
//! broadcasts the authorization first.

use super::loops::{CAPS, initiator, order, provider};
use super::stage::{Stage, text};
use super::undeclared;
use alloy::consensus::{Transaction as _, TxEnvelope};
use alloy::eips::eip2718::Decodable2718 as _;
use alloy::network::TransactionBuilder as _;
use alloy::primitives::{Address, B256, Bytes};
use alloy::providers::Provider as _;
use alloy::providers::ext::AnvilApi as _;
use alloy::rpc::types::TransactionRequest;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};
use x811_client::pay::SignedTransfer;
use x811_protocol::digest::Digest;
use x811_protocol::evm::ChainId;
use x811_tests::anvil::{Anvil, BASE_USDC, DEV_KEYS, usdc};
use x811_tests::binary::{without_our_variables, x811};

/// What the offer of these stories costs with its fee.
const TOTAL_MICRO_USDC: u64 = 29_725;

const LOW_BASE_FEE_WEI: u128 = 100_000_000;
const HIGH_BASE_FEE_WEI: u128 = 2_000_000_000;

/// An account with ETH that is no party.
const RELAYER: usize = 7;

async fn next_base_fee(anvil: &Anvil, base_fee_wei: u128) {
    let provider = anvil.provider();
    let set = provider.anvil_set_next_block_base_fee_per_gas(base_fee_wei);
    set.await.unwrap();
}

/// A block a second from now on, or none.
async fn mine_every_s(anvil: &Anvil, interval_s: u64) {
    let provider = anvil.provider();
    provider
        .anvil_set_interval_mining(interval_s)
        .await
        .unwrap();
}

/// What the token has of an account, in micro-USDC.
async fn balance(stage: &Stage, interaction: &str) -> u64 {
    stage
        .anvil
        .balance(BASE_USDC, stage.payee(interaction))
        .await
}

/// Sends the same call from another account, for more.
async fn overtake(anvil: &Anvil, input: Bytes) {
    let relayer = Anvil::dev_account(RELAYER).address();
    let request = TransactionRequest::default()
        .with_from(relayer)
        .with_to(BASE_USDC)
        .with_input(input)
        .with_gas_limit(200_000)
        .with_max_fee_per_gas(100_000_000_000)
        .with_max_priority_fee_per_gas(50_000_000_000);
    let provider = anvil.provider();
    provider.anvil_impersonate_account(relayer).await.unwrap();
    let _ = provider.send_transaction(request).await.unwrap();
}

/// The transactions that PAYMENTs name.
fn declared(stage: &Stage, interaction: &str) -> Vec<String> {
    let history = stage.x811("ada", &["history", interaction]).ok().json();
    let records = history["records"].as_array().unwrap().iter();
    let facts = records.map(|record| &record["leaf"]["event"]["facts"]);
    facts
        .filter_map(|facts| facts["tx_hash"].as_str().map(str::to_owned))
        .collect()
}

/// Keeps a transfer as a run does that is broken off before it sends.
fn keep(stage: &Stage, interaction: &str, signed: &SignedTransfer) {
    let transfers = stage.folder.path().join("home/transfers");
    std::fs::create_dir_all(&transfers).unwrap();
    let path = transfers.join(format!("{interaction}.json"));
    std::fs::write(&path, serde_json::to_vec(signed).unwrap()).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// The token moves nothing, or moves again.
async fn set_paused(anvil: &Anvil, is_paused: bool) {
    let sent = match is_paused {
        true => {
            anvil
                .send(DEV_KEYS[9], BASE_USDC, &usdc::pauseCall {})
                .await
        }
        false => {
            anvil
                .send(DEV_KEYS[9], BASE_USDC, &usdc::unpauseCall {})
                .await
        }
    };
    assert!(anvil.receipt(sent).await.status());
}

/// Keeps a transfer that was signed at a low fee, as a run that was broken off does, and raises the
/// base fee above it.
async fn keep_too_cheap(stage: &Stage, interaction: &str) -> String {
    next_base_fee(&stage.anvil, LOW_BASE_FEE_WEI).await;
    stage.anvil.next_block().await;
    let (_, signed) = undeclared::sign(stage, interaction).await;
    keep(stage, interaction, &signed);
    next_base_fee(&stage.anvil, HIGH_BASE_FEE_WEI).await;
    stage.anvil.next_block().await;
    signed.tx_hash.to_string()
}

#[tokio::test]
async fn ae_064_a_transfer_that_is_too_cheap_is_sent_again_with_higher_fees() {
    let (stage, bert) = Stage::peopled(&[]).await;
    let interaction = stage.deliver(&bert);
    let cheap = keep_too_cheap(&stage, &interaction).await;

    let answer = stage.pay(&interaction);

    assert_eq!(answer["origin"], "raised", "{answer}");
    assert_ne!(text(&answer, "tx_hash"), cheap);
    let paid = stage.until_decided(&interaction).await;
    assert_eq!(paid.code, Some(0), "{paid:?}");
    assert_eq!(balance(&stage, &interaction).await, TOTAL_MICRO_USDC);
    assert_eq!(declared(&stage, &interaction), [text(&answer, "tx_hash")]);
}

/// The first one is declared; of the raised ones only the one that is in a block is.
#[tokio::test]
async fn ae_064_raised_fees_use_up_one_declaration_alone() {
    let (stage, bert) = Stage::peopled(&[]).await;
    let interaction = stage.deliver(&bert);
    let cheap = keep_too_cheap(&stage, &interaction).await;
    let declare = ["send", "payment", &interaction, "--tx", &cheap];
    let _ = stage.x811("ada", &declare).ok();
    mine_every_s(&stage.anvil, 0).await;

    let held_back = stage.pay(&interaction);
    assert_eq!(held_back["origin"], "raised", "{held_back}");
    assert!(held_back.get("payment").is_none(), "{held_back}");
    mine_every_s(&stage.anvil, 1).await;
    stage.anvil.next_block().await;
    let again = stage.pay(&interaction);

    assert_eq!(again["tx_hash"], held_back["tx_hash"], "{again}");
    let paid = stage.until_decided(&interaction).await;
    assert_eq!(paid.code, Some(0), "{paid:?}");
    let raised = text(&again, "tx_hash");
    assert_eq!(declared(&stage, &interaction), [cheap, raised]);
    assert_eq!(balance(&stage, &interaction).await, TOTAL_MICRO_USDC);
}

#[tokio::test]
async fn ae_064_a_loop_raises_the_fees_of_a_transfer_that_waits() {
    let (stage, bert) = Stage::peopled(&[]).await;
    next_base_fee(&stage.anvil, LOW_BASE_FEE_WEI).await;
    stage.anvil.next_block().await;
    let provider = provider(&stage, "printf done");
    let config = [CAPS, &order("one", &bert, "0.05", "policy = 'auto'")].concat();
    let initiator = initiator(&stage, &config);
    let _ = initiator.until(&stage, "said", "accept").await;
    mine_every_s(&stage.anvil, 0).await;
    let _ = stage.anvil.waiting_input(BASE_USDC).await;
    next_base_fee(&stage.anvil, HIGH_BASE_FEE_WEI).await;
    mine_every_s(&stage.anvil, 1).await;

    let _ = initiator.until(&stage, "fees-raised", "").await;
    let paid = provider.until(&stage, "paid", "completed").await;

    let interaction = text(&paid, "interaction");
    assert_eq!(declared(&stage, &interaction).len(), 2);
    assert_eq!(balance(&stage, &interaction).await, TOTAL_MICRO_USDC);
}

#[tokio::test]
async fn sw_18_a_loop_declares_the_transaction_by_which_another_account_paid() {
    let (stage, bert) = Stage::peopled(&[]).await;
    let provider = provider(&stage, "printf done");
    let config = [CAPS, &order("one", &bert, "0.05", "policy = 'auto'")].concat();
    let initiator = initiator(&stage, &config);
    let _ = initiator.until(&stage, "said", "accept").await;
    mine_every_s(&stage.anvil, 0).await;
    let input = stage.anvil.waiting_input(BASE_USDC).await;
    overtake(&stage.anvil, input).await;
    mine_every_s(&stage.anvil, 1).await;

    let paid = provider.until(&stage, "paid", "completed").await;

    let interaction = text(&paid, "interaction");
    assert_eq!(balance(&stage, &interaction).await, TOTAL_MICRO_USDC);
    assert_eq!(declared(&stage, &interaction).len(), 2);
    let _ = initiator.until(&stage, "paid", "completed").await;
}

#[tokio::test]
async fn sw_18_one_pay_declares_the_transaction_by_which_another_account_paid() {
    let (stage, bert) = Stage::peopled(&[]).await;
    let interaction = stage.deliver(&bert);
    mine_every_s(&stage.anvil, 0).await;
    let (home, rpc_url) = (stage.folder.path().join("home"), stage.anvil.rpc_url());
    let mut command = Command::new(x811());
    without_our_variables(&mut command);
    let url = stage.server.as_ref().unwrap().url();
    command.args(["--ledger", url, "--agent", "ada", "--json", "--home"]);
    command
        .arg(home)
        .args(["pay", &interaction, "--rpc", &rpc_url]);
    let paying = command.stdout(Stdio::piped()).spawn().unwrap();
    let input = stage.anvil.waiting_input(BASE_USDC).await;
    overtake(&stage.anvil, input).await;
    mine_every_s(&stage.anvil, 1).await;

    let output = paying.wait_with_output().unwrap();

    assert!(output.status.success(), "{output:?}");
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let declared = declared(&stage, &interaction);
    assert_eq!(
        declared.last(),
        answer["tx_hash"].as_str().map(str::to_owned).as_ref()
    );
    let paid = stage.until_decided(&interaction).await;
    assert_eq!(paid.code, Some(0), "{paid:?}");
    assert_eq!(balance(&stage, &interaction).await, TOTAL_MICRO_USDC);
}

/// Without the file: the PAYMENT names a transaction that did not pay, the token knows one that did.
#[tokio::test]
async fn sw_18_a_second_pay_without_the_file_declares_what_was_paid_under_the_nonce() {
    let (stage, bert) = Stage::peopled(&[]).await;
    let interaction = stage.deliver(&bert);
    let other = format!("0x{}", "ab".repeat(32));
    let declare = ["send", "payment", &interaction, "--tx", &other];
    let _ = stage.x811("ada", &declare).ok();
    let lost = undeclared::pay(&stage, &interaction).await;
    let payer: Address = lost.payer;
    let purse = stage.anvil.balance(BASE_USDC, payer).await;

    let found = stage.pay(&interaction);

    assert_eq!(found["origin"], "found", "{found}");
    let paid = stage.until_decided(&interaction).await;
    assert_eq!(paid.code, Some(0), "{paid:?}");
    assert_eq!(stage.anvil.balance(BASE_USDC, payer).await, purse);
}

/// Its nonce is unused, so another transfer under it is the only one that pays.
#[tokio::test]
async fn ae_064_a_kept_transfer_that_reverted_or_came_too_late_is_signed_anew() {
    for has_reverted in [true, false] {
        let (stage, bert) = Stage::peopled(&[]).await;
        let interaction = stage.deliver(&bert);
        let (client, signed) = undeclared::sign(&stage, &interaction).await;
        keep(&stage, &interaction, &signed);
        let payer = Address::from(*signed.payer.as_bytes());
        let provider = stage.anvil.provider();
        if has_reverted {
            set_paused(&stage.anvil, true).await;
            client.send(&signed).await.unwrap();
            let tx_hash = B256::from(*signed.tx_hash.as_bytes());
            assert!(!stage.anvil.receipt(tx_hash).await.status());
            set_paused(&stage.anvil, false).await;
        } else {
            let mut late = signed.clone();
            late.authorization.as_mut().unwrap().valid_before_s = 1;
            keep(&stage, &interaction, &late);
        }
        let purse = stage.anvil.balance(BASE_USDC, payer).await;
        let count = provider.get_transaction_count(payer).await.unwrap();

        let answer = stage.pay(&interaction);

        assert_eq!(answer["origin"], "signed", "{answer}");
        let paid = stage.until_decided(&interaction).await;
        assert_eq!(paid.code, Some(0), "{paid:?}");
        let left = stage.anvil.balance(BASE_USDC, payer).await;
        assert_eq!(purse - left, TOTAL_MICRO_USDC);
        let sent = provider.get_transaction_count(payer).await.unwrap() - count;
        assert_eq!(sent, 1);
    }
}

/// The kept transfer is in no block, and another account has sent its authorization.
#[tokio::test]
async fn sw_18_what_another_account_paid_is_declared_while_the_kept_transfer_waits() {
    let (stage, bert) = Stage::peopled(&[]).await;
    let interaction = stage.deliver(&bert);
    let (_, signed) = undeclared::sign(&stage, &interaction).await;
    keep(&stage, &interaction, &signed);
    let raw: Bytes = signed.raw.parse().unwrap();
    let transaction = TxEnvelope::decode_2718(&mut raw.as_ref()).unwrap();
    overtake(&stage.anvil, transaction.input().clone()).await;
    stage.anvil.next_block().await;

    let answer = stage.pay(&interaction);

    assert_eq!(answer["origin"], "found", "{answer}");
    assert_ne!(text(&answer, "tx_hash"), signed.tx_hash.to_string());
    let paid = stage.until_decided(&interaction).await;
    assert_eq!(paid.code, Some(0), "{paid:?}");
    assert_eq!(balance(&stage, &interaction).await, TOTAL_MICRO_USDC);
}

/// A kept file is this interaction's on this network, or it is refused: what is signed in its place
/// would be a second payment.
#[tokio::test]
async fn ae_064_a_kept_transfer_of_another_network_or_nonce_is_never_signed_anew() {
    let (stage, bert) = Stage::peopled(&[]).await;
    let interaction = stage.deliver(&bert);
    let (_, signed) = undeclared::sign(&stage, &interaction).await;
    let payer = Address::from(*signed.payer.as_bytes());
    let purse = stage.anvil.balance(BASE_USDC, payer).await;
    let mut of_other_chain = signed.clone();
    of_other_chain.chain_id = ChainId::new(1);
    let mut of_other_nonce = signed;
    of_other_nonce.authorization.as_mut().unwrap().nonce = Digest::ZERO;
    for kept in [of_other_chain, of_other_nonce] {
        keep(&stage, &interaction, &kept);
        let rpc_url = stage.anvil.rpc_url();
        let answer = stage.x811("ada", &["pay", &interaction, "--rpc", &rpc_url]);
        assert!(answer.stdout.contains("damaged_transfer"), "{answer:?}");
    }
    assert_eq!(stage.anvil.balance(BASE_USDC, payer).await, purse);
}
