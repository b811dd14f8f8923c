//! Reads of what is not everybody's: signed as RFC 9421 says, anew for each try, because the ledger
//! takes every nonce once.

use reqwest::{Method, RequestBuilder, Url};
use x811_protocol::did::Did;
use x811_protocol::key::SecretKey;
use x811_protocol::signed_read::{SIGNATURE, SIGNATURE_INPUT, Target, sign};

use super::LedgerClient;
use super::error::ClientError;
use super::exchange::Reply;
use crate::identity::Identity;

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
        let ask = || async {
            self.exchange(self.signed(Method::GET, &url)?, limit_ms)
                .await
        };
        self.retried(ask).await
    }

    /// Orders what the reader may order, in the same way and once: the answer is not waited for again.
    pub(super) async fn post_signed(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
        limit_ms: u64,
    ) -> Result<Reply, ClientError> {
        let url = self.url(path, query);
        let order = self.signed(Method::POST, &url)?;
        self.exchange(order, limit_ms).await
    }

    pub(super) fn signed(&self, method: Method, url: &Url) -> Result<RequestBuilder, ClientError> {
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
        let created_s = self.clock.now().as_ms() / 1_000;
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
