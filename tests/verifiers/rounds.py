"""Rounds: what records say of their messages, what these add up to, and every tally counted again;
written from EVENTS.md and STATES.md."""

from base64 import urlsafe_b64encode
from email.utils import parsedate_to_datetime
from hashlib import sha256

from canonical import canonical, read_json
from signed import hold, public_key, unpadded, verify

FAILURES = (
    "no_quorum", "no_decisive_votes", "partition", "leader_silent", "ledger_down",
    "weights_unacknowledged",
)
HINDERED = {
    "ledger_down": "ledger_down",
    "not_opened": "leader_silent",
    "suspended": "partition",
    "weights_unacknowledged": "weights_unacknowledged",
    "withdrawn": "withdrawn",
}
COUNTED = ("majority", "weighted")
NO_CONTEST = {"ending": None, "held_for": [], "waits": None, "winner": None}


def hashed(value):
    return sha256(value.encode() if isinstance(value, str) else canonical(value)).hexdigest()


def base64url(value):
    return urlsafe_b64encode(value).rstrip(b"=")


# Facts


def facts_of(verb, message, milliseconds):
    """Of `x811.consensus/<verb>`, once the signature inside holds; None where a member is absent."""
    payload = message["payload"]
    unsigned = {name: payload[name] for name in payload if name != "signature"}
    inner(verb, message["from"], payload["signature"], unsigned)
    moment = lambda text: when(text, milliseconds)
    same = {name: payload[name] for name in ("proposal_id",)}
    match verb:
        case "propose":
            return proposal(payload, unsigned, moment)
        case "vote-request":
            names = ("proposal_hash", "term")
            return same | {name: payload[name] for name in names} | optional(payload, "weights_hash")
        case "ready":
            names = ("leader", "proposal_hash", "term")
            return same | {name: payload[name] for name in names} | optional(payload, "weights_hash")
        case "vote":
            facts = same | {name: payload[name] for name in ("consensus_round_id", "proposal_hash")}
            facts |= optional(payload, "blocked_by", "commitment")
            facts["timestamp_ms"] = moment(payload["timestamp"])
            return facts if "commitment" in payload else facts | choice(payload, unsigned)
        case "reveal":
            opened = {name: payload[name] for name in ("decision", "proposal_id", "salt", "voter")}
            opened |= optional(payload, "rationale") | {"round": payload["consensus_round_id"]}
            facts = same | {"commitment": hashed(opened), "timestamp_ms": moment(payload["timestamp"])}
            return facts | choice(payload, unsigned)
        case "commit" | "abort":
            tally = payload.get("tally")
            return same | reason_of(payload) | {"tally_hash": tally and hashed(tally)}
        case "suspend" | "resume" | "withdraw":
            return same
        case "escalate":
            return same | {"reason": payload["reason"]}
        case "human-decision":
            names = ("decision", "escalation")
            return same | {name: payload[name] for name in names} | reason_of(payload)
        case "executed" | "failed":
            report = payload.get("report")
            return same | {"report_hash": report and hashed(report)}
    raise ValueError(f"a message of a round: {verb}")


def optional(payload, *names):
    return {name: payload[name] for name in names if name in payload}


def inner(verb, sender, signature, unsigned):
    """The signature inside the payload: compact and detached, by a key of the sender."""
    protected, _, signed = signature.partition("..")
    header = read_json(unpadded(protected))
    hold(set(header) == {"alg", "kid", "typ"}, "a protected header")
    hold(canonical(header) == unpadded(protected), "the form of a protected header")
    hold(header["alg"] in ("EdDSA", "Ed25519") and header["typ"] == f"x811-{verb}+jws", "its typ")
    did, key = header["kid"].split("#")
    hold(did == sender, "a signature of somebody else")
    text = f"{protected}.".encode() + base64url(canonical(unsigned))
    verify(public_key(key), unpadded(signed), text, "a message of a round")


def signal(message):
    """The ledger's own signature in its notice of an outcome."""
    payload = message["payload"]
    unsigned = {name: payload[name] for name in payload if name != "signature"}
    inner(payload["outcome"], message["from"], payload["signature"], unsigned)


def by_the_key_of(envelope, message):
    """What is signed inside is by the key of the envelope."""
    if "signature" in message["payload"]:
        protected = message["payload"]["signature"].partition("..")[0]
        hold(read_json(unpadded(protected))["kid"] == envelope["key"], "another key inside")


