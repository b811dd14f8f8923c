"""What a record says of a message, from the message alone: written from EVENTS.md."""

from datetime import datetime, timezone
from hashlib import sha256
from re import fullmatch

import rounds
import sessions
from canonical import canonical, number
from signed import hold, public_key, unpadded, verify

# The only decision rules that are known.
RULES = 2
REGISTRY = "x811.registry/"
NEGOTIATION = "x811.negotiation/"
CAPABILITY = "x811.capability/"
CONSENSUS = "x811.consensus/"
ADVERT = "x811.capability/advertise"


def envelope_of(body, message, key, profile, signature):
    """The member `envelope` of the record, once the signature holds."""
    envelope = {
        "created_ms": milliseconds(message["created"]),
        "digest": sha256(body).hexdigest(),
        "from": message["from"],
        "id": message["id"],
        "key": f"{message['from']}#{key}",
        "nonce_tag": tag(message["from"], message["nonce"]),
        "profile": profile,
        "signature": signature,
        "size": len(body),
        "to": message["to"],
        "type": message["type"],
        "version": message["version"],
    }
    if "expires" in message:
        envelope["expires_ms"] = milliseconds(message["expires"])
    signed = body if profile == "direct" else bytes.fromhex(envelope["digest"])
    verify(public_key(key), unpadded(signature), signed, f"message {message['id']}")
    return envelope


def tag(sender, text):
    return sha256(f"{sender}\0{text}".encode()).hexdigest()


def milliseconds(text):
    """RFC 3339, rounded down; a leap second is no time."""
    form = r"(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)"
    parts = fullmatch(form, text)
    hold(parts, "a time that is not RFC 3339")
    day, time, fraction, offset = parts.groups()
    zone = "+00:00" if offset in "Zz" else offset
    moment = datetime.fromisoformat(f"{day}T{time}{zone}").astimezone(timezone.utc)
    whole = int(moment.timestamp()) * 1_000
    return whole + int((fraction or "").ljust(3, "0")[:3])


def facts_of(message):
    kind, payload = message["type"], message["payload"]
    of = {
        "x811/request": request,
        "x811/offer": offer,
        "x811/accept": accept,
        "x811/reject": reject,
        "x811/result": result,
        "x811/verify": verdict,
        "x811/payment": payment,
        "x811/error": error,
    }.get(kind, custom)
    if kind.startswith(NEGOTIATION):
        facts = negotiation(kind.removeprefix(NEGOTIATION), payload)
    elif kind == ADVERT:
        facts = advert(payload, message["from"])
    elif kind.startswith(CAPABILITY):
        facts = sessions.facts_of(kind.removeprefix(CAPABILITY), payload)
    elif kind.startswith(CONSENSUS):
        facts = rounds.facts_of(kind.removeprefix(CONSENSUS), message, milliseconds)
    else:
        facts = of(payload, message["from"])
    if kind == "x811/request":
        named = payload["parameters"].get("negotiation_id")
        facts["negotiation_id"] = named and contract_id(named)
        facts["agreement_id"] = payload["parameters"].get("agreement_id")
    if kind == "x811/offer":
        facts["deliverables_hash"] = sha256(canonical(payload["deliverables"])).hexdigest()
    return {name: value for name, value in facts.items() if value is not None}


def contract_id(text):
    hold(text.startswith("neg-"), "the id of a negotiation")
    return text.removeprefix("neg-")


def negotiation(verb, payload):
    facts = {}
    if verb != "offer":
        facts["negotiation_id"] = contract_id(payload["negotiation_id"])
        facts["step_id"] = payload["step_id"]
    if verb == "accept":
        return facts | {"terms_hash": payload["terms_hash"]}
    facts["message_hash"] = optional(payload, "message", digest)
    if verb in ("offer", "counter"):
        facts["terms"] = terms(payload["terms"])
        facts["expires_at_ms"] = optional(payload, "expires_at", milliseconds)
    if verb == "offer":
        facts["max_turns"] = optional(payload, "max_rounds", whole)
        facts["parent"] = optional(payload, "parent_negotiation_id", contract_id)
    return facts


def terms(said):
    amount, deliverables = said["amount"], said.get("deliverables")
    is_usdc = amount["currency"] == "USDC"
    facts = {
        "amount": from_decimal(amount["value"]) if is_usdc else None,
        "amount_of": said["amount_of"],
        "currency": amount["currency"],
        "deadline_s": optional(said, "deadline_s", whole),
        "deliverables_hash": deliverables and sha256(canonical(deliverables)).hexdigest(),
        "payee": said["payee"],
        "payer": said["payer"],
        "task_type": said.get("task_type"),
        "terms_hash": sha256(canonical(said)).hexdigest(),
    }
    return {name: value for name, value in facts.items() if value is not None}


def advert(payload, sender):
    """A descriptor: who publishes it speaks for itself."""
    hold(payload["agent_id"] == sender, "a descriptor of another agent")
    return {
        "capabilities": [capability(each) for each in payload["capabilities"]],
        "payload_hash": payload_hash(payload),
        "protocol": {
            "deprecated": payload["deprecated_versions"],
            "max": payload["max_version"],
            "min": payload["min_version"],
        },
        "revision": whole(payload["revision"]),
    }


def capability(said):
    schema, limits = said.get("parameters_schema"), said["constraints"]
    facts = {
        "availability": said["availability"],
        "category": said["category"],
        "deprecated": said.get("deprecated_versions"),
        "max": said.get("max_version"),
        "max_payload_bytes": optional(limits, "max_payload_bytes", whole),
        "min": said.get("min_version"),
        "requests_per_minute": optional(limits, "requests_per_minute", whole),
        "schema_hash": None if schema is None else digest(canonical(schema)),
        "type": said["type"],
        "version": said["version"],
    }
    return {name: value for name, value in facts.items() if value is not None}


