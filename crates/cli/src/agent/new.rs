//! `x811 agent new`.

use std::path::{Path, PathBuf};

use serde::Serialize;
use x811_client::home::HomeError;
use x811_client::identity::{AgentName, Identity};
use x811_client::wallet::WalletKey;
use x811_protocol::did::Did;
use x811_protocol::key::{Profile, PublicKey};
use zeroize::Zeroizing;

use crate::bounded;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What you call it: lower-case letters, digits, hyphens, underscores
    name: AgentName,
    /// Pay with and be paid to the account of this key (a file with 64 hex digits)
    #[arg(long, value_name = "FILE", conflicts_with = "no_wallet")]
    wallet_key_file: Option<PathBuf>,
    /// Make no wallet key
    #[arg(long)]
    no_wallet: bool,
    /// What its key signs: digest, or direct for peers of AEEP v0.2
    #[arg(long, default_value = "digest")]
    profile: Profile,
}

/// Makes the agent.
pub(crate) fn run(args: Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let mut agent = Identity::generate(args.name, &*context.entropy, &*context.clock)?;
    agent.profile = args.profile;
    if args.no_wallet {
        agent.wallet_key = None;
    } else if let Some(path) = args.wallet_key_file {
        agent.wallet_key = Some(wallet_key(&path)?);
    }
    let file = context.home.add_agent(&agent).map_err(|error| {
        let is_taken = matches!(error, HomeError::Exists { .. });
        let failure = Failure::from(error);
        match is_taken {
            true => failure.hint("choose another name; an agent's keys are never overwritten"),
            false => failure,
        }
    })?;
    out.report(&NewAgent {
        wallet: agent.wallet_key.map(|key| key.address().to_checksum()),
        key: agent.signing_key.public(),
        name: agent.name,
        did: agent.did,
        file: file.display().to_string(),
    });
    Ok(Exit::Ok)
}

/// Most bytes of a file with a key: its digits and blanks around them.
const MAX_KEY_BYTES: usize = 1 << 10;

fn wallet_key(path: &Path) -> Result<WalletKey, Failure> {
    let unreadable = |cause: String| {
        let message = format!("the wallet key in {}: {cause}", path.display());
        Failure::local("wallet_key", message)
            .hint("name a file with 64 hex digits, or leave --wallet-key-file out: one is made")
    };
    let text = bounded::text(path, MAX_KEY_BYTES).map_err(|error| unreadable(error.to_string()))?;
    let text = Zeroizing::new(text);
    WalletKey::from_hex(text.trim()).map_err(|error| unreadable(error.to_string()))
}

#[derive(Serialize)]
struct NewAgent {
    name: AgentName,
    did: Did,
    key: PublicKey,
    #[serde(skip_serializing_if = "Option::is_none")]
    wallet: Option<String>,
    file: String,
}

impl Report for NewAgent {
    fn print(&self, out: &mut Out) {
        out.heading(Tone::Good, format_args!("agent {} is made", self.name));
        let no_wallet = || "none: it cannot pay by itself".to_owned();
        out.fields(&[
            ("did", self.did.to_string()),
            ("signing key", self.key.to_string()),
            ("wallet", self.wallet.clone().unwrap_or_else(no_wallet)),
            ("file", format!("{} (holds the secret keys)", self.file)),
            (
                "next",
                format!("x811 agent register {} --capability echo", self.name),
            ),
        ]);
    }
}
