//! A registered agent that sends REQUESTs as fast as it can, each of them well signed, long after
//! its quotas are used up: it costs a bounded amount of memory, and no neighbour its place
//! (ledger-contract.md section 3).

use super::client::{Acknowledged, Agent, ledger_did};
use super::ledger::{Ledger, Place};
use reqwest::{Client, StatusCode};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use x811_protocol::did::Did;
use x811_protocol::envelope::SealedEnvelope;

/// REQUESTs at the same time.
const FLOODERS: usize = 16;

/// REQUESTs of a wave.
const WAVE: usize = 1_500;

/// Waves after the first, which fills what there is to fill. More follow until the neighbour was served
/// often enough to be judged.
const WAVES: usize = 4;
const SERVED: usize = 40;

/// Interactions one pair may have open.
const OPEN_PER_PAIR: usize = 100;

/// What the later waves may add to the resident memory together.
const GROWTH_KIB: u64 = 16 * 1_024;

/// The longest a neighbour waits for an answer, on a machine that is busy with the flood too.
const PATIENCE: Duration = Duration::from_secs(5);

/// The longest the waves go on for the neighbour's sake.
const MOST: Duration = Duration::from_secs(120);

/// Pause of the neighbour between two messages.
const PAUSE: Duration = Duration::from_millis(50);

/// Connections that are kept.
fn http() -> Client {
    // Another test of this process may have installed it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().no_proxy().build().unwrap()
}

async fn post(http: &Client, url: &str, envelope: &SealedEnvelope) -> (StatusCode, bool, Value) {
    let request = http.post(format!("{url}/api/v1/messages"));
    let answer = request.body(envelope.json.clone()).send().await.unwrap();
    let status = answer.status();
    let says_when = answer.headers().contains_key("retry-after");
    (status, says_when, answer.json().await.unwrap())
}

async fn accepted(http: &Client, url: &str, envelope: &SealedEnvelope) -> Value {
    let (status, _, body) = post(http, url, envelope).await;
    assert_eq!(status, StatusCode::ACCEPTED, "{body}");
    body
}

/// `VmRSS` of a process, in KiB.
fn resident_kib(ledger: &Ledger) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", ledger.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let words = line.unwrap().split_whitespace().nth(1);
    words.unwrap().parse().unwrap()
}

/// Sends a wave of REQUESTs; how many were accepted, all others having been refused properly.
async fn wave(http: &Client, url: &str, flooder: &Arc<Mutex<Agent>>, to: Did) -> usize {
    let mut senders = JoinSet::new();
    for _ in 0..FLOODERS {
        let (http, url, flooder) = (http.clone(), url.to_owned(), flooder.clone());
        senders.spawn(async move {
            let mut taken = 0;
            for _ in 0..WAVE / FLOODERS {
                let request = flooder.lock().await.request(to);
                let (status, says_when, body) = post(&http, &url, &request).await;
                if status == StatusCode::ACCEPTED {
                    taken += 1;
                    continue;
                }
                assert_eq!(status, StatusCode::TOO_MANY_REQUESTS, "{body}");
                assert_eq!(body["code"], "X811-9001", "{body}");
                assert!(says_when, "no Retry-After: {body}");
            }
            taken
        });
    }
    senders.join_all().await.into_iter().sum()
}

/// An honest agent that talks until it is told to stop and counts its answers: what it was told, and its
/// longest wait.
async fn neighbour(
    http: Client,
    url: String,
    mut agent: Agent,
    to: Did,
    stop: Arc<AtomicBool>,
    served: Arc<AtomicUsize>,
) -> (Acknowledged, Duration) {
    let (mut told, mut longest) = (Acknowledged::default(), Duration::ZERO);
    let mut count = 0;
    while !stop.load(Ordering::SeqCst) {
        let message = match count % 4 {
            0 if count / 4 < OPEN_PER_PAIR => agent.request(to),
            _ => agent.message(to, 100),
        };
        let begun = Instant::now();
        told.note(&accepted(&http, &url, &message).await);
        longest = longest.max(begun.elapsed());
        count = served.fetch_add(1, Ordering::SeqCst) + 1;
        tokio::time::sleep(PAUSE).await;
    }
    (told, longest)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lc_3_memory_is_flat_under_a_flood_of_requests_and_a_neighbour_is_served() {
    let place = Place::new();
    let ledger = place.start();
    let (http, url) = (http(), ledger.url.clone());
    let did = ledger_did(&url).await.unwrap();
    let [flooder, honest, provider] = ["flooder", "honest", "provider"].map(Agent::new);
    for agent in [&flooder, &honest, &provider] {
        accepted(&http, &url, &agent.registration(did)).await;
    }
    let provider = provider.identity.did;
    let flooder = Arc::new(Mutex::new(flooder));

    let taken = wave(&http, &url, &flooder, provider).await;
    assert_eq!(taken, OPEN_PER_PAIR, "the quota");
    let plateau_kib = resident_kib(&ledger);
    let stop = Arc::new(AtomicBool::new(false));
    let served = Arc::new(AtomicUsize::new(0));
    let talk = neighbour(
        http.clone(),
        url.clone(),
        honest,
        provider,
        stop.clone(),
        served.clone(),
    );
    let talk = tokio::spawn(talk);
    let (begun, mut highest_kib, mut waves) = (Instant::now(), plateau_kib, 0);
    while waves < WAVES || served.load(Ordering::SeqCst) < SERVED {
        assert!(begun.elapsed() < MOST, "the neighbour is hardly served");
        waves += 1;
        assert_eq!(wave(&http, &url, &flooder, provider).await, 0);
        highest_kib = highest_kib.max(resident_kib(&ledger));
    }
    let took = begun.elapsed();
    stop.store(true, Ordering::SeqCst);
    let (told, longest) = talk.await.unwrap();
    let refused = waves * (WAVE / FLOODERS) * FLOODERS;
    println!(
        "{plateau_kib} KiB after {WAVE} REQUESTs, at most {highest_kib} KiB during {refused} more \
         in {took:?}; a neighbour was served {served:?} times, within {longest:?}"
    );
    assert!(highest_kib - plateau_kib < GROWTH_KIB, "it grows");
    assert!(longest < PATIENCE, "the neighbour waited {longest:?}");
    told.assert_found(&url, || true).await;
    assert!(ledger.stop().status.success());
    place.clean(told.head());
}
