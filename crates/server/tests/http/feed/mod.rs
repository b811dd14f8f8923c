//! Feeds: streams, acknowledgements, tokens, and who tries to read those of others.

mod acks;
mod instances;
mod limits;
mod stream;
mod theft;
mod tokens;

use crate::signing::{Claim, both};
use crate::world::{Agent, PATIENCE, Reply, World, reply};
use reqwest::Method;
use serde_json::{Value, json};
use x811_protocol::envelope::SealedEnvelope;
use x811_protocol::signed_read::SignedFields;

/// The time between two looks.
const LOOK_EVERY: std::time::Duration = std::time::Duration::from_millis(50);

/// Moves the clock in steps that are short beside everything that is waited for, in milliseconds.
const STEP_MS: u64 = 250;

/// An open stream, as its reader sees it.
pub(crate) struct Listener {
    response: reqwest::Response,
    came: String,
}

impl Listener {
    /// The next event without its empty line, or the next line between events; `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<String> {
        loop {
            if let Some((item, rest)) = first_of(&self.came) {
                let (item, rest) = (item.to_owned(), rest.to_owned());
                self.came = rest;
                return Some(item);
            }
            let chunk = tokio::time::timeout(PATIENCE, self.response.chunk());
            let chunk = chunk.await.unwrap().unwrap()?;
            self.came.push_str(str::from_utf8(&chunk).unwrap());
        }
    }

    /// The next message: what its place says, and its envelope.
    pub(super) async fn message(&mut self) -> (Value, Value) {
        let place = self.place().await;
        let message = self.next().await.unwrap();
        let mut lines = message.lines();
        let id = lines.next().unwrap().strip_prefix("id: ").unwrap();
        assert_eq!(lines.next(), Some("event: message"));
        let data = lines.next().unwrap().strip_prefix("data: ").unwrap();
        assert_eq!(lines.next(), None, "one line");
        let envelope: Value = serde_json::from_str(data).unwrap();
        assert_eq!(envelope["id"], id);
        assert_eq!(place["envelope_id"], id);
        (place, envelope)
    }

    /// The next place.
    pub(super) async fn place(&mut self) -> Value {
        let block = self.next().await.unwrap();
        let data = block.strip_prefix("event: place\ndata: ");
        serde_json::from_str(data.unwrap_or_else(|| panic!("{block}"))).unwrap()
    }

    /// Numbers of the next messages.
    pub(super) async fn numbers(&mut self, count: usize) -> Vec<u64> {
        let mut numbers = Vec::with_capacity(count);
        for _ in 0..count {
            let (_, envelope) = self.message().await;
            numbers.push(envelope["payload"]["number"].as_u64().unwrap());
        }
        numbers
    }

    /// What comes next when time passes.
    pub(super) async fn in_time(&mut self, world: &World) -> Option<String> {
        tokio::select! {
            next = self.next() => next,
            () = time_passes(world) => None,
        }
    }

    /// Why it ends, which is the last that comes.
    pub(super) async fn end(mut self) -> String {
        let why = self.next().await.unwrap();
        assert_eq!(self.next().await, None);
        why.strip_prefix(": over: ")
            .unwrap_or_else(|| panic!("{why}"))
            .to_owned()
    }
}

/// A line that is no part of an event, or an event; and what follows it.
fn first_of(came: &str) -> Option<(&str, &str)> {
    let (line, rest) = came.split_once('\n')?;
    match line.starts_with([':', 'r']) {
        true => Some((line, rest)),
        false => came.split_once("\n\n"),
    }
}

/// Never ready.
pub(super) async fn time_passes(world: &World) {
    loop {
        world.clock.advance_ms(STEP_MS);
        tokio::task::yield_now().await;
    }
}

pub(super) fn inbox_of(agent: &Agent) -> String {
    format!("/api/v1/messages/{}", agent.uuid())
}

pub(super) fn stream_of(agent: &Agent) -> String {
    format!("{}/stream", inbox_of(agent))
}

