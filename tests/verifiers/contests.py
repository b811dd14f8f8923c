"""What rounds do to each other: which is held for which, which ends another, and whose voters
were missing before; written from STATES.md, `contest`, and from docs/spec/round.md, rules 8 and 9."""

from hashlib import sha256

import rounds
from signed import hold

MOST_WALKED = 64
COUNT_AS_FAILED = ("no_quorum", "no_decisive_votes", "partition")
END_A_ROW = ("accepted", "rejected", "tie", "objection", "leader_decision")


class Board:
    """All rounds by their ids; `after` takes one record of one of them."""

    def __init__(self):
        self.rounds, self.failed = {}, {}
        # Of each round the place of its last record, and of its decision.
        self.last, self.decided_at = {}, {}

    def after(self, name, record, record_hash, parameters):
        """The state of that round after the record, as it is hashed."""
        before, event = self.rounds.get(name), record["event"]
        state = rounds.after(before, record, record_hash, parameters)
        self.rounds[name] = state
        if event["type"] == "round_escalated":
            behind = self.decided_at if event["reason"] in ("deadlock", "retries") else self.last
            hold(event["cause"] == behind[name], f"the cause at {record['position']}")
        Settling(self, name, before, record).settle()
        if event["type"] == "round_decided":
            self.remember(name, record["recorded_at_ms"])
        self.last[name] = record["position"]
        if event["type"] == "round_decided":
            self.decided_at[name] = record["position"]
        return rounds.hashed_form(self.rounds[name])

    def related_by(self, state):
        """By what it is known which failed before it."""
        return related_by(state)

    def resumed(self, gap_ms, now):
        for state in self.rounds.values():
            rounds.resumed(state, gap_ms, now)

    def change(self, name, **changed):
        self.rounds[name] = self.rounds[name] | changed

    def contest(self, name, **changed):
        self.change(name, contest=self.rounds[name]["contest"] | changed)

    def open_ones(self):
        return [name for name, state in self.rounds.items() if is_open(state)]

    def remember(self, name, now):
        """Failures in a row, by their proposer and what they are about."""
        state = self.rounds[name]
        proposer, reason = state["opening"]["proposer"], state["decided"]["reason"]
        if reason in COUNT_AS_FAILED + END_A_ROW:
            for relation in related_by(state):
                self.failed.pop((proposer, relation), None)
        if reason in COUNT_AS_FAILED:
            until = now + state["rounds"]["related_ms"]
            for relation in [*tags(state), name]:
                self.failed[proposer, relation] = (until, name, missing(state))


