//! Thousands of receipts that somebody changed who holds the ledger's earlier keys, or the receipt
//! key in force: none holds that says anything else than an honest one (ledger-contract.md section 8).

use std::collections::BTreeMap;

use serde_json::{Value, json};
use x811_audit::receipt::{Checked, CompactReceipt, PaidPayment, Receipt, verify, verify_compact};
use x811_eventlog::Checkpoint;
use x811_ledger::entropy::Entropy as _;
use x811_protocol::canonical::to_canonical;
use x811_protocol::event::LedgerRole;
use x811_protocol::key::SecretKey;

use super::deal::{Deal, TOTAL_MICRO_USDC, Until};
use super::keys::rotate;
use super::paper::{Paper, again, impatient, note, pay};
use super::party::SeededEntropy;
use super::size::size;

/// Changed receipts of each kind.
const RECEIPTS: u32 = 500;

/// Chance that is the same in every run.
struct Chance(SeededEntropy);

impl Chance {
    fn below(&self, limit: usize) -> usize {
        let mut bytes = [0; 8];
        self.0.fill(&mut bytes);
        usize::try_from(u64::from_le_bytes(bytes) % limit as u64).unwrap()
    }

    fn of<'a, T>(&self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}

/// Receipts of one ledger under its last checkpoint, what it issued before its keys were replaced,
/// and the keys of a forger.
struct Forger {
    papers: Vec<Paper>,
    /// By the earlier keys.
    earlier: Vec<Paper>,
    keys: Vec<SecretKey>,
    earlier_checkpoint_key: SecretKey,
    chance: Chance,
}

impl Forger {
    async fn new() -> Forger {
        let mut ledgerbox = impatient().await;
        let first = Deal::opened(&ledgerbox, Until::Verified).await;
        pay(&mut ledgerbox, &first, 1, &[TOTAL_MICRO_USDC]).await;
        let mut two_keys = again(&ledgerbox, &first);
        two_keys.go(&ledgerbox, Until::Accepted).await;
        for step in [Deal::result, Deal::verify] {
            let message = step(&mut two_keys, &ledgerbox);
            ledgerbox.accept(&message).await;
            rotate(&ledgerbox, &mut two_keys).await;
        }
        let amounts = [400_000; 3];
        pay(&mut ledgerbox, &two_keys, 2, &amounts).await;
        let deals = [first, two_keys];
        let mut earlier = Vec::new();
        for deal in &deals {
            earlier.push(Paper::of(&ledgerbox, deal).await);
        }
        let earlier_checkpoint_key = ledgerbox.checkpoint_key.clone();
        let mut keys = vec![ledgerbox.receipt_key.clone()];
        for (role, seed) in LedgerRole::ALL.into_iter().zip(91..) {
            ledgerbox.rotate(role, seed);
        }
        ledgerbox.restart().await;
        keys.push(ledgerbox.receipt_key.clone());
        let mut papers = Vec::new();
        for deal in &deals {
            papers.push(Paper::of(&ledgerbox, deal).await);
        }
        Forger {
            papers,
            earlier,
            keys,
            earlier_checkpoint_key,
            chance: Chance(SeededEntropy::new(18)),
        }
    }

    /// Every honest receipt as a value, those in force first.
    fn values(&self) -> Vec<Value> {
        let all = self.papers.iter().chain(&self.earlier);
        all.map(|paper| serde_json::to_value(&paper.receipt).unwrap())
            .collect()
    }

    /// Changes the value in one place; says how.
    fn change(&self, value: &mut Value, others: &[Value]) -> &'static str {
        let mut pointers = Vec::new();
        gather(value, String::new(), &mut pointers);
        let (one, two) = (self.chance.of(&pointers), self.chance.of(&pointers));
        match self.chance.below(6) {
            0 | 1 => {
                let member = value.pointer_mut(one).unwrap();
                *member = self.another(member);
                "changed"
            }
            2 => {
                remove(value, one);
                "removed"
            }
            3 => {
                double(value, one);
                "doubled"
            }
            4 => {
                let (first, second) = (value.pointer(one), value.pointer(two));
                let (first, second) = (first.cloned(), second.cloned());
                // One may be inside of the other.
                for (at, taken) in [(one, second), (two, first)] {
                    if let (Some(member), Some(taken)) = (value.pointer_mut(at), taken) {
                        *member = taken;
                    }
                }
                "swapped"
            }
            _ => {
                if let Some(taken) = self.chance.of(others).pointer(one) {
                    *value.pointer_mut(one).unwrap() = taken.clone();
                }
                "taken from another"
            }
        }
    }

