//! Agreements that two signed, checked by code that shares nothing with ours: PyPI `joserfc` and npm
//! `jose`. What we render they take, and of what was changed they take nothing that we refuse for its
//! signatures.

#![expect(
    clippy::unwrap_used,
    reason = "a harness stops the test at once where something is missing"
)]

use serde_json::{Value, json};
use std::fs;
use tempfile::TempDir;
use x811_audit::export::{Item, Reader};
use x811_eventlog::Record;
use x811_protocol::canonical::to_canonical;
use x811_protocol::capability::agreement::JWS_TYPE;
use x811_protocol::event::Event;
use x811_protocol::id::ContractId;
use x811_protocol::jws::{general, sign};
use x811_protocol::key::{KeyId, SecretKey};
use x811_protocol::payload::capability::signed_agreement;
use x811_protocol::stream::Subject;
use x811_protocol::time::TimestampMs;
use x811_protocol::trace::{Act, Node, OwnToken, Recorded, check, check_own, nodes, token};
use x811_tests::anvil::checkout;
use x811_tests::verifiers::{Job, Verifier};

const STRANGERS: [Verifier; 2] = [Verifier::Joserfc, Verifier::Jose];

const ID: &str = "0190a1b2-c3d4-7e5f-8901-234567890abc";

fn signer(seed: u8) -> (KeyId, SecretKey) {
    let key = SecretKey::from_seed([seed; 32]);
    let did = format!("did:x811:0190a1b2-c3d4-7e5f-8901-2345678900{seed:02x}");
    let kid = KeyId {
        did: did.parse().unwrap(),
        key: key.public(),
    };
    (kid, key)
}

/// With texts and numbers that canonical forms differ about where they are wrong.
fn agreement(revision: u64) -> Value {
    json!({
        "ledger": signer(9).0.did, "agreement_id": ID, "session_id": ID, "revision": revision,
        "consumer": signer(1).0.did, "provider": signer(2).0.did,
        "type": "compute.inference", "version": "1.0.0",
        "parameters": {"text": "grüße \u{20ac} \"\\\u{7f}", "share": 0.1, "big": 1e15},
        "terms": {"duration_s": 60, "max_requests": revision},
    })
}

fn signed_by(seeds: &[u8], object: &Value) -> Value {
    let bytes = to_canonical(object);
    let sign = |seed: &u8| {
        let (kid, key) = signer(*seed);
        sign(kid, JWS_TYPE, &bytes, &key)
    };
    general(&bytes, &seeds.iter().map(sign).collect::<Vec<_>>())
}

/// Our verdict, then theirs.
fn verdicts(files: &[Value]) -> Vec<[bool; 3]> {
    let folder = TempDir::new().unwrap();
    let jobs: Vec<Job> = files
        .iter()
        .enumerate()
        .map(|(number, file)| {
            let path = folder.path().join(number.to_string());
            fs::write(&path, file.to_string()).unwrap();
            Job::jws(&path)
        })
        .collect();
    let theirs = STRANGERS.map(|stranger| stranger.judge_all(&jobs));
    files
        .iter()
        .enumerate()
        .map(|(number, file)| {
            let ours = signed_agreement(file.to_string().as_bytes()).is_ok();
            let [first, second] = &theirs;
            [ours, first[number].is_ok(), second[number].is_ok()]
        })
        .collect()
}

#[test]
fn cc_084_and_cx_40_strangers_verify_what_both_signed() {
    let files: Vec<Value> = (1..=20)
        .map(|revision| {
            let order: &[u8] = if revision % 2 == 0 { &[1, 2] } else { &[2, 1] };
            signed_by(order, &agreement(revision))
        })
        .collect();
    assert!(verdicts(&files).iter().all(|took| *took == [true; 3]));
}

/// Each is refused by all three.
#[test]
fn cc_084_strangers_refuse_what_we_refuse() {
    let good = signed_by(&[1, 2], &agreement(1));
    let other = signed_by(&[1, 2], &agreement(2));
    let changed = |pointer: &str, value: Value| {
        let mut changed = good.clone();
        *changed.pointer_mut(pointer).unwrap() = value;
        changed
    };
    let swapped = changed("/payload", other["payload"].clone());
    let mixed = changed(
        "/signatures/1/signature",
        other["signatures"][1]["signature"].clone(),
    );
    let exchanged = changed(
        "/signatures/0/signature",
        good["signatures"][1]["signature"].clone(),
    );
    let header = |alg: &str| {
        use base64::Engine as _;
        let header = json!({"alg": alg, "kid": signer(2).0.to_string(), "typ": JWS_TYPE});
        let text = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(to_canonical(&header));
        Value::from(text)
    };
    let mut unsigned = changed("/signatures/1/protected", header("none"));
    unsigned["signatures"][1]["signature"] = json!("");
    let files = [
        swapped,
        mixed,
        exchanged,
        changed("/signatures/1/protected", header("ES256")),
        changed("/signatures/1/protected", header("HS256")),
        unsigned,
        signed_by(&[1], &agreement(1)),
        signed_by(&[1, 1], &agreement(1)),
        signed_by(&[1, 3], &agreement(1)),
    ];
    for (number, took) in verdicts(&files).into_iter().enumerate() {
        assert_eq!(took, [false; 3], "file {number}: {}", files[number]);
    }
}

