//! Proofs about the running ledger's log, from the tiles that the rows for readers keep.

use std::collections::BTreeMap;

use crate::port::ReadModel;
use x811_eventlog::inclusion::InclusionError;
use x811_eventlog::tile::Content;
use x811_eventlog::{
    Checkpoint, Hash, HashTile, InclusionProof, Node, ReadError, Record, Subtree, Tile,
};

/// Why a record was not proven.
#[derive(Debug, thiserror::Error)]
pub enum ProofError {
    /// Later than the checkpoint.
    #[error("position {position} is not under a checkpoint of {size} records yet: ask again")]
    NotCovered {
        /// Place of the record.
        position: u64,
        /// Records that the checkpoint covers.
        size: u64,
    },
    /// The rows cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A tile that the rows should hold is missing or too narrow.
    #[error("{0} is missing in the rows for readers: rebuild them, x811 doctor says how")]
    NoTile(Tile),
    /// The tiles are not those of the tree that was signed.
    #[error(
        "the tiles do not lead to the signed root ({0}): rebuild the rows, x811 doctor says how"
    )]
    Tiles(#[from] InclusionError),
}

/// Proves that `record` is under `checkpoint`, which the caller has from the ledger itself; the
/// proof is checked before it is returned. The rows must reflect what the checkpoint covers.
///
/// # Errors
/// [`ProofError`].
pub async fn inclusion<R: ReadModel>(
    rows: &R,
    record: &Record,
    checkpoint: &Checkpoint,
) -> Result<InclusionProof, ProofError> {
    let (position, size) = (record.position(), checkpoint.size);
    let not_covered = || ProofError::NotCovered { position, size };
    let beside = InclusionProof::subtrees(position, size).ok_or_else(not_covered)?;
    let nodes = beside.iter().flat_map(Subtree::nodes);
    let tiles = Tiles::read(rows, nodes, size).await?;
    let proof = InclusionProof::build(position, size, |node| tiles.hash(node))?;
    let proof = proof.ok_or_else(not_covered)?;
    proof.verify(record.hash(), checkpoint.root)?;
    Ok(proof)
}

/// The tiles that some nodes are read from.
struct Tiles {
    size: u64,
    tiles: BTreeMap<Tile, HashTile>,
}

impl Tiles {
    async fn read<R: ReadModel>(
        rows: &R,
        nodes: impl Iterator<Item = Node>,
        size: u64,
    ) -> Result<Tiles, ReadError> {
        let mut tiles = BTreeMap::new();
        for tile in nodes.filter_map(|node| Tile::with_node(node, size)) {
            if tiles.contains_key(&tile) {
                continue;
            }
            let Content::Hashes(level) = tile.content else {
                continue;
            };
            if let Some(stored) = rows.hash_tile(level, tile.index).await? {
                tiles.insert(tile, stored);
            }
        }
        Ok(Tiles { size, tiles })
    }

    fn hash(&self, node: Node) -> Result<Hash, ProofError> {
        let tile = Tile::with_node(node, self.size).ok_or(ProofError::NotCovered {
            position: node.index() << node.level(),
            size: self.size,
        })?;
        let hash = self.tiles.get(&tile).and_then(|stored| stored.node(node));
        hash.ok_or(ProofError::NoTile(tile))
    }
}
