//! Who is there: the ledger itself, registrations and what becomes of them, malformed messages, feeds.

use super::{Cast, Recorder};
use crate::codes::changed;
use crate::registry::rotation;
use crate::world::{Agent, BEGUN, Deal, sign_members};
use reqwest::Method;
use serde_json::{Value, json};
use x811_protocol::id::EnvelopeId;
use x811_protocol::key::SecretKey;

pub(super) async fn session(recorder: &mut Recorder, cast: &Cast) {
    public(recorder).await;
    registrations(recorder, cast).await;
    standing(recorder, cast).await;
    envelopes(recorder, cast).await;
    bodies(recorder, cast).await;
}

/// What anybody may ask for.
async fn public(recorder: &mut Recorder) {
    for (name, path) in [
        ("openapi", "/openapi.json"),
        ("docs", "/docs"),
        ("health", "/health"),
        ("ready", "/ready"),
        ("ledger", "/.well-known/x811.json"),
        ("ledger did", "/.well-known/did.json"),
        ("ledger card", "/.well-known/agent-card.json"),
        ("no agents", "/api/v1/agents"),
        ("nothing", "/nothing"),
        ("no such agent", "/api/v1/agents/ada"),
        ("unknown member", "/api/v1/agents?who=ada"),
    ] {
        recorder.get(name, None, path).await;
    }
    for (name, method, path) in [
        ("other method", Method::PUT, "/api/v1/messages"),
        ("other method of agents", Method::DELETE, "/api/v1/agents"),
        ("agents of the sdk", Method::POST, "/api/v1/agents"),
        ("only head", Method::HEAD, "/health"),
    ] {
        recorder.ask(name, (method, path), None, Vec::new()).await;
    }
}

#[expect(
    clippy::too_many_lines,
    reason = "a list of requests, one after the other"
)]
async fn registrations(recorder: &mut Recorder, cast: &Cast) {
    let world = recorder.world.clone();
    let register = |agent: &Agent, change: &dyn Fn(&mut Value)| {
        let mut payload = agent.registration_payload(&world);
        change(&mut payload);
        agent.say(&world, world.ledger(), "x811.registry/register", payload)
    };
    type Change = fn(&mut Value);
    let broken: [(&str, Change); 5] = [
        ("no key", |it| {
            it["document"]["verificationMethod"] = json!([])
        }),
        ("bad key", |it| {
            it["document"]["verificationMethod"][0]["publicKeyMultibase"] = json!("z6Mk")
        }),
        ("no document", |it| it["document"] = json!(null)),
        ("bad proof", |it| it["wallets"][0]["proof"] = json!("0x00")),
        ("bad capability", |it| {
            it["capabilities"] = json!(["a", "a"])
        }),
    ];
    for (name, change) in broken {
        let message = register(&cast.ada, &change);
        recorder
            .send(&format!("register {name}"), &message, 0)
            .await;
    }
    let members = json!(["translate", "x811.consensus"]);
    for (name, agent) in [
        ("ada", &cast.ada),
        ("bert", &cast.bert),
        ("cleo", &cast.cleo),
        ("eve", &cast.eve),
        ("auditor", &cast.auditor),
        ("operator", &cast.operator),
        ("human", &cast.human),
    ] {
        let message = register(agent, &|it| it["capabilities"] = members.clone());
        recorder
            .send(&format!("register {name}"), &message, 0)
            .await;
    }
    let again = register(&cast.ada, &|_| {});
    recorder.send("register ada again", &again, 0).await;
    for part in [
        "",
        "/did",
        "/status",
        "/trust",
        "/card",
        "/agent-card.json",
        "/keys",
        "/capabilities",
        "/conduct",
    ] {
        let path = format!("/api/v1/agents/{}{part}", cast.bert.uuid());
        recorder
            .get(&format!("agent{}", part.replace('/', " ")), None, &path)
            .await;
        let path = format!("/api/v1/agents/{}{part}", Agent::new().uuid());
        recorder
            .get(
                &format!("unknown agent{}", part.replace('/', " ")),
                None,
                &path,
            )
            .await;
    }
    for query in [
        "limit=2",
        "capability=translate",
        "capability=other",
        "trust_min=0.3",
        "availability=online",
        "type=tool.api",
        "version=1.2.0",
        "limit=0",
        "trust_min=x",
        "version=1",
    ] {
        let path = format!("/api/v1/agents?{query}");
        recorder
            .get(
                &format!("agents {}", query.replace(['=', '.'], " ")),
                None,
                &path,
            )
            .await;
    }
}