def told_of(cause, state):
    """What the notice of that record says of the round, beside its `signature`."""
    event, opening = cause["event"], state["opening"]
    round_id, kind = opening["proposal"]["proposal_id"], event["type"]
    said = {
        "cause_position": cause["position"],
        "event": kind,
        "subject": {"id": round_id, "kind": "round"},
    }
    if kind == "lapsed" and event["window"] == "execution":
        return said | {"code": event["code"], "related_message_id": opening["record"]["envelope"]}
    said["proposal_id"] = round_id
    copied = lambda *names: {name: event[name] for name in names}
    match kind:
        case "round_opened":
            return said | copied("leader", "term")
        case "round_decided":
            tally = event["tally"] | copied("outcome", "reason", "votes_digest")
            return said | copied("outcome") | {"tally": tally}
        case "round_escalated":
            cast = sorted(vote["reveal"] or vote["position"] for vote in votes(state))
            position = opening["record"]["position"]
            return said | copied("reason") | {"proposal": position, "votes": cast}
        case "anomaly_noted":
            return said | copied("agents", "kind", "records")
    raise ValueError(f"a notice of {kind}")


def when(text, milliseconds):
    if text[:1].isalpha():
        return int(parsedate_to_datetime(text).timestamp()) * 1_000
    return milliseconds(text)


def tag(text):
    """ASCII alone: lower case, and one space for each run of white space."""
    plain, was_space = [], False
    for letter in text:
        is_space = letter in " \t\n\f\r"
        if not is_space:
            plain.append(letter.lower() if letter.isascii() else letter)
        elif not was_space:
            plain.append(" ")
        was_space = is_space
    return hashed("".join(plain))


def reason_of(payload):
    text = payload.get("rationale")
    says = text is not None and text.strip(" \t\n\f\r") != ""
    return {"rationale_hash": hashed(text)} if says else {}


def choice(payload, unsigned):
    said = reason_of(payload)
    if said:
        said["rationale_tag"] = tag(payload["rationale"])
    return said | {"decision": payload["decision"], "vote_hash": hashed(unsigned)}


def proposal(payload, unsigned, moment):
    action, weights = payload["action"], payload.get("weights")
    weighed = {"participants": payload["participants"], "weights": weights}
    copied = ("consensus_round_id", "leader", "mechanism", "participants", "proposal_id", "quorum")
    facts = {name: payload[name] for name in copied} | {
        "action_hash": hashed(action),
        "action_type": action["type"],
        "attempt": payload.get("attempt", 1),
        "blocked_by": payload.get("blocked_by", []),
        "proposal_hash": hashed(unsigned),
        "resource_tags": [tag(name) for name in action.get("resource", [])],
        "reversible": action.get("reversible", False),
        "risk": action.get("risk", "high"),
        "specificity": payload.get("specificity", 0),
        "subject_hash": hashed(payload["subject"]),
        "timeout_ms": moment(payload["timeout"]),
        "urgency": payload.get("urgency", 0),
        "voting": payload.get("voting", "open"),
    }
    facts |= optional(payload, "f", "resubmission_of", "reveal_ms", "threshold", "weights")
    return facts | ({"weights_hash": hashed(weighed)} if weights else {})


# States


def after(state, record, record_hash, parameters):
    """The state of a round after a record of its stream, whose own parameters are these."""
    event, now, position = record["event"], record["recorded_at_ms"], record["position"]
    kind, due = event["type"], state["effects_due"] if state else 0
    own = kind in ("round_opened", "round_decided", "round_escalated", "anomaly_noted")
    hold(own == (due > 0), f"what is due at {position}")
    if state is None:
        state = opened(record, record_hash) | {"rounds": parameters["rounds"]}
    elif kind == "envelope_accepted":
        state = told(state, event, now, position)
    elif kind == "lapsed":
        state = lapsed(state, event["window"], now, parameters)
    elif kind == "cycle_drawn":
        state = state | {"contest": state["contest"] | {"waits": None}}
    elif own or kind == "resubmitted":
        state = effect(state, event, now, position, parameters)
    if kind == "envelope_accepted":
        state = run(state, event["envelope"]["from"])
    due = due - 1 if own else 0
    return state | {"effects_due": due + len(due_behind(state, event, now, parameters))}


