//! `x811 doctor`: whether everything a ledger keeps beside its log is what the log says, and what
//! to do when it is not.

mod checkpoint;
pub(crate) mod prefix;
mod unsigned;

use std::path::{Path, PathBuf};

use serde::Serialize;
use x811_ledger::doctor::{DoctorError, Examined, Finding, examine};
use x811_ledger::port::ReadModel as _;
use x811_ledger::snapshot::{self, SnapshotStore as _};
use x811_store::{
    Access, Backend, FileCheckpointStore, FileFault, FileSnapshots, OpenError, ReadRows,
    RowDifference,
};

use checkpoint::{FoundCheckpoint, Signed};
use prefix::Prefix;

use crate::data_dir::{open_store, unopened};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};

/// Most findings that are shown to a person; `--json` lists them all.
const SHOWN_FINDINGS: usize = 20;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The ledger's data directory; the ledger may be running
    data_dir: PathBuf,
    /// Where the ledger keeps its last signed checkpoint (the data directory's path and -checkpoint)
    #[arg(long, value_name = "DIR")]
    checkpoint_dir: Option<PathBuf>,
    /// Put the rows that were rebuilt in place of wrong or damaged ones; the ledger must be stopped
    #[arg(long)]
    repair: bool,
    /// Where the log is damaged: write what can be read of it, from its first record on, as an export
    #[arg(long, value_name = "FILE")]
    write_readable: Option<PathBuf>,
}

/// Examines; [`Exit::Findings`] when anything is wrong and stays so.
pub(crate) async fn run(args: Args, out: &mut Out) -> Result<Exit, Failure> {
    let checkpoint_dir = args.checkpoint_dir.clone();
    let checkpoint_dir = checkpoint_dir.or_else(|| FileCheckpointStore::beside(&args.data_dir));
    let found_checkpoint = FoundCheckpoint::look(&args.data_dir, args.checkpoint_dir).await;
    let store = open_store(&args.data_dir).await?;
    let work = tempfile::tempdir().map_err(|error| {
        Failure::local(
            "no_room",
            format!("no temporary directory can be made: {error}"),
        )
    })?;
    let (found, due) = (work.path().join("found"), work.path().join("due"));
    let rows = FoundRows::copy(&args.data_dir, &found).await?;
    let rebuilt = ReadRows::open(&due).await.map_err(unopened)?;
    let snapshots = FileSnapshots::of(&args.data_dir);
    let sizes = snapshots.sizes();
    let sizes = sizes.map_err(|error| unlisted(&args.data_dir, error))?;
    let mut stops = sizes.clone();
    stops.extend(found_checkpoint.as_ref().and_then(FoundCheckpoint::size));
    let mut examined = examine(&store, &rebuilt, rows.rebuilt_to(), &stops)
        .await
        .map_err(unexamined)?;
    examined
        .findings
        .kept
        .extend(form(&store, &args.data_dir).await);
    let is_read = !examined.findings.kept.iter().any(|one| one.part == "log");
    let mut checkpoint_findings = Vec::new();
    let signed = found_checkpoint
        .filter(|_| is_read)
        .map(|found| found.compare(&examined, &mut checkpoint_findings));
    if is_read && checkpoint_findings.is_empty() {
        checkpoint_findings.extend(unsigned::finding(&store, checkpoint_dir.as_deref()).await);
    }
    let snapshot_findings = snapshot_findings(&snapshots, &sizes, &examined);
    examined.findings.kept.extend(snapshot_findings);
    rebuilt.close().await;
    let mut diagnosis = Diagnosis {
        data_dir: args.data_dir.clone(),
        place: LogPlace::of(&store),
        records: examined.size,
        rows_reflect: rows.size(),
        readable: None,
        unneeded: args.write_readable.clone().filter(|_| is_read),
        snapshots_checked: sizes.len(),
        checkpoint: signed,
        findings: examined.findings.kept,
        findings_left_out: examined.findings.left_out,
        rows_repaired: false,
    };
    let is_log_sound = diagnosis.findings.iter().all(|one| one.part == "snapshots");
    diagnosis.findings.extend(checkpoint_findings);
    diagnosis.add_permissions();
    let may_repair = args.repair && is_log_sound;
    match rows {
        FoundRows::None => {}
        FoundRows::Damaged(why) => diagnosis.replace_rows(&due, why, may_repair)?,
        FoundRows::Some(_) if is_read => {
            diagnosis.compare_rows(&found, &due, may_repair).await?;
        }
        FoundRows::Some(_) => {}
    }
    if !is_read {
        let target = args.write_readable.as_deref();
        diagnosis.readable = Some(Prefix::read(&store, target).await?);
    }
    let is_well = diagnosis.findings.is_empty();
    out.report(&diagnosis);
    Ok(if is_well { Exit::Ok } else { Exit::Findings })
}

