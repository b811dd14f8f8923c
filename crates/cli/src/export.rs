//! `x811 export`: a log, one interaction or one contract as a file that anybody can audit offline, or a log as a
//! folder of tiles.

mod log;
mod sink;
mod subject;
mod tiles;
mod until;

use std::io;
use std::path::{Path, PathBuf};

use x811_protocol::did::Did;
use x811_protocol::id::{AgreementId, ContractId, InteractionId, RoundId, SessionId};
use x811_protocol::stream::Subject;
use x811_store::FileCheckpointStore;

use crate::context::Context;
use crate::data_dir::open_store;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Out;
pub(crate) use log::{last_signed, written};

/// Options that name one subject.
const OF_ONE: [&str; 6] = [
    "interaction",
    "negotiation",
    "capabilities",
    "session",
    "agreement",
    "round",
];

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The ledger's data directory; the ledger may be running. With --interaction or --negotiation
    /// it may be left out: then the ledger is asked
    #[arg(required_unless_present_any = OF_ONE)]
    data_dir: Option<PathBuf>,
    /// The whole log (this is what happens without it)
    #[arg(long)]
    all: bool,
    /// Also the records behind the last signed checkpoint, up to the present end: nobody signed those,
    /// and an audit counts them apart. Without it the export waits for a checkpoint and ends there
    #[arg(long, conflicts_with_all = OF_ONE, conflicts_with = "tiles")]
    tail: bool,
    /// One interaction alone, and the streams that it rests on, each closed by a signature
    #[arg(long, value_name = "ID", conflicts_with_all = ["all", "tiles"])]
    interaction: Option<InteractionId>,
    /// One contract alone, as neg-UUID: its negotiation, and the streams that this rests on
    #[arg(
        long,
        value_name = "NEGOTIATION",
        value_parser = ContractId::from_public,
        conflicts_with_all = ["all", "tiles", "interaction"]
    )]
    negotiation: Option<ContractId>,
    /// What one agent says that it can do, every revision, and the streams that this rests on
    #[arg(
        long,
        value_name = "DID",
        conflicts_with_all = ["all", "tiles", "interaction", "negotiation"]
    )]
    capabilities: Option<Did>,
    /// One session about a capability alone, and the streams that it rests on
    #[arg(
        long,
        value_name = "ID",
        conflicts_with_all = ["all", "tiles", "interaction", "negotiation", "capabilities"]
    )]
    session: Option<SessionId>,
    /// One agreement alone, and the streams that it rests on: its sessions, for example
    #[arg(
        long,
        value_name = "ID",
        conflicts_with_all = ["all", "tiles", "interaction", "negotiation", "capabilities", "session"]
    )]
    agreement: Option<AgreementId>,
    /// One round alone, named by its proposal: its votes and outcome, and the streams that these rest on
    #[arg(
        long,
        value_name = "ID",
        conflicts_with_all = ["all", "tiles", "interaction", "negotiation", "capabilities", "session", "agreement"]
    )]
    round: Option<RoundId>,
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
            data_dir: Some(data_dir.to_owned()),
            all: false,
            tail: true,
            interaction: None,
            negotiation: None,
            capabilities: None,
            round: None,
            session: None,
            agreement: None,
            output: Some(output.to_owned()),
            tiles: None,
            checkpoint_dir: None,
        }
    }
}

/// Exports the log, or what of it is asked for, as it is now.
pub(crate) async fn run(
    args: Args,
    context: &Context,
    json: bool,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let target = match (&args.output, &args.tiles) {
        (_, Some(folder)) => return in_tiles(&args, folder, out).await,
        (Some(file), None) => file,
        (None, None) => {
            let message = "name a file with -o, or a folder with --tiles";
            return Err(Failure::usage(message));
        }
    };
    if target == Path::new("-") && json {
        return Err(Failure::usage(
            "--json and -o - would both write to standard output: name a file",
        ));
    }
    let of = args.interaction.map(Subject::Interaction);
    let of = of.or(args.negotiation.map(Subject::Contract));
    let of = of.or(args.capabilities.map(Subject::Descriptor));
    let of = of.or(args.round.map(Subject::Round));
    let of = of.or(args.session.map(Subject::Session));
    let of = of.or(args.agreement.map(Subject::Agreement));
    match (&args.data_dir, of) {
        (None, Some(subject)) => {
            subject::fetch(subject, context, target, out).await?;
        }
        (Some(data_dir), Some(subject)) => {
            of_directory(&args, data_dir, subject, target, out).await?;
        }
        (Some(data_dir), None) => {
            let named = args.checkpoint_dir.as_deref();
            if args.tail {
                // First: what was signed is in the log that is read then.
                let note = last_signed(data_dir, named).await?;
                let store = open_store(data_dir).await?;
                let looked_for = checkpoint_dir(&args, data_dir).ok();
                let looked_for = looked_for.map(|place| FileCheckpointStore::at(&place).file());
                log::with_tail(&store, note, looked_for, target, out).await?;
            } else {
                let store = open_store(data_dir).await?;
                let place = FileCheckpointStore::at(&checkpoint_dir(&args, data_dir)?);
                log::until_checkpoint(&store, &place, target, out).await?;
            }
        }
        (None, None) => return Err(Failure::usage("name a data directory, or --interaction")),
    }
    Ok(Exit::Ok)
}

#[cfg(feature = "serve")]
async fn of_directory(
    args: &Args,
    data_dir: &Path,
    subject: Subject,
    target: &Path,
    out: &mut Out,
) -> Result<(), Failure> {
    let directory = checkpoint_dir(args, data_dir)?;
    let note = last_signed(data_dir, Some(&directory)).await?;
    let note = note.ok_or_else(|| no_checkpoint(&directory))?;
    subject::write(subject, data_dir, note, target, out).await
}

#[cfg(not(feature = "serve"))]
async fn of_directory(
    _args: &Args,
    _data_dir: &Path,
    _subject: Subject,
    _target: &Path,
    _out: &mut Out,
) -> Result<(), Failure> {
    let message = "this x811 was built without the server, which knows the ledger's keys";
    Err(Failure::usage(message).hint("leave the directory out, so that the ledger is asked"))
}

async fn in_tiles(args: &Args, folder: &Path, out: &mut Out) -> Result<Exit, Failure> {
    let data_dir = args.data_dir.as_deref();
    let data_dir = data_dir.ok_or_else(|| Failure::usage("name a data directory"))?;
    let checkpoint_dir = checkpoint_dir(args, data_dir)?;
    let store = open_store(data_dir).await?;
    tiles::run(&store, &checkpoint_dir, folder, out).await?;
    Ok(Exit::Ok)
}

fn checkpoint_dir(args: &Args, data_dir: &Path) -> Result<PathBuf, Failure> {
    let beside = || FileCheckpointStore::beside(data_dir);
    args.checkpoint_dir.clone().or_else(beside).ok_or_else(|| {
        Failure::usage("the data directory has no name to look beside: give --checkpoint-dir")
    })
}

fn no_checkpoint(file: &Path) -> Failure {
    let message = format!("there is no checkpoint at {}", file.display());
    Failure::local("checkpoint", message)
        .hint("say where the ledger keeps it: --checkpoint-dir DIR")
}

fn unwritten(error: &io::Error) -> Failure {
    let message = format!(
        "the export cannot be written: {error}. Check the disk and the target's permissions"
    );
    Failure::local("file", message)
}
