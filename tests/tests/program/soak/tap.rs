//! A proxy in front of the ledger that notes what agents send, what they are told and what reaches
//! them, and that cuts their streams. It is the oracle's witness: neither loops nor ledger report.

use axum::body::Body;
use futures_util::stream;
use hyper::body::Incoming;
use hyper::header::{CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{oneshot, watch};
use tokio::task::{JoinHandle, JoinSet};

/// What one agent got, in the order in which it came.
#[derive(Debug, Default, Clone)]
pub(crate) struct Received {
    /// Position and envelope id of each message, repetitions included.
    pub(crate) messages: Vec<(u64, String)>,
    /// The furthest position that it acknowledged and that the ledger confirmed.
    pub(crate) acknowledged: u64,
}

/// What was seen.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Envelopes that were sent, by id, with how often.
    pub(crate) sent: BTreeMap<String, u32>,
    /// Those that were answered with a position.
    pub(crate) accepted: BTreeMap<String, u64>,
    /// By the UUID of the agent.
    pub(crate) received: BTreeMap<String, Received>,
    /// What must not be, in words.
    pub(crate) faults: Vec<String>,
    pub(crate) streams: u64,
    pub(crate) polls: u64,
    pub(crate) cuts: u64,
    pub(crate) refused_streams: u64,
}

impl Seen {
    fn message(&mut self, uuid: &str, position: u64, id: &str) {
        let received = self.received.entry(uuid.to_owned()).or_default();
        received.messages.push((position, id.to_owned()));
    }

    fn envelope(&mut self, uuid: &str, envelope: &Value) {
        let to = format!("did:x811:{uuid}");
        if envelope["to"] != to.as_str() {
            self.faults
                .push(format!("{uuid} got another's: {envelope}"));
        }
    }

    /// Whether every agent acknowledged the last that it got.
    pub(crate) fn is_acknowledged(&self) -> bool {
        self.received.values().all(|received| {
            let got = received.messages.iter().map(|(position, _)| *position);
            got.max().unwrap_or_default() <= received.acknowledged
        })
    }

    fn acknowledged(&mut self, uuid: &str, position: u64) {
        let received = self.received.entry(uuid.to_owned()).or_default();
        let got = received
            .messages
            .iter()
            .map(|(position, _)| *position)
            .max();
        if got.is_none_or(|got| got < position) {
            let fault = format!("{uuid} acknowledged {position} and had got {got:?}");
            self.faults.push(fault);
        }
        let received = self.received.entry(uuid.to_owned()).or_default();
        received.acknowledged = received.acknowledged.max(position);
    }

    fn answered(&mut self, id: &str, position: u64) {
        let known = *self.accepted.entry(id.to_owned()).or_insert(position);
        if known != position {
            self.faults
                .push(format!("{id} was accepted at {known} and at {position}"));
        }
    }
}

/// A running proxy.
pub(crate) struct Tap {
    pub(crate) authority: String,
    upstream: watch::Sender<Option<String>>,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

struct Shared {
    upstream: watch::Receiver<Option<String>>,
    http: reqwest::Client,
    seen: Mutex<Seen>,
    /// Ends of streams that are open.
    open: Mutex<Vec<oneshot::Sender<()>>>,
}

impl Tap {
    pub(crate) async fn start() -> Tap {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let authority = listener.local_addr().unwrap().to_string();
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (upstream, watched) = watch::channel(None);
        let shared = Arc::new(Shared {
            upstream: watched,
            http: reqwest::Client::builder().no_proxy().build().unwrap(),
            seen: Mutex::default(),
            open: Mutex::default(),
        });
        let task = tokio::spawn(serve(listener, shared.clone()));
        Tap {
            authority,
            upstream,
            shared,
            task,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.authority)
    }

    /// Where the ledger is now, if it is anywhere.
    pub(crate) fn lead_to(&self, upstream: Option<String>) {
        self.upstream.send_replace(upstream);
    }

    /// Cuts one open stream, the one that `pick` of so many says.
    pub(crate) fn cut(&self, pick: impl FnOnce(usize) -> usize) {
        let mut open = self.shared.open.lock().unwrap();
        open.retain(|end| !end.is_closed());
        if open.is_empty() {
            return;
        }
        let place = pick(open.len());
        // It may have ended by itself just now.
        if open.swap_remove(place).send(()).is_ok() {
            self.shared.seen().cuts += 1;
        }
    }

    pub(crate) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.shared.seen()
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(converse(stream, shared.clone()));
        while connections.try_join_next().is_some() {}
    }
}

