//! The last scene: the log that was just written is audited, as anybody could do with the directory.

use std::fmt::Display;
use std::time::Duration;

use super::{DemoError, Story};
use x811_audit::{Options, Report};
use x811_eventlog::note::NoteKey;
use x811_eventlog::{Checkpoint, EventLog as _};
use x811_ledger::checkpoint::CheckpointStore as _;
use x811_ledger::port::LedgerStore as _;
use x811_ledger::store_audit::audit_store;
use x811_server::ServerConfig;
use x811_store::{Backend, FileCheckpointStore, ReadRows};

/// Time between two looks at the last checkpoint; the ledger signs one a second.
const PAUSE: Duration = Duration::from_millis(100);

/// How many looks: two seconds more than the ledger takes from one checkpoint to the next.
const LOOKS: u32 = 30;

/// Audits the directory, for somebody who has the ledger's checkpoint key, and tells what was found;
/// the report, when it is clean.
pub(super) async fn tell(
    story: &Story<'_>,
    config: &ServerConfig,
    key: NoteKey,
) -> Result<Report, DemoError> {
    story.heading("Audit: the whole log again, from its bytes");
    let data_dir = &config.data_dir;
    let store = Backend::open_read_only(data_dir).await.map_err(failed)?;
    let rows = ReadRows::open_read_only(data_dir).await.map_err(failed)?;
    let place = config.checkpoint_dir.clone();
    let place = place.or_else(|| FileCheckpointStore::beside(data_dir));
    let place = place.ok_or_else(|| failed("no place for a checkpoint"))?;
    let options = Options {
        trust: Some(key.into()),
        checkpoint: Some(signed(&store, &FileCheckpointStore::at(&place)).await?),
        ..Options::default()
    };
    let report = audit_store(&store, Some(&rows), options).await;
    let report = report.map_err(failed)?;
    if let Some(finding) = report.findings.first() {
        let (position, sentence) = (finding.position, &finding.sentence);
        return Err(failed(format_args!("position {position}: {sentence}")));
    }
    if let Some(undecided) = report.undecided.first() {
        return Err(failed(&undecided.sentence));
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

/// The first checkpoint over all records that the log has now.
async fn signed(store: &Backend, place: &FileCheckpointStore) -> Result<String, DemoError> {
    let head = store.log().head().await.map_err(failed)?;
    for _ in 0..LOOKS {
        if let Some(note) = place.load().await.map_err(failed)?
            && Checkpoint::claimed(&note).map_err(failed)?.size >= head.size
        {
            return Ok(note);
        }
        tokio::time::sleep(PAUSE).await;
    }
    Err(failed(
        "the ledger signed no checkpoint over its last records",
    ))
}

fn failed(cause: impl Display) -> DemoError {
    DemoError::Audit(cause.to_string())
}
