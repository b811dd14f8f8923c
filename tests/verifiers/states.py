"""What the events of a log add up to, written from STATES.md and not from our code."""

from copy import deepcopy
from hashlib import sha256

import sessions
from canonical import canonical
from contests import Board

DAY_MS = 86_400_000
HOUR_MS = 3_600_000
FAILURES_TO_DISPUTE = 4
NO_TRUST = {"contested": 0, "d": 0, "f": 0, "s": 0}
ENDED = {"Completed", "Expired", "Rejected", "Disputed", "Failed"}


class States:
    """All streams at once; `after` takes one record."""

    def __init__(self):
        self.root = bytes(32)
        self.ledger = {"parameters": None, "rules_version": 0}
        self.parameters, self.blind_since = {}, {}
        self.agents, self.interactions, self.opened_under = {}, {}, {}
        self.contracts, self.trust, self.descriptors = {}, {}, {}
        self.sessions, self.agreements, self.conducts = {}, {}, {}
        self.rounds = Board()

    def after(self, record, record_hash):
        stream, event = record["stream"], record["event"]
        if stream == "roots":
            schema = self.ledger["rules_version"]
            if event["root"] != self.root.hex() or event["schema"] != schema:
                raise ValueError(f"the root at {record['position']}")
            return
        kind, _, name = stream.partition(":")
        now = record["recorded_at_ms"]
        if kind == "ledger":
            self.of_ledger(event, record["position"], now)
            state = self.ledger
        elif kind == "network":
            self.of_network(event, name, now)
            state = {"blind_since_ms": self.blind_since[name]}
        elif kind == "agent":
            self.of_agent(event, name, record["position"], now)
        elif kind == "mail":
            self.agents[name]["mail_seq"] += 1
        elif kind == "contract":
            state = self.of_contract(record, name, record_hash)
        elif kind == "descriptor":
            state = self.of_descriptor(record, name, record_hash)
        elif kind == "session":
            state = sessions.session_after(self.sessions.get(name), record, record_hash)
            self.sessions[name] = state
        elif kind == "agreement":
            state = sessions.agreement_after(self.agreements.get(name), record, name)
            self.agreements[name] = state
        elif kind == "conduct":
            block = self.parameters_in_force().get("capabilities") or {}
            rule = block.get("exclusion")
            if event["type"] == "breach_recorded" and block:
                self.trust.setdefault(name, dict(NO_TRUST))["d"] += 1
            state = sessions.conduct_after(self.conducts.get(name), record, name, rule)
            self.conducts[name] = state
        elif kind == "round":
            state = self.of_round(record, name, record_hash)
        else:
            state = self.of_interaction(record, name, record_hash)
        self.count_body(event, now)
        if kind in ("agent", "mail"):
            state = self.agents[name] | {"trust": self.trust.get(name, NO_TRUST)}
        hashed = sha256(canonical(state)).digest()
        self.root = sha256(self.root + stream.encode() + hashed).digest()

    def count_body(self, event, now):
        if envelope := event.get("envelope"):
            agent = self.agents[envelope["from"]]
            if agent["accepted_day"] != now // DAY_MS:
                agent["accepted_day"], agent["accepted_bytes"] = now // DAY_MS, 0
            agent["accepted_bytes"] += envelope["size"]

    def parameters_in_force(self):
        return self.parameters[self.ledger["parameters"]]

    # The ledger, networks and agents

    def of_ledger(self, event, position, now):
        match event["type"]:
            case "ledger_opened":
                self.ledger["rules_version"] = event["rules_version"]
                key = {"key": event["keys"]["envelope"], "profile": "digest"}
                entry = {"keys": [key], "wallets": [], "capabilities": []}
                self.did = event["did"]
                self.register(self.did, entry | {"document_digest": "0" * 64}, position, now)
                self.agents[self.did]["identity_seq"] = 0
            case "parameters_set":
                self.ledger["parameters"], self.parameters[position] = position, event
            case "rules_changed":
                self.ledger["rules_version"] = event["rules_version"]
            case "ledger_key_rotated":
                if event["role"] == "envelope":
                    self.agents[self.did]["keys"][0]["key"] = event["new_key"]
            case "ledger_resumed":
                for name, since in self.blind_since.items():
                    if since is not None:
                        self.blind_since[name] = since + event["gap_ms"]
                for state in self.interactions.values():
                    resumed(state, event["gap_ms"])
                for state in self.contracts.values():
                    if window := open_engagement(state):
                        window["deadline"] += event["gap_ms"]
                for state in self.sessions.values():
                    if state["deadline"] is not None:
                        state["deadline"] += event["gap_ms"]
                self.rounds.resumed(event["gap_ms"], now)

    def of_round(self, record, name, record_hash):
        if name not in self.opened_under:
            position = record["event"]["derived"]["parameters"]
            self.opened_under[name] = self.parameters[position]
        return self.rounds.after(name, record, record_hash, self.opened_under[name])

    def of_network(self, event, name, now):
        is_blind = event["type"] == "network_blind"
        self.blind_since[name] = now if is_blind else None
        for state in self.interactions.values():
            if (watched := watched_in(state)) and watched["network"] == name:
                if is_blind:
                    pause(watched, now)
                elif (since := watched["paused_since"]) is not None:
                    move(watched, now - since)
                    watched["paused_since"] = None

    def register(self, did, entry, position, now):
        self.agents[did] = {
            "keys": deepcopy(entry["keys"]),
            "wallets": entry["wallets"],
            "capabilities": entry["capabilities"],
            "document_digest": entry["document_digest"],
            "status": "active",
            "expires_at_ms": entry.get("expires_at_ms"),
            "document_position": position,
            "registered_at_ms": now,
            "position": position,
            "identity_seq": 0,
            "mail_seq": 0,
            "receipts": 0,
            "last_receipt": None,
            "open_requests": 0,
            "accepted_bytes": 0,
            "accepted_day": 0,
        }

    def of_agent(self, event, did, position, now):
        if event["type"] == "agent_registered":
            self.register(did, event, position, now)
        agent = self.agents[did]
        agent["identity_seq"] += 1
        match event["type"]:
            case "agent_updated":
                for member in ("wallets", "capabilities", "document_digest"):
                    agent[member] = event[member]
                agent["expires_at_ms"] = event.get("expires_at_ms")
                agent["document_position"] = position
            case "key_rotated":
                places = [known["key"] for known in agent["keys"]]
                agent["keys"][places.index(event["old_key"])] = event["new_key"]
                agent["document_digest"] = event["document_digest"]
                agent["document_position"] = position
            case "agent_deactivated":
                agent["status"] = "deactivated"
            case "agent_reactivated":
                agent["status"] = "active"
            case "agent_revoked":
                agent["status"] = "revoked"

    # Descriptors

    def of_descriptor(self, record, name, record_hash):
        before, envelope = self.descriptors.get(name), record["event"]["envelope"]
        hour = record["recorded_at_ms"] // HOUR_MS
        is_same_hour = before is not None and before["hour"] == hour
        self.descriptors[name] = {
            "adverts": before["adverts"] + 1 if is_same_hour else 1,
            "agent": envelope["from"],
            "descriptor": record["event"]["facts"],
            "hour": hour,
            "record": {
                "envelope": envelope["id"],
                "hash": record_hash,
                "position": record["position"],
            },
        }
        return self.descriptors[name]

    # Contracts

    def of_contract(self, record, name, record_hash):
        event, state = record["event"], self.contracts.get(name)
        reference = {"hash": record_hash, "position": record["position"]}
        match event["type"]:
            case "envelope_accepted":
                reference["envelope"] = event["envelope"]["id"]
                state = self.negotiated(state, event, reference)
            case "lapsed" if event["window"] == "contract":
                [(_, inner)] = state.items()
                state = {"Expired": inner}
            case "lapsed":
                state["Accepted"]["engagement"] = "Lapsed"
            case "engaged":
                engaged = {"interaction": event["interaction"]}
                state["Accepted"]["engagement"] = {"Engaged": engaged}
        self.contracts[name] = state
        return state

    def negotiated(self, state, event, reference):
        envelope, facts = event["envelope"], event["facts"]
        verb = envelope["type"].removeprefix("x811.negotiation/")
        if state is None:
            block = self.parameters[event["derived"]["parameters"]]["contracts"]
            opening = {
                "id": envelope["id"],
                "initiator": envelope["from"],
                "max_turns": facts.get("max_turns", block["max_turns"]),
                "record": reference,
                "responder": envelope["to"],
            }
            step = {"turn": 0}
        else:
            [(_, inner)] = state.items()
            opening, step = inner["opening"], inner["step"]
        if verb in ("offer", "counter"):
            step = {
                "author": envelope["from"],
                "expires_at": facts.get("expires_at_ms", step.get("expires_at")),
                "record": reference,
                "terms": facts["terms"],
                "turn": step["turn"] + 1,
            }
            tag = "Pending" if verb == "offer" else "Countered"
            return {tag: {"opening": opening, "step": step}}
        if verb == "accept":
            engagement = {"Open": {"deadline": event["derived"]["deadline_at_ms"]}}
            agreed = {"acceptance": reference, "engagement": engagement}
            return {"Accepted": agreed | {"opening": opening, "step": step}}
        return {"Rejected": {"opening": opening, "step": step}}

    # Interactions

    def count_merit(self, before, after):
        opening = opening_of(after)
        for state, by in ((before, -1), (after, 1)):
            for party, counters in (merit(state) if state else {}).items():
                known = self.trust.setdefault(opening[party], dict(NO_TRUST))
                for counter in counters:
                    known[counter] += by

    def of_interaction(self, record, name, record_hash):
        before = self.interactions.get(name)
        if before is None:
            position = record["event"]["derived"]["parameters"]
            self.opened_under[name] = self.parameters[position]
        step = Step(record, record_hash, self.opened_under[name])
        state = step.after(deepcopy(before))
        if over := aftermath_in(state):
            over.setdefault("late_watch", None)
        self.interactions[name] = state
        self.count_merit(before, state)
        watched = watched_in(state)
        if watched and self.blind_since.get(watched["network"]) is not None:
            pause(watched, record["recorded_at_ms"])
        opening = opening_of(state)
        if before is None:
            self.agents[opening["initiator"]]["open_requests"] += 1
        elif ended(state) and not ended(before):
            self.agents[opening["initiator"]]["open_requests"] -= 1
        if record["event"]["type"] in ("confirmed", "reversed"):
            provider = self.agents[opening["provider"]]
            provider["receipts"] += 1
            provider["last_receipt"] = record_hash
        return state


