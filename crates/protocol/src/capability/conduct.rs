//! The `conduct` machine: breaches of agreements that an agent answers for, and its exclusion from new
//! sessions (capability.md, "Breach and exclusion"; CC-112, CC-113, CX-49).
//!
//! Nobody reports a breach: it is an effect of what the ledger saw itself. An exclusion follows from
//! breaches alone, and ends by its time or by an operator's signed order.

use crate::code::Code;
use crate::did::Did;
use crate::event::{
    BreachRecorded, Effect, EnvelopeAccepted, Event, Excluded, ExclusionLifted, LedgerEvent,
};
use crate::id::AgreementId;
use crate::machine::{
    BundleBasis, Conclusion, Erasable, Illegal, Input, LedgerView, Machine, NamedBlock, News,
    OpenWindow, Recorded, Told, not_restored,
};
use crate::parameters::{Exclusion, Parameters};
use crate::refusal::Refusal;
use crate::stream::{Stream, Subject};
use crate::time::TimestampMs;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A breach that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Breach {
    /// Of which agreement.
    pub agreement: AgreementId,
    /// When it was recorded.
    pub at: TimestampMs,
    /// Who did not get what was agreed on.
    pub consumer: Did,
    /// Whether an exclusion was for it: each is for one alone.
    pub is_spent: bool,
    /// Position of its `breach_recorded`.
    pub position: u64,
}

/// The last exclusion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LastExclusion {
    /// Whether an operator lifted it.
    pub is_lifted: bool,
    /// Position of its `excluded`.
    pub position: u64,
    /// It holds while the ledger's clock is before this moment, which never moves.
    pub until: TimestampMs,
}

/// What an agent answers for. Members stand in the order of their names, in which a state is hashed
/// after every record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// Whose conduct it is.
    pub agent: Did,
    /// Breaches that count still, or counted today, oldest first.
    pub breaches: Vec<Breach>,
    /// The last exclusion, if there was one.
    pub exclusion: Option<LastExclusion>,
    /// The parameters in force at the last breach. Not in the stored form.
    #[serde(skip, default = "not_restored")]
    pub parameters: Arc<Parameters>,
    /// Breaches that were recorded, whether they counted or not.
    pub recorded: u64,
}

impl State {
    /// Whether it is excluded from new sessions and rounds at `now`.
    pub fn is_excluded(&self, now: TimestampMs) -> bool {
        let exclusion = self.exclusion.filter(|exclusion| !exclusion.is_lifted);
        exclusion.is_some_and(|exclusion| now < exclusion.until)
    }

    /// The exclusion that follows from the breach that was just recorded at `now`, if one does.
    pub fn due(&self, cause: u64, now: TimestampMs) -> Option<Excluded> {
        let rule = rule(&self.parameters)?;
        let last = self.breaches.last().filter(|last| last.position == cause)?;
        let counted = self.breaches.iter();
        let counted = counted.filter(|breach| !breach.is_spent && rule.counts(breach, last.at));
        let counted: Vec<&Breach> = counted.collect();
        let consumers: BTreeSet<Did> = counted.iter().map(|breach| breach.consumer).collect();
        let is_enough = counted.len() as u64 >= rule.breaches && consumers.len() >= 2;
        is_enough.then(|| Excluded {
            cause,
            causes: counted.iter().map(|breach| breach.position).collect(),
            until_ms: now.saturating_add_ms(rule.for_ms),
        })
    }
}

const fn rule(parameters: &Parameters) -> Option<Exclusion> {
    match &parameters.capabilities {
        Some(block) => block.exclusion,
        None => None,
    }
}

impl Exclusion {
    const fn counts(self, breach: &Breach, now: TimestampMs) -> bool {
        now.since(breach.at) < self.within_ms
    }
}

struct Evolving<'a> {
    state: Option<State>,
    recorded: &'a Recorded<'a>,
    agent: Option<Did>,
}

