//! Calls the operator, once, when a network has been blind for longer than the operator wants to be
//! left alone (ledger-contract.md section 5). It changes no state: payments wait on, however long.

use crate::app::{RunningLedger, stopped};
use crate::config::NetworkConfig;
use std::collections::BTreeSet;
use std::sync::Arc;
use tokio::sync::watch;
use x811_ledger::clock::Clock;
use x811_protocol::time::TimestampMs;
use x811_world::World;

/// Begins to watch over `network`, until the server is to stop.
pub(super) fn watch_over<C: Clock>(
    network: &NetworkConfig,
    ledger: &RunningLedger<C>,
    clock: &Arc<C>,
    stopping: &watch::Receiver<bool>,
) -> BlindnessBound {
    let bound = BlindnessBound::of(network);
    let (ledger, clock) = (ledger.clone(), clock.clone());
    let (watched, stop) = (bound.clone(), stopped(stopping.clone()));
    tokio::spawn(async move {
        tokio::select! {
            () = call(&ledger, &*clock, &watched) => {}
            () = stop => {}
        }
    });
    bound
}

/// Calls whenever there is reason to.
async fn call<C: Clock>(ledger: &RunningLedger<C>, clock: &C, bound: &BlindnessBound) {
    let mut worlds = ledger.follow();
    let mut called = Called::default();
    loop {
        let world = worlds.borrow_and_update().clone();
        let now = ledger.now();
        for network in called.newly(&world, bound, now) {
            let blind_ms = bound.blind_ms(&world, network, now);
            tracing::error!(
                network,
                blind_ms,
                "the network has been out of sight for too long: payments on it wait, and none is \
                 confirmed or disputed. Mend its RPC endpoints, or give it others"
            );
        }
        let next_ms = bound.next_ms(&world, &called, now);
        tokio::select! {
            changed = worlds.changed() => if changed.is_err() { return },
            () = wait(clock, next_ms) => {}
        }
    }
}

async fn wait(clock: &impl Clock, ms: Option<u64>) {
    match ms {
        Some(ms) => clock.sleep_ms(ms).await,
        None => std::future::pending().await,
    }
}

/// How long networks may be blind.
#[derive(Debug, Clone)]
pub(crate) struct BlindnessBound {
    pub(crate) networks: Vec<String>,
    pub(crate) page_after_ms: u64,
}

impl BlindnessBound {
    /// The one that is configured.
    pub(super) fn of(network: &NetworkConfig) -> BlindnessBound {
        BlindnessBound {
            networks: vec![network.name.clone()],
            page_after_ms: match network.blind_page_after_ms {
                // Off: nobody is called.
                0 => u64::MAX,
                page_after_ms => page_after_ms,
            },
        }
    }

    /// For how long a network has been blind, downtime left out; 0 when it is not.
    pub(crate) fn blind_ms(&self, world: &World, network: &str, now: TimestampMs) -> u64 {
        let since = world.sight(network).and_then(|sight| sight.blind_since);
        since.map_or(0, |since| now.since(since))
    }

    /// Whether it has been blind for longer than it may.
    pub(crate) fn is_passed(&self, world: &World, network: &str, now: TimestampMs) -> bool {
        let blind = world.sight(network).and_then(|sight| sight.blind_since);
        blind.is_some() && self.blind_ms(world, network, now) > self.page_after_ms
    }

    /// The networks of which the operator has to know.
    pub(crate) fn passed<'a>(&'a self, world: &'a World, now: TimestampMs) -> Vec<&'a str> {
        let networks = self.networks.iter().map(String::as_str);
        networks
            .filter(|network| self.is_passed(world, network, now))
            .collect()
    }

    /// Until a network passes its bound, if one that is blind has not yet.
    fn next_ms(&self, world: &World, called: &Called, now: TimestampMs) -> Option<u64> {
        if self.page_after_ms == u64::MAX {
            return None;
        }
        let waiting = self.networks.iter().filter_map(|network| {
            let since = world.sight(network)?.blind_since?;
            let bound = since.saturating_add_ms(self.page_after_ms);
            (!called.0.contains(network)).then(|| bound.since(now).saturating_add(1))
        });
        waiting.min()
    }
}

/// Networks of which the operator was told, until they are seen again.
#[derive(Debug, Default)]
struct Called(BTreeSet<String>);

impl Called {
    /// Those of which the operator has to be told now.
    fn newly<'b>(
        &mut self,
        world: &World,
        bound: &'b BlindnessBound,
        now: TimestampMs,
    ) -> Vec<&'b str> {
        self.0
            .retain(|network| bound.is_passed(world, network, now));
        let networks = bound.networks.iter();
        networks
            .filter(|network| bound.is_passed(world, network, now))
            .filter(|network| self.0.insert((*network).clone()))
            .map(String::as_str)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use x811_eventlog::{Draft, Head, Record};
    use x811_protocol::event::{Event, NetworkBlind, NetworkEvent};
    use x811_protocol::observation::BlindCause;

    #[test]
    fn the_operator_is_told_once_for_each_time_a_network_is_lost() {
        let bound = BlindnessBound {
            networks: vec!["base".to_owned()],
            page_after_ms: 1_000,
        };
        let mut called = Called::default();
        let at = TimestampMs::new;
        let seen = World::empty();
        assert!(called.newly(&seen, &bound, at(9_000)).is_empty());
        assert_eq!(bound.next_ms(&seen, &called, at(9_000)), None);
        let blind = blind_since(at(5_000));
        assert!(called.newly(&blind, &bound, at(6_000)).is_empty());
        assert_eq!(bound.next_ms(&blind, &called, at(5_400)), Some(601));
        assert_eq!(called.newly(&blind, &bound, at(6_001)), ["base"]);
        assert!(called.newly(&blind, &bound, at(60_000)).is_empty());
        assert_eq!(bound.next_ms(&blind, &called, at(60_000)), None);
        // Seen in between, and lost again.
        assert!(called.newly(&seen, &bound, at(61_000)).is_empty());
        assert_eq!(called.newly(&blind, &bound, at(62_000)), ["base"]);
        assert_eq!(bound.blind_ms(&blind, "base", at(62_000)), 57_000);
        assert_eq!(bound.passed(&blind, at(62_000)), ["base"]);
    }

    /// A world whose only record says that the network is lost.
    fn blind_since(since: TimestampMs) -> World {
        let event = Event::Network(NetworkEvent::Blind(NetworkBlind {
            cause: BlindCause::Unreachable,
            head: None,
            silent: Vec::new(),
        }));
        let draft = Draft {
            recorded_at_ms: since.as_ms(),
            stream: "network:base".to_owned(),
            stream_seq: 0,
            event: serde_json::to_value(&event).unwrap(),
        };
        let record = Record::seal(0, Head::EMPTY.hash, draft).unwrap();
        let mut world = World::empty();
        world.apply(&record, &event).unwrap();
        world
    }
}
