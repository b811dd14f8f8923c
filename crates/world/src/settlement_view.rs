//! Where an interaction's money is, as the running ledger knows it: its records, and of the world
//! what they do not tell. The rules of the view are the protocol's
//! ([`x811_protocol::settlement_view`]); here is only where the ledger looks.

use std::collections::BTreeSet;

use crate::world::World;
use x811_eventlog::Record;
use x811_protocol::digest::Digest;
use x811_protocol::event::{Event, Window};
use x811_protocol::evm::TxHash;
use x811_protocol::facts::Facts;
use x811_protocol::id::InteractionId;
use x811_protocol::interaction::{Schedule, Settlement, State};
use x811_protocol::machine::Recorded;
use x811_protocol::observation::{BlindCause, Block};
use x811_protocol::parameters::Network;
use x811_protocol::settlement_view::{Due, Live, NetworkRules, SettlementClock, SettlementView};
use x811_protocol::time::TimestampMs;

/// Sources of a settlement view besides the records of its interaction, as of one moment.
#[derive(Debug, Clone, Copy)]
pub struct SettlementSources<'a> {
    /// The ledger, no older than the records.
    pub world: &'a World,
    /// The moment that the view is as of.
    pub now: TimestampMs,
    /// Why the network of the payment is blind, where it is.
    pub blind_cause: Option<BlindCause>,
    /// How long a network may be blind before the operator is called, in milliseconds.
    pub blind_page_after_ms: u64,
    /// Labels of the RPC endpoints of that network that give no usable answer, while fewer agree than
    /// must.
    pub silent: &'a [String],
    /// Transactions that one RPC endpoint has and another has not.
    pub contested: &'a BTreeSet<TxHash>,
}

/// Reads the records of `id`, oldest first.
pub fn settlement_view(
    id: InteractionId,
    records: &[(Record, Event)],
    around: SettlementSources<'_>,
) -> SettlementView {
    let recorded = records.iter().map(|(record, event)| Recorded {
        event,
        position: record.position(),
        hash: Digest::from_bytes(*record.hash().as_bytes()),
        recorded_at_ms: TimestampMs::new(record.recorded_at_ms()),
        parameters: None,
    });
    let events = || records.iter().map(|(_, event)| event);
    SettlementView::of(id, recorded, live(id, events(), around))
}

/// The network of the first PAYMENT among `events`; the others are on it too.
pub fn network_of<'a>(events: impl IntoIterator<Item = &'a Event>) -> Option<&'a str> {
    events.into_iter().find_map(|event| {
        let Event::EnvelopeAccepted(accepted) = event else {
            return None;
        };
        let Facts::Payment(payment) = &accepted.facts else {
            return None;
        };
        Some(payment.network.as_str())
    })
}

/// Every transaction that a PAYMENT named, once.
fn named<'a>(events: impl IntoIterator<Item = &'a Event>) -> impl Iterator<Item = TxHash> {
    let payments = events.into_iter().filter_map(|event| {
        let Event::EnvelopeAccepted(accepted) = event else {
            return None;
        };
        let Facts::Payment(payment) = &accepted.facts else {
            return None;
        };
        Some(payment)
    });
    let named: BTreeSet<TxHash> = payments
        .flat_map(|payment| [Some(payment.tx_hash), payment.fee_tx_hash])
        .flatten()
        .collect();
    named.into_iter()
}

fn live<'a>(
    id: InteractionId,
    events: impl Iterator<Item = &'a Event> + Clone,
    around: SettlementSources<'_>,
) -> Live {
    let (world, now) = (around.world, around.now);
    let Some(name) = network_of(events.clone()) else {
        let state = world.interaction(id).map(|live| &live.state);
        return Live {
            due: state.and_then(window),
            ..Live::nothing(now)
        };
    };
    let head = world.sight(name).and_then(|sight| sight.head.as_ref());
    let state = world.watching(id).map(|live| &live.state);
    let (due, paused_since) = state.map_or((None, None), |state| timed(state, now));
    Live {
        as_of_ms: now,
        clock: match (due, paused_since) {
            (None, _) => SettlementClock::Idle,
            (Some(_), None) => SettlementClock::Running,
            (Some(_), Some(since)) => stopped(name, since, around),
        },
        due,
        head: head.map(|head| Block {
            number: head.number,
            hash: head.hash,
            timestamp_s: head.timestamp_s,
        }),
        silent: around.silent.to_vec(),
        contested: named(events.clone())
            .filter(|tx_hash| around.contested.contains(tx_hash))
            .collect(),
        rules: rules(world, name, events),
    }
}

/// What is due of a payment, and since when its clock is stopped.
fn timed(state: &State, now: TimestampMs) -> (Option<Due>, Option<TimestampMs>) {
    if let Some(settlement) = state.settlement() {
        return (Some(due(settlement, now)), settlement.paused_since);
    }
    let Some((_, aftermath)) = state.aftermath() else {
        return (None, None);
    };
    let stopped_ms = aftermath.paused_since.map_or(0, |since| now.since(since));
    let at_ms = aftermath.ends_at().saturating_add_ms(stopped_ms);
    let is_watched = now <= at_ms;
    (
        is_watched.then_some(Due::Watch { at_ms }),
        aftermath.paused_since,
    )
}

fn stopped(network: &str, since_ms: TimestampMs, around: SettlementSources<'_>) -> SettlementClock {
    let sight = around.world.sight(network);
    let blind_since = sight.and_then(|sight| sight.blind_since);
    SettlementClock::Stopped {
        since_ms,
        cause: around.blind_cause,
        operator_called_at_ms: blind_since
            .filter(|_| around.blind_page_after_ms < u64::MAX)
            .map(|since| since.saturating_add_ms(around.blind_page_after_ms)),
    }
}

/// What is due; with a stopped clock, as if it ran again right now.
fn due(settlement: &Settlement, now: TimestampMs) -> Due {
    let stopped_ms = settlement.paused_since.map_or(0, |since| now.since(since));
    match settlement.schedule {
        Schedule::Confirmation { deadline } => Due::Window {
            window: Window::Confirmation,
            at_ms: deadline.saturating_add_ms(stopped_ms),
        },
        Schedule::Look { number, due } => Due::Look {
            look: number,
            at_ms: due.saturating_add_ms(stopped_ms),
        },
    }
}

/// The window that is open before the first PAYMENT.
fn window(state: &State) -> Option<Due> {
    Some(Due::Window {
        window: state.open_window()?,
        at_ms: state.deadline()?,
    })
}

/// What the network asked when the interaction was opened.
fn rules<'a>(
    world: &World,
    name: &str,
    mut events: impl Iterator<Item = &'a Event>,
) -> Option<NetworkRules> {
    let opened_under = events.find_map(|event| {
        let Event::EnvelopeAccepted(accepted) = event else {
            return None;
        };
        accepted.derived.parameters
    })?;
    let network: &Network = world.parameters_at(opened_under)?.network(name)?;
    Some(NetworkRules {
        confirmed_depth: network.confirmed_depth,
        safe_above_micro_usdc: network.safe_above,
    })
}
