//! Announcements of new heads over a WebSocket. They only wake the watcher: nothing in them is
//! believed, and one that is missing costs nothing but time, because the head is asked for all the
//! same.
//!
//! Subscriptions fall silent without an error, and heads mined while one is down are never sent
//! (settlement-watcher.md section 5). So a connection has a time limit to be made, must show signs
//! of life, and is made anew, at growing intervals, whatever ended it.

use std::convert::Infallible;
use std::fmt;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde::Deserialize;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async_with_config};
use x811_protocol::observation::Block;

use crate::backoff::Backoff;
use crate::rpc::{EndpointError, RpcHeader, provide_tls};

const SUBSCRIBE: &str =
    r#"{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}"#;
/// Longest message that is read: headers are below 2 KiB.
const MESSAGE_BYTES: usize = 256 * 1024;
const BUFFER_BYTES: usize = 8 * 1024;

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Where new heads are announced.
#[derive(Clone)]
pub struct NewHeads {
    url: String,
    label: String,
    jitter_seed: u64,
    limits: AnnouncementLimits,
}

/// When a connection is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnnouncementLimits {
    /// Time to connect, TLS and the subscription included.
    pub connect_timeout_ms: u64,
    /// After so long without a message a sign of life is asked for, and as long again is waited
    /// for it.
    pub keepalive_ms: u64,
}

impl Default for AnnouncementLimits {
    /// 5 s each.
    fn default() -> AnnouncementLimits {
        AnnouncementLimits {
            connect_timeout_ms: 5_000,
            keepalive_ms: 5_000,
        }
    }
}

/// Why a connection ended. The URL, which may hold an API key, is in none of the texts.
#[derive(Debug, thiserror::Error)]
enum Lost {
    #[error("it could not be connected in time")]
    ConnectTimeout,
    #[error("nothing came for too long")]
    Silence,
    #[error("the other side closed it")]
    Closed,
    #[error("the subscription was refused")]
    Refused,
    #[error("its address cannot be used")]
    Address,
    #[error(transparent)]
    Socket(Error),
}

impl From<Error> for Lost {
    fn from(error: Error) -> Lost {
        if matches!(error, Error::Url(_) | Error::HttpFormat(_)) {
            return Lost::Address;
        }
        Lost::Socket(error)
    }
}

/// A message, as far as it is read.
#[derive(Deserialize)]
struct Announcement {
    params: Option<Params>,
    error: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct Params {
    result: RpcHeader,
}

impl NewHeads {
    /// The announcements at `url`, `ws` or `wss`; `label` is what logs call them, and `jitter_seed`
    /// scatters their retries. Nothing is connected yet.
    ///
    /// # Errors
    /// [`EndpointError::WebSocketUrl`].
    pub fn new(
        url: &str,
        label: impl Into<String>,
        jitter_seed: u64,
    ) -> Result<NewHeads, EndpointError> {
        let parsed: reqwest::Url = url
            .parse()
            .map_err(|error| EndpointError::WebSocketUrl(format!("{error}")))?;
        if !matches!(parsed.scheme(), "ws" | "wss") {
            let scheme = parsed.scheme();
            return Err(EndpointError::WebSocketUrl(format!(
                "its scheme is {scheme}"
            )));
        }
        Ok(NewHeads {
            url: url.to_owned(),
            label: label.into(),
            jitter_seed,
            limits: AnnouncementLimits::default(),
        })
    }

    /// With other limits.
    #[must_use]
    pub fn with_limits(self, limits: AnnouncementLimits) -> NewHeads {
        NewHeads { limits, ..self }
    }

    /// Passes every announcement on, for ever.
    pub(crate) async fn run(self, announcer: &watch::Sender<Option<Block>>) {
        provide_tls();
        let mut backoff = Backoff::new(self.jitter_seed);
        let mut is_down = false;
        loop {
            let mut heads = 0_u64;
            let Err(lost) = self.converse(announcer, &mut heads).await;
            let endpoint = &self.label;
            if heads > 0 {
                backoff.reset();
                is_down = false;
            }
            if std::mem::replace(&mut is_down, true) {
                tracing::debug!(endpoint, error = %lost, "still no announcements of new heads");
            } else {
                tracing::warn!(
                    endpoint,
                    error = %lost,
                    "the WebSocket is lost; new heads are found by asking until it is back"
                );
            }
            tokio::time::sleep(Duration::from_millis(backoff.next_ms(None))).await;
        }
    }

