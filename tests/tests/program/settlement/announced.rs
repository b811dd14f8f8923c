//! A WebSocket only wakes: whatever becomes of it, nothing but time is lost (section 5, rows WS).
//! The watcher of these tests asks for the head at announcements alone, or else all the time.

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use x811_tests::tunnel::{Mode, Tunnel};

use super::rig::{AMOUNT, Chain, DEPTH, Rig, amount};

const HEAD: &str = "eth_getBlockByNumber";

#[tokio::test]
async fn ws_a_killed_connection_comes_back_and_no_block_is_missed() {
    let (chain, proxies) = Chain::behind(1).await;
    let tunnel = Tunnel::start(&chain.address()).await;
    let mut rig = Rig::announced(&proxies, &format!("ws://{}", tunnel.address()));
    rig.until_woken(&chain).await;
    for mode in [Mode::Kill, Mode::Blackhole] {
        tunnel.set(mode);
        // It is tried again and again: a silent connection is given up, too.
        tunnel.until_connections(tunnel.connections() + 2).await;
        let payment = chain.pay().await;
        rig.watch(&[payment]);
        chain.anvil.mine(3).await;
        tunnel.set(Mode::Pass);
        rig.until_woken(&chain).await;
        let seen = rig.until_deep(payment, 4).await;
        assert_eq!(amount(&seen), AMOUNT, "mined while it was down ({mode:?})");
    }
    assert_eq!(rig.health.borrow().endpoints[0].failures, 0);
    assert_eq!(rig.health.borrow().reorgs, 0);
}

#[tokio::test]
async fn ws_a_dead_one_costs_no_payment() {
    let (chain, proxies) = Chain::behind(1).await;
    let tunnel = Tunnel::start(&chain.address()).await;
    for mode in [Mode::Kill, Mode::Blackhole] {
        tunnel.set(mode);
        let mut rig = Rig::polling_with(&proxies, &format!("ws://{}", tunnel.address()));
        let payment = chain.pay().await;
        rig.watch(&[payment]);
        chain.anvil.mine(DEPTH).await;
        rig.until_deep(payment, DEPTH).await;
        tunnel.until_connections(tunnel.connections() + 1).await;
        assert_eq!(rig.health.borrow().endpoints[0].failures, 0);
    }
}

/// Serves one WebSocket, once it is connected.
async fn server(listener: &TcpListener) -> WebSocketStream<TcpStream> {
    let (stream, _) = listener.accept().await.unwrap();
    let mut socket = tokio_tungstenite::accept_async(stream).await.unwrap();
    let subscribed = socket.next().await.unwrap().unwrap();
    assert!(subscribed.to_text().unwrap().contains("newHeads"));
    socket
}

fn head(number: u64) -> Message {
    let hash = format!("0x{number:064x}");
    let head = json!({
        "number": format!("{number:#x}"), "hash": hash, "parentHash": hash, "timestamp": "0x1",
    });
    let params = json!({ "subscription": "0x1", "result": head });
    let text = json!({ "jsonrpc": "2.0", "method": "eth_subscription", "params": params });
    Message::text(text.to_string())
}

/// Announces `heads` that there are not; all of it is read when this is done.
async fn flood(socket: &mut WebSocketStream<TcpStream>, heads: u64) {
    for number in 0..heads {
        socket.feed(head(1_000_000 + number)).await.unwrap();
    }
    socket.send(Message::Ping(Vec::new().into())).await.unwrap();
    while !socket.next().await.unwrap().unwrap().is_pong() {}
}

#[tokio::test]
async fn ws_a_flood_of_announcements_costs_one_look_a_block_and_one_in_vain() {
    let (chain, proxies) = Chain::behind(1).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut rig = Rig::announced(&proxies, &format!("ws://{address}"));
    let mut socket = server(&listener).await;
    let start = chain.head_number().await;
    rig.until_head(start).await;
    let looks = || proxies[0].traffic().calls_of(HEAD);
    let before = looks();
    chain.anvil.mine(1).await;
    flood(&mut socket, 2_000).await;
    rig.until_head(start + 1).await;
    for _ in 0..3 {
        flood(&mut socket, 2_000).await;
    }
    proxies[0]
        .until(|traffic| traffic.calls_of(HEAD) >= before + 2)
        .await;
    flood(&mut socket, 2_000).await;
    // What was announced in vain is not believed either.
    assert_eq!(rig.health.borrow().endpoints[0].failures, 0);
    assert_eq!(looks(), before + 2);
    let heads = rig.said.len();
    assert!(heads <= 3, "{:?}", rig.said);
}

#[tokio::test]
async fn ws_a_message_that_cannot_be_read_ends_nothing() {
    let (chain, proxies) = Chain::behind(1).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut rig = Rig::announced(&proxies, &format!("ws://{address}"));
    let mut socket = server(&listener).await;
    let start = chain.head_number().await;
    rig.until_head(start).await;
    for text in [
        "",
        "<html>",
        "[]",
        r#"{"params":{"result":null}}"#,
        r#"{"id":1,"result":"0x1"}"#,
    ] {
        socket.send(Message::text(text)).await.unwrap();
    }
    socket.send(Message::binary(vec![0xff; 9])).await.unwrap();
    chain.anvil.mine(1).await;
    socket.send(head(1_000_000)).await.unwrap();
    rig.until_head(start + 1).await;
    // One that is too long does, and then there is another connection.
    socket
        .send(Message::text("x".repeat(300_000)))
        .await
        .unwrap();
    server(&listener).await;
}
