//! `x811 anvil drop`.

use serde::Serialize;
use serde_json::json;
use x811_protocol::evm::TxHash;

use super::{AnvilError, EndpointArgs};
use x811_console::output::{Out, Report, Tone};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The transaction
    tx: TxHash,
    #[command(flatten)]
    endpoint: EndpointArgs,
}

pub(crate) async fn run(args: Args, out: &mut Out) -> Result<(), AnvilError> {
    let anvil = args.endpoint.connect().await?;
    let dropped = anvil
        .call("anvil_dropTransaction", json!([args.tx.to_string()]))
        .await?;
    if dropped.is_null() {
        let message = format!(
            "{} is not waiting in the pool: it is unknown, or mined already (then `reorg` removes \
             it); `halt` first, so that it cannot be mined",
            args.tx
        );
        return Err(AnvilError::Nonsense(message));
    }
    out.report(&Dropped { tx_hash: args.tx });
    Ok(())
}

#[derive(Debug, Serialize)]
struct Dropped {
    tx_hash: TxHash,
}

impl Report for Dropped {
    fn print(&self, out: &mut Out) {
        let hash = self.tx_hash;
        out.heading(Tone::Good, format!("{hash} is gone from the pool"));
    }
}
