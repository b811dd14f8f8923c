//! What agents earn: counters that follow from how interactions stand, and a score in integers, so
//! that a browser computes the same. Source: agents.md section 4, AX-37.
//!
//! | how an interaction stands, or what it caused | initiator | provider |
//! |---|---|---|
//! | paid by a confirmed transfer | s | s |
//! | the same, and the transfer has disappeared | d | |
//! | no RESULT in time | | f |
//! | no VERIFY in time | f | |
//! | no PAYMENT in time, or the fourth failure | d | |
//! | VERIFY `verified=false` | | d, contested |
//! | a breach of an agreement was recorded | | d |
//! | anything else | | |
//!
//! Counters say what somebody was party to, not who somebody is: two agents of one owner raise each
//! other for the price of gas and fee, and VERIFY `verified=false` costs its sender nothing.

mod table;

use crate::code::Code;
use crate::interaction::State;
use serde::{Deserialize, Serialize};
use table::LOG_MILLIONTHS;

/// How the interactions that somebody was party to ended. Members stand in the order of their names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrustCounters {
    /// Those of `d` that rest on the word of the other party alone.
    pub contested: u32,
    /// Disputes: how many ended in a dispute that counts against it.
    pub d: u32,
    /// Failures: how many ended because its RESULT or VERIFY did not come in time.
    pub f: u32,
    /// Successes: how many interactions ended well.
    pub s: u32,
}

impl TrustCounters {
    const SUCCESS: TrustCounters = TrustCounters {
        s: 1,
        ..TrustCounters::NONE
    };
    const FAILURE: TrustCounters = TrustCounters {
        f: 1,
        ..TrustCounters::NONE
    };
    const DISPUTE: TrustCounters = TrustCounters {
        d: 1,
        ..TrustCounters::NONE
    };
    const CONTESTED: TrustCounters = TrustCounters {
        contested: 1,
        ..TrustCounters::DISPUTE
    };

    /// Of a provider against whom a breach of an agreement is recorded (CX-49).
    pub const BREACH: TrustCounters = TrustCounters::DISPUTE;

    /// Of somebody without history.
    pub const NONE: TrustCounters = TrustCounters {
        contested: 0,
        d: 0,
        f: 0,
        s: 0,
    };

    /// These, where an interaction counts as `after` and no longer as `before`. The ends of the range
    /// hold.
    #[must_use]
    pub fn moved(self, before: TrustCounters, after: TrustCounters) -> TrustCounters {
        let moved = |now: u32, out: u32, into: u32| now.saturating_sub(out).saturating_add(into);
        TrustCounters {
            contested: moved(self.contested, before.contested, after.contested),
            d: moved(self.d, before.d, after.d),
            f: moved(self.f, before.f, after.f),
            s: moved(self.s, before.s, after.s),
        }
    }

    /// Whether anything counts at all: where it does not, rank and `min_trust` of ledger rules take
    /// the score for 0.
    #[must_use]
    pub fn has_history(self) -> bool {
        self != TrustCounters::NONE
    }

    /// The score in hundredths, 0 to 100: half-up of 70·s/(s+f+3d) + 20·s/(s+f+d) + 10·L(s+f+d), and
    /// 50 without history.
    #[must_use]
    pub fn score_hundredths(self) -> u8 {
        let [s, f, d] = [self.s, self.f, self.d].map(u128::from);
        let (weighed, plain) = (s + f + 3 * d, s + f + d);
        if plain == 0 {
            return 50;
        }
        let last = LOG_MILLIONTHS.len() - 1;
        let log = usize::try_from(plain).map_or(last, |plain| plain.min(last));
        let log = u128::from(LOG_MILLIONTHS[log]);
        // All over weighed · plain · 10^6: below 2^96.
        let score = 1_000_000 * (70 * s * plain + 20 * s * weighed) + 10 * log * weighed * plain;
        let one = 1_000_000 * weighed * plain;
        u8::try_from((2 * score + one) / (2 * one)).unwrap_or(100)
    }
}

/// How one interaction counts, as it stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Merit {
    /// For its initiator.
    pub initiator: TrustCounters,
    /// For its provider.
    pub provider: TrustCounters,
}

