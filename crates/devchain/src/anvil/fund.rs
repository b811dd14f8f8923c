//! `x811 anvil fund`.

use serde::Serialize;
use x811_protocol::evm::EvmAddress;
use x811_protocol::money::MicroUsdc;

use super::{AnvilError, TokenArgs};
use x811_console::output::{Out, Report, Tone};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The account
    #[arg(value_parser = EvmAddress::parse_checksummed)]
    address: EvmAddress,
    /// How much, in USDC
    #[arg(value_name = "USDC", value_parser = MicroUsdc::from_usdc_decimal)]
    amount: MicroUsdc,
    #[command(flatten)]
    token: TokenArgs,
}

pub(crate) async fn run(args: Args, out: &mut Out) -> Result<(), AnvilError> {
    let token = args.token.connect().await?;
    if args.amount == MicroUsdc::ZERO {
        return Err(AnvilError::Nonsense("nothing cannot be given".to_owned()));
    }
    token.fund(args.address, args.amount).await?;
    out.report(&Funded {
        address: args.address.to_checksum(),
        amount_usdc: args.amount.to_usdc_decimal(),
    });
    Ok(())
}

#[derive(Debug, Serialize)]
struct Funded {
    address: String,
    amount_usdc: String,
}

impl Report for Funded {
    fn print(&self, out: &mut Out) {
        let (address, amount) = (&self.address, &self.amount_usdc);
        let text = format!("{address} got {amount} test USDC, and has ETH for gas");
        out.heading(Tone::Good, text);
    }
}
