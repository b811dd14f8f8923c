//! What leaves the process besides answers, its log lines and its figures, holds no secret and no
//! character that a terminal would obey, however much is logged and whatever agents write.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use super::place::Place;
use serde_json::json;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use x811_tests::binary::Server;

const USER: &str = "u5ername";
const PASSWORD: &str = "passw0rd-of-the-endpoint";
const KEY: &str = "k3y-in-the-path";
const QUERY: &str = "k3y-in-the-query";

/// Clears a screen, sets a title, goes on in another line.
const HOSTILE: &str = "x\u{1b}[2J\u{1b}]0;owned\u{7}\r\nINFO forged line\u{9b}31m\u{202e}\u{0}";

#[test]
fn nothing_secret_and_nothing_a_terminal_obeys_is_logged() {
    for format in ["text", "json"] {
        let place = Place::new();
        let endpoint = echo().replace("http://", &format!("http://{USER}:{PASSWORD}@"));
        let endpoint = format!("{endpoint}/v2/{KEY}?apikey={QUERY}");
        // Nobody listens there, so it is tried again and again.
        let collector = format!("http://{USER}:{PASSWORD}@127.0.0.1:1/{KEY}?apikey={QUERY}");
        let log = place.path("log");
        let metrics_at = free_address();
        let server = Server::start_logged(
            &place.data_dir(),
            &[
                "--network",
                "local",
                "--token",
                "0x5FbDB2315678afecb367f032d93F642f64180aa3",
                "--rpc-url",
                &endpoint,
                "--otlp-endpoint",
                &collector,
                "--metrics-listen",
                metrics_at.trim_start_matches("http://"),
                "--log-format",
                format,
                "--log-filter",
                "trace",
            ],
            &log,
        )
        .unwrap();
        attack(&place, &server);
        let ready = ask(server.url(), "GET /ready HTTP/1.1");
        let metrics = ask(&metrics_at, "GET /metrics HTTP/1.1");
        server.stop();
        let logged = std::fs::read_to_string(&log).unwrap();
        assert!(logged.contains("OTLP export exhausted retries"), "{format}");
        // The endpoint was asked, and what it said is known.
        assert!(logged.contains("HTTP status 401"), "{format}: {logged}");
        assert!(
            logged.contains("TRACE") && logged.contains("answered"),
            "{format}"
        );
        assert!(ready.contains("\"ready\":true"), "{ready}");
        assert!(metrics.contains("x811_messages_total"), "{metrics}");
        for text in [&logged, &ready, &metrics] {
            assert_harmless(&place, text, format);
        }
        if format == "json" {
            for line in logged.lines() {
                assert!(
                    serde_json::from_str::<serde_json::Value>(line).is_ok(),
                    "{line}"
                );
            }
        }
    }
}

#[track_caller]
fn assert_harmless(place: &Place, text: &str, format: &str) {
    let mut secrets = vec![
        USER.to_owned(),
        PASSWORD.to_owned(),
        KEY.to_owned(),
        QUERY.to_owned(),
        // What HTTP makes of the user and the password.
        "dTVlcm5hbWU6".to_owned(),
        "forged line".to_owned(),
    ];
    for name in ["envelope", "checkpoint", "receipt"] {
        let seed = place.data_dir().join(format!("keys/{name}.seed"));
        secrets.push(std::fs::read_to_string(seed).unwrap().trim().to_owned());
    }
    for secret in secrets {
        if let Some(at) = text.find(&secret) {
            let line = text[..at].lines().count();
            let line = text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
            panic!("{format}: {secret} is in {line}");
        }
    }
    let obeyed = |c: &char| {
        let bidirectional = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        (c.is_control() && !matches!(c, '\n' | '\r')) || bidirectional
    };
    let found = text.chars().find(obeyed);
    assert_eq!(found, None, "{format}: a control character");
}

/// Everything an agent, and somebody who is none, can write.
fn attack(place: &Place, server: &Server) {
    place.fill(server);
    let shown = place.x811(server, &["agent", "show", "bert"]);
    let bert = shown["agents"][0]["did"].as_str().unwrap();
    let payload = place.path("payload.json");
    std::fs::write(&payload, json!({ "note": HOSTILE, HOSTILE: 1 }).to_string()).unwrap();
    let payload = format!("@{}", payload.display());
    let custom = ["--agent", "ada", "send", "custom", "--to", bert];
    let what = ["--type", "x811.test/note", "--payload", &payload];
    place.x811(server, &[&custom[..], &what].concat());
    for body in [
        json!({ "type": HOSTILE, "from": HOSTILE, "id": HOSTILE }).to_string(),
        json!({ "envelope": { HOSTILE: HOSTILE } }).to_string(),
        format!("{{{HOSTILE}"),
    ] {
        let length = body.len();
        let request = format!("POST /api/v1/messages HTTP/1.1\r\ncontent-length: {length}");
        let answer = say(server.url(), &request, body.as_bytes());
        assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    }
    let path = "/api/v1/agents/%1b%5b2J%0aINFO%20forged%20line?q=%1b%5b31m";
    for request in [
        format!("GET {path} HTTP/1.1"),
        "BREW /coffee HTTP/1.1\r\nuser-agent: \u{9b}31m".to_owned(),
        "GET /\u{1b}[2J HTTP/1.1".to_owned(),
        "\u{1b}[2J nonsense".to_owned(),
    ] {
        say(server.url(), &request, b"");
    }
}

fn ask(url: &str, request: &str) -> String {
    let answer = say(url, request, b"");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    answer
}

/// Says it as it is: no client would.
fn say(url: &str, request: &str, body: &[u8]) -> String {
    let mut connection = TcpStream::connect(url.trim_start_matches("http://")).unwrap();
    let head = format!("{request}\r\nhost: ledger\r\nconnection: close\r\n\r\n");
    connection.write_all(head.as_bytes()).unwrap();
    connection.write_all(body).unwrap();
    let mut answer = Vec::new();
    // Who says nonsense may be cut off.
    let _ = connection.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

/// Nothing says where port 0 came to lie for metrics. On this loopback address nothing else listens
/// or connects, so nobody takes the port in between.
fn free_address() -> String {
    let listener = TcpListener::bind((Ipv4Addr::new(127, 81, 1, 1), 0)).unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

/// An RPC endpoint that quotes what it was asked, its own address included, and is of no use.
fn echo() -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for connection in listener.incoming().map_while(Result::ok) {
            let lines = BufReader::new(&connection).lines().map_while(Result::ok);
            let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
            let body = format!("{HOSTILE} {}", head.join(" "));
            let length = body.len();
            let _ = write!(
                &connection,
                "HTTP/1.1 401 Unauthorized\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n\
                 {body}"
            );
        }
    });
    url
}
