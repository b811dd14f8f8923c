//! A ledger of rounds alone: it decides, records, evolves and lets follow what follows, and keeps every
//! record so that it can be replayed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use x811_protocol::code::Code;
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::AcceptedHeader;
use x811_protocol::evm::BlockHash;
use x811_protocol::facts::consensus::{
    ConsensusFacts, Decision, LeaderSignal, Mechanism, OfRound, Proposal, Ready, Report, Reveal,
    Risk, Vote, VoteRequest, Voting,
};
use x811_protocol::id::{EnvelopeId, RoundId};
use x811_protocol::key::{KeyId, Profile, SecretKey};
use x811_protocol::machine::{Conclusion, Input};
use x811_protocol::observation::Block;
use x811_protocol::parameters::Rounds;
use x811_protocol::refusal::Refusal;
use x811_protocol::round::{
    self, Board, Context, CycleDrawn, Derived, Entry, Failed, InARow, Message, Opened, Outcome,
    Reason, Recorded, Relation, RoundEvent, RoundLedger, RoundWindow, State, TallyVerdict,
    VoterStanding,
};
use x811_protocol::signature::Signature;
use x811_protocol::time::TimestampMs;

/// When the worlds of these tests begin.
pub(crate) const BEGUN: TimestampMs = TimestampMs::new(1_767_225_600_000);

/// Why something was refused.
pub(crate) fn code<T: std::fmt::Debug>(refused: Result<T, Refusal>) -> Code {
    refused.unwrap_err().code
}

/// A record as the log would hold it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Stored {
    Message(Box<Message>),
    Lapsed(RoundWindow),
    Drawn(CycleDrawn),
    Event(RoundEvent),
}

impl Stored {
    pub(crate) fn entry(&self) -> Entry<'_> {
        match self {
            Stored::Message(message) => Entry::Message(message),
            Stored::Lapsed(window) => Entry::Lapsed(*window),
            Stored::Drawn(drawn) => Entry::Drawn(drawn),
            Stored::Event(event) => Entry::Event(event),
        }
    }

    pub(crate) fn name(&self) -> String {
        match self {
            Stored::Message(message) => {
                let verb = message.facts.verb().to_string();
                let verb = verb.trim_start_matches("x811.consensus/").to_owned();
                if message.derived.effect.is_some() {
                    return format!("{verb} (evidence)");
                }
                verb
            }
            Stored::Lapsed(window) => {
                let window = serde_json::to_value(window).unwrap();
                format!("lapsed {{{}}}", window.as_str().unwrap())
            }
            Stored::Drawn(_) => "cycle_drawn".to_owned(),
            Stored::Event(RoundEvent::AnomalyNoted(noted)) => {
                let kind = serde_json::to_value(noted.kind).unwrap();
                format!("anomaly_noted {{{}}}", kind.as_str().unwrap())
            }
            Stored::Event(RoundEvent::RoundEscalated(escalated)) => {
                let reason = serde_json::to_value(escalated.reason).unwrap();
                format!("round_escalated {{{}}}", reason.as_str().unwrap())
            }
            Stored::Event(event) => event.type_name().to_owned(),
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Kept {
    pub(crate) round: RoundId,
    pub(crate) stored: Stored,
    pub(crate) position: u64,
    pub(crate) at: TimestampMs,
}

pub(crate) struct World {
    pub(crate) ledger: Did,
    pub(crate) now: TimestampMs,
    pub(crate) rounds: Arc<Rounds>,
    pub(crate) states: BTreeMap<RoundId, State>,
    pub(crate) log: Vec<Kept>,
    pub(crate) strangers: BTreeSet<Did>,
    pub(crate) excluded: BTreeSet<Did>,
    /// Height of the last known head, unless the network is blind.
    pub(crate) head: Option<u64>,
    /// What the proposer of each round has earned; 50 where nothing is said.
    pub(crate) trust: BTreeMap<Did, u64>,
    /// Failed rounds, as they are remembered.
    failed: BTreeMap<(Did, Relation), (TimestampMs, Arc<Failed>)>,
    made: u64,
    /// When the ledger was away: length of the log then, for how long, and until when.
    aways: Vec<(u64, u64, TimestampMs)>,
}

struct TestView<'a>(&'a World);

impl RoundLedger for TestView<'_> {
    fn standing(&self, agent: Did) -> VoterStanding {
        VoterStanding {
            age_ms: 1_000,
            is_active: true,
            is_excluded: self.0.excluded.contains(&agent),
            takes_part: !self.0.strangers.contains(&agent),
            trust_hundredths: self.0.trust.get(&agent).copied().unwrap_or(50),
        }
    }

    fn round(&self, id: RoundId) -> Option<&State> {
        self.0.states.get(&id).filter(|state| !state.is_over())
    }
}

