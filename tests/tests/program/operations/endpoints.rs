//! RPC endpoints that are silent, or of another chain, and exchanged while the ledger runs.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use super::place::Place;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use x811_tests::anvil::{Anvil, BASE_CHAIN_ID, BASE_USDC};
use x811_tests::binary::{Finished, Server, x811};
use x811_tests::proxy::{Act, Proxy};

/// How often `/ready` is looked at, and the pause between two looks.
const LOOKS: u32 = 300;
const STEP: Duration = Duration::from_millis(100);

/// A chain like Base, with a block every second.
async fn chain() -> Anvil {
    let anvil = Anvil::start(BASE_CHAIN_ID, Some(1));
    anvil.deploy_usdc(BASE_USDC).await;
    anvil.mine(20).await;
    anvil
}

/// The configuration with these two endpoints.
fn configured(place: &Place, first: &str, second: &str) -> PathBuf {
    let file = place.path("x811.toml");
    let text = format!("[network]\nrpc_url = \"{first}\"\nsecond_rpc_url = \"{second}\"\n");
    fs::write(&file, text).unwrap();
    file
}

/// Starts the ledger by that file; its log goes into `log`.
fn start(place: &Place, file: &Path) -> Result<Server, Finished> {
    let options = ["--config", file.to_str().unwrap()];
    Server::start_logged(&place.data_dir(), &options, &place.path("log"))
}

async fn ready(server: &Server) -> Value {
    let answer = reqwest::get(format!("{}/ready", server.url()))
        .await
        .unwrap();
    serde_json::from_str(&answer.text().await.unwrap()).unwrap()
}

/// Waits until the network is seen as `wanted` says.
async fn until(server: &Server, wanted: impl Fn(&Value) -> bool) -> Value {
    for _ in 0..LOOKS {
        let ready = ready(server).await;
        if wanted(&ready["networks"][0]) {
            return ready;
        }
        tokio::time::sleep(STEP).await;
    }
    panic!("it stays {}", ready(server).await);
}

/// Waits until so many reloads were refused.
async fn until_refused(place: &Place, count: usize) {
    for _ in 0..LOOKS {
        let log = fs::read_to_string(place.path("log")).unwrap();
        if log.matches("nothing was reloaded").count() == count {
            return;
        }
        tokio::time::sleep(STEP).await;
    }
    panic!("{}", fs::read_to_string(place.path("log")).unwrap());
}

fn hang_up(server: &Server) {
    let id = server.id().to_string();
    let sent = Command::new("kill").args(["-HUP", &id]).status().unwrap();
    assert!(sent.success());
}

#[tokio::test]
async fn lc_5_a_dead_endpoint_is_named_and_exchanged_by_reload() {
    let (place, anvil) = (Place::new(), chain().await);
    let [one, two, other] = [
        Proxy::start(&anvil.rpc_url()).await,
        Proxy::start(&anvil.rpc_url()).await,
        Proxy::start(&anvil.rpc_url()).await,
    ];
    let file = configured(&place, one.url(), two.url());
    let server = start(&place, &file).unwrap();
    let good = until(&server, |network| network["sight"] == "fresh").await;
    assert_eq!(good["networks"][0]["agreed"], true, "{good}");
    assert!(good.get("attention").is_none(), "{good}");

    // For good.
    two.rule(|_| Act::Status(500, None));
    let waiting = until(&server, |network| network["agreed"] == false).await;
    assert_eq!(waiting["networks"][0]["silent"], json!(["rpc-2"]));
    let attention = waiting["attention"][0].as_str().unwrap();
    assert!(attention.contains("silent: rpc-2"), "{attention}");
    assert_eq!(waiting["ready"], true, "messages are taken");

    // What cannot be exchanged, and what cannot be read, changes nothing: not even the endpoint.
    configured(&place, one.url(), other.url());
    let good = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{good}confirmed_depth = 3\n")).unwrap();
    hang_up(&server);
    until_refused(&place, 1).await;
    fs::write(&file, "[network\n").unwrap();
    hang_up(&server);
    until_refused(&place, 2).await;
    // Nor does what the ledger has already: somebody changed another layer than the one that wins.
    configured(&place, one.url(), two.url());
    hang_up(&server);
    until_refused(&place, 3).await;
    let log = fs::read_to_string(place.path("log")).unwrap();
    assert!(log.contains("wins over the file of --config"), "{log}");
    assert_eq!(other.traffic().calls(), 0, "it was not asked");
    assert_eq!(ready(&server).await["networks"][0]["agreed"], false);

    configured(&place, one.url(), other.url());
    hang_up(&server);
    let mended = until(&server, |network| {
        network["agreed"] == true && network["sight"] == "fresh"
    });
    let mended = mended.await;
    assert_eq!(mended["networks"][0]["silent"], json!([]), "{mended}");
    assert!(mended.get("attention").is_none(), "{mended}");
    server.stop();
    let report = place.over(&["audit"], &["ledger"]).unverified().json();
    assert_eq!(report["verdict"], "clean", "{report}");
}

