"""A ledger over HTTP: what is read and sent, and how answers are sorted (sections 4, 8 and 12)."""

import http.client
import json
import os
from urllib.parse import urlencode, urlsplit

from .keys import Keys, verify
from .outgoing import Route

#: How long an answer may take, in seconds; a poll may wait besides.
ANSWER_S = 30
#: A stream is dead after so many seconds without a byte: the first, and later ones.
SILENCE_S = (10, 75)
#: The largest correction of the time of signed requests. A ledger refuses messages that are further off, too.
MOST_OFFSET_MS = 300_000
#: The largest answer that is read, in bytes: a page of the largest envelopes.
MOST_BYTES = 64 << 20


class Unreachable(Exception):
    """No answer, or one that is not the ledger's: try again."""


class Refused(Exception):
    """The ledger said no: `status`, `code`, `message`, `details`."""

    def __init__(self, status: int, body: dict):
        self.status, self.body = status, body
        self.code, self.message = body["code"], body.get("message", "")
        details = body.get("details")
        self.details = details if isinstance(details, dict) else {}
        super().__init__(f"{self.code} {self.message}")


class Ledger:
    """One ledger as one agent uses it. Threads may share it: every request has its connection. It is reached through
    the proxy that HTTP_PROXY, HTTPS_PROXY or ALL_PROXY name when it is made, unless it is on this machine or NO_PROXY
    names it."""

    def __init__(self, url: str, keys: Keys):
        self.url = url.rstrip("/")
        self.keys = keys
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"not the address of a ledger: {url!r}")
        self._route = Route(parts, os.environ)
        self._prefix = parts.path
        self._info = None
        #: The ledger's time minus this machine's, as the last refusal named it.
        self._offset_ms = 0

    def _open(self, method, path, query=None, body=None, signed=True, headers=None, timeout_s=ANSWER_S):
        query, path = urlencode(query or {}), self._prefix + path
        headers = {"Content-Type": "application/json"} | (headers or {})
        if signed:
            headers |= self.keys.signed_read(method, self._route.authority, path, query, self._offset_ms)
        try:
            return self._route.send(method, f"{path}?{query}" if query else path, body, headers, timeout_s)
        except (OSError, http.client.HTTPException) as lost:
            raise Unreachable(f"{self.url} does not answer: {lost!r}") from None

    def _in_time(self, ask):
        """The result of `ask()`, a signed request; it is signed once more by the ledger's clock if the ledger refuses its
        time. Nothing else is taken from a refusal (decision 0297)."""
        used_ms = self._offset_ms
        try:
            return ask()
        except Refused as refused:
            named_ms = refused.details.get("offset_ms")
            is_about_time = refused.status == 401 and refused.code == "X811-2002" and type(named_ms) is int
            if not is_about_time or abs(used_ms + named_ms) > MOST_OFFSET_MS:
                raise
            self._offset_ms = used_ms + named_ms
        return ask()

    def call(self, method, path, query=None, body=None, signed=True, timeout_s=ANSWER_S) -> bytes:
        """One request and its answer; raises Refused or Unreachable."""
        ask = lambda: self._call(method, path, query, body, signed, timeout_s)
        return self._in_time(ask) if signed else ask()

    def _call(self, method, path, query, body, signed, timeout_s) -> bytes:
        answer, opened = self._open(method, path, query, body, signed, timeout_s=timeout_s)
        try:
            data = answer.read(MOST_BYTES + 1)
        except (OSError, http.client.HTTPException) as lost:
            raise Unreachable(f"the answer of {self.url} broke off: {lost!r}") from None
        finally:
            answer.close()
            opened.close()
        if len(data) > MOST_BYTES:
            raise Unreachable(f"the answer of {self.url} is longer than {MOST_BYTES} bytes")
        return self._sorted(answer.status, data)

    def _sorted(self, status, data):
        if status < 300:
            return data
        try:
            refused = Refused(status, json.loads(data))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise Unreachable(f"{self.url} answers {status}, and not as a ledger") from None
        raise refused

    def read(self, path, query=None, signed=True, timeout_s=ANSWER_S):
        """A JSON document."""
        return json.loads(self.call("GET", path, query, signed=signed, timeout_s=timeout_s))

    def info(self) -> dict:
        """`/.well-known/x811.json`, read once."""
        if self._info is None:
            self._info = self.read("/.well-known/x811.json", signed=False)
        return self._info

    def send(self, envelope: str) -> dict:
        """Sends an envelope, byte for byte; its answer, also when it was taken before."""
        try:
            return json.loads(self.call("POST", "/api/v1/messages", body=envelope.encode(), signed=False))
        except Refused as refused:
            first = refused.details.get("first") or {}
            if first.get("envelope_id") == json.loads(envelope)["id"] and "position" in first:
                return first
            raise

    def by_id(self, envelope_id: str) -> dict:
        """`{first, envelope}` of an accepted message; Refused with status 404 where there is none."""
        return self.read(f"/api/v1/messages/by-id/{envelope_id}")

    def interaction(self, interaction: str) -> dict:
        return self.read(f"/api/v1/interactions/{interaction}")

    def settlement(self, interaction: str) -> dict:
        return self.read(f"/api/v1/interactions/{interaction}/settlement")

    def negotiation(self, negotiation: str) -> list[dict]:
        """The records of a negotiation, oldest first."""
        records, after = [], None
        while True:
            query = {} if after is None else {"after_seq": after}
            page = self.read(f"/api/v1/negotiations/neg-{negotiation}/history", query)
            records += page["records"]
            # A page that does not move on would be read for ever.
            if page.get("next") is None or after is not None and page["next"] <= after:
                return records
            after = page["next"]

    def proof(self, position: int) -> str:
        """The proof file of a record: that it is under a checkpoint. Nothing is checked by reading it."""
        return self.call("GET", f"/api/v1/records/{position}/proof").decode()

    def agent(self, did: str) -> dict:
        return self.read(f"/api/v1/agents/{did.rsplit(':', 1)[1]}", signed=False)

    def trust(self, did: str) -> dict:
        return self.read(f"/api/v1/agents/{did.rsplit(':', 1)[1]}/trust", signed=False)

    def inbox(self, after, wait_ms: int, instance: str | None = None) -> dict:
        """A page of messages behind `after`, from the first without it."""
        query = {"after": after, "wait_ms": wait_ms, "instance": instance}
        query = {name: value for name, value in query.items() if value is not None}
        return self.read(self._mine(), query, timeout_s=ANSWER_S + wait_ms / 1000)

    def heartbeat(self, ttl_s: int) -> None:
        """Says that the agent is there for the next `ttl_s` seconds."""
        uuid = self.keys.did.rsplit(":", 1)[1]
        self.call("POST", f"/api/v1/agents/{uuid}/heartbeat", {"ttl_s": ttl_s})

    def acknowledge(self, through: str) -> None:
        self.call("POST", f"{self._mine()}/ack", {"through": through})

    def stream(self, after, instance: str):
        """Pages of one message as they come, at first an empty one; ends by raising."""
        query = {"instance": instance} | ({} if after is None else {"after": after})
        accept = {"Accept": "text/event-stream"}
        answer, opened = self._in_time(lambda: self._open_stream(query, accept))
        try:
            yield {"messages": [], "next": None}
            place, name, data = None, "", ""
            for line in iter(lambda: answer.readline(MOST_BYTES), b""):
                opened.settimeout(SILENCE_S[1])
                field, _, text = line.decode().rstrip("\r\n").partition(": ")
                if field == "event":
                    name = text
                elif field == "data":
                    data = text
                elif line.strip() == b"":
                    if name == "place":
                        # Of an erased message there is the place alone; the next message steps over it.
                        place = json.loads(data)
                    elif name == "message" and place:
                        yield {"messages": [place | {"envelope": json.loads(data)}], "next": place["cursor"]}
                    name, data = "", ""
        except (OSError, http.client.HTTPException, ValueError) as lost:
            raise Unreachable(f"the stream broke off: {lost!r}") from None
        finally:
            answer.close()
            opened.close()
        raise Unreachable("the stream ended")

    def _open_stream(self, query, accept):
        answer, opened = self._open("GET", f"{self._mine()}/stream", query, headers=accept, timeout_s=SILENCE_S[0])
        if answer.status == 200:
            return answer, opened
        try:
            self._sorted(answer.status, answer.read(MOST_BYTES))
        except (OSError, http.client.HTTPException) as lost:
            raise Unreachable(f"the answer of {self.url} broke off: {lost!r}") from None
        finally:
            answer.close()
            opened.close()
        raise Unreachable(f"{self.url} answers {answer.status}, which is no stream")

    def is_verified(self, envelope: dict, position: int) -> bool:
        """Signed by a key that its sender had at that position, as the ledger's records of keys say."""
        keys, after = [], None
        while True:
            query = {} if after is None else {"after_seq": after}
            path = f"/api/v1/agents/{str(envelope['from']).rsplit(':', 1)[1]}/keys"
            try:
                page = self.read(path, query, signed=False)
            except Refused as refused:
                if refused.status == 404:
                    return False
                raise
            for record in page["records"]:
                event = record["leaf"]["event"]
                if event["type"] == "agent_registered" and record["position"] <= position:
                    keys = event["keys"]
                elif event["type"] == "key_rotated" and record["position"] < position:
                    keys = [event["new_key"] if known["key"] == event["old_key"] else known for known in keys]
            after = page.get("next")
            if after is None:
                return verify(envelope, keys)

    def _mine(self) -> str:
        return f"/api/v1/messages/{self.keys.did.rsplit(':', 1)[1]}"
