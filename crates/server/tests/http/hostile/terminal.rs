//! Texts of agents never reach the operator's terminal or log as they are: no escape sequence, no
//! forged line, no secret.

use super::Stage;
use crate::world::{Agent, Deal, sign_members};
use serde_json::{Value, json};
use std::io;
use std::sync::{Arc, Mutex};
use tracing_subscriber::fmt::MakeWriter;

/// Clears a terminal, forges a log line, hides what follows, rings.
const HOSTILE: &str = "\u{1b}[2J\u{1b}]0;owned\u{7}\r\nERROR forged\u{202e}\u{9b}31m\u{0}";

/// What a test can find of it, however it is cut.
const TRACES: [&str; 5] = ["\u{1b}", "\u{7}", "\u{9b}", "\u{202e}", "\nERROR forged"];

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Log;

    fn make_writer(&self) -> Log {
        self.clone()
    }
}

impl Log {
    /// Collects everything that is logged on this thread from here on: the whole server runs on it.
    fn collect(&self) -> tracing::subscriber::DefaultGuard {
        let subscriber = tracing_subscriber::fmt()
            .with_writer(self.clone())
            .with_ansi(false)
            .with_max_level(tracing::Level::DEBUG)
            .finish();
        tracing::subscriber::set_default(subscriber)
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

/// Messages that carry hostile text wherever an agent can put some.
fn messages(stage: &Stage) -> Vec<Vec<u8>> {
    let (world, a, b) = (&stage.world, &stage.a, &stage.b);
    let mut sent = Vec::new();
    for name in [
        "version", "type", "id", "from", "to", "created", "expires", "nonce", HOSTILE,
    ] {
        let mut members = stage.ping_members();
        members[name] = json!(HOSTILE);
        sent.push(sign_members(&members, &a.key));
    }
    let mut request = Deal::request_payload(HOSTILE);
    for name in ["task_type", "currency", "acceptance_policy", "callback_url"] {
        let mut payload = request.clone();
        payload[name] = json!(HOSTILE);
        sent.push(a.say(world, b.did, "x811/request", payload).json);
    }
    request["parameters"] = json!({ HOSTILE: HOSTILE });
    sent.push(a.say(world, b.did, "x811/request", request).json);
    let error = json!({ "code": "X811-9002", "message": HOSTILE });
    sent.push(a.say(world, b.did, "x811/error", error).json);
    let unknown = json!({ "code": HOSTILE, "message": HOSTILE });
    sent.push(a.say(world, b.did, "x811/error", unknown).json);
    let newcomer = Agent::new();
    for place in [
        "/capabilities/0",
        "/document/id",
        "/wallets/0/kind",
        "/wallets/0/proof",
    ] {
        let mut payload = newcomer.registration_payload(world);
        *payload.pointer_mut(place).unwrap() = json!(HOSTILE);
        let envelope = newcomer.say(world, world.ledger(), "x811.registry/register", payload);
        sent.push(envelope.json);
    }
    sent.push(HOSTILE.as_bytes().to_vec());
    sent
}

#[tokio::test]
async fn ae_066_hostile_text_is_never_logged_nor_echoed_raw() {
    let log = Log::default();
    let _collecting = log.collect();
    let stage = Stage::open().await;
    let mut secrets = Vec::new();
    for message in messages(&stage) {
        if let Ok(envelope) = serde_json::from_slice::<Value>(&message) {
            secrets.extend(envelope["signature"].as_str().map(str::to_owned));
        }
        let answer = stage.world.post(message).await;
        for trace in TRACES {
            assert!(!answer.text.contains(trace), "{:?}", answer.text);
        }
    }
    let path = "/api/v1/agents/%1b%5b2J%1b%5d0;owned%07ERROR%20forged";
    stage.world.get(path).await;
    let logged = log.text();
    assert!(
        logged.contains("answered"),
        "the log was collected: {logged}"
    );
    for trace in TRACES {
        assert!(!logged.contains(trace), "{trace:?} in {logged}");
    }
    for secret in secrets {
        assert!(!logged.contains(&secret), "a signature in {logged}");
    }
}