    /// One connection, to its end.
    async fn converse(
        &self,
        announcer: &watch::Sender<Option<Block>>,
        heads: &mut u64,
    ) -> Result<Infallible, Lost> {
        let time = Duration::from_millis(self.limits.connect_timeout_ms);
        let connected = timeout(time, self.subscribe()).await;
        let mut socket = connected.map_err(|_| Lost::ConnectTimeout)??;
        let keepalive = Duration::from_millis(self.limits.keepalive_ms);
        let mut is_asked = false;
        let mut until = Instant::now() + keepalive;
        loop {
            match timeout_at(until, socket.next()).await {
                Ok(None) => return Err(Lost::Closed),
                Ok(Some(message)) => {
                    if let Some(block) = announced(&message?)? {
                        *heads += 1;
                        announcer.send_replace(Some(block));
                    }
                    is_asked = false;
                }
                Err(_) if is_asked => return Err(Lost::Silence),
                Err(_) => {
                    let asking = socket.send(Message::Ping(Vec::new().into()));
                    timeout(keepalive, asking)
                        .await
                        .map_err(|_| Lost::Silence)??;
                    is_asked = true;
                }
            }
            until = Instant::now() + keepalive;
        }
    }

    async fn subscribe(&self) -> Result<Socket, Error> {
        let config = WebSocketConfig::default()
            .read_buffer_size(BUFFER_BYTES)
            .write_buffer_size(0)
            .max_message_size(Some(MESSAGE_BYTES))
            .max_frame_size(Some(MESSAGE_BYTES));
        let (mut socket, _) = connect_async_with_config(&self.url, Some(config), true).await?;
        socket.send(Message::text(SUBSCRIBE)).await?;
        Ok(socket)
    }
}

/// The head that a message announces; none when it is about something else or not to be read.
fn announced(message: &Message) -> Result<Option<Block>, Lost> {
    let Message::Text(text) = message else {
        return Ok(None);
    };
    let Ok(announcement) = serde_json::from_str::<Announcement>(text) else {
        return Ok(None);
    };
    if announcement.error.is_some() && announcement.params.is_none() {
        return Err(Lost::Refused);
    }
    let header = announcement.params.map(|params| params.result.read());
    Ok(header.and_then(Result::ok).map(|header| header.block()))
}

/// Shows nothing of the URL, which may hold an API key.
impl fmt::Debug for NewHeads {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("NewHeads")
            .field("label", &self.label)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_websockets_and_never_shown() {
        for bad in ["", "localhost:8546", "http://localhost:8546", "wss://"] {
            assert!(NewHeads::new(bad, "rpc", 1).is_err(), "{bad}");
        }
        let feed = NewHeads::new("wss://node.example/SECRET", "rpc", 1).unwrap();
        assert!(!format!("{feed:?}").contains("SECRET"));
    }

    #[test]
    fn sw_pitfalls_only_heads_wake_and_what_cannot_be_read_ends_nothing() {
        let hash = format!("0x{}", "b1".repeat(32));
        let head = format!(
            r#"{{"jsonrpc":"2.0","method":"eth_subscription","params":{{"subscription":"0x1",
            "result":{{"number":"0x10","hash":"{hash}","parentHash":"{hash}","timestamp":"0x1",
            "somethingNew":[]}}}}}}"#
        );
        let block = announced(&Message::text(head)).unwrap().unwrap();
        assert_eq!((block.number, block.hash.to_string()), (16, hash));
        for other in [
            r#"{"jsonrpc":"2.0","id":1,"result":"0x1"}"#,
            r#"{"jsonrpc":"2.0","method":"eth_subscription","params":{"result":null}}"#,
            "<html>",
            "",
        ] {
            assert!(
                announced(&Message::text(other)).unwrap().is_none(),
                "{other}"
            );
        }
        let refused = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}"#;
        assert!(matches!(
            announced(&Message::text(refused)),
            Err(Lost::Refused)
        ));
    }
}
