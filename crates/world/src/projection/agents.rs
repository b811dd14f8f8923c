//! Who is registered, what they offer and what they have earned.

use crate::row::{AgentRow, RowChange, TrustRow};
use crate::world::World;
use x811_eventlog::Record;
use x811_protocol::did::Did;
use x811_protocol::event::{AgentEvent, Confirmed, Event, SettlementEvent};
use x811_protocol::evm::EvmAddress;
use x811_protocol::stream::{Stream, Subject};

/// The changes that `record` causes; `world` is the state after it.
pub(super) fn changes(world: &World, record: &Record, event: &Event) -> Vec<RowChange> {
    let mut changes = Vec::new();
    if let Some(did) = of_registry(record, event) {
        changes.extend(row(world, did));
        changes.extend(capabilities(world, did, event));
    }
    for did in world.trust_moved() {
        changes.extend(row(world, did));
        changes.push(RowChange::Trust(TrustRow {
            did,
            position: record.position(),
            trust: world.trust(did),
        }));
    }
    if let Event::Settlement(SettlementEvent::Confirmed(confirmed)) = event {
        let paid = paid(world, record);
        let payer = |(did, account)| RowChange::Payer {
            did,
            account,
            position: record.position(),
        };
        let payers = payers(confirmed).filter_map(|account| Some((paid?, account)));
        changes.extend(payers.map(payer));
    }
    changes
}

/// Whose registration a record changes.
fn of_registry(record: &Record, event: &Event) -> Option<Did> {
    let is_of_registry = matches!(
        event,
        Event::Agent(
            AgentEvent::Registered(_)
                | AgentEvent::Updated(_)
                | AgentEvent::Deactivated(_)
                | AgentEvent::Reactivated(_)
                | AgentEvent::Revoked(_)
        )
    );
    if !is_of_registry {
        return None;
    }
    let Ok(Stream::Agent(did)) = record.stream().parse() else {
        return None;
    };
    Some(did)
}

fn row(world: &World, did: Did) -> Option<RowChange> {
    let agent = world.agent(did)?;
    Some(RowChange::Agent(AgentRow {
        registered_position: agent.position,
        did,
        status: agent.status,
        expires_at_ms: agent.expires_at_ms,
        trust: world.trust(did),
    }))
}

fn capabilities(world: &World, did: Did, event: &Event) -> Option<RowChange> {
    let sets_them = matches!(
        event,
        Event::Agent(AgentEvent::Registered(_) | AgentEvent::Updated(_))
    );
    let agent = world.agent(did).filter(|_| sets_them)?;
    Some(RowChange::Capabilities {
        registered_position: agent.position,
        names: agent.capabilities.clone(),
    })
}

/// The provider of the interaction that a record belongs to.
pub fn paid(world: &World, record: &Record) -> Option<Did> {
    let Ok(Stream::Of(Subject::Interaction(id))) = record.stream().parse() else {
        return None;
    };
    Some(world.latest(id)?.state.opening().provider)
}

/// The accounts that the transfers which paid came from.
pub fn payers(confirmed: &Confirmed) -> impl Iterator<Item = EvmAddress> {
    confirmed.claims.iter().filter_map(|claim| {
        let of_claim = confirmed.evidence.iter();
        let mut of_claim = of_claim.filter(|evidence| evidence.tx_hash == claim.tx_hash);
        let mut transfers = of_claim.next()?.transfers.iter();
        let paying = transfers.find(|transfer| transfer.ordinal == claim.ordinal)?;
        Some(paying.from)
    })
}
