//! A process that stands by: it answers reads as far as the log is published, says as of which record,
//! passes on what it is sent, and shows nothing that may not be the newest.

use super::client::{Agent, Told, get, ledger_did, post};
use super::hosts::{Host, both, hosts};
use reqwest::StatusCode;
use serde_json::Value;
use std::time::{Duration, Instant};
use x811_protocol::envelope::SealedEnvelope;
use x811_tests::postgres::Node;

/// What may pass between an answer and its being read, on a machine that is busy.
const SLACK_MS: u64 = 2_500;

pub(crate) fn http() -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().build().unwrap()
}

/// Sends it until it is accepted; gives where it is recorded.
pub(crate) async fn accepted(url: &str, envelope: &SealedEnvelope) -> u64 {
    let begun = Instant::now();
    loop {
        match post(url, envelope).await {
            Told::Accepted(answer) => return answer["position"].as_u64().unwrap(),
            told @ (Told::Refused(..) | Told::Nothing) => {
                assert!(begun.elapsed() < Duration::from_secs(30), "{told:?}")
            }
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Status, `x811-as-of` as (position, at_ms), and body.
pub(crate) async fn read(url: &str, path: &str) -> Option<(StatusCode, Option<(u64, u64)>, Value)> {
    read_with(&http(), url, path).await
}

/// The same on a connection that may be open already.
async fn read_with(
    http: &reqwest::Client,
    url: &str,
    path: &str,
) -> Option<(StatusCode, Option<(u64, u64)>, Value)> {
    let answer = http.get(format!("{url}{path}")).send().await.ok()?;
    let status = answer.status();
    let as_of = answer.headers().get("x811-as-of").map(|value| {
        let value = value.to_str().unwrap();
        let (position, at_ms) = value.split_once(", ").unwrap();
        let number = |text: &str| text.split_once('=').unwrap().1.parse().unwrap();
        (number(position), number(at_ms))
    });
    Some((status, as_of, answer.json().await.ok()?))
}

pub(crate) fn now_ms() -> u64 {
    let since = std::time::UNIX_EPOCH.elapsed().unwrap();
    u64::try_from(since.as_millis()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stores_5_a_standby_answers_reads_and_passes_on_what_it_is_sent() {
    let node = Node::start(&[]).await;
    let mut hosts = hosts(&node.url().await, &[]);
    both(&mut hosts).await;
    let [writer, standby] = hosts.each_ref().map(Host::url);
    let ledger = ledger_did(&standby).await.unwrap();
    assert_eq!(ledger_did(&writer).await, Some(ledger));
    // Both are registered past the one that stands by.
    let (mut agent, other) = (Agent::new("one"), Agent::new("two"));
    accepted(&standby, &agent.registration(ledger)).await;
    accepted(&standby, &other.registration(ledger)).await;
    let request = agent.request(other.identity.did);
    let at = accepted(&standby, &request).await;
    let id = request.header.id.to_string();
    for path in [
        format!("/api/v1/interactions/{id}"),
        format!("/api/v1/interactions/{id}/history"),
        format!("/api/v1/interactions/{id}/settlement"),
    ] {
        let (status, as_of, shown) = read(&standby, &format!("{path}?min_position={at}"))
            .await
            .unwrap();
        assert_eq!(status, StatusCode::OK, "{path} {shown}");
        let (position, at_ms) = as_of.unwrap();
        assert!(position >= at, "{path} as of {position}");
        assert!(now_ms() - at_ms <= 3_000 + SLACK_MS, "{path} as of {at_ms}");
        let (status, _, theirs) = read(&writer, &path).await.unwrap();
        assert_eq!(status, StatusCode::OK);
        if !path.ends_with("settlement") {
            assert_eq!(shown, theirs, "{path}");
        }
    }
    // The same once more is the first answer, whoever is asked; so is where it is.
    assert_eq!(accepted(&writer, &request).await, at);
    assert_eq!(accepted(&standby, &request).await, at);
    let (status, found) = get(&standby, &format!("/api/v1/messages/by-id/{id}"))
        .await
        .unwrap();
    assert_eq!(
        (status, found["first"]["position"].as_u64()),
        (200, Some(at)),
        "{found}"
    );
    // What is not there yet is waited for, and then nobody knows.
    let begun = Instant::now();
    let (status, _, why) = read(
        &standby,
        "/api/v1/interactions/0191e3a0-0000-7000-8000-000000000000?min_position=100000",
    )
    .await
    .unwrap();
    assert_eq!(
        (status, &why["code"]),
        (StatusCode::SERVICE_UNAVAILABLE, &"X811-9002".into())
    );
    assert!(begun.elapsed() >= Duration::from_secs(2));
    proves(&standby, at).await;
    one_hop([&writer, &standby], &request).await;
    // Who writes, who follows, how far.
    let said = standing(&mut hosts[0], &standby).await;
    assert_eq!(said["role"], "writer", "{said}");
    // Without the one that writes nothing goes on; soon the other one is it.
    hosts[0].kill();
    let begun = Instant::now();
    let after = accepted(&standby, &agent.message(ledger, 10)).await;
    println!(
        "{} ms from the kill to the next acknowledgement",
        begun.elapsed().as_millis()
    );
    assert!(after > at);
    hosts[1].becomes("writer").await;
    assert!(hosts[1].ledger.take().unwrap().stop().status.success());
    hosts[1].place.clean(None);
}

/// The log itself: the checkpoint that the writer signed, and a proof under it.
async fn proves(standby: &str, at: u64) {
    let proven = format!("/api/v1/records/{at}/proof");
    let begun = Instant::now();
    while http()
        .get(format!("{standby}{proven}"))
        .send()
        .await
        .unwrap()
        .status()
        != StatusCode::OK
    {
        assert!(begun.elapsed() < Duration::from_secs(20), "no proof");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Nobody passes on but a process of the ledger, and that once.
async fn one_hop([writer, standby]: [&str; 2], request: &SealedEnvelope) {
    // Nobody says of himself whose request he passes on.
    let forged = http()
        .post(format!("{writer}/api/v1/messages"))
        .header("x811-passed-on", "1 2 192.0.2.7:1 - 3 4")
        .body(request.json.clone());
    assert_eq!(forged.send().await.unwrap().status(), StatusCode::FORBIDDEN);
    // And to one that stands by nothing is passed on: there is one hop.
    let again = http()
        .post(format!("{standby}/api/v1/messages"))
        .header("x811-passed-on", "1 2 192.0.2.7:1 - 3 4")
        .body(request.json.clone());
    assert_eq!(
        again.send().await.unwrap().status(),
        StatusCode::SERVICE_UNAVAILABLE
    );
}

/// What `/ready` of the writer says, once it knows of the other one.
async fn standing(writer: &mut Host, follower: &str) -> Value {
    let begun = Instant::now();
    loop {
        let ready = writer.ready().await;
        let followers = ready["store"]["followers"].as_array();
        let name = follower.trim_start_matches("http://");
        if followers.is_some_and(|all| all.iter().any(|one| one["name"] == name)) {
            return ready;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "{ready}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// More than the threads of the process that is stopped: most have a read under way there.
const READERS: usize = 16;

/// The threads on which the process composes answers. Between the last look at how sure an answer is and
/// the socket there is no place to wait: each thread may hold one answer there when it is stopped, which
/// says in `x811-as-of` how old it is.
fn workers() -> u64 {
    u64::try_from(std::thread::available_parallelism().unwrap().get()).unwrap()
}

/// What one reader saw.
#[derive(Default)]
struct Reads {
    /// Answers that were no older than they may be.
    sure: u64,
    /// Answers that were.
    late: u64,
}

/// Reads again and again until `end`.
async fn reads(url: String, end: tokio::sync::watch::Receiver<bool>) -> Reads {
    let mut seen = Reads::default();
    let http = http();
    while !*end.borrow() {
        let Some((status, as_of, _)) = read_with(&http, &url, "/api/v1/agents").await else {
            continue;
        };
        if status == StatusCode::OK {
            let (_, at_ms) = as_of.unwrap();
            match now_ms().saturating_sub(at_ms) <= 3_000 + SLACK_MS {
                true => seen.sure += 1,
                false => seen.late += 1,
            }
        } else {
            assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
        }
    }
    seen
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stores_3_a_process_that_was_stopped_shows_nothing_that_is_not_the_newest() {
    let node = Node::start(&[]).await;
    let mut hosts = hosts(&node.url().await, &[]);
    both(&mut hosts).await;
    let [writer, standby] = hosts.each_ref().map(Host::url);
    let ledger = ledger_did(&writer).await.unwrap();
    let mut agent = Agent::new("one");
    accepted(&writer, &agent.registration(ledger)).await;
    // First the one that stands by, then the one that writes, is stopped while it composes answers.
    for (stopped, url, other) in [(1, &standby, &writer), (0, &writer, &standby)] {
        let (ending, end) = tokio::sync::watch::channel(false);
        let mut readers = tokio::task::JoinSet::new();
        for _ in 0..READERS {
            readers.spawn(reads(url.clone(), end.clone()));
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
        hosts[stopped].signal("STOP");
        // Longer than what was published counts, and than a lease.
        tokio::time::sleep(Duration::from_millis(6_500)).await;
        let said = accepted(other, &agent.message(ledger, 10)).await;
        hosts[stopped].signal("CONT");
        tokio::time::sleep(Duration::from_secs(1)).await;
        // It follows again, also where it wrote before.
        hosts[stopped].becomes("standby").await;
        let (status, as_of, _) = read(url, "/api/v1/agents?limit=1").await.unwrap();
        assert_eq!(status, StatusCode::OK);
        assert!(as_of.unwrap().0 + 1 >= said, "{as_of:?} {said}");
        ending.send_replace(true);
        let (mut sure, mut late) = (0, 0);
        while let Some(read) = readers.join_next().await {
            let read = read.unwrap();
            sure += read.sure;
            late += read.late;
        }
        println!("{sure} answers in time, {late} that were on their way out");
        assert!(sure > 0, "nothing was read at all");
        assert!(late <= workers(), "{late} answers came late");
    }
    for host in &mut hosts {
        host.runs();
    }
}

/// It loses the lease to somebody who never writes, before what it wrote last was published: there is
/// nobody to follow, and it must not wait for what itself alone can publish.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stores_2_a_fenced_process_that_nobody_replaces_writes_again() {
    let node = Node::start(&[]).await;
    let url = node.url().await;
    let [mut host, _] = hosts(&url, &[]);
    host.start();
    host.becomes("writer").await;
    let ledger = ledger_did(&host.url()).await.unwrap();
    accepted(&host.url(), &Agent::new("one").registration(ledger)).await;
    let (_, schema) = url.rsplit_once("%3D").unwrap();
    let lost = format!(
        "UPDATE {schema}.lease SET holder = 'somebody', published = 1, \
         renewed_at = clock_timestamp() - interval '1 minute'"
    );
    node.run_sql(&lost).await;
    let begun = Instant::now();
    while !host
        .ledger
        .as_ref()
        .unwrap()
        .said()
        .contains("what was under way is dropped")
    {
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "it noticed nothing"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // It says why, where it does not.
    host.becomes("writer").await;
    accepted(&host.url(), &Agent::new("two").registration(ledger)).await;
    host.becomes("writer").await;
    host.runs();
}
