//! `x811 agent update`.
//!
//! An update replaces everything registered but the keys. What the command line does not name is
//! read from the ledger and said again.

use std::str::FromStr;

use clap::ArgGroup;
use x811_client::compose::{Entry, Payload as _, Update};
use x811_client::http::{Agent, BoundWallet};
use x811_client::identity::{AgentName, Identity};
use x811_protocol::time::{TimeError, TimestampMs};
use x811_protocol::wallet::{Wallet, WalletKind};

use super::change::{Changed, Registrant};
use super::contract_wallet::contract_wallet;
use super::reachable;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Out;

/// The word that takes something away.
const NONE: &str = "none";

#[derive(Debug, clap::Args)]
#[command(group(
    ArgGroup::new("change").args(["capabilities", "endpoint", "expires", "contract_wallets"]).required(true).multiple(true)
))]
pub(crate) struct Args {
    /// Which agent; not needed while there is only one
    name: Option<AgentName>,
    /// A task it can do; repeat for more. Takes the place of all that were registered
    #[arg(long = "capability", value_name = "TASK")]
    capabilities: Vec<String>,
    /// Where it can be reached; `none` for nowhere
    #[arg(long, value_name = "URL")]
    endpoint: Option<Endpoint>,
    /// When its DID expires, such as 2027-01-01T00:00:00Z; `none` for never
    #[arg(long, value_name = "TIME")]
    expires: Option<Expiry>,
    /// A contract wallet (ERC-1271) with its signature over the text of `agent binding`; repeat for
    /// more. One that is bound stays only when it is named again
    #[arg(long = "contract-wallet", value_name = "ADDRESS=SIGNATURE", value_parser = contract_wallet)]
    contract_wallets: Vec<Wallet>,
}

/// Changes what is registered.
pub(crate) async fn run(args: Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let registrant = Registrant::open(context, args.name.as_ref()).await?;
    let registered = registrant.registered().await?;
    keeps_every_wallet(&registrant.identity, &args.contract_wallets, &registered)?;
    let entry = Entry {
        service_endpoint: match args.endpoint {
            Some(Endpoint(endpoint)) => endpoint,
            None => registrant.service_endpoint().await?,
        },
        expires_at_ms: match args.expires {
            Some(Expiry(expires)) => expires,
            None => registered.expires_at_ms,
        },
        capabilities: match args.capabilities.is_empty() {
            true => registered.capabilities,
            false => args.capabilities,
        },
    };
    let (identity, ledger) = (&registrant.identity, registrant.ledger);
    let update =
        Update::new(identity, ledger, registered.keys, entry)?.with_wallets(args.contract_wallets);
    let accepted = registrant.send(&update).await?;
    let message_type = update.message_type();
    out.report(&Changed::new(
        &registrant,
        message_type,
        &accepted,
        "is updated",
    ));
    Ok(Exit::Ok)
}

/// An account can be bound again only by its own key, or with a signature that its contract takes.
fn keeps_every_wallet(
    identity: &Identity,
    contracts: &[Wallet],
    registered: &Agent,
) -> Result<(), Failure> {
    let own = identity.account();
    let is_kept = |wallet: &&BoundWallet| {
        let mut contracts = contracts.iter();
        Some(wallet.address) == own || contracts.any(|kept| kept.address == wallet.address)
    };
    let lost = registered.wallets.iter().find(|wallet| !is_kept(wallet));
    match lost {
        None => Ok(()),
        Some(wallet) if wallet.kind == WalletKind::Erc1271 => Err(Failure::local(
            "wallet",
            format!(
                "contract wallet {} is registered, and is not named",
                wallet.address.to_checksum()
            ),
        )
        .hint("an update would unbind it: name it with --contract-wallet and a signature")),
        Some(wallet) => Err(Failure::local(
            "wallet",
            format!(
                "wallet {} is registered, and its key is not in this home",
                wallet.address.to_checksum()
            ),
        )
        .hint("an update would unbind it: run it where that key is")),
    }
}

/// What `--endpoint` says: a URL, or that there is none.
#[derive(Debug, Clone)]
struct Endpoint(Option<String>);

impl FromStr for Endpoint {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Endpoint, &'static str> {
        match text {
            NONE => Ok(Endpoint(None)),
            url => reachable(url).map(|url| Endpoint(Some(url))),
        }
    }
}

/// What `--expires` says: a moment, or that there is none.
#[derive(Debug, Clone, Copy)]
struct Expiry(Option<TimestampMs>);

impl FromStr for Expiry {
    type Err = TimeError;

    fn from_str(text: &str) -> Result<Expiry, TimeError> {
        match text {
            NONE => Ok(Expiry(None)),
            moment => TimestampMs::parse_rfc3339(moment).map(|at| Expiry(Some(at))),
        }
    }
}
