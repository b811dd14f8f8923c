"""Checks agreements and traces with joserfc: code that shares nothing with ours.

A job is a JWS in its general form, or a trace and the key that it has to be by, and is answered as in
tlog/main.go. Which key is whose comes from
`kid`, as in any tool that knows nothing of a ledger: a DID, `#`, and the key in multibase form.
"""

import json
import sys
from hashlib import sha256
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicKey
from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, OKPKey

# Bitcoin's alphabet, of base58btc.
ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
ED25519 = b"\xed\x01"
P256 = b"\x80\x24"


def hold(it_does, why):
    if not it_does:
        raise ValueError(why)


def decoded(text, size):
    hold(text.startswith("z"), "kid names no key in base58btc")
    number = 0
    for letter in text[1:]:
        hold(letter in ALPHABET, "kid names no key in base58btc")
        number = number * 58 + ALPHABET.index(letter)
    return number.to_bytes(size, "big")


def public_key(kid):
    coded = decoded(kid.partition("#")[2], 34)
    hold(coded.startswith(ED25519), "kid names no Ed25519 key")
    return coded.removeprefix(ED25519)


def key_of(member):
    from joserfc.util import urlsafe_b64encode

    x = urlsafe_b64encode(public_key(member.headers()["kid"])).decode()
    return OKPKey.import_key({"kty": "OKP", "crv": "Ed25519", "x": x})


def agreement(file):
    whole = json.loads(Path(file).read_bytes())
    read = jws.deserialize_json(whole, key_of, algorithms=["EdDSA", "Ed25519"])
    signers = {member.headers()["kid"].partition("#")[0] for member in read.members}
    signed = json.loads(read.payload)
    hold(signers == {signed["consumer"], signed["provider"]}, "others signed it")
    return f"revision {signed['revision']}"


CLAIMS = {"ect_ext", "exec_act", "exp", "iat", "iss", "jti", "pred", "recorded_at_ms", "wid"}


def trace(file, kid):
    """Tokens of one ledger, each behind those that it rests on; the DAG is checked here."""
    whole = json.loads(Path(file).read_bytes())
    known, nodes = {}, []
    for token in whole["tokens"]:
        read = jws.deserialize_compact(token, key_of, algorithms=["EdDSA", "Ed25519"])
        header = read.headers()
        hold(header["kid"] == kid and header["typ"] == "exec+jwt", "another key, or no such token")
        claims = json.loads(read.payload)
        hold(set(claims) == CLAIMS, "other claims")
        hold(claims["iss"] == kid.partition("#")[0], "another issuer")
        hold(claims["exp"] == claims["iat"] + 600, "another life")
        hold(claims["wid"] == whole["wid"], "of another trace")
        hold(claims["jti"] not in known, "twice")
        before = [known.get(node) for node in claims["pred"]]
        hold(None not in before, "it rests on what is not before it")
        hold(all(at <= claims["recorded_at_ms"] for at in before), "it rests on what came later")
        hold(len(json.dumps(claims["ect_ext"], separators=(",", ":"))) <= 4096, "too long")
        known[claims["jti"]] = claims["recorded_at_ms"]
        nodes.append(claims)
    hold(known, "no tokens")
    held = owned(nodes, whole.get("own", []))
    return f"{len(known)} nodes" + (f", {held} of agents" if held else "")


def owned(nodes, own):
    """Tokens of agents: each is one whose hash the ledger signed, by whom it says, and rests on what is
    before it. How many of them hold."""
    named = {}
    for node in nodes:
        for area in node["ect_ext"].values():
            for one in area.get("ect", []):
                named[node["jti"], one["hash"]] = (one["by"], node)
    places = {node["jti"]: place for place, node in enumerate(nodes)}
    known, held = {}, 0
    for one in own:
        digest = sha256(one["token"].encode()).hexdigest()
        hold((one["node"], digest) in named, "a token of an agent that the ledger does not name")
        by, node = named.pop((one["node"], digest))
        before = {other["jti"] for other in nodes[: places[node["jti"]]]} | set(known)
        try:
            known[step(one["token"], by, node, before)] = by
            held += 1
        except (ValueError, KeyError, TypeError, JoseError):
            continue  # An agent's own bad token takes nothing from the trace.
    return held


def step(token, by, node, before):
    read = jws.deserialize_compact(token, own_key, algorithms=["EdDSA", "Ed25519", "ES256"])
    header, claims = read.headers(), json.loads(read.payload)
    hold(set(header) == {"alg", "kid", "typ"} and header["typ"] == "exec+jwt", "another header")
    hold(header["alg"] == "ES256" or header["kid"].partition("#")[0] == by, "somebody else's key")
    hold(claims["iss"] == by and claims["exec_act"], "another issuer")
    hold(claims.get("wid", node["wid"]) == node["wid"], "of another trace")
    hold(claims["jti"] not in before | {node["jti"]} and before.issuperset(claims.get("pred", [])), "the order")
    hold(claims["iat"] <= node["recorded_at_ms"] // 1_000 + 300, "made after its message")
    hold("exp" not in claims or claims["exp"] > claims["iat"], "it ends before it begins")
    return claims["jti"]


def own_key(member):
    from joserfc.util import urlsafe_b64encode

    header = member.headers()
    if header["alg"] != "ES256":
        return key_of(member)
    text = header["kid"].removeprefix("did:key:").partition("#")[0]
    coded = decoded(text, 35)
    hold(coded.startswith(P256), "kid names no P-256 key")
    point = EllipticCurvePublicKey.from_encoded_point(SECP256R1(), coded.removeprefix(P256)).public_numbers()
    part = lambda number: urlsafe_b64encode(number.to_bytes(32, "big")).decode()
    return ECKey.import_key({"kty": "EC", "crv": "P-256", "x": part(point.x), "y": part(point.y)})


def judged(kind, *words):
    jobs = {"jws": agreement, "trace": trace}
    hold(kind in jobs, "no such job")
    try:
        return f"ok\t{jobs[kind](*words)}"
    except (ValueError, KeyError, TypeError, JoseError) as refusal:
        return "refused\t" + " ".join(f"{type(refusal).__name__}: {refusal}".split())


for job in sys.stdin:
    print(judged(*job.removesuffix("\n").split("\t")))
