"""Checks logs and proofs with aics-tlog: code that shares nothing with ours.

The jobs are those of tlog/main.go, and are answered as there. Witnesses named with a checkpoint
must all have cosigned it.
"""

import sys
from base64 import b64decode
from pathlib import Path

from aics_tlog import (
    FileSystemTileReader,
    audit_tiles,
    leaf_hash,
    parse_checkpoint,
    parse_note,
    parse_vkey,
    verify_checkpoint,
    verify_consistency,
    verify_inclusion,
)


def hold(it_does, why):
    if not it_does:
        raise ValueError(why)


def opened(signed, vkey, *witnesses):
    """The checkpoint, once its signatures verify."""
    note, key = parse_note(signed), parse_vkey(vkey)
    witnesses = [parse_vkey(witness) for witness in witnesses]
    quorum = len(witnesses)
    result = verify_checkpoint(note, key, witnesses, quorum, expected_origin=key.name)
    hold(result.ok, result.error)
    return parse_checkpoint(note.text)


def number(digits):
    hold(digits.isdecimal() and str(int(digits)) == digits, "a number with other digits")
    return int(digits)


def hashes(lines):
    return [b64decode(line, validate=True) for line in lines]


def parts(file):
    """What stands before the first empty line, and the checkpoint behind it."""
    head, empty, checkpoint = Path(file).read_bytes().decode().partition("\n\n")
    hold(empty, "no empty line")
    return head.split("\n"), checkpoint.encode()


def after(line, start):
    hold(line.startswith(start), f"no line {start}")
    return line.removeprefix(start)


def checkpoint(file, vkey, *witnesses):
    tree = opened(Path(file).read_bytes(), vkey, *witnesses)
    return f"checkpoint of {tree.size} records"


def tiles(folder, vkey):
    tree = opened((Path(folder) / "checkpoint").read_bytes(), vkey)
    audit_tiles(FileSystemTileReader(folder), tree.size, tree.root)
    return f"{tree.size} entries in the tree"


def proof(file, vkey):
    (first, extra, index, *path), signed = parts(file)
    hold(first == "c2sp.org/tlog-proof@v1", "no proof file")
    leaf = leaf_hash(b64decode(after(extra, "extra "), validate=True))
    index, tree = number(after(index, "index ")), opened(signed, vkey)
    holds = verify_inclusion(leaf, index, tree.size, hashes(path), tree.root)
    hold(holds, "the record is not in the tree")
    return f"record {index} in the tree"


def consistency(file, older, vkey):
    (first, *path), signed = parts(file)
    old, new = opened(Path(older).read_bytes(), vkey), opened(signed, vkey)
    hold(number(after(first, "old ")) == old.size, "not from the older checkpoint on")
    holds = verify_consistency(old.size, new.size, old.root, new.root, hashes(path))
    hold(holds, "the newer tree is not the older one continued")
    return f"{old.size} records, then {new.size}"


def proofs(file):
    lines = Path(file).read_text().splitlines()
    for line in lines:
        kind, first, second, *rest = line.split()
        first, second = number(first), number(second)
        before, root, *path = map(bytes.fromhex, rest)
        hold(
            verify_inclusion(before, first, second, path, root)
            if kind == "inclusion"
            else verify_consistency(first, second, before, root, path),
            line,
        )
    return f"{len(lines)} proofs"


JOBS = {job.__name__: job for job in (checkpoint, tiles, proof, consistency, proofs)}


def judged(kind, *words):
    try:
        return f"ok\t{JOBS[kind](*words)}"
    except (ValueError, OSError) as refusal:
        return "refused\t" + " ".join(str(refusal).split())


for job in sys.stdin:
    print(judged(*job.removesuffix("\n").split("\t")))
