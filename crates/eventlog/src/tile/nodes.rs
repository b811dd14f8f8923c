//! Hashes of perfect subtrees, from the tiles that hold them.

use thiserror::Error;

use super::{TILE_WIDTH, Tile, TileContent};
use crate::hash::{HASH_BYTES, Hash};
use crate::merkle::root_of;
use crate::subtree::Node;

/// The hashes of a tile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HashTile {
    pub(super) level: u8,
    pub(super) index: u64,
    /// 1 to [`TILE_WIDTH`].
    pub(super) hashes: Vec<Hash>,
}

impl HashTile {
    /// Reads the file of `tile`.
    ///
    /// # Errors
    ///
    /// [`TileError`] when it is no tile of hashes, or the file is not as long as the name says.
    pub fn from_bytes(tile: Tile, bytes: &[u8]) -> Result<Self, TileError> {
        let TileContent::Hashes(level) = tile.content else {
            return Err(TileError::Entries);
        };
        let (hashes, excess) = bytes.as_chunks::<HASH_BYTES>();
        if hashes.len() != usize::from(tile.width) || !excess.is_empty() {
            return Err(TileError::Length {
                expected: usize::from(tile.width) * HASH_BYTES,
                found: bytes.len(),
            });
        }
        Ok(Self {
            level,
            index: tile.index,
            hashes: hashes.iter().copied().map(Hash::from_bytes).collect(),
        })
    }

    /// The hashes one behind the other, as the tile's file has them.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let hashes: Vec<&[u8]> = self
            .hashes
            .iter()
            .map(|hash| &hash.as_bytes()[..])
            .collect();
        hashes.concat()
    }

    /// Level of the tile in the tree, 0 at the leaves.
    #[must_use]
    pub const fn level(&self) -> u8 {
        self.level
    }

    /// Its place in the level, from the left.
    #[must_use]
    pub const fn index(&self) -> u64 {
        self.index
    }

    /// Which tile it is: the level, the index and the width that its path is made of.
    #[must_use]
    pub fn tile(&self) -> Tile {
        Tile {
            content: TileContent::Hashes(self.level),
            index: self.index,
            width: u16::try_from(self.hashes.len()).unwrap_or(TILE_WIDTH),
        }
    }

    /// The hashes, from the left.
    #[must_use]
    pub fn hashes(&self) -> &[Hash] {
        &self.hashes
    }

    /// The hash of a perfect subtree, if it is in this tile or between its hashes and their root.
    #[must_use]
    pub fn node(&self, node: Node) -> Option<Hash> {
        let (level, index, within) = Tile::of_node(node);
        if (level, index) != (self.level, self.index) {
            return None;
        }
        self.hashes.get(within).map(root_of)
    }
}

/// Why a file is no tile of hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum TileError {
    /// A tile of entries.
    #[error("a tile of entries holds no hashes: take tile/0 of the same index")]
    Entries,
    /// Not as long as its name says.
    #[error("a tile of that width has {expected} bytes, found {found}: fetch it again")]
    Length {
        /// Bytes there should be.
        expected: usize,
        /// Bytes there are.
        found: usize,
    },
}
