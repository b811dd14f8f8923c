//! What holds for every file that is read as a receipt, and for what is proven by it.

use serde_json::json;
use x811_audit::export::LastRecord;
use x811_audit::receipt::{ClaimVerdict, Receipt, tlog_proof, verify};
use x811_audit::standing::Standing;
use x811_eventlog::note::NoteKey;
use x811_eventlog::{Checkpoint, Frontier, Policy};
use x811_protocol::key::SecretKey;

/// Fails when one of the properties does not hold for `bytes`.
pub fn holds(bytes: &[u8]) {
    let Ok(receipt) = Receipt::from_bytes(bytes) else {
        return;
    };
    assert_eq!(receipt.to_bytes(), bytes, "a receipt has one form");
    check(&receipt);
    if let Some(own) = by_another_ledger(receipt) {
        check(&own);
    }
}

fn check(receipt: &Receipt) {
    let checked = verify(receipt, None);
    let last = checked.steps.last().expect("something is said of it");
    let is_broken = |verdict| verdict == ClaimVerdict::Broken;
    assert_eq!(checked.paid.is_none(), is_broken(last.verdict), "{last:?}");
    let others = checked.steps.iter().rev().skip(1);
    assert!(
        !others.map(|step| step.verdict).any(is_broken),
        "the first ends it"
    );
    // Who prints a sentence escapes it: it may quote the file.
    assert!(checked.steps.iter().all(|step| !step.sentence.is_empty()));
    let proof = tlog_proof(receipt);
    assert_eq!(proof.is_ok(), checked.paid.is_some());
    if let Some(paid) = checked.paid {
        assert_eq!(paid.interaction, receipt.interaction);
        // Whose ledger it is, is not for the file to say.
        let stranger = SecretKey::from_seed([9; 32]).public();
        let stranger = NoteKey::new("ledger.example/stranger", *stranger.as_bytes());
        let policy = Policy::of_log(stranger.expect("it can be a key's name"));
        assert_eq!(verify(receipt, Some(&policy)).paid, None);
    }
}

/// The same, as a ledger that lies would write it: under keys of its own, in a log that has these
/// three records alone.
fn by_another_ledger(mut receipt: Receipt) -> Option<Receipt> {
    let [signer, issuer] = [[1; 32], [2; 32]].map(SecretKey::from_seed);
    let keys = receipt.ledger.event.get_mut("keys")?.as_object_mut()?;
    keys.insert("checkpoint".to_owned(), json!(signer.public()));
    keys.insert("receipt".to_owned(), json!(issuer.public()));
    receipt.rotations.clear();
    let mut tree = Frontier::new();
    let opened = receipt.ledger.record().ok()?;
    tree.push(opened.hash());
    let stream = format!("interaction:{}", receipt.interaction);
    let mut before = opened;
    let leaves = [&mut receipt.parameters, &mut receipt.confirmed];
    for (leaf, stream) in leaves.into_iter().zip(["ledger".to_owned(), stream]) {
        leaf.place.position = before.position() + 1;
        leaf.place.prev = before.hash();
        before = leaf.record(stream).ok()?;
        tree.push(before.hash());
    }
    let checkpoint = Checkpoint {
        origin: receipt.ledger.event.get("origin")?.as_str()?.to_owned(),
        size: tree.size(),
        root: tree.root(),
    };
    let sign = |message: &[u8]| *signer.sign(message).as_bytes();
    receipt.checkpoint = checkpoint.sign(*signer.public().as_bytes(), sign).ok()?;
    receipt.hashes.clear();
    let mut statement = receipt.keys.statement;
    statement.keys.checkpoint = signer.public();
    statement.keys.receipt = issuer.public();
    statement.rotations.clear();
    (statement.origin, statement.root) = (checkpoint.origin, checkpoint.root);
    statement.size = checkpoint.size;
    receipt.keys = statement.sign(&signer);
    let mut end = receipt.end.end;
    end.last = Some(LastRecord {
        seq: before.stream_seq(),
        hash: before.hash(),
    });
    (end.standing, end.tree_size) = (Some(Standing::Paid), checkpoint.size);
    receipt.end = end.sign(&signer);
    Some(receipt.sign(&issuer))
}