def hashed_form(state):
    """What is hashed of it: seats by their running hash, and the record of the proposal."""
    left = {name: state[name] for name in state if name not in ("rounds", "opening", "seats")}
    if left["contest"] == NO_CONTEST:
        del left["contest"]
    return left | {"record": state["opening"]["record"]}


def run(state, sender):
    """What a message makes of its sender's seat, hashed behind what was hashed before."""
    participants = state["opening"]["proposal"]["participants"]
    if sender not in participants:
        return state
    place = participants.index(sender)
    seat = sha256(canonical(state["seats"][place])).digest()
    before = bytes.fromhex(state["seats_run"] or 64 * "0")
    return state | {"seats_run": sha256(before + place.to_bytes(8, "big") + seat).hexdigest()}


def opened(record, record_hash):
    event, now = record["event"], record["recorded_at_ms"]
    envelope, facts, derived = event["envelope"], event["facts"], event["derived"]
    reference = {"envelope": envelope["id"], "hash": record_hash, "position": record["position"]}
    seat = {"heard_at": None, "is_ready": False, "report": None, "vote": None}
    state = {
        "contest": NO_CONTEST,
        "countersignature": {"not_due": {}},
        "decided": None,
        "effects_due": 0,
        "evidence_of": [],
        "failure_told": False,
        "hindrance": None,
        "is_called": False,
        "is_due": False,
        "leader_said": None,
        "lost_ms": 0,
        "lost_timeout": False,
        "opened_at": None,
        "opening": {
            "authority": derived["authority"],
            "created_ms": envelope["created_ms"],
            "ledger_leads": facts["leader"] == envelope["to"],
            "proposal": facts,
            "proposer": envelope["from"],
            "record": reference,
            "recorded_at": now,
        },
        "phase": {"proposed": {"deadline": derived["deadline_at_ms"]}},
        "retried_by": None,
        "seats": [dict(seat) for _ in facts["participants"]],
        "seats_run": None,
        "was_suspended": False,
    }
    return seated(state, envelope["from"], heard_at=now)


def seated(state, agent, **changed):
    """With other members of that agent's seat, if it has one."""
    participants = state["opening"]["proposal"]["participants"]
    seats = [
        seat | changed if agent == participant else seat
        for participant, seat in zip(participants, state["seats"])
    ]
    return state | {"seats": seats}


def told(state, event, now, position):
    envelope, facts, derived = event["envelope"], event["facts"], event["derived"]
    sender, verb = envelope["from"], envelope["type"].split("/")[1]
    state = seated(state, sender, heard_at=now)
    if "effect" in derived:
        return state | {"evidence_of": sorted({*state["evidence_of"], sender})}
    match verb:
        case "vote-request":
            return state | {"is_called": True}
        case "ready":
            return seated(state, sender, is_ready=True)
        case "vote":
            vote = {
                "blocked_by": facts.get("blocked_by", []),
                "choice": choice_of(facts) if "decision" in facts else None,
                "commitment": facts.get("commitment"),
                "position": position,
                "reveal": None,
                "timestamp": facts["timestamp_ms"],
            }
            return seated(state, sender, vote=vote)
        case "reveal":
            seat = state["opening"]["proposal"]["participants"].index(sender)
            vote = state["seats"][seat]["vote"]
            hold(vote["commitment"] == facts["commitment"], f"what is revealed at {position}")
            return seated(state, sender, vote=vote | {"choice": choice_of(facts), "reveal": position})
        case "commit" | "abort" if state["decided"]:
            return state | {"countersignature": {"given": {}}}
        case "commit" | "abort":
            return state | {"leader_said": verb}
        case "suspend":
            return state | {"phase": {"suspended": {}}, "was_suspended": True}
        case "resume":
            return state | {"phase": {"open": {}}}
        case "withdraw":
            return state | {"hindrance": "withdrawn", "is_due": True}
        case "human-decision":
            until = {"deadline": derived.get("deadline_at_ms")}
            approved = facts["decision"] == "approve"
            return state | {"phase": {"human_approved": until} if approved else {"human_rejected": {}}}
        case "executed" | "failed":
            state = seated(state, sender, report=verb)
            done = all(seat["report"] for seat in state["seats"])
            return state | {"phase": {"done": {}}} if done else state
    return state


