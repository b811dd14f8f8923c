//! The turns of messages about a session, and of a revocation.

use super::Lookups;
use super::contract::outcome_of;
use crate::agent::AgentStanding;
use crate::answer::TurnVerdict;
use crate::draft::{BatchDraft, SubjectJournal};
use crate::quota;
use crate::schemas;
use crate::submission::{Submission, not_open};
use crate::watch;
use crate::world::{Fault, Live, World};
use std::sync::Arc;
use x811_protocol::capability::agreement::{self, Agreement};
use x811_protocol::capability::descriptor;
use x811_protocol::capability::session::{Context, Input, Session};
use x811_protocol::code::Code;
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::facts::{CapabilityFacts, Facts};
use x811_protocol::id::{AgreementId, SessionId};
use x811_protocol::kernel::execute;
use x811_protocol::parameters::Parameters;
use x811_protocol::refusal::{Kind, Refusal};
use x811_protocol::stream::Subject;
use x811_protocol::time::TimestampMs;

/// When to try again where the descriptor is being written.
const JUST_PUBLISHED_RETRY_MS: u64 = 1_000;

/// What a decision about a session may look at, held so that a context can borrow it.
pub(crate) struct Surroundings {
    parameters: Arc<Parameters>,
    parameters_position: u64,
    recipient_is_active: bool,
    excluded: Option<Did>,
    descriptor: Option<Arc<Live<descriptor::State>>>,
    agreement: Option<Arc<Live<agreement::State>>>,
    parameters_unfit: Option<Refusal>,
    no_room: Option<Refusal>,
}

impl Surroundings {
    /// Of a message with these facts; `None` before the ledger has parameters.
    pub(crate) fn of(
        world: &World,
        from: Did,
        to: Did,
        facts: &Facts,
        now: TimestampMs,
    ) -> Option<Surroundings> {
        let agreement = facts.names().find_map(Subject::agreement);
        let agreement = agreement.and_then(|id| world.agreement(id)).cloned();
        let provider = agreement.as_ref().map_or(to, |live| live.state.provider);
        let recipient = world.agent(to);
        let is_renewal = facts.names().next().is_some();
        let is_request = matches!(facts, Facts::Capability(CapabilityFacts::Request(_)));
        let no_room = is_request
            .then(|| quota::sessions(world, from, to, is_renewal).err())
            .flatten();
        Some(Surroundings {
            recipient_is_active: recipient
                .is_some_and(|a| a.standing(now) == AgentStanding::Active),
            excluded: [from, to]
                .into_iter()
                .find(|did| world.is_excluded(*did, now)),
            descriptor: world.descriptor(provider).cloned(),
            agreement,
            no_room,
            ..Surroundings::bare(world)?
        })
    }

    /// Where time alone acts.
    pub(crate) fn bare(world: &World) -> Option<Surroundings> {
        let (parameters_position, parameters) = world.parameters()?;
        Some(Surroundings {
            parameters: parameters.clone(),
            parameters_position,
            recipient_is_active: false,
            excluded: None,
            descriptor: None,
            agreement: None,
            parameters_unfit: None,
            no_room: None,
        })
    }

    /// The hash of the schema that the parameters of a request must fit, if there is one.
    pub(crate) fn schema_due(&self, facts: &Facts) -> Option<Digest> {
        let Facts::Capability(CapabilityFacts::Request(request)) = facts else {
            return None;
        };
        let capabilities = &self.descriptor.as_ref()?.state.descriptor.capabilities;
        let mut offered = capabilities.iter();
        offered
            .find(|offered| offered.capability == request.capability)?
            .schema_hash
    }

    /// With what is wrong with the parameters.
    pub(crate) fn with_unfit(self, parameters_unfit: Option<Refusal>) -> Surroundings {
        Surroundings {
            parameters_unfit,
            ..self
        }
    }

    pub(crate) fn context(&self) -> Context<'_> {
        Context {
            parameters: &self.parameters,
            parameters_position: self.parameters_position,
            recipient_is_active: self.recipient_is_active,
            excluded: self.excluded,
            descriptor: self.descriptor.as_ref().map(|live| &live.state),
            agreement: self.agreement.as_ref().map(|live| &live.state),
            parameters_unfit: self.parameters_unfit.as_ref(),
            no_room: self.no_room.as_ref(),
        }
    }
}

/// Decides a message about that session.
pub(super) fn negotiate(
    draft: &mut BatchDraft,
    message: &Submission,
    facts: &Facts,
    id: SessionId,
    lookups: &Lookups,
    now: TimestampMs,
) -> Result<TurnVerdict, Fault> {
    let header = &message.header;
    if let Err(limit) = quota::message(draft.world(), header, facts, now) {
        return Ok(TurnVerdict::Refused(limit));
    }
    for named in facts.names() {
        watch::lapse_one(draft, named, now)?;
    }
    let surroundings = Surroundings::of(draft.world(), header.from, header.to, facts, now);
    let Some(surroundings) = surroundings else {
        return Ok(TurnVerdict::Refused(not_open()));
    };
    let surroundings = match surroundings.schema_due(facts) {
        None => surroundings,
        Some(hash) => match lookups.schemas.get(hash) {
            Some(schema) => surroundings.with_unfit(schemas::unfit(schema, &message.body)),
            // Published a moment ago: it is not in the store yet.
            None => return Ok(TurnVerdict::Refused(just_published())),
        },
    };
    let input = Input {
        envelope: header,
        facts,
    };
    let mut journal = SubjectJournal::<Session>::open(draft, id, Some(&message.body), now);
    let execution = execute(&mut journal, &input, &surroundings.context(), now)?;
    outcome_of(journal, execution)
}

fn just_published() -> Refusal {
    Refusal::new(
        Code::RateLimitExceeded,
        Kind::Limit,
        "the target published another descriptor a moment ago: send the same message again",
    )
    .retry_after_ms(JUST_PUBLISHED_RETRY_MS)
}

/// Decides a revocation of that agreement.
pub(super) fn revoke(
    draft: &mut BatchDraft,
    message: &Submission,
    facts: &Facts,
    id: AgreementId,
    now: TimestampMs,
) -> Result<TurnVerdict, Fault> {
    if let Err(limit) = quota::message(draft.world(), &message.header, facts, now) {
        return Ok(TurnVerdict::Refused(limit));
    }
    let input = agreement::Input {
        envelope: &message.header,
        facts,
    };
    let mut journal = SubjectJournal::<Agreement>::open(draft, id, Some(&message.body), now);
    let execution = execute(&mut journal, &input, &(), now)?;
    outcome_of(journal, execution)
}
