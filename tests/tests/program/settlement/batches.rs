//! Batches of receipts whose responses are in another order, repeated, left out or under wrong ids (section 5), and
//! receipts that are null for long.

use serde_json::{Value, json};
use x811_protocol::evm::TxHash;
use x811_protocol::observation::TransactionStatus;
use x811_tests::proxy::{Act, rules};

use super::rig::{AMOUNT, Chain, DEPTH, Rig, amount};

const BLOCK: &str = "eth_getBlockByHash";
const LOGS: &str = "eth_getLogs";
const RECEIPT: &str = "eth_getTransactionReceipt";

/// What becomes of the responses to a batch, and its name.
type Fault = (&'static str, fn(&mut Vec<Value>));

const FAULTS: [Fault; 9] = [
    ("in another order", |responses| responses.reverse()),
    ("each twice", |responses| responses.extend_from_within(..)),
    ("one that nobody asked for", |responses| {
        responses.insert(0, null_of(json!("nobody")));
    }),
    ("the first alone", |responses| responses.truncate(1)),
    ("all under the first id", |responses| one_id(responses)),
    ("the receipt under an id of nobody", |responses| {
        displace(responses);
    }),
    ("null and the receipt under one id", contradict),
    (
        "the other's null under the id of the receipt",
        |responses| {
            double(responses);
        },
    ),
    ("each under the id of the other", |responses| {
        swap_ids(responses);
    }),
];

fn null_of(id: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": null })
}

fn receipt(responses: &[Value]) -> Option<usize> {
    let is_receipt = |response: &Value| response["result"]["transactionHash"].is_string();
    responses.iter().position(is_receipt)
}

/// Places of the receipt and of the null in a batch that has both.
fn receipt_and_null(responses: &[Value]) -> Option<(usize, usize)> {
    let null = responses.iter().position(|it| it["result"].is_null());
    Some((receipt(responses)?, null?))
}

fn one_id(responses: &mut [Value]) {
    let first = responses[0]["id"].clone();
    for response in responses {
        response["id"] = first.clone();
    }
}

fn displace(responses: &mut [Value]) {
    if let Some(receipt) = receipt(responses) {
        responses[receipt]["id"] = json!("nobody");
    }
}

fn contradict(responses: &mut Vec<Value>) {
    if let Some(receipt) = receipt(responses) {
        let id = responses[receipt]["id"].clone();
        responses.insert(0, null_of(id));
    }
}

/// The null comes first.
fn double(responses: &mut [Value]) {
    if let Some((receipt, null)) = receipt_and_null(responses) {
        let id = responses[receipt]["id"].clone();
        responses[null]["id"] = id;
        if receipt < null {
            responses.swap(receipt, null);
        }
    }
}

fn swap_ids(responses: &mut [Value]) {
    if let Some((receipt, null)) = receipt_and_null(responses) {
        let id = responses[receipt]["id"].take();
        responses[receipt]["id"] = responses[null]["id"].take();
        responses[null]["id"] = id;
    }
}

/// With receipts alone, a payment is found and an unknown transaction is not, whatever becomes of batches.
#[tokio::test]
async fn sw_26_batches_with_confused_ids_neither_hide_nor_invent_a_payment() {
    for endpoints in [1, 2] {
        let (chain, proxies) = Chain::behind(endpoints).await;
        let mut rig = Rig::start(&proxies);
        for (number, (fault, confuse)) in (1_u8..).zip(FAULTS) {
            proxies[0].rule(move |call| match call.method {
                LOGS => Act::Replace(json!([])),
                BLOCK if call.batch > 1 => Act::responses(confuse),
                _ => Act::Pass,
            });
            let unknown = TxHash::from_bytes([number; 32]);
            let payment = chain.pay().await;
            let head = chain.head_number().await;
            rig.until_head(head).await;
            rig.watch(&[payment, unknown]);
            rig.until_not_found(unknown).await;
            chain.anvil.mine(DEPTH).await;
            let confirmed = rig.until_deep(payment, DEPTH).await;
            assert_eq!(amount(&confirmed), AMOUNT, "{fault}");
            assert_eq!(confirmed.endpoints.len(), endpoints, "{fault}");
            rig.assert_never_missed(payment);
            let said = rig.said_of(unknown);
            let is_missing =
                |(status, _): &(TransactionStatus, u64)| *status == TransactionStatus::NotFound;
            assert!(said.iter().all(is_missing), "{fault}: {said:?}");
        }
        assert!(proxies[0].traffic().longest_batch >= 3, "both in one");
    }
}

/// Outside batches, too, a null counts only with the id of its request.
#[tokio::test]
async fn sw_26_a_null_with_the_id_of_another_request_says_nothing_of_a_payment() {
    let (chain, proxies) = Chain::behind(1).await;
    proxies[0].rule(|call| match (call.method, call.batch) {
        (LOGS, _) => Act::Replace(json!([])),
        (BLOCK, 2..) => Act::Error(-32_600, "no batches"),
        (RECEIPT, 1) => Act::responses(|responses| responses[0] = null_of(json!("another"))),
        _ => Act::Pass,
    });
    let mut rig = Rig::start(&proxies);
    let payment = chain.pay().await;
    let head = chain.head_number().await;
    rig.until_head(head).await;
    rig.watch(&[payment]);
    // In a batch, and alone.
    proxies[0]
        .until(|traffic| traffic.calls_of(RECEIPT) >= 2)
        .await;
    chain.anvil.mine(DEPTH).await;
    rig.until_head(head + DEPTH).await;
    assert_eq!(rig.said_of(payment), []);
    proxies[0].heal();
    chain.anvil.mine(1).await;
    let confirmed = rig.until_deep(payment, DEPTH).await;
    assert_eq!(amount(&confirmed), AMOUNT);
    rig.assert_never_missed(payment);
}

/// 150 blocks are 5 minutes of Base.
#[tokio::test]
async fn sw_26_a_receipt_that_is_null_for_minutes_says_nothing_of_a_listed_payment() {
    let (chain, proxies) = Chain::behind(1).await;
    proxies[0].rule(|call| match call.method {
        RECEIPT => Act::null(),
        _ => Act::Pass,
    });
    let mut rig = Rig::start(&proxies);
    let payment = chain.pay().await;
    let mut head = chain.head_number().await;
    rig.until_head(head).await;
    rig.watch(&[payment]);
    for _ in 0..10 {
        chain.anvil.mine(15).await;
        head += 15;
        rig.until_head(head).await;
    }
    assert_eq!(rig.said_of(payment), []);
    proxies[0].heal();
    chain.anvil.mine(1).await;
    assert_eq!(amount(&rig.until_deep(payment, 150).await), AMOUNT);
    rig.assert_never_missed(payment);
}

/// A block is named by its hash, so that a limit on ranges does not matter.
#[tokio::test]
async fn sw_pitfalls_a_provider_that_lists_few_blocks_a_call_lists_every_block() {
    let (chain, proxies) = Chain::behind(1).await;
    proxies[0].rule(rules::lists_at_most(5));
    let mut rig = Rig::start(&proxies);
    let payment = chain.pay().await;
    rig.watch(&[payment]);
    chain.anvil.mine(DEPTH).await;
    assert_eq!(amount(&rig.until_deep(payment, DEPTH).await), AMOUNT);
    assert_eq!(rig.health.borrow().endpoints[0].failures, 0);
}
