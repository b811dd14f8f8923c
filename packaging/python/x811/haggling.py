"""A loop's part in negotiations: offers for its orders, answers to the other party's terms, and the REQUEST once
they are agreed on (docs/connect.md, section 6). In tasks and outbox a negotiation has the id of its offer."""

from dataclasses import dataclass
from datetime import datetime

from . import bargain
from .bargain import Limits
from .caps import fee_of, micro_usdc, usdc
from .keys import as_uuid, digest_of, now_ms, rfc3339
from .ledger import Refused

KIND = "x811.negotiation/"
#: What is said in negotiations, each once to the same terms.
ACTS = ("terms", "agree", "decline")
#: When a negotiation is looked at after its terms should have lapsed, in milliseconds.
AFTER_LAPSE_MS = 10_000


@dataclass
class Terms:
    """Terms that somebody proposed, as they signed them."""

    author: str
    step: str
    terms: dict


class Talk:
    """A negotiation as it stands, every message as its author signed it: `open`, `agreed`, `engaged`, `over`."""

    def __init__(self, ledger, negotiation: str):
        self.id, self.standing, self.turns, self._accepted = negotiation, "open", [], None
        for record in ledger.negotiation(negotiation):
            event = record["leaf"]["event"]
            if event["type"] == "envelope_accepted":
                self._take(_said(ledger, event["envelope"], record["position"]))
            elif event["type"] == "engaged":
                self.standing = "engaged"
            elif event["type"] == "lapsed" and event["window"] in ("contract", "engagement"):
                self.standing = "over"
        if not self.turns:
            raise ValueError(f"negotiation {negotiation} has no offer")

    def _take(self, envelope):
        verb, payload = envelope["type"].removeprefix(KIND), envelope["payload"]
        # Whoever serves an older one has real signatures, too.
        named = envelope["id"] if verb == "offer" else str(payload.get("negotiation_id")).removeprefix("neg-")
        if named != self.id:
            raise ValueError(f"message {envelope['id']} is of another negotiation")
        if verb == "offer":
            self.initiator, self.responder = envelope["from"], envelope["to"]
            self.max_turns = payload.get("max_rounds", bargain.MOST_TURNS)
        if verb in ("offer", "counter"):
            self.turns.append(Terms(envelope["from"], envelope["id"], payload["terms"]))
            if "expires_at" in payload:
                self.expires_at_ms = int(datetime.fromisoformat(payload["expires_at"]).timestamp() * 1_000)
        elif verb == "accept":
            self.standing, self._accepted = "agreed", (payload["step_id"], payload["terms_hash"])
        elif verb in ("reject", "withdraw"):
            self.standing = "over"

    @property
    def last(self) -> Terms:
        return self.turns[-1]

    def agreed(self) -> Terms | None:
        """The terms that both parties signed for."""
        return self.last if self._accepted == (self.last.step, bargain.hash_of(self.last.terms)) else None

    def other(self, me: str) -> str:
        return self.responder if self.initiator == me else self.initiator

    def prices(self, me: str) -> tuple[list[int], list[int]]:
        """Own prices and the other party's, oldest first."""
        priced = [(turn.author == me, bargain.price_of(turn.terms)) for turn in self.turns]
        priced = [(is_own, price) for is_own, price in priced if price is not None]
        return [price for is_own, price in priced if is_own], [price for is_own, price in priced if not is_own]


def _said(ledger, head, position):
    envelope = ledger.by_id(head["id"])["envelope"]
    if digest_of(envelope) != head["digest"] or not ledger.is_verified(envelope, position):
        raise ValueError(f"message {head['id']} is not the one of its record, or signed by no key of its sender")
    return envelope


def negotiation_of(envelope: dict) -> str | None:
    """The negotiation that a message is about. It is only looked at because of it."""
    kind, named = envelope["type"], str(envelope["payload"].get("negotiation_id"))
    if kind == f"{KIND}offer":
        return as_uuid(envelope["id"])
    is_one = kind.startswith(KIND) or kind == "x811/error"
    return as_uuid(named.removeprefix("neg-")) if is_one and named.startswith("neg-") else None


