"""Judges values by JSON Schemas with PyPI `jsonschema`: code that shares nothing with ours.

A job is a file of `{"schema": …, "instance": …}`, one a line; it is answered with one letter for each:
`y` where the instance fits, `n` where it does not, `x` where the schema is none. The job `keywords` is
answered with every word of the 2020-12 vocabularies.
"""

import json
import sys
from pathlib import Path

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from jsonschema_specifications import REGISTRY


def keywords():
    known = set(Draft202012Validator.VALIDATORS)
    for uri in REGISTRY:
        if "2020-12" in uri:
            known |= set(REGISTRY.contents(uri).get("properties", {}))
    return sorted(known)


def verdict(line):
    case = json.loads(line)
    try:
        Draft202012Validator.check_schema(case["schema"])
    except SchemaError:
        return "x"
    fits = Draft202012Validator(case["schema"]).is_valid(case["instance"])
    return "y" if fits else "n"


for job in sys.stdin:
    what, *rest = job.rstrip("\n").split("\t")
    if what == "keywords":
        print("ok\t" + " ".join(keywords()), flush=True)
    else:
        lines = Path(rest[0]).read_text(encoding="utf-8").splitlines()
        print("ok\t" + "".join(map(verdict, lines)), flush=True)
