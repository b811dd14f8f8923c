"""What an answer means for a sealed envelope. Decides, and does nothing."""

#: Behind `created` plus this, by the ledger's time, an envelope that is not accepted never will be.
DEAD_AFTER_MS = 330_000
#: Between one try and the next, in milliseconds, as they follow each other.
DELAYS_MS = (500, 1_000, 2_000, 4_000, 8_000)
#: Codes that leave the nonce unspent: the same bytes again.
AGAIN = ("X811-9001", "X811-9002", "X811-3003")
#: Codes about this sending alone: an earlier one may have been accepted.
OF_THIS_SENDING = ("X811-2001", "X811-2002")


def fate_of_refusal(refused) -> tuple[str, str]:
    """`again`, `ask` or `refused`, and why."""
    first = refused.details.get("first") or {}
    if refused.code == "X811-2001" and "code" in first:
        return "refused", f"{first['code']} this envelope was refused before"
    if refused.code in AGAIN or refused.status >= 500:
        return "again", str(refused)
    if refused.code in OF_THIS_SENDING:
        return "ask", str(refused)
    return "refused", str(refused)


def asks_first(entry: dict, at_ms: int) -> bool:
    """Whether the ledger is asked for the id before the bytes are sent again: they may be too old."""
    return entry["is_doubtful"] or at_ms > entry["created_ms"] + DEAD_AFTER_MS


def fate_of_absence(entry: dict, refused) -> str:
    """`dead` only beyond DEAD_AFTER_MS by the ledger's own time, else `ask`."""
    as_of = refused.details.get("as_of") or {}
    is_over = as_of.get("at_ms", 0) > entry["created_ms"] + DEAD_AFTER_MS
    return "dead" if refused.status == 404 and is_over else "ask"


def postpone(entry: dict, at_ms: int):
    """Sets the moment of the next try."""
    entry["not_before_ms"] = at_ms + DELAYS_MS[min(entry["tries"], len(DELAYS_MS) - 1)]
    entry["tries"] += 1
