//! What the ledger signed beside its checkpoints, held against another file: an end that hides a
//! record, and a keys statement that hides a rotation (ledger-contract.md section 8).

use x811_audit::export::{LastRecord, SignedEnd};
use x811_audit::{Comparison, Contradicts, compare};
use x811_eventlog::Record;
use x811_protocol::event::LedgerRole;
use x811_protocol::key::SecretKey;
use x811_world::keys_statement::{Rotation, SignedKeys};

use super::bundles::{bundle, signed};
use super::deal::{Deal, TOTAL_MICRO_USDC, Until};
use super::ledgerbox::{Ledgerbox, impatient};
use super::scene::{exported_until, pay};

async fn paid() -> (Ledgerbox, Deal) {
    let mut ledgerbox = impatient().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    pay(&mut ledgerbox, &deal, 1, TOTAL_MICRO_USDC).await;
    ledgerbox.watch_ms(8_000).await;
    (ledgerbox, deal)
}

async fn whole_log(ledgerbox: &Ledgerbox) -> Vec<u8> {
    let size = ledgerbox.records().await.len();
    exported_until(ledgerbox, &signed(ledgerbox, size).await).await
}

/// The lines of a file, each as `change` leaves it.
fn with_lines(file: &[u8], mut change: impl FnMut(&str) -> Option<String>) -> Vec<u8> {
    let text = std::str::from_utf8(file).unwrap();
    let lines = text.lines().filter_map(|line| Some(change(line)? + "\n"));
    lines.collect::<String>().into_bytes()
}

/// The bundle without the last record of its interaction, the end moved before it and signed by `key`.
fn hiding(bundle: &[u8], stream: &str, key: &SecretKey) -> Vec<u8> {
    let text = std::str::from_utf8(bundle).unwrap();
    let records = text.lines().filter_map(|line| line.strip_prefix("r "));
    let records = records.map(|leaf| Record::parse(leaf.into()).unwrap());
    let of_it: Vec<Record> = records.filter(|it| it.stream() == stream).collect();
    let [.., before, hidden] = &of_it[..] else {
        panic!("too short: {of_it:?}");
    };
    let mut is_hidden = false;
    with_lines(bundle, |line| {
        if let Some(leaf) = line.strip_prefix("r ") {
            is_hidden = Record::parse(leaf.into()).unwrap().hash() == hidden.hash();
        }
        let Some(end) = line.strip_prefix("e ") else {
            let is_of_record = ["r ", "b ", "p "].iter().any(|it| line.starts_with(it));
            return (!is_hidden || !is_of_record).then(|| line.to_owned());
        };
        let SignedEnd { mut end, .. } = SignedEnd::parse(end.as_bytes()).unwrap();
        if end.stream != stream {
            return Some(line.to_owned());
        }
        end.last = Some(LastRecord {
            seq: before.stream_seq(),
            hash: before.hash(),
        });
        let end = String::from_utf8(end.sign(key).to_line()).unwrap();
        Some(format!("e {end}"))
    })
}

/// The bundle with a rotation in its keys statement that the log has not, signed by `key`.
fn with_rotation(bundle: &[u8], key: &SecretKey) -> Vec<u8> {
    with_lines(bundle, |line| {
        let Some(keys) = line.strip_prefix("k ") else {
            return Some(line.to_owned());
        };
        let SignedKeys { mut statement, .. } = SignedKeys::from_json(keys.as_bytes()).unwrap();
        statement.rotations.push(Rotation {
            new: statement.keys.receipt,
            old: SecretKey::from_seed([78; 32]).public(),
            position: 1,
            role: LedgerRole::Receipt,
        });
        let keys = String::from_utf8(statement.sign(key).to_json()).unwrap();
        Some(format!("k {keys}"))
    })
}

/// Both ways; the second only to see that it says the same.
fn against(one: &[u8], other: &[u8]) -> Comparison {
    let forth = compare(("a", one), ("b", other)).unwrap();
    let back = compare(("b", other), ("a", one)).unwrap();
    let turned = |of: &Comparison| {
        let list = of.contradictions.iter();
        let mut list: Vec<_> = list
            .map(|it| (it.other, it.one, it.other_signed_by.clone(), it.is_evidence))
            .collect();
        list.sort_by_key(|it| format!("{it:?}"));
        list
    };
    let straight = |of: &Comparison| {
        let list = of.contradictions.iter();
        let mut list: Vec<_> = list
            .map(|it| (it.one, it.other, it.one_signed_by.clone(), it.is_evidence))
            .collect();
        list.sort_by_key(|it| format!("{it:?}"));
        list
    };
    assert_eq!(turned(&forth), straight(&back));
    forth
}

fn whats(comparison: &Comparison) -> Vec<(Contradicts, bool)> {
    let list = comparison.contradictions.iter();
    list.map(|it| (it.what, it.is_evidence)).collect()
}

#[tokio::test]
async fn lc_8_an_end_that_hides_a_record_is_evidence_beside_the_record() {
    let (ledgerbox, deal) = paid().await;
    let (log, honest) = (
        whole_log(&ledgerbox).await,
        bundle(&ledgerbox, deal.id()).await,
    );
    assert!(against(&log, &honest).agrees());
    let stream = format!("interaction:{}", deal.id());
    let lie = hiding(&honest, &stream, &ledgerbox.checkpoint_key);
    assert!(against(&lie, &lie).agrees(), "alone nothing shows it");

    let found = against(&lie, &log);
    assert_eq!(whats(&found), [(Contradicts::End, true)], "{found:?}");
    let sentence = &found.contradictions[0].sentence;
    assert!(
        sentence.contains("prove it") && sentence.contains(&stream),
        "{sentence}"
    );
    let found = against(&lie, &honest);
    assert_eq!(whats(&found), [(Contradicts::End, true); 2], "{found:?}");

    // Signed by anybody else it contradicts, and proves nothing.
    let forged = hiding(&honest, &stream, &SecretKey::from_seed([77; 32]));
    let found = against(&forged, &log);
    assert_eq!(whats(&found), [(Contradicts::End, false)], "{found:?}");
}

#[tokio::test]
async fn lc_8_two_keys_statements_that_cannot_both_be_true_are_evidence() {
    let (ledgerbox, deal) = paid().await;
    let honest = bundle(&ledgerbox, deal.id()).await;
    let lie = with_rotation(&honest, &ledgerbox.checkpoint_key);
    let found = against(&lie, &honest);
    assert_eq!(whats(&found), [(Contradicts::Keys, true)], "{found:?}");
    let forged = with_rotation(&honest, &SecretKey::from_seed([77; 32]));
    let found = against(&forged, &honest);
    assert_eq!(whats(&found), [(Contradicts::Keys, false)], "{found:?}");
}
