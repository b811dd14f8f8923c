"""Amounts, and what an initiator may commit itself to, whatever it is offered."""

import re
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

#: For how long a commitment counts, in milliseconds.
DAY_MS = 86_400_000
#: The protocol fee is 2.5 % of the price.
FEE_PER_THOUSAND = 25


def micro_usdc(text) -> int:
    """Micro-USDC of a decimal string of USDC with at most six decimals; ValueError for anything else."""
    if not isinstance(text, str) or not re.fullmatch(r"(0|[1-9][0-9]{0,12})(\.[0-9]{1,6})?", text):
        raise ValueError(f"not an amount of USDC: {text!r}")
    whole, _, decimals = text.partition(".")
    return int(whole) * 1_000_000 + int(decimals.ljust(6, "0"))


def budget_of(number) -> int:
    """The micro-USDC of a `max_budget`, which is a JSON number: of the decimal that it spells, as the ledger reads it."""
    return int((Decimal(repr(number)) * 1_000_000).to_integral_value(ROUND_HALF_UP))


def usdc(amount_micro_usdc: int) -> str:
    """The decimal string of an amount, without needless zeros."""
    whole, decimals = divmod(amount_micro_usdc, 1_000_000)
    return f"{whole}.{decimals:06}".rstrip("0").rstrip(".")


def fee_of(price_micro_usdc: int) -> int:
    """The protocol fee of a price, rounded half up to micro-USDC."""
    return (price_micro_usdc * FEE_PER_THOUSAND + 500) // 1_000


@dataclass(frozen=True)
class Caps:
    """The most that an initiator commits itself to, fees included, in USDC: in one interaction, and in any
    24 hours in all, with one provider, on one network."""

    per_interaction: str
    per_day: str
    per_provider: str | None = None
    per_network: str | None = None

    def __post_init__(self):
        for cap in (self.per_interaction, self.per_day, self.per_provider, self.per_network):
            if cap is not None:
                micro_usdc(cap)

    def broken_by(self, due: dict, journal: list[dict]):
        """The cap that this commitment would break, in words; None where it breaks none. A commitment is
        what `State.commit` keeps; one that names no provider or network counts for each."""
        if due["total_micro_usdc"] > micro_usdc(self.per_interaction):
            return "the cap for one interaction"
        recent = [made for made in journal
                  if made["interaction"] != due["interaction"] and due["at_ms"] - made["at_ms"] < DAY_MS]
        for cap, member, words in ((self.per_day, None, "the cap for 24 hours"),
                                   (self.per_provider, "provider", "the cap for this provider in 24 hours"),
                                   (self.per_network, "network", "the cap for this network in 24 hours")):
            counted = [made["total_micro_usdc"] for made in recent if made.get(member) in (None, due.get(member))]
            if cap is not None and sum(counted) + due["total_micro_usdc"] > micro_usdc(cap):
                return words
        return None
