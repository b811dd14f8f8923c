//! What a ledger that lies can write under keys of its own: every hash and every signature fits, and
//! the messages are real, but they are of another deal.

use crate::base::Base;
use crate::log::covered;
use crate::world::{Deal, World};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::convert::Infallible;
use x811_audit::export::{LastRecord, StreamEnd};
use x811_audit::receipt::{ClaimVerdict, Leaf, Receipt, verify};
use x811_audit::standing::Standing;
use x811_eventlog::{Checkpoint, Frontier, Hash, Multiproof, Node, Record};
use x811_protocol::event::{Event, LedgerEvent, LedgerKeyRotated, LedgerRole};
use x811_protocol::key::SecretKey;
use x811_world::keys_statement::{KeysStatement, Rotation};

const FIRST_TX: &str = "0xabababababababababababababababababababababababababababababababab";
const SECOND_TX: &str = "0xcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd";

/// 10.25 USDC, what a [`Deal`] costs.
const TOTAL_MICRO_USDC: u64 = 10_250_000;

/// Receipts of two deals between the same two agents.
async fn two_receipts() -> [Receipt; 2] {
    let (base, world, [initiator, provider]) = Base::peopled().await;
    let mut receipts = Vec::new();
    for tx_hash in [FIRST_TX, SECOND_TX] {
        let deal = Deal::new(&world, &initiator, &provider);
        let offer = deal.verified().await;
        base.watch_ms(&world, 2_000).await;
        world.accept(&deal.payment(&offer, tx_hash)).await;
        base.pay(tx_hash, &initiator, &provider, TOTAL_MICRO_USDC);
        base.watch_ms(&world, 60_000).await;
        receipts.push(receipt_of(&world, &deal).await);
    }
    receipts.try_into().unwrap()
}

async fn receipt_of(world: &World, deal: &Deal<'_>) -> Receipt {
    let path = format!("/api/v1/interactions/{}/receipt", deal.id());
    let answer = covered(world, &path).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    Receipt::from_bytes(answer.text.as_bytes()).unwrap()
}

fn issuer() -> SecretKey {
    SecretKey::from_seed([2; 32])
}

/// The receipt as a ledger with keys of its own would write it, in a log of its own that has its records
/// where they were.
fn forged(mut receipt: Receipt, change: impl FnOnce(&mut Receipt, &mut Value)) -> Receipt {
    let (signer, issuer) = (SecretKey::from_seed([1; 32]), issuer());
    let keys = &mut receipt.ledger.event["keys"];
    keys["checkpoint"] = json!(signer.public());
    keys["receipt"] = json!(issuer.public());
    let mut confirmation = receipt.confirmed.event.clone();
    change(&mut receipt, &mut confirmation);
    receipt.confirmed.event = confirmation;
    let opened = receipt.ledger.record().unwrap();
    let parameters = right_behind(&opened, &mut receipt.parameters);
    let stream = format!("interaction:{}", receipt.interaction);
    let mut records = vec![opened, parameters];
    for rotation in &mut receipt.rotations {
        records.push(right_behind(records.last().unwrap(), rotation));
    }
    let confirmed = receipt.confirmed.record(stream.clone()).unwrap();
    records.push(confirmed.clone());
    let leaves = leaves_with(&records);
    let checkpoint = Checkpoint {
        origin: receipt.ledger.event["origin"].as_str().unwrap().to_owned(),
        size: leaves.len() as u64,
        root: root_of(&leaves),
    };
    let sign = |message: &[u8]| *signer.sign(message).as_bytes();
    receipt.checkpoint = checkpoint.sign(*signer.public().as_bytes(), sign).unwrap();
    receipt.hashes = proof_of(&records, &leaves).hashes;
    receipt.keys = statement(&receipt, &checkpoint).sign(&signer);
    let end = StreamEnd {
        stream,
        last: Some(LastRecord {
            seq: confirmed.stream_seq(),
            hash: confirmed.hash(),
        }),
        standing: Some(Standing::Paid),
        tree_size: checkpoint.size,
    };
    receipt.end = end.sign(&signer);
    receipt.sign(&issuer)
}

