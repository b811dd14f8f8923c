//! Ids and nonces of any version (AX-25): what was recorded under the switch is read again.

use super::aftermath::paid;
use super::bundles::audited;
use super::deal::{Deal, Until};
use super::ledgerbox::{Ledgerbox, parameters};
use x811_protocol::id::{EnvelopeId, IdError};
use x811_protocol::parameters::Leniency;

async fn holds(ledgerbox: &Ledgerbox) {
    let report = audited(ledgerbox).await;
    assert!(report.is_clean(), "{report:?}");
}

#[tokio::test]
async fn ax_025_a_lenient_ledger_is_started_again_on_its_own_log() {
    let mut relaxed = parameters();
    relaxed.lenient = vec![Leniency::Uuids];
    let mut ledgerbox = Ledgerbox::with(relaxed).await;
    let (deal, _) = paid(&mut ledgerbox).await;
    let request_id = deal.request_id.to_string();
    assert_eq!(
        request_id.parse::<EnvelopeId>(),
        Err(IdError::NotVersion7),
        "the test is about other versions"
    );
    let state = ledgerbox.state(deal.id());

    for lenient in [vec![Leniency::Uuids], Vec::new()] {
        ledgerbox.parameters.lenient = lenient;
        ledgerbox.snapshots = std::sync::Arc::default();
        ledgerbox.restart().await;
        assert_eq!(ledgerbox.state(deal.id()), state);
        holds(&ledgerbox).await;
    }
    let mut next = Deal::between(&ledgerbox, &deal.initiator, &deal.provider, deal.account);
    next.go(&ledgerbox, Until::Verified).await;
    holds(&ledgerbox).await;
}