/// The rows that were found.
enum FoundRows {
    /// There are none: the next start writes them.
    None,
    /// A copy of them, which reflects so many records.
    Some(u64),
    /// They cannot be read, or are not what SQLite wrote.
    Damaged(String),
}

impl FoundRows {
    /// Copies the rows as they are at one moment.
    async fn copy(data_dir: &Path, target: &Path) -> Result<FoundRows, Failure> {
        let damaged = |why: String| Ok(FoundRows::Damaged(why));
        let rows = match ReadRows::open_read_only(data_dir).await {
            Ok(rows) => rows,
            // Rows may be thrown away at any time: the next start writes them again.
            Err(OpenError::NoLedger { .. }) if !data_dir.join("read.db").exists() => {
                return Ok(FoundRows::None);
            }
            Err(error @ OpenError::NoLedger { .. }) => {
                return damaged(format!("read.db has no tables of ours: {error}"));
            }
            Err(error) if error.is_damage() => return damaged(error.to_string()),
            Err(error) => return Err(unopened(error)),
        };
        match rows.problems(data_dir).await {
            Ok(problems) if problems.is_empty() => {}
            Ok(problems) => return damaged(problems.join("; ")),
            Err(error) if error.is_damage_of_rows() => return damaged(error.to_string()),
            Err(error) => return Err(Failure::local("rows", error.to_string())),
        }
        match rows.copy_to(target).await {
            Err(error) if error.is_damage() => return damaged(error.to_string()),
            copied => copied.map_err(unopened)?,
        }
        let copy = ReadRows::open_read_only(target).await.map_err(unopened)?;
        let size = copy.applied_size().await;
        copy.close().await;
        match size {
            Ok(size) => Ok(FoundRows::Some(size)),
            Err(error) => damaged(error.to_string()),
        }
    }

    fn size(&self) -> Option<u64> {
        match self {
            FoundRows::Some(size) => Some(*size),
            FoundRows::None | FoundRows::Damaged(_) => None,
        }
    }

    /// Of how many records rows are written beside them.
    fn rebuilt_to(&self) -> u64 {
        match self {
            FoundRows::None => 0,
            FoundRows::Some(size) => *size,
            FoundRows::Damaged(_) => u64::MAX,
        }
    }
}

/// Returns findings about the form of `ledger.db` and its write-ahead log, or about a database beside a
/// stream that has other records.
async fn form(store: &Backend, data_dir: &Path) -> Vec<Finding> {
    let part = match LogPlace::of(store) {
        LogPlace::Directory => "ledger.db",
        LogPlace::Database | LogPlace::Stream => "database",
    };
    let problems = match store.problems(data_dir).await {
        Ok(problems) => problems,
        Err(error) => vec![error.to_string()],
    };
    let finding = |sentence| Finding { part, sentence };
    problems.into_iter().map(finding).collect()
}

fn unlisted(data_dir: &Path, error: std::io::Error) -> Failure {
    let fault = FileFault::new(&data_dir.join("snapshots"), error);
    Failure::local(
        "snapshots",
        format!("the snapshots cannot be listed: {fault}"),
    )
}

/// What is wrong with the snapshots.
fn snapshot_findings(
    snapshots: &FileSnapshots,
    sizes: &[u64],
    examined: &Examined,
) -> Vec<Finding> {
    let faults = sizes.iter().filter_map(|size| {
        let sentence = snapshot_faults(snapshots, *size, examined)?;
        Some(Finding {
            part: "snapshots",
            sentence: format!("snapshots/{size}.x811: {sentence}"),
        })
    });
    faults.collect()
}

