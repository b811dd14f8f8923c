"""Sessions about capabilities and agreements: what records say of their messages, and what these add
up to; written from EVENTS.md and STATES.md."""

from base64 import urlsafe_b64encode
from hashlib import sha256

from canonical import canonical, read_json
from signed import hold, public_key, unpadded, verify

TYP = "x811-agreement+jws"
MINUTE_MS = 60_000
DAY_MS = 86_400_000
LIMITS = ("max_request_bytes", "max_requests", "requests_per_minute")
AGREEMENT = {
    "agreement_id", "consumer", "ledger", "parameters", "provider",
    "revision", "session_id", "terms", "type", "version",
}


def hashed(value):
    return sha256(value.encode() if isinstance(value, str) else canonical(value)).hexdigest()


def whole(value):
    hold(int(value) == value and value >= 1, "a number below 1")
    return int(value)


def facts_of(verb, payload):
    """Of `x811.capability/<verb>`, all but adverts; None where a member is absent."""
    facts = {name: payload[name] for name in ("session_id", "step_id") if name in payload}
    match verb:
        case "request":
            revision = payload.get("revision")
            return {
                "agreement_id": payload.get("agreement_id"),
                "parameters_hash": hashed(payload["parameters"]),
                "protocol": {name: payload["protocol"][name] for name in ("deprecated", "max", "min")},
                "reason": payload.get("reason"),
                "revision": None if revision is None else whole(revision),
                "type": payload["type"],
            }
        case "response":
            lifetime = payload.get("lifetime_ms")
            facts["lifetime_ms"] = None if lifetime is None else whole(lifetime)
            return facts | {"willing": payload["willing"]}
        case "offer" | "counter":
            return facts | {"terms": terms(payload["terms"])}
        case "accept":
            return facts | {"terms_hash": payload["terms_hash"]}
        case "reject":
            return facts | {"rationale_hash": hashed(payload["rationale"])}
        case "close":
            return facts
        case "agree":
            return agree(payload)
        case "revoke":
            return {
                "agreement_id": payload["agreement_id"],
                "reason_hash": hashed(payload["reason"]),
                "revision": whole(payload["revision"]),
            }
    raise ValueError(f"a message about capabilities: {verb}")


def terms(said):
    facts = {name: whole(said[name]) for name in ("duration_s", *LIMITS) if name in said}
    if "data_handling" in said:
        facts["data_handling_hash"] = hashed(said["data_handling"])
    return facts | {"terms_hash": hashed(said)}


def agree(payload):
    """What was signed, once the signature holds."""
    agreement, protected = payload["agreement"], payload["protected"]
    hold(set(agreement) == AGREEMENT, "the members of an agreement")
    header = read_json(unpadded(protected))
    hold(set(header) == {"alg", "kid", "typ"}, "a protected header")
    hold(header["alg"] in ("EdDSA", "Ed25519") and header["typ"] == TYP, "what is signed, and how")
    hold(canonical(header) == unpadded(protected), "the form of a protected header")
    signed = f"{protected}.".encode() + base64url(canonical(agreement))
    key = header["kid"].split("#")[1]
    verify(public_key(key), unpadded(payload["signature"]), signed, "an agreement")
    copied = ("agreement_id", "consumer", "provider", "session_id", "type", "version")
    return {name: agreement[name] for name in copied} | {
        "agreement_hash": hashed(agreement),
        "duration_s": whole(agreement["terms"]["duration_s"]),
        "kid": header["kid"],
        "parameters_hash": hashed(agreement["parameters"]),
        "revision": whole(agreement["revision"]),
        "terms_hash": hashed(agreement["terms"]),
    }


def base64url(value):
    return urlsafe_b64encode(value).rstrip(b"=")


def session_after(state, record, record_hash):
    """The state of a session after a record of its stream."""
    event = record["event"]
    match event["type"]:
        case "lapsed":
            return end(state, "timeout", None)
        case "session_closed":
            return state | {"is_closed": True}
        case "notice_issued":
            return state
    envelope, facts, derived = event["envelope"], event["facts"], event["derived"]
    sender, verb = envelope["from"], envelope["type"].split("/")[1]
    reference = {"envelope": envelope["id"], "hash": record_hash, "position": record["position"]}
    deadline = derived.get("deadline_at_ms")
    if verb == "request":
        return requested(envelope, facts, derived, reference)
    state = state | {"author": sender, "last": reference}
    match verb:
        case "response" if facts["willing"]:
            return state | {"deadline": deadline, "state": "open"}
        case "response":
            return end(state, "declined", sender)
        case "offer":
            return state | {"state": "offered", "terms": proposed(reference, facts)}
        case "counter":
            counted = {"counters": state["counters"] + 1, "state": "countered"}
            return state | counted | {"terms": proposed(reference, facts)}
        case "accept":
            return state | {"deadline": deadline, "state": "agreeing"}
        case "reject":
            return end(state, "rejected", sender)
        case "close":
            return end(state, "abandoned", sender)
        case "agree":
            names = ("agreement_hash", "consumer", "provider", "revision")
            signed = {name: facts[name] for name in names} | {"by": sender, "record": reference}
            state = state | {"signatures": [*state["signatures"], signed]}
            both = len(state["signatures"]) == 2
            return end(state, "agreed", sender) if both else state
    raise ValueError(f"{verb} at {record['position']}")


