//! A server, agents that sign, and a client that reads.

use crate::base::Base;
use k256::ecdsa::SigningKey;
use serde_json::{Map, Value, json};
use sha3::{Digest as _, Keccak256};
use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tempfile::TempDir;
use x811_ledger::clock::{Clock, ManualClock};
use x811_protocol::canonical::to_canonical;
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::document::DidDocument;
use x811_protocol::envelope::{Header, SealedEnvelope, seal, wire_json};
use x811_protocol::evm::EvmAddress;
use x811_protocol::id::{EnvelopeId, Nonce};
use x811_protocol::key::{AgentKey, Profile, SecretKey};
use x811_protocol::time::TimestampMs;
use x811_protocol::wallet::binding_message;
use x811_server::entropy::SystemEntropy;
use x811_server::{NetworkConfig, RpcUrl, Running, ServerConfig, StartError, start_with};

/// When every test begins.
pub(crate) const BEGUN: TimestampMs = TimestampMs::new(1_767_225_600_000);

/// Far longer than anything here takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Nobody listens there.
const DEAD_RPC: &str = "http://127.0.0.1:1";

/// Where test transfers go; the address of nobody.
pub(crate) const TOKEN: EvmAddress = EvmAddress::from_bytes([0x75; 20]);

static DRAWN: AtomicU64 = AtomicU64::new(1);

thread_local! {
    /// The number of the next draw of this thread, where its draws are to be those of every run.
    static REPEATABLE: Cell<Option<u64>> = const { Cell::new(None) };
}

/// From here on this thread draws what every run draws. Its agents are not those of other tests, for each has a ledger
/// of its own.
pub(crate) fn draw_repeatably() {
    REPEATABLE.set(Some(1 << 32));
}

/// Bytes that no other draw gives, of this process or since [`draw_repeatably`].
pub(crate) fn drawn<const BYTES: usize>() -> [u8; BYTES] {
    let repeatable = REPEATABLE.get();
    REPEATABLE.set(repeatable.map(|number| number + 1));
    let number = repeatable.unwrap_or_else(|| DRAWN.fetch_add(1, Ordering::Relaxed));
    let digest = Digest::of(&number.to_be_bytes());
    std::array::from_fn(|at| digest.as_bytes()[at])
}

/// A configuration on any free port, reads open.
pub(crate) fn config(data_dir: &Path) -> ServerConfig {
    let network = NetworkConfig::local(RpcUrl::new(DEAD_RPC), TOKEN);
    let mut config = ServerConfig::new(data_dir, network);
    config.listen = "127.0.0.1:0".parse().unwrap();
    config.open_reads = true;
    // Beside would be outside what the test removes.
    config.checkpoint_dir = Some(data_dir.join("checkpoint"));
    config
}

/// A running server and what a test needs around it.
pub(crate) struct World {
    pub(crate) dir: TempDir,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) running: Running,
    pub(crate) base: String,
    pub(crate) http: reqwest::Client,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) text: String,
    /// The body as it came.
    pub(crate) bytes: Vec<u8>,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text)
            .unwrap_or_else(|error| panic!("{error}: {} {}", self.status, self.text))
    }

    /// The body, which must come under this status.
    #[track_caller]
    pub(crate) fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        self.json()
    }

    /// An error of that status and code, with a sentence.
    #[track_caller]
    pub(crate) fn refused(&self, status: u16, code: &str) -> Value {
        let body = self.expect(status);
        assert_eq!(body["code"], code, "{}", self.text);
        assert!(body["message"].as_str().is_some_and(|text| text.len() > 10));
        body
    }
}

impl World {
    pub(crate) async fn start() -> World {
        World::start_with(|_| {}).await
    }

    /// The same, with so many agents registered.
    pub(crate) async fn peopled<const COUNT: usize>() -> (World, [Agent; COUNT]) {
        let world = World::start().await;
        let mut agents = Vec::new();
        for _ in 0..COUNT {
            agents.push(world.agent().await);
        }
        (world, agents.try_into().ok().unwrap())
    }

    /// A ledger that has seen one block, of the moment when it began. No other comes, unless the
    /// configuration names another endpoint.
    pub(crate) async fn start_with(change: impl FnOnce(&mut ServerConfig)) -> World {
        let base = Base::serve().await;
        let url = RpcUrl::new(base.url());
        let world = World::start_blind_with(|config| {
            config.network.endpoints[0].rpc_url = url.clone();
            change(config);
        });
        let world = world.await;
        world.has_seen_a_head().await;
        world
    }

