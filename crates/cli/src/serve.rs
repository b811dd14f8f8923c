//! `x811 serve`: runs the ledger.
//!
//! Every option may also be given in the environment; the option wins. What a decision depends on is
//! written into the log when it changes, so an auditor needs none of this.

use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::ValueEnum;
use serde::Serialize;
use tracing_subscriber::EnvFilter;
use x811_protocol::evm::{ChainId, EvmAddress};
use x811_protocol::money::MicroUsdc;
use x811_protocol::parameters::PayerBindingRule;
use x811_server::{NetworkConfig, RpcUrl, Running, ServerConfig, StartError};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};

/// Options of `x811 serve`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where log, rows and keys lie; made when it does not exist
    #[arg(
        long,
        env = "X811_DATA_DIR",
        value_name = "DIR",
        default_value = "./x811-data"
    )]
    data_dir: PathBuf,
    /// Address to listen on; port 0 takes any free one
    #[arg(
        long,
        env = "X811_LISTEN",
        value_name = "ADDR",
        default_value = "127.0.0.1:8811"
    )]
    listen: SocketAddr,
    /// Serve inboxes and interactions unsigned, to this computer only
    #[arg(long, env = "X811_OPEN_READS")]
    open_reads: bool,
    #[command(flatten)]
    network: NetworkArgs,
    #[command(flatten)]
    windows: WindowArgs,
    /// Whether a payer must be a wallet bound to the initiator; `unchecked` is for tests only
    #[arg(long, env = "X811_PAYER_BINDING", value_enum, default_value_t = Binding::Wallet)]
    payer_binding: Binding,
    /// How log lines look; which ones are written follows RUST_LOG (default: info)
    #[arg(long, env = "X811_LOG_FORMAT", value_enum, default_value_t = LogFormat::Text)]
    log_format: LogFormat,
}

/// Where payments are made.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Network")]
struct NetworkArgs {
    /// Base (chain 8453, Circle's USDC), or a chain of your own such as Anvil's (31337)
    #[arg(long, env = "X811_NETWORK", value_enum, default_value_t = Preset::Base)]
    network: Preset,
    /// JSON-RPC endpoint; it may hold a key, so it is never printed
    #[arg(long, env = "X811_RPC_URL", value_name = "URL", hide_env_values = true)]
    rpc_url: String,
    /// Another chain id than the network's own
    #[arg(long, env = "X811_CHAIN_ID", value_name = "ID")]
    chain_id: Option<u64>,
    /// The USDC contract; must be given for `local`
    #[arg(long, env = "X811_TOKEN", value_name = "ADDRESS", value_parser = address)]
    token: Option<EvmAddress>,
    /// Where protocol fees may go; without it they go to the payee with the price
    #[arg(long, env = "X811_TREASURY", value_name = "ADDRESS", value_parser = address)]
    treasury: Option<EvmAddress>,
    /// Blocks, the transfer's own included, at which a transfer is confirmed (base 12, local 3)
    #[arg(long, env = "X811_CONFIRMED_DEPTH", value_name = "BLOCKS")]
    confirmed_depth: Option<u64>,
    /// Totals above this many USDC wait until their block is `safe`
    #[arg(long, env = "X811_SAFE_ABOVE", value_name = "USDC", value_parser = usdc)]
    safe_above: Option<MicroUsdc>,
}

