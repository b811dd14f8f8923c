//! What readers should see, folded from the log as the projection does it.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;
use x811_protocol::canonical::to_canonical;
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::id::InteractionId;

use crate::projection::{delivery, interaction_row};
use crate::row::InteractionRow;
use crate::world::{Live, Touched, World};
use x811_eventlog::Record;
use x811_protocol::event::Event;

/// A row as it should be. Its `detail` is kept as digests, one for each member.
#[derive(Debug, Clone)]
pub(super) struct Expected {
    /// The row without its detail.
    pub(super) row: InteractionRow,
    /// Digest of each member of the detail.
    pub(super) detail: BTreeMap<String, Digest>,
    /// Position of its REQUEST.
    pub(super) opened_position: u64,
}

impl Expected {
    fn of(id: InteractionId, live: &Live) -> Expected {
        let mut row = interaction_row(id, live);
        let detail = digests(&row.detail);
        row.detail = Value::Null;
        Expected {
            row,
            detail,
            opened_position: live.state.opening().record.position,
        }
    }
}

/// Digest of each member of a detail.
pub(super) fn digests(detail: &Value) -> BTreeMap<String, Digest> {
    let members = detail.as_object().into_iter().flatten();
    members
        .map(|(name, value)| (name.clone(), Digest::of(&to_canonical(value))))
        .collect()
}

/// Everything that rows should hold after the records so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Rows {
    /// Interactions that the world holds no longer.
    ended: HashMap<InteractionId, Expected>,
    /// Positions delivered, by recipient.
    pub(super) deliveries: BTreeMap<Did, Vec<u64>>,
    /// Positions by stream.
    pub(super) streams: BTreeMap<String, Vec<u64>>,
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
                let name = record.stream().to_owned();
                self.streams.insert(name, vec![position]);
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

    /// Every interaction's row, in order of id.
    pub(super) fn interactions(&self, world: &World) -> BTreeMap<InteractionId, Expected> {
        let live = world
            .interactions()
            .map(|(id, live)| (*id, Expected::of(*id, live)));
        let ended = self.ended.iter().map(|(id, row)| (*id, row.clone()));
        live.chain(ended).collect()
    }
}
