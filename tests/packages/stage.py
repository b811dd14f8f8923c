"""An Anvil, a ledger and two agents made of a package, for play.py, which has their programs as its arguments."""

import json
import os
import signal
import subprocess
import sys
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

    def call(self, method, *params):
        """Returns the result of a JSON-RPC call to Anvil."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        request = urllib.request.Request(self.rpc, json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)["result"]

    def balance(self, account):
        data = "0x70a08231" + account[2:].lower().rjust(64, "0")
        return int(self.call("eth_call", {"to": self.token, "data": data}, "latest"), 16)

    def said(self, interaction):
        """The accepted messages: type, id and signature."""
        records = self.x811("--agent", "ada", "history", interaction)["records"]
        heads = [record["leaf"]["event"].get("envelope") for record in records]
        return [(head["type"], head["id"], head["signature"]) for head in heads if head]

    def declared(self, interaction):
        """The transactions that PAYMENTs name, in their order."""
        records = self.x811("--agent", "ada", "history", interaction)["records"]
        facts = [record["leaf"]["event"].get("facts") or {} for record in records]
        return [one["tx_hash"] for one in facts if "tx_hash" in one]


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


def settled(stage, interaction, before, total=TOTAL_MICRO_USDC, payments=1):
    """The interaction is completed, paid once and no more, in six messages and further PAYMENTs; its receipt verifies."""
    # Before a further PAYMENT the ledger may tell what it misses.
    types = [kind for kind, *_ in stage.said(interaction) if payments == 1 or kind != "x811/error"]
    assert types == MESSAGES + ["x811/payment"] * (payments - 1), types
    where = stage.x811("--agent", "bert", "provider", "paid", interaction)
    assert (where["paid"], where["state"]) == ("yes", "completed"), where
    assert stage.balance(stage.payee) - before == total, "paid once"
    receipt = stage.folder / f"receipt-{interaction}.json"
    stage.x811("--agent", "bert", "receipt", interaction, "--output", str(receipt))
    stage.x811("receipt", "verify", str(receipt), "--key", stage.vkey)


def sent(agent):
    file = agent.folder / "sent"
    return file.read_text().splitlines() if file.exists() else []
