//! Batches as providers limit and cut them, and nodes behind one address that differ.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::*;
use crate::rpc::RpcLimits;
use crate::source::ChainSource as _;

const TOKEN: EvmAddress = EvmAddress::from_bytes([0x83; 20]);
const HEAD: BlockHash = BlockHash::from_bytes([0xb1; 32]);

/// An endpoint that answers by `rule`, with status and body, and the sizes of the batches it was asked (0 for a
/// request without a batch).
async fn endpoint(
    rule: impl Fn(&Value) -> (u16, Value) + Send + 'static,
) -> (RpcSource, Arc<Mutex<Vec<usize>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let sizes = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&sizes);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let request = request(&mut stream).await;
            let size = request.as_array().map_or(0, Vec::len);
            seen.lock().unwrap().push(size);
            let (status, body) = rule(&request);
            let body = body.to_string();
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 {status} X\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
            );
            let _written = stream.write_all(answer.as_bytes()).await;
        }
    });
    let limits = RpcLimits::default();
    (RpcSource::new(&url, limits).unwrap(), sizes)
}

async fn request(stream: &mut TcpStream) -> Value {
    let mut bytes = Vec::new();
    loop {
        let mut part = vec![0; 65_536];
        let length = stream.read(&mut part).await.unwrap();
        bytes.extend_from_slice(&part[..length]);
        let text = String::from_utf8_lossy(&bytes);
        if let Some((_, body)) = text.split_once("\r\n\r\n")
            && let Ok(request) = serde_json::from_str(body)
        {
            return request;
        }
    }
}

/// Answers all of a request, each call by `call`.
fn all(request: &Value, call: impl Fn(&Value) -> Value) -> Value {
    let answered = |asked: &Value| {
        let mut answer = call(asked);
        answer["jsonrpc"] = json!("2.0");
        answer["id"] = asked["id"].clone();
        answer
    };
    match request.as_array() {
        Some(batch) => batch.iter().map(answered).collect(),
        None => answered(request),
    }
}

/// A node that has the head and no receipt.
fn nothing(call: &Value) -> Value {
    if call["method"] == BLOCK {
        let zero = format!("0x{}", "00".repeat(32));
        return json!({ "result": {
            "number": "0x10", "hash": HEAD, "parentHash": zero, "timestamp": "0x1",
        } });
    }
    json!({ "result": null })
}

fn hashes(count: u8) -> Vec<TxHash> {
    (0..count).map(|n| TxHash::from_bytes([n; 32])).collect()
}

#[tokio::test]
async fn sw_design_fifty_calls_are_one_request_receipts_with_the_block_they_are_as_of() {
    let (source, sizes) = endpoint(|request| (200, all(request, nothing))).await;
    let answers = source.receipts(&hashes(120), TOKEN, HEAD).await.unwrap();
    assert_eq!(answers, vec![ReceiptAnswer::NotFound; 120]);
    let mut sizes = sizes.lock().unwrap().clone();
    sizes.sort_unstable();
    assert_eq!(sizes, [23, 50, 50]);
}

/// Several interactions may declare one transaction: each is answered, by one call.
#[tokio::test]
async fn sw_26_a_transaction_asked_for_twice_is_asked_once_and_answered_twice() {
    let (source, sizes) = endpoint(|request| (200, all(request, nothing))).await;
    let [one, two] = [TxHash::from_bytes([1; 32]), TxHash::from_bytes([2; 32])];
    let answers = source.receipts(&[one, two, one, one], TOKEN, HEAD).await;
    assert_eq!(answers.unwrap(), vec![ReceiptAnswer::NotFound; 4]);
    assert_eq!(*sizes.lock().unwrap(), [3], "the block and two receipts");

    // Each keeps its own answer, however they are mixed.
    let (source, _) = endpoint(|request| (200, all(request, all_but_one))).await;
    let asked = [hashes(3), hashes(3)].concat();
    let answers = source.receipts(&asked, TOKEN, HEAD).await.unwrap();
    let unanswered = |answer: &ReceiptAnswer| *answer == ReceiptAnswer::Unanswered;
    let places: Vec<usize> = (0..6)
        .filter(|place| unanswered(&answers[*place]))
        .collect();
    assert_eq!(places, [2, 5]);
}

