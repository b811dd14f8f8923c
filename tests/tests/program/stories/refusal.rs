//! `x811 serve` refuses to start where it would go wrong, and says how to mend it; an endpoint that
//! does not answer only makes it start blind.

use super::stage::Stage;
use tempfile::TempDir;
use x811_tests::anvil::{Anvil, BASE_USDC, LOCAL_CHAIN_ID};
use x811_tests::binary::{Finished, Server};

/// How a server that must not start ended.
fn refused(folder: &TempDir, options: &[&str]) -> Finished {
    match Server::start(&folder.path().join("data"), options) {
        Ok(_) => panic!("the ledger started with {options:?}"),
        Err(ended) => ended,
    }
}

#[tokio::test]
async fn rule_09_another_chain_is_refused() {
    let anvil = Anvil::start(LOCAL_CHAIN_ID, Some(1));
    let ended = refused(&TempDir::new().unwrap(), &["--rpc", &anvil.rpc_url()]);
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert!(
        ended.stderr.contains("31337") && ended.stderr.contains("8453"),
        "{ended:?}"
    );
}

#[tokio::test]
async fn rule_09_a_token_without_code_is_refused() {
    let anvil = Anvil::start(LOCAL_CHAIN_ID, Some(1));
    let url = anvil.rpc_url();
    let token = BASE_USDC.to_string();
    let options = ["--network", "local", "--rpc", &url, "--token", &token];
    let ended = refused(&TempDir::new().unwrap(), &options);
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert!(
        ended.stderr.contains("no contract at the token address"),
        "{ended:?}"
    );
}

#[tokio::test]
async fn promise_8_a_second_process_is_refused() {
    let stage = Stage::set(&[]).await;
    let url = stage.anvil.rpc_url();
    let token = BASE_USDC.to_string();
    let options = ["--network", "local", "--rpc", &url, "--token", &token];
    let ended = refused(&stage.folder, &options);
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert!(ended.stderr.contains("another process"), "{ended:?}");
}

#[test]
fn lc_5_an_unreachable_endpoint_makes_it_start_blind() {
    let folder = TempDir::new().unwrap();
    let token = BASE_USDC.to_string();
    let options = [
        "--network",
        "local",
        "--rpc",
        "http://127.0.0.1:9",
        "--token",
        &token,
    ];
    let server = Server::start(&folder.path().join("data"), &options).unwrap();
    server.stop();
}
