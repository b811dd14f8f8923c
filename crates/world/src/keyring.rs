//! The ledger's three keys: which are in force, and which were before (record.md section 2).
//!
//! What was signed is held against the key that was in force where it stands: a checkpoint over so
//! many records against the one after them.

mod reading;

pub use reading::Reading;

use crate::keys_statement::Rotation;
use serde::{Deserialize, Serialize};
use x811_protocol::did::Did;
use x811_protocol::event::{LedgerKeyRotated, LedgerKeys, LedgerRole};
use x811_protocol::key::PublicKey;

/// The keys after some record, and every one before them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Keyring {
    in_force: LedgerKeys,
    /// In order of position.
    replaced: Vec<Replaced>,
}

/// A key that is in force no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replaced {
    /// Place of the record that says so.
    pub position: u64,
    /// What it was for.
    pub role: LedgerRole,
    /// The public key that is in force no more.
    pub old_key: PublicKey,
}

impl Keyring {
    /// The keys that position 0 names.
    pub fn opened(keys: LedgerKeys) -> Keyring {
        Keyring {
            in_force: keys,
            replaced: Vec::new(),
        }
    }

    /// The keys in force.
    #[must_use]
    pub fn in_force(&self) -> &LedgerKeys {
        &self.in_force
    }

    /// Those that are in force no more, in order of the records that replaced them.
    #[must_use]
    pub fn replaced(&self) -> &[Replaced] {
        &self.replaced
    }

    /// The keys that were in force after the first `size` records.
    #[must_use]
    pub fn after(&self, size: u64) -> LedgerKeys {
        let later = self.replaced.iter().rev();
        later
            .take_while(|replaced| replaced.position >= size)
            .fold(self.in_force, |keys, replaced| {
                keys.with(replaced.role, replaced.old_key)
            })
    }

    /// What was replaced by one of the first `size` records, each key with the one that took its
    /// place.
    #[must_use]
    pub fn rotations(&self, size: u64) -> Vec<Rotation> {
        let mut keys = self.in_force;
        let rotations = self.replaced.iter().rev().map(|replaced| {
            let new = keys.of(replaced.role);
            keys = keys.with(replaced.role, replaced.old_key);
            Rotation {
                new,
                old: replaced.old_key,
                position: replaced.position,
                role: replaced.role,
            }
        });
        let rotations: Vec<Rotation> = rotations.collect();
        let covered = rotations.into_iter().rev();
        covered
            .take_while(|rotation| rotation.position < size)
            .collect()
    }

    /// The keys after a record at `position` that replaces one of them.
    ///
    /// # Errors
    /// Why it replaces none.
    pub fn rotated(
        &self,
        ledger: Did,
        rotated: &LedgerKeyRotated,
        position: u64,
    ) -> Result<Keyring, &'static str> {
        if self.in_force.of(rotated.role) != rotated.old_key {
            return Err("old_key is not the key in force");
        }
        if self.had(rotated.new_key) {
            return Err("new_key is, or was, a key of this ledger");
        }
        if !rotated.is_proven(ledger) {
            return Err("its proof is not by old_key over the rotation of these two keys");
        }
        let mut keyring = self.clone();
        keyring.in_force = self.in_force.with(rotated.role, rotated.new_key);
        keyring.replaced.push(Replaced {
            position,
            role: rotated.role,
            old_key: rotated.old_key,
        });
        Ok(keyring)
    }

    fn had(&self, key: PublicKey) -> bool {
        let in_force = LedgerRole::ALL.map(|role| self.in_force.of(role));
        let replaced = self.replaced.iter().map(|replaced| replaced.old_key);
        in_force
            .into_iter()
            .chain(replaced)
            .any(|known| known == key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use x811_protocol::key::SecretKey;

    const LEDGER: &str = "did:x811:019b76da-a800-7000-8000-0000000000d1";

    fn key(seed: u8) -> SecretKey {
        SecretKey::from_seed([seed; 32])
    }

    fn opened() -> Keyring {
        Keyring::opened(LedgerKeys {
            envelope: key(1).public(),
            checkpoint: key(2).public(),
            receipt: key(3).public(),
        })
    }

    fn rotation(role: LedgerRole, old: u8, new: u8) -> LedgerKeyRotated {
        LedgerKeyRotated::sign(LEDGER.parse().unwrap(), role, &key(old), key(new).public())
    }

    fn rotated(keyring: &Keyring, rotated: &LedgerKeyRotated, position: u64) -> Keyring {
        let ledger = LEDGER.parse().unwrap();
        keyring.rotated(ledger, rotated, position).unwrap()
    }

    #[test]
    fn rec_2_every_size_has_the_keys_of_its_time() {
        let first = opened();
        let second = rotated(&first, &rotation(LedgerRole::Checkpoint, 2, 4), 10);
        let third = rotated(&second, &rotation(LedgerRole::Checkpoint, 4, 5), 20);
        let last = rotated(&third, &rotation(LedgerRole::Receipt, 3, 6), 21);
        let table = [
            (0, 2, 3),
            (10, 2, 3),
            (11, 4, 3),
            (20, 4, 3),
            (21, 5, 3),
            (22, 5, 6),
            (1_000, 5, 6),
        ];
        for (size, checkpoint, receipt) in table {
            let keys = last.after(size);
            assert_eq!(keys.checkpoint, key(checkpoint).public(), "{size}");
            assert_eq!(keys.receipt, key(receipt).public(), "{size}");
            assert_eq!(keys.envelope, key(1).public(), "{size}");
        }
        assert_eq!(last.in_force(), &last.after(1_000));
    }

    #[test]
    fn rec_2_only_the_key_in_force_hands_over_and_never_to_a_known_one() {
        let keyring = rotated(&opened(), &rotation(LedgerRole::Checkpoint, 2, 4), 10);
        let ledger: Did = LEDGER.parse().unwrap();
        let mut forged = rotation(LedgerRole::Receipt, 3, 7);
        forged.proof = rotation(LedgerRole::Envelope, 3, 7).proof;
        let other = "did:x811:019b76da-a800-7000-8000-0000000000d2";
        let elsewhere = LedgerKeyRotated::sign(
            other.parse().unwrap(),
            LedgerRole::Receipt,
            &key(3),
            key(7).public(),
        );
        let table = [
            (rotation(LedgerRole::Checkpoint, 2, 7), "in force"),
            (rotation(LedgerRole::Receipt, 1, 7), "in force"),
            (rotation(LedgerRole::Receipt, 3, 3), "is, or was"),
            (rotation(LedgerRole::Receipt, 3, 1), "is, or was"),
            (rotation(LedgerRole::Receipt, 3, 2), "is, or was"),
            (forged, "proof"),
            (elsewhere, "proof"),
        ];
        for (rotation, why) in table {
            let refused = keyring.rotated(ledger, &rotation, 11).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
    }
}
