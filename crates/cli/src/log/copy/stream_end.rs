//! The end of a stream, compared with the database beside it (`x811 log copy --from-database`).
//!
//! A record is in the stream before it is in the database, and acknowledged after both. So the stream may
//! end with records that the database lacks: a start would take them over, and so does this.

use std::path::Path;

use serde::Serialize;
use x811_eventlog::{EventLog as _, Head, ReadError, Record};
use x811_ledger::copy::{bodies_named, commit_of};
use x811_ledger::port::LedgerStore as _;
use x811_store::Backend;

use crate::failure::Failure;

/// Most records that are stored in one commit: they stay under 1 MiB.
const PAGE: usize = 15;

/// A comparison of the stream's end with the database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub(super) enum StreamEnd {
    /// The last record of the stream is also in the database.
    Same {
        /// Records up to there.
        size: u64,
    },
    /// The stream had records that the database lacked, and they were stored there.
    TakenOver {
        /// Position of the first one.
        from: u64,
        /// Number of these records.
        records: u64,
    },
    /// The stream has records that the database lacks, and they were left out.
    LeftOut {
        /// Position of the first one.
        from: u64,
        /// Number of these records.
        records: u64,
        /// The reason for which they were left out.
        why: String,
    },
    /// The stream has another record there, and the last signed checkpoint covers the database's.
    Differs {
        /// Position of the record.
        position: u64,
    },
    /// The end of the stream cannot be read.
    Unread {
        /// The error of the cluster, or the state of the stream.
        why: String,
    },
}

impl StreamEnd {
    /// Compares the stream of the ledger in `from` with its `database`, and stores there what only the
    /// stream has if the database `is_owned`. The last checkpoint covers `signed` records.
    ///
    /// # Errors
    /// The two differ in a record that no checkpoint covers, or the database fails.
    pub(super) async fn compare(
        from: &Path,
        database: &Backend,
        is_owned: bool,
        signed: u64,
    ) -> Result<StreamEnd, Failure> {
        let stream = match Backend::read_stream_only(from).await {
            Ok(stream) => stream,
            Err(error) => {
                let why = error.to_string();
                return Ok(StreamEnd::Unread { why });
            }
        };
        let comparison = Comparison {
            stream: &stream,
            database,
            is_owned,
            signed,
        };
        let end = comparison.run().await;
        stream.close().await;
        end
    }

    /// Returns true if the stream may have records that are not in the copy.
    pub(super) fn may_have_more(&self) -> bool {
        match self {
            StreamEnd::LeftOut { .. } | StreamEnd::Unread { .. } => true,
            StreamEnd::Same { .. } | StreamEnd::TakenOver { .. } | StreamEnd::Differs { .. } => {
                false
            }
        }
    }

    /// Returns the comparison as a sentence, for a log of `size` records.
    pub(super) fn sentence(&self, size: u64) -> String {
        match self {
            StreamEnd::Same { size: end } if *end == size => {
                "it ends with the same record".to_owned()
            }
            StreamEnd::Same { size: end } => {
                format!("it ends after {end} of these records, with the same one")
            }
            StreamEnd::TakenOver { from, records } => format!(
                "its last {records} records, from position {from} on, were not in the database and were \
                 taken over"
            ),
            StreamEnd::LeftOut { from, records, why } => format!(
                "its last {records} records, from position {from} on, are not in the database and were \
                 left out: {why}"
            ),
            StreamEnd::Differs { position } => format!(
                "it has another record at position {position}; the last signed checkpoint covers the \
                 database's"
            ),
            StreamEnd::Unread { why } => format!("its end cannot be read: {why}"),
        }
    }
}

struct Comparison<'a> {
    stream: &'a Backend,
    database: &'a Backend,
    is_owned: bool,
    signed: u64,
}