#[tokio::test]
async fn sw_27_a_node_that_does_not_know_the_block_says_nothing_about_receipts() {
    let (source, _) = endpoint(|request| (200, all(request, |_| json!({ "result": null })))).await;
    for count in [1, 2, 60] {
        let answers = source.receipts(&hashes(count), TOKEN, HEAD).await;
        assert_eq!(answers, Err(SourceError::Behind { method: BLOCK }));
    }
}

#[tokio::test]
async fn sw_pitfalls_a_batch_that_is_too_long_is_halved() {
    let (source, sizes) = endpoint(|request| {
        let too_long = request.as_array().is_some_and(|batch| batch.len() > 11);
        match too_long {
            true => (413, json!({})),
            false => (200, all(request, nothing)),
        }
    })
    .await;
    let answers = source.receipts(&hashes(40), TOKEN, HEAD).await.unwrap();
    assert_eq!(answers.len(), 40);
    let sizes = sizes.lock().unwrap().clone();
    assert_eq!(sizes, [41, 21, 11, 11, 21, 11, 11]);
}

#[tokio::test]
async fn sw_pitfalls_an_endpoint_without_batches_is_asked_one_by_one() {
    let (source, sizes) = endpoint(|request| match request.as_array() {
        Some(_) => {
            let error = json!({ "code": -32_600, "message": "no batches here" });
            (200, json!({ "jsonrpc": "2.0", "id": null, "error": error }))
        }
        None => (200, all(request, nothing)),
    })
    .await;
    let answers = source.receipts(&hashes(3), TOKEN, HEAD).await.unwrap();
    assert_eq!(answers.len(), 3);
    let alone = sizes
        .lock()
        .unwrap()
        .iter()
        .filter(|size| **size == 0)
        .count();
    assert_eq!(alone, 6, "the block and the receipt, three times");
}

/// Answers nothing of the third transaction, alone or not.
fn all_but_one(call: &Value) -> Value {
    let bad = TxHash::from_bytes([2; 32]).to_string();
    if call["params"][0] == json!(bad) {
        return json!({ "error": { "code": -32_000, "message": "no such thing" } });
    }
    nothing(call)
}

/// One bad member of a batch must not hide the good ones (settlement-watcher.md section 5).
#[tokio::test]
async fn sw_pitfalls_one_member_that_fails_does_not_lose_the_others() {
    let (source, sizes) = endpoint(|request| (200, all(request, all_but_one))).await;
    let answers = source.receipts(&hashes(49), TOKEN, HEAD).await.unwrap();
    let mut expected = vec![ReceiptAnswer::NotFound; 49];
    expected[2] = ReceiptAnswer::Unanswered;
    assert_eq!(answers, expected);
    assert_eq!(*sizes.lock().unwrap(), [50], "each once");
    let alone = source.receipts(&hashes(3)[2..], TOKEN, HEAD).await;
    assert_eq!(
        alone.unwrap(),
        [ReceiptAnswer::Unanswered],
        "no failure of the endpoint"
    );
}

/// A response without a receipt that can be read, of each receipt in a batch: each is asked for alone at last.
#[tokio::test]
async fn sw_pitfalls_a_batch_of_which_nothing_can_be_read_ends() {
    let unreadable = |call: &Value| match call["method"] == RECEIPT {
        true => json!({ "result": "no receipt" }),
        false => nothing(call),
    };
    let (source, sizes) = endpoint(move |request| (200, all(request, unreadable))).await;
    let answers = source.receipts(&hashes(4), TOKEN, HEAD).await.unwrap();
    assert_eq!(answers, vec![ReceiptAnswer::Unanswered; 4]);
    let mut sizes = sizes.lock().unwrap().clone();
    sizes.retain(|size| *size > 0);
    assert_eq!(sizes, [5, 3, 2, 2, 3, 2, 2]);
}

/// Batches are answered in part: the first call alone.
#[tokio::test]
async fn sw_pitfalls_what_a_batch_leaves_out_is_asked_for_alone() {
    let (source, _) = endpoint(|request| {
        let mut answer = all(request, nothing);
        if let Some(answers) = answer.as_array_mut() {
            answers.truncate(1);
        }
        (200, answer)
    })
    .await;
    let answers = source.receipts(&hashes(5), TOKEN, HEAD).await.unwrap();
    assert_eq!(answers, vec![ReceiptAnswer::NotFound; 5]);
}

