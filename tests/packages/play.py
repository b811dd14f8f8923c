"""Whole interactions of two agents made of a package, against a ledger and a chain of their own:
`play.py X811 ANVIL PROGRAM...`, where `PROGRAM... ROLE FOLDER SETTINGS` is an agent (agent.py, agent.mjs).
Each is settled, paid once, and has a receipt that verifies; in most, one side is killed in the middle."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

X811, ANVIL, PROGRAM = sys.argv[1], sys.argv[2], sys.argv[3:]
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("X811_")}
#: How long anything may take, in seconds.
PATIENCE_S = 90
CAPS = {"per_interaction": "0.05", "per_day": "1"}
MESSAGES = ["x811/request", "x811/offer", "x811/accept", "x811/result", "x811/verify", "x811/payment"]
#: Price and fee.
TOTAL_MICRO_USDC = 10_250
#: What both sides negotiate with: Ada offers 0.02, Bert asks 0.029; 0.023 and 0.026 follow. With the fee:
AGREED_MICRO_USDC = 26_650
TEXT = ["the text in capitals"]
SALE = {"task_type": "upper", "opening": "0.029", "lowest": "0.022", "time_s": 5, "deliverables": TEXT}
BERTS = {"per_turn": "0.003", "strategy": "fixed_concession", "max_turns": 10}
ADAS = {"per_turn": "0.003", "strategy": "tit_for_tat", "max_turns": 10}


def until(condition, what):
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError(f"not in {PATIENCE_S} s: {what()}")


class Stage:
    """Anvil as Base, a ledger, Ada who pays, Bert who works."""

    def __init__(self, folder):
        self.folder, self.processes, self.plays = folder, [], 0
        self.proofs = folder / "proofs"
        chain = self.start("anvil", [X811, "--json", "anvil", "start", "--anvil", ANVIL, "--port", "0", "--block-time", "1"])
        self.rpc, self.token, payer = chain["rpc_url"], chain["token"], chain["accounts"][0]
        self.ledger = self.start("ledger", [
            X811, "--json", "serve", "--data-dir", str(folder / "ledger"), "--listen", "127.0.0.1:0", "--network", "base",
            "--rpc", self.rpc])["url"]
        (folder / "wallet-key").write_text(payer["private_key"].removeprefix("0x"))
        (folder / "wallet-key").chmod(0o600)
        self.home = folder / "home"
        self.x811("agent", "new", "ada", "--wallet-key-file", str(folder / "wallet-key"))
        self.x811("agent", "new", "bert")
        self.payer = self.x811("agent", "register", "ada")["wallet"]
        bert = self.x811("agent", "register", "bert", "--capability", "upper")
        self.bert, self.payee = bert["did"], bert["wallet"]
        with urllib.request.urlopen(f"{self.ledger}/.well-known/x811.json") as info:
            self.vkey = json.load(info)["checkpoint_vkey"]

    def start(self, name, words):
        """A process of ours and the JSON value that it prints first."""
        with (self.folder / f"{name}.out").open("w") as out, (self.folder / f"{name}.log").open("w") as log:
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=log)
        self.processes.append(process)
        out = self.folder / f"{name}.out"
        until(lambda: out.read_text().endswith("\n") or process.poll() is not None, lambda: name)
        assert process.poll() is None, (self.folder / f"{name}.log").read_text()
        return json.loads(out.read_text())

    def end(self):
        for process in reversed(self.processes):
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()

    def x811(self, *words):
        done = subprocess.run([X811, "--json", "--ledger", self.ledger, "--home", self.home, *words],
                              capture_output=True, text=True, check=False)
        assert done.returncode == 0, (words, done)
        return json.loads(done.stdout)

    def balance(self, account):
        data = "0x70a08231" + account[2:].lower().rjust(64, "0")
        body = {"jsonrpc": "2.0", "id": 1, "method": "eth_call", "params": [{"to": self.token, "data": data}, "latest"]}
        request = urllib.request.Request(self.rpc, json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            return int(json.load(answer)["result"], 16)

    def said(self, interaction):
        """The accepted messages: type, id and signature."""
        records = self.x811("--agent", "ada", "history", interaction)["records"]
        heads = [record["leaf"]["event"].get("envelope") for record in records]
        return [(head["type"], head["id"], head["signature"]) for head in heads if head]


class Agent:
    """A process of the package under test."""

    def __init__(self, stage, name, role, folder, **more):
        self.stage, self.name, self.role, self.folder = stage, name, role, folder
        self.settings = {"ledger": stage.ledger, "home": str(stage.home), "agent": name, "rpc": stage.rpc} | more
        self.log = folder.with_suffix(".log")
        self.start()

    def start(self):
        with self.log.open("a") as log:
            words = [*PROGRAM, self.role, str(self.folder), json.dumps(self.settings)]
            # The binary is the package's own, wherever the package says.
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=ENVIRONMENT)
        # Whatever fails, none of them stays.
        self.stage.processes.append(self.process)

    def told(self):
        return self.log.read_text()

    def events(self, what):
        lines = [line for line in self.told().splitlines() if line.startswith("{")]
        return [event for event in map(json.loads, lines) if event["what"] == what]

    def state(self):
        return json.loads((self.folder / "state.json").read_text())

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait(PATIENCE_S)

    def ended(self):
        """Mines while it works; its exit code."""
        def mined():
            self.stage.x811("anvil", "mine", "3", "--rpc", self.stage.rpc)
            return self.process.poll() is not None
        until(mined, self.told)
        return self.process.returncode


def order(stage, key, more=None, **parameters):
    return {"key": key, "provider": stage.bert, "task_type": "upper", "max_budget": "0.2", "deadline_s": 60,
            "parameters": {"text": "hello"} | parameters} | (more or {})


def proven(stage, agent, interaction, acts):
    """A proof of each of these messages is kept; the audit at the end holds the log against them."""
    for act in acts:
        file = agent.folder / "proofs" / f"{interaction}-{act}.tlog-proof"
        until(file.exists, agent.told)
        assert file.stat().st_mode & 0o777 == 0o600
        stage.proofs.mkdir(exist_ok=True)
        (stage.proofs / file.name).write_bytes(file.read_bytes())


def settled(stage, interaction, before, total=TOTAL_MICRO_USDC):
    """It is completed, paid once and no more, said in six messages, and its receipt verifies."""
    types = [kind for kind, *_ in stage.said(interaction)]
    assert types == MESSAGES, types
    where = stage.x811("--agent", "bert", "provider", "paid", interaction)
    assert (where["paid"], where["state"]) == ("yes", "completed"), where
    assert stage.balance(stage.payee) - before == total, "paid once"
    receipt = stage.folder / f"receipt-{interaction}.json"
    stage.x811("--agent", "bert", "receipt", interaction, "--output", str(receipt))
    stage.x811("receipt", "verify", str(receipt), "--key", stage.vkey)


def play(stage, payer, crash=None, is_negotiated=False):
    """One interaction; with `crash` (role, step, moment) that side is killed there and started again."""
    stage.plays += 1
    name = f"{stage.plays}-" + "-".join(crash or ["negotiated" if is_negotiated else "whole"]).replace("/", "-")
    before = stage.balance(stage.payee)
    settings = lambda role: {"crash": list(crash[1:])} if crash and crash[0] == role else {}
    berts = {"negotiation": BERTS, "sales": [SALE]} if is_negotiated else {}
    adas = {"negotiation": ADAS} if is_negotiated else {}
    terms = {"opening": "0.02", "deliverables": TEXT, "max_budget": "0.04"} if is_negotiated else {}
    bert = Agent(stage, "bert", "provider", stage.folder / f"{name}-bert", **settings("provider"), **berts)
    ada = Agent(stage, "ada", "initiator", stage.folder / f"{name}-ada", caps=CAPS, payer=payer,
                orders=[order(stage, name, terms)], **settings("initiator"), **adas)
    try:
        if crash:
            killed(stage, ada if crash[0] == "initiator" else bert, *crash[1:])
        assert ada.ended() == 0, ada.told()
        [over] = ada.events("over")
        settled(stage, over["interaction"], before, AGREED_MICRO_USDC if is_negotiated else TOTAL_MICRO_USDC)
        until(lambda: bert.events("over"), bert.told)
        proven(stage, ada, over["interaction"], ["accept", "verify"] + ["payment"] * (payer != "binary"))
        proven(stage, bert, over["interaction"], ["result"])
        assert not ada.events("alarm") and not bert.events("alarm"), (ada.told(), bert.told())
    finally:
        ada.stop()
        bert.stop()
    for agent in (ada, bert):
        sent_once(stage, agent, over["interaction"])
    print(f"{name}: {over['interaction']} {over['text']}, paid once, the receipt verifies", flush=True)
    return ada


def killed(stage, agent, step, moment):
    """Waits for the kill, holds the outbox against what was sent, starts the agent again."""
    until(lambda: agent.process.poll() is not None, agent.told)
    assert agent.process.returncode == -signal.SIGKILL, agent.told()
    if step != "pay":
        is_it = lambda entry: json.loads(entry["envelope"])["type"] in (f"x811/{step}", f"x811.{step}")
        [kept] = [entry for entry in agent.state()["outbox"] if is_it(entry)]
        assert (kept["envelope"] in sent(agent)) == (moment == "after"), (kept, sent(agent))
    else:
        assert not agent.state()["outbox"]
    agent.start()


def sent(agent):
    file = agent.folder / "sent"
    return file.read_text().splitlines() if file.exists() else []


def sent_once(stage, agent, interaction):
    """Whatever was sent of a kind was the same bytes each time, and is what the ledger has."""
    did = agent.state()["did"]
    said = {kind: (id, signature) for kind, id, signature in stage.said(interaction)}
    by_kind, by_step = {}, {}
    for text in sent(agent):
        envelope = json.loads(text)
        if envelope["type"].startswith("x811/"):
            by_kind.setdefault(envelope["type"], set()).add(text)
        else:
            by_step.setdefault(envelope["payload"].get("step_id"), set()).add(text)
    assert all(len(texts) == 1 for texts in by_step.values()), "terms are answered once"
    assert by_kind, did
    for kind, texts in by_kind.items():
        [text] = texts
        envelope = json.loads(text)
        assert (envelope["id"], envelope["signature"]) == said[kind], kind


def over_the_cap(stage):
    """What costs more than the cap is rejected, and nothing is paid."""
    before = stage.balance(stage.payee)
    bert = Agent(stage, "bert", "provider", stage.folder / "cap-bert")
    ada = Agent(stage, "ada", "initiator", stage.folder / "cap-ada", caps=CAPS, payer="binary",
                orders=[order(stage, "cap", price="0.1")])
    try:
        assert ada.ended() == 0, ada.told()
        [over] = ada.events("over")
        assert over["text"].startswith("rejected"), over
    finally:
        ada.stop()
        bert.stop()
    assert stage.balance(stage.payee) == before
    assert over["interaction"] not in {made["interaction"] for made in ada.state()["commitments"]}
    print("over the cap: rejected, nothing is paid", flush=True)


def negotiated(stage):
    """Terms first: both sides come to the same, also where one is killed, and what was agreed on is paid."""
    ada = play(stage, "binary", is_negotiated=True)
    [agreed], [over] = ada.events("agreed"), ada.events("over")
    assert agreed["text"] == "on 0.02665 USDC", agreed
    listed = {one["id"]: one for one in stage.x811("--agent", "ada", "negotiation", "list")["negotiations"]}
    found = listed[f"neg-{agreed['interaction']}"]
    assert (found["status"], found["turn"], found["engagement"]["interaction_id"]) == ("accepted", 4, over["interaction"]), found
    for role, step in [("initiator", "negotiation/accept"), ("provider", "negotiation/counter")]:
        for moment in ("before", "after"):
            play(stage, "binary", (role, step, moment), is_negotiated=True)


def walks_away(stage):
    """Where the limits do not meet there is no REQUEST, and nothing is paid."""
    before = stage.balance(stage.payee)
    sale = SALE | {"lowest": "0.028"}
    bert = Agent(stage, "bert", "provider", stage.folder / "away-bert", negotiation=BERTS, sales=[sale])
    dear = order(stage, "away", {"opening": "0.01", "deliverables": TEXT, "max_budget": "0.0205"})
    ada = Agent(stage, "ada", "initiator", stage.folder / "away-ada", caps=CAPS, payer="binary", negotiation=ADAS, orders=[dear])
    try:
        assert ada.ended() == 0, ada.told()
        [over] = ada.events("over")
        assert over["text"] == "no terms were agreed on for the order away", over
        until(lambda: not bert.state()["tasks"] and not bert.state()["talks"], bert.told)
    finally:
        ada.stop()
        bert.stop()
    assert ada.state()["requests"] == {} and stage.balance(stage.payee) == before
    prices = [float(json.loads(text)["payload"]["terms"]["amount"]["value"]) for text in sent(ada)
              if "terms" in json.loads(text)["payload"]]
    assert prices and max(prices) <= 0.02, prices
    print("limits that do not meet: no terms, nothing is paid", flush=True)


def a_person(stage):
    """Asked above the threshold of the order, in the files of `x811 approvals`; the binary answers."""
    folder = stage.home / "loops" / "ada"
    folder.parent.mkdir(exist_ok=True)
    for word, more in [("approve", ["--total", "0.01025"]), ("reject", ["--reason", "too dear"])]:
        before = stage.balance(stage.payee)
        bert = Agent(stage, "bert", "provider", stage.folder / f"person-{word}-bert")
        asks = order(stage, f"person-{word}", {"policy": "threshold", "threshold": "0.005"})
        ada = Agent(stage, "ada", "initiator", folder, caps=CAPS, payer="binary", orders=[asks])
        told = len(ada.told())
        try:
            until(lambda: stage.x811("--agent", "ada", "approvals", "list")["questions"], ada.told)
            ada.process.kill()
            ada.process.wait()
            ada.start()
            [question] = stage.x811("--agent", "ada", "approvals", "list")["questions"]
            interaction = question["interaction"]
            assert "x811/accept" not in [kind for kind, *_ in stage.said(interaction)], "it waits for the person"
            stage.x811("--agent", "ada", "approvals", word, interaction, *more)
            assert ada.ended() == 0, ada.told()
            if word == "approve":
                settled(stage, interaction, before)
            else:
                reasons = [json.loads(text)["payload"].get("reason") for text in sent(ada)]
                assert "too dear" in reasons and stage.balance(stage.payee) == before, reasons
        finally:
            ada.stop()
            bert.stop()
        assert not stage.x811("--agent", "ada", "approvals", "list")["questions"], ada.told()[told:]
    print("above the threshold: a person is asked, approves one and rejects the other", flush=True)


def audited(stage):
    """The ledger ended; its log has every record that the loops have proofs of."""
    stage.end()
    kept = len(list(stage.proofs.iterdir()))
    done = subprocess.run([X811, "--json", "audit", str(stage.folder / "ledger"), "--proofs", str(stage.proofs), "--key", stage.vkey],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0 and kept > 40, (kept, done)
    print(f"the log is clean, and has the {kept} records that proofs were kept of", flush=True)


def hostile(stage):
    """An order that breaks the provider's own code, and one whose RESULT is too large: an alarm and an ERROR.
    A third goes on beside them."""
    before = stage.balance(stage.payee)
    orders = [order(stage, "breaks", price="free"), order(stage, "large", times=600_000), order(stage, "fair")]
    bert = Agent(stage, "bert", "provider", stage.folder / "hostile-bert")
    ada = Agent(stage, "ada", "initiator", stage.folder / "hostile-ada", caps=CAPS, payer="binary", orders=orders)
    try:
        requests = until(lambda: ada.events("feed") and ada.state()["requests"], ada.told)
        def ended():
            stage.x811("anvil", "mine", "3", "--rpc", stage.rpc)
            return {event["interaction"] for event in ada.events("over")} == {requests["fair"]} and \
                {event["interaction"] for event in bert.events("alarm")} == {requests["breaks"], requests["large"]} and \
                "x811/error" in [kind for kind, *_ in stage.said(requests["large"])]
        until(ended, lambda: ada.told() + bert.told())
        settled(stage, requests["fair"], before)
        assert bert.process.poll() is None and ada.process.poll() is None
    finally:
        ada.stop()
        bert.stop()
    kinds = [json.loads(text)["type"] for text in sent(bert)]
    assert kinds.count("x811/result") == 2 and kinds.count("x811/error") == 1, kinds
    print("hostile orders: alarms and an ERROR, the fair one is settled", flush=True)


def without_caps(stage):
    ada = Agent(stage, "ada", "initiator", stage.folder / "no-caps", caps=None, payer="binary",
                orders=[order(stage, "no-caps")])
    assert ada.ended() != 0 and "does not start without caps" in ada.told(), ada.told()
    print("without caps: does not start", flush=True)


def one_loop(stage):
    """A second loop of an agent ends the first, which sends nothing more; in one folder it does not start."""
    first = Agent(stage, "bert", "provider", stage.folder / "first-bert")
    until(lambda: first.events("feed"), first.told)
    same = Agent(stage, "bert", "provider", stage.folder / "first-bert")
    assert same.ended() != 0 and "StateFault" in same.told(), same.told()
    second = Agent(stage, "bert", "provider", stage.folder / "second-bert")
    try:
        assert first.ended() != 0 and "another loop of this agent" in first.told(), first.told()
        assert second.process.poll() is None, second.told()
    finally:
        second.stop()
    print("one loop an agent: the newest", flush=True)


def lost_state(stage, ada):
    """The same orders without the state file: nothing is asked for or paid again, and the caps still count."""
    before, commitments = stage.balance(stage.payee), ada.state()["commitments"]
    assert [int(made["total_micro_usdc"]) for made in commitments] == [TOTAL_MICRO_USDC], commitments
    (ada.folder / "state.json").rename(ada.folder / "lost.json")
    (ada.folder / "sent").unlink()
    told = len(ada.told())
    ada.start()
    assert ada.ended() == 0, ada.told()
    log = ada.told()[told:]
    assert "accept" not in log and stage.balance(stage.payee) == before, log
    made = {one["interaction"] for one in ada.state()["commitments"]}
    assert commitments[0]["interaction"] in made, (commitments, ada.state())
    print(f"state file lost: {len(made)} commitments found again, nothing is paid twice", flush=True)


def main():
    with tempfile.TemporaryDirectory() as folder:
        stage = Stage(Path(folder))
        try:
            first = play(stage, "binary")
            for role, step, moment in [
                ("initiator", "accept", "before"), ("initiator", "accept", "after"),
                ("provider", "result", "before"), ("provider", "result", "after"),
            ]:
                play(stage, "binary", (role, step, moment))
            for moment in ("before", "after"):
                play(stage, "binary", ("initiator", "pay", moment))
                play(stage, stage.payer, ("initiator", "payment", moment))
            over_the_cap(stage)
            without_caps(stage)
            one_loop(stage)
            lost_state(stage, first)
            negotiated(stage)
            walks_away(stage)
            a_person(stage)
            # Interactions that lapse stay behind it, and other loops would wait for them.
            hostile(stage)
            audited(stage)
        finally:
            stage.end()


main()
