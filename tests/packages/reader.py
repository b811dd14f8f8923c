"""Reads a ledger through the wheel: `reader.py URL CASES`. Prints one JSON value: the document about the ledger and
the first message of its stream, or the fault. CASES is a table of proxies, and is checked first."""

import json
import os
import sys
from urllib.parse import urlsplit

import x811
from x811.outgoing import proxy_for

URL, CASES = sys.argv[1], sys.argv[2]
KEYS = x811.Keys("did:x811:019c8c61-8129-7511-9f31-aa5142e65448", bytes(range(32)))


def named(case):
    try:
        proxy = proxy_for(urlsplit(case["url"]), case["environment"])
    except ValueError as fault:
        assert "NO_PROXY" in str(fault), fault
        return "fault"
    return proxy and f"{proxy.host}:{proxy.port}"


for case in json.loads(CASES):
    assert named(case) == case["proxy"], (case, named(case))
assert "secret" not in repr(proxy_for(urlsplit("http://ledger.example"), {"HTTP_PROXY": "http://ada:secret@b:2"}))
try:
    ledger = x811.Ledger(URL, KEYS)
    # Twice, as loops do.
    assert ledger.trust(KEYS.did) == ledger.trust(KEYS.did)
    message = next(page["messages"][0] for page in ledger.stream(None, "one") if page["messages"])
    print(json.dumps({"info": ledger.info(), "message": message}))
except (x811.Unreachable, ValueError) as fault:
    print(json.dumps({"fault": str(fault)}))
