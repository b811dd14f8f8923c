//! Sends requests to a ledger whose clock, chance, keys and chain come from the test, and keeps the answers.

use crate::base::{BLOCK_MS, Base};
use crate::signing::{Claim, both};
use crate::world::{Agent, BEGUN, PATIENCE, Reply, World, config, reply};
use reqwest::Method;
use serde_json::Value;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use x811_ledger::clock::ManualClock;
use x811_ledger::entropy::Entropy;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::SealedEnvelope;
use x811_server::{RpcUrl, ServerConfig, start_with};

/// The name that readers sign for, so that no answer depends on a port.
pub(super) const AUTHORITY: &str = "ledger.example";

/// Header fields that differ from run to run, or follow from the body.
const FIELDS_LEFT_OUT: [&str; 2] = ["content-length", "date"];

/// Members of `/ready` that tell of this machine and of the moment.
const MEMBERS_LEFT_OUT: [&str; 6] = [
    "checkpoint_age_ms",
    "checkpoint_size",
    "free_bytes",
    "log_check",
    "networks",
    "rows_lag",
];

/// Bytes that follow from how often they are drawn.
struct Drawn(AtomicU64);

impl Entropy for Drawn {
    fn fill(&self, bytes: &mut [u8]) {
        let number = self.0.fetch_add(1, Ordering::SeqCst);
        let digest = Digest::of(format!("ledger {number}").as_bytes());
        for (byte, drawn) in bytes.iter_mut().zip(digest.as_bytes().iter().cycle()) {
            *byte = *drawn;
        }
    }
}

/// The answer to one request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) name: String,
    /// The request line, the status, header fields and the body.
    pub(super) text: String,
}

/// A ledger, and what it answered so far.
pub(super) struct Recorder {
    pub(super) world: Arc<World>,
    pub(super) base: Base,
    pub(super) answers: Vec<Answer>,
    /// Records that the log has to have by now.
    size: u64,
}