/// The agent of that number.
pub(crate) fn agent(number: u64) -> Did {
    let text = format!("did:x811:019c8c61-8129-7511-9f31-{number:012x}");
    text.parse().unwrap()
}

pub(crate) fn agents(count: u64) -> Vec<Did> {
    (1..=count).map(agent).collect()
}

pub(crate) fn key_of(agent: Did) -> SecretKey {
    let seed = Digest::of(agent.to_string().as_bytes());
    SecretKey::from_seed(*seed.as_bytes())
}

pub(crate) fn digest(text: &str) -> Digest {
    Digest::of(text.as_bytes())
}

impl World {
    pub(crate) fn new(rounds: Rounds) -> World {
        World {
            ledger: agent(0xffff),
            now: BEGUN,
            rounds: Arc::new(rounds),
            states: BTreeMap::new(),
            log: Vec::new(),
            strangers: BTreeSet::new(),
            excluded: BTreeSet::new(),
            head: Some(1_000),
            trust: BTreeMap::new(),
            failed: BTreeMap::new(),
            made: 0,
            aways: Vec::new(),
        }
    }

    fn fresh_id(&mut self) -> EnvelopeId {
        self.made += 1;
        let mut random = [0; 10];
        random[2..].copy_from_slice(&self.made.to_be_bytes());
        EnvelopeId::from_parts(self.now.as_ms(), &random)
    }

    pub(crate) fn header(&mut self, from: Did, facts: &ConsensusFacts) -> AcceptedHeader {
        let id = match facts {
            ConsensusFacts::Propose(proposal) => proposal.proposal_id.proposal_id(),
            _ => self.fresh_id(),
        };
        AcceptedHeader {
            created_ms: self.now,
            digest: digest("body"),
            expires_ms: None,
            from,
            id,
            key: KeyId {
                did: from,
                key: key_of(from).public(),
            },
            nonce_tag: digest(&id.to_string()),
            profile: Profile::Digest,
            signature: Signature::from_bytes([7; 64]),
            size: 500,
            to: self.ledger,
            message_type: facts.verb().as_str().parse().unwrap(),
            version: "0.1.0".to_owned(),
        }
    }

    /// A proposal among the first `seats` agents that lives for a minute, the ledger leading.
    pub(crate) fn proposal(&mut self, mechanism: Mechanism, seats: u64) -> Proposal {
        let id = RoundId::from(self.fresh_id());
        let weights = (mechanism == Mechanism::Weighted).then(|| vec![1; seats as usize]);
        let participants = agents(seats);
        let weights_hash = weights
            .as_ref()
            .map(|weights| round::weights_hash(&participants, weights));
        Proposal {
            action_hash: digest("action"),
            action_type: "test.act".to_owned(),
            attempt: 1,
            blocked_by: Vec::new(),
            consensus_round_id: id,
            f: None,
            leader: self.ledger,
            mechanism,
            participants,
            proposal_hash: digest(&id.to_string()),
            proposal_id: id,
            quorum: 0,
            resource_tags: Vec::new(),
            resubmission_of: None,
            reveal_ms: None,
            reversible: true,
            risk: Risk::Low,
            specificity: 0,
            subject_hash: digest("subject"),
            threshold: None,
            timeout_ms: self.now.saturating_add_ms(60_000),
            urgency: 0,
            voting: Voting::Open,
            weights,
            weights_hash,
        }
    }

    pub(crate) fn propose(&mut self, by: Did, proposal: &Proposal) -> Result<RoundId, Refusal> {
        let facts = ConsensusFacts::Propose(Box::new(proposal.clone()));
        self.send(by, facts).map(|_| proposal.proposal_id)
    }

    /// A world with a proposal of agent 1 among so many.
    pub(crate) fn proposed(mechanism: Mechanism, seats: u64) -> (World, Proposal, RoundId) {
        let mut world = World::new(Rounds::DEFAULT);
        let proposal = world.proposal(mechanism, seats);
        let id = world.propose(agent(1), &proposal).unwrap();
        (world, proposal, id)
    }

    /// The leader calls for votes.
    pub(crate) fn call(&mut self, proposal: &Proposal, leader: Did) {
        let call = VoteRequest {
            proposal_hash: proposal.proposal_hash,
            proposal_id: proposal.proposal_id,
            term: 1,
            weights_hash: proposal.weights_hash,
        };
        let call = ConsensusFacts::VoteRequest(call);
        self.send(leader, call).unwrap();
    }

