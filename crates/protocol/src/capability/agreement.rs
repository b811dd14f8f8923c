//! The `agreement` machine: what both signed, from the second signature to its end.
//!
//! Every revision begins with `agreed`, an effect of the second signature in its session; REQUESTs
//! under it are counted by `used`; it ends by either party's word or at the moment that both signed.
//!
//! Sources: capability.md ("agreement"), CC-84 to CC-88, CX-40 to CX-42.

mod detail;

use crate::capability::version::Version;
use crate::code::Code;
use crate::did::Did;
use crate::digest::Digest;
use crate::envelope::AcceptedHeader;
use crate::event::{
    Agreed, AgreementWindow, Derived, Effect, EnvelopeAccepted, Event, Lapsed, LapsedWindow, Used,
    UsedAgreement,
};
use crate::facts::{CapabilityFacts, Facts, RequestFacts, UsageLimits};
use crate::id::{AgreementId, SessionId};
use crate::machine::{
    BundleBasis, Conclusion, Erasable, ErasureWords, Illegal, Input, LedgerView, Machine,
    NamedBlock, News, ONCE_CLOSED, OpenWindow, Recorded, Told, WindowEnd, not_restored,
};
use crate::parameters::Parameters;
use crate::refusal::{Kind, Refusal};
use crate::stream::{Stream, Subject};
use crate::time::TimestampMs;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// `typ` of the signatures under agreements.
pub const JWS_TYPE: &str = "x811-agreement+jws";

/// A minute, in which uses are counted.
const MINUTE_MS: u64 = 60_000;

named! {
    /// How an agreement stands.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum AgreementStanding {
        /// It is in force.
        Active = "active",
        /// One of the two revoked it.
        Revoked = "revoked",
        /// Its duration is over.
        Ended = "ended",
    }
}

/// The state of an agreement. Members stand in the order of their names, in which a state is hashed
/// after every record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// SHA-256 of what both signed.
    pub agreement_hash: Digest,
    /// The type of the capability.
    pub capability: String,
    /// Who may use it.
    pub consumer: Did,
    /// From this moment on it is in force no longer. Signed, so downtime never moves it.
    pub ends_at: TimestampMs,
    /// Id of the agreement: that of the session that made its first revision.
    pub id: AgreementId,
    /// What use is held to.
    pub limits: UsageLimits,
    /// The minute of the last use, counted from `starts_at`.
    pub minute: u64,
    /// Uses in that minute.
    pub minute_requests: u64,
    /// Position of the record that ended it, if it is over.
    pub over: Option<u64>,
    /// The parameters of the session that made the revision. Not in the stored form.
    #[serde(skip, default = "not_restored")]
    pub parameters: Arc<Parameters>,
    /// Position of the `agreed` of this revision.
    pub position: u64,
    /// Who provides it.
    pub provider: Did,
    /// Uses under this revision.
    pub requests: u64,
    /// 1, and one more with each re-negotiation.
    pub revision: u64,
    /// Positions of the `agreed` of all revisions, in order: which was in force as of some record.
    pub revisions: Vec<u64>,
    /// The session that made the revision.
    pub session: SessionId,
    /// How it stands.
    pub standing: AgreementStanding,
    /// When the revision came into force.
    pub starts_at: TimestampMs,
    /// Hash of its terms.
    pub terms_hash: Digest,
    /// The version that is used.
    pub version: Version,
}

impl State {
    /// Whether that is one of its two parties.
    pub fn is_member(&self, did: Did) -> bool {
        [self.consumer, self.provider].contains(&did)
    }

    /// The minute of the revision that a moment is in.
    const fn minute_of(&self, now: TimestampMs) -> u64 {
        now.since(self.starts_at) / MINUTE_MS
    }

    /// Uses in the minute of `now`.
    const fn uses_in_minute_of(&self, now: TimestampMs) -> u64 {
        if self.minute == self.minute_of(now) {
            self.minute_requests
        } else {
            0
        }
    }
}

