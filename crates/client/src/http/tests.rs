//! Retries, lost answers and false signatures, against a ledger that answers from a script.

mod clock_offset;

use serde_json::{Value, json};
use x811_protocol::canonical::to_canonical;
use x811_protocol::code::Code;
use x811_protocol::digest::Digest;
use x811_protocol::document::DidDocument;
use x811_protocol::envelope::SealedEnvelope;
use x811_protocol::id::InteractionId;

use super::*;
use crate::compose::{Composer, Custom};
use crate::identity::Identity;
use crate::testing::{CountingEntropy, ManualClock, Step, identity, ledger_did, scripted_ledger};

struct World {
    clock: Arc<ManualClock>,
    alice: Identity,
    bob: Identity,
}

impl World {
    fn new() -> World {
        // Every test of the crate may be the first; all install the same provider.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let entropy = CountingEntropy::default();
        World {
            clock: Arc::default(),
            alice: identity("alice", &entropy),
            bob: identity("bob", &entropy),
        }
    }

    fn client(&self, base_url: &str) -> LedgerClient {
        let entropy: Arc<CountingEntropy> = Arc::default();
        let policy = RetryPolicy {
            attempts: 3,
            first_delay_ms: 100,
            max_delay_ms: 5_000,
        };
        LedgerClient::with(base_url, policy, self.clock.clone(), entropy).unwrap()
    }

    fn pauses_ms(&self) -> Vec<u64> {
        self.clock.pauses_ms.lock().unwrap().clone()
    }

    /// A message from alice to bob.
    fn hello(&self, text: &str) -> SealedEnvelope {
        let custom = Custom {
            message_type: "x811.ext/hello".parse().unwrap(),
            payload: [("text".to_owned(), json!(text))].into_iter().collect(),
        };
        let entropy = CountingEntropy::default();
        // Another text, another id.
        entropy.fill(&mut vec![0; 8 * text.len()]).unwrap();
        Composer::new(&self.alice, &entropy, &*self.clock)
            .seal(self.bob.did, &custom)
            .unwrap()
    }
}

fn accepted(envelope: &SealedEnvelope) -> Value {
    json!({
        "envelope_id": envelope.header.id, "position": 7, "record_hash": Digest::of(b"record"),
    })
}

fn refusal(code: Code, details: Value) -> Value {
    json!({"code": code, "message": "as the test says", "details": details})
}

fn refused_code(answer: Result<Accepted, ClientError>) -> Code {
    match answer {
        Err(ClientError::Refused(refused)) => refused.code,
        other => panic!("{other:?}"),
    }
}

fn body_of(request: &str) -> &str {
    request.split_once("\r\n\r\n").unwrap().1
}

#[tokio::test]
async fn a_lost_answer_is_asked_for_again_with_the_same_bytes() {
    let world = World::new();
    let envelope = world.hello("hi");
    let first = json!({"first": accepted(&envelope)});
    let (base, ledger) = scripted_ledger(vec![
        Step::LoseAnswer,
        Step::json(409, refusal(Code::NonceReplay, first)),
    ])
    .await;
    let answer = world.client(&base).send(&envelope).await.unwrap();
    assert_eq!(
        (answer.position, answer.envelope_id),
        (7, envelope.header.id)
    );
    let requests = ledger.await.unwrap();
    assert_eq!(body_of(&requests[0]).as_bytes(), envelope.json);
    assert_eq!(body_of(&requests[0]), body_of(&requests[1]));
    assert!(requests[0].starts_with("POST /api/v1/messages HTTP/1.1"));
    assert_eq!(world.pauses_ms().len(), 1);
}

#[tokio::test]
async fn ax_028_a_replay_of_a_refused_envelope_tells_the_first_refusal() {
    let world = World::new();
    let envelope = world.hello("hi");
    let first = json!({"first": {"code": "X811-4010"}});
    let (base, _) = scripted_ledger(vec![Step::json(409, refusal(Code::NonceReplay, first))]).await;
    let answer = world.client(&base).send(&envelope).await;
    assert_eq!(refused_code(answer), Code::OfferHashMismatch);
}

#[tokio::test]
async fn a_nonce_spent_by_another_envelope_is_no_success() {
    let world = World::new();
    let (envelope, other) = (world.hello("hi"), world.hello("other"));
    for details in [json!({"first": accepted(&other)}), json!({}), Value::Null] {
        let (base, _) =
            scripted_ledger(vec![Step::json(409, refusal(Code::NonceReplay, details))]).await;
        let answer = world.client(&base).send(&envelope).await;
        assert_eq!(refused_code(answer), Code::NonceReplay);
    }
}

