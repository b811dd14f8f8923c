//! `x811 demo`: a ledger, an Anvil as Base, and two agents, all on this computer, and four interactions.
//!
//! Everything is real but the money: keys, signatures, HTTP, SQLite, Anvil, USDC's transfer
//! log. The retry schedule's windows are shortened when the ledger starts; they are recorded like
//! any other parameters, and the story says so.

mod act;
mod audit;
pub(crate) mod cast;
mod chain;
mod error;
mod story;
mod terms;

use act::{Ending, Stage};
use cast::Agent;
use chain::Chain;
use error::DemoError;
use serde::Serialize;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::pin::pin;
use story::Story;
use x811_client::clock::{Clock as _, SystemClock};
use x811_client::home::Home;
use x811_console::exit::Exit;
use x811_console::failure::Failure;
use x811_console::output::{Out, Report, Tone};
use x811_console::stop::StopSignals;
use x811_eventlog::note::NoteKey;
use x811_protocol::event::LedgerOpened;
use x811_protocol::id::{ContractId, InteractionId};
use x811_protocol::interaction::StateName;
use x811_protocol::money::MicroUsdc;
use x811_server::{NetworkConfig, RpcUrl, Running, ServerConfig};
use x811_store::FileCheckpointStore;

/// The confirmation window of the demo; AEEP's is 30 s.
const CONFIRMATION_MS: u64 = 6_000;

/// The looks of the demo; AEEP's are 5, 15, 60 and 300 s apart.
const LOOKS_MS: [u64; 4] = [2_000; 4];

/// Test USDC that the payer starts with, in micro-USDC: 10 USDC.
const PURSE_MICRO_USDC: u64 = 10_000_000;

/// Options of `x811 demo`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The `anvil` program (scripts/demo.sh installs it and names it here)
    #[arg(long, value_name = "FILE", default_value = "anvil")]
    anvil: PathBuf,
    /// Leave ledger and Anvil running afterwards, until Ctrl-C, and say what to try
    #[arg(long)]
    keep: bool,
    /// Where the ledger's data goes; a new directory, removed afterwards unless --keep is given
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

/// How the demo ended, for programs.
#[derive(Debug, Serialize)]
struct Summary {
    ledger: String,
    ledger_url: String,
    data_dir: PathBuf,
    interactions: Vec<Played>,
    records: u64,
    audit_is_clean: bool,
    /// By which the audit knew whose log it was.
    checkpoint_vkey: String,
}

/// One interaction that was played.
#[derive(Debug, Serialize)]
struct Played {
    id: InteractionId,
    /// The contract that it was opened under, as `neg-` and its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    negotiation: Option<String>,
    state: &'static str,
}

impl Report for Summary {
    fn print(&self, out: &mut Out) {
        out.gap();
        out.line(format!(
            "{} interactions, {} records, nothing left running.",
            self.interactions.len(),
            self.records
        ));
    }
}

/// Runs the demo; Ctrl-C ends it at any time, and everything it started with it.
///
/// # Errors
/// The demo did not come to its end, or an interaction did not end as it must.
pub async fn run(args: Args, out: &mut Out) -> Result<Exit, Failure> {
    let data_dir = data_dir(&args)?;
    let checkpoint_dir = checkpoint_dir(&data_dir)?;
    let mut asked_to_stop = pin!(StopSignals::set().asked());
    let quiet = out.is_json();
    let story = Story::new(out, quiet);
    let chain = Chain::start(&args.anvil).await?;
    let config = config(&data_dir, &checkpoint_dir, &chain);
    let started = x811_server::start(config.clone()).await;
    let mut server =
        started.map_err(|error| Failure::new(Exit::Local, "not_started", error.to_string()))?;
    let told = tokio::select! {
        told = tell(&story, &chain, &config, &server) => told.map(Some),
        () = &mut asked_to_stop => Ok(None),
    };
    if args.keep
        && let Ok(Some(summary)) = &told
    {
        what_next(&story, &config, &chain, summary);
        tokio::select! {
            ended = server.wait() => ended.map_err(DemoError::Ended)?,
            () = &mut asked_to_stop => {}
        }
    }
    server.shutdown();
    server.wait().await.map_err(DemoError::Ended)?;
    chain.stop().await;
    if !args.keep {
        for directory in [&data_dir, &checkpoint_dir] {
            std::fs::remove_dir_all(directory).map_err(DemoError::Directory)?;
        }
    }
    let Some(summary) = told? else {
        out.heading(Tone::Waiting, "Stopped; nothing is left running.");
        return Ok(Exit::Interrupted);
    };
    out.report(&summary);
    Ok(Exit::Ok)
}

