//! Rows of agents: who paid whom, which no rule reads and by which readers choose whom to deal with.

use std::collections::{BTreeMap, BTreeSet};

use x811_eventlog::Record;
use x811_protocol::did::Did;
use x811_protocol::event::{Event, SettlementEvent};
use x811_protocol::evm::EvmAddress;

use x811_world::World;
use x811_world::projection::agents::{paid, payers};
use x811_world::row::MAX_PAYERS;

/// Who paid whom so far, as far as that is counted: at most [`MAX_PAYERS`] accounts for each.
#[derive(Debug, Clone, Default)]
pub struct AgentRows {
    payers: BTreeMap<Did, BTreeSet<EvmAddress>>,
}

impl AgentRows {
    /// Takes a record that was replayed to `world`.
    pub(crate) fn take(&mut self, world: &World, record: &Record, event: &Event) {
        let Event::Settlement(SettlementEvent::Confirmed(confirmed)) = event else {
            return;
        };
        for (did, account) in payers(confirmed).filter_map(|it| Some((paid(world, record)?, it))) {
            let known = self.payers.entry(did).or_default();
            if (known.len() as u64) < MAX_PAYERS {
                known.insert(account);
            }
        }
    }

    /// From how many accounts that agent was paid, as far as that is counted.
    pub fn payers(&self, did: Did) -> u64 {
        self.payers.get(&did).map_or(0, |known| known.len() as u64)
    }
}