/// A trace of a proposal, votes and their outcome.
fn trace_of(seed: u8, change: impl FnOnce(&mut Vec<Node>)) -> Vec<String> {
    let id = |number: u128| uuid::Uuid::from_u128(number);
    let node = |act, number: u128, pred: Vec<u128>| Node {
        act,
        own: Vec::new(),
        said: json!({"position": number as u64, "text": "grüße"})
            .as_object()
            .unwrap()
            .clone(),
        jti: id(number),
        pred: pred.into_iter().map(id).collect(),
        recorded_at_ms: TimestampMs::new(1_767_225_600_000 + number as u64),
    };
    let mut nodes = vec![
        node(Act::Propose, 1, vec![]),
        node(Act::Vote, 2, vec![1]),
        node(Act::Vote, 3, vec![1]),
        node(Act::Commit, 4, vec![1, 2, 3]),
        node(Act::Escalate, 5, vec![4]),
        node(Act::HumanDecision, 6, vec![5]),
    ];
    change(&mut nodes);
    let (kid, key) = signer(seed);
    let now = TimestampMs::new(1_767_225_700_000);
    nodes
        .iter()
        .map(|node| token(node, ID, now, kid, &key))
        .collect()
}

/// CC-101: a stranger's program takes every trace that we emit and none that was changed, and so do we.
#[test]
fn cc_101_strangers_take_our_traces_and_none_that_was_changed() {
    let folder = TempDir::new().unwrap();
    let kid = signer(9).0;
    let honest = trace_of(9, |_| {});
    let mut traces = vec![(honest.clone(), true), (honest[..1].to_vec(), true)];
    let mut changed = |tokens: Vec<String>| traces.push((tokens, false));
    for left_out in 0..5 {
        let mut tokens = honest.clone();
        tokens.remove(left_out);
        changed(tokens);
    }
    let mut swapped = honest.clone();
    swapped.swap(2, 3);
    changed(swapped);
    changed([&honest[..], &honest[1..2]].concat());
    changed(trace_of(8, |_| {}));
    let mut mixed = honest.clone();
    mixed[1] = trace_of(8, |_| {})[1].clone();
    changed(mixed);
    changed(trace_of(9, |nodes| {
        nodes[0].recorded_at_ms = TimestampMs::new(1_999_999_999_999)
    }));
    changed(trace_of(9, |nodes| {
        nodes[1].pred = vec![uuid::Uuid::from_u128(77)]
    }));
    changed(trace_of(9, |nodes| {
        nodes[0]
            .said
            .insert("long".to_owned(), "x".repeat(5_000).into());
    }));
    for part in 0..3 {
        let mut tokens = honest.clone();
        let mut parts: Vec<String> = tokens[3].split('.').map(str::to_owned).collect();
        parts[part] = honest[2].split('.').nth(part).unwrap().to_owned();
        tokens[3] = parts.join(".");
        // Every token has one header.
        if part > 0 {
            changed(tokens);
        }
    }
    let mut jobs = Vec::new();
    for (number, (tokens, _)) in traces.iter().enumerate() {
        let file = folder.path().join(format!("{number}.json"));
        fs::write(&file, json!({"wid": ID, "tokens": tokens}).to_string()).unwrap();
        jobs.push(Job::trace(&file, &kid.to_string()));
    }
    let theirs = Verifier::Joserfc.judge_all(&jobs);
    for ((number, (tokens, is_honest)), theirs) in traces.iter().enumerate().zip(theirs) {
        let tokens: Vec<&str> = tokens.iter().map(String::as_str).collect();
        let ours = check(&tokens).is_ok_and(|(_, by)| by == Some(kid));
        assert_eq!(
            (ours, theirs.is_ok()),
            (*is_honest, *is_honest),
            "{number}: {theirs:?}"
        );
    }
}

