//! Hashes of the tree that were read before. A perfect subtree never changes, and every proof needs
//! those at the top: what is kept here need be neither read nor hashed again.

use std::collections::HashMap;

use x811_eventlog::{Hash, Node};

/// Hashes that come in before the older ones go: half a megabyte.
const KEPT: usize = 4_096;

/// Hashes of perfect subtrees, those that were asked for last.
#[derive(Debug, Default)]
pub(super) struct KnownNodes {
    newer: HashMap<Node, Hash>,
    older: HashMap<Node, Hash>,
}

impl KnownNodes {
    /// Those of `nodes` that are known.
    pub(super) fn find(&mut self, nodes: &[Node]) -> HashMap<Node, Hash> {
        let mut found = HashMap::with_capacity(nodes.len());
        for node in nodes {
            if let Some(hash) = self.newer.get(node) {
                found.insert(*node, *hash);
            } else if let Some(hash) = self.older.remove(node) {
                found.insert(*node, hash);
                self.insert(*node, hash);
            }
        }
        found
    }

    /// Keeps what was read.
    pub(super) fn keep(&mut self, nodes: &HashMap<Node, Hash>) {
        for (node, hash) in nodes {
            self.insert(*node, *hash);
        }
    }

    fn insert(&mut self, node: Node, hash: Hash) {
        if self.newer.len() >= KEPT {
            self.older = std::mem::take(&mut self.newer);
        }
        self.newer.insert(node, hash);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use x811_eventlog::Subtree;

    #[test]
    fn what_is_asked_for_stays_and_the_rest_goes() {
        let leaf = |position| Subtree::whole(2 * position + 1).nodes().last().unwrap();
        let hash = Hash::of_leaf(b"asked for");
        let mut known = KnownNodes::default();
        known.keep(&HashMap::from([(leaf(0), hash), (leaf(1), hash)]));
        for position in 2..5 * KEPT as u64 {
            known.keep(&HashMap::from([(leaf(position), Hash::ZERO)]));
            assert_eq!(known.find(&[leaf(0)]), HashMap::from([(leaf(0), hash)]));
        }
        assert_eq!(known.find(&[leaf(1)]), HashMap::new());
        assert!(known.newer.len() + known.older.len() <= 2 * KEPT);
    }
}
