"""The command `x811` that this wheel brings, for what needs a wallet's key or a proof verified."""

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

from .paying import PayLater


#: Codes with which a ledger refuses what it takes a moment later.
NO_ROOM = ("X811-9001", "X811-9002")


class BinaryFault(Exception):
    """The command failed: `code`, `exit_code` (None where it was ended after its time), `answer`."""

    def __init__(self, answer: dict, exit_code: int | None):
        error = answer.get("error", {})
        self.answer, self.exit_code, self.code = answer, exit_code, error.get("code", "")
        super().__init__(f"{self.code}: {error.get('message', answer)} {error.get('what_to_do', '')}".strip())


def binary_path() -> Path:
    """Where the wheel put it: X811_BINARY, else the scripts folder of this environment, else of the user."""
    name = "x811.exe" if os.name == "nt" else "x811"
    named = os.environ.get("X811_BINARY")
    user = sysconfig.get_preferred_scheme("user")
    folders = [sysconfig.get_path("scripts"), Path(sys.executable).parent, sysconfig.get_path("scripts", user)]
    for path in [Path(named)] if named else [Path(folder) / name for folder in folders]:
        if path.is_file():
            return path
    raise FileNotFoundError("the command x811 is missing: install the wheel x811-py again, or set X811_BINARY")


def run_binary(*words: str, timeout_s: float | None = 120) -> dict:
    """Runs `x811 --json WORDS`, without a shell; its JSON, or BinaryFault."""
    try:
        done = subprocess.run([binary_path(), "--json", *words], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=timeout_s, check=False)
    except subprocess.TimeoutExpired:
        # Its text has the words, and the address of an RPC endpoint may hold a key.
        raise BinaryFault({"error": {"code": "timeout", "message": f"no answer in {timeout_s:.0f} s"}}, None) from None
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        words = done.stderr or done.stdout or f"it ended with {done.returncode}"
        raise BinaryFault({"error": {"code": "no_json", "message": words}}, done.returncode) from None
    if done.returncode:
        raise BinaryFault(answer, done.returncode)
    return answer


def binary_payer(ledger_url: str, home: str | Path, agent: str, rpc_url: str):
    """A `pay` for an Initiator: `x811 pay`. It keeps the signed transfer before it is sent, under an
    EIP-3009 nonce of the interaction, so that it pays once however often it is called; it also
    declares the PAYMENT, so there is nothing to seal."""

    def pay(due):
        try:
            run_binary("--ledger", ledger_url, "--home", str(home), "--agent", agent, "pay",
                       due.interaction, "--rpc", rpc_url, "--network", due.network, "--follow", "0")
        except BinaryFault as fault:
            # Nobody answered, or the ledger had no room: the kept transfer is sent again.
            if fault.exit_code == 3 or fault.code in NO_ROOM:
                raise PayLater(str(fault)) from None
            raise

    return pay
