//! How many streams there may be, and that one that is not taken goes.

use super::stream_of;
use crate::readers::readers;
use crate::signing::{Claim, both};
use crate::world::{PATIENCE, World};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use x811_protocol::signed_read::{SIGNATURE, SIGNATURE_INPUT};

#[tokio::test]
async fn ae_134_an_agent_has_3_streams_and_a_further_one_gets_429() {
    let (world, [a, b]) = World::peopled().await;
    let path = stream_of(&b);
    let mut open = Vec::new();
    for _ in 0..3 {
        open.push(world.listen(&b, &path).await);
    }
    let fields = Claim::of(&world, &b, &path).sign();
    let full = world.open(&path, &both(&fields)).await.err().unwrap();
    full.refused(429, "X811-9001");
    assert_eq!(full.headers["retry-after"], "1");
    let _other = world.listen(&a, &stream_of(&a)).await;
    // One that its reader left gives its place back, without anything being sent on it.
    open.pop();
    world.listen_once_there_is_room(&b).await;
}

#[tokio::test]
async fn ae_134_all_streams_together_are_limited() {
    let world = World::start_with(|config| config.rate_limits.streams = 2).await;
    let (a, b) = (world.agent().await, world.agent().await);
    let first = world.listen(&a, &stream_of(&a)).await;
    let _second = world.listen(&b, &stream_of(&b)).await;
    let path = stream_of(&a);
    let fields = Claim::of(&world, &a, &path).sign();
    let full = world.open(&path, &both(&fields)).await.err().unwrap();
    full.refused(429, "X811-9001");
    drop(first);
    world.listen_once_there_is_room(&a).await;
}

#[tokio::test]
async fn ae_134_an_auditor_does_not_use_up_the_streams_of_an_agent() {
    let (world, [initiator, provider, _, auditor]) = readers().await;
    let path = stream_of(&provider);
    let mut open = Vec::new();
    for _ in 0..3 {
        open.push(world.listen(&auditor, &path).await);
    }
    let fields = Claim::of(&world, &auditor, &path).sign();
    let full = world.open(&path, &both(&fields)).await.err().unwrap();
    full.refused(429, "X811-9001");
    let mut own = world.listen(&provider, &path).await;
    world.ping(&initiator, &provider, 0..1).await;
    assert_eq!(own.numbers(1).await, [0]);
    assert_eq!(open[0].numbers(1).await, [0]);
}

/// The connection's bound on what is not taken is that of the stream; a test makes it short.
#[tokio::test]
async fn ae_134_a_reader_that_takes_nothing_loses_its_stream_and_nothing_else() {
    let world = World::start_with(|config| {
        config.rate_limits.streams_per_did = 1;
        config.connections.write_stall_ms = 5_000;
    })
    .await;
    let (a, b) = (world.agent().await, world.agent().await);
    // Far more than fits the buffers between us.
    for number in 0..16 {
        let payload = json!({ "number": number, "padding": "x".repeat(900_000) });
        let sent = a.say(&world, b.did, "x811.test/ping", payload);
        world.accept(&sent).await;
    }
    let path = stream_of(&b);
    let mut stalled = TcpStream::connect(world.running.local_addr).await.unwrap();
    let fields = Claim::of(&world, &b, &path).sign();
    let request = format!(
        "GET {path} HTTP/1.1\r\nhost: {}\r\n{SIGNATURE_INPUT}: {}\r\n{SIGNATURE}: {}\r\n\r\n",
        world.running.local_addr, fields.signature_input, fields.signature
    );
    stalled.write_all(request.as_bytes()).await.unwrap();
    let mut begin = [0; 15];
    stalled.read_exact(&mut begin).await.unwrap();
    assert_eq!(&begin, b"HTTP/1.1 200 OK");
    // Its place is free once it is cut off; and everything comes on the next.
    let mut listener = world.listen_once_there_is_room(&b).await;
    assert_eq!(listener.next().await.as_deref(), Some("retry: 1000"));
    assert_eq!(listener.next().await.as_deref(), Some(": begun"));
    assert_eq!(listener.numbers(16).await, (0..16).collect::<Vec<_>>());
    let cut_off = async {
        while stalled
            .read(&mut [0; 65_536])
            .await
            .is_ok_and(|read| read > 0)
        {}
    };
    tokio::time::timeout(PATIENCE, cut_off).await.unwrap();
}
