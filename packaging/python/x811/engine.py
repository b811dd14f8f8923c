"""The loop that Provider and Initiator share: feed → verify → decide → seal → send.

What is sealed is in the state file before it is sent, and the cursor moves with what follows from a
message, so a loop may be killed anywhere: the next one sends the same bytes and decides nothing twice.
"""

import json
import queue
import threading
import uuid

from . import outbox, proofs
from .feed import follow, reconnect_s
from .haggling import negotiation_of
from .keys import as_uuid, digest_of, now_ms
from .ledger import Ledger, Refused, Unreachable
from .state import State, replace

#: States after which nothing is said any more.
OVER = ("completed", "expired", "rejected", "disputed", "failed")
#: How often an interaction is looked at while a transfer is awaited, and after a lapse, in milliseconds.
PAYMENT_LOOK_MS, AFTER_LAPSE_MS = 3_000, 10_000
#: How long a heartbeat is good, in seconds, and the time between two: two may be lost in a row.
HEARTBEAT_TTL_S, HEARTBEAT_EVERY_S = 300, 100
#: Messages of an interaction that are kept until it is over, by the last part of their type.
KEPT = ("request", "offer", "accept", "result")


class Replaced(Exception):
    """A newer loop of the same agent reads the feed: this one must send nothing more."""