def choice_of(facts):
    names = ("decision", "rationale_hash", "rationale_tag", "vote_hash")
    return {name: facts[name] for name in names if name in facts}


def lapsed(state, window, now, parameters):
    rounds, proposal = parameters["rounds"], state["opening"]["proposal"]
    match window:
        case "signal":
            return state | {"countersignature": {"silent": {}}}
        case "open":
            acknowledged = all(seat["is_ready"] for seat in state["seats"])
            missing = proposal["mechanism"] == "weighted" and not acknowledged
            why = "weights_unacknowledged" if missing else "not_opened"
            return state | {"hindrance": why, "is_due": True}
        case "votes" if "suspended" in state["phase"]:
            return state | {"hindrance": "suspended", "is_due": True}
        case "votes" if any(vote["choice"] is None for vote in votes(state)):
            reveal_ms = proposal.get("reveal_ms", rounds["reveal_ms"])
            return state | {"phase": {"revealing": {"deadline": now + reveal_ms}}}
        case "votes":
            why = "ledger_down" if lost_too_much(state, rounds) else None
            return state | {"hindrance": why, "is_due": True}
        case "reveals" | "hold":
            waits = state["contest"]["waits"]
            hold(window == "reveals" or "held" in state["phase"] and not waits, "a hold that lapsed")
            return state | {"is_due": True}
        case "draw":
            hold(state["contest"]["waits"]["draw"], "a draw that lapsed")
            return state | {"contest": state["contest"] | {"waits": None}}
        case "resubmission":
            return state | {"phase": {"aborted": {}}}
        case "human":
            return state | {"phase": {"undecided": {}}}
        case "execution":
            return state | {"phase": {"done": {}}}
    raise ValueError(f"a window of a round: {window}")


def lost_too_much(state, rounds):
    proposal = state["opening"]["proposal"]
    most = (proposal["timeout_ms"] - state["opened_at"]) * rounds["downtime_permille"]
    lost = state["lost_timeout"] or state["lost_ms"] * 1_000 > most
    return proposal["mechanism"] == "optimistic" and lost


def effect(state, event, now, position, parameters):
    rounds, opening = parameters["rounds"], state["opening"]
    match event["type"]:
        case "round_opened":
            return state | {"opened_at": now, "phase": {"open": {}}}
        case "round_decided":
            hold(is_to_be_decided(state, now, rounds), f"the moment at {position}")
            verdict = verdict_of(state, now, rounds)
            said = verdict | superseded_by(state, verdict)
            said |= {"cause": event["cause"], "type": "round_decided"}
            hold(event == said, f"the tally at {position}")
            phase, is_failed = {"aborted": {}}, verdict["reason"] in FAILURES
            if verdict["outcome"] == "commit":
                phase = {"committed": {"deadline": now + rounds["execution_ms"]}}
            elif is_failed:
                phase = {"failed": {"deadline": now + rounds["resubmit_ms"], "since": now}}
            by_word = opening["proposal"]["mechanism"] == "leader"
            if not (opening["ledger_leads"] or by_word or verdict["reason"] == "leader_silent"):
                until = {"deadline": now + rounds["signal_ms"]}
                state = state | {"countersignature": {"awaited": until}}
            contest = NO_CONTEST | {"winner": event.get("winner")}
            state = state | {"contest": contest, "decided": verdict}
            return state | {"is_due": False, "phase": phase}
        case "resubmitted":
            return state | {"phase": {"aborted": {}}, "retried_by": event["round"]}
        case "round_escalated" if event["reason"] == "execution":
            return state | {"failure_told": True}
        case "round_escalated":
            hold((event["reason"] == "deadlock") == is_in_deadlock(state), f"why at {position}")
            asked = {"deadline": now + rounds["human_ms"], "position": position}
            return state | {"phase": {"escalated": asked} if rounds["humans"] else {"undecided": {}}}
    return state


