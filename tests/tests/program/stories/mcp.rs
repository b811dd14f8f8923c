//! `x811 mcp`, driven by the MCP client of PyPI (tests/mcp), which shares nothing with our server.

use super::languages::python_with;
use super::loops::CAPS;
use super::stage::Stage;
use serde_json::Value;
use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};
use tempfile::TempDir;
use x811_tests::anvil::checkout;
use x811_tests::binary::{Server, without_our_variables, x811};

/// Plays a part of tests/mcp/client.py; returns the interaction it was about.
async fn played(stage: &Stage, part: &str) -> String {
    let bert = stage.cast().await;
    let _ = stage.x811("", &["agent", "new", "carl"]).ok();
    let _ = stage.x811("carl", &["agent", "register"]).ok();
    let home = stage.folder.path().join("home");
    let config = home.join("ada.toml");
    let rpc_url = stage.anvil.rpc_url();
    let file = format!("rpc_url = '{rpc_url}'\nnetwork = 'local'\n{CAPS}");
    fs::write(&config, file).unwrap();
    let folder = checkout().join("tests/mcp");
    let mut script = Command::new(python_with(&folder.join("requirements.txt"), "mcp-python"));
    without_our_variables(&mut script);
    script.arg(folder.join("client.py")).arg(part).arg(x811());
    script.arg(stage.server.as_ref().map(Server::url).unwrap());
    let done = script.arg(&home).arg(&config).arg(&bert).output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success(), "{said}\n{done:?}");
    let id = said.lines().find_map(|line| line.strip_prefix("done "));
    id.unwrap().to_owned()
}

#[tokio::test]
async fn ae_113_a_model_is_stopped_by_the_cap_and_pays_what_a_person_approved() {
    let stage = Stage::set(&[]).await;
    let id = played(&stage, "story").await;
    let paid = stage.until_decided(&id).await.ok().json();
    assert_eq!(paid["paid_micro_usdc"], "29725", "{paid}");
}

#[tokio::test]
async fn ae_109_a_models_text_is_no_command_no_path_and_no_permission() {
    let stage = Stage::set(&[]).await;
    let _ = played(&stage, "attacks").await;
}

#[test]
fn mcp_answers_with_json_rpc_alone_and_ends_with_its_client() {
    let home = TempDir::new().unwrap();
    let base = ["--home", home.path().to_str().unwrap()];
    let new = x811_tests::binary::run(&[&base[..], &["agent", "new", "ada"]].concat());
    let _ = new.ok();
    let mut command = Command::new(x811());
    without_our_variables(&mut command);
    let nobody = ["--ledger", "http://127.0.0.1:1", "mcp"];
    command.args(base).args(nobody).stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut server = command.spawn().unwrap();
    let lines = [
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        "this is no JSON",
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"rm -rf","arguments":{}}}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"status","arguments":{}}}"#,
    ];
    let mut stdin = server.stdin.take().unwrap();
    for line in lines {
        writeln!(stdin, "{line}").unwrap();
    }
    // The answers are read while the client still listens; then it closes its end.
    let mut answers =
        std::io::BufRead::lines(std::io::BufReader::new(server.stdout.take().unwrap()));
    let mut by_id = std::collections::BTreeMap::new();
    while by_id.len() < 3 {
        let line = answers.next().unwrap().unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["jsonrpc"], "2.0", "{answer}");
        if let Some(id) = answer["id"].as_u64() {
            by_id.insert(id, answer);
        }
    }
    drop(stdin);
    assert!(answers.next().is_none());
    assert!(server.wait().unwrap().success());
    assert!(by_id[&2]["error"].is_object(), "{by_id:?}");
    let told = by_id[&3]["result"]["content"][0]["text"].as_str().unwrap();
    let told: Value = serde_json::from_str(told).unwrap();
    assert_eq!(told["error"]["code"], "unreachable", "{told}");
}
