//! The last scene: the log that was just written is audited, as anybody could do with the directory.

use super::{DemoError, Story};
use crate::export::signed_at;
use x811_eventlog::note::NoteKey;
use x811_ledger::audit::{Options, Report, audit_store};
use x811_server::ServerConfig;
use x811_store::{Backend, FileCheckpointStore, ReadRows};

/// Audits the directory, for somebody who has the ledger's checkpoint key, and tells what was found;
/// the report, when it is clean.
pub(super) async fn tell(
    story: &Story<'_>,
    config: &ServerConfig,
    key: NoteKey,
) -> Result<Report, DemoError> {
    story.heading("Audit: the whole log again, from its bytes");
    let data_dir = &config.data_dir;
    let store = Backend::open_read_only(data_dir).await;
    let store = store.map_err(|error| DemoError::Audit(error.to_string()))?;
    let rows = ReadRows::open_read_only(data_dir).await;
    let rows = rows.map_err(|error| DemoError::Audit(error.to_string()))?;
    let place = config.checkpoint_dir.clone();
    let place = place.or_else(|| FileCheckpointStore::beside(data_dir));
    let place = place.ok_or_else(|| DemoError::Audit("no place for a checkpoint".to_owned()))?;
    // What no checkpoint covers yet would be nobody's word.
    let signed = signed_at(&store, &FileCheckpointStore::at(&place)).await;
    let signed = signed.map_err(|failure| DemoError::Audit(failure.message))?;
    let options = Options {
        trust: Some(key.into()),
        checkpoint: Some(signed.note),
        ..Options::default()
    };
    let report = audit_store(&store, Some(&rows), options).await;
    let report = report.map_err(|error| DemoError::Audit(error.to_string()))?;
    if let Some(finding) = report.findings.first() {
        let text = format!("position {}: {}", finding.position, finding.sentence);
        return Err(DemoError::Audit(text));
    }
    if let Some(undecided) = report.undecided.first() {
        return Err(DemoError::Audit(undecided.sentence.clone()));
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