def due_behind(state, event, now, parameters):
    """Names of the records that follow directly from that one, in the round itself."""
    rounds, kind = parameters["rounds"], event["type"]
    decided = ["round_decided"] if is_to_be_decided(state, now, rounds) else []
    if kind == "lapsed":
        return ["anomaly_noted"] if event["window"] == "signal" else decided
    if kind == "cycle_drawn":
        return decided
    if kind == "round_decided":
        return behind_decision(state, rounds)
    if kind != "envelope_accepted":
        return []
    if "effect" in event["derived"]:
        return ["anomaly_noted"]
    verb = event["envelope"]["type"].split("/")[1]
    if is_to_be_opened(state):
        return ["round_opened"]
    if verb == "escalate" or verb == "failed" and not state["failure_told"]:
        return ["round_escalated"]
    return decided


def is_to_be_opened(state):
    opening = state["opening"]
    weighted = opening["proposal"]["mechanism"] == "weighted"
    acknowledged = not weighted or all(seat["is_ready"] for seat in state["seats"])
    called = opening["ledger_leads"] or state["is_called"]
    return "proposed" in state["phase"] and not state["is_due"] and acknowledged and called


def is_to_be_decided(state, now, rounds):
    proposal, (phase,) = state["opening"]["proposal"], state["phase"]
    if state["decided"]:
        return False
    if state["is_due"]:
        return True
    if phase == "revealing":
        return all(vote["choice"] for vote in votes(state))
    if phase != "open":
        return False
    match proposal["mechanism"]:
        case "leader":
            return state["leader_said"] is not None
        case "optimistic":
            return any(choice["decision"] == "reject" for choice in choices(state))
    if proposal["voting"] != "open":
        return False
    everybody = len(votes(state)) == len(state["seats"])
    return everybody or rounds["early_close"] and is_settled(state, now, rounds)


def is_settled(state, now, rounds):
    """Whether no vote that is still out can change how it ends."""
    verdict = verdict_of(state, now, rounds)
    for decision in ("approve", "reject", "abstain"):
        said = {"choice": {"decision": decision, "vote_hash": ""}}
        seats = [
            seat if seat["vote"] else seat | {"vote": said, "heard_at": now} for seat in state["seats"]
        ]
        then = verdict_of(state | {"seats": seats}, now, rounds)
        if (then["outcome"], then["reason"]) != (verdict["outcome"], verdict["reason"]):
            return False
    return True


def behind_decision(state, rounds):
    names = []
    if is_in_deadlock(state) or has_no_retry_left(state, rounds):
        names.append("round_escalated")
    cast = votes(state)
    names += ["anomaly_noted"] * any(vote["choice"] is None for vote in cast)
    tags = [choice["rationale_tag"] for choice in choices(state) if "rationale_tag" in choice]
    least = rounds["anomalies"]["equal_rationales"]
    names += ["anomaly_noted"] * sum(tags.count(one) >= least for one in set(tags))
    times = sorted(vote["timestamp"] for vote in cast if vote["choice"])
    apart = [third - first for first, third in zip(times, times[2:])]
    return names + ["anomaly_noted"] * any(ms <= rounds["anomalies"]["within_ms"] for ms in apart)


def is_in_deadlock(state):
    """Ended by a cycle, or the same voters were missing twice."""
    return state["decided"]["reason"] == "deadlock" or "lacking_since" in state["contest"]


def has_no_retry_left(state, rounds):
    is_failed = state["decided"]["reason"] in FAILURES
    return is_failed and state["opening"]["proposal"]["attempt"] > rounds["retries"]


def votes(state):
    return [seat["vote"] for seat in state["seats"] if seat["vote"]]


def choices(state):
    return [vote["choice"] for vote in votes(state) if vote["choice"]]


# Tallies


def verdict_of(state, now, rounds):
    """Outcome, reason and counts, from the votes and from what other rounds did to it."""
    if "held" in state["phase"]:
        now = state["phase"]["held"]["since"]
    tally = counted(state, now, rounds)
    reason = reason_for(state, tally)
    outcome = "commit" if reason == "accepted" else "abort"
    if reason == "leader_decision":
        outcome = state["leader_said"]
    ending, winner = state["contest"]["ending"], state["contest"]["winner"]
    if ending:
        outcome, [reason] = "abort", ending
    elif outcome == "commit" and winner:
        outcome, reason = "abort", "superseded"
    ordered = sorted(bytes.fromhex(choice["vote_hash"]) for choice in choices(state))
    digest = sha256(b"".join(ordered)).hexdigest()
    return {"outcome": outcome, "reason": reason, "tally": tally, "votes_digest": digest}


