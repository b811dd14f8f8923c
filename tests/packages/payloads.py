"""What the wheel seals is what it sends: a payload as JSON has it, or a fault that names the member."""

import datetime
import decimal
import enum
import json
import tempfile

import x811
from x811.state import State

ME, OTHER = "did:x811:019c8c61-8129-7511-9f31-aa5142e65448", "did:x811:019c8c61-8129-7511-9f31-aa5142e65449"
KEYS = x811.Keys(ME, bytes([7] * 32))
KNOWN = [{"key": KEYS.public, "profile": "digest"}]


class Colour(str, enum.Enum):
    RED = "red"


class Size(int, enum.Enum):
    LARGE = 3


class Share(float, enum.Enum):
    HALF = 0.5


def under(levels, inner):
    for _ in range(levels):
        inner = {"a": inner}
    return inner


def sealed(state):
    def sent(payload):
        """The payload as it leaves; its signature is verified as the ledger does, over what was read from the text."""
        envelope = KEYS.seal(OTHER, "x811/request", payload)
        state.put("i", "request", envelope, 0)
        read = json.loads(state.outbox[-1]["envelope"])
        assert x811.verify(read, KNOWN), read
        # However a caller writes the sealed envelope itself.
        assert json.loads(json.dumps(envelope)) == read
        return read["payload"]

    edges = {"zero": 0, "tiny": 1e-7, "most": 2**53 - 1, "least": 1 - 2**53, "half": 0.5}
    names = {"\U0001f600": "\U0001f600", "\ufb33": "\u2028\0\"", "": None, "10": True, "9": False}
    for payload, expected in [
        ({"pair": (1, (2, 3)), "none": ()}, {"pair": [1, [2, 3]], "none": []}),
        ({Colour.RED: Colour.RED, "size": Size.LARGE, "share": Share.HALF}, {"red": "red", "size": 3, "share": 0.5}),
        (edges | {"zero": -0.0, "whole": 5.0}, edges | {"whole": 5}), (names, names), (under(126, {}), under(126, {})),
    ]:
        assert sent(payload) == expected, payload
    # What changes after it was sealed changes nothing.
    parameters = {"items": [1]}
    envelope = KEYS.seal(OTHER, "x811/request", {"parameters": parameters})
    parameters["items"].append(2)
    assert x811.verify(envelope, KNOWN)


def refused():
    circle = {}
    circle["self"] = circle
    moment = datetime.datetime(1970, 1, 1)
    for payload, path, todo in [
        ({"parameters": {"items": [0, 1, {"when": moment}]}}, "parameters.items[2].when is of the type datetime", "text"),
        ({"a": {"b": float("nan")}}, "a.b is nan", "None"), ({"a": [float("-inf")]}, "a[0] is -inf", "None"),
        ({"a": decimal.Decimal("0.1")}, "a is of the type Decimal", "str(value)"), ({"a": b"x"}, "a is of the type bytes", "text"),
        ({"a": {1, 2}}, "a is of the type set", "text"), ({"a": 2**53}, "a is 9007199254740992", "text"),
        ({"a": -10**400}, "a is -1000", "text"), ({"a": 1e300}, "a is 1e+300", "text"),
        ({"a": {1: "x"}}, "a has a member named 1", "text"), ({"a": {True: 1}}, "a has a member named True", "text"),
        ({"a": {"\ud800": 1}}, "a has a member named '\\ud800'", "surrogates"), ({"é": "\ud800"}, "é has a lone surrogate", "replace"),
        ({"two words": [{"b": ...}]}, '["two words"][0].b is of the type ellipsis', "text"),
        (under(127, {}), "a.a.a", "126"), (circle, "self.self", "126"), (moment, "the payload is of the type", "text"),
    ]:
        try:
            KEYS.seal(OTHER, "x811/request", payload)
        except ValueError as fault:
            assert str(fault).startswith(path) and todo in str(fault), fault
        else:
            raise AssertionError(path)
    # An order is refused before a loop begins with any.
    try:
        x811.Order("one", OTHER, "upper", "0.02", 60, parameters={"items": [{"when": moment}]})
    except ValueError as fault:
        assert str(fault).startswith("parameters.items[0].when is of the type datetime"), fault
    else:
        raise AssertionError("an order with a datetime")


def products(state):
    """Work that cannot be sent is a failure of the work, and is told; it does not end the loop."""
    loop = x811.Provider.__new__(x811.Provider)
    loop.ledger, loop.state, loop._working, loop._watch = type("Known", (), {"keys": KEYS}), state, set(), lambda *told: None
    for product, reason in [
        (x811.Product("\ud800"), "content has a lone surrogate"), (x811.Product("good", more={"methodology": [float("nan")]}), "methodology[0] is nan"),
        (x811.Product({"text": "good"}), "AttributeError"), (x811.Product("good", more=None), "TypeError"),
    ]:
        state.data["outbox"] = []
        envelopes = {"request": {"from": OTHER}, "accept": {"payload": {"offer_id": "o"}}}
        state.tasks["t"] = {"look_at_ms": 0, "steps": {}, "work_started_ms": 0, "envelopes": envelopes}
        loop.told("worked", "t", product, None)
        assert state.outbox[0]["act"] == "error", state.outbox
        assert reason in json.loads(state.outbox[0]["envelope"])["payload"]["message"], (reason, state.outbox)


with tempfile.TemporaryDirectory() as folder:
    opened = State(folder, ME, OTHER)
    sealed(opened)
    refused()
    products(opened)
    opened.close()
print("payloads hold")
