"""Two models and a person, scripted: the models through the MCP client of PyPI, the person through
the command line. `client.py PART X811 LEDGER HOME CONFIG BERT`, where PART is story or attacks."""

import asyncio
import json
import subprocess
import sys

from mcp import Client, StdioServerParameters

PART, X811, LEDGER, HOME, CONFIG, BERT = sys.argv[1:]
SAID = ["--ledger", LEDGER, "--home", HOME]
TOOLS = [
    "status", "discover", "inbox", "history", "negotiate", "request", "offer", "accept", "reject",
    "deliver", "verify", "pay", "receipt",
]


def served(agent, *options):
    """`x811 mcp` as an MCP client starts it; what it may do is said here, not by a model."""
    words = [*SAID, "--agent", agent, "mcp", *options]
    return Client(StdioServerParameters(command=X811, args=words))


def person(agent, *words):
    done = subprocess.run([X811, *SAID, "--agent", agent, *words], capture_output=True, text=True)
    assert done.returncode == 0, done
    return done.stdout


async def call(client, tool, **members):
    """The answer of a tool and whether it failed."""
    result = await client.call_tool(tool, members)
    [content] = result.content
    return json.loads(content.text), bool(result.is_error)


async def ok(client, tool, **members):
    answer, failed = await call(client, tool, **members)
    assert not failed, (tool, members, answer)
    print(f"{tool}: {json.dumps(answer)[:2000]}", flush=True)
    return answer


async def refused(client, code, tool, **members):
    answer, failed = await call(client, tool, **members)
    assert failed and answer["error"]["code"] == code, (tool, members, answer)
    assert answer["error"]["message"] and answer["error"]["what_to_do"], answer
    print(f"{tool}: {json.dumps(answer)[:2000]}", flush=True)
    return answer["error"]


async def asked(ada, bert, price, text="hello"):
    """A REQUEST of Ada's and Bert's OFFER; the interaction."""
    request = await ok(ada, "request", to=BERT, task="echo", budget_usdc="0.2", deadline_s=60,
                       parameters={"text": text})
    id = request["interaction_id"]
    inbox = await ok(bert, "inbox", wait_s=20)
    assert id in json.dumps(inbox["messages"][-1]), inbox
    await ok(bert, "offer", interaction_id=id, price_usdc=price, time_s=5, deliverables=["the text"])
    return id


async def negotiated(ada, bert):
    """Terms, a counter, an agreement to what was seen, and nothing owed by it."""
    offer = {"to": BERT, "amount_usdc": "0.02", "task": "echo", "deliverables": ["the text"]}
    terms = await ok(ada, "negotiate", step={"offer": offer})
    id = terms["negotiation"]
    await ok(bert, "negotiate", step={"counter": {"negotiation": id, "amount_usdc": "0.0205"}})
    assert id in json.dumps(await ok(ada, "negotiate", step={"list": {"open": True}}))
    await refused(ada, "usage", "negotiate", step={"accept": {"negotiation": id,
                                                              "confirm_amount_usdc": "0.02"}})
    await ok(ada, "negotiate", step={"accept": {"negotiation": id,
                                                "confirm_amount_usdc": "0.0205"}})
    agreed = await ok(bert, "negotiate", step={"show": {"negotiation": id}})
    assert agreed["terms"]["amount"]["value"] == "0.0205", agreed
    other = await ok(ada, "negotiate", step={"offer": offer})
    await ok(bert, "negotiate", step={"reject": {"negotiation": other["negotiation"]}})
    other = await ok(ada, "negotiate", step={"offer": offer})
    await ok(ada, "negotiate", step={"withdraw": {"negotiation": other["negotiation"]}})