    /// A ledger whose endpoint does not answer.
    pub(crate) async fn start_blind_with(change: impl FnOnce(&mut ServerConfig)) -> World {
        let dir = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::at(BEGUN));
        let mut config = config(dir.path());
        change(&mut config);
        let running = run(config, clock.clone()).await.unwrap();
        World::around(dir, clock, running)
    }

    pub(crate) async fn has_seen_a_head(&self) {
        let seen = async {
            while self.get("/ready").await.json()["networks"][0]["head_number"].is_null() {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, seen).await.unwrap();
    }

    /// A server whose timers never ring: nothing happens by itself, so a late message is the first
    /// to find that a window has passed.
    pub(crate) async fn start_without_timers() -> World {
        let dir = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::at(BEGUN));
        let silent = Arc::new(SilentClock(clock.clone()));
        let entropy = Arc::new(SystemEntropy::open().unwrap());
        let mut config = config(dir.path());
        config.network.endpoints[0].rpc_url = RpcUrl::new(Base::serve().await.url());
        let running = start_with(config, silent, entropy).await;
        let world = World::around(dir, clock, running.unwrap());
        world.has_seen_a_head().await;
        world
    }

    pub(crate) fn around(dir: TempDir, clock: Arc<ManualClock>, running: Running) -> World {
        // Another test of this process may have installed it.
        let _ = rustls::crypto::ring::default_provider().install_default();
        World {
            dir,
            clock,
            base: format!("http://{}", running.local_addr),
            running,
            http: reqwest::Client::builder().no_proxy().build().unwrap(),
        }
    }

    /// Stops the server, waits until it has ended, lets `away_ms` pass, and starts it again.
    pub(crate) async fn restart(self, away_ms: u64) -> World {
        self.restart_with(away_ms, async |_| {}, |_| {}).await
    }

    /// The same, with something done to the data directory and to the configuration meanwhile.
    pub(crate) async fn restart_with(
        mut self,
        away_ms: u64,
        meanwhile: impl AsyncFnOnce(&Path),
        change: impl FnOnce(&mut ServerConfig),
    ) -> World {
        self.running.shutdown();
        self.running.wait().await.unwrap();
        self.clock.advance_ms(away_ms);
        meanwhile(self.dir.path()).await;
        let mut config = config(self.dir.path());
        change(&mut config);
        let running = run(config, self.clock.clone()).await;
        World::around(self.dir, self.clock, running.unwrap())
    }

    pub(crate) fn ledger(&self) -> Did {
        self.running.identity.did
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        reply(self.http.get(format!("{}{path}", self.base))).await
    }

    pub(crate) async fn post(&self, body: impl Into<reqwest::Body>) -> Reply {
        let url = format!("{}/api/v1/messages", self.base);
        reply(self.http.post(url).body(body)).await
    }

    /// Sends what must be accepted.
    #[track_caller]
    pub(crate) fn accept(&self, sealed: &SealedEnvelope) -> impl Future<Output = Value> + use<'_> {
        let body = sealed.json.clone();
        async move { self.post(body).await.expect(202) }
    }

    /// Waits for the disk: a test's time may pass faster than a checkpoint is written.
    pub(crate) async fn checkpoint_is_stored(&self) {
        while self.get("/ready").await.json()["why"]
            .to_string()
            .contains("checkpoint")
        {
            tokio::task::yield_now().await;
        }
    }

    /// An agent with a wallet that can do `translate`, registered.
    pub(crate) async fn agent(&self) -> Agent {
        let agent = Agent::new();
        self.accept(&agent.registration(self)).await;
        agent
    }

    pub(crate) async fn inbox(&self, agent: &Agent) -> Vec<Value> {
        let path = format!("/api/v1/messages/{}", agent.uuid());
        let page = self.get(&path).await.expect(200);
        page["messages"].as_array().unwrap().clone()
    }
}

/// A clock that shows the time and wakes nobody.
struct SilentClock(Arc<ManualClock>);

impl Clock for SilentClock {
    fn wall(&self) -> TimestampMs {
        self.0.wall()
    }