impl Evolving<'_> {
    fn illegal(&self, why: &'static str) -> Illegal {
        let state = self.state.as_ref().map_or("none", |_| STATE);
        self.recorded.illegal(state, why)
    }

    fn breached(self, breach: &BreachRecorded) -> Result<State, Illegal> {
        let Some(parameters) = self.recorded.parameters else {
            return Err(self.illegal("the parameters in force are not known"));
        };
        let (now, position) = (self.recorded.recorded_at_ms, self.recorded.position);
        let before = self.state;
        let mut breaches = before
            .as_ref()
            .map_or_else(Vec::new, |it| it.breaches.clone());
        let rule = rule(parameters);
        // What can neither count nor keep another from counting is forgotten.
        breaches.retain(|known| {
            known.at.day() == now.day()
                || !known.is_spent && rule.is_some_and(|rule| rule.counts(known, now))
        });
        let is_new =
            |known: &Breach| (known.agreement, known.at.day()) != (breach.agreement, now.day());
        if let Some(rule) = rule
            && breaches.iter().all(is_new)
        {
            // All of one consumer: the newest are enough, whoever comes next.
            let open = breaches.iter().filter(|known| !known.is_spent).count() as u64;
            if open >= rule.breaches
                && let Some(oldest) = breaches.iter().position(|known| !known.is_spent)
            {
                breaches.remove(oldest);
            }
            breaches.push(Breach {
                agreement: breach.agreement,
                at: now,
                consumer: breach.consumer,
                is_spent: false,
                position,
            });
        }
        Ok(State {
            agent: breach.provider,
            breaches,
            exclusion: before.as_ref().and_then(|before| before.exclusion),
            parameters: parameters.clone(),
            recorded: before.map_or(0, |before| before.recorded) + 1,
        })
    }

    fn excluded(self, excluded: &Excluded) -> Result<State, Illegal> {
        let now = self.recorded.recorded_at_ms;
        let due = self.state.as_ref();
        let due = due.and_then(|state| state.due(excluded.cause, now));
        if due.as_ref() != Some(excluded) {
            return Err(self.illegal("its causes are not enough, or it is for another time"));
        }
        let position = self.recorded.position;
        let Some(mut state) = self.state else {
            return Err(self.illegal("there is nothing to exclude anybody for"));
        };
        for breach in &mut state.breaches {
            breach.is_spent |= excluded.causes.contains(&breach.position);
        }
        state.exclusion = Some(LastExclusion {
            is_lifted: false,
            position,
            until: excluded.until_ms,
        });
        Ok(state)
    }

    fn lifted(mut self, lifted: &ExclusionLifted) -> Result<State, Illegal> {
        let now = self.recorded.recorded_at_ms;
        let Some(state) = self.state.take().filter(|state| state.is_excluded(now)) else {
            return Err(self.illegal("nobody was excluded"));
        };
        match state.exclusion {
            Some(exclusion) if exclusion.position == lifted.excluded => Ok(State {
                exclusion: Some(LastExclusion {
                    is_lifted: true,
                    ..exclusion
                }),
                ..state
            }),
            _ => Err(self.illegal("another exclusion is in force")),
        }
    }
}

/// The one state there is.
pub const STATE: &str = "recorded";

/// The machine; it has no values, its state is [`State`].
#[derive(Debug, Clone, Copy)]
pub enum Conduct {}

impl Machine for Conduct {
    type Id = Did;
    type State = State;
    type Context<'a> = ();