/// A registration that is changed, replaced and ended.
async fn standing(recorder: &mut Recorder, cast: &Cast) {
    let world = recorder.world.clone();
    let mut agent = Agent::new();
    let ask = |agent: &Agent, verb: &str, payload: Value| {
        let kind = format!("x811.registry/{verb}");
        agent.say(&world, world.ledger(), &kind, payload)
    };
    let early = ask(&agent, "deactivate", json!({}));
    recorder.send("deactivate a stranger", &early, 0).await;
    recorder
        .send("register", &agent.registration(&world), 0)
        .await;
    let mut payload = agent.registration_payload(&world);
    payload["capabilities"] = json!(["proofread"]);
    payload["expires_at_ms"] = json!(BEGUN.saturating_add_ms(86_400_000));
    recorder
        .send("update", &ask(&agent, "update", payload), 0)
        .await;
    let new_key = SecretKey::from_seed([0x5e; 32]);
    let (rotate, _) = rotation(&world, &agent, &new_key);
    recorder.send("rotate", &rotate, 0).await;
    recorder.send("rotate again", &rotate, 0).await;
    let by_old_key = agent.say(&world, cast.ada.did, "x811.test/ping", json!({}));
    recorder.send("ping by the old key", &by_old_key, 0).await;
    agent.key = new_key;
    for verb in [
        "erase",
        "reactivate",
        "deactivate",
        "deactivate",
        "reactivate",
        "revoke",
        "reactivate",
    ] {
        recorder.send(verb, &ask(&agent, verb, json!({})), 0).await;
        let path = format!("/api/v1/agents/{}/did", agent.uuid());
        recorder
            .get(&format!("did after {verb}"), None, &path)
            .await;
    }
    let path = format!("/api/v1/agents/{}", agent.uuid());
    recorder.get("revoked agent", None, &path).await;
    recorder
        .get(
            "keys of a revoked agent",
            None,
            &format!("{path}/keys?limit=1"),
        )
        .await;
}

