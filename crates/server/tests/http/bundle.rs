//! `GET /api/v1/interactions/{id}/bundle`: who gets it, and that it holds offline.

use crate::log::{checkpoint, covered_as};
use crate::readers::readers;
use crate::world::Deal;
use x811_audit::audit_export;
use x811_protocol::stream::Subject;

const SOME_ID: &str = "0190a1b2-c3d4-7e5f-8901-234567890abc";

fn path(id: &str) -> String {
    format!("/api/v1/interactions/{id}/bundle")
}

#[tokio::test]
async fn lc_7_a_bundle_is_for_its_parties_and_auditors_and_holds_offline() {
    let (world, [initiator, provider, stranger, auditor]) = readers().await;
    let deal = Deal::new(&world, &initiator, &provider);
    deal.verified().await;
    let other = Deal::new(&world, &stranger, &provider);
    other.verified().await;
    checkpoint(&world).await;
    let bundle = path(&deal.id().to_string());
    for reader in [&initiator, &provider, &auditor] {
        let answer = covered_as(&world, reader, &bundle).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        assert_eq!(answer.headers["content-type"], "text/plain; charset=utf-8");
        let report = audit_export(answer.text.as_bytes(), None).unwrap();
        assert!(report.is_clean(), "{:?}", report.findings);
        assert_eq!(report.interactions.get("verified"), Some(&1));
        assert_eq!(report.checkpoints.len(), 1);
        let extract = report.extract.unwrap();
        let interaction = extract.subject().and_then(Subject::interaction);
        assert_eq!(interaction.map(|id| id.request_id()), Some(deal.id()));
        assert_eq!(extract.open_ended, 0);
        assert!(!answer.text.contains(&other.id().to_string()));
    }
    let others = world.get_as(&stranger, &bundle).await;
    let nothing = world.get_as(&stranger, &path(SOME_ID)).await;
    assert_eq!(
        others.refused(404, "X811-4001"),
        nothing.refused(404, "X811-4001")
    );
    world.get(&bundle).await.refused(401, "X811-2004");
}
