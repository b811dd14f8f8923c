//! `x811 anvil pause` and `unpause`.

use serde::Serialize;

use super::{AnvilError, TokenArgs};
use x811_console::output::{Out, Report, Tone};

#[derive(Debug, clap::Args)]
pub struct PauseArgs {
    #[command(flatten)]
    token: TokenArgs,
}

#[derive(Debug, clap::Args)]
pub struct UnpauseArgs {
    #[command(flatten)]
    token: TokenArgs,
}

pub(crate) async fn pause(args: PauseArgs, out: &mut Out) -> Result<(), AnvilError> {
    let token = args.token.connect().await?;
    token.pause().await?;
    out.report(&Paused {
        token: token.address().to_checksum(),
        paused: true,
    });
    Ok(())
}

/// Ends a pause.
pub(crate) async fn unpause(args: UnpauseArgs, out: &mut Out) -> Result<(), AnvilError> {
    let token = args.token.connect().await?;
    token.unpause().await?;
    out.report(&Paused {
        token: token.address().to_checksum(),
        paused: false,
    });
    Ok(())
}

#[derive(Debug, Serialize)]
struct Paused {
    token: String,
    paused: bool,
}

impl Report for Paused {
    fn print(&self, out: &mut Out) {
        let token = &self.token;
        let text = match self.paused {
            true => format!("the token at {token} is paused: every transfer reverts"),
            false => format!("the token at {token} takes transfers again"),
        };
        out.heading(Tone::Good, text);
    }
}
