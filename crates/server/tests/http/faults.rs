//! Every fault of a message that is cheap to make, with its code and status (AX-42), and that none
//! of them breaks anything.

use crate::world::{Agent, World};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use x811_protocol::envelope::SealedEnvelope;
use x811_protocol::id::EnvelopeId;

/// The envelope with something changed after it was signed.
fn tampered(sealed: &SealedEnvelope, change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut envelope: Value = serde_json::from_slice(&sealed.json).unwrap();
    change(&mut envelope);
    serde_json::to_vec(&envelope).unwrap()
}

fn without(sealed: &SealedEnvelope, member: &str) -> Vec<u8> {
    tampered(sealed, |envelope| {
        envelope.as_object_mut().unwrap().remove(member);
    })
}

/// A name, bytes to send, and the status and code they are refused with.
type Fault = (&'static str, Vec<u8>, (u16, &'static str));

async fn refuse_all(world: &World, faults: Vec<Fault>) {
    for (name, body, (status, code)) in faults {
        let answer = world.post(body).await;
        let found = (answer.status, answer.json()["code"].clone());
        assert_eq!(found, (status, json!(code)), "{name}: {}", answer.text);
    }
}

#[tokio::test]
async fn ax_030_whoever_is_not_authentic_is_refused_and_spends_no_nonce() {
    const UNSIGNED: (u16, &str) = (401, "X811-2003");
    const UNTIMELY: (u16, &str) = (401, "X811-2002");
    let (world, [a, b]) = World::peopled().await;
    let good = || a.say(&world, b.did, "x811.test/ping", json!({ "n": 1 }));
    let said = |by: &Agent, to| by.say(&world, to, "x811.test/ping", json!({})).json;
    let (stranger, mut imposter) = (Agent::new(), Agent::new());
    let unknown = said(&stranger, b.did);
    imposter.did = a.did;
    let mut stale = a.header(&world, b.did, "x811.test/ping");
    stale.created_ms = stale.created_ms.saturating_sub_ms(300_001);
    stale.id = EnvelopeId::from_parts(stale.created_ms.as_ms(), &[7; 10]);
    let mut expired = a.header(&world, b.did, "x811.test/ping");
    expired.expires_ms = Some(expired.created_ms);
    let altered = |change: fn(&mut Value)| tampered(&good(), change);
    let faults: Vec<Fault> = vec![
        (
            "payload",
            altered(|e| e["payload"]["n"] = json!(2)),
            UNSIGNED,
        ),
        (
            "nonce",
            altered(|e| e["nonce"] = json!(SOME_NONCE)),
            UNSIGNED,
        ),
        ("member", altered(|e| e["extra"] = json!(1)), UNSIGNED),
        (
            "no base64",
            altered(|e| e["signature"] = json!("AAAA")),
            UNSIGNED,
        ),
        ("AE-95: wrong key", said(&imposter, b.did), UNSIGNED),
        ("unknown sender", unknown, (404, "X811-1001")),
        ("stale", a.say_as(stale, json!({})).json, UNTIMELY),
        ("expired", a.say_as(expired, json!({})).json, UNTIMELY),
    ];
    refuse_all(&world, faults).await;
    let envelope = good();
    let changed = tampered(&envelope, |e| e["payload"]["n"] = json!(2));
    world.post(changed).await.refused(401, "X811-2003");
    world.accept(&envelope).await;
    assert_eq!(world.inbox(&b).await.len(), 1, "nothing else was recorded");
}

const SOME_NONCE: &str = "a1b2c3d4-e5f6-4890-abcd-ef1234567890";

#[tokio::test]
async fn ax_046_whatever_lacks_a_member_is_refused() {
    let (world, [a, b]) = World::peopled().await;
    let good = a.say(&world, b.did, "x811.test/ping", json!({}));
    let nobody = Agent::new().did;
    let to_nobody = a.say(&world, nobody, "x811.test/ping", json!({}));
    let version = tampered(&good, |e| e["version"] = json!("1.0.0"));
    let faults: Vec<Fault> = vec![
        ("signature", without(&good, "signature"), (401, "X811-2004")),
        ("nonce", without(&good, "nonce"), (401, "X811-2004")),
        ("from", without(&good, "from"), (401, "X811-2004")),
        ("id", without(&good, "id"), (400, "X811-4001")),
        ("to", without(&good, "to"), (400, "X811-4001")),
        ("payload", without(&good, "payload"), (400, "X811-4001")),
        ("version", version, (400, "X811-9003")),
        ("recipient", to_nobody.json, (404, "X811-3001")),
    ];
    refuse_all(&world, faults).await;
}

#[tokio::test]
async fn ax_042_bytes_that_are_no_message() {
    const MALFORMED: (u16, &str) = (400, "X811-4001");
    const TOO_LONG: (u16, &str) = (413, "X811-6002");
    let (world, [a, b]) = World::peopled().await;
    let mebibyte = 1 << 20;
    let deep = [vec![b'['; 5_000], vec![b']'; 5_000]].concat();
    let faults: Vec<Fault> = vec![
        ("empty", Vec::new(), MALFORMED),
        ("not UTF-8", vec![b'{', 0xff, 0xfe, b'}'], MALFORMED),
        ("not JSON", b"envelope=1".to_vec(), MALFORMED),
        ("an array", b"[]".to_vec(), MALFORMED),
        ("null", br#"{"envelope":null}"#.to_vec(), MALFORMED),
        ("a key twice", br#"{"id":"a","id":"b"}"#.to_vec(), MALFORMED),
        (
            "2^53 + 1",
            br#"{"id":9007199254740993}"#.to_vec(),
            MALFORMED,
        ),
        ("too deep", deep, MALFORMED),
        ("a byte too long", vec![b' '; mebibyte + 1], TOO_LONG),
        ("past the slack", vec![b' '; mebibyte + 65_537], TOO_LONG),
    ];
    refuse_all(&world, faults).await;
    // Both ways to write it are taken.
    let wrapped = a.say(&world, b.did, "x811.test/ping", json!({}));
    let wrapped = [b"{\"envelope\":", wrapped.json.as_slice(), b"}"].concat();
    world.post(wrapped).await.expect(202);
    world
        .accept(&a.say(&world, b.did, "x811.test/ping", json!({})))
        .await;
}

#[tokio::test]
async fn bytes_that_are_no_http_harm_nobody() {
    let world = World::start().await;
    for garbage in [
        &b"\x16\x03\x01\x02\x00"[..],
        b"POST /api/v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nhalf",
        b"GET /\xff HTTP/1.1\r\nhost: x\r\n\r\n",
    ] {
        let mut stream = tokio::net::TcpStream::connect(world.running.local_addr)
            .await
            .unwrap();
        stream.write_all(garbage).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut answer = Vec::new();
        // The server may cut it off; all that counts is that it goes on.
        let _ = stream.read_to_end(&mut answer).await;
        assert!(!answer.starts_with(b"HTTP/1.1 2"), "{answer:?}");
    }
    world.get("/health").await.expect(200);
    world.agent().await;
}
