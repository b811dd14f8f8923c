//! The Merkle tree over all records: RFC 6962 section 2.1.
//!
//! Its leaves are record hashes (record.md section 1). A writer keeps only a [`Frontier`], some
//! dozen hashes however long the log is; [`root_of`] is the definition, to check it by.

use thiserror::Error;

use crate::hash::{HASH_BYTES, Hash};
use crate::record::MAX_INTEGER;

const SIZE_BYTES: usize = 8;
/// One more than the last position there can be.
const MAX_SIZE: u64 = MAX_INTEGER + 1;

/// The running state of the tree: the roots of the perfect subtrees that its leaves make up, the
/// largest first. A tree of `size` leaves has one for every 1 in the binary form of `size`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frontier {
    size: u64,
    subtrees: Vec<Hash>,
}

impl Frontier {
    /// The empty tree.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            size: 0,
            subtrees: Vec::new(),
        }
    }

    /// Appends a leaf by its hash. Amortised one node hash.
    pub fn push(&mut self, leaf: Hash) {
        let mut subtree = leaf;
        for _ in 0..self.size.trailing_ones() {
            if let Some(left) = self.subtrees.pop() {
                subtree = Hash::of_node(&left, &subtree);
            }
        }
        self.subtrees.push(subtree);
        self.size += 1;
    }

    /// Number of leaves.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// The tree head: the root over all leaves so far.
    #[must_use]
    pub fn root(&self) -> Hash {
        let smaller_first = self.subtrees.iter().rev().copied();
        smaller_first
            .reduce(|right, left| Hash::of_node(&left, &right))
            .unwrap_or_else(Hash::of_nothing)
    }

    /// The stored form: `size` as 8 bytes, most significant first, then the subtree roots, 32
    /// bytes each, the largest subtree first. Never changes for a given tree.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(SIZE_BYTES + self.subtrees.len() * HASH_BYTES);
        bytes.extend(self.size.to_be_bytes());
        for subtree in &self.subtrees {
            bytes.extend(subtree.as_bytes());
        }
        bytes
    }

    /// Reads the stored form. Whether the hashes are those of the log is not known from the
    /// bytes: compare [`Frontier::root`] with a root that is trusted, or push the leaves again.
    ///
    /// # Errors
    ///
    /// [`FrontierError`] when the size is impossible, or not the one the length tells.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FrontierError> {
        let found = bytes.len();
        let (size, rest) = bytes
            .split_first_chunk()
            .ok_or(FrontierError::NoSize { found })?;
        let size = u64::from_be_bytes(*size);
        if size > MAX_SIZE {
            return Err(FrontierError::Size { size });
        }
        let (subtrees, excess) = rest.as_chunks::<HASH_BYTES>();
        let expected = size.count_ones() as usize;
        if subtrees.len() != expected || !excess.is_empty() {
            let expected = SIZE_BYTES + expected * HASH_BYTES;
            return Err(FrontierError::Length {
                size,
                expected,
                found,
            });
        }
        Ok(Self {
            size,
            subtrees: subtrees.iter().copied().map(Hash::from_bytes).collect(),
        })
    }
}

/// Why bytes are not a stored [`Frontier`]. It is only a shortcut: build it from the log again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum FrontierError {
    /// Too short to hold a size.
    #[error("a stored frontier begins with {SIZE_BYTES} bytes of size, found {found}; rebuild it")]
    NoSize {
        /// How many bytes were found there.
        found: usize,
    },
    /// More leaves than positions.
    #[error("a stored frontier names {size} leaves, a log has at most {MAX_SIZE}; rebuild it")]
    Size {
        /// Leaves, as stored.
        size: u64,
    },
    /// Not one hash per subtree.
    #[error("a frontier of {size} leaves has {expected} bytes, found {found}; rebuild it")]
    Length {
        /// Leaves, as stored.
        size: u64,
        /// Bytes that a frontier of this size has.
        expected: usize,
        /// How many bytes were found there.
        found: usize,
    },
}

