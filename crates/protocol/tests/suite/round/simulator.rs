//! Agents, a leader and a ledger over a network that delays, loses, repeats and reorders messages, parts
//! agents from the ledger, and stops any of them for a while. One seed is one history, always the same.
//!
//! Some histories have rivals about one resource, and rejections that name each other's rounds.
//!
//! Whatever happens: no proposal comes out in two ways, no two rivals are accepted, nobody acts on what was neither decided nor
//! approved, and nothing is stuck: every round ends, and one whose last attempt failed ends with humans.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use x811_protocol::facts::consensus::{
    ConsensusFacts, Decision, HumanDecision, HumanRuling, Mechanism, Proposal, VoteRequest, Voting,
};
use x811_protocol::id::RoundId;
use x811_protocol::parameters::{CycleRule, LeaderPolicy, Leaders, Rounds};
use x811_protocol::round::{Outcome, Phase, RoundEvent, State, StateName};
use x811_protocol::time::TimestampMs;

use super::properties::hold;
use super::world::{BEGUN, Stored, World, agent, digest, reveal};

/// Histories of an ordinary run; `X811_ROUND_SEEDS` asks for more.
const SEEDS: u64 = 1_000;

const LEADER: u64 = 21;
const HUMAN: u64 = 23;

/// How often everybody looks at what the ledger has for it.
const LOOK_MS: u64 = 2_000;

/// Nobody does anything behind that.
const END_MS: u64 = 400_000;

/// splitmix64: small, and the same everywhere.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}

/// When somebody cannot be reached: from, until.
type Gaps = Vec<(u64, u64)>;

fn gaps(dice: &mut Dice, most: u64, longest_ms: u64) -> Gaps {
    let count = dice.below(most + 1);
    let gap = |dice: &mut Dice| {
        let from = dice.below(200_000);
        (from, from + dice.below(longest_ms) + 1)
    };
    (0..count).map(|_| gap(dice)).collect()
}

