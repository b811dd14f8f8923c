//! Every code of the registry (AE-106, AE-107): provoked over HTTP, or excused with the reason. A
//! code that is added without one of the two fails this file.

mod sessions;

use crate::base::Base;
use crate::world::{Agent, BEGUN, Deal, World};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::Write as _;
use x811_protocol::code::Code;
use x811_protocol::envelope::SealedEnvelope;
use x811_protocol::id::EnvelopeId;

/// Codes that no answer and no notice of the ledger carries, and why.
const EXCUSED: [(Code, &str); 13] = [
    (
        Code::PolicyRejected,
        "an initiator writes it into its own REJECT (AX-36): x811-client's policy tests provoke it",
    ),
    (
        Code::Excluded,
        "it takes a month of breaches: the tests of exclusions of x811-ledger provoke it",
    ),
    (Code::Late, OF_ROUNDS),
    (Code::WrongLeader, OF_ROUNDS),
    (Code::Suspended, OF_ROUNDS),
    (Code::TooEarly, OF_ROUNDS),
    (Code::LeaderSilent, IN_LAPSES),
    (Code::VotesClosed, IN_LAPSES),
    (Code::RevealsClosed, IN_LAPSES),
    (Code::HumanSilent, IN_LAPSES),
    (Code::ExecutionOverdue, IN_LAPSES),
    (Code::NotResubmitted, IN_LAPSES),
    (
        Code::TraceInvalid,
        "it is about a header beside a message: the tests of tokens there provoke it",
    ),
];

/// No message is refused so.
const IN_LAPSES: &str = "it stands in the lapse of a window of a round";

/// The machine of rounds alone answers so.
const OF_ROUNDS: &str = "the tests of rounds of x811-protocol and x811-ledger provoke it";

const TX: &str = "0x00000000000000000000000000000000000000000000000000000000000000aa";

/// What became of the nonce of a refused message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Nonce {
    /// The same bytes again get X811-2001, which names the first answer.
    Spent,
    /// The same bytes again get the same answer.
    Kept,
}
use Nonce::{Kept, Spent};

/// The codes that were met.
#[derive(Debug, Default)]
struct Met(BTreeSet<Code>);

impl Met {
    /// Sends what must be refused like that, and finds out about its nonce.
    async fn refused(
        &mut self,
        world: &World,
        body: Vec<u8>,
        (code, status, nonce): (Code, u16, Nonce),
    ) {
        world
            .post(body.clone())
            .await
            .refused(status, code.as_str());
        let again = world.post(body).await;
        match nonce {
            Kept => again.refused(status, code.as_str()),
            Spent => {
                let answer = again.refused(409, "X811-2001");
                assert_eq!(answer["details"]["first"], json!({ "code": code }));
                answer
            }
        };
        self.0.insert(code);
    }

    /// Waits until `agent` is told that code by a message in its inbox.
    async fn told(&mut self, world: &World, agent: &Agent, code: Code) {
        let (mut seen, mut after) = (Vec::new(), String::new());
        while !seen.contains(&json!(code)) {
            let path = format!("/api/v1/messages/{}?wait_ms=30000{after}", agent.uuid());
            let page = world.get(&path).await.expect(200);
            let messages = page["messages"].as_array().unwrap();
            assert!(!messages.is_empty(), "never told {code}, but {seen:?}");
            seen.extend(
                messages
                    .iter()
                    .map(|m| m["envelope"]["payload"]["code"].clone()),
            );
            after = format!("&after={}", page["next"].as_str().unwrap());
        }
        self.0.insert(code);
    }
}

#[tokio::test]
async fn ae_106_every_code_is_provoked_or_excused() {
    let mut met = Met::default();
    envelopes(&mut met).await;
    registration(&mut met).await;
    standing(&mut met).await;
    silence(&mut met).await;
    negotiation(&mut met).await;
    descriptor(&mut met).await;
    sessions::provoked(&mut met).await;
    sessions::late(&mut met).await;
    windows(&mut met).await;
    settlement(&mut met).await;
    the_ledger_itself(&mut met).await;
    let excused = EXCUSED.map(|(code, _)| code);
    for code in Code::ALL {
        assert_ne!(
            met.0.contains(&code),
            excused.contains(&code),
            "{code} is to be provoked or excused, one of the two"
        );
    }
}

