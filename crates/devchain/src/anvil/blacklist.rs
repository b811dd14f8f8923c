//! `x811 anvil blacklist`.

use serde::Serialize;
use x811_protocol::evm::EvmAddress;

use super::{AnvilError, TokenArgs};
use x811_console::output::{Out, Report, Tone};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The account
    #[arg(value_parser = EvmAddress::parse_checksummed)]
    address: EvmAddress,
    /// Take the account again
    #[arg(long)]
    remove: bool,
    #[command(flatten)]
    token: TokenArgs,
}

/// Blacklists, or ends it.
pub(crate) async fn run(args: Args, out: &mut Out) -> Result<(), AnvilError> {
    let token = args.token.connect().await?;
    match args.remove {
        true => token.un_blacklist(args.address).await?,
        false => token.blacklist(args.address).await?,
    }
    out.report(&Blacklisted {
        address: args.address.to_checksum(),
        blacklisted: !args.remove,
    });
    Ok(())
}

#[derive(Debug, Serialize)]
struct Blacklisted {
    address: String,
    blacklisted: bool,
}

impl Report for Blacklisted {
    fn print(&self, out: &mut Out) {
        let address = &self.address;
        let text = match self.blacklisted {
            true => format!("{address} can neither pay nor be paid"),
            false => format!("{address} can pay and be paid again"),
        };
        out.heading(Tone::Good, text);
    }
}
