//! Feeds at a process that stands by: where a stream begins, which loop of an agent is the newest, and
//! tokens of one process at another (docs/decisions/0261 and 0262).

use super::client::{Agent, ledger_did};
use super::hosts::{Host, both, hosts};
use super::standing::{accepted, http};
use reqwest::StatusCode;
use std::time::Duration;
use x811_client::entropy::{Entropy as _, SystemEntropy};
use x811_client::http::{ClientError, LedgerClient, MessageStream, StreamRequest};
use x811_protocol::did::Did;
use x811_protocol::id::EnvelopeId;
use x811_protocol::signed_read::{SIGNATURE, SIGNATURE_INPUT, Target, sign};
use x811_tests::postgres::Node;

/// Long enough for a process that is asked every two seconds, on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(20);

/// Two processes, and an agent to whom another one has sent three REQUESTs.
struct Scene {
    _node: Node,
    hosts: [Host; 2],
    /// Of the one that writes, and the one that stands by.
    urls: [String; 2],
    agent: Agent,
    sent: Vec<EnvelopeId>,
}

/// Asks a process that follows until it knows the agent.
async fn until_known(url: &str, agent: Did) {
    let client = LedgerClient::new(url).unwrap();
    for _ in 0..10_000 {
        if client.agent(agent).await.is_ok() {
            return;
        }
    }
    panic!("{url} never knows {agent}");
}

impl Scene {
    async fn set() -> Scene {
        let node = Node::start(&[]).await;
        let mut hosts = hosts(&node.url().await, &[]);
        both(&mut hosts).await;
        let urls = hosts.each_ref().map(Host::url);
        let ledger = ledger_did(&urls[0]).await.unwrap();
        let (agent, mut other) = (Agent::new("one"), Agent::new("two"));
        for one in [&agent, &other] {
            accepted(&urls[0], &one.registration(ledger)).await;
        }
        until_known(&urls[1], agent.identity.did).await;
        let mut sent = Vec::new();
        for _ in 0..3 {
            let request = other.request(agent.identity.did);
            accepted(&urls[0], &request).await;
            sent.push(request.header.id);
        }
        Scene {
            _node: node,
            hosts,
            urls,
            agent,
            sent,
        }
    }

    fn client(&self, url: &str) -> LedgerClient {
        let client = LedgerClient::new(url).unwrap();
        client.reading_as(&self.agent.identity)
    }

    /// A stream without a place of its own, of the loop `instance`.
    async fn stream(
        &self,
        url: &str,
        instance: Option<&str>,
    ) -> Result<(LedgerClient, MessageStream), ClientError> {
        let client = self.client(url);
        let request = StreamRequest {
            instance: instance.map(str::to_owned),
            ..StreamRequest::default()
        };
        let stream = client.stream(self.agent.identity.did, &request).await?;
        Ok((client, stream))
    }

    /// A token for streams, by way of `url`.
    async fn token(&self, url: &str) -> String {
        let (path, query) = ("/api/v1/tokens", "scope=feed&ttl_s=300");
        let target = Target {
            method: "POST",
            authority: url.strip_prefix("http://").unwrap(),
            path,
            query: Some(query),
        };
        let identity = &self.agent.identity;
        let now_s = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
        let mut nonce = [0; 16];
        SystemEntropy.fill(&mut nonce).unwrap();
        let fields = sign(&target, identity.did, &identity.signing_key, now_s, nonce);
        let asked = http().post(format!("{url}{path}?{query}"));
        let asked = asked.header(SIGNATURE_INPUT, fields.signature_input);
        let answer = asked.header(SIGNATURE, fields.signature).send();
        let answer: serde_json::Value = answer.await.unwrap().json().await.unwrap();
        answer["token"].as_str().unwrap().to_owned()
    }

