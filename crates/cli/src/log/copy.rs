//! `x811 log copy`: a log goes on in another place.
//!
//! The order makes it safe to be killed anywhere. The old place is closed before the new one is
//! opened, both in the stores themselves, and while neither is open the same command goes on:
//!
//! | what holds | old place | new place |
//! |---|---|---|
//! | records, bodies, indexes, nonces are copied and compared; the checkpoint is written | open, owned by this process | being copied: no ledger starts |
//! | the old place is closed | moved | being copied |
//! | the keys are copied, the new place is opened | moved | open |
//!
//! With `--from-database` the log is read from the database beside its stream, whatever became of the
//! stream (docs/decisions/0300). The old place is closed in that database, as in any other copy.

mod signature;
mod stream_end;

use std::path::{Path, PathBuf};

use serde::Serialize;
use x811_eventlog::{Checkpoint, Hash};
use x811_ledger::checkpoint::CheckpointStore as _;
use x811_ledger::copy::{Copied, copy};
use x811_store::{
    Backend, Database, FileCheckpointStore, LogUrl, NoCheckpointDir, OpenError, Sealed, StoreUrl,
};

use stream_end::StreamEnd;

use super::notes::{self, COPYING, MOVED};
use crate::backup::{examined, files};
use crate::data_dir::{expect_directory, open_store, unopened};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The ledger's data directory; its ledger must have stopped, unless --read-only-copy
    from: PathBuf,
    /// The new data directory; must not exist yet, unless the same copy was interrupted
    to: PathBuf,
    /// Where the new place keeps its log: a PostgreSQL database with no log in it, postgres://…; a
    /// password may be in PGPASSWORD or ~/.pgpass. Without it the log is in the new data directory
    #[arg(long, value_name = "URL")]
    store_url: Option<StoreUrl>,
    /// A cluster of EventStoreDB or KurrentDB for the log itself, kurrentdb://…, with the database of
    /// --store-url beside it
    #[arg(long, value_name = "URL", requires = "store_url")]
    store_log_url: Option<LogUrl>,
    /// Where the ledger keeps its last checkpoint, before and after (without it: beside each of the data
    /// directories, by their names and -checkpoint)
    #[arg(long, env = "X811_CHECKPOINT_DIR", value_name = "DIR")]
    checkpoint_dir: Option<PathBuf>,
    /// Leave the old place as it is, running or not, and make a copy that can be read, exported and
    /// audited, and never written to: it gets no keys
    #[arg(long)]
    read_only_copy: bool,
    /// Read a log in EventStoreDB or KurrentDB from the database beside its stream, which has every record:
    /// where the stream lost its first records, was deleted, or its cluster is gone
    #[arg(long)]
    from_database: bool,
}

pub(crate) async fn run(args: Args, out: &mut Out) -> Result<Exit, Failure> {
    expect_directory(&args.from)?;
    let from = notes::real(&args.from)?;
    if args.from_database && !Backend::is_in_stream(&from).map_err(unopened)? {
        return Err(in_no_stream(&args.from));
    }
    begin(&args.to, &from)?;
    let to = notes::real(&args.to)?;
    let work = Work { args, from, to };
    let old = work.old_place().await?;
    let new = work.new_place().await?;
    let made = work.copy(&old, &new, out).await?;
    if work.args.read_only_copy {
        new.entomb().await.map_err(unwritten)?;
    } else {
        work.go_on_there(&old.store, &new).await?;
    }
    new.close().await;
    old.store.close().await;
    notes::remove(&work.to, COPYING)?;
    out.report(&Moved::of(work, made));
    Ok(Exit::Ok)
}

/// A log that was never in a stream has no database beside one.
fn in_no_stream(from: &Path) -> Failure {
    let from = from.display();
    let message = format!("the log of {from} is not in EventStoreDB or KurrentDB");
    Failure::local("no_stream", message)
        .hint("leave --from-database out: a log in SQLite or PostgreSQL is read as it is")
}

/// Makes the new directory, or finds that a copy to it from the same place was interrupted.
fn begin(to: &Path, from: &Path) -> Result<(), Failure> {
    if to.exists() && notes::read(to, COPYING)?.as_deref() == Some(from) {
        return Ok(());
    }
    files::make_directory(to)?;
    notes::write(to, COPYING, from)
}

/// The paths by which both places are always found.
struct Work {
    args: Args,
    from: PathBuf,
    to: PathBuf,
}

/// The old place, opened.
struct OldPlace {
    store: Backend,
    /// True if this process is its writer.
    is_owned: bool,
}

/// A copy that was made and compared.
struct MadeCopy {
    copied: Copied,
    did: String,
    /// Records under the last signed checkpoint; absent where there is none.
    signed: Option<u64>,
    /// True if the new place has that checkpoint.
    has_checkpoint: bool,
    /// Absent unless the log was read from the database beside its stream.
    stream: Option<StreamEnd>,
}

