"""Checks compact receipts with scitt-cose: code that shares nothing with ours.

A job is a file and the keys of log and issuer in hex, and is answered as in tlog/main.go.
"""

import sys
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from scitt_cose import extract_receipts, parse_signed_statement, verify_receipt
from scitt_cose.cose_sign1 import CoseError


def hold(it_does, why):
    if not it_does:
        raise ValueError(why)


def pem(digits):
    key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(digits))
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def statement(file, log, issuer):
    message = Path(file).read_bytes()
    parsed = parse_signed_statement(message, public_key_pem=pem(issuer))
    hold(parsed["signature_verified"] is True, "the issuer did not sign it")
    receipts = extract_receipts(message)
    hold(len(receipts) == 1, f"{len(receipts)} receipts")
    entry = parsed["payload"].hex()
    result = verify_receipt(receipts[0], leaf_entry_hex=entry, log_public_key_pem=pem(log))
    hold(result.ok, "; ".join(result.errors))
    return f"record {result.leaf_index} of {result.tree_size}, by {parsed['issuer']}"


def judged(kind, *words):
    hold(kind == "statement", "no such job")
    try:
        return f"ok\t{statement(*words)}"
    except (ValueError, CoseError) as refusal:
        return "refused\t" + " ".join(str(refusal).split())


for job in sys.stdin:
    print(judged(*job.removesuffix("\n").split("\t")))