    /// What is decided on a message now, without recording it.
    pub(crate) fn decide(&mut self, from: Did, facts: &ConsensusFacts) -> Result<Derived, Refusal> {
        let envelope = self.header(from, facts);
        let input = Input {
            envelope: &envelope,
            facts,
        };
        let context = Context {
            view: &TestView(self),
            head: self.head,
            ledger: self.ledger,
            parameters_position: 1,
            rounds: Some(&self.rounds),
        };
        let state = self.states.get(&facts.round());
        match round::decide(state, &input, &context, self.now)? {
            Conclusion::Repeat { .. } => Ok(Derived::default()),
            Conclusion::Record(derived) => Ok(derived),
        }
    }

    /// Lapses first, then the message; says whether it was recorded.
    pub(crate) fn send(&mut self, from: Did, facts: ConsensusFacts) -> Result<bool, Refusal> {
        let envelope = self.header(from, &facts);
        self.lapse();
        let id = facts.round();
        let input = Input {
            envelope: &envelope,
            facts: &facts,
        };
        let context = Context {
            view: &TestView(self),
            head: self.head,
            ledger: self.ledger,
            parameters_position: 1,
            rounds: Some(&self.rounds),
        };
        let state = self.states.get(&id);
        match round::decide(state, &input, &context, self.now)? {
            Conclusion::Repeat { .. } => Ok(false),
            Conclusion::Record(derived) => {
                let retried = match &facts {
                    ConsensusFacts::Propose(proposal) => proposal.resubmission_of,
                    _ => None,
                };
                let cause = self.record(
                    id,
                    Stored::Message(Box::new(Message {
                        derived,
                        envelope,
                        facts,
                    })),
                );
                if let Some(failed) = retried {
                    let event = round::Resubmitted { cause, round: id };
                    self.record(failed, Stored::Event(RoundEvent::Resubmitted(event)));
                }
                Ok(true)
            }
        }
    }

    /// Records it and whatever follows, depth first; returns its position.
    fn record(&mut self, id: RoundId, stored: Stored) -> u64 {
        let position = self.log.len() as u64;
        let kept = Kept {
            round: id,
            stored: stored.clone(),
            position,
            at: self.now,
        };
        let before = self.states.remove(&id);
        let state = evolve(before.clone(), &kept, &self.rounds).unwrap();
        self.states.insert(id, state.clone());
        let moved = self.take(&kept, before.as_ref(), &state);
        self.log.push(kept);
        let others = moved.into_iter().filter(|other| *other != id);
        let ended: Vec<RoundId> = others
            .filter(|other| self.states[other].contest.ending.is_some())
            .collect();
        for loser in ended {
            let event = RoundEvent::RoundDecided(round::RoundDecided {
                cause: position,
                ..self.decision(loser)
            });
            self.record(loser, Stored::Event(event));
        }
        let follows = round::follow(&self.states[&id], stored.entry(), position, self.now);
        for event in follows {
            self.record(id, Stored::Event(event));
        }
        position
    }

    fn remember(&mut self, id: RoundId, reason: Reason) {
        let state = &self.states[&id];
        let proposer = state.opening.proposer;
        if InARow::of(reason) != InARow::PassedOver {
            for relation in state.related_by() {
                self.failed.remove(&(proposer, relation));
            }
        }
        if InARow::of(reason) == InARow::Counts {
            let until = self.now.saturating_add_ms(self.rounds.related_ms);
            let failed = Arc::new(state.as_failed());
            for relation in state.remembered_by() {
                let known = (until, failed.clone());
                self.failed.insert((proposer, relation), known);
            }
        }
    }

    /// What a record makes of other rounds.
    pub(crate) fn settled(&self, kept: &Kept, before: Option<&State>, after: &State) -> Vec<State> {
        round::settle(self, before, after, &recorded(kept, &self.rounds))
    }

    fn decision(&self, id: RoundId) -> round::RoundDecided {
        let state = &self.states[&id];
        let entry = Entry::Lapsed(RoundWindow::Votes);
        let follows = round::follow(state, entry, 0, self.now);
        let Some(RoundEvent::RoundDecided(decided)) = follows.into_iter().next() else {
            panic!("it is decided");
        };
        decided
    }

