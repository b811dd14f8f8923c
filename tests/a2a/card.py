"""Reads an agent card with the A2A project's own SDK, which shares nothing with our server: strictly, with
every required member, and its signature under the key that the ledger's DID document has.

    python card.py CARD_FILE DID_DOCUMENT_FILE
"""

import copy
import json
import sys
from base64 import urlsafe_b64encode

from a2a.types import AgentCard
from a2a.utils import signing
from a2a.utils.proto_utils import validate_proto_required_fields
from google.protobuf.json_format import ParseDict
from jwt.api_jwk import PyJWK

ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def ed25519(multibase):
    """The 32 bytes of a key such as z6Mk…"""
    number = 0
    for letter in multibase.removeprefix("z"):
        number = number * 58 + ALPHABET.index(letter)
    code = number.to_bytes(34, "big")
    assert code[:2] == b"\xed\x01", multibase
    return code[2:]


def verify(card, document):
    methods = {method["id"]: method for method in document["verificationMethod"]}

    def key_of(kid, _jku):
        x = urlsafe_b64encode(ed25519(methods[kid]["publicKeyMultibase"])).rstrip(b"=")
        return PyJWK({"kty": "OKP", "crv": "Ed25519", "x": x.decode(), "alg": "EdDSA"})

    # Unknown members are refused.
    read = ParseDict(copy.deepcopy(card), AgentCard())
    validate_proto_required_fields(read)
    signing.create_signature_verifier(key_of, ["EdDSA"])(read)


def main(card, document):
    verify(card, document)
    changed = copy.deepcopy(card)
    changed["skills"][0]["id"] += "x"
    try:
        verify(changed, document)
    except signing.SignatureVerificationError:
        print("good", card["name"])
        return
    raise SystemExit("a changed card was taken")


with open(sys.argv[1]) as card, open(sys.argv[2]) as document:
    main(json.load(card), json.load(document))