def merit(state):
    """What an interaction is worth to its parties, as it stands."""
    [(tag, inner)] = state.items()
    if tag == "Completed" and inner["completion"]["claims"]:
        is_reversed = inner["completion"]["reversed"]
        return {"initiator": ["d"]} if is_reversed else {"initiator": ["s"], "provider": ["s"]}
    if tag == "Expired" and inner["code"] == "X811-4022":
        return {"provider": ["f"]}
    if tag == "Failed":
        return {"initiator": ["f"]}
    if tag == "Disputed":
        by_verify = inner["closing"]["code"] is None
        return {"provider": ["contested", "d"]} if by_verify else {"initiator": ["d"]}
    return {}


def open_engagement(state):
    """The engagement window of an agreed contract, while it is open."""
    engagement = state.get("Accepted", {}).get("engagement")
    return engagement.get("Open") if isinstance(engagement, dict) else None


class Step:
    """One record of an interaction."""

    def __init__(self, record, record_hash, parameters):
        self.event, self.position = record["event"], record["position"]
        self.now, self.hash, self.parameters = record["recorded_at_ms"], record_hash, parameters

    def after(self, state):
        event = self.event
        if event["type"] == "notice_issued":
            return state
        if event["type"] == "envelope_accepted":
            facts, derived = event["facts"], event["derived"]
            return self.message(state, event["envelope"], facts, derived)
        if event["type"] == "lapsed":
            return self.lapsed(state)
        return self.afterwards(state) if ended(state) else self.watched(state)

    def reference(self, envelope):
        return {"envelope": envelope["id"], "hash": self.hash, "position": self.position}

    def message(self, state, envelope, facts, derived):
        record, deadline = self.reference(envelope), derived.get("deadline_at_ms")
        kind = envelope["type"]
        if kind == "x811/error":
            return state
        if kind == "x811/request":
            opening = {
                "id": envelope["id"],
                "initiator": envelope["from"],
                "max_budget": facts["max_budget"],
                "provider": envelope["to"],
                "record": record,
            }
            if agreement := derived.get("agreement"):
                opening["agreement"] = agreement
            if contract := derived.get("contract"):
                opening["contract"] = contract
            return {"Pending": {"deadline": deadline, "opening": opening}}
        [(_, inner)] = state.items()
        match kind:
            case "x811/offer":
                return {"Offered": self.offered(inner["opening"], envelope, facts, derived)}
            case "x811/accept":
                heads = derived.get("heads", [])
                acceptance = {"at": self.now, "heads": heads, "record": record}
                deal = {"offer": inner["offer"], "opening": inner["opening"]}
                deal["acceptance"] = acceptance
                return {"Accepted": {"deadline": deadline, "deal": deal}}
            case "x811/reject":
                return {"Rejected": closing(state, None)}
            case "x811/result":
                delivery = {"record": record, "result_hash": facts["result_hash"]}
                delivered = {"deadline": deadline, "deal": inner["deal"], "delivery": delivery}
                return {"Delivered": delivered}
            case "x811/verify" if not facts["verified"]:
                return {"Disputed": {"closing": closing(state, None), "unpaid": None}}
            case "x811/verify":
                verified = {"deal": inner["deal"], "delivery": inner["delivery"]}
                verified["settlement"] = {"Awaiting": {"deadline": deadline}}
                return {"Verified": verified | {"verification": record}}
            case "x811/payment":
                return self.paid(state, record, facts, derived)
        raise ValueError(f"the message at {self.position}")

    def offered(self, opening, envelope, facts, derived):
        window = self.parameters["windows"]["accept_ms"]
        deadline = {
            "ledger": self.now + window,
            "signed": envelope["created_ms"] + min(1_000 * facts["expiry_s"], window),
        }
        if derived["deadline_at_ms"] != min(deadline.values()):
            raise ValueError(f"the deadline at {self.position}")
        offer = {
            "offer_hash": facts["payload_hash"],
            "payee": derived["payee"],
            "price": facts["price"],
            "protocol_fee": facts["protocol_fee"],
            "record": self.reference(envelope),
            "total": facts["total_cost"],
        }
        return {"deadline": deadline, "offer": offer, "opening": opening}

    def paid(self, state, record, facts, derived):
        stage = state["Verified"]["settlement"]
        settlement = stage.get("Watching") or {
            "declared": [],
            "failures": 0,
            "last_failure": None,
            "network": facts["network"],
            "paused_since": None,
            "payments": [],
            "schedule": {"Confirmation": {"deadline": derived.get("deadline_at_ms")}},
            "started_at": self.now,
        }
        for tx_hash in (facts["tx_hash"], facts.get("fee_tx_hash")):
            if tx_hash and not any(known["tx_hash"] == tx_hash for known in settlement["declared"]):
                declared = {"binding": derived["payer_binding"], "payer": facts["payer_address"]}
                declared |= {"payment": self.position, "standing": "Unseen", "tx_hash": tx_hash}
                settlement["declared"].append(declared)
        settlement["payments"].append(record)
        state["Verified"]["settlement"] = {"Watching": settlement}
        return state

    def lapsed(self, state):
        code = self.event["code"]
        [(tag, inner)] = state.items()
        if tag in ("Pending", "Offered", "Accepted"):
            return {"Expired": closing(state, code)}
        if tag == "Delivered":
            return {"Failed": closing(state, code)}
        if "Awaiting" in inner["settlement"]:
            return {"Disputed": {"closing": closing(state, code), "unpaid": None}}
        due = self.now + self.parameters["looks_ms"][0]
        inner["settlement"]["Watching"]["schedule"] = {"Look": {"due": due, "number": 1}}
        return state

    def watched(self, state):
        event, settlement = self.event, state["Verified"]["settlement"]["Watching"]
        match event["type"]:
            case "seen":
                stand(settlement, event["tx_hash"], {"Seen": event["block"]})
            case "unseen":
                stand(settlement, event["tx_hash"], "Unseen")
            case "refuted":
                stand(settlement, event["tx_hash"], {"Refuted": event["evidence"]["block"]})
                settlement["failures"] += 1
                settlement["last_failure"] = event["code"]
                return self.unless_disputed(state)
            case "looked":
                return self.looked(state, settlement)
            case "confirmed":
                return self.confirmed(state, settlement)
            case other:
                raise ValueError(f"{other} at {self.position}")
        return state

    def looked(self, state, settlement):
        number = self.event["look"]
        if any(finding["status"] == "seen" for finding in self.event["finding"]):
            due = self.now + self.parameters["limits"]["pending_look_ms"]
            settlement["schedule"] = {"Look": {"due": due, "number": number}}
            return state
        settlement["failures"] += 1
        if number < len(self.parameters["looks_ms"]):
            due = self.now + self.parameters["looks_ms"][number]
            settlement["schedule"] = {"Look": {"due": due, "number": number + 1}}
        return self.unless_disputed(state)

    def unless_disputed(self, state):
        inner = state["Verified"]
        settlement = inner["settlement"]["Watching"]
        if settlement["failures"] < FAILURES_TO_DISPUTE:
            return state
        code = settlement["last_failure"] or "X811-5030"
        unpaid = {"aftermath": self.aftermath(settlement, []), "deal": inner["deal"]}
        return {"Disputed": {"closing": closing(state, code), "unpaid": unpaid}}

    def aftermath(self, settlement, paid):
        networks = self.parameters["networks"]
        late_ms = [n["late_ms"] for n in networks if n["name"] == settlement["network"]]
        return {
            "declared": settlement["declared"],
            "late": [],
            "network": settlement["network"],
            "paid": paid,
            "paused_since": settlement["paused_since"],
            "until": self.now + late_ms[0],
        }

    def confirmed(self, state, settlement):
        claims, evidence = self.event["claims"], self.event["evidence"]
        paid = [{"claim": claim, "transfer": transfer_of(claim, evidence)} for claim in claims]
        aftermath = self.aftermath(settlement, paid)
        for shown in evidence:
            stand(aftermath, shown["tx_hash"], {"Seen": shown["block"]})
        completion = {"claims": claims, "hash": self.hash, "position": self.position}
        return {
            "Completed": {
                "aftermath": aftermath if claims else None,
                "completion": completion | {"is_final": False, "reversed": []},
                "deal": state["Verified"]["deal"],
                "opener": settlement["payments"][-1]["envelope"],
            }
        }

    def afterwards(self, state):
        event, watched = self.event, watched_in(state)
        tx_hash = event.get("tx_hash")
        match event["type"]:
            case "seen":
                stand(watched, tx_hash, {"Seen": event["block"]})
                return state
            case "unseen":
                gone = {"Gone": declared(watched, tx_hash)["standing"]["Seen"]}
                is_bound = has_paid(watched, tx_hash) or came_late(watched, tx_hash)
                stand(watched, tx_hash, gone if is_bound else "Unseen")
                return state
            case "late":
                watched["late"] += event["claims"]
                self.watch_late(watched)
                return state
            case "reversed":
                bound_with(state, tx_hash)["reversed"].append(tx_hash)
            case "returned":
                bound_with(state, tx_hash)["reversed"].remove(tx_hash)
            case "final":
                self.final(state, watched)
            case other:
                raise ValueError(f"{other} at {self.position}")
        late = watched.get("late_watch")
        if "Completed" in state and state["Completed"]["completion"]["is_final"]:
            if is_settled(watched) and (late is None or late["is_final"]):
                state["Completed"]["aftermath"] = None
        return state

    def watch_late(self, watched):
        claims, evidence = self.event["claims"], self.event["evidence"]
        before = watched.get("late_watch") or {"reversed": [], "transfers": []}
        late = [{"claim": claim, "transfer": transfer_of(claim, evidence)} for claim in claims]
        networks = self.parameters["networks"]
        [late_ms] = [n["late_ms"] for n in networks if n["name"] == watched["network"]]
        watched["late_watch"] = {
            "is_final": False,
            "reversed": before["reversed"],
            "transfers": before["transfers"] + late,
            "until": self.now + late_ms,
        }
        for shown in evidence:
            stand(watched, shown["tx_hash"], {"Seen": shown["block"]})

    def final(self, state, watched):
        """What paid, what came late, or both."""
        groups = []
        if "Completed" in state:
            completion = state["Completed"]["completion"]
            groups.append((completion, completion["claims"]))
        if late := watched.get("late_watch"):
            groups.append((late, [bound["claim"] for bound in late["transfers"]]))
        reached = [
            group
            for group, claims in groups
            if not group["is_final"]
            and not group["reversed"]
            and all(self.is_below(watched, claim["tx_hash"]) for claim in claims)
        ]
        if not reached:
            raise ValueError(f"nothing is final at {self.position}")
        for group in reached:
            group["is_final"] = True

    def is_below(self, watched, tx_hash):
        standing = declared(watched, tx_hash)["standing"]
        height = self.event["head"]["number"]
        return "Seen" in standing and standing["Seen"]["number"] <= height


