//! Endpoints that give no usable answer, and chains that stand still.

use serde_json::json;
use x811_protocol::evm::TxHash;
use x811_protocol::observation::BlindCause;
use x811_tests::proxy::Act;

use super::rig::{AMOUNT, Chain, DEPTH, Rig, amount};

/// What an endpoint does instead of answering, and its name.
type Fault = (&'static str, fn() -> Act);

const FAULTS: [Fault; 9] = [
    ("hangs", || Act::Hang),
    ("closes", || Act::Close),
    ("cut JSON", || Act::Cut),
    ("500", || Act::Status(500, None)),
    ("429", || Act::Status(429, None)),
    ("429 with a page", || Act::Page(429)),
    ("200 with a page", || Act::Page(200)),
    ("another id", || {
        Act::responses(|responses| responses[0]["id"] = json!("another"))
    }),
    ("-32603", || Act::Error(-32_603, "internal error")),
];

#[tokio::test]
async fn rule_25_an_endpoint_that_cannot_be_asked_is_never_not_found() {
    let (chain, proxies) = Chain::behind(1).await;
    let mut rig = Rig::start(&proxies);
    for (fault, act) in FAULTS {
        let head = chain.head_number().await;
        rig.until_head(head).await;
        proxies[0].rule(move |_| act());
        let payment = chain.pay().await;
        rig.watch(&[payment]);
        assert_eq!(
            rig.until_unreachable().await,
            BlindCause::Unreachable,
            "{fault}"
        );
        assert_eq!(rig.said_of(payment), [], "{fault}");
        proxies[0].heal();
        chain.anvil.mine(DEPTH).await;
        let confirmed = rig.until_deep(payment, DEPTH).await;
        assert_eq!(amount(&confirmed), AMOUNT, "{fault}");
        rig.assert_never_missed(payment);
    }
}

#[tokio::test]
async fn rule_25_nothing_is_concluded_while_one_of_two_cannot_be_asked() {
    let (chain, proxies) = Chain::behind(2).await;
    let mut rig = Rig::start(&proxies);
    for (place, (fault, act)) in FAULTS.into_iter().enumerate() {
        // Now the one, now the other.
        let broken = &proxies[place % 2];
        broken.rule(move |_| act());
        let payment = chain.pay().await;
        rig.watch(&[payment]);
        rig.until_endpoint(place % 2, |health| {
            health.head.is_none() || health.failures > 0
        })
        .await;
        chain.anvil.mine(DEPTH).await;
        assert_eq!(rig.said_of(payment), [], "{fault}");
        broken.heal();
        let confirmed = rig.until_deep(payment, DEPTH).await;
        assert_eq!(confirmed.endpoints, ["a", "b"], "{fault}");
        rig.assert_never_missed(payment);
    }
}

/// Two of three are enough, whoever the third is.
#[tokio::test]
async fn rule_25_two_of_three_settle_while_one_cannot_be_asked() {
    let (chain, proxies) = Chain::behind(3).await;
    let mut rig = Rig::start(&proxies);
    for (place, (fault, act)) in FAULTS.into_iter().enumerate() {
        let broken = &proxies[place % 3];
        broken.rule(move |_| act());
        let payment = chain.pay().await;
        rig.watch(&[payment]);
        chain.anvil.mine(DEPTH).await;
        let confirmed = rig.until_deep(payment, DEPTH).await;
        assert_eq!(confirmed.endpoints.len(), 2, "{fault}");
        rig.assert_never_missed(payment);
        broken.heal();
        rig.until_endpoint(place % 3, |health| health.head.is_some())
            .await;
    }
}

#[tokio::test]
async fn rule_28_a_halted_chain_is_looked_at_and_says_nothing_new() {
    let (chain, proxies) = Chain::behind(1).await;
    let mut rig = Rig::start(&proxies);
    let head = chain.head_number().await;
    rig.until_head(head).await;
    chain.rpc("evm_setAutomine", json!([false])).await;
    let unknown = TxHash::from_bytes([7; 32]);
    rig.watch(&[unknown]);
    rig.until_not_found(unknown).await;
    let before = proxies[0].traffic();
    let after = proxies[0].until_called("eth_getBlockByNumber", 20).await;
    let heads = after.calls_of("eth_getBlockByNumber") - before.calls_of("eth_getBlockByNumber");
    assert!(
        after.calls() - before.calls() <= heads + 1,
        "only the head is asked for"
    );
    assert_eq!(rig.said_of(unknown).len(), 1, "one head answers one look");
    chain.anvil.mine(1).await;
    rig.until_head(head + 1).await;
    rig.until_not_found(unknown).await;
    assert_eq!(rig.said_of(unknown).len(), 2);
}

#[tokio::test]
async fn rule_23_a_reorg_while_the_watcher_is_down_is_found_at_its_start() {
    let (chain, proxies) = Chain::behind(2).await;
    let mut rig = Rig::start(&proxies);
    let [moved, lost] = [chain.pay().await, chain.pay().await];
    rig.watch(&[moved, lost]);
    let before = rig.until_deep(moved, 1).await;
    rig.until_deep(lost, 1).await;
    let raw = chain
        .rpc("eth_getRawTransactionByHash", json!([moved]))
        .await;
    chain.anvil.mine(3).await;
    let stored = rig.stop().await;
    chain.rpc("anvil_reorg", json!([5, [[raw, 3]]])).await;
    let mut rig = Rig::resume(&proxies, stored, &[moved, lost]);
    rig.until_not_found(lost).await;
    let after = rig.until_deep(moved, 1).await;
    assert_eq!(after.transfers, before.transfers);
    assert_eq!(after.block.number, before.block.number + 3);
    assert_eq!(rig.health.borrow().reorgs, 1);
}
