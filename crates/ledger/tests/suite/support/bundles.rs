//! Bundles of one interaction: how the tests make them, and that those of honest logs are clean.

use x811_audit::{Options, Report, audit_export};
use x811_eventlog::{Checkpoint, Record, root_of};
use x811_ledger::export::{BundleError, SubjectBundle};
use x811_ledger::port::ReadModel as _;
use x811_ledger::store_audit::audit_store;
use x811_protocol::id::InteractionId;
use x811_protocol::key::SecretKey;
use x811_protocol::stream::Subject;
use x811_world::keys_statement::{KeysStatement, SignedKeys};

use super::ledgerbox::Ledgerbox;

/// A checkpoint over the first `size` records.
pub(crate) async fn signed(ledgerbox: &Ledgerbox, size: usize) -> String {
    let records = ledgerbox.records().await;
    let leaves: Vec<_> = records.iter().map(Record::hash).collect();
    let checkpoint = Checkpoint {
        origin: ledgerbox.opened().origin,
        size: size as u64,
        root: root_of(&leaves[..size]),
    };
    note(&checkpoint, &ledgerbox.checkpoint_key)
}

/// A checkpoint over all records.
pub(crate) async fn signed_whole(ledgerbox: &Ledgerbox) -> String {
    let size = ledgerbox.records().await.len();
    signed(ledgerbox, size).await
}

/// The audit of the store, under a checkpoint over all records.
pub(crate) async fn audited(ledgerbox: &Ledgerbox) -> Report {
    let options = Options {
        checkpoint: Some(signed_whole(ledgerbox).await),
        ..Options::default()
    };
    let audit = audit_store(&*ledgerbox.store, Some(&*ledgerbox.rows), options);
    audit.await.unwrap()
}

/// `checkpoint` as `key` signs it.
pub(crate) fn note(checkpoint: &Checkpoint, key: &SecretKey) -> String {
    let sign = |message: &[u8]| *key.sign(message).as_bytes();
    checkpoint.sign(*key.public().as_bytes(), sign).unwrap()
}

/// The keys statement of a checkpoint, by the checkpoint key at hand.
pub(crate) fn keys(ledgerbox: &Ledgerbox, note: &str) -> SignedKeys {
    let world = ledgerbox.ledger().world();
    let (opened, keyring) = (world.identity().unwrap(), world.keyring().unwrap());
    let checkpoint = Checkpoint::claimed(note).unwrap();
    KeysStatement::of(opened, keyring, &checkpoint).sign(&ledgerbox.checkpoint_key)
}

/// The bundle of an interaction, under a checkpoint over everything that the rows reflect.
pub(crate) async fn bundle(ledgerbox: &Ledgerbox, id: InteractionId) -> Vec<u8> {
    bundle_of(ledgerbox, Subject::Interaction(id)).await
}

/// The bundle of that subject under a checkpoint over everything.
pub(crate) async fn bundle_of(ledgerbox: &Ledgerbox, subject: Subject) -> Vec<u8> {
    let size = ledgerbox.rows.applied_size().await.unwrap();
    try_bundle(ledgerbox, subject, size).await.unwrap()
}

/// The same under a checkpoint over `size` records, or why it is not written.
pub(crate) async fn try_bundle(
    ledgerbox: &Ledgerbox,
    subject: Subject,
    size: u64,
) -> Result<Vec<u8>, BundleError> {
    let (store, rows) = (&*ledgerbox.store, &*ledgerbox.rows);
    let note = signed(ledgerbox, usize::try_from(size).unwrap()).await;
    let keys = keys(ledgerbox, &note);
    let world = ledgerbox.ledger().world();
    let bundle = SubjectBundle::open(store, rows, subject, note, keys).await?;
    let mut bundle = bundle.reaching(|stream| world.next_seq(stream));
    let (mut bytes, key) = (Vec::new(), &ledgerbox.checkpoint_key);
    while let Some(piece) = bundle.next_piece(store, rows, key).await? {
        bytes.extend(piece);
    }
    Ok(bytes)
}

/// Every interaction of the log.
pub(crate) async fn interactions(ledgerbox: &Ledgerbox) -> Vec<InteractionId> {
    let records = ledgerbox.records().await;
    let opened = records.iter().filter(|record| record.stream_seq() == 0);
    let names = opened.filter_map(|record| record.stream().strip_prefix("interaction:"));
    names.map(|id| id.parse().unwrap()).collect()
}

/// Audits the bundle of every interaction; all have to be clean.
pub(crate) async fn all_clean(ledgerbox: &Ledgerbox) -> Vec<Report> {
    let mut reports = Vec::new();
    for id in interactions(ledgerbox).await {
        let bytes = bundle(ledgerbox, id).await;
        let report = audit_export(&bytes[..], None).unwrap();
        assert_eq!(report.findings, [], "{id}");
        assert!(report.is_clean());
        assert_eq!((report.not_replayed, report.not_re_decided), (0, 0));
        assert_eq!(report.signatures_valid, report.envelopes);
        assert_eq!(report.checkpoints.len(), 1);
        let extract = report.extract.as_ref().unwrap();
        let of = Some(Subject::Interaction(id));
        assert_eq!((extract.subject(), extract.open_ended), (of, 0));
        assert_eq!(report.interactions.values().sum::<u64>(), 1);
        reports.push(report);
    }
    reports
}
