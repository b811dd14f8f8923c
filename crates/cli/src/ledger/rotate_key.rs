//! `x811 ledger rotate-key`: prepares the key that takes the place of another at the next start.

use std::path::PathBuf;

use serde::Serialize;
use x811_protocol::event::LedgerRole;
use x811_protocol::key::PublicKey;
use x811_server::entropy::SystemEntropy;
use x811_server::keys::prepare_rotation;

use crate::data_dir::expect_directory;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What the key is for: envelope (notices, snapshots), checkpoint, receipt
    role: LedgerRole,
    /// The ledger's data directory; the ledger may be running
    data_dir: PathBuf,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Exit, Failure> {
    expect_directory(&args.data_dir)?;
    let failed = |error: String| Failure::local("keys", error);
    let entropy = SystemEntropy::open().map_err(|error| failed(error.to_string()))?;
    let prepared = prepare_rotation(&args.data_dir, args.role, &entropy);
    let prepared = prepared.map_err(|error| failed(error.to_string()))?;
    out.report(&Prepared {
        role: args.role,
        old_key: prepared.old_key,
        new_key: prepared.new_key,
        file: args.data_dir.join(format!("keys/{}.seed.next", args.role)),
    });
    Ok(Exit::Ok)
}

#[derive(Serialize)]
struct Prepared {
    role: LedgerRole,
    old_key: PublicKey,
    new_key: PublicKey,
    file: PathBuf,
}

impl Report for Prepared {
    fn print(&self, out: &mut Out) {
        out.heading(Tone::Good, format_args!("a new {} key waits", self.role));
        out.fields(&[
            ("in force", self.old_key.to_string()),
            ("new", self.new_key.to_string()),
            ("file", self.file.display().to_string()),
        ]);
        out.gap();
        out.line("the next start records the rotation, signed by the key in force, and goes on with the new one;");
        out.line(
            "take a backup with keys then: those in older backups do not fit the log any more",
        );
        if self.role == LedgerRole::Checkpoint {
            out.line("whoever verifies your checkpoints needs the new key: `checkpoint_vkey` in /.well-known/x811.json");
        }
    }
}
