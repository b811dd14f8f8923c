//! Chance that can be repeated: a seed that is printed, and taken from `X811_SEED` when it is set.

use std::hash::{BuildHasher as _, RandomState};

use x811_tests::size::from_environment;

/// SplitMix64.
pub(crate) struct Dice(u64);

impl Dice {
    /// A new seed, printed so that the run can be repeated.
    pub(crate) fn roll(what: &str) -> Dice {
        let seed =
            from_environment("X811_SEED").unwrap_or_else(|| RandomState::new().hash_one(what));
        println!("{what}: X811_SEED={seed}");
        Dice(seed)
    }

    /// The same for a test that has a seed of its own.
    pub(crate) fn seeded(what: &str, seed: u64) -> Dice {
        let seed = from_environment("X811_SEED").unwrap_or(seed);
        println!("{what}: X811_SEED={seed}");
        Dice(seed)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end.max(1)
    }
}
