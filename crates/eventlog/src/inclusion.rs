//! Inclusion proofs: that a leaf is in a tree, by one hash for each level of it (RFC 6962 section
//! 2.1.1, verified as in RFC 9162 section 2.1.3.2).

use thiserror::Error;

use crate::hash::Hash;
use crate::subtree::{Node, Subtree, split};

/// That a leaf stands at `position` in the tree over `size` leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InclusionProof {
    /// Place of the leaf.
    pub position: u64,
    /// Leaves of the tree.
    pub size: u64,
    /// The hashes beside the way from the leaf to the root, the leaf's sibling first.
    pub path: Vec<Hash>,
}

impl InclusionProof {
    /// The subtrees whose hashes make the proof, in its order; `None` when there is no leaf at
    /// `position`. Their [`Subtree::nodes`] are what has to be at hand to build it.
    #[must_use]
    pub fn subtrees(position: u64, size: u64) -> Option<Vec<Subtree>> {
        if position >= size {
            return None;
        }
        let (mut from, mut to) = (0, size);
        let mut beside = Vec::new();
        while to - from > 1 {
            let middle = from + split(to - from);
            if position < middle {
                beside.push(Subtree { from: middle, to });
                to = middle;
            } else {
                beside.push(Subtree { from, to: middle });
                from = middle;
            }
        }
        beside.reverse();
        Some(beside)
    }

    /// Builds the proof from the hashes of perfect subtrees; `None` when there is no leaf at
    /// `position`.
    ///
    /// # Errors
    ///
    /// The first that `hash_of` returns.
    pub fn build<E>(
        position: u64,
        size: u64,
        mut hash_of: impl FnMut(Node) -> Result<Hash, E>,
    ) -> Result<Option<Self>, E> {
        let Some(beside) = Self::subtrees(position, size) else {
            return Ok(None);
        };
        let path = beside.iter().map(|subtree| subtree.hash(&mut hash_of));
        Ok(Some(Self {
            position,
            size,
            path: path.collect::<Result<_, _>>()?,
        }))
    }

    /// The root of the tree that has `leaf`, a record hash, at this position.
    ///
    /// # Errors
    ///
    /// [`InclusionError`] when the proof has another number of hashes than such a tree needs.
    pub fn root(&self, leaf: Hash) -> Result<Hash, InclusionError> {
        let Self { position, size, .. } = *self;
        if position >= size {
            return Err(InclusionError::Outside { position, size });
        }
        let length = || InclusionError::Length {
            position,
            size,
            found: self.path.len(),
        };
        let (mut node, mut last, mut root) = (position, size - 1, leaf);
        for sibling in &self.path {
            if last == 0 {
                return Err(length());
            }
            if node % 2 == 1 || node == last {
                root = Hash::of_node(sibling, &root);
                // Levels at which the node has no right sibling give no hash.
                let skipped = node.trailing_zeros();
                (node, last) = (node >> skipped, last >> skipped);
            } else {
                root = Hash::of_node(&root, sibling);
            }
            (node, last) = (node >> 1, last >> 1);
        }
        if last == 0 { Ok(root) } else { Err(length()) }
    }

    /// Checks that `leaf` is in the tree with this root.
    ///
    /// # Errors
    ///
    /// [`InclusionError`].
    pub fn verify(&self, leaf: Hash, root: Hash) -> Result<(), InclusionError> {
        let found = self.root(leaf)?;
        if found == root {
            Ok(())
        } else {
            Err(InclusionError::Root { found, root })
        }
    }
}

/// Why an inclusion proof proves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum InclusionError {
    /// The tree has no such leaf.
    #[error("position {position} is not in a tree of {size} leaves: take a later checkpoint")]
    Outside {
        /// Place of the leaf.
        position: u64,
        /// Leaves of the tree.
        size: u64,
    },
    /// Hashes are missing, or are too many.
    #[error(
        "{found} hashes do not lead from position {position} to the root of {size} leaves: \
         take the proof and the checkpoint from one file"
    )]
    Length {
        /// Place of the leaf.
        position: u64,
        /// Leaves of the tree.
        size: u64,
        /// Hashes of the proof.
        found: usize,
    },
    /// Leaf, position, path or root is not what the others say.
    #[error(
        "the proof leads to the root {found}, the checkpoint has {root}: the record, its position \
         or the proof was changed"
    )]
    Root {
        /// Where the proof leads.
        found: Hash,
        /// Where it should.
        root: Hash,
    },
}