def ended(state):
    return next(iter(state)) in ENDED


def opening_of(state):
    [inner] = state.values()
    inner = inner.get("closing", inner)
    return inner.get("opening") or inner["deal"]["opening"]


def opener_of(state):
    """The message that opened the last window."""
    [(tag, inner)] = state.items()
    if tag == "Verified":
        payments = inner["settlement"].get("Watching", {}).get("payments", [])
        return (payments[-1] if payments else inner["verification"])["envelope"]
    part = {
        "Pending": lambda: inner["opening"],
        "Offered": lambda: inner["offer"],
        "Accepted": lambda: inner["deal"]["acceptance"],
        "Delivered": lambda: inner["delivery"],
    }[tag]
    return part()["record"]["envelope"]


def closing(state, code):
    return {"code": code, "opener": opener_of(state), "opening": opening_of(state)}


def watched_in(state):
    """The settlement or the aftermath, whichever there is."""
    [(tag, inner)] = state.items()
    if tag == "Verified":
        return inner["settlement"].get("Watching")
    if tag == "Disputed":
        return (inner["unpaid"] or {}).get("aftermath")
    return inner["aftermath"] if tag == "Completed" else None


def aftermath_in(state):
    """What is watched of an interaction that is over."""
    return watched_in(state) if ended(state) else None


