//! `x811 agent binding`.

use serde::Serialize;
use x811_client::identity::AgentName;
use x811_protocol::did::Did;
use x811_protocol::evm::EvmAddress;
use x811_protocol::wallet::binding_message;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Report};
use crate::send::account;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which agent; not needed while there is only one
    name: Option<AgentName>,
    /// The account to bind
    #[arg(long, value_name = "ADDRESS", value_parser = account)]
    wallet: EvmAddress,
}

/// Says what an account must sign, for accounts whose keys are elsewhere.
pub(crate) async fn run(args: Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let client = context.client()?;
    let identity = context.identity_named(args.name.as_ref())?;
    let ledger = client.info().await?.did;
    out.report(&Binding {
        did: identity.did,
        ledger,
        wallet: args.wallet.to_checksum(),
        text: binding_message(identity.did, ledger, args.wallet),
    });
    Ok(Exit::Ok)
}

#[derive(Serialize)]
struct Binding {
    did: Did,
    ledger: Did,
    wallet: String,
    text: String,
}

impl Report for Binding {
    /// The text and nothing else; it has no line feed at its end.
    fn print(&self, out: &mut Out) {
        out.verbatim(&self.text);
    }
}
