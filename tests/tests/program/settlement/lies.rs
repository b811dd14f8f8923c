//! Endpoints that answer, and not the truth.

use serde_json::{Value, json};
use x811_protocol::observation::BlindCause;
use x811_tests::proxy::{Act, Call};

use super::rig::{AMOUNT, Chain, DEPTH, Rig, amount};

const LOGS: &str = "eth_getLogs";
const RECEIPT: &str = "eth_getTransactionReceipt";

/// Ten times as much, in logs and in receipts.
fn forge(result: &mut Value) {
    let logs = if result.is_array() {
        result.as_array_mut()
    } else {
        result["logs"].as_array_mut()
    };
    for log in logs.into_iter().flatten() {
        log["data"] = json!(format!("0x{:064x}", 10 * AMOUNT));
    }
}

fn without_logs(call: &Call<'_>) -> Act {
    match call.method {
        LOGS => Act::Replace(json!([])),
        _ => Act::Pass,
    }
}

#[tokio::test]
async fn rule_10_null_from_one_endpoint_and_a_receipt_from_the_other_is_not_missing() {
    let (chain, proxies) = Chain::behind(2).await;
    proxies[0].rule(|call| match call.method {
        RECEIPT => Act::null(),
        _ => without_logs(call),
    });
    let mut rig = Rig::start(&proxies);
    let payment = chain.pay().await;
    rig.watch(&[payment]);
    // What one has and the other denies is contested: neither there nor missing.
    rig.until_endpoint(0, |a| a.disagreements > 0).await;
    chain.anvil.mine(DEPTH).await;
    let head = chain.head_number().await;
    rig.until_head(head).await;
    assert_eq!(rig.said_of(payment), []);
    proxies[0].heal();
    chain.anvil.mine(1).await;
    let confirmed = rig.until_deep(payment, DEPTH).await;
    assert_eq!(confirmed.endpoints, ["a", "b"]);
    rig.assert_never_missed(payment);
}

#[tokio::test]
async fn rule_26_a_forged_receipt_settles_nothing() {
    let (chain, proxies) = Chain::behind(2).await;
    proxies[0].rule(|call| match call.method {
        RECEIPT => Act::edit(forge),
        _ => without_logs(call),
    });
    let mut rig = Rig::start(&proxies);
    let payment = chain.pay().await;
    rig.watch(&[payment]);
    rig.until_endpoint(0, |a| a.disagreements > 0).await;
    rig.until_endpoint(1, |b| b.disagreements > 0).await;
    chain.anvil.mine(DEPTH).await;
    let head = chain.head_number().await;
    rig.until_head(head).await;
    assert_eq!(rig.said_of(payment), [], "neither is believed");
    proxies[0].heal();
    chain.anvil.mine(1).await;
    let confirmed = rig.until_deep(payment, DEPTH).await;
    assert_eq!((amount(&confirmed), confirmed.endpoints.len()), (AMOUNT, 2));
}

#[tokio::test]
async fn rule_26_a_forged_log_is_not_confirmed() {
    let (chain, proxies) = Chain::behind(2).await;
    proxies[0].rule(|call| match call.method {
        LOGS => Act::edit(forge),
        _ => Act::Pass,
    });
    let mut rig = Rig::start(&proxies);
    let payment = chain.pay().await;
    rig.watch(&[payment]);
    // Asked anew at the next head, the receipts of both agree.
    rig.until_endpoint(0, |a| a.disagreements > 0).await;
    chain.anvil.mine(1).await;
    let seen = rig.until_deep(payment, 1).await;
    assert_eq!((amount(&seen), seen.endpoints.len()), (AMOUNT, 2));
    chain.anvil.mine(DEPTH).await;
    let confirmed = rig.until_deep(payment, DEPTH).await;
    assert_eq!((amount(&confirmed), confirmed.endpoints.len()), (AMOUNT, 2));
}

#[tokio::test]
async fn rule_26_an_omitted_log_is_found_by_its_receipt_at_the_next_look() {
    let (chain, proxies) = Chain::behind(1).await;
    proxies[0].rule(without_logs);
    let mut rig = Rig::start(&proxies);
    let payment = chain.pay().await;
    let head = chain.head_number().await;
    rig.until_head(head).await;
    assert_eq!(proxies[0].traffic().calls_of(RECEIPT), 0);
    rig.watch(&[payment]);
    assert_eq!(amount(&rig.until_deep(payment, 1).await), AMOUNT);
    assert_eq!(proxies[0].traffic().calls_of(RECEIPT), 1);
    chain.anvil.mine(DEPTH).await;
    rig.until_deep(payment, DEPTH).await;
}

