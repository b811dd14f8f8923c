//! What holds for every proof file that is read (C2SP tlog-proof).

use x811_eventlog::{Checkpoint, Hash, TlogProof};

/// Fails when one of the properties does not hold for `bytes`.
pub fn holds(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else {
        return;
    };
    let Ok(proof) = TlogProof::from_text(text) else {
        return;
    };
    assert_eq!(proof.to_text(), text, "a proof has one form");
    let Ok(checkpoint) = Checkpoint::claimed(&proof.checkpoint) else {
        return;
    };
    let leaf = Hash::of_leaf(proof.extra.as_deref().unwrap_or_default());
    let other = Hash::of_node(&leaf, &leaf);
    assert!(
        proof.verify(leaf, &checkpoint).is_err() || proof.verify(other, &checkpoint).is_err(),
        "one record stands in one place"
    );
    if proof.verify(leaf, &checkpoint).is_err() {
        return;
    }
    assert!(proof.index < checkpoint.size);
    for change in changes(&proof, &checkpoint) {
        assert!(change.0.verify(leaf, &change.1).is_err(), "{change:?}");
    }
}

/// What proves nothing any more.
fn changes(proof: &TlogProof, checkpoint: &Checkpoint) -> Vec<(TlogProof, Checkpoint)> {
    let mut changes = Vec::new();
    let mut change = |change: &dyn Fn(&mut TlogProof, &mut Checkpoint)| {
        let mut changed = (proof.clone(), checkpoint.clone());
        change(&mut changed.0, &mut changed.1);
        changes.push(changed);
    };
    change(&|_, checkpoint| checkpoint.root = Hash::ZERO);
    change(&|proof, _| proof.path.push(Hash::ZERO));
    change(&|proof, checkpoint| proof.index = checkpoint.size);
    if !proof.path.is_empty() {
        change(&|proof, _| {
            proof.path.pop();
        });
        change(&|proof, _| proof.path[0] = Hash::of_node(&proof.path[0], &Hash::ZERO));
    }
    changes
}
