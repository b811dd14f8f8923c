//! Every member of a receipt is changed, removed and added by a ledger that seals everything anew. What
//! the receipt holds otherwise too must break it, or be counted as not checked; the rest is listed here
//! with its reason. The list may only shrink: an entry that is found has to go.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use serde_json::{Value, json};
use x811_audit::receipt::{Checked, ClaimVerdict, Receipt, verify_compact};
use x811_protocol::event::Derived;

use super::contract::paid_under_contract;
use super::every_path::{exactly, others, path, pointers};
use super::keys::rotated_before;
use super::paper::{Paper, impatient, paid, paid_apart};

/// Members that a ledger can change without a trace in the file, and why; a path that ends with a dot
/// stands for everything below it.
const WORD: &[(&str, &str)] = &[
    ("agent_keys.event.document_digest", OF_ITS_BODY),
    ("agent_keys.event.envelope.created_ms", WITHIN_CLOCKS),
    ("agent_keys.event.envelope.id", OF_ITS_BODY),
    ("agent_keys.event.envelope.nonce_tag", OF_ITS_BODY),
    ("agent_keys.event.envelope.size", OF_ITS_BODY),
    ("agent_keys.event.envelope.version", OF_ITS_BODY),
    ("agent_keys.event.keys", OF_ITS_BODY),
    ("agent_keys.event.wallets", OF_ITS_BODY),
    ("agent_keys.event.wallets.address", OF_ITS_BODY),
    ("agent_keys.event.wallets.proof", OF_ITS_BODY),
    ("agent_keys.position", NEIGHBOURS),
    ("agent_keys.prev", NEIGHBOURS),
    ("agent_keys.stream_seq", NEIGHBOURS),
    ("confirmed.event.evidence.block.hash", OBSERVED),
    ("confirmed.event.evidence.block.number", OBSERVED),
    ("confirmed.event.evidence.block.timestamp_s", OBSERVED),
    ("confirmed.event.evidence.depth", OBSERVED),
    ("confirmed.event.evidence.endpoints", OBSERVED),
    ("confirmed.event.evidence.transfer_count", OBSERVED),
    ("confirmed.event.records.request", NEIGHBOURS),
    ("confirmed.event.records.result", NEIGHBOURS),
    ("confirmed.prev", NEIGHBOURS),
    ("confirmed.recorded_at_ms", CLOCK),
    ("envelopes.derived.contract.accept", CONTRACT),
    ("envelopes.derived.contract.deliverables_hash", CONTRACT),
    ("envelopes.derived.contract.terms_hash", CONTRACT),
    (
        "envelopes.derived.deadline_at_ms",
        "of a further PAYMENT: the window that the first opened, moved by downtime",
    ),
    ("envelopes.derived.heads", OBSERVED),
    ("envelopes.derived.heads.hash", OBSERVED),
    ("envelopes.derived.heads.network", OBSERVED),
    ("envelopes.derived.heads.number", OBSERVED),
    ("envelopes.derived.heads.timestamp_s", OBSERVED),
    ("envelopes.position", NEIGHBOURS),
    ("envelopes.prev", NEIGHBOURS),
    ("envelopes.recorded_at_ms", CLOCK),
    (
        "ledger.event.did",
        "the ledger's name for itself: bound where agents or rotations of keys sign it",
    ),
    ("ledger.recorded_at_ms", CLOCK),
    ("parameters.event.contracts", PARAMETERS),
    ("parameters.event.contracts.", PARAMETERS),
    ("parameters.event.limits.", PARAMETERS),
    ("parameters.event.looks_ms", PARAMETERS),
    ("parameters.event.networks", PARAMETERS),
    ("parameters.event.networks.blind_after_ms", PARAMETERS),
    ("parameters.event.networks.confirmed_depth", PARAMETERS),
    ("parameters.event.networks.fresh_ms", PARAMETERS),
    ("parameters.event.networks.late_ms", PARAMETERS),
    ("parameters.event.networks.token", PARAMETERS),
    ("parameters.event.networks.treasury", PARAMETERS),
    ("parameters.event.windows.accept_ms", PARAMETERS),
    ("parameters.event.windows.offer_ms", PARAMETERS),
    ("parameters.event.windows.verify_ms", PARAMETERS),
    ("parameters.position", NEIGHBOURS),
];