    fn monotonic_ms(&self) -> u64 {
        self.0.monotonic_ms()
    }

    async fn sleep_ms(&self, _: u64) {
        std::future::pending().await
    }
}

/// Starts a server on `clock`.
pub(crate) async fn run(
    config: ServerConfig,
    clock: Arc<ManualClock>,
) -> Result<Running, StartError> {
    let entropy = Arc::new(SystemEntropy::open().unwrap());
    start_with(config, clock, entropy).await
}

pub(crate) async fn reply(request: reqwest::RequestBuilder) -> Reply {
    let response = request.send().await.unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let bytes = response.bytes().await.unwrap().to_vec();
    Reply {
        status,
        headers,
        text: String::from_utf8_lossy(&bytes).into_owned(),
        bytes,
    }
}

/// Somebody who signs.
pub(crate) struct Agent {
    pub(crate) did: Did,
    pub(crate) key: SecretKey,
    wallet: SigningKey,
}

impl Agent {
    pub(crate) fn new() -> Agent {
        let uuid = uuid::Builder::from_random_bytes(drawn()).into_uuid();
        Agent {
            did: Did::from_uuid(uuid).unwrap(),
            key: SecretKey::from_seed(drawn()),
            wallet: SigningKey::from_slice(&drawn::<32>()).unwrap(),
        }
    }

    pub(crate) fn uuid(&self) -> String {
        self.did.uuid().to_string()
    }

    pub(crate) fn address(&self) -> EvmAddress {
        let point = self.wallet.verifying_key().to_encoded_point(false);
        let hash: [u8; 32] = Keccak256::digest(&point.as_bytes()[1..]).into();
        EvmAddress::from_bytes(std::array::from_fn(|at| hash[at + 12]))
    }

    /// Signs `payload` as a message of that type, now.
    pub(crate) fn say(&self, world: &World, to: Did, kind: &str, payload: Value) -> SealedEnvelope {
        self.say_as(self.header(world, to, kind), payload)
    }

    pub(crate) fn header(&self, world: &World, to: Did, kind: &str) -> Header {
        let now = world.clock.wall();
        Header {
            id: EnvelopeId::from_parts(now.as_ms(), &drawn()),
            version: "0.1.0".to_owned(),
            message_type: kind.parse().unwrap(),
            from: self.did,
            to,
            created_ms: now,
            expires_ms: None,
            nonce: Nonce::from_random(drawn()),
        }
    }

    pub(crate) fn say_as(&self, header: Header, payload: Value) -> SealedEnvelope {
        seal(header, members(payload), &self.key, Profile::Digest)
    }

    pub(crate) fn registration(&self, world: &World) -> SealedEnvelope {
        let payload = self.registration_payload(world);
        self.say(world, world.ledger(), "x811.registry/register", payload)
    }

    pub(crate) fn registration_payload(&self, world: &World) -> Value {
        let key = AgentKey {
            key: self.key.public(),
            profile: Profile::Digest,
        };
        let endpoint = Some("https://agent.example/inbox");
        json!({
            "document": DidDocument::build(self.did, &[key], endpoint),
            "capabilities": ["translate"],
            "wallets": [{
                "address": self.address().to_checksum(),
                "kind": "eoa",
                "proof": self.binding(world.ledger()),
            }],
        })
    }

    /// EIP-191 over the binding text (ledger-contract.md section 4).
    fn binding(&self, ledger: Did) -> String {
        let text = binding_message(self.did, ledger, self.address());
        let prefix = format!("\u{19}Ethereum Signed Message:\n{}", text.len());
        let hash: [u8; 32] = Keccak256::new()
            .chain_update(prefix)
            .chain_update(text)
            .finalize()
            .into();
        let (signature, recovery) = self.wallet.sign_prehash_recoverable(&hash).unwrap();
        let v = 27 + u8::from(recovery.is_y_odd());
        let bytes: String = signature
            .to_bytes()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        format!("0x{bytes}{v:02x}")
    }
}

/// Any members at all as an envelope, signed like a good one.
pub(crate) fn sign_members(members: &Value, key: &SecretKey) -> Vec<u8> {
    let body = to_canonical(members);
    wire_json(&body, &key.sign(Digest::of(&body).as_bytes()))
}

