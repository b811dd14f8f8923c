//! `x811-bench feed`: how long after it is sent a message is on its recipient's stream, against how
//! long its own answer takes, which says that it is durable; how many streams the ledger holds, and
//! what one more costs it that is idle.
//!
//! All streams are held while messages are sent, in turn to each of their agents.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use x811_client::clock::{Clock as _, SystemClock};
use x811_client::compose::{ComposeError, Composer, Payload, Registration};
use x811_client::entropy::{Entropy, SystemEntropy};
use x811_client::identity::{AgentName, Identity};
use x811_protocol::did::Did;
use x811_protocol::envelope::{MessageType, SealedEnvelope};
use x811_protocol::signed_read::{SIGNATURE, SIGNATURE_INPUT, Target, sign};

use super::clients::RETRY_AFTER;
use super::cpu::now;
use super::figures::Latency;
use super::http::{Connection, Request, Server};
use super::measured::Measured;
use super::memory::rss_bytes_of;
use super::{Common, broken};
use x811_console::failure::Failure;
use x811_console::output::Out;

/// How long is waited for the last messages to arrive.
const PATIENCE: Duration = Duration::from_secs(30);

/// What every message says: half a kilobyte.
const TEXT_BYTES: usize = 512;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    common: Common,
    /// How many messages are sent
    #[arg(long, value_name = "COUNT", default_value_t = 4_000)]
    messages: usize,
    /// Connections that send, each one message at a time
    #[arg(long, value_name = "COUNT", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..))]
    connections: u16,
}

/// Measures and reports.
pub(super) async fn run(args: Args, out: &mut Out) -> Result<(), Failure> {
    let directory = args.common.directory()?;
    let (agents, senders) = (args.common.agents(), usize::from(args.connections));
    let server = Server::start(directory.path(), agents + senders).await?;
    let recipients = identities("recipient", agents)?;
    let senders = identities("sender", senders)?;
    let mut connection = Connection::open(server.address()).await?;
    for identity in recipients.iter().chain(&senders) {
        let registration = Registration::new(identity, server.did(), Vec::new(), None);
        let sealed = sealed(identity, server.did(), &registration.map_err(broken)?)?;
        post(&mut connection, &request(server.address(), &sealed)).await?;
    }
    let mut streams = Streams::new(&server)?;
    streams.open_all(&recipients).await?;
    if streams.held == 0 {
        return Err(broken("the ledger holds no stream"));
    }
    let recipients = &recipients[..streams.held];
    // The first messages open files and prepare statements.
    carry(
        &server,
        &senders,
        recipients,
        recipients.len(),
        &mut streams,
    )
    .await?;
    let carried = carry(&server, &senders, recipients, args.messages, &mut streams).await?;
    let measured = measured(&carried, &streams, senders.len());
    server.stop().await?;
    out.report(&measured);
    Ok(())
}

/// A message that says nothing, of a type of its own.
struct Ping(MessageType);

impl Payload for Ping {
    fn message_type(&self) -> MessageType {
        self.0.clone()
    }

    fn members(&self) -> Result<Map<String, Value>, ComposeError> {
        let text = Value::from("x".repeat(TEXT_BYTES));
        Ok(Map::from_iter([("text".to_owned(), text)]))
    }
}

fn identities(role: &str, count: usize) -> Result<Vec<Identity>, Failure> {
    let generated = (0..count).map(|number| {
        let name: AgentName = format!("{role}-{number}").parse().map_err(broken)?;
        Identity::generate(name, &SystemEntropy, &SystemClock).map_err(Failure::from)
    });
    generated.collect()
}

fn sealed(from: &Identity, to: Did, payload: &dyn Payload) -> Result<SealedEnvelope, Failure> {
    let composer = Composer::new(from, &SystemEntropy, &SystemClock);
    composer.seal(to, payload).map_err(broken)
}

fn request(address: SocketAddr, sealed: &SealedEnvelope) -> Request {
    Request::post(address, "/api/v1/messages", &sealed.json)
}

