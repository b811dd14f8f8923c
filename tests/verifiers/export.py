"""A second reader of exports and bundles, written from FORMAT.md and not from our code.

It checks what needs no rules of trade: bytes, hash chain, tree, paths, checkpoints, ends of streams,
bodies and signatures. Jobs are lines `export FILE`, answered as by tlog/main.go.
"""

import json
import sys
from base64 import b64decode, urlsafe_b64decode
from hashlib import sha256
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def hold(it_does, why):
    if not it_does:
        raise ValueError(why)


def canonical(value):
    """RFC 8785, for values without fractions and with member names in ASCII."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode()


def read_json(line):
    value = json.loads(line)
    hold(canonical(value) == line, "a line that is not in RFC 8785 form")
    return value


def unpadded(text):
    decoded = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    hold("=" not in text, "padding")
    return decoded


def public_key(multibase):
    """`z`, and base58btc of ed 01 and the 32 bytes."""
    hold(multibase[:1] == "z", "a key that is not multibase")
    number = 0
    for letter in multibase[1:]:
        number = number * 58 + BASE58.index(letter)
    encoded = number.to_bytes(34, "big")
    hold(encoded[:2] == b"\xed\x01", "a key that is not Ed25519")
    return encoded[2:]


def verify(key, signature, message, what):
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except InvalidSignature:
        raise ValueError(f"signature of {what}") from None


def node(left, right):
    return sha256(b"\x01" + left + right).digest()


def root_of(hashes):
    if len(hashes) < 2:
        return hashes[0] if hashes else sha256().digest()
    middle = 1 << ((len(hashes) - 1).bit_length() - 1)
    return node(root_of(hashes[:middle]), root_of(hashes[middle:]))


def root_by_path(leaf, position, size, path):
    """RFC 9162 section 2.1.3.2."""
    hold(position < size, "a record behind the checkpoint")
    at, last, root = position, size - 1, leaf
    for sibling in path:
        hold(last > 0, "a path that is too long")
        if at % 2 or at == last:
            root = node(sibling, root)
            while at % 2 == 0:
                at, last = at >> 1, last >> 1
        else:
            root = node(root, sibling)
        at, last = at >> 1, last >> 1
    hold(last == 0, "a path that is too short")
    return root


class Log:
    """What the lines before the current one have said."""

    def __init__(self, header):
        self.version = header.pop("x811_export")
        hold(self.version in (1, 2), "a version that is not known")
        self.scope = header.pop("scope", "log")
        self.header, self.keys = header, dict(header["keys"])
        self.records, self.hashes, self.streams = [], [], {}
        self.checkpoint, self.note_parts, self.ends = None, None, []
        self.body_due, self.path_due = None, False

    def is_bundle(self):
        return self.scope != "log"

    def record(self, leaf):
        record, last = read_json(leaf), self.records[-1] if self.records else None
        hold(not self.path_due, "a record without its path")
        hold(not self.ends, "a record behind the ends")
        hold(record["v"] == 1, "a record of another format")
        position = record["position"]
        if last is None or position == last["position"] + 1:
            previous = self.hashes[-1].hex() if last else "0" * 64
            hold(record["prev"] == previous, f"hash chain at {position}")
        hold(position == len(self.records) or (self.is_bundle() and last), "a gap")
        hold(not last or position > last["position"], "the order of positions")
        hold(not last or record["recorded_at_ms"] >= last["recorded_at_ms"], "time")
        stream, leaf_hash = record["stream"], sha256(b"\0" + leaf).digest()
        seq, _ = self.streams.get(stream, (-1, None))
        hold(record["stream_seq"] == seq + 1, f"a gap in {stream}")
        self.streams[stream] = (seq + 1, leaf_hash.hex())
        self.records.append(record)
        self.hashes.append(leaf_hash)
        self.event(record)
        self.path_due = self.is_bundle()

    def event(self, record):
        event, self.body_due = record["event"], None
        if record["position"] == 0:
            opened = dict(event)
            hold(opened.pop("type") == "ledger_opened", "position 0")
            hold(opened == self.header, "header and position 0")
        if event["type"] == "ledger_key_rotated":
            self.rotated(event)
        if envelope := event.get("envelope"):
            did, key = envelope["key"].split("#")
            hold(did == envelope["from"], "the key of somebody else")
            self.body_due = envelope
            if envelope["profile"] == "digest":
                digest, signature = bytes.fromhex(envelope["digest"]), unpadded(envelope["signature"])
                verify(public_key(key), signature, digest, f"record {record['position']}")

    def rotated(self, event):
        role, old, new = event["role"], event["old_key"], event["new_key"]
        hold(self.keys[role] == old, "a rotation of another key")
        lines = ["x811 ledger key v1", self.header["did"], role, old, new]
        proof = unpadded(event["proof"])
        verify(public_key(old), proof, "\n".join(lines).encode(), "a rotation")
        self.keys[role] = new

    def body(self, body):
        envelope, self.body_due = self.body_due, None
        hold(envelope, "a body that belongs to no record")
        hold(self.path_due == self.is_bundle(), "a body behind the path")
        hold(sha256(body).hexdigest() == envelope["digest"], "a body that was not signed")
        hold(len(body) == envelope["size"], "the size of a body")
        if envelope["profile"] == "direct":
            key = public_key(envelope["key"].split("#")[1])
            verify(key, unpadded(envelope["signature"]), body, "a body")

    def note(self, line):
        hold(self.version == 2, "a checkpoint in version 1")
        text, empty, lines = read_json(line).rpartition("\n\n")
        origin, size, root = text.split("\n")
        hold(origin == self.header["origin"] and empty, "the checkpoint's origin")
        hold(str(int(size)) == size, "the checkpoint's size")
        size, root = int(size), b64decode(root, validate=True)
        if self.is_bundle():
            hold(not self.records and not self.checkpoint, "the place of the checkpoint")
        else:
            hold(size == len(self.records) and root == root_of(self.hashes), "a checkpoint")
            self.signed(origin, text, lines)
        self.checkpoint, self.note_parts = (size, root), (origin, text, lines)

    def signed(self, origin, text, lines):
        """Whether the checkpoint is by the key in force after all the records it covers."""
        key = public_key(self.keys["checkpoint"])
        key_id = sha256(origin.encode() + b"\n\x01" + key).digest()[:4]
        names = [line.split(" ") for line in lines.removesuffix("\n").split("\n")]
        signed = [b64decode(encoded, validate=True) for _, name, encoded in names if name == origin]
        signed = [signature[4:] for signature in signed if signature[:4] == key_id]
        hold(signed, "a checkpoint that the ledger did not sign")
        for signature in signed:
            verify(key, signature, f"{text}\n".encode(), "a checkpoint")

    def path(self, line):
        hold(self.path_due and self.checkpoint, "a path that belongs to no record")
        self.path_due, (size, root) = False, self.checkpoint
        path = [bytes.fromhex(hash) for hash in read_json(line)]
        position = self.records[-1]["position"]
        found = root_by_path(self.hashes[-1], position, size, path)
        hold(found == root, f"the path of {position}")

    def end(self, line):
        end = read_json(line)
        signature = unpadded(end.pop("signature"))
        signed = b"x811 stream end v1\n" + canonical(end)
        verify(public_key(self.keys["receipt"]), signature, signed, "an end")
        hold(end["tree_size"] == self.checkpoint[0], "an end of another tree")
        last = (end.get("last_seq", -1), end.get("last_hash"))
        hold(self.streams.get(end["stream"], (-1, None)) == last, "the end of a stream")
        self.ends.append(end["stream"])

    def streams_due(self):
        """Those that the interaction's replay rests on."""
        stream = f"interaction:{self.scope['interaction']}"
        request = next((record for record in self.records if record["stream"] == stream), None)
        hold(request, "no record of the interaction")
        envelope, position = request["event"]["envelope"], request["event"]["derived"]["parameters"]
        parameters = next(record for record in self.records if record["position"] == position)
        networks = (network["name"] for network in parameters["event"]["networks"])
        return {stream, "ledger", f"agent:{envelope['from']}", f"agent:{envelope['to']}"} | {
            f"network:{name}" for name in networks
        }

    def trailer(self, line):
        trailer = read_json(line)
        hold(trailer.pop("x811_trailer") == 1 and not self.path_due, "the trailer")
        size, root = len(self.records), root_of(self.hashes) if not self.is_bundle() else None
        due = {"head": self.hashes[-1].hex()}
        if self.is_bundle():
            self.signed(*self.note_parts)
            hold(self.ends == sorted(self.streams_due()), "the streams and their ends")
            due["records"], (size, root) = size, self.checkpoint
        hold(trailer == due | {"size": size, "root": root.hex()}, "the trailer")


def export(file):
    data = Path(file).read_bytes()
    hold(data.endswith(b"\n") and b"\r" not in data, "the line ends")
    header, *lines, trailer = data[:-1].split(b"\n")
    log = Log(read_json(header))
    kinds = {b"r ": log.record, b"b ": log.body, b"c ": log.note, b"p ": log.path, b"e ": log.end}
    for line in lines:
        hold(line[:2] in kinds, "a line of no known kind")
        kinds[line[:2]](line[2:])
    log.trailer(trailer)
    return f"{len(log.records)} records"


def judged(job, *words):
    hold(job == "export", job)
    try:
        return f"ok\t{export(*words)}"
    except (ValueError, LookupError, TypeError, AttributeError, StopIteration) as refusal:
        return "refused\t" + " ".join(f"{refusal!r}".split())


for job in sys.stdin:
    print(judged(*job.removesuffix("\n").split("\t")))
