//! What is told where two endpoints must agree: no endpoint alone can have told one transaction's story
//! twice (settlement-watcher.md rule 26).

use serde_json::json;
use x811_audit::{Cause, Gap, Outcome};

use super::super::branches::branches;
use super::Story;

/// The log with a quorum of two.
async fn honest() -> Story {
    Story::written_by(&branches().await).await
}

/// `seen` says another amount of the transaction that was confirmed in the same block.
async fn another_amount(quorum: u64) -> Story {
    let mut story = honest().await;
    let (seen, confirmed) = (story.events("seen")[0], story.events("confirmed")[0]);
    let block = story.get(confirmed, "/evidence/0/block");
    assert_eq!(story.get(seen, "/block"), block, "in one block");
    let set = *story.events("parameters_set").last().unwrap();
    story.set(set, "/networks/0/endpoint_quorum", json!(quorum));
    story.set(seen, "/transfers/0/amount", json!("100"));
    story
}

#[tokio::test]
async fn lc_5_two_endpoints_saw_another_amount_than_was_confirmed() {
    let report = another_amount(2).await.report();
    assert_eq!(report.verdict, Outcome::Broken);
    let mut findings = report.findings.iter();
    assert!(
        findings.all(|finding| finding.cause == Cause::Contradicts),
        "{:#?}",
        report.findings
    );
}

/// One endpoint may have said both: the file does not tell whether it lied or the ledger.
#[tokio::test]
async fn lc_5_one_endpoint_saw_another_amount_than_was_confirmed() {
    let report = another_amount(1).await.report();
    assert_eq!(
        report.verdict,
        Outcome::Incomplete,
        "{:#?}",
        report.findings
    );
    let gaps: Vec<Gap> = report.undecided.iter().map(|it| it.gap).collect();
    assert_eq!(gaps, [Gap::ContestedSightings]);
}

#[tokio::test]
async fn lc_5_two_endpoints_saw_more_transfers_than_were_confirmed() {
    let mut story = honest().await;
    let seen = story.events("seen")[0];
    let first = story.get(seen, "/transfers/0");
    let mut second = first.clone();
    second["ordinal"] = json!(1);
    second["amount"] = json!("100");
    story.set(seen, "/transfers", json!([first, second]));
    assert_eq!(story.report().verdict, Outcome::Broken);
}
