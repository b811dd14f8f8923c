"""Keys, signatures, trees and checkpoints, as FORMAT.md has them."""

from base64 import b64decode, urlsafe_b64decode
from hashlib import sha256

from canonical import canonical
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def hold(it_does, why):
    if not it_does:
        raise ValueError(why)


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


def rotate(keys, ledger, event):
    """The keys after a `ledger_key_rotated`."""
    role, old, new = event["role"], event["old_key"], event["new_key"]
    hold(keys[role] == old, "a rotation of another key")
    lines = ["x811 ledger key v1", ledger, role, old, new]
    verify(public_key(old), unpadded(event["proof"]), "\n".join(lines).encode(), "a rotation")
    return keys | {role: new}


def listed(rotation):
    """A `ledger_key_rotated`, a position beside its event, as a keys statement lists it."""
    event = rotation["event"]
    keys = {"old": event["old_key"], "new": event["new_key"], "role": event["role"]}
    return keys | {"position": rotation["position"]}


def verify_keys(statement, opened, keys, rotations, checkpoint):
    """The keys statement of a checkpoint of the ledger that `opened` its log: by the checkpoint key
    in force, over these rotations and no others."""
    signature = unpadded(statement["signature"])
    said = {name: statement[name] for name in statement if name != "signature"}
    size, root = checkpoint
    due = {"log_id": opened["log_id"], "origin": opened["origin"], "keys": keys}
    due |= {"size": size, "root": root.hex(), "rotations": [listed(it) for it in rotations]}
    hold(said == due, "the keys statement")
    signed = b"x811 keys v1\n" + canonical(said)
    verify(public_key(keys["checkpoint"]), signature, signed, "the keys statement")


def verify_end(end, keys):
    """The end of a stream, by the checkpoint key."""
    said = {name: end[name] for name in end if name != "signature"}
    is_paid_for = end["stream"].startswith("interaction:")
    hold(("standing" in end) == is_paid_for, "the standing of an end")
    signed = b"x811 stream end v2\n" + canonical(said)
    verify(public_key(keys["checkpoint"]), unpadded(end["signature"]), signed, "an end")


def standing_after(standing, gone, event):
    """What became of a payment after one more event; `gone` are its transactions that are."""
    kind = event["type"]
    if kind == "confirmed":
        return "paid"
    if kind == "reversed":
        gone.add(event["tx_hash"])
        return "reversed"
    if kind == "returned":
        gone.discard(event["tx_hash"])
        return standing if gone else "returned"
    return standing


def leaf_hash(leaf):
    return sha256(b"\0" + leaf).digest()


def node(left, right):
    return sha256(b"\x01" + left + right).digest()


def root_of(hashes):
    if len(hashes) < 2:
        return hashes[0] if hashes else sha256().digest()
    middle = half(len(hashes))
    return node(root_of(hashes[:middle]), root_of(hashes[middle:]))


def half(leaves):
    """The largest power of two below."""
    return 1 << ((leaves - 1).bit_length() - 1)


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


def root_by_multiproof(leaves, size, hashes):
    """From the root down, left before right: what is beside the leaves is the next hash."""
    hashes = iter(hashes)

    def subtree(start, leaves_in_it):
        end = start + leaves_in_it
        if not any(start <= position < end for position in leaves):
            return next(hashes)
        if leaves_in_it == 1:
            return leaves[start]
        left = half(leaves_in_it)
        return node(subtree(start, left), subtree(start + left, leaves_in_it - left))

    hold(leaves and max(leaves) < size, "a record behind the checkpoint")
    root = subtree(0, size)
    hold(next(hashes, None) is None, "hashes that are too many")
    return root


def checkpoint_parts(note):
    """Origin, size, root, and what is needed to verify the signatures."""
    text, empty, lines = note.rpartition("\n\n")
    hold(empty and lines.endswith("\n"), "no signatures")
    origin, size, root = text.split("\n")
    hold(str(int(size)) == size, "the checkpoint's size")
    return origin, int(size), b64decode(root, validate=True), (text, lines)


def verify_checkpoint(origin, signed, key):
    text, lines = signed
    key_id = sha256(origin.encode() + b"\n\x01" + key).digest()[:4]
    names = [line.split(" ") for line in lines.removesuffix("\n").split("\n")]
    signed = [b64decode(encoded, validate=True) for _, name, encoded in names if name == origin]
    signed = [signature[4:] for signature in signed if signature[:4] == key_id]
    hold(signed, "a checkpoint that the ledger did not sign")
    for signature in signed:
        verify(key, signature, f"{text}\n".encode(), "a checkpoint")
