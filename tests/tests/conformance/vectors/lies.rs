//! Receipts of a ledger that lies: it holds all its keys, and every hash, proof and signature of its
//! own fits. What the agents signed is not its to change.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use x811_audit::receipt::Receipt;
use x811_eventlog::{Checkpoint, Hash, Multiproof, ProvenLeaf, Record};
use x811_protocol::canonical::to_canonical;
use x811_protocol::digest::Digest;
use x811_protocol::event::PayerBinding;

use super::{Named, keys};

const STRANGER: &str = "0x00000000000000000000000000000000000000b1";

pub(super) fn of(paid: &Receipt, two_keys: &Receipt) -> Named {
    let mut lies = of_payment(paid);
    lies.extend(of_keys(paid, two_keys));
    lies
}

/// A member of the confirmation.
fn at<'a>(receipt: &'a mut Receipt, pointer: &str) -> &'a mut Value {
    receipt.confirmed.event.pointer_mut(pointer).unwrap()
}

fn of_payment(paid: &Receipt) -> Named {
    let lie = |name, change: &dyn Fn(&mut Receipt)| forged(name, paid, change);
    let accepted_s = paid.envelopes[1].place.recorded_at_ms / 1_000;
    let confirmed_s = paid.confirmed.place.recorded_at_ms / 1_000;
    let binding = |bad: &mut Receipt, binding| bad.envelopes[3].derived.payer_binding = binding;
    vec![
        lie("lie-paid-to-somebody-else", &|bad| {
            *at(bad, "/evidence/0/transfers/0/to") = json!(STRANGER)
        }),
        lie("lie-somebody-else-got-more", &|bad| {
            also_paid(bad, STRANGER)
        }),
        lie("lie-paid-too-little", &|bad| {
            *at(bad, "/evidence/0/transfers/0/amount") = json!("1024999")
        }),
        lie("lie-surplus", &|bad| {
            bad.confirmed.event["surplus"] = json!("1")
        }),
        lie("lie-not-deep", &|bad| {
            *at(bad, "/evidence/0/depth") = json!(1)
        }),
        lie("lie-not-safe", &|bad| {
            bad.parameters.event["networks"][0]["safe_above"] = json!("1")
        }),
        lie("lie-older-than-accept", &|bad| {
            *at(bad, "/evidence/0/block/timestamp_s") = json!(accepted_s - 3)
        }),
        lie("lie-block-from-later", &|bad| {
            *at(bad, "/evidence/0/block/timestamp_s") = json!(confirmed_s + 7)
        }),
        lie("lie-longer-for-the-result", &|bad| {
            let derived = &mut bad.envelopes[1].derived;
            derived.deadline_at_ms = derived.deadline_at_ms.map(|at| at.saturating_add_ms(1));
        }),
        lie("lie-one-before-the-first", &|bad| {
            bad.confirmed.event["provider_prev"] = json!("a".repeat(64))
        }),
        lie("lie-beyond-the-count", &|bad| {
            *at(bad, "/evidence/0/transfer_count") = json!(0)
        }),
        lie("lie-nobody-showed-it", &|bad| {
            *at(bad, "/evidence/0/endpoints") = json!([])
        }),
        lie("lie-payer-not-checked", &|bad| {
            binding(bad, Some(PayerBinding::Unchecked))
        }),
        lie("lie-authorization", &|bad| {
            binding(bad, Some(PayerBinding::Authorization))
        }),
        lie("lie-nonce-of-another", &|bad| {
            let transfer = at(bad, "/evidence/0/transfers/0");
            transfer["authorization_nonce"] = json!(Digest::of(b"another"));
        }),
    ]
}

/// The price to the payee, and 1,000 USDC to somebody else.
fn also_paid(bad: &mut Receipt, to: &str) {
    let mut more = at(bad, "/evidence/0/transfers/0").clone();
    *at(bad, "/evidence/0/transfers/0/amount") = json!("1000000");
    more["amount"] = json!("1000000000");
    more["to"] = json!(to);
    more["ordinal"] = json!(1);
    at(bad, "/evidence/0/transfers")
        .as_array_mut()
        .unwrap()
        .push(more);
    *at(bad, "/evidence/0/transfer_count") = json!(2);
    let mut claim = at(bad, "/claims/0").clone();
    claim["ordinal"] = json!(1);
    at(bad, "/claims").as_array_mut().unwrap().push(claim);
}

