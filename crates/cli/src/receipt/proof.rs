//! `x811 receipt proof FILE`: the inclusion proof inside a receipt, in the form that others read.

use std::path::PathBuf;

use serde::Serialize;
use x811_audit::receipt::{Receipt, tlog_proof};

use super::either::no_receipt;
use super::file;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The receipt
    file: PathBuf,
    /// The file to write (FILE with the ending .tlog-proof); `-` for standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) fn run(args: Args, out: &mut Out) -> Result<Exit, Failure> {
    let bytes = file::read(&args.file)?;
    let receipt = Receipt::from_bytes(&bytes).map_err(|error| no_receipt(error.to_string()))?;
    let proof = tlog_proof(&receipt).map_err(|broken| {
        let message = format!("the receipt does not hold: {}", broken.sentence);
        Failure::untrusted(message)
    })?;
    let output = args.output;
    let output = output.unwrap_or_else(|| args.file.with_extension("tlog-proof"));
    if file::write(&output, proof.to_text().as_bytes())? {
        out.report(&Written {
            file: output,
            position: proof.index,
        });
    }
    Ok(Exit::Ok)
}

#[derive(Serialize)]
struct Written {
    file: PathBuf,
    position: u64,
}

impl Report for Written {
    fn print(&self, out: &mut Out) {
        out.heading(
            Tone::Good,
            format_args!(
                "proof that record {} is in the log, in {}",
                self.position,
                self.file.display()
            ),
        );
    }
}
