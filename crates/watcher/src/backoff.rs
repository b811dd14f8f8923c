//! How long to wait after a failure: doubling, capped, and scattered so that ledgers that lost one
//! endpoint together do not come back to it together. An endpoint that says how long it wants to be
//! left alone is, within reason.

const FIRST_MS: u64 = 250;
const CAP_MS: u64 = 8_000;
/// The most that an endpoint is given when it asks for it.
const MOST_ASKED_MS: u64 = 60_000;

/// Waiting times of one endpoint.
#[derive(Debug)]
pub(crate) struct Backoff {
    failures: u32,
    scatter: u64,
}

impl Backoff {
    /// `seed` sets this endpoint's sequence apart from others'.
    pub(crate) fn new(seed: u64) -> Backoff {
        Backoff {
            failures: 0,
            scatter: seed,
        }
    }

    /// The wait after one more failure: between three quarters and the whole of the doubled time;
    /// and the time that the endpoint `asked` for, with up to a quarter more, where that is longer.
    pub(crate) fn next_ms(&mut self, asked_ms: Option<u64>) -> u64 {
        let whole_ms = FIRST_MS
            .checked_shl(self.failures)
            .unwrap_or(CAP_MS)
            .min(CAP_MS);
        self.failures = (self.failures + 1).min(16);
        let own_ms = whole_ms - whole_ms / 4 * self.per_mille() / 1_000;
        let asked_ms = asked_ms.unwrap_or(0).min(MOST_ASKED_MS);
        own_ms.max(asked_ms + asked_ms / 4 * self.per_mille() / 1_000)
    }

    /// The endpoint answers again.
    pub(crate) fn reset(&mut self) {
        self.failures = 0;
    }

    /// SplitMix64: a counter made to look random, which is all that scattering needs.
    fn per_mille(&mut self) -> u64 {
        self.scatter = self.scatter.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.scatter ^ (self.scatter >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % 1_001
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_cap_and_start_again() {
        let mut backoff = Backoff::new(7);
        for expected_ms in [250, 500, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000] {
            let wait_ms = backoff.next_ms(None);
            assert!(
                (expected_ms * 3 / 4..=expected_ms).contains(&wait_ms),
                "{wait_ms}"
            );
        }
        backoff.reset();
        assert!(backoff.next_ms(None) <= FIRST_MS);
    }

    #[test]
    fn sw_pitfalls_an_endpoint_is_left_alone_for_as_long_as_it_asks_within_reason() {
        for (asked_ms, at_least_ms) in [(0, 187), (1, 187), (5_000, 5_000), (u64::MAX, 60_000)] {
            let wait_ms = Backoff::new(7).next_ms(Some(asked_ms));
            let at_most_ms = at_least_ms.max(200) * 5 / 4;
            assert!((at_least_ms..=at_most_ms).contains(&wait_ms), "{wait_ms}");
        }
        let mut backoff = Backoff::new(7);
        for _ in 0..8 {
            backoff.next_ms(None);
        }
        assert!(
            backoff.next_ms(Some(1_000)) >= 6_000,
            "its own wait is longer"
        );
    }

    #[test]
    fn two_endpoints_wait_differently() {
        let waits = |seed| {
            let mut backoff = Backoff::new(seed);
            [(); 8].map(|()| backoff.next_ms(None))
        };
        assert_ne!(waits(1), waits(2));
        assert_eq!(waits(1), waits(1));
    }
}
