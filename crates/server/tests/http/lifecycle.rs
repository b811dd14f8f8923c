//! Starting, stopping, starting again; and everything that keeps a server from starting.

use crate::world::{Agent, BEGUN, Deal, TOKEN, World, config, run};
use axum::Json;
use axum::routing::post;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use x811_eventlog::EventLog as _;
use x811_ledger::clock::ManualClock;
use x811_ledger::port::LedgerStore as _;
use x811_protocol::money::MicroUsdc;
use x811_protocol::parameters::FinalBy;
use x811_server::{RpcUrl, StartError};
use x811_store::SqliteStore;

#[tokio::test]
async fn ax_032_a_restart_keeps_who_it_is_and_what_it_knows() {
    let world = World::start().await;
    let identity = world.running.identity.clone();
    let (initiator, provider) = (world.agent().await, world.agent().await);
    let deal = Deal::new(&world, &initiator, &provider);
    let request = world.accept(&deal.request).await;
    let (id, offer_later) = (deal.id(), deal.request.clone());
    let path = format!("/api/v1/interactions/{id}");
    drop(deal);

    let world = world.restart(3_600_000).await;
    assert_eq!(world.running.identity, identity);
    // An hour away: the window moved with it (ledger-contract.md section 1).
    let shown = world.get(&path).await.expect(200);
    let deadline_ms = request["deadline_at_ms"].as_u64().unwrap() + 3_600_000;
    assert_eq!(
        (&shown["state"], &shown["deadline_at_ms"]),
        (&json!("pending"), &json!(deadline_ms))
    );
    let deal = Deal {
        world: &world,
        initiator: &initiator,
        provider: &provider,
        request: offer_later,
        names_payee: true,
    };
    assert_eq!(world.accept(&deal.offer()).await["state"], "offered");
    drop(deal);

    let (dir, events) = end(world).await;
    let resumed: Vec<&Value> = events
        .iter()
        .filter(|event| event["type"] == "ledger_resumed")
        .collect();
    assert_eq!(
        resumed,
        [&json!({ "type": "ledger_resumed", "gap_ms": 3_600_000 })]
    );
    assert_eq!(
        (&events[0]["type"], &events[1]["type"]),
        (&json!("ledger_opened"), &json!("parameters_set"))
    );
    let parameters = events
        .iter()
        .filter(|event| event["type"] == "parameters_set");
    assert_eq!(
        parameters.count(),
        1,
        "unchanged parameters are not recorded again"
    );
    drop(dir);
}

/// Stops a server and reads its whole log.
async fn end(mut world: World) -> (tempfile::TempDir, Vec<Value>) {
    world.running.shutdown();
    world.running.wait().await.unwrap();
    let store = SqliteStore::open_read_only(world.dir.path()).await.unwrap();
    let records = store.log().read(0, 1_000).await.unwrap();
    let events = records.iter().map(|record| record.event()).collect();
    store.close().await;
    (world.dir, events)
}

#[tokio::test]
async fn changed_windows_are_recorded_at_the_next_start() {
    let mut world = World::start().await;
    world.running.shutdown();
    world.running.wait().await.unwrap();
    let mut shorter = config(world.dir.path());
    shorter.windows.verify_ms = 2_000;
    world.running = run(shorter, world.clock.clone()).await.unwrap();
    let (_dir, events) = end(world).await;
    let verify_ms: Vec<&Value> = events
        .iter()
        .filter(|event| event["type"] == "parameters_set")
        .map(|event| &event["windows"]["verify_ms"])
        .collect();
    assert_eq!(verify_ms, [&json!(30_000), &json!(2_000)]);
}

#[tokio::test]
async fn a_second_server_on_the_directory_refuses_to_start() {
    let world = World::start().await;
    let error = run(config(world.dir.path()), world.clock.clone())
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("another process owns"),
        "{error}"
    );
    world.agent().await;
}