/// A rate limit with an HTTP status of its own: the batch is not halved.
#[tokio::test]
async fn sw_pitfalls_a_rate_limit_inside_403_ends_the_asking() {
    let limit = json!({ "code": -32_005, "message": "over rate limit" });
    let whole = json!({ "jsonrpc": "2.0", "id": null, "error": limit });
    let (source, sizes) = endpoint(move |_| (403, whole.clone())).await;
    let failure = source.receipts(&hashes(49), TOKEN, HEAD).await.unwrap_err();
    assert!(matches!(failure, SourceError::Busy { .. }), "{failure:?}");
    assert_eq!(*sizes.lock().unwrap(), [50]);
}

/// Refused because of a rate limit, inside HTTP status 200: whole, or one member of a batch.
#[tokio::test]
async fn sw_pitfalls_a_rate_limit_inside_200_ends_the_asking() {
    for code in [-32_005, -32_016, 429] {
        let limit = json!({ "code": code, "message": "over rate limit" });
        let whole = json!({ "jsonrpc": "2.0", "id": null, "error": limit });
        let (source, sizes) = endpoint(move |_| (200, whole.clone())).await;
        let failure = source.receipts(&hashes(49), TOKEN, HEAD).await.unwrap_err();
        assert!(
            matches!(
                failure,
                SourceError::Busy {
                    is_rate_limit: true,
                    ..
                }
            ),
            "{failure:?}"
        );
        assert_eq!(*sizes.lock().unwrap(), [50]);
        let of_one =
            move |call: &Value| match call["params"][0] == json!(TxHash::from_bytes([2; 32])) {
                true => json!({ "error": { "code": code, "message": "over rate limit" } }),
                false => nothing(call),
            };
        let (source, sizes) = endpoint(move |request| (200, all(request, of_one))).await;
        let answers = source.receipts(&hashes(49), TOKEN, HEAD).await.unwrap();
        assert_eq!(
            answers[..2],
            [ReceiptAnswer::NotFound, ReceiptAnswer::NotFound]
        );
        assert!(
            answers[2..]
                .iter()
                .all(|it| *it == ReceiptAnswer::Unanswered)
        );
        assert_eq!(*sizes.lock().unwrap(), [50]);
    }
}

/// Hashes that somebody made up, which the node refuses one by one: the batch is not halved.
#[tokio::test]
async fn sw_pitfalls_refused_receipts_are_asked_for_once_a_look() {
    let refuse = |call: &Value| match call["method"] == "eth_getTransactionReceipt" {
        true => {
            json!({ "error": { "code": -32_000, "message": "transaction indexing is in progress" } })
        }
        false => nothing(call),
    };
    let (source, sizes) = endpoint(move |request| (200, all(request, refuse))).await;
    let answers = source.receipts(&hashes(49), TOKEN, HEAD).await.unwrap();
    assert_eq!(answers, vec![ReceiptAnswer::Unanswered; 49]);
    assert_eq!(*sizes.lock().unwrap(), [50]);
}

/// A batch that an endpoint turns away is not asked again in pieces.
#[tokio::test]
async fn sw_pitfalls_an_endpoint_that_is_busy_is_left_alone() {
    let (source, sizes) = endpoint(|_| (429, json!([]))).await;
    let failure = source.receipts(&hashes(49), TOKEN, HEAD).await.unwrap_err();
    assert!(matches!(
        failure,
        SourceError::Busy {
            is_rate_limit: true,
            ..
        }
    ));
    assert_eq!(*sizes.lock().unwrap(), [50]);
}

/// What was answered before an endpoint turned the rest away counts.
#[tokio::test]
async fn sw_pitfalls_batches_that_were_answered_are_kept() {
    let (source, _) = endpoint(|request| {
        let last = json!(TxHash::from_bytes([99; 32]));
        let asks_for_last = |call: &Value| call["params"][0] == last;
        match request
            .as_array()
            .is_some_and(|batch| batch.iter().any(asks_for_last))
        {
            true => (503, json!([])),
            false => (200, all(request, nothing)),
        }
    })
    .await;
    let answers = source.receipts(&hashes(100), TOKEN, HEAD).await.unwrap();
    let mut expected = vec![ReceiptAnswer::NotFound; 98];
    expected.resize(100, ReceiptAnswer::Unanswered);
    assert_eq!(answers, expected);
}
