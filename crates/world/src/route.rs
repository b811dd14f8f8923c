//! Which stream a message belongs to (ledger-contract.md section 6). Asked at the message's turn, and
//! again by an audit of the log.

use crate::world::World;
use x811_protocol::envelope::AcceptedHeader;
use x811_protocol::facts::{Facts, RefersTo};
use x811_protocol::id::{EnvelopeId, InteractionId};
use x811_protocol::stream::Subject;

/// What is known of the envelope that a message refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reference {
    /// It is of this interaction, which takes messages.
    Open(InteractionId),
    /// It is of an interaction, but no message about it is taken any more.
    Closed,
    /// It was accepted and is of no interaction: mail, or a message to the registry.
    Outside,
    /// None of that id was accepted.
    Unknown,
}

/// Where a message belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// Into the stream of this subject.
    Subject(Subject),
    /// Into the recipient's mail.
    Mail,
    /// Nowhere: its interaction takes no more messages.
    Finished,
    /// Nowhere: it refers to nothing that is known.
    Nowhere,
}

/// Where the message with this header and these facts belongs in `world`; `known` says what is known of
/// the envelope that it refers to. What no envelope is called may be the idempotency key of a REQUEST
/// (decision 0190).
pub fn route(
    world: &World,
    envelope: &AcceptedHeader,
    facts: &Facts,
    known: impl FnOnce(EnvelopeId) -> Reference,
) -> Route {
    let (reference, is_error) = match facts.refers_to() {
        RefersTo::Itself => return Route::Subject(facts.opened(envelope)),
        RefersTo::Subject(subject) => return Route::Subject(subject),
        RefersTo::Nothing => return Route::Mail,
        RefersTo::Envelope(reference) => (reference, false),
        RefersTo::EnvelopeIfKnown(reference) => (reference, true),
    };
    match known(reference) {
        Reference::Open(id) => Route::Subject(id.into()),
        Reference::Outside | Reference::Unknown if is_error => Route::Mail,
        Reference::Closed | Reference::Outside => Route::Finished,
        Reference::Unknown => world
            .requested_under(envelope, reference)
            .map_or(Route::Nowhere, |id| Route::Subject(id.into())),
    }
}