class Talks:
    """The negotiations of a loop: those for its orders that name an `opening`, and about its sales."""

    def __init__(self, loop, negotiation, orders=(), sales=()):
        self.loop, self.how = loop, negotiation
        self.orders = {order.key: order for order in orders if order.opening is not None}
        self.sales = {sale.task_type: sale for sale in sales}

    @property
    def open(self) -> dict:
        return self.loop.state.data["talks"]

    def take(self, negotiation: str, kind: str):
        # What an ERROR names is its sender's word alone: it may be an interaction.
        if kind.startswith(KIND):
            self.open.setdefault(negotiation, {"order": None, "answered": None})
        if negotiation in self.open:
            self.loop.state.touch(negotiation)

    def begin(self, order):
        """Offers the first terms for an order."""
        rest, limits = self._wanted_by(order)
        terms = bargain.with_price(rest, bargain.next_price([], [], limits, self.how.strategy))
        payload = {"terms": terms, "expires_at": rfc3339(now_ms() + 1_000 * self.how.life_s),
                   "max_rounds": self.how.max_turns}
        envelope = self.loop.ledger.keys.seal(order.provider, f"{KIND}offer", payload)
        self.open[envelope["id"]] = {"order": order.key, "answered": None}
        self.loop.state.data["requests"][order.key] = envelope["id"]
        self.loop.state.put(envelope["id"], "terms", envelope, now_ms())
        self.loop.state.save()

    def look(self, negotiation: str, task: dict):
        """The next move in a negotiation."""
        try:
            talk = Talk(self.loop.ledger, negotiation)
        except Refused as refused:
            if refused.status != 404:
                raise
            task["look_at_ms"] = now_ms() + AFTER_LAPSE_MS
            if not any(step["outcome"] in ("open", "delivered") for step in task["steps"].values()):
                self._leave(negotiation)
            return
        if talk.standing == "open":
            task["look_at_ms"] = max(talk.expires_at_ms, now_ms()) + AFTER_LAPSE_MS
            if talk.last.author != self.loop.me:
                self._answer(talk, task)
            return
        order = self.orders.get(self.open[negotiation]["order"])
        agreed = talk.agreed() if talk.standing == "agreed" else None
        if order and agreed:
            price = bargain.price_of(agreed.terms)
            self.loop.tell("agreed", negotiation, f"on {usdc(price + fee_of(price))} USDC")
        elif order:
            self.loop.tell("over", negotiation, f"no terms were agreed on for the order {order.key}")
        self._forget(negotiation)
        if order and agreed:
            # Saved with the REQUEST: no start finds neither of the two.
            self.loop.request(order, {"negotiation_id": f"neg-{negotiation}"})
        else:
            self.loop.state.save()

    def _answer(self, talk, task):
        note, steps = self.open[talk.id], task["steps"]
        if note["answered"] != talk.last.step:
            note["answered"] = talk.last.step
            for act in ACTS:
                steps.pop(act, None)
        if not all(self.loop.state.may_seal(talk.id, act) for act in ACTS):
            return
        wanted = self._wanted(talk, self.orders.get(note["order"]))
        if wanted is None:
            return self._leave(talk.id)
        rest, limits = wanted
        may_be_countered = len(talk.turns) < min(self.how.max_turns, talk.max_turns) and \
            steps.get("terms", {}).get("outcome") != "refused"
        are_alike = bargain.without_price(talk.last.terms) == rest and bargain.price_of(talk.last.terms) is not None
        said, *price = bargain.reply(*talk.prices(self.loop.me), limits, self.how.strategy, are_alike, may_be_countered)
        payload = {"negotiation_id": f"neg-{talk.id}", "step_id": talk.last.step}
        act, verb, more = {
            "accept": lambda: ("agree", "accept", {"terms_hash": bargain.hash_of(talk.last.terms)}),
            "counter": lambda: ("terms", "counter", {"terms": bargain.with_price(rest, *price)}),
            "reject": lambda: ("decline", "reject", {}),
        }[said]()
        self.loop.say(talk.id, act, talk.other(self.loop.me), payload | more, KIND + verb)

    def _wanted_by(self, order):
        rest = bargain.rest_of(self.loop.me, order.provider, order.task_type, order.deadline_s, order.deliverables)
        walk_away = bargain.price_within(micro_usdc(order.max_budget))
        return rest, Limits(True, micro_usdc(order.opening), walk_away, micro_usdc(self.how.per_turn))

    def _wanted(self, talk, order):
        """All but the amount as this agent would have it, and how far it goes; None where it is not its business."""
        me, terms = self.loop.me, talk.last.terms
        if order is not None:
            return self._wanted_by(order) if talk.other(me) == order.provider else None
        sale = self.sales.get(terms.get("task_type"))
        if terms["payee"] != me or sale is None:
            return None
        deliverables = sale.deliverables if "deliverables" in terms else []
        time_s = max(terms.get("deadline_s", 0), sale.time_s)
        rest = bargain.rest_of(terms["payer"], me, sale.task_type, time_s, deliverables)
        return rest, Limits(False, micro_usdc(sale.opening), micro_usdc(sale.lowest), micro_usdc(self.how.per_turn))

    def agreed_for(self, request: dict):
        """What a REQUEST under a negotiation is offered: price in micro-USDC, seconds and deliverables. None where
        this agent signed for no such terms."""
        negotiation = as_uuid(str(request["parameters"]["negotiation_id"]).removeprefix("neg-"))
        agreed = negotiation and Talk(self.loop.ledger, negotiation).agreed()
        price = agreed and bargain.price_of(agreed.terms)
        if price is None or agreed.terms["payee"] != self.loop.me:
            return None
        sale = self.sales.get(request["task_type"])
        time_s = min(sale.time_s if sale else request["deadline"], request["deadline"])
        return price, time_s, agreed.terms.get("deliverables") or (sale.deliverables if sale else ["the result"])

    def _leave(self, negotiation: str):
        self._forget(negotiation)
        self.loop.state.save()

    def _forget(self, negotiation: str):
        """Forgets a negotiation; the next start begins its order anew, unless a REQUEST was sealed."""
        self.open.pop(negotiation, None)
        self.loop.state.tasks.pop(negotiation, None)
        requests = self.loop.state.data["requests"]
        for key in [key for key, begun in requests.items() if begun == negotiation]:
            del requests[key]