/// How long each message is waited for.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Windows (milliseconds, at least 2000; AEEP's own unless given)")]
struct WindowArgs {
    /// REQUEST to OFFER (60000)
    #[arg(long, env = "X811_OFFER_MS", value_name = "MS")]
    offer_ms: Option<u64>,
    /// OFFER to ACCEPT or REJECT (300000)
    #[arg(long, env = "X811_ACCEPT_MS", value_name = "MS")]
    accept_ms: Option<u64>,
    /// ACCEPT to RESULT (3600000)
    #[arg(long, env = "X811_RESULT_MS", value_name = "MS")]
    result_ms: Option<u64>,
    /// RESULT to VERIFY (30000)
    #[arg(long, env = "X811_VERIFY_MS", value_name = "MS")]
    verify_ms: Option<u64>,
    /// VERIFY to PAYMENT (60000)
    #[arg(long, env = "X811_PAYMENT_MS", value_name = "MS")]
    payment_ms: Option<u64>,
    /// PAYMENT to its confirmation (30000)
    #[arg(long, env = "X811_CONFIRMATION_MS", value_name = "MS")]
    confirmation_ms: Option<u64>,
    /// The four looks after that, each from the one before (5000,15000,60000,300000)
    #[arg(long, env = "X811_LOOKS_MS", value_name = "MS,MS,MS,MS", value_parser = looks)]
    looks_ms: Option<[u64; 4]>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Preset {
    Base,
    Local,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Binding {
    Wallet,
    Unchecked,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum LogFormat {
    Text,
    Json,
}

/// What is said once the ledger runs.
#[derive(Debug, Serialize)]
struct Started {
    url: String,
    did: String,
    log_id: String,
    data_dir: PathBuf,
    network: String,
    chain_id: u64,
    confirmed_depth: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    starts_blind: Option<String>,
}

impl Report for Started {
    fn print(&self, out: &mut Out) {
        out.heading(Tone::Good, format!("x811 ledger at {}", self.url));
        out.fields(&[
            ("DID", self.did.clone()),
            ("data", self.data_dir.display().to_string()),
            (
                "network",
                format!(
                    "{}, chain id {}, confirmed at {} blocks",
                    self.network, self.chain_id, self.confirmed_depth
                ),
            ),
        ]);
        if let Some(why) = &self.starts_blind {
            out.heading(
                Tone::Waiting,
                "Base cannot be seen yet; settlement clocks stand still",
            );
            out.line(format!("  {why}"));
        }
        out.line(format!(
            "Next: x811 --ledger {} agent new NAME. Ctrl-C stops it.",
            self.url
        ));
    }
}

/// Runs the ledger until it is asked to stop.
pub(crate) async fn run(args: Args, out: &mut Out) -> Result<Exit, Failure> {
    log_to_stderr(args.log_format);
    let config = config(args)?;
    let mut running = x811_server::start(config.clone()).await?;
    out.report(&started(&config, &running));
    let ended = tokio::select! {
        ended = running.wait() => ended,
        () = asked_to_stop() => {
            running.shutdown();
            running.wait().await
        }
    };
    ended.map_err(|error| {
        Failure::new(Exit::Local, "ledger_stopped", error.to_string())
            .hint("`x811 audit` of the data directory says whether the log is whole")
    })?;
    Ok(Exit::Ok)
}

fn config(args: Args) -> Result<ServerConfig, Failure> {
    let rpc_url = RpcUrl::new(args.network.rpc_url.clone());
    let mut network = match (args.network.network, args.network.token) {
        (Preset::Base, None) => NetworkConfig::base(rpc_url),
        (Preset::Base, Some(token)) => NetworkConfig {
            token,
            ..NetworkConfig::base(rpc_url)
        },
        (Preset::Local, Some(token)) => NetworkConfig::local(rpc_url, token),
        (Preset::Local, None) => {
            return Err(Failure::usage(
                "--network local needs --token, the USDC contract there",
            ));
        }
    };
    network.chain_id = args.network.chain_id.map_or(network.chain_id, ChainId::new);
    network.treasury = args.network.treasury;
    network.confirmed_depth = args
        .network
        .confirmed_depth
        .unwrap_or(network.confirmed_depth);
    network.safe_above = args.network.safe_above;
    let mut config = ServerConfig::new(args.data_dir, network);
    config.listen = args.listen;
    config.open_reads = args.open_reads;
    config.payer_binding = match args.payer_binding {
        Binding::Wallet => PayerBindingRule::Wallet,
        Binding::Unchecked => PayerBindingRule::Unchecked,
    };
    args.windows.apply(&mut config);
    Ok(config)
}

impl WindowArgs {
    fn apply(self, config: &mut ServerConfig) {
        let windows = &mut config.windows;
        let given = [
            (&mut windows.offer_ms, self.offer_ms),
            (&mut windows.accept_ms, self.accept_ms),
            (&mut windows.result_ms, self.result_ms),
            (&mut windows.verify_ms, self.verify_ms),
            (&mut windows.payment_ms, self.payment_ms),
            (&mut windows.confirmation_ms, self.confirmation_ms),
        ];
        for (window_ms, given_ms) in given {
            *window_ms = given_ms.unwrap_or(*window_ms);
        }
        if let Some(looks_ms) = self.looks_ms {
            config.looks_ms = looks_ms;
            // A pending look is never asked again later than the next one would be.
            let longest_ms = looks_ms.into_iter().max().unwrap_or_default();
            config.limits.pending_look_ms = config.limits.pending_look_ms.min(longest_ms);
        }
    }
}

fn started(config: &ServerConfig, running: &Running) -> Started {
    Started {
        url: format!("http://{}", running.local_addr),
        did: running.identity.did.to_string(),
        log_id: running.identity.log_id.to_string(),
        data_dir: config.data_dir.clone(),
        network: config.network.name.clone(),
        chain_id: config.network.chain_id.as_u64(),
        confirmed_depth: config.network.confirmed_depth,
        starts_blind: running.starts_blind.clone(),
    }
}

/// Log lines go to standard error, so that standard output stays for people and programs.
fn log_to_stderr(format: LogFormat) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    match format {
        LogFormat::Text => lines.init(),
        LogFormat::Json => lines.json().init(),
    }
}

async fn asked_to_stop() {
    let terminated = async {
        match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
            Ok(mut signal) => {
                signal.recv().await;
            }
            // Without that signal Ctrl-C still works.
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        // An error here means that no handler could be set: then nothing can ask politely.
        _ = tokio::signal::ctrl_c() => {}
        () = terminated => {}
    }
}

fn address(text: &str) -> Result<EvmAddress, String> {
    EvmAddress::parse_checksummed(text)
        .map_err(|error| format!("{error}; give the address with its EIP-55 checksum"))
}

fn looks(text: &str) -> Result<[u64; 4], String> {
    let four =
        || "give four numbers with commas between, such as 5000,15000,60000,300000".to_owned();
    let looks: Result<Vec<u64>, _> = text.split(',').map(|ms| ms.trim().parse()).collect();
    looks
        .ok()
        .and_then(|looks| looks.try_into().ok())
        .ok_or_else(four)
}

fn usdc(text: &str) -> Result<MicroUsdc, String> {
    MicroUsdc::from_usdc_decimal(text).map_err(|error| error.to_string())
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Failure {
        Failure::new(Exit::Local, "not_started", error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_are_four_numbers() {
        assert_eq!(
            looks("5000,15000,60000,300000"),
            Ok([5_000, 15_000, 60_000, 300_000])
        );
        for text in ["", "1,2,3", "1,2,3,4,5", "1,2,3,x", "1;2;3;4", "-1,2,3,4"] {
            assert!(looks(text).is_err(), "{text}");
        }
    }
}