/// Messages whose envelope is refused.
#[expect(
    clippy::too_many_lines,
    reason = "a list of requests, one after the other"
)]
async fn envelopes(recorder: &mut Recorder, cast: &Cast) {
    let world = recorder.world.clone();
    let ping = |by: &Agent, to| by.say(&world, to, "x811.test/ping", json!({}));
    let good = ping(&cast.ada, cast.bert.did);
    recorder.send("ping", &good, 0).await;
    recorder.send("ping again", &good, 0).await;
    for (name, early) in [("old", true), ("young", false)] {
        let mut header = cast.ada.header(&world, cast.bert.did, "x811.test/ping");
        header.created_ms = match early {
            true => header.created_ms.saturating_sub_ms(300_001),
            false => header.created_ms.saturating_add_ms(300_001),
        };
        header.id = EnvelopeId::from_parts(header.created_ms.as_ms(), &[3; 10]);
        recorder
            .send(
                &format!("ping too {name}"),
                &cast.ada.say_as(header, json!({})),
                0,
            )
            .await;
    }
    let mut header = cast.ada.header(&world, cast.bert.did, "x811.test/ping");
    header.version = "1.0.0".to_owned();
    recorder
        .send(
            "ping of another version",
            &cast.ada.say_as(header, json!({})),
            0,
        )
        .await;
    let mut imposter = Agent::new();
    recorder
        .send("ping by a stranger", &ping(&imposter, cast.bert.did), 0)
        .await;
    recorder
        .send("ping to a stranger", &ping(&cast.ada, imposter.did), 0)
        .await;
    imposter.did = cast.ada.did;
    recorder
        .send("ping by an imposter", &ping(&imposter, cast.bert.did), 0)
        .await;
    let whole: Value = serde_json::from_slice(&ping(&cast.ada, cast.bert.did).json).unwrap();
    for member in [
        "version",
        "id",
        "type",
        "from",
        "to",
        "created",
        "nonce",
        "payload",
        "signature",
    ] {
        let mut without = whole.clone();
        without.as_object_mut().unwrap().remove(member);
        recorder
            .post(
                &format!("without {member}"),
                without.to_string().into_bytes(),
                0,
            )
            .await;
        let mut wrong = whole.clone();
        wrong[member] = json!(7);
        recorder
            .post(
                &format!("wrong {member}"),
                wrong.to_string().into_bytes(),
                0,
            )
            .await;
    }
    let mut surplus = whole.clone();
    surplus.as_object_mut().unwrap().remove("signature");
    surplus["surplus"] = json!(1);
    recorder
        .post("surplus member", sign_members(&surplus, &cast.ada.key), 0)
        .await;
    for (name, body) in [
        ("nothing", String::new()),
        ("no json", "ping".to_owned()),
        ("no object", "[]".to_owned()),
        ("twice a member", r#"{"id":1,"id":2}"#.to_owned()),
        ("too deep", "[".repeat(200) + &"]".repeat(200)),
        (
            "too long",
            format!(r#"{{"payload":"{}"}}"#, "x".repeat(2 << 20)),
        ),
    ] {
        recorder
            .post(&format!("body {name}"), body.into_bytes(), 0)
            .await;
    }
}

/// Payloads that are refused, each by one member.
async fn bodies(recorder: &mut Recorder, cast: &Cast) {
    let world = recorder.world.clone();
    let deal = Deal::new(&world, &cast.ada, &cast.bert);
    for (member, value) in [
        ("task_type", json!("dance")),
        ("task_type", json!(7)),
        ("max_budget", json!(-1)),
        ("currency", json!("EUR")),
        ("deadline", json!(0)),
        ("acceptance_policy", json!("sometimes")),
        ("idempotency_key", json!(null)),
        ("parameters", json!([])),
    ] {
        let body = changed(&world, &cast.ada, &deal.request, |it| {
            it[member] = value.clone()
        });
        let name = format!("request with {member} {value}").replace(['"', '[', ']'], "");
        recorder.post(&name, body, 0).await;
    }
    for kind in [
        "offer", "accept", "reject", "result", "verify", "payment", "error",
    ] {
        let message = cast
            .ada
            .say(&world, cast.bert.did, &format!("x811/{kind}"), json!({}));
        recorder.send(&format!("empty {kind}"), &message, 0).await;
    }
    for kind in [
        "x811.negotiation/offer",
        "x811.capability/request",
        "x811.consensus/vote",
    ] {
        let message = cast.ada.say(&world, world.ledger(), kind, json!({}));
        recorder
            .send(
                &format!("empty {}", kind.replace(['/', '.'], " ")),
                &message,
                0,
            )
            .await;
    }
}

/// Feeds, tokens, presence, the log, and what is listed once everything has happened.
#[expect(
    clippy::too_many_lines,
    reason = "a list of requests, one after the other"
)]
pub(super) async fn afterwards(recorder: &mut Recorder, cast: &Cast) {
    recorder.covered().await;
    let inbox = format!("/api/v1/messages/{}", cast.bert.uuid());
    recorder
        .shown_to_all(
            cast,
            "inbox",
            &inbox,
            &["", "?limit=2", "?limit=0", "?after=nothing"],
        )
        .await;
    let page = recorder
        .get("inbox page", Some(&cast.bert), &format!("{inbox}?limit=1"))
        .await
        .json();
    let cursor = page["next"].as_str().unwrap().to_owned();
    let path = format!("{inbox}?limit=1&after={cursor}");
    recorder
        .get("inbox next page", Some(&cast.bert), &path)
        .await;
    let id = page["messages"][0]["envelope"]["id"].as_str().unwrap();
    recorder
        .shown_to_all(cast, "message", "/api/v1/messages/by-id/", &[id])
        .await;
    let orders = [
        ("ack", format!("{inbox}/ack?through={cursor}")),
        ("ack of nothing", format!("{inbox}/ack?through=nothing")),
        (
            "heartbeat",
            format!("/api/v1/agents/{}/heartbeat?ttl_s=10", cast.bert.uuid()),
        ),
        (
            "heartbeat too long",
            format!("/api/v1/agents/{}/heartbeat?ttl_s=3601", cast.bert.uuid()),
        ),
        ("token", "/api/v1/tokens?scope=explorer&ttl_s=7".to_owned()),
        ("token for nothing", "/api/v1/tokens?scope=admin".to_owned()),
    ];
    for (name, path) in &orders {
        for (who, by) in [
            ("bert", Some(&cast.bert)),
            ("eve", Some(&cast.eve)),
            ("nobody", None),
        ] {
            recorder
                .ask(
                    &format!("{name} by {who}"),
                    (Method::POST, path),
                    by,
                    Vec::new(),
                )
                .await;
        }
    }
    recorder
        .get("agents online", None, "/api/v1/agents?availability=online")
        .await;
    recorder.pass(12_000, 0).await;
    let world = recorder.world.clone();
    let request = Deal::new(&world, &cast.ada, &cast.bert).request;
    recorder
        .send("request to one who is offline", &request, 0)
        .await;
    recorder.covered().await;
    for (name, path) in [
        ("ready in the end", "/ready"),
        ("keys of the ledger", "/.well-known/x811-keys"),
        ("checkpoint", "/log/checkpoint"),
        ("refresh", "/log/refresh/20"),
        ("refresh of nothing", "/log/refresh/99999"),
    ] {
        recorder.get(name, None, path).await;
    }
    let parts = [
        "/tile/0/000.p/20",
        "/tile/entries/000.p/20",
        "/tile/1/000.p/1",
        "/tile/x",
    ];
    recorder.shown_to_all(cast, "log", "/log", &parts).await;
    let parts = [
        "/0/proof",
        "/3/proof",
        "/30/proof",
        "/99999/proof",
        "/x/proof",
    ];
    recorder
        .shown_to_all(cast, "record", "/api/v1/records", &parts)
        .await;
    for (what, parts) in [
        ("interactions", ["", "?limit=1"]),
        ("negotiations", ["", "?limit=1"]),
        ("sessions", ["", "?limit=0"]),
        ("agreements", ["", "?type=tool.api"]),
        ("rounds", ["", "?member=me"]),
        ("escalations", ["", "?who=me"]),
    ] {
        recorder
            .shown_to_all(cast, what, &format!("/api/v1/{what}"), &parts)
            .await;
    }
    let parts = [
        "",
        "/trust",
        "/conduct",
        "/capabilities",
        "/capabilities/bundle",
        "/agent-card.json",
    ];
    let path = format!("/api/v1/agents/{}", cast.bert.uuid());
    recorder
        .shown_to_all(cast, "agent in the end", &path, &parts)
        .await;
}
