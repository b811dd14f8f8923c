//! The request that opens a session.

use super::{Context, OpenCounts};
use crate::capability::agreement;
use crate::capability::version::{Common, common};
use crate::code::Code;
use crate::envelope::AcceptedHeader;
use crate::event::Derived;
use crate::facts::{Availability, OfferedCapability, SessionRequest};
use crate::parameters::Capabilities;
use crate::refusal::{Kind, Refusal};
use crate::time::TimestampMs;

/// What accepting the request rests on.
pub(super) fn derived(
    request: &SessionRequest,
    envelope: &AcceptedHeader,
    context: &Context<'_>,
    now: TimestampMs,
) -> Result<Derived, Refusal> {
    let Some(block) = &context.parameters.capabilities else {
        return Err(Refusal::guard(
            Code::InvalidStateTransition,
            "this ledger takes no sessions about capabilities: send a REQUEST for a task type",
        ));
    };
    if !context.recipient_is_active {
        return Err(Refusal::new(
            Code::AgentNotFound,
            Kind::NotFound,
            "the target is not active: look it up before you negotiate with it",
        ));
    }
    let renewed = match request.agreement_id {
        Some(_) => Some(renewed(request, envelope, context)?),
        None => None,
    };
    let (position, offered) = offered(request, context)?;
    if let Some(excluded) = context.excluded {
        return Err(Refusal::guard(
            Code::Excluded,
            format!(
                "{excluded} broke agreements and may take part in no new session for now: running \
                 agreements go on"
            ),
        ));
    }
    if let Some(unfit) = &context.parameters_unfit {
        return Err(unfit.clone());
    }
    let shared = match renewed {
        // What is in force stays: no version is negotiated again.
        Some(agreement) => Common {
            is_deprecated: false,
            version: agreement.version,
        },
        None => version(request, offered, context)?,
    };
    has_room(request, block, context.open)?;
    let is_available = offered.availability != Availability::Unavailable;
    Ok(Derived {
        deadline_at_ms: is_available.then(|| now.saturating_add_ms(block.response_ms)),
        descriptor: Some(position),
        parameters: Some(context.parameters_position),
        version: Some(shared.version),
        version_deprecated: shared.is_deprecated.then_some(true),
        ..Derived::default()
    })
}

/// Open sessions, per initiator and per pair, and active agreements of the pair (capability.md,
/// "Parameters"). Asked last of all, where everything else holds.
fn has_room(
    request: &SessionRequest,
    block: &Capabilities,
    open: OpenCounts,
) -> Result<(), Refusal> {
    Refusal::check_room(
        open.by_sender,
        block.open_sessions_per_initiator,
        "sessions of yours are open",
    )?;
    Refusal::check_room(
        open.of_pair,
        block.open_sessions_per_pair,
        "sessions with this agent are open",
    )?;
    let is_renewal = request.agreement_id.is_some();
    let active = open.agreements + open.of_pair;
    if is_renewal {
        return Ok(());
    }
    Refusal::check_room(
        active,
        block.active_agreements_per_pair,
        "agreements with this agent are active or negotiated",
    )
}

/// The capability of that type in the provider's descriptor, and the descriptor's position.
fn offered<'a>(
    request: &SessionRequest,
    context: &Context<'a>,
) -> Result<(u64, &'a OfferedCapability), Refusal> {
    let known = context.descriptor.and_then(|descriptor| {
        let mut offered = descriptor.descriptor.capabilities.iter();
        let found = offered.find(|offered| offered.capability == request.capability)?;
        Some((descriptor.record.position, found))
    });
    known.ok_or_else(|| {
        Refusal::guard(
            Code::NotEligible,
            "the descriptor of the agent that is to provide it has no such type, or there is none: \
             read GET /api/v1/agents/{uuid}/capabilities",
        )
    })
}

fn version(
    request: &SessionRequest,
    offered: &OfferedCapability,
    context: &Context<'_>,
) -> Result<Common, Refusal> {
    let theirs = context
        .descriptor
        .map(|descriptor| offered.range(&descriptor.descriptor.protocol));
    let shared = theirs.and_then(|theirs| common(&request.protocol, &theirs));
    shared.ok_or_else(|| {
        Refusal::guard(
            Code::VersionMismatch,
            format!(
                "you speak {} to {}, and the target's range does not meet that",
                request.protocol.min, request.protocol.max
            ),
        )
    })
}

/// The agreement that is negotiated again, which both are parties of.
fn renewed<'a>(
    request: &SessionRequest,
    envelope: &AcceptedHeader,
    context: &Context<'a>,
) -> Result<&'a agreement::State, Refusal> {
    let parties = [envelope.from, envelope.to];
    let active = context
        .agreement
        .filter(|agreement| parties.iter().all(|party| agreement.is_member(*party)));
    let active = active.ok_or_else(agreement::none_active)?;
    if request.revision != Some(active.revision) {
        return Err(Refusal::guard(
            Code::TermsMismatch,
            format!("the revision in force is {}: name it", active.revision),
        ));
    }
    if request.capability != active.capability {
        return Err(Refusal::guard(
            Code::TermsMismatch,
            "an agreement is negotiated again about the type that it is of",
        ));
    }
    Ok(active)
}