class Loop:
    """One agent at one ledger, with a folder of its own. `watch(what, interaction, text)` is told
    what happens: `feed`, `said`, `over`, `notice`, `alarm` and the like. Proofs are held against
    `checkpoint_key`, else against the key that the ledger names at the start."""

    #: The side of an interaction that this loop takes.
    role = ""

    def __init__(self, ledger: Ledger, folder, watch=None, checkpoint_key: str | None = None):
        self.ledger = ledger
        self.me = ledger.keys.did
        self.talks = None
        self._checkpoint_key = checkpoint_key or ledger.info().get("checkpoint_vkey")
        if self._checkpoint_key is None:
            raise ValueError("the ledger names no checkpoint key, so it proves nothing: name one, checkpoint_key")
        self.state = State(folder, self.me, ledger.info()["did"])
        self._watch = watch or (lambda *told: None)
        self._news = queue.Queue()
        self._is_over = threading.Event()
        self._is_connected = False
        self._ack = {"through": None, "failures": 0, "not_before_ms": 0}

    def run(self, until=None):
        """Acts until `stop` is called or `until()` is true. Raises Replaced where another loop took over."""
        try:
            self._rebuild()
            for interaction in self.state.tasks:
                self.state.touch(interaction)
            self.started()
            instance = uuid.uuid4().hex
            words = (self.ledger, instance, self.state.data["cursor"], self._news.put, self._is_over.is_set)
            threading.Thread(target=follow, args=words, daemon=True).start()
            threading.Thread(target=self._beat, daemon=True).start()
            while not self._is_over.is_set() and not (until and until()):
                self._turn()
        finally:
            self._is_over.set()
            self.state.close()

    def _beat(self):
        """Says that the loop is there. Nothing rests on it: one that is lost is followed by the next."""
        while not self._is_over.is_set():
            try:
                self.ledger.heartbeat(HEARTBEAT_TTL_S)
            except (Unreachable, Refused):
                pass
            self._is_over.wait(HEARTBEAT_EVERY_S)

    def stop(self):
        """Ends `run` after what it is doing. What is under way is in the state file."""
        self._is_over.set()

    def is_idle(self) -> bool:
        """Whether nothing is under way, but for proofs that a person was told are missing."""
        awaited = [due for due in self.state.data["proofs"] if not due["is_alarmed"]]
        return not self.state.tasks and not self.state.outbox and not awaited

    def _turn(self):
        if self._is_connected:
            self._look_at_all()
            self._send_all()
            self._fetch_proofs()
        self._acknowledge()
        try:
            news = self._news.get(timeout=self._patience_s())
        except queue.Empty:
            return
        kind, *rest = news
        if kind == "page":
            self._take(*rest)
        elif kind == "replaced":
            raise Replaced("another loop of this agent reads the feed now")
        elif kind in ("back", "lost"):
            self._is_connected = kind == "back"
            self.tell("feed", None, kind if kind == "back" else rest[0])
        else:
            self.told(kind, *rest)

    def _patience_s(self) -> float:
        moments = [entry["not_before_ms"] for entry in self.state.outbox]
        moments += [task["look_at_ms"] for task in self.state.tasks.values() if task["look_at_ms"] is not None]
        moments += [due["try_at_ms"] for due in self.state.data["proofs"]]
        left_ms = min(moments, default=now_ms() + 1_000) - now_ms()
        return min(max(left_ms / 1000, 0.0 if self._is_connected else 0.5), 1.0)

    def _take(self, messages, cursor):
        """What follows from a page is in the file with the cursor behind it; then it is acknowledged."""
        for message in messages:
            self._keep(message)
        self.state.data["cursor"] = cursor
        self.state.save()
        self._ack |= {"through": cursor, "not_before_ms": 0}

    def _keep(self, message):
        envelope, interaction = message["envelope"], message.get("interaction_id")
        if not message["is_verified"] and envelope["from"] != self.state.data["ledger"]:
            self.alarm(interaction, f"message {envelope['id']} is signed by no key of its sender: passed over")
            return
        talk = negotiation_of(envelope) if self.talks else None
        if talk is not None:
            return self.talks.take(talk, envelope["type"])
        kind = envelope["type"].removeprefix("x811/")
        if interaction is None and kind == "request":
            interaction = envelope["id"]
        if interaction is None:
            return self.tell("passed over", None, f"{envelope['type']} of {envelope['from']}")
        if envelope["from"] == self.state.data["ledger"]:
            self.tell("notice", interaction, f"{envelope['payload'].get('code')} "
                                             f"{envelope['payload'].get('message')}")
        elif kind in KEPT:
            self.state.task(interaction)["envelopes"].setdefault(kind, envelope)
        self.state.touch(interaction)

    def _acknowledge(self):
        """Behind the state file, and again until the ledger has it."""
        ack = self._ack
        if ack["through"] is None or now_ms() < ack["not_before_ms"]:
            return
        try:
            self.ledger.acknowledge(ack["through"])
        except (Unreachable, Refused) as fault:
            if isinstance(fault, Unreachable) or fault.status == 429 or fault.status >= 500:
                ack["failures"] += 1
                ack["not_before_ms"] = now_ms() + 1_000 * reconnect_s(ack["failures"])
                return
        ack |= {"through": None, "failures": 0}

    def _rebuild(self):
        """Without a state file: what the ledger has for this agent, from its first message on."""
        if self.state.data["is_rebuilt"]:
            return
        after = None
        while True:
            page = self.ledger.inbox(after, 0)
            for message in page["messages"]:
                message["is_verified"] = self.ledger.is_verified(message["envelope"], message["position"])
                self._keep(message)
            if not page["messages"]:
                break
            after = page["next"]
        self.state.data["cursor"] = after
        for interaction in [name for name in self.state.tasks if name not in self.state.data["talks"]]:
            view = self.ledger.interaction(interaction)
            self.recall(interaction, view)
            if view["state"] in OVER:
                del self.state.tasks[interaction]
        self.state.data["is_rebuilt"] = True
        self.state.save()

    def _look_at_all(self):
        for interaction, task in list(self.state.tasks.items()):
            if task["look_at_ms"] is None or task["look_at_ms"] > now_ms():
                continue
            if any(entry["interaction"] == interaction for entry in self.state.outbox):
                task["look_at_ms"] = None
                continue
            try:
                self._look(interaction, task)
            except Unreachable:
                task["look_at_ms"] = now_ms() + 1_000
            except Refused as refused:
                # An interaction that was never opened, or a body that was erased.
                task["look_at_ms"] = now_ms() + AFTER_LAPSE_MS
                if refused.status != 404:
                    self.alarm(interaction, str(refused))
                elif not task["envelopes"]:
                    del self.state.tasks[interaction]
            except OSError:
                # The state file: nothing may be done that it does not have.
                raise
            except Exception as fault:  # of a callback, or of what another agent sent: the others go on
                task["look_at_ms"] = now_ms() + AFTER_LAPSE_MS
                self.alarm(interaction, f"stuck, and tried again: {fault!r}")

    def _look(self, interaction, task):
        if interaction in self.state.data["talks"]:
            if self.talks:
                return self.talks.look(interaction, task)
            # It negotiates no more.
            del self.state.data["talks"][interaction], self.state.tasks[interaction]
            return None
        view = self.ledger.interaction(interaction)
        if view[self.role] != self.me:
            del self.state.tasks[interaction]
        elif view["state"] in OVER:
            paid = self.ledger.settlement(interaction)["paid"]
            self.over(interaction, task, paid)
            del self.state.tasks[interaction]
            self.state.save()
            # A notice that comes later makes a task anew: its end was told.
            if task["envelopes"]:
                self.tell("over", interaction, f"{view['state']}, paid: {paid}")
        else:
            deadline_ms = view.get("deadline_at_ms")
            task["look_at_ms"] = None if deadline_ms is None else deadline_ms + AFTER_LAPSE_MS
            self.move(interaction, task, view)

    def _send_all(self):
        due = [entry for entry in self.state.outbox if entry["not_before_ms"] <= now_ms()]
        if due:
            # Whatever is in memory alone is written before anything leaves.
            self.state.save()
        for entry in due:
            self._send(entry)
            self.state.save()

    def _send(self, entry):
        fate, why, answer = self._ask(entry) if outbox.asks_first(entry, now_ms()) else ("send", "", None)
        if fate == "send" or (fate == "ask" and not entry["is_doubtful"]):
            try:
                answer, fate = self.ledger.send(entry["envelope"]), "delivered"
            except Unreachable as lost:
                fate, why = "again", str(lost)
            except Refused as refused:
                fate, why = outbox.fate_of_refusal(refused)
        interaction, act = entry["interaction"], entry["act"]
        if fate in ("again", "ask"):
            entry["is_doubtful"] |= fate == "ask"
            return outbox.postpone(entry, now_ms())
        self.state.settle(entry, fate)
        if fate == "delivered":
            self.tell("said", interaction, f"{act}, position {answer['position']}")
            self._expect_proof(entry, answer)
            self.delivered(entry, answer)
        else:
            self.alarm(interaction, f"the {act} was refused: {why}" if fate == "refused" else
                       f"the {act} was never accepted, and is too old to be")
            self.undelivered(entry)

    def _ask(self, entry):
        try:
            return "delivered", "", self.ledger.by_id(entry["id"])["first"]
        except Unreachable:
            return "ask", "", None
        except Refused as refused:
            return outbox.fate_of_absence(entry, refused), str(refused), None

    # Proofs of what was acknowledged.

    def _expect_proof(self, entry, answer):
        if entry["act"] in proofs.PROVEN and answer.get("envelope_id") == entry["id"]:
            self.state.data["proofs"].append({
                "interaction": entry["interaction"], "act": entry["act"], "envelope_id": entry["id"],
                "digest": digest_of(json.loads(entry["envelope"])), "position": answer["position"],
                "record_hash": answer["record_hash"], "since_ms": now_ms(), "try_at_ms": now_ms(), "is_alarmed": False})

    def _fetch_proofs(self):
        for due in [due for due in self.state.data["proofs"] if due["try_at_ms"] <= now_ms()]:
            try:
                text = self.ledger.proof(due["position"])
                proofs.check(text, due, self._checkpoint_key)
                if as_uuid(due["interaction"]) is None:
                    raise proofs.ProofFault("the ledger names no interaction")
                name = f"{due['interaction']}-{due['act']}.tlog-proof"
                replace(self.state.path.parent / "proofs" / name, text)
                self.state.data["proofs"].remove(due)
            except (Unreachable, Refused, ValueError) as fault:
                due["try_at_ms"] = now_ms() + proofs.RETRY_MS
                if now_ms() - due["since_ms"] >= proofs.ALARM_AFTER_MS and not due["is_alarmed"]:
                    due["is_alarmed"] = True
                    self.alarm(due["interaction"], f"no proof that the acknowledged {due['act']} is record "
                                                   f"{due['position']} of the log ({fault}): keep the state file, "
                                                   "ask the ledger's operator")
            self.state.save()

    # What the two sides say, and are told.

    def say(self, interaction: str, act: str, to: str, payload: dict, kind: str | None = None):
        """Seals a message into the outbox and the file, from where it is sent."""
        self.state.put(interaction, act, self.ledger.keys.seal(to, kind or f"x811/{act}", payload), now_ms())
        self.state.save()

    def tell(self, what: str, interaction: str | None, text: str):
        self._watch(what, interaction, text)

    def alarm(self, interaction: str | None, text: str):
        """Tells what a person has to look at, once, and keeps it in the file."""
        if self.state.alarm(interaction, text, now_ms()):
            self.state.save()
            self.tell("alarm", interaction, text)

    def started(self):
        """Before the feed is read."""

    def move(self, interaction, task, view):
        """The next step in an interaction that is not over."""

    def over(self, interaction, task, paid: str):
        """It is over; whether the provider has its money: `yes`, `not_yet`, `no`."""

    def recall(self, interaction, view):
        """What the ledger knows of it is all that there is: the state file was lost."""

    def told(self, kind, *rest):
        """News of one's own, from `_news`."""

    def delivered(self, entry, answer):
        """The ledger has it."""

    def undelivered(self, entry):
        """The ledger will not have it."""
