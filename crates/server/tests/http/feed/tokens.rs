//! Tokens for browsers: who gets one, what it is good for, and that no log has it.

use super::{ack_path, inbox_of, post_claim, stream_of, unsigned};
use crate::readers::readers;
use crate::world::{BEGUN, World};
use reqwest::Method;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use tracing_subscriber::fmt::MakeWriter;

#[tokio::test]
async fn ax_44_a_token_opens_the_stream_of_its_agent_from_query_or_header() {
    let (world, [initiator, provider, _, _]) = readers().await;
    world.ping(&initiator, &provider, 0..1).await;
    let answer = world.post_as(&provider, "/api/v1/tokens?scope=feed").await;
    assert_eq!(answer.headers["cache-control"], "no-store");
    let issued = answer.expect(200);
    let until = BEGUN.as_ms() + 300_000;
    assert_eq!(issued["expires_at_ms"], until, "the longest by itself");
    let token = issued["token"].as_str().unwrap();
    let path = stream_of(&provider);
    let in_query = format!("{path}?token={token}");
    let mut listener = world.listen_with(&in_query, &[]).await;
    assert_eq!(listener.numbers(1).await, [0]);
    let field = format!("Bearer {token}");
    let in_header = [("authorization", field.as_str())];
    let mut listener = world.listen_with(&path, &in_header).await;
    assert_eq!(listener.numbers(1).await, [0]);
    // It is no one-time proof: a browser connects again with it.
    world.listen_with(&in_query, &[]).await;
}

#[tokio::test]
async fn ax_44_tokens_are_for_300_s_at_most_and_for_a_known_use() {
    let (world, [agent]) = World::peopled().await;
    for bad in [
        "",
        "?scope=feed&ttl_s=301",
        "?scope=feed&ttl_s=0",
        "?scope=feed&ttl_s=x",
        "?scope=Feed",
        "?scope=admin",
        "?ttl_s=60",
        "?scope=feed&for=ever",
    ] {
        let path = format!("/api/v1/tokens{bad}");
        let refused = world.post_as(&agent, &path).await;
        refused.refused(400, "X811-4001");
    }
    let path = "/api/v1/tokens?scope=feed&ttl_s=7";
    let issued = world.post_as(&agent, path).await.expect(200);
    assert_eq!(issued["expires_at_ms"], BEGUN.as_ms() + 7_000);
    let claim = post_claim(&world, &agent, path);
    let fields = claim.sign();
    world.post_signed(path, &fields).await.expect(200);
    let replayed = world.post_signed(path, &fields).await;
    replayed.refused(409, "X811-2001");
}

/// Each is for its own use, no token makes another, and nothing is done by one.
#[tokio::test]
async fn promise_7_a_token_is_good_for_nothing_else() {
    let (world, [initiator, provider, _, _]) = readers().await;
    world.ping(&initiator, &provider, 0..1).await;
    let inbox = world.get_as(&provider, &inbox_of(&provider)).await;
    let cursor = inbox.expect(200)["messages"][0]["cursor"].clone();
    let feed = world.token(&provider, "feed", 300).await;
    let explorer = world.token(&provider, "explorer", 300).await;
    let (feed, explorer) = (format!("Bearer {feed}"), format!("Bearer {explorer}"));
    let by = |token: &str| [("authorization".to_owned(), token.to_owned())];
    let ask = async |method: Method, path: &str, token: &str| {
        let [(name, value)] = by(token);
        world.ask(method, path, &[(&name, &value)]).await
    };
    let read = inbox_of(&provider);
    ask(Method::GET, &read, &explorer).await.expect(200);
    let refused = ask(Method::GET, &read, &feed).await;
    refused.refused(401, "X811-2003");
    let others = ask(Method::GET, &inbox_of(&initiator), &explorer).await;
    others.refused(403, "X811-2004");
    let log = ask(Method::GET, "/log/tile/entries/000", &explorer).await;
    log.refused(403, "X811-2004");
    for token in [&feed, &explorer] {
        for path in [
            ack_path(&provider, &cursor),
            "/api/v1/tokens?scope=feed".to_owned(),
        ] {
            let refused = ask(Method::POST, &path, token).await;
            refused.refused(401, "X811-2004");
        }
    }
    // In a query for a stream alone.
    let token = explorer.trim_start_matches("Bearer ");
    let in_query = format!("{read}?token={token}");
    let refused = unsigned(&world, Method::GET, &in_query).await;
    refused.refused(401, "X811-2004");
    // It is under a key of the ledger's, so it outlives a restart, for its own use.
    let world = world.restart_with(1_000, async |_| {}, |c| c.open_reads = false);
    let world = world.await;
    let asked = [("authorization", explorer.as_str())];
    world.ask(Method::GET, &read, &asked).await.expect(200);
    let asked = [("authorization", feed.as_str())];
    let refused = world.ask(Method::GET, &read, &asked).await;
    refused.refused(401, "X811-2003");
    // What a proxy adds for itself is nothing to us.
    let basic = [("authorization", "Basic dXNlcjpwYXNz")];
    let refused = world.ask(Method::GET, &read, &basic).await;
    refused.refused(401, "X811-2004");
}

/// Everything that is logged, as it was written.
#[derive(Clone, Default)]
struct Logged(Arc<Mutex<Vec<u8>>>);

impl io::Write for Logged {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut logged = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        logged.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Logged {
    type Writer = Logged;

    fn make_writer(&'a self) -> Logged {
        self.clone()
    }
}

/// The test runs on one thread, and so does the server: its log is the test's.
#[tokio::test]
async fn promise_7_no_log_has_a_token() {
    let logged = Logged::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(logged.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let (world, [agent]) = World::peopled().await;
    let token = world.token(&agent, "feed", 300).await;
    let path = format!("{}?token={token}", stream_of(&agent));
    drop(world.listen_with(&path, &[]).await);
    let bad = format!("{}?token={}x", stream_of(&agent), token);
    world.open(&bad, &[]).await.err().unwrap();
    let logged = logged.0.lock().unwrap().clone();
    let logged = String::from_utf8(logged).unwrap();
    // Of the server; the client of this test is in the same process, and says what it asks.
    let of_server: Vec<&str> = logged
        .lines()
        .filter(|line| !line.contains("hyper_util::client") && !line.contains("reqwest"))
        .collect();
    let is_request = |line: &&&str| line.contains("/api/v1/messages/{uuid}/stream");
    assert!(of_server.iter().any(|line| is_request(&line)), "{logged}");
    for line in of_server {
        assert!(!line.contains(&token[..40]), "{line}");
    }
}
