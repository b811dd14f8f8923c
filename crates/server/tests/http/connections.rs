//! Connections that are slow, idle or too many, over bare sockets.

use crate::world::{PATIENCE, World};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use x811_ledger::clock::Clock as _;

/// Short, so that a test waits for the server and not the other way round. Nothing but what is to be cut
/// off may be open meanwhile: the client of a world would find its idle connection closed.
const SHORT_MS: u64 = 100;

async fn connected(world: &World) -> TcpStream {
    TcpStream::connect(world.running.local_addr).await.unwrap()
}

/// Everything the server says until it closes the connection.
async fn rest(connection: &mut TcpStream) -> String {
    let mut said = Vec::new();
    let read = tokio::time::timeout(PATIENCE, connection.read_to_end(&mut said));
    // A reset is an end too.
    let _ = read.await.unwrap();
    String::from_utf8(said).unwrap()
}

/// What is there of an answer.
async fn some(connection: &mut TcpStream) -> String {
    let mut said = [0; 4_096];
    let read = tokio::time::timeout(PATIENCE, connection.read(&mut said));
    let length = read.await.unwrap().unwrap();
    String::from_utf8_lossy(&said[..length]).into_owned()
}

#[tokio::test]
async fn a_head_that_does_not_end_is_cut_off() {
    let world = World::start_blind_with(|c| c.connections.header_read_ms = SHORT_MS).await;
    let mut connection = connected(&world).await;
    let head = b"GET /health HTTP/1.1\r\nhost: x\r\nx-slow: ";
    connection.write_all(head).await.unwrap();
    assert!(!rest(&mut connection).await.contains("200 OK"));
}

#[tokio::test]
async fn an_idle_connection_is_closed_and_a_served_one_kept_until_then() {
    let world = World::start_blind_with(|c| c.connections.header_read_ms = SHORT_MS).await;
    let mut silent = connected(&world).await;
    assert_eq!(rest(&mut silent).await, "");
    let mut polite = connected(&world).await;
    let request = b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n";
    polite.write_all(request).await.unwrap();
    let said = rest(&mut polite).await;
    assert_eq!(said.matches("200 OK").count(), 1, "{said}");
    assert!(!said.contains("connection: close"), "{said}");
}

#[tokio::test]
async fn a_body_that_does_not_end_is_answered_with_408() {
    let world = World::start_with(|c| c.connections.body_read_ms = 1_000).await;
    let mut connection = connected(&world).await;
    let head = b"POST /api/v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{";
    connection.write_all(head).await.unwrap();
    let answered = async {
        let said = some(&mut connection).await;
        assert!(said.starts_with("HTTP/1.1 408"), "{said}");
        assert!(said.contains("too slowly"), "{said}");
    };
    // The handler may not wait yet when the clock moves for the first time.
    let time_passes = async {
        loop {
            world.clock.advance_ms(1_000);
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        () = answered => {}
        () = time_passes => {}
    }
    assert!(world.clock.monotonic_ms() > 1_000);
}

#[tokio::test]
async fn limits_an_idle_connection_gives_way_at_once() {
    let world = World::start_blind_with(|c| c.connections.max_connections = 1).await;
    let request = b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n";
    let mut first = connected(&world).await;
    first.write_all(request).await.unwrap();
    assert!(some(&mut first).await.starts_with("HTTP/1.1 200"));
    let mut second = connected(&world).await;
    second.write_all(request).await.unwrap();
    assert!(some(&mut second).await.starts_with("HTTP/1.1 200"));
    assert_eq!(rest(&mut first).await, "", "it is closed");
}

#[tokio::test]
async fn limits_a_reader_that_takes_nothing_gives_way_at_once() {
    let world = World::start_blind_with(|c| c.connections.max_connections = 1).await;
    let mut stalled = connected(&world).await;
    stalled.write_all(pages().as_bytes()).await.unwrap();
    let mut next = connected(&world).await;
    let request = b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n";
    next.write_all(request).await.unwrap();
    assert!(some(&mut next).await.starts_with("HTTP/1.1 200"));
}

/// Requests for far more than fits the buffers between us.
fn pages() -> String {
    "GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n".repeat(2_000)
}

#[tokio::test]
async fn a_reader_that_takes_nothing_is_cut_off() {
    let world = World::start_blind_with(|c| c.connections.write_stall_ms = SHORT_MS).await;
    let mut stalled = connected(&world).await;
    let pages = pages();
    // Requests are taken as long as answers are: once it is closed nothing can be sent.
    let cut_off = async { while stalled.write_all(pages.as_bytes()).await.is_ok() {} };
    tokio::time::timeout(PATIENCE, cut_off).await.unwrap();
}

#[tokio::test]
async fn a_request_in_flight_when_the_stop_comes_gets_its_202() {
    let world = World::start().await;
    let agent = crate::world::Agent::new();
    let envelope = agent.registration(&world).json;
    let mut connection = connected(&world).await;
    let head = format!(
        "POST /api/v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\nexpect: 100-continue\r\n\r\n",
        envelope.len()
    );
    connection.write_all(head.as_bytes()).await.unwrap();
    // The server asks for the body only once a handler reads it: from here on it is in flight.
    assert!(some(&mut connection).await.starts_with("HTTP/1.1 100"));
    world.running.shutdown();
    let refused = async {
        while TcpStream::connect(world.running.local_addr).await.is_ok() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, refused).await.unwrap();
    connection.write_all(&envelope).await.unwrap();
    let said = rest(&mut connection).await;
    assert!(said.starts_with("HTTP/1.1 202"), "{said}");
}