const OF_ITS_BODY: &str =
    "of a message whose body is not in the file, and whose keys alone are used";
const WITHIN_CLOCKS: &str = "within the five minutes that clocks may differ by";
const NEIGHBOURS: &str = "its place among records that the file does not have";
const OBSERVED: &str =
    "what the endpoints of the ledger showed, within the rules and the times of its records";
const CLOCK: &str = "the ledger's clock, between the records before and behind";
const CONTRACT: &str = "of the contract, whose stream is in the bundle of the interaction";
const PARAMETERS: &str =
    "what the operator set, as far as no message and no deadline in the file shows it";
const MESSAGES: &str = "follows from messages or parameters, which a compact receipt does not have";

/// The same of compact receipts.
const COMPACT_WORD: &[(&str, &str)] = &[
    ("confirmed.event.claims.chain_id", MESSAGES),
    ("confirmed.event.evidence.block.hash", OBSERVED),
    ("confirmed.event.evidence.block.number", OBSERVED),
    ("confirmed.event.evidence.block.timestamp_s", OBSERVED),
    ("confirmed.event.evidence.depth", OBSERVED),
    ("confirmed.event.evidence.endpoints", OBSERVED),
    ("confirmed.event.evidence.network", MESSAGES),
    ("confirmed.event.evidence.transfer_count", OBSERVED),
    ("confirmed.event.evidence.transfers.amount", MESSAGES),
    ("confirmed.event.evidence.transfers.from", MESSAGES),
    ("confirmed.event.evidence.transfers.to", MESSAGES),
    ("confirmed.event.records.", MESSAGES),
    ("confirmed.position", NEIGHBOURS),
    ("confirmed.prev", NEIGHBOURS),
    ("confirmed.recorded_at_ms", CLOCK),
    ("confirmed.stream_seq", NEIGHBOURS),
    ("interaction", MESSAGES),
];

/// Members that the sealing writes anew.
const SEALED: [&str; 5] = [
    "/signature",
    "/checkpoint",
    "/hashes",
    "/keys/",
    "/end/signature",
];

/// Every member that a record can say a ledger derived.
fn all_derived(receipt: &Value) -> BTreeMap<String, Value> {
    let mut all = BTreeMap::from([
        ("authority".to_owned(), json!(7)),
        ("descriptor".to_owned(), json!(7)),
        ("parameters".to_owned(), json!(1)),
        ("payee".to_owned(), json!(format!("0x{}", "22".repeat(20)))),
        ("payer_binding".to_owned(), json!("wallet")),
        ("signatures".to_owned(), json!(1)),
        ("version_deprecated".to_owned(), json!(true)),
    ]);
    let envelopes = receipt["envelopes"].as_array().unwrap();
    for derived in envelopes
        .iter()
        .map(|it| it["derived"].as_object().unwrap())
    {
        all.extend(derived.clone());
    }
    for (name, value) in &all {
        let derived: Result<Derived, _> = serde_json::from_value(json!({ name: value }));
        derived.unwrap();
    }
    all
}