/// The keys as the receipt has them, whatever its rotations are worth.
fn statement(receipt: &Receipt, checkpoint: &Checkpoint) -> KeysStatement {
    let Event::Ledger(LedgerEvent::Opened(opened)) =
        Event::from_value(&receipt.ledger.event).unwrap()
    else {
        panic!("position 0 opens a ledger");
    };
    let mut statement = KeysStatement {
        keys: opened.keys,
        log_id: opened.log_id,
        origin: opened.origin,
        root: checkpoint.root,
        rotations: Vec::new(),
        size: checkpoint.size,
    };
    for leaf in &receipt.rotations {
        let Ok(Event::Ledger(LedgerEvent::KeyRotated(rotated))) = Event::from_value(&leaf.event)
        else {
            continue;
        };
        statement.keys = statement.keys.with(rotated.role, rotated.new_key);
        statement.rotations.push(Rotation {
            new: rotated.new_key,
            old: rotated.old_key,
            position: leaf.place.position,
            role: rotated.role,
        });
    }
    statement
}

/// The same event of the ledger right behind `before`.
fn right_behind(before: &Record, leaf: &mut Leaf) -> Record {
    leaf.place.position = before.position() + 1;
    leaf.place.stream_seq = before.stream_seq() + 1;
    leaf.place.prev = before.hash();
    leaf.record("ledger".to_owned()).unwrap()
}

/// A log that ends with the last of these records and has something else wherever none of them is.
fn leaves_with(records: &[Record]) -> Vec<Hash> {
    let size = records.last().unwrap().position() + 1;
    let mut leaves = vec![records[0].hash(); usize::try_from(size).unwrap()];
    for record in records {
        leaves[usize::try_from(record.position()).unwrap()] = record.hash();
    }
    leaves
}

fn root_of(leaves: &[Hash]) -> Hash {
    let mut tree = Frontier::new();
    for leaf in leaves {
        tree.push(*leaf);
    }
    tree.root()
}

fn proof_of(records: &[Record], leaves: &[Hash]) -> Multiproof {
    let positions: Vec<u64> = records.iter().map(Record::position).collect();
    let node = |node: Node| {
        let from = usize::try_from(node.index() << node.level()).unwrap();
        Ok::<_, Infallible>(root_of(&leaves[from..from + (1 << node.level())]))
    };
    let Ok(proof) = Multiproof::build(&positions, leaves.len() as u64, node);
    proof.unwrap()
}

/// The first receipt with the other's message at that place of `envelopes`.
fn with_others(receipts: &[Receipt; 2], at: usize, member: &str) -> Receipt {
    let [first, second] = receipts;
    let other = second.envelopes[at].clone();
    let stream = format!("interaction:{}", first.interaction);
    let hash = other.record(stream).unwrap().0.hash();
    forged(first.clone(), |receipt, confirmation| {
        receipt.envelopes[at] = other;
        *confirmation["records"].pointer_mut(member).unwrap() = json!(hash);
    })
}

#[tokio::test]
async fn promise_5_messages_of_another_deal_prove_nothing() {
    let receipts = two_receipts().await;
    let honest = forged(receipts[0].clone(), |_, _| {});
    let checked = verify(&honest, None);
    assert!(checked.paid.is_some(), "{checked:?}");
    for (at, member) in [
        (0, "/offer"),
        (1, "/accept"),
        (2, "/verify"),
        (3, "/payments/0"),
    ] {
        let checked = verify(&with_others(&receipts, at, member), None);
        let last = checked.steps.last().unwrap();
        assert_eq!(
            (last.about, last.verdict),
            ("terms", ClaimVerdict::Broken),
            "{member}"
        );
        assert_eq!(checked.paid, None);
    }
}

#[tokio::test]
async fn promise_5_a_transfer_counts_once_in_a_receipt() {
    let [first, _] = two_receipts().await;
    let twice = forged(first, |_, confirmation| {
        let half = json!((TOTAL_MICRO_USDC / 2).to_string());
        confirmation["evidence"][0]["transfers"][0]["amount"] = half;
        let claim = confirmation["claims"][0].clone();
        confirmation["claims"].as_array_mut().unwrap().push(claim);
    });
    let checked = verify(&twice, None);
    let last = checked.steps.last().unwrap();
    assert_eq!(
        (last.about, last.verdict),
        ("transfers", ClaimVerdict::Broken)
    );
    assert!(last.sentence.contains("claimed twice"), "{}", last.sentence);
}

/// Every string, number and truth value in `value`, by its JSON pointer.
fn scalars(value: &Value, pointer: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                scalars(member, &format!("{pointer}/{name}"), found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                scalars(item, &format!("{pointer}/{index}"), found);
            }
        }
        Value::String(_) | Value::Number(_) | Value::Bool(_) | Value::Null => {
            found.push(pointer.to_owned());
        }
    }
}