    /// A block of the network that draws, reported once it is deep.
    pub(crate) fn block(&mut self, number: u64, hash: [u8; 32]) {
        let waits = self.states.values().filter_map(|state| {
            let waits = state.contest.waits.as_ref()?;
            let draw = waits.draw.as_ref()?;
            (draw.height == number)
                .then(|| (state.opening.id(), waits.closing, draw.rounds.clone()))
        });
        for (id, closing, rounds) in waits.collect::<Vec<_>>() {
            let winner = round::drawn(Digest::from_bytes(hash), rounds.iter().copied()).unwrap();
            let block = Block {
                hash: BlockHash::from_bytes(hash),
                number,
                timestamp_s: self.now.as_ms() / 1_000,
            };
            let rounds = rounds.into_iter().collect();
            let drawn = CycleDrawn {
                block,
                closing,
                rounds,
                winner,
            };
            self.record(id, Stored::Drawn(drawn));
        }
    }

    /// Every lapse that is due.
    pub(crate) fn lapse(&mut self) {
        let ids: Vec<RoundId> = self.states.keys().copied().collect();
        for id in ids {
            while let Some((window, deadline)) = self.states[&id].next_window()
                && self.now > deadline
            {
                self.record(id, Stored::Lapsed(window));
            }
        }
    }

    pub(crate) fn at(&mut self, after_ms: u64) {
        self.now = BEGUN.saturating_add_ms(after_ms);
        self.lapse();
    }

    /// The ledger was away from `from_ms` to `to_ms`.
    pub(crate) fn away(&mut self, from_ms: u64, to_ms: u64) {
        self.now = BEGUN.saturating_add_ms(to_ms);
        let away = (self.log.len() as u64, to_ms - from_ms, self.now);
        self.aways.push(away);
        for state in self.states.values_mut() {
            *state = state.clone().after_downtime(to_ms - from_ms, self.now);
        }
        self.lapse();
    }

    pub(crate) fn state(&self, id: RoundId) -> &State {
        &self.states[&id]
    }

    pub(crate) fn verdict(&self, id: RoundId) -> TallyVerdict {
        self.states[&id].decided.unwrap()
    }

    /// The names of a round's records from the one behind `after` on.
    pub(crate) fn names(&self, id: RoundId) -> Vec<String> {
        let of_round = self.log.iter().filter(|kept| kept.round == id);
        of_round.map(|kept| kept.stored.name()).collect()
    }

    /// Replays all rounds from the records and the ledger's absences alone.
    pub(crate) fn replayed(&self) -> BTreeMap<RoundId, State> {
        let mut again = World::new(Rounds::clone(&self.rounds));
        for kept in &self.log {
            again.be_away(self, |at| at == kept.position);
            again.now = kept.at;
            let before = again.states.remove(&kept.round);
            let state = evolve(before.clone(), kept, &self.rounds).unwrap();
            again.states.insert(kept.round, state.clone());
            again.take(kept, before.as_ref(), &state);
        }
        again.be_away(self, |at| at >= self.log.len() as u64);
        again.states
    }

    /// What the absences of `of` at those places move.
    fn be_away(&mut self, of: &World, is_then: impl Fn(u64) -> bool) {
        for (_, gap_ms, back_at) in of.aways.iter().filter(|(at, ..)| is_then(*at)) {
            for state in self.states.values_mut() {
                *state = state.clone().after_downtime(*gap_ms, *back_at);
            }
        }
    }

    /// What a record makes of other rounds, and of what is remembered; which rounds it changed.
    fn take(&mut self, kept: &Kept, before: Option<&State>, after: &State) -> Vec<RoundId> {
        let changed = self.settled(kept, before, after);
        let moved = changed.iter().map(|state| state.opening.id()).collect();
        let states = changed.into_iter().map(|state| (state.opening.id(), state));
        self.states.extend(states);
        if let Stored::Event(RoundEvent::RoundDecided(decided)) = &kept.stored {
            self.remember(kept.round, decided.reason);
        }
        moved
    }
}

pub(crate) fn evolve(
    before: Option<State>,
    kept: &Kept,
    rounds: &Arc<Rounds>,
) -> Result<State, x811_protocol::machine::Illegal> {
    round::evolve(before, &recorded(kept, rounds))
}

fn recorded<'a>(kept: &'a Kept, rounds: &'a Arc<Rounds>) -> Recorded<'a> {
    Recorded {
        entry: kept.stored.entry(),
        hash: digest(&kept.position.to_string()),
        position: kept.position,
        recorded_at_ms: kept.at,
        rounds: Some(rounds),
    }
}

impl Board for World {
    fn round(&self, id: RoundId) -> Option<&State> {
        self.states.get(&id).filter(|state| !state.is_over())
    }

    fn about(&self, tags: &[Digest]) -> BTreeSet<RoundId> {
        let open = self.states.values().filter(|state| state.is_open());
        let about = open.filter(|state| {
            let mut own = state.opening.proposal.resource_tags.iter();
            own.any(|tag| tags.contains(tag))
        });
        about.map(|state| state.opening.id()).collect()
    }

