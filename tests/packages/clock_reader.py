"""Two reads and a stream of one ledger through the wheel: `clock_reader.py URL`; whether each is answered."""

import json
import sys

import x811

KEYS = x811.Keys("did:x811:019c8c61-8129-7511-9f31-aa5142e65448", bytes(range(32)))
LEDGER = x811.Ledger(sys.argv[1], KEYS)


def is_answered(read):
    try:
        read()
        return True
    except x811.Refused as refused:
        assert refused.code == "X811-2002", refused
        return False


READS = [lambda: LEDGER.by_id("one"), lambda: LEDGER.by_id("two"), lambda: next(LEDGER.stream(None, "one"))]
print(json.dumps([is_answered(read) for read in READS]))
