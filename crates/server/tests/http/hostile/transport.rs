//! HTTP around an envelope: encodings, types, methods, paths and queries of the careless and the
//! curious.

use super::Stage;
use crate::world::{Reply, reply};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Posts with these headers.
async fn post(stage: &Stage, headers: &[(&str, &str)], body: Vec<u8>) -> Reply {
    let url = format!("{}/api/v1/messages", stage.world.base);
    let request = headers
        .iter()
        .fold(stage.world.http.post(url), |request, (name, value)| {
            request.header(*name, *value)
        });
    reply(request.body(body)).await
}

/// The body alone decides: a signed message needs no label, and curl's default is a wrong one.
#[tokio::test]
async fn ax_042_the_content_type_of_an_envelope_is_not_looked_at() {
    let stage = Stage::open().await;
    for kind in [
        "application/json",
        "application/json; charset=utf-8",
        "application/x-www-form-urlencoded",
        "text/plain",
        "multipart/form-data",
        "nonsense",
    ] {
        let answer = post(&stage, &[("content-type", kind)], stage.ping()).await;
        assert_eq!(answer.status, 202, "{kind}: {}", answer.text);
        assert_eq!(answer.headers["content-type"], "application/json");
    }
}

#[tokio::test]
async fn ax_042_compressed_bodies_are_refused_in_words() {
    let stage = Stage::open().await;
    let before = stage.look().await;
    let gzip = vec![
        0x1f, 0x8b, 0x08, 0, 0, 0, 0, 0, 0, 0x03, 0xab, 0xae, 0x05, 0,
    ];
    for encoding in ["gzip", "br", "deflate", "GZIP", "identity, gzip"] {
        for body in [gzip.clone(), stage.ping()] {
            let answer = post(&stage, &[("content-encoding", encoding)], body).await;
            let message = answer.refused(400, "X811-4001")["message"].clone();
            assert!(
                message.as_str().unwrap().contains("Content-Encoding"),
                "{message}"
            );
        }
    }
    let unlabelled = post(&stage, &[], gzip).await;
    unlabelled.refused(400, "X811-4001");
    assert_eq!(stage.look().await, before);
    let plain = post(&stage, &[("content-encoding", "identity")], stage.ping()).await;
    plain.expect(202);
}

#[tokio::test]
async fn ax_042_methods_paths_and_queries_are_answered_in_json() {
    let stage = Stage::open().await;
    let (base, http) = (&stage.world.base, &stage.world.http);
    let uuid = stage.a.uuid();
    let inbox = format!("/api/v1/messages/{uuid}");
    for (path, status) in [
        ("/api/v1/agents/%00".to_owned(), 400),
        ("/api/v1/agents/%ff%fe".to_owned(), 400),
        ("/api/v1/agents/%1b%5b2J".to_owned(), 400),
        (format!("/api/v1/agents/{}", uuid.to_uppercase()), 400),
        (format!("/api/v1/agents/{}", "a".repeat(5_000)), 400),
        ("/api/v1/agents/..%2f..%2fetc%2fpasswd".to_owned(), 400),
        ("/api/v1/agents/".to_owned(), 404),
        ("/../../../etc/passwd".to_owned(), 404),
        ("//api/v1/messages".to_owned(), 404),
        ("/api/v1/messages/by-id/x".to_owned(), 400),
        ("/api/v1/interactions/%F0%9F%98%80".to_owned(), 400),
        (format!("{inbox}?after=%00"), 400),
        (format!("{inbox}?after={}", "A".repeat(8_000)), 400),
        (format!("{inbox}?limit=-1"), 400),
        (format!("{inbox}?limit=1e3"), 400),
        (format!("{inbox}?limit=99999999999999999999"), 400),
        (format!("{inbox}?wait_ms=-1"), 400),
        (format!("{inbox}?limit=1&limit=2"), 400),
        (format!("{inbox}?surprise=1"), 400),
    ] {
        let answer = stage.world.get(&path).await;
        assert_eq!(answer.status, status, "{path}: {}", answer.text);
        super::is_safe_answer(&path, &answer);
    }
    for method in ["GET", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"] {
        let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
        let url = format!("{base}/api/v1/messages");
        let answer = reply(http.request(method.clone(), url)).await;
        assert_eq!(answer.status, 405, "{method}: {}", answer.text);
        super::is_safe_answer(method.as_str(), &answer);
    }
    stage.world.post(stage.ping()).await.expect(202);
}

/// Sends raw bytes, hangs up if the server would wait for more, and reads until it hangs up.
async fn raw(stage: &Stage, bytes: &[u8], is_all: bool) -> String {
    let mut stream = TcpStream::connect(stage.world.running.local_addr)
        .await
        .unwrap();
    // The server may cut it off before it has everything.
    let _ = stream.write_all(bytes).await;
    if !is_all {
        stream.shutdown().await.unwrap();
    }
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn ax_042_two_lengths_and_broken_chunks_smuggle_nothing() {
    let stage = Stage::open().await;
    let before = stage.look().await;
    let head = "POST /api/v1/messages HTTP/1.1\r\nhost: x\r\nconnection: close\r\n";
    let ping = String::from_utf8(stage.ping()).unwrap();
    let chunked = |text: &str| format!("{:x}\r\n{text}\r\n0\r\n\r\n", text.len());
    let smuggled = format!("GET /health HTTP/1.1\r\nhost: x\r\n\r\n{ping}");
    for (name, is_all, request) in [
        (
            "two lengths",
            true,
            format!("{head}content-length: 2\r\ncontent-length: 3\r\n\r\n{{}}"),
        ),
        (
            "a length that is none",
            true,
            format!("{head}content-length: -1\r\n\r\n{ping}"),
        ),
        (
            "a chunk size that is none",
            true,
            format!("{head}transfer-encoding: chunked\r\n\r\nzz\r\n{ping}\r\n0\r\n\r\n"),
        ),
        (
            "a chunk without end",
            true,
            format!("{head}transfer-encoding: chunked\r\n\r\nffffffffffffffffff\r\n"),
        ),
        (
            "an unknown transfer encoding",
            true,
            format!("{head}transfer-encoding: gzip\r\n\r\n{smuggled}"),
        ),
        (
            "half a body",
            false,
            format!("{head}content-length: 5000\r\n\r\n{ping}"),
        ),
        (
            "endless headers",
            true,
            format!("{head}x: {}\r\n\r\n", "a".repeat(1 << 20)),
        ),
    ] {
        let answer = raw(&stage, request.as_bytes(), is_all).await;
        let is_refused = answer.is_empty() || answer.starts_with("HTTP/1.1 4");
        assert!(is_refused, "{name}: {answer}");
    }
    assert_eq!(stage.look().await, before, "nothing was recorded");
    let request = format!("{head}transfer-encoding: chunked\r\n\r\n{}", chunked(&ping));
    let answer = raw(&stage, request.as_bytes(), true).await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 202"), "{answer}");
    assert!(serde_json::from_str::<Value>(body).is_ok(), "{answer}");
}
