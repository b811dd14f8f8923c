"""Questions to a person, one file each: `approvals/<interaction>.json` in the folder of the loop, written and
read as `x811 approvals` does. A decision names the OFFER and the total it was made about; about another OFFER it
says nothing, and the person is asked anew."""

import json
import os
import stat
from pathlib import Path

from .keys import as_uuid
from .state import replace

#: What the time left is shortened by, so that the ACCEPT still arrives, in milliseconds.
MARGIN_MS = 5_000
#: How often a file is read, in milliseconds.
LOOK_MS = 1_000
MOST_BYTES = 64 << 10


class Approvals:
    """The folder of questions. Whoever can write there decides."""

    def __init__(self, folder: str | Path):
        self.folder = Path(folder) / "approvals"

    def path(self, interaction: str) -> Path:
        if as_uuid(interaction) is None:
            raise ValueError(f"not the id of an interaction: {interaction!r}")
        return self.folder / f"{interaction}.json"

    def read(self, interaction: str) -> dict | None:
        """The question with its decision; None where there is none, or the file holds something else."""
        path = self.path(interaction)
        try:
            with path.open("rb") as file:
                mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
                text = file.read(MOST_BYTES)
        except FileNotFoundError:
            return None
        if mode & 0o077:
            raise ValueError(f"{path} has mode {mode:04o}, so others may decide: run `chmod 600` on it")
        try:
            question = json.loads(text)
        except ValueError:
            return None
        return question if isinstance(question, dict) else None

    def ask(self, question: dict):
        replace(self.path(question["interaction"]), json.dumps(question, indent=2))

    def decision(self, interaction: str, offer_hash: str, total_micro_usdc: int) -> dict | None:
        """What a person decided about exactly this OFFER and total, in time."""
        question = self.read(interaction) or {}
        decision = question.get("decision")
        if not isinstance(decision, dict) or decision.get("answer") not in ("approve", "reject"):
            return None
        about = (decision.get("offer_hash"), str(decision.get("total")))
        times = (decision.get("at_ms"), question.get("answer_by_ms"))
        in_time = all(type(at_ms) is int for at_ms in times) and times[0] < times[1]
        return decision if in_time and about == (offer_hash, str(total_micro_usdc)) else None

    def forget(self, interaction: str):
        self.path(interaction).unlink(missing_ok=True)