/// CX-46: a stranger's program takes the token that an agent put into its message, step by step, and none
/// that was put in its place, and so do we.
#[test]
fn cx_46_strangers_take_tokens_of_agents_and_none_that_was_exchanged() {
    use base64::Engine as _;
    let own = |number: u128, rests_on: u128| {
        let (kid, key) = signer(2);
        let claims = json!({
            "exec_act": "consensus_vote", "iat": 1_767_225_600, "iss": kid.did,
            "jti": uuid::Uuid::from_u128(number), "pred": [uuid::Uuid::from_u128(rests_on)],
        });
        let payload = to_canonical(&claims);
        let signed = sign(kid, "exec+jwt", &payload, &key);
        let payload = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(payload);
        format!("{}.{payload}.{}", signed.protected, signed.signature)
    };
    let (good, bad) = (own(77, 1), own(77, 78));
    for (named, token, node, holding) in [
        (&good, Some(&good), 2, Some(1)),
        (&good, None, 2, Some(0)),
        (&bad, Some(&bad), 2, Some(0)),
        (&good, Some(&bad), 2, None),
        (&good, Some(&good), 3, None),
    ] {
        assert_eq!(held(named, token, node), [holding; 2]);
    }
}

/// In how many tokens of agents joserfc and we find nothing wrong, in a trace in which the ledger names
/// `named` in its second node, with `token` beside it as of that node; nothing where it is no trace.
fn held(named: &str, token: Option<&String>, node: u128) -> [Option<usize>; 2] {
    let hash = x811_protocol::digest::Digest::of(named.as_bytes());
    let named = json!([{ "by": signer(2).0.did, "hash": hash }]);
    let tokens = trace_of(9, |nodes| {
        nodes[1].said.insert("ect".to_owned(), named);
    });
    let node = uuid::Uuid::from_u128(node);
    let own: Vec<Value> = token
        .iter()
        .map(|token| json!({ "node": node, "token": token }))
        .collect();
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("own.json");
    let whole = json!({ "wid": ID, "tokens": tokens, "own": own });
    fs::write(&file, whole.to_string()).unwrap();
    let said = Verifier::Joserfc.judge(Job::trace(&file, &signer(9).0.to_string()));
    let theirs = said.ok().map(|said| {
        let of_agents = said.strip_prefix("6 nodes").unwrap();
        let count = of_agents
            .strip_prefix(", ")
            .and_then(|it| it.strip_suffix(" of agents"));
        count.map_or(0, |count| count.parse().unwrap())
    });
    let tokens: Vec<&str> = tokens.iter().map(String::as_str).collect();
    let (claims, _) = check(&tokens).unwrap();
    let own: Vec<OwnToken> = own
        .into_iter()
        .map(|own| serde_json::from_value(own).unwrap())
        .collect();
    let steps = check_own(&claims, &own).ok();
    let ours = steps.map(|steps| steps.iter().filter(|step| step.fault.is_none()).count());
    [theirs, ours]
}

/// Made by joserfc, with a key of P-256 that no ledger knows: a vote's token, which rests on the proposal.
const BY_P256: &str = concat!(
    "eyJhbGciOiJFUzI1NiIsImtpZCI6ImRpZDprZXk6ekRuYWV5aVVYcno4RThOZ2o5U2RpdnJRWm1Hd3d0ajFudDhMUT",
    "NNYmVBODc5RVV5WiIsInR5cCI6ImV4ZWMrand0In0.eyJleGVjX2FjdCI6ImNvbnNlbnN1c192b3RlIiwiaWF0Ijox",
    "NzY3MjI1NjAwLCJpc3MiOiJkaWQ6eDgxMTowMTkwYTFiMi1jM2Q0LTdlNWYtODkwMS0yMzQ1Njc4OTAwMDIiLCJqdG",
    "kiOiIwMDAwMDAwMC0wMDAwLTAwMDAtMDAwMC0wMDAwMDAwMDAwNGQiLCJwcmVkIjpbIjAwMDAwMDAwLTAwMDAtMDAw",
    "MC0wMDAwLTAwMDAwMDAwMDAwMSJdfQ.6WR_n-4-w93ppovwTeG-L1ZTXn46dhs_EKXhRD7vpE7PF2_Ve3yZtIgQN5q",
    "bX-Wapo9ny90KJO23JHjVKqFHlQ",
);