class Bundled(Board):
    """Rounds of a bundle. Those that are not in it may have held one of these, ended it, or failed before it:
    only then a record may stand where nothing in the bundle leads to it (decisions 0235 and 0263)."""

    def __init__(self):
        super().__init__()
        self.seeds, self.times, self.parameters, self.opened_under = {}, {}, None, {}

    def take(self, record, record_hash):
        """Takes a record of any stream of the bundle."""
        kind, _, name = record["stream"].partition(":")
        event, now = record["event"], record["recorded_at_ms"]
        if event["type"] == "parameters_set":
            self.parameters = event
        elif event["type"] == "ledger_resumed":
            self.resumed(event["gap_ms"], now)
        elif kind == "round":
            state = self.rounds.get(name)
            if state is None:
                self.opened_under[name] = self.parameters
            else:
                self.rounds[name] = self.assumed(name, state, record)
            self.after(name, record, record_hash, self.opened_under[name])
            self.times[name] = now
            if seed := event.get("derived", {}).get("seed"):
                self.seeds[name] = seed

    def change(self, name, **changed):
        if name in self.rounds:
            super().change(name, **changed)

    def contest(self, name, **changed):
        if name in self.rounds:
            super().contest(name, **changed)

    def related_by(self, state):
        """A row of failures about one resource may have been ended elsewhere; what a round retries is here."""
        return related_by(state)[len(tags(state)) :]

    def assumed(self, name, state, record):
        """What others must have made of it before this record, if it cannot have come there by itself."""
        if state["decided"]:
            return self.lacking(name, state, record)
        event, now, last = record["event"], record["recorded_at_ms"], self.times[name]
        block, is_decision = state["rounds"], event["type"] == "round_decided"
        waits_for_decision = state["effects_due"] and rounds.is_to_be_decided(state, last, block)
        if not is_decision and "held" not in state["phase"] and waits_for_decision:
            held = {"deadline": last + block["hold_ms"], "since": last}
            state = state | {"phase": {"held": held}, "is_due": False, "effects_due": 0}
        contest = state["contest"]
        draws = (contest["waits"] or {}).get("draw")
        if event["type"] == "lapsed" and event["window"] == "hold":
            return let_go(state, now)
        if event["type"] == "lapsed" and event["window"] == "draw" and not draws:
            return state | {"contest": contest | {"waits": self.waiting(name, now, 0, [])}}
        if event["type"] == "cycle_drawn" and not draws:
            waits = self.waiting(name, now, event["closing"], event["rounds"])
            return state | {"contest": contest | {"waits": waits}}
        return ended_by(state, event, now) if is_decision and not contest["ending"] else state

    def waiting(self, name, now, closing, names):
        seed = self.seeds.get(name)
        draw = {"closed_at": 0, "deadline": now - 1, "rounds": names}
        return {"closing": closing, "draw": seed and draw | seed, "drawn_in": name}

    def lacking(self, name, state, record):
        """Directly behind its decision humans may be asked, if another round about the same resource may
        have failed for want of the same voters."""
        event, at = record["event"], self.decided_at[name]
        is_it = event["type"] == "round_escalated" and event["reason"] == "deadlock"
        behind = record["position"] - at
        is_next = behind == 1 or behind == 2 and record["position"] % 1_000 == 0
        stands_so = is_next and self.last[name] == at and record["recorded_at_ms"] == self.times[name]
        is_new = "lacking_since" not in state["contest"] and "failed" in state["phase"]
        if not (is_it and stands_so and is_new and tags(state) and lacks(state, missing(state))):
            return state
        more = 0 if rounds.has_no_retry_left(state, state["rounds"]) else 1
        contest = state["contest"] | {"lacking_since": name}
        return state | {"contest": contest, "effects_due": state["effects_due"] + more}


def let_go(state, now):
    """It was held for others, and they let it go."""
    held, contest = state["phase"].get("held"), state["contest"]
    if held and (now <= held["deadline"] or contest["waits"]):
        phase = {"held": held | {"deadline": min(held["deadline"], now - 1)}}
        return state | {"phase": phase, "contest": rounds.NO_CONTEST}
    return state


def ended_by(state, event, now):
    """Superseded by a round, or ended by a cycle, as its decision says."""
    contest, winner = state["contest"], event.get("winner")
    if event["reason"] == "superseded" and winner:
        if rounds.is_to_be_decided(state, now, state["rounds"]):
            return state | {"contest": contest | {"winner": contest["winner"] or winner}}
        ending = {"superseded": {"seed": event.get("seed"), "winner": winner}}
    elif event["reason"] == "deadlock" and not winner:
        ending = {"deadlock": {}}
    else:
        return state
    contest = contest | {"waits": None, "ending": ending}
    return state | {"contest": contest, "is_due": True, "effects_due": 1}


