//! What is kept of very many things, each found by its key: entries numbered as they came, in
//! blocks that never move, and an index of their numbers, of five bytes a place. A map that holds
//! the entries themselves has up to half of its places empty, and is in memory twice whenever it
//! grows.

use std::hash::{BuildHasher as _, Hash};
use std::num::NonZeroU32;
use std::ops::{Index, IndexMut};

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use hashbrown::hash_table;

/// Entries of a block.
const BLOCK: usize = 1_024;

/// What an entry is found by.
pub(crate) trait Keyed {
    type Key: Eq + Hash;

    fn key(&self) -> &Self::Key;
}

/// Which entry, in the order they came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Number(NonZeroU32);

/// Entries, no two with the same key.
#[derive(Debug, Clone)]
pub(crate) struct Numbered<T> {
    entries: Blocks<T>,
    places: HashTable<Number>,
    hasher: RandomState,
}

#[derive(Debug, Clone)]
struct Blocks<T>(Vec<Vec<T>>);

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Numbered {
            entries: Blocks(Vec::new()),
            places: HashTable::new(),
            hasher: RandomState::default(),
        }
    }
}

impl<T: Keyed> Numbered<T> {
    /// The number of the entry of that key.
    pub(crate) fn number(&self, key: &T::Key) -> Option<Number> {
        let found = self.places.find(self.hasher.hash_one(key), |number| {
            self.entries.at(*number).key() == key
        });
        found.copied()
    }

    /// The entry of that key.
    pub(crate) fn get(&self, key: &T::Key) -> Option<&T> {
        self.number(key).map(|number| self.entries.at(number))
    }

    /// The number of the entry of this key; where there was none, it is this one.
    pub(crate) fn enter(&mut self, entry: T) -> Entered {
        let (entries, hasher) = (&mut self.entries, &self.hasher);
        let key = entry.key();
        let place = self.places.entry(
            hasher.hash_one(key),
            |number| entries.at(*number).key() == key,
            |number| hasher.hash_one(entries.at(*number).key()),
        );
        match place {
            hash_table::Entry::Occupied(known) => Entered {
                number: *known.get(),
                is_new: false,
            },
            hash_table::Entry::Vacant(place) => {
                let number = entries.push(entry);
                place.insert(number);
                Entered {
                    number,
                    is_new: true,
                }
            }
        }
    }

    /// Puts the entry in the place of the one of its key, if there is one.
    pub(crate) fn put(&mut self, entry: T)
    where
        T: Clone,
    {
        let Entered { number, is_new } = self.enter(entry.clone());
        if !is_new {
            self[number] = entry;
        }
    }
}

/// Where an entry is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entered {
    pub(crate) number: Number,
    /// There was none of its key.
    pub(crate) is_new: bool,
}

impl<T> Numbered<T> {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// All, in the order they came.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Number, &T)> {
        let entries = self.entries.0.iter().flatten().enumerate();
        entries.map(|(before, entry)| (Number::after(before), entry))
    }
}

impl<T> Index<Number> for Numbered<T> {
    type Output = T;

    fn index(&self, number: Number) -> &T {
        self.entries.at(number)
    }
}

impl<T> IndexMut<Number> for Numbered<T> {
    fn index_mut(&mut self, number: Number) -> &mut T {
        let index = number.index();
        &mut self.entries.0[index / BLOCK][index % BLOCK]
    }
}

impl Number {
    /// Of the entry behind as many others.
    fn after(entries: usize) -> Number {
        let number = u32::try_from(entries.saturating_add(1)).ok();
        #[expect(
            clippy::expect_used,
            reason = "a log of 2^32 subjects or envelopes takes more memory than this"
        )]
        Number(
            number
                .and_then(NonZeroU32::new)
                .expect("fewer than 2^32 entries"),
        )
    }

    /// How many came before it.
    pub fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

impl<T> Blocks<T> {
    fn len(&self) -> usize {
        let last = self.0.last().map_or(0, Vec::len);
        self.0.len().saturating_sub(1) * BLOCK + last
    }

    fn at(&self, number: Number) -> &T {
        let index = number.index();
        &self.0[index / BLOCK][index % BLOCK]
    }

    fn push(&mut self, entry: T) -> Number {
        let number = Number::after(self.len());
        match self.0.last_mut().filter(|last| last.len() < BLOCK) {
            Some(last) => last.push(entry),
            None => {
                // The first grows as it is filled: most logs are short.
                let size = if self.0.is_empty() { 1 } else { BLOCK };
                let mut block = Vec::with_capacity(size);
                block.push(entry);
                self.0.push(block);
            }
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone, PartialEq)]
    struct Entry {
        key: u16,
        value: u32,
    }

    impl Keyed for Entry {
        type Key = u16;

        fn key(&self) -> &u16 {
            &self.key
        }
    }

    proptest! {
        #[test]
        fn entries_are_found_as_in_a_map(
            keys in prop::collection::vec((0_u16..3_000, any::<bool>()), 0..6_000),
        ) {
            let mut numbered = Numbered::default();
            let (mut map, mut order) = (BTreeMap::new(), Vec::new());
            for (value, (key, replaces)) in (0..).zip(keys) {
                let entry = Entry { key, value };
                let is_new = !map.contains_key(&key);
                if is_new {
                    order.push(key);
                }
                if replaces {
                    numbered.put(entry.clone());
                    map.insert(key, entry);
                } else {
                    prop_assert_eq!(numbered.enter(entry.clone()).is_new, is_new);
                    map.entry(key).or_insert(entry);
                }
            }
            prop_assert_eq!(numbered.len(), map.len());
            let listed: Vec<u16> = numbered.iter().map(|(_, entry)| entry.key).collect();
            prop_assert_eq!(&listed, &order);
            for key in 0..3_000 {
                prop_assert_eq!(numbered.get(&key), map.get(&key));
            }
            for (index, key) in order.iter().enumerate() {
                let number = numbered.number(key).unwrap();
                prop_assert_eq!(number.index(), index);
                prop_assert_eq!(numbered[number].key, *key);
            }
        }
    }
}
