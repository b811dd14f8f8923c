"""Amounts, and what an initiator may commit itself to, whatever it is offered."""

import re
from dataclasses import dataclass

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


def usdc(amount_micro_usdc: int) -> str:
    """The decimal string of an amount, without needless zeros."""
    whole, decimals = divmod(amount_micro_usdc, 1_000_000)
    return f"{whole}.{decimals:06}".rstrip("0").rstrip(".")


def fee_of(price_micro_usdc: int) -> int:
    """The protocol fee of a price, rounded half up to micro-USDC."""
    return (price_micro_usdc * FEE_PER_THOUSAND + 500) // 1_000


@dataclass(frozen=True)
class Caps:
    """The most that an initiator commits itself to, fees included, in USDC."""

    per_interaction: str
    per_day: str

    def __post_init__(self):
        micro_usdc(self.per_interaction), micro_usdc(self.per_day)

    def broken_by(self, interaction: str, total_micro_usdc: int, journal: list[dict], at_ms: int):
        """The cap that an ACCEPT of this total would break, in words; None where it breaks none."""
        if total_micro_usdc > micro_usdc(self.per_interaction):
            return "the cap for one interaction"
        others = (made for made in journal if made["interaction"] != interaction)
        recent = sum(made["total_micro_usdc"] for made in others if at_ms - made["at_ms"] < DAY_MS)
        if recent + total_micro_usdc > micro_usdc(self.per_day):
            return "the cap for 24 hours"
        return None
