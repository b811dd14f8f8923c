//! Whatever ends a session closes it; the second signature puts the agreement in force first
//! (capability.md, "One close" and "agreement").

use x811_protocol::capability::session::State;
use x811_protocol::event::{Agreed, CloseReason, Effect, Event, SessionClosed};
use x811_protocol::stream::{Stream, Subject};
use x811_protocol::time::TimestampMs;

use crate::world::World;

/// `agreed` where both have signed, and `session_closed`.
pub(super) fn follow(
    after: &World,
    position: u64,
    stream: &Stream,
    event: &Event,
) -> Vec<(Stream, Event)> {
    let Stream::Of(Subject::Session(id)) = stream else {
        return Vec::new();
    };
    let Some(live) = after.session(*id) else {
        return Vec::new();
    };
    let (state, Some(ending)) = (&live.state, live.state.due_ending()) else {
        return Vec::new();
    };
    if matches!(event, Event::NoticeIssued(_) | Event::Effect(_)) {
        return Vec::new();
    }
    let mut effects = Vec::new();
    if ending.reason == CloseReason::Agreed
        && let Some(agreed) = agreed(after, state, position, live.updated_at)
    {
        let stream = Stream::Of(Subject::Agreement(state.agreement()));
        effects.push((stream, Event::Effect(Effect::Agreed(Box::new(agreed)))));
    }
    let closed = Effect::SessionClosed(SessionClosed {
        cause: position,
        closed_by: ending.closed_by,
        reason: ending.reason,
    });
    effects.push((stream.clone(), Event::Effect(closed)));
    effects
}

/// What both have signed, as of the second signature.
fn agreed(
    after: &World,
    state: &State,
    position: u64,
    starts_at_ms: TimestampMs,
) -> Option<Agreed> {
    let [first, second] = state.signatures.as_slice() else {
        return None;
    };
    let terms = state.terms?.terms;
    let before = after.agreement(state.agreement());
    Some(Agreed {
        agreement_hash: second.agreement_hash,
        capability: state.capability.clone(),
        cause: position,
        consumer: second.consumer,
        ends_at_ms: starts_at_ms.saturating_add_ms(terms.duration_s.saturating_mul(1_000)),
        limits: terms.limits(),
        previous_terms_hash: before.map(|before| before.state.terms_hash),
        provider: second.provider,
        reason: state.renews.map(|renews| renews.reason),
        revision: second.revision,
        session: state.id,
        signatures: [first.record.hash, second.record.hash],
        starts_at_ms,
        terms_hash: terms.terms_hash,
        version: state.version,
    })
}
