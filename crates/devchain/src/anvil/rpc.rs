//! Calls to an Anvil, and only to an Anvil.

use std::time::Duration;

use serde_json::{Value, json};
use x811_client::outgoing::client_to;

use super::AnvilError;
use x811_console::failure::other_scheme;

/// How long one call may take; a reorganisation of many blocks takes seconds.
const CALL_LIMIT: Duration = Duration::from_secs(60);

/// An endpoint that has said it is Anvil. Its calls fail as [`AnvilError`] says.
#[derive(Debug)]
pub struct Anvil {
    http: reqwest::Client,
    rpc_url: String,
}

impl Anvil {
    /// Connects, and makes sure that it is Anvil.
    pub async fn connect(rpc_url: &str) -> Result<Anvil, AnvilError> {
        let http = client_to(rpc_url).timeout(CALL_LIMIT).build();
        let http = http.map_err(|error| unreachable(rpc_url, &error))?;
        let anvil = Anvil {
            http,
            rpc_url: rpc_url.to_owned(),
        };
        let version = match anvil.call("web3_clientVersion", json!([])).await {
            Ok(version) => version,
            Err(AnvilError::Refused { cause, .. }) => {
                return Err(AnvilError::NotAnvil {
                    endpoint: host(rpc_url),
                    version: cause,
                });
            }
            Err(error) => return Err(error),
        };
        let version = version.as_str().unwrap_or_default();
        if version.starts_with("anvil/") {
            return Ok(anvil);
        }
        Err(AnvilError::NotAnvil {
            endpoint: host(rpc_url),
            version: version.to_owned(),
        })
    }

    /// Calls a method; returns its result.
    pub async fn call(&self, method: &'static str, params: Value) -> Result<Value, AnvilError> {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let mut answer = self.post(&body).await?;
        match answer.get_mut("result") {
            Some(result) => Ok(result.take()),
            None => Err(AnvilError::Refused {
                method,
                cause: words(&answer),
            }),
        }
    }

    /// Many calls of one method in one request; the answers in the order of the calls.
    pub async fn call_many(
        &self,
        method: &'static str,
        params: &[Value],
    ) -> Result<Vec<Value>, AnvilError> {
        let calls = params.iter().enumerate();
        let calls = calls.map(
            |(id, params)| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}),
        );
        let answers = self.post(&Value::Array(calls.collect())).await?;
        let Value::Array(answers) = answers else {
            return Err(AnvilError::Refused {
                method,
                cause: words(&answers),
            });
        };
        let mut results = vec![Value::Null; params.len()];
        for mut answer in answers {
            let id = answer.get("id").and_then(Value::as_u64);
            let slot = id.and_then(|id| results.get_mut(usize::try_from(id).ok()?));
            match (slot, answer.get_mut("result")) {
                (Some(slot), Some(result)) => *slot = result.take(),
                _ => {
                    return Err(AnvilError::Refused {
                        method,
                        cause: words(&answer),
                    });
                }
            }
        }
        Ok(results)
    }

    /// Height of the newest block.
    pub async fn block_number(&self) -> Result<u64, AnvilError> {
        let method = "eth_blockNumber";
        let number = self.call(method, json!([])).await?;
        quantity(&number).ok_or(AnvilError::Unreadable { method })
    }

    /// Hash of the block at a height.
    pub async fn block_hash(&self, number: u64) -> Result<String, AnvilError> {
        Ok(text(&self.block(number).await?, "hash"))
    }

    /// The block at a height, with the hashes of its transactions.
    pub async fn block(&self, number: u64) -> Result<Value, AnvilError> {
        let params = json!([format!("0x{number:x}"), false]);
        self.call("eth_getBlockByNumber", params).await
    }

    /// Mines blocks now.
    pub async fn mine(&self, blocks: u64) -> Result<(), AnvilError> {
        let params = json!([format!("0x{blocks:x}")]);
        self.call("anvil_mine", params).await.map(|_| ())
    }

    async fn post(&self, body: &Value) -> Result<Value, AnvilError> {
        let answer = self.http.post(&self.rpc_url).json(body).send().await;
        let answer = answer.map_err(|error| unreachable(&self.rpc_url, &error))?;
        let answer = answer.json().await;
        answer.map_err(|error| unreachable(&self.rpc_url, &error))
    }
}

/// A JSON-RPC quantity.
pub fn quantity(value: &Value) -> Option<u64> {
    let digits = value.as_str()?.strip_prefix("0x")?;
    u64::from_str_radix(digits, 16).ok()
}

/// A member's text; empty where there is none.
pub fn text(value: &Value, name: &str) -> String {
    let text = value.get(name).and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}

fn words(answer: &Value) -> String {
    let code = answer.get("code").and_then(Value::as_str);
    if code.is_some_and(|code| code.starts_with("X811-")) {
        return "an x811 ledger".to_owned();
    }
    let message = answer.pointer("/error/message").and_then(Value::as_str);
    message.map_or_else(|| answer.to_string(), str::to_owned)
}

fn unreachable(rpc_url: &str, error: &reqwest::Error) -> AnvilError {
    let cause = if let Some(other_scheme) = other_scheme(&format!("{error:?}")) {
        other_scheme
    } else if error.is_decode() {
        "what answers is no JSON-RPC endpoint"
    } else if error.is_builder() {
        "the address is none"
    } else {
        "nothing listens, or it is too slow"
    };
    AnvilError::Unreachable {
        endpoint: host(rpc_url),
        cause: cause.to_owned(),
    }
}

/// The path of an endpoint may hold its key: only host and port are shown.
fn host(rpc_url: &str) -> String {
    let url: Option<reqwest::Url> = rpc_url.parse().ok();
    let host = url.as_ref().and_then(|url| {
        let port = url
            .port()
            .map(|port| format!(":{port}"))
            .unwrap_or_default();
        url.host_str().map(|host| format!("{host}{port}"))
    });
    host.unwrap_or_else(|| "the endpoint".to_owned())
}