def request(payload, sender):
    return {
        "task_type": payload["task_type"],
        "max_budget": from_number(payload["max_budget"]),
        "deadline_s": whole(payload["deadline"]),
        "acceptance_policy": payload["acceptance_policy"],
        "threshold_amount": optional(payload, "threshold_amount", from_number),
        "idempotency_tag": tag(sender, payload["idempotency_key"]),
        "payload_hash": payload_hash(payload),
    }


def offer(payload, _):
    facts = {
        "request_id": payload["request_id"],
        "price": from_decimal(payload["price"]),
        "protocol_fee": from_decimal(payload["protocol_fee"]),
        "total_cost": from_decimal(payload["total_cost"]),
        "estimated_time_s": whole(payload["estimated_time"]),
        "expiry_s": whole(payload["expiry"]),
        "payment_address": optional(payload, "payment_address", str.lower),
        "payload_hash": payload_hash(payload),
    }
    price, fee = int(facts["price"]), int(facts["protocol_fee"])
    hold(fee == (price + 20) // 40 and int(facts["total_cost"]) == price + fee, "the fee")
    return facts


def accept(payload, _):
    return {"offer_id": payload["offer_id"], "offer_hash": payload["offer_hash"]}


def reject(payload, _):
    return {"offer_id": payload["offer_id"], "code": payload["code"]}


def result(payload, _):
    content = payload.get("content")
    matches = content is not None and digest(content) == payload["result_hash"]
    return {
        "request_id": payload["request_id"],
        "offer_id": payload["offer_id"],
        "result_hash": payload["result_hash"],
        "content_type": payload["content_type"],
        "result_size": optional(payload, "result_size", whole),
        "location": "url" if content is None else "inline",
        "content_matches": None if content is None else matches,
    }


def verdict(payload, _):
    return {
        "request_id": payload["request_id"],
        "offer_id": payload["offer_id"],
        "result_hash": payload["result_hash"],
        "verified": payload["verified"],
        "dispute_code": None if payload["verified"] else payload["dispute_code"],
    }


def payment(payload, _):
    tx_hash = payload["tx_hash"].lower()
    fee_tx_hash = optional(payload, "fee_tx_hash", str.lower)
    return {
        "request_id": payload["request_id"],
        "offer_id": payload["offer_id"],
        "tx_hash": tx_hash,
        "fee_tx_hash": None if fee_tx_hash == tx_hash else fee_tx_hash,
        "amount": from_decimal(payload["amount"]),
        "payer_address": payload["payer_address"].lower(),
        "payee_address": payload["payee_address"].lower(),
        "network": payload["network"],
        "authorization_nonce": payload.get("authorization_nonce"),
    }


def error(payload, _):
    return {"code": payload["code"], "related_message_id": payload.get("related_message_id")}


def custom(payload, _):
    return {"payload_hash": payload_hash(payload)}


def of_registry(message):
    """What an event of an agent's stream says besides its envelope, where that is plain."""
    payload, verb = message["payload"], message["type"].removeprefix(REGISTRY)
    if verb in ("deactivate", "reactivate", "revoke"):
        return {}
    said = {"document_digest": digest(canonical(payload["document"]))}
    if verb == "rotate":
        new_key = {"key": payload["new_key"], "profile": payload.get("profile", "digest")}
        return said | {"new_key": new_key, "proof": payload["proof"]}
    if verb == "register":
        profiles = payload.get("profiles", {})
        keys = keys_of(payload["document"])
        said["keys"] = [{"key": key, "profile": profiles.get(key, "digest")} for key in keys]
    if "expires_at_ms" in payload:
        said["expires_at_ms"] = whole(payload["expires_at_ms"])
    wallets = [
        {"address": wallet["address"].lower(), "kind": wallet["kind"], "proof": wallet["proof"]}
        for wallet in payload.get("wallets", [])
    ]
    return said | {"capabilities": payload["capabilities"], "wallets": wallets}


def keys_of(document):
    """The Ed25519 keys for authentication, then those for assertions, each once."""
    def resolved(url):
        return document["id"] + url if url.startswith("#") else url

    methods = document.get("verificationMethod", [])
    methods = {resolved(method["id"]): method for method in methods}
    keys = []
    for relationship in ("authentication", "assertionMethod"):
        for named in document.get(relationship, []):
            method = methods[resolved(named)] if isinstance(named, str) else named
            key = method.get("publicKeyMultibase", "")
            if key.startswith("z6Mk") and key not in keys:
                keys.append(key)
    return keys


def optional(payload, name, read):
    return read(payload[name]) if name in payload else None


def payload_hash(payload):
    return digest(canonical(payload))


def digest(value):
    return sha256(value.encode() if isinstance(value, str) else value).hexdigest()


def whole(value):
    hold(int(value) == value and value >= 0, "a number that is no integer")
    return int(value)


def from_decimal(text):
    """USDC to micro-USDC, digit by digit."""
    parts = fullmatch(r"(0|[1-9][0-9]*)(?:\.([0-9]{1,6}))?", text)
    hold(parts, "an amount that is no decimal")
    return str(int(parts[1] + (parts[2] or "").ljust(6, "0")))


def from_number(value):
    """The decimal that the number's RFC 8785 form spells, whatever its exponent."""
    mantissa, _, exponent = number(float(value)).partition("e")
    integer, _, fraction = mantissa.partition(".")
    digits, places = int(integer + fraction), 6 + int(exponent or 0) - len(fraction)
    hold(digits >= 0, "an amount below zero")
    hold(places >= 0 or digits % 10**-places == 0, "an amount that is too precise")
    return str(digits * 10**places if places >= 0 else digits // 10**-places)
