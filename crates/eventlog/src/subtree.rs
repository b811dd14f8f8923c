//! The nodes of a tree by name, so that a proof can be planned before a single hash is at hand.
//!
//! Whoever keeps a tree keeps its *perfect* subtrees: they never change. Every node of a tree of
//! any size, also one at its ragged right edge, is made of some of them.

use crate::hash::Hash;

/// A perfect subtree: `2^level` leaves, from leaf `index · 2^level` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node {
    level: u8,
    index: u64,
}

impl Node {
    /// The leaf at `position`.
    #[must_use]
    pub const fn leaf(position: u64) -> Self {
        Self {
            level: 0,
            index: position,
        }
    }

    /// Height above the leaves, which are at level 0.
    #[must_use]
    pub const fn level(&self) -> u8 {
        self.level
    }

    /// Place in its level, from the left.
    #[must_use]
    pub const fn index(&self) -> u64 {
        self.index
    }
}

/// The leaves under one node of a tree, perfect or not: from `from` up to, not including, `to`.
/// `from` is a multiple of a power of two that is at least as large as the number of leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subtree {
    pub(crate) from: u64,
    pub(crate) to: u64,
}

impl Subtree {
    /// The whole tree over `size` leaves.
    #[must_use]
    pub const fn whole(size: u64) -> Self {
        Self { from: 0, to: size }
    }

    /// The perfect subtrees it is made of, the largest and leftmost first.
    pub fn nodes(&self) -> impl Iterator<Item = Node> + use<> {
        let Self { mut from, to } = *self;
        std::iter::from_fn(move || {
            let level = (to - from).checked_ilog2()?;
            let index = from >> level;
            from += 1 << level;
            // At most 63.
            let level = level.to_le_bytes()[0];
            Some(Node { level, index })
        })
    }

    /// Its hash, from those of its perfect subtrees.
    ///
    /// # Errors
    ///
    /// The first that `hash_of` returns.
    pub fn hash<E>(&self, hash_of: &mut impl FnMut(Node) -> Result<Hash, E>) -> Result<Hash, E> {
        let hashes: Vec<Hash> = self.nodes().map(hash_of).collect::<Result<_, _>>()?;
        let smaller_first = hashes.into_iter().rev();
        let root = smaller_first.reduce(|right, left| Hash::of_node(&left, &right));
        Ok(root.unwrap_or_else(Hash::of_nothing))
    }
}

/// The largest power of two below `leaves`, which are at least 2: where RFC 6962 splits a tree.
pub(crate) fn split(leaves: u64) -> u64 {
    1 << (leaves - 1).ilog2()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merkle::root_of;
    use std::convert::Infallible;

    #[test]
    fn the_perfect_subtrees_of_a_tree_make_its_root() {
        let leaves: Vec<Hash> = (0..600_u16)
            .map(|n| Hash::of_leaf(&n.to_be_bytes()))
            .collect();
        let mut perfect = |node: Node| {
            let from = (node.index << node.level) as usize;
            Ok::<_, Infallible>(root_of(&leaves[from..from + (1 << node.level)]))
        };
        for size in 0..=leaves.len() {
            let whole = Subtree::whole(size as u64);
            assert_eq!(whole.hash(&mut perfect), Ok(root_of(&leaves[..size])));
            assert_eq!(whole.nodes().count() as u32, size.count_ones());
        }
    }

    #[test]
    fn the_largest_tree_there_can_be_has_nodes_too() {
        let nodes: Vec<Node> = Subtree::whole(u64::MAX).nodes().collect();
        assert_eq!(nodes.len(), 64);
        assert_eq!((nodes[0].level, nodes[0].index), (63, 0));
        assert_eq!((nodes[63].level, nodes[63].index), (0, u64::MAX - 1));
    }
}
