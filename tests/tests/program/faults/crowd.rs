//! Crowds that want nothing but places and memory: readers that take nothing of a long answer, and
//! connections on which nobody asks. An honest client beside them is served, and the ledger's memory is
//! bounded.
//!
//! `X811_CROWD=1024` sends as many as the ledger has places for, and then the honest client's times
//! are judged too: that says something on an idle machine and with `--release`.

use super::client::{Agent, Told, get, ledger_did, post};
use super::ledger::{Ledger, Place};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use x811_tests::size::from_environment;

/// Connections of a crowd unless told.
const CROWD: usize = 256;

/// The ledger's places in the short form.
const PLACES: &str = "256";

/// Padding of the messages that make an answer long, and how many of them.
const PADDING: usize = 900_000;
const MESSAGES: usize = 5;

/// What a crowd may cost in resident memory, whatever its size.
const MOST_KIB: u64 = 400 * 1_000;

/// What each of a small one may cost, beside what all may.
const EACH_KIB: u64 = 300;

/// Requests of the honest client, each on a connection of its own, and the slowest of a hundred.
const REQUESTS: usize = 200;
const P99: Duration = Duration::from_millis(100);

/// The same for large messages from the address of a flood.
const P99_OF_ITS_ADDRESS: Duration = Duration::from_secs(1);

/// Its large messages in the long form.
const LARGE_MESSAGES: usize = 200;

const PATIENCE: Duration = Duration::from_secs(30);

/// How many, and whether times are judged.
fn crowd() -> (usize, bool) {
    let told = from_environment("X811_CROWD").map(|told| usize::try_from(told).unwrap());
    (told.unwrap_or(CROWD), told.is_some())
}

fn place(is_long: bool) -> Place {
    let mut place = Place::new();
    if !is_long {
        place.options = ["--max-connections", PLACES].map(str::to_owned).to_vec();
    }
    place
}

fn address(ledger: &Ledger) -> SocketAddr {
    ledger.url.trim_start_matches("http://").parse().unwrap()
}

/// A connection that takes in very little by itself.
async fn connected(address: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4_096).unwrap();
    socket.connect(address).await.unwrap()
}

fn memory_kib(ledger: &Ledger, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", ledger.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with(name));
    let words = line.unwrap().split_whitespace().nth(1);
    words.unwrap().parse().unwrap()
}

