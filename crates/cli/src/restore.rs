//! `x811 restore`: a backup becomes a data directory again, once it has been found whole.

use std::path::PathBuf;

use serde::Serialize;
use x811_store::Backend;

use crate::backup::{Manifest, examined, files};
use crate::data_dir::unopened;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A directory that `x811 backup` made
    backup: PathBuf,
    /// The data directory to make; must not exist yet
    data_dir: PathBuf,
}

pub(crate) async fn run(args: Args, out: &mut Out) -> Result<Exit, Failure> {
    let manifest = files::read_manifest(&args.backup)?;
    if manifest.keys && !files::has_keys(&args.backup) {
        return Err(
            Failure::local("keys", "the backup says it has keys, and has none")
                .hint("bring its `keys` directory back"),
        );
    }
    files::make_directory(&args.data_dir)?;
    if let Err(failure) = fill(&args, &manifest).await {
        // Nobody shall start what was refused. It is our own directory, made a moment ago; one that
        // cannot be removed is whole but for what the failure says.
        let _ = std::fs::remove_dir_all(&args.data_dir);
        return Err(failure);
    }
    out.report(&Restored {
        data_dir: args.data_dir,
        manifest,
    });
    Ok(Exit::Ok)
}

/// Copies the backup into the new directory and examines it there.
async fn fill(args: &Args, manifest: &Manifest) -> Result<(), Failure> {
    let (source, target) = (
        args.backup.join("ledger.db"),
        args.data_dir.join("ledger.db"),
    );
    files::copy_private(&source, &target).map_err(|error| files::unusable(&source, &error))?;
    if manifest.keys {
        files::copy_keys(&args.backup, &args.data_dir)?;
    }
    files::sync_directory(&args.data_dir)?;
    let store = Backend::open_read_only(&args.data_dir)
        .await
        .map_err(unopened)?;
    let found = examined(&store, &args.data_dir, manifest.keys).await?;
    store.close().await;
    if found == *manifest {
        return Ok(());
    }
    let message = format!(
        "backup.json says {} records up to {}, ledger.db has {} up to {}",
        manifest.size, manifest.head_hash, found.size, found.head_hash
    );
    Err(Failure::local("manifest", message).hint("use another backup"))
}

#[derive(Debug, Serialize)]
struct Restored {
    data_dir: PathBuf,
    #[serde(flatten)]
    manifest: Manifest,
}

impl Report for Restored {
    fn print(&self, out: &mut Out) {
        let (data_dir, manifest) = (self.data_dir.display(), &self.manifest);
        out.heading(Tone::Good, format_args!("restored to {data_dir}"));
        out.fields(&[
            ("ledger", manifest.did.clone()),
            ("records", format!("{}, replayed", manifest.size)),
            ("head", manifest.head_hash.to_string()),
        ]);
        if !manifest.keys {
            out.line(format_args!(
                "Put the ledger's `keys` directory into {data_dir} before you start it."
            ));
        }
        out.line("What was acknowledged after the backup is not in it, so the ledger starts only beside its last");
        out.line("checkpoint, and only if that covers no more records. With DIR, where the ledger kept it:");
        out.line(format_args!(
            "  nothing is missing        x811 serve --data-dir {data_dir} --checkpoint-dir DIR"
        ));
        out.line(format_args!(
            "  records are missing       x811 ledger reopen {data_dir} NEW --checkpoint-dir DIR"
        ));
        out.line(format_args!(
            "  DIR is lost as well       x811 ledger reopen {data_dir} NEW --lost-checkpoint"
        ));
    }
}
