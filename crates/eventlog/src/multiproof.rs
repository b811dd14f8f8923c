//! Several leaves proven in one tree at once: what their inclusion proofs share is there once, and
//! what can be computed from the leaves themselves is not there at all.

use thiserror::Error;

use crate::hash::Hash;
use crate::inclusion::InclusionProof;
use crate::subtree::{Node, Subtree, split};

/// A leaf that is proven: its place and its record hash.
pub type ProvenLeaf = (u64, Hash);

/// That some leaves stand in the tree over `size` leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Multiproof {
    /// Leaves of the tree.
    pub size: u64,
    /// The roots of the largest subtrees without a leaf that is proven, from left to right.
    pub hashes: Vec<Hash>,
}

impl Multiproof {
    /// The subtrees whose hashes make the proof, in its order; `None` unless `positions` are
    /// strictly ascending and in the tree, and one at least.
    #[must_use]
    pub fn subtrees(positions: &[u64], size: u64) -> Option<Vec<Subtree>> {
        is_in_order(positions.iter().copied(), size).then(|| {
            let mut beside = Vec::new();
            gather(Subtree::whole(size), positions, &mut beside);
            beside
        })
    }

    /// Builds the proof from the hashes of perfect subtrees; `None` as for
    /// [`Multiproof::subtrees`].
    ///
    /// # Errors
    ///
    /// The first that `hash_of` returns.
    pub fn build<E>(
        positions: &[u64],
        size: u64,
        mut hash_of: impl FnMut(Node) -> Result<Hash, E>,
    ) -> Result<Option<Self>, E> {
        let Some(beside) = Self::subtrees(positions, size) else {
            return Ok(None);
        };
        let hashes = beside.iter().map(|subtree| subtree.hash(&mut hash_of));
        let hashes = hashes.collect::<Result<_, _>>()?;
        Ok(Some(Self { size, hashes }))
    }

    /// The root of the tree that has `leaves`.
    ///
    /// # Errors
    ///
    /// [`MultiproofError`].
    pub fn root(&self, leaves: &[ProvenLeaf]) -> Result<Hash, MultiproofError> {
        self.walk(leaves, None).map(|(root, _)| root)
    }

    /// Checks that `leaves` are in the tree with this root.
    ///
    /// # Errors
    ///
    /// [`MultiproofError`].
    pub fn verify(&self, leaves: &[ProvenLeaf], root: Hash) -> Result<(), MultiproofError> {
        let found = self.root(leaves)?;
        if found == root {
            Ok(())
        } else {
            Err(MultiproofError::Root { found, root })
        }
    }

    /// The inclusion proof of one of `leaves` alone.
    ///
    /// # Errors
    ///
    /// [`MultiproofError`]; [`MultiproofError::Order`] when none of them is at `position`.
    pub fn inclusion(
        &self,
        leaves: &[ProvenLeaf],
        position: u64,
    ) -> Result<InclusionProof, MultiproofError> {
        if !leaves.iter().any(|leaf| leaf.0 == position) {
            return Err(MultiproofError::Order);
        }
        let (_, path) = self.walk(leaves, Some(position))?;
        let size = self.size;
        Ok(InclusionProof {
            position,
            size,
            path,
        })
    }

    fn walk(
        &self,
        leaves: &[ProvenLeaf],
        asked: Option<u64>,
    ) -> Result<(Hash, Vec<Hash>), MultiproofError> {
        if !is_in_order(leaves.iter().map(|leaf| leaf.0), self.size) {
            return Err(MultiproofError::Order);
        }
        let mut walk = Walk {
            given: self.hashes.iter(),
            asked,
            path: Vec::new(),
        };
        let root = walk.hash(Subtree::whole(self.size), leaves);
        match root.filter(|_| walk.given.next().is_none()) {
            Some(root) => Ok((root, walk.path)),
            None => Err(MultiproofError::Length {
                found: self.hashes.len(),
            }),
        }
    }
}

fn is_in_order(positions: impl Iterator<Item = u64> + Clone, size: u64) -> bool {
    let last = positions.clone().last();
    last.is_some_and(|last| last < size) && positions.is_sorted_by(|one, next| one < next)
}

fn halves(subtree: Subtree) -> (Subtree, Subtree) {
    let Subtree { from, to } = subtree;
    let middle = from + split(to - from);
    (Subtree { from, to: middle }, Subtree { from: middle, to })
}

fn gather(subtree: Subtree, positions: &[u64], beside: &mut Vec<Subtree>) {
    if positions.is_empty() {
        beside.push(subtree);
    } else if subtree.to - subtree.from > 1 {
        let (left, right) = halves(subtree);
        let (before, behind) =
            positions.split_at(positions.partition_point(|position| *position < left.to));
        gather(left, before, beside);
        gather(right, behind, beside);
    }
}

/// From the leaves up to the root.
struct Walk<'a> {
    given: std::slice::Iter<'a, Hash>,
    /// The leaf whose way is noted.
    asked: Option<u64>,
    /// The hashes beside it, so far.
    path: Vec<Hash>,
}

