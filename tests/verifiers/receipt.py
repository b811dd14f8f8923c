"""Receipts of payments, verified from FORMAT.md and EVENTS.md alone: every signature and hash, the
records made anew from the messages, and what the messages and transfers have to say to each other.
"""

from base64 import b64decode
from hashlib import sha256
from pathlib import Path

from canonical import canonical, read_json
from messages import envelope_of, facts_of
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
)

MEMBERS = {"x811_receipt", "interaction", "envelopes", "ledger", "parameters", "confirmed"} | {
    "hashes",
    "checkpoint",
    "ask",
    "signature",
}
PLACE = {"position", "prev", "recorded_at_ms", "stream_seq"}
ENCLOSED = PLACE | {"body", "signature", "key", "derived"}


def receipt(file, vkey):
    """By a reader who trusts the log of this vkey."""
    data = Path(file).read_bytes()
    hold(data.endswith(b"\n"), "a file that was cut off")
    read = read_json(data[:-1])
    hold(read["x811_receipt"] == 1, "no receipt of version 1")
    hold(set(read) - {"rotations"} == MEMBERS, "other members")
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
    under_checkpoint(read, leaves, vkey, opened["origin"], keys)
    unsigned = {name: read[name] for name in read if name != "signature"}
    signed = b"x811 receipt v1\n" + canonical(unsigned)
    verify(public_key(keys["receipt"]), unpadded(read["signature"]), signed, "the receipt")
    confirmed = read["confirmed"]["event"]
    hold(confirmed["type"] == "confirmed", "no confirmation")
    messages = enclosed(read["envelopes"], stream, confirmed["records"])
    terms = deal(messages, read["interaction"])
    total = transfers(messages, terms, confirmed, read["parameters"]["event"])
    return f"{total} micro-USDC paid to {terms['provider']}"


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


def enclosed(envelopes, stream, records):
    """The messages, once their records hash to what the confirmation lists."""
    due = [records["offer"], records["accept"], records["verify"], *records["payments"]]
    hold(len(due) == len(envelopes), "other messages than the confirmation lists")
    return [message(read, stream, hash) for read, hash in zip(envelopes, due)]


def message(read, stream, due):
    hold(set(read) - {"profile"} == ENCLOSED, "other members")
    profile, body = read.get("profile", "digest"), canonical(read["body"])
    hold("profile" not in read or profile != "digest", "a profile that says nothing")
    envelope = envelope_of(body, read["body"], read["key"], profile, read["signature"])
    event = {"type": "envelope_accepted", "envelope": envelope, "facts": facts_of(read["body"])}
    event["derived"] = read["derived"]
    place = {name: read[name] for name in PLACE}
    made = leaf(place | {"event": event}, stream)
    hold(made.hex() == due, f"the record of the {envelope['type']}")
    return event


def deal(messages, interaction):
    """That they are of this interaction, of the same two, and of one OFFER."""
    offer, accept, verify, *payments = messages
    types = [event["envelope"]["type"].removeprefix("x811/") for event in messages]
    hold(types == ["offer", "accept", "verify", *["payment"] * len(payments)], "other types")
    offer_id, facts = offer["envelope"]["id"], offer["facts"]
    provider, initiator = offer["envelope"]["from"], offer["envelope"]["to"]
    for event in (accept, verify, *payments):
        pair = event["envelope"]["from"], event["envelope"]["to"]
        hold(pair == (initiator, provider), "another party")
        hold(event["facts"]["offer_id"] == offer_id, "another OFFER")
        hold(event["facts"].get("request_id", interaction) == interaction, "another interaction")
    hold(facts["request_id"] == interaction, "another interaction")
    hold(accept["facts"]["offer_hash"] == facts["payload_hash"], "an ACCEPT of another OFFER")
    hold(verify["facts"]["verified"], "a VERIFY that says no")
    payee = facts.get("payment_address", offer["derived"]["payee"])
    return {"provider": provider, "payee": payee, "facts": facts}


def transfers(messages, terms, confirmed, parameters):
    """What the claimed transfers add up to, once they are what was declared and enough."""
    hold(parameters["type"] == "parameters_set", "no parameters")
    chains = {network["name"]: network["chain_id"] for network in parameters["networks"]}
    payments = [event["facts"] for event in messages[3:]]
    total, to_payee, seen = 0, 0, []
    for claim in confirmed["claims"]:
        hold(claim not in seen, "a transfer that is claimed twice")
        seen.append(claim)
        evidence, transfer = shown(claim, confirmed["evidence"])
        hold(chains.get(evidence["network"]) == claim["chain_id"], "a network that is not there")
        declared = any(
            transfer["from"] == payment["payer_address"]
            and claim["tx_hash"] in (payment["tx_hash"], payment.get("fee_tx_hash"))
            for payment in payments
        )
        hold(declared, "a transfer that nobody declared")
        total += int(transfer["amount"])
        to_payee += int(transfer["amount"]) * (transfer["to"] == terms["payee"])
    facts = terms["facts"]
    enough = to_payee >= int(facts["price"]) and total >= int(facts["total_cost"])
    hold(enough, "less than what was due")
    return total


def shown(claim, evidence):
    for of_transaction in evidence:
        for transfer in of_transaction["transfers"]:
            place = of_transaction["tx_hash"], transfer["ordinal"]
            if place == (claim["tx_hash"], claim["ordinal"]):
                return of_transaction, transfer
    raise ValueError("a claim without its transfer")