/// What is wrong with the snapshot of `size`, against the world that the log adds up to there.
fn snapshot_faults(snapshots: &FileSnapshots, size: u64, examined: &Examined) -> Option<String> {
    let Some(replayed) = examined.worlds.get(&size) else {
        return Some("the log does not reach so far".to_owned());
    };
    let (Some(identity), Some(keyring)) = (replayed.identity(), replayed.keyring()) else {
        return Some("it is of a log that had not begun".to_owned());
    };
    let bytes = match snapshots.load(size) {
        Ok(bytes) => bytes,
        Err(error) => return Some(error.to_string()),
    };
    match snapshot::decode(&bytes, identity, keyring.in_force().envelope) {
        Ok(snapshot) => snapshot::check(replayed, &snapshot)
            .first()
            .map(ToString::to_string),
        Err(rejection) => Some(rejection.to_string()),
    }
}

fn unexamined(error: DoctorError) -> Failure {
    Failure::local("log", error.to_string())
        .hint("`x811 audit` of the directory says how much of the log can be read")
}

fn row_finding(difference: &RowDifference) -> Finding {
    let RowDifference {
        table,
        unfounded,
        missing,
        example,
    } = difference;
    Finding {
        part: "rows",
        sentence: format!(
            "{table}: {unfounded} rows are not what the log says, {missing} that it calls for are \
             missing; one of them: {example}"
        ),
    }
}

#[derive(Debug, Serialize)]
struct Diagnosis {
    data_dir: PathBuf,
    #[serde(skip)]
    place: LogPlace,
    records: u64,
    /// Absent when there are no rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    rows_reflect: Option<u64>,
    snapshots_checked: usize,
    /// Absent where the log could not be read, or there is no place to look.
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoint: Option<Signed>,
    /// Only where the log is damaged.
    #[serde(skip_serializing_if = "Option::is_none")]
    readable: Option<Prefix>,
    /// The file that was not written, because the whole log can be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    unneeded: Option<PathBuf>,
    findings: Vec<Finding>,
    findings_left_out: u64,
    rows_repaired: bool,
}

impl Diagnosis {
    /// Compares the rows that were found with those that are due, and puts these in their place
    /// where they differ and that may be.
    async fn compare_rows(
        &mut self,
        found: &Path,
        due: &Path,
        may_repair: bool,
    ) -> Result<(), Failure> {
        let differences = ReadRows::differences(found, due).await;
        let differences = differences.map_err(|error| Failure::local("rows", error.to_string()))?;
        if may_repair && !differences.is_empty() {
            ReadRows::replace(&self.data_dir, due).map_err(unopened)?;
            self.rows_repaired = true;
        } else {
            self.findings.extend(differences.iter().map(row_finding));
        }
        Ok(())
    }

    /// Puts rows that were written again in place of damaged ones, where that may be.
    fn replace_rows(&mut self, due: &Path, why: String, may_repair: bool) -> Result<(), Failure> {
        if may_repair {
            ReadRows::replace(&self.data_dir, due).map_err(unopened)?;
            self.rows_repaired = true;
        } else {
            self.findings.push(Finding {
                part: "rows",
                sentence: format!("read.db is damaged: {why}"),
            });
        }
        Ok(())
    }

    /// Nothing of a ledger is for others on the machine.
    fn add_permissions(&mut self) {
        use std::os::unix::fs::PermissionsExt as _;
        for path in [&self.data_dir, &self.data_dir.join("keys")] {
            let Ok(metadata) = std::fs::metadata(path) else {
                continue;
            };
            if Access::of(&metadata) == Access::Others {
                let (path, mode) = (path.display(), metadata.permissions().mode() & 0o777);
                self.findings.push(Finding {
                    part: "permissions",
                    sentence: format!("{path} has mode {mode:o}: others on this machine get in"),
                });
            }
        }
    }
}

/// The kind of place that a log is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LogPlace {
    Directory,
    Database,
    Stream,
}

impl LogPlace {
    fn of(store: &Backend) -> LogPlace {
        if matches!(store, Backend::Sqlite(_)) {
            LogPlace::Directory
        } else if matches!(store, Backend::Postgres(..)) {
            LogPlace::Database
        } else {
            LogPlace::Stream
        }
    }