class Settling:
    """What one record of a round makes of this one and of others, beside what it says."""

    def __init__(self, board, name, before, record):
        self.board, self.name, self.before = board, name, before
        self.event, self.now = record["event"], record["recorded_at_ms"]
        self.position = record["position"]

    def own(self):
        return self.board.rounds[self.name]

    def settle(self):
        event = self.event
        if event["type"] == "envelope_accepted":
            if event["envelope"]["type"] == "x811.consensus/vote":
                self.cycle(event["derived"].get("seed"))
        elif event["type"] == "cycle_drawn":
            self.drawn()
        elif event["type"] == "lapsed" and event["window"] == "draw":
            self.oldest_stays(self.before["contest"]["waits"]["draw"]["rounds"])
        elif event["type"] == "round_decided":
            self.leave()
            self.free()
            if event["outcome"] == "commit":
                self.mark()
            self.lack()
        self.hold()

    # Cycles

    def cycle(self, seed):
        """A vote that closes a cycle ends all of it but one, or has all wait for a block."""
        way, block = self.closes(), self.own()["rounds"]
        rule = block["cycle"]
        may_draw = way is not None and rule == "random"
        hold(seed is None or may_draw, f"the seed at {self.position}")
        if way is None:
            return
        if rule == "escalate":
            for name in way:
                self.end(name, {"deadlock": {}})
        elif seed is not None:
            hold(seed["network"] == block["cycle_network"], f"the network at {self.position}")
            self.wait(sorted(way), seed)
        else:
            self.oldest_stays(way)

    def closes(self):
        """The shortest way back to this round over those that block each other, if the vote made one."""
        new = self.leads_on(self.name) - blocked_by(self.before)
        if not new or rounds.is_to_be_decided(self.own(), self.now, self.own()["rounds"]):
            return None
        came_from, following = {}, [self.name]
        for name in following:
            for other in sorted(new if name == self.name else self.leads_on(name)):
                if other == self.name:
                    way = [name]
                    while way[-1] != self.name:
                        way.append(came_from[way[-1]])
                    return way
                if other not in came_from:
                    hold(len(came_from) + 1 < MOST_WALKED, f"a long way at {self.position}")
                    came_from[other] = name
                    following.append(other)
        return None

    def leads_on(self, name):
        state = self.board.rounds.get(name)
        goes_on = state is not None and is_open(state) and state["contest"]["waits"] is None
        return blocked_by(state) if goes_on else set()

    def wait(self, names, seed):
        draw = {
            "closed_at": self.now,
            "deadline": self.now + self.own()["rounds"]["draw_ms"],
            "height": seed["height"],
            "network": seed["network"],
            "rounds": names,
        }
        for name in names:
            waits = {"closing": self.position, "drawn_in": self.name}
            self.board.contest(name, waits=waits | {"draw": draw if name == self.name else None})

    def drawn(self):
        """The block is the one that was named, mined later, and draws the round that is said to stay."""
        event, waits = self.event, self.before["contest"]["waits"]
        draw, block = waits["draw"], event["block"]
        hold(event["closing"] == waits["closing"], f"the vote that is named at {self.position}")
        hold(event["rounds"] == draw["rounds"], f"who is drawn at {self.position}")
        hold(block["number"] == draw["height"], f"the height at {self.position}")
        hold(block["timestamp_s"] * 1_000 > draw["closed_at"], f"the block at {self.position}")
        seed = bytes.fromhex(block["hash"].removeprefix("0x"))
        ticket = lambda name: sha256(seed + name.encode()).digest()
        hold(event["winner"] == min(draw["rounds"], key=ticket), f"the draw at {self.position}")
        self.stays(draw["rounds"], event["winner"], block["hash"])

    def oldest_stays(self, names):
        names = [name for name in names if name in self.board.rounds]
        if names:
            age = lambda name: self.board.rounds[name]["opening"]["record"]["position"]
            self.stays(names, min(names, key=age), None)

    def stays(self, names, winner, seed):
        for name in names:
            if name == winner:
                self.board.contest(name, waits=None)
                self.freed(name)
            else:
                self.end(name, {"superseded": {"seed": seed, "winner": winner}})

    def end(self, name, ending):
        state = self.board.rounds.get(name)
        if state and is_open(state):
            self.board.contest(name, waits=None, ending=ending)
            self.board.change(name, is_due=True, effects_due=state["effects_due"] + 1)

    def leave(self):
        """What is decided while it waits is drawn no more."""
        waits = self.before["contest"]["waits"]
        others = self.board.rounds.keys() - {self.name}
        if waits is None or waits["drawn_in"] not in others:
            return
        drawing = self.board.rounds[waits["drawn_in"]]["contest"]["waits"]
        if drawing and (draw := drawing["draw"]):
            left = [name for name in draw["rounds"] if name != self.name]
            waits_on = drawing | {"draw": draw | {"rounds": left}}
            self.board.contest(waits["drawn_in"], waits=waits_on)

    # Rivals

    def freed(self, name):
        state = self.board.rounds.get(name)
        if state is None:
            return
        contest = state["contest"]
        if "held" in state["phase"] and not contest["held_for"] and contest["waits"] is None:
            held = state["phase"]["held"] | {"deadline": self.now}
            self.board.change(name, phase={"held": held})

    def free(self):
        for name in self.board.open_ones():
            held_for = self.board.rounds[name]["contest"]["held_for"]
            if self.name in held_for:
                left = [other for other in held_for if other != self.name]
                self.board.contest(name, held_for=left)
                self.freed(name)

    def mark(self):
        for name in self.board.open_ones():
            state = self.board.rounds[name]
            if state["contest"]["winner"] is None and are_rivals(state, self.before):
                self.board.contest(name, winner=self.name)

    def hold(self):
        """A round whose moment has come waits for its cycle or, to be accepted, for those above it."""
        state = self.own()
        contest, block = state["contest"], state["rounds"]
        is_over = contest["ending"] is not None or state["hindrance"] == "withdrawn"
        is_due = rounds.is_to_be_decided(state, self.now, block)
        if is_over or "held" in state["phase"] or not is_due:
            return
        accepted = rounds.verdict_of(state, self.now, block)["outcome"] == "commit"
        held_for = sorted(self.above(state)) if accepted else []
        if held_for or contest["waits"] is not None:
            held = {"deadline": self.now + block["hold_ms"], "since": self.now}
            self.board.contest(self.name, held_for=held_for)
            due = max(0, state["effects_due"] - 1)
            self.board.change(self.name, phase={"held": held}, is_due=False, effects_due=due)

    def above(self, state):
        for name in self.board.open_ones():
            other = self.board.rounds[name]
            if rank(other) > rank(state) and are_rivals(other, state):
                yield name

    # Lasting silence

    def lack(self):
        """The first related round that failed before, if the same voters were missing in both."""
        state = self.own()
        proposer, block = state["opening"]["proposer"], state["rounds"]
        for relation in self.board.related_by(state):
            until, before, gone = self.board.failed.get((proposer, relation), (-1, None, None))
            if self.now <= until and lacks(state, missing(state) & gone):
                self.board.contest(self.name, lacking_since=before)
                if not rounds.has_no_retry_left(state, block):
                    self.board.change(self.name, effects_due=state["effects_due"] + 1)
                return