    fn context<'a, V: LedgerView>(
        _view: &'a V,
        _state: Option<&'a State>,
        _input: &Input<'a>,
    ) -> Result<(), Refusal> {
        Ok(())
    }

    fn decide(
        _state: Option<&State>,
        _input: &Input<'_>,
        _context: &(),
        _now: TimestampMs,
    ) -> Result<Conclusion, Refusal> {
        Err(Refusal::state(
            "no message is about the conduct of an agent",
        ))
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "refuses every other event")]
    fn evolve(state: Option<State>, recorded: &Recorded<'_>) -> Result<State, Illegal> {
        let step = Evolving {
            agent: state.as_ref().map(|state| state.agent),
            state,
            recorded,
        };
        match recorded.event {
            Event::Effect(Effect::BreachRecorded(breach)) => {
                if step.agent.is_some_and(|agent| agent != breach.provider) {
                    return Err(step.illegal("it is another agent's breach"));
                }
                step.breached(breach)
            }
            Event::Effect(Effect::Excluded(excluded)) => step.excluded(excluded),
            Event::Ledger(LedgerEvent::ExclusionLifted(lifted)) => step.lifted(lifted),
            Event::NoticeIssued(_) if step.state.is_some() => match step.state {
                Some(state) => Ok(state),
                None => Err(step.illegal("there is nothing to tell")),
            },
            _ => Err(step.illegal("the event does not belong to a stream of conduct")),
        }
    }

    fn window(_state: &State) -> Option<OpenWindow> {
        None
    }

    fn expire<V: LedgerView>(_state: &State, _view: &V) -> Option<Event> {
        None
    }

    fn is_terminal(_state: &State) -> bool {
        false
    }

    fn subject(id: Did) -> Subject {
        Subject::Conduct(id)
    }

    fn id(state: &State) -> Did {
        state.agent
    }

    fn members(state: &State) -> Vec<Did> {
        vec![state.agent]
    }

    fn state_name(_state: &State) -> &'static str {
        STATE
    }

    fn detail(state: &State) -> impl Serialize {
        let counted = state.breaches.iter().filter(|breach| !breach.is_spent);
        let counted: Vec<u64> = counted.map(|breach| breach.position).collect();
        let mut detail = json!({ "breaches": state.recorded, "counted": counted });
        if let Some(exclusion) = state.exclusion {
            detail["exclusion"] = json!({
                "is_lifted": exclusion.is_lifted,
                "position": exclusion.position,
                "until_ms": exclusion.until,
            });
        }
        detail
    }

    fn open_between(_state: &State) -> Option<(Did, Did)> {
        None
    }

    fn told(_before: &State, event: &Event, _after: &State) -> Option<Told> {
        if let Event::Effect(Effect::Excluded(_)) = event {
            Some(Told::news(News::Excluded, Some(Code::Excluded), None))
        } else if let Event::Ledger(LedgerEvent::ExclusionLifted(_)) = event {
            Some(Told::news(News::ExclusionLifted, None, None))
        } else {
            None
        }
    }

    fn moves_with_downtime(_state: &State) -> bool {
        false
    }

    fn after_downtime(state: State, _gap_ms: u64, _back_at: TimestampMs) -> State {
        state
    }

    fn parameters(state: &State) -> &Arc<Parameters> {
        &state.parameters
    }

    fn with_parameters(state: State, parameters: Arc<Parameters>) -> State {
        State {
            parameters,
            ..state
        }
    }

    fn limits<V: LedgerView>(
        _view: &V,
        _state: Option<&State>,
        _input: &Input<'_>,
    ) -> Result<(), Refusal> {
        Ok(())
    }

    fn state_after(_accepted: &EnvelopeAccepted) -> Option<&'static str> {
        None
    }

    fn opening(event: &Event) -> Option<BundleBasis> {
        let Event::Effect(Effect::BreachRecorded(breach)) = event else {
            return None;
        };
        Some(BundleBasis::by_effect(vec![breach.provider]))
    }

    const HAS_LINKS: bool = false;

    fn links(_event: &Event) -> Vec<Stream> {
        Vec::new()
    }

    fn erasable() -> Erasable {
        Erasable::Never("there are no bodies of conduct: it is what the ledger recorded itself")
    }

    fn opens(_event: &Event) -> Option<Subject> {
        None
    }

    fn blocks<'a>(_state: Option<&'a State>, _event: &'a Event) -> Vec<NamedBlock<'a>> {
        Vec::new()
    }
}
