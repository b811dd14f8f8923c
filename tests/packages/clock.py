"""Signed reads of a machine whose clock is wrong: `clock.py PROGRAM...`, where `PROGRAM... URL READ...` is clock_reader.py or
clock_reader.mjs. The ledger is a stand-in: it checks time, signature and nonce, and refuses a time as
crates/server/src/signed_read.rs does."""

import base64
import json
import re
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

PROGRAM = sys.argv[1:]
#: The public half of the key in clock_reader.py.
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32))).public_key()
#: How long a program may take, in seconds.
PATIENCE_S = 60


def refusal(code, details):
    """The body of a refusal (crates/server/src/error.rs)."""
    said = {"code": code, "message": "no", "details": details}
    return said | {"error": said}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        # The last one holds for all further requests.
        step = server.steps[min(len(server.asked), len(server.steps) - 1)]
        server.asked.append(self.path)
        is_signed = "Signature-Input" in self.headers
        created_s = self.verified() if is_signed else int(time.time())
        if isinstance(step, tuple):
            return self.answer(step[0], "application/json", json.dumps(step[1]))
        now_ms = int(time.time() * 1000) + step
        offset_ms = now_ms - created_s * 1000
        if is_signed and not -5_000 <= offset_ms <= 60_000:
            # No refusal of a time names authorities; whoever answers could, and must not be believed.
            details = {"created_ms": created_s * 1000, "now_ms": now_ms, "offset_ms": offset_ms, "authorities": ["other.example"]}
            return self.answer(401, "application/json", json.dumps(refusal("X811-2002", details)))
        if "/stream" in self.path:
            return self.answer(200, "text/event-stream", ": begun\n\n")
        self.answer(200, "application/json", "{}")

    def verified(self):
        """The signed time, in seconds. Fails where the signature is not over this server's own address, or its nonce is old."""
        path, _, query = self.path.partition("?")
        covered = self.headers["Signature-Input"].removeprefix("sig=")
        base = (f'"@method": {self.command}\n"@authority": 127.0.0.1:{self.server.server_port}\n"@path": {path}\n'
                f'"@query": ?{query}\n"@signature-params": {covered}')
        nonce = re.search(r'nonce="([^"]+)"', covered)[1]
        try:
            KEY.verify(base64.b64decode(self.headers["Signature"].removeprefix("sig=:").removesuffix(":")), base.encode())
            assert nonce not in self.server.nonces, nonce
        except Exception as fault:
            self.server.faults.append(repr(fault))
        self.server.nonces.add(nonce)
        return int(re.search(r"created=(\d+)", covered)[1])

    def answer(self, status, kind, text):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


def check(steps, reads, answered, requests):
    """Runs the program against a ledger with these steps, one for each request: the offset of its clock from this machine's
    in milliseconds, or status and body of an answer. Compares which reads were answered, and how many requests that took."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.steps, server.asked, server.nonces, server.faults = steps, [], set(), []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        url = f"http://127.0.0.1:{server.server_port}"
        done = subprocess.run([*PROGRAM, url, *reads], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    finally:
        server.shutdown()
        server.server_close()
    assert done.returncode == 0, (steps, done.stderr)
    assert json.loads(done.stdout) == answered, (steps, reads, done.stdout)
    assert (len(server.asked), server.faults) == (requests, []), (steps, reads, server.asked, server.faults)


FAST_MS = -6_000
for off_ms in (0, 4_000):
    check([off_ms], ["read", "read", "stream"], [True] * 3, 3)
# Machines that are 6 s and 299 s fast, and 90 s slow. The first request is signed twice, later ones are right at once.
for off_ms in (FAST_MS, 90_000, -299_000):
    check([off_ms], ["read", "read", "stream"], [True] * 3, 4)
    check([off_ms], ["stream", "read", "stream"], [True] * 3, 4)
# Beyond five minutes each is asked for once.
for off_ms in (400_000, -400_000):
    check([off_ms], ["read", "stream", "read"], [False] * 3, 3)
# The limit holds for all corrections together.
check([200_000, 200_000, 400_000], ["read", "read"], [True, False], 3)
# The clock is set while the program runs.
check([FAST_MS, FAST_MS, 90_000], ["read", "read", "stream"], [True] * 3, 5)
# It is signed again once.
far = 401, refusal("X811-2002", {"offset_ms": FAST_MS})
for read in ("read", "stream"):
    check([far], [read], [False], 2)
# A refusal that is not one of a signed time corrects nothing, for later reads neither.
named = {"offset_ms": FAST_MS, "authorities": ["other.example"]}
lies = [(401, refusal("X811-2003", named)), (403, refusal("X811-2002", named)), (401, refusal("X811-2002", None))]
wrong = [{}, [FAST_MS], "offset_ms", {"offset_ms": "6000"}, {"offset_ms": 6_000.5}, {"offset_ms": True}, {"offset_ms": None},
         {"offset_ms": 10**400}, {"offset_ms": -(2**63)}]
for lie in lies + [(401, refusal("X811-2002", details)) for details in wrong]:
    check([lie, 0], ["read", "read"], [False, True], 2)
    check([lie, 0], ["stream", "read"], [False, True], 2)
# A request that is not signed has no time.
check([far, 0], ["unsigned", "read"], [False, True], 2)
print("clocks hold")