/// Sends a message until it is accepted: a server that has no time for it asks for it again.
async fn post(connection: &mut Connection, request: &Request) -> Result<(), Failure> {
    loop {
        match connection.exchange(request).await? {
            (202, _) => return Ok(()),
            (429 | 503, _) => tokio::time::sleep(RETRY_AFTER).await,
            (status, body) => {
                let body = String::from_utf8_lossy(body);
                return Err(broken(format_args!("the server answered {status}: {body}")));
            }
        }
    }
}

/// Streams that are held, and what comes on them.
struct Streams {
    http: reqwest::Client,
    pid: u32,
    address: SocketAddr,
    held: usize,
    /// Memory of the server with some streams, and then with all.
    with_some: Option<(usize, u64)>,
    with_all: Option<u64>,
    arrivals: mpsc::UnboundedReceiver<(String, Instant)>,
    arrived: mpsc::UnboundedSender<(String, Instant)>,
    readers: JoinSet<()>,
}

impl Streams {
    fn new(server: &Server) -> Result<Streams, Failure> {
        let (arrived, arrivals) = mpsc::unbounded_channel();
        Ok(Streams {
            http: reqwest::Client::builder()
                .no_proxy()
                .build()
                .map_err(broken)?,
            pid: server.pid(),
            address: server.address(),
            held: 0,
            with_some: None,
            with_all: None,
            arrivals,
            arrived,
            readers: JoinSet::new(),
        })
    }

    /// Opens a stream for each agent, or as many as the ledger lets.
    async fn open_all(&mut self, agents: &[Identity]) -> Result<(), Failure> {
        for (number, agent) in agents.iter().enumerate() {
            let Some(mut stream) = self.open(agent).await? else {
                break;
            };
            // It has begun when its first comment is there.
            stream.chunk().await.map_err(broken)?;
            self.readers.spawn(read(stream, self.arrived.clone()));
            self.held = number + 1;
            if self.held == agents.len().min(10) {
                self.with_some = rss_bytes_of(self.pid).map(|bytes| (self.held, bytes));
            }
        }
        self.with_all = rss_bytes_of(self.pid);
        Ok(())
    }

    /// `None` where the ledger holds as many as it may.
    async fn open(&self, agent: &Identity) -> Result<Option<reqwest::Response>, Failure> {
        let path = format!("/api/v1/messages/{}/stream", agent.did.uuid());
        let authority = self.address.to_string();
        let target = Target {
            method: "GET",
            authority: &authority,
            path: &path,
            query: None,
        };
        let created_s = SystemClock.now().as_ms() / 1_000;
        let entropy: &dyn Entropy = &SystemEntropy;
        let nonce = entropy.array().map_err(broken)?;
        let fields = sign(&target, agent.did, &agent.signing_key, created_s, nonce);
        let answer = self
            .http
            .get(format!("http://{authority}{path}"))
            .header(SIGNATURE_INPUT, fields.signature_input)
            .header(SIGNATURE, fields.signature)
            .send()
            .await
            .map_err(broken)?;
        match answer.status().as_u16() {
            200 => Ok(Some(answer)),
            429 => Ok(None),
            status => Err(broken(format_args!("a stream was answered {status}"))),
        }
    }

    /// What one more idle stream costs the server, in bytes.
    fn bytes_each(&self) -> Option<u64> {
        let ((some, with_some), with_all) = (self.with_some?, self.with_all?);
        let more = u64::try_from(self.held - some).ok()?;
        with_all.saturating_sub(with_some).checked_div(more)
    }
}

/// Notes when each message arrives, by its id.
async fn read(mut stream: reqwest::Response, arrived: mpsc::UnboundedSender<(String, Instant)>) {
    let mut came = Vec::new();
    while let Ok(Some(chunk)) = stream.chunk().await {
        let at = now();
        came.extend_from_slice(&chunk);
        while let Some(end) = came.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = came.drain(..=end).collect();
            let id = line
                .strip_prefix(b"id: ")
                .and_then(|id| str::from_utf8(id).ok());
            if let Some(id) = id {
                // Nobody waits any more when this fails.
                let _ = arrived.send((id.trim_end().to_owned(), at));
            }
        }
    }
}

