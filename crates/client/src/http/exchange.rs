//! One request and its answer, bounded in time and size.

use std::time::Duration;

use reqwest::{RequestBuilder, Response, Url};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use x811_protocol::code::Code;

use super::LedgerClient;
use super::error::{ClientError, Refused};

/// How long a read may take, in milliseconds.
pub(super) const READ_LIMIT_MS: u64 = 15_000;

/// How long a bundle may take, in milliseconds: it is made while it is sent.
pub(super) const BUNDLE_LIMIT_MS: u64 = 120_000;

/// How long the answer to a message may take, in milliseconds.
pub(super) const SUBMIT_LIMIT_MS: u64 = 15_000;

/// The longest answer, in bytes: a page of the largest envelopes.
const MAX_ANSWER_BYTES: usize = 64 << 20;

/// An answer that came whole.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) url: String,
    pub(super) status: u16,
    /// What the ledger asked for, in milliseconds.
    pub(super) retry_after_ms: Option<u64>,
    pub(super) body: Vec<u8>,
}

impl LedgerClient {
    /// Sends one request, once.
    pub(super) async fn exchange(
        &self,
        request: RequestBuilder,
        limit_ms: u64,
    ) -> Result<Reply, ClientError> {
        let unreachable = |error: reqwest::Error| ClientError::Unreachable {
            url: self.base.to_string(),
            cause: cause_of(&error),
        };
        let request = request.timeout(Duration::from_millis(limit_ms));
        let response = request.send().await.map_err(unreachable)?;
        Reply::read_of(response, &self.base).await
    }
}

impl Reply {
    /// Takes in the whole of an answer of the ledger at `base`.
    pub(super) async fn read_of(mut response: Response, base: &Url) -> Result<Reply, ClientError> {
        let mut body = Vec::new();
        let lost = |error: reqwest::Error| ClientError::Unreachable {
            url: base.to_string(),
            cause: cause_of(&error),
        };
        while let Some(chunk) = response.chunk().await.map_err(lost)? {
            if body.len() + chunk.len() > MAX_ANSWER_BYTES {
                return Err(ClientError::NotALedger {
                    url: response.url().to_string(),
                    cause: format!("an answer over {MAX_ANSWER_BYTES} bytes"),
                });
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Reply {
            url: response.url().to_string(),
            status: response.status().as_u16(),
            retry_after_ms: retry_after_ms(&response),
            body,
        })
    }

    /// The answer of a successful call.
    pub(super) fn read<T: DeserializeOwned>(&self) -> Result<T, ClientError> {
        if (200..300).contains(&self.status) {
            self.read_any_status()
        } else {
            Err(self.refusal())
        }
    }

    /// The bytes of a successful answer.
    pub(super) fn bytes(self) -> Result<Vec<u8>, ClientError> {
        if (200..300).contains(&self.status) {
            Ok(self.body)
        } else {
            Err(self.refusal())
        }
    }

    /// The answer, whatever the status.
    pub(super) fn read_any_status<T: DeserializeOwned>(&self) -> Result<T, ClientError> {
        serde_json::from_slice(&self.body).map_err(|error| self.strange(&error.to_string()))
    }

    /// The refusal an unsuccessful call was answered with.
    pub(super) fn refusal(&self) -> ClientError {
        match self.refused() {
            Some(refused) => ClientError::Refused(Box::new(refused)),
            None => self.strange(&format!(
                "HTTP status {} without an error body{}",
                self.status,
                match self.is_of_tls() {
                    true => ": it speaks https",
                    false => "",
                }
            )),
        }
    }

    /// Whether it is what nginx, Go or Apache says to whoever speaks http at a port for https.
    fn is_of_tls(&self) -> bool {
        let page = String::from_utf8_lossy(&self.body);
        let mut words = ["HTTPS port", "HTTPS server", "SSL-enabled server"].into_iter();
        self.status == 400 && words.any(|words| page.contains(words))
    }

    /// The error body, if there is one.
    pub(super) fn refused(&self) -> Option<Refused> {
        let payload: ErrorPayload = serde_json::from_slice(&self.body).ok()?;
        Some(Refused {
            status: self.status,
            code: payload.code,
            message: payload.message,
            related_message_id: payload.related_message_id,
            details: payload.details,
        })
    }

    fn strange(&self, cause: &str) -> ClientError {
        ClientError::NotALedger {
            url: self.url.clone(),
            cause: cause.to_owned(),
        }
    }
}

/// The ERROR payload (AE-66).
#[derive(Deserialize)]
struct ErrorPayload {
    code: Code,
    message: String,
    related_message_id: Option<String>,
    details: Option<Value>,
}

/// The innermost cause: reqwest's own text only says that a request failed.
pub(super) fn cause_of(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "no answer in time".to_owned();
    }
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

/// Seconds only; the ledger never sends a date.
fn retry_after_ms(response: &Response) -> Option<u64> {
    let header = response.headers().get(reqwest::header::RETRY_AFTER)?;
    let seconds: u64 = header.to_str().ok()?.trim().parse().ok()?;
    Some(seconds.saturating_mul(1_000))
}