/// 3003.
async fn silence(met: &mut Met) {
    let (world, [a, b]) = World::peopled().await;
    let path = format!("/api/v1/agents/{}/heartbeat?ttl_s=1", b.uuid());
    world.post_as(&b, &path).await.expect(200);
    world.clock.advance_ms(1_001);
    let request = Deal::new(&world, &a, &b).request.json;
    met.refused(&world, request, (Code::AgentOffline, 503, Kept))
        .await;
}

/// 2001 to 2004, 9003, 1001, 3001.
async fn envelopes(met: &mut Met) {
    let (world, [a, b]) = World::peopled().await;
    let ping = |by: &Agent, to| by.say(&world, to, "x811.test/ping", json!({}));

    let good = ping(&a, b.did);
    world.accept(&good).await;
    let replay = (Code::NonceReplay, 409, Kept);
    met.refused(&world, good.json, replay).await;

    let mut old = a.header(&world, b.did, "x811.test/ping");
    old.created_ms = BEGUN.saturating_sub_ms(300_001);
    old.id = EnvelopeId::from_parts(old.created_ms.as_ms(), &[3; 10]);
    let untimely = (Code::TimestampInvalid, 401, Kept);
    met.refused(&world, a.say_as(old, json!({})).json, untimely)
        .await;

    let mut imposter = Agent::new();
    imposter.did = a.did;
    let unsigned = (Code::SignatureInvalid, 401, Kept);
    met.refused(&world, ping(&imposter, b.did).json, unsigned)
        .await;

    let missing = (Code::MissingCredentials, 401, Kept);
    for member in ["signature", "nonce", "from"] {
        let mut envelope: Value = serde_json::from_slice(&ping(&a, b.did).json).unwrap();
        envelope.as_object_mut().unwrap().remove(member);
        met.refused(&world, envelope.to_string().into_bytes(), missing)
            .await;
    }

    let mut later = a.header(&world, b.did, "x811.test/ping");
    later.version = "1.0.0".to_owned();
    let unknown_version = (Code::ProtocolVersionUnsupported, 400, Kept);
    met.refused(&world, a.say_as(later, json!({})).json, unknown_version)
        .await;

    let nobody = Agent::new();
    let unknown_sender = (Code::DidNotFound, 404, Kept);
    met.refused(&world, ping(&nobody, b.did).json, unknown_sender)
        .await;
    let unknown_recipient = (Code::AgentNotFound, 404, Spent);
    met.refused(&world, ping(&a, nobody.did).json, unknown_recipient)
        .await;
}

/// 1004 and 1005.
async fn registration(met: &mut Met) {
    let world = World::start().await;
    for (change, code) in [
        (
            (|payload: &mut Value| payload["document"]["verificationMethod"] = json!([]))
                as fn(&mut Value),
            Code::DidDocumentInvalid,
        ),
        (
            |payload| {
                payload["document"]["verificationMethod"][0]["publicKeyMultibase"] = json!("z6Mk");
            },
            Code::InvalidPublicKey,
        ),
    ] {
        let agent = Agent::new();
        let mut payload = agent.registration_payload(&world);
        change(&mut payload);
        let envelope = agent.say(&world, world.ledger(), "x811.registry/register", payload);
        met.refused(&world, envelope.json, (code, 400, Kept)).await;
        world.accept(&agent.registration(&world)).await;
    }
}