    /// What a browser is answered that opens a stream with `token`.
    async fn opens(&self, url: &str, token: &str) -> StatusCode {
        let uuid = self.agent.identity.did.uuid();
        let path = format!("{url}/api/v1/messages/{uuid}/stream?token={token}");
        http().get(path).send().await.unwrap().status()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stores_5_a_stream_begins_behind_what_was_acknowledged_at_the_other_process() {
    let scene = Scene::set().await;
    let [writer, standby] = &scene.urls;
    let (client, mut stream) = scene.stream(standby, None).await.unwrap();
    let mut cursor = None;
    for id in &scene.sent[..2] {
        let page = client.next_of(&mut stream).await.unwrap();
        assert_eq!(page.messages[0].envelope.header().id, *id);
        cursor = page.next;
    }
    let did = scene.agent.identity.did;
    let through = cursor.unwrap();
    client.acknowledge(did, &through).await.unwrap();
    for url in [standby, writer] {
        let (client, mut stream) = scene.stream(url, None).await.unwrap();
        let page = client.next_of(&mut stream).await.unwrap();
        assert_eq!(
            page.messages[0].envelope.header().id,
            scene.sent[2],
            "{url}"
        );
    }
}

/// Who gains: nobody; an agent that is started twice, at two processes, would say everything twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stores_5_the_newest_loop_of_an_agent_ends_the_others_at_every_process() {
    let scene = Scene::set().await;
    let [writer, standby] = &scene.urls;
    let ended = async |(client, mut stream): (LedgerClient, MessageStream)| {
        let reading = async {
            loop {
                match client.next_of(&mut stream).await {
                    Ok(_) => {}
                    Err(error) => return error,
                }
            }
        };
        let error = tokio::time::timeout(PATIENCE, reading).await;
        let error = error.expect("the older loop is not ended").to_string();
        assert!(error.contains("the stream ended"), "{error}");
    };
    let first = scene.stream(writer, Some("a")).await.unwrap();
    let second = scene.stream(standby, Some("b")).await.unwrap();
    ended(first).await;
    for url in [standby, writer] {
        let again = scene.stream(url, Some("a")).await.map(drop);
        assert!(
            matches!(&again, Err(ClientError::Refused(refused)) if refused.status == 409),
            "{again:?}"
        );
    }
    let third = scene.stream(writer, Some("c")).await.unwrap();
    ended(second).await;
    let again = scene.stream(standby, Some("b")).await.map(drop);
    assert!(again.is_err(), "it has ended for good");
    drop(third);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stores_5_a_token_of_one_process_is_good_at_the_other_and_after_a_take_over() {
    let mut scene = Scene::set().await;
    let [writer, standby] = scene.urls.clone();
    for from in [&standby, &writer] {
        let token = scene.token(from).await;
        for at in [&standby, &writer] {
            assert_eq!(scene.opens(at, &token).await, StatusCode::OK, "{from} {at}");
            let forged = scene.opens(at, &token[1..]).await;
            assert_ne!(forged, StatusCode::OK, "{at}");
        }
    }
    let token = scene.token(&standby).await;
    scene.hosts[0].kill();
    scene.hosts[1].becomes("writer").await;
    assert_eq!(scene.opens(&standby, &token).await, StatusCode::OK);
}

/// Who gains: a stranger, who would learn what an agent has dealt with, or end its loops.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stores_5_what_processes_ask_each_other_is_answered_to_nobody_else() {
    let scene = Scene::set().await;
    let uuid = scene.agent.identity.did.uuid();
    for url in &scene.urls {
        for path in [
            format!("/processes/acknowledged/{uuid}"),
            format!("/processes/loops/{uuid}/z"),
        ] {
            let asked = || http().get(format!("{url}{path}"));
            let answer = asked().send().await.unwrap();
            assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{path}");
            let passed_on = asked().header("x811-passed-on", "1 2 3 4 5 6").send();
            let status = passed_on.await.unwrap().status();
            assert!(!status.is_success(), "{path}: {status}");
            // What changes something is passed on, whatever its path is.
            let posted = http().post(format!("{url}{path}")).send().await.unwrap();
            assert!(!posted.status().is_success(), "{path}: {}", posted.status());
        }
    }
    let first = scene.stream(&scene.urls[0], Some("a")).await;
    assert!(first.is_ok(), "no loop was ended");
}