/// Another value of the same kind: the last digit or letter of a text is another one.
fn another(value: &Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_u64().unwrap() + 1),
        Value::Bool(yes) => json!(!yes),
        Value::String(text) => {
            let at = text.rfind(|c: char| c.is_ascii_alphanumeric()).unwrap();
            let other = if text.as_bytes()[at] == b'1' {
                '2'
            } else {
                '1'
            };
            json!(format!("{}{other}{}", &text[..at], &text[at + 1..]))
        }
        Value::Null | Value::Array(_) | Value::Object(_) => unreachable!("{value} is no scalar"),
    }
}

/// The ledger signs whatever it likes; what the agents and the tree say is not its to change. There
/// are no facts to forge: they are made from the messages.
#[tokio::test]
async fn promise_5_no_member_says_anything_else_even_under_the_ledgers_signature() {
    let [first, _] = two_receipts().await;
    let honest = forged(first, |_, _| {});
    let whole = serde_json::to_value(&honest).unwrap();
    let mut pointers = Vec::new();
    scalars(&whole, "", &mut pointers);
    assert!(pointers.len() > 150, "{}", pointers.len());
    let mut broken: BTreeMap<&str, usize> = BTreeMap::new();
    for pointer in &pointers {
        let mut changed = whole.clone();
        let member = changed.pointer_mut(pointer).unwrap();
        *member = another(member);
        let Ok(receipt) = serde_json::from_value::<Receipt>(changed) else {
            *broken.entry("form").or_default() += 1;
            continue;
        };
        let checked = verify(&receipt.sign(&issuer()), None);
        let last = checked.steps.last().unwrap();
        let is_the_ledgers = matches!(&**pointer, "/signature" | "/x811_receipt");
        assert_eq!(
            checked.paid.is_some(),
            is_the_ledgers,
            "{pointer}: {last:?}"
        );
        if !is_the_ledgers {
            *broken.entry(last.about).or_default() += 1;
        }
    }
    assert!(
        broken["messages"] > 50 && broken["record"] > 50,
        "{broken:?}"
    );
}

#[tokio::test]
async fn promise_5_a_transfer_is_the_declared_one_on_a_network_of_the_ledger() {
    let [first, _] = two_receipts().await;
    let other = json!("0x00000000000000000000000000000000000000aa");
    for (pointer, to, about) in [
        ("/evidence/0/transfers/0/from", other.clone(), "transfers"),
        ("/evidence/0/transfers/0/to", other, "transfers"),
        ("/evidence/0/transfers/0/amount", json!("1"), "transfers"),
        ("/evidence/0/transfers/0/ordinal", json!(7), "transfers"),
        ("/evidence/0/tx_hash", json!(SECOND_TX), "transfers"),
        ("/evidence/0/network", json!("elsewhere"), "network"),
        ("/claims/0/chain_id", json!(1), "network"),
    ] {
        let bad = forged(first.clone(), |_, confirmation| {
            *confirmation.pointer_mut(pointer).unwrap() = to;
        });
        let checked = verify(&bad, None);
        let last = checked.steps.last().unwrap();
        assert_eq!(
            (last.about, last.verdict),
            (about, ClaimVerdict::Broken),
            "{pointer}"
        );
    }
}

#[tokio::test]
async fn rec_2_a_receipt_carries_the_keys_that_were_replaced() {
    let [first, _] = two_receipts().await;
    let ledger = first.ledger.event["did"].as_str().unwrap().parse().unwrap();
    let next = SecretKey::from_seed([3; 32]);
    let rotated = LedgerKeyRotated::sign(ledger, LedgerRole::Receipt, &issuer(), next.public());
    let rotation = |rotated: LedgerKeyRotated| Leaf {
        event: serde_json::to_value(Event::Ledger(LedgerEvent::KeyRotated(rotated))).unwrap(),
        ..first.parameters.clone()
    };
    let by_the_old_one = forged(first.clone(), |receipt, _| {
        receipt.rotations.push(rotation(rotated.clone()));
    });
    let last = |receipt: &Receipt| {
        let checked = verify(receipt, None);
        (checked.paid.is_some(), checked.steps.last().unwrap().about)
    };
    assert_eq!(last(&by_the_old_one), (false, "issuer"));
    let good = by_the_old_one.clone().sign(&next);
    assert_eq!(last(&good), (true, "reversal"));
    assert_eq!(Receipt::from_bytes(&good.to_bytes()), Ok(good));
    let mut hidden = by_the_old_one;
    hidden.rotations.clear();
    assert_eq!(last(&hidden.sign(&issuer())), (false, "record"));
    let mut unproven = rotated;
    unproven.role = LedgerRole::Checkpoint;
    let unproven = forged(first.clone(), |receipt, _| {
        receipt.rotations.push(rotation(unproven));
    });
    assert_eq!(last(&unproven.sign(&next)), (false, "issuer"));
}
