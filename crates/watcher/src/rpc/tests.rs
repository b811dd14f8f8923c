//! Answers as nodes give them, and endpoints that misbehave at the level of HTTP.

use serde_json::Value;
use std::collections::BTreeMap;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use x811_protocol::digest::Digest;
use x811_protocol::money::MicroUsdc;

use super::answers::RpcReceipt;
use super::*;
use crate::source::Receipt;

const USDC: &str = "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913";
const OTHER_TOKEN: &str = "0xd9aaec86b65d86f6a7b5b1b0c42ffa531710b6ca";
const TRANSFER: &str = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
const AUTHORIZATION_USED: &str =
    "0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5";
const APPROVAL: &str = "0x8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925";

fn usdc() -> EvmAddress {
    EvmAddress::parse_lower(USDC).unwrap()
}

fn account(byte: u8) -> EvmAddress {
    EvmAddress::from_bytes([byte; 20])
}

fn account_topic(byte: u8) -> String {
    format!("0x{}{}", "00".repeat(12), format!("{byte:02x}").repeat(20))
}

fn word(value: &str) -> String {
    format!("0x{value:0>64}")
}

fn log(index: u64, address: &str, topics: &[String], data: &str) -> Value {
    json!({
        "address": address, "topics": topics, "data": data, "logIndex": format!("{index:#x}"),
        "blockHash": word("b10c"), "blockNumber": "0x10", "transactionHash": word("7a"),
        "transactionIndex": "0x1", "removed": false, "blockTimestamp": "0x6553f100",
    })
}

fn transfer_topics(from: u8, to: u8) -> [String; 3] {
    [TRANSFER.to_owned(), account_topic(from), account_topic(to)]
}

fn receipt(logs: &[Value]) -> Value {
    json!({
        "transactionHash": word("7a"), "transactionIndex": "0x1", "blockHash": word("b10c"),
        "blockNumber": "0x10", "from": account(9).to_string(), "to": USDC, "type": "0x2",
        "status": "0x1", "cumulativeGasUsed": "0x5208", "gasUsed": "0x5208", "logs": logs,
        "effectiveGasPrice": "0x1", "contractAddress": null, "logsBloom": "0x00",
    })
}

fn read(receipt: Value) -> Result<Option<Receipt>, &'static str> {
    serde_json::from_value::<RpcReceipt>(receipt)
        .unwrap()
        .read(usdc())
}

fn transfers(logs: &[Value]) -> Vec<(u64, EvmAddress, EvmAddress, u64)> {
    let receipt = read(receipt(logs)).unwrap().unwrap();
    let transfers = receipt.transfers.iter();
    transfers
        .map(|t| (t.ordinal, t.from, t.to, t.amount.as_micro_usdc()))
        .collect()
}

#[test]
fn rule_13_only_the_tokens_own_transfer_logs_count() {
    let good = transfer_topics(1, 2);
    let approval = [APPROVAL.to_owned(), account_topic(1), account_topic(2)];
    let with_indexed_value = [good[0].clone(), good[1].clone(), good[2].clone(), word("5")];
    let dirty = [
        good[0].clone(),
        format!("0x{}", "11".repeat(32)),
        good[2].clone(),
    ];
    let not_ours = [
        log(0, OTHER_TOKEN, &good, &word("5")),
        log(1, USDC, &approval, &word("5")),
        log(2, USDC, &with_indexed_value, "0x"),
        log(3, USDC, &good[..2], &word("5")),
        log(4, USDC, &good, "0x"),
        log(5, USDC, &good, &format!("{}00", word("5"))),
        log(6, USDC, &good, "0x05"),
        log(7, USDC, &dirty, &word("5")),
        log(8, USDC, &[], &word("5")),
    ];
    assert_eq!(transfers(&not_ours), []);
    let mut mixed = not_ours.to_vec();
    mixed.push(log(9, USDC, &good, &word("713d")));
    assert_eq!(transfers(&mixed), [(0, account(1), account(2), 28_989)]);
}

#[test]
fn rule_13_ordinals_count_every_transfer_of_the_token_in_emission_order() {
    let logs = [
        log(12, USDC, &transfer_topics(3, 4), &word("2")),
        log(10, USDC, &transfer_topics(1, 2), &word("0")),
        log(11, OTHER_TOKEN, &transfer_topics(1, 2), &word("9")),
        log(13, USDC, &transfer_topics(1, 2), &word("3")),
    ];
    assert_eq!(
        transfers(&logs),
        [
            (0, account(1), account(2), 0),
            (1, account(3), account(4), 2),
            (2, account(1), account(2), 3),
        ]
    );
}