#[tokio::test]
async fn an_address_in_use_is_refused_before_the_log_says_anything() {
    let world = World::start().await;
    let dir = tempfile::tempdir().unwrap();
    let mut taken = config(dir.path());
    taken.listen = world.running.local_addr;
    let clock = Arc::new(ManualClock::at(BEGUN));
    let error = run(taken, clock).await.unwrap_err();
    assert!(
        error.to_string().contains("cannot be listened on"),
        "{error}"
    );
    let store = SqliteStore::open_read_only(dir.path()).await.unwrap();
    assert_eq!(store.log().head().await.unwrap().size, 0);
}

#[tokio::test]
async fn a_log_without_its_keys_is_refused() {
    let mut world = World::start().await;
    world.running.shutdown();
    world.running.wait().await.unwrap();
    let keys = world.dir.path().join("keys");
    let aside = world.dir.path().join("aside");
    std::fs::rename(&keys, &aside).unwrap();
    let error = run(config(world.dir.path()), world.clock.clone())
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("put the folder `keys` back"),
        "{error}"
    );
    assert!(!keys.exists(), "no new keys in place of the lost ones");
    std::fs::rename(&aside, &keys).unwrap();
    run(config(world.dir.path()), world.clock.clone())
        .await
        .unwrap();
}

#[tokio::test]
async fn keys_of_another_ledger_are_refused() {
    let (mut world, mut other) = (World::start().await, World::start().await);
    for stopped in [&mut world, &mut other] {
        stopped.running.shutdown();
        stopped.running.wait().await.unwrap();
    }
    let (mine, theirs) = (world.dir.path().join("keys"), other.dir.path().join("keys"));
    std::fs::remove_dir_all(&mine).unwrap();
    std::fs::rename(theirs, mine).unwrap();
    let error = run(config(world.dir.path()), world.clock.clone())
        .await
        .unwrap_err();
    assert!(error.to_string().contains("belongs to"), "{error}");
}