impl Recorder {
    /// A new ledger that has seen one block.
    pub(super) async fn start(change: impl FnOnce(&mut ServerConfig)) -> Recorder {
        let base = Base::serve().await;
        let dir = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::at(BEGUN));
        let mut config = config(dir.path());
        config.network.endpoints[0].rpc_url = RpcUrl::new(base.url());
        config.network.poll_ms = 2;
        change(&mut config);
        let entropy = Arc::new(Drawn(AtomicU64::new(0)));
        let running = start_with(config, clock.clone(), entropy).await.unwrap();
        let world = World::around(dir, clock, running);
        world.has_seen_a_head().await;
        let mut recorder = Recorder {
            world: Arc::new(world),
            base,
            answers: Vec::new(),
            size: 0,
        };
        // The opening and the parameters.
        recorder.grown(2).await;
        recorder.checkpoint(|now| now.is_some()).await;
        recorder
    }

    /// Waits until the log has grown by so many records; more are a fault.
    pub(super) async fn grown(&mut self, records: u64) {
        self.size += records;
        let settled = async {
            loop {
                let size = self.ready().await["size"].as_u64().unwrap();
                if size >= self.size {
                    return size;
                }
                tokio::task::yield_now().await;
            }
        };
        let last = self.answers.last().map(|answer| answer.text.clone());
        let settled = tokio::time::timeout(PATIENCE, settled).await;
        assert_eq!(settled.ok(), Some(self.size), "records after {last:?}");
    }

    async fn ready(&self) -> Value {
        self.world.get("/ready").await.json()
    }

    /// Lets `ms` pass in steps of a block, and waits for so many records in the last one.
    pub(super) async fn pass(&mut self, ms: u64, records: u64) {
        for left in (0..ms / BLOCK_MS).rev() {
            self.block().await;
            self.grown(if left == 0 { records } else { 0 }).await;
        }
    }

    /// Lets a block pass; afterwards a checkpoint covers everything that was in the log before.
    ///
    /// One is signed a second after the one before was stored, as the ledger's clock counts. Storing takes time of this
    /// machine: whatever was under way when the first half began is stored in it, so the second half signs the rest.
    async fn block(&self) {
        let covered = self.ready().await["checkpoint_size"].as_u64();
        self.world.clock.advance_ms(BLOCK_MS / 2);
        let is_covered = covered >= Some(self.size);
        self.checkpoint(|now| is_covered || now > covered).await;
        self.world.clock.advance_ms(BLOCK_MS / 2);
        let followed = tokio::time::timeout(PATIENCE, self.base.follow(&self.world)).await;
        assert!(followed.is_ok(), "{}", self.ready().await);
        self.checkpoint(|now| now >= Some(self.size)).await;
    }

    /// Waits for a checkpoint of such a size.
    async fn checkpoint(&self, is_it: impl Fn(Option<u64>) -> bool) {
        let stored = async {
            while !is_it(self.ready().await["checkpoint_size"].as_u64()) {
                tokio::task::yield_now().await;
            }
        };
        let stored = tokio::time::timeout(PATIENCE, stored).await;
        assert!(
            stored.is_ok(),
            "{} records: {}",
            self.size,
            self.ready().await
        );
    }

    /// Lets a block pass in which nothing is recorded: a checkpoint covers everything.
    pub(super) async fn covered(&mut self) {
        self.pass(BLOCK_MS, 0).await;
    }

    /// Reads as `reader`, or unsigned.
    pub(super) async fn get(&mut self, name: &str, reader: Option<&Agent>, path: &str) -> Reply {
        self.ask(name, (Method::GET, path), reader, Vec::new())
            .await
    }

    /// Sends a message that leaves one record where it is accepted, and `notices` more.
    pub(super) async fn send(
        &mut self,
        name: &str,
        message: &SealedEnvelope,
        notices: u64,
    ) -> Value {
        self.post(name, message.json.clone(), notices).await
    }

    /// The same, of any bytes.
    pub(super) async fn post(&mut self, name: &str, body: Vec<u8>, notices: u64) -> Value {
        let reply = self
            .ask(name, (Method::POST, "/api/v1/messages"), None, body)
            .await;
        let accepted = u64::from(reply.status == 202);
        self.grown(accepted + notices).await;
        reply.json()
    }

    /// Sends a request and keeps its answer.
    pub(super) async fn ask(
        &mut self,
        name: &str,
        (method, path): (Method, &str),
        by: Option<&Agent>,
        body: Vec<u8>,
    ) -> Reply {
        let url = format!("{}{path}", self.world.base);
        let mut request = self.world.http.request(method.clone(), url).body(body);
        if let Some(by) = by {
            let claim = Claim {
                method: if method == Method::GET { "GET" } else { "POST" },
                authority: AUTHORITY.to_owned(),
                ..Claim::of(&self.world, by, path)
            };
            for (name, value) in both(&claim.sign()) {
                request = request.header(name, value);
            }
        }
        let answer = reply(request).await;
        let text = self.text(&format!("{method} {path}"), &answer);
        let name = name.to_owned();
        self.answers.push(Answer { name, text });
        answer
    }

    fn text(&self, line: &str, answer: &Reply) -> String {
        let mut text = format!("{line}\n{}\n", answer.status);
        let mut fields: Vec<_> = answer.headers.iter().collect();
        fields.sort_by_key(|(name, _)| name.as_str());
        for (name, value) in fields {
            if !FIELDS_LEFT_OUT.contains(&name.as_str()) {
                writeln!(text, "{name}: {}", value.to_str().unwrap()).unwrap();
            }
        }
        let body = match str::from_utf8(&answer.bytes) {
            Ok(_) if line == "GET /ready" => {
                let mut members = answer.json();
                let shown = members.as_object_mut().unwrap();
                shown.retain(|name, _| !MEMBERS_LEFT_OUT.contains(&name.as_str()));
                members.to_string()
            }
            Ok(body) => body.to_owned(),
            Err(_) => hex::encode(&answer.bytes),
        };
        let port = self.world.running.local_addr.to_string();
        text + "\n" + &body.replace(&port, "127.0.0.1:8811") + "\n"
    }
}
