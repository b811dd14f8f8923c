"""Whole interactions of two agents made of a package, against a ledger and a chain of their own:
`play.py X811 ANVIL PROGRAM...`, where `PROGRAM... ROLE FOLDER SETTINGS` is an agent (agent.py, agent.mjs).
Each is settled, paid once, and has a receipt that verifies; in most, one side is killed in the middle."""

import json
import signal
import subprocess
import tempfile
from pathlib import Path

import stuck
from stage import CAPS, TOTAL_MICRO_USDC, X811, Agent, Stage, order, proven, sent, settled, until

#: What both sides negotiate with: Ada offers 0.02, Bert asks 0.029; 0.023 and 0.026 follow. With the fee:
AGREED_MICRO_USDC = 26_650
TEXT = ["the text in capitals"]
SALE = {"task_type": "upper", "opening": "0.029", "lowest": "0.022", "time_s": 5, "deliverables": TEXT}
BERTS = {"per_turn": "0.003", "strategy": "fixed_concession", "max_turns": 10}
ADAS = {"per_turn": "0.003", "strategy": "tit_for_tat", "max_turns": 10}


def play(stage, payer, crash=None, is_negotiated=False):
    """One interaction; with `crash` (role, step, moment) that side is killed there and started again."""
    stage.plays += 1
    name = f"{stage.plays}-" + "-".join(crash or ["negotiated" if is_negotiated else "whole"]).replace("/", "-")
    before = stage.balance(stage.payee)
    settings = lambda role: {"crash": list(crash[1:])} if crash and crash[0] == role else {}
    berts = {"negotiation": BERTS, "sales": [SALE]} if is_negotiated else {}
    adas = {"negotiation": ADAS} if is_negotiated else {}
    terms = {"opening": "0.02", "deliverables": TEXT, "max_budget": "0.04"} if is_negotiated else {}
    bert = Agent(stage, "bert", "provider", stage.folder / f"{name}-bert", **settings("provider"), **berts)
    ada = Agent(stage, "ada", "initiator", stage.folder / f"{name}-ada", caps=CAPS, payer=payer,
                orders=[order(stage, name, terms)], **settings("initiator"), **adas)
    try:
        if crash:
            killed(stage, ada if crash[0] == "initiator" else bert, *crash[1:])
        assert ada.ended() == 0, ada.told()
        [over] = ada.events("over")
        settled(stage, over["interaction"], before, AGREED_MICRO_USDC if is_negotiated else TOTAL_MICRO_USDC)
        until(lambda: bert.events("over"), bert.told)
        proven(stage, ada, over["interaction"], ["accept", "verify"] + ["payment"] * (payer != "binary"))
        proven(stage, bert, over["interaction"], ["result"])
        assert not ada.events("alarm") and not bert.events("alarm"), (ada.told(), bert.told())
    finally:
        ada.stop()
        bert.stop()
    for agent in (ada, bert):
        sent_once(stage, agent, over["interaction"])
    print(f"{name}: {over['interaction']} {over['text']}, paid once, the receipt verifies", flush=True)
    return ada


def killed(stage, agent, step, moment):
    """Waits for the kill, holds the outbox against what was sent, starts the agent again."""
    until(lambda: agent.process.poll() is not None, agent.told)
    assert agent.process.returncode == -signal.SIGKILL, agent.told()
    if step != "pay":
        is_it = lambda entry: json.loads(entry["envelope"])["type"] in (f"x811/{step}", f"x811.{step}")
        [kept] = [entry for entry in agent.state()["outbox"] if is_it(entry)]
        assert (kept["envelope"] in sent(agent)) == (moment == "after"), (kept, sent(agent))
    else:
        assert not agent.state()["outbox"]
    agent.start()


def sent_once(stage, agent, interaction):
    """Whatever was sent of a kind was the same bytes each time, and is what the ledger has."""
    did = agent.state()["did"]
    said = {kind: (id, signature) for kind, id, signature in stage.said(interaction)}
    by_kind, by_step = {}, {}
    for text in sent(agent):
        envelope = json.loads(text)
        if envelope["type"].startswith("x811/"):
            by_kind.setdefault(envelope["type"], set()).add(text)
        else:
            by_step.setdefault(envelope["payload"].get("step_id"), set()).add(text)
    assert all(len(texts) == 1 for texts in by_step.values()), "terms are answered once"
    assert by_kind, did
    for kind, texts in by_kind.items():
        [text] = texts
        envelope = json.loads(text)
        assert (envelope["id"], envelope["signature"]) == said[kind], kind