def superseded_by(state, verdict):
    """The round that stays in its place, and the block that drew that one."""
    if verdict["reason"] != "superseded":
        return {}
    ending = state["contest"]["ending"] or {"superseded": {"winner": state["contest"]["winner"]}}
    said = ending["superseded"]
    return {name: said[name] for name in said if said[name] is not None}


def counted(state, now, rounds):
    proposal, seats = state["opening"]["proposal"], state["seats"]
    mechanism, eligible = proposal["mechanism"], len(seats)
    said = [choice["decision"] for choice in choices(state)]
    approve, reject, abstain = (said.count(word) for word in ("approve", "reject", "abstain"))
    alive = rounds.get("liveness_ms")
    heard = [seat["heard_at"] for seat in seats if seat["heard_at"] is not None]
    least = {"majority": max(proposal["quorum"], -(-eligible // 2)), "weighted": proposal["quorum"]}
    faulty = proposal.get("f") if mechanism in COUNTED else None
    decisive = 0 if faulty is None else 2 * faulty + 1
    received = approve + reject + abstain
    tally = {
        "abstain": abstain,
        "approve": approve,
        "connected": sum(alive is None or now - at <= alive for at in heard),
        "eligible": eligible,
        "invalid": sum(vote["choice"] is None for vote in votes(state)),
        "mechanism": mechanism,
        "quorum_required": max(least.get(mechanism, 0), decisive),
        "received": received,
        "reject": reject,
    }
    enough = received if rounds["abstain_counts"] else approve + reject
    met = enough >= least.get(mechanism, 0) and approve + reject >= decisive
    if mechanism == "weighted":
        tally["weights"] = weighed(proposal, seats)
        met = met and 2 * tally["weights"]["participating"] >= tally["weights"]["total"]
    return tally | {"quorum_met": met}


def weighed(proposal, seats):
    approving, voting = 0, 0
    for seat, weight in zip(seats, proposal["weights"]):
        if seat["vote"] and (choice := seat["vote"]["choice"]):
            voting += weight
            approving += weight * (choice["decision"] == "approve")
    return {
        "approve": approving,
        "participating": voting,
        "threshold": proposal.get("threshold", {"den": 2, "num": 1}),
        "total": sum(proposal["weights"]),
    }


def reason_for(state, tally):
    mechanism = tally["mechanism"]
    if state["hindrance"]:
        return HINDERED[state["hindrance"]]
    if mechanism == "optimistic" and tally["reject"]:
        return "objection"
    if mechanism == "leader" and state["leader_said"] is None:
        return "leader_silent"
    if not tally["quorum_met"]:
        return "no_quorum"
    if 2 * tally["connected"] <= tally["eligible"]:
        return "partition"
    if mechanism == "optimistic":
        return "accepted"
    if mechanism == "leader":
        return "leader_decision"
    if tally["approve"] + tally["reject"] == 0:
        return "no_decisive_votes"
    if mechanism == "weighted":
        weights, part = tally["weights"], tally["weights"]["threshold"]
        won = weights["approve"] * part["den"] > weights["total"] * part["num"]
        return "accepted" if won else "rejected"
    if tally["approve"] == tally["reject"]:
        return "tie"
    return "accepted" if tally["approve"] > tally["reject"] else "rejected"


def resumed(state, gap_ms, now):
    """The ledger was away for so long until now."""
    rounds, opening = state["rounds"], state["opening"]
    timeout, ((phase, held),) = opening["proposal"]["timeout_ms"], state["phase"].items()
    waits = not opening["ledger_leads"] or opening["proposal"]["mechanism"] == "weighted"
    if phase in ("open", "suspended"):
        since = now - gap_ms
        lost = max(0, min(now, timeout) - max(since, state["opened_at"]))
        state["lost_ms"] += lost
        state["lost_timeout"] |= since <= timeout <= now
    elif phase == "proposed" and waits:
        held["deadline"] = min(held["deadline"] + gap_ms, timeout - rounds["min_timeout_ms"])
    elif phase != "proposed" and "deadline" in held:
        held["deadline"] += gap_ms
    if until := state["countersignature"].get("awaited"):
        until["deadline"] += gap_ms
    if waits := state["contest"]["waits"]:
        if waits["draw"]:
            waits["draw"]["deadline"] += gap_ms
