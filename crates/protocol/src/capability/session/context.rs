//! What a decision about a session reads besides its own state.

use super::Session;
use crate::capability::agreement::{self, Agreement};
use crate::capability::descriptor::{self, Descriptor};
use crate::code::Code;
use crate::did::Did;
use crate::digest::Digest;
use crate::facts::{CapabilityFacts, Facts};
use crate::machine::{Input, LedgerView, Machine as _, SchemaFit};
use crate::parameters::Parameters;
use crate::refusal::{Kind, Refusal};
use crate::stream::Subject;

/// When to try again where the descriptor is being written.
const JUST_PUBLISHED_RETRY_MS: u64 = 1_000;

/// How many subjects the two of a session have open.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OpenCounts {
    /// Active agreements that the sender has with the recipient.
    pub agreements: u64,
    /// Sessions that the sender opened.
    pub by_sender: u64,
    /// Sessions that the sender opened with the recipient.
    pub of_pair: u64,
}

/// Parameters, registry and other subjects as of now.
#[derive(Debug, Clone)]
pub struct Context<'a> {
    /// Parameters that a new session is opened under.
    pub parameters: &'a Parameters,
    /// Their position in the log.
    pub parameters_position: u64,
    /// Whether the recipient's DID is active.
    pub recipient_is_active: bool,
    /// Which of the two is excluded from new sessions, if one is.
    pub excluded: Option<Did>,
    /// The descriptor in force of the capability's provider.
    pub descriptor: Option<&'a descriptor::State>,
    /// The agreement that the message names, if it is active.
    pub agreement: Option<&'a agreement::State>,
    /// Why the parameters of a request do not fit the schema of the capability, if they do not.
    pub parameters_unfit: Option<Refusal>,
    /// What limits on new sessions count.
    pub open: OpenCounts,
}

impl<'a> Context<'a> {
    pub(super) fn of<V: LedgerView>(
        view: &'a V,
        input: &Input<'a>,
    ) -> Result<Context<'a>, Refusal> {
        let (from, to) = (input.envelope.from, input.envelope.to);
        let agreement = input.facts.names().find_map(Subject::agreement);
        let agreement = agreement.and_then(|id| view.state::<Agreement>(id));
        let agreement = agreement.filter(|state| !Agreement::is_terminal(state));
        let provider = agreement.map_or(to, |agreement| agreement.provider);
        let descriptor = view.state::<Descriptor>(provider);
        let (parameters_position, parameters) = view.parameters();
        Ok(Context {
            parameters,
            parameters_position,
            recipient_is_active: view.agent(to).is_some_and(|agent| agent.is_active),
            excluded: [from, to].into_iter().find(|did| view.is_excluded(*did)),
            descriptor,
            agreement,
            parameters_unfit: unfit(view, descriptor, input.facts)?,
            open: OpenCounts {
                agreements: view.open::<Agreement>(from, Some(to)),
                by_sender: view.open::<Session>(from, None),
                of_pair: view.open::<Session>(from, Some(to)),
            },
        })
    }
}

/// Why the parameters of a request do not fit the schema of its capability, if they do not.
fn unfit(
    view: &impl LedgerView,
    descriptor: Option<&descriptor::State>,
    facts: &Facts,
) -> Result<Option<Refusal>, Refusal> {
    let schema = descriptor.and_then(|descriptor| schema_of(descriptor, facts));
    match schema.map_or(SchemaFit::Fits, |hash| view.fit(hash)) {
        SchemaFit::Fits => Ok(None),
        SchemaFit::Unreadable => Err(just_published()),
        SchemaFit::Unfit(refusal) => Ok(Some(refusal)),
    }
}

/// The hash of the schema that the parameters of a request must fit, if there is one.
fn schema_of(descriptor: &descriptor::State, facts: &Facts) -> Option<Digest> {
    let Facts::Capability(CapabilityFacts::Request(request)) = facts else {
        return None;
    };
    let mut offered = descriptor.descriptor.capabilities.iter();
    offered
        .find(|offered| offered.capability == request.capability)?
        .schema_hash
}

fn just_published() -> Refusal {
    Refusal::new(
        Code::RateLimitExceeded,
        Kind::Limit,
        "the target published another descriptor a moment ago: send the same message again",
    )
    .retry_after_ms(JUST_PUBLISHED_RETRY_MS)
}
