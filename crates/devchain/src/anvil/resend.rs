//! `x811 anvil resend`: what `reorg --save` took away goes to the pool again.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Value, json};

use super::{AnvilError, EndpointArgs};
use x811_console::output::{Out, Report, Tone};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The file that `x811 anvil reorg --save` wrote
    file: PathBuf,
    #[command(flatten)]
    endpoint: EndpointArgs,
}

/// Sends them, the very same bytes, in their order.
pub(crate) async fn run(args: Args, out: &mut Out) -> Result<(), AnvilError> {
    let signed = read(&args.file)?;
    let anvil = args.endpoint.connect().await?;
    let mut transactions = Vec::new();
    for raw in signed {
        let method = "eth_sendRawTransaction";
        let hash = anvil.call(method, json!([raw])).await?;
        transactions.push(hash.as_str().unwrap_or_default().to_owned());
    }
    out.report(&Resent { transactions });
    Ok(())
}

/// Writes them to a file that is not there yet.
pub(super) fn save(file: &Path, signed: &[Value]) -> Result<(), AnvilError> {
    let unusable = |source| AnvilError::File {
        path: file.to_owned(),
        source,
    };
    let mut written = std::fs::File::create_new(file).map_err(unusable)?;
    let text = format!("{:#}\n", Value::from(signed));
    written.write_all(text.as_bytes()).map_err(unusable)
}

fn read(file: &Path) -> Result<Vec<String>, AnvilError> {
    let bytes = std::fs::read(file).map_err(|source| AnvilError::File {
        path: file.to_owned(),
        source,
    })?;
    serde_json::from_slice(&bytes).map_err(|_| {
        let file = file.display();
        AnvilError::Nonsense(format!(
            "{file} was not written by `x811 anvil reorg --save`"
        ))
    })
}

#[derive(Debug, Serialize)]
struct Resent {
    transactions: Vec<String>,
}

impl Report for Resent {
    fn print(&self, out: &mut Out) {
        let count = self.transactions.len();
        out.heading(
            Tone::Good,
            format!("{count} transactions wait in the pool for the next block"),
        );
        for hash in &self.transactions {
            out.line(format!("  {hash}"));
        }
    }
}
