//! What is said of a transaction once the `safe` or the `finalized` head has reached its block. The
//! ledger drops what it has recorded as final, so that is said more than once, for it may have been
//! busy; and of a limited number at a time, for some stay watched for other reasons.

use std::collections::BTreeSet;
use std::ops::Bound;

use x811_protocol::evm::TxHash;

use super::{BlockPlace, LAST, Moment};

/// Final transactions that are said again at one time.
const MOST_REPEATED: usize = 1_000;

/// Up to where it was said.
#[derive(Debug, Default)]
pub(super) struct Reached {
    safe_number: Option<u64>,
    final_number: Option<u64>,
    /// Where to go on with what is said again.
    repeat_from: Option<BlockPlace>,
}

impl Reached {
    /// Of those `found`, in order of blocks: whose block was reached since the last time, and, when
    /// the endpoints were asked anew, final ones that are due again.
    pub(super) fn news(
        &mut self,
        found: &BTreeSet<BlockPlace>,
        moment: &Moment<'_>,
    ) -> Vec<TxHash> {
        let mut news = Vec::new();
        for (said, now) in [
            (&mut self.safe_number, moment.safe_number),
            (&mut self.final_number, moment.final_number),
        ] {
            if let Some(now) = now.filter(|now| said.is_none_or(|said| said < *now)) {
                let above = said.map_or(Bound::Unbounded, |said| Bound::Excluded((said, LAST)));
                let reached = found.range((above, Bound::Included((now, LAST))));
                news.extend(reached.map(|(_, tx)| *tx));
                *said = Some(now);
            }
        }
        if moment.are_levels_new
            && let Some(final_number) = moment.final_number
        {
            news.extend(self.again(found, final_number));
        }
        news
    }

    /// The next part of those up to `final_number`. Each part has half of the one before in it, so
    /// that two which are one payment are said together.
    fn again(&mut self, found: &BTreeSet<BlockPlace>, final_number: u64) -> Vec<TxHash> {
        let last = (final_number, LAST);
        let from = self.repeat_from.filter(|from| *from <= last);
        let from = from.map_or(Bound::Unbounded, Bound::Included);
        let rest = found.range((from, Bound::Included(last)));
        let part: Vec<BlockPlace> = rest.take(MOST_REPEATED).copied().collect();
        let is_last = part.len() < MOST_REPEATED;
        let middle = part.get(MOST_REPEATED / 2).copied();
        self.repeat_from = middle.filter(|_| !is_last);
        part.into_iter().map(|(_, tx)| tx).collect()
    }
}
