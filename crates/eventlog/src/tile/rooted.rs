//! A tile held to a root: its hashes are where they belong when they lead there together with the
//! rest of the tree.

use super::{HashTile, TILE_HEIGHT};
use crate::hash::Hash;
use crate::subtree::{Node, Subtree, split};

impl HashTile {
    /// The largest subtrees of the tree over `size` leaves with none of this tile's hashes: what else
    /// its root is made of. `None` when the tree does not have all of the tile.
    #[must_use]
    pub fn beside(&self, size: u64) -> Option<Vec<Subtree>> {
        let covered = self.covered(size)?;
        let mut beside = Vec::new();
        gather(Subtree::whole(size), covered, self.leaves(), &mut beside);
        Some(beside)
    }

    /// The root of the tree over `size` leaves that has this tile's hashes, and those of other perfect
    /// subtrees from `hash_of`; `None` as for [`HashTile::beside`].
    ///
    /// # Errors
    ///
    /// The first that `hash_of` returns.
    pub fn root<E>(
        &self,
        size: u64,
        mut hash_of: impl FnMut(Node) -> Result<Hash, E>,
    ) -> Result<Option<Hash>, E> {
        let Some(covered) = self.covered(size) else {
            return Ok(None);
        };
        let within = self.hash(Subtree::whole(size), covered, &mut hash_of)?;
        Ok(Some(within))
    }

    /// The leaves under all of its hashes.
    fn covered(&self, size: u64) -> Option<Subtree> {
        let tile = self.tile();
        // In the tree nothing overflows.
        tile.is_in(size).then(|| {
            let (from, count) = (tile.start(), u64::from(tile.width));
            Subtree {
                from: from * self.leaves(),
                to: (from + count) * self.leaves(),
            }
        })
    }

    /// The leaves under one of its hashes.
    fn leaves(&self) -> u64 {
        1 << (self.level * TILE_HEIGHT)
    }

    fn hash<E>(
        &self,
        subtree: Subtree,
        covered: Subtree,
        hash_of: &mut impl FnMut(Node) -> Result<Hash, E>,
    ) -> Result<Hash, E> {
        if is_apart(subtree, covered) {
            return subtree.hash(hash_of);
        }
        let leaves = self.leaves();
        if subtree.to - subtree.from > leaves {
            let (left, right) = halves(subtree);
            let left = self.hash(left, covered, hash_of)?;
            let right = self.hash(right, covered, hash_of)?;
            return Ok(Hash::of_node(&left, &right));
        }
        let place = (subtree.from - covered.from) / leaves;
        let hash = usize::try_from(place).ok();
        let hash = hash.and_then(|place| self.hashes.get(place));
        Ok(hash.copied().unwrap_or_else(Hash::of_nothing))
    }
}

fn gather(subtree: Subtree, covered: Subtree, leaves: u64, beside: &mut Vec<Subtree>) {
    if is_apart(subtree, covered) {
        beside.push(subtree);
    } else if subtree.to - subtree.from > leaves {
        let (left, right) = halves(subtree);
        gather(left, covered, leaves, beside);
        gather(right, covered, leaves, beside);
    }
}

fn is_apart(one: Subtree, other: Subtree) -> bool {
    one.to <= other.from || other.to <= one.from
}

fn halves(subtree: Subtree) -> (Subtree, Subtree) {
    let Subtree { from, to } = subtree;
    let middle = from + split(to - from);
    (Subtree { from, to: middle }, Subtree { from: middle, to })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merkle::root_of;
    use crate::tile::{Tile, TileContent};
    use std::convert::Infallible;

    fn leaves(count: u32) -> Vec<Hash> {
        (0..count)
            .map(|n| Hash::of_leaf(&n.to_be_bytes()))
            .collect()
    }

    fn perfect(leaves: &[Hash], level: u8, index: u64) -> Hash {
        let from = usize::try_from(index << level).unwrap();
        root_of(&leaves[from..from + (1 << level)])
    }

    fn tile_of(leaves: &[Hash], tile: Tile) -> HashTile {
        let TileContent::Hashes(level) = tile.content else {
            panic!("no tile of hashes");
        };
        let places = tile.start()..tile.start() + u64::from(tile.width);
        let hashes = places.map(|place| perfect(leaves, level * TILE_HEIGHT, place));
        HashTile {
            level,
            index: tile.index,
            hashes: hashes.collect(),
        }
    }

    #[test]
    fn every_tile_of_a_tree_leads_to_its_root_and_none_with_another_hash_does() {
        let all = leaves(66_500);
        for size in [1, 2, 5, 255, 256, 257, 700, 65_536, 65_793, 66_500] {
            let root = root_of(&all[..size]);
            let size = size as u64;
            let is_one = |tile: &Tile| tile.content != TileContent::Entries && tile.index % 100 < 3;
            for tile in Tile::all(size).filter(is_one) {
                let whole = tile_of(&all, tile);
                let narrower = tile_of(
                    &all,
                    Tile {
                        width: tile.width.div_ceil(2),
                        ..tile
                    },
                );
                for mut tile in [whole, narrower] {
                    let beside = tile.beside(size).unwrap();
                    let mut asked = Vec::new();
                    let found = tile.root(size, |node| {
                        asked.push(node);
                        Ok::<_, Infallible>(perfect(&all, node.level(), node.index()))
                    });
                    assert_eq!(found, Ok(Some(root)), "{} of {size}", tile.tile());
                    let due: Vec<Node> = beside.iter().flat_map(Subtree::nodes).collect();
                    assert_eq!(asked, due, "{} of {size}", tile.tile());
                    for changed in [0, tile.hashes.len() - 1] {
                        let honest = tile.hashes[changed];
                        tile.hashes[changed] = Hash::of_node(&honest, &honest);
                        let found = tile.root(size, |node| {
                            Ok::<_, Infallible>(perfect(&all, node.level(), node.index()))
                        });
                        assert_ne!(found, Ok(Some(root)), "{} of {size}", tile.tile());
                        tile.hashes[changed] = honest;
                    }
                }
            }
        }
    }

    #[test]
    fn a_tile_that_the_tree_does_not_have_leads_nowhere() {
        let all = leaves(700);
        let last = tile_of(&all, Tile::at(TileContent::Hashes(0), 2, 700).unwrap());
        assert!(last.beside(700).is_some());
        for size in [0, 512, 699] {
            assert_eq!(last.beside(size), None);
            assert_eq!(
                last.root(size, |_| Ok::<_, Infallible>(Hash::ZERO)),
                Ok(None)
            );
        }
    }
}