    /// A scalar like it, or another thing.
    fn another(&self, value: &Value) -> Value {
        let numbers = [0, 1, (1 << 53) - 1];
        match value {
            Value::Number(number) => {
                let number = number.as_u64().unwrap_or(7);
                let near = [number + 1, number.saturating_sub(1), number * 2 + 1];
                json!(self.chance.of(&[near, numbers].concat()))
            }
            Value::Bool(yes) => json!(!yes),
            Value::String(text) if !text.is_empty() => {
                let mut letters: Vec<char> = text.chars().collect();
                let at = self.chance.below(letters.len());
                letters[at] = *self
                    .chance
                    .of(&['0', '1', 'a', 'f', 'A', 'z', '=', ' ', 'é']);
                json!(String::from_iter(letters))
            }
            Value::String(_) | Value::Null | Value::Array(_) | Value::Object(_) => self
                .chance
                .of(&[json!(null), json!([]), json!({}), json!("")])
                .clone(),
        }
    }

    /// The bytes of a receipt that was changed, and how.
    fn whole(&self, values: &[Value]) -> (Vec<u8>, String) {
        let mut value = values[self.chance.below(self.papers.len())].clone();
        let mut how = String::new();
        for _ in 0..=self.chance.below(2) {
            how += self.change(&mut value, values);
            how += ", ";
        }
        if self.chance.below(8) == 0 {
            self.sign_checkpoint(&mut value);
            how += "checkpoint by the earlier key, ";
        }
        match self.chance.below(4) {
            0 => how += "not signed",
            by => {
                sign(&mut value, &self.keys[by % 2]);
                how += ["by the earlier key", "by the key in force"][by % 2];
            }
        }
        let mut bytes = [to_canonical(&value), b"\n".to_vec()].concat();
        if self.chance.below(16) == 0 {
            let at = self.chance.below(bytes.len());
            bytes.truncate(at);
            how += ", cut";
        }
        (bytes, how)
    }

    fn sign_checkpoint(&self, value: &mut Value) {
        let claimed = value["checkpoint"].as_str().map(Checkpoint::claimed);
        if let Some(Ok(checkpoint)) = claimed {
            value["checkpoint"] = json!(note(&checkpoint, &self.earlier_checkpoint_key));
        }
    }

    /// The bytes of a compact receipt that was changed.
    fn compact(&self) -> Vec<u8> {
        let all: Vec<&Paper> = self.papers.iter().chain(&self.earlier).collect();
        let mut statement = self.chance.of(&self.papers).compact.statement.clone();
        let other = &self.chance.of(&all).compact.statement;
        let flip = |bytes: &mut [u8]| {
            let at = self.chance.below(bytes.len());
            bytes[at] ^= 1 << self.chance.below(8);
        };
        match self.chance.below(12) {
            0 => statement.leaf = other.leaf.clone(),
            1 => flip(&mut statement.leaf),
            2 => statement.subject = other.subject.clone(),
            3 => statement.issuer = "did:x811:019b76da-a800-7000-8000-0000000000d1".to_owned(),
            4 => statement.receipt = other.receipt.clone(),
            5 => statement.receipt.public_key = *self.earlier_checkpoint_key.public().as_bytes(),
            6 => flip(&mut statement.receipt.signature),
            7 => statement.receipt.proof.position = self.chance.below(99) as u64,
            8 => statement.receipt.proof.size = self.chance.below(99) as u64,
            9 => drop(statement.receipt.proof.path.pop()),
            10 => statement.receipt.proof.path.reverse(),
            _ => statement.receipt.origin.push('x'),
        }
        if self.chance.below(4) > 0 {
            let key = self.chance.of(&self.keys);
            statement.public_key = *key.public().as_bytes();
            statement.signature = *key.sign(&statement.signed_bytes()).as_bytes();
        }
        let mut bytes = statement.to_bytes();
        match self.chance.below(16) {
            0 => flip(&mut bytes),
            1 => bytes.truncate(self.chance.below(bytes.len())),
            2 => bytes.push(0),
            _ => {}
        }
        bytes
    }
}