fn members(payload: Value) -> Map<String, Value> {
    serde_json::from_value(payload).unwrap()
}

/// An interaction's messages, each made when it is said.
pub(crate) struct Deal<'a> {
    pub(crate) world: &'a World,
    pub(crate) initiator: &'a Agent,
    pub(crate) provider: &'a Agent,
    pub(crate) request: SealedEnvelope,
    /// Whether the OFFER says where to pay, as our client's do.
    pub(crate) names_payee: bool,
}

/// What the provider delivers.
const RESULT: &str = "Bonjour le monde";

impl<'a> Deal<'a> {
    pub(crate) fn new(world: &'a World, initiator: &'a Agent, provider: &'a Agent) -> Deal<'a> {
        let payload = Deal::request_payload(&EnvelopeId::from_parts(7, &drawn()).to_string());
        Deal {
            world,
            initiator,
            provider,
            request: initiator.say(world, provider.did, "x811/request", payload),
            names_payee: true,
        }
    }

    pub(crate) fn request_payload(idempotency_key: &str) -> Value {
        json!({
            "task_type": "translate",
            "parameters": {"text": "Hello world"},
            "max_budget": 10.25,
            "currency": "USDC",
            "deadline": 600,
            "acceptance_policy": "auto",
            "idempotency_key": idempotency_key,
        })
    }

    pub(crate) fn id(&self) -> EnvelopeId {
        self.request.header.id
    }

    pub(crate) fn offer(&self) -> SealedEnvelope {
        let mut payload = json!({
            "request_id": self.id(),
            "price": "10",
            "protocol_fee": "0.25",
            "total_cost": "10.25",
            "currency": "USDC",
            "estimated_time": 60,
            "deliverables": ["the text in French"],
            "expiry": 300,
        });
        if self.names_payee {
            payload["payment_address"] = json!(self.provider.address().to_checksum());
        }
        let initiator = self.initiator.did;
        self.provider
            .say(self.world, initiator, "x811/offer", payload)
    }

    pub(crate) fn accept(&self, offer: &SealedEnvelope) -> SealedEnvelope {
        let body: Value = serde_json::from_slice(&offer.body).unwrap();
        let offer_hash = Digest::of(&to_canonical(&body["payload"]));
        let payload = json!({ "offer_id": offer.header.id, "offer_hash": offer_hash });
        let provider = self.provider.did;
        self.initiator
            .say(self.world, provider, "x811/accept", payload)
    }

    pub(crate) fn result(&self, offer: &SealedEnvelope) -> SealedEnvelope {
        let payload = json!({
            "request_id": self.id(),
            "offer_id": offer.header.id,
            "content": RESULT,
            "content_type": "text/plain",
            "result_hash": Digest::of(RESULT.as_bytes()),
            "result_size": RESULT.len(),
            "execution_time_ms": 1_200,
        });
        let initiator = self.initiator.did;
        self.provider
            .say(self.world, initiator, "x811/result", payload)
    }

    pub(crate) fn verify(&self, offer: &SealedEnvelope) -> SealedEnvelope {
        let payload = json!({
            "request_id": self.id(),
            "offer_id": offer.header.id,
            "result_hash": Digest::of(RESULT.as_bytes()),
            "verified": true,
        });
        let provider = self.provider.did;
        self.initiator
            .say(self.world, provider, "x811/verify", payload)
    }

    pub(crate) fn payment(&self, offer: &SealedEnvelope, tx_hash: &str) -> SealedEnvelope {
        let payload = json!({
            "request_id": self.id(),
            "offer_id": offer.header.id,
            "tx_hash": tx_hash,
            "amount": "10.25",
            "currency": "USDC",
            "network": "local",
            "payer_address": self.initiator.address().to_checksum(),
            "payee_address": self.provider.address().to_checksum(),
        });
        let provider = self.provider.did;
        self.initiator
            .say(self.world, provider, "x811/payment", payload)
    }

    /// Says everything up to VERIFY; the OFFER.
    pub(crate) async fn verified(&self) -> SealedEnvelope {
        let offer = self.offer();
        self.world.accept(&self.request).await;
        self.world.accept(&offer).await;
        self.world.accept(&self.accept(&offer)).await;
        self.world.accept(&self.result(&offer)).await;
        self.world.accept(&self.verify(&offer)).await;
        offer
    }
}
