"""What a `pay` callback of an Initiator gets and gives."""

from dataclasses import dataclass


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
    #: It may have been called before for this interaction, and broken off: pay only if it did not.
    may_have_been_paid: bool


@dataclass(frozen=True)
class Paid:
    """A transfer that was made; the loop declares it."""

    tx_hash: str
    payer: str
    #: Of an account that is not a bound wallet: the EIP-3009 nonce.
    authorization_nonce: str | None = None