impl Comparison<'_> {
    async fn run(&self) -> Result<StreamEnd, Failure> {
        let end = match self.stream.head().await {
            Ok(end) => end,
            Err(error) => {
                let why = reason(&error);
                return Ok(StreamEnd::Unread { why });
            }
        };
        let Some(last) = end.size.checked_sub(1) else {
            let why = "the cluster shows no record of it: it was deleted, or its metadata hides it";
            let why = why.to_owned();
            return Ok(StreamEnd::Unread { why });
        };
        let known = self.database.head().await.map_err(unreadable)?;
        if end.size > known.size {
            return self.take_over(known, end).await;
        }
        let same = self.database.read(last, 1).await.map_err(unreadable)?;
        match same.first().map(Record::hash) == Some(end.hash) {
            true => Ok(StreamEnd::Same { size: end.size }),
            false => self.differs(last),
        }
    }

    /// Stores what the stream has behind `known`, up to its `end`.
    async fn take_over(&self, known: Head, end: Head) -> Result<StreamEnd, Failure> {
        let mut reached = known;
        while reached.size < end.size {
            let left_out = |why: String| StreamEnd::LeftOut {
                from: reached.size,
                records: end.size - reached.size,
                why,
            };
            let most = usize::try_from(end.size - reached.size).unwrap_or(PAGE);
            let page = match self.stream.read(reached.size, most.min(PAGE)).await {
                Ok(page) => page,
                Err(error) => return Ok(left_out(reason(&error))),
            };
            let Some(first) = page.first() else {
                return Ok(left_out("the cluster does not show them".to_owned()));
            };
            if first.prev() != reached.hash {
                return self.differs(reached.size.saturating_sub(1));
            }
            if !self.is_owned {
                let why = "a copy for reading changes nothing in the old place";
                return Ok(left_out(why.to_owned()));
            }
            match self.store(page).await? {
                Ok(head) => reached = head,
                Err(position) => {
                    return Ok(left_out(format!(
                        "the body of the record at {position} is not in the database"
                    )));
                }
            }
        }
        Ok(StreamEnd::TakenOver {
            from: known.size,
            records: end.size - known.size,
        })
    }

    /// Stores the next records with their index entries and the bodies that were staged for them. Returns
    /// the first position whose body was not, where nothing is stored.
    async fn store(&self, records: Vec<Record>) -> Result<Result<Head, u64>, Failure> {
        let failed = |error: String| Failure::local("log", error);
        let named = bodies_named(&records).map_err(|fault| failed(fault.to_string()))?;
        let bodies = self.database.staged_bodies(&named).await;
        let bodies = bodies.map_err(|error| failed(error.to_string()))?;
        let mut missing = named.iter().map(|(position, _)| *position);
        if let Some(position) = missing.find(|position| !bodies.contains_key(position)) {
            return Ok(Err(position));
        }
        let tree = self.database.frontier().await.map_err(unreadable)?;
        let tree = tree.as_ref().map(|(_, frontier)| frontier.as_slice());
        let commit =
            commit_of(tree, records, &bodies).map_err(|error| failed(error.to_string()))?;
        let committed = self.database.commit(commit).await;
        committed.map(Ok).map_err(|error| {
            failed(error.to_string()).hint("the same command goes on where it was")
        })
    }

    /// The two have different records at `position`.
    fn differs(&self, position: u64) -> Result<StreamEnd, Failure> {
        if position < self.signed {
            return Ok(StreamEnd::Differs { position });
        }
        let message = format!(
            "the stream and the database beside it have different records at position {position}, and the \
             last signed checkpoint covers neither: it is over {} records. One of the two was changed",
            self.signed
        );
        Err(Failure::local("differs", message).hint(
            "the log was not moved. Keep both; ask those who sent the last messages for their receipts, which \
             name the record that was acknowledged, and restore the one of the two that has it",
        ))
    }
}

fn unreadable(error: ReadError) -> Failure {
    Failure::local("log", error.to_string())
}

/// Returns the cause of an error, for a sentence that says already what cannot be read.
fn reason(error: &ReadError) -> String {
    match error {
        ReadError::Damaged(broken) => broken.to_string(),
        ReadError::Backend(source) => source.to_string(),
    }
}