impl Work {
    /// Opens the old place as its only writer, so that nobody changes it meanwhile. A place that is closed
    /// already is read, if it was closed for this very copy.
    async fn old_place(&self) -> Result<OldPlace, Failure> {
        let read = |store| OldPlace {
            store,
            is_owned: false,
        };
        if self.args.read_only_copy {
            return self.read_old().await.map(read);
        }
        let error = match self.own_old().await {
            Ok(store) => {
                return Ok(OldPlace {
                    store,
                    is_owned: true,
                });
            }
            Err(error) => error,
        };
        let is_ours = error.sealed() == Some(Sealed::Moved)
            && notes::read(&self.from, MOVED)?.as_ref() == Some(&self.to);
        match is_ours {
            true => self.read_old().await.map(read),
            false => Err(unopened(error)),
        }
    }

    async fn own_old(&self) -> Result<Backend, OpenError> {
        if self.args.from_database {
            return Backend::open_beside_only(&self.from).await;
        }
        match Backend::open_noted(&self.from).await {
            // The signed checkpoint decides which of the two is right.
            Err(error) if error.is_difference() => Backend::open_stream_only(&self.from).await,
            opened => opened,
        }
    }

    async fn read_old(&self) -> Result<Backend, Failure> {
        match self.args.from_database {
            true => Backend::read_beside_only(&self.from)
                .await
                .map_err(unopened),
            false => open_store(&self.from).await,
        }
    }

    async fn new_place(&self) -> Result<Backend, Failure> {
        let database = self.args.store_url.clone();
        let log = self.args.store_log_url.clone();
        let database = database.map(|url| Database {
            log,
            ..Database::at(url)
        });
        let opened = Backend::open_for_copy(&self.to, database.as_ref()).await;
        opened.map_err(unopened)
    }

    /// Copies and compares everything, the last checkpoint too.
    async fn copy(
        &self,
        old: &OldPlace,
        new: &Backend,
        out: &mut Out,
    ) -> Result<MadeCopy, Failure> {
        let unread = |error: &dyn std::fmt::Display| {
            Failure::local("checkpoint", error.to_string())
                .hint("say where the ledger keeps it: --checkpoint-dir DIR")
        };
        let file = FileCheckpointStore::at(&self.checkpoint_dir(&self.from)?);
        let places = old.store.checkpoints(file);
        let note = places.load().await;
        let note = note.map_err(|error| unread(&error))?;
        let signed = note.as_deref().map(Checkpoint::claimed).transpose();
        let signed = signed.map_err(|error| unread(&error))?;
        let size = signed.as_ref().map(|signed| signed.size);
        let stream = match self.args.from_database {
            true => Some(self.stream_end(old, size).await?),
            false => None,
        };
        let shows = out.shows_progress();
        let copied = copy(&old.store, new, signed.as_ref(), |size| {
            if shows {
                out.progress(format_args!("{size} records copied"));
            }
        });
        let copied = copied.await.map_err(|error| {
            Failure::local("copy", error.to_string())
                .hint("the log was not moved; the same command goes on where it was")
        })?;
        // From the copy alone: replayed, every index entry looked up, every body hashed.
        let found = examined(new, &self.to, false).await?;
        if (found.size, found.head_hash) != (copied.head.size, copied.head.hash) {
            return Err(Failure::internal("the copy changed while it was examined"));
        }
        // The row of a database is restored with its log: alone it makes no host a writer.
        let keeps = self.args.read_only_copy || places.is_on_host();
        let has_checkpoint = keeps && note.is_some();
        if let Some(note) = note {
            signature::verify(&note, new, found.size).await?;
            if keeps {
                self.keep_checkpoint(new, note).await?;
            }
        }
        Ok(MadeCopy {
            copied,
            did: found.did,
            signed: size,
            has_checkpoint,
            stream,
        })
    }

    async fn stream_end(&self, old: &OldPlace, signed: Option<u64>) -> Result<StreamEnd, Failure> {
        let signed = signed.unwrap_or_default();
        StreamEnd::compare(&self.from, &old.store, old.is_owned, signed).await
    }

