//! An endpoint between the ledger and Anvil that can be made to lag, to fail and to lie.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use x811_client::outgoing::client_to;

use super::weather::Fault;
use crate::anvil::AnvilError;
use crate::anvil::rpc::quantity;

const SLOW: Duration = Duration::from_millis(1_500);

/// A running endpoint; it ends when this is dropped.
pub(super) struct Endpoint {
    url: String,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

struct Shared {
    http: reqwest::Client,
    upstream: String,
    fault: Mutex<Fault>,
}

impl Endpoint {
    /// In front of `upstream`, on a port of this computer.
    pub(super) async fn start(port: u16, upstream: &str) -> Result<Endpoint, AnvilError> {
        let unusable = |error: std::io::Error| {
            AnvilError::Nonsense(format!("port {port} cannot be listened on: {error}"))
        };
        let listener = TcpListener::bind(("127.0.0.1", port)).await;
        let listener = listener.map_err(unusable)?;
        let address = listener.local_addr().map_err(unusable)?;
        let http = client_to(upstream).build();
        let http = http.map_err(|error| AnvilError::Nonsense(error.to_string()))?;
        let shared = Arc::new(Shared {
            http,
            upstream: upstream.to_owned(),
            fault: Mutex::new(Fault::None),
        });
        Ok(Endpoint {
            url: format!("http://{address}"),
            task: tokio::spawn(serve(listener, Arc::clone(&shared))),
            shared,
        })
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// From the next call on.
    pub(super) fn set(&self, fault: Fault) {
        *self
            .shared
            .fault
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = fault;
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(converse(stream, Arc::clone(&shared)));
        while connections.try_join_next().is_some() {}
    }
}

async fn converse(stream: TcpStream, shared: Arc<Shared>) {
    let service = service_fn(|request: Request<Incoming>| {
        let shared = Arc::clone(&shared);
        async move {
            let answer = shared.answer(request.into_body()).await;
            let (status, body) = match answer {
                Some(answer) => (200, answer.to_string()),
                None => (500, String::new()),
            };
            let mut response = Response::new(body);
            *response.status_mut() = hyper::StatusCode::from_u16(status).unwrap_or_default();
            Ok::<_, Infallible>(response)
        }
    });
    // How a connection ends is the ledger's affair.
    let _ = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

impl Shared {
    /// `None` where it fails.
    async fn answer(&self, body: Incoming) -> Option<Value> {
        let fault = *self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        let mut asked: Value = serde_json::from_slice(&whole(body).await?).ok()?;
        match fault {
            Fault::Fails => return None,
            Fault::IsSlow => tokio::time::sleep(SLOW).await,
            Fault::Lags(blocks) => self.ask_of_the_past(&mut asked, blocks).await?,
            Fault::None | Fault::Hides | Fault::Forges => {}
        }
        let mut answer = self.ask(&asked).await?;
        for call in calls(&asked) {
            let method = call["method"].as_str().unwrap_or_default();
            let own = |answer: &&mut Value| answer["id"] == call["id"];
            let answers = if answer.is_array() {
                answer.as_array_mut()?.iter_mut().find(own)
            } else {
                Some(&mut answer)
            };
            if let Some(result) = answers.and_then(|answer| answer.get_mut("result")) {
                spoil(fault, method, result);
            }
        }
        Some(answer)
    }

    /// What is asked of the newest block is asked of one so many below.
    async fn ask_of_the_past(&self, asked: &mut Value, blocks: u64) -> Option<()> {
        let newest = json!({"jsonrpc": "2.0", "id": 1, "method": "eth_blockNumber", "params": []});
        let newest = quantity(&self.ask(&newest).await?["result"])?;
        let shown = json!(format!("0x{:x}", newest.saturating_sub(blocks)));
        let calls = if asked.is_array() {
            asked.as_array_mut()?.as_mut_slice()
        } else {
            std::slice::from_mut(asked)
        };
        for call in calls {
            for parameter in call["params"].as_array_mut().into_iter().flatten() {
                if parameter == "latest" {
                    *parameter = shown.clone();
                }
            }
        }
        Some(())
    }

    async fn ask(&self, asked: &Value) -> Option<Value> {
        let answer = self.http.post(&self.upstream).json(asked).send().await;
        answer.ok()?.json().await.ok()
    }
}

fn calls(asked: &Value) -> &[Value] {
    asked
        .as_array()
        .map_or(std::slice::from_ref(asked), Vec::as_slice)
}

fn spoil(fault: Fault, method: &str, result: &mut Value) {
    match (fault, method) {
        (Fault::Hides, "eth_getLogs") => *result = json!([]),
        (Fault::Hides, "eth_getTransactionReceipt") => *result = Value::Null,
        (Fault::Forges, "eth_getLogs") => {
            result.as_array_mut().into_iter().flatten().for_each(forge)
        }
        (Fault::Forges, "eth_getTransactionReceipt") => {
            let logs = result.get_mut("logs").and_then(Value::as_array_mut);
            logs.into_iter().flatten().for_each(forge);
        }
        _ => {}
    }
}

/// Doubles the amount in a log.
fn forge(log: &mut Value) {
    let digits = log["data"]
        .as_str()
        .and_then(|data| data.strip_prefix("0x"));
    let amount = digits.and_then(|digits| u128::from_str_radix(digits, 16).ok());
    if let Some(amount) = amount {
        log["data"] = json!(format!("0x{:064x}", amount.saturating_mul(2)));
    }
}

async fn whole(mut body: Incoming) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        let frame =
            std::future::poll_fn(|context| std::pin::Pin::new(&mut body).poll_frame(context));
        match frame.await {
            None => return Some(bytes),
            Some(frame) => {
                if let Ok(data) = frame.ok()?.into_data() {
                    bytes.extend_from_slice(&data);
                }
            }
        }
    }
}
