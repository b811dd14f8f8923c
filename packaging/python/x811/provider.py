"""A provider: it offers by a price of yours, works, delivers, and says when it is paid."""

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from .bargain import Negotiation
from .caps import budget_of, fee_of, micro_usdc, usdc
from .engine import PAYMENT_LOOK_MS, Loop
from .haggling import Talks
from .keys import now_ms
from .plain import plain

#: The work has to end so long before its deadline, in milliseconds, for the RESULT still to arrive.
WORK_MARGIN_MS = 10_000
#: The most characters of an error that are sent to the initiator.
MOST_REASON = 500


@dataclass(frozen=True)
class Quote:
    """What a task costs; amounts in USDC, without the fee."""

    price: str
    estimated_time_s: int
    deliverables: list[str]
    expiry_s: int = 300
    terms: str | None = None
    #: The account to be paid; the registered wallet without it.
    payment_address: str | None = None


@dataclass(frozen=True)
class Product:
    """What was made."""

    content: str
    content_type: str = "text/plain"
    more: dict = field(default_factory=dict)


class Provider(Loop):
    """`quote(request)` gives a Quote for the payload of a REQUEST, or None to let it lapse. `work(request)`
    gives a Product or a text; it runs in a thread, at least once for each task and again after a crash,
    and its RESULT is sent once. What it raises is told to the initiator in an ERROR.

    With `negotiation` it comes to terms about its `sales`, and offers what was agreed on without asking `quote`."""

    role = "provider"

    def __init__(self, ledger, folder, quote, work, most_at_once: int = 4, watch=None,
                 negotiation: Negotiation | None = None, sales=(), checkpoint_key: str | None = None):
        super().__init__(ledger, folder, watch, checkpoint_key)
        self.talks = Talks(self, negotiation, sales=sales) if negotiation else None
        self.quote, self.work, self.most_at_once = quote, work, most_at_once
        self._working = set()
        self._pool = ThreadPoolExecutor(max_workers=most_at_once)

    def move(self, interaction, task, view):
        can = lambda act: self.state.may_seal(interaction, act)
        state, request = view["state"], task["envelopes"].get("request")
        if state == "pending" and can("offer") and request:
            is_agreed = self.talks is not None and "negotiation_id" in request["payload"]["parameters"]
            if not is_agreed and self._taken_on(interaction) >= self.most_at_once:
                task["look_at_ms"] = now_ms() + PAYMENT_LOOK_MS
            else:
                self._offer(interaction, request, is_agreed)
        elif state == "accepted" and interaction not in self._working and can("result") and can("error"):
            left_ms = view["deadline_at_ms"] - now_ms()
            if left_ms <= WORK_MARGIN_MS:
                self._fail(interaction, view["initiator"], "the work cannot be done in the time left")
            elif "accept" in task["envelopes"]:
                # The view may be ahead of the feed; the ACCEPT comes with that.
                self._start(interaction, task, request)
        elif state == "verified":
            task["look_at_ms"] = now_ms() + PAYMENT_LOOK_MS

    def _taken_on(self, interaction) -> int:
        done = ("result", "error")
        steps = [task["steps"] for name, task in self.state.tasks.items() if name != interaction]
        return sum("offer" in step and not any(act in step for act in done) for step in steps)

    def _agreed(self, asked):
        """A quote of agreed terms: at once, however much there is to do."""
        agreed = self.talks.agreed_for(asked)
        return agreed and Quote(usdc(agreed[0]), *agreed[1:])

    def _offer(self, interaction, request, is_agreed):
        asked = request["payload"]
        quote = self._agreed(asked) if is_agreed else self.quote(asked)
        if quote is None:
            return self.tell("no offer", interaction, str(asked.get("task_type")))
        price = micro_usdc(quote.price)
        total = price + fee_of(price)
        if total > budget_of(asked["max_budget"]) or quote.estimated_time_s > asked["deadline"]:
            return self.tell("no offer", interaction, "over its budget or its deadline")
        payload = {
            "request_id": interaction, "price": usdc(price), "protocol_fee": usdc(fee_of(price)),
            "total_cost": usdc(total), "currency": "USDC", "estimated_time": quote.estimated_time_s,
            "deliverables": quote.deliverables, "expiry": quote.expiry_s,
        }
        more = {"terms": quote.terms, "payment_address": quote.payment_address}
        payload |= {name: value for name, value in more.items() if value is not None}
        self.say(interaction, "offer", request["from"], payload)

    def _start(self, interaction, task, request):
        task.setdefault("work_started_ms", now_ms())
        self.state.save()
        self._working.add(interaction)
        self.tell("working", interaction, str(request["payload"].get("task_type")))

        def work():
            try:
                made = self.work(request["payload"])
                made = made if isinstance(made, Product) else Product(made)
                self._news.put(("worked", interaction, made, None))
            except Exception as fault:  # whatever a callback raises is its failure, and is told
                self._news.put(("worked", interaction, None, repr(fault)))

        self._pool.submit(work)

    def told(self, kind, interaction, product, fault):
        self._working.discard(interaction)
        if interaction not in self.state.tasks:
            return
        task = self.state.task(interaction)
        accept, request = task["envelopes"].get("accept"), task["envelopes"]["request"]
        if not (self.state.may_seal(interaction, "result") and self.state.may_seal(interaction, "error")):
            return
        if fault is not None or accept is None:
            return self._fail(interaction, request["from"], fault or "there is no ACCEPT")
        try:
            payload = plain(product.more | {
                "request_id": interaction, "offer_id": accept["payload"]["offer_id"],
                "content_type": product.content_type, "content": product.content,
                "execution_time_ms": max(0, now_ms() - task["work_started_ms"]),
            })
            payload["result_hash"] = hashlib.sha256(payload["content"].encode()).hexdigest()
        except (AttributeError, TypeError, ValueError) as unusable:
            return self._fail(interaction, request["from"], repr(unusable))
        self.say(interaction, "result", request["from"], payload)

    def undelivered(self, entry):
        if entry["act"] == "result":
            # Too large, for instance: the initiator need not wait for it.
            self._fail(entry["interaction"], json.loads(entry["envelope"])["to"], "the ledger did not take the RESULT")

    def _fail(self, interaction, initiator, reason):
        self.alarm(interaction, f"the work failed, and the initiator is told: {reason}")
        payload = {"code": "X811-4022", "message": reason[:MOST_REASON], "related_message_id": interaction}
        self.say(interaction, "error", initiator, payload)
