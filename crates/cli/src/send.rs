//! `x811 send`: say something to another agent. One file per message.

pub(crate) mod accept;
mod custom;
mod error;
pub(crate) mod offer;
pub(crate) mod payment;
pub(crate) mod reject;
pub(crate) mod request;
pub(crate) mod result;
pub(crate) mod verify;

pub(crate) mod case;
pub(crate) mod sent;

use clap::Subcommand;

use crate::bounded;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Out;

/// What to say.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Ask a provider for an offer; opens an interaction
    Request(request::Args),
    /// As provider: name your price; it binds you
    Offer(offer::Args),
    /// As initiator: take the offer, if your policy allows it
    Accept(accept::Args),
    /// As initiator: turn the offer down
    Reject(reject::Args),
    /// As provider: deliver
    Result(result::Args),
    /// As initiator: say that the result is good, or dispute it
    Verify(verify::Args),
    /// As initiator: name a transfer you made yourself (`x811 pay` does both)
    Payment(payment::Args),
    /// Tell an agent of a fault; changes no state
    Error(error::Args),
    /// Send a message of your own type
    Custom(custom::Args),
}

impl Verb {
    pub(crate) async fn run(self, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
        let sent = match self {
            Verb::Request(args) => request::run(args, context).await?,
            Verb::Offer(args) => offer::run(args, context).await?,
            Verb::Accept(args) => accept::run(args, context).await?,
            Verb::Reject(args) => reject::run(args, context).await?,
            Verb::Result(args) => result::run(args, context).await?,
            Verb::Verify(args) => verify::run(args, context).await?,
            Verb::Payment(args) => payment::run(args, context).await?,
            Verb::Error(args) => error::run(args, context).await?,
            Verb::Custom(args) => custom::run(args, context).await?,
        };
        out.report(&sent);
        Ok(Exit::Ok)
    }
}

/// Reads an amount of USDC from the command line.
pub(crate) fn usdc(
    text: &str,
) -> Result<x811_protocol::money::MicroUsdc, x811_protocol::money::MoneyError> {
    x811_protocol::money::MicroUsdc::from_usdc_decimal(text)
}

/// Reads an account from the command line; the checksum catches a wrong digit.
pub(crate) fn account(
    text: &str,
) -> Result<x811_protocol::evm::EvmAddress, x811_protocol::evm::AddressError> {
    x811_protocol::evm::EvmAddress::parse_checksummed(text)
}

/// Reads a JSON object, from the command line or, behind `@`, from a file.
pub(crate) fn json_object(
    text: &str,
) -> Result<serde_json::Map<String, serde_json::Value>, Failure> {
    let file = match text.strip_prefix('@') {
        Some(path) => Some(read_text(std::path::Path::new(path))?),
        None => None,
    };
    let json = file.as_deref().unwrap_or(text);
    serde_json::from_str(json)
        .map_err(|error| Failure::usage(&format!("not a JSON object: {error}")))
}

/// Most bytes of a file of text: no envelope has more.
const MAX_TEXT_BYTES: usize = 1 << 20;

/// Reads a file of text.
fn read_text(path: &std::path::Path) -> Result<String, Failure> {
    bounded::text(path, MAX_TEXT_BYTES).map_err(|error| {
        Failure::local("file", format!("{}: {error}", path.display()))
            .hint("name a file of UTF-8 text that you can read")
    })
}