/// CCN-4003, to strangers as well.
pub(super) fn none_active() -> Refusal {
    Refusal::guard(
        Code::Closed,
        "no active agreement of yours has this id: it was revoked, its time is over, or there was none",
    )
}

/// Holds a REQUEST to the agreement that it names; `agreement` is its state, if it is active.
///
/// # Errors
/// X811-4001, HTTP 422, naming what does not fit; X811-6002 for a body over the limit, X811-9001 for
/// too many in a minute.
pub fn check_request(
    agreement: Option<&State>,
    request: &RequestFacts,
    envelope: &AcceptedHeader,
    now: TimestampMs,
) -> Result<UsedAgreement, Refusal> {
    let unfit = |message: &str| Refusal::guard(Code::InvalidStateTransition, message);
    let Some(agreement) = agreement.filter(|agreement| agreement.is_member(envelope.from)) else {
        return Err(unfit(
            "parameters.agreement_id names no active agreement of yours: agree anew",
        ));
    };
    if (envelope.from, envelope.to) != (agreement.consumer, agreement.provider) {
        return Err(unfit(
            "the agreement's consumer sends the REQUEST, and its provider gets it",
        ));
    }
    if request.task_type != agreement.capability {
        return Err(unfit("task_type is not the type that was agreed on"));
    }
    let limits = &agreement.limits;
    if let Some(most) = limits.max_request_bytes
        && envelope.size > most
    {
        return Err(Refusal::new(
            Code::ResultTooLarge,
            Kind::Limit,
            format!(
                "the REQUEST has {} bytes and the agreement takes {most}",
                envelope.size
            ),
        ));
    }
    if limits
        .max_requests
        .is_some_and(|most| agreement.requests >= most)
    {
        return Err(unfit(
            "all REQUESTs that were agreed on are used: negotiate the agreement again",
        ));
    }
    if let Some(most) = limits.requests_per_minute
        && agreement.uses_in_minute_of(now) >= most
    {
        let left_ms = MINUTE_MS - now.since(agreement.starts_at) % MINUTE_MS;
        let message = format!(
            "{most} REQUESTs a minute were agreed on: send the same message again in the next minute"
        );
        return Err(
            Refusal::new(Code::RateLimitExceeded, Kind::Limit, message).retry_after_ms(left_ms)
        );
    }
    Ok(UsedAgreement {
        id: agreement.id,
        revision: agreement.revision,
    })
}

/// The machine; it has no values, its state is [`State`].
#[derive(Debug, Clone, Copy)]
pub enum Agreement {}

/// What accepting a revocation rests on besides its facts: nothing.
///
/// # Errors
/// Why it is refused.
fn derived(
    state: Option<&State>,
    Input { envelope, facts }: &Input<'_>,
) -> Result<Derived, Refusal> {
    let Facts::Capability(CapabilityFacts::Revoke(revoke)) = facts else {
        return Err(Refusal::state("the message revokes nothing"));
    };
    let active = state.filter(|state| {
        state.standing == AgreementStanding::Active && state.is_member(envelope.from)
    });
    let active = active.ok_or_else(none_active)?;
    let other = if envelope.from == active.consumer {
        active.provider
    } else {
        active.consumer
    };
    if envelope.to != other {
        return Err(Refusal::sender(
            "`to` must be the other party of the agreement",
        ));
    }
    if revoke.revision != active.revision {
        return Err(Refusal::guard(
            Code::TermsMismatch,
            format!("the revision in force is {}: name it", active.revision),
        ));
    }
    Ok(Derived::default())
}

struct Evolving<'a> {
    name: &'static str,
    recorded: &'a Recorded<'a>,
}

