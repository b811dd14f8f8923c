//! Rows of agents: pages in order of registration, and trust as of any record.

use std::sync::Arc;

use x811_ledger::port::ReadModel as _;
use x811_protocol::evm::EvmAddress;
use x811_protocol::trust::TrustCounters;
use x811_world::agent::Status;
use x811_world::row::{AgentRow, RowChange, TrustRow};

use super::sample::did;
use crate::ReadRows;

fn paid(times: u32) -> TrustCounters {
    TrustCounters {
        s: times,
        ..TrustCounters::NONE
    }
}

fn agent(registered_position: u64, times: u32) -> RowChange {
    RowChange::Agent(AgentRow {
        registered_position,
        did: did(9),
        status: Status::Active,
        expires_at_ms: None,
        trust: paid(times),
    })
}

fn offers(registered_position: u64, names: &[&str]) -> RowChange {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    RowChange::Capabilities {
        registered_position,
        names: Arc::from(names),
    }
}

fn trust(position: u64, times: u32, account: u8) -> [RowChange; 2] {
    let row = TrustRow {
        did: did(9),
        position,
        trust: paid(times),
    };
    let payer = RowChange::Payer {
        did: did(9),
        account: EvmAddress::from_bytes([account; 20]),
        position,
    };
    [RowChange::Trust(row), payer]
}

async fn positions(rows: &ReadRows, capability: Option<&str>, after: Option<u64>) -> Vec<u64> {
    let page = rows.agents(capability, after, 10).await.unwrap();
    page.iter()
        .map(|found| found.row.registered_position)
        .collect()
}

#[tokio::test]
async fn ax_37_agents_are_found_by_what_they_offer_now_in_order_of_registration() {
    let place = tempfile::tempdir().unwrap();
    let rows = ReadRows::open(place.path()).await.unwrap();
    let first = [
        agent(7, 0),
        offers(7, &["b", "a"]),
        agent(3, 0),
        offers(3, &["a"]),
    ];
    rows.apply(0, 8, &first).await.unwrap();
    assert_eq!(positions(&rows, None, None).await, [3, 7]);
    assert_eq!(positions(&rows, Some("a"), None).await, [3, 7]);
    assert_eq!(positions(&rows, Some("a"), Some(3)).await, [7]);
    assert_eq!(
        rows.agents(Some("b"), None, 1).await.unwrap()[0].capabilities,
        ["a", "b"]
    );
    rows.apply(8, 9, &[offers(7, &["c"])]).await.unwrap();
    assert!(positions(&rows, Some("b"), None).await.is_empty());
    assert_eq!(positions(&rows, Some("c"), None).await, [7]);
}

#[tokio::test]
async fn ax_37_trust_is_what_it_was_at_each_record_and_an_account_pays_for_the_first_time_once() {
    let place = tempfile::tempdir().unwrap();
    let rows = ReadRows::open(place.path()).await.unwrap();
    let changes = [trust(5, 1, 1), trust(6, 2, 1), trust(9, 3, 2)].concat();
    rows.apply(0, 10, &changes).await.unwrap();
    for (as_of, times, payers) in [(5, 1, 1), (6, 2, 1), (8, 2, 1), (9, 3, 2), (u64::MAX, 3, 2)] {
        let known = rows.trust(did(9), as_of).await.unwrap();
        let found = known.row.map(|row| row.trust);
        assert_eq!(
            (found, known.distinct_payers),
            (Some(paid(times)), payers),
            "{as_of}"
        );
    }
    let before = rows.trust(did(9), 4).await.unwrap();
    assert_eq!((before.row, before.distinct_payers), (None, 0));
}
