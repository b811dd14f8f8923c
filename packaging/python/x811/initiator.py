"""An initiator: it sends orders, accepts offers within caps, judges results and has them paid."""

import hashlib
import uuid
from dataclasses import dataclass, field

from . import approvals
from .bargain import Negotiation, hash_of
from .caps import Caps, budget_of, fee_of, micro_usdc, usdc
from .engine import PAYMENT_LOOK_MS, Loop
from .haggling import Talks
from .keys import now_ms
from .paying import PAY_MORE_MS, Due, Paid, PayLater, is_pay_due, refuted
from .plain import plain

#: No transfer begins with less than this left to declare it in, in milliseconds.
LEAST_WINDOW_MS = 20_000
#: When a decision that was put off is asked for again, in milliseconds.
ASK_AGAIN_MS = 1_000
#: When a payment that may work later is tried again, in milliseconds.
PAY_AGAIN_MS = 2_000
#: What makes the idempotency key of an order.
ORDERS = uuid.UUID("8b1d9e4e-3a53-5f0e-9d70-0b8f7f6ce811")


@dataclass(frozen=True)
class Order:
    """A REQUEST that is sent once, whatever happens: `key` names it for ever in this agent's folder.

    Its policy is `auto`, `human_approval`, or `threshold`: a person is asked above that amount, in USDC and with
    the fee. With `opening`, a price in USDC, terms are negotiated first, and `deliverables` are agreed on."""

    key: str
    provider: str
    task_type: str
    #: USDC, fee included.
    max_budget: str
    deadline_s: int
    parameters: dict = field(default_factory=dict)
    policy: str = "auto"
    threshold: str | None = None
    opening: str | None = None
    deliverables: list[str] = field(default_factory=list)

    def __post_init__(self):
        if self.policy not in ("auto", "human_approval", "threshold"):
            raise ValueError(f"a policy is auto, human_approval or threshold: {self.policy!r}")
        for amount in (self.max_budget, self.threshold, self.opening):
            if amount is not None:
                micro_usdc(amount)
        plain(vars(self))


def good_if_inline(request: dict, result: dict):
    """Every RESULT with its content inline is good: its hash was checked."""
    return True if "content" in result else None


