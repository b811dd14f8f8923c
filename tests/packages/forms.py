"""What the wheel signs, verifies, counts and locks, without a ledger: `forms.py`."""

import hashlib
import http.server
import json
import os
import re
import tempfile
import threading
from pathlib import Path

import x811
from x811 import approvals, bargain, proofs
from x811.caps import budget_of, fee_of
from x811.feed import reconnect_s
from x811.keys import now_ms
from x811.outbox import asks_first, fate_of_absence, fate_of_refusal
from x811.paying import is_pay_due, refuted
from x811.haggling import Talks, negotiation_of
from x811.state import State

#: The folder `tests`: vectors, and replies that the client in Rust is held to, too.
TESTS = Path(__file__).parent.parent
SEED = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
PUBLIC = "z6MktwupdmLXVVqTzCw4i46r4uGyosGXRnR3XjN4Zq7oMMsw"
#: docs/connect.md, section 3.
SAID = {
    "created": "2026-01-01T00:00:00.000Z", "from": "did:x811:019c8c61-8129-7511-9f31-aa5142e65448",
    "id": "0190a1b2-c3d4-7e5f-8901-234567890abc", "nonce": "a1b2c3d4-e5f6-4890-abcd-ef1234567890",
    "payload": {"acceptance_policy": "auto", "currency": "USDC", "deadline": 60, "idempotency_key": "test-key-001",
                "max_budget": 0.05, "parameters": {"ticker": "ETH"}, "task_type": "financial-analysis"},
    "to": "did:x811:019c8c61-8129-7511-9f31-aa5142e65449", "type": "x811/request", "version": "0.1.0",
}
DIGEST = "e44e766698be7dd791d7325a16bf3de3598863a8a2e2d6eb33d7fe371ebf61c4"
SIGNATURES = {
    "digest": "bh5WLUh1SKKd7E-un534XhRwGs0s_qRPxQlT-Tz7NKwRuqjWdfbMbwEk5bjySXk36rk8rYJBMcM1YZk6c9lmAw",
    "direct": "O73OSnPZRn4ZmJJBSfnneoLi1-52u7iPyRLePZyG7vaUhyg09ED54K7cRwEdRwiad302ZhfWQdUETVhkiB1kBA",
}


def raises(fault, call):
    try:
        call()
    except fault:
        return
    raise AssertionError(f"{fault} was not raised")


def signatures():
    assert hashlib.sha256(x811.canonical(SAID)).hexdigest() == DIGEST
    for profile, signature in SIGNATURES.items():
        keys = x811.Keys(SAID["from"], SEED, profile)
        assert keys.public == PUBLIC and "9d61" not in repr(keys)
        for other in SIGNATURES:
            # A key is tried by its own profile and never by the other.
            known = [{"key": PUBLIC, "profile": other}]
            assert x811.verify(SAID | {"signature": signature}, known) == (other == profile)
            assert not x811.verify(SAID | {"signature": signature, "to": SAID["from"]}, known)
        sealed = keys.seal(SAID["to"], "x811/request", SAID["payload"])
        assert x811.verify(sealed, [{"key": PUBLIC, "profile": profile}])
    known = [{"key": PUBLIC, "profile": "digest"}]
    for signature in ("", "é", None, 7, SIGNATURES["digest"][:-4]):
        assert not x811.verify(SAID | {"signature": signature}, known)
    assert not x811.verify(SAID, known) and not x811.verify(SAID | {"signature": SIGNATURES["digest"]}, [])


