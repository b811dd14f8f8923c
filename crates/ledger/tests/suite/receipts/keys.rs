//! Whose keys signed: a receipt names every one, and where the initiator signs with several it has
//! the records that gave them to it (ledger-contract.md sections 4 and 8).

use serde_json::{Value, json};
use x811_audit::receipt::{ClaimVerdict, Leaf, Receipt};
use x811_protocol::document::DidDocument;
use x811_protocol::envelope::SealedEnvelope;
use x811_protocol::key::{AgentKey, Profile, SecretKey};
use x811_protocol::payload::registry::rotation_message;

use super::deal::{Deal, TOTAL_MICRO_USDC, Until};
use super::ledgerbox::Ledgerbox;
use super::paper::{Paper, impatient, paid, pay, put};
use super::party::{Account, Party};

fn agent_key(key: &SecretKey) -> AgentKey {
    AgentKey {
        key: key.public(),
        profile: Profile::Digest,
    }
}

/// The same agent with another key.
fn renewed(ledgerbox: &Ledgerbox, party: &Party) -> Party {
    Party {
        did: party.did,
        key: ledgerbox.party().key,
    }
}

/// By which `party` has the key of `next` in place of its own, beside `others`.
fn rotation(
    ledgerbox: &Ledgerbox,
    party: &Party,
    next: &Party,
    others: &[AgentKey],
) -> SealedEnvelope {
    let (old_key, key) = (party.key.public(), next.key.public());
    let text = rotation_message(party.did, ledgerbox.identity.did, old_key, key);
    let keys = [&[agent_key(&next.key)], others].concat();
    let payload = json!({
        "document": DidDocument::build(party.did, &keys, None),
        "new_key": key,
        "proof": next.key.sign(text.as_bytes()),
    });
    ledgerbox.seal(party, "x811.registry/rotate", &ledgerbox.identity, payload)
}

/// The initiator has another key from here on.
pub(crate) async fn rotate(ledgerbox: &Ledgerbox, deal: &mut Deal) {
    let next = renewed(ledgerbox, &deal.initiator);
    let message = rotation(ledgerbox, &deal.initiator, &next, &[]);
    ledgerbox.accept(&message).await;
    deal.initiator = next;
}

/// A deal with a rotation before the messages named: `a`ccept, `v`erify, `p`ayment.
pub(crate) async fn rotated_before(ledgerbox: &mut Ledgerbox, before: &str) -> Deal {
    let mut deal = Deal::opened(ledgerbox, Until::Offered).await;
    for (name, step) in [
        (
            'a',
            Deal::accept as fn(&mut Deal, &Ledgerbox) -> SealedEnvelope,
        ),
        ('r', Deal::result),
        ('v', Deal::verify),
    ] {
        if before.contains(name) {
            rotate(ledgerbox, &mut deal).await;
        }
        let message = step(&mut deal, ledgerbox);
        ledgerbox.accept(&message).await;
    }
    if before.contains('p') {
        rotate(ledgerbox, &mut deal).await;
    }
    pay(ledgerbox, &deal, 1, &[TOTAL_MICRO_USDC]).await;
    deal
}

/// The sentence of the step `keys`, which is the ledger's word.
fn said(paper: &Paper) -> String {
    let checked = paper.holds(&paper.receipt);
    let step = checked.steps.into_iter().find(|step| step.about == "keys");
    let step = step.unwrap();
    assert_eq!(step.verdict, ClaimVerdict::Asserted);
    step.sentence
}

