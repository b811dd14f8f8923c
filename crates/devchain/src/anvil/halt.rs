//! `x811 anvil halt` and `resume`.

use serde::Serialize;
use serde_json::json;

use super::{AnvilError, EndpointArgs};
use x811_console::output::{Out, Report, Tone};

#[derive(Debug, clap::Args)]
pub struct HaltArgs {
    #[command(flatten)]
    endpoint: EndpointArgs,
}

#[derive(Debug, clap::Args)]
pub struct ResumeArgs {
    /// Seconds between blocks
    #[arg(long, value_name = "SECONDS", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..))]
    block_time: u64,
    #[command(flatten)]
    endpoint: EndpointArgs,
}

/// Stops the chain; transactions wait in the pool.
pub(crate) async fn halt(args: HaltArgs, out: &mut Out) -> Result<(), AnvilError> {
    set_interval(&args.endpoint, 0, out).await
}

/// Lets the chain go on.
pub(crate) async fn resume(args: ResumeArgs, out: &mut Out) -> Result<(), AnvilError> {
    set_interval(&args.endpoint, args.block_time, out).await
}

async fn set_interval(
    endpoint: &EndpointArgs,
    seconds: u64,
    out: &mut Out,
) -> Result<(), AnvilError> {
    let anvil = endpoint.connect().await?;
    // With transactions mined at once the chain would not stand still.
    anvil.call("evm_setAutomine", json!([false])).await?;
    anvil
        .call("evm_setIntervalMining", json!([seconds]))
        .await?;
    out.report(&Going {
        halted: seconds == 0,
        block_time_s: (seconds > 0).then_some(seconds),
        head_number: anvil.block_number().await?,
    });
    Ok(())
}

#[derive(Debug, Serialize)]
struct Going {
    halted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    block_time_s: Option<u64>,
    head_number: u64,
}

impl Report for Going {
    fn print(&self, out: &mut Out) {
        let head = self.head_number;
        let text = match self.block_time_s {
            None => format!("the chain stands still at block {head}, until `x811 anvil resume`"),
            Some(seconds) => {
                format!("the chain goes on from block {head}, a block every {seconds} s")
            }
        };
        out.heading(Tone::Good, text);
    }
}