async fn converse(stream: TcpStream, shared: Arc<Shared>) {
    let service = service_fn(|request| {
        let shared = shared.clone();
        async move { shared.pass(request).await }
    });
    // A stream that is cut ends its connection, as it should.
    let _ = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

impl Shared {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap()
    }

    /// An error closes the connection: nobody listens where no ledger runs.
    async fn pass(self: Arc<Shared>, request: Request<Incoming>) -> io::Result<Response<Body>> {
        let gone = || io::Error::from(io::ErrorKind::ConnectionReset);
        let upstream = self.upstream.borrow().clone().ok_or_else(gone)?;
        let (head, body) = request.into_parts();
        let body = axum::body::to_bytes(Body::new(body), usize::MAX).await;
        let body = body.map_err(io::Error::other)?;
        let path = head.uri.path().to_owned();
        if path == "/api/v1/messages" {
            let id = id_of(&body);
            *self.seen().sent.entry(id).or_default() += 1;
        }
        let mut headers = head.headers;
        for hop in [CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING] {
            headers.remove(hop);
        }
        let asked = self
            .http
            .request(head.method, format!("{upstream}{}", head.uri));
        let asked = asked.headers(headers).body(body.clone());
        let answer = asked.send().await.map_err(io::Error::other)?;
        let mut response = Response::builder().status(answer.status());
        for (name, value) in answer.headers() {
            if ![CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING].contains(name) {
                response = response.header(name, value);
            }
        }
        let parts: Vec<&str> = path.split('/').skip(3).collect();
        let body = match parts.as_slice() {
            ["messages", uuid, "stream"] => self.stream(uuid, answer),
            _ => {
                let status = answer.status();
                let bytes = answer.bytes().await.map_err(io::Error::other)?;
                self.note(&parts, status, &body, &bytes);
                Body::from(bytes)
            }
        };
        response.body(body).map_err(io::Error::other)
    }

    /// What an answer says that is no stream.
    fn note(&self, parts: &[&str], status: StatusCode, asked: &[u8], answer: &[u8]) {
        let Ok(answer) = serde_json::from_slice::<Value>(answer) else {
            return;
        };
        let mut seen = self.seen();
        match parts {
            ["messages"] => {
                let first = &answer["details"]["first"];
                let told = if status.is_success() { &answer } else { first };
                if let Some(position) = told["position"].as_u64() {
                    seen.answered(&id_of(asked), position);
                }
            }
            ["messages", uuid, "ack"] if status.is_success() => {
                if let Some(position) = answer["position"].as_u64() {
                    seen.acknowledged(uuid, position);
                }
            }
            ["messages", uuid] if status.is_success() => {
                seen.polls += 1;
                for item in answer["messages"].as_array().into_iter().flatten() {
                    seen.envelope(uuid, &item["envelope"]);
                    let id = item["envelope_id"].as_str().unwrap();
                    seen.message(uuid, item["position"].as_u64().unwrap(), id);
                }
            }
            _ => {}
        }
    }

    /// A stream as it comes, until it is cut.
    fn stream(self: &Arc<Shared>, uuid: &str, answer: reqwest::Response) -> Body {
        if !answer.status().is_success() {
            self.seen().refused_streams += 1;
        }
        self.seen().streams += 1;
        let (end, ended) = oneshot::channel();
        self.open.lock().unwrap().push(end);
        let events = Events {
            shared: self.clone(),
            uuid: uuid.to_owned(),
            text: Vec::new(),
            last: None,
        };
        let parts = stream::unfold(Some((answer, ended, events)), |state| async {
            let (mut answer, mut ended, mut events) = state?;
            let chunk = tokio::select! {
                biased;
                _ = &mut ended => Err(io::Error::from(io::ErrorKind::ConnectionReset)),
                chunk = answer.chunk() => chunk.map_err(io::Error::other),
            };
            match chunk {
                Ok(None) => None,
                Ok(Some(chunk)) => {
                    events.take(&chunk);
                    Some((Ok(chunk), Some((answer, ended, events))))
                }
                Err(error) => Some((Err(error), None)),
            }
        });
        Body::from_stream(parts)
    }
}

/// The events of one stream.
struct Events {
    shared: Arc<Shared>,
    uuid: String,
    text: Vec<u8>,
    last: Option<u64>,
}

impl Events {
    fn take(&mut self, chunk: &[u8]) {
        self.text.extend_from_slice(chunk);
        while let Some(end) = self.text.windows(2).position(|two| two == b"\n\n") {
            let event: Vec<u8> = self.text.drain(..end + 2).collect();
            self.event(&String::from_utf8(event).unwrap());
        }
    }

    fn event(&mut self, event: &str) {
        let line = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
        let Some(data) = line("data: ") else {
            return;
        };
        let data: Value = serde_json::from_str(data).unwrap();
        let mut seen = self.shared.seen();
        match line("event: ") {
            Some("place") => {
                let position = data["position"].as_u64().unwrap();
                if self.last.is_some_and(|last| last >= position) {
                    let fault = format!("{}: {position} behind {:?}", self.uuid, self.last);
                    seen.faults.push(fault);
                }
                self.last = Some(position);
                seen.message(&self.uuid, position, data["envelope_id"].as_str().unwrap());
            }
            _ => seen.envelope(&self.uuid, &data),
        }
    }
}

fn id_of(envelope: &[u8]) -> String {
    let envelope: Value = serde_json::from_slice(envelope).unwrap();
    envelope["id"].as_str().unwrap().to_owned()
}