/// Asks for `/health` on connections of their own; the slowest of a hundred.
async fn honest_client(address: SocketAddr) -> Duration {
    let mut took = Vec::with_capacity(REQUESTS);
    for _ in 0..REQUESTS {
        let begun = Instant::now();
        let mut connection = TcpStream::connect(address).await.unwrap();
        let request = b"GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n";
        connection.write_all(request).await.unwrap();
        let mut answer = Vec::new();
        let read = tokio::time::timeout(PATIENCE, connection.read_to_end(&mut answer));
        read.await.unwrap().unwrap();
        assert!(answer.starts_with(b"HTTP/1.1 200"), "it is served");
        took.push(begun.elapsed());
    }
    took.sort_unstable();
    took[REQUESTS * 99 / 100 - 1]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_readers_that_take_nothing_cost_bounded_memory_and_nobody_a_place() {
    let (count, is_long) = crowd();
    let place = place(is_long);
    let ledger = place.start();
    let did = ledger_did(&ledger.url).await.unwrap();
    let [mut sender, reader] = ["sender", "reader"].map(Agent::new);
    let to = reader.identity.did;
    let mut envelopes = vec![sender.registration(did), reader.registration(did)];
    envelopes.extend((0..MESSAGES).map(|_| sender.message(to, PADDING)));
    for envelope in &envelopes {
        let told = post(&ledger.url, envelope).await;
        assert!(matches!(told, Told::Accepted(_)), "{told:?}");
    }
    let before_kib = memory_kib(&ledger, "VmRSS:");
    let address = address(&ledger);
    let path = format!("/api/v1/messages/{}", to.uuid());
    let request = format!("GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n");
    let mut stalled = Vec::with_capacity(count);
    for _ in 0..count {
        let mut reader = connected(address).await;
        reader.write_all(request.as_bytes()).await.unwrap();
        // The head of the answer is there: the rest waits.
        let mut head = [0; 16];
        let read = tokio::time::timeout(PATIENCE, reader.read_exact(&mut head));
        read.await.unwrap().unwrap();
        assert!(head.starts_with(b"HTTP/1.1 200"), "{head:?}");
        stalled.push(reader);
    }
    let p99 = honest_client(address).await;
    let (most_kib, after_kib) = (memory_kib(&ledger, "VmHWM:"), memory_kib(&ledger, "VmRSS:"));
    println!(
        "{count} readers that take nothing: {before_kib} KiB before, {after_kib} KiB with them, at \
         most {most_kib} KiB; an honest client waited {p99:?} (p99)"
    );
    assert!(most_kib < MOST_KIB, "{most_kib} KiB");
    let of_the_crowd = u64::try_from(count).unwrap() * EACH_KIB;
    assert!(after_kib - before_kib < of_the_crowd, "{after_kib} KiB");
    if is_long {
        assert!(p99 < P99, "{p99:?}");
    }
    // One that does read gets all of it.
    let (_, whole) = get(&ledger.url, &path).await.unwrap();
    assert_eq!(whole["messages"].as_array().map(Vec::len), Some(MESSAGES));
    drop(stalled);
    assert!(ledger.stop().status.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_connections_on_which_nobody_asks_make_nobody_wait() {
    let (count, is_long) = crowd();
    let place = place(is_long);
    let ledger = place.start();
    let address = address(&ledger);
    // More than there are places.
    let mut idle = Vec::new();
    for _ in 0..count + count / 8 {
        idle.push(connected(address).await);
    }
    let p99 = honest_client(address).await;
    println!(
        "{} idle connections: an honest client waited {p99:?} (p99)",
        idle.len()
    );
    if is_long {
        assert!(p99 < P99, "{p99:?}");
    }
    drop(idle);
    let ended = ledger.stop();
    assert!(ended.status.success());
    assert!(
        ended.said.contains("an idle one gives way"),
        "{}",
        ended.said
    );
}

/// A client that keeps its connections.
fn http() -> reqwest::Client {
    // Another test of this process may have installed it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().build().unwrap()
}

/// Sends `envelope` as if past a proxy, from `address`; its status.
async fn post_from(http: &reqwest::Client, url: &str, address: &str, envelope: Vec<u8>) -> u16 {
    let request = http.post(format!("{url}/api/v1/messages"));
    let request = request.header("x-forwarded-for", address).body(envelope);
    request.send().await.unwrap().status().as_u16()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_bad_envelopes_of_nearly_a_mebibyte_hold_nobody_up() {
    let (_, is_long) = crowd();
    let place = place(is_long);
    let ledger = place.start();
    let did = ledger_did(&ledger.url).await.unwrap();
    let [mut sender, reader] = ["sender", "reader"].map(Agent::new);
    let to = reader.identity.did;
    for envelope in [sender.registration(did), reader.registration(did)] {
        let told = post(&ledger.url, &envelope).await;
        assert!(matches!(told, Told::Accepted(_)), "{told:?}");
    }
    // Signed for another padding.
    let bad = String::from_utf8(sender.message(to, 940_000).json).unwrap();
    let bad = bad.replacen("xx", "xy", 1).into_bytes();
    let is_over = Arc::new(AtomicBool::new(false));
    let mut flood = tokio::task::JoinSet::new();
    for _ in 0..16 {
        let (http, url) = (http(), ledger.url.clone());
        let (bad, is_over) = (bad.clone(), is_over.clone());
        flood.spawn(async move {
            let mut sent = 0;
            while !is_over.load(Ordering::SeqCst) {
                // What one address may have on its way is bounded.
                let status = post_from(&http, &url, "203.0.113.9", bad.clone()).await;
                assert!(matches!(status, 401 | 429), "{status}");
                sent += 1;
            }
            sent
        });
    }
    let count = if is_long { LARGE_MESSAGES } else { 4 };
    let mut p99 = Vec::new();
    for address in ["192.0.2.7", "203.0.113.9"] {
        let good: Vec<_> = (0..count)
            .map(|_| sender.message(to, 100_000).json)
            .collect();
        let took = times_from(&ledger.url, address, good).await;
        let (slow, longest) = (took[took.len() * 99 / 100 - 1], took[took.len() - 1]);
        println!(
            "{count} messages of 100 kB from {address} took {:?} (p50), {slow:?} (p99), {longest:?} at \
             most, beside 16 connections from 203.0.113.9 with bad envelopes of 940 kB",
            took[took.len() / 2],
        );
        p99.push(slow);
    }
    is_over.store(true, Ordering::SeqCst);
    let sent: usize = flood.join_all().await.into_iter().sum();
    println!("{sent} bad envelopes were refused");
    if is_long {
        assert!(p99[0] < P99, "{p99:?}");
        assert!(p99[1] < P99_OF_ITS_ADDRESS, "{p99:?}");
    }
    assert!(ledger.stop().status.success());
}

/// The times that messages from `address` take, one after the other, the shortest first.
async fn times_from(url: &str, address: &str, messages: Vec<Vec<u8>>) -> Vec<Duration> {
    let (http, mut took) = (http(), Vec::with_capacity(messages.len()));
    for message in messages {
        let begun = Instant::now();
        loop {
            let status = post_from(&http, url, address, message.clone()).await;
            if status == 202 {
                break;
            }
            // The flood may have used up what the address is allowed.
            let is_soon = begun.elapsed() < PATIENCE;
            assert!(status == 429 && is_soon, "{status}");
        }
        took.push(begun.elapsed());
    }
    took.sort_unstable();
    took
}
