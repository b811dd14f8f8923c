"""Signed reads of a machine whose clock is wrong: `clock.py PROGRAM...`, where `PROGRAM... URL` is clock_reader.{py,mjs}.
The ledger is a stand-in that checks the time alone, as crates/server/src/signed_read.rs does."""

import json
import re
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        created_s = int(re.search(r"created=(\d+)", self.headers["Signature-Input"])[1])
        offset_ms = int(time.time() * 1000) + self.server.offset_ms - created_s * 1000
        self.server.asked.append(self.path)
        # The signed time has whole seconds.
        is_fresh = -5_000 <= offset_ms <= 60_000
        kind = "text/event-stream" if "/stream" in self.path and is_fresh else "application/json"
        refusal = {"code": "X811-2002", "message": "dated", "details": {"offset_ms": offset_ms}}
        body = b"retry: 1000\n" if "stream" in kind else json.dumps({} if is_fresh else refusal).encode()
        self.send_response(200 if is_fresh else 401)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


# Offset of the ledger's clock, requests for two reads and a stream, and whether they are answered.
for offset_ms, requests, is_answered in [(0, 3, True), (-6_000, 4, True), (90_000, 4, True), (-299_000, 4, True),
                                         (-400_000, 3, False), (400_000, 3, False)]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.offset_ms, server.asked = offset_ms, []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    done = subprocess.run([*sys.argv[1:], url], capture_output=True, text=True, check=True)
    server.shutdown()
    assert json.loads(done.stdout) == [is_answered] * 3, (offset_ms, done)
    assert len(server.asked) == requests, (offset_ms, server.asked)
print("clocks ok")
