//! What cannot be accepted while nothing was ever seen of the network that it would be paid on: which
//! payments are older than an ACCEPT is decided by the head that is recorded with it
//! (ledger-contract.md section 5, "Age").

use crate::submission::{MessageContent, Submission};
use x811_protocol::facts::Facts;
use x811_protocol::interaction::State;
use x811_protocol::refusal::Refusal;
use x811_world::World;

/// When to try again: a watcher asks its endpoints about every second.
const RETRY_MS: u64 = 1_000;

/// The network `with_endpoints` that no head was ever known of, where `message` is the ACCEPT of an
/// OFFER that costs something.
pub(super) fn network<'a>(
    world: &World,
    with_endpoints: &'a [String],
    message: &Submission,
) -> Option<&'a str> {
    let mut unseen = with_endpoints.iter().filter(|name| !world.has_head(name));
    let network = unseen.next()?;
    let Ok(MessageContent::Facts(Facts::Accept(accept))) = &message.content else {
        return None;
    };
    let by_key = || world.requested_under(&message.header, accept.offer_id);
    let live = world.interaction(world.route(accept.offer_id).or_else(by_key)?)?;
    let State::Offered { offer, opening, .. } = &live.state else {
        return None;
    };
    let costs_something = !offer.total.is_zero() && message.header.from == opening.initiator;
    costs_something.then_some(network)
}

/// X811-9002, HTTP 503: nothing is recorded, and the nonce is not spent.
pub(super) fn refusal(network: &str) -> Refusal {
    let message = format!(
        "no endpoint has shown this ledger a block of {network} yet, so that nobody could tell older \
         payments from this one; nothing was recorded: send the same ACCEPT again once /ready shows \
         a head"
    );
    Refusal::not_now(message).retry_after_ms(RETRY_MS)
}
