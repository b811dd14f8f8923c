"""Checks agreements and traces with joserfc: code that shares nothing with ours.

A job is a JWS in its general form, or a trace and the key that it has to be by, and is answered as in
tlog/main.go. Which key is whose comes from
`kid`, as in any tool that knows nothing of a ledger: a DID, `#`, and the key in multibase form.
"""

import json
import sys
from pathlib import Path

from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import OKPKey

# Bitcoin's alphabet, of base58btc.
ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
ED25519 = b"\xed\x01"


def hold(it_does, why):
    if not it_does:
        raise ValueError(why)


def public_key(kid):
    _, _, text = kid.partition("#")
    hold(text.startswith("z"), "kid names no key in base58btc")
    number = 0
    for letter in text[1:]:
        hold(letter in ALPHABET, "kid names no key in base58btc")
        number = number * 58 + ALPHABET.index(letter)
    coded = number.to_bytes(34, "big")
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
    known = {}
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
    hold(known, "no tokens")
    return f"{len(known)} nodes"


def judged(kind, *words):
    jobs = {"jws": agreement, "trace": trace}
    hold(kind in jobs, "no such job")
    try:
        return f"ok\t{jobs[kind](*words)}"
    except (ValueError, KeyError, TypeError, JoseError) as refusal:
        return "refused\t" + " ".join(f"{type(refusal).__name__}: {refusal}".split())


for job in sys.stdin:
    print(judged(*job.removesuffix("\n").split("\t")))
