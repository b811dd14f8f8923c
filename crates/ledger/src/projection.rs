//! From a record to the rows that readers see: a pure function of the record and the world after
//! it. A rebuild runs the same function over the same log.

use crate::row::{DeliveryRow, InteractionRow, RowChange};
use crate::world::{Live, Touched, World};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use x811_eventlog::Record;
use x811_protocol::event::Event;
use x811_protocol::id::InteractionId;
use x811_protocol::interaction::{Offer, Schedule, Settlement, Standing, State};

/// The changes of a batch. Of an interaction only what it is at the end is kept, and its row is
/// made only when it is written.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    places: Vec<RowChange>,
    interactions: HashMap<InteractionId, Arc<Live>>,
}

impl Changes {
    /// Notes the changes that `record` causes; `world` is the state after it.
    pub(crate) fn note(
        &mut self,
        world: &World,
        record: &Record,
        event: &Event,
        touched: &Touched,
    ) {
        self.places.extend([place(record), leaf(record)]);
        let delivered = delivery(record, event).map(RowChange::Delivery);
        self.places.extend(delivered);
        match touched {
            Touched::Nothing => {}
            Touched::Interaction(id) => {
                let live = world.latest(*id).map(|live| (*id, live.clone()));
                self.interactions.extend(live);
            }
            Touched::EveryClock => {
                let every = world.interactions().map(|(id, live)| (*id, live.clone()));
                self.interactions.extend(every);
            }
        }
    }

    /// Adds the changes of the batch that follows.
    pub(crate) fn followed_by(&mut self, next: Changes) {
        self.places.extend(next.places);
        self.interactions.extend(next.interactions);
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len() + self.interactions.len()
    }

    /// As rows.
    pub(crate) fn rows(&self) -> Vec<RowChange> {
        let interactions = self.interactions.iter().map(|(id, live)| row(*id, live));
        self.places.iter().cloned().chain(interactions).collect()
    }
}

/// The changes that `record` causes; `world` is the state after it.
pub fn changes(world: &World, record: &Record, event: &Event, touched: &Touched) -> Vec<RowChange> {
    let mut changes = vec![place(record), leaf(record)];
    changes.extend(delivery(record, event).map(RowChange::Delivery));
    match touched {
        Touched::Nothing => {}
        Touched::Interaction(id) => changes.extend(world.latest(*id).map(|live| row(*id, live))),
        Touched::EveryClock => {
            changes.extend(world.interactions().map(|(id, live)| row(*id, live)));
        }
    }
    changes
}

fn place(record: &Record) -> RowChange {
    RowChange::StreamRecord {
        stream: record.stream().to_owned(),
        stream_seq: record.stream_seq(),
        position: record.position(),
    }
}

fn leaf(record: &Record) -> RowChange {
    RowChange::Leaf {
        position: record.position(),
        hash: record.hash(),
    }
}

/// Accepted envelopes and notices are delivered to their `to`; identity messages go to nobody.
pub(crate) fn delivery(record: &Record, event: &Event) -> Option<DeliveryRow> {
    let envelope = match event {
        Event::EnvelopeAccepted(accepted) => &accepted.envelope,
        Event::NoticeIssued(notice) => &notice.envelope,
        Event::LedgerOpened(_)
        | Event::ParametersSet(_)
        | Event::RulesChanged(_)
        | Event::LedgerKeyRotated(_)
        | Event::LedgerResumed(_)
        | Event::BodiesErased(_)
        | Event::NetworkBlind(_)
        | Event::NetworkSighted(_)
        | Event::AgentRegistered(_)
        | Event::AgentUpdated(_)
        | Event::KeyRotated(_)
        | Event::AgentDeactivated(_)
        | Event::AgentReactivated(_)
        | Event::AgentRevoked(_)
        | Event::Lapsed(_)
        | Event::Looked(_)
        | Event::Seen(_)
        | Event::Unseen(_)
        | Event::Refuted(_)
        | Event::Confirmed(_)
        | Event::Final(_)
        | Event::Reversed(_)
        | Event::Returned(_)
        | Event::Late(_)
        | Event::StateRoot(_) => return None,
    };
    Some(DeliveryRow {
        recipient: envelope.to,
        position: record.position(),
        envelope_id: envelope.id,
    })
}

fn row(id: InteractionId, live: &Live) -> RowChange {
    RowChange::Interaction(Box::new(interaction_row(id, live)))
}

/// The row of an interaction in some state.
pub fn interaction_row(id: InteractionId, live: &Live) -> InteractionRow {
    let opening = live.state.opening();
    InteractionRow {
        id,
        initiator: opening.initiator,
        provider: opening.provider,
        state: live.state.name().as_str().to_owned(),
        total: live.state.offer().map(|offer| offer.total),
        deadline_at_ms: live.state.deadline(),
        opened_at_ms: live.opened_at,
        updated_at_ms: live.updated_at,
        last_position: live.last_position,
        detail: Value::Object(detail(&live.state)),
    }
}

fn detail(state: &State) -> Map<String, Value> {
    let mut detail = Map::new();
    if let Some(offer) = state.offer() {
        detail.insert("offer".to_owned(), offer_detail(offer));
    }
    if let Some(settlement) = state.settlement() {
        detail.insert("settlement".to_owned(), settlement_detail(settlement));
    }
    if let Some((_, aftermath)) = state.aftermath()
        && !aftermath.late.is_empty()
    {
        detail.insert("late".to_owned(), json!(aftermath.late));
    }
    match state {
        State::Completed { completion, .. } => {
            detail.insert(
                "confirmed".to_owned(),
                json!({
                    "position": completion.position,
                    "record_hash": completion.hash,
                    "claims": completion.claims,
                    "final": completion.is_final,
                    "reversed": completion.reversed,
                }),
            );
        }
        State::Expired(_) | State::Rejected(_) | State::Disputed(_) | State::Failed(_) => {
            if let Some(code) = state.closing_code() {
                detail.insert("code".to_owned(), json!(code));
            }
        }
        State::Pending { .. }
        | State::Offered { .. }
        | State::Accepted { .. }
        | State::Delivered { .. }
        | State::Verified { .. } => {}
    }
    detail
}

fn offer_detail(offer: &Offer) -> Value {
    json!({
        "id": offer.record.envelope,
        "offer_hash": offer.offer_hash,
        "price": offer.price,
        "protocol_fee": offer.protocol_fee,
        "total": offer.total,
        "payee": offer.payee.to_checksum(),
    })
}

fn settlement_detail(settlement: &Settlement) -> Value {
    let schedule = match settlement.schedule {
        Schedule::Confirmation { deadline } => {
            json!({"stage": "confirmation", "deadline_at_ms": deadline})
        }
        Schedule::Look { number, due } => {
            json!({"stage": "look", "look": number, "due_at_ms": due})
        }
    };
    let declared: Vec<Value> = settlement
        .declared
        .iter()
        .map(|declared| {
            let (standing, block) = match declared.standing {
                Standing::Unseen => ("unseen", None),
                Standing::Seen(block) => ("seen", Some(block.number)),
                Standing::Refuted(block) => ("refuted", Some(block.number)),
                Standing::Gone(block) => ("gone", Some(block.number)),
            };
            json!({"tx_hash": declared.tx_hash, "standing": standing, "block_number": block})
        })
        .collect();
    json!({
        "network": settlement.network,
        "started_at_ms": settlement.started_at,
        "schedule": schedule,
        "clock_stopped_since_ms": settlement.paused_since,
        "failures": settlement.failures,
        "declared": declared,
    })
}
