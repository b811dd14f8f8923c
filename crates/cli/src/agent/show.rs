//! `x811 agent show`.

use serde::Serialize;
use x811_client::http::{Agent, BoundWallet};
use x811_client::identity::{AgentName, Identity};
use x811_protocol::did::Did;
use x811_protocol::wallet::WalletKind;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};
use x811_protocol::narration::moment;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// One of your agents; all of them without a name
    #[arg(conflicts_with = "did")]
    name: Option<AgentName>,
    /// Ask the ledger about any agent
    #[arg(long)]
    did: Option<Did>,
}

/// Shows agents. Secret keys are never shown.
pub(crate) async fn run(args: Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    if let Some(did) = args.did {
        out.report(&known_to_ledger(did, context).await?);
        return Ok(Exit::Ok);
    }
    let names = match args.name {
        Some(name) => vec![name],
        None => context.home.agents()?,
    };
    let mut agents = Vec::new();
    for name in names {
        let identity = context.identity_named(Some(&name))?;
        let file = context.home.agent_path(&name);
        agents.push(LocalAgent::new(&identity, file.display().to_string()));
    }
    out.report(&LocalAgents { agents });
    Ok(Exit::Ok)
}

async fn known_to_ledger(did: Did, context: &Context) -> Result<KnownAgent, Failure> {
    let agent = context.client()?.agent(did).await?;
    let expires = agent.expires_at_ms.map(|at| moment(at, context.now()));
    Ok(KnownAgent { agent, expires })
}

#[derive(Serialize)]
struct LocalAgents {
    agents: Vec<LocalAgent>,
}

#[derive(Serialize)]
struct LocalAgent {
    name: AgentName,
    did: Did,
    key: String,
    profile: String,
    /// A rotation to this key was begun; the ledger has not said yes to it here.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_key: Option<String>,
    wallet: Option<String>,
    ledger: Option<Did>,
    file: String,
}

impl LocalAgent {
    fn new(identity: &Identity, file: String) -> LocalAgent {
        let wallet = identity.wallet_key.as_ref();
        LocalAgent {
            name: identity.name.clone(),
            did: identity.did,
            key: identity.signing_key.public().to_string(),
            profile: identity.profile.to_string(),
            next_key: identity.next_agent_key().map(|next| next.key.to_string()),
            wallet: wallet.map(|key| key.address().to_checksum()),
            ledger: identity.ledger,
            file,
        }
    }
}

impl Report for LocalAgents {
    fn print(&self, out: &mut Out) {
        if self.agents.is_empty() {
            out.line("there is no agent yet; make one with `x811 agent new NAME`");
        }
        for agent in &self.agents {
            out.heading(Tone::Plain, &agent.name);
            let not_registered = || "not registered yet".to_owned();
            let mut fields = vec![
                ("did", agent.did.to_string()),
                ("signing key", format!("{} ({})", agent.key, agent.profile)),
                (
                    "wallet",
                    agent.wallet.clone().unwrap_or_else(|| "none".to_owned()),
                ),
                (
                    "ledger",
                    agent
                        .ledger
                        .map_or_else(not_registered, |did| did.to_string()),
                ),
                ("file", agent.file.clone()),
            ];
            if let Some(next) = &agent.next_key {
                let next = format!("{next} (a rotation to it is not settled)");
                fields.insert(2, ("next key", next));
            }
            out.fields(&fields);
        }
    }
}

#[derive(Serialize)]
struct KnownAgent {
    #[serde(flatten)]
    agent: Agent,
    #[serde(skip)]
    expires: Option<String>,
}

fn of_wallet(wallet: &BoundWallet) -> String {
    let address = wallet.address.to_checksum();
    match wallet.kind {
        WalletKind::Eoa => address,
        WalletKind::Erc1271 => format!("{address} (contract)"),
    }
}

impl Report for KnownAgent {
    fn print(&self, out: &mut Out) {
        let KnownAgent { agent, expires } = self;
        out.heading(Tone::Plain, agent.did);
        let listed = |list: &[String]| match list {
            [] => "none".to_owned(),
            list => list.join(", "),
        };
        let wallets: Vec<String> = agent.wallets.iter().map(of_wallet).collect();
        out.fields(&[
            ("status", agent.status.as_str().to_owned()),
            (
                "expires",
                expires.clone().unwrap_or_else(|| "never".to_owned()),
            ),
            ("capabilities", listed(&agent.capabilities)),
            ("wallets", listed(&wallets)),
            ("recorded", format!("position {}", agent.position)),
        ]);
    }
}