/// An endpoint that returns each log twice: half of the money would be enough.
#[tokio::test]
async fn rule_26_an_endpoint_that_repeats_logs_has_not_answered() {
    let (chain, proxies) = Chain::behind(1).await;
    proxies[0].rule(|call| match call.method {
        LOGS | RECEIPT => Act::edit(twice),
        _ => Act::Pass,
    });
    let mut rig = Rig::start(&proxies);
    let payment = chain.pay().await;
    rig.watch(&[payment]);
    rig.until_endpoint(0, |it| it.failures > 0).await;
    assert_eq!(rig.said_of(payment), []);
    proxies[0].heal();
    chain.anvil.mine(1).await;
    assert_eq!(amount(&rig.until_deep(payment, 1).await), AMOUNT);
}

fn twice(result: &mut Value) {
    let logs = match result.is_array() {
        true => result.as_array_mut(),
        false => result["logs"].as_array_mut(),
    };
    if let Some(logs) = logs {
        let again = logs.clone();
        logs.extend(again);
    }
}

/// Before held blocks are given up for a new branch, the endpoint shows that it is still on the
/// chain.
#[tokio::test]
async fn rule_09_another_chain_in_mid_run_takes_nothing_back() {
    let (chain, proxies) = Chain::behind(1).await;
    let mut rig = Rig::start(&proxies);
    let payment = chain.pay().await;
    rig.watch(&[payment]);
    rig.until_deep(payment, 1).await;
    proxies[0].rule(|call| match call.method {
        "eth_chainId" => Act::Replace(json!("0x14a34")),
        _ => Act::Pass,
    });
    chain.anvil.reorg(1).await;
    assert_eq!(rig.until_unreachable().await, BlindCause::WrongChain);
    assert_eq!(rig.health.borrow().reorgs, 0);
    rig.assert_never_missed(payment);
    proxies[0].heal();
    rig.until_not_found(payment).await;
    assert_eq!(rig.health.borrow().reorgs, 1);
}

#[tokio::test]
async fn rule_25_an_older_head_replayed_takes_nothing_back() {
    let (chain, proxies) = Chain::behind(1).await;
    let mut rig = Rig::start(&proxies);
    let older = chain
        .rpc("eth_getBlockByNumber", json!(["latest", false]))
        .await;
    let payment = chain.pay().await;
    rig.watch(&[payment]);
    rig.until_deep(payment, 1).await;
    proxies[0].rule(move |call| match call.method {
        "eth_getBlockByNumber" if call.names("latest") => Act::Replace(older.clone()),
        _ => Act::Pass,
    });
    let unknown = x811_protocol::evm::TxHash::from_bytes([7; 32]);
    chain.anvil.mine(2).await;
    proxies[0].until_called("eth_getBlockByNumber", 5).await;
    // It has a say neither of what is there nor of what is not.
    rig.watch(&[payment, unknown]);
    proxies[0].until_called(RECEIPT, 1).await;
    proxies[0].until_called("eth_getBlockByNumber", 2).await;
    assert_eq!(rig.health.borrow().reorgs, 0);
    assert_eq!(rig.said_of(unknown), []);
    proxies[0].heal();
    rig.until_not_found(unknown).await;
    assert_eq!(rig.health.borrow().reorgs, 0);
    rig.assert_never_missed(payment);
}

/// Several nodes behind one address, of which every other does not have the newest block.
#[tokio::test]
async fn rule_27_a_block_that_one_node_lacks_is_asked_for_again_by_the_same_hash() {
    let (chain, proxies) = Chain::behind(1).await;
    let mut rig = Rig::start(&proxies);
    let start = chain.head_number().await;
    rig.until_head(start).await;
    proxies[0].rule(|call| match call.method {
        LOGS if call.nth % 2 == 1 => Act::Error(-32_000, "unknown block"),
        "eth_getBlockByHash" if call.nth % 2 == 1 => Act::null(),
        _ => Act::Pass,
    });
    let payment = chain.pay().await;
    rig.watch(&[payment]);
    rig.until_deep(payment, 1).await;
    chain.anvil.mine(DEPTH).await;
    let head = chain.head_number().await;
    rig.until_head(head).await;
    rig.until_deep(payment, DEPTH).await;
    rig.assert_never_missed(payment);
    let health = rig.health.borrow().clone();
    assert_eq!(health.reorgs, 0);
    assert!(health.endpoints[0].failures > 0, "{health:?}");
    // Not one block is missing from the index.
    assert!(health.indexed_blocks as u64 > DEPTH, "{health:?}");
}