impl Evolving<'_> {
    fn illegal(&self, why: &'static str) -> Illegal {
        self.recorded.illegal(self.name, why)
    }

    /// The first revision, or the next one.
    fn agreed(&self, before: Option<State>, agreed: &Agreed) -> Result<State, Illegal> {
        let id = match &before {
            None => AgreementId::from(agreed.session),
            Some(before) => before.id,
        };
        let due = before.as_ref().map_or(1, |before| before.revision + 1);
        if agreed.revision != due {
            return Err(self.illegal("its revision is not the next"));
        }
        if agreed.previous_terms_hash != before.as_ref().map(|before| before.terms_hash)
            || agreed.reason.is_some() != before.is_some()
        {
            return Err(self.illegal("it does not name the terms before, or why it was made"));
        }
        if let Some(before) = &before {
            let is_same = before.standing == AgreementStanding::Active
                && (before.consumer, before.provider) == (agreed.consumer, agreed.provider)
                && (&before.capability, before.version) == (&agreed.capability, agreed.version);
            if !is_same {
                return Err(self.illegal("it is of another agreement than the active one"));
            }
        }
        if agreed.starts_at_ms != self.recorded.recorded_at_ms
            || agreed.ends_at_ms <= agreed.starts_at_ms
        {
            return Err(self.illegal("it does not begin when it was recorded"));
        }
        let parameters = self
            .recorded
            .parameters
            .ok_or_else(|| self.illegal("the parameters of its session are not known"))?;
        let mut revisions = before.map_or_else(Vec::new, |before| before.revisions);
        revisions.push(self.recorded.position);
        Ok(State {
            agreement_hash: agreed.agreement_hash,
            capability: agreed.capability.clone(),
            consumer: agreed.consumer,
            ends_at: agreed.ends_at_ms,
            id,
            limits: agreed.limits,
            minute: 0,
            minute_requests: 0,
            over: None,
            parameters: parameters.clone(),
            position: self.recorded.position,
            provider: agreed.provider,
            requests: 0,
            revision: agreed.revision,
            revisions,
            session: agreed.session,
            standing: AgreementStanding::Active,
            starts_at: agreed.starts_at_ms,
            terms_hash: agreed.terms_hash,
            version: agreed.version,
        })
    }

    fn used(&self, state: State, _used: Used) -> Result<State, Illegal> {
        let now = self.recorded.recorded_at_ms;
        let requests = state.requests + 1;
        let minute_requests = state.uses_in_minute_of(now) + 1;
        let limits = &state.limits;
        if limits.max_requests.is_some_and(|most| requests > most)
            || limits
                .requests_per_minute
                .is_some_and(|most| minute_requests > most)
        {
            return Err(self.illegal("more was used than agreed on"));
        }
        Ok(State {
            minute: state.minute_of(now),
            minute_requests,
            requests,
            ..state
        })
    }

    fn revoked(&self, state: State, accepted: &EnvelopeAccepted) -> Result<State, Illegal> {
        let Facts::Capability(CapabilityFacts::Revoke(revoke)) = &accepted.facts else {
            return Err(self.illegal("the message revokes nothing"));
        };
        if (revoke.agreement_id, revoke.revision) != (state.id, state.revision)
            || !state.is_member(accepted.envelope.from)
        {
            return Err(self.illegal("it revokes another agreement, or comes from a stranger"));
        }
        Ok(State {
            over: Some(self.recorded.position),
            standing: AgreementStanding::Revoked,
            ..state
        })
    }

    fn lapsed(&self, state: State, lapsed: Lapsed) -> Result<State, Illegal> {
        if lapsed != LAPSED {
            return Err(self.illegal("the window is of another machine, or its code is another"));
        }
        if self.recorded.recorded_at_ms < state.ends_at {
            return Err(self.illegal("its time was not over"));
        }
        Ok(State {
            over: Some(self.recorded.position),
            standing: AgreementStanding::Ended,
            ..state
        })
    }
}

/// The lapse that ends an agreement.
const LAPSED: Lapsed = Lapsed {
    window: LapsedWindow::Agreement(AgreementWindow::Agreement),
    code: Code::AgreementEnded,
};