/// What was measured of one message.
struct Carried {
    answer_us: u32,
    arrival_us: u32,
}

/// Sends messages in turn to each recipient, and waits until all have arrived.
async fn carry(
    server: &Server,
    senders: &[Identity],
    recipients: &[Identity],
    count: usize,
    streams: &mut Streams,
) -> Result<Vec<Carried>, Failure> {
    let ping = Ping("x811.bench/ping".parse().map_err(broken)?);
    let mut sending = JoinSet::new();
    for (number, sender) in senders.iter().enumerate() {
        let mut messages = Vec::new();
        for message in (number..count).step_by(senders.len()) {
            let to = recipients[message % recipients.len()].did;
            let sealed = sealed(sender, to, &ping)?;
            let id = sealed.header.id.to_string();
            messages.push((id, request(server.address(), &sealed)));
        }
        let mut connection = Connection::open(server.address()).await?;
        sending.spawn(async move {
            let mut sent = Vec::with_capacity(messages.len());
            for (id, message) in messages {
                let begun = now();
                post(&mut connection, &message).await?;
                sent.push((id, begun, begun.elapsed()));
            }
            Ok::<_, Failure>(sent)
        });
    }
    let mut sent = Vec::with_capacity(count);
    while let Some(ended) = sending.join_next().await {
        sent.extend(ended.map_err(broken)??);
    }
    let mut arrived = HashMap::with_capacity(count);
    while arrived.len() < sent.len() {
        let next = tokio::time::timeout(PATIENCE, streams.arrivals.recv()).await;
        let Ok(Some((id, at))) = next else {
            return Err(broken("a message did not arrive on its stream"));
        };
        arrived.insert(id, at);
    }
    let carried = sent.into_iter().map(|(id, begun, answer)| {
        let at = arrived.get(&id);
        let at = at.ok_or_else(|| broken("a message arrived that was not sent"))?;
        Ok(Carried {
            answer_us: us(answer),
            arrival_us: us(at.saturating_duration_since(begun)),
        })
    });
    carried.collect()
}

fn us(duration: Duration) -> u32 {
    u32::try_from(duration.as_micros()).unwrap_or(u32::MAX)
}

fn measured(carried: &[Carried], streams: &Streams, connections: usize) -> Measured {
    let latency = |us: fn(&Carried) -> u32| Latency::of(carried.iter().map(us).collect());
    // From sending to the answer, which says that it is durable, and to the recipient's stream.
    let answer = latency(|carried| carried.answer_us);
    let arrival = latency(|carried| carried.arrival_us);
    let ratio = |of: u32, to: u32| f64::from(of) / f64::from(to.max(1));
    let p50_ratio = ratio(arrival.p50_us, answer.p50_us);
    let p99_ratio = ratio(arrival.p99_us, answer.p99_us);
    let (messages, held, idle_bytes) = (carried.len(), streams.held, streams.bytes_each());
    let each = idle_bytes.map(|bytes| format!("{} KiB", bytes / 1_024));
    let each = each.unwrap_or_else(|| "unknown here".to_owned());
    let heading = format!(
        "feed: on the stream after {p50_ratio:.2} of the answer's time (p99 {p99_ratio:.2})"
    );
    Measured::new("feed", heading)
        .figures(json!({
            "messages": messages, "connections": connections, "answer": answer, "arrival": arrival,
            "p50_ratio": p50_ratio, "p99_ratio": p99_ratio, "streams_held": held,
            "idle_stream_bytes": idle_bytes,
        }))
        .fields([
            (
                "messages",
                format!("{messages} by {connections} connections"),
            ),
            ("answered", answer.text()),
            ("arrived", arrival.text()),
            (
                "streams",
                format!("{held} held, {each} for one more that is idle"),
            ),
        ])
}
