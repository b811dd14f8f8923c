"""Proofs that what was acknowledged is in the log (C2SP tlog-proof), checked before they are kept.

The 202 of a ledger is unsigned: it could take a RESULT and record its lapse. So a loop fetches the proof of each
record that binds somebody from a checkpoint, and keeps it; `x811 audit LOG --proofs FOLDER` reads them.
"""

import base64
import hashlib
import json
import re

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

#: Messages whose proof is kept.
PROVEN = ("accept", "result", "verify", "payment")
#: Between one try and the next, and until a person is told, in milliseconds.
RETRY_MS, ALARM_AFTER_MS = 5_000, 60_000
#: The most hashes that a proof can need.
MOST_HASHES = 63


class ProofFault(ValueError):
    """It does not prove what it should."""


def _sha256(*parts: bytes) -> bytes:
    return hashlib.sha256(b"".join(parts)).digest()


def _base64(text: str, what: str, length: int | None = None) -> bytes:
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        data = b""
    if base64.b64encode(data).decode() != text or length not in (None, len(data)):
        raise ProofFault(f"{what} is not as it has to be")
    return data


def _decimal(text: str, what: str) -> int:
    if not re.fullmatch("0|[1-9][0-9]{0,15}", text):
        raise ProofFault(f"{what} is no whole number")
    return int(text)


def checkpoint(note: str, vkey: str) -> tuple[int, bytes]:
    """Size and root of a checkpoint that this key signed; ProofFault where it did not."""
    name, key_id, key = (vkey.split("+", 2) + ["", ""])[:3]
    key = _base64(key, "the key of the ledger", 33)
    if key[0] != 1 or _sha256(name.encode(), b"\n", key)[:4].hex() != key_id:
        raise ProofFault("the key of the ledger is no Ed25519 key of a log")
    body, _, signatures = note.rpartition("\n\n")
    body, lines = body + "\n", signatures[:-1].split("\n")
    if not signatures.endswith("\n") or "\r" in note:
        raise ProofFault("there is no checkpoint")
    is_signed = False
    for line in lines:
        dash, named, signature = (line.split(" ") + ["", ""])[:3]
        signature = _base64(signature, "a signature of the checkpoint")
        if (dash, named, signature[:4].hex()) != ("\N{EM DASH}", name, key_id):
            continue
        try:
            Ed25519PublicKey.from_public_bytes(key[1:]).verify(signature[4:], body.encode())
        except InvalidSignature:
            raise ProofFault("the checkpoint has a signature that its key did not make") from None
        is_signed = True
    if not is_signed:
        raise ProofFault("the checkpoint is not signed by the key of the ledger")
    origin, size, root, *more = body.split("\n")
    if origin != name or more != [""]:
        raise ProofFault("the checkpoint is of another log")
    return _decimal(size, "its size"), _base64(root, "its root", 32)


def _root(leaf: bytes, index: int, size: int, path: list[bytes]) -> bytes:
    """RFC 9162, section 2.1.3.2."""
    if index >= size:
        raise ProofFault("the record is behind the checkpoint")
    node, last, root = index, size - 1, leaf
    for beside in path:
        if last == 0:
            raise ProofFault("it has too many hashes")
        if node & 1 or node == last:
            root = _sha256(b"\1", beside, root)
            while node and not node & 1:
                node, last = node >> 1, last >> 1
        else:
            root = _sha256(b"\1", root, beside)
        node, last = node >> 1, last >> 1
    if last != 0:
        raise ProofFault("it has too few hashes")
    return root


def proven(text: str, vkey: str) -> tuple[int, bytes]:
    """The position and the bytes of the record that a proof file proves; ProofFault where it proves none."""
    head, _, note = text.partition("\n\n")
    first, *lines = head.split("\n")
    if first != "c2sp.org/tlog-proof@v1" or not note:
        raise ProofFault("it is no proof file with a checkpoint")
    extra = lines.pop(0) if lines and lines[0].startswith("extra ") else None
    if extra is None or not lines or not lines[0].startswith("index "):
        raise ProofFault("it has no record, or no index")
    record, index = _base64(extra[6:], "the record"), _decimal(lines.pop(0)[6:], "its index")
    if len(lines) > MOST_HASHES:
        raise ProofFault("it has too many hashes")
    path = [_base64(line, "a hash", 32) for line in lines]
    size, root = checkpoint(note, vkey)
    if _root(_sha256(b"\0", record), index, size, path) != root:
        raise ProofFault("it leads to another root")
    return index, record


def check(text: str, due: dict, vkey: str):
    """Raises ProofFault unless the file proves that the record that was named holds the envelope that was sent."""
    index, record = proven(text, vkey)
    if index != due["position"] or _sha256(b"\0", record).hex() != due["record_hash"]:
        raise ProofFault("it proves another record than the one that was acknowledged")
    try:
        head = json.loads(record)["event"]["envelope"]
        is_ours = (head["id"], head["digest"]) == (due["envelope_id"], due["digest"])
    except (ValueError, KeyError, TypeError):
        is_ours = False
    if not is_ours:
        raise ProofFault("the record does not hold the envelope that was sent")
