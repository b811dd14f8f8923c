"""Judges rendered contracts: written from "A rendered contract" in docs/negotiation.md, not from our code."""

import json
import re
from datetime import datetime
from hashlib import sha256
from pathlib import Path

from canonical import canonical, members
from signed import hold

UUID = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
MEMBERS = {"chainProfile", "id", "initiator", "responder", "status", "terms", "history"}
MEMBERS |= {"hashChain", "createdAt", "expiresAt", "acceptedAt"}
ENDS = {"offer": "pending", "counter": "countered", "accept": "accepted", "reject": "rejected"}


def rendered(file):
    data = Path(file).read_bytes()
    page = json.loads(data.decode(), object_pairs_hook=members)
    hold(page["chainProfile"] == "x811-jcs-1", "the profile")
    hold(page.keys() == MEMBERS, "the members")
    hold(re.fullmatch(f"neg-{UUID}", page["id"]), "the id")
    parties = [page["initiator"], page["responder"]]
    for party in parties:
        hold(re.fullmatch(f"did:x811:{UUID}", party), "the form of a party")
    hold(parties[0] != parties[1], "one party")
    hold(page["history"], "no history")
    chain(page)
    turns(page, parties)
    return f"{len(page['history'])} entries"


def chain(page):
    """Every hash covers its event and, as text, the hash before it."""
    last = ""
    for entry in page["history"]:
        event = {name: value for name, value in entry.items() if name != "hash"}
        last = "0x" + sha256(canonical(event) + last.encode()).hexdigest()
        hold(entry["hash"] == last, "a hash")
    hold(page["hashChain"] == last, "the last hash")


def turns(page, parties):
    """The order of turns, and the members that repeat what the history says."""
    author, terms, action, at = None, None, None, ""
    for entry in page["history"]:
        form(entry)
        hold(action not in ("accept", "reject"), "a turn after the end")
        action, agent, before = entry["action"], entry["agent"], at
        at = entry["at"]
        hold(agent in parties, "a stranger's turn")
        hold((action == "offer") == (author is None), "an offer begins, and nothing else does")
        hold(author or agent == parties[0], "the offer is the initiator's")
        hold(action not in ("counter", "accept") or agent != author, "an answer to oneself")
        hold(before <= at, "a turn before the last")
        if "terms" in entry:
            author, terms = agent, entry["terms"]
    open_ended = action in ("offer", "counter") and page["status"] == "expired"
    hold(open_ended or page["status"] == ENDS[action], "the status")
    hold(at < moment(page["expiresAt"]), "a turn that came late")
    hold(canonical(page["terms"]) == canonical(terms), "the terms")
    hold(page["createdAt"] == page["history"][0]["at"], "when it was made")
    hold(page["acceptedAt"] == (at if action == "accept" else None), "when it was accepted")


def form(entry):
    due = {"action", "agent", "at", "hash"}
    due |= {"terms"} if entry["action"] in ("offer", "counter") else set()
    hold(entry.keys() - {"message"} == due and entry["action"] in ENDS, "the members of an entry")
    hold(isinstance(entry.get("terms", {}), dict), "the form of the terms")
    hold(isinstance(entry.get("message", ""), str), "the form of the message")
    moment(entry["at"])


def moment(text):
    """A time, in a spelling that sorts as times do."""
    hold(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", text), "the spelling of a time")
    datetime.fromisoformat(text)
    return text
