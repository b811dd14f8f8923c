//! `x811 export`: a log as one file that anybody can audit offline, or as a folder of tiles.

mod tiles;

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use x811_ledger::export::{Trailer, WriteError, write};
use x811_store::{FileCheckpointStore, SqliteStore};

use crate::audit::unopened;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The ledger's data directory; the ledger may be running
    data_dir: PathBuf,
    /// The file to write, whole or not at all; `-` for standard output
    #[arg(short, long, value_name = "FILE", required_unless_present = "tiles")]
    output: Option<PathBuf>,
    /// Instead, a new folder for the records under the last signed checkpoint, in the layout that
    /// verifiers of transparency logs read (C2SP tlog-tiles); without message bodies
    #[arg(long, value_name = "DIR", conflicts_with = "output")]
    tiles: Option<PathBuf>,
    /// Where the ledger keeps that checkpoint (the data directory's path and -checkpoint)
    #[arg(long, env = "X811_CHECKPOINT_DIR", value_name = "DIR")]
    checkpoint_dir: Option<PathBuf>,
}

#[cfg(test)]
impl Args {
    pub(crate) fn new(data_dir: &Path, output: &Path) -> Args {
        Args {
            data_dir: data_dir.to_owned(),
            output: Some(output.to_owned()),
            tiles: None,
            checkpoint_dir: None,
        }
    }
}

/// Exports the log as it is now.
pub(crate) async fn run(args: Args, json: bool, out: &mut Out) -> Result<Exit, Failure> {
    let target = match (&args.output, &args.tiles) {
        (_, Some(folder)) => return in_tiles(&args, folder, out).await,
        (Some(file), None) => file,
        (None, None) => {
            let message = "name a file with -o, or a folder with --tiles";
            return Err(Failure::usage(message));
        }
    };
    let to_standard_output = target == Path::new("-");
    if to_standard_output && json {
        return Err(Failure::usage(
            "--json and -o - would both write to standard output: name a file",
        ));
    }
    let store = SqliteStore::open_read_only(&args.data_dir)
        .await
        .map_err(unopened)?;
    if to_standard_output {
        // The export itself, byte for byte; nothing else may be printed.
        write(&store, &mut BufWriter::new(io::stdout()))
            .await
            .map_err(unwritten)?;
        return Ok(Exit::Ok);
    }
    let trailer = to_file(&store, target).await?;
    out.report(&Exported {
        file: target.clone(),
        trailer,
    });
    Ok(Exit::Ok)
}

async fn in_tiles(args: &Args, folder: &Path, out: &mut Out) -> Result<Exit, Failure> {
    let beside = || FileCheckpointStore::beside(&args.data_dir);
    let checkpoint_dir = args.checkpoint_dir.clone().or_else(beside).ok_or_else(|| {
        Failure::usage("the data directory has no name to look beside: give --checkpoint-dir")
    })?;
    let store = SqliteStore::open_read_only(&args.data_dir)
        .await
        .map_err(unopened)?;
    tiles::run(&store, &checkpoint_dir, folder, out).await?;
    Ok(Exit::Ok)
}

/// Writes beside the target and renames, so that the target is never half an export.
async fn to_file(store: &SqliteStore, target: &Path) -> Result<Trailer, Failure> {
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let part = target.with_file_name(name);
    let written = match File::create(&part) {
        Ok(file) => write_durably(store, file).await,
        Err(error) => Err(error.into()),
    };
    let renamed = written.and_then(|trailer| {
        fs::rename(&part, target)?;
        Ok(trailer)
    });
    renamed.map_err(|error| {
        // What is left of it is of no use; that it cannot be removed changes nothing.
        let _ = fs::remove_file(&part);
        unwritten(error)
    })
}

async fn write_durably(store: &SqliteStore, file: File) -> Result<Trailer, WriteError> {
    let mut file = BufWriter::new(file);
    let trailer = write(store, &mut file).await?;
    file.flush()?;
    file.get_ref().sync_all()?;
    Ok(trailer)
}

fn unwritten(error: WriteError) -> Failure {
    let code = match &error {
        WriteError::Write(_) | WriteError::Json(_) => "file",
        WriteError::Read(_)
        | WriteError::Empty
        | WriteError::NotOpened
        | WriteError::CutShort { .. }
        | WriteError::BodyLine { .. } => "log",
    };
    Failure::local(code, error.to_string())
}

#[derive(Serialize)]
struct Exported {
    file: PathBuf,
    #[serde(flatten)]
    trailer: Trailer,
}

impl Report for Exported {
    fn print(&self, out: &mut Out) {
        out.heading(
            Tone::Good,
            format_args!("exported to {}", self.file.display()),
        );
        out.fields(&[
            ("records", self.trailer.size.to_string()),
            ("head", self.trailer.head.to_string()),
            ("root", self.trailer.root.to_string()),
        ]);
        out.gap();
        out.line(format_args!(
            "check it anywhere: x811 audit {} --expect-head {}",
            self.file.display(),
            self.trailer.head
        ));
    }
}
