//! Receipts and bundles of logs whose keys were replaced, and what refreshes them.

use x811_audit::receipt::{CompactReceipt, Receipt};
use x811_audit::refresh::Refresh;
use x811_eventlog::note::NoteKey;
use x811_eventlog::{Checkpoint, CoseReceipt, Policy};
use x811_ledger::checkpoint::Signed;
use x811_ledger::port::ReadModel as _;
use x811_ledger::receipt::{self, Issuer, ReceiptError};
use x811_ledger::refresh;
use x811_protocol::id::InteractionId;
use x811_protocol::key::SecretKey;
use x811_protocol::stream::Subject;

use super::bundles::{keys, signed};
use super::ledgerbox::Ledgerbox;

/// The checkpoint over the first `size` records with all that is made with it, by the key at hand.
pub(crate) async fn made(ledgerbox: &Ledgerbox, size: usize) -> Signed {
    let note = signed(ledgerbox, size).await;
    let checkpoint = Checkpoint::claimed(&note).unwrap();
    let key = &ledgerbox.checkpoint_key;
    let public_key = *key.public().as_bytes();
    let root = CoseReceipt::signed_bytes(&checkpoint.origin, public_key, checkpoint.root);
    Signed {
        keys: Some(keys(ledgerbox, &note)),
        checkpoint,
        note,
        cose_signature: *key.sign(&root).as_bytes(),
        monotonic_ms: 0,
    }
}

/// The receipt under a checkpoint over everything there is, in both forms.
pub(crate) async fn receipts_in_both_forms(
    ledgerbox: &Ledgerbox,
    id: InteractionId,
) -> (
    Result<Receipt, ReceiptError>,
    Result<CompactReceipt, ReceiptError>,
) {
    let signed = made(ledgerbox, ledgerbox.records().await.len()).await;
    let world = ledgerbox.ledger().world();
    let issuer = || Issuer {
        ledger: ledgerbox.identity.did,
        keyring: world.keyring().unwrap(),
        key: &ledgerbox.receipt_key,
        checkpoint_key: &ledgerbox.checkpoint_key,
        parameters: world.parameters().map(|(position, _)| position),
    };
    let (store, rows) = (&*ledgerbox.store, &*ledgerbox.rows);
    let row = rows
        .subject(Subject::Interaction(id))
        .await
        .unwrap()
        .unwrap();
    (
        receipt::build(store, rows, &row, &signed, issuer())
            .await
            .map(|file| Receipt::from_bytes(&file).unwrap()),
        receipt::build_compact(store, rows, &row, &signed, issuer()).await,
    )
}

/// What the ledger says now of a checkpoint over `size` records.
pub(crate) async fn refreshed(ledgerbox: &Ledgerbox, size: u64) -> Refresh {
    let newest = made(ledgerbox, ledgerbox.records().await.len()).await;
    let refresh = refresh::build(&*ledgerbox.rows, size, &newest)
        .await
        .unwrap();
    let read = Refresh::from_bytes(&refresh.to_bytes());
    assert_eq!(read.as_ref(), Ok(&refresh), "it is read as it is written");
    refresh
}

/// The log's name with that key.
pub(crate) fn named(ledgerbox: &Ledgerbox, key: &SecretKey) -> NoteKey {
    NoteKey::new(ledgerbox.opened().origin, *key.public().as_bytes()).unwrap()
}

/// Whoever trusts that checkpoint key of the ledger.
pub(crate) fn trusting(ledgerbox: &Ledgerbox, key: &SecretKey) -> Policy {
    Policy::of_log(named(ledgerbox, key))
}
