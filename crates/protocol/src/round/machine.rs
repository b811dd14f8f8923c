//! The machine as a ledger asks it.

use std::sync::Arc;

use serde::Serialize;

use super::contest::{self, Board, Shown};
use super::detail::Detail;
use super::event::{RoundEvent, RoundWindow};
use super::evolve;
use super::follow::{decision, follow};
use super::state::{State, StateName};
use super::{Context, Derived, Entry, Message, Recorded, decide, limits, told};
use crate::did::Did;
use crate::digest::Digest;
use crate::envelope::AcceptedHeader;
use crate::event::{self, Effect, EnvelopeAccepted, Event, Lapsed, LapsedWindow};
use crate::facts::Facts;
use crate::facts::consensus::{ConsensusFacts, HumanRuling};
use crate::id::RoundId;
use crate::machine::{
    self, BundleBasis, Conclusion, Erasable, Illegal, Input, LedgerView, Machine, NamedBlock,
    OpenWindow, Told, WindowEnd,
};
use crate::parameters::Parameters;
use crate::refusal::Refusal;
use crate::stream::{Stream, Subject};
use crate::time::TimestampMs;

/// The machine; it has no values, its state is [`State`].
#[derive(Debug, Clone, Copy)]
pub enum Round {}

impl From<Derived> for event::Derived {
    fn from(derived: Derived) -> event::Derived {
        event::Derived {
            authority: derived.authority,
            deadline_at_ms: derived.deadline_at_ms,
            effect: derived.effect,
            parameters: derived.parameters,
            seed: derived.seed,
            ..event::Derived::default()
        }
    }
}

/// The state that an accepted message leads to by itself, as far as the record says it: what its answer
/// says.
fn state_after(accepted: &EnvelopeAccepted, facts: &ConsensusFacts) -> Option<StateName> {
    if accepted.derived.effect.is_some() {
        return None;
    }
    match facts {
        ConsensusFacts::Propose(_) => Some(StateName::Proposed),
        ConsensusFacts::Suspend(_) => Some(StateName::Suspended),
        ConsensusFacts::Resume(_) => Some(StateName::Open),
        ConsensusFacts::HumanDecision(decision) => Some(match decision.decision {
            HumanRuling::Approve => StateName::HumanApproved,
            HumanRuling::Reject => StateName::HumanRejected,
        }),
        ConsensusFacts::VoteRequest(_)
        | ConsensusFacts::Ready(_)
        | ConsensusFacts::Vote(_)
        | ConsensusFacts::Reveal(_)
        | ConsensusFacts::Commit(_)
        | ConsensusFacts::Abort(_)
        | ConsensusFacts::Withdraw(_)
        | ConsensusFacts::Escalate(_)
        | ConsensusFacts::Executed(_)
        | ConsensusFacts::Failed(_) => None,
    }
}

impl Machine for Round {
    type Id = RoundId;
    type State = State;
    type Context<'a> = Context<'a>;

