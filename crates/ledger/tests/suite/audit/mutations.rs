//! Thousands of changes to a bundle and a receipt by somebody who holds every earlier key of the
//! ledger and its present receipt key, and signs anew what they can: none passes for what the ledger
//! said (ledger-contract.md section 8).

use serde_json::{Value, json};
use x811_audit::receipt::{Receipt, verify};
use x811_audit::{Options, Verdict, audit_export};
use x811_eventlog::Policy;
use x811_protocol::canonical::to_canonical;
use x811_protocol::event::LedgerRole;
use x811_protocol::key::SecretKey;

use super::bundles::bundle;
use super::deal::{Deal, Until};
use super::earlier_keys::{paid, rotated};
use super::forged_bundle::File;
use super::ledgerbox::Ledgerbox;
use super::papers::{receipts_in_both_forms, trusting};
use super::size::size;

/// Numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    /// Below `sides`.
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides as u64).unwrap()
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.roll(of.len())]
    }
}

/// The keys of somebody who was the operator, or has the issuer's machine.
struct Holder {
    keys: Vec<SecretKey>,
    policy: Policy,
}

/// Replaces every key; gives what is left in other hands, the present receipt key among it.
async fn holder(ledgerbox: &mut Ledgerbox) -> Holder {
    let mut keys = Vec::new();
    for (role, seed) in LedgerRole::ALL.into_iter().zip(91..) {
        keys.push(rotated(ledgerbox, role, seed).await);
    }
    keys.push(ledgerbox.receipt_key.clone());
    Holder {
        policy: trusting(ledgerbox, &ledgerbox.checkpoint_key),
        keys,
    }
}

fn bundle_holds(bytes: &[u8], policy: &Policy) -> bool {
    let options = Options {
        trust: Some(policy.clone().into()),
        ..Options::default()
    };
    let report = audit_export(bytes, options).unwrap();
    let is_whole = report.extract.as_ref().is_some_and(|it| it.open_ended == 0);
    report.findings.is_empty() && is_whole && report.trust.verdict == Verdict::Proven
}

/// One change; what it leaves unsigned is signed afterwards.
fn change(file: &mut File, dice: &mut Dice, key: &SecretKey) {
    let records = file.records.len();
    let at = dice.roll(records);
    let end = dice.roll(file.ends.len());
    match dice.roll(12) {
        0 => drop(file.records.remove(at)),
        1 => {
            let first = file.records[at].leaf.clone();
            file.cut_from(|record| *record == first);
        }
        2 => file.cut_from(|record| record["event"]["type"] == "ledger_key_rotated"),
        3 => file.records.swap(at, (at + 1) % records),
        4 => file.records.insert(at, file.records[at].clone()),
        5 => keys(file, dice, key),
        6 => file.keys = None,
        7 => file.ends[end]["tree_size"] = json!(dice.roll(40)),
        8 => {
            file.ends[end]["standing"] = json!(dice.pick(&["none", "paid", "reversed", "returned"]))
        }
        9 => file.ends[end]["last_seq"] = json!(dice.roll(6)),
        10 => drop(file.ends.remove(end)),
        _ => {
            let (text, _) = file.note.rsplit_once("\n\n").unwrap();
            let text = format!("{text}\n");
            let origin = text.lines().next().unwrap().to_owned();
            let checkpoint = x811_eventlog::Checkpoint::from_text(&text).unwrap();
            assert_eq!(checkpoint.origin, origin);
            file.note = super::bundles::note(&checkpoint, key);
        }
    }
}

/// A change to the keys statement.
fn keys(file: &mut File, dice: &mut Dice, key: &SecretKey) {
    let Some(keys) = &mut file.keys else {
        return;
    };
    let role = *dice.pick(&["checkpoint", "receipt", "envelope"]);
    match dice.roll(4) {
        0 => keys["keys"][role] = json!(key.public()),
        1 => keys["rotations"] = json!([]),
        2 => {
            let rotations = keys["rotations"].as_array_mut().unwrap();
            if !rotations.is_empty() {
                rotations.remove(dice.roll(rotations.len()));
            }
        }
        _ => keys["size"] = json!(dice.roll(40)),
    }
}

/// Signs what was changed, with keys at hand.
fn sign(file: &mut File, dice: &mut Dice, holder: &Holder) {
    if file.records.is_empty() {
        return;
    }
    match dice.roll(3) {
        0 => file.fit_ends(),
        1 => file.fit_trailer(),
        _ => {}
    }
    let key = dice.pick(&holder.keys);
    match dice.roll(4) {
        0 => file.sign_ends(key),
        1 if !file.ends.is_empty() => file.sign_end(dice.roll(file.ends.len()), key),
        2 => file.sign_keys(key),
        3 => {
            file.sign_ends(key);
            file.sign_keys(dice.pick(&holder.keys));
        }
        _ => {}
    }
}

/// So many changed bundles; those that hold.
async fn bundles_that_hold(seed: u64, count: usize) -> Vec<Vec<u8>> {
    let mut ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Pending).await;
    let holder = holder(&mut ledgerbox).await;
    let good = bundle(&ledgerbox, deal.id()).await;
    assert!(bundle_holds(&good, &holder.policy));
    let (mut dice, mut made, mut held) = (Dice(0x811_0000 + seed), 0, Vec::new());
    let parts = File::of(&good);
    while made < count {
        let mut file = parts.clone();
        for _ in 0..=dice.roll(2) {
            if file.records.len() > 1 && !file.ends.is_empty() {
                let key = dice.pick(&holder.keys).clone();
                change(&mut file, &mut dice, &key);
            }
        }
        sign(&mut file, &mut dice, &holder);
        let bytes = file.to_bytes();
        if bytes == good {
            continue;
        }
        made += 1;
        if bundle_holds(&bytes, &holder.policy) {
            held.push(bytes);
        }
    }
    held
}

