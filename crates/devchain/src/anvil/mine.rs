//! `x811 anvil mine`.

use serde::Serialize;

use super::{AnvilError, EndpointArgs};
use x811_console::output::{Out, Report, Tone};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// How many blocks
    #[arg(default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    blocks: u64,
    #[command(flatten)]
    endpoint: EndpointArgs,
}

pub(crate) async fn run(args: Args, out: &mut Out) -> Result<(), AnvilError> {
    let anvil = args.endpoint.connect().await?;
    anvil.mine(args.blocks).await?;
    out.report(&Mined {
        blocks: args.blocks,
        head_number: anvil.block_number().await?,
    });
    Ok(())
}

#[derive(Debug, Serialize)]
struct Mined {
    blocks: u64,
    head_number: u64,
}

impl Report for Mined {
    fn print(&self, out: &mut Out) {
        let (blocks, head) = (self.blocks, self.head_number);
        let word = if blocks == 1 { "block" } else { "blocks" };
        out.heading(
            Tone::Good,
            format!("{blocks} {word} mined; the head is {head}"),
        );
    }
}
