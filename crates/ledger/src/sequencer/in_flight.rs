//! The batch that is being written while the next one is decided on top of it.
//!
//! There is one at a time. Nothing of it is published or answered before it is durable, and what was
//! decided on top of it goes with it when it fails.

use super::batch::Reply;
use crate::answer::Accepted;
use crate::draft::{Decided, Unwritten};
use crate::port::{Commit, LedgerStore};
use std::sync::Arc;
use tokio::task::JoinSet;
use x811_eventlog::AppendError;
use x811_world::World;
use x811_world::projection::Changes;

/// A batch on its way to the disk.
pub(super) struct InFlight {
    /// The one task that writes; dropped with this, so that no write outlives its sequencer.
    writing: JoinSet<Result<(), AppendError>>,
    outcome: Option<Result<(), AppendError>>,
    commit: Commit,
    world: World,
    unwritten: Arc<Unwritten>,
    answers: Vec<Accepted>,
    changes: Changes,
    replies: Vec<Reply>,
    begun_ms: u64,
}

/// A batch whose writing has ended, well or not.
pub(super) struct Written {
    pub(super) outcome: Result<(), AppendError>,
    pub(super) commit: Commit,
    pub(super) world: World,
    pub(super) answers: Vec<Accepted>,
    pub(super) changes: Changes,
    pub(super) replies: Vec<Reply>,
    pub(super) begun_ms: u64,
}

impl InFlight {
    /// Begins to write what was decided.
    pub(super) fn begin<S: LedgerStore>(
        store: &Arc<S>,
        decided: Decided,
        replies: Vec<Reply>,
        begun_ms: u64,
    ) -> InFlight {
        let (store, commit) = (store.clone(), decided.commit.clone());
        let mut writing = JoinSet::new();
        writing.spawn(async move { store.commit(commit).await.map(|_| ()) });
        InFlight {
            writing,
            outcome: None,
            commit: decided.commit,
            world: decided.world,
            unwritten: Arc::new(decided.unwritten),
            answers: decided.answers,
            changes: decided.changes,
            replies,
            begun_ms,
        }
    }

    /// The state once it is durable.
    pub(super) fn world(&self) -> &World {
        &self.world
    }

    /// What it adds to the indexes.
    pub(super) fn unwritten(&self) -> Arc<Unwritten> {
        self.unwritten.clone()
    }

    /// Takes note of what was seen since, which is no record.
    pub(super) fn follow(&mut self, world: World) {
        self.world = world;
    }

    /// Whether the writing has ended.
    pub(super) fn is_written(&self) -> bool {
        self.outcome.is_some()
    }

    /// What became of it; to be asked once it is written.
    pub(super) fn end(self) -> Written {
        let unknown = || AppendError::OutcomeUnknown {
            expected_size: self.commit.expected_size,
            source: "the writer gave no answer".into(),
        };
        Written {
            outcome: self.outcome.unwrap_or_else(|| Err(unknown())),
            commit: self.commit,
            world: self.world,
            answers: self.answers,
            changes: self.changes,
            replies: self.replies,
            begun_ms: self.begun_ms,
        }
    }
}

/// Waits until the batch that is being written is; for ever when there is none.
pub(super) async fn written(in_flight: &mut Option<InFlight>) {
    let Some(in_flight) = in_flight else {
        return std::future::pending().await;
    };
    if in_flight.is_written() {
        return;
    }
    in_flight.outcome = match in_flight.writing.join_next().await {
        Some(Ok(outcome)) => Some(outcome),
        // A panic of the store: what it left is read from the log.
        Some(Err(error)) => Some(Err(AppendError::OutcomeUnknown {
            expected_size: in_flight.commit.expected_size,
            source: Box::new(error),
        })),
        None => None,
    };
}
