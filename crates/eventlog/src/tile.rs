//! Tiles: a log as files that never change (C2SP tlog-tiles, transparency-log.md section B.2).
//!
//! A tile of level *l* holds up to 256 hashes of perfect subtrees of `256^l` leaves, in their
//! order; one of entries holds up to 256 leaves. A tile with fewer is *partial*: it belongs to a
//! tree that ended there, and a later tree has a wider one that begins with the same bytes.

mod edge;
mod entries;
mod nodes;
mod path;
mod rooted;

pub use edge::{EdgeError, TileEdge};
pub use entries::{BundleError, read_entries, write_entries};
pub use nodes::{HashTile, TileError};
pub use path::PathError;

use crate::subtree::Node;

/// Hashes, or entries, of a full tile.
pub const TILE_WIDTH: u16 = 256;

/// Levels of the tree in one tile.
const TILE_HEIGHT: u8 = 8;

/// The highest level that can be named.
pub const MAX_LEVEL: u8 = 63;

/// What a tile holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TileContent {
    /// Hashes of this level, 0 being record hashes; at most [`MAX_LEVEL`].
    Hashes(u8),
    /// Leaves, each behind its length.
    Entries,
}

impl TileContent {
    /// How many hashes, or entries, of this kind a tree over `size` leaves has.
    #[must_use]
    pub fn count(self, size: u64) -> u64 {
        match self {
            Self::Entries => size,
            Self::Hashes(level) => size
                .checked_shr(u32::from(level) * u32::from(TILE_HEIGHT))
                .unwrap_or(0),
        }
    }
}

/// A tile by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tile {
    /// What it holds.
    pub content: TileContent,
    /// Place among those of its kind, from the left.
    pub index: u64,
    /// Hashes, or entries, in it: 1 to [`TILE_WIDTH`]; fewer make it partial.
    pub width: u16,
}

impl Tile {
    /// The tile at `index` as a tree over `size` leaves has it; `None` where that has none.
    #[must_use]
    pub fn at(content: TileContent, index: u64, size: u64) -> Option<Self> {
        let from = index.checked_mul(u64::from(TILE_WIDTH))?;
        let count = content.count(size).checked_sub(from)?;
        let width = u16::try_from(count).unwrap_or(TILE_WIDTH).min(TILE_WIDTH);
        (width > 0).then_some(Self {
            content,
            index,
            width,
        })
    }

    /// Every tile of a tree over `size` leaves: entries first, then hashes, from the leaves up and
    /// from left to right. Partial ones are there where the tree ends in them, and only there.
    pub fn all(size: u64) -> impl Iterator<Item = Self> {
        let levels = (0..=MAX_LEVEL).map(TileContent::Hashes);
        let contents = std::iter::once(TileContent::Entries).chain(levels);
        contents
            .take_while(move |content| content.count(size) > 0)
            .flat_map(move |content| (0..).map_while(move |index| Self::at(content, index, size)))
    }

    /// Whether a tree over `size` leaves has all of it. A partial tile that is narrower than the
    /// one at the tree's end belongs to an earlier tree, and is contained too.
    #[must_use]
    pub fn is_in(&self, size: u64) -> bool {
        Self::at(self.content, self.index, size).is_some_and(|whole| whole.width >= self.width)
    }

    /// Whether it has fewer than [`TILE_WIDTH`] hashes or entries.
    #[must_use]
    pub const fn is_partial(&self) -> bool {
        self.width < TILE_WIDTH
    }

    /// Place, among all of its kind, of the first hash or entry in it.
    #[must_use]
    pub const fn start(&self) -> u64 {
        self.index.saturating_mul(TILE_WIDTH as u64)
    }

    /// Where the hash of a perfect subtree comes from: the level and index of a tile of hashes,
    /// and which of its hashes are below the subtree.
    fn of_node(node: Node) -> (u8, u64, std::ops::Range<usize>) {
        let (level, height) = (node.level() / TILE_HEIGHT, node.level() % TILE_HEIGHT);
        let first = node.index() << height;
        let index = first / u64::from(TILE_WIDTH);
        // Less than a tile's width.
        let offset = (first % u64::from(TILE_WIDTH)) as usize;
        (level, index, offset..offset + (1 << height))
    }

    /// The tile of hashes, as a tree over `size` leaves has it, that the hash of a perfect subtree
    /// of that tree is read from; `None` when the tree has no such subtree.
    #[must_use]
    pub fn with_node(node: Node, size: u64) -> Option<Self> {
        let (level, index, within) = Self::of_node(node);
        let tile = Self::at(TileContent::Hashes(level), index, size)?;
        (within.end <= usize::from(tile.width)).then_some(tile)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(tiles: &[Tile], content: TileContent, width: u16) -> usize {
        let same = |tile: &&Tile| tile.content == content && tile.width == width;
        tiles.iter().filter(same).count()
    }

    /// transparency-log.md section B.2, as in C2SP tlog-tiles.
    #[test]
    fn a_tree_of_70_000_has_the_tiles_of_the_specification() {
        let tiles: Vec<Tile> = Tile::all(70_000).collect();
        let table = [
            (TileContent::Entries, TILE_WIDTH, 273),
            (TileContent::Entries, 112, 1),
            (TileContent::Hashes(0), TILE_WIDTH, 273),
            (TileContent::Hashes(0), 112, 1),
            (TileContent::Hashes(1), TILE_WIDTH, 1),
            (TileContent::Hashes(1), 17, 1),
            (TileContent::Hashes(2), 1, 1),
        ];
        for (content, width, expected) in table {
            assert_eq!(
                count(&tiles, content, width),
                expected,
                "{content:?} {width}"
            );
        }
        assert_eq!(tiles.len(), 273 + 1 + 273 + 1 + 2 + 1);

        let small: Vec<Tile> = Tile::all(256).skip(1).collect();
        let tile = |level, width| Tile {
            content: TileContent::Hashes(level),
            index: 0,
            width,
        };
        assert_eq!(small, [tile(0, TILE_WIDTH), tile(1, 1)]);
        assert_eq!(Tile::all(0).count(), 0, "empty tiles must not be served");
    }

    #[test]
    fn a_tree_contains_its_tiles_and_those_of_earlier_trees() {
        for size in 0..1_100 {
            for tile in Tile::all(size) {
                assert!(tile.is_in(size) && tile.is_in(size + 1), "{tile:?} {size}");
                let wider = Tile {
                    width: tile.width + 1,
                    ..tile
                };
                assert!(!wider.is_in(size), "{tile:?} {size}");
                if tile.content == TileContent::Entries {
                    assert!(!tile.is_in(tile.start() + u64::from(tile.width) - 1));
                }
            }
        }
        let absurd = Tile {
            content: TileContent::Hashes(63),
            index: u64::MAX,
            width: 1,
        };
        assert!(!absurd.is_in(u64::MAX));
    }
}
