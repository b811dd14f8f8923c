//! The tree in tiles: it grows with the rows, in one transaction with them.

use tempfile::TempDir;
use x811_eventlog::tile::{TILE_WIDTH, TileContent};
use x811_eventlog::{Hash, InclusionProof, Node, Subtree, Tile, root_of};
use x811_ledger::port::ReadModel;
use x811_world::row::RowChange;

use crate::ReadRows;

fn leaf(position: u64) -> Hash {
    Hash::of_leaf(&position.to_be_bytes())
}

async fn grow(read_model: &ReadRows, from: u64, to: u64) {
    let leaves = (from..to).map(|position| RowChange::Leaf {
        position,
        hash: leaf(position),
    });
    let leaves: Vec<_> = leaves.collect();
    read_model.apply(from, to, &leaves).await.unwrap();
}

#[tokio::test]
async fn every_tile_of_every_size_is_there() {
    let directory = TempDir::new().unwrap();
    let read_model = ReadRows::open(directory.path()).await.unwrap();
    let leaves: Vec<Hash> = (0..70_000).map(leaf).collect();
    let mut size = 0;
    for next in [1, 2, 255, 256, 257, 600, 65_535, 65_536, 65_537, 70_000] {
        grow(&read_model, size, next).await;
        size = next;
        for tile in Tile::all(size) {
            let TileContent::Hashes(level) = tile.content else {
                continue;
            };
            let stored = read_model.hash_tile(level, tile.index).await.unwrap();
            let stored = stored.unwrap();
            assert_eq!(stored.tile(), tile, "{size}");
            let each = 1_usize << (8 * level);
            let from = tile.start() as usize * each;
            let due = leaves[from..].chunks(each).map(root_of);
            let due: Vec<Hash> = due.take(usize::from(tile.width)).collect();
            assert_eq!(stored.hashes(), due, "{tile} of {size}");
        }
        every_node_is_there(&read_model, &leaves[..size as usize]).await;
        let behind = size.div_ceil(u64::from(TILE_WIDTH));
        for (level, index) in [(0, behind), (3, 0), (63, 0), (0, u64::MAX)] {
            assert_eq!(read_model.hash_tile(level, index).await.unwrap(), None);
        }
    }
}

/// Twice, so that those that are remembered are asked for too.
async fn every_node_is_there(read_model: &ReadRows, leaves: &[Hash]) {
    let size = leaves.len() as u64;
    let last = InclusionProof::subtrees(size - 1, size).unwrap();
    let first = InclusionProof::subtrees(0, size).unwrap();
    let mut wanted: Vec<Node> = last.iter().flat_map(Subtree::nodes).collect();
    wanted.extend(first.iter().flat_map(Subtree::nodes));
    wanted.extend(Subtree::whole(size).nodes());
    let due = |node: &Node| {
        let from = (node.index() << node.level()) as usize;
        (*node, root_of(&leaves[from..from + (1 << node.level())]))
    };
    let due = wanted.iter().map(due).collect();
    let behind = Subtree::whole(2 * size + 1).nodes();
    wanted.extend(behind.filter(|node| (node.index() + 1) << node.level() > size));
    for _ in 0..2 {
        assert_eq!(read_model.nodes(&wanted).await.unwrap(), due, "{size}");
    }
}

#[tokio::test]
async fn a_leaf_out_of_turn_is_refused_and_nothing_of_it_stays() {
    let directory = TempDir::new().unwrap();
    let read_model = ReadRows::open(directory.path()).await.unwrap();
    grow(&read_model, 0, 3).await;
    for positions in [&[4_u64][..], &[2], &[3, 5], &[3, 3]] {
        let leaves = positions.iter().map(|position| RowChange::Leaf {
            position: *position,
            hash: leaf(*position),
        });
        let leaves: Vec<_> = leaves.collect();
        let applied = read_model.apply(3, 5, &leaves).await;
        assert!(applied.is_err(), "{positions:?}");
    }
    let tile = read_model.hash_tile(0, 0).await.unwrap().unwrap();
    assert_eq!(tile.hashes(), [leaf(0), leaf(1), leaf(2)]);
    grow(&read_model, 3, 4).await;
}