    fn failed(&self, proposer: Did, relations: &[Relation], at: TimestampMs) -> Vec<Arc<Failed>> {
        let known = relations.iter();
        let known = known.filter_map(|relation| self.failed.get(&(proposer, *relation)));
        let lately = known.filter(|(until, _)| at <= *until);
        lately.map(|(_, failed)| failed.clone()).collect()
    }
}

/// What agents say.
impl World {
    pub(crate) fn ready(&mut self, of: &Proposal, by: Did) -> Result<bool, Refusal> {
        let ready = Ready {
            leader: of.leader,
            proposal_hash: of.proposal_hash,
            proposal_id: of.proposal_id,
            term: of.attempt,
            weights_hash: of.weights_hash,
        };
        self.send(by, ConsensusFacts::Ready(ready))
    }

    pub(crate) fn all_ready(&mut self, of: &Proposal) {
        for agent in &of.participants {
            self.ready(of, *agent).unwrap();
        }
    }

    pub(crate) fn vote(
        &mut self,
        of: &Proposal,
        by: Did,
        decision: Decision,
    ) -> Result<bool, Refusal> {
        let facts = open_vote(of, by, decision, self.now);
        self.send(by, ConsensusFacts::Vote(Box::new(facts)))
    }

    pub(crate) fn commit_to(
        &mut self,
        of: &Proposal,
        by: Did,
        decision: Decision,
    ) -> Result<Reveal, Refusal> {
        let reveal = reveal(of, by, decision, self.now);
        let vote = Vote {
            commitment: Some(reveal.commitment),
            decision: None,
            rationale_hash: None,
            rationale_tag: None,
            vote_hash: None,
            ..open_vote(of, by, decision, self.now)
        };
        self.send(by, ConsensusFacts::Vote(Box::new(vote)))?;
        Ok(reveal)
    }

    pub(crate) fn reveal(&mut self, by: Did, reveal: &Reveal) -> Result<bool, Refusal> {
        self.send(by, ConsensusFacts::Reveal(Box::new(*reveal)))
    }

    pub(crate) fn signal(
        &mut self,
        of: &Proposal,
        by: Did,
        outcome: Outcome,
        tally_hash: Option<Digest>,
        reasons: bool,
    ) -> Result<bool, Refusal> {
        let signal = LeaderSignal {
            proposal_id: of.proposal_id,
            rationale_hash: reasons.then(|| digest("why")),
            tally_hash,
        };
        let facts = match outcome {
            Outcome::Commit => ConsensusFacts::Commit(signal),
            Outcome::Abort => ConsensusFacts::Abort(signal),
        };
        self.send(by, facts)
    }

    pub(crate) fn report(&mut self, of: &Proposal, by: Did, done: bool) -> Result<bool, Refusal> {
        let report = Report {
            proposal_id: of.proposal_id,
            report_hash: None,
        };
        let facts = if done {
            ConsensusFacts::Executed(report)
        } else {
            ConsensusFacts::Failed(report)
        };
        self.send(by, facts)
    }
}

pub(crate) const fn of_round(of: &Proposal) -> OfRound {
    OfRound {
        proposal_id: of.proposal_id,
    }
}

pub(crate) fn open_vote(of: &Proposal, by: Did, decision: Decision, at: TimestampMs) -> Vote {
    let rationale = (decision == Decision::Reject).then(|| digest(&format!("{by} says no")));
    Vote {
        blocked_by: None,
        commitment: None,
        consensus_round_id: of.proposal_id,
        decision: Some(decision),
        proposal_hash: of.proposal_hash,
        proposal_id: of.proposal_id,
        rationale_hash: rationale,
        rationale_tag: rationale,
        timestamp_ms: at,
        vote_hash: Some(digest(&format!("{by} {decision}"))),
    }
}

pub(crate) fn reveal(of: &Proposal, by: Did, decision: Decision, at: TimestampMs) -> Reveal {
    let vote = open_vote(of, by, decision, at);
    Reveal {
        commitment: round::commitment(&Opened {
            decision,
            proposal_id: of.proposal_id,
            rationale: None,
            round: of.proposal_id,
            salt: "AAAAAAAAAAAAAAAAAAAAAA",
            voter: by,
        }),
        decision,
        proposal_id: of.proposal_id,
        rationale_hash: vote.rationale_hash,
        rationale_tag: vote.rationale_tag,
        timestamp_ms: at,
        vote_hash: vote.vote_hash.unwrap(),
    }
}
