//! What readers should see, folded from the log as the projection does it.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;
use serde_json::Value;
use x811_protocol::canonical::{members_to_canonical, to_canonical};
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::id::InteractionId;
use x811_protocol::interaction::StateName;
use x811_protocol::money::MicroUsdc;
use x811_protocol::time::TimestampMs;

use crate::erasure::is_disputed;
use crate::projection::{delivery, interaction_row};
use crate::world::{Live, Touched, World};
use x811_eventlog::Record;
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
pub(super) type Digests = Box<[(Box<str>, Digest)]>;

impl Expected {
    fn of(id: InteractionId, live: &Live) -> Expected {
        let row = interaction_row(id, live);
        Expected {
            initiator: row.initiator,
            provider: row.provider,
            state: live.state.name(),
            is_disputed: is_disputed(&live.state),
            total: row.total,
            deadline_at_ms: row.deadline_at_ms,
            opened_at_ms: row.opened_at_ms,
            updated_at_ms: row.updated_at_ms,
            last_position: row.last_position,
            opened_position: live.state.opening().record.position,
            detail: digests(&row.detail),
        }
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
        .map(|(name, value)| (name.as_str().into(), digest(value)))
        .collect()
}

/// Everything that rows should hold after the records so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Rows {
    /// Interactions that the world holds no longer.
    ended: HashMap<InteractionId, Expected, RandomState>,
    /// Positions delivered, by recipient.
    pub(super) deliveries: BTreeMap<Did, Vec<u64>>,
    /// Positions by stream.
    pub(super) streams: HashMap<Box<str>, Vec<u64>, RandomState>,
    /// Position of the last record that moved the clocks of all.
    pub(super) last_every_clock: Option<u64>,
}

impl Rows {
    /// Folds what every record leaves, also one that was not applied.
    pub(super) fn note(&mut self, record: &Record, event: &Event) {
        let position = record.position();
        if let Some(delivery) = delivery(record, event) {
            let positions = self.deliveries.entry(delivery.recipient).or_default();
            positions.push(position);
        }
        match self.streams.get_mut(record.stream()) {
            Some(positions) => positions.push(position),
            None => {
                self.streams.insert(record.stream().into(), vec![position]);
            }
        }
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
            self.ended.insert(*id, Expected::of(*id, live));
        }
    }

    /// Whether a record of that position was noted.
    pub(super) fn holds(&self, position: u64) -> bool {
        let mut streams = self.streams.values();
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
    pub(super) fn interactions(
        &mut self,
        world: &World,
    ) -> HashMap<InteractionId, Expected, RandomState> {
        let mut rows = std::mem::take(&mut self.ended);
        rows.extend(
            world
                .interactions()
                .map(|(id, live)| (*id, Expected::of(*id, live))),
        );
        rows
    }
}
