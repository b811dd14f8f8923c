//! `x811 agent register`.

use std::collections::BTreeSet;

use serde::Serialize;
use x811_client::compose::Registration;
use x811_client::http::{Agent, ClientError, LedgerClient};
use x811_client::identity::{AgentName, Identity};
use x811_protocol::code::Code;
use x811_protocol::did::Did;
use x811_protocol::time::TimestampMs;
use x811_protocol::wallet::Wallet;

use super::contract_wallet::contract_wallet;
use super::reachable;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which agent; not needed while there is only one
    name: Option<AgentName>,
    /// A task it can do; repeat for more
    #[arg(long = "capability", value_name = "TASK")]
    capabilities: Vec<String>,
    /// Where it can be reached, for its DID document
    #[arg(long, value_name = "URL", value_parser = reachable)]
    endpoint: Option<String>,
    /// When its DID expires, such as 2027-01-01T00:00:00Z; never without it
    #[arg(long, value_name = "TIME", value_parser = TimestampMs::parse_rfc3339)]
    expires: Option<TimestampMs>,
    /// A contract wallet (ERC-1271) with its signature over the text of `agent binding`; repeat for
    /// more
    #[arg(long = "contract-wallet", value_name = "ADDRESS=SIGNATURE", value_parser = contract_wallet)]
    contract_wallets: Vec<Wallet>,
}

/// Registers the agent and remembers with which ledger.
pub(crate) async fn run(args: Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let client = context.client()?;
    let name = context
        .identity_settled(&client, args.name.as_ref())
        .await?
        .name;
    let _lock = context.home.lock_agent(&name)?;
    let mut agent = context.home.agent(&name)?;
    let ledger = client.info().await?.did;
    let contract_wallets = args.contract_wallets.iter();
    let contract_wallets = contract_wallets.map(|wallet| wallet.address.to_checksum());
    let contract_wallets: Vec<String> = contract_wallets.collect();
    let asked = args.capabilities.clone();
    let registration = Registration::new(&agent, ledger, args.capabilities, args.endpoint)?
        .expiring(args.expires)
        .with_wallets(args.contract_wallets);
    let sealed = context.composer(&agent).seal(ledger, &registration)?;
    let (position, repeated) = match client.send(&sealed).await {
        Ok(accepted) => (accepted.position, false),
        Err(error) => {
            let known = earlier_registration(&client, &agent, error).await?;
            holds(&agent.name, &known, &asked, args.expires, &contract_wallets)?;
            (known.position, true)
        }
    };
    agent.registered_with(ledger);
    context.home.update_agent(&agent)?;
    out.report(&Registered {
        warnings: warnings(&agent),
        wallet: agent.wallet_key.map(|key| key.address().to_checksum()),
        contract_wallets,
        name: agent.name,
        did: agent.did,
        ledger,
        position,
        repeated,
    });
    Ok(Exit::Ok)
}

/// How the agent was registered before with this very key; otherwise the error stands.
async fn earlier_registration(
    client: &LedgerClient,
    agent: &Identity,
    error: ClientError,
) -> Result<Agent, Failure> {
    if let ClientError::Refused(refused) = &error
        && (refused.code, refused.status) == (Code::DidDocumentInvalid, 409)
    {
        let known = client.agent(agent.did).await?;
        if known.keys.contains(&agent.agent_key()) {
            return Ok(known);
        }
    }
    Err(error.into())
}

/// Whether the earlier registration says what is asked for now: a registration changes nothing of it, and
/// what is not named counts for nothing.
fn holds(
    name: &AgentName,
    known: &Agent,
    capabilities: &[String],
    expires: Option<TimestampMs>,
    contract_wallets: &[String],
) -> Result<(), Failure> {
    let sorted = |names: &[String]| names.iter().cloned().collect::<BTreeSet<String>>();
    let wallets: Vec<String> = known
        .wallets
        .iter()
        .map(|it| it.address.to_checksum())
        .collect();
    let differs = [
        (
            "--capability",
            !capabilities.is_empty() && sorted(capabilities) != sorted(&known.capabilities),
        ),
        (
            "--expires",
            expires.is_some() && expires != known.expires_at_ms,
        ),
        (
            "--contract-wallet",
            !sorted(contract_wallets).is_subset(&sorted(&wallets)),
        ),
    ];
    let differs = differs.into_iter().filter(|(_, differs)| *differs);
    let differs: Vec<&str> = differs.map(|(option, _)| option).collect();
    if differs.is_empty() {
        return Ok(());
    }
    let message = format!(
        "agent {name} was registered before, at position {}, with other values of {}; nothing was changed",
        known.position,
        differs.join(", ")
    );
    let hint = format!(
        "change what is registered: x811 agent update {name} {} …",
        differs.join(" … ")
    );
    Err(Failure::refused(Code::DidDocumentInvalid, message).hint(hint))
}

/// What follows from other ledgers that know the DID, as far as the agent's file says.
fn warnings(agent: &Identity) -> Vec<String> {
    if agent.other_ledgers.is_empty() {
        return Vec::new();
    }
    let others: Vec<String> = agent.other_ledgers.iter().map(Did::to_string).collect();
    let warning = format!(
        "this DID is registered with another ledger too ({}): messages that it signs for one can \
         be shown to the other, and a plain transfer can then count as paid at both (one under an \
         EIP-3009 authorization counts once). Make one agent for each ledger: x811 agent new",
        others.join(", ")
    );
    vec![warning]
}

#[derive(Serialize)]
struct Registered {
    name: AgentName,
    did: Did,
    ledger: Did,
    #[serde(skip_serializing_if = "Option::is_none")]
    wallet: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    contract_wallets: Vec<String>,
    position: u64,
    /// It was registered before, and nothing new was recorded.
    repeated: bool,
    /// What its owner should know, in sentences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

impl Report for Registered {
    fn print(&self, out: &mut Out) {
        let before = match self.repeated {
            true => ", and was before: nothing new was recorded",
            false => "",
        };
        let heading = format!("agent {} is registered{before}", self.name);
        out.heading(Tone::Good, heading);
        let mut fields = vec![
            ("did", self.did.to_string()),
            ("ledger", self.ledger.to_string()),
            ("recorded", format!("position {}", self.position)),
        ];
        fields.extend(self.wallet.iter().map(|wallet| ("wallet", wallet.clone())));
        let contracts = self.contract_wallets.iter();
        fields.extend(contracts.map(|wallet| ("contract", wallet.clone())));
        out.fields(&fields);
        for warning in &self.warnings {
            out.warning(warning);
        }
    }
}