/// Of everything in it, by JSON pointer.
fn gather(value: &Value, pointer: String, pointers: &mut Vec<String>) {
    if let Value::Object(members) = value {
        for (name, member) in members {
            gather(member, format!("{pointer}/{name}"), pointers);
        }
    } else if let Value::Array(items) = value {
        for (index, item) in items.iter().enumerate() {
            gather(item, format!("{pointer}/{index}"), pointers);
        }
    }
    if !pointer.is_empty() {
        pointers.push(pointer);
    }
}

fn remove(value: &mut Value, pointer: &str) {
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    match value.pointer_mut(parent) {
        Some(Value::Object(members)) => drop(members.remove(name)),
        Some(Value::Array(items)) => drop(items.remove(name.parse().unwrap())),
        _ => {}
    }
}

/// An element twice, or a member under another name too.
fn double(value: &mut Value, pointer: &str) {
    let taken = value.pointer(pointer).unwrap().clone();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    match value.pointer_mut(parent) {
        Some(Value::Object(members)) => drop(members.insert(format!("{name}_2"), taken)),
        Some(Value::Array(items)) => items.insert(name.parse().unwrap(), taken),
        _ => {}
    }
}

fn sign(receipt: &mut Value, key: &SecretKey) {
    let Some(members) = receipt.as_object_mut() else {
        return;
    };
    members.remove("signature");
    let form = if members.contains_key("keys") { 2 } else { 1 };
    let line = format!("x811 receipt v{form}\n");
    let signed = [line.as_bytes(), &to_canonical(receipt)].concat();
    receipt["signature"] = json!(key.sign(&signed).to_string());
}

#[tokio::test]
async fn lc_8_no_receipt_that_was_changed_holds() {
    let forger = Forger::new().await;
    let policy = forger.papers[0].policy.clone();
    let honest: Vec<Checked> = forger
        .papers
        .iter()
        .map(|it| it.holds(&it.receipt))
        .collect();
    let values = forger.values();
    let count = size("X811_MUTATIONS", RECEIPTS);
    let (mut wrapped, mut found) = (0, BTreeMap::<&str, u64>::new());
    for number in 0..count {
        let (bytes, how) = forger.whole(&values);
        let Ok(receipt) = Receipt::from_bytes(&bytes) else {
            *found.entry("form").or_default() += 1;
            continue;
        };
        let checked = forger.papers[0].verify(&receipt);
        if checked.paid.is_none() {
            *found
                .entry(checked.steps.last().unwrap().about)
                .or_default() += 1;
            continue;
        }
        // True records of one checkpoint, wrapped anew: what it says is what an honest one says.
        assert!(honest.contains(&checked), "{number}: {how}: {checked:#?}");
        wrapped += 1;
    }
    println!("{found:?}, wrapped anew: {wrapped}");
    for about in ["form", "checkpoint", "issuer", "record"] {
        assert!(found.contains_key(about), "{about}: {found:?}");
    }
    assert!(wrapped * 8 < count, "{wrapped} of {count}");
    for paper in &forger.earlier {
        // Under the checkpoint key of before: nobody says whether the ledger replaced it.
        assert!(!verify(&paper.receipt, Some(&policy)).trusted);
    }
}

#[tokio::test]
async fn lc_8_no_compact_receipt_that_was_changed_says_anything_else() {
    let forger = Forger::new().await;
    let policy = forger.papers[0].policy.clone();
    let honest = forger.papers.iter().map(|paper| {
        let paid = verify_compact(&paper.compact, Some(&policy)).paid;
        paid.unwrap()
    });
    let honest: Vec<PaidPayment> = honest.collect();
    let count = size("X811_MUTATIONS", RECEIPTS);
    let mut wrapped = 0;
    for number in 0..count {
        let Ok(receipt) = CompactReceipt::from_bytes(&forger.compact()) else {
            continue;
        };
        let checked = verify_compact(&receipt, Some(&policy));
        let Some(paid) = checked.paid else {
            continue;
        };
        assert!(honest.contains(&paid), "{number}: {paid:#?}");
        wrapped += 1;
    }
    println!("wrapped anew: {wrapped}");
    assert!(wrapped * 8 < count, "{wrapped} of {count}");
}
