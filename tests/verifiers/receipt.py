"""Receipts of payments, verified from FORMAT.md and EVENTS.md alone: every signature and hash, the
records made anew from the messages, whose keys signed them, and what the messages and transfers have
to say to each other. What the transfers have to be is in `settled.py`, what the rest determines in `derived.py`.
"""

from base64 import b64decode
from hashlib import sha256
from pathlib import Path

import derived
from canonical import canonical, read_json
from messages import RULES, envelope_of, facts_of, tag
from settled import settle
from signed import (
    checkpoint_parts,
    hold,
    leaf_hash,
    public_key,
    root_by_multiproof,
    rotate,
    unpadded,
    verify,
    verify_checkpoint,
    verify_end,
    verify_keys,
)

FORM = 3
MEMBERS = {"x811_receipt", "interaction", "envelopes", "ledger", "parameters", "confirmed"} | {
    "hashes",
    "checkpoint",
    "ask",
    "signature",
    "keys",
    "end",
}
AMOUNTS = ("price", "protocol_fee", "total_cost")
PLACE = {"position", "prev", "recorded_at_ms", "stream_seq"}
ENCLOSED = PLACE | {"body", "signature", "key", "derived", "rules"}


def receipt(file, vkey):
    """By a reader who trusts the log of this vkey."""
    data = Path(file).read_bytes()
    hold(data.endswith(b"\n"), "a file that was cut off")
    read = read_json(data[:-1])
    form = read["x811_receipt"]
    hold(form == FORM, f"a receipt of form {form}, known is {FORM}")
    hold(set(read) - {"rotations", "agent_keys"} == MEMBERS, "other members")
    hold(read["ask"] == f"/api/v1/interactions/{read['interaction']}/settlement", "another path")
    opened = read["ledger"]["event"]
    place = {"position": 0, "prev": "0" * 64, "stream_seq": 0}
    ledger, leaves = leaf(place | read["ledger"], "ledger"), {}
    hold(set(read["ledger"]) == {"event", "recorded_at_ms"}, "other members")
    leaves[0], keys = ledger, opened["keys"]
    for rotation in read.get("rotations", []):
        keys = rotate(keys, opened["did"], rotation["event"])
        hold(rotation["position"] > max(leaves), "rotations out of order")
        leaves[rotation["position"]] = record(rotation, "ledger")
    stream = f"interaction:{read['interaction']}"
    leaves[read["parameters"]["position"]] = record(read["parameters"], "ledger")
    leaves[read["confirmed"]["position"]] = record(read["confirmed"], stream)
    agent = f"agent:{read['envelopes'][-1]['body']['from']}"
    given = read.get("agent_keys", [])
    hold("agent_keys" not in read or given, "a list of keys that is empty")
    for at in given:
        hold(at["position"] not in leaves, "a record twice")
        leaves[at["position"]] = record(at, agent)
    checkpoint = under_checkpoint(read, leaves, vkey, opened["origin"], keys)
    unsigned = {name: read[name] for name in read if name != "signature"}
    signed = f"x811 receipt v{FORM}\n".encode() + canonical(unsigned)
    verify(public_key(keys["receipt"]), unpadded(read["signature"]), signed, "the receipt")
    verify_keys(read["keys"], opened, keys, read.get("rotations", []), checkpoint)
    ends(read["end"], read["confirmed"], leaves, stream, checkpoint[0], keys)
    confirmed = read["confirmed"]["event"]
    hold(confirmed["type"] == "confirmed", "no confirmation")
    messages, hashes = enclosed(read["envelopes"], stream, confirmed["records"])
    every = messages
    places = [envelope["position"] for envelope in read["envelopes"]]
    hold(places == sorted(set(places)), "messages out of order")
    envelopes, request = read["envelopes"], []
    if messages[0]["envelope"]["type"] == "x811/request":
        named = messages[0]["facts"].get("negotiation_id")
        keys_named = names_of_request(messages)
        hold(named is not None or keys_named, "a REQUEST that is named by its id, and names no contract")
        contract = messages[0]["derived"].get("contract", {}).get("id")
        hold(contract == named, "held to another contract")
        hold(messages[0]["envelope"]["id"] == read["interaction"], "another interaction")
        for event in messages[1:]:
            by_id(event["facts"], keys_named, read["interaction"])
        request, envelopes, messages = envelopes[:1], envelopes[1:], messages[1:]
    agent_keys(request + envelopes[1:], given, opened["did"])
    hold(all(it["body"]["from"] == envelopes[1]["body"]["from"] for it in request), "another party")
    hold(all(it["body"]["to"] == envelopes[1]["body"]["to"] for it in request), "another party")
    terms = deal(messages, read["interaction"]) | {"ledger": opened["did"]}
    accepted = messages[1]["derived"], envelopes[1]["recorded_at_ms"]
    parameters = read["parameters"]["event"]
    total = settle(messages[3:], terms, confirmed, parameters, accepted)
    consistent(read, every, leaves | hashes, (stream, agent))
    return f"{total} micro-USDC paid to {terms['provider']}"


