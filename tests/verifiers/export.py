"""A second reader of exports, bundles and receipts, written from FORMAT.md, EVENTS.md and STATES.md
and not from our code.

It checks what needs no rules of trade: bytes, hash chain, tree, paths, checkpoints, ends of streams,
bodies and signatures, that every fact is what its message says, and the roots of all states of a
whole log. Rounds it counts again, of a bundle from the bundle alone. Jobs are lines `export FILE`, `receipt FILE VKEY` and `rendered FILE`, answered as by
tlog/main.go.
"""

import sys
from pathlib import Path

import rounds
from canonical import read_json
from contests import Bundled
from messages import REGISTRY, RULES, envelope_of, facts_of, of_registry
from receipt import receipt
from rendered import rendered
from sessions import links
from signed import (
    checkpoint_parts,
    hold,
    leaf_hash,
    public_key,
    root_by_path,
    root_of,
    rotate,
    standing_after,
    unpadded,
    verify,
    verify_checkpoint,
    verify_end,
    verify_keys,
)
from states import States

# The version of the blocks of parameters that have one.
BLOCKS = 2
# Whose bundles are read.
SCOPES = ("interaction", "contract", "descriptor", "session", "agreement", "round")


class Log:
    """What the lines before the current one have said."""

    def __init__(self, header):
        version, self.scope = header.pop("x811_export"), header.pop("scope")
        known = 3 if self.is_bundle() else 2
        hold(version == known, f"a file of version {version}, known is {known}")
        self.header, self.keys = header, dict(header["keys"])
        self.records, self.hashes, self.streams = [], [], {}
        self.checkpoint, self.note_parts, self.ends = None, None, []
        self.statement, self.rotations = None, []
        self.standing, self.gone = "none", set()
        self.body_due, self.path_due = None, False
        self.states = None if self.is_bundle() else States()
        self.rounds_here = Bundled() if self.is_bundle() else self.states.rounds

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
        stream, record_hash = record["stream"], leaf_hash(leaf)
        seq, _ = self.streams.get(stream, (-1, None))
        hold(record["stream_seq"] == seq + 1, f"a gap in {stream}")
        self.streams[stream] = (seq + 1, record_hash.hex())
        self.records.append(record)
        self.hashes.append(record_hash)
        self.event(record)
        if self.states:
            self.states.after(record, record_hash.hex())
        else:
            self.rounds_here.take(record, record_hash.hex())
        self.path_due = self.is_bundle()

    def event(self, record):
        event, self.body_due = record["event"], None
        rules = event.get("rules_version", RULES)
        hold(rules == RULES, f"rules {rules}, known are {RULES}")
        if event["type"] == "parameters_set":
            blocks = (event[name] for name in ("capabilities", "rounds") if name in event)
            hold(all(block.get("version") == BLOCKS for block in blocks), f"a block that is not of version {BLOCKS}")
        if record["position"] == 0:
            opened = dict(event)
            hold(opened.pop("type") == "ledger_opened", "position 0")
            hold(opened == self.header, "header and position 0")
        if event["type"] == "ledger_key_rotated":
            self.keys = rotate(self.keys, self.header["did"], event)
            self.rotations.append(record)
        if record["stream"].startswith("interaction:"):
            self.standing = standing_after(self.standing, self.gone, event)
        if envelope := event.get("envelope"):
            did, key = envelope["key"].split("#")
            hold(did == envelope["from"], "the key of somebody else")
            self.body_due = record
            if envelope["profile"] == "digest":
                digest, signature = bytes.fromhex(envelope["digest"]), unpadded(envelope["signature"])
                verify(public_key(key), signature, digest, f"record {record['position']}")

    def body(self, body):
        record, self.body_due = self.body_due, None
        hold(record, "a body that belongs to no record")
        hold(self.path_due == self.is_bundle(), "a body behind the path")
        event, message = record["event"], read_json(body)
        said, (_, key) = event["envelope"], event["envelope"]["key"].split("#")
        due = envelope_of(body, message, key, said["profile"], said["signature"])
        hold(said == due, f"the envelope at {record['position']}")
        self.message(record, event, message)

    def message(self, record, event, message):
        """What else the record says of the message."""
        kind = event["type"]
        if record["stream"].startswith("round:"):
            rounds.by_the_key_of(event["envelope"], message)
        said = {name: event[name] for name in event if name not in ("envelope", "type")}
        if kind == "envelope_accepted":
            said, due = event["facts"], facts_of(message)
        elif kind == "notice_issued":
            due_type = notice_type(record["stream"].partition(":")[0])
            hold(message["type"] == due_type, f"the notice at {record['position']}")
            due = {"cause": message["payload"]["cause_position"], "to": message["to"]}
            if message["type"] == "x811/error":
                due["code"] = message["payload"]["code"]
            if record["stream"].startswith("round:"):
                self.notice_of_round(record, message)
        else:
            hold(message["type"].startswith(REGISTRY), f"the message at {record['position']}")
            due = of_registry(message)
            if kind == "key_rotated":
                due["old_key"] = event["envelope"]["key"].split("#")[1]
        hold(said == due, f"the facts at {record['position']}")

    def notice_of_round(self, record, message):
        """Says of its cause what stands there, and is signed inside where that is an outcome."""
        by_position = (one for one in self.records if one["position"] == record["event"]["cause"])
        cause, payload = next(by_position), message["payload"]
        said = {name: payload[name] for name in payload if name != "signature"}
        is_outcome = cause["event"]["type"] == "round_decided"
        hold(is_outcome == ("signature" in payload), f"the signal at {record['position']}")
        if is_outcome:
            rounds.signal(message)
        state = self.rounds_here.rounds[record["stream"].partition(":")[2]]
        hold(said == rounds.told_of(cause, state), f"what is told at {record['position']}")

    def note(self, line):
        origin, size, root, signed = checkpoint_parts(read_json(line))
        hold(origin == self.header["origin"], "the checkpoint's origin")
        if self.is_bundle():
            hold(not self.records and not self.checkpoint, "the place of the checkpoint")
        else:
            hold(size == len(self.records) and root == root_of(self.hashes), "a checkpoint")
            self.signed(origin, signed)
        self.checkpoint, self.note_parts = (size, root), (origin, signed)

    def state_keys(self, line):
        hold(self.is_bundle() and not self.statement, "a keys statement")
        hold(self.checkpoint and not self.records, "the place of the keys statement")
        self.statement = read_json(line)

    def signed(self, origin, signed):
        """Whether the checkpoint is by the key in force after all the records it covers."""
        verify_checkpoint(origin, signed, public_key(self.keys["checkpoint"]))

    def path(self, line):
        hold(self.path_due and self.checkpoint, "a path that belongs to no record")
        self.path_due, (size, root) = False, self.checkpoint
        path = [bytes.fromhex(hash) for hash in read_json(line)]
        position = self.records[-1]["position"]
        found = root_by_path(self.hashes[-1], position, size, path)
        hold(found == root, f"the path of {position}")

    def end(self, line):
        end = read_json(line)
        verify_end(end, self.keys)
        hold(end.get("standing", self.standing) == self.standing, "the standing of an end")
        hold(end["tree_size"] == self.checkpoint[0], "an end of another tree")
        last = (end.get("last_seq", -1), end.get("last_hash"))
        hold(self.streams.get(end["stream"], (-1, None)) == last, "the end of a stream")
        self.ends.append(end["stream"])

    def streams_due(self):
        """Those that the replay of the subject rests on."""
        hold(len(self.scope) == 1, "the scope")
        (kind,) = self.scope
        hold(kind in SCOPES, "the scope")
        stream = f"{kind}:{self.scope[kind]}"
        opening = next((record for record in self.records if record["stream"] == stream), None)
        hold(opening, f"no record of the {kind}")
        due, event = self.linked(stream) | {"ledger"}, opening["event"]
        if kind == "agreement":
            return due | {f"agent:{event[side]}" for side in ("consumer", "provider")}
        envelope, derived = event["envelope"], event["derived"]
        due.add(f"agent:{envelope['from']}")
        if kind == "descriptor":
            return due
        if kind == "round":
            return due | self.rounds_due(stream)
        due.add(f"agent:{envelope['to']}")
        if kind != "interaction":
            return due
        if "contract" in derived:
            due.add(f"contract:{derived['contract']['id']}")
        position = derived["parameters"]
        parameters = next(record for record in self.records if record["position"] == position)
        networks = (network["name"] for network in parameters["event"]["networks"])
        return due | {f"network:{name}" for name in networks}

    def linked(self, stream):
        """That stream, those that its records name, and so on."""
        due, found = set(), {stream}
        while found:
            due |= found
            named = (links(record) for record in self.records if record["stream"] in found)
            found = set().union(*named) - due
        return due

    def rounds_due(self, stream):
        """Rounds that are named from one on, and all who take part or say something there."""
        due, open_ones = set(), [stream]
        while open_ones:
            name = open_ones.pop()
            due.add(name)
            for record in self.records:
                event = record["event"]
                if record["stream"] != name or event["type"] != "envelope_accepted":
                    continue
                envelope, facts = event["envelope"], event["facts"]
                named = [*facts.get("blocked_by", ()), facts.get("resubmission_of")]
                streams = {f"round:{round}" for round in named if round}
                open_ones += streams - due
                due |= streams
                who = {envelope["from"], *facts.get("participants", ())}
                if "participants" in facts:
                    who.add(facts["leader"])
                # A ledger that leads has a stream of its own.
                due |= {f"agent:{agent}" for agent in who - {envelope["to"]}}
        return due

    def trailer(self, line):
        trailer = read_json(line)
        hold(trailer.pop("x811_trailer") == 1 and not self.path_due, "the trailer")
        size, root = len(self.records), root_of(self.hashes) if not self.is_bundle() else None
        due = {"head": self.hashes[-1].hex()}
        if self.is_bundle():
            self.signed(*self.note_parts)
            verify_keys(self.statement, self.header, self.keys, self.rotations, self.checkpoint)
            hold(self.ends == sorted(self.streams_due()), "the streams and their ends")
            due["records"], (size, root) = size, self.checkpoint
        hold(trailer == due | {"size": size, "root": root.hex()}, "the trailer")


