//! Which stream a message belongs to (ledger-contract.md section 6). Asked at the message's turn, and
//! again by an audit of the log.

use x811_protocol::facts::Facts;
use x811_protocol::id::{EnvelopeId, InteractionId};

/// What is known of the envelope that a message refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reference {
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
pub(crate) enum Route {
    /// Into the stream of this interaction.
    Interaction(InteractionId),
    /// Into the recipient's mail.
    Mail,
    /// Nowhere: its interaction takes no more messages.
    Finished,
    /// Nowhere: it refers to nothing that is known.
    Nowhere,
}

/// Where the message with this id and these facts belongs; `known` says what is known of the envelope
/// that it refers to.
pub(crate) fn route(
    id: EnvelopeId,
    facts: &Facts,
    known: impl FnOnce(EnvelopeId) -> Reference,
) -> Route {
    let reference = match facts {
        Facts::Request(_) => return Route::Interaction(InteractionId::from(id)),
        Facts::Custom(_) => return Route::Mail,
        Facts::Offer(offer) => offer.request_id,
        Facts::Accept(accept) => accept.offer_id,
        Facts::Reject(reject) => reject.offer_id,
        Facts::Result(result) => result.request_id,
        Facts::Verify(verify) => verify.request_id,
        Facts::Payment(payment) => payment.request_id,
        Facts::Error(error) => match error.related_message_id {
            Some(related) => related,
            None => return Route::Mail,
        },
    };
    let is_error = matches!(facts, Facts::Error(_));
    match known(reference) {
        Reference::Open(id) => Route::Interaction(id),
        Reference::Outside | Reference::Unknown if is_error => Route::Mail,
        Reference::Closed | Reference::Outside => Route::Finished,
        Reference::Unknown => Route::Nowhere,
    }
}
