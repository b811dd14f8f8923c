//! Rules for what real nodes and providers do, for [`Proxy::rule`](super::Proxy::rule).

use serde_json::Value;

use super::{Act, Call};

/// A node that reads the member `data` of a call and not `input`.
#[must_use]
pub fn ignores_input(call: &Call<'_>) -> Act {
    match call.params[0].get("data") {
        None if call.method == "eth_call" => Act::Replace("0x".into()),
        Some(_) | None => Act::Pass,
    }
}

/// A node without EIP-1898: it accepts the number of a block and not its hash.
#[must_use]
pub fn rejects_block_hashes(call: &Call<'_>) -> Act {
    match call.method == "eth_call" && call.names("blockHash") {
        true => Act::Error(-32_602, "invalid argument 1: cannot unmarshal object"),
        false => Act::Pass,
    }
}

/// A provider that lists the logs of at most `most_blocks` blocks in one call.
pub fn lists_at_most(most_blocks: u64) -> impl Fn(&Call<'_>) -> Act + Send + Sync {
    move |call| {
        let range = &call.params[0];
        let blocks = 1 + number(&range["toBlock"]).saturating_sub(number(&range["fromBlock"]));
        match call.method == "eth_getLogs" && blocks > most_blocks {
            true => Act::Error(-32_600, "the range is limited in the free plan"),
            false => Act::Pass,
        }
    }
}

/// A provider that sends these methods to a node whose newest block is `head`. Before it, that node knows
/// no transaction and has zero in every variable.
pub fn lags_at(head: u64, methods: &'static [&str]) -> impl Fn(&Call<'_>) -> Act + Send + Sync {
    move |call| match call.method {
        method if !methods.contains(&method) => Act::Pass,
        "eth_call" if number(&call.params[1]) > head => Act::Error(-32_000, "header not found"),
        "eth_call" if call.names("latest") && call.names(AUTHORIZATION_STATE) => {
            Act::Replace(format!("0x{}", "0".repeat(64)).into())
        }
        "eth_getTransactionReceipt" | "eth_getTransactionByHash" => Act::null(),
        _ => Act::Pass,
    }
}

/// A node that has counted the transactions of a block which it does not name yet: no authorization of that
/// block is used, and there are no receipts and logs.
#[must_use]
pub fn counts_ahead(call: &Call<'_>) -> Act {
    match call.method {
        "eth_call" if call.names(AUTHORIZATION_STATE) => {
            Act::Replace(format!("0x{}", "0".repeat(64)).into())
        }
        "eth_getTransactionReceipt" => Act::null(),
        "eth_getLogs" => Act::Replace(Value::Array(Vec::new())),
        _ => Act::Pass,
    }
}

/// Selector of `authorizationState(address,bytes32)`.
const AUTHORIZATION_STATE: &str = "0xe94a0102";

/// A block number; 0 where there is none.
fn number(block: &Value) -> u64 {
    let digits = block.as_str().unwrap_or("0x0").trim_start_matches("0x");
    u64::from_str_radix(digits, 16).unwrap_or_default()
}