def amounts():
    for text, amount in [("0", 0), ("0.01025", 10_250), ("1.5", 1_500_000), ("1000000", 10**12)]:
        assert x811.micro_usdc(text) == amount and x811.usdc(amount) == text
    for text in ("", "01", "1.", ".5", "-1", "1e3", "0.0000001", "1,5", 1, None):
        raises(ValueError, lambda: x811.micro_usdc(text))
    # A REQUEST has its budget as a number: no float arithmetic, and half of a micro-USDC is rounded up.
    for number, amount in [(0, 0), (2, 2 * 10**6), (0.05, 50_000), (1e-6, 1), (0.1234565, 123_457), (1e12, 10**18),
                           (9007199254.740993, 9_007_199_254_740_993)]:
        assert budget_of(number) == amount, number
    assert [fee_of(price) for price in (0, 19, 20, 10_000)] == [0, 0, 1, 250]
    commitment = lambda interaction, total, at_ms, **members: \
        {"interaction": interaction, "total_micro_usdc": total, "at_ms": at_ms} | members
    caps, journal = x811.Caps("0.04", "0.1"), [commitment("a", 70_000, 1)]
    day_ms = 86_400_000
    for interaction, total, at_ms, broken in [
        ("b", 30_000, 2, None), ("b", 30_001, 2, "the cap for 24 hours"), ("b", 40_001, 2, "the cap for one interaction"),
        ("a", 40_000, 2, None), ("b", 40_000, day_ms, "the cap for 24 hours"), ("b", 40_000, day_ms + 1, None),
    ]:
        assert caps.broken_by(commitment(interaction, total, at_ms), journal) == broken, (interaction, total, at_ms)
    caps = x811.Caps("1", "1", per_provider="0.06", per_network="0.08")
    journal = [commitment("a", 30_000, 1, provider="p", network="base"), commitment("old", 10_000, 1)]
    for provider, network, total, broken in [
        ("p", "base", 20_000, None), ("p", "base", 20_001, "the cap for this provider in 24 hours"),
        ("q", "base", 40_000, None), ("q", "base", 40_001, "the cap for this network in 24 hours"),
        ("q", "other", 50_000, None), ("q", "other", 50_001, "the cap for this provider in 24 hours"),
    ]:
        assert caps.broken_by(commitment("b", total, 2, provider=provider, network=network), journal) == broken
    raises(ValueError, lambda: x811.Caps("1", "1", per_network="much"))


def outbox():
    refused = lambda status, code, **details: x811.Refused(status, {"code": code, "details": details})
    for fault, fate in [
        (refused(429, "X811-9001"), "again"), (refused(503, "X811-3003"), "again"), (refused(500, "X811-9002"), "again"),
        (refused(502, "X811-1001"), "again"), (refused(401, "X811-2002"), "ask"), (refused(409, "X811-2001"), "ask"),
        (refused(409, "X811-2001", first={"code": "X811-4001"}), "refused"), (refused(422, "X811-4001"), "refused"),
    ]:
        assert fate_of_refusal(fault)[0] == fate, fault
    entry = {"created_ms": 1_000, "is_doubtful": False}
    assert not asks_first(entry, 331_000) and asks_first(entry, 331_001) and asks_first(entry | {"is_doubtful": True}, 0)
    for status, as_of, fate in [
        (404, {"at_ms": 331_001}, "dead"), (404, {"at_ms": 331_000}, "ask"), (404, {}, "ask"), (403, {"at_ms": 331_001}, "ask"),
    ]:
        assert fate_of_absence(entry, refused(status, "X811-1001", as_of=as_of)) == fate
    assert [reconnect_s(failures) for failures in range(1, 9)] == [1, 2, 4, 8, 16, 30, 30, 30]


def state():
    with tempfile.TemporaryDirectory() as folder:
        one = State(folder, "did:x811:a", "did:x811:l")
        raises(x811.StateFault, lambda: State(folder, "did:x811:a", "did:x811:l"))
        one.put("i", "accept", {"id": "e"}, 0)
        assert not one.may_seal("i", "accept") and one.may_seal("i", "reject")
        one.save()
        assert (Path(folder) / "state.json").stat().st_mode & 0o777 == 0o600
        one.close()
        raises(x811.StateFault, lambda: State(folder, "did:x811:b", "did:x811:l"))
        again = State(folder, "did:x811:a", "did:x811:l")
        assert [entry["envelope"] for entry in again.outbox] == ['{"id":"e"}']
        for outcome, sealed, may in [("delivered", 1, False), ("refused", 1, True), ("dead", 2, True), ("refused", 3, False)]:
            again.task("i")["steps"]["accept"] = {"sealed": sealed, "outcome": outcome}
            assert again.may_seal("i", "accept") == may, (outcome, sealed)
        again.close()


