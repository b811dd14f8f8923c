//! What readers should see, folded from the log as the projection does it.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;
use serde::Serialize;
use serde_json::Value;
use x811_protocol::canonical::{members_to_canonical, to_canonical};
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::id::InteractionId;
use x811_protocol::interaction::StateName;
use x811_protocol::money::MicroUsdc;
use x811_protocol::time::TimestampMs;

use crate::erasure::is_disputed;
use crate::projection::{Detail, delivery};
use crate::stream::Stream;
use crate::world::{Live, Touched, World};
use x811_eventlog::{Record, write_canonical};
use x811_protocol::event::Event;

/// A row as it should be. Its `detail` is kept as digests, one for each member.
#[derive(Debug, Clone)]
pub(super) struct Expected {
    pub(super) initiator: Did,
    pub(super) provider: Did,
    pub(super) state: StateName,
    /// In dispute, or paid by what disappeared.
    pub(super) is_disputed: bool,
    pub(super) total: Option<MicroUsdc>,
    pub(super) deadline_at_ms: Option<TimestampMs>,
    pub(super) opened_at_ms: TimestampMs,
    pub(super) updated_at_ms: TimestampMs,
    pub(super) last_position: u64,
    /// Position of its REQUEST.
    pub(super) opened_position: u64,
    /// The members of the detail.
    pub(super) detail: Digests,
}

/// Names of members and their digests, in order of name.
pub(super) type Digests = Box<[(Cow<'static, str>, Digest)]>;

impl Expected {
    fn of(live: &Live) -> Expected {
        let (state, opening) = (&live.state, live.state.opening());
        Expected {
            initiator: opening.initiator,
            provider: opening.provider,
            state: state.name(),
            is_disputed: is_disputed(state),
            total: state.offer().map(|offer| offer.total),
            deadline_at_ms: state.deadline(),
            opened_at_ms: live.opened_at,
            updated_at_ms: live.updated_at,
            last_position: live.last_position,
            opened_position: opening.record.position,
            detail: expected_digests(&Detail::of(state)),
        }
    }
}

/// Digest of each member of a detail as it should be.
fn expected_digests(detail: &Detail<'_>) -> Digests {
    let late = Some(detail.late).filter(|late| !late.is_empty());
    let members = [
        detail.code.as_ref().map(|code| ("code", digest(code))),
        detail
            .confirmed
            .as_ref()
            .map(|paid| ("confirmed", digest(paid))),
        late.map(|late| ("late", digest(&late))),
        detail.offer.as_ref().map(|offer| ("offer", digest(offer))),
        detail
            .settlement
            .as_ref()
            .map(|watched| ("settlement", digest(watched))),
    ];
    let members = members.into_iter().flatten();
    members
        .map(|(name, digest)| (name.into(), digest))
        .collect()
}

/// Of the RFC 8785 form.
fn digest(member: &impl Serialize) -> Digest {
    let mut bytes = Vec::with_capacity(512);
    match write_canonical(&mut bytes, member) {
        Ok(()) => Digest::of(&bytes),
        // A number too large for a leaf, which no record brought.
        Err(_) => Digest::of(&to_canonical(member)),
    }
}

/// Digest of each member of a detail.
pub(super) fn digests(detail: &Value) -> Digests {
    let members = detail.as_object().into_iter().flatten();
    let digest = |value: &Value| match value {
        Value::Object(members) => Digest::of(&members_to_canonical(members)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Digest::of(&to_canonical(value))
        }
    };
    members
        .map(|(name, value)| (name.clone().into(), digest(value)))
        .collect()
}

/// Everything that rows should hold after the records so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Rows {
    /// Interactions that the world holds no longer.
    ended: HashMap<InteractionId, Expected, RandomState>,
    /// Positions delivered, by recipient.
    pub(super) deliveries: BTreeMap<Did, Vec<u64>>,
    /// Positions by stream, of those of interactions.
    pub(super) interactions: HashMap<InteractionId, Vec<u64>, RandomState>,
    /// Of all others.
    pub(super) others: HashMap<Box<str>, Vec<u64>, RandomState>,
    /// Position of the last record that moved the clocks of all.
    pub(super) last_every_clock: Option<u64>,
}

impl Rows {
    /// Folds what every record leaves, also one that was not applied.
    pub(super) fn note(&mut self, record: &Record, stream: Option<&Stream>, event: &Event) {
        let position = record.position();
        if let Some(delivery) = delivery(record, event) {
            let positions = self.deliveries.entry(delivery.recipient).or_default();
            positions.push(position);
        }
        let positions = match stream {
            Some(Stream::Interaction(id)) => self.interactions.entry(*id).or_default(),
            Some(_) | None => self.others.entry(record.stream().into()).or_default(),
        };
        positions.push(position);
    }

    /// Folds a record that was applied; `world` is the state after it. Rows of live interactions
    /// are made at the end.
    pub(super) fn fold(&mut self, world: &World, position: u64, touched: &Touched) {
        if *touched == Touched::EveryClock {
            self.last_every_clock = Some(position);
        }
        if let Touched::Interaction(id) = touched
            && world.interaction(*id).is_none()
            && let Some(live) = world.latest(*id)
        {
            self.ended.insert(*id, Expected::of(live));
        }
    }

    /// Whether a record of that position was noted.
    pub(super) fn holds(&self, position: u64) -> bool {
        let mut streams = self.interactions.values().chain(self.others.values());
        streams.any(|positions| positions.contains(&position))
    }

    /// Whether an interaction that is over is in dispute.
    pub(super) fn is_disputed(&self, id: InteractionId) -> bool {
        self.ended.get(&id).is_some_and(|ended| ended.is_disputed)
    }

    /// How many interactions are in each state, without those that `is_known` does not know, and
    /// how many it does not know.
    pub(super) fn states(
        &self,
        world: &World,
        is_known: impl Fn(InteractionId) -> bool,
    ) -> (BTreeMap<String, u64>, u64) {
        let live = world
            .interactions()
            .map(|(id, live)| (*id, live.state.name()));
        let ended = self.ended.iter().map(|(id, row)| (*id, row.state));
        let (mut states, mut unknown) = (BTreeMap::<&str, u64>::new(), 0);
        for (id, state) in live.chain(ended) {
            if is_known(id) {
                *states.entry(state.as_str()).or_default() += 1;
            } else {
                unknown += 1;
            }
        }
        let states = states.into_iter();
        let states = states.map(|(state, count)| (state.to_owned(), count));
        (states.collect(), unknown)
    }

    /// Every interaction's row, which are gone from here then; `world` is the state after all
    /// records.
    pub(super) fn rows(&mut self, world: &World) -> HashMap<InteractionId, Expected, RandomState> {
        let mut rows = std::mem::take(&mut self.ended);
        rows.extend(
            world
                .interactions()
                .map(|(id, live)| (*id, Expected::of(live))),
        );
        rows
    }
}