    fn context<'a, V: LedgerView>(
        view: &'a V,
        state: Option<&'a State>,
        input: &Input<'a>,
    ) -> Result<Context<'a>, Refusal> {
        Ok(Context::of(view, state, input))
    }

    fn decide(
        state: Option<&State>,
        input: &Input<'_>,
        context: &Context<'_>,
        now: TimestampMs,
    ) -> Result<Conclusion, Refusal> {
        let Input { envelope, facts } = *input;
        let Facts::Consensus(facts) = facts else {
            return Err(Refusal::state(
                "it is no message of a round: name the round in one that is",
            ));
        };
        let conclusion = decide(state, &Input { envelope, facts }, context, now)?;
        Ok(match conclusion {
            Conclusion::Record(derived) => Conclusion::Record(derived.into()),
            Conclusion::Repeat { first } => Conclusion::Repeat { first },
        })
    }

    fn evolve(state: Option<State>, recorded: &machine::Recorded<'_>) -> Result<State, Illegal> {
        let name = state.as_ref().map_or("none", |state| state.name().as_str());
        let of_another = || Illegal {
            position: recorded.position,
            state: name,
            event: recorded.event.type_name(),
            why: "no round has such a record",
        };
        let rounds = recorded.parameters.and_then(|set| set.rounds.as_ref());
        let opens = state.is_none();
        let evolve = |entry| {
            evolve::evolve(
                state,
                &Recorded {
                    entry,
                    hash: recorded.hash,
                    position: recorded.position,
                    recorded_at_ms: recorded.recorded_at_ms,
                    rounds,
                },
            )
        };
        let state = if let Event::EnvelopeAccepted(accepted) = recorded.event {
            let message = message(accepted).ok_or_else(of_another)?;
            evolve(Entry::Message(&message))?
        } else if let Event::Lapsed(lapsed) = recorded.event {
            let window = window(lapsed).ok_or_else(of_another)?;
            evolve(Entry::Lapsed(window))?
        } else if let Event::CycleDrawn(drawn) = recorded.event {
            evolve(Entry::Drawn(drawn))?
        } else if let Event::NoticeIssued(_) = recorded.event {
            evolve(Entry::Notice)?
        } else {
            let event = round_event(recorded.event).ok_or_else(of_another)?;
            evolve(Entry::Event(&event))?
        };
        Ok(match recorded.parameters {
            Some(parameters) if opens => state.with_parameters(parameters.clone()),
            Some(_) | None => state,
        })
    }

    fn window(state: &State) -> Option<OpenWindow> {
        let (window, ends_at) = state.next_window()?;
        Some(OpenWindow {
            ends_at,
            name: match window {
                RoundWindow::Open => "the time for opening it",
                RoundWindow::Votes => "the time for votes",
                RoundWindow::Reveals => "the time for reveals",
                RoundWindow::Hold => "the time that it is held",
                RoundWindow::Draw => "the time for the draw",
                RoundWindow::Signal => "the time for the leader's signal",
                RoundWindow::Resubmission => "the time for a retry",
                RoundWindow::Human => "the time for humans",
                RoundWindow::Execution => "the time for reports",
            },
            end: WindowEnd::Lapse(Lapsed {
                window: window.into(),
                code: window.code(),
            }),
        })
    }

    fn expire<V: LedgerView>(state: &State, _view: &V) -> Option<Event> {
        Self::window(state)?.lapse()
    }

    fn is_terminal(state: &State) -> bool {
        state.is_over()
    }

    fn subject(id: RoundId) -> Subject {
        Subject::Round(id)
    }

    fn id(state: &State) -> RoundId {
        state.opening.id()
    }

    fn members(state: &State) -> Vec<Did> {
        state.members().into_iter().collect()
    }

    fn state_name(state: &State) -> &'static str {
        state.name().as_str()
    }

    fn detail(state: &State) -> impl Serialize {
        Detail::of(state)
    }

    fn open_between(state: &State) -> Option<(Did, Did)> {
        let proposer = state.opening.proposer;
        let is_undecided = state.decided.is_none();
        is_undecided.then_some((proposer, proposer))
    }

    fn told(_before: &State, event: &Event, after: &State) -> Option<Told> {
        told::told(event, after)
    }

    fn moves_with_downtime(state: &State) -> bool {
        state.moves_with_downtime()
    }

    fn after_downtime(state: State, gap_ms: u64, back_at: TimestampMs) -> State {
        state.after_downtime(gap_ms, back_at)
    }

    fn parameters(state: &State) -> &Arc<Parameters> {
        &state.opening.parameters
    }

    fn with_parameters(state: State, parameters: Arc<Parameters>) -> State {
        state.with_parameters(parameters)
    }

    fn limits<V: LedgerView>(
        view: &V,
        _state: Option<&State>,
        Input { envelope, facts }: &Input<'_>,
    ) -> Result<(), Refusal> {
        let Facts::Consensus(ConsensusFacts::Propose(proposal)) = facts else {
            return Ok(());
        };
        limits::check(view, envelope.from, proposal)
    }

    fn state_after(accepted: &EnvelopeAccepted) -> Option<&'static str> {
        let Facts::Consensus(facts) = &accepted.facts else {
            return None;
        };
        state_after(accepted, facts).map(StateName::as_str)
    }

    fn opening(event: &Event) -> Option<BundleBasis> {
        let accepted = event.accepted()?;
        let Facts::Consensus(facts) = &accepted.facts else {
            return None;
        };
        BundleBasis::by_message(accepted, agents(&accepted.envelope, facts))
    }

    /// The rounds that a message names, and all who say something in the round or are to vote: a human, and
    /// whoever claims to lead, are no members.
    const HAS_LINKS: bool = true;

    fn links(event: &Event) -> Vec<Stream> {
        let Some(EnvelopeAccepted {
            envelope,
            facts: Facts::Consensus(facts),
            ..
        }) = event.accepted()
        else {
            return Vec::new();
        };
        let rounds = facts.names().into_iter();
        let rounds = rounds.map(|round| Stream::Of(Subject::Round(round)));
        let agents = agents(envelope, facts).into_iter();
        rounds.chain(agents.map(Stream::Agent)).collect()
    }

    fn erasable() -> Erasable {
        Erasable::Never(
            "bodies of rounds are not erased: votes and reveals are what the outcome rests on",
        )
    }

    fn opens(_event: &Event) -> Option<Subject> {
        None
    }

    /// The block that draws in a cycle.
    fn blocks<'a>(state: Option<&'a State>, event: &'a Event) -> Vec<NamedBlock<'a>> {
        let (Some(draw), Event::CycleDrawn(drawn)) = (state.and_then(State::draw), event) else {
            return Vec::new();
        };
        vec![NamedBlock {
            block: drawn.block,
            member: "block".to_owned(),
            network: &draw.network,
        }]
    }
}