/// 1002 and 1003, to whoever goes on and to whoever looks.
async fn standing(met: &mut Met) {
    let world = World::start().await;
    for (verb, code) in [
        ("deactivate", Code::DidDeactivated),
        ("revoke", Code::DidRevoked),
    ] {
        let agent = world.agent().await;
        let ask = |verb| {
            let verb = format!("x811.registry/{verb}");
            agent.say(&world, world.ledger(), &verb, json!({}))
        };
        world.accept(&ask(verb)).await;
        met.refused(&world, ask("deactivate").json, (code, 410, Spent))
            .await;
        let path = format!("/api/v1/agents/{}/did", agent.uuid());
        world.get(&path).await.refused(410, code.as_str());
    }
}

/// The same message with another payload, properly signed.
pub(crate) fn changed(
    world: &World,
    by: &Agent,
    sealed: &SealedEnvelope,
    change: impl FnOnce(&mut Value),
) -> Vec<u8> {
    let mut body: Value = serde_json::from_slice(&sealed.body).unwrap();
    change(&mut body["payload"]);
    let kind = sealed.header.message_type.to_string();
    by.say(world, sealed.header.to, &kind, body["payload"].take())
        .json
}

/// CCN-1001, CCN-1002, CCN-4002.
async fn descriptor(met: &mut Met) {
    let (world, [agent]) = World::peopled().await;
    let advert = |revision: u64, change: fn(&mut Value)| {
        let mut payload = crate::capabilities::descriptor(&agent, revision);
        change(&mut payload);
        let kind = "x811.capability/advertise";
        agent.say(&world, world.ledger(), kind, payload).json
    };
    let none = advert(1, |payload| payload["capabilities"] = json!("all"));
    met.refused(&world, none, (Code::Schema, 400, Spent)).await;
    let magic = advert(1, |payload| {
        payload["capabilities"][0]["category"] = json!("magic")
    });
    met.refused(&world, magic, (Code::UnknownValue, 400, Spent))
        .await;
    let early = advert(2, |_| {});
    met.refused(&world, early, (Code::NotYourTurn, 422, Spent))
        .await;
}

/// 3002, 4001, 4010, 6001 to 6003.
async fn negotiation(met: &mut Met) {
    let (world, [initiator, provider]) = World::peopled().await;
    let deal = Deal::new(&world, &initiator, &provider);
    let other_hash = json!("ab".repeat(32));

    let dance = |p: &mut Value| p["task_type"] = json!("dance");
    let request = changed(&world, &initiator, &deal.request, dance);
    met.refused(&world, request, (Code::CapabilityNotRegistered, 422, Spent))
        .await;
    let early = (Code::InvalidStateTransition, 422, Spent);
    met.refused(&world, deal.offer().json, early).await;

    world.accept(&deal.request).await;
    let offer = deal.offer();
    world.accept(&offer).await;
    let wrong = |p: &mut Value| p["offer_hash"] = other_hash.clone();
    let accept = changed(&world, &initiator, &deal.accept(&offer), wrong);
    met.refused(&world, accept, (Code::OfferHashMismatch, 422, Spent))
        .await;
    world.accept(&deal.accept(&offer)).await;

    let result = deal.result(&offer);
    let untyped = changed(&world, &provider, &result, |p| {
        p["content_type"] = json!("?")
    });
    met.refused(&world, untyped, (Code::ContentTypeUnsupported, 415, Spent))
        .await;
    let long = json!("x".repeat(524_289));
    let large = changed(&world, &provider, &result, |p| p["content"] = long);
    met.refused(&world, large, (Code::ResultTooLarge, 413, Spent))
        .await;
    world.accept(&result).await;

    let wrong = |p: &mut Value| p["result_hash"] = other_hash.clone();
    let verify = changed(&world, &initiator, &deal.verify(&offer), wrong);
    met.refused(&world, verify, (Code::ResultHashMismatch, 422, Spent))
        .await;
}