async def story(ada, bert):
    """A whole paid interaction: stopped by the cap, asked about, approved, paid."""
    listed = await ada.list_tools()
    assert [tool.name for tool in listed.tools] == TOOLS, listed
    assert all(tool.input_schema["additionalProperties"] is False for tool in listed.tools), listed
    assert (await ok(ada, "status"))["ready"]
    found = await ok(ada, "discover", capability="echo")
    assert BERT in [agent["did"] for agent in found["agents"]], found

    await negotiated(ada, bert)

    # 0.05 is the cap of one interaction: no answer of a person goes beyond it.
    dear = await asked(ada, bert, "0.1")
    cost = await ok(ada, "accept", interaction_id=dear)
    assert cost["cost_usdc"] == "0.1025" and cost["done"] is False, cost
    asking = await refused(ada, "approval_needed", "accept", interaction_id=dear,
                           confirm_total_usdc="0.1025")
    assert f"approvals approve {dear}" in asking["what_to_do"], asking
    person("ada", "approvals", "approve", dear, "--total", "0.1025")
    capped = await refused(ada, "X811-4030", "accept", interaction_id=dear,
                           confirm_total_usdc="0.1025")
    assert "cap for one interaction" in capped["message"], capped
    assert (await ok(ada, "history", interaction_id=dear))["state"] == "offered"
    await ok(ada, "reject", interaction_id=dear, code="PRICE_TOO_HIGH", reason="beyond the cap")

    # Within the caps, the policy human_approval asks, and a person approves.
    id = await asked(ada, bert, "0.029")
    confirmed = {"interaction_id": id, "confirm_total_usdc": "0.029725"}
    await refused(ada, "approval_needed", "accept", **confirmed)
    assert (await ok(ada, "history", interaction_id=id))["state"] == "offered"
    assert id in person("ada", "approvals", "list")
    person("ada", "approvals", "approve", id, "--total", "0.029725")
    accepted = await ok(ada, "accept", **confirmed)
    assert accepted["state"] == "accepted", accepted
    await refused(ada, "X811-4001", "accept", **confirmed)
    await ok(bert, "deliver", interaction_id=id, content="HELLO")
    await ok(ada, "verify", interaction_id=id)
    cost = await ok(ada, "pay", interaction_id=id)
    assert cost["cost_usdc"] == "0.029725" and cost["done"] is False, cost
    await refused(ada, "other_total", "pay", interaction_id=id, confirm_total_usdc="0.029")
    paid = await ok(ada, "pay", **confirmed)
    assert paid["amount_usdc"] == "0.029725" and not paid["resumed"], paid
    for _ in range(120):
        if (await ok(bert, "history", interaction_id=id))["state"] == "completed":
            break
        await asyncio.sleep(1)
    for _ in range(60):
        receipt, failed = await call(bert, "receipt", interaction_id=id, whole=True)
        if not failed:
            break
        await asyncio.sleep(1)
    assert receipt["paid"]["interaction"] == id and receipt["receipt"], receipt
    print(f"receipt: {json.dumps(receipt['paid'])}")
    return id


