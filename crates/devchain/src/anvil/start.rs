//! `x811 anvil start`.

use std::path::PathBuf;
use std::pin::pin;

use serde::Serialize;
use x811_protocol::evm::EvmAddress;
use x811_protocol::money::MicroUsdc;

use super::AnvilError;
use super::node::{Chain, Mining, Node};
use super::rpc::Anvil;
use super::token::{BASE_USDC, Token};
use x811_console::exit::Exit;
use x811_console::failure::Failure;
use x811_console::output::{Out, Report, Tone};
use x811_console::stop::StopSignals;

/// Base's chain id.
const BASE_CHAIN_ID: u64 = 8_453;

/// Test USDC that each printed account starts with, in micro-USDC: 1,000 USDC.
const PURSE_MICRO_USDC: u64 = 1_000_000_000;

/// The first of Anvil's development accounts, each with 10,000 ETH. Their keys are public knowledge
/// (mnemonic `test test … junk`) and worth nothing on any real chain.
const ACCOUNTS: [(&str, &str); 3] = [
    (
        "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
        "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80",
    ),
    (
        "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
        "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d",
    ),
    (
        "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC",
        "0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a",
    ),
];

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The `anvil` program; without a path, the one of npm where there is none on PATH
    #[arg(long, value_name = "FILE", default_value = "anvil")]
    anvil: PathBuf,
    /// Port on this computer; 0 takes any free one
    #[arg(long, default_value_t = 8_545)]
    port: u16,
    /// Seconds between blocks
    #[arg(long, value_name = "SECONDS", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..))]
    block_time: u64,
}

/// Runs Anvil as Base until it ends or a signal comes.
pub(crate) async fn run(args: Args, out: &mut Out) -> Result<Exit, Failure> {
    let mut asked = pin!(StopSignals::set().asked());
    let chain = Chain {
        chain_id: BASE_CHAIN_ID,
        port: args.port,
        mining: Mining::EverySeconds(args.block_time),
    };
    let mut node = Node::start(&args.anvil, chain).await?;
    let address = EvmAddress::parse_checksummed(BASE_USDC)
        .map_err(|error| Failure::internal(&error.to_string()))?;
    let token = Token::new(Anvil::connect(node.rpc_url()).await?, address);
    token.place().await?;
    out.report(&Started {
        rpc_url: node.rpc_url().to_owned(),
        chain_id: BASE_CHAIN_ID,
        block_time_s: args.block_time,
        token: address.to_checksum(),
        accounts: fund_all(&token).await?,
    });
    let ended = tokio::select! {
        () = &mut asked => false,
        () = node.ended() => true,
    };
    if ended {
        return Err(AnvilError::Silent {
            said: "it ended by itself".to_owned(),
        }
        .into());
    }
    node.stop().await;
    Ok(Exit::Ok)
}

async fn fund_all(token: &Token) -> Result<Vec<Account>, Failure> {
    let purse = MicroUsdc::from_micro_usdc(PURSE_MICRO_USDC)
        .map_err(|error| Failure::internal(&error.to_string()))?;
    let mut accounts = Vec::new();
    for (address, key) in ACCOUNTS {
        let account = EvmAddress::parse_checksummed(address)
            .map_err(|error| Failure::internal(&error.to_string()))?;
        token.fund(account, purse).await?;
        accounts.push(Account {
            address,
            private_key: key,
            usdc: purse.to_usdc_decimal(),
        });
    }
    Ok(accounts)
}

#[derive(Debug, Serialize)]
struct Started {
    rpc_url: String,
    chain_id: u64,
    block_time_s: u64,
    token: String,
    accounts: Vec<Account>,
}

#[derive(Debug, Serialize)]
struct Account {
    address: &'static str,
    /// No secret: everybody knows the keys of Anvil's accounts.
    private_key: &'static str,
    usdc: String,
}

impl Report for Started {
    fn print(&self, out: &mut Out) {
        let rpc_url = &self.rpc_url;
        out.heading(Tone::Good, format!("Anvil runs as Base at {rpc_url}"));
        out.fields(&[
            ("chain id", self.chain_id.to_string()),
            ("blocks", format!("every {} s", self.block_time_s)),
            ("token", format!("test USDC at {}", self.token)),
        ]);
        out.gap();
        out.line("Funded accounts (the keys are public: never use them elsewhere):");
        let row = |account: &Account| {
            vec![
                account.address.to_owned(),
                account.usdc.clone(),
                account.private_key.to_owned(),
            ]
        };
        let rows: Vec<_> = self.accounts.iter().map(row).collect();
        out.table(&["address", "USDC", "private key"], &rows);
        out.gap();
        out.line("Until Ctrl-C. Try, in other terminals:");
        let default_url = "http://127.0.0.1:8545";
        let option = match rpc_url == default_url {
            true => String::new(),
            false => format!(" --rpc {rpc_url}"),
        };
        for command in [
            format!("x811 serve --rpc {rpc_url}"),
            format!("x811 anvil fund ADDRESS 10{option}"),
            format!("x811 anvil mine 12{option}"),
            format!("x811 anvil reorg 8 --keep-transactions{option}"),
            format!("x811 anvil reorg 8 --save gone.json{option}"),
            format!("x811 anvil resend gone.json{option}"),
            format!("x811 anvil halt{option}"),
        ] {
            out.line(format!("  {command}"));
        }
    }
}
