//! Whose checkpoints somebody trusts, from a source outside the file that is verified.

use std::fs;
use std::path::PathBuf;

use x811_eventlog::Policy;
use x811_eventlog::note::NoteKey;

use crate::failure::Failure;

#[derive(Debug, Default, clap::Args)]
pub(crate) struct TrustArgs {
    /// The ledger's checkpoint key, from a source you trust: NAME+ID+KEY
    #[arg(long, value_name = "VKEY", conflicts_with = "policy")]
    pub(crate) key: Option<String>,
    /// A file that says which logs and witnesses you trust (C2SP tlog-policy)
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
}

impl TrustArgs {
    /// What was named; `None` where nothing was.
    pub(crate) fn read(&self) -> Result<Option<Policy>, Failure> {
        if let Some(vkey) = &self.key {
            let key = NoteKey::from_vkey(vkey);
            let key = key.map_err(|error| Failure::usage(&error.to_string()))?;
            return Ok(Some(Policy::of_log(key)));
        }
        let Some(file) = &self.policy else {
            return Ok(None);
        };
        let unread = |error| {
            let message = format!("{} cannot be read: {error}", file.display());
            Failure::local("policy", message)
        };
        let text = fs::read_to_string(file).map_err(unread)?;
        let policy = text.parse::<Policy>();
        let policy = policy.map_err(|error| Failure::local("policy", error.to_string()))?;
        Ok(Some(policy))
    }
}
