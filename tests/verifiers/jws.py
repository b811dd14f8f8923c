"""Checks agreements with joserfc: code that shares nothing with ours.

A job is a JWS in its general form, and is answered as in tlog/main.go. Which key is whose comes from
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


def judged(kind, *words):
    hold(kind == "jws", "no such job")
    try:
        return f"ok\t{agreement(*words)}"
    except (ValueError, KeyError, TypeError, JoseError) as refusal:
        return "refused\t" + " ".join(f"{type(refusal).__name__}: {refusal}".split())


for job in sys.stdin:
    print(judged(*job.removesuffix("\n").split("\t")))