def over_the_cap(stage):
    """What costs more than the cap is rejected, and nothing is paid."""
    before = stage.balance(stage.payee)
    bert = Agent(stage, "bert", "provider", stage.folder / "cap-bert")
    ada = Agent(stage, "ada", "initiator", stage.folder / "cap-ada", caps=CAPS, payer="binary",
                orders=[order(stage, "cap", price="0.1")])
    try:
        assert ada.ended() == 0, ada.told()
        [over] = ada.events("over")
        assert over["text"].startswith("rejected"), over
    finally:
        ada.stop()
        bert.stop()
    assert stage.balance(stage.payee) == before
    assert over["interaction"] not in {made["interaction"] for made in ada.state()["commitments"]}
    print("over the cap: rejected, nothing is paid", flush=True)


def negotiated(stage):
    """Terms first: both sides come to the same, also where one is killed, and what was agreed on is paid."""
    ada = play(stage, "binary", is_negotiated=True)
    [agreed], [over] = ada.events("agreed"), ada.events("over")
    assert agreed["text"] == "on 0.02665 USDC", agreed
    listed = {one["id"]: one for one in stage.x811("--agent", "ada", "negotiation", "list")["negotiations"]}
    found = listed[f"neg-{agreed['interaction']}"]
    assert (found["status"], found["turn"], found["engagement"]["interaction_id"]) == ("accepted", 4, over["interaction"]), found
    for role, step in [("initiator", "negotiation/accept"), ("provider", "negotiation/counter")]:
        for moment in ("before", "after"):
            play(stage, "binary", (role, step, moment), is_negotiated=True)


def walks_away(stage):
    """Where the limits do not meet there is no REQUEST, and nothing is paid."""
    before = stage.balance(stage.payee)
    sale = SALE | {"lowest": "0.028"}
    bert = Agent(stage, "bert", "provider", stage.folder / "away-bert", negotiation=BERTS, sales=[sale])
    dear = order(stage, "away", {"opening": "0.01", "deliverables": TEXT, "max_budget": "0.0205"})
    ada = Agent(stage, "ada", "initiator", stage.folder / "away-ada", caps=CAPS, payer="binary", negotiation=ADAS, orders=[dear])
    try:
        assert ada.ended() == 0, ada.told()
        [over] = ada.events("over")
        assert over["text"] == "no terms were agreed on for the order away", over
        until(lambda: not bert.state()["tasks"] and not bert.state()["talks"], bert.told)
    finally:
        ada.stop()
        bert.stop()
    assert ada.state()["requests"] == {} and stage.balance(stage.payee) == before
    prices = [float(json.loads(text)["payload"]["terms"]["amount"]["value"]) for text in sent(ada)
              if "terms" in json.loads(text)["payload"]]
    assert prices and max(prices) <= 0.02, prices
    print("limits that do not meet: no terms, nothing is paid", flush=True)


def a_person(stage):
    """Asked above the threshold of the order, in the files of `x811 approvals`; the binary answers."""
    folder = stage.home / "loops" / "ada"
    folder.parent.mkdir(exist_ok=True)
    for word, more in [("approve", ["--total", "0.01025"]), ("reject", ["--reason", "too dear"])]:
        before = stage.balance(stage.payee)
        bert = Agent(stage, "bert", "provider", stage.folder / f"person-{word}-bert")
        asks = order(stage, f"person-{word}", {"policy": "threshold", "threshold": "0.005"})
        ada = Agent(stage, "ada", "initiator", folder, caps=CAPS, payer="binary", orders=[asks])
        told = len(ada.told())
        try:
            until(lambda: stage.x811("--agent", "ada", "approvals", "list")["questions"], ada.told)
            ada.process.kill()
            ada.process.wait()
            ada.start()
            [question] = stage.x811("--agent", "ada", "approvals", "list")["questions"]
            interaction = question["interaction"]
            assert "x811/accept" not in [kind for kind, *_ in stage.said(interaction)], "it waits for the person"
            stage.x811("--agent", "ada", "approvals", word, interaction, *more)
            assert ada.ended() == 0, ada.told()
            if word == "approve":
                settled(stage, interaction, before)
            else:
                reasons = [json.loads(text)["payload"].get("reason") for text in sent(ada)]
                assert "too dear" in reasons and stage.balance(stage.payee) == before, reasons
        finally:
            ada.stop()
            bert.stop()
        assert not stage.x811("--agent", "ada", "approvals", "list")["questions"], ada.told()[told:]
    print("above the threshold: a person is asked, approves one and rejects the other", flush=True)


