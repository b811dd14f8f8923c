//! Rows of agents that were changed by hand (agents.md sections 3 and 4). Nothing is decided by them, and
//! readers choose by them: an operator gives its friend a name that nobody gave it.

use std::sync::Arc;

use x811_audit::{Cause, Finding};
use x811_ledger::memory::MemoryReadModel;
use x811_ledger::port::ReadModel as _;
use x811_ledger::store_audit::audit_store;
use x811_protocol::did::Did;
use x811_protocol::evm::EvmAddress;
use x811_protocol::trust::TrustCounters;
use x811_world::row::{AgentRow, RowChange, TrustRow};

use super::bundles::audited;
use super::ledgerbox::Ledgerbox;
use super::scene::settled_and_disputed;

/// The provider of a payment and of a dispute, and its row.
struct Known {
    ledgerbox: Ledgerbox,
    row: AgentRow,
    last: u64,
}

impl Known {
    async fn new() -> Known {
        let ledgerbox = settled_and_disputed().await;
        let rows = ledgerbox.rows.rows();
        let provider = rows.subjects.values().next().unwrap().members[1];
        let page = ledgerbox.rows.agents(None, None, 100).await.unwrap();
        let row = page.iter().find(|it| it.row.did == provider).unwrap().row;
        assert_ne!(row.trust, TrustCounters::NONE);
        let last = ledgerbox.rows.applied_size().await.unwrap() - 1;
        Known {
            ledgerbox,
            row,
            last,
        }
    }

    async fn write(&self, change: RowChange) {
        let size = self.last + 1;
        let rows = &self.ledgerbox.rows;
        rows.apply(size, size, &[change]).await.unwrap();
    }

    async fn findings(&self) -> Vec<Finding> {
        audited(&self.ledgerbox).await.findings
    }

    /// Exactly this is named, of that agent.
    async fn is_found(&self, field: &str, of: Did) {
        let findings = self.findings().await;
        let [finding] = &findings[..] else {
            panic!("{findings:#?}");
        };
        assert_eq!(finding.field, field);
        assert_eq!(finding.cause, Cause::ReadModelDiffers);
        assert_eq!(finding.stream.as_deref(), Some(&*format!("agent:{of}")));
    }
}

#[tokio::test]
async fn agents_4_honest_rows_of_agents_are_compared() {
    let known = Known::new().await;
    let report = audited(&known.ledgerbox).await;
    assert_eq!(report.findings, []);
    assert_eq!(report.read_model.unwrap().agents, 2);
}

/// It has done well more often, by the rows that answer for its name.
#[tokio::test]
async fn agents_4_a_success_that_never_was_is_named() {
    let known = Known::new().await;
    let AgentRow { did, trust, .. } = known.row;
    let better = TrustCounters {
        s: trust.s + 5,
        ..trust
    };
    let position = known.last;
    known
        .write(RowChange::Trust(TrustRow {
            did,
            position,
            trust: better,
        }))
        .await;
    known.is_found("read_model.trust", did).await;
}

/// One account more has paid it.
#[tokio::test]
async fn agents_4_a_payer_that_never_paid_is_named() {
    let known = Known::new().await;
    let did = known.row.did;
    known
        .write(RowChange::Payer {
            did,
            account: EvmAddress::from_bytes([0x99; 20]),
            position: 5,
        })
        .await;
    known.is_found("read_model.trust", did).await;
}

/// On the page of agents it stands better than it is, or offers what it does not.
#[tokio::test]
async fn agents_3_an_agents_row_that_says_more_is_named() {
    let known = Known::new().await;
    let row = known.row;
    let better = TrustCounters {
        s: row.trust.s + 5,
        ..row.trust
    };
    let changes = [
        RowChange::Agent(AgentRow {
            trust: better,
            ..row
        }),
        RowChange::Capabilities {
            registered_position: row.registered_position,
            names: Arc::from([String::from("com.example.everything")]),
        },
    ];
    for change in changes {
        known.write(change).await;
        known.is_found("read_model.agents", row.did).await;
        known.write(RowChange::Agent(row)).await;
    }
}

/// Rows that lag are compared once they are there.
#[tokio::test]
async fn agents_4_rows_that_lag_are_not_blamed() {
    let known = Known::new().await;
    let store = &*known.ledgerbox.store;
    let rows = MemoryReadModel::new();
    let report = audit_store(store, Some(&rows), None);
    let report = report.await.unwrap();
    assert_eq!(report.findings, []);
    assert_eq!(report.read_model.unwrap().agents, 0);
}
