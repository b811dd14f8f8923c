"""What agents earn, from records alone: written from agents.md section 4 and AX-37, not from our code.

Reads histories, one a line: {"records": [leaf…], "trust": [row…]}, and computes every row anew, in
order of position; ends with 1 at the first difference. Without input it holds the published table of
L against logarithms.
"""

import json
import re
import sys
from decimal import ROUND_HALF_UP, Decimal, getcontext
from fractions import Fraction
from pathlib import Path

getcontext().prec = 60
STATES = Path(__file__).parents[2] / "crates/eventlog/STATES.md"
FAILURES_TO_DISPUTE = 4


def logs():
    """L(n) for n below 1,000, in millionths, by logarithms."""
    exact = (Decimal(n + 1).log10() / 3 * 1_000_000 for n in range(1_000))
    return [int(value.quantize(Decimal(1), rounding=ROUND_HALF_UP)) for value in exact]


LOGS = logs()


def published():
    section = STATES.read_text().split("\n### Table of L\n")[1]
    return [int(number) for number in re.findall(r"\d+", section.split("```")[1])]


def score_hundredths(s, f, d):
    n = s + f + d
    if n == 0:
        return 50
    log = Fraction(LOGS[min(n, 999)], 1_000_000)
    score = Fraction(70 * s, s + f + 3 * d) + Fraction(20 * s, n) + 10 * log
    return int(score + Fraction(1, 2))


class Earned:
    """All counters of a log; `after` takes one record and yields the rows it makes."""

    def __init__(self):
        self.counters, self.payers, self.deals = {}, {}, {}
        self.breaches_count = False

    def after(self, record):
        kind, _, name = record["stream"].partition(":")
        event = record["event"]
        if event["type"] == "parameters_set":
            self.breaches_count = "capabilities" in event
        if event["type"] == "breach_recorded" and self.breaches_count:
            return [self.row(record["position"], event["provider"], [{"d": 1}])]
        if kind != "interaction":
            return []
        if name not in self.deals:
            envelope = event["envelope"]
            deal = {"initiator": envelope["from"], "provider": envelope["to"]}
            self.deals[name] = deal | {"failures": 0, "is_over": False, "paid": [], "gone": set()}
        deal = self.deals[name]
        moved = {}
        for party, change in self.changes(deal, event):
            moved.setdefault(deal[party], []).append(change)
        if event["type"] == "confirmed":
            self.paid_by(deal["provider"], event)
        return [self.row(record["position"], did, changes) for did, changes in moved.items()]

    def row(self, position, did, changes):
        known = self.counters.setdefault(did, {"s": 0, "f": 0, "d": 0, "contested": 0})
        for change in changes:
            for counter, by in change.items():
                known[counter] += by
        row = {"position": position, "did": did} | known
        row["score_hundredths"] = score_hundredths(known["s"], known["f"], known["d"])
        row["distinct_payers"] = len(self.payers.get(did, ()))
        return row

    def paid_by(self, provider, event):
        for claim in event["claims"]:
            for shown in event["evidence"]:
                for transfer in shown["transfers"]:
                    if (shown["tx_hash"], transfer["ordinal"]) == (claim["tx_hash"], claim["ordinal"]):
                        self.payers.setdefault(provider, set()).add(transfer["from"].lower())

    def changes(self, deal, event):
        match event["type"]:
            case "confirmed":
                deal["is_over"], deal["paid"] = True, [c["tx_hash"] for c in event["claims"]]
                # A free interaction moved nothing, and counts for nobody.
                return [("initiator", {"s": 1}), ("provider", {"s": 1})] if deal["paid"] else []
            case "reversed" if event["tx_hash"] in deal["paid"]:
                deal["gone"].add(event["tx_hash"])
                if len(deal["gone"]) == 1:
                    return [("initiator", {"s": -1, "d": 1}), ("provider", {"s": -1})]
            case "returned" if event["tx_hash"] in deal["paid"]:
                deal["gone"].discard(event["tx_hash"])
                if not deal["gone"]:
                    return [("initiator", {"s": 1, "d": -1}), ("provider", {"s": 1})]
            case "lapsed":
                lapsed = {"result": ("provider", {"f": 1}), "verify": ("initiator", {"f": 1})}
                lapsed["payment"] = ("initiator", {"d": 1})
                return [lapsed[event["window"]]] if event["window"] in lapsed else []
            case "envelope_accepted" if event["envelope"]["type"] == "x811/verify":
                if not event["facts"]["verified"]:
                    return [("provider", {"d": 1, "contested": 1})]
            case "refuted" if not deal["is_over"]:
                return self.failed(deal)
            case "looked" if not any(found["status"] == "seen" for found in event["finding"]):
                return self.failed(deal)
        return []

    def failed(self, deal):
        deal["failures"] += 1
        if deal["failures"] < FAILURES_TO_DISPUTE:
            return []
        deal["is_over"] = True
        return [("initiator", {"d": 1})]


def main():
    if LOGS != published():
        sys.exit("the published table of L is not the one of the formula")
    histories = rows = 0
    for line in sys.stdin:
        history = json.loads(line)
        earned, due = Earned(), []
        for record in history["records"]:
            due += earned.after(record)
        order = lambda row: (row["position"], row["did"])
        found = sorted(history["trust"], key=order)
        for expected, row in zip(sorted(due, key=order), found):
            if expected != row:
                sys.exit(f"history {histories}: {row}, and not {expected}")
        if len(due) != len(found):
            sys.exit(f"history {histories}: {len(found)} rows, and not {len(due)}")
        histories, rows = histories + 1, rows + len(due)
    print(f"{histories} histories, {rows} changes of trust")


main()