/// Whose keys and standing a message of a round rests on. The ledger itself is in its own stream.
fn agents(envelope: &AcceptedHeader, facts: &ConsensusFacts) -> Vec<Did> {
    let mut agents = vec![envelope.from];
    if let ConsensusFacts::Propose(proposal) = facts {
        agents.extend(&proposal.participants);
        agents.extend(Some(proposal.leader).filter(|leader| *leader != envelope.to));
    }
    agents
}

/// A message as the machine takes it; `None` for one of another machine.
pub(super) fn message(accepted: &EnvelopeAccepted) -> Option<Message> {
    let Facts::Consensus(facts) = &accepted.facts else {
        return None;
    };
    let derived = Derived {
        authority: accepted.derived.authority,
        deadline_at_ms: accepted.derived.deadline_at_ms,
        effect: accepted.derived.effect,
        parameters: accepted.derived.parameters,
        seed: accepted.derived.seed.clone(),
    };
    let is_whole = event::Derived::from(derived.clone()) == accepted.derived;
    is_whole.then(|| Message {
        derived,
        envelope: accepted.envelope.clone(),
        facts: facts.clone(),
    })
}

/// The window of a round that lapsed; `None` for one of another machine, and for another code.
fn window(lapsed: &Lapsed) -> Option<RoundWindow> {
    let LapsedWindow::Round(window) = lapsed.window else {
        return None;
    };
    (window.code() == lapsed.code).then_some(window)
}

/// What follows in a round; `None` for what follows elsewhere.
fn round_event(event: &Event) -> Option<RoundEvent> {
    let Event::Effect(effect) = event else {
        return None;
    };
    effect.of_round()
}

/// Where a record stands.
#[derive(Debug, Clone, Copy)]
pub struct RoundPlace {
    /// Hash of the record.
    pub hash: Digest,
    /// Place in the log.
    pub position: u64,
    /// The ledger's clock when it was decided.
    pub recorded_at_ms: TimestampMs,
}

/// What `act` makes of a record of a round; `None` for an event that no round has.
fn with_entry<T>(
    event: &Event,
    place: RoundPlace,
    act: impl FnOnce(&Recorded<'_>) -> T,
) -> Option<T> {
    let run = |entry| {
        act(&Recorded {
            entry,
            hash: place.hash,
            position: place.position,
            recorded_at_ms: place.recorded_at_ms,
            rounds: None,
        })
    };
    if let Event::EnvelopeAccepted(accepted) = event {
        let message = message(accepted)?;
        Some(run(Entry::Message(&message)))
    } else if let Event::Lapsed(lapsed) = event {
        Some(run(Entry::Lapsed(window(lapsed)?)))
    } else if let Event::CycleDrawn(drawn) = event {
        Some(run(Entry::Drawn(drawn)))
    } else if let Event::NoticeIssued(_) = event {
        Some(run(Entry::Notice))
    } else {
        let event = round_event(event)?;
        Some(run(Entry::Event(&event)))
    }
}

/// [`settle`](contest::settle) for a record as the log has it.
pub fn settled(
    board: &dyn Board,
    before: Option<&State>,
    after: &State,
    event: &Event,
    place: RoundPlace,
) -> Vec<State> {
    let changed = with_entry(event, place, |recorded| {
        contest::settle(board, before, after, recorded)
    });
    changed.unwrap_or_default()
}

/// [`assumed`](contest::assumed) for a record as the log has it.
pub fn assumed_before(
    state: &State,
    event: &Event,
    place: RoundPlace,
    shown: Shown<'_>,
) -> Option<State> {
    with_entry(event, place, |recorded| {
        contest::assumed(state, recorded, shown)
    })
    .flatten()
}

/// The decision of a round that the record at `cause` of another one ended.
pub fn ended(state: &State, cause: u64, at: TimestampMs) -> Option<Effect> {
    state.contest.ending?;
    decision(state, cause, at).map(Effect::from)
}

/// What follows from a record in the round itself; `after` is its state with that record.
pub fn effects(after: &State, event: &Event, position: u64, at: TimestampMs) -> Vec<Effect> {
    let events = if let Event::EnvelopeAccepted(accepted) = event {
        let message = message(accepted);
        let message = message.as_ref().map(Entry::Message);
        message.map(|entry| follow(after, entry, position, at))
    } else if let Event::Lapsed(lapsed) = event {
        let lapsed = window(lapsed).map(Entry::Lapsed);
        lapsed.map(|entry| follow(after, entry, position, at))
    } else if let Event::CycleDrawn(drawn) = event {
        Some(follow(after, Entry::Drawn(drawn), position, at))
    } else {
        let event = round_event(event);
        let event = event.as_ref().map(Entry::Event);
        event.map(|entry| follow(after, entry, position, at))
    };
    let events = events.unwrap_or_default();
    events.into_iter().map(Effect::from).collect()
}