    /// The checkpoint in all its new places, so that the new place never goes back behind it either.
    async fn keep_checkpoint(&self, new: &Backend, note: String) -> Result<(), Failure> {
        let failed = |error: String| Failure::local("checkpoint", error);
        let directory = self.checkpoint_dir(&self.to)?;
        let file = FileCheckpointStore::open(&directory);
        let file = file.map_err(|error: NoCheckpointDir| failed(error.to_string()))?;
        let old_file = FileCheckpointStore::at(&self.checkpoint_dir(&self.from)?);
        let is_adopted = old_file.is_adopted().await;
        let is_adopted = is_adopted.map_err(|error| failed(error.to_string()))?;
        let places = new.checkpoints(file.clone());
        let held = places.load().await;
        let held = held.map_err(|error| failed(error.to_string()))?;
        let kept = places.compare_and_swap(held, note).await;
        kept.map_err(|error| failed(error.to_string()))?;
        match is_adopted {
            true => file.note_adoption().await,
            false => Ok(()),
        }
        .map_err(|error| failed(error.to_string()))
    }

    fn checkpoint_dir(&self, data_dir: &Path) -> Result<PathBuf, Failure> {
        let beside = || FileCheckpointStore::beside(data_dir);
        let named = self.args.checkpoint_dir.clone().or_else(beside);
        named.ok_or_else(|| Failure::usage("the directory has no name to look beside"))
    }

    /// Closes the old place, and only then opens the new one.
    async fn go_on_there(&self, old: &Backend, new: &Backend) -> Result<(), Failure> {
        let is_closed = notes::read(&self.from, MOVED)?.as_ref() == Some(&self.to);
        if !is_closed {
            notes::write(&self.from, MOVED, &self.to)?;
        }
        match old.entomb().await {
            Ok(()) => {}
            // It was opened for reading, as it is closed already.
            Err(_) if is_closed && self.is_closed().await => {}
            Err(error) => return Err(unwritten(error)),
        }
        files::replace_keys(&self.from, &self.to)?;
        new.finish_copy().await.map_err(unwritten)
    }

    /// Whether the store itself says that the old place is closed.
    async fn is_closed(&self) -> bool {
        let opened = self.own_old().await;
        matches!(opened, Err(error) if error.sealed() == Some(Sealed::Moved))
    }
}

fn unwritten(error: x811_eventlog::AppendError) -> Failure {
    Failure::local("copy", error.to_string())
        .hint("the log goes on in neither place yet: run the same command again")
}

#[derive(Debug, Serialize)]
struct Moved {
    from: PathBuf,
    to: PathBuf,
    did: String,
    size: u64,
    /// Records that an interrupted copy had brought.
    found: u64,
    head_hash: Hash,
    root: Hash,
    read_only: bool,
    /// Records under the last signed checkpoint; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    signed: Option<u64>,
    /// Whether the new place has that checkpoint.
    has_checkpoint: bool,
    /// Absent unless the log was read from the database beside its stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    stream: Option<StreamEnd>,
}

impl Moved {
    fn of(work: Work, made: MadeCopy) -> Moved {
        let copied = made.copied;
        Moved {
            from: work.args.from,
            to: work.args.to,
            did: made.did,
            size: copied.head.size,
            found: copied.found,
            head_hash: copied.head.hash,
            root: copied.root,
            read_only: work.args.read_only_copy,
            signed: made.signed,
            has_checkpoint: made.has_checkpoint,
            stream: made.stream,
        }
    }

    /// Returns the records that a signature covers, of a log that was read from a database.
    fn coverage(&self) -> String {
        match self.signed {
            None => "none is left: no signature covers a record".to_owned(),
            Some(signed) if signed == self.size => "valid, over all of them".to_owned(),
            Some(signed) => format!("valid, over the first {signed}; no signature covers the rest"),
        }
    }
}

impl Report for Moved {
    fn print(&self, out: &mut Out) {
        let (from, to) = (self.from.display(), self.to.display());
        let heading = match self.read_only {
            true => format!("copied to {to}, for reading only"),
            false => format!("moved to {to}"),
        };
        out.heading(Tone::Good, heading);
        let found = match self.found {
            0 => "replayed from the copy".to_owned(),
            found => format!("{found} of them found there; replayed from the copy"),
        };
        let mut fields = vec![
            ("ledger", self.did.clone()),
            ("records", format!("{}, {found}", self.size)),
            ("head", self.head_hash.to_string()),
            ("root", self.root.to_string()),
        ];
        if let Some(stream) = &self.stream {
            fields.push(("stream", stream.sentence(self.size)));
            fields.push(("checkpoint", self.coverage()));
        }
        out.fields(&fields);
        if !self.read_only {
            out.line(format_args!(
                "{from} is closed: its log is never written to again, and its keys must go."
            ));
            if self.stream.as_ref().is_some_and(StreamEnd::may_have_more) {
                out.line("Records that only the stream has were acknowledged to nobody, unless the database was restored");
                out.line("from an older copy.");
            }
            if !self.has_checkpoint {
                out.line(format_args!(
                    "This host has no checkpoint of it, so {to} has none: the next start says what to do."
                ));
            }
            out.line(format_args!(
                "Next: start the ledger with {to}, then remove {from}/keys"
            ));
        }
    }
}