#[tokio::test]
async fn ae_108_busy_and_broken_ledgers_are_tried_again() {
    let world = World::new();
    let envelope = world.hello("hi");
    let busy = Step::Answer {
        status: 429,
        headers: "retry-after: 2\r\n",
        body: refusal(Code::RateLimitExceeded, Value::Null).to_string(),
    };
    let (base, _) = scripted_ledger(vec![
        busy,
        Step::json(500, refusal(Code::InternalError, Value::Null)),
        Step::json(202, accepted(&envelope)),
    ])
    .await;
    world.client(&base).send(&envelope).await.unwrap();
    let pauses_ms = world.pauses_ms();
    assert_eq!(pauses_ms[0], 2_000, "Retry-After is honoured");
    assert!((100..=200).contains(&pauses_ms[1]), "{pauses_ms:?}");
}

#[tokio::test]
async fn ae_108_patience_ends_with_the_last_answer() {
    let world = World::new();
    let steps = (0..3).map(|_| Step::json(500, refusal(Code::InternalError, Value::Null)));
    let (base, ledger) = scripted_ledger(steps.collect()).await;
    let answer = world.client(&base).send(&world.hello("hi")).await;
    assert_eq!(refused_code(answer), Code::InternalError);
    assert_eq!(ledger.await.unwrap().len(), 3);
}

#[tokio::test]
async fn other_refusals_are_final() {
    let world = World::new();
    for (status, code) in [
        (422, Code::InvalidStateTransition),
        (401, Code::SignatureInvalid),
        (404, Code::AgentNotFound),
        (502, Code::PaymentFailed),
        (504, Code::PaymentConfirmationTimeout),
    ] {
        let (base, _) = scripted_ledger(vec![Step::json(status, refusal(code, Value::Null))]).await;
        assert_eq!(
            refused_code(world.client(&base).send(&world.hello("hi")).await),
            code
        );
    }
    assert_eq!(world.pauses_ms(), Vec::<u64>::new());
}

#[tokio::test]
async fn nobody_there_is_unreachable_and_says_where() {
    let world = World::new();
    let (base, ledger) = scripted_ledger(Vec::new()).await;
    ledger.await.unwrap();
    let error = world
        .client(&base)
        .send(&world.hello("hi"))
        .await
        .unwrap_err();
    assert!(matches!(&error, ClientError::Unreachable { url, .. } if url.starts_with(&base)));
    assert_eq!(world.pauses_ms().len(), 2);
}

