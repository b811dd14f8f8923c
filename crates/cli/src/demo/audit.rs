//! The last scene: the log that was just written is audited, as anybody could do with the directory.

use super::{DemoError, Story};
use crate::export::last_signed;
use x811_eventlog::note::NoteKey;
use x811_ledger::audit::{Options, Report, audit_store};
use x811_server::ServerConfig;
use x811_store::{SqliteReadModel, SqliteStore};

/// Audits the directory, for somebody who has the ledger's checkpoint key, and tells what was found;
/// the report, when it is clean.
pub(super) async fn tell(
    story: &Story<'_>,
    config: &ServerConfig,
    key: NoteKey,
) -> Result<Report, DemoError> {
    story.heading("Audit: the whole log again, from its bytes");
    let data_dir = &config.data_dir;
    // First: what was signed is in the log that is read then.
    let checkpoint = last_signed(data_dir, config.checkpoint_dir.as_deref()).await;
    let checkpoint = checkpoint.map_err(|failure| DemoError::Audit(failure.message))?;
    let store = SqliteStore::open_read_only(data_dir).await;
    let store = store.map_err(|error| DemoError::Audit(error.to_string()))?;
    let rows = SqliteReadModel::open_read_only(data_dir).await;
    let rows = rows.map_err(|error| DemoError::Audit(error.to_string()))?;
    let options = Options {
        trust: Some(key.into()),
        checkpoint,
        ..Options::default()
    };
    let report = audit_store(&store, Some(&rows), options).await;
    let report = report.map_err(|error| DemoError::Audit(error.to_string()))?;
    if let Some(finding) = report.findings.first() {
        let text = format!("position {}: {}", finding.position, finding.sentence);
        return Err(DemoError::Audit(text));
    }
    story.fact(
        "records",
        &format!("{}, hash chain and tree recomputed", report.records),
    );
    story.fact(
        "signatures",
        &format!("{} of {} hold", report.signatures_valid, report.envelopes),
    );
    story.fact(
        "facts",
        &format!("{} proven from the signed bodies", report.facts.proven),
    );
    let states: Vec<String> = report
        .interactions
        .iter()
        .map(|(state, count)| format!("{count} {state}"))
        .collect();
    story.fact(
        "replayed",
        &format!("{}; rows for readers agree", states.join(", ")),
    );
    story.fact(
        "whose log",
        &format!(
            "{} of {} records under a checkpoint by the ledger's key",
            report.trust.records_proven, report.records
        ),
    );
    story.fact("head", &report.head.to_string());
    story.fact("verdict", "clean");
    Ok(report)
}
