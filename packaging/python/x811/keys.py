"""Keys, and envelopes sealed and verified by them (docs/connect.md, sections 2, 3 and 9)."""

import base64
import hashlib
import json
import os
import re
import stat
import time
import uuid
from pathlib import Path

import rfc8785
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from .plain import plain

BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
#: What stands before an Ed25519 key in multicodec.
ED25519 = b"\xed\x01"


def canonical(value) -> bytes:
    """The RFC 8785 form of a JSON value."""
    return rfc8785.dumps(value)


def unpadded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def multibase(key: bytes) -> str:
    """A public key of 32 bytes as documents write it, `z6Mk…`."""
    number, text = int.from_bytes(ED25519 + key, "big"), ""
    while number:
        number, text = number // 58, BASE58[number % 58] + text
    return "z" + text


def from_multibase(text: str) -> bytes:
    """The 32 bytes of a key in multibase; ValueError where it is none."""
    number = 0
    for letter in text[1:]:
        number = number * 58 + BASE58.index(letter)
    data = number.to_bytes(34, "big") if number < 1 << 272 else b""
    if text[:1] != "z" or data[:2] != ED25519:
        raise ValueError(f"not an Ed25519 key in multibase: {text!r}")
    return data[2:]


def uuid7(at_ms: int) -> str:
    """A UUIDv7 of that moment, in milliseconds since 1970."""
    rest = int.from_bytes(os.urandom(10), "big")
    number = at_ms << 80 | 7 << 76 | (rest >> 68) << 64 | 2 << 62 | rest & (1 << 62) - 1
    return str(uuid.UUID(int=number))


def as_uuid(text: str) -> str | None:
    """The text where it is a UUID as the protocol writes them; of nothing else a file is made."""
    return text if re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", text) else None


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def rfc3339(at_ms: int) -> str:
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(at_ms // 1000))}.{at_ms % 1000:03}Z"


def digest_of(envelope: dict) -> str:
    """SHA-256 of what is signed, in hex: the record of the envelope names it."""
    said = {name: value for name, value in envelope.items() if name != "signature"}
    return hashlib.sha256(canonical(said)).hexdigest()


def verify(envelope: dict, keys: list[dict]) -> bool:
    """Whether one of `keys` (`{key, profile}`, as the registry has them) signed the envelope."""
    said = {name: value for name, value in envelope.items() if name != "signature"}
    try:
        body = canonical(said)
        signature = base64.urlsafe_b64decode(str(envelope.get("signature")) + "==")
        for known in keys:
            signed = body if known["profile"] == "direct" else hashlib.sha256(body).digest()
            key = Ed25519PublicKey.from_public_bytes(from_multibase(known["key"]))
            try:
                key.verify(signature, signed)
                return True
            except InvalidSignature:
                continue
    except (ValueError, rfc8785.CanonicalizationError):
        pass
    return False


class Keys:
    """The signing key of one agent. Not shown by `repr`."""

    def __init__(self, did: str, seed: bytes, profile: str = "digest"):
        self.did = did
        self.profile = profile
        self._key = Ed25519PrivateKey.from_private_bytes(seed)
        self.public = multibase(self._key.public_key().public_bytes_raw())

    @classmethod
    def of_home(cls, home: str | Path, name: str) -> "Keys":
        """Those of an agent that `x811 agent new NAME` made in that directory (mode 0600)."""
        path = Path(home) / "agents" / f"{name}.json"
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & 0o077:
            raise PermissionError(f"{path} has mode {mode:04o}, so others can read the keys in it; "
                                  "run `chmod 600` on it, and make a new agent if someone may have")
        agent = json.loads(path.read_text())
        return cls(agent["did"], bytes.fromhex(agent["signing_key"]), agent["profile"])

    def sign(self, data: bytes) -> bytes:
        return self._key.sign(data)

    def seal(self, to: str, kind: str, payload: dict) -> dict:
        """A signed envelope, with a new id and nonce, and the payload as JSON has it. Raises a ValueError that names
        the member where JSON cannot represent one. Sealing sends nothing."""
        at_ms = now_ms()
        envelope = {
            "version": "0.1.0", "id": uuid7(at_ms), "type": kind, "from": self.did, "to": to,
            "created": rfc3339(at_ms), "nonce": str(uuid.uuid4()), "payload": plain(payload),
        }
        body = canonical(envelope)
        signed = body if self.profile == "direct" else hashlib.sha256(body).digest()
        return envelope | {"signature": unpadded(self.sign(signed))}

    def signed_read(self, method: str, authority: str, path: str, query: str, offset_ms: int = 0) -> dict[str, str]:
        """The headers that make a request one of this agent (RFC 9421), good for one try; signed at the time of a
        clock that is `offset_ms` ahead of this machine's."""
        covered = (f'("@method" "@authority" "@path" "@query");created={(now_ms() + offset_ms) // 1000}'
                   f';nonce="{unpadded(os.urandom(16))}";keyid="{self.did}#{self.public}";alg="ed25519"')
        base = (f'"@method": {method}\n"@authority": {authority}\n"@path": {path}\n'
                f'"@query": ?{query}\n"@signature-params": {covered}')
        signature = base64.b64encode(self.sign(base.encode())).decode()
        return {"Signature-Input": f"sig={covered}", "Signature": f"sig=:{signature}:"}
