//! `x811 capability jws`.

use std::path::PathBuf;

use serde::Serialize;
use x811_protocol::facts::SessionAgree;
use x811_protocol::id::AgreementId;
use x811_protocol::payload::capability::signed_agreement;

use super::verify::not_taken;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};
use crate::whole;
use crate::whole::unwritten;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which agreement
    #[arg(value_name = "ID")]
    agreement: AgreementId,
    /// Which revision; the last without it
    #[arg(long, value_name = "NUMBER")]
    revision: Option<u64>,
    /// The file to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

/// What was written.
#[derive(Serialize)]
struct Written {
    agreement: AgreementId,
    revision: u64,
    file: PathBuf,
}

/// Writes what both signed as a JWS, checked first.
pub(super) async fn run(args: Args, context: &Context) -> Result<impl Report, Failure> {
    let client = context.reading_client().await?;
    let jws = client.agreement_jws(args.agreement, args.revision);
    let text = jws.await?.to_string();
    let SessionAgree {
        agreement_id,
        revision,
        ..
    } = signed_agreement(text.as_bytes()).map_err(not_taken)?.facts;
    if agreement_id != args.agreement || args.revision.is_some_and(|asked| asked != revision) {
        return Err(Failure::untrusted("the ledger sent another agreement"));
    }
    let written = whole::write(&args.output, text.as_bytes());
    written.map_err(|error| unwritten(&args.output, &error))?;
    Ok(Written {
        agreement: agreement_id,
        revision,
        file: args.output,
    })
}

impl Report for Written {
    fn print(&self, out: &mut Out) {
        let heading = format!("revision {} as both signed it", self.revision);
        out.heading(Tone::Good, heading);
        out.fields(&[
            ("agreement", self.agreement.to_string()),
            ("file", self.file.display().to_string()),
        ]);
    }
}
