//! Reads of what is not everybody's: signed as RFC 9421 says, anew for each try, because the ledger
//! takes every nonce once.
//!
//! A read whose time the ledger refuses is signed once more by the ledger's clock. Only the time is
//! taken from a refusal, never the authority: that would sign for whatever ledger the answer names
//! (decision 0297).

use std::sync::atomic::{AtomicI64, Ordering};

use reqwest::{Method, RequestBuilder, Url};
use x811_protocol::did::Did;
use x811_protocol::key::SecretKey;
use x811_protocol::signed_read::{SIGNATURE, SIGNATURE_INPUT, Target, sign};

use super::LedgerClient;
use super::error::ClientError;
use super::exchange::Reply;
use crate::identity::Identity;

/// The largest correction of the time of signed reads, in milliseconds. A ledger refuses messages whose
/// time is further off (AE-89), so beyond it the clock has to be set anyway.
const MAX_OFFSET_MS: u64 = 300_000;

/// The ledger's time minus this computer's in milliseconds, as the last refusal named it.
#[derive(Debug, Default)]
pub(super) struct ClockOffset(AtomicI64);

impl ClockOffset {
    pub(super) fn ms(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }

    /// The offset to sign by after `reply` refused a request that was signed by `used_ms`; it counts
    /// for later requests too. `None` where the reply names none, or one that is too large.
    pub(super) fn corrected(&self, used_ms: i64, reply: &Reply) -> Option<i64> {
        if reply.status != 401 {
            return None;
        }
        let named_ms = reply.refused()?.clock_offset_ms()?;
        let offset_ms = used_ms.saturating_add(named_ms);
        if offset_ms.unsigned_abs() > MAX_OFFSET_MS {
            return None;
        }
        self.0.store(offset_ms, Ordering::Relaxed);
        Some(offset_ms)
    }
}

#[derive(Debug, Clone)]
pub(super) struct Reader {
    did: Did,
    key: SecretKey,
}

impl LedgerClient {
    /// The same client, which signs its reads of inboxes, interactions and messages as this agent.
    /// The ledger shows an agent its own ones; without a reader it shows them on loopback at most.
    #[must_use]
    pub fn reading_as(mut self, identity: &Identity) -> LedgerClient {
        self.reader = Some(Reader {
            did: identity.did,
            key: identity.signing_key.clone(),
        });
        self
    }

    /// Asks for what may be the reader's alone, in the time of `limit_ms` for each try.
    pub(super) async fn get_signed(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
        limit_ms: u64,
    ) -> Result<Reply, ClientError> {
        let url = self.url(path, query);
        self.retried(|| self.ask_signed(Method::GET, &url, limit_ms))
            .await
    }

    /// Orders what the reader may order, in the same way: a lost answer is not waited for again.
    pub(super) async fn post_signed(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
        limit_ms: u64,
    ) -> Result<Reply, ClientError> {
        let url = self.url(path, query);
        self.ask_signed(Method::POST, &url, limit_ms).await
    }

    /// Sends a signed request, and once more where the ledger refuses its time and names the offset.
    async fn ask_signed(
        &self,
        method: Method,
        url: &Url,
        limit_ms: u64,
    ) -> Result<Reply, ClientError> {
        let offset_ms = self.clock_offset.ms();
        let request = self.signed(method.clone(), url, offset_ms)?;
        let reply = self.exchange(request, limit_ms).await?;
        let Some(offset_ms) = self.clock_offset.corrected(offset_ms, &reply) else {
            return Ok(reply);
        };
        let request = self.signed(method, url, offset_ms)?;
        self.exchange(request, limit_ms).await
    }

    /// A request that the reader has signed, at its own time corrected by `offset_ms`.
    pub(super) fn signed(
        &self,
        method: Method,
        url: &Url,
        offset_ms: i64,
    ) -> Result<RequestBuilder, ClientError> {
        let request = self.http.request(method.clone(), url.clone());
        let Some(reader) = &self.reader else {
            return Ok(request);
        };
        let authority = authority(url);
        let target = Target {
            method: method.as_str(),
            authority: &authority,
            path: url.path(),
            query: url.query(),
        };
        let now_ms = self.clock.now().as_ms();
        let created_s = now_ms.saturating_add_signed(offset_ms) / 1_000;
        let nonce = self.entropy.array()?;
        let fields = sign(&target, reader.did, &reader.key, created_s, nonce);
        Ok(request
            .header(SIGNATURE_INPUT, fields.signature_input)
            .header(SIGNATURE, fields.signature))
    }
}

/// Host and port as the request names them: in lower case, without the scheme's own port.
fn authority(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn promise_7_the_authority_is_host_and_port_without_the_schemes_own() {
        for (url, expected) in [
            ("http://127.0.0.1:8811/x", "127.0.0.1:8811"),
            ("http://LOCALHOST:80/", "localhost"),
            ("https://Ledger.example.org:443/x", "ledger.example.org"),
            ("https://ledger.example.org:8811", "ledger.example.org:8811"),
            ("http://[::1]:8811/", "[::1]:8811"),
        ] {
            assert_eq!(authority(&url.parse().unwrap()), expected, "{url}");
        }
    }
}