#[test]
fn rule_13_values_beyond_a_record_are_held_at_its_maximum() {
    let max = MicroUsdc::MAX.as_micro_usdc();
    for (value, expected) in [
        ("de0b6b3a7640000", max),
        ("de0b6b3a763ffff", max - 1),
        ("de0b6b3a7640001", max),
        ("ffffffffffffffff", max),
        ("10000000000000000", max),
        (&"f".repeat(64), max),
    ] {
        let logs = [log(0, USDC, &transfer_topics(1, 2), &word(value))];
        assert_eq!(transfers(&logs)[0].3, expected, "{value}");
    }
}

/// The logs of a block as `eth_getLogs` gives them: by transaction, each with ordinals of its own.
#[test]
fn rule_13_the_logs_of_a_block_are_put_together_by_transaction() {
    let block = BlockHash::from_bytes([0xb1; 32]);
    let of = |tx: &str, index: u64, address: &str, micro_usdc: &str| {
        let mut log = log(index, address, &transfer_topics(1, 2), &word(micro_usdc));
        log["transactionHash"] = json!(word(tx));
        log["blockHash"] = json!(block);
        // What is said of removal is not believed either way.
        log["removed"] = json!(index.is_multiple_of(2));
        log
    };
    let logs = [
        of("7b", 9, USDC, "4"),
        of("7a", 5, USDC, "2"),
        of("7a", 4, USDC, "1"),
        of("7a", 6, OTHER_TOKEN, "9"),
        of("7b", 8, USDC, "3"),
    ];
    let read = |logs: &[Value]| {
        let logs = serde_json::from_value(json!(logs)).unwrap();
        by_transaction(logs, usdc(), block)
    };
    let moved = read(&logs).unwrap();
    let amounts = moved.iter().map(|moved| {
        let amounts = moved.transfers.iter();
        let amounts: Vec<(u64, u64)> = amounts
            .map(|transfer| (transfer.ordinal, transfer.amount.as_micro_usdc()))
            .collect();
        (moved.tx_hash.to_string(), amounts)
    });
    assert_eq!(
        amounts.collect::<Vec<_>>(),
        [
            (word("7a"), vec![(0, 1), (1, 2)]),
            (word("7b"), vec![(0, 3), (1, 4)]),
        ]
    );
    let mut stray = logs.to_vec();
    stray[1]["blockHash"] = json!(word("b2"));
    assert!(read(&stray).is_err(), "an answer to another question");
    stray[1]["blockHash"] = Value::Null;
    assert!(read(&stray).is_err());
}

/// Half of the money would pay twice over.
#[test]
fn rule_26_a_log_that_is_repeated_makes_the_answer_unreadable() {
    let paid = |index| log(index, USDC, &transfer_topics(1, 2), &word("64"));
    assert!(read(receipt(&[paid(3), paid(4)])).is_ok());
    assert!(read(receipt(&[paid(3), paid(3)])).is_err(), "in a receipt");
    let mut nowhere = paid(3);
    nowhere["logIndex"] = Value::Null;
    assert!(read(receipt(&[nowhere])).is_err(), "without a place");
    for member in ["blockHash", "transactionHash"] {
        let mut stray = paid(3);
        stray[member] = json!(word("ee"));
        assert!(read(receipt(&[stray])).is_err(), "of another {member}");
    }
    let of_block = |logs: &[Value]| {
        let logs = serde_json::from_value(json!(logs)).unwrap();
        let block = BlockHash::from_bytes(hash_bytes(word("b10c").parse().unwrap()));
        by_transaction(logs, usdc(), block)
    };
    assert_eq!(of_block(&[paid(3), paid(4)]).unwrap()[0].transfers.len(), 2);
    assert!(of_block(&[paid(3), paid(3)]).is_err(), "in a block");
}

fn authorization(index: u64, address: &str, authorizer: u8, nonce: &str) -> Value {
    let topics = [
        AUTHORIZATION_USED.to_owned(),
        account_topic(authorizer),
        word(nonce),
    ];
    log(index, address, &topics, "0x")
}

/// Ordinals and the last bytes of the nonces, as a receipt and as the logs of its block show them.
fn authorizations(logs: &[Value]) -> Vec<(u64, u8)> {
    let of = |authorizations: &BTreeMap<u64, Digest>| {
        let nonces = authorizations.iter();
        nonces
            .map(|(ordinal, nonce)| (*ordinal, nonce.as_bytes()[31]))
            .collect()
    };
    let receipt = read(receipt(logs)).unwrap().unwrap();
    let asked_for = logs.iter().filter(|log| {
        let topic = log["topics"][0].as_str();
        topic.is_some_and(|topic| [TRANSFER, AUTHORIZATION_USED].contains(&topic))
    });
    let logs = serde_json::from_value(asked_for.cloned().collect()).unwrap();
    let moved = by_transaction(logs, usdc(), receipt.block_hash).unwrap();
    assert_eq!(moved[0].authorizations, receipt.authorizations);
    assert_eq!(moved[0].transfers, receipt.transfers);
    of(&receipt.authorizations)
}