def audited(stage):
    """The ledger ended; its log has every record that the loops have proofs of."""
    stage.end()
    kept = len(list(stage.proofs.iterdir()))
    done = subprocess.run([X811, "--json", "audit", str(stage.folder / "ledger"), "--proofs", str(stage.proofs), "--key", stage.vkey],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0 and kept > 40, (kept, done)
    print(f"the log is clean, and has the {kept} records that proofs were kept of", flush=True)


def hostile(stage):
    """An order that breaks the provider's own code, and one whose RESULT is too large: an alarm and an ERROR.
    A third goes on beside them."""
    before = stage.balance(stage.payee)
    orders = [order(stage, "breaks", price="free"), order(stage, "large", times=600_000), order(stage, "fair")]
    bert = Agent(stage, "bert", "provider", stage.folder / "hostile-bert")
    ada = Agent(stage, "ada", "initiator", stage.folder / "hostile-ada", caps=CAPS, payer="binary", orders=orders)
    try:
        requests = until(lambda: ada.events("feed") and ada.state()["requests"], ada.told)
        def ended():
            stage.x811("anvil", "mine", "3", "--rpc", stage.rpc)
            return {event["interaction"] for event in ada.events("over")} == {requests["fair"]} and \
                {event["interaction"] for event in bert.events("alarm")} == {requests["breaks"], requests["large"]} and \
                "x811/error" in [kind for kind, *_ in stage.said(requests["large"])]
        until(ended, lambda: ada.told() + bert.told())
        settled(stage, requests["fair"], before)
        assert bert.process.poll() is None and ada.process.poll() is None
    finally:
        ada.stop()
        bert.stop()
    # The same bytes leave again where the connection ended before the answer.
    kinds = [json.loads(text)["type"] for text in set(sent(bert))]
    assert kinds.count("x811/result") == 2 and kinds.count("x811/error") == 1, kinds
    print("hostile orders: alarms and an ERROR, the fair one is settled", flush=True)


def without_caps(stage):
    ada = Agent(stage, "ada", "initiator", stage.folder / "no-caps", caps=None, payer="binary",
                orders=[order(stage, "no-caps")])
    assert ada.ended() != 0 and "does not start without caps" in ada.told(), ada.told()
    print("without caps: does not start", flush=True)


def one_loop(stage):
    """A second loop of an agent ends the first, which sends nothing more; in one folder it does not start."""
    first = Agent(stage, "bert", "provider", stage.folder / "first-bert")
    until(lambda: first.events("feed"), first.told)
    same = Agent(stage, "bert", "provider", stage.folder / "first-bert")
    assert same.ended() != 0 and "StateFault" in same.told(), same.told()
    second = Agent(stage, "bert", "provider", stage.folder / "second-bert")
    try:
        assert first.ended() != 0 and "another loop of this agent" in first.told(), first.told()
        assert second.process.poll() is None, second.told()
    finally:
        second.stop()
    print("one loop an agent: the newest", flush=True)


def lost_state(stage, ada):
    """The same orders without the state file: nothing is asked for or paid again, and the caps still count."""
    before, commitments = stage.balance(stage.payee), ada.state()["commitments"]
    assert [int(made["total_micro_usdc"]) for made in commitments] == [TOTAL_MICRO_USDC], commitments
    (ada.folder / "state.json").rename(ada.folder / "lost.json")
    (ada.folder / "sent").unlink()
    told = len(ada.told())
    ada.start()
    assert ada.ended() == 0, ada.told()
    log = ada.told()[told:]
    assert "accept" not in log and stage.balance(stage.payee) == before, log
    made = {one["interaction"] for one in ada.state()["commitments"]}
    assert commitments[0]["interaction"] in made, (commitments, ada.state())
    print(f"state file lost: {len(made)} commitments found again, nothing is paid twice", flush=True)


def main():
    with tempfile.TemporaryDirectory() as folder:
        stage = Stage(Path(folder))
        try:
            first = play(stage, "binary")
            for role, step, moment in [
                ("initiator", "accept", "before"), ("initiator", "accept", "after"),
                ("provider", "result", "before"), ("provider", "result", "after"),
            ]:
                play(stage, "binary", (role, step, moment))
            for moment in ("before", "after"):
                play(stage, "binary", ("initiator", "pay", moment))
                play(stage, stage.payer, ("initiator", "payment", moment))
            over_the_cap(stage)
            without_caps(stage)
            one_loop(stage)
            lost_state(stage, first)
            negotiated(stage)
            walks_away(stage)
            a_person(stage)
            stuck.overtaken(stage)
            stuck.too_cheap(stage)
            stuck.reverted(stage)
            # Interactions that lapse stay behind it, and other loops would wait for them.
            hostile(stage)
            audited(stage)
        finally:
            stage.end()


main()