/// A directory that does not exist yet.
fn data_dir(args: &Args) -> Result<PathBuf, Failure> {
    let data_dir = args.data_dir.clone().unwrap_or_else(|| {
        std::env::temp_dir().join(format!("x811-demo-{}", SystemClock.now().as_ms()))
    });
    new(data_dir)
}

/// Where a ledger in that directory keeps its checkpoint, so that every other verb finds it.
fn checkpoint_dir(data_dir: &Path) -> Result<PathBuf, Failure> {
    let beside = FileCheckpointStore::beside(data_dir);
    new(beside.ok_or_else(|| Failure::usage("name a directory by its name"))?)
}

fn new(directory: PathBuf) -> Result<PathBuf, Failure> {
    if directory.exists() {
        let message = format!("{} exists already", directory.display());
        return Err(
            Failure::local("data_dir", message).hint("name a directory that does not exist yet")
        );
    }
    Ok(directory)
}

/// From two strangers to the audited log.
async fn tell(
    story: &Story<'_>,
    chain: &Chain,
    config: &ServerConfig,
    server: &Running,
) -> Result<Summary, DemoError> {
    introduce(story, chain, config, server);
    let ledger_url = format!("http://{}", server.local_addr);
    let (ada, bert) = cast(story, chain, server, &ledger_url).await?;
    let stage = Stage {
        story,
        chain,
        network: &config.network.name,
        ada: &ada,
        bert: &bert,
        ledger_did: server.identity.did,
    };
    keep_keys(&config.data_dir, [&ada, &bert])?;
    let interactions = play_all(&stage).await?;
    let key = checkpoint_key(server)?;
    let checkpoint_vkey = key.to_vkey();
    let report = audit::tell(story, config, key).await?;
    Ok(Summary {
        ledger: server.identity.did.to_string(),
        ledger_url,
        data_dir: config.data_dir.clone(),
        interactions,
        records: report.records,
        audit_is_clean: report.is_clean(),
        checkpoint_vkey,
    })
}

/// The key by which the ledger signs checkpoints, from the ledger itself.
fn checkpoint_key(server: &Running) -> Result<NoteKey, DemoError> {
    let LedgerOpened { origin, keys, .. } = &server.identity;
    let key = NoteKey::new(&**origin, *keys.checkpoint.as_bytes());
    key.map_err(|_| DemoError::Setup("a name for the ledger's key"))
}

fn config(data_dir: &Path, checkpoint_dir: &Path, chain: &Chain) -> ServerConfig {
    let network = NetworkConfig::local(RpcUrl::new(chain.rpc_url()), chain.token());
    let mut config = ServerConfig::new(data_dir, network);
    config.listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    config.checkpoint_dir = Some(checkpoint_dir.to_owned());
    config.windows.confirmation_ms = CONFIRMATION_MS;
    config.looks_ms = LOOKS_MS;
    config.limits.pending_look_ms = LOOKS_MS[0];
    config
}

fn introduce(story: &Story<'_>, chain: &Chain, config: &ServerConfig, server: &Running) {
    story.heading("x811 demo: four interactions on a ledger and an Anvil of their own");
    story.fact(
        "Base",
        &format!(
            "stand-in: Anvil at {}, chain id {}, a block a second",
            chain.rpc_url(),
            chain::CHAIN_ID
        ),
    );
    story.fact(
        "token",
        &format!("test USDC at {}", chain.token().to_checksum()),
    );
    story.fact(
        "ledger",
        &format!("{} at http://{}", server.identity.did, server.local_addr),
    );
    story.fact("data", &config.data_dir.display().to_string());
    story.fact(
        "shortened",
        "confirmation window 6 s (AEEP: 30 s), looks 2, 2, 2, 2 s apart (AEEP: 5, 15, 60, 300 s);",
    );
    story.fact(
        "",
        "the log records them at position 1, so an auditor sees them too",
    );
}

