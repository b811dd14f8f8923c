"""x811 for Python: the command `x811` of this wheel, and loops that provide and buy unattended.

`Provider` and `Initiator` follow docs/connect.md of the ledger. What must not happen twice is in
their state file before it happens, so a loop that was killed is started again with the same words.
"""

from .bargain import Negotiation, Sale
from .binary import BinaryFault, binary_path, binary_payer, run_binary
from .caps import Caps, micro_usdc, usdc
from .engine import Replaced
from .initiator import Initiator, Order
from .keys import Keys, canonical, verify
from .ledger import Ledger, Refused, Unreachable
from .paying import Due, Paid, PayLater
from .provider import Product, Provider, Quote
from .state import StateFault

__all__ = [
    "BinaryFault", "Caps", "Due", "Initiator", "Keys", "Ledger", "Negotiation", "Order", "Paid",
    "PayLater", "Product", "Provider", "Quote", "Refused", "Replaced", "Sale", "StateFault", "Unreachable",
    "binary_path", "binary_payer", "canonical", "micro_usdc", "run_binary", "usdc", "verify",
]