/// CX-46: `ES256` is taken by both, as whoever sent the message signed it with the token inside; a signature
/// that was changed, or is by another key than `kid` names, holds for neither.
#[test]
fn cx_46_strangers_and_we_take_a_token_by_p256() {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    let good = BY_P256.to_owned();
    assert_eq!(held(&good, Some(&good), 2), [Some(1); 2]);
    let parts: Vec<&str> = good.split('.').collect();
    let decoded = URL_SAFE_NO_PAD.decode(parts[0]).unwrap();
    let header: Value = serde_json::from_slice(&decoded).unwrap();
    let with = |name: &str, value: Value| {
        let mut header = header.clone();
        header[name] = value;
        let header = URL_SAFE_NO_PAD.encode(to_canonical(&header));
        [&*header, parts[1], parts[2]].join(".")
    };
    let mut signature = URL_SAFE_NO_PAD.decode(parts[2]).unwrap();
    signature[40] ^= 1;
    let changed = [parts[0], parts[1], &URL_SAFE_NO_PAD.encode(signature)].join(".");
    let kid = header["kid"].as_str().unwrap();
    for bad in [
        changed,
        with("alg", json!("EdDSA")),
        with("alg", json!("none")),
        with("kid", json!(signer(2).0.to_string())),
        with("kid", json!(kid.replace("did:key:z", "did:key:f"))),
        with("typ", json!("JWT")),
    ] {
        assert_eq!(held(&bad, Some(&bad), 2), [Some(0); 2], "{bad}");
    }
}

/// The trace of the contract in a golden bundle, and what it is named by.
fn trace_of_contract(bundle: &str) -> (String, Vec<String>) {
    let path = checkout().join(format!("tests/vectors/bundle/{bundle}.x811"));
    let file = fs::read(path).unwrap();
    let mut records = Vec::new();
    for item in Reader::new(&file[..]) {
        if let Item::Record(line) = item.unwrap() {
            let record = Record::parse(line.leaf).unwrap();
            let body = line
                .body
                .map(|body| serde_json::from_slice(&body.bytes).unwrap());
            let message: Value = body.unwrap_or_default();
            if record.stream().starts_with("contract:") {
                let event = Event::from_json(record.event_json()).unwrap();
                records.push((record, event, message));
            }
        }
    }
    let stream = records[0].0.stream().to_owned();
    let id = stream.strip_prefix("contract:").unwrap();
    let id = ContractId::from_public(&format!("neg-{id}")).unwrap();
    let subject = Subject::Contract(id);
    let records = records.iter().map(|(record, event, message)| Recorded {
        event,
        hash: x811_protocol::digest::Digest::from_bytes(*record.hash().as_bytes()),
        payload: message["payload"].as_object(),
        position: record.position(),
        recorded_at_ms: TimestampMs::new(record.recorded_at_ms()),
        subject,
    });
    let nodes = nodes(subject, records);
    let (kid, key) = signer(9);
    let now = TimestampMs::new(1_767_400_000_000);
    let token = |node| token(node, &id.to_public(), now, kid, &key);
    (id.to_public(), nodes.iter().map(token).collect())
}

/// CC-101: so it is with traces of contracts that a ledger wrote, step for step.
#[test]
fn cc_101_strangers_take_traces_of_contracts() {
    let folder = TempDir::new().unwrap();
    let (kid, file) = (signer(9).0, folder.path().join("trace.json"));
    let (agreed, withdrawn) = ("negotiation", "negotiation-withdrawn");
    for (bundle, other) in [(agreed, withdrawn), (withdrawn, agreed)] {
        let (wid, honest) = trace_of_contract(bundle);
        assert!(honest.len() > 2, "{bundle}: {}", honest.len());
        let mut cases = vec![(honest.clone(), true)];
        let whole: Vec<&str> = honest.iter().map(String::as_str).collect();
        let (claims, _) = check(&whole).unwrap();
        for (left_out, node) in claims.iter().enumerate() {
            let mut tokens = honest.clone();
            tokens.remove(left_out);
            // Of what nothing rests on nobody knows that it was there.
            let is_missed = claims.iter().any(|other| other.pred.contains(&node.jti));
            cases.push((tokens, !is_missed));
        }
        let missed = cases.iter().filter(|(_, is_honest)| !is_honest);
        assert!(missed.count() > 1, "{bundle}");
        let mut swapped = honest.clone();
        swapped.swap(0, 1);
        cases.push((swapped, false));
        let (_, another) = trace_of_contract(other);
        cases.push(([&honest[..1], &another[1..]].concat(), false));
        for (tokens, is_honest) in cases {
            let whole = json!({ "wid": wid, "tokens": tokens });
            fs::write(&file, whole.to_string()).unwrap();
            let theirs = Verifier::Joserfc.judge(Job::trace(&file, &kid.to_string()));
            let tokens: Vec<&str> = tokens.iter().map(String::as_str).collect();
            let ours = check(&tokens).is_ok_and(|(_, by)| by == Some(kid));
            assert_eq!((ours, theirs.is_ok()), (is_honest, is_honest), "{theirs:?}");
        }
    }
}