impl Walk<'_> {
    /// `None` when the hashes that were given are too few.
    fn hash(&mut self, subtree: Subtree, leaves: &[ProvenLeaf]) -> Option<Hash> {
        let Some((_, leaf)) = leaves.first() else {
            return self.given.next().copied();
        };
        if subtree.to - subtree.from == 1 {
            return Some(*leaf);
        }
        let (left, right) = halves(subtree);
        let (before, behind) = leaves.split_at(leaves.partition_point(|leaf| leaf.0 < left.to));
        let left_hash = self.hash(left, before)?;
        let right_hash = self.hash(right, behind)?;
        let is_under = |half: Subtree| {
            let range = half.from..half.to;
            self.asked.is_some_and(|asked| range.contains(&asked))
        };
        if is_under(left) {
            self.path.push(right_hash);
        } else if is_under(right) {
            self.path.push(left_hash);
        }
        Some(Hash::of_node(&left_hash, &right_hash))
    }
}

/// Why a proof of several leaves proves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum MultiproofError {
    /// The leaves are not places of the tree, in their order.
    #[error("the records are not in the tree, or not in its order: take a later checkpoint")]
    Order,
    /// Hashes are missing, or are too many.
    #[error(
        "{found} hashes do not lead from these records to the root: take the proof and the \
         checkpoint from one file"
    )]
    Length {
        /// Hashes of the proof.
        found: usize,
    },
    /// A leaf, its position or the proof is not what the others say.
    #[error(
        "the records lead to the root {found}, the checkpoint has {root}: a record, its position or \
         the proof was changed"
    )]
    Root {
        /// Where the proof leads.
        found: Hash,
        /// Where it should.
        root: Hash,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merkle::root_of;
    use std::convert::Infallible;

    fn hashes(count: u64) -> Vec<Hash> {
        let leaf = |n: u64| Hash::of_leaf(&n.to_be_bytes());
        (0..count).map(leaf).collect()
    }

    fn node_of(all: &[Hash]) -> impl FnMut(Node) -> Result<Hash, Infallible> + '_ {
        |node| {
            let from = usize::try_from(node.index() << node.level()).unwrap();
            Ok(root_of(&all[from..from + (1 << node.level())]))
        }
    }

    fn proof(all: &[Hash], positions: &[u64]) -> (Multiproof, Vec<ProvenLeaf>) {
        let Ok(proof) = Multiproof::build(positions, all.len() as u64, node_of(all));
        let leaf = |position: &u64| (*position, all[usize::try_from(*position).unwrap()]);
        (proof.unwrap(), positions.iter().map(leaf).collect())
    }

    /// Every set of leaves of every tree of up to ten.
    #[test]
    fn rfc_6962_every_set_of_leaves_leads_to_the_root_and_gives_each_inclusion_proof() {
        for size in 1..=10_u64 {
            let all = hashes(size);
            let root = root_of(&all);
            for set in 1..1_u32 << size {
                let positions: Vec<u64> = (0..size).filter(|n| set & (1 << n) != 0).collect();
                let (proof, leaves) = proof(&all, &positions);
                assert_eq!(
                    proof.verify(&leaves, root),
                    Ok(()),
                    "{positions:?} of {size}"
                );
                for (position, hash) in &leaves {
                    let alone = proof.inclusion(&leaves, *position).unwrap();
                    let Ok(expected) = InclusionProof::build(*position, size, node_of(&all));
                    assert_eq!(Some(&alone), expected.as_ref());
                    assert_eq!(alone.verify(*hash, root), Ok(()));
                }
            }
        }
    }

    #[test]
    fn no_part_of_a_proof_can_be_another() {
        let all = hashes(300);
        let root = root_of(&all);
        let (good, leaves) = proof(&all, &[0, 1, 200]);
        // 6 beside the pair in the first 128 leaves, 7 beside position 200 in the next 128, and the
        // root of the last 44.
        assert_eq!(good.hashes.len(), 14);
        for at in 0..good.hashes.len() {
            let mut bad = good.clone();
            bad.hashes[at] = all[7];
            let refused = bad.verify(&leaves, root);
            assert!(matches!(refused, Err(MultiproofError::Root { .. })), "{at}");
            bad.hashes.remove(at);
            let refused = bad.verify(&leaves, root);
            assert!(
                matches!(refused, Err(MultiproofError::Length { .. })),
                "{at}"
            );
        }
        let mut more = good.clone();
        more.hashes.push(all[7]);
        let refused = more.verify(&leaves, root);
        assert!(matches!(refused, Err(MultiproofError::Length { .. })));
        for at in 0..leaves.len() {
            let mut bad = leaves.clone();
            bad[at].1 = all[7];
            let refused = good.verify(&bad, root);
            assert!(matches!(refused, Err(MultiproofError::Root { .. })), "{at}");
            bad = leaves.clone();
            bad[at].0 += 1;
            assert!(good.verify(&bad, root).is_err(), "{at}");
        }
        for bad in [vec![], vec![leaves[1], leaves[0]], vec![leaves[0]; 2]] {
            assert_eq!(good.verify(&bad, root), Err(MultiproofError::Order));
        }
        let outside = [(300, all[7])];
        assert_eq!(good.verify(&outside, root), Err(MultiproofError::Order));
        assert_eq!(good.inclusion(&leaves, 2), Err(MultiproofError::Order));
        let nothing = Multiproof::subtrees(&[], 300);
        assert_eq!((nothing, Multiproof::subtrees(&[300], 300)), (None, None));
    }

    #[test]
    fn the_largest_tree_there_can_be_is_walked_too() {
        let beside = Multiproof::subtrees(&[0, u64::MAX - 1], u64::MAX).unwrap();
        let proof = Multiproof {
            size: u64::MAX,
            hashes: vec![Hash::ZERO; beside.len()],
        };
        let leaves = [(0, Hash::ZERO), (u64::MAX - 1, Hash::ZERO)];
        assert!(proof.root(&leaves).is_ok());
    }
}