/// How many tests there are below, which run beside each other.
const PARTS: usize = 8;

/// Changed bundles of all tests together.
const BUNDLES: u32 = 1_600;

async fn none_holds(seed: u64) {
    let each = (size("X811_MUTATIONS", BUNDLES) as usize).div_ceil(PARTS);
    let held = bundles_that_hold(seed, each).await;
    assert_eq!(held.first().map(|it| String::from_utf8_lossy(it)), None);
}

#[tokio::test]
async fn lc_8_no_changed_bundle_holds_first_part() {
    none_holds(1).await;
}

#[tokio::test]
async fn lc_8_no_changed_bundle_holds_second_part() {
    none_holds(2).await;
}

#[tokio::test]
async fn lc_8_no_changed_bundle_holds_third_part() {
    none_holds(3).await;
}

#[tokio::test]
async fn lc_8_no_changed_bundle_holds_fourth_part() {
    none_holds(4).await;
}

#[tokio::test]
async fn lc_8_no_changed_bundle_holds_fifth_part() {
    none_holds(5).await;
}

#[tokio::test]
async fn lc_8_no_changed_bundle_holds_sixth_part() {
    none_holds(6).await;
}

#[tokio::test]
async fn lc_8_no_changed_bundle_holds_seventh_part() {
    none_holds(7).await;
}

#[tokio::test]
async fn lc_8_no_changed_bundle_holds_eighth_part() {
    none_holds(8).await;
}

/// One change to a receipt's members.
fn change_receipt(receipt: &mut Value, dice: &mut Dice, holder: &Holder) {
    let key = dice.pick(&holder.keys).clone();
    let line = |version: &str| format!("x811 {version}\n");
    match dice.roll(10) {
        0 => {
            receipt["x811_receipt"] = json!(1);
            receipt.as_object_mut().unwrap().remove("keys");
            receipt.as_object_mut().unwrap().remove("end");
        }
        1 => drop(receipt.as_object_mut().unwrap().remove("rotations")),
        2 => {
            if let Some(rotations) = receipt["rotations"].as_array_mut()
                && !rotations.is_empty()
            {
                rotations.remove(dice.roll(rotations.len()));
            }
        }
        3 => {
            receipt["keys"]["rotations"] = json!([]);
            signed(&mut receipt["keys"], &line("keys v1"), &key);
        }
        4 => {
            receipt["keys"]["keys"]["receipt"] = json!(key.public());
            signed(&mut receipt["keys"], &line("keys v1"), &key);
        }
        5 => {
            receipt["end"]["standing"] = json!(dice.pick(&["none", "returned", "reversed"]));
            signed(&mut receipt["end"], &line("stream end v2"), &key);
        }
        6 => {
            receipt["end"]["tree_size"] = json!(dice.roll(40));
            signed(&mut receipt["end"], &line("stream end v2"), &key);
        }
        7 => receipt["ask"] = json!("/elsewhere"),
        8 => {
            let envelopes = receipt["envelopes"].as_array_mut().unwrap();
            envelopes.remove(dice.roll(envelopes.len()));
        }
        _ => {
            let role = *dice.pick(&["checkpoint", "receipt"]);
            receipt["ledger"]["event"]["keys"][role] = json!(key.public());
        }
    }
}

fn signed(object: &mut Value, line: &str, key: &SecretKey) {
    let Some(members) = object.as_object_mut() else {
        return;
    };
    members.remove("signature");
    let bytes = [line.as_bytes(), &to_canonical(object)].concat();
    object["signature"] = json!(key.sign(&bytes));
}

#[tokio::test]
async fn lc_8_no_changed_receipt_holds_whoever_signs_it() {
    let (mut ledgerbox, deal) = paid().await;
    let holder = holder(&mut ledgerbox).await;
    let good = receipts_in_both_forms(&ledgerbox, deal.id())
        .await
        .0
        .unwrap();
    let good: Value = serde_json::from_slice(&good.to_bytes()).unwrap();
    let (mut dice, mut read) = (Dice(0x811_0003), 0);
    for place in 0..1_500 {
        let mut bad = good.clone();
        for _ in 0..=dice.roll(2) {
            change_receipt(&mut bad, &mut dice, &holder);
        }
        let version = bad["x811_receipt"].as_u64().unwrap();
        let line = format!("x811 receipt v{version}\n");
        // A change may be the one that changes nothing.
        if bad == good {
            continue;
        }
        let key = dice.pick(&holder.keys).clone();
        signed(&mut bad, &line, &key);
        let bytes = [to_canonical(&bad), b"\n".to_vec()].concat();
        let Ok(receipt) = Receipt::from_bytes(&bytes) else {
            continue;
        };
        read += 1;
        let checked = verify(&receipt, Some(&holder.policy));
        let holds = checked.paid.is_some() && checked.trusted;
        assert!(!holds, "{place}: {}", String::from_utf8_lossy(&bytes));
    }
    assert!(read > 1_000, "{read}");
}