/// The root over `leaves` (their hashes), straight from the definition: RFC 6962 section 2.1
/// splits at the largest power of two below the number of leaves.
#[must_use]
pub fn root_of(leaves: &[Hash]) -> Hash {
    match leaves {
        [] => Hash::of_nothing(),
        [leaf] => *leaf,
        _ => {
            let (left, right) = leaves.split_at(leaves.len().next_power_of_two() / 2);
            Hash::of_node(&root_of(left), &root_of(right))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The reference tree of Certificate Transparency: the entries, and the root over the first
    /// 0, 1, … 8 of them, as its C++ tests have them; recomputed with Python's hashlib.
    const ENTRIES: [&str; 8] = [
        "",
        "00",
        "10",
        "2021",
        "3031",
        "40414243",
        "5051525354555657",
        "606162636465666768696a6b6c6d6e6f",
    ];
    const ROOTS: [&str; 9] = [
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
        "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
        "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
        "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
        "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    ];
    /// The stored form over the first 7 entries, from the same script.
    const STORED: [&str; 4] = [
        "0000000000000007",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
        "b08693ec2e721597130641e8211e7eedccb4c26413963eee6c1e2ed16ffb1a5f",
    ];

    fn leaves() -> Vec<Hash> {
        ENTRIES
            .iter()
            .map(|entry| Hash::of_leaf(&hex::decode(entry).unwrap()))
            .collect()
    }

    fn frontier(leaves: &[Hash]) -> Frontier {
        let mut frontier = Frontier::new();
        leaves.iter().for_each(|leaf| frontier.push(*leaf));
        frontier
    }

    #[test]
    fn rfc6962_reference_roots() {
        for (size, root) in ROOTS.iter().enumerate() {
            let leaves = &leaves()[..size];
            assert_eq!(
                root_of(leaves).to_string(),
                *root,
                "definition, size {size}"
            );
            assert_eq!(
                frontier(leaves).root().to_string(),
                *root,
                "frontier, size {size}"
            );
        }
    }

    #[test]
    fn frontier_stored_form_is_stable() {
        let frontier = frontier(&leaves()[..7]);
        assert_eq!(hex::encode(frontier.to_bytes()), STORED.concat());
        assert_eq!(
            Frontier::from_bytes(&hex::decode(STORED.concat()).unwrap()),
            Ok(frontier)
        );
    }

    #[test]
    fn frontier_equals_the_definition_up_to_300() {
        let leaves: Vec<Hash> = (0..300_u16)
            .map(|n| Hash::of_leaf(&n.to_be_bytes()))
            .collect();
        let mut frontier = Frontier::new();
        for size in 0..=leaves.len() {
            assert_eq!(frontier.size(), size as u64);
            assert_eq!(frontier.root(), root_of(&leaves[..size]), "size {size}");
            assert_eq!(
                Frontier::from_bytes(&frontier.to_bytes()),
                Ok(frontier.clone())
            );
            if let Some(leaf) = leaves.get(size) {
                frontier.push(*leaf);
            }
        }
    }

    #[test]
    fn frontier_of_another_length_is_refused() {
        let bytes = frontier(&leaves()[..7]).to_bytes();
        assert_eq!(
            Frontier::from_bytes(&[]),
            Err(FrontierError::NoSize { found: 0 })
        );
        assert_eq!(
            Frontier::from_bytes(&bytes[..7]),
            Err(FrontierError::NoSize { found: 7 })
        );
        let endless = [0xff; SIZE_BYTES + 64 * HASH_BYTES];
        assert_eq!(
            Frontier::from_bytes(&endless),
            Err(FrontierError::Size { size: u64::MAX })
        );
        let longest = [MAX_SIZE.to_be_bytes().as_slice(), leaves()[0].as_bytes()].concat();
        assert_eq!(
            Frontier::from_bytes(&longest).map(|frontier| frontier.size()),
            Ok(MAX_SIZE)
        );
        let length = |found| {
            Err(FrontierError::Length {
                size: 7,
                expected: 104,
                found,
            })
        };
        assert_eq!(Frontier::from_bytes(&bytes[..103]), length(103));
        assert_eq!(Frontier::from_bytes(&bytes[..72]), length(72));
        assert_eq!(
            Frontier::from_bytes(&[bytes.as_slice(), &[0]].concat()),
            length(105)
        );
    }

    proptest! {
        #[test]
        fn frontier_goes_on_where_it_was_stored(
            leaves in prop::collection::vec(any::<[u8; 32]>().prop_map(Hash::from_bytes), 0..300),
            cut in any::<prop::sample::Index>(),
        ) {
            let (before, after) = leaves.split_at(cut.index(leaves.len() + 1));
            let mut stored = Frontier::from_bytes(&frontier(before).to_bytes()).unwrap();
            after.iter().for_each(|leaf| stored.push(*leaf));
            prop_assert_eq!(stored.root(), root_of(&leaves));
        }
    }
}
