"""Where messages come from: the stream of a ledger, and its inbox polled while streams fail."""

import time

from .ledger import Refused, Unreachable

#: Delays after failures that follow each other, in seconds.
RECONNECT_S = (1, 2, 4, 8, 16, 30)
#: So many streams in a row have to fail before the inbox is polled.
FAILED_STREAMS = 5
#: For how long it is polled before a stream is tried again, in seconds.
POLL_FOR_S = 60
#: How long a poll waits for a first message, in milliseconds: at first, and when nothing came for long.
POLL_WAIT_MS = (2_000, 10_000)


def reconnect_s(failures: int) -> int:
    """The delay after so many failures in a row, from 1, in seconds."""
    return RECONNECT_S[min(failures, len(RECONNECT_S)) - 1]


def _pages(ledger, instance, after, poll_until):
    """Pages of a stream, or of polls until that moment."""
    if time.monotonic() >= poll_until:
        yield from ledger.stream(after(), instance)
        return
    idle = 0
    while time.monotonic() < poll_until:
        first_ms, most_ms = POLL_WAIT_MS
        page = ledger.inbox(after(), min(most_ms, first_ms << min(idle, 8)), instance)
        idle = 0 if page["messages"] else idle + 1
        yield page


def follow(ledger, instance: str, after: str | None, put, is_over):
    """Puts `("back",)`, `("page", messages, next)`, `("lost", why)`, `("replaced",)` for ever, or until
    `is_over()`. Each message has `is_verified`."""
    failures = streams_failed = 0
    poll_until = 0.0
    while not is_over():
        is_polling = time.monotonic() < poll_until
        try:
            is_back = False
            for page in _pages(ledger, instance, lambda: after, poll_until):
                if is_over():
                    return
                for message in page["messages"]:
                    message["is_verified"] = ledger.is_verified(message["envelope"], message["position"])
                failures = 0
                if not is_polling:
                    streams_failed = 0
                if not is_back:
                    put(("back",))
                    is_back = True
                if page["next"] is not None and page["next"] != after:
                    after = page["next"]
                    put(("page", page["messages"], after))
            continue
        except (Unreachable, Refused, ValueError, KeyError, TypeError) as lost:
            if isinstance(lost, Refused) and lost.status == 409 and lost.code != "X811-2001":
                put(("replaced",))
                return
            failures += 1
            has_none = isinstance(lost, Refused) and lost.code == "X811-9001"
            streams_failed += not is_polling
            put(("lost", str(lost)))
            if streams_failed >= FAILED_STREAMS or has_none:
                poll_until = time.monotonic() + POLL_FOR_S
                streams_failed = 0
            if not has_none:
                time.sleep(reconnect_s(failures))
