//! A client that remembers what it was told.

use reqwest::StatusCode;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::time::Duration;
use x811_client::clock::SystemClock;
use x811_client::compose::{Composer, Custom, Payload, Registration, Request};
use x811_client::entropy::SystemEntropy;
use x811_client::identity::Identity;
use x811_protocol::did::Did;
use x811_protocol::envelope::SealedEnvelope;
use x811_protocol::facts::AcceptancePolicy;
use x811_protocol::money::MicroUsdc;

const PATIENCE: Duration = Duration::from_secs(15);

/// What every agent here can do.
pub(crate) const TASK: &str = "translation";

/// What the ledger acknowledged, by envelope id.
#[derive(Debug, Clone, Default)]
pub(crate) struct Acknowledged(BTreeMap<String, (u64, String)>);

impl Acknowledged {
    /// Notes an answer. The same envelope is never answered in two ways.
    #[track_caller]
    pub(crate) fn note(&mut self, answer: &Value) {
        let id = answer["envelope_id"].as_str().unwrap().to_owned();
        let hash = answer["record_hash"].as_str().unwrap().to_owned();
        let place = (answer["position"].as_u64().unwrap(), hash);
        let known = self.0.entry(id).or_insert_with(|| place.clone());
        assert_eq!(*known, place, "answered in two ways: {answer}");
    }

    pub(crate) fn extend(&mut self, more: Acknowledged) {
        self.0.extend(more.0);
    }

    /// Hash of the last record that was acknowledged.
    pub(crate) fn head(&self) -> Option<&str> {
        let last = self.0.values().max_by_key(|(position, _)| *position);
        last.map(|(_, hash)| hash.as_str())
    }

    /// Every acknowledged envelope that `pick` takes is found by its id, as it was acknowledged.
    pub(crate) async fn assert_found(&self, url: &str, mut pick: impl FnMut() -> bool) -> usize {
        let mut found = 0;
        for (id, (position, hash)) in &self.0 {
            if !pick() {
                continue;
            }
            let path = format!("/api/v1/messages/by-id/{id}");
            let (status, answer) = get(url, &path).await.unwrap();
            assert_eq!(status, 200, "{id} was acknowledged and is lost: {answer}");
            let first = &answer["first"];
            let place = (
                first["position"].as_u64().unwrap(),
                first["record_hash"].as_str(),
            );
            assert_eq!(place, (*position, Some(hash.as_str())), "{id}");
            found += 1;
        }
        found
    }
}

/// An agent that talks to others.
pub(crate) struct Agent {
    pub(crate) identity: Identity,
    said: u64,
}

impl Agent {
    pub(crate) fn new(name: &str) -> Agent {
        let name = name.parse().unwrap();
        let identity = Identity::generate(name, &SystemEntropy, &SystemClock).unwrap();
        Agent { identity, said: 0 }
    }

    pub(crate) fn seal(&self, to: Did, payload: &dyn Payload) -> SealedEnvelope {
        let composer = Composer::new(&self.identity, &SystemEntropy, &SystemClock);
        composer.seal(to, payload).unwrap()
    }

    pub(crate) fn registration(&self, ledger: Did) -> SealedEnvelope {
        let registration = Registration::new(&self.identity, ledger, vec![TASK.to_owned()], None);
        let registration = registration.unwrap();
        self.seal(ledger, &registration)
    }

    /// A REQUEST under a key of its own.
    pub(crate) fn request(&mut self, to: Did) -> SealedEnvelope {
        self.said += 1;
        let request = Request {
            task_type: TASK.to_owned(),
            parameters: Map::new(),
            max_budget: MicroUsdc::from_micro_usdc(1_000_000).unwrap(),
            deadline_s: 60,
            acceptance_policy: AcceptancePolicy::Auto,
            threshold_amount: None,
            callback_url: None,
            idempotency_key: format!("order-{}", self.said),
        };
        self.seal(to, &request)
    }

    /// A message nobody has sent before, with `padding` bytes in it.
    pub(crate) fn message(&mut self, to: Did, padding: usize) -> SealedEnvelope {
        self.said += 1;
        let mut payload = Map::new();
        payload.insert("n".to_owned(), json!(self.said));
        payload.insert("padding".to_owned(), json!("x".repeat(padding)));
        let message_type = "x811.test/ping".parse().unwrap();
        self.seal(
            to,
            &Custom {
                message_type,
                payload,
            },
        )
    }
}

/// The DID of the ledger at `url`.
pub(crate) async fn ledger_did(url: &str) -> Option<Did> {
    let (_, info) = get(url, "/.well-known/x811.json").await?;
    info["did"].as_str()?.parse().ok()
}

/// What became of an envelope.
#[derive(Debug)]
pub(crate) enum Told {
    /// Acknowledged, now or the first time.
    Accepted(Value),
    /// Refused with this status and body.
    Refused(StatusCode, Value),
    /// Nobody answered.
    Nothing,
}

/// Sends an envelope once.
pub(crate) async fn post(url: &str, envelope: &SealedEnvelope) -> Told {
    let request = http().post(format!("{url}/api/v1/messages"));
    let Ok(answer) = request.body(envelope.json.clone()).send().await else {
        return Told::Nothing;
    };
    let status = answer.status();
    let Ok(body) = answer.json::<Value>().await else {
        return Told::Nothing;
    };
    let first = &body["details"]["first"];
    if status.is_success() {
        Told::Accepted(body)
    } else if body["code"] == "X811-2001" && first["position"].is_u64() {
        Told::Accepted(first.clone())
    } else {
        Told::Refused(status, body)
    }
}

/// `None` when nobody answered.
pub(crate) async fn get(url: &str, path: &str) -> Option<(u16, Value)> {
    let answer = http().get(format!("{url}{path}")).send().await.ok()?;
    let status = answer.status().as_u16();
    Some((status, answer.json().await.ok()?))
}

/// A connection of its own each time: the ledger at the other end comes and goes.
fn http() -> reqwest::Client {
    // Another test of this process may have installed it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().no_proxy().timeout(PATIENCE);
    client.pool_max_idle_per_host(0).build().unwrap()
}