fn of_keys(paid: &Receipt, two_keys: &Receipt) -> Named {
    let rotated = |name, member: &str, to: Value| {
        forged(name, two_keys, &|bad| {
            *bad.agent_keys[1].event.pointer_mut(member).unwrap() = to.clone();
        })
    };
    let stranger = keys::other();
    vec![
        forged("lie-verify-by-an-invented-key", paid, &|bad| {
            let verify = &mut bad.envelopes[2];
            let digest = Digest::of(&to_canonical(&verify.body));
            verify.signature = stranger.sign(digest.as_bytes());
            verify.key = stranger.public();
        }),
        rotated(
            "lie-rotation-without-proof",
            "/proof",
            json!(stranger.sign(b"x811 key rotation v1")),
        ),
        rotated(
            "lie-rotation-of-another-key",
            "/old_key",
            json!(stranger.public()),
        ),
        rotated(
            "lie-rotation-not-signed",
            "/envelope/signature",
            json!(stranger.sign(b"it")),
        ),
    ]
}

/// The receipt with that change. Its records keep their places; the ledger's hashes and signatures
/// are made anew.
fn forged(
    name: &'static str,
    good: &Receipt,
    change: &dyn Fn(&mut Receipt),
) -> (&'static str, Vec<u8>) {
    let mut bad = good.clone();
    change(&mut bad);
    let stream = format!("interaction:{}", bad.interaction);
    let agent = format!("agent:{}", bad.envelopes[1].body["from"].as_str().unwrap());
    let given = bad.agent_keys.iter();
    let given = given.map(|leaf| leaf.record(agent.clone()).unwrap());
    let mut before: BTreeMap<u64, Hash> = given.map(|it| (it.position(), it.hash())).collect();
    let mut hashes = Vec::new();
    for enclosed in &mut bad.envelopes {
        let position = enclosed.place.position;
        if let Some(hash) = before.get(&(position - 1)) {
            enclosed.place.prev = *hash;
        }
        let (record, _) = enclosed.record(stream.clone()).unwrap();
        before.insert(position, record.hash());
        hashes.push(json!(record.hash()));
    }
    let records = &mut bad.confirmed.event["records"];
    for (name, hash) in ["offer", "accept", "verify"].into_iter().zip(&hashes) {
        records[name] = hash.clone();
    }
    records["payments"] = json!(hashes[3..]);
    let ledger = ("ledger".to_owned(), &bad.parameters);
    let confirmed = bad.confirmed.record(stream.clone()).unwrap();
    let own = [ledger, (stream, &bad.confirmed)].into_iter();
    let all = own.chain(bad.agent_keys.iter().map(|leaf| (agent.clone(), leaf)));
    let sealed = all.map(|(stream, leaf)| leaf.record(stream).unwrap());
    let sealed = sealed.chain([bad.ledger.record().unwrap()]);
    let mut leaves: Vec<ProvenLeaf> = sealed.map(|it| (it.position(), it.hash())).collect();
    leaves.sort_unstable();
    let mut checkpoint = Checkpoint::claimed(&bad.checkpoint).unwrap();
    // What stands beside them in the tree is as it was.
    let beside = Multiproof {
        size: checkpoint.size,
        hashes: bad.hashes.clone(),
    };
    checkpoint.root = beside.root(&leaves).unwrap();
    let key = keys::checkpoint_key();
    let sign = |message: &[u8]| *key.sign(message).as_bytes();
    bad.checkpoint = checkpoint.sign(*key.public().as_bytes(), sign).unwrap();
    restate(&mut bad, checkpoint.root, &confirmed);
    (name, bad.sign(&keys::receipt_key()).to_bytes())
}

/// Signs the keys statement and the stream end anew, for that root and that confirmation.
fn restate(bad: &mut Receipt, root: Hash, confirmed: &Record) {
    let key = keys::checkpoint_key();
    let mut statement = bad.keys.statement.clone();
    statement.root = root;
    bad.keys = statement.sign(&key);
    let mut end = bad.end.end.clone();
    if let Some(last) = &mut end.last
        && last.seq == confirmed.stream_seq()
    {
        last.hash = confirmed.hash();
    }
    bad.end = end.sign(&key);
}
