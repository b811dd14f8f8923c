//! Every response to a call of a contract, and its effect: the second table of settlement-watcher.md section 5, walked
//! with live endpoints.

use alloy::primitives::{Address, address};
use serde_json::json;
use x811_protocol::evm::{ChainId, EvmAddress};
use x811_protocol::observation::Hindrance;
use x811_tests::anvil::{BASE_CHAIN_ID, BASE_USDC, DEV_KEYS, usdc};
use x811_tests::proxy::{Act, Call, Proxy, rules};
use x811_watcher::contract_wallet::is_valid_signature;
use x811_watcher::{RpcLimits, RpcSource};

use super::rig::{Chain, DEPTH, Rig};

const PAGE: &str = include_str!("../../../../docs/spec/settlement-watcher.md");
const WALLET: Address = address!("5A5A5a5a5A5A5a5A5a5A5A5A5A5A5A5A5A5a5A5a");
/// Code that returns the value of ERC-1271, whatever it is called with.
const YES: &str = "7f1626ba7e000000000000000000000000000000000000000000000000000000005f5260205ff3";
/// The selector of `decimals()`, which is called at the start.
const DECIMALS: &str = "0x313ce567";
const LIMITS: RpcLimits = RpcLimits {
    connect_timeout_ms: 5_000,
    total_timeout_ms: 5_000,
    answer_bytes: 64 * 1024,
};

/// The rows of the table, without the marks around their words.
fn rows() -> Vec<[String; 4]> {
    let table = PAGE.split("<!-- contract answers -->").nth(1).unwrap();
    let lines = table.lines().skip_while(|line| !line.starts_with("|---"));
    let lines = lines.skip(1).take_while(|line| line.starts_with('|'));
    let row = |line: &str| {
        let cells: Vec<String> = line
            .split('|')
            .map(|it| it.trim().replace('`', ""))
            .collect();
        cells[1..5].to_vec().try_into().unwrap()
    };
    lines.map(row).collect()
}

/// The response that the table names, to a call of the wallet or of the token.
fn respond(answer: &str, call: &Call<'_>) -> Act {
    match answer {
        "value" => Act::Pass,
        "another" => Act::Replace(json!(format!("0x{:064}", 0))),
        "empty" => Act::Replace(json!("0x")),
        "too long" => Act::Replace(json!(format!("0x{}", "00".repeat(LIMITS.answer_bytes)))),
        "input ignored" => rules::ignores_input(call),
        "block hash refused" => rules::rejects_block_hashes(call),
        "reverted" => Act::Error(3, "execution reverted"),
        "refused" => Act::Error(-32_602, "invalid argument"),
        "rate limit" => Act::Error(-32_005, "limit exceeded"),
        "not yet" => Act::Error(-32_000, "indexing is in progress"),
        "unknown block" => Act::Error(-32_000, "header not found"),
        "no answer" => Act::Close,
        "unreadable" => Act::Cut,
        "web page" => Act::Page(200),
        "wrong id" => Act::responses(|responses| responses[0]["id"] = json!("another")),
        other => panic!("nobody knows the response {other}"),
    }
}

/// What the endpoints say of the wallet.
async fn wallet(endpoints: &[Proxy]) -> &'static str {
    let source = |proxy: &Proxy| RpcSource::new(proxy.url(), LIMITS).unwrap();
    let sources: Vec<RpcSource> = endpoints.iter().map(source).collect();
    let wallet = EvmAddress::from_bytes(WALLET.into_array());
    let base = ChainId::new(BASE_CHAIN_ID);
    match is_valid_signature(&sources, base, wallet, [1; 32], &[2; 65]).await {
        Ok(true) => "bound",
        Ok(false) => "refused",
        Err(_) => "undecided",
    }
}

/// What is said of a payment that reverts, because the token is paused.
async fn reason(chain: &Chain, rig: &mut Rig) -> &'static str {
    let payment = chain.pay().await;
    rig.watch(&[payment]);
    chain.anvil.mine(DEPTH).await;
    let mined = rig.until_deep(payment, DEPTH).await;
    assert!(!mined.succeeded, "{mined:?}");
    match mined.hindrance {
        Some(Hindrance::Paused) => "told",
        None => "not told",
        Some(Hindrance::Blacklisted(account)) => panic!("{account} is not blacklisted"),
    }
}

#[tokio::test]
async fn sw_answers_of_contracts_count_as_the_table_says() {
    let (chain, proxies) = Chain::behind(2).await;
    chain.anvil.place(WALLET, YES).await;
    let pause = usdc::pauseCall {};
    let paused = chain.anvil.send(DEV_KEYS[9], BASE_USDC, &pause).await;
    assert!(chain.anvil.receipt(paused).await.status());
    let mut rig = Rig::start(&proxies[..1]);
    let rows = rows();
    assert!(rows.len() >= 15, "{}", rows.len());
    let mut faults = Vec::new();
    for [answer, alone, of_two, told] in rows {
        let meant = answer.clone();
        proxies[0].rule(
            move |call| match call.method == "eth_call" && !call.names(DECIMALS) {
                true => respond(&meant, call),
                false => Act::Pass,
            },
        );
        let found = [
            wallet(&proxies[..1]).await,
            wallet(&proxies).await,
            reason(&chain, &mut rig).await,
        ];
        if found != [alone, of_two, told] {
            faults.push(format!("| {answer} | {} |", found.join(" | ")));
        }
    }
    assert!(faults.is_empty(), "it is so:\n{}", faults.join("\n"));
}