/// A numbered message.
pub(super) fn ping(world: &World, from: &Agent, to: &Agent, number: u64) -> SealedEnvelope {
    let payload = json!({ "number": number, "secret": "open sesame" });
    from.say(world, to.did, "x811.test/ping", payload)
}

impl World {
    /// Sends numbered messages; where each was recorded.
    pub(super) async fn ping(
        &self,
        from: &Agent,
        to: &Agent,
        numbers: std::ops::Range<u64>,
    ) -> Vec<Value> {
        let mut accepted = Vec::new();
        for number in numbers {
            accepted.push(self.accept(&ping(self, from, to, number)).await);
        }
        accepted
    }

    /// Opens a stream with these header fields.
    pub(crate) async fn open(
        &self,
        path: &str,
        fields: &[(&str, &str)],
    ) -> Result<Listener, Reply> {
        let mut request = self.http.get(format!("{}{path}", self.base));
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        if status == 200 {
            let came = String::new();
            return Ok(Listener { response, came });
        }
        let text = response.text().await.unwrap();
        let bytes = text.clone().into_bytes();
        Err(Reply {
            status,
            headers,
            text,
            bytes,
        })
    }

    /// Opens a stream as `agent` does, which has begun.
    pub(super) async fn listen(&self, agent: &Agent, path: &str) -> Listener {
        let fields = Claim::of(self, agent, path).sign();
        self.listen_with(path, &both(&fields)).await
    }

    /// Opens a stream that has begun.
    pub(crate) async fn listen_with(&self, path: &str, fields: &[(&str, &str)]) -> Listener {
        let mut listener = match self.open(path, fields).await {
            Ok(listener) => listener,
            Err(reply) => panic!("{} {}", reply.status, reply.text),
        };
        assert_eq!(listener.next().await.as_deref(), Some("retry: 1000"));
        assert_eq!(listener.next().await.as_deref(), Some(": begun"));
        listener
    }

    /// Sends what `agent` signs as a POST without a body.
    pub(crate) async fn post_as(&self, agent: &Agent, path: &str) -> Reply {
        self.post_signed(path, &post_claim(self, agent, path).sign())
            .await
    }

    pub(crate) async fn post_signed(&self, path: &str, fields: &SignedFields) -> Reply {
        self.ask(Method::POST, path, &both(fields)).await
    }

    /// Acknowledges through that cursor.
    pub(super) async fn ack(&self, agent: &Agent, through: &Value) -> Reply {
        let path = ack_path(agent, through);
        self.post_as(agent, &path).await
    }

    /// A token of `agent`.
    pub(super) async fn token(&self, agent: &Agent, scope: &str, ttl_s: u64) -> String {
        let path = format!("/api/v1/tokens?scope={scope}&ttl_s={ttl_s}");
        let issued = self.post_as(agent, &path).await.expect(200);
        issued["token"].as_str().unwrap().to_owned()
    }

    /// Waits until a stream can be opened again. Without a pause the limit on requests would refuse it.
    pub(super) async fn listen_once_there_is_room(&self, agent: &Agent) -> Listener {
        let path = stream_of(agent);
        let opened = async {
            loop {
                let fields = Claim::of(self, agent, &path).sign();
                match self.open(&path, &both(&fields)).await {
                    Ok(listener) => return listener,
                    Err(full) => full.refused(429, "X811-9001"),
                };
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        tokio::time::timeout(PATIENCE, opened).await.unwrap()
    }
}

pub(super) fn ack_path(agent: &Agent, through: &Value) -> String {
    let through = through.as_str().unwrap();
    format!("{}/ack?through={through}", inbox_of(agent))
}

pub(crate) fn post_claim(world: &World, agent: &Agent, path: &str) -> Claim {
    Claim {
        method: "POST",
        ..Claim::of(world, agent, path)
    }
}

/// Asks without a signature.
pub(super) async fn unsigned(world: &World, method: Method, path: &str) -> Reply {
    reply(world.http.request(method, format!("{}{path}", world.base))).await
}
