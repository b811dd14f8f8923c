"""Whether the transfers in a confirmation settle what was due, written from FORMAT.md alone."""

from keccak import keccak_256
from signed import hold

SLACK_MS = 2_000
STAND_IN_BLOCKS = 600
LEVELS = ["seen", "confirmed", "safe", "final"]
BINDINGS = {"wallet": {"wallet", "authorization"}, "unchecked": {"unchecked"}}


def settle(payments, terms, confirmed, parameters, accepted):
    """What the claimed transfers add up to."""
    hold(parameters["type"] == "parameters_set", "no parameters")
    names = {event["facts"]["network"] for event in payments}
    hold(len(names) == 1, "PAYMENTs on several networks")
    networks = [network for network in parameters["networks"] if network["name"] in names]
    hold(networks, "a network that is not there")
    network, declared = networks[0], {}
    for event in payments:
        declare(event, terms, parameters["payer_binding"], declared)
    evidence, claims = confirmed["evidence"], confirmed["claims"]
    claimed_from = list(dict.fromkeys(claim["tx_hash"] for claim in claims))
    hold([shown["tx_hash"] for shown in evidence] == claimed_from, "evidence of something else")
    blocks = {}
    for shown in evidence:
        payer, binding = declared[shown["tx_hash"]]
        plausible(shown)
        block = blocks.setdefault(shown["block"]["number"], shown["block"])
        hold(block == shown["block"], "two blocks of one height")
        fits(shown, payer, terms["payee"], network)
        deep_and_young(shown, terms, network, accepted)
        authorized(shown, binding, terms, network)
    total = chosen(claims, evidence, list(declared), terms, network)
    surplus = min(total - terms["total_cost"], 10**18)
    hold(confirmed.get("surplus") == (str(surplus) if surplus else None), "the surplus")
    return total


def declare(event, terms, rule, declared):
    """The transactions that a PAYMENT is the first to name, with its payer and how that is bound."""
    facts, binding = event["facts"], event["derived"]["payer_binding"]
    hold(facts["payee_address"] == terms["payee"], "a PAYMENT to another account")
    hold(int(facts["amount"]) >= terms["total_cost"], "a PAYMENT of less")
    hold(binding in BINDINGS[rule], "a payer that is bound in no way there is")
    nonce = facts.get("authorization_nonce")
    is_named = nonce is not None or binding == "authorization"
    hold(not is_named or nonce == nonces(terms)[0], "a PAYMENT under another nonce")
    for name in ("tx_hash", "fee_tx_hash"):
        if name in facts:
            declared.setdefault(facts[name], (facts["payer_address"], binding))


def nonces(terms):
    """Of the payment, and of the fee."""
    rest = [terms["ledger"], terms["interaction"], terms["offer_hash"]]
    titles = [f"x811 {what} authorization v1" for what in ("payment", "fee")]
    return [keccak_256("\n".join([title, *rest]).encode()).hex() for title in titles]


def authorized(shown, binding, terms, network):
    """One nonce for each transfer."""
    is_due = binding == "authorization" and shown["transfers"]
    payment, fee = nonces(terms)
    named = [it["authorization_nonce"] for it in shown["transfers"] if "authorization_nonce" in it]
    for transfer in shown["transfers"]:
        own = [payment] * (transfer["to"] == terms["payee"])
        own += [fee] * (transfer["to"] == network.get("treasury"))
        is_own = transfer.get("authorization_nonce", None) in [None, *own]
        hold(is_own, "a transfer under another nonce")
    hold(len(set(named)) == len(named), "a nonce that moved two transfers")
    if is_due:
        hold(len(named) == len(shown["transfers"]), "a transfer under no nonce")


def plausible(shown):
    ordinals = [transfer["ordinal"] for transfer in shown["transfers"]]
    hold(ordinals == sorted(set(ordinals)), "transfers out of order")
    hold(all(ordinal < shown["transfer_count"] for ordinal in ordinals), "a transfer too many")
    hold(all(int(transfer["amount"]) > 0 for transfer in shown["transfers"]), "nothing moved")
    hold(shown["endpoints"], "nobody showed it")


def fits(shown, payer, payee, network):
    hold(shown["network"] == network["name"], "another network than the PAYMENT's")
    for transfer in shown["transfers"]:
        hold(transfer["from"] == payer, "a transfer that nobody declared")
        hold(transfer["to"] in (payee, network.get("treasury")), "a transfer to somebody else")


def deep_and_young(shown, terms, network, accepted):
    level = LEVELS.index(shown["level"])
    hold(shown["depth"] >= network["confirmed_depth"] and level > 0, "a transfer that is not deep")
    limit, final_by = network.get("safe_above"), network.get("final_by")
    deep = level == 1 and shown["depth"] >= network["confirmed_depth"] + STAND_IN_BLOCKS
    safe = (level > 1 and final_by != "depth") or (deep and final_by != "tag")
    hold(limit is None or terms["total_cost"] <= int(limit) or safe, "a block that is not safe")
    (derived, at_ms), block = accepted, shown["block"]
    heads = [head for head in derived.get("heads", []) if head["network"] == network["name"]]
    if heads:
        is_older = block["number"] <= heads[0]["number"]
    else:
        is_older = block["timestamp_s"] * 1_000 < at_ms - SLACK_MS
    fork, is_unknown = shown.get("forked_at"), shown.get("fork_unknown", False)
    if fork or is_unknown:
        hold(heads and is_older and not (fork and is_unknown), "a fork without a head above it")
        hold(not fork or fork["number"] < heads[0]["number"], "a fork above the head")
        is_older = not is_unknown and block["number"] <= fork["number"]
    own = any("authorization_nonce" in transfer for transfer in shown["transfers"])
    hold(own or not is_older, "a transfer that is older than the ACCEPT")


def chosen(claims, evidence, order, terms, network):
    """What the claims add up to, which are those that the rule of choice takes."""
    found = {}
    for shown in evidence:
        for transfer in shown["transfers"]:
            found[shown["tx_hash"], transfer["ordinal"]] = transfer["to"], int(transfer["amount"])
    for claim in claims:
        hold(claim["chain_id"] == network["chain_id"], "a claim on another chain")
    places = [(claim["tx_hash"], claim["ordinal"]) for claim in claims]
    hold(len(set(places)) == len(places), "a transfer that is claimed twice")
    transfers = [(place, *found[place]) for place in places]
    transfers.sort(key=lambda transfer: (order.index(transfer[0][0]), transfer[0][1]))
    taken = choice(transfers, terms, network.get("treasury"))
    hold(taken is not None, "less than what was due")
    hold([place for place, _, _ in taken] == places, "claims that the rule of choice does not take")
    return sum(amount for _, _, amount in taken)


def choice(transfers, terms, treasury):
    payee, total = terms["payee"], terms["total_cost"]
    for transfer in transfers:
        if transfer[1:] == (payee, total):
            return [transfer]
    price = [at for at in transfers if at[1:] == (payee, terms["price"])][:1]
    fee = [at for at in transfers if at not in price and at[1:] == (treasury, terms["protocol_fee"])][:1]
    if treasury is not None and price and fee:
        return [transfer for transfer in transfers if transfer in price + fee]
    taken, to_payee, to_both = [], 0, 0
    for transfer in transfers:
        _, to, amount = transfer
        is_short = to_both < total or (to == payee and to_payee < terms["price"])
        if is_short:
            to_both += amount
            to_payee += amount * (to == payee)
            taken.append(transfer)
    return taken if to_payee >= terms["price"] and to_both >= total else None
