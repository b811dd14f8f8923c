//! How much use of a capability an agent asks for or grants, and when it agrees: pure functions of the
//! terms that were said, limits and a strategy (capability.md, "agreement").
//!
//! Whatever a strategy wishes, the limits hold: nothing beyond the last terms that an agent takes is ever
//! said or accepted, and no counter is said where none is left.

use serde_json::{Map, Value};
use x811_protocol::facts::SessionTerms;

/// Numbers that terms have.
const NUMBERS: [&str; 4] = [
    "duration_s",
    "max_requests",
    "requests_per_minute",
    "max_request_bytes",
];

/// How much may be used; absent limits are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// For how long, in seconds.
    pub duration_s: u64,
    /// The most REQUESTs in all.
    pub max_requests: Option<u64>,
    /// The most REQUESTs in a minute.
    pub requests_per_minute: Option<u64>,
    /// The most bytes of one REQUEST.
    pub max_request_bytes: Option<u64>,
}

/// On which side of an agreement an agent is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// It uses: more is better.
    Consumer,
    /// It provides: less is better.
    Provider,
}

impl Side {
    const fn is_as_good(self, number: u64, other: u64) -> bool {
        match self {
            Side::Consumer => number >= other,
            Side::Provider => number <= other,
        }
    }
}

/// What an agent holds to, whatever its strategy wishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// On which side it is.
    pub side: Side,
    /// The first terms that it names.
    pub first: Usage,
    /// The last terms that it takes, in each number.
    pub last: Usage,
}

/// How far to go towards the other side, in one number. It wishes; [`Room`] decides.
pub trait UsageStrategy: Send + Sync {
    /// The next number, from one's own last one and the other side's.
    fn next(&self, own: u64, theirs: u64) -> u64;
}

/// Half of what lies between, and the rest of the way when that is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Halfway;

impl UsageStrategy for Halfway {
    fn next(&self, own: u64, theirs: u64) -> u64 {
        // Of no limit there is no half.
        if [own, theirs].contains(&u64::MAX) {
            theirs
        } else if own < theirs {
            own + (theirs - own).div_ceil(2)
        } else {
            theirs + (own - theirs) / 2
        }
    }
}

/// All the way: what the other side asks for, as far as that is taken at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Straight;

impl UsageStrategy for Straight {
    fn next(&self, _: u64, theirs: u64) -> u64 {
        theirs
    }
}

/// What to say to the other party's terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageReply {
    /// Agree to the other party's last terms.
    Accept,
    /// Name these numbers.
    Counter(Usage),
    /// Agree to nothing, which ends the session.
    Reject,
}

/// Terms that were said, each side's oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SaidUsage<'a> {
    /// The terms that this agent named.
    pub own: &'a [Usage],
    /// The terms that the other party named.
    pub theirs: &'a [Usage],
}

/// What of the other party's last terms decides besides the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastUsage {
    /// Whether everything else is as this agent would have it: else they are never accepted.
    pub are_alike: bool,
    /// Whether a counter is left.
    pub may_be_countered: bool,
}

impl Usage {
    /// In the order of [`NUMBERS`]; no limit is the largest number.
    fn numbers(self) -> [u64; 4] {
        let limit = |limit: Option<u64>| limit.unwrap_or(u64::MAX);
        [
            self.duration_s,
            limit(self.max_requests),
            limit(self.requests_per_minute),
            limit(self.max_request_bytes),
        ]
    }

    fn of_numbers(numbers: [u64; 4]) -> Usage {
        let limit = |number: u64| (number != u64::MAX).then_some(number);
        let [duration_s, requests, per_minute, bytes] = numbers;
        Usage {
            duration_s,
            max_requests: limit(requests),
            requests_per_minute: limit(per_minute),
            max_request_bytes: limit(bytes),
        }
    }

    /// What terms say.
    pub const fn of(terms: &SessionTerms) -> Usage {
        Usage {
            duration_s: terms.duration_s,
            max_requests: terms.max_requests,
            requests_per_minute: terms.requests_per_minute,
            max_request_bytes: terms.max_request_bytes,
        }
    }

    /// The smaller of each number.
    #[must_use]
    pub fn at_most(self, other: Usage) -> Usage {
        Usage::of_numbers(zipped(self.numbers(), other.numbers(), u64::min))
    }

    /// As terms, with what they say besides.
    pub fn with_rest(self, rest: &Map<String, Value>) -> Map<String, Value> {
        let mut terms = rest.clone();
        for (name, number) in NUMBERS.iter().zip(self.numbers()) {
            if number != u64::MAX {
                terms.insert((*name).to_owned(), number.into());
            }
        }
        terms
    }
}

/// What terms say besides their numbers.
pub fn rest_of(terms: &Map<String, Value>) -> Map<String, Value> {
    let mut rest = terms.clone();
    rest.retain(|name, _| !NUMBERS.contains(&name.as_str()));
    rest
}

fn zipped(one: [u64; 4], other: [u64; 4], with: impl Fn(u64, u64) -> u64) -> [u64; 4] {
    std::array::from_fn(|place| with(one[place], other[place]))
}

impl Room {
    fn takes(&self, usage: Usage, than: Usage) -> bool {
        let numbers = usage.numbers().into_iter().zip(than.numbers());
        let mut numbers = numbers.map(|(number, least)| self.side.is_as_good(number, least));
        numbers.all(|is_as_good| is_as_good)
    }

    /// The terms that this agent names next, the other party's being `theirs`.
    pub fn next(&self, own: Option<Usage>, theirs: Usage, strategy: &dyn UsageStrategy) -> Usage {
        let theirs = theirs.numbers();
        let wished = match own {
            None => self.first.numbers(),
            Some(own) => zipped(own.numbers(), theirs, |own, theirs| {
                strategy.next(own, theirs)
            }),
        };
        // No further than the last terms, and never more than was asked for.
        let taken = |wished: u64, end: u64| match self.side {
            Side::Consumer => wished.max(end),
            Side::Provider => wished.min(end),
        };
        let next = zipped(wished, self.last.numbers(), taken);
        let better = |next: u64, theirs: u64| match self.side.is_as_good(theirs, next) {
            true => theirs,
            false => next,
        };
        Usage::of_numbers(zipped(next, theirs, better))
    }
}

/// What to say to the other party's last terms. It always ends: counters are counted, and where neither
/// side moved it counters no more.
pub fn usage_reply(
    said: SaidUsage<'_>,
    room: &Room,
    strategy: &dyn UsageStrategy,
    last: LastUsage,
) -> UsageReply {
    let Some(theirs) = said.theirs.last().copied() else {
        return UsageReply::Reject;
    };
    let own = said.own.last().copied();
    let next = room.next(own, theirs, strategy);
    let neither_moved =
        own == Some(next) && matches!(said.theirs, [.., before, last] if before == last);
    if last.are_alike && room.takes(theirs, next) {
        UsageReply::Accept
    } else if last.may_be_countered && !neither_moved {
        UsageReply::Counter(next)
    } else if last.are_alike && room.takes(theirs, room.last) {
        UsageReply::Accept
    } else {
        UsageReply::Reject
    }
}

#[cfg(test)]
mod tests;
