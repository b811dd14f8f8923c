//! How the network is watched, endpoint by endpoint.

use super::family::{Families, Labels, float};
use x811_protocol::time::TimestampMs;
use x811_watcher::{EndpointHealth, EndpointState, NetworkHealth};

/// Milliseconds in the seconds that metrics are in.
const MS_PER_S: f64 = 1_000.0;

/// Reads everything of one network.
pub(super) fn note(families: &mut Families, health: &NetworkHealth, now: TimestampMs) {
    let network = &health.network;
    let of = |endpoint: &EndpointHealth| -> Labels {
        vec![
            ("network", network.clone()),
            ("endpoint", endpoint.label.clone()),
        ]
    };
    let each = |value: &dyn Fn(&EndpointHealth) -> Option<f64>| -> Vec<(Labels, f64)> {
        let endpoints = health.endpoints.iter();
        endpoints
            .filter_map(|endpoint| Some((of(endpoint), value(endpoint)?)))
            .collect()
    };
    let states = health.endpoints.iter().flat_map(|endpoint| {
        EndpointState::ALL.map(|state| {
            let mut labels = of(endpoint);
            labels.push(("state", state.as_str().to_owned()));
            (labels, f64::from(u8::from(state == endpoint.state)))
        })
    });
    families.gauges(
        "x811_endpoint_state",
        "1 for how an RPC endpoint is, 0 for how it is not",
        states.collect(),
    );
    families.gauges(
        "x811_endpoint_leads",
        "1 for the RPC endpoint whose branch is followed, else 0",
        each(&|endpoint| Some(f64::from(u8::from(endpoint.leads)))),
    );
    families.gauges(
        "x811_endpoint_head_number",
        "Number of the last head that an RPC endpoint named",
        each(&|endpoint| Some(float(endpoint.head?.number))),
    );
    families.gauges(
        "x811_endpoint_head_age_seconds",
        "Age of the last head that an RPC endpoint named",
        each(&|endpoint| Some(float(head_age_ms(endpoint, now)?) / MS_PER_S)),
    );
    families.counters(
        "x811_endpoint_calls",
        "Requests made of an RPC endpoint, receipts counted one by one",
        each(&|endpoint| Some(float(endpoint.calls))),
    );
    families.counters(
        "x811_endpoint_failures",
        "Times an RPC endpoint gave no usable answer",
        each(&|endpoint| Some(float(endpoint.failures))),
    );
    families.counters(
        "x811_endpoint_disagreements",
        "Transactions of which an RPC endpoint said something else than another",
        each(&|endpoint| Some(float(endpoint.disagreements))),
    );
    held(families, network, health);
}

fn held(families: &mut Families, network: &str, health: &NetworkHealth) {
    let here = |value: u64| vec![(vec![("network", network.to_owned())], float(value))];
    families.gauges(
        "x811_watcher_indexed_blocks",
        "Blocks whose transfers are held",
        here(health.indexed_blocks as u64),
    );
    families.gauges(
        "x811_watcher_indexed_transfers",
        "Transfers held",
        here(health.indexed_transfers as u64),
    );
    families.gauges(
        "x811_watcher_unsettled_transactions",
        "Watched transactions about which RPC endpoints contradict each other or are silent",
        here(health.unsettled as u64),
    );
    families.gauges(
        "x811_watcher_contested_transactions",
        "Watched transactions that one RPC endpoint has at the agreed head and another has not",
        here(health.contested.len() as u64),
    );
    families.gauges(
        "x811_watcher_agreed",
        "1 while as many RPC endpoints as must agree carry one head",
        here(u64::from(health.is_agreed)),
    );
    families.counters(
        "x811_watcher_reorgs",
        "Times that held blocks were replaced by others",
        here(health.reorgs),
    );
    families.gauges(
        "x811_watcher_deepest_reorg_blocks",
        "Most held blocks that were replaced at once since the start",
        here(health.deepest_reorg_blocks),
    );
}

/// The age of the last head that the endpoint named.
pub(crate) fn head_age_ms(endpoint: &EndpointHealth, now: TimestampMs) -> Option<u64> {
    let head = endpoint.head?;
    Some(now.since(TimestampMs::new(head.timestamp_s.saturating_mul(1_000))))
}
