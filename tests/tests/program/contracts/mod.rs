//! The test token: the checked-in bytecode is what the pinned compiler makes of the source, and
//! on a real Anvil it behaves as the watcher expects USDC to.

mod authorization;
mod controls;
mod payer;

use std::process::Command;

use alloy::primitives::{Address, U256};
use alloy::providers::Provider;
use alloy::sol_types::SolCall;
use x811_tests::anvil::{
    Anvil, BASE_CHAIN_ID, BASE_USDC, DEV_KEYS, LOCAL_CHAIN_ID, checkout, usdc,
};

/// The development account with the token's roles.
const OPERATOR: usize = 9;
const PAYER: usize = 0;
const PAYEE: usize = 1;
const PURSE_MICRO_USDC: u64 = 5_000_000;
const PAID_MICRO_USDC: u64 = 1_250_001;

#[test]
fn artifacts_are_what_the_pinned_solc_makes_of_the_source() {
    let checked = Command::new("node")
        .arg("contracts/build.mjs")
        .arg("--check")
        .current_dir(checkout())
        .output()
        .expect("node runs: install Node.js 20 or later, then scripts/test.sh");
    let said = String::from_utf8_lossy(&checked.stderr);
    assert!(checked.status.success(), "{said}");
}

#[tokio::test]
async fn runtime_code_works_at_the_real_address_on_chain_8453() {
    let anvil = Anvil::start(BASE_CHAIN_ID, None);
    anvil.deploy_usdc(BASE_USDC).await;

    assert_eq!(
        anvil.provider().get_chain_id().await.unwrap(),
        BASE_CHAIN_ID
    );
    assert_eq!(anvil.read(BASE_USDC, &usdc::decimalsCall {}).await, 6);
}

#[tokio::test]
async fn a_transfer_moves_micro_usdc_and_logs_it() {
    let (anvil, payer, payee) = (token().await, address(PAYER), address(PAYEE));

    let tx_hash = anvil
        .transfer(DEV_KEYS[0], BASE_USDC, payee, PAID_MICRO_USDC)
        .await;
    let receipt = anvil.receipt(tx_hash).await;

    assert!(receipt.status());
    assert_eq!(
        anvil.balance(BASE_USDC, payer).await,
        PURSE_MICRO_USDC - PAID_MICRO_USDC
    );
    assert_eq!(anvil.balance(BASE_USDC, payee).await, PAID_MICRO_USDC);
    assert_eq!(receipt.logs().len(), 1);
    let log = receipt.logs()[0]
        .log_decode_validate::<usdc::Transfer>()
        .unwrap();
    assert_eq!(log.address(), BASE_USDC);
    assert_eq!(log.inner.from, payer);
    assert_eq!(log.inner.to, payee);
    assert_eq!(log.inner.value, U256::from(PAID_MICRO_USDC));
}

#[tokio::test]
async fn a_zero_transfer_is_valid_and_logs_zero() {
    let anvil = Anvil::start(BASE_CHAIN_ID, None);
    anvil.deploy_usdc(BASE_USDC).await;
    let payee = Anvil::dev_account(1).address();

    let tx_hash = anvil.transfer(DEV_KEYS[0], BASE_USDC, payee, 0).await;
    let receipt = anvil.receipt(tx_hash).await;

    assert!(receipt.status());
    let log = receipt.logs()[0]
        .log_decode_validate::<usdc::Transfer>()
        .unwrap();
    assert_eq!(log.inner.value, U256::ZERO);
}

#[tokio::test]
async fn an_overdraft_is_mined_as_reverted_without_logs() {
    let (anvil, payer, payee) = (token().await, address(PAYER), address(PAYEE));

    let tx_hash = anvil
        .transfer(DEV_KEYS[0], BASE_USDC, payee, PURSE_MICRO_USDC + 1)
        .await;
    let receipt = anvil.receipt(tx_hash).await;

    assert!(!receipt.status());
    assert!(receipt.logs().is_empty());
    assert_eq!(anvil.balance(BASE_USDC, payer).await, PURSE_MICRO_USDC);
    assert_eq!(anvil.balance(BASE_USDC, payee).await, 0);
}

#[tokio::test]
async fn with_a_block_time_blocks_come_by_the_clock_and_on_demand() {
    let anvil = Anvil::start(LOCAL_CHAIN_ID, Some(1));
    anvil.deploy_usdc(BASE_USDC).await;
    let payer = Anvil::dev_account(0).address();
    anvil.mint(BASE_USDC, payer, PURSE_MICRO_USDC).await;
    let before = anvil.provider().get_block_number().await.unwrap();

    anvil.mine(12).await;

    assert!(before >= 1, "the mint was mined by the clock");
    assert!(anvil.provider().get_block_number().await.unwrap() >= before + 12);
}

#[test]
fn a_dropped_anvil_closes_its_port() {
    let anvil = Anvil::start(LOCAL_CHAIN_ID, None);
    let address = anvil.rpc_url().trim_start_matches("http://").to_owned();
    assert!(std::net::TcpStream::connect(&address).is_ok());

    drop(anvil);

    assert!(
        std::net::TcpStream::connect(&address).is_err(),
        "anvil still listens on {address}"
    );
}

/// A token of which the payer has some.
async fn token() -> Anvil {
    let anvil = Anvil::start(BASE_CHAIN_ID, None);
    anvil.deploy_usdc(BASE_USDC).await;
    anvil
        .mint(BASE_USDC, address(PAYER), PURSE_MICRO_USDC)
        .await;
    anvil
}

fn address(index: usize) -> Address {
    Anvil::dev_account(index).address()
}

async fn holds(anvil: &Anvil, account: usize, micro_usdc: u64) {
    let balance = anvil.balance(BASE_USDC, address(account)).await;
    assert_eq!(balance, micro_usdc);
}

async fn done<C: SolCall>(anvil: &Anvil, caller: usize, call: &C) {
    let sent = anvil.send(DEV_KEYS[caller], BASE_USDC, call).await;
    assert!(
        anvil.receipt(sent).await.status(),
        "{} reverted",
        C::SIGNATURE
    );
}

/// The call is mined, reverts, and no log says otherwise.
async fn refused<C: SolCall>(anvil: &Anvil, caller: usize, call: &C, words: &str) {
    let said = anvil.refusal(address(caller), BASE_USDC, call).await;
    let said = said.unwrap_or_else(|| panic!("{} must be refused", C::SIGNATURE));
    assert!(said.contains(words), "{said}");
    let sent = anvil.send(DEV_KEYS[caller], BASE_USDC, call).await;
    let receipt = anvil.receipt(sent).await;
    assert!(!receipt.status());
    assert!(receipt.logs().is_empty());
}