def proposed(reference, facts):
    return {"record": reference, "terms": facts["terms"]}


def end(state, reason, closed_by):
    ending = {"closed_by": closed_by, "reason": reason}
    return state | {"deadline": None, "ending": ending, "state": "closed"}


def requested(envelope, facts, derived, reference):
    renews = None
    if "agreement_id" in facts:
        renews = {"agreement": facts["agreement_id"]}
        renews |= {name: facts[name] for name in ("reason", "revision")}
    state = {
        "author": envelope["from"],
        "capability": facts["type"],
        "counters": 0,
        "deadline": derived.get("deadline_at_ms"),
        "ending": None,
        "id": envelope["id"],
        "initiator": envelope["from"],
        "is_closed": False,
        "last": reference,
        "parameters_hash": facts["parameters_hash"],
        "renews": renews,
        "signatures": [],
        "state": "requested",
        "target": envelope["to"],
        "terms": None,
        "version": derived["version"],
    }
    return state if state["deadline"] is not None else end(state, "declined", None)


def agreement_after(state, record, name):
    """The state of the agreement of that id after a record of its stream."""
    event, now = record["event"], record["recorded_at_ms"]
    match event["type"]:
        case "agreed":
            copied = ("agreement_hash", "capability", "consumer", "limits", "provider")
            copied += ("revision", "session", "terms_hash", "version")
            return {name: event[name] for name in copied} | {
                "ends_at": event["ends_at_ms"],
                "id": name,
                "minute": 0,
                "minute_requests": 0,
                "over": None,
                "position": record["position"],
                "requests": 0,
                "revisions": [*(state["revisions"] if state else []), record["position"]],
                "standing": "active",
                "starts_at": event["starts_at_ms"],
            }
        case "used":
            minute = (now - state["starts_at"]) // MINUTE_MS
            before = state["minute_requests"] if state["minute"] == minute else 0
            counted = {"minute": minute, "minute_requests": before + 1}
            return state | counted | {"requests": state["requests"] + 1}
        case "lapsed":
            return state | {"over": record["position"], "standing": "ended"}
        case "envelope_accepted":
            return state | {"over": record["position"], "standing": "revoked"}
    return state


def conduct_after(state, record, name, rule):
    """What an agent answers for after a record of its stream; `rule` is the exclusion in force."""
    event, now = record["event"], record["recorded_at_ms"]
    match event["type"]:
        case "breach_recorded":
            before = state or {"breaches": [], "exclusion": None, "recorded": 0}
            breaches = [known for known in before["breaches"] if remembered(known, now, rule)]
            known = {(known["agreement"], known["at"] // DAY_MS) for known in breaches}
            if rule and (event["agreement"], now // DAY_MS) not in known:
                open_ones = [known for known in breaches if not known["is_spent"]]
                if len(open_ones) >= rule["breaches"]:
                    breaches.remove(open_ones[0])
                breaches.append({
                    "agreement": event["agreement"],
                    "at": now,
                    "consumer": event["consumer"],
                    "is_spent": False,
                    "position": record["position"],
                })
            counted = {"breaches": breaches, "recorded": before["recorded"] + 1}
            return before | counted | {"agent": name}
        case "excluded":
            for breach in state["breaches"]:
                if breach["position"] in event["causes"]:
                    breach["is_spent"] = True
            position, until = record["position"], event["until_ms"]
            exclusion = {"is_lifted": False, "position": position, "until": until}
            return state | {"exclusion": exclusion}
        case "exclusion_lifted":
            return state | {"exclusion": state["exclusion"] | {"is_lifted": True}}
    return state


def remembered(breach, now, rule):
    """Whether a breach may still count, or keep another of its day from counting."""
    counts = rule and not breach["is_spent"] and now - breach["at"] < rule["within_ms"]
    return breach["at"] // DAY_MS == now // DAY_MS or bool(counts)


def links(record):
    """The streams that a record of an interaction, a session or an agreement rests on."""
    event = record["event"]
    if event["type"] == "agreed":
        return {f"session:{event['session']}", f"descriptor:{event['provider']}"}
    if event["type"] != "envelope_accepted":
        return set()
    envelope, facts, derived = event["envelope"], event["facts"], event["derived"]
    if "agreement" in derived:
        return {f"agreement:{derived['agreement']['id']}"}
    match envelope["type"]:
        case "x811.capability/request" if "agreement_id" in facts:
            return {f"agreement:{facts['agreement_id']}"}
        case "x811.capability/request":
            return {f"descriptor:{envelope['to']}"}
        case "x811.capability/agree" if derived.get("signatures") == 2:
            return {f"agreement:{facts['agreement_id']}"}
    return set()