def is_open(state):
    """Whether it takes votes."""
    return state["opened_at"] is not None and state["decided"] is None


def rank(state):
    opening = state["opening"]
    authority, proposal = opening["authority"], opening["proposal"]
    urgency = min(proposal["urgency"], authority)
    return (urgency, authority, proposal["specificity"], -opening["record"]["position"])


def are_rivals(one, other):
    mine, theirs = one["opening"]["proposal"], other["opening"]["proposal"]
    twice = 2 * len({*mine["participants"]} & {*theirs["participants"]})
    return (
        is_open(one)
        and is_open(other)
        and mine["proposal_id"] != theirs["proposal_id"]
        and bool({*mine["resource_tags"]} & {*theirs["resource_tags"]})
        and mine["action_hash"] != theirs["action_hash"]
        and mine["mechanism"] == theirs["mechanism"]
        and twice > len(mine["participants"])
        and twice > len(theirs["participants"])
    )


def blocked_by(state):
    """What its proposal names, and what rejections of at least half of the participants do."""
    votes = rounds.votes(state)
    rejections = [vote for vote in votes if (vote["choice"] or {}).get("decision") == "reject"]
    named = [name for vote in rejections for name in {*vote["blocked_by"]}]
    half = -(-len(state["seats"]) // 2)
    by_votes = {name for name in named if named.count(name) >= half}
    return {*state["opening"]["proposal"]["blocked_by"]} | by_votes


def tags(state):
    return state["opening"]["proposal"]["resource_tags"]


def related_by(state):
    retried = state["opening"]["proposal"].get("resubmission_of")
    return [*tags(state), *([retried] if retried else [])]


def missing(state):
    """Who said neither approve nor reject."""
    said = lambda seat: ((seat["vote"] or {}).get("choice") or {}).get("decision", "abstain")
    agents = zip(state["opening"]["proposal"]["participants"], state["seats"])
    return {agent for agent, seat in agents if said(seat) == "abstain"}


def lacks(state, gone):
    """Whether it ended for lack of these."""
    proposal, decided = state["opening"]["proposal"], state["decided"]
    agents = proposal["participants"]
    if decided["reason"] == "no_decisive_votes":
        return len(gone) == len(agents)
    if decided["reason"] != "no_quorum":
        return False
    left = [place for place, agent in enumerate(agents) if agent not in gone]
    if len(left) < decided["tally"]["quorum_required"]:
        return True
    weights = proposal["weights"] if proposal["mechanism"] == "weighted" else []
    return bool(weights) and 2 * sum(weights[place] for place in left) < sum(weights)
