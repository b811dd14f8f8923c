//! A log as a folder of tiles that any verifier of transparency logs reads (C2SP tlog-tiles): the
//! same bytes each time for the same size, and the same that are served over HTTP.

use std::io;

use x811_eventlog::tile::TileContent;
use x811_eventlog::tile::{BundleError, TILE_WIDTH, write_entries};
use x811_eventlog::{EventLog, Frontier, Hash, HashTile, ReadError, Record, Tile, TileEdge};

/// Why a log was not written in tiles.
#[derive(Debug, thiserror::Error)]
pub enum TilesError {
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A file cannot be written.
    #[error("a tile cannot be written: {0}. Check the disk and the target's permissions")]
    Write(#[from] io::Error),
    /// The log has fewer records.
    #[error(
        "the log ends at position {position}, but {size} records were signed: it was restored from \
         an older copy, or the checkpoint is another ledger's"
    )]
    CutShort {
        /// Records there should be.
        size: u64,
        /// The first that is missing.
        position: u64,
    },
    /// A leaf that no log of ours holds.
    #[error(transparent)]
    Bundle(#[from] BundleError),
}

/// Gives `put` every tile of the tree over the first `size` records with its bytes, and returns
/// that tree's root. Nothing is taken from what was computed before: hashes are made from leaves.
///
/// # Errors
/// See [`TilesError`]; `put` has then had some of the tiles.
pub async fn write_tiles<L: EventLog>(
    log: &L,
    size: u64,
    mut put: impl FnMut(Tile, &[u8]) -> io::Result<()> + Send,
) -> Result<Hash, TilesError> {
    let (mut edge, mut frontier) = (TileEdge::new(), Frontier::new());
    let mut bundle: Vec<Record> = Vec::new();
    let mut full: Vec<HashTile> = Vec::new();
    while edge.size() < size {
        let position = edge.size();
        let index = position / u64::from(TILE_WIDTH);
        let Some(tile) = Tile::at(TileContent::Entries, index, size) else {
            break;
        };
        let missing = usize::from(tile.width) - bundle.len();
        let page = log.read(position, missing).await?;
        if page.is_empty() {
            return Err(TilesError::CutShort { size, position });
        }
        for record in page {
            edge.push(record.hash(), |tile| full.push(tile));
            frontier.push(record.hash());
            bundle.push(record);
        }
        if bundle.len() == usize::from(tile.width) {
            put(tile, &write_entries(bundle.iter().map(Record::bytes))?)?;
            bundle.clear();
        }
        for tile in full.drain(..) {
            put(tile.tile(), &tile.to_bytes())?;
        }
    }
    for tile in edge.tiles() {
        put(tile.tile(), &tile.to_bytes())?;
    }
    Ok(frontier.root())
}