async def attacks(ada, bert):
    """What a model must not get done, whoever wrote its text."""
    async with served("ada") as poor:
        # Without a file of limits nothing is spent, confirmed or not.
        for tool in ["accept", "pay"]:
            await refused(poor, "no_config", tool, interaction_id=BERT[9:],
                          confirm_total_usdc="0.029725")
    # A text with control characters and a turned one, shown as escapes.
    evil = "\x1b[2J\u202egnp.exe\x00"
    id = await asked(ada, bert, "0.029", evil)
    raw = await bert.call_tool("inbox", {})
    assert "\x1b" not in raw.content[0].text and "\u202e" not in raw.content[0].text, raw
    assert "\\u001b" in raw.content[0].text and "\\u202e" in raw.content[0].text, raw
    # Ids that are none, paths, options and members nobody asked for.
    for bad in ["", "1", "../../etc/passwd", "--help", id + "'; --", id.upper() + "x", "neg-" + id]:
        for tool in ["history", "accept", "pay", "verify", "receipt", "reject"]:
            await refused(ada, "usage", tool, interaction_id=bad)
    for members in [{"file": "/etc/passwd"}, {"rpc": "http://127.0.0.1:1"}, {"config": CONFIG},
                    {"agent": "bert"}, {"home": "/"}, {"ledger": "http://127.0.0.1:1"},
                    {"policy": "auto"}, {"output": "/tmp/x"}]:
        for tool in ["accept", "pay", "verify", "receipt", "status"]:
            await refused(ada, "usage", tool, **({} if tool == "status" else {"interaction_id": id}),
                          **members)
    await refused(ada, "usage", "request", to=BERT, task="echo", budget_usdc="0.05", deadline_s=60,
                  policy="auto")
    await refused(ada, "usage", "negotiate", step={"accept": {"negotiation": id,
                                                              "confirm_amount_usdc": "1"}})
    # Numbers that are no amounts; parameters stay data, even where the command line reads a file.
    for bad in ["-1", "1e3", "0.0000001", "NaN", "", "99999999999999999999", 0.05]:
        await refused(ada, "usage", "accept", interaction_id=id, confirm_total_usdc=bad)
    await ok(ada, "request", to=BERT, task="echo", budget_usdc="0.05", deadline_s=60,
             parameters={"text": "@/etc/passwd", "@/etc/passwd": "$(id)"})
    # Overlong text is refused by size, here or at the ledger, and quoted by nobody.
    for tool, members in [
        ("request", {"to": BERT, "task": "x" * 100_000, "budget_usdc": "1", "deadline_s": 60}),
        ("request", {"to": BERT, "task": "echo", "budget_usdc": "1", "deadline_s": 60,
                     "parameters": {"text": "x" * 3_000_000}}),
        ("history", {"interaction_id": "x" * 3_000_000}),
    ]:
        answer, failed = await call(ada, tool, **members)
        assert failed and len(json.dumps(answer)) < 4_000, json.dumps(answer)[:4_000]
    # A total that is not the OFFER's, and what is another one's to say.
    await refused(ada, "other_total", "accept", interaction_id=id, confirm_total_usdc="0.029")
    await refused(ada, "usage", "deliver", interaction_id=id, content="mine")
    await refused(ada, "usage", "offer", interaction_id=id, price_usdc="0.01", time_s=1,
                  deliverables=["x"])
    async with served("bert", "--config", CONFIG) as thief:
        await refused(thief, "usage", "accept", interaction_id=id, confirm_total_usdc="0.029725")
        await refused(thief, "usage", "pay", interaction_id=id, confirm_total_usdc="0.029725")
    async with served("carl") as stranger:
        answer, failed = await call(stranger, "history", interaction_id=id)
        assert failed, answer
    # Paying what no accept of this server committed to: a person accepted beside it.
    await refused(ada, "approval_needed", "accept", interaction_id=id,
                  confirm_total_usdc="0.029725")
    person("ada", "send", "accept", id)
    await ok(bert, "deliver", interaction_id=id, content="HELLO")
    await ok(ada, "verify", interaction_id=id)
    await refused(ada, "not_committed", "pay", interaction_id=id, confirm_total_usdc="0.029725")
    # Two calls at once commit to one total: the cap of a day holds for both together.
    async with served("ada", "--config", CONFIG, "--policy", "auto") as alone:
        both = [await asked(alone, bert, "0.045") for _ in range(5)]
        total = "0.046125"
        answers = await asyncio.gather(*[
            call(alone, "accept", interaction_id=one, confirm_total_usdc=total) for one in both])
        assert [failed for _, failed in answers].count(False) == 4, answers
    return id


async def main():
    async with served("ada", "--config", CONFIG) as ada, served("bert") as bert:
        print(ada.instructions)
        id = await (story if PART == "story" else attacks)(ada, bert)
        print(f"done {id}")


asyncio.run(main())
