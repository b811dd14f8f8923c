//! `x811 anvil`: a playground where an operator breaks Base and watches the ledger hold.
//!
//! `start` runs Anvil as Base, with test USDC where the real one stands, so that `x811 serve` runs
//! with its production settings. Every other verb talks to a running Anvil and to nothing else: an
//! endpoint that is not one is refused, so that none of them can be pointed at Base.

mod blacklist;
mod drop;
mod error;
mod fund;
mod halt;
mod mine;
pub mod node;
mod pause;
mod reorg;
mod resend;
pub mod rpc;
mod start;
mod storm;
pub mod token;

pub use error::AnvilError;

use clap::Subcommand;
use x811_client::http::LedgerClient;
use x811_console::exit::Exit;
use x811_console::failure::Failure;
use x811_console::output::Out;
use x811_protocol::evm::EvmAddress;

use rpc::Anvil;
use token::Token;

/// What happens to the chain.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Run Anvil as Base, with test USDC at its real address, until Ctrl-C
    Start(start::Args),
    /// Mine blocks now
    Mine(mine::Args),
    /// Replace the last blocks by others, with or without their transactions
    Reorg(reorg::Args),
    /// Send again what `reorg --save` took away
    Resend(resend::Args),
    /// Play a random hour of reorganisations and bad endpoints against a running ledger
    Storm(storm::Args),
    /// Take a transaction that is not mined yet out of the pool
    Drop(drop::Args),
    /// Pause the token: no transfer succeeds
    Pause(pause::PauseArgs),
    /// Let the token's transfers succeed again
    Unpause(pause::UnpauseArgs),
    /// Stop the chain: no block comes until `resume`
    Halt(halt::HaltArgs),
    /// Let the chain go on
    Resume(halt::ResumeArgs),
    /// Give an account test USDC, and ETH for gas
    Fund(fund::Args),
    /// Make the token refuse an account, or take it again
    Blacklist(blacklist::Args),
}

impl Verb {
    /// Runs the verb. `connect` makes a client of the ledger; only the storm needs one.
    ///
    /// # Errors
    /// Anvil did not do it, or the ledger of a storm did not answer.
    pub async fn run(
        self,
        connect: impl FnOnce() -> Result<LedgerClient, Failure>,
        out: &mut Out,
    ) -> Result<Exit, Failure> {
        match self {
            Verb::Start(args) => return start::run(args, out).await,
            Verb::Storm(args) => return storm::run(args, connect, out).await,
            Verb::Mine(args) => mine::run(args, out).await?,
            Verb::Reorg(args) => reorg::run(args, out).await?,
            Verb::Resend(args) => resend::run(args, out).await?,
            Verb::Drop(args) => drop::run(args, out).await?,
            Verb::Pause(args) => pause::pause(args, out).await?,
            Verb::Unpause(args) => pause::unpause(args, out).await?,
            Verb::Halt(args) => halt::halt(args, out).await?,
            Verb::Resume(args) => halt::resume(args, out).await?,
            Verb::Fund(args) => fund::run(args, out).await?,
            Verb::Blacklist(args) => blacklist::run(args, out).await?,
        }
        Ok(Exit::Ok)
    }
}

#[derive(Debug, clap::Args)]
struct EndpointArgs {
    /// Address of the running Anvil
    #[arg(
        long = "rpc",
        alias = "rpc-url",
        env = "X811_RPC_URL",
        value_name = "URL",
        default_value = "http://127.0.0.1:8545",
        hide_env_values = true
    )]
    rpc_url: String,
}

impl EndpointArgs {
    async fn connect(&self) -> Result<Anvil, AnvilError> {
        Anvil::connect(&self.rpc_url).await
    }
}

/// Which Anvil, and which token on it.
#[derive(Debug, clap::Args)]
struct TokenArgs {
    #[command(flatten)]
    endpoint: EndpointArgs,
    /// The USDC contract
    #[arg(long, value_name = "ADDRESS", default_value = token::BASE_USDC, value_parser = EvmAddress::parse_checksummed)]
    token: EvmAddress,
}

impl TokenArgs {
    async fn connect(&self) -> Result<Token, AnvilError> {
        Ok(Token::new(self.endpoint.connect().await?, self.token))
    }
}
