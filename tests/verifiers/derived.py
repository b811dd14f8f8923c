"""What the rest of a receipt determines, written from FORMAT.md alone: `derived` of each message, the times of
messages and blocks, and the order of the records in one log.
"""

from messages import RULES
from signed import hold

AHEAD_MS = 5_000
OWN_CHAINS = {31337, 1337}
ALLOWED = {
    "request": {"deadline_at_ms", "parameters", "contract", "agreement"},
    "offer": {"deadline_at_ms", "payee"},
    "accept": {"deadline_at_ms", "heads"},
    "verify": {"deadline_at_ms"},
    "payment": {"deadline_at_ms", "payer_binding"},
}


def check_derived(messages, times, places, parameters):
    """`messages` with the times and positions of their records; `parameters` is the record."""
    rules, by_kind = parameters["event"], {}
    for event, at, position in zip(messages, times, places):
        kind = event["envelope"]["type"].removeprefix("x811/")
        hold(set(event["derived"]) <= ALLOWED[kind], f"a member in derived of the {kind}")
        by_kind.setdefault(kind, []).append((event, at, position))
    [(offer, offered_at, _)] = by_kind["offer"]
    for event, at, position in by_kind.get("request", []):
        request(event["derived"], event["facts"], offer["facts"], position, parameters["position"])
        deadline(event, at + rules["windows"]["offer_ms"])
    accepted_until = offer_deadline(offer, offered_at, rules)
    [(accept, accepted_at, _)], [(verified, verified_at, _)] = by_kind["accept"], by_kind["verify"]
    hold(accepted_at <= accepted_until, "an ACCEPT after the OFFER had expired")
    deadline(accept, accepted_at + rules["windows"]["result_ms"])
    names = [head["network"] for head in accept["derived"].get("heads", [])]
    hold(names == sorted(set(names)), "heads out of order")
    hold("heads" not in accept["derived"] or names, "a list of heads that is empty")
    deadline(verified, verified_at + rules["windows"]["payment_ms"])
    payments(by_kind["payment"], rules)


def deadline(event, due):
    hold(event["derived"].get("deadline_at_ms") == due, f"deadline of the {event['envelope']['type']}")


def request(derived, facts, offer, position, parameters):
    hold(derived["parameters"] == parameters, "opened under other parameters")
    hold(int(offer["total_cost"]) <= int(facts["max_budget"]), "an OFFER above the budget")
    for name in ("contract", "agreement"):
        named = facts.get({"contract": "negotiation_id"}.get(name, "agreement_id"))
        hold(derived.get(name, {}).get("id") == named, f"held to another {name}")
    contract = derived.get("contract")
    if contract is None:
        return
    hold(contract["accept"] < position, "a contract that was accepted later")
    amount = offer["price" if contract["amount_of"] == "price" else "total_cost"]
    hold(int(amount) == int(contract["amount"]), "an OFFER of another amount than agreed")
    due = contract.get("deliverables_hash")
    hold(due is None or due == offer["deliverables_hash"], "other deliverables than agreed")


def offer_deadline(offer, at, rules):
    """Until when the OFFER could be accepted."""
    windows, facts, derived = rules["windows"], offer["facts"], offer["derived"]
    life_ms = min(facts["expiry_s"] * 1_000, windows["accept_ms"])
    until = offer["envelope"]["created_ms"] + life_ms
    deadline(offer, min(at + windows["accept_ms"], until))
    hold(derived["deadline_at_ms"] >= at + rules["limits"]["offer_min_live_ms"], "an OFFER too short")
    hold(derived["payee"] == facts.get("payment_address", derived["payee"]), "another payee")
    hold(all(derived["payee"] != it["token"] for it in rules["networks"]), "the token as payee")
    return until


def payments(paid, rules):
    named = []
    for index, (event, at, _) in enumerate(paid):
        # That of a further one is the first one's, which blindness may have moved.
        if index == 0:
            deadline(event, at + rules["windows"]["confirmation_ms"])
        own = [event["facts"][name] for name in ("tx_hash", "fee_tx_hash") if name in event["facts"]]
        hold(index == 0 or set(own) - set(named), "a PAYMENT that names nothing new")
        named += own
    limit = rules["limits"]["hashes_per_interaction"]
    hold(len(set(named)) <= limit, "more transactions than may be named")


def check_times(messages, times, confirmed, parameters):
    """That messages were taken when they were signed, and that blocks are of no later time."""
    rules = parameters["event"]
    for event, at in zip(messages, times):
        envelope = event["envelope"]
        apart = abs(envelope["created_ms"] - at)
        hold(apart <= rules["limits"]["clock_tolerance_ms"], "a message of another time")
        hold(at < envelope.get("expires_ms", at + 1), "a message that had expired")
    chains = {network["name"]: network["chain_id"] for network in rules["networks"]}
    heads = [(head, at) for event, at in zip(messages, times) for head in event["derived"].get("heads", [])]
    named = [(head["network"], head["timestamp_s"], at) for head, at in heads]
    for shown in confirmed["event"]["evidence"]:
        named.append((shown["network"], shown["block"]["timestamp_s"], confirmed["recorded_at_ms"]))
    for network, timestamp_s, at in named:
        is_own = chains.get(network) in OWN_CHAINS
        hold(is_own or timestamp_s * 1_000 <= at + AHEAD_MS, "a block from later")


def check_log(records, confirmed, messages, end):
    """`records` are (position, time, stream, place in it, hash before, own hash)."""
    records = sorted(records)
    hold(len({record[0] for record in records}) == len(records), "two records at one position")
    last = {}
    for before, record in zip(records, records[1:]):
        hold(before[1] <= record[1], "a record that is older than the one before")
        follows = record[0] == before[0] + 1
        hold(not follows or record[4] == before[5], "a record that follows another one")
    for position, _, stream, seq, _, _ in records:
        at, known = last.get(stream, (None, None))
        fits = at is None and seq <= position or at is not None and 0 < seq - known <= position - at
        hold(fits, "places in a stream that the log has no room for")
        last[stream] = position, seq
    position, seq = confirmed["position"], confirmed["stream_seq"]
    hold(all(record[0] < position for record in records if record[5] in messages), "a message behind")
    named = confirmed["event"]["records"]
    named = [*named["payments"], *(hash for name, hash in named.items() if name != "payments")]
    hold(len(set(named)) == len(named) <= seq, "records that are named twice, or too many")
    hold(end["last_seq"] - seq <= end["tree_size"] - 1 - position, "an end too far")


def check_result(accept, verified, result):
    """Where the RESULT alone is between ACCEPT and VERIFY."""
    is_next = verified["position"] - accept["position"] == verified["stream_seq"] - accept["stream_seq"] == 2
    hold(not is_next or verified["prev"] == result, "another RESULT")


def check_numbers(confirmed):
    event = confirmed["event"]
    hold(("provider_prev" in event) == (event["provider_seq"] > 0), "numbers of receipts")
    hold(event["provider_seq"] < confirmed["position"], "more receipts than records")


def check_opened(opened, envelopes):
    """Position 0, and the rules that the messages are of."""
    version, reader = opened["rules_version"], opened.get("reader")
    hold(opened["format"] == 1 and version == RULES, "a log of another form")
    hold(reader == version, "another reader than the rules have")
    hold(all(version <= envelope["rules"] for envelope in envelopes), "rules that are later than a message's")