def consistent(read, messages, hashes, streams):
    """That every member is what the others determine; `hashes` are those of all records, by position."""
    stream, agent = streams
    envelopes, confirmed, parameters = read["envelopes"], read["confirmed"], read["parameters"]
    times = [envelope["recorded_at_ms"] for envelope in envelopes]
    places = [envelope["position"] for envelope in envelopes]
    derived.check_opened(read["ledger"]["event"], envelopes)
    derived.check_derived(messages, times, places, parameters)
    derived.check_times(messages, times, confirmed, parameters)
    first = {"position": 0, "prev": "0" * 64, "stream_seq": 0} | read["ledger"]
    of_ledger = [first, parameters, *read.get("rotations", [])]
    parts = [(record, "ledger") for record in of_ledger]
    parts += [(record, agent) for record in read.get("agent_keys", [])]
    parts += [(record, stream) for record in [*envelopes, confirmed]]
    records = [
        (
            record["position"],
            record["recorded_at_ms"],
            of,
            record["stream_seq"],
            record["prev"],
            hashes[record["position"]].hex(),
        )
        for record, of in parts
    ]
    own = {hashes[place].hex() for place in places}
    derived.check_log(records, confirmed, own, read["end"])
    accept, verified = envelopes[-len(confirmed["event"]["records"]["payments"]) - 2 :][:2]
    derived.check_result(accept, verified, confirmed["event"]["records"]["result"])
    derived.check_numbers(confirmed)


def ends(end, confirmed, leaves, stream, size, keys):
    """That the stream ends with the confirmation or behind it, and that the payment stands."""
    verify_end(end, keys)
    hold((end["stream"], end["tree_size"]) == (stream, size), "the end of something else")
    last, known = end["last_seq"], confirmed["stream_seq"]
    hold(last >= known, "an end before the confirmation")
    hold(last > known or end["last_hash"] == leaves[confirmed["position"]].hex(), "another end")
    standings = ("paid", "returned") if last > known else ("paid",)
    hold(end["standing"] in standings, "a payment that does not stand")


def record(read, stream):
    hold(set(read) == PLACE | {"event"}, "other members")
    return leaf(read, stream)


def leaf(read, stream):
    """The record hash."""
    return leaf_hash(canonical(read | {"stream": stream, "v": 1}))


def under_checkpoint(read, leaves, vkey, origin, keys):
    name, key_id, key = vkey.split("+", 2)
    key = b64decode(key, validate=True)[1:]
    hold(sha256(name.encode() + b"\n\x01" + key).hexdigest()[:8] == key_id, "no vkey")
    signed_by, size, root, signed = checkpoint_parts(read["checkpoint"])
    hold(signed_by == name == origin, "a checkpoint of another log")
    verify_checkpoint(name, signed, key)
    verify_checkpoint(origin, signed, public_key(keys["checkpoint"]))
    hashes = [b64decode(hash, validate=True) for hash in read["hashes"]]
    hold(root_by_multiproof(leaves, size, hashes) == root, "the records under the checkpoint")
    return size, root


def enclosed(envelopes, stream, records):
    """The messages, once their records hash to what the confirmation lists, and the hashes by position."""
    due = [records["offer"], records["accept"], records["verify"], *records["payments"]]
    if len(envelopes) == len(due) + 1:
        due.insert(0, records["request"])
    hold(len(due) == len(envelopes), "other messages than the confirmation lists")
    made = [message(read, stream, hash) for read, hash in zip(envelopes, due)]
    hashes = {read["position"]: bytes.fromhex(hash) for read, hash in zip(envelopes, due)}
    return made, hashes


