"""What a `pay` callback of an Initiator gets and gives, and when it is called."""

from dataclasses import dataclass, field

from .state import MOST_SEALED

#: Time between two calls for a payment that is declared, in milliseconds.
PAY_MORE_MS = 15_000


class PayLater(Exception):
    """Nothing is lost, and it may work in a moment: the callback is called again."""


@dataclass(frozen=True)
class Due:
    """What is to be paid. It was accepted within the caps, and its RESULT found good."""

    interaction: str
    offer_id: str
    #: SHA-256 of the OFFER's payload, in hex: part of the EIP-3009 nonce.
    offer_hash: str
    provider: str
    #: The account of the signed OFFER, or the one registered.
    payee: str
    total_micro_usdc: int
    network: str
    #: The ledger's DID.
    ledger: str
    #: It may have been called before for this interaction: pay only if it did not, or its transfer reverted.
    may_have_been_paid: bool
    #: Transactions of PAYMENTs that the ledger does not count, with its cause: `{"0x…": "reverted"}`.
    refuted: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Paid:
    """A transfer that was made; the loop declares it, unless a PAYMENT names it already."""

    tx_hash: str
    payer: str
    #: Of an account that is not a bound wallet: the EIP-3009 nonce.
    authorization_nonce: str | None = None


def refuted(transactions: list[dict]) -> dict[str, str]:
    """Returns the transactions that the ledger does not count as payment, each with its cause."""
    standings = [(one["tx_hash"], one["standing"]) for one in transactions]
    return {tx_hash: standing["cause"] for tx_hash, standing in standings if standing["kind"] == "refuted"}


def is_pay_due(transactions: list[dict], step: dict | None, not_before_ms: int, at_ms: int) -> bool:
    """Returns True if `pay` is called, where PAYMENTs name these transactions.

    `step` is the loop's own PAYMENT in the state file. Without one, `pay` declares its PAYMENTs itself: it is called
    while the ledger sees no transaction that pays. A transaction that the loop declared for it has to be refuted: until
    then it may still pay, and only its callback could know that it does not."""
    if transactions and at_ms < not_before_ms:
        return False
    kinds = {one["standing"]["kind"] for one in transactions}
    if step is None or step["outcome"] in ("refused", "dead"):
        return kinds <= {"unseen", "refuted"} and (step is None or step["sealed"] < MOST_SEALED)
    return step["outcome"] == "delivered" and kinds == {"refuted"} and step["sealed"] < MOST_SEALED