#[test]
fn rule_18_an_authorization_belongs_to_the_transfer_right_after_it() {
    let paid = |index, from, to| log(index, USDC, &transfer_topics(from, to), &word("5"));
    let approval = [APPROVAL.to_owned(), account_topic(1), account_topic(2)];
    let table = [
        (
            vec![authorization(0, USDC, 1, "aa"), paid(1, 1, 2)],
            vec![(0, 0xaa)],
        ),
        // Two authorised transfers in one transaction, and one that is not, in any order of answer.
        (
            vec![
                paid(4, 3, 2),
                authorization(3, USDC, 3, "bb"),
                paid(2, 1, 2),
                paid(1, 1, 2),
                authorization(0, USDC, 1, "aa"),
            ],
            vec![(0, 0xaa), (2, 0xbb)],
        ),
        // Somebody else's contract says so.
        (
            vec![authorization(0, OTHER_TOKEN, 1, "aa"), paid(1, 1, 2)],
            vec![],
        ),
        // Somebody else's authorization.
        (vec![authorization(0, USDC, 3, "aa"), paid(1, 1, 2)], vec![]),
        (vec![authorization(0, USDC, 2, "aa"), paid(1, 1, 2)], vec![]),
        // It is used up by the transfer after it, whosever that is.
        (
            vec![
                authorization(0, USDC, 1, "aa"),
                paid(1, 3, 2),
                paid(2, 1, 2),
            ],
            vec![],
        ),
        // After the transfer it is another's.
        (vec![paid(0, 1, 2), authorization(1, USDC, 1, "aa")], vec![]),
        // Of two, the nearer counts.
        (
            vec![
                authorization(0, USDC, 1, "aa"),
                authorization(1, USDC, 1, "bb"),
                paid(2, 1, 2),
            ],
            vec![(0, 0xbb)],
        ),
        // Logs that a block is not asked for, and other contracts' transfers, stand aside.
        (
            vec![
                authorization(0, USDC, 1, "aa"),
                log(1, USDC, &approval, &word("5")),
                log(2, OTHER_TOKEN, &transfer_topics(1, 2), &word("5")),
                paid(3, 1, 2),
            ],
            vec![(0, 0xaa)],
        ),
    ];
    for (logs, expected) in table {
        assert_eq!(authorizations(&logs), expected, "{logs:?}");
    }
}

#[test]
fn rule_18_only_the_event_as_the_token_emits_it_counts() {
    let paid = log(1, USDC, &transfer_topics(1, 2), &word("5"));
    let good = authorization(0, USDC, 1, "aa");
    let with = |member: &str, value: Value| {
        let mut log = good.clone();
        log[member] = value;
        log
    };
    let dirty = format!("0x{}", "01".repeat(32));
    let table = [
        with("data", json!(word("aa"))),
        with("topics", json!([AUTHORIZATION_USED, account_topic(1)])),
        with("topics", json!([AUTHORIZATION_USED, dirty, word("aa")])),
        with("topics", json!([APPROVAL, account_topic(1), word("aa")])),
    ];
    for log in table {
        assert_eq!(authorizations(&[log.clone(), paid.clone()]), [], "{log}");
    }
    assert_eq!(authorizations(&[good, paid]), [(0, 0xaa)]);
}

#[test]
fn rule_18_an_authorization_alone_moves_nothing() {
    let logs = serde_json::from_value(json!([authorization(0, USDC, 1, "aa")])).unwrap();
    let block = word("b10c").parse().unwrap();
    assert_eq!(by_transaction(logs, usdc(), block), Ok(Vec::new()));
}

#[test]
fn rule_12_status_zero_is_a_failure_and_nothing_else_is_guessed() {
    let with_status = |status: &str| {
        let mut receipt = receipt(&[]);
        receipt["status"] = json!(status);
        read(receipt).map(|receipt| receipt.unwrap().succeeded)
    };
    assert_eq!(with_status("0x1"), Ok(true));
    assert_eq!(with_status("0x0"), Ok(false));
    assert!(with_status("0x2").is_err());
    let mut without = receipt(&[]);
    without.as_object_mut().unwrap().remove("status");
    assert!(serde_json::from_value::<RpcReceipt>(without).is_err());
}