class Initiator(Loop):
    """`decide(request, offer)` says True to accept an OFFER (payloads), a text to reject it for that
    reason, None to be asked again in a second. `judge(request, result)` says True, a text to dispute,
    None to be asked again. `pay(Due)` pays and gives Paid, or None where it declared the PAYMENT itself,
    as `binary_payer` does; it raises PayLater to be called again. One that declares the PAYMENT itself is also called
    again while the ledger sees no transaction that pays: fees may have to be raised, or another account may have
    sent the authorization. One that gives Paid is called again where the ledger refutes what it gave: `due.refuted`
    says why. The transaction that it had given then changes nothing; another one is declared.

    An OFFER of a provider whose score of trust is below `least_trust` hundredths is rejected, without
    asking `decide`. Where the policy of an order asks a person, their answer stands in place of `decide`; it
    does not lift the caps. It does not start without caps: nothing else bounds what an offer may cost."""

    role = "initiator"

    def __init__(self, ledger, folder, caps: Caps, pay, decide, judge=good_if_inline, orders=(),
                 network: str | None = None, least_trust: int = 0, watch=None,
                 negotiation: Negotiation | None = None, checkpoint_key: str | None = None):
        if not isinstance(caps, Caps):
            raise ValueError("an initiator does not start without caps: Caps(per_interaction, per_day)")
        orders = list(orders)
        if negotiation is None and any(order.opening is not None for order in orders):
            raise ValueError("an order with an opening price is negotiated: say how, Negotiation(per_turn)")
        super().__init__(ledger, folder, watch, checkpoint_key)
        self.talks = Talks(self, negotiation, orders) if negotiation else None
        self.approvals = approvals.Approvals(folder)
        self.caps, self.pay, self.decide, self.judge, self.orders = caps, pay, decide, judge, orders
        self.least_trust = least_trust
        networks = [one["name"] for one in ledger.info()["networks"]]
        if network is None and len(networks) != 1 or network is not None and network not in networks:
            raise ValueError(f"name one of the ledger's networks: {', '.join(networks)}")
        self.network = network or networks[0]

    def started(self):
        for order in self.orders:
            if order.key not in self.state.data["requests"]:
                self.request(order) if order.opening is None else self.talks.begin(order)

    def request(self, order: Order, more: dict | None = None):
        """Seals the REQUEST of an order, with more parameters."""
        payload = {
            "task_type": order.task_type, "parameters": order.parameters | (more or {}), "currency": "USDC",
            "max_budget": micro_usdc(order.max_budget) / 1_000_000, "deadline": order.deadline_s,
            "acceptance_policy": order.policy, "ledger": self.state.data["ledger"],
            # The ledger opens one interaction for it, even where the state file was lost.
            "idempotency_key": str(uuid.uuid5(ORDERS, f"{self.me} {order.key}")),
        }
        if order.threshold is not None:
            payload["threshold_amount"] = micro_usdc(order.threshold) / 1_000_000
        envelope = self.ledger.keys.seal(order.provider, "x811/request", payload)
        self.state.data["requests"][order.key] = envelope["id"]
        self.state.task(envelope["id"])["envelopes"]["request"] = envelope
        self.state.put(envelope["id"], "request", envelope, now_ms())
        self.state.save()

    def delivered(self, entry, answer):
        if entry["act"] in ("accept", "reject"):
            self.approvals.forget(entry["interaction"])
        opened = answer.get("interaction_id") or entry["interaction"]
        if entry["act"] != "request" or opened == entry["interaction"]:
            return
        # An equal REQUEST had been accepted before.
        self._rename(entry["interaction"], opened)
        self.state.touch(opened)

    def undelivered(self, entry):
        if entry["act"] == "request":
            # It opened nothing: the next start sends its order again.
            self._rename(entry["interaction"], None)

    def _rename(self, interaction, opened):
        self.state.tasks.pop(interaction, None)
        requests = self.state.data["requests"]
        for key in [key for key, known in requests.items() if known == interaction]:
            if opened is None:
                del requests[key]
            else:
                requests[key] = opened

    def recall(self, interaction, view):
        """An ACCEPT that the file does not know any more still counts against the caps."""
        offer = self.state.task(interaction)["envelopes"].get("offer")
        is_committed = view["state"] in ("accepted", "delivered", "verified", "completed")
        if offer and view["initiator"] == self.me and is_committed:
            total = micro_usdc(offer["payload"]["total_cost"])
            self.state.commit(self._commitment(interaction, offer, total, view["opened_at_ms"]))
            if view["state"] == "verified":
                # Nothing says that it was not.
                self.state.task(interaction)["pay_begun"] = True

    def _commitment(self, interaction, offer, total, at_ms) -> dict:
        return {"interaction": interaction, "provider": offer["from"], "network": self.network,
                "total_micro_usdc": total, "at_ms": at_ms}

    def over(self, interaction, task, paid):
        self.approvals.forget(interaction)
        if paid == "no" and not task.get("pay_begun"):
            self.state.release(interaction)

    def move(self, interaction, task, view):
        can = lambda act: self.state.may_seal(interaction, act)
        state, envelopes = view["state"], task["envelopes"]
        offer, result = envelopes.get("offer"), envelopes.get("result")
        if offer and (offer["from"] != view["provider"] or offer["payload"].get("request_id") != interaction):
            return self.alarm(interaction, "the OFFER is of somebody else, or for another REQUEST")
        if state == "offered" and offer and can("accept") and can("reject"):
            self._answer(interaction, task, view, offer)
        elif state == "delivered" and result and can("verify"):
            self._verify(interaction, task, result)
        elif state == "verified":
            task["look_at_ms"] = now_ms() + PAYMENT_LOOK_MS
            transactions = self.ledger.settlement(interaction)["transactions"]
            if is_pay_due(transactions, task["steps"].get("payment"), task.get("pay_more_at_ms", 0), now_ms()):
                task["pay_more_at_ms"] = now_ms() + PAY_MORE_MS
                self._pay(interaction, task, view, transactions)

    def _asked(self, interaction, task) -> dict:
        """The payload of this agent's own REQUEST."""
        if "request" not in task["envelopes"]:
            task["envelopes"]["request"] = self.ledger.by_id(interaction)["envelope"]
        return task["envelopes"]["request"]["payload"]

    def _answer(self, interaction, task, view, offer):
        asked, offered = self._asked(interaction, task), offer["payload"]
        total = micro_usdc(offered["total_cost"])
        verdict = self._verdict(interaction, task, view, asked, offer, total)
        if verdict is None:
            return
        due = self._commitment(interaction, offer, total, now_ms())
        cap = self.caps.broken_by(due, self.state.data["commitments"])
        if verdict is True and cap is not None:
            verdict = ("POLICY_REJECTED", f"it would exceed {cap}")
        if verdict is True:
            # Journal and sealed ACCEPT are written at once, before it leaves.
            self.state.commit(due)
            payload = {"offer_id": offer["id"], "offer_hash": hash_of(offered)}
            self.say(interaction, "accept", offer["from"], payload)
        else:
            code, reason = verdict if isinstance(verdict, tuple) else ("OTHER", str(verdict))
            payload = {"offer_id": offer["id"], "code": code, "reason": reason}
            self.say(interaction, "reject", offer["from"], payload)

    def _verdict(self, interaction, task, view, asked, offer, total):
        """True, a reason to reject, or None to be asked again: by the policy of the REQUEST (AE-109 to AE-117)."""
        offered, policy = offer["payload"], asked["acceptance_policy"]
        never = self._never(offered, total, offer["from"])
        threshold, budget = (budget_of(asked.get(name, 0)) for name in ("threshold_amount", "max_budget"))
        if policy == "human_approval" or policy == "threshold" and threshold < total <= budget:
            return never or self._person(interaction, task, view, asked, offer, total)
        verdict = never or self._fault(asked, offered, total, offer["from"]) or self.decide(asked, offered)
        if verdict is None:
            task["look_at_ms"] = now_ms() + ASK_AGAIN_MS
        return verdict

    def _person(self, interaction, task, view, asked, offer, total):
        """What a person decided about this OFFER at this total. Without an answer in time it lapses."""
        offered = offer["payload"]
        about = {"offer_hash": hash_of(offered), "total": str(total)}
        decision = self.approvals.decision(interaction, about["offer_hash"], total)
        if decision is not None:
            return decision["answer"] == "approve" or ("OTHER", decision.get("reason") or "a person decided so")
        answer_by_ms = view["deadline_at_ms"] - approvals.MARGIN_MS
        if now_ms() >= answer_by_ms:
            return None
        if task.get("asked") != about or self.approvals.read(interaction) is None:
            terms = {"terms": offered["terms"]} if "terms" in offered else {}
            self.approvals.ask({
                "interaction": interaction, "provider": offer["from"], "task_type": asked["task_type"],
                "price": str(micro_usdc(offered["price"])), "max_budget": str(budget_of(asked["max_budget"])),
                "estimated_time_s": offered["estimated_time"], "deliverables": offered["deliverables"],
                "asked_at_ms": now_ms(), "answer_by_ms": answer_by_ms} | about | terms)
            task["asked"] = about
            self.tell("asked", interaction, f"{usdc(total)} USDC: x811 approvals show {interaction}")
        task["look_at_ms"] = now_ms() + approvals.LOOK_MS
        return None

    def _never(self, offered, total, provider):
        """What nobody's approval lifts."""
        price = micro_usdc(offered["price"])
        if total != price + fee_of(price):
            return "PRICE_TOO_HIGH", f"{usdc(total)} USDC is not price and fee"
        if self.ledger.agent(provider)["status"] != "active":
            return "POLICY_REJECTED", "the provider is not active"
        return None

    def _fault(self, asked, offered, total, provider):
        if total > budget_of(asked["max_budget"]):
            return "PRICE_TOO_HIGH", f"{usdc(total)} USDC is over the budget"
        if offered["estimated_time"] > asked["deadline"]:
            return "DEADLINE_TOO_SHORT", "it takes longer than was asked for"
        if self.least_trust and self.ledger.trust(provider)["score_hundredths"] < self.least_trust:
            return "TRUST_TOO_LOW", "the provider is trusted less than this agent asks for"
        return None

    def _verify(self, interaction, task, result):
        delivered = result["payload"]
        content = delivered.get("content")
        is_other = content is not None and hashlib.sha256(content.encode()).hexdigest() != delivered["result_hash"]
        verdict = ("the content does not have the hash that the RESULT names" if is_other
                   else self.judge(self._asked(interaction, task), delivered))
        if verdict is None:
            task["look_at_ms"] = now_ms() + ASK_AGAIN_MS
            return
        payload = {"request_id": interaction, "offer_id": delivered["offer_id"],
                   "result_hash": delivered["result_hash"], "verified": verdict is True}
        if verdict is not True:
            payload |= {"dispute_code": "WRONG_RESULT", "dispute_reason": str(verdict)}
        self.say(interaction, "verify", result["from"], payload)

    def _pay(self, interaction, task, view, transactions):
        """One transfer at a time: another would be signed with the same account nonce."""
        offer = task["envelopes"]["offer"]
        has_begun = task.get("pay_begun", False) or bool(transactions)
        if not has_begun and view["deadline_at_ms"] - now_ms() < LEAST_WINDOW_MS:
            return self.alarm(interaction, "nothing was paid: less than 20 s of the payment window were left")
        total = micro_usdc(offer["payload"]["total_cost"])
        if not any(made["interaction"] == interaction and made["total_micro_usdc"] == total
                   for made in self.state.data["commitments"]):
            return self.alarm(interaction, "nothing was paid: no ACCEPT of this loop committed to it")
        payee = offer["payload"].get("payment_address") or view["detail"]["offer"]["payee"]
        due = Due(interaction=interaction, offer_id=offer["id"], provider=offer["from"], payee=payee,
                  offer_hash=hash_of(offer["payload"]), network=self.network,
                  total_micro_usdc=total, ledger=self.state.data["ledger"], may_have_been_paid=has_begun,
                  refuted=refuted(transactions))
        task["pay_begun"] = True
        self.state.save()
        if "payment" in task["steps"]:
            for tx_hash, cause in due.refuted.items():
                self.alarm(interaction, f"the ledger does not count transaction {tx_hash} as payment ({cause}): pay is "
                                        "called again, and told so in due.refuted")
        try:
            paid = self.pay(due)
        except PayLater as later:
            task["look_at_ms"] = task["pay_more_at_ms"] = now_ms() + PAY_AGAIN_MS
            return self.tell("pay later", interaction, str(later))
        except Exception as fault:  # whatever a callback raises: a person looks, and nothing is paid blindly
            # Figures in the text of one fault change with the fees and the balance: its code is alarmed once.
            kind = str(getattr(fault, "code", None) or fault)
            if task.get("pay_fault") == kind:
                return self.tell("pay later", interaction, str(fault))
            task["pay_fault"] = kind
            return self.alarm(interaction, f"paying failed, and is tried again: {fault}")
        is_named = isinstance(paid, Paid) and paid.tx_hash.lower() in [one["tx_hash"] for one in transactions]
        if isinstance(paid, Paid) and not is_named:
            payload = {
                "request_id": interaction, "offer_id": offer["id"], "tx_hash": paid.tx_hash,
                "amount": usdc(total), "currency": "USDC", "network": self.network,
                "payer_address": paid.payer, "payee_address": payee,
            }
            if paid.authorization_nonce is not None:
                payload["authorization_nonce"] = paid.authorization_nonce
            self.say(interaction, "payment", offer["from"], payload)
