"""Which requests of a package pass through a proxy: `proxies.py PROGRAM...`, where `PROGRAM... URL CASES` is reader.py or
reader.mjs. The proxy is a real one, for HTTP and CONNECT; it resolves every name to this machine, so it alone reaches
`ledger.invalid`. The server behind it answers as a ledger does where it is read here, also in TLS."""

import contextlib
import datetime
import http.client
import http.server
import json
import os
import select
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

PROGRAM = sys.argv[1:]
CASES = (Path(__file__).parent / "proxies.json").read_text()
NAME = "ledger.invalid"
#: How long a program may take, in seconds.
PATIENCE_S = 60
INFO = {"did": "did:x811:019c8c61-8129-7511-9f31-aa5142e65449"}
MESSAGE = {"cursor": "7", "position": 7, "envelope": {"id": "e", "payload": {"text": "é"}}}
#: What the programs ask for, in their order.
PATHS = ["/api/v1/agents/019c8c61-8129-7511-9f31-aa5142e65448/trust"] * 2 + [
    "/api/v1/messages/019c8c61-8129-7511-9f31-aa5142e65448/stream?instance=one", "/.well-known/x811.json"]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, text):
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(text)


class Ledger(Handler):
    """Notes the Host and path of every request. A stream stays open behind its message."""

    def do_GET(self):
        self.server.asked.append((self.headers["Host"], self.path))
        if "/stream" not in self.path:
            return self.answer(200, json.dumps(INFO).encode())
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        place = {name: value for name, value in MESSAGE.items() if name != "envelope"}
        events = [": begun", f"event: place\ndata: {json.dumps(place)}", f"event: message\ndata: {json.dumps(MESSAGE['envelope'])}"]
        self.wfile.write("".join(f"{event}\n\n" for event in events).encode())
        self.close_connection = True
        # Until the reader leaves.
        with contextlib.suppress(OSError):
            self.rfile.read(1)


class Proxy(Handler):
    """Notes every request: method, target, credentials. Ends the connection behind each, as small proxies do."""

    def do_GET(self):
        self.note()
        if self.server.refusal:
            return self.answer(self.server.refusal, b"no")
        target = urlsplit(self.path)
        lines = [f"GET {target.path}{'?' * bool(target.query)}{target.query} HTTP/1.1", "Connection: close"]
        hop_by_hop = ("connection", "proxy-authorization", "proxy-connection")
        lines += [f"{name}: {value}" for name, value in self.headers.items() if name.lower() not in hop_by_hop]
        self.relay(target.port or 80, "".join(f"{line}\r\n" for line in [*lines, ""]).encode())

    def do_CONNECT(self):
        self.note()
        if self.server.refusal:
            return self.answer(self.server.refusal, b"no")
        self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        self.relay(int(self.path.rpartition(":")[2]), b"")

    def note(self):
        self.server.asked.append((self.command, self.path, self.headers["Proxy-Authorization"]))

    def relay(self, port, first):
        self.close_connection = True
        with socket.create_connection(("127.0.0.1", port)) as server, contextlib.suppress(OSError):
            server.sendall(first)
            other = {server: self.connection, self.connection: server}
            while True:
                for one in select.select(list(other), [], [])[0]:
                    data = one.recv(1 << 16)
                    if not data:
                        return
                    other[one].sendall(data)


@contextlib.contextmanager
def serving(handler, context=None):
    """A server on a port of its own; `asked` has its requests."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads, server.asked, server.refusal = True, [], None
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.socket.close()


def certified(folder):
    """A TLS context for NAME and a proxy, and the file with the certificate to trust."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, NAME)])
    now, day = datetime.datetime.now(datetime.UTC), datetime.timedelta(days=1)
    usage = dict.fromkeys(["content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "crl_sign",
                           "encipher_only", "decipher_only"], False)
    extensions = [
        (x509.SubjectAlternativeName([x509.DNSName(NAME), x509.DNSName("localhost")]), False), (x509.BasicConstraints(ca=True, path_length=0), True),
        (x509.KeyUsage(digital_signature=True, key_cert_sign=True, **usage), True),
        (x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False),
    ]
    made = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now - day, now + day)
    for extension, is_critical in extensions:
        made = made.add_extension(extension, is_critical)
    file = folder / "certificate.pem"
    pem = serialization.Encoding.PEM
    file.write_bytes(made.sign(key, hashes.SHA256()).public_bytes(pem))
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "key.pem").write_bytes(secret)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file, folder / "key.pem")
    return context, file