#[tokio::test]
async fn other_servers_are_not_taken_for_a_ledger() {
    let world = World::new();
    let table = [
        (200, "<html>hello</html>"),
        (404, "not found"),
        (404, r#"{"code":"E42","message":"?"}"#),
        (302, "{}"),
        (202, "{}"),
    ];
    for (status, body) in table {
        let (base, _) = scripted_ledger(vec![Step::json(status, body)]).await;
        let error = world
            .client(&base)
            .send(&world.hello("hi"))
            .await
            .unwrap_err();
        assert!(
            matches!(error, ClientError::NotALedger { .. }),
            "{status} {body}: {error}"
        );
    }
    for text in [
        "",
        "ledger",
        "ftp://example.org",
        "http://example.org/?a=b",
        "file:///etc",
    ] {
        assert!(
            matches!(LedgerClient::new(text), Err(ClientError::Address { .. })),
            "{text}"
        );
    }
}

#[test]
fn a_base_address_may_have_a_path() {
    let world = World::new();
    for base in ["http://example.org/x811", "http://example.org/x811/"] {
        let url = world.client(base).url(&["api", "v1"], &[("a", "b c")]);
        assert_eq!(url.as_str(), "http://example.org/x811/api/v1?a=b+c");
    }
}

/// The answers that lead to an agent's keys.
fn keys_of(agent: &Identity) -> [Step; 2] {
    let key = agent.agent_key();
    let record = json!({
        "did": agent.did, "status": "active", "capabilities": [], "wallets": [],
        "keys": [key], "registered_at_ms": 1, "position": 3,
    });
    let document = DidDocument::build(agent.did, &[key], None);
    [Step::json(200, record), Step::json(200, document)]
}

fn page(envelopes: &[&[u8]]) -> Step {
    let items: Vec<String> = envelopes
        .iter()
        .enumerate()
        .map(|(index, envelope)| {
            let envelope = String::from_utf8_lossy(envelope);
            format!(r#"{{"cursor":"c{index}","position":{index},"envelope":{envelope}}}"#)
        })
        .collect();
    Step::json(
        200,
        format!(r#"{{"messages":[{}],"next":"end"}}"#, items.join(",")),
    )
}

#[tokio::test]
async fn ax_045_and_ae_084_an_inbox_gives_each_signed_message_once() {
    let world = World::new();
    let (one, two) = (world.hello("one"), world.hello("second"));
    let forged = String::from_utf8(two.json.clone())
        .unwrap()
        .replace("second", "forged");
    let to_someone_else = Composer::new(&world.alice, &CountingEntropy::default(), &*world.clock)
        .seal(
            ledger_did(),
            &Custom {
                message_type: "x811.ext/other".parse().unwrap(),
                payload: serde_json::Map::new(),
            },
        )
        .unwrap();
    let envelopes = [
        one.json.as_slice(),
        forged.as_bytes(),
        one.json.as_slice(),
        &to_someone_else.json,
        two.json.as_slice(),
        br#"{"no":"envelope"}"#,
    ];
    let [record, document] = keys_of(&world.alice);
    let [record_again, document_again] = keys_of(&world.alice);
    // Asked for once, and once more for the signature that does not hold (AX-29).
    // Then for former keys, which this ledger does not show.
    let not_shown = || Step::json(404, refusal(Code::InvalidStateTransition, Value::Null));
    let steps = vec![
        page(&envelopes),
        record,
        document,
        record_again,
        document_again,
        not_shown(),
    ];
    let (base, ledger) = scripted_ledger(steps).await;
    let request = InboxRequest {
        after: Some(Cursor::from("c 9".to_owned())),
        limit: Some(500),
        wait_ms: 20,
        instance: None,
    };
    let page = world
        .client(&base)
        .inbox(world.bob.did, &request)
        .await
        .unwrap();
    let ids: Vec<_> = page
        .messages
        .iter()
        .map(|m| m.envelope.header().id)
        .collect();
    assert_eq!(ids, [one.header.id, two.header.id]);
    let bad: Vec<_> = page.unverified.iter().map(|bad| bad.position).collect();
    assert_eq!(bad, [1, 3, 5]);
    assert_eq!(page.next, Some(Cursor::from("end".to_owned())));
    let requests = ledger.await.unwrap();
    let uuid = world.bob.did.uuid();
    let expected = format!("GET /api/v1/messages/{uuid}?limit=50&wait_ms=20&after=c+9 ");
    assert!(requests[0].starts_with(&expected), "{}", requests[0]);
}

#[tokio::test]
async fn ax_032_the_ledgers_own_notices_are_checked_with_its_document() {
    let world = World::new();
    let envelope = world.hello("notice");
    let unknown = Step::json(404, refusal(Code::DidNotFound, Value::Null));
    let key = world.alice.agent_key();
    let document = Step::json(200, DidDocument::build(world.alice.did, &[key], None));
    let (base, _) = scripted_ledger(vec![unknown, document]).await;
    let verified = world
        .client(&base)
        .verified(&envelope.json, 7)
        .await
        .unwrap();
    assert_eq!(verified.header().id, envelope.header.id);

    // Nobody else is believed on the strength of the ledger's document.
    let unknown = Step::json(404, refusal(Code::DidNotFound, Value::Null));
    let document = Step::json(200, DidDocument::build(ledger_did(), &[key], None));
    let (base, _) = scripted_ledger(vec![unknown, document]).await;
    let error = world
        .client(&base)
        .verified(&envelope.json, 7)
        .await
        .unwrap_err();
    assert!(matches!(error, ClientError::Untrusted { .. }), "{error}");
}

fn record(interaction: &str, seq: u64) -> Value {
    let leaf = json!({
        "v": 1, "position": 10 + seq, "prev": Digest::ZERO, "recorded_at_ms": 1_000 + seq,
        "stream": format!("interaction:{interaction}"), "stream_seq": seq,
        "event": {"type": "lapsed", "window": "offer", "code": "X811-4020"},
    });
    let hash = Digest::of_parts(&[&[0], &to_canonical(&leaf)]);
    json!({
        "position": 10 + seq, "record_hash": hash, "recorded_at_ms": 1_000 + seq,
        "stream_seq": seq, "leaf": leaf,
    })
}

#[tokio::test]
async fn rec_1_a_history_is_read_page_by_page_and_held_against_its_hashes() {
    let world = World::new();
    let text = "0190a1b2-c3d4-7e5f-8901-234567890abc";
    let id: InteractionId = text.parse().unwrap();
    let first =
        json!({"interaction": {}, "records": [record(text, 0), record(text, 1)], "next": 1});
    let last = json!({"interaction": {}, "records": [record(text, 2)]});
    let (base, ledger) = scripted_ledger(vec![Step::json(200, first), Step::json(200, last)]).await;
    let records = world.client(&base).history(id).await.unwrap();
    assert_eq!(
        records.iter().map(|r| r.stream_seq).collect::<Vec<_>>(),
        [0, 1, 2]
    );
    assert_eq!(records[0].event().unwrap().type_name(), "lapsed");
    let requests = ledger.await.unwrap();
    assert!(requests[1].contains("after_seq=1"), "{}", requests[1]);

    let altered = |change: fn(&mut Value)| {
        let mut record = record(text, 0);
        change(&mut record);
        record
    };
    let table = [
        altered(|record| record["leaf"]["event"]["code"] = json!("X811-4021")),
        altered(|record| record["record_hash"] = json!(Digest::ZERO)),
        altered(|record| record["recorded_at_ms"] = json!(5)),
        record(text, 1),
        record("0190a1b2-c3d4-7e5f-8901-234567890abd", 0),
    ];
    for bad in table {
        let page = json!({"interaction": {}, "records": [bad]});
        let (base, _) = scripted_ledger(vec![Step::json(200, &page)]).await;
        let error = world.client(&base).history(id).await.unwrap_err();
        assert!(
            matches!(error, ClientError::Untrusted { .. }),
            "{page}: {error}"
        );
    }
}

/// The proof of a request as a ledger at `base` would check it.
fn proof_holds(base: &str, request: &str) -> Option<x811_protocol::signed_read::ReadProof> {
    let field = |name: &str| {
        let lines = request.lines().filter_map(|line| line.split_once(": "));
        let mut values = lines.filter(|(field, _)| field.eq_ignore_ascii_case(name));
        values.next().map(|(_, value)| value.as_bytes().to_vec())
    };
    let input = field("signature-input")?;
    let signature = field("signature").unwrap();
    let proof = x811_protocol::signed_read::ReadProof::parse(&input, &signature).unwrap();
    let (path, query) = request.split(' ').nth(1).unwrap().split_once('?').unwrap();
    let target = x811_protocol::signed_read::Target {
        method: "GET",
        authority: base.strip_prefix("http://").unwrap(),
        path,
        query: Some(query),
    };
    assert!(proof.verify(&target), "{request}");
    Some(proof)
}

#[tokio::test]
async fn promise_7_reads_are_signed_anew_for_each_try() {
    let world = World::new();
    let busy = || Step::json(429, refusal(Code::RateLimitExceeded, Value::Null));
    let page = || Step::json(200, json!({"messages": [], "next": "n"}));
    let (base, ledger) = scripted_ledger(vec![busy(), page(), page()]).await;
    let request = InboxRequest {
        after: Some(Cursor::from("a b+c".to_owned())),
        ..InboxRequest::default()
    };
    let client = world.client(&base).reading_as(&world.alice);
    client.inbox(world.alice.did, &request).await.unwrap();
    let unsigned = world.client(&base);
    unsigned.inbox(world.alice.did, &request).await.unwrap();
    let requests = ledger.await.unwrap();
    let first = proof_holds(&base, &requests[0]).unwrap();
    let second = proof_holds(&base, &requests[1]).unwrap();
    assert_eq!(first.key_id.did, world.alice.did);
    assert_eq!(first.created_s, crate::testing::NOW_MS / 1_000);
    assert_ne!(first.nonce, second.nonce);
    assert_eq!(proof_holds(&base, &requests[2]), None);
}

#[tokio::test]
async fn promise_7_what_is_public_is_not_signed() {
    let world = World::new();
    let (base, ledger) = scripted_ledger(vec![Step::json(
        404,
        refusal(Code::DidNotFound, Value::Null),
    )])
    .await;
    let client = world.client(&base).reading_as(&world.alice);
    assert!(client.agent(world.bob.did).await.is_err());
    assert!(
        !ledger.await.unwrap()[0]
            .to_lowercase()
            .contains("signature")
    );
}
