//! The right edge of a tree in tiles, as the tree grows: what a writer of tiles has to keep.

use thiserror::Error;

use super::{HashTile, MAX_LEVEL, TILE_WIDTH, Tile, TileContent};
use crate::hash::Hash;
use crate::merkle::root_of;

/// The partial tile at the end of each level. Tiles come out when they are full.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TileEdge {
    size: u64,
    /// Hashes of the partial tile of each level, from level 0; some are empty.
    levels: Vec<Vec<Hash>>,
}

impl TileEdge {
    /// The empty tree.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            size: 0,
            levels: Vec::new(),
        }
    }

    /// Goes on behind a tree of `size` leaves, whose partial tiles `hashes_of` returns.
    ///
    /// # Errors
    ///
    /// What `hashes_of` returns, and [`EdgeError`] when a tile has not the hashes that it should.
    pub fn behind<E: From<EdgeError>>(
        size: u64,
        mut hashes_of: impl FnMut(Tile) -> Result<Vec<Hash>, E>,
    ) -> Result<Self, E> {
        let mut levels = Vec::new();
        for tile in Self::partials(size) {
            let hashes = match tile {
                Some(tile) => hashes_of(tile)?,
                None => Vec::new(),
            };
            let expected = tile.map_or(0, |tile| usize::from(tile.width));
            if hashes.len() != expected {
                let (level, found) = (levels.len(), hashes.len());
                return Err(E::from(EdgeError {
                    level,
                    expected,
                    found,
                }));
            }
            levels.push(hashes);
        }
        Ok(Self { size, levels })
    }

    /// The partial tile of each level of a tree of `size` leaves, from level 0; `None` where the
    /// level ends with a full tile.
    pub fn partials(size: u64) -> impl Iterator<Item = Option<Tile>> {
        let counts = (0..=MAX_LEVEL).map(move |level| {
            let content = TileContent::Hashes(level);
            (content, content.count(size))
        });
        counts
            .take_while(|(_, count)| *count > 0)
            .map(move |(content, count)| {
                let tile = Tile::at(content, count / u64::from(TILE_WIDTH), size)?;
                tile.is_partial().then_some(tile)
            })
    }

    /// Leaves of the tree.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Appends a leaf by its hash, and gives `filled` every tile that becomes full. Amortised one
    /// node hash.
    pub fn push(&mut self, leaf: Hash, mut filled: impl FnMut(HashTile)) {
        self.size += 1;
        let mut rising = leaf;
        for level in 0..=MAX_LEVEL {
            let at = usize::from(level);
            if self.levels.len() == at {
                self.levels.push(Vec::new());
            }
            let hashes = &mut self.levels[at];
            hashes.push(rising);
            if hashes.len() < usize::from(TILE_WIDTH) {
                return;
            }
            let hashes = std::mem::take(hashes);
            rising = root_of(&hashes);
            let index = TileContent::Hashes(level).count(self.size) / u64::from(TILE_WIDTH) - 1;
            filled(HashTile {
                level,
                index,
                hashes,
            });
        }
    }

    /// The partial tiles as they are now, from level 0.
    pub fn tiles(&self) -> impl Iterator<Item = HashTile> {
        let levels = (0..=MAX_LEVEL).zip(&self.levels);
        let partial = levels.filter(|(_, hashes)| !hashes.is_empty());
        partial.map(|(level, hashes)| HashTile {
            level,
            index: TileContent::Hashes(level).count(self.size) / u64::from(TILE_WIDTH),
            hashes: hashes.clone(),
        })
    }
}

impl Default for TileEdge {
    fn default() -> Self {
        Self::new()
    }
}

/// Why a tree cannot go on from its tiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "the last tile of level {level} has {found} hashes, not {expected}: write the tiles again \
     from the log"
)]
pub struct EdgeError {
    level: usize,
    expected: usize,
    found: usize,
}