def read(url, trusted, **proxies):
    """What the program prints, with these variables and no other proxies."""
    names = ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "request_method")
    kept = {name: value for name, value in os.environ.items() if name.lower() not in names}
    # It makes Node's own clients use proxies: ours have to go by their own rule all the same.
    trust = {"SSL_CERT_FILE": str(trusted), "NODE_EXTRA_CA_CERTS": str(trusted), "NODE_USE_ENV_PROXY": "1"}
    done = subprocess.run([*PROGRAM, url, CASES], env=kept | trust | proxies, capture_output=True, text=True,
                          timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def main(folder):
    context, trusted = certified(folder)
    with serving(Ledger) as plain, serving(Ledger, context) as secure, serving(Proxy) as proxy:
        way, good = f"http://127.0.0.1:{proxy.server_port}", {"info": INFO, "message": MESSAGE}
        closed, opened = f"{NAME}:{plain.server_port}", f"{NAME}:{secure.server_port}"

        def passed(url, trust=trusted, **proxies):
            """What came of it, and what the proxy and the servers were asked for."""
            for server in (plain, secure, proxy):
                server.asked.clear()
            return read(url, trust, **proxies), list(proxy.asked), plain.asked + secure.asked

        relayed = [("GET", f"http://{closed}{path}", None) for path in PATHS]
        for variables in ({"HTTP_PROXY": way}, {"http_proxy": way}, {"ALL_PROXY": way, "HTTPS_PROXY": "http://127.0.0.1:1"}):
            got, asked, served = passed(f"http://{closed}", **variables)
            assert (got, asked) == (good, relayed), (variables, got, asked)
            assert served == [(closed, path) for path in PATHS], served
        for variables in ({"HTTPS_PROXY": way}, {"https_proxy": way}, {"all_proxy": way, "HTTP_PROXY": "http://127.0.0.1:1"}):
            got, asked, served = passed(f"https://{opened}", **variables)
            assert got == good, (variables, got)
            # How many requests take the same tunnel is the program's choice.
            assert set(asked) == {("CONNECT", opened, None)} and len(asked) <= len(PATHS), asked
            assert served == [(opened, path) for path in PATHS], served
        with_password = f"http://ada:p%40ss@127.0.0.1:{proxy.server_port}"
        for url, variables in ((f"http://{closed}", {"HTTP_PROXY": with_password}), (f"https://{opened}", {"HTTPS_PROXY": with_password})):
            got, asked, _ = passed(url, **variables)
            assert got == good and {one[2] for one in asked} == {"Basic YWRhOnBAc3M="}, (got, asked)

        # The proxy cannot stand for the ledger: the certificate is checked in the tunnel.
        got, asked, served = passed(f"https://{opened}", trust=os.devnull, HTTPS_PROXY=way)
        assert "certificate" in got.get("fault", "").lower() and len(asked) == 1 and served == [], (got, asked, served)

        # A proxy that is spoken to in TLS is used, or refused by the name of its variable.
        with serving(Proxy, context) as tls:
            tls_way = f"https://localhost:{tls.server_port}"
            for url in (f"http://{closed}", f"https://{opened}"):
                got, _, served = passed(url, HTTP_PROXY=tls_way, HTTPS_PROXY=tls_way)
                is_refused = "_PROXY" in got.get("fault", "") and (tls.asked, served) == ([], [])
                assert is_refused or got == good and tls.asked, (url, got, tls.asked)
                tls.asked.clear()

        # This machine is never asked through a proxy, whatever NO_PROXY says.
        everything = {"HTTP_PROXY": way, "HTTPS_PROXY": way, "ALL_PROXY": way}
        for host in ("127.0.0.1", "localhost"):
            got, asked, served = passed(f"http://{host}:{plain.server_port}", **everything)
            assert (got, asked) == (good, []), (host, got, asked)
            assert [path for _, path in served] == PATHS, served

        # Without the proxy nobody knows the name.
        for no_proxy in (NAME, "invalid", "*"):
            for url in (f"http://{closed}", f"https://{opened}"):
                got, asked, served = passed(url, NO_PROXY=no_proxy, **everything)
                assert "fault" in got and (asked, served) == ([], []), (no_proxy, got, asked)

        proxy.refusal = 407
        for url in (f"http://{closed}", f"https://{opened}"):
            got, asked, served = passed(url, **everything)
            assert "407" in got.get("fault", "") and len(asked) == 1 and served == [], (url, got, asked)
        # Node itself would not start.
        got, _, _ = passed(f"http://{closed}", HTTP_PROXY="socks5://ada:secret@127.0.0.1:1", NODE_USE_ENV_PROXY="0")
        assert "HTTP_PROXY" in got["fault"] and "secret" not in got["fault"], got


with tempfile.TemporaryDirectory() as made:
    main(Path(made))
print("proxies hold")
