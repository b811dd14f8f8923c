//! When to look again: a block is expected one block time after the last, so that a network at rest
//! costs one request for its head a block, and one that is late is asked for at short intervals. An
//! announcement brings the look forward, but only once for each new head: announcements that come
//! to nothing must not cost a request each.
//! Moments are milliseconds of a monotonic clock that the caller starts.

/// The pace of one network.
#[derive(Debug)]
pub(crate) struct Pace {
    poll_ms: u64,
    block_ms: u64,
    /// When the head was asked for that turned out to be new.
    advanced_at_ms: Option<u64>,
    /// An announcement brought a look forward since then.
    is_announced: bool,
    /// That head had been announced: the next is expected to be, too.
    was_announced: bool,
}

impl Pace {
    pub(crate) fn new(poll_ms: u64, block_ms: u64) -> Pace {
        Pace {
            poll_ms,
            block_ms,
            advanced_at_ms: None,
            is_announced: false,
            was_announced: false,
        }
    }

    /// The head asked for at that moment was new.
    pub(crate) fn advanced(&mut self, asked_at_ms: u64) {
        self.advanced_at_ms = Some(asked_at_ms);
        self.was_announced = std::mem::take(&mut self.is_announced);
    }

    /// A head that is not held was announced. Whether to look now.
    pub(crate) fn announced(&mut self) -> bool {
        !std::mem::replace(&mut self.is_announced, true)
    }

    /// How long to wait before the head is asked for again.
    pub(crate) fn rest_ms(&self, now_ms: u64) -> u64 {
        // What is going to be announced is not asked for just before.
        let grace_ms = if self.was_announced { self.poll_ms } else { 0 };
        let expected_ms = self.advanced_at_ms.unwrap_or(0) + self.block_ms + grace_ms;
        match expected_ms.checked_sub(now_ms) {
            Some(rest_ms) if rest_ms > 0 => rest_ms,
            Some(_) | None => self.poll_ms,
        }
    }

    /// Whether the next block is so late that other endpoints are to be asked, too.
    pub(crate) fn is_stalled(&self, now_ms: u64) -> bool {
        let patience_ms = 2 * self.block_ms.max(self.poll_ms);
        self.advanced_at_ms
            .is_none_or(|at_ms| now_ms.saturating_sub(at_ms) > patience_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_is_asked_for_once_a_block_and_more_often_when_it_is_late() {
        let mut pace = Pace::new(250, 2_000);
        pace.advanced(10_000);
        let rests = [10_050, 11_999, 12_000, 12_300].map(|now_ms| pace.rest_ms(now_ms));
        assert_eq!(rests, [1_950, 1, 250, 250]);
        assert!(!pace.is_stalled(14_000) && pace.is_stalled(14_001));
    }

    #[test]
    fn sw_pitfalls_an_announcement_counts_once_for_each_new_head() {
        let mut pace = Pace::new(250, 2_000);
        assert!(pace.announced());
        assert!(
            !pace.announced(),
            "it came to nothing: the rest is for the poll"
        );
        pace.advanced(10_000);
        assert_eq!(
            pace.rest_ms(10_050),
            2_200,
            "the announcement is waited for"
        );
        assert!(pace.announced());
        pace.advanced(12_000);
        pace.advanced(14_100);
        assert_eq!(
            pace.rest_ms(14_150),
            1_950,
            "that one had not been announced"
        );
    }

    #[test]
    fn without_a_block_time_it_is_asked_for_all_the_time() {
        let mut pace = Pace::new(250, 0);
        pace.advanced(10_000);
        assert_eq!(pace.rest_ms(10_001), 250);
    }
}
