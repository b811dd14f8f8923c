//! What becomes of a transaction that is signed and not mined, or mined anew.

use alloy::primitives::{B256, U256};
use alloy::providers::Provider as _;
use serde_json::json;
use x811_protocol::evm::TxHash;
use x811_protocol::observation::TransactionStatus;
use x811_tests::anvil::{Anvil, BASE_USDC, DEV_KEYS, usdc};

use super::rig::{AMOUNT, Chain, DEPTH, Rig, amount};

fn hash(sent: B256) -> TxHash {
    TxHash::from_bytes(sent.0)
}

/// A transfer that waits in the pool.
async fn waiting(chain: &Chain) -> B256 {
    let payee = Anvil::dev_account(1).address();
    chain
        .anvil
        .transfer(DEV_KEYS[0], BASE_USDC, payee, AMOUNT)
        .await
}

#[tokio::test]
async fn rule_10_a_dropped_transaction_is_missing_and_the_one_sent_instead_is_found() {
    let chain = Chain::start().await;
    chain.rpc("evm_setAutomine", json!([false])).await;
    let proxies = chain.proxies(2).await;
    let mut rig = Rig::start(&proxies);
    let dropped = waiting(&chain).await;
    rig.watch(&[hash(dropped)]);
    rig.until_not_found(hash(dropped)).await;
    chain.rpc("anvil_dropTransaction", json!([dropped])).await;
    chain.anvil.mine(1).await;
    let head = chain.head_number().await;
    rig.until_head(head).await;
    rig.until_not_found(hash(dropped)).await;
    // The same money, under another hash: both are watched.
    let payee = Anvil::dev_account(1).address();
    let again = chain
        .anvil
        .transfer(DEV_KEYS[0], BASE_USDC, payee, AMOUNT + 1)
        .await;
    rig.watch(&[hash(dropped), hash(again)]);
    chain.anvil.mine(DEPTH).await;
    let mined = rig.until_deep(hash(again), DEPTH).await;
    assert_eq!(amount(&mined), AMOUNT + 1);
    rig.until_not_found(hash(dropped)).await;
}

/// Mined again one block deep, behind another transfer: the number of its log is another, its place
/// among its own transfers is not.
#[tokio::test]
async fn rule_23_a_new_log_index_after_a_reorg_is_the_same_transfer() {
    let chain = Chain::start().await;
    chain.rpc("evm_setAutomine", json!([false])).await;
    let proxies = chain.proxies(2).await;
    let mut rig = Rig::start(&proxies);
    let paid = waiting(&chain).await;
    let mint = usdc::mintCall {
        to: Anvil::dev_account(2).address(),
        amount: U256::ONE,
    };
    let other = chain.anvil.send(DEV_KEYS[9], BASE_USDC, &mint).await;
    rig.watch(&[hash(paid)]);
    chain.anvil.mine(1).await;
    let before = rig.until_deep(hash(paid), 1).await;
    let mut signed = Vec::new();
    let (was_at, _) = places(&chain, paid, other).await;
    let order = if was_at == 0 {
        [other, paid]
    } else {
        [paid, other]
    };
    for sent in order {
        let raw = chain.rpc("eth_getRawTransactionByHash", json!([sent]));
        signed.push(json!([raw.await, 0]));
    }
    chain.rpc("anvil_reorg", json!([1, signed])).await;
    let (is_at, _) = places(&chain, paid, other).await;
    assert_ne!(was_at, is_at, "it has another number now");
    let after = rig
        .until_sweep(|sweep| match sweep.transactions.get(&hash(paid))? {
            TransactionStatus::Mined(mined) if mined.block != before.block => Some(mined.clone()),
            TransactionStatus::Mined(_) | TransactionStatus::NotFound => None,
        })
        .await;
    assert_eq!(after.transfers, before.transfers);
    assert_eq!(after.transfers[0].ordinal, 0);
}

/// The numbers of the first logs of two transactions.
async fn places(chain: &Chain, one: B256, other: B256) -> (u64, u64) {
    let mut numbers = [0; 2];
    for (number, sent) in numbers.iter_mut().zip([one, other]) {
        let receipt = chain.anvil.provider().get_transaction_receipt(sent).await;
        let receipt = receipt.unwrap().unwrap();
        *number = receipt.logs()[0].log_index.unwrap();
    }
    (numbers[0], numbers[1])
}