    /// Returns the remedy for records that are damaged, or a tree that is.
    fn of_damaged_log(self) -> &'static str {
        match self {
            LogPlace::Directory => {
                "run `x811 audit` on the directory to see what is damaged, then `x811 restore` a backup"
            }
            LogPlace::Database => {
                "run `x811 audit` on the directory to see what is damaged, then restore the database from \
                 a backup of its server"
            }
            LogPlace::Stream => {
                "run `x811 audit` on the directory to see what is damaged. The database beside the stream \
                 has every record: `x811 log copy FROM TO --from-database`"
            }
        }
    }

    /// Returns the remedy for index entries and bodies that are missing or wrong.
    fn of_damaged_index(self) -> &'static str {
        match self {
            LogPlace::Directory => {
                "ledger.db was changed by hand or is damaged: `x811 restore` a backup"
            }
            LogPlace::Database => {
                "the database was changed by hand or is damaged: restore it from a backup of its server"
            }
            LogPlace::Stream => {
                "the database beside the stream was changed by hand or is damaged: restore it from a \
                 backup of its server; the next start makes good what the stream has more"
            }
        }
    }
}

/// Returns the remedy for findings of a part.
fn remedy(part: &str, place: LogPlace) -> &'static str {
    match part {
        "rows" => {
            "stop the ledger, then run `x811 doctor --repair`: it puts the rebuilt rows in place. A \
             start does so by itself where they cannot be read"
        }
        "snapshots" => "delete the files named: a start without them replays more of the log",
        "checkpoint" => {
            "until that is settled the ledger does not start, or it would sign a fork of what it \
             signed before"
        }
        "unsigned" => {
            "see to the checkpoint's directory: it must exist, be mounted and writable, and have room. \
             Until the ledger stores the next checkpoint, the loss of these records could go unnoticed"
        }
        "permissions" => "run `chmod -R go-rwx` on the data directory",
        "database" => {
            "run `x811 log copy FROM TO`: it reads the stream, and the last signed checkpoint decides whether \
             that is the log. With --from-database it reads the database"
        }
        "log" | "tree" => place.of_damaged_log(),
        _ => place.of_damaged_index(),
    }
}

impl Report for Diagnosis {
    fn print(&self, out: &mut Out) {
        let data_dir = self.data_dir.display();
        out.heading(Tone::Plain, format_args!("doctor of {data_dir}"));
        let rows = match self.rows_reflect {
            Some(size) => format!("reflect {size} records; rebuilt beside them and compared"),
            None => "none; the next start writes them".to_owned(),
        };
        let mut fields = vec![
            ("log", format!("{} records, replayed", self.records)),
            (
                "indexes",
                "bodies, envelope ids, idempotency tags, claims, tree".to_owned(),
            ),
            ("rows", rows),
            (
                "snapshots",
                format!("{} compared with the replay", self.snapshots_checked),
            ),
        ];
        if let Some(signed) = &self.checkpoint {
            fields.push(("checkpoint", signed.sentence().to_owned()));
        }
        out.fields(&fields);
        out.gap();
        if let Some(file) = &self.unneeded {
            let file = file.display();
            out.line(format_args!(
                "{file} was not written: the whole log can be read, and `x811 export` writes it"
            ));
        }
        if self.rows_repaired {
            out.heading(Tone::Good, "repaired: the rows are the rebuilt ones now");
        }
        if self.findings.is_empty() {
            out.heading(Tone::Good, "well: nothing to do");
            return;
        }
        let count = self.findings.len() as u64 + self.findings_left_out;
        out.heading(Tone::Bad, format_args!("NOT WELL: {count} findings"));
        for finding in self.findings.iter().take(SHOWN_FINDINGS) {
            out.line(format_args!("  {}: {}", finding.part, finding.sentence));
        }
        let more = count.saturating_sub(SHOWN_FINDINGS as u64);
        if more > 0 {
            out.line(format_args!("  and {more} more; --json lists them"));
        }
        if let Some(readable) = &self.readable {
            readable.print(out, &self.data_dir);
        }
        out.gap();
        let mut parts: Vec<&str> = self.findings.iter().map(|finding| finding.part).collect();
        parts.dedup();
        for part in parts {
            out.line(format_args!("{part}: {}", remedy(part, self.place)));
        }
    }
}
