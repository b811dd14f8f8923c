//! A JSON-RPC proxy in front of a node that spoils answers by a rule: what a provider does wrong is
//! one line of a test, and what is asked of it is counted (settlement-watcher.md section 5).
//!
//! Two proxies on one Anvil are two providers that disagree.

#![expect(
    clippy::expect_used,
    reason = "a harness stops the test at once, and the message names what was missing"
)]

mod act;
pub mod rules;
mod traffic;

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::body::{Body as _, Incoming};
use hyper::header::{CONTENT_TYPE, RETRY_AFTER};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

pub use act::{Act, Call};
pub use traffic::Traffic;

const JSON: &str = "application/json";
const HTML: &str = "text/html";
/// The page of a gateway that does not reach its node.
const PAGE: &str = "<!DOCTYPE html>\n<html><head><title>Just a moment...</title></head></html>\n";
/// How long a test waits for traffic that must come.
const PATIENCE: Duration = Duration::from_secs(30);

type Rule = Arc<dyn Fn(&Call<'_>) -> Act + Send + Sync>;

/// A running proxy. It ends when this is dropped, and its connections with it.
#[derive(Debug)]
pub struct Proxy {
    url: String,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

struct Shared {
    upstream: String,
    http: reqwest::Client,
    rule: Mutex<Rule>,
    traffic: watch::Sender<Traffic>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared")
            .field("upstream", &self.upstream)
            .field("traffic", &self.traffic.borrow())
            .finish_non_exhaustive()
    }
}

impl Proxy {
    /// In front of the node at `upstream`, on a free port. Everything passes until a rule is set.
    ///
    /// # Panics
    /// When there is no port or no HTTP client.
    pub async fn start(upstream: &str) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("it is bound"));
        // reqwest is built without a provider of its own; whoever comes first installs one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder().no_proxy().build();
        let shared = Arc::new(Shared {
            upstream: upstream.to_owned(),
            http: http.expect("an HTTP client"),
            rule: Mutex::new(Arc::new(|_| Act::Pass)),
            traffic: watch::Sender::new(Traffic::default()),
        });
        let task = tokio::spawn(serve(listener, Arc::clone(&shared)));
        Proxy { url, shared, task }
    }

    /// Where it is asked.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// From the next call on, `rule` says what becomes of each.
    pub fn rule(&self, rule: impl Fn(&Call<'_>) -> Act + Send + Sync + 'static) {
        let mut known = self.shared.rule.lock();
        **known.as_mut().unwrap_or_else(|error| error.get_mut()) = Arc::new(rule);
    }

    /// From the next call on, everything passes.
    pub fn heal(&self) {
        self.rule(|_| Act::Pass);
    }

    /// What was asked so far.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        self.shared.traffic.borrow().clone()
    }

    /// Waits until the traffic is as `wanted`.
    ///
    /// # Panics
    /// When it does not come to that in half a minute.
    pub async fn until(&self, wanted: impl Fn(&Traffic) -> bool) -> Traffic {
        let mut traffic = self.shared.traffic.subscribe();
        let waiting = traffic.wait_for(|traffic| wanted(traffic));
        let seen = tokio::time::timeout(PATIENCE, waiting).await;
        let seen = seen.unwrap_or_else(|_| panic!("the traffic stays {:?}", self.traffic()));
        seen.expect("the proxy is there").clone()
    }

    /// Waits for `times` more calls of `method`.
    pub async fn until_called(&self, method: &str, times: u64) -> Traffic {
        let before = self.traffic().calls_of(method);
        self.until(|traffic| traffic.calls_of(method) >= before + times)
            .await
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(converse(stream, Arc::clone(&shared)));
        while connections.try_join_next().is_some() {}
    }
}

