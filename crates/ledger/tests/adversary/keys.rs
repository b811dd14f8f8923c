//! Every secret key that the ledger of a box ever had.

use x811_protocol::key::SecretKey;

use crate::ledgerbox::Ledgerbox;
use crate::party::{Party, SeededEntropy};

/// The first ones, those that [`Ledgerbox::rotate`] put in their place, and those in force.
pub(crate) fn of(ledgerbox: &Ledgerbox) -> Vec<SecretKey> {
    let in_force = [
        &ledgerbox.identity.key,
        &ledgerbox.checkpoint_key,
        &ledgerbox.receipt_key,
    ];
    all().into_iter().chain(in_force.into_iter().cloned()).collect()
}

/// Those of every ledger in a box.
pub(crate) fn all() -> Vec<SecretKey> {
    let start = x811_protocol::time::TimestampMs::new(0);
    let first = [811, 1, 2].map(|seed| Party::new(&SeededEntropy::new(seed), start).key);
    let rotated = (90..=99).map(|seed| SecretKey::from_seed([seed; 32]));
    first.into_iter().chain(rotated).collect()
}