fn types(receipt: &Receipt) -> Vec<&str> {
    let leaves = receipt.agent_keys.iter();
    leaves
        .map(|leaf| leaf.event["type"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn lc_8_a_receipt_names_every_key_and_the_record_that_gave_it() {
    let (registered, rotated) = ("agent_registered", "key_rotated");
    for (before, due) in [
        ("", vec![]),
        ("a", vec![]),
        ("v", vec![registered, rotated]),
        ("p", vec![registered, rotated]),
        ("av", vec![rotated, rotated]),
        ("vp", vec![registered, rotated, rotated]),
        // Twice between ACCEPT and VERIFY: the key in between signed nothing.
        ("rv", vec![registered, rotated]),
    ] {
        let mut ledgerbox = impatient().await;
        let deal = rotated_before(&mut ledgerbox, before).await;
        let paper = Paper::of(&ledgerbox, &deal).await;
        assert_eq!(types(&paper.receipt), due, "{before}");
        let said = said(&paper);
        let keys = paper.receipt.envelopes.iter();
        let mut keys: Vec<String> = keys.map(|message| message.key.to_string()).collect();
        assert!(
            keys.iter().all(|key| said.contains(key)),
            "{before}: {said}"
        );
        keys.sort();
        keys.dedup();
        let named = said.matches("z6Mk").count();
        assert_eq!(named, keys.len(), "{before}: {said}");
        let is_small = paper.receipt.to_bytes().len() <= 8_000;
        assert!(is_small || !due.is_empty(), "{before}");
    }
}

/// Two keys that are registered at once may both sign, without any rotation.
#[tokio::test]
async fn lc_4_an_agent_with_two_keys_signs_with_either() {
    let mut ledgerbox = impatient().await;
    let account = Account::new(0x46);
    let mut initiator = ledgerbox.party();
    let other = renewed(&ledgerbox, &initiator);
    let keys = [agent_key(&initiator.key), agent_key(&other.key)];
    let wallet = account.bound_to(initiator.did, ledgerbox.identity.did);
    let mut payload = initiator.registration(&[], &[wallet]);
    payload["document"] = json!(DidDocument::build(initiator.did, &keys, None));
    let registration = "x811.registry/register";
    let message = ledgerbox.seal(&initiator, registration, &ledgerbox.identity, payload);
    ledgerbox.accept(&message).await;
    let provider = ledgerbox.provider().await;
    let mut deal = Deal::between(&ledgerbox, &initiator, &provider, account);
    deal.go(&ledgerbox, Until::Delivered).await;
    deal.initiator = other.clone();
    let verify = deal.verify(&ledgerbox);
    ledgerbox.accept(&verify).await;
    // The first goes, the second stays and pays.
    let next = renewed(&ledgerbox, &initiator);
    let message = rotation(&ledgerbox, &initiator, &next, &keys[1..]);
    ledgerbox.accept(&message).await;
    pay(&mut ledgerbox, &deal, 1, &[TOTAL_MICRO_USDC]).await;
    let paper = Paper::of(&ledgerbox, &deal).await;
    assert_eq!(types(&paper.receipt), ["agent_registered"]);
    let said = said(&paper);
    assert!(said.contains("(ACCEPT; record "), "{said}");
    assert!(said.contains("(VERIFY, PAYMENT; record "), "{said}");

    // A key that came back is the agent's by the record that brought it back.
    let mut deal = Deal::between(&ledgerbox, &next, &provider, Account::new(0x46));
    deal.go(&ledgerbox, Until::Delivered).await;
    let away = renewed(&ledgerbox, &next);
    let message = rotation(&ledgerbox, &next, &away, &keys[1..]);
    ledgerbox.accept(&message).await;
    deal.initiator = away.clone();
    let verify = deal.verify(&ledgerbox);
    ledgerbox.accept(&verify).await;
    let message = rotation(&ledgerbox, &away, &next, &keys[1..]);
    ledgerbox.accept(&message).await;
    initiator.key = next.key.clone();
    deal.initiator = initiator;
    pay(&mut ledgerbox, &deal, 2, &[TOTAL_MICRO_USDC]).await;
    let paper = Paper::of(&ledgerbox, &deal).await;
    assert_eq!(types(&paper.receipt), ["key_rotated"; 3]);
    let without_the_last = |bad: &mut Receipt| drop(bad.agent_keys.pop());
    let (about, sentence) = paper.breaks(without_the_last);
    assert_eq!(about, "keys");
    assert!(sentence.contains("had replaced"), "{sentence}");
}

/// The ledger signs VERIFY and PAYMENT by a key that it invented.
#[tokio::test]
async fn lc_8_a_message_by_another_key_without_its_record_is_broken() {
    let (ledgerbox, deal) = paid().await;
    let paper = Paper::of(&ledgerbox, &deal).await;
    let invented = renewed(&ledgerbox, &deal.initiator);
    for at in [1, 2, 3] {
        let enclosed = &paper.receipt.envelopes[at];
        let payload = enclosed.body["payload"].clone();
        let kind = enclosed.body["type"].as_str().unwrap();
        let letter = ledgerbox.letter(kind, &deal.provider, payload);
        let message = invented.seal(&letter);
        let (about, sentence) = paper.breaks(|bad| put(bad, at, &message, &invented.key));
        assert_eq!(about, "keys", "{kind}: {sentence}");
        assert!(sentence.contains("by 2 keys"), "{kind}: {sentence}");
        for key in [&deal.initiator.key, &invented.key] {
            let key = key.public().to_string();
            assert!(sentence.contains(&key), "{kind}: {sentence}");
        }
    }
}

/// What a ledger can leave out of the records of keys, or put there.
#[tokio::test]
async fn lc_8_a_key_that_the_agents_records_do_not_give_is_broken() {
    let mut ledgerbox = impatient().await;
    let deal = rotated_before(&mut ledgerbox, "v").await;
    let paper = Paper::of(&ledgerbox, &deal).await;
    let verified = paper.receipt.envelopes[2].place.position;
    let resumed = json!({ "gap_ms": 1, "type": "ledger_resumed" });
    let missing = "gave the initiator the key";
    paper.on("keys").breaks(&[
        ("no records", "by 2 keys", &|bad| bad.agent_keys.clear()),
        ("no rotation", missing, &|bad| drop(bad.agent_keys.pop())),
        ("no registration", missing, &|bad| {
            drop(bad.agent_keys.remove(0))
        }),
        ("behind the message that it is for", missing, &|bad| {
            bad.agent_keys[1].place.position = verified + 1
        }),
        ("no key at all", "gives no key", &|bad| {
            bad.agent_keys[1].event = resumed.clone()
        }),
        (
            "a key that signed nothing",
            "gave no key that signed",
            &|bad| {
                let mut unused = bad.agent_keys[0].clone();
                unused.place.position += 1;
                bad.agent_keys.insert(1, unused);
            },
        ),
    ]);
    // Twice, or in another order, no proof has them.
    let swapped = paper.forged(|bad| bad.agent_keys.reverse());
    assert_eq!(paper.verify(&swapped).paid, None);
    let doubled = paper.forged(|bad| bad.agent_keys.push(bad.agent_keys[1].clone()));
    assert_eq!(paper.verify(&doubled).paid, None);
}

/// What a ledger can write of a rotation without the agent's old key, or without the new one.
#[tokio::test]
async fn lc_8_a_rotation_that_the_agents_keys_did_not_sign_is_broken() {
    let mut ledgerbox = impatient().await;
    let deal = rotated_before(&mut ledgerbox, "v").await;
    let paper = Paper::of(&ledgerbox, &deal).await;
    let stranger = ledgerbox.party().key;
    let rotated = |bad: &mut Receipt, member: &str, to: Value| {
        *bad.agent_keys[1].event.pointer_mut(member).unwrap() = to;
    };
    let proof = json!(stranger.sign(b"x811 key rotation v1"));
    let signature = json!(stranger.sign(b"it"));
    let other = json!("did:x811:019b76da-a800-7000-8000-0000000000d1");
    paper.on("keys").breaks(&[
        ("a proof by somebody else", "has not signed", &|bad| {
            rotated(bad, "/proof", proof.clone())
        }),
        (
            "a key that has not proved itself",
            "has not signed",
            &|bad| rotated(bad, "/new_key/key", json!(stranger.public())),
        ),
        (
            "in place of a key that did not sign",
            "not replaced by the key",
            &|bad| rotated(bad, "/old_key", json!(stranger.public())),
        ),
        (
            "an envelope by another key",
            "not signed by its key",
            &|bad| rotated(bad, "/envelope/signature", signature.clone()),
        ),
        ("an envelope of somebody else", "of another agent", &|bad| {
            rotated(bad, "/envelope/from", other.clone())
        }),
        (
            "a registration that somebody else signed",
            "not signed by its key",
            &|bad| bad.agent_keys[0].event["envelope"]["signature"] = signature.clone(),
        ),
    ]);
}

/// Signed by the key that was replaced, after it was.
#[tokio::test]
async fn lc_8_a_message_by_a_replaced_key_is_broken() {
    let mut ledgerbox = impatient().await;
    let mut deal = Deal::opened(&ledgerbox, Until::Delivered).await;
    let old = deal.initiator.clone();
    rotate(&ledgerbox, &mut deal).await;
    let verify = deal.verify(&ledgerbox);
    ledgerbox.accept(&verify).await;
    pay(&mut ledgerbox, &deal, 1, &[TOTAL_MICRO_USDC]).await;
    let paper = Paper::of(&ledgerbox, &deal).await;
    let payload = paper.receipt.envelopes[3].body["payload"].clone();
    let payment = old.seal(&ledgerbox.letter("x811/payment", &deal.provider, payload));
    let (about, sentence) = paper.breaks(|bad| put(bad, 3, &payment, &old.key));
    assert_eq!(about, "keys");
    assert!(sentence.contains("had replaced"), "{sentence}");
}

/// Records that nobody needs are not there: a receipt has one form.
#[tokio::test]
async fn lc_8_a_receipt_by_one_key_has_no_records_of_keys() {
    let (ledgerbox, deal) = paid().await;
    let paper = Paper::of(&ledgerbox, &deal).await;
    assert_eq!(paper.receipt.agent_keys, []);
    let records = ledgerbox.records().await;
    let agent = format!("agent:{}", deal.initiator.did);
    let registered = records.iter().find(|record| record.stream() == agent);
    let leaf = Leaf::of(registered.unwrap());
    let (about, sentence) = paper.breaks(|bad| bad.agent_keys.push(leaf));
    assert_eq!(about, "keys");
    assert!(sentence.contains("one key signed all"), "{sentence}");
}