def other_programs_state():
    """That of `x811 agent run` has the same name."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "state.json"
        of_rust = {"v": 1, "did": "did:x811:a", "ledger": "did:x811:l", "talks": {}, "proofs": []}
        file.write_text(json.dumps(of_rust))
        raises(x811.StateFault, lambda: State(folder, "did:x811:a", "did:x811:l"))
        # Written before there were negotiations.
        file.write_text(json.dumps({name: value for name, value in of_rust.items() if name not in ("talks", "proofs")}))
        State(folder, "did:x811:a", "did:x811:l").close()


def standing(kind, tx_hash="0xaa", cause="reverted"):
    more = {"cause": cause, "code": "X811-5003"} if kind == "refuted" else {}
    return {"tx_hash": tx_hash, "standing": {"kind": kind} | more}


def payments_due():
    delivered, refused, third = [{"outcome": outcome, "sealed": sealed} for outcome, sealed in
                                 [("delivered", 1), ("refused", 1), ("delivered", 3)]]
    for kinds, step, is_due in [
        ([], None, True), ([], refused, True), ([], delivered, False), ([], {"outcome": "open", "sealed": 1}, False),
        (["unseen"], None, True), (["refuted"], None, True), (["refuted", "unseen"], None, True), (["seen"], None, False),
        (["refuted", "seen"], None, False), (["claimed"], None, False), (["insufficient"], None, False), (["reversed"], None, False),
        (["unseen"], delivered, False), (["refuted"], delivered, True), (["refuted", "unseen"], delivered, False),
        (["refuted", "refuted"], delivered, True), (["refuted"], third, False), (["refuted"], {"outcome": "open", "sealed": 1}, False),
        (["refuted"], refused, True), (["refuted"], {"outcome": "refused", "sealed": 3}, False),
    ]:
        transactions = [standing(kind) for kind in kinds]
        assert is_pay_due(transactions, step, 0, 1) == is_due, (kinds, step)
        assert is_pay_due(transactions, step, 2, 1) == (is_due and not kinds), (kinds, step)
    assert refuted([standing("refuted"), standing("unseen", "0xbb"), standing("refuted", "0xcc", "short")]) == \
        {"0xaa": "reverted", "0xcc": "short"}


class Payments:
    """A ledger that knows one interaction, for the step of an initiator that pays."""

    def __init__(self):
        self.keys, self.transactions = x811.Keys(SAID["from"], SEED), []

    def info(self):
        return {"did": "did:x811:l", "checkpoint_vkey": "log", "networks": [{"name": "base"}]}

    def settlement(self, interaction):
        return {"transactions": self.transactions}


def payments():
    """What is called with what, and what is declared and told of it."""
    calls, answers, told, ledger = [], [], [], Payments()
    def pay(due):
        calls.append(due)
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer
    fault = lambda code, text: x811.BinaryFault({"error": {"code": code, "message": text}}, 1)
    with tempfile.TemporaryDirectory() as folder:
        loop = x811.Initiator(ledger, folder, x811.Caps("1", "1"), pay, None, watch=lambda *news: told.append(news[::2]))
        payload = {"total_cost": "0.01025", "payment_address": "0xee"}
        offer = {"id": "o", "from": SAID["to"], "payload": payload | {"request_id": "i"}}
        view = {"state": "verified", "initiator": SAID["from"], "provider": SAID["to"], "opened_at_ms": now_ms(),
                "deadline_at_ms": now_ms() + 60_000}
        task = loop.state.task("i")
        task["envelopes"]["offer"] = offer
        def look(*more):
            answers[:] = more
            loop.move("i", task, view)
            assert not answers, answers
        loop.recall("i", view)
        # The state file was lost: a callback may have paid, whether or not a PAYMENT names it.
        look(x811.PayLater("no answer"))
        assert calls[-1].may_have_been_paid and told == [("pay later", "no answer")], (calls, told)
        del task["pay_begun"]
        ledger.transactions = [standing("unseen")]
        task["pay_more_at_ms"] = 0
        look(x811.Paid("0xAA", "0xdd"))
        assert calls[-1].may_have_been_paid and not loop.state.outbox, "0xaa is named already"
        look()
        # Nobody answers: sooner again than where an answer came.
        task["pay_more_at_ms"] = 0
        look(x811.PayLater("no answer"))
        assert task["pay_more_at_ms"] <= now_ms() + 2_000
        # One fault is alarmed once, whatever figures are in its text.
        for number in (1, 2):
            task["pay_more_at_ms"] = 0
            look(fault("fees_too_high", f"up to {number} ETH"))
        assert [what for what, _ in told[-2:]] == ["alarm", "pay later"], told
        # What the loop declared for a callback is refuted: it is asked for another, and that is declared.
        task["steps"]["payment"], task["pay_more_at_ms"] = {"outcome": "delivered", "sealed": 1}, 0
        look()
        ledger.transactions = [standing("refuted")]
        look(x811.Paid("0xbb", "0xdd"))
        assert calls[-1].refuted == {"0xaa": "reverted"} and told[-1][0] == "alarm" and "0xaa" in told[-1][1], told
        [entry] = loop.state.outbox
        assert json.loads(entry["envelope"])["payload"]["tx_hash"] == "0xbb"
        loop.state.close()


def commands():
    """What becomes of the ends of `x811 pay`; no text of a fault has the address of the endpoint."""
    due = x811.Due(interaction="i", offer_id="o", offer_hash="h", provider="p", payee="0xee", total_micro_usdc=1, network="base",
                   ledger="l", may_have_been_paid=False)
    with tempfile.TemporaryDirectory() as folder:
        binary = Path(folder) / "x811"
        os.environ["X811_BINARY"] = str(binary)
        pay = x811.binary_payer("http://127.0.0.1:1", folder, "ada", "https://rpc.example/secret")
        def end(script, call=lambda: pay(due)):
            binary.write_text(f"#!/bin/sh\n{script}\n")
            binary.chmod(0o700)
            try:
                return call()
            except Exception as fault:
                assert "secret" not in str(fault), fault
                return fault
        answer = lambda code: "echo '" + json.dumps({"error": {"code": code, "message": "m"}}) + "'; "
        assert end("echo '{}'") is None
        for script in (answer("rpc") + "exit 3", answer("X811-9001") + "exit 1", answer("X811-9002") + "exit 1"):
            assert isinstance(end(script), x811.PayLater), script
        for script in (answer("fees_too_high") + "exit 1", answer("rpc_refused") + "exit 1", "exit 1", "kill -9 $$", "exit 0"):
            assert isinstance(end(script), x811.BinaryFault), script
        waits = end("exec sleep 9", lambda: x811.run_binary("--rpc", "https://rpc.example/secret", timeout_s=0.2))
        assert isinstance(waits, x811.BinaryFault) and waits.code == "timeout", waits
        del os.environ["X811_BINARY"]


def replies():
    """The same as the client in Rust says to the same prices."""
    cases = json.loads((TESTS / "packages" / "replies.json").read_text())
    for case in cases:
        limits = bargain.Limits(case["side"] == "payer", *(case[name] for name in ("opening", "walk_away", "per_turn")))
        said = bargain.reply(case["own"], case["theirs"], limits, case["strategy"], case["are_alike"], case["may_be_countered"])
        assert list(said) == case["reply"], (case, said)
    for total in (*range(2_100), 29_725, 10**15):
        price = bargain.price_within(total)
        assert price + fee_of(price) <= total < price + 1 + fee_of(price + 1), total
    raises(ValueError, lambda: x811.Negotiation("0.001", strategy="never"))
    greedy = x811.Negotiation("0.001", strategy=lambda own, theirs: 10**9)
    limits = bargain.Limits(is_payer=True, opening=100, walk_away=5_000, per_turn=1_000)
    assert bargain.next_price([100], [9_000], limits, greedy.strategy) == 1_100, "the limit of a turn holds"


def negotiations():
    named, own = "0190a1b2-c3d4-7e5f-8901-234567890abc", "0190a1b2-c3d4-7e5f-8901-234567890abd"
    assert negotiation_of({"id": "../../agents", "type": "x811.negotiation/offer", "payload": {}}) is None
    for kind, payload, found in [
        ("x811.negotiation/offer", {}, own), ("x811.negotiation/counter", {"negotiation_id": f"neg-{named}"}, named),
        ("x811/error", {"negotiation_id": f"neg-{named}"}, named), ("x811/request", {"negotiation_id": f"neg-{named}"}, None),
        ("x811.negotiation/counter", {"negotiation_id": "neg-../../agents"}, None), ("x811.negotiation/counter", {}, None),
    ]:
        assert negotiation_of({"id": own, "type": kind, "payload": payload}) == found, (kind, payload)
    with tempfile.TemporaryDirectory() as folder:
        loop = type("Loop", (), {"state": State(folder, "did:x811:a", "did:x811:l")})
        talks = Talks(loop, x811.Negotiation("0.001"))
        # An ERROR that names an interaction as a negotiation takes nothing from the interaction.
        loop.state.task(named)["look_at_ms"] = 7
        talks.take(named, "x811/error")
        assert loop.state.data["talks"] == {} and loop.state.task(named)["look_at_ms"] == 7
        talks.take(named, "x811.negotiation/counter")
        assert list(loop.state.data["talks"]) == [named] and loop.state.task(named)["look_at_ms"] == 0
        loop.state.close()


def proof_files():
    """tests/vectors/README.md has the verdicts."""
    vkey = (TESTS / "vectors" / "policy" / "log").read_text().split()[1]
    section = (TESTS / "vectors" / "README.md").read_text().split("## proof/")[1].split("\n## ")[0]
    verdicts = re.findall(r"^\| `([^`]+)` \|.*\| ([a-z-]+) \|[^|]*\|$", section, re.MULTILINE)
    assert len(verdicts) == len(list((TESTS / "vectors" / "proof").iterdir())), verdicts
    good = 0
    for name, verdict in verdicts:
        text = (TESTS / "vectors" / "proof" / f"{name}.tlog-proof").read_bytes().decode()
        try:
            index, record = proofs.proven(text, vkey)
            assert verdict == "good" and name.startswith(f"{index}-of-"), name
            good += 1
        except proofs.ProofFault as fault:
            assert verdict != "good", (name, fault)
        if verdict == "good":
            raises(proofs.ProofFault, lambda: proofs.proven(text, vkey[:-4] + "AAAA"))
    assert good > 8
    # Whatever it proves, it has to hold the envelope that was sent, at the place that was named.
    text = (TESTS / "vectors" / "proof" / "0-of-1.tlog-proof").read_text()
    _, record = proofs.proven(text, vkey)
    due = {"position": 0, "record_hash": hashlib.sha256(b"\0" + record).hexdigest(), "envelope_id": "e", "digest": "d"}
    for other in (due, due | {"position": 1}, due | {"record_hash": "00" * 32}):
        raises(proofs.ProofFault, lambda: proofs.check(text, other, vkey))


def questions():
    """Decisions of a person, as `x811 approvals` leaves them."""
    interaction = "0190a1b2-c3d4-7e5f-8901-234567890abc"
    with tempfile.TemporaryDirectory() as folder:
        asked = approvals.Approvals(folder)
        asked.ask({"interaction": interaction, "answer_by_ms": 61_000})
        file = Path(folder) / "approvals" / f"{interaction}.json"
        assert file.stat().st_mode & 0o777 == 0o600 and asked.decision(interaction, "h", 29_725) is None
        yes = {"answer": "approve", "offer_hash": "h", "total": "29725", "at_ms": 60_999}
        for decision, counts in [
            (yes, True), (yes | {"answer": "reject"}, True), (yes | {"offer_hash": "other"}, False), (yes | {"total": "29726"}, False),
            (yes | {"at_ms": 61_000}, False), (yes | {"answer": "maybe"}, False), (None, False), ("approve", False),
            (yes | {"at_ms": None}, False), (yes | {"at_ms": "1"}, False), ({**yes, "at_ms": True}, False),
            ({name: value for name, value in yes.items() if name != "at_ms"}, False),
        ]:
            asked.ask({"interaction": interaction, "answer_by_ms": 61_000, "decision": decision})
            assert (asked.decision(interaction, "h", 29_725) is not None) == counts, decision
        for text in ("", "[]", "{", "7"):
            file.write_text(text)
            assert asked.decision(interaction, "h", 29_725) is None, text
        asked.ask({"interaction": interaction, "answer_by_ms": 61_000, "decision": yes})
        file.chmod(0o620)
        raises(ValueError, lambda: asked.decision(interaction, "h", 29_725))
        asked.forget(interaction)
        asked.forget(interaction)
        assert asked.read(interaction) is None
        raises(ValueError, lambda: asked.read("../state"))


class Endless(http.server.BaseHTTPRequestHandler):
    """Answers without an end."""

    def do_GET(self):
        self.send_response(500 if "refusal" in self.path else 200)
        self.end_headers()
        try:
            while True:
                self.wfile.write(b"x" * (1 << 20))
        except OSError:
            pass

    def log_message(self, *_):
        pass


def answers_without_end():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endless)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    ledger = x811.Ledger(f"http://127.0.0.1:{server.server_port}", x811.Keys(SAID["from"], SEED))
    for path in ("/answer", "/refusal"):
        try:
            ledger.read(path)
        except x811.Unreachable as fault:
            assert "is longer than 67108864 bytes" in str(fault)
        else:
            raise AssertionError(path)
    server.shutdown()
    server.server_close()


signatures()
amounts()
outbox()
state()
other_programs_state()
payments_due()
payments()
commands()
replies()
negotiations()
proof_files()
questions()
answers_without_end()
print("forms hold")
