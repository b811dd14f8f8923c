"""Payments that the network does not include as they were signed: `x811 pay`, called again by the loop, or a callback of
one's own. tests/tests/program/stories/stuck.rs has the same scenarios for the loops in Rust."""

import time
from contextlib import contextmanager

from stage import CAPS, Agent, order, proven, settled, until

LOW_BASE_FEE_WEI, HIGH_BASE_FEE_WEI = 100_000_000, 2_000_000_000
#: An account with ETH that is no party.
RELAYER = 7


@contextmanager
def trade(stage, name, **settings):
    """Both agents, with an order under way."""
    bert = Agent(stage, "bert", "provider", stage.folder / f"{name}-bert")
    ada = Agent(stage, "ada", "initiator", stage.folder / f"{name}-ada", caps=CAPS, orders=[order(stage, name)], **settings)
    try:
        yield ada
        until(lambda: bert.events("over"), bert.told)
        assert not bert.events("alarm"), bert.told()
    finally:
        # Whatever failed, blocks are made again.
        mine_every(stage, 1)
        ada.stop()
        bert.stop()


def mine_every(stage, interval_s):
    """A block every `interval_s` seconds from now on; 0: none."""
    stage.call("evm_setIntervalMining", interval_s)


def mine_at(stage, base_fee_wei):
    stage.call("anvil_setNextBlockBaseFeePerGas", hex(base_fee_wei))
    stage.call("evm_mine")


def waiting(stage):
    """The transaction to the token that waits in the pool."""
    pending = stage.call("eth_getBlockByNumber", "pending", True)["transactions"]
    return next((one for one in pending if (one["to"] or "").lower() == stage.token.lower()), None)


def succeeded(stage, tx_hash):
    return stage.call("eth_getTransactionReceipt", tx_hash)["status"] == "0x1"


def over(stage, ada, before, payments):
    """The order is settled by the last of so many PAYMENTs; returns the interaction and what they name."""
    assert ada.ended() == 0, ada.told()
    [ended] = ada.events("over")
    interaction = ended["interaction"]
    settled(stage, interaction, before, payments=payments)
    declared = stage.declared(interaction)
    assert [succeeded(stage, one) for one in declared[-1:]] == [True], declared
    return interaction, declared


def overtaken(stage):
    """Another account sends the authorization, for more, while the loop is dead: the loop's own transfer reverts, and
    the other transaction is declared."""
    before, began = stage.balance(stage.payee), time.monotonic()
    mine_every(stage, 0)
    with trade(stage, "overtaken", payer="binary", crash=["pay", "after"]) as ada:
        own = until(lambda: waiting(stage), ada.told)
        until(lambda: ada.process.poll() is not None, ada.told)
        other = stage.call("eth_sendTransaction", {
            "from": stage.call("eth_accounts")[RELAYER], "to": stage.token, "input": own["input"], "gas": hex(200_000),
            "maxFeePerGas": hex(100 * 10**9), "maxPriorityFeePerGas": hex(50 * 10**9)})
        mine_every(stage, 1)
        ada.start()
        until(lambda: len(ada.events("called")) == 1, ada.told)
        interaction, declared = over(stage, ada, before, payments=2)
        assert declared == [own["hash"], other] and not succeeded(stage, own["hash"]), (declared, own, other)
        assert not ada.events("alarm"), ada.told()
        proven(stage, ada, interaction, ["accept", "verify"])
    print(f"overtaken: {interaction} completed by the transaction of another account, {time.monotonic() - began:.0f} s", flush=True)


def too_cheap(stage):
    """The base fee rises above what the transfer was signed with: the loop has its fees raised."""
    before, began = stage.balance(stage.payee), time.monotonic()
    mine_every(stage, 0)
    mine_at(stage, LOW_BASE_FEE_WEI)
    with trade(stage, "too-cheap", payer="binary") as ada:
        own = until(lambda: waiting(stage), ada.told)
        def raised():
            mine_at(stage, HIGH_BASE_FEE_WEI)
            return len(ada.events("called")) == 2
        until(raised, ada.told)
        interaction, declared = over(stage, ada, before, payments=2)
        assert declared[0] == own["hash"] and stage.call("eth_getTransactionReceipt", own["hash"]) is None, (declared, own)
        assert not ada.events("alarm"), ada.told()
        proven(stage, ada, interaction, ["accept", "verify"])
    print(f"too cheap: {interaction} completed with higher fees, {time.monotonic() - began:.0f} s", flush=True)


def reverted(stage):
    """A transaction that a callback of one's own gave reverts: the callback is told, and gives another."""
    before, began = stage.balance(stage.payee), time.monotonic()
    with trade(stage, "reverted", payer=stage.payer, first_gas=hex(30_000)) as ada:
        until(lambda: len(ada.events("called")) == 2, ada.told)
        interaction, declared = over(stage, ada, before, payments=2)
        assert not succeeded(stage, declared[0]), declared
        [alarm] = ada.events("alarm")
        assert declared[0] in alarm["text"] and "(reverted)" in alarm["text"], alarm
        proven(stage, ada, interaction, ["accept", "verify", "payment"])
    print(f"reverted: {interaction} completed by a second transfer, {time.monotonic() - began:.0f} s", flush=True)