fn is_within(gaps: &Gaps, at_ms: u64) -> Option<u64> {
    let inside = gaps
        .iter()
        .filter(|(from, to)| (*from..*to).contains(&at_ms));
    inside.map(|(_, to)| *to).max()
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Happens {
    /// A message of that agent reaches the ledger.
    Arrives(u64, usize),
    /// The agent looks at what the ledger has for it.
    Looks(u64),
}

/// One history.
struct Simulation {
    dice: Dice,
    world: World,
    queue: BinaryHeap<Reverse<(u64, u64, Happens)>>,
    sent: Vec<ConsensusFacts>,
    made: u64,
    /// Who cannot reach the ledger when; a stopped agent and a parted one are the same to it.
    cut: BTreeMap<u64, Gaps>,
    /// When the ledger is away.
    away: Gaps,
    lost_percent: u64,
    delay_ms: u64,
    /// Most reject, for the sake of another round.
    is_bitter: bool,
    /// What each agent has sent: one name each.
    said: BTreeSet<(u64, RoundId, &'static str)>,
    /// Each proposal with its retries; those of one history are about one resource.
    chains: Vec<Vec<Proposal>>,
    acted: Vec<(u64, RoundId)>,
}

impl Simulation {
    fn new(seed: u64) -> Simulation {
        let mut dice = Dice(seed);
        let rounds = Rounds {
            cycle: dice.pick(&[CycleRule::Oldest, CycleRule::Escalate, CycleRule::Random]),
            cycle_network: Some("base".to_owned()),
            early_close: dice.percent(30),
            humans: vec![agent(HUMAN)],
            leaders: Leaders {
                dids: vec![agent(LEADER)],
                policy: LeaderPolicy::Listed,
            },
            liveness_ms: dice.percent(20).then_some(30_000),
            retries: dice.below(3),
            ..Rounds::DEFAULT
        };
        let somebody = (1..=6).chain([LEADER, HUMAN]);
        let cut = somebody
            .map(|number| (number, gaps(&mut dice, 2, 60_000)))
            .collect();
        let away = if dice.percent(40) {
            let from = dice.below(150_000);
            vec![(from, from + 1 + dice.below(40_000))]
        } else {
            Vec::new()
        };
        Simulation {
            lost_percent: dice.below(40),
            delay_ms: 1 + dice.below(8_000),
            is_bitter: dice.percent(25),
            dice,
            world: World::new(rounds),
            queue: BinaryHeap::new(),
            sent: Vec::new(),
            made: 0,
            cut,
            away,
            said: BTreeSet::new(),
            chains: Vec::new(),
            acted: Vec::new(),
        }
    }

    fn now_ms(&self) -> u64 {
        self.world.now.since(BEGUN)
    }

    fn plan(&mut self, at_ms: u64, what: Happens) {
        self.made += 1;
        self.queue.push(Reverse((at_ms, self.made, what)));
    }

    /// Sends it over the network: lost, late, twice, or all of it.
    fn send(&mut self, by: u64, facts: ConsensusFacts) {
        self.sent.push(facts);
        let letter = self.sent.len() - 1;
        let copies = 1 + u64::from(self.dice.percent(15));
        for _ in 0..copies {
            if !self.dice.percent(self.lost_percent) {
                let at_ms = self.now_ms() + self.dice.below(self.delay_ms);
                self.plan(at_ms, Happens::Arrives(by, letter));
            }
        }
    }

    /// The first time only, and again now and then, as somebody does who got no answer.
    fn say(&mut self, by: u64, round: RoundId, what: &'static str, facts: ConsensusFacts) {
        if self.said.insert((by, round, what)) || self.dice.percent(10) {
            self.send(by, facts);
        }
    }

    /// One proposal, or some about one resource: rivals, where most of their participants are the same.
    fn propose_all(&mut self) {
        let (rivals, mechanism) = if self.is_bitter {
            (self.dice.pick(&[1, 1, 2]), Mechanism::Majority)
        } else {
            let rivals = self.dice.pick(&[0, 0, 1, 1, 2]);
            (rivals, self.dice.pick(&Mechanism::ALL))
        };
        for number in 0..=rivals {
            self.propose(number + 1, mechanism);
        }
    }

    fn propose(&mut self, by: u64, mechanism: Mechanism) {
        let seats = 1 + self.dice.below(6);
        let mut proposal = self.world.proposal(mechanism, seats);
        let is_led = !self.is_bitter && self.dice.percent(40);
        if mechanism == Mechanism::Leader || is_led {
            proposal.leader = agent(LEADER);
        }
        let counts = matches!(mechanism, Mechanism::Majority | Mechanism::Weighted);
        if counts && !self.is_bitter && self.dice.percent(40) {
            proposal.voting = Voting::Sealed;
        }
        if counts && seats >= 4 && self.dice.percent(30) {
            proposal.f = Some(1);
        }
        proposal.resource_tags = vec![digest("the link")];
        proposal.action_hash = digest(&format!("what {by} wants"));
        proposal.urgency = self.dice.below(100);
        if let Some(chain) = self.chains.first().filter(|_| self.is_bitter) {
            proposal.blocked_by = vec![chain[0].proposal_id];
        }
        // The other one may not be open, or not be the proposer's to read.
        if self.world.propose(agent(by), &proposal).is_err() {
            proposal.blocked_by.clear();
            self.world.propose(agent(by), &proposal).unwrap();
        }
        self.chains.push(vec![proposal]);
    }

    /// The newest attempt of that chain.
    fn newest(&self, chain: usize) -> &Proposal {
        let chain = &self.chains[chain];
        &chain[chain.len() - 1]
    }

    /// The proposer tries again, once the ledger takes it.
    fn retry(&mut self, chain: usize) {
        let last = self.newest(chain).clone();
        if self.world.state(last.proposal_id).failure().is_none() {
            return;
        }
        let mut retry = Proposal {
            attempt: last.attempt + 1,
            resubmission_of: Some(last.proposal_id),
            ..self
                .world
                .proposal(last.mechanism, last.participants.len() as u64)
        };
        retry.timeout_ms = self
            .world
            .now
            .saturating_add_ms(60_000 + 1_000 * last.attempt);
        (retry.leader, retry.voting, retry.f) = (last.leader, last.voting, last.f);
        (retry.resource_tags, retry.action_hash) = (last.resource_tags, last.action_hash);
        if self.world.propose(agent(chain as u64 + 1), &retry).is_ok() {
            self.chains[chain].push(retry);
        }
    }

    /// The block that draws is reported, sooner or later.
    fn mine(&mut self) {
        // Of blocks it is known to the second when they were mined.
        let mined_ms = self.world.now.as_ms() / 1_000 * 1_000;
        let draws = self.world.states.values().filter_map(State::draw);
        let later = draws.filter(|draw| draw.closed_at.as_ms() < mined_ms);
        let height = later.map(|draw| draw.height).min();
        if let Some(height) = height.filter(|_| self.dice.percent(10)) {
            let hash = digest(&self.dice.next().to_string());
            self.world.block(height, *hash.as_bytes());
        }
    }

    /// Moves the ledger's clock to then; its own absences included.
    fn advance(&mut self, to_ms: u64) {
        while let Some(position) = self.away.iter().position(|(_, to)| *to <= to_ms) {
            let (from, to) = self.away.remove(position);
            self.lapse_until(from);
            self.world.away(from, to);
        }
        self.lapse_until(to_ms);
    }

    /// Each lapse at its own time, as a sequencer that sleeps until then makes it.
    fn lapse_until(&mut self, to_ms: u64) {
        let to = BEGUN.saturating_add_ms(to_ms);
        loop {
            let states = self.world.states.values();
            let windows = states.filter_map(|state| state.next_window());
            let next = windows
                .map(|(_, deadline)| deadline.saturating_add_ms(1))
                .min();
            match next {
                Some(due) if due <= to => self.world.at(due.since(BEGUN).max(self.now_ms())),
                Some(_) | None => break,
            }
        }
        if to > self.world.now {
            self.world.at(to_ms);
        }
    }

    fn run(&mut self) {
        self.propose_all();
        for number in (1..=6).chain([LEADER, HUMAN]) {
            let first = self.dice.below(LOOK_MS);
            self.plan(first, Happens::Looks(number));
        }
        while let Some(Reverse((at_ms, _, what))) = self.queue.pop() {
            if at_ms > END_MS {
                break;
            }
            if let Some(back_ms) = is_within(&self.away, at_ms) {
                // Nobody is answered while the ledger is away: it is tried again.
                let later = back_ms + self.dice.below(1_000);
                self.plan(later, what);
                continue;
            }
            self.advance(at_ms);
            self.happen(at_ms, what);
        }
        for hops in 0..8 {
            self.advance(END_MS + (hops + 1) * 40 * 86_400_000);
        }
    }

    fn happen(&mut self, at_ms: u64, what: Happens) {
        let by = match what {
            Happens::Arrives(by, _) | Happens::Looks(by) => by,
        };
        let cut = self.cut.get(&by).and_then(|gaps| is_within(gaps, at_ms));
        match (what, cut) {
            (Happens::Arrives(..), Some(_)) => {}
            (Happens::Arrives(by, letter), None) => {
                let _ = self.world.send(agent(by), self.sent[letter].clone());
            }
            (Happens::Looks(by), Some(back_ms)) => self.plan(back_ms, Happens::Looks(by)),
            (Happens::Looks(_), None) if self.is_over() => {}
            (Happens::Looks(by), None) => {
                self.look(by);
                let next = at_ms + LOOK_MS + self.dice.below(LOOK_MS);
                self.plan(next, Happens::Looks(by));
            }
        }
    }

    /// Whether nobody has anything to do about the newest attempts any more.
    fn is_over(&self) -> bool {
        (0..self.chains.len()).all(|chain| {
            let newest = self.newest(chain).proposal_id;
            self.world.state(newest).is_over()
        })
    }

    fn look(&mut self, by: u64) {
        self.mine();
        for chain in 0..self.chains.len() {
            self.look_at(by, chain);
        }
    }

    /// What an honest agent does about the newest attempt, and a dishonest one now and then.
    fn look_at(&mut self, by: u64, chain: usize) {
        if by == chain as u64 + 1 && self.dice.percent(30) {
            self.retry(chain);
        }
        let of = self.newest(chain).clone();
        let (id, name) = (of.proposal_id, self.world.state(of.proposal_id).name());
        if by == LEADER && of.leader == agent(LEADER) {
            self.lead(&of, name);
        }
        if by == HUMAN {
            self.rule(&of);
        }
        if !of.participants.contains(&agent(by)) {
            return;
        }
        match name {
            StateName::Proposed | StateName::Open | StateName::Suspended => {
                self.take_part(by, &of, name)
            }
            StateName::Revealing => {
                if let Some(facts) = self.reveal_of(by, &of) {
                    self.say(by, id, "reveal", facts);
                }
            }
            StateName::Committed | StateName::HumanApproved => {
                self.acted.push((by, id));
                let report = x811_protocol::facts::consensus::Report {
                    proposal_id: id,
                    report_hash: None,
                };
                let facts = if self.dice.percent(90) {
                    ConsensusFacts::Executed(report)
                } else {
                    ConsensusFacts::Failed(report)
                };
                self.say(by, id, "report", facts);
            }
            StateName::Held
            | StateName::Done
            | StateName::Aborted
            | StateName::Failed
            | StateName::Escalated
            | StateName::HumanRejected
            | StateName::Undecided => {}
        }
    }

    fn take_part(&mut self, by: u64, of: &Proposal, name: StateName) {
        let id = of.proposal_id;
        let ready = x811_protocol::facts::consensus::Ready {
            leader: of.leader,
            proposal_hash: of.proposal_hash,
            proposal_id: id,
            term: of.attempt,
            weights_hash: of.weights_hash,
        };
        self.say(by, id, "ready", ConsensusFacts::Ready(ready));
        if name == StateName::Proposed || self.dice.percent(60) {
            return;
        }
        let is_second = self.said.contains(&(by, id, "vote"));
        let says_another = is_second && self.dice.percent(10);
        let decision = self.decision_of(by, of, says_another);
        let at = self.voted_at(by, of);
        let revealed = reveal(of, agent(by), decision, at);
        let mut vote = super::world::open_vote(of, agent(by), decision, at);
        if of.voting == Voting::Sealed {
            vote.commitment = Some(revealed.commitment);
            (vote.decision, vote.vote_hash) = (None, None);
            (vote.rationale_hash, vote.rationale_tag) = (None, None);
        } else if decision == Decision::Reject && self.dice.percent(70) {
            vote.blocked_by = self.another(id).map(|other| vec![other]);
        }
        self.say(by, id, "vote", ConsensusFacts::Vote(Box::new(vote)));
        if self.dice.percent(3) {
            let claim = x811_protocol::facts::consensus::LeaderSignal {
                proposal_id: id,
                rationale_hash: Some(digest("mine")),
                tally_hash: None,
            };
            self.send(by, ConsensusFacts::Commit(claim));
        }
    }

    /// Another round that is open.
    fn another(&mut self, id: RoundId) -> Option<RoundId> {
        let newest = (0..self.chains.len()).map(|chain| self.newest(chain).proposal_id);
        let others: Vec<RoundId> = newest
            .filter(|other| *other != id && self.world.state(*other).is_open())
            .collect();
        (!others.is_empty()).then(|| self.dice.pick(&others))
    }

    /// The same for each agent and attempt, but for one who says something else.
    fn decision_of(&self, by: u64, of: &Proposal, other: bool) -> Decision {
        let salt = u64::from(digest(&format!("{by} {}", of.proposal_id)).as_bytes()[0]);
        match (salt + u64::from(other)) % 5 {
            0 | 1 | 3 if self.is_bitter => Decision::Reject,
            0 | 1 | 3 => Decision::Approve,
            2 => Decision::Reject,
            _ => Decision::Abstain,
        }
    }

    fn voted_at(&self, by: u64, of: &Proposal) -> TimestampMs {
        let state = self.world.state(of.proposal_id);
        let seat = of.participants.iter().position(|it| *it == agent(by));
        let vote = seat.and_then(|seat| state.seats[seat].vote.as_ref());
        vote.map_or(self.world.now, |vote| vote.timestamp)
    }

    /// Nothing, where it dislikes how the others have voted: withheld reveals are no votes.
    fn reveal_of(&mut self, by: u64, of: &Proposal) -> Option<ConsensusFacts> {
        let reveal = reveal(
            of,
            agent(by),
            self.decision_of(by, of, false),
            self.voted_at(by, of),
        );
        let withholds = self.dice.percent(10);
        (!withholds).then(|| ConsensusFacts::Reveal(Box::new(reveal)))
    }

    fn lead(&mut self, of: &Proposal, name: StateName) {
        let id = of.proposal_id;
        let call = VoteRequest {
            proposal_hash: of.proposal_hash,
            proposal_id: id,
            term: of.attempt,
            weights_hash: of.weights_hash,
        };
        let signal = x811_protocol::facts::consensus::LeaderSignal {
            proposal_id: id,
            rationale_hash: Some(digest("why")),
            tally_hash: self
                .world
                .state(id)
                .decided
                .map(|verdict| verdict.tally_hash()),
        };
        if name == StateName::Proposed {
            self.say(
                LEADER,
                id,
                "vote-request",
                ConsensusFacts::VoteRequest(call),
            );
            return;
        }
        let named = super::world::of_round(of);
        let facts = match (name, self.dice.below(20)) {
            (StateName::Open, 0) => ConsensusFacts::Suspend(named),
            (StateName::Suspended, 0..=3) => ConsensusFacts::Resume(named),
            (_, 4 | 5) => ConsensusFacts::Commit(signal),
            (_, 6 | 7) => ConsensusFacts::Abort(signal),
            _ => return,
        };
        self.send(LEADER, facts);
    }

    fn rule(&mut self, of: &Proposal) {
        let Phase::Escalated { position, .. } = self.world.state(of.proposal_id).phase else {
            return;
        };
        let ruling = HumanDecision {
            decision: self.dice.pick(&HumanRuling::ALL),
            escalation: position,
            proposal_id: of.proposal_id,
            rationale_hash: digest("seen"),
        };
        if self.dice.percent(20) {
            self.send(HUMAN, ConsensusFacts::HumanDecision(ruling));
        }
    }

    fn judge(&self, seed: u64) {
        assert_eq!(self.world.replayed(), self.world.states, "seed {seed}");
        for chain in &self.chains {
            self.judge_chain(seed, chain);
        }
        self.judge_rivals(seed);
        for (by, round) in &self.acted {
            let may_act = self
                .world
                .log
                .iter()
                .any(|kept| kept.round == *round && may_be_done(&kept.stored));
            assert!(may_act, "seed {seed}: agent {by} acted on nothing");
        }
    }

    fn judge_chain(&self, seed: u64, chain: &[Proposal]) {
        let mut done = 0;
        for (place, of) in chain.iter().enumerate() {
            let state = self.world.state(of.proposal_id);
            assert!(state.is_over(), "seed {seed}: stuck {:?}", state.phase);
            hold(&self.world, of);
            let is_commit = is_committed(state);
            let names = self.world.names(of.proposal_id);
            let is_approved = matches!(state.phase, Phase::Done {}) && !is_commit;
            done += u64::from(is_commit || is_approved);
            let is_last = place + 1 == chain.len();
            if state.has_no_retry_left() || state.is_in_deadlock() {
                assert!(is_last, "seed {seed}: a retry too many");
                let asked = names.iter().any(|name| name.starts_with("round_escalated"));
                assert!(
                    asked,
                    "seed {seed}: failed for good, and no human was asked: {names:?}"
                );
            }
        }
        assert!(done <= 1, "seed {seed}: one proposal came out {done} times");
    }

    /// Of two rivals one at most is accepted by its votes while the other is open.
    fn judge_rivals(&self, seed: u64) {
        for (id, state) in self.world.states.iter().filter(|(_, it)| is_committed(it)) {
            let decided_at = self.decided_at(*id);
            for (other, theirs) in &self.world.states {
                let was_open = self.opened_at(*other).is_some_and(|at| at < decided_at)
                    && decided_at < self.decided_at(*other);
                // Open both, as they were.
                let [one, two] = [state, theirs].map(|state| State {
                    decided: None,
                    ..state.clone()
                });
                if was_open && one.is_rival_of(&two) {
                    assert!(!is_committed(theirs), "seed {seed}: {id} and {other}");
                }
            }
        }
    }

    fn place_of(&self, id: RoundId, is_it: impl Fn(&RoundEvent) -> bool) -> Option<u64> {
        let of_round = self.world.log.iter().filter(|kept| kept.round == id);
        let mut those = of_round.filter(|kept| match &kept.stored {
            Stored::Event(event) => is_it(event),
            Stored::Message(_) | Stored::Lapsed(_) | Stored::Drawn(_) => false,
        });
        those.next().map(|kept| kept.position)
    }

    fn opened_at(&self, id: RoundId) -> Option<u64> {
        self.place_of(id, |event| matches!(event, RoundEvent::RoundOpened(_)))
    }

    fn decided_at(&self, id: RoundId) -> u64 {
        let decided = self.place_of(id, |event| matches!(event, RoundEvent::RoundDecided(_)));
        decided.unwrap()
    }
}

fn is_committed(state: &State) -> bool {
    let verdict = state.decided;
    verdict.is_some_and(|it| it.outcome == Outcome::Commit)
}

fn may_be_done(stored: &Stored) -> bool {
    match stored {
        Stored::Event(RoundEvent::RoundDecided(decided)) => decided.outcome == Outcome::Commit,
        Stored::Message(message) => matches!(
            &message.facts,
            ConsensusFacts::HumanDecision(ruling) if ruling.decision == HumanRuling::Approve
        ),
        Stored::Event(_) | Stored::Lapsed(_) | Stored::Drawn(_) => false,
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test that may run for longer")]
fn cc_048_no_fault_of_network_agents_leader_or_ledger_makes_two_outcomes_or_none() {
    let told = std::env::var("X811_ROUND_SEEDS").ok();
    let seeds = told.map_or(SEEDS, |text| text.parse().unwrap());
    let mut seen: BTreeMap<(StateName, &str), u64> = BTreeMap::new();
    let mut lacked = 0_u64;
    for seed in 0..seeds {
        let mut simulation = Simulation::new(seed);
        simulation.run();
        simulation.judge(seed);
        for of in simulation.chains.iter().flatten() {
            let state = simulation.world.state(of.proposal_id);
            let reason = state.decided.map_or("", |verdict| verdict.reason.as_str());
            *seen.entry((state.name(), reason)).or_default() += 1;
            lacked += u64::from(state.contest.lacking_since.is_some());
        }
    }
    assert!(lacked > 0, "the same voters were never missing twice");
    // A simulation in which nothing ever failed, or nothing ever came out, would show nothing.
    for reason in [
        "accepted",
        "rejected",
        "no_quorum",
        "partition",
        "leader_silent",
        "leader_decision",
        "ledger_down",
        "objection",
        "weights_unacknowledged",
        "superseded",
        "deadlock",
    ] {
        assert!(
            seen.keys().any(|(_, why)| *why == reason),
            "{reason} never: {seen:?}"
        );
    }
    for name in [
        StateName::Done,
        StateName::Aborted,
        StateName::HumanRejected,
    ] {
        assert!(
            seen.keys().any(|(end, _)| *end == name),
            "{name} never: {seen:?}"
        );
    }
}

#[test]
fn one_seed_is_one_history() {
    for seed in 0..20 {
        let [first, second] = [seed, seed].map(|seed| {
            let mut simulation = Simulation::new(seed);
            simulation.run();
            let log = simulation.world.log.into_iter();
            log.map(|kept| (kept.at, kept.stored)).collect::<Vec<_>>()
        });
        assert_eq!(first, second, "seed {seed}");
    }
}
