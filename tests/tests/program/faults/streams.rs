//! Streams on which nothing comes, and readers that take nothing of what comes: what each costs the
//! ledger in memory, and that the others are served.

use super::client::{Agent, Told, ledger_did, post};
use super::ledger::{Ledger, Place};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

/// As many streams as a ledger holds, and as one agent does.
const STREAMS: usize = 100;
const OF_AN_AGENT: usize = 3;

/// Streams that are not counted: memory comes in pages of 2 MiB, and the first streams take one for each
/// thread.
const WARM_UP: usize = 12;

/// What an idle stream may cost in resident memory.
const IDLE_KIB: u64 = 64;

/// Padding of the messages that nobody takes, and how many there are.
const PADDING: usize = 900_000;
const MESSAGES: usize = 24;

/// What streams may cost whose readers take nothing, and the messages on their way to them. Each reader
/// holds one message, in the forms that it is made from; three that held all would take 63 MiB more.
const SLOW_KIB: u64 = 96 * 1_024;

const PATIENCE: Duration = Duration::from_secs(30);

fn resident_kib(ledger: &Ledger) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", ledger.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let words = line.unwrap().split_whitespace().nth(1);
    words.unwrap().parse().unwrap()
}

/// An open stream of `agent` that has begun; its reader takes in very little by itself.
async fn open(ledger: &Ledger, agent: &Agent) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4_096).unwrap();
    let address = ledger.url.trim_start_matches("http://").parse().unwrap();
    let mut stream = socket.connect(address).await.unwrap();
    let uuid = agent.identity.did.uuid();
    let request = format!("GET /api/v1/messages/{uuid}/stream HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    until(&mut stream, ": begun").await;
    stream
}

/// Reads until that has come.
async fn until(stream: &mut TcpStream, wanted: &str) {
    let (mut came, mut piece) = (String::new(), [0; 4_096]);
    while !came.contains(wanted) {
        let read = tokio::time::timeout(PATIENCE, stream.read(&mut piece));
        let length = read.await.unwrap().unwrap();
        assert!(length > 0, "{wanted} did not come: {came}");
        came.push_str(&String::from_utf8_lossy(&piece[..length]));
        assert!(!came.starts_with("HTTP/1.1 4"), "{came}");
    }
}

async fn accepted(ledger: &Ledger, envelopes: Vec<x811_protocol::envelope::SealedEnvelope>) {
    for envelope in envelopes {
        let told = post(&ledger.url, &envelope).await;
        assert!(matches!(told, Told::Accepted(_)), "{told:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ae_134_idle_streams_and_slow_readers_cost_flat_memory() {
    let place = Place::new();
    let ledger = place.start();
    let did = ledger_did(&ledger.url).await.unwrap();
    let agents = STREAMS.div_ceil(OF_AN_AGENT);
    let names: Vec<String> = (0..agents)
        .map(|number| format!("reader-{number}"))
        .collect();
    let readers: Vec<Agent> = names.iter().map(|name| Agent::new(name)).collect();
    let mut sender = Agent::new("sender");
    let mut registrations = vec![sender.registration(did)];
    registrations.extend(readers.iter().map(|reader| reader.registration(did)));
    accepted(&ledger, registrations).await;
    // The first of a kind opens files and prepares statements. It is the sender's: that a stream ended
    // the ledger learns a moment later, and each agent has so many.
    drop(open(&ledger, &sender).await);
    let (mut idle, mut before_kib) = (Vec::with_capacity(STREAMS), 0);
    for number in 0..STREAMS - 1 {
        if number == WARM_UP {
            before_kib = resident_kib(&ledger);
        }
        idle.push(open(&ledger, &readers[number / OF_AN_AGENT]).await);
    }
    let idle_kib = resident_kib(&ledger).saturating_sub(before_kib);
    let counted = (idle.len() - WARM_UP) as u64;
    println!(
        "{counted} idle streams: {idle_kib} KiB, {} bytes each",
        idle_kib * 1_024 / counted
    );
    assert!(idle_kib < counted * IDLE_KIB, "{idle_kib} KiB");

    // Three readers of one agent take nothing of what comes.
    let slow = readers[0].identity.did;
    let before_kib = resident_kib(&ledger);
    let mut kib = Vec::with_capacity(MESSAGES);
    for _ in 0..MESSAGES {
        accepted(&ledger, vec![sender.message(slow, PADDING)]).await;
        kib.push(resident_kib(&ledger).saturating_sub(before_kib));
    }
    println!("3 readers that take nothing, after each message of 900 kB: {kib:?} KiB more");
    let most_kib = kib[MESSAGES - 1];
    assert!(most_kib < SLOW_KIB, "{most_kib} KiB");
    // Others have theirs meanwhile.
    let other = OF_AN_AGENT;
    let small = sender.message(readers[1].identity.did, 10);
    let id = small.header.id.to_string();
    accepted(&ledger, vec![small]).await;
    until(&mut idle[other], &id).await;
    drop(idle);
    assert!(ledger.stop().status.success());
}
