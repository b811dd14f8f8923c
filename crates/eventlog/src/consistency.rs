//! Consistency proofs: that a tree goes on where an earlier one ended, so that nothing in it was
//! changed or taken away (RFC 6962 section 2.1.2, verified as in RFC 9162 section 2.1.4.2).

use thiserror::Error;

use crate::hash::Hash;
use crate::subtree::{Node, Subtree, split};

/// That the first `old_size` leaves of a tree over `new_size` leaves are those of the older tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsistencyProof {
    /// Leaves of the older tree.
    pub old_size: u64,
    /// Leaves of the newer tree.
    pub new_size: u64,
    /// Hashes of subtrees, those furthest from the root first. Empty when the older tree is empty,
    /// or is the newer one.
    pub path: Vec<Hash>,
}

impl ConsistencyProof {
    /// The subtrees whose hashes make the proof, in its order; `None` when the older tree is the
    /// larger one. Their [`Subtree::nodes`] are what has to be at hand to build it.
    #[must_use]
    pub fn subtrees(old_size: u64, new_size: u64) -> Option<Vec<Subtree>> {
        if old_size > new_size {
            return None;
        }
        let (mut from, mut to) = (0, new_size);
        let mut beside = Vec::new();
        if old_size == 0 {
            return Some(beside);
        }
        while to > old_size {
            let middle = from + split(to - from);
            if old_size <= middle {
                beside.push(Subtree { from: middle, to });
                to = middle;
            } else {
                beside.push(Subtree { from, to: middle });
                from = middle;
            }
        }
        // From 0 on it is the older tree itself, whose root the verifier has.
        if from > 0 {
            beside.push(Subtree { from, to });
        }
        beside.reverse();
        Some(beside)
    }

    /// Builds the proof from the hashes of perfect subtrees of the newer tree; `None` when the
    /// older tree is the larger one.
    ///
    /// # Errors
    ///
    /// The first that `hash_of` returns.
    pub fn build<E>(
        old_size: u64,
        new_size: u64,
        mut hash_of: impl FnMut(Node) -> Result<Hash, E>,
    ) -> Result<Option<Self>, E> {
        let Some(beside) = Self::subtrees(old_size, new_size) else {
            return Ok(None);
        };
        let path = beside.iter().map(|subtree| subtree.hash(&mut hash_of));
        Ok(Some(Self {
            old_size,
            new_size,
            path: path.collect::<Result<_, _>>()?,
        }))
    }

    /// Checks that the tree with `new_root` begins with the one with `old_root`.
    ///
    /// # Errors
    ///
    /// [`ConsistencyError`].
    pub fn verify(&self, old_root: Hash, new_root: Hash) -> Result<(), ConsistencyError> {
        let Self {
            old_size, new_size, ..
        } = *self;
        if old_size > new_size {
            return Err(ConsistencyError::Shrunk { old_size, new_size });
        }
        if old_size == 0 || old_size == new_size {
            let due = if old_size == 0 {
                Hash::of_nothing()
            } else {
                new_root
            };
            return match self.path.as_slice() {
                [] if old_root == due => Ok(()),
                [] => Err(ConsistencyError::Roots),
                [..] => Err(self.length()),
            };
        }
        let (found_old, found_new) = self.roots(old_root)?;
        if (found_old, found_new) == (old_root, new_root) {
            Ok(())
        } else {
            Err(ConsistencyError::Roots)
        }
    }

    /// The two roots that the path leads to; both trees have leaves, the newer one has more.
    fn roots(&self, old_root: Hash) -> Result<(Hash, Hash), ConsistencyError> {
        let mut path = self.path.iter();
        let (mut node, mut last) = (self.old_size - 1, self.new_size - 1);
        let skipped = node.trailing_ones();
        (node, last) = (node >> skipped, last >> skipped);
        let first = if self.old_size.is_power_of_two() {
            old_root
        } else {
            *path.next().ok_or_else(|| self.length())?
        };
        let (mut found_old, mut found_new) = (first, first);
        for hash in path {
            if last == 0 {
                return Err(self.length());
            }
            if node % 2 == 1 || node == last {
                found_old = Hash::of_node(hash, &found_old);
                found_new = Hash::of_node(hash, &found_new);
                // Levels at which the node has no right sibling give no hash.
                let skipped = node.trailing_zeros();
                (node, last) = (node >> skipped, last >> skipped);
            } else {
                found_new = Hash::of_node(&found_new, hash);
            }
            (node, last) = (node >> 1, last >> 1);
        }
        if last == 0 {
            Ok((found_old, found_new))
        } else {
            Err(self.length())
        }
    }

    fn length(&self) -> ConsistencyError {
        ConsistencyError::Length {
            old_size: self.old_size,
            new_size: self.new_size,
            found: self.path.len(),
        }
    }
}

/// Why a consistency proof proves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ConsistencyError {
    /// The newer tree is the smaller one.
    #[error(
        "the log had {old_size} records and has {new_size}: records were taken away, or the \
         checkpoints came in the wrong order"
    )]
    Shrunk {
        /// Leaves of the older tree.
        old_size: u64,
        /// Leaves of the newer tree.
        new_size: u64,
    },
    /// Hashes are missing, or are too many.
    #[error(
        "{found} hashes do not lead from {old_size} leaves to {new_size}: take the proof that was \
         made for these two checkpoints"
    )]
    Length {
        /// Leaves of the older tree.
        old_size: u64,
        /// Leaves of the newer tree.
        new_size: u64,
        /// Hashes of the proof.
        found: usize,
    },
    /// One of the two roots is not what the proof says.
    #[error(
        "the proof does not lead from the older root to the newer one: the log was forked, or the \
         proof was changed"
    )]
    Roots,
}
