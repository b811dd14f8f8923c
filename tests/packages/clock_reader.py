"""Reads a ledger through the wheel: `clock_reader.py URL READ...`. Prints for each read whether it was answered."""

import json
import sys

import x811

KEYS = x811.Keys("did:x811:019c8c61-8129-7511-9f31-aa5142e65448", bytes(range(32)))
LEDGER = x811.Ledger(sys.argv[1], KEYS)
READS = {
    "read": lambda: LEDGER.interaction("019c8c61-8129-7511-9f31-aa5142e6544a"),
    "stream": lambda: next(LEDGER.stream(None, "one")),
    "unsigned": lambda: LEDGER.trust(KEYS.did),
}


def is_answered(read):
    try:
        read()
        return True
    except x811.Refused as refused:
        assert refused.code in ("X811-2002", "X811-2003"), refused
        return False


print(json.dumps([is_answered(READS[name]) for name in sys.argv[2:]]))
