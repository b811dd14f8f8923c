//! Every secret key that the ledger of a box may ever have had.

use x811_protocol::key::SecretKey;
use x811_protocol::time::TimestampMs;

use super::party::{Party, SeededEntropy};

/// Those it began with, and those that tests put in their place.
pub(crate) fn all() -> Vec<SecretKey> {
    let start = TimestampMs::new(0);
    let first = [811, 1, 2].map(|seed| Party::new(&SeededEntropy::new(seed), start).key);
    let rotated = (90..=99).map(|seed| SecretKey::from_seed([seed; 32]));
    first.into_iter().chain(rotated).collect()
}
