//! The whole log is read once after a start, beside everything else: a start from a snapshot reads its
//! tail alone, and the index of what was paid, or a body, may have changed on the disk while nobody
//! looked. What is found is told, and harms nobody who is served.
//!
//! A store that is suspended may hide records, which are not damaged. The log is read again once somebody
//! has repaired such a store.

use crate::app::stopped;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::sleep;
use x811_ledger::doctor::{Finding, examine_telling};
use x811_ledger::memory::MemoryReadModel;
use x811_store::Backend;

/// Time between two looks at the state of the store.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How long a database or a cluster may take to show that it hides records.
const GRACE: Duration = Duration::from_secs(2);

/// How far the check has come.
#[derive(Debug, Clone, Default)]
pub(crate) struct LogCheck {
    /// Records it has read.
    pub(crate) checked: u64,
    /// Records there were when it began.
    pub(crate) of: u64,
    /// It is over.
    pub(crate) is_over: bool,
    /// What is wrong; the first of it.
    pub(crate) found: Option<Finding>,
}

impl LogCheck {
    /// `running`, `sound` or `damaged`.
    pub(crate) fn word(&self) -> &'static str {
        match (&self.found, self.is_over) {
            (Some(_), _) => "damaged",
            (None, true) => "sound",
            (None, false) => "running",
        }
    }
}

/// Begins it. It ends with the server.
pub(super) fn begin(
    store: &Arc<Backend>,
    size: u64,
    stopping: &watch::Receiver<bool>,
) -> watch::Receiver<LogCheck> {
    let (told, seen) = watch::channel(LogCheck {
        of: size,
        ..LogCheck::default()
    });
    let (store, stopping) = (store.clone(), stopping.clone());
    tokio::spawn(async move {
        tokio::select! {
            () = check(&store, &told) => {}
            () = stopped(stopping) => {}
        }
    });
    seen
}

/// Ends once the log was found sound.
async fn check(store: &Backend, told: &watch::Sender<LogCheck>) {
    loop {
        let found = examined(store, told).await;
        if !found.is_empty() && !matches!(store, Backend::Sqlite(_)) {
            sleep(GRACE).await;
        }
        if found.is_empty() {
            tracing::info!("the log and what lies beside it are sound");
            told.send_modify(|check| check.is_over = true);
            return;
        }
        if store.fault().is_none() {
            tell(told, found);
        }
        while store.fault().is_none() {
            sleep(LOOK_EVERY).await;
        }
        tracing::warn!(
            "the store is suspended and may hide records: the log is checked again once it is repaired"
        );
        told.send_modify(|check| {
            *check = LogCheck {
                of: check.of,
                ..LogCheck::default()
            };
        });
        while store.fault().is_some() {
            sleep(LOOK_EVERY).await;
        }
    }
}

/// Reads the whole log, and returns what is wrong with it.
async fn examined(store: &Backend, told: &watch::Sender<LogCheck>) -> Vec<Finding> {
    let tell = |checked| told.send_modify(|check| check.checked = checked);
    let examined = examine_telling(store, &MemoryReadModel::default(), 0, &[], tell).await;
    match examined {
        Ok(examined) => examined.findings.kept,
        Err(error) => {
            tracing::warn!(%error, "the check of the log could not go on");
            vec![Finding {
                part: "log",
                sentence: error.to_string(),
            }]
        }
    }
}

/// Tells of damage that the operator has to look at.
fn tell(told: &watch::Sender<LogCheck>, found: Vec<Finding>) {
    for Finding { part, sentence } in &found {
        tracing::error!(part, sentence, "the check of the log found damage");
    }
    told.send_modify(|check| {
        check.is_over = true;
        check.found = found.into_iter().next();
    });
}