#[test]
fn rule_11_a_receipt_without_a_block_is_none() {
    for field in ["blockHash", "blockNumber"] {
        let mut pending = receipt(&[]);
        pending[field] = Value::Null;
        assert_eq!(read(pending), Ok(None), "{field}");
    }
}

/// A deposit transaction of Base: unknown type, unknown fields, L1 fees.
#[test]
fn rule_31_receipts_of_deposit_transactions_are_read() {
    let mut deposit = receipt(&[log(0, USDC, &transfer_topics(1, 2), &word("5"))]);
    for (field, value) in [
        ("type", "0x7e"),
        ("depositNonce", "0x1a2b"),
        ("depositReceiptVersion", "0x1"),
        ("l1Fee", "0x0"),
        ("l1GasPrice", "0x1"),
        ("operatorFeeScalar", "0x0"),
    ] {
        deposit[field] = json!(value);
    }
    let read = read(deposit).unwrap().unwrap();
    assert!(read.succeeded);
    assert_eq!(read.block_number, 16);
    assert_eq!(read.transfers.len(), 1);
}

#[test]
fn rule_26_numbers_that_no_record_could_hold_are_refused() {
    let largest = (1_u64 << 53) - 1;
    let block = |number: u64, timestamp_s: u64| {
        let block = json!({
            "number": format!("{number:#x}"), "hash": word("b10c"), "parentHash": word("b10b"),
            "timestamp": format!("{timestamp_s:#x}"),
        });
        serde_json::from_value::<RpcHeader>(block).unwrap().read()
    };
    assert!(block(largest, largest / 1_000).is_ok());
    for (number, timestamp_s) in [(largest + 1, 1), (u64::MAX, 1), (1, largest / 1_000 + 1)] {
        assert!(
            block(number, timestamp_s).is_err(),
            "{number} {timestamp_s}"
        );
    }
    let mut far = receipt(&[]);
    far["blockNumber"] = json!(format!("{:#x}", largest + 1));
    let far = serde_json::from_value::<RpcReceipt>(far).unwrap();
    assert!(far.read(usdc()).is_err());
}

#[test]
fn rule_31_blocks_that_begin_with_a_deposit_are_read() {
    let block = json!({
        "number": "0x10", "hash": word("b10c"), "parentHash": word("b10b"),
        "timestamp": "0x6553f100", "miner": USDC, "extraData": "0x00000000fa00000006",
        "transactions": [word("7e"), word("7a")], "withdrawalsRoot": word("1"),
        "requestsHash": word("2"), "blobGasUsed": "0x0", "somethingNew": {"a": [1]},
    });
    let header = serde_json::from_value::<RpcHeader>(block)
        .unwrap()
        .read()
        .unwrap();
    assert_eq!((header.number, header.timestamp_s), (16, 1_700_000_000));
    assert_eq!(header.parent.to_string(), word("b10b"));
    let pending = json!({
        "number": null, "hash": null, "parentHash": word("b10b"), "timestamp": "0x0",
    });
    assert!(
        serde_json::from_value::<RpcHeader>(pending)
            .unwrap()
            .read()
            .is_err()
    );
}

#[test]
fn urls_are_http_and_never_shown() {
    for bad in [
        "",
        "localhost:8545",
        "ws://localhost:8545",
        "file:///tmp/x",
        "http://",
    ] {
        assert!(RpcSource::new(bad, RpcLimits::default()).is_err(), "{bad}");
    }
    let source = RpcSource::new("https://node.example/v2/SECRET", RpcLimits::default()).unwrap();
    assert!(!format!("{source:?}").contains("SECRET"));
}

/// Serves one canned HTTP answer per connection, for ever; answers nothing when `answer` is empty.
async fn endpoint(answer: String) -> RpcSource {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/SECRET", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = vec![0; 4096];
            let _read = stream.read(&mut request).await;
            let _written = stream.write_all(answer.as_bytes()).await;
            if answer.is_empty() {
                open.push(stream);
            }
        }
    });
    let limits = RpcLimits {
        connect_timeout_ms: 1_000,
        total_timeout_ms: 1_000,
        answer_bytes: 1_024,
    };
    RpcSource::new(&url, limits).unwrap()
}

fn http(status: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
}

async fn failure_of(answer: String) -> SourceError {
    let failure = endpoint(answer).await.chain_id().await.unwrap_err();
    assert!(!failure.to_string().contains("SECRET"), "{failure}");
    failure
}

#[tokio::test]
async fn an_answer_is_read() {
    let source = endpoint(http(
        "200 OK",
        r#"{"jsonrpc":"2.0","id":0,"result":"0x2105"}"#,
    ))
    .await;
    assert_eq!(source.chain_id().await, Ok(ChainId::new(8453)));
}

