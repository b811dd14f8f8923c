//! Endpoints that fall silent before a log that contradicts: what is broken stays so, and the report
//! says that nobody answered.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::audit::{Args, run};
use crate::exit::Exit;
use crate::output::Out;

/// Height of the newest block of a chain that has nothing of what the log says.
const HEAD: &str = "0x3b9aca00";

/// How an endpoint answers one call.
fn answered(call: &Value) -> Value {
    let asked = call["params"][0].as_str().unwrap_or_default();
    let header = |number: &str, hash: Value| {
        json!({
            "number": number,
            "hash": hash,
            "parentHash": format!("0x{}", "ee".repeat(32)),
            "timestamp": "0x1",
        })
    };
    let result = match call["method"].as_str().unwrap() {
        "eth_chainId" => json!("0x2105"),
        "eth_getBlockByHash" => header(HEAD, json!(asked)),
        "eth_getBlockByNumber" => {
            let number = if asked == "latest" { HEAD } else { asked };
            header(number, json!(format!("0x{:0>64}", &number[2..])))
        }
        _ => Value::Null,
    };
    json!({"jsonrpc": "2.0", "id": call["id"], "result": result})
}

fn body(stream: &TcpStream) -> Value {
    let mut stream = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).unwrap();
        let line = line.trim().to_ascii_lowercase();
        if let Some(bytes) = line.strip_prefix("content-length:") {
            length = bytes.trim().parse().unwrap();
        } else if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    serde_json::from_slice(&body).unwrap()
}

/// An endpoint of another chain with Base's id, which hangs up once it was asked for its newest block
/// more than `most_heads` times.
fn endpoint(most_heads: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let mut heads = 0;
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let asked = body(&stream);
            heads += usize::from(asked["params"][0] == "latest");
            if heads > most_heads {
                continue;
            }
            let said = match asked.as_array() {
                Some(calls) => calls.iter().map(answered).collect(),
                None => answered(&asked),
            };
            let said = said.to_string();
            write!(
                stream,
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\
                 content-length: {}\r\n\r\n{said}",
                said.len()
            )
            .unwrap();
        }
    });
    url
}

fn golden() -> PathBuf {
    let path = "../../tests/vectors/bundle/log-every-event.x811";
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Audits with that endpoint: exit, JSON, text, and the page.
async fn audited(source: &Path, rpc: &str) -> (Exit, Value, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let args = |html| Args {
        source: source.to_owned(),
        rpc: vec![rpc.to_owned()],
        html,
        ..Args::default()
    };
    let (mut out, json, _) = Out::captured(true);
    let exit = run(args(Some(page.clone())), &nowhere(), &mut out)
        .await
        .unwrap();
    let (mut out, text, _) = Out::captured(false);
    assert_eq!(run(args(None), &nowhere(), &mut out).await.unwrap(), exit);
    let json = serde_json::from_str(&json.text()).unwrap();
    let page = std::fs::read_to_string(page).unwrap();
    (exit, json, text.text(), page)
}

const SILENT: &str = "gave no answer";

#[tokio::test]
async fn lc_9_a_broken_log_says_that_no_endpoint_answered() {
    let folder = tempfile::tempdir().unwrap();
    let broken = folder.path().join("log.x811");
    let log = std::fs::read_to_string(golden()).unwrap();
    let changed = log.replace("\"gap_ms\":", "\"gap_ms\":1");
    assert_ne!(log, changed);
    std::fs::write(&broken, changed).unwrap();
    let nobody = "http://127.0.0.1:1";
    let (exit, json, text, page) = audited(&broken, nobody).await;
    assert_eq!((exit, &json["verdict"]), (Exit::Findings, &json!("broken")));
    assert!(json["network"]["silent"].is_string(), "{}", json["network"]);
    assert_eq!(json["network"]["asked"], json!([]));
    for said in [&text, &page] {
        assert!(said.contains(SILENT), "{said}");
    }
    // Of a log that contradicts nothing the endpoint is all that is missing.
    let (mut out, _, _) = Out::captured(false);
    let args = Args {
        source: golden(),
        rpc: vec![nobody.to_owned()],
        ..Args::default()
    };
    let failure = run(args, &nowhere(), &mut out).await.unwrap_err();
    assert_eq!(failure.exit, Exit::Unreachable);
}

/// What it said before counts: else whoever keeps an endpoint from answering keeps a false payment
/// *clean*.
#[tokio::test]
async fn lc_9_what_an_endpoint_said_before_it_fell_silent_counts() {
    let (exit, json, text, page) = audited(&golden(), &endpoint(usize::MAX)).await;
    assert_eq!(exit, Exit::Findings);
    assert!(json["network"].get("silent").is_none());
    let all = json["findings"].as_array().unwrap().len();
    for said in [&text, &page] {
        assert!(!said.contains(SILENT), "{said}");
    }
    let (mut out, json, _) = Out::captured(true);
    let args = Args {
        source: golden(),
        rpc: vec![endpoint(2)],
        ..Args::default()
    };
    let exit = run(args, &nowhere(), &mut out).await.unwrap();
    let json: Value = serde_json::from_str(&json.text()).unwrap();
    assert_eq!((exit, &json["verdict"]), (Exit::Findings, &json!("broken")));
    assert!(json["network"]["silent"].is_string(), "{}", json["network"]);
    let found = json["findings"].as_array().unwrap().len();
    assert!(found > 0 && found <= all, "{found} of {all}");
    assert!(json["transfers"]["differ"].as_u64().unwrap() > 0);
}
use super::super::tests::nowhere;