/// 4020 to 4024, told to both parties; the direct answer to a late message is in `races`.
async fn windows(met: &mut Met) {
    for (said, window_ms, code) in [
        (1, 60_000, Code::RequestTimeout),
        (2, 300_000, Code::OfferExpired),
        (3, 3_600_000, Code::ResultTimeout),
        (4, 30_000, Code::VerifyTimeout),
        (5, 60_000, Code::PaymentTimeout),
    ] {
        let (world, [initiator, provider]) = World::peopled().await;
        let deal = Deal::new(&world, &initiator, &provider);
        let offer = deal.offer();
        let messages = [
            deal.request.clone(),
            offer.clone(),
            deal.accept(&offer),
            deal.result(&offer),
            deal.verify(&offer),
        ];
        for message in &messages[..said] {
            world.accept(message).await;
        }
        world.clock.advance_ms(window_ms + 1);
        met.told(&world, &initiator, code).await;
        met.told(&world, &provider, code).await;
    }
}

/// 5001 to 5003 and 5030.
async fn settlement(met: &mut Met) {
    let (base, world, [initiator, provider]) = Base::peopled().await;
    let deal = Deal::new(&world, &initiator, &provider);
    let offer = deal.verified().await;
    let payment = deal.payment(&offer, TX);
    let short = changed(&world, &initiator, &payment, |p| p["amount"] = json!("10"));
    met.refused(&world, short, (Code::InsufficientBalance, 402, Spent))
        .await;
    let nobody = json!(Agent::new().address().to_checksum());
    let strange = changed(&world, &initiator, &payment, |p| {
        p["payer_address"] = nobody
    });
    met.refused(&world, strange, (Code::InvalidPaymentAddress, 400, Spent))
        .await;

    base.fail(TX);
    base.watch_ms(&world, 2_000).await;
    world.accept(&payment).await;
    base.watch_ms(&world, 8_000).await;
    met.told(&world, &provider, Code::PaymentFailed).await;
    base.watch_ms(&world, 24_000).await;
    met.told(&world, &initiator, Code::PaymentConfirmationTimeout)
        .await;
}

/// 9001 and 9002.
async fn the_ledger_itself(met: &mut Met) {
    let (world, [a, b]) = World::peopled().await;
    let early = a.say(&world, b.did, "x811.test/ping", json!({}));
    world.clock.jump_wall_to(BEGUN.saturating_add_ms(120_000));
    let busy = (Code::RateLimitExceeded, 429, Kept);
    met.refused(&world, early.json.clone(), busy).await;
    world.clock.advance_ms(10_001);
    world.accept(&early).await;

    for entry in std::fs::read_dir(world.dir.path()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.to_string_lossy();
        if name.ends_with(".db") || name.ends_with("-wal") {
            // In place: the server has them open.
            let mut file = OpenOptions::new().write(true).open(&path).unwrap();
            let length = usize::try_from(file.metadata().unwrap().len()).unwrap();
            file.write_all(&vec![0x5a; length]).unwrap();
        }
    }
    let path = format!("/api/v1/messages/by-id/{}", early.header.id);
    let damaged = world.get(&path).await.refused(500, "X811-9002");
    assert!(
        damaged.get("details").is_none(),
        "nothing of the inside shows"
    );
    met.0.insert(Code::InternalError);
}

/// A policy's refusal travels inside the REJECT, from one party to the other.
#[tokio::test]
async fn ax_036_the_provider_reads_the_code_of_a_policy_that_refused() {
    let (world, [initiator, provider]) = World::peopled().await;
    let declined = Deal::new(&world, &initiator, &provider);
    world.accept(&declined.request).await;
    let offer = declined.offer();
    world.accept(&offer).await;
    let reject = json!({
        "offer_id": offer.header.id,
        "reason": "over the limit of my policy",
        "code": "PRICE_TOO_HIGH",
        "error_code": Code::PolicyRejected,
    });
    let reject = initiator.say(&world, provider.did, "x811/reject", reject);
    world.accept(&reject).await;
    let delivered = world.inbox(&provider).await.pop().unwrap();
    let carried = &delivered["envelope"]["payload"]["error_code"];
    assert_eq!(*carried, json!("X811-4030"));
}