impl Machine for Agreement {
    type Id = AgreementId;
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
        state: Option<&State>,
        input: &Input<'_>,
        _context: &(),
        _now: TimestampMs,
    ) -> Result<Conclusion, Refusal> {
        derived(state, input).map(Conclusion::Record)
    }

    fn evolve(state: Option<State>, recorded: &Recorded<'_>) -> Result<State, Illegal> {
        let name = state
            .as_ref()
            .map_or("none", |state| state.standing.as_str());
        let step = Evolving { name, recorded };
        match (state, recorded.event) {
            (before, Event::Effect(Effect::Agreed(agreed))) => step.agreed(before, agreed),
            (None, _) => Err(step.illegal("an agreement begins with `agreed`")),
            (Some(state), Event::NoticeIssued(_)) => Ok(state),
            (Some(state), _) if state.standing != AgreementStanding::Active => {
                Err(step.illegal("it is over"))
            }
            (Some(state), Event::Effect(Effect::Used(used))) => step.used(state, *used),
            (Some(state), Event::EnvelopeAccepted(accepted)) => step.revoked(state, accepted),
            (Some(state), Event::Lapsed(lapsed)) => step.lapsed(state, *lapsed),
            (Some(_), _) => Err(step.illegal("the event does not belong to an agreement's stream")),
        }
    }

    fn window(state: &State) -> Option<OpenWindow> {
        (state.standing == AgreementStanding::Active).then(|| OpenWindow {
            ends_at: state.ends_at.saturating_sub_ms(1),
            name: "the duration",
            end: WindowEnd::Lapse(LAPSED),
        })
    }

    fn expire<V: LedgerView>(state: &State, _view: &V) -> Option<Event> {
        Self::window(state)?.lapse()
    }

    fn is_terminal(state: &State) -> bool {
        state.standing != AgreementStanding::Active
    }

    fn subject(id: AgreementId) -> Subject {
        Subject::Agreement(id)
    }

    fn id(state: &State) -> AgreementId {
        state.id
    }

    fn members(state: &State) -> Vec<Did> {
        vec![state.consumer, state.provider]
    }

    fn state_name(state: &State) -> &'static str {
        state.standing.as_str()
    }

    fn detail(state: &State) -> impl Serialize {
        detail::Detail::of(state)
    }

    fn open_between(state: &State) -> Option<(Did, Did)> {
        (state.standing == AgreementStanding::Active).then_some((state.consumer, state.provider))
    }

    fn told(_before: &State, event: &Event, _after: &State) -> Option<Told> {
        let Event::Lapsed(lapsed) = event else {
            return None;
        };
        Some(Told::news(News::Lapsed, Some(lapsed.code), None))
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
        Some(AgreementStanding::Revoked.as_str())
    }

    fn opening(event: &Event) -> Option<BundleBasis> {
        let Event::Effect(Effect::Agreed(agreed)) = event else {
            return None;
        };
        Some(BundleBasis::by_effect(vec![
            agreed.consumer,
            agreed.provider,
        ]))
    }

    /// The session that made a revision, and the descriptor of the provider.
    const HAS_LINKS: bool = true;

    fn links(event: &Event) -> Vec<Stream> {
        let Event::Effect(Effect::Agreed(agreed)) = event else {
            return Vec::new();
        };
        vec![
            Stream::Of(Subject::Session(agreed.session)),
            Stream::Of(Subject::Descriptor(agreed.provider)),
        ]
    }

    fn erasable() -> Erasable {
        Erasable::WhenOver(ErasureWords {
            live: ONCE_CLOSED,
            settling: ONCE_CLOSED,
            unknown: "",
            kept: "which was in force, or of which a party was not told yet",
        })
    }

    fn opens(_event: &Event) -> Option<Subject> {
        None
    }

    fn blocks<'a>(_state: Option<&'a State>, _event: &'a Event) -> Vec<NamedBlock<'a>> {
        Vec::new()
    }
}