def bound_with(state, tx_hash):
    """What holds the disappearance of a transaction that is bound."""
    watched = watched_in(state)
    if came_late(watched, tx_hash):
        return watched["late_watch"]
    return state["Completed"]["completion"]


def came_late(aftermath, tx_hash):
    late = aftermath.get("late_watch") or {"transfers": []}
    return any(bound["claim"]["tx_hash"] == tx_hash for bound in late["transfers"])


def declared(watched, tx_hash):
    return next(known for known in watched["declared"] if known["tx_hash"] == tx_hash)


def stand(watched, tx_hash, standing):
    declared(watched, tx_hash)["standing"] = standing


def has_paid(aftermath, tx_hash):
    return any(paid["claim"]["tx_hash"] == tx_hash for paid in aftermath["paid"])


def is_settled(aftermath):
    late = {claim["tx_hash"] for claim in aftermath["late"]}
    return all(
        "Refuted" in known["standing"]
        or has_paid(aftermath, known["tx_hash"])
        or known["tx_hash"] in late
        for known in aftermath["declared"]
    )


def transfer_of(claim, evidence):
    for shown in evidence:
        if shown["tx_hash"] == claim["tx_hash"]:
            for transfer in shown["transfers"]:
                if transfer["ordinal"] == claim["ordinal"]:
                    return {name: transfer[name] for name in ("amount", "from", "ordinal", "to")}
    raise ValueError("a claim without its transfer")


def pause(watched, now):
    if watched["paused_since"] is None:
        watched["paused_since"] = now


def move(watched, by_ms):
    """The clock of a settlement or an aftermath."""
    if "until" in watched:
        watched["until"] += by_ms
        if late := watched.get("late_watch"):
            late["until"] += by_ms
        return
    for schedule in watched["schedule"].values():
        schedule["deadline" if "deadline" in schedule else "due"] += by_ms


def resumed(state, gap_ms):
    [(tag, inner)] = state.items()
    if tag == "Offered":
        inner["deadline"]["ledger"] += gap_ms
    elif "deadline" in inner:
        inner["deadline"] += gap_ms
    elif tag == "Verified" and "Awaiting" in inner["settlement"]:
        inner["settlement"]["Awaiting"]["deadline"] += gap_ms
    if watched := watched_in(state):
        move(watched, gap_ms)
        if watched["paused_since"] is not None:
            watched["paused_since"] += gap_ms