/// A JSON-RPC endpoint: `answers` gives the result or error of each call.
async fn endpoint(answers: impl Fn(&Value) -> Value + Clone + Send + Sync + 'static) -> String {
    let answer = move |Json(call): Json<Value>| {
        let mut answer = answers(&call);
        answer["jsonrpc"] = json!("2.0");
        answer["id"] = call["id"].clone();
        async move { Json(answer) }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let router = axum::Router::new().route("/", post(answer));
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

/// The answer of an endpoint of `chain_id` whose every contract has so many decimals.
fn of_chain(call: &Value, chain_id: &str, decimals: u8) -> Value {
    match call["method"].as_str() {
        Some("eth_chainId") => json!({ "result": chain_id }),
        Some("eth_getCode") => json!({ "result": "0x6001" }),
        Some("eth_call") => json!({ "result": format!("0x{decimals:064x}") }),
        _ => json!({ "result": null }),
    }
}

/// Totals that wait for a head which every endpoint refuses to name would wait for ever. Null proves nothing, nor does
/// a rate limit.
#[tokio::test]
async fn lc_5_a_start_ends_where_totals_wait_for_a_safe_head_that_nobody_names() {
    let refused =
        |code: i64, message: &str| json!({ "error": { "code": code, "message": message } });
    let table = [
        (
            refused(-32602, "unknown block tag"),
            FinalBy::Tag,
            true,
            true,
        ),
        (
            refused(-32602, "unknown block tag"),
            FinalBy::Tag,
            false,
            false,
        ),
        (
            refused(-32602, "unknown block tag"),
            FinalBy::Depth,
            true,
            false,
        ),
        (
            refused(-32005, "rate limit exceeded"),
            FinalBy::Tag,
            true,
            false,
        ),
        (json!({ "result": null }), FinalBy::Tag, true, false),
    ];
    for (answer, final_by, has_limit, is_refused) in table {
        let safe = answer.clone();
        let answers = move |call: &Value| match call["params"][0].as_str() {
            Some("safe") => safe.clone(),
            _ => of_chain(call, "0x7a69", 6),
        };
        let dir = tempfile::tempdir().unwrap();
        let mut config = config(dir.path());
        config.network.endpoints[0].rpc_url = RpcUrl::new(endpoint(answers).await);
        config.network.final_by = final_by;
        config.network.safe_above = has_limit.then_some(MicroUsdc::MAX);
        let started = run(config, Arc::new(ManualClock::at(BEGUN))).await;
        let refusal = started.err();
        let is_so = matches!(&refusal, Some(StartError::NoSafeHead(labels)) if labels == "rpc");
        assert_eq!(
            (is_so, refusal.is_some()),
            (is_refused, is_refused),
            "{answer} {refusal:?}"
        );
    }
}

#[tokio::test]
async fn a_proven_misfit_stops_the_start_and_says_how_to_mend_it() {
    for (chain_id, why) in [("0x1", "serves chain 1"), ("0x7a69", "18 decimals")] {
        let dir = tempfile::tempdir().unwrap();
        let mut config = config(dir.path());
        config.network.endpoints[0].rpc_url =
            RpcUrl::new(endpoint(move |call| of_chain(call, chain_id, 18)).await);
        let error = run(config, Arc::new(ManualClock::at(BEGUN)))
            .await
            .unwrap_err();
        assert!(matches!(error, StartError::Misfit(_)), "{error:?}");
        assert!(error.to_string().contains(why), "{error}");
        let token = TOKEN.to_checksum();
        assert!(
            chain_id == "0x1" || error.to_string().contains(&token),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_configuration_that_cannot_work_touches_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let data_dir = dir.path().join("data");
    let mut config = config(&data_dir);
    config.windows.offer_ms = 1;
    let error = run(config, Arc::new(ManualClock::at(BEGUN)))
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("offer window is 1 ms"),
        "{error}"
    );
    assert!(!data_dir.exists());
}

#[tokio::test]
async fn dropping_a_server_stops_it() {
    let world = World::start().await;
    let World {
        dir,
        clock,
        running,
        ..
    } = world;
    drop(running);
    // It gives the directory free by itself; until then a start is refused.
    loop {
        match run(config(dir.path()), clock.clone()).await {
            Ok(_) => break,
            Err(StartError::Store(_)) => tokio::task::yield_now().await,
            Err(other) => panic!("{other}"),
        }
    }
}

#[tokio::test]
async fn what_was_taken_is_answered_before_the_end() {
    let (mut world, [a, b]) = World::peopled().await;
    let body = a.say(&world, b.did, "x811.test/ping", json!({})).json;
    let mut stream = TcpStream::connect(world.running.local_addr).await.unwrap();
    let head = format!(
        "POST /api/v1/messages HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\
         expect: 100-continue\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut go_on = [0; 25];
    stream.read_exact(&mut go_on).await.unwrap();
    assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");

    world.running.shutdown();
    stream.write_all(&body).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 202 "), "{answer}");
    world.running.wait().await.unwrap();
    let refused = TcpStream::connect(world.running.local_addr).await;
    assert!(refused.is_err(), "nobody listens any more");
}

/// On a network file system a lock can be lost; the writer epoch still holds.
#[tokio::test]
async fn a_server_that_was_fenced_out_ends_with_the_reason() {
    let mut world = World::start().await;
    std::fs::remove_file(world.dir.path().join("LOCK")).unwrap();
    let usurper = SqliteStore::open(world.dir.path()).await.unwrap();
    let size = usurper.log().head().await.unwrap().size;
    let late = Agent::new().registration(&world);
    let answer = world.http.post(format!("{}/api/v1/messages", world.base));
    // It is answered with an error or cut off, and never with success.
    if let Ok(answer) = answer.body(late.json).send().await {
        assert_eq!(answer.status().as_u16(), 503);
        assert!(answer.headers().contains_key("retry-after"));
    }
    let error = world.running.wait().await.unwrap_err();
    assert!(error.to_string().contains("another writer"), "{error}");
    assert_eq!(usurper.log().head().await.unwrap().size, size);
}
