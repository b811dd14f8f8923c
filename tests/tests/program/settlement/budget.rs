//! What a block costs (section 4): calls as providers count them, at the proxies.

use std::sync::atomic::{AtomicU64, Ordering};

use x811_protocol::evm::TxHash;
use x811_tests::proxy::Act;
use x811_tests::tunnel::Tunnel;

use super::rig::{AMOUNT, Chain, DEPTH, Rig, amount};

const RECEIPT: &str = "eth_getTransactionReceipt";
const BLOCKS: u64 = 20;
/// Of both endpoints together.
const CALLS_PER_BLOCK: u64 = 4;

fn hashes(count: u64) -> Vec<TxHash> {
    let hash = |number: u64| {
        let mut bytes = [0xaa; 32];
        bytes[..8].copy_from_slice(&number.to_be_bytes());
        TxHash::from_bytes(bytes)
    };
    (0..count).map(hash).collect()
}

async fn cost_of_a_block(watched: u64) {
    let (chain, proxies) = Chain::behind(2).await;
    let tunnel = Tunnel::start(&chain.address()).await;
    let mut rig = Rig::announced(&proxies, &format!("ws://{}", tunnel.address()));
    rig.until_woken(&chain).await;
    rig.watch(&hashes(watched));
    // Each is asked for once, so many in a look.
    while proxies
        .iter()
        .any(|proxy| proxy.traffic().calls_of(RECEIPT) < watched)
    {
        rig.until_woken(&chain).await;
    }
    rig.until_woken(&chain).await;
    let calls = || {
        proxies
            .iter()
            .map(|proxy| proxy.traffic().calls())
            .sum::<u64>()
    };
    let (before, first) = (calls(), chain.head_number().await);
    for number in first + 1..=first + BLOCKS {
        chain.anvil.mine(1).await;
        rig.until_head(number).await;
    }
    let cost = calls() - before;
    assert!(
        cost <= CALLS_PER_BLOCK * BLOCKS,
        "{cost} calls in {BLOCKS} blocks"
    );
    for proxy in &proxies {
        let traffic = proxy.traffic();
        assert_eq!(traffic.calls_of(RECEIPT), watched, "asked for once");
        assert!(traffic.longest_batch <= 50, "{traffic:?}");
    }
}

#[tokio::test]
async fn sw_design_a_block_costs_four_calls_with_nothing_watched() {
    cost_of_a_block(0).await;
}

#[tokio::test]
async fn sw_design_a_block_costs_four_calls_with_a_thousand_watched() {
    cost_of_a_block(1_000).await;
}

#[tokio::test]
async fn sw_design_a_block_costs_four_calls_with_twenty_thousand_watched() {
    cost_of_a_block(20_000).await;
}

/// An endpoint that asks to be left alone is, and nothing is concluded meanwhile.
#[tokio::test]
async fn sw_pitfalls_an_endpoint_that_says_retry_after_is_left_alone_for_so_long() {
    let (chain, proxies) = Chain::behind(1).await;
    let mut rig = Rig::start(&proxies);
    let start = chain.head_number().await;
    rig.until_head(start).await;
    proxies[0].rule(|_| Act::Status(429, Some(1)));
    let payment = chain.pay().await;
    rig.watch(&[payment]);
    rig.until_unreachable().await;
    let (begun, before) = (tokio::time::Instant::now(), proxies[0].traffic());
    let refused = before.http_requests + 2;
    proxies[0]
        .until(|traffic| traffic.http_requests >= refused)
        .await;
    assert!(
        begun.elapsed().as_millis() >= 1_500,
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(rig.said_of(payment), []);
    proxies[0].heal();
    chain.anvil.mine(DEPTH).await;
    assert_eq!(amount(&rig.until_deep(payment, DEPTH).await), AMOUNT);
    rig.assert_never_missed(payment);
}

/// A third of the requests is turned away: what the rest answers is enough.
#[tokio::test]
async fn sw_pitfalls_a_storm_of_429_only_slows() {
    let (chain, proxies) = Chain::behind(2).await;
    let mut rig = Rig::start(&proxies);
    let start = chain.head_number().await;
    rig.until_head(start).await;
    for (proxy, seed) in proxies.iter().zip(1..) {
        let die = AtomicU64::new(seed);
        proxy.rule(move |_| match die.fetch_add(2, Ordering::Relaxed) {
            toss if is_unlucky(toss) => Act::Status(429, None),
            _ => Act::Pass,
        });
    }
    let payment = chain.pay().await;
    rig.watch(&[payment]);
    chain.anvil.mine(DEPTH).await;
    let confirmed = rig.until_deep(payment, DEPTH).await;
    assert_eq!((amount(&confirmed), confirmed.endpoints.len()), (AMOUNT, 2));
    rig.assert_never_missed(payment);
}

/// A die that falls the same way in every run (SplitMix64's mixer).
fn is_unlucky(toss: u64) -> bool {
    let mixed = toss.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    ((mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 40).is_multiple_of(3)
}
