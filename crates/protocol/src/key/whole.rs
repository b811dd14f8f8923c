//! Keys that are known to have no part of small order.

use std::collections::BTreeSet;

/// So many are remembered, which take some megabytes; then it begins anew.
const MOST: usize = 65_536;

/// Keys that were in a batch of signatures that held ([`verify_all_knowing`]). What is forgotten is
/// shown again by the next batch.
///
/// [`verify_all_knowing`]: super::verify_all_knowing
#[derive(Debug, Clone, Default)]
pub struct WholeKeys {
    keys: BTreeSet<[u8; 32]>,
}

impl WholeKeys {
    pub(super) fn contains(&self, key: &[u8; 32]) -> bool {
        self.keys.contains(key)
    }

    /// Adds what a batch has shown.
    pub(super) fn add(&mut self, keys: Vec<[u8; 32]>) {
        if self.keys.len() + keys.len() > MOST {
            self.keys.clear();
        }
        self.keys.extend(keys);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ae_082_whole_keys_are_remembered_in_bounded_memory() {
        let mut whole = WholeKeys::default();
        let key = |number: usize| {
            let mut key = [0; 32];
            key[..8].copy_from_slice(&number.to_le_bytes());
            key
        };
        for number in 0..MOST {
            whole.add(vec![key(number)]);
        }
        assert!(whole.contains(&key(0)) && whole.contains(&key(MOST - 1)));
        whole.add(vec![key(MOST)]);
        assert!(whole.contains(&key(MOST)) && !whole.contains(&key(0)));
        assert_eq!(whole.keys.len(), 1);
    }
}
