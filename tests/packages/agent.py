"""A provider or an initiator made of the wheel `x811-py`: `agent.py ROLE FOLDER SETTINGS`. SETTINGS is JSON:
`ledger`, `home`, `agent`, `rpc`, `negotiation`; of an initiator `caps`, `orders`, `payer`, of a provider `sales`. With `crash` (`[STEP, MOMENT]`) it is
killed once, before or after its first message of that kind leaves. With `first_gas` its first transfer has so much gas.
Prints what happens, one JSON value a line."""

import json
import os
import signal
import sys
import urllib.request
from pathlib import Path

import x811

ROLE, FOLDER, SETTINGS = sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3])
CRASH = SETTINGS.get("crash")


def crash(step, moment):
    """As a power cut would, once."""
    flag = FOLDER / "crashed"
    if CRASH == [step, moment] and not flag.exists():
        flag.touch()
        os.kill(os.getpid(), signal.SIGKILL)


class Watched(x811.Ledger):
    """Writes down what it sends before it does."""

    def send(self, envelope):
        step = json.loads(envelope)["type"].removeprefix("x811/").removeprefix("x811.")
        crash(step, "before")
        with (FOLDER / "sent").open("a") as sent:
            sent.write(envelope + "\n")
        answer = super().send(envelope)
        crash(step, "after")
        return answer


def watch(what, interaction, text):
    print(json.dumps({"what": what, "interaction": interaction, "text": text}), flush=True)


def own_payer(due):
    """Pays from an account of the node; what it sent is kept, so that it sends once, and again where that reverted."""
    kept = FOLDER / f"transfer-{due.interaction}"
    is_reverted = kept.exists() and due.refuted.get(kept.read_text()) == "reverted"
    if is_reverted or not kept.exists():
        assert is_reverted or not due.may_have_been_paid, "broken off in between"
        token = ledger.info()["networks"][0]["token"]
        data = "0xa9059cbb" + due.payee[2:].lower().rjust(64, "0") + f"{due.total_micro_usdc:064x}"
        call = {"from": SETTINGS["payer"], "to": token, "data": data}
        if "first_gas" in SETTINGS and not is_reverted:
            call["gas"] = SETTINGS["first_gas"]
        body = {"jsonrpc": "2.0", "id": 1, "method": "eth_sendTransaction", "params": [call]}
        request = urllib.request.Request(SETTINGS["rpc"], json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            kept.write_text(json.load(answer)["result"])
    watch("called", due.interaction, "pay")
    return x811.Paid(tx_hash=kept.read_text(), payer=SETTINGS["payer"])


def paying():
    if SETTINGS["payer"] != "binary":
        return own_payer
    pay = x811.binary_payer(SETTINGS["ledger"], SETTINGS["home"], SETTINGS["agent"], SETTINGS["rpc"])

    def paid(due):
        crash("pay", "before")
        pay(due)
        crash("pay", "after")
        watch("called", due.interaction, "pay")

    return paid


#: What is easily signed in another form than it is sent in: every REQUEST has it, and the ledger verifies it.
HARD = {"pair": (1, (2, 3)), "numbers": [-0.0, 1e-7, 5.0, 2**53 - 1], "\U0001f600": "\ufb33\u0001"}

FOLDER.mkdir(parents=True, exist_ok=True)
ledger = Watched(SETTINGS["ledger"], x811.Keys.of_home(SETTINGS["home"], SETTINGS["agent"]))
negotiation = SETTINGS.get("negotiation") and x811.Negotiation(**SETTINGS["negotiation"])
if ROLE == "provider":
    price = lambda request: x811.Quote(request["parameters"].get("price", "0.01"), 5, ["the text in capitals"])
    upper = lambda request: request["parameters"]["text"].upper() * request["parameters"].get("times", 1)
    sales = [x811.Sale(**sale) for sale in SETTINGS.get("sales", [])]
    loop = x811.Provider(ledger, FOLDER, price, upper, watch=watch, negotiation=negotiation, sales=sales)
    until = None
else:
    caps = SETTINGS["caps"] and x811.Caps(**SETTINGS["caps"])
    orders = [x811.Order(**order | {"parameters": order["parameters"] | HARD}) for order in SETTINGS["orders"]]
    loop = x811.Initiator(ledger, FOLDER, caps, paying(), lambda request, offer: True,
                          lambda request, result: result["content"] == request["parameters"]["text"].upper() or "other text",
                          orders, watch=watch, negotiation=negotiation)
    until = loop.is_idle
signal.signal(signal.SIGTERM, lambda *_: loop.stop())
loop.run(until)
