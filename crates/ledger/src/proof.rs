//! Proofs about the running ledger's log, from the tiles that the rows for readers keep.

use std::collections::HashMap;

use crate::port::ReadModel;
use x811_eventlog::inclusion::InclusionError;
use x811_eventlog::{
    Checkpoint, ConsistencyError, ConsistencyProof, Hash, HashTile, InclusionProof, Multiproof,
    MultiproofError, Node, ProvenLeaf, ReadError, Record, Subtree, Tile,
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
    /// An older tree that is larger than the newer one.
    #[error("the checkpoint covers {size} records, fewer than {old_size}: ask again")]
    Shrunk {
        /// Records of the older tree.
        old_size: u64,
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
    /// The same, of several records at once.
    #[error(
        "the tiles do not lead to the signed root ({0}): rebuild the rows, x811 doctor says how"
    )]
    TilesOfSeveral(#[from] MultiproofError),
    /// The same, of an older tree.
    #[error(
        "the tiles do not lead to the signed root ({0}): rebuild the rows, x811 doctor says how"
    )]
    TilesOfOlder(#[from] ConsistencyError),
    /// A tile itself does not.
    #[error("{0} does not lead to the signed root: rebuild the rows, x811 doctor says how")]
    Tile(Tile),
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
    let nodes = Nodes::read(rows, nodes, size).await?;
    let proof = InclusionProof::build(position, size, |node| nodes.hash(node))?;
    let proof = proof.ok_or_else(not_covered)?;
    proof.verify(record.hash(), checkpoint.root)?;
    Ok(proof)
}

/// Proves that `records`, in ascending order of position, are under `checkpoint`, as
/// [`inclusion`] does for one.
///
/// # Errors
/// [`ProofError`].
pub async fn together<R: ReadModel>(
    rows: &R,
    records: &[&Record],
    checkpoint: &Checkpoint,
) -> Result<Multiproof, ProofError> {
    let size = checkpoint.size;
    let leaves: Vec<ProvenLeaf> = records
        .iter()
        .map(|record| (record.position(), record.hash()))
        .collect();
    let positions: Vec<u64> = leaves.iter().map(|leaf| leaf.0).collect();
    let not_covered = || ProofError::NotCovered {
        position: positions.last().copied().unwrap_or_default(),
        size,
    };
    let beside = Multiproof::subtrees(&positions, size).ok_or_else(not_covered)?;
    let nodes = beside.iter().flat_map(Subtree::nodes);
    let nodes = Nodes::read(rows, nodes, size).await?;
    let proof = Multiproof::build(&positions, size, |node| nodes.hash(node))?;
    let proof = proof.ok_or_else(not_covered)?;
    proof.verify(&leaves, checkpoint.root)?;
    Ok(proof)
}

/// Proves that `checkpoint`, which the caller has from the ledger itself, goes on where the tree over
/// the first `old_size` records ended; the proof is checked before it is returned. The rows must
/// reflect what the checkpoint covers.
///
/// # Errors
/// [`ProofError`].
pub async fn consistency<R: ReadModel>(
    rows: &R,
    old_size: u64,
    checkpoint: &Checkpoint,
) -> Result<ConsistencyProof, ProofError> {
    let size = checkpoint.size;
    let shrunk = || ProofError::Shrunk { old_size, size };
    let beside = ConsistencyProof::subtrees(old_size, size).ok_or_else(shrunk)?;
    let older = Subtree::whole(old_size);
    let nodes = beside.iter().flat_map(Subtree::nodes).chain(older.nodes());
    let nodes = Nodes::read(rows, nodes, size).await?;
    let proof = ConsistencyProof::build(old_size, size, |node| nodes.hash(node))?;
    let proof = proof.ok_or_else(shrunk)?;
    let old_root = older.hash(&mut |node| nodes.hash(node))?;
    proof.verify(old_root, checkpoint.root)?;
    Ok(proof)
}

/// The root of the tree over the first `size` records. The rows must reflect them.
///
/// # Errors
/// [`ProofError`].
pub async fn root<R: ReadModel>(rows: &R, size: u64) -> Result<Hash, ProofError> {
    let whole = Subtree::whole(size);
    let nodes = Nodes::read(rows, whole.nodes(), size).await?;
    whole.hash(&mut |node| nodes.hash(node))
}

/// Checks that `tile` is part of the tree under `checkpoint`, which the caller has from the ledger
/// itself. The rows must reflect what the checkpoint covers.
///
/// # Errors
/// [`ProofError`].
pub async fn tile<R: ReadModel>(
    rows: &R,
    tile: &HashTile,
    checkpoint: &Checkpoint,
) -> Result<(), ProofError> {
    let Checkpoint { size, root, .. } = *checkpoint;
    let elsewhere = || ProofError::Tile(tile.tile());
    let beside = tile.beside(size).ok_or_else(elsewhere)?;
    let nodes = beside.iter().flat_map(Subtree::nodes);
    let nodes = Nodes::read(rows, nodes, size).await?;
    let found = tile.root(size, |node| nodes.hash(node))?;
    if found == Some(root) {
        Ok(())
    } else {
        Err(elsewhere())
    }
}

/// The nodes that proofs are made of.
struct Nodes {
    size: u64,
    hashes: HashMap<Node, Hash>,
}

impl Nodes {
    async fn read<R: ReadModel>(
        rows: &R,
        nodes: impl Iterator<Item = Node>,
        size: u64,
    ) -> Result<Nodes, ReadError> {
        let wanted: Vec<Node> = nodes.collect();
        let hashes = rows.nodes(&wanted).await?;
        Ok(Nodes { size, hashes })
    }

    fn hash(&self, node: Node) -> Result<Hash, ProofError> {
        let hash = self.hashes.get(&node).copied();
        hash.ok_or_else(|| match Tile::with_node(node, self.size) {
            Some(tile) => ProofError::NoTile(tile),
            None => ProofError::NotCovered {
                position: node.index() << node.level(),
                size: self.size,
            },
        })
    }
}
