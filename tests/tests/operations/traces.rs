//! Traces: a collector is told how long each message was where, and nothing of what it says.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use crate::place::{Place, SERVE};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Arc, Mutex};
use x811_tests::binary::Server;

/// What a collector was sent.
#[derive(Default)]
struct Sent {
    paths: Vec<String>,
    bytes: Vec<u8>,
}

impl Sent {
    fn has(&self, text: &str) -> bool {
        let mut windows = self.bytes.windows(text.len());
        windows.any(|window| window == text.as_bytes())
    }
}

#[test]
fn a_message_is_followed_from_the_request_to_the_commit() {
    let (url, sent) = collector();
    let place = Place::new();
    let options = [&SERVE[..], &["--otlp-endpoint", &url]].concat();
    let server = Server::start(&place.data_dir(), &options).unwrap();
    let interaction = place.fill(&server);
    // The end delivers what is left.
    server.stop();
    let sent = sent.lock().unwrap();
    assert!(
        sent.paths
            .iter()
            .all(|path| path == "post /v1/traces http/1.1")
    );
    for name in [
        "service.name",
        "x811",
        "POST /api/v1/messages",
        "http.response.status_code",
        "submit",
        "check",
        "turn",
        "commit",
    ] {
        assert!(sent.has(name), "{name} did not arrive");
    }
    for word in ["echo", "did:x811:", &interaction, "127.0.0.1:1"] {
        assert!(!sent.has(word), "{word} arrived");
    }
}

#[test]
fn a_collector_that_is_gone_costs_nothing_but_its_spans() {
    let place = Place::new();
    let options = [&SERVE[..], &["--otlp-endpoint", "http://127.0.0.1:1"]].concat();
    let server = Server::start(&place.data_dir(), &options).unwrap();
    place.fill(&server);
    server.stop();
}

/// Takes everything, for as long as the test lives.
fn collector() -> (String, Arc<Mutex<Sent>>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let sent = Arc::new(Mutex::new(Sent::default()));
    let kept = sent.clone();
    std::thread::spawn(move || {
        for connection in listener.incoming().map_while(Result::ok) {
            let mut reader = BufReader::new(&connection);
            let mut head = Vec::new();
            let mut line = String::new();
            while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
                head.push(std::mem::take(&mut line).trim_end().to_lowercase());
            }
            let mut lengths = head.iter();
            let length = lengths.find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.map_or(0, |length| length.parse().unwrap());
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let mut sent = kept.lock().unwrap();
            sent.paths.push(head[0].clone());
            sent.bytes.extend(body);
            drop(sent);
            let _ = (&connection).write_all(
                b"HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\n\
                  connection: close\r\n\r\n",
            );
        }
    });
    (url, sent)
}