async fn converse(stream: TcpStream, shared: Arc<Shared>) {
    let service = service_fn(|request| {
        let shared = Arc::clone(&shared);
        async move { shared.answer(request).await }
    });
    // A connection that a rule closes ends in an error, as it should.
    let _ = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

impl Shared {
    /// An error closes the connection.
    async fn answer(&self, request: Request<Incoming>) -> io::Result<Response<String>> {
        let body = whole(request.into_body()).await?;
        let asked: Value = serde_json::from_slice(&body).map_err(io::Error::other)?;
        let acts = self.acts(&asked, body.len());
        let mut is_cut = false;
        for act in &acts {
            match act {
                Act::Delay(time) => tokio::time::sleep(*time).await,
                Act::Hang => std::future::pending().await,
                Act::Close => return Err(io::ErrorKind::ConnectionReset.into()),
                Act::Status(status, retry_after) => {
                    return self.send(*status, JSON, *retry_after, "no".to_owned());
                }
                Act::Page(status) => return self.send(*status, HTML, None, PAGE.to_owned()),
                Act::Cut => is_cut = true,
                Act::Pass | Act::Error(..) | Act::Replace(_) | Act::Edit(_) | Act::Responses(_) => {
                }
            }
        }
        let answered = self.ask(&asked).await?;
        let mut text = spoiled(&asked, &answered, acts).to_string();
        if is_cut {
            text.truncate(text.len() / 2);
        }
        self.send(200, JSON, None, text)
    }

    /// What the rule says of each call, once all are counted.
    fn acts(&self, asked: &Value, bytes: usize) -> Vec<Act> {
        let calls = members(asked);
        let method = |call: &Value| call["method"].as_str().unwrap_or_default().to_owned();
        let mut nth = Vec::with_capacity(calls.len());
        self.traffic.send_modify(|traffic| {
            traffic.http_requests += 1;
            traffic.bytes_in += bytes as u64;
            traffic.longest_batch = traffic.longest_batch.max(calls.len());
            nth = calls
                .iter()
                .map(|call| traffic.count(method(call)))
                .collect();
        });
        let rule = Arc::clone(&self.rule.lock().unwrap_or_else(PoisonError::into_inner));
        let acts = calls.iter().zip(nth).map(|(call, nth)| {
            rule(&Call {
                method: &method(call),
                params: &call["params"],
                nth,
                batch: calls.len(),
            })
        });
        acts.collect()
    }

    async fn ask(&self, asked: &Value) -> io::Result<Value> {
        let request = self.http.post(&self.upstream).json(asked);
        let response = request.send().await.map_err(io::Error::other)?;
        response.json().await.map_err(io::Error::other)
    }

    fn send(
        &self,
        status: u16,
        content_type: &str,
        retry_after_s: Option<u64>,
        body: String,
    ) -> io::Result<Response<String>> {
        self.traffic
            .send_modify(|traffic| traffic.bytes_out += body.len() as u64);
        let response = Response::builder().status(status);
        let mut response = response.header(CONTENT_TYPE, content_type);
        if let Some(seconds) = retry_after_s {
            response = response.header(RETRY_AFTER, seconds);
        }
        response.body(body).map_err(io::Error::other)
    }
}

async fn whole(mut body: Incoming) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    while let Some(frame) =
        std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await
    {
        if let Ok(data) = frame.map_err(io::Error::other)?.into_data() {
            bytes.extend_from_slice(&data);
        }
    }
    Ok(bytes)
}

/// The members of a batch; the one call or response where it is none.
fn members(batch: &Value) -> &[Value] {
    batch
        .as_array()
        .map_or(std::slice::from_ref(batch), Vec::as_slice)
}

/// The node's answer to a request, with what the acts make of it.
fn spoiled(asked: &Value, answered: &Value, acts: Vec<Act>) -> Value {
    let mut responses = members(answered).to_vec();
    let mut changes = Vec::new();
    for (call, act) in members(asked).iter().zip(acts) {
        let is_own = |response: &&mut Value| response["id"] == call["id"];
        if let Act::Responses(change) = act {
            changes.push(change);
        } else if let Some(response) = responses.iter_mut().find(is_own) {
            act.spoil(response);
        }
    }
    for change in changes {
        change(&mut responses);
    }
    match asked.is_array() {
        true => Value::Array(responses),
        false => responses.into_iter().next().unwrap_or_default(),
    }
}

/// A JSON-RPC error in place of a result.
fn refuse(answer: &mut Value, code: i64, message: &str) {
    *answer = json!({
        "jsonrpc": "2.0", "id": answer["id"], "error": { "code": code, "message": message },
    });
}
