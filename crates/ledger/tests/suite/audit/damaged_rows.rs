//! Rows for readers that lost or changed a value: nothing that rests on them is issued. Whoever holds
//! no key gains by a disk that hides the record that took a payment back.

use x811_eventlog::tile::{Tile, TileContent};
use x811_eventlog::{Checkpoint, Hash, root_of};
use x811_ledger::memory::Rows;
use x811_ledger::port::ReadModel as _;
use x811_ledger::proof::{self, ProofError};
use x811_protocol::id::InteractionId;
use x811_protocol::stream::{Stream, Subject};

use super::bundles::{interactions, try_bundle};
use super::ledgerbox::Ledgerbox;
use super::papers::receipts_in_both_forms;
use super::scene::settled_and_disputed;

/// Whether bundle and both receipts are issued.
async fn issued(ledgerbox: &Ledgerbox, id: InteractionId, size: u64) -> [bool; 3] {
    let bundle = try_bundle(ledgerbox, Subject::Interaction(id), size).await;
    let (whole, compact) = receipts_in_both_forms(ledgerbox, id).await;
    [bundle.is_ok(), whole.is_ok(), compact.is_ok()]
}

/// The interaction that was paid.
async fn paid(ledgerbox: &Ledgerbox, size: u64) -> InteractionId {
    for id in interactions(ledgerbox).await {
        if issued(ledgerbox, id, size).await == [true; 3] {
            return id;
        }
    }
    panic!("nothing was paid");
}

#[tokio::test]
async fn rest_7_a_stream_that_lost_a_record_is_in_no_bundle_and_no_receipt() {
    let ledgerbox = settled_and_disputed().await;
    let sound = ledgerbox.rows.rows();
    let size = sound.applied_size;
    let id = paid(&ledgerbox, size).await;
    let own = Stream::interaction(id).to_string();
    let last = *sound.stream_positions[&own].keys().last().unwrap();
    let change = |change: &dyn Fn(&mut Rows)| {
        let mut rows = sound.clone();
        change(&mut rows);
        ledgerbox.rows.set_rows(rows);
    };
    let of_own = |rows: &mut Rows, seq: u64, position: Option<u64>| {
        let positions = rows.stream_positions.get_mut(&own).unwrap();
        positions.remove(&seq);
        positions.extend(position.map(|position| (seq, position)));
    };
    for seq in 0..=last {
        for position in [None, Some(0), Some(size), Some(size + 7)] {
            change(&|rows| of_own(rows, seq, position));
            let issued = issued(&ledgerbox, id, size).await;
            assert_eq!(issued, [false; 3], "{seq} {position:?}");
        }
    }

    // What the interaction rests on has an end too, which its bundle signs.
    let others = sound.stream_positions.keys().filter(|name| **name != own);
    let mut refused = 0;
    for stream in others {
        change(&|rows| {
            rows.stream_positions.get_mut(stream).unwrap().pop_last();
        });
        refused += usize::from(
            try_bundle(&ledgerbox, Subject::Interaction(id), size)
                .await
                .is_err(),
        );
    }
    // The ledger and two agents; the network has no record.
    assert_eq!(refused, 3);
    change(&|_| {});
    assert_eq!(issued(&ledgerbox, id, size).await, [true; 3]);
    // A stream that goes on behind the checkpoint ends where that does.
    try_bundle(&ledgerbox, Subject::Interaction(id), size - 1)
        .await
        .unwrap();
}

#[tokio::test]
async fn rest_7_a_tile_with_another_hash_is_not_served() {
    let ledgerbox = settled_and_disputed().await;
    let sound = ledgerbox.rows.rows();
    let size = sound.applied_size;
    let checkpoint = Checkpoint {
        origin: ledgerbox.opened().origin,
        size,
        root: root_of(&sound.leaves),
    };
    let widths = [1, 2, size / 2, size];
    for changed in 0..sound.leaves.len() {
        let mut rows = sound.clone();
        rows.leaves[changed] = Hash::ZERO;
        ledgerbox.rows.set_rows(rows);
        for width in widths {
            assert!(
                !is_held(&ledgerbox, &checkpoint, width).await,
                "{changed} {width}"
            );
        }
        for older in [1, size / 2] {
            let proof = proof::consistency(&*ledgerbox.rows, older, &checkpoint).await;
            assert!(
                matches!(proof, Err(ProofError::TilesOfOlder(_))),
                "{changed}"
            );
        }
    }
    ledgerbox.rows.set_rows(sound);
    for width in widths {
        assert!(is_held(&ledgerbox, &checkpoint, width).await, "{width}");
    }
}

/// Whether the first tile of records is held to the checkpoint, as far as it is `width` wide.
async fn is_held(ledgerbox: &Ledgerbox, checkpoint: &Checkpoint, width: u64) -> bool {
    let rows = &*ledgerbox.rows;
    let tile = Tile::at(TileContent::Hashes(0), 0, width).unwrap();
    let stored = rows.hash_tile(0, 0).await.unwrap().unwrap().to_bytes();
    let bytes = &stored[..usize::from(tile.width) * 32];
    let tile = x811_eventlog::HashTile::from_bytes(tile, bytes).unwrap();
    proof::tile(rows, &tile, checkpoint).await.is_ok()
}