def notice_type(subject):
    """The type of what the ledger tells of a subject of that kind."""
    if subject in ("interaction", "contract"):
        return "x811/error"
    return "x811.consensus/notice" if subject == "round" else "x811.capability/notice"


def export(file):
    data = Path(file).read_bytes()
    hold(data.endswith(b"\n") and b"\r" not in data, "the line ends")
    header, *lines, trailer = data[:-1].split(b"\n")
    log = Log(read_json(header))
    kinds = {b"r ": log.record, b"b ": log.body, b"c ": log.note, b"p ": log.path, b"e ": log.end}
    kinds[b"k "] = log.state_keys
    for line in lines:
        hold(line[:2] in kinds, "a line of no known kind")
        kinds[line[:2]](line[2:])
    log.trailer(trailer)
    root = f", root of all states {log.states.root.hex()}" if log.states else ""
    if log.is_bundle() and "round" in log.scope:
        decided = log.rounds_here.rounds[log.scope["round"]]["decided"] or {"outcome": "undecided"}
        root = f", {decided['outcome']}"
    return f"{len(log.records)} records{root}"


JOBS = {"export": export, "receipt": receipt, "rendered": rendered}


def judged(kind, *words):
    try:
        return f"ok\t{JOBS[kind](*words)}"
    except (ValueError, LookupError, TypeError, AttributeError, StopIteration) as refusal:
        return "refused\t" + " ".join(f"{refusal!r}".split())


for job in sys.stdin:
    print(judged(*job.removesuffix("\n").split("\t")))