#[tokio::test]
async fn rule_10_null_is_none_but_of_a_node_that_lags() {
    let null = http("200 OK", r#"{"jsonrpc":"2.0","id":0,"result":null}"#);
    let source = endpoint(null.clone()).await;
    let as_of = BlockHash::from_bytes([2; 32]);
    assert_eq!(
        source
            .receipts(&[TxHash::from_bytes([1; 32])], usdc(), as_of)
            .await,
        Err(SourceError::Behind {
            method: "eth_getBlockByHash"
        })
    );
    let source = endpoint(null).await;
    assert_eq!(source.head(HeadTag::Safe).await, Ok(None));
    let another = source.head(HeadTag::Safe).await;
    assert!(
        matches!(another, Err(SourceError::Malformed { .. })),
        "the second request has another id: {another:?}"
    );
}

#[tokio::test]
async fn rule_25_no_answer_is_an_error_and_never_none() {
    let refused = r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32000,"message":"not\u001b[2J so"}}"#;
    let limited = r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32005,"message":"limit exceeded"}}"#;
    let indexing =
        r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32000,"message":"indexing is in progress"}}"#;
    let cut = http("200 OK", "").replace("content-length: 0", "content-length: 99") + "{\"jso";
    let long = format!(
        r#"{{"jsonrpc":"2.0","id":0,"result":"0x{}"}}"#,
        "0".repeat(2_000)
    );
    let table = [
        (http("429 Too Many Requests", "slow down"), "Busy"),
        (http("503 Service Unavailable", "<html>"), "Busy"),
        (http("502 Bad Gateway", "<html>"), "Unreachable"),
        (http("200 OK", "\n<html>"), "Unreachable"),
        (
            http("200 OK", r#"{"jsonrpc":"2.0","id":7,"result":"0x2105"}"#),
            "Malformed",
        ),
        (http("200 OK", &refused.replace(":0,", ":null,")), "Refused"),
        (
            http("200 OK", r#"{"jsonrpc":"2.0","id":0,"result":"0x"#),
            "Malformed",
        ),
        (
            http("200 OK", r#"{"jsonrpc":"2.0","id":0,"result":[1]}"#),
            "Malformed",
        ),
        (
            http("200 OK", r#"{"jsonrpc":"2.0","id":0,"result":null}"#),
            "Malformed",
        ),
        (
            http("301 Moved\r\nlocation: http://127.0.0.1:1/", ""),
            "Unreachable",
        ),
        (cut, "Unreachable"),
        (String::new(), "Unreachable"),
        (http("200 OK", refused), "Refused"),
        (http("200 OK", limited), "Busy"),
        (http("200 OK", "<html>429 Too Many Requests</html>"), "Busy"),
        (http("200 OK", indexing), "NotYet"),
        (http("429 Too Many Requests", refused), "Busy"),
        (http("500 Internal Server Error", refused), "Refused"),
        (http("200 OK", &long), "TooLarge"),
    ];
    for (answer, expected) in table {
        let failure = failure_of(answer.clone()).await;
        assert!(
            format!("{failure:?}").starts_with(expected),
            "{answer}: {failure:?}"
        );
        assert!(!failure.to_string().contains('\u{1b}'), "{failure}");
    }
}

#[tokio::test]
async fn sw_pitfalls_how_long_an_endpoint_asks_to_be_left_alone_is_read() {
    let date = "Wed, 21 Oct 2015 07:28:00 GMT";
    for (said, expected) in [
        ("7", Some(7_000)),
        ("0", Some(0)),
        ("18446744073709551615", Some(u64::MAX)),
        ("-1", None),
        ("1.5", None),
        ("soon", None),
        (date, None),
    ] {
        let failure = failure_of(http(&format!("429 No\r\nretry-after: {said}"), "{}")).await;
        let expected = SourceError::Busy {
            method: "eth_chainId",
            said: "HTTP status 429".to_owned(),
            is_rate_limit: true,
            retry_after_ms: expected,
        };
        assert_eq!(failure, expected, "{said}");
    }
}

#[tokio::test]
async fn a_closed_port_is_unreachable() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/SECRET", listener.local_addr().unwrap());
    drop(listener);
    let failure = RpcSource::new(&url, RpcLimits::default())
        .unwrap()
        .chain_id()
        .await
        .unwrap_err();
    assert!(
        matches!(failure, SourceError::Unreachable { .. }),
        "{failure:?}"
    );
    assert!(!failure.to_string().contains("SECRET"), "{failure}");
}
