//! Clock and randomness that tests own, and a ledger that answers from a script.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use x811_protocol::did::Did;
use x811_protocol::time::TimestampMs;

use crate::clock::Clock;
use crate::entropy::{Entropy, EntropyError};
use crate::http::{LedgerClient, RetryPolicy};
use crate::identity::{AgentName, Identity};

pub(crate) const NOW_MS: u64 = 1_767_225_600_000;

/// Bytes that never repeat within a test and are the same in every run.
#[derive(Default)]
pub(crate) struct CountingEntropy(AtomicU64);

impl Entropy for CountingEntropy {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), EntropyError> {
        for chunk in bytes.chunks_mut(8) {
            let count = self.0.fetch_add(1, Ordering::Relaxed) + 1;
            let mixed = count.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
            chunk.copy_from_slice(&mixed[..chunk.len()]);
        }
        Ok(())
    }
}

/// Starts at [`NOW_MS`]; waiting moves it on at once and is noted.
#[derive(Default)]
pub(crate) struct ManualClock {
    elapsed_ms: AtomicU64,
    pub(crate) pauses_ms: Mutex<Vec<u64>>,
}

impl Clock for ManualClock {
    fn now(&self) -> TimestampMs {
        TimestampMs::new(NOW_MS + self.elapsed_ms.load(Ordering::Relaxed))
    }

    fn pause(&self, ms: u64) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        self.elapsed_ms.fetch_add(ms, Ordering::Relaxed);
        self.pauses_ms.lock().unwrap().push(ms);
        Box::pin(std::future::ready(()))
    }
}

pub(crate) fn identity(name: &str, entropy: &dyn Entropy) -> Identity {
    Identity::generate(
        name.parse::<AgentName>().unwrap(),
        entropy,
        &ManualClock::default(),
    )
    .unwrap()
}

pub(crate) fn ledger_did() -> Did {
    "did:x811:019c8c61-8129-7511-9f31-aa5142e65449"
        .parse()
        .unwrap()
}

/// What the scripted ledger does with one request.
pub(crate) enum Step {
    Answer {
        status: u16,
        headers: &'static str,
        body: String,
    },
    /// Reads the request and closes without an answer.
    LoseAnswer,
}

impl Step {
    pub(crate) fn json(status: u16, body: impl ToString) -> Step {
        Step::Answer {
            status,
            headers: "",
            body: body.to_string(),
        }
    }
}

/// A client that asks a ledger of these steps once for each answer, with the clock by which it waits, and what
/// [`scripted_ledger`] gives.
pub(crate) async fn scripted_client(
    steps: Vec<Step>,
) -> (
    Arc<LedgerClient>,
    Arc<ManualClock>,
    tokio::task::JoinHandle<Vec<String>>,
) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (base, ledger) = scripted_ledger(steps).await;
    let clock: Arc<ManualClock> = Arc::default();
    let once = RetryPolicy {
        attempts: 1,
        ..RetryPolicy::default()
    };
    let entropy: Arc<CountingEntropy> = Arc::default();
    let client = LedgerClient::with(&base, once, clock.clone(), entropy).unwrap();
    (Arc::new(client), clock, ledger)
}

/// Serves one step per request on its own port; gives the base address and, once every step is
/// used, the requests as received (head and body).
pub(crate) async fn scripted_ledger(
    steps: Vec<Step>,
) -> (String, tokio::task::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let serving = tokio::spawn(async move {
        let mut requests = Vec::new();
        for step in steps {
            let (mut stream, _) = listener.accept().await.unwrap();
            requests.push(read_request(&mut stream).await);
            if let Step::Answer {
                status,
                headers,
                body,
            } = step
            {
                let length = body.len();
                let answer = format!(
                    "HTTP/1.1 {status} x\r\ncontent-type: application/json\r\n\
                     connection: close\r\n{headers}content-length: {length}\r\n\r\n{body}"
                );
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        }
        requests
    });
    (base, serving)
}

async fn read_request(stream: &mut TcpStream) -> String {
    let mut request = Vec::new();
    loop {
        let mut buffer = [0; 4096];
        let read = stream.read(&mut buffer).await.unwrap();
        request.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&request).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head
            .lines()
            .filter_map(|line| line.split_once(": "))
            .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
            .map_or(0, |(_, value)| value.parse::<usize>().unwrap());
        if body.len() >= length {
            return text;
        }
    }
}
