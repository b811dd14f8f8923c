//! What was read of the tree before. A perfect subtree never changes, and every proof needs those at
//! the top: what is kept here need be neither read nor hashed again.

use std::collections::{HashMap, VecDeque};

use x811_eventlog::{Hash, HashTile, Node};

/// Hashes that come in before the older ones go: half a megabyte.
const KEPT: usize = 4_096;

/// Tiles that came with something else, of 8 KiB at most: a proof is asked of them soon, or never.
pub(super) const KEPT_TILES: usize = 32;

/// Hashes of perfect subtrees, those that were asked for last, and tiles that hold more of them.
#[derive(Debug, Default)]
pub(super) struct KnownTree {
    newer: HashMap<Node, Hash>,
    older: HashMap<Node, Hash>,
    /// The newest first.
    tiles: VecDeque<HashTile>,
}

impl KnownTree {
    /// Those of `nodes` that are known.
    pub(super) fn find(&mut self, nodes: &[Node]) -> HashMap<Node, Hash> {
        let mut found = HashMap::with_capacity(nodes.len());
        for node in nodes {
            if let Some(hash) = self.newer.get(node) {
                found.insert(*node, *hash);
            } else if let Some(hash) = self.older.remove(node).or_else(|| self.in_tiles(*node)) {
                found.insert(*node, hash);
                self.insert(*node, hash);
            }
        }
        found
    }

    /// Keeps what was read.
    pub(super) fn keep(&mut self, nodes: &HashMap<Node, Hash>) {
        for (node, hash) in nodes {
            self.insert(*node, *hash);
        }
    }

    /// Keeps a tile that nothing was asked of yet.
    pub(super) fn keep_tile(&mut self, tile: HashTile) {
        let place = |tile: &HashTile| (tile.level(), tile.index());
        self.tiles.retain(|known| place(known) != place(&tile));
        self.tiles.push_front(tile);
        self.tiles.truncate(KEPT_TILES);
    }

    fn in_tiles(&self, node: Node) -> Option<Hash> {
        self.tiles.iter().find_map(|tile| tile.node(node))
    }

    fn insert(&mut self, node: Node, hash: Hash) {
        if self.newer.len() >= KEPT {
            self.older = std::mem::take(&mut self.newer);
        }
        self.newer.insert(node, hash);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use x811_eventlog::tile::TileContent;
    use x811_eventlog::{Subtree, Tile, root_of};

    #[test]
    fn what_is_asked_for_stays_and_the_rest_goes() {
        let leaf = |position| Subtree::whole(2 * position + 1).nodes().last().unwrap();
        let hash = Hash::of_leaf(b"asked for");
        let mut known = KnownTree::default();
        known.keep(&HashMap::from([(leaf(0), hash), (leaf(1), hash)]));
        for position in 2..5 * KEPT as u64 {
            known.keep(&HashMap::from([(leaf(position), Hash::ZERO)]));
            assert_eq!(known.find(&[leaf(0)]), HashMap::from([(leaf(0), hash)]));
        }
        assert_eq!(known.find(&[leaf(1)]), HashMap::new());
        assert!(known.newer.len() + known.older.len() <= 2 * KEPT);
    }

    #[test]
    fn a_tile_is_known_as_far_as_it_goes_until_others_come() {
        let hashes = [[7; 32], [8; 32], [9; 32]];
        let tile = |index, width: u16| {
            let content = TileContent::Hashes(0);
            let tile = Tile {
                content,
                index,
                width,
            };
            HashTile::from_bytes(tile, &hashes.concat()[..32 * usize::from(width)]).unwrap()
        };
        let [pair, third] = Subtree::whole(3).nodes().collect::<Vec<_>>()[..] else {
            panic!("three leaves are two subtrees");
        };
        let of_pair = root_of(&[Hash::from_bytes(hashes[0]), Hash::from_bytes(hashes[1])]);
        let mut known = KnownTree::default();
        known.keep_tile(tile(0, 2));
        assert_eq!(known.find(&[pair, third]), HashMap::from([(pair, of_pair)]));
        known.keep_tile(tile(0, 3));
        assert_eq!(
            known.find(&[third]),
            HashMap::from([(third, Hash::from_bytes(hashes[2]))])
        );
        assert_eq!(known.tiles.len(), 1, "the narrower tile stayed");

        let mut known = KnownTree::default();
        for index in 0..=KEPT_TILES as u64 {
            known.keep_tile(tile(index, 3));
        }
        assert_eq!(known.find(&[third]), HashMap::new());
        assert_eq!(known.tiles.len(), KEPT_TILES);
    }
}