/// This machine is never asked through a proxy, whatever the environment says; others are.
#[tokio::test]
async fn a_proxy_in_the_environment_is_obeyed_and_not_for_this_machine() {
    let place = Place::new();
    let server = place.serve();
    let through_a_proxy = |url: &str| {
        let proxy = "http://127.0.0.1:9";
        let mut command = Command::new(x811());
        for name in [
            "HTTP_PROXY",
            "HTTPS_PROXY",
            "http_proxy",
            "https_proxy",
            "ALL_PROXY",
        ] {
            command.env(name, proxy);
        }
        command.env_remove("NO_PROXY").env_remove("no_proxy");
        let asked = command.args(["--ledger", url, "status"]).output().unwrap();
        Finished::from(asked)
    };
    assert_eq!(through_a_proxy(server.url()).code, Some(0));
    let elsewhere = through_a_proxy("http://ledger.invalid");
    assert_eq!(elsewhere.code, Some(3), "{elsewhere:?}");
    server.stop();
}

#[tokio::test]
async fn lc_5_two_of_three_endpoints_go_on_while_the_third_is_dead() {
    let (place, anvil) = (Place::new(), chain().await);
    let dead = Proxy::start(&anvil.rpc_url()).await;
    dead.rule(|_| Act::Status(500, None));
    let file = configured(&place, dead.url(), &anvil.rpc_url());
    let good = fs::read_to_string(&file).unwrap();
    let third = format!("[[network.further]]\nrpc_url = \"{}\"\n", anvil.rpc_url());
    fs::write(&file, good + &third).unwrap();
    let server = start(&place, &file).unwrap();
    let seen = until(&server, |network| network["sight"] == "fresh").await;
    let network = &seen["networks"][0];
    assert_eq!(network["agreed"], true, "{seen}");
    assert_eq!(network["silent"], json!(["rpc"]), "{seen}");
    assert_eq!(network["endpoints"][2]["label"], "rpc-3", "{seen}");
    server.stop();
}

#[tokio::test]
async fn sw_09_one_endpoint_of_another_chain_counts_as_silent_and_two_do_not_start() {
    let (place, anvil) = (Place::new(), chain().await);
    let stranger = Anvil::start(1, None);
    let file = configured(&place, &stranger.rpc_url(), &anvil.rpc_url());
    let server = start(&place, &file).unwrap();
    let seen = until(&server, |network| {
        network["endpoints"][0]["state"] == "misfit"
    });
    let seen = seen.await;
    let network = &seen["networks"][0];
    assert_eq!(network["silent"], json!(["rpc"]), "{seen}");
    assert_eq!(network["agreed"], false, "{seen}");
    let attention = seen["attention"][0].as_str().unwrap();
    assert!(attention.contains("rpc"), "{attention}");
    server.stop();

    let another = Anvil::start(1, None);
    let file = configured(&place, &stranger.rpc_url(), &another.rpc_url());
    let ended = start(&place, &file).err().unwrap();
    let log = fs::read_to_string(place.path("log")).unwrap();
    assert_eq!(ended.code, Some(4), "{log}");
    assert!(log.contains("serves chain 1, but"), "{log}");
}