impl Merit {
    /// How an interaction in `state` counts. One that was free counts for nobody: nothing was moved
    /// that could not be made up.
    #[must_use]
    pub fn of(state: &State) -> Merit {
        let (initiator, provider) = match state {
            State::Completed { completion, .. } => {
                match (completion.claims.len(), completion.reversed.len()) {
                    (0, _) => (TrustCounters::NONE, TrustCounters::NONE),
                    (_, 0) => (TrustCounters::SUCCESS, TrustCounters::SUCCESS),
                    (_, _) => (TrustCounters::DISPUTE, TrustCounters::NONE),
                }
            }
            State::Expired(closing) if closing.code == Some(Code::ResultTimeout) => {
                (TrustCounters::NONE, TrustCounters::FAILURE)
            }
            State::Failed(_) => (TrustCounters::FAILURE, TrustCounters::NONE),
            // Only VERIFY leads there without a code.
            State::Disputed(dispute) if dispute.closing.code.is_none() => {
                (TrustCounters::NONE, TrustCounters::CONTESTED)
            }
            State::Disputed(_) => (TrustCounters::DISPUTE, TrustCounters::NONE),
            State::Pending { .. }
            | State::Offered { .. }
            | State::Accepted { .. }
            | State::Delivered { .. }
            | State::Verified { .. }
            | State::Expired(_)
            | State::Rejected(_) => (TrustCounters::NONE, TrustCounters::NONE),
        };
        Merit {
            initiator,
            provider,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(s: u32, f: u32, d: u32) -> u8 {
        let counters = TrustCounters {
            contested: 0,
            d,
            f,
            s,
        };
        counters.score_hundredths()
    }

    /// By Python's `decimal`, not by this code.
    #[test]
    fn ax_37_the_score_is_the_formula_in_hundredths() {
        let table = [
            ((0, 0, 0), 50),
            ((1, 0, 0), 91),
            ((0, 1, 0), 1),
            ((0, 0, 1), 1),
            ((9, 0, 0), 93),
            ((999, 0, 0), 100),
            ((5_000_000, 0, 0), 100),
            ((0, 999, 0), 10),
            ((10, 1, 1), 70),
            ((97, 2, 1), 93),
            ((3, 2, 2), 31),
            ((u32::MAX, u32::MAX, u32::MAX), 31),
        ];
        for ((s, f, d), due) in table {
            assert_eq!(score(s, f, d), due, "{s} {f} {d}");
        }
    }

    #[test]
    fn ax_37_a_success_never_lowers_the_score_and_a_dispute_never_raises_that_of_a_history() {
        for s in 0..40 {
            for f in 0..12 {
                for d in 0..12 {
                    assert!(s + f + d == 0 || score(s + 1, f, d) >= score(s, f, d));
                    assert!(
                        s == 0 || score(s, f, d + 1) <= score(s, f, d),
                        "{s} {f} {d}"
                    );
                }
            }
        }
    }

    #[test]
    fn what_counts_no_more_is_taken_back() {
        let once = TrustCounters::NONE.moved(TrustCounters::NONE, TrustCounters::CONTESTED);
        assert_eq!(once, TrustCounters::CONTESTED);
        assert!(once.has_history());
        assert_eq!(
            once.moved(TrustCounters::CONTESTED, TrustCounters::NONE),
            TrustCounters::NONE
        );
        let full = TrustCounters {
            s: u32::MAX,
            ..TrustCounters::NONE
        };
        assert_eq!(
            full.moved(TrustCounters::NONE, TrustCounters::SUCCESS),
            full
        );
    }

    /// STATES.md publishes the table for second implementations; `tests/verifiers/trust.py` computes
    /// every value of it anew.
    #[test]
    fn ax_37_the_table_is_the_published_one() {
        const STATES: &str = include_str!("../../eventlog/STATES.md");
        let (_, section) = STATES.split_once("\n### Table of L\n").unwrap();
        let block = section.split("```").nth(1).unwrap();
        let (_, numbers) = block.split_once('\n').unwrap();
        let published: Vec<u32> = numbers
            .split_whitespace()
            .map(|n| n.parse().unwrap())
            .collect();
        assert_eq!(published, LOG_MILLIONTHS);
    }
}
