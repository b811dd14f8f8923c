//! The ledger's own keys are replaced, each by a record that the old one signs (record.md section 2,
//! ledger-contract.md section 4).

use super::bundles::audited;
use super::deal::{Deal, Until};
use super::ledgerbox::Ledgerbox;
use x811_ledger::sequencer::OpenError;
use x811_protocol::event::{Event, LedgerRole};
use x811_protocol::key::SecretKey;

/// Types of the records from `size` on.
async fn since(ledgerbox: &Ledgerbox, size: usize) -> Vec<&'static str> {
    let events = ledgerbox.events().await.into_iter().skip(size);
    events.map(|(_, event)| event.type_name()).collect()
}

async fn assert_clean(ledgerbox: &Ledgerbox) {
    ledgerbox.assert_log_adds_up().await;
    let report = audited(ledgerbox).await;
    assert!(report.is_clean(), "{:?}", report.findings);
}

#[tokio::test]
async fn rec_2_each_key_is_replaced_with_a_start_and_once() {
    let mut ledgerbox = Ledgerbox::open().await;
    let first = ledgerbox.opened().keys;
    for (seed, role) in (91..).zip(LedgerRole::ALL) {
        let size = ledgerbox.records().await.len();
        ledgerbox.rotate(role, seed);
        ledgerbox.restart().await;
        let said = since(&ledgerbox, size).await;
        assert_eq!(said, ["ledger_resumed", "ledger_key_rotated"]);
        // Cut off behind the record, the start is made again.
        ledgerbox.restart().await;
        assert_eq!(since(&ledgerbox, size + 2).await, ["ledger_resumed"]);
        assert_clean(&ledgerbox).await;
    }
    let world = ledgerbox.ledger().world();
    let keyring = world.keyring().unwrap();
    assert_eq!(*keyring.in_force(), ledgerbox.opened().keys);
    for (seed, role) in (91..).zip(LedgerRole::ALL) {
        let key = SecretKey::from_seed([seed; 32]).public();
        assert_eq!(keyring.in_force().of(role), key);
    }
    assert_eq!(keyring.replaced().len(), 3);
    for replaced in keyring.replaced() {
        assert_eq!(replaced.old_key, first.of(replaced.role));
        let before = keyring.after(replaced.position);
        assert_eq!(before.of(replaced.role), replaced.old_key);
        assert_ne!(keyring.after(replaced.position + 1), before);
    }
    assert_eq!(keyring.after(2), first);
    assert_eq!(world.identity().unwrap().keys, first, "position 0 stays");
}

#[tokio::test]
async fn rec_2_all_three_at_once() {
    let mut ledgerbox = Ledgerbox::open().await;
    let size = ledgerbox.records().await.len();
    for (seed, role) in (91..).zip(LedgerRole::ALL) {
        ledgerbox.rotate(role, seed);
    }
    ledgerbox.restart().await;
    let said = since(&ledgerbox, size).await;
    let rotated = ["ledger_key_rotated"; 3];
    assert_eq!(said, [&["ledger_resumed"][..], &rotated].concat());
    assert_clean(&ledgerbox).await;
}

#[tokio::test]
async fn rec_2_notices_are_signed_by_the_key_in_force() {
    let mut ledgerbox = Ledgerbox::open().await;
    let old_key = ledgerbox.identity.key.public();
    Deal::opened(&ledgerbox, Until::Pending).await;
    ledgerbox.advance_ms(60_001).await;
    Deal::opened(&ledgerbox, Until::Pending).await;
    ledgerbox.rotate(LedgerRole::Envelope, 91);
    ledgerbox.restart().await;
    let new_key = ledgerbox.identity.key.public();
    let agent = ledgerbox.ledger().world();
    let agent = agent.agent(ledgerbox.identity.did).unwrap().clone();
    assert!(agent.key(&new_key).is_some() && agent.key(&old_key).is_none());
    ledgerbox.advance_ms(120_001).await;

    let mut keys = Vec::new();
    for (_, event) in ledgerbox.events().await {
        if let Event::NoticeIssued(notice) = event {
            keys.push(notice.envelope.key.key);
        }
    }
    assert_eq!(keys, [old_key, old_key, new_key, new_key]);
    assert_clean(&ledgerbox).await;
}

/// A start with a key that is not in force would sign what nobody could verify.
#[tokio::test]
async fn rec_2_a_key_that_is_not_in_force_does_not_start() {
    for (seed, role) in (91..).zip(LedgerRole::ALL) {
        let mut ledgerbox = Ledgerbox::open().await;
        let size = ledgerbox.records().await.len();
        let before = ledgerbox.opened().keys.of(role);
        ledgerbox.crash().await;
        ledgerbox.rotate(role, seed);
        let after = ledgerbox.opened().keys.of(role);
        let rotations = std::mem::take(&mut ledgerbox.rotations);
        let refused = ledgerbox.start().await.unwrap_err();
        let OpenError::OtherKey(other) = &refused else {
            panic!("{refused}");
        };
        assert_eq!((other.role, other.log, other.file), (role, before, after));
        assert!(refused.to_string().contains(&format!("keys/{role}.seed")));
        assert_eq!(ledgerbox.records().await.len(), size, "untouched");

        // One that somebody else signed is no rotation.
        let mut forged = rotations.clone();
        forged[0].proof = SecretKey::from_seed([1; 32]).sign(b"x811 ledger key v1");
        ledgerbox.rotations = forged;
        let refused = ledgerbox.start().await.unwrap_err();
        assert!(matches!(refused, OpenError::Fault(_)), "{refused}");
        assert_eq!(ledgerbox.records().await.len(), size, "untouched");
        ledgerbox.rotations = rotations;
        ledgerbox.start().await.unwrap();
    }
}