/// Ada asks and pays, Bert works and is paid.
async fn cast(
    story: &Story<'_>,
    chain: &Chain,
    server: &Running,
    ledger_url: &str,
) -> Result<(Agent, Agent), DemoError> {
    let ledger_did = server.identity.did;
    let ada = Agent::join("Ada", ledger_url, ledger_did, &[]).await?;
    let bert = Agent::join("Bert", ledger_url, ledger_did, &[act::TASK]).await?;
    let purse =
        MicroUsdc::from_micro_usdc(PURSE_MICRO_USDC).map_err(|_| DemoError::Setup("an amount"))?;
    chain.fund(ada.account(), purse).await?;
    for (agent, role) in [(&ada, "initiator"), (&bert, "provider")] {
        story.fact(agent.name, &format!("{role}, {}", agent.did()));
        story.fact(
            "",
            &format!(
                "wallet {}, bound by its signature",
                agent.account().to_checksum()
            ),
        );
    }
    Ok((ada, bert))
}

/// Where the agents' keys are, so that whoever keeps the ledger can read as its agents.
fn agents_home(data_dir: &Path) -> PathBuf {
    data_dir.join("agents-home")
}

fn keep_keys(data_dir: &Path, agents: [&Agent; 2]) -> Result<(), DemoError> {
    let home = Home::new(agents_home(data_dir));
    for agent in agents {
        home.add_agent(&agent.identity)?;
    }
    Ok(())
}

async fn play_all(stage: &Stage<'_, '_>) -> Result<Vec<Played>, DemoError> {
    let acts = [
        (Ending::Paid, StateName::Completed, "1. Paid in full"),
        (
            Ending::PaidAsAgreed,
            StateName::Completed,
            "2. Negotiated, then paid",
        ),
        (Ending::NeverPaid, StateName::Disputed, "3. Never paid"),
        (
            Ending::PaidTooLittle,
            StateName::Disputed,
            "4. Paid too little",
        ),
    ];
    let mut played = Vec::new();
    for (ending, expected, heading) in acts {
        stage.story.heading(heading);
        let ended = stage.play(ending).await?;
        if ended.state != expected {
            let actual = ended.state;
            return Err(DemoError::WrongEnd { expected, actual });
        }
        played.push(Played {
            id: ended.interaction,
            negotiation: ended.negotiation.map(ContractId::to_public),
            state: ended.state.as_str(),
        });
    }
    Ok(played)
}

fn what_next(story: &Story<'_>, config: &ServerConfig, chain: &Chain, summary: &Summary) {
    story.heading("Ledger and Anvil stay up until Ctrl-C. Try, in another terminal:");
    let ledger_url = &summary.ledger_url;
    let home = agents_home(&config.data_dir);
    let x811 = format!("x811 --ledger {ledger_url} --home {}", home.display());
    for played in &summary.interactions {
        story.line(&format!(
            "  {x811} --agent bert provider paid {}",
            played.id
        ));
    }
    if let Some(first) = summary.interactions.first() {
        story.line(&format!("  {x811} --agent ada history {}", first.id));
    }
    story.line(&format!(
        "  x811 audit {} --key {}",
        config.data_dir.display(),
        summary.checkpoint_vkey
    ));
    story.line(&format!(
        "  x811 export {} -o demo.x811",
        config.data_dir.display()
    ));
    story.line(&format!("  curl {ledger_url}/ready"));
    story.line(
        "After kill -9 of this process, which leaves Anvil running, the same ledger goes on with:",
    );
    story.line(&format!(
        "  x811 serve --data-dir {} --network local --rpc {} --token {}",
        config.data_dir.display(),
        chain.rpc_url(),
        chain.token().to_checksum()
    ));
}
