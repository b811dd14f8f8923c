"""The state file of a loop: what must survive a crash, and nothing that the ledger knows better."""

import fcntl
import json
import os
from pathlib import Path

from .caps import DAY_MS
from .keys import canonical

#: How many envelopes are sealed for one step at most; then a person has to look.
MOST_SEALED = 3
#: How many alarms are kept; the oldest goes first.
MOST_ALARMS = 200


def replace(path: Path, text: str):
    """Replaces a file whole, readable by its owner alone. When this returns, the disk has it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.rename(new, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


class StateFault(Exception):
    """The file cannot be used: another loop has it, or it is another agent's."""


class State:
    """Replaced whole by a rename after fsync, readable by its owner alone, locked while it is open."""

    def __init__(self, folder: str | Path, did: str, ledger: str):
        self.path = Path(folder) / "state.json"
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock = os.open(self.path.with_name("lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            raise StateFault(f"another loop runs on {self.path}; end it first") from None
        if self.path.exists():
            self.data = json.loads(self.path.read_text())
            # That of `x811 agent run` has the same name, and lists of its own.
            is_of_package = self.data.get("loop") == "package" or "proofs" not in self.data
            if [self.data.get(name) for name in ("v", "did", "ledger")] != [1, did, ledger] or not is_of_package:
                self.close()
                raise StateFault(f"{self.path} is of another agent, ledger or program: name another folder")
            self.data = {"loop": "package", "talks": {}, "proofs": []} | self.data
        else:
            self.data = {"v": 1, "loop": "package", "did": did, "ledger": ledger, "cursor": None,
                         "is_rebuilt": False, "requests": {}, "tasks": {}, "talks": {}, "outbox": [],
                         "commitments": [], "proofs": [], "alarms": []}

    def close(self):
        os.close(self._lock)

    def save(self):
        """When this returns, the disk has it."""
        replace(self.path, json.dumps(self.data))

    @property
    def outbox(self) -> list[dict]:
        return self.data["outbox"]

    @property
    def tasks(self) -> dict[str, dict]:
        return self.data["tasks"]

    def task(self, interaction: str) -> dict:
        return self.tasks.setdefault(interaction, {"look_at_ms": 0, "envelopes": {}, "steps": {}})

    def touch(self, interaction: str):
        """Makes sure that the interaction is looked at soon."""
        self.task(interaction)["look_at_ms"] = 0

    def may_seal(self, interaction: str, act: str) -> bool:
        """Whether none is on its way, none was accepted, and not too many were refused."""
        step = self.task(interaction)["steps"].get(act)
        if step is None:
            return True
        return step["outcome"] in ("refused", "dead") and step["sealed"] < MOST_SEALED

    def put(self, interaction: str, act: str, envelope: dict, created_ms: int):
        """Puts a sealed envelope on its way, in the form that is signed. It is not sent before `save`."""
        step = self.task(interaction)["steps"].setdefault(act, {"sealed": 0})
        step["sealed"] += 1
        step["outcome"] = "open"
        text = canonical(envelope).decode()
        self.outbox.append({"interaction": interaction, "act": act, "id": envelope["id"], "envelope": text,
                            "created_ms": created_ms, "tries": 0, "not_before_ms": 0, "is_doubtful": False})

    def settle(self, entry: dict, outcome: str):
        """Takes an envelope out, with what became of it."""
        self.outbox.remove(entry)
        task = self.task(entry["interaction"])
        task["steps"][entry["act"]]["outcome"] = outcome
        task["look_at_ms"] = 0

    def commit(self, due: dict):
        """Journals what an ACCEPT commits to, `{interaction, provider, network, total_micro_usdc, at_ms}`,
        once for each interaction; forgets what is a day old."""
        keep = [made for made in self.data["commitments"]
                if made["interaction"] != due["interaction"] and due["at_ms"] - made["at_ms"] < DAY_MS]
        self.data["commitments"] = [*keep, due]

    def release(self, interaction: str):
        """Nothing is spent in this interaction."""
        made = self.data["commitments"]
        self.data["commitments"] = [one for one in made if one["interaction"] != interaction]

    def alarm(self, interaction: str | None, text: str, at_ms: int) -> bool:
        """Notes what a person has to look at; whether it is new."""
        alarms = self.data["alarms"]
        if any((one["interaction"], one["text"]) == (interaction, text) for one in alarms):
            return False
        alarms.append({"at_ms": at_ms, "interaction": interaction, "text": text})
        del alarms[:-MOST_ALARMS]
        return True
