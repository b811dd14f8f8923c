"""How a loop negotiates: limits, strategies, and what to say to the other party's terms. Decides, and does nothing.

Amounts are prices in micro-USDC, without the fee. Whatever a strategy wishes, the limits hold: nothing
beyond the walk-away price, no larger step than `per_turn`, no more turns than `max_turns`.
"""

import hashlib
from dataclasses import dataclass, field

from .caps import fee_of, micro_usdc, usdc
from .keys import canonical

#: The most turns where neither the offer nor this agent says fewer.
MOST_TURNS = 20


@dataclass(frozen=True)
class Negotiation:
    """How a loop negotiates: by how much it yields at most in one turn (a price in USDC), in how many turns,
    the offer counted, and how long its own offers stand.

    `strategy` is `fixed_concession`, `per_turn` in every turn; or `tit_for_tat`, `per_turn` once and then as
    much as the other side came; or a function of both sides' prices, oldest first, own before theirs."""

    per_turn: str
    strategy: object = "fixed_concession"
    max_turns: int = MOST_TURNS
    life_s: int = 600

    def __post_init__(self):
        micro_usdc(self.per_turn)
        if self.strategy not in ("fixed_concession", "tit_for_tat") and not callable(self.strategy):
            raise ValueError(f"a strategy is fixed_concession, tit_for_tat or a function: {self.strategy!r}")


@dataclass(frozen=True)
class Sale:
    """Work that is sold by negotiation; prices in USDC, without the fee. Terms with less time are countered."""

    task_type: str
    #: The first price asked, and the lowest that is taken.
    opening: str
    lowest: str
    time_s: int
    deliverables: list[str] = field(default_factory=lambda: ["the result"])

    def __post_init__(self):
        micro_usdc(self.opening)
        micro_usdc(self.lowest)


@dataclass(frozen=True)
class Limits:
    """What one side holds to in one negotiation."""

    is_payer: bool
    opening: int
    walk_away: int
    per_turn: int

    def is_as_good(self, price: int, other: int) -> bool:
        return price <= other if self.is_payer else price >= other

    def conceded(self, price: int, by: int) -> int:
        return min(price + by, self.walk_away) if self.is_payer else max(price - by, self.walk_away)


def _wished(strategy, own, theirs, limits) -> int:
    if strategy == "fixed_concession":
        return limits.per_turn
    if strategy != "tit_for_tat":
        return max(0, strategy(own, theirs))
    if len(theirs) < 2:
        return limits.per_turn
    before, last = theirs[-2:]
    return max(0, before - last if limits.is_payer else last - before)


def next_price(own: list[int], theirs: list[int], limits: Limits, strategy) -> int:
    """The price that this side would name next."""
    if not own:
        return limits.conceded(limits.opening, 0)
    return limits.conceded(own[-1], min(_wished(strategy, own, theirs, limits), limits.per_turn))


def reply(own, theirs, limits: Limits, strategy, are_alike: bool, may_be_countered: bool):
    """`("accept",)`, `("counter", price)` or `("reject",)`. `are_alike`: all but the price is as this side would
    have it, else it is never accepted. It always ends: turns are counted, and where neither moved it counters no
    more."""
    following = next_price(own, theirs, limits, strategy)
    is_as_good = lambda than: are_alike and bool(theirs) and limits.is_as_good(theirs[-1], than)
    neither_moved = own[-1:] == [following] and len(theirs) > 1 and theirs[-2] == theirs[-1]
    if is_as_good(following):
        return ("accept",)
    if may_be_countered and not neither_moved:
        return ("counter", following)
    return ("accept",) if is_as_good(limits.walk_away) else ("reject",)


def price_within(total: int) -> int:
    """The highest price whose total, fee included, is at most `total`."""
    near = total * 40 // 41
    prices = (price for price in range(near + 2, max(near - 3, -1), -1) if price + fee_of(price) <= total)
    return next(prices, 0)


# Terms.


def price_of(terms: dict) -> int | None:
    """The price of terms in USDC; None where they have none."""
    amount = terms.get("amount", {})
    if amount.get("currency") != "USDC":
        return None
    value = micro_usdc(amount["value"])
    return value if terms.get("amount_of") == "price" else price_within(value)


def without_price(terms: dict) -> dict:
    return {name: value for name, value in terms.items() if name not in ("amount", "amount_of")}


def with_price(rest: dict, price: int) -> dict:
    return rest | {"amount": {"value": usdc(price), "currency": "USDC"}, "amount_of": "price"}


def rest_of(payer: str, payee: str, task_type: str, deadline_s: int, deliverables: list[str]) -> dict:
    """Terms but for their amount: everything that is agreed on as it is, or not at all."""
    rest = {"payer": payer, "payee": payee, "task_type": task_type, "deadline_s": deadline_s}
    return rest | ({"deliverables": list(deliverables)} if deliverables else {})


def hash_of(terms: dict) -> str:
    return hashlib.sha256(canonical(terms)).hexdigest()
