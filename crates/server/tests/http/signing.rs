//! Signed reads, good ones and spoilt ones.

use crate::world::{Agent, Reply, World, drawn, reply};
use reqwest::Method;
use x811_ledger::clock::Clock as _;
use x811_protocol::did::Did;
use x811_protocol::key::SecretKey;
use x811_protocol::signed_read::{SIGNATURE, SIGNATURE_INPUT, SignedFields, Target, sign};

/// What a signature is made over; a test changes what it wants to be false.
pub(crate) struct Claim {
    pub(crate) did: Did,
    pub(crate) key: SecretKey,
    pub(crate) method: &'static str,
    pub(crate) authority: String,
    pub(crate) path: String,
    pub(crate) query: Option<String>,
    pub(crate) created_s: u64,
    pub(crate) nonce: [u8; 16],
}

impl Claim {
    /// A good one, of `agent`, for `path` with its query, now.
    pub(crate) fn of(world: &World, agent: &Agent, path: &str) -> Claim {
        let (path, query) = match path.split_once('?') {
            Some((path, query)) => (path, Some(query.to_owned())),
            None => (path, None),
        };
        Claim {
            did: agent.did,
            key: agent.key.clone(),
            method: "GET",
            authority: world.running.local_addr.to_string(),
            path: path.to_owned(),
            query,
            created_s: world.clock.wall().as_ms() / 1_000,
            nonce: drawn(),
        }
    }

    pub(crate) fn sign(&self) -> SignedFields {
        let target = Target {
            method: self.method,
            authority: &self.authority,
            path: &self.path,
            query: self.query.as_deref(),
        };
        sign(&target, self.did, &self.key, self.created_s, self.nonce)
    }
}

impl World {
    /// Asks with these header fields, each as often as it is given.
    pub(crate) async fn ask(&self, method: Method, path: &str, fields: &[(&str, &str)]) -> Reply {
        let mut request = self.http.request(method, format!("{}{path}", self.base));
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        reply(request).await
    }

    /// Asks with both fields of a signature.
    pub(crate) async fn ask_signed(&self, path: &str, fields: &SignedFields) -> Reply {
        let fields = both(fields);
        self.ask(Method::GET, path, &fields).await
    }

    /// Asks as `agent` does.
    pub(crate) async fn get_as(&self, agent: &Agent, path: &str) -> Reply {
        let fields = Claim::of(self, agent, path).sign();
        self.ask_signed(path, &fields).await
    }
}

/// The two header fields.
pub(crate) fn both(fields: &SignedFields) -> [(&str, &str); 2] {
    [
        (SIGNATURE_INPUT, &fields.signature_input),
        (SIGNATURE, &fields.signature),
    ]
}