/// Every changed receipt, by the path of the member that was changed.
fn changed(honest: &Value) -> Vec<(String, Value)> {
    let (mut all, mut changed) = (Vec::new(), Vec::new());
    pointers(honest, "", &mut all);
    let texts = all.iter().filter_map(|it| honest.pointer(it)?.as_str());
    let alike: BTreeSet<String> = texts.map(str::to_owned).collect();
    let mut add = |pointer: &str, change: &dyn Fn(&mut Value)| {
        let mut value = honest.clone();
        change(&mut value);
        changed.push((path(pointer), value));
    };
    let is_sealed = |it: &&String| SEALED.iter().any(|sealed| it.starts_with(sealed));
    for pointer in all.iter().filter(|it| !is_sealed(it)) {
        for other in others(honest.pointer(pointer).unwrap(), &alike) {
            add(pointer, &|value| {
                *value.pointer_mut(pointer).unwrap() = other.clone()
            });
        }
        let (object, name) = pointer.rsplit_once('/').unwrap();
        add(pointer, &|value| {
            if let Some(Value::Object(members)) = value.pointer_mut(object) {
                members.remove(name);
            }
        });
        if name == "derived" {
            for (name, other) in all_derived(honest) {
                let pointer = format!("{pointer}/{name}");
                add(&pointer, &|value| {
                    value.pointer_mut(&format!("{object}/derived")).unwrap()[&name] = other.clone()
                });
            }
        }
    }
    changed
}

/// How many claims it says that nobody checked.
fn not_checked(checked: &Checked) -> usize {
    let of = |verdict| {
        checked
            .steps
            .iter()
            .filter(|step| step.verdict == verdict)
            .count()
    };
    of(ClaimVerdict::NotChecked)
}

/// Members whose change nobody finds.
#[derive(Default)]
struct Held(BTreeSet<String>);

impl Held {
    /// Takes the changed receipts that hold, and count nothing more as not checked than the honest one.
    fn of(&mut self, paper: &Paper) {
        let before = not_checked(&paper.holds(&paper.receipt));
        self.take(paper, |receipt| {
            let sealed = paper.resealed(receipt)?;
            let is_read = Receipt::from_bytes(&sealed.to_bytes()).is_ok();
            let checked = paper.verify(&sealed);
            let is_missed = checked.paid.is_some() && not_checked(&checked) <= before;
            Some(sealed != paper.receipt && is_read && is_missed)
        });
    }

    /// The same of the compact receipts of these.
    fn compact(&mut self, paper: &Paper) {
        let before = not_checked(&verify_compact(&paper.compact, Some(&paper.policy)));
        self.take(paper, |receipt| {
            let compact = paper.compact_of(&receipt)?;
            let checked = verify_compact(&compact, Some(&paper.policy));
            let is_missed = checked.paid.is_some() && not_checked(&checked) <= before;
            Some(compact != paper.compact && is_missed)
        });
    }

    fn take(&mut self, paper: &Paper, is_missed: impl Fn(Receipt) -> Option<bool> + Sync) {
        let honest = serde_json::to_value(&paper.receipt).unwrap();
        let held = changed(&honest)
            .into_par_iter()
            .filter_map(|(path, value)| {
                let receipt: Receipt = serde_json::from_value(value).ok()?;
                is_missed(receipt)?.then_some(path)
            });
        self.0.extend(held.collect::<Vec<_>>());
    }
}

/// Receipts of all shapes: one transfer, two, under a contract, and with two keys of the initiator.
async fn papers() -> Vec<Paper> {
    let (ledgerbox, deal) = paid().await;
    let plain = Paper::of(&ledgerbox, &deal).await;
    let (ledgerbox, deal) = paid_apart().await;
    let apart = Paper::of(&ledgerbox, &deal).await;
    let (ledgerbox, deal, _) = paid_under_contract(false).await;
    let contract = Paper::of(&ledgerbox, &deal).await;
    let mut ledgerbox = impatient().await;
    let deal = rotated_before(&mut ledgerbox, "v").await;
    let two_keys = Paper::of(&ledgerbox, &deal).await;
    vec![plain, apart, contract, two_keys]
}

#[tokio::test]
async fn lc_8_every_member_of_a_receipt_is_held_to_the_others_or_listed() {
    let mut held = Held::default();
    for paper in papers().await {
        held.of(&paper);
    }
    exactly(&held.0, WORD);
}

#[tokio::test]
async fn lc_8_every_member_of_a_compact_receipt_is_held_to_the_others_or_listed() {
    let mut held = Held::default();
    for paper in papers().await {
        held.compact(&paper);
    }
    exactly(&held.0, COMPACT_WORD);
}