def message(read, stream, due):
    hold(set(read) - {"profile"} == ENCLOSED, "other members")
    hold(read["rules"] == RULES, f"rules {read['rules']}, known are {RULES}")
    profile, body = read.get("profile", "digest"), canonical(read["body"])
    hold("profile" not in read or profile != "digest", "a profile that says nothing")
    envelope = envelope_of(body, read["body"], read["key"], profile, read["signature"])
    facts = facts_of(read["body"])
    event = {"type": "envelope_accepted", "envelope": envelope, "facts": facts}
    event["derived"] = read["derived"]
    place = {name: read[name] for name in PLACE}
    made = leaf(place | {"event": event}, stream)
    hold(made.hex() == due, f"the record of the {envelope['type']}")
    return event


def agent_keys(envelopes, given, ledger):
    """That the initiator's keys were its own by the records in `given`, where they are several."""
    agent, positions = envelopes[0]["body"]["from"], [record["position"] for record in given]
    hold(positions == sorted(positions), "records of keys out of order")
    signed = [(key_of(envelope), envelope["position"]) for envelope in envelopes]
    several = any(key != signed[0][0] for key, _ in signed)
    hold(several == bool(given), "several keys without the records that gave them, or one with")
    gave = [(record["position"], *keys_by(record["event"], agent, ledger)) for record in given]
    used = {given_by(key, position, gave) for key, position in signed} if several else set()
    hold(used == set(positions), "a record of a key that signed nothing")


def key_of(envelope):
    return {"key": envelope["key"], "profile": envelope.get("profile", "digest")}


def given_by(key, position, gave):
    """Where the last record before stands that gave the key; it was not replaced since."""
    before = [record for record in gave if record[0] < position]
    place = max((at for at, keys, _ in before if key in keys), default=None)
    hold(place is not None, "a key that no record gave")
    since = [ended for at, _, ended in before if at > place]
    hold(key["key"] not in since, "a key that was replaced")
    return place


def keys_by(event, agent, ledger):
    """The keys that the record gives, and the one that it ends."""
    envelope = event["envelope"]
    did, key = envelope["key"].split("#")
    hold(did == envelope["from"] == agent, "a record of keys of another agent")
    if envelope["profile"] == "digest":
        digest, signature = bytes.fromhex(envelope["digest"]), unpadded(envelope["signature"])
        verify(public_key(key), signature, digest, "a record of keys")
    if event["type"] == "agent_registered":
        return event["keys"], None
    hold(event["type"] == "key_rotated", "a record that gives no key")
    old, new = event["old_key"], event["new_key"]["key"]
    hold(old == key, "a key replaced by another")
    lines = "\n".join(["x811 key rotation v1", agent, ledger, old, new])
    verify(public_key(new), unpadded(event["proof"]), lines.encode(), "a new key")
    return [event["new_key"]], old


def names_of_request(messages):
    """What the messages call the REQUEST in place of its id: its idempotency key."""
    request = messages[0]
    sender, due = request["envelope"]["from"], request["facts"]["idempotency_tag"]
    said = {event["facts"].get(name) for event in messages[1:] for name in ("request_id", "offer_id")}
    return {key for key in said - {None} if tag(sender, key) == due}


def by_id(facts, keys_named, interaction):
    """The ids in place of an idempotency key: the REQUEST's id stands for its one OFFER."""
    for name in ("request_id", "offer_id"):
        if facts.get(name) in keys_named:
            facts[name] = interaction


def deal(messages, interaction):
    """That they are of this interaction, of the same two, and of one OFFER."""
    offer, accept, verify, *payments = messages
    types = [event["envelope"]["type"].removeprefix("x811/") for event in messages]
    hold(types == ["offer", "accept", "verify", *["payment"] * len(payments)], "other types")
    hold(payments, "no PAYMENT")
    offer_id, facts = offer["envelope"]["id"], offer["facts"]
    provider, initiator = offer["envelope"]["from"], offer["envelope"]["to"]
    for event in (accept, verify, *payments):
        pair = event["envelope"]["from"], event["envelope"]["to"]
        hold(pair == (initiator, provider), "another party")
        hold(event["facts"]["offer_id"] in (offer_id, interaction), "another OFFER")
        hold(event["facts"].get("request_id", interaction) == interaction, "another interaction")
    hold(facts["request_id"] == interaction, "another interaction")
    hold(accept["facts"]["offer_hash"] == facts["payload_hash"], "an ACCEPT of another OFFER")
    hold(verify["facts"]["verified"], "a VERIFY that says no")
    payee = facts.get("payment_address", offer["derived"]["payee"])
    terms = {"provider": provider, "payee": payee, "interaction": interaction}
    return terms | {name: int(facts[name]) for name in AMOUNTS} | {"offer_hash": facts["payload_hash"]}
