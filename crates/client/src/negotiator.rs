//! How much an agent asks or bids in a negotiation, and when it agrees: pure functions of the amounts
//! that were said, limits and a strategy (contract.md, "HTTP besides").
//!
//! Amounts are prices: what the payee gets, without the fee. Of every price there is a total, but not
//! of every total a price. Whatever a strategy wishes, the limits hold: nothing beyond the walk-away
//! amount, no larger step than the limit of a turn, no more turns than the limit.

use x811_protocol::facts::AmountOf;
use x811_protocol::money::MicroUsdc;

/// Which side of the price an agent is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// It pays: less is better.
    Payer,
    /// It is paid: more is better.
    Payee,
}

impl Side {
    /// Whether `price` is at least as good for this side as `other`.
    pub fn is_as_good(self, price: MicroUsdc, other: MicroUsdc) -> bool {
        match self {
            Side::Payer => price <= other,
            Side::Payee => price >= other,
        }
    }

    /// `price` conceded by an amount, no further than `end`.
    fn conceded(self, price: MicroUsdc, by: MicroUsdc, end: MicroUsdc) -> MicroUsdc {
        match self {
            Side::Payer => price.checked_add(by).map_or(end, |next| next.min(end)),
            Side::Payee => price.checked_sub(by).map_or(end, |next| next.max(end)),
        }
    }

    /// How far the other side came towards this one from one price to the next; zero if it did not.
    fn gained(self, before: MicroUsdc, after: MicroUsdc) -> MicroUsdc {
        let gained = match self {
            Side::Payer => before.checked_sub(after),
            Side::Payee => after.checked_sub(before),
        };
        gained.unwrap_or(MicroUsdc::ZERO)
    }
}

/// What an agent holds to, whatever its strategy wishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// On which side it is.
    pub side: Side,
    /// The first price it names.
    pub opening: MicroUsdc,
    /// The last price it would take; nothing beyond it is ever said or accepted.
    pub walk_away: MicroUsdc,
    /// The most it concedes in one turn.
    pub per_turn: MicroUsdc,
}

/// The prices that were said, each side's oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Said<'a> {
    /// The prices that this agent named.
    pub own: &'a [MicroUsdc],
    /// The prices that the other party named.
    pub theirs: &'a [MicroUsdc],
}

/// How much to concede. It wishes; [`Limits`] decide.
pub trait Strategy: Send + Sync {
    /// By how much to come towards the other side from one's own last price.
    fn concession(&self, said: Said<'_>, limits: &Limits) -> MicroUsdc;
}

/// The same step in every turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FixedConcession {
    /// By how much it comes towards the other side in a turn.
    pub step: MicroUsdc,
}

impl Strategy for FixedConcession {
    fn concession(&self, _: Said<'_>, _: &Limits) -> MicroUsdc {
        self.step
    }
}

/// As much as the other side came in its last turn; before it could come at all, one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TitForTat {
    /// The first step, which is a gift.
    pub first: MicroUsdc,
}

impl Strategy for TitForTat {
    fn concession(&self, said: Said<'_>, limits: &Limits) -> MicroUsdc {
        match said.theirs {
            [.., before, last] => limits.side.gained(*before, *last),
            [] | [_] => self.first,
        }
    }
}

/// What to say to the other party's terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// Agree to the other party's last terms.
    Accept,
    /// Name this price.
    Counter(MicroUsdc),
    /// Agree to nothing, which ends the negotiation.
    Reject,
}

/// What of the other party's last terms decides besides the price.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastTerms {
    /// Whether everything but the price is as this agent would have it: else they are never accepted.
    pub are_alike: bool,
    /// Whether there is a turn left for a counter.
    pub may_be_countered: bool,
}

/// The price that this agent would name next.
pub fn next_price(said: Said<'_>, limits: &Limits, strategy: &dyn Strategy) -> MicroUsdc {
    let Limits {
        side,
        opening,
        walk_away,
        per_turn,
    } = *limits;
    match said.own.last() {
        None => side.conceded(opening, MicroUsdc::ZERO, walk_away),
        Some(last) => {
            let wished = strategy.concession(said, limits);
            side.conceded(*last, wished.min(per_turn), walk_away)
        }
    }
}

/// What to say to the other party's last terms, whose price is the last of `said.theirs`, if they have
/// one in USDC. It always ends: turns are counted, and where neither side moved it counters no more.
pub fn reply(said: Said<'_>, limits: &Limits, strategy: &dyn Strategy, last: LastTerms) -> Reply {
    let next = next_price(said, limits, strategy);
    let side = limits.side;
    let is_as_good = |than| {
        let price = said.theirs.last().filter(|_| last.are_alike);
        price.is_some_and(|price| side.is_as_good(*price, than))
    };
    let neither_moved = said.own.last() == Some(&next)
        && matches!(said.theirs, [.., before, last] if before == last);
    if is_as_good(next) {
        Reply::Accept
    } else if last.may_be_countered && !neither_moved {
        Reply::Counter(next)
    } else if is_as_good(limits.walk_away) {
        Reply::Accept
    } else {
        Reply::Reject
    }
}

/// The price of an amount; the ledger takes no total that has none.
pub fn price_of(amount: MicroUsdc, of: AmountOf) -> MicroUsdc {
    match of {
        AmountOf::Price => amount,
        AmountOf::Total => amount.price_within(),
    }
}

#[cfg(test)]
mod tests;
