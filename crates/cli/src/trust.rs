//! Whose checkpoints somebody trusts, from a source outside the file that is verified.

use std::fs;
use std::path::PathBuf;

use x811_eventlog::Policy;
use x811_eventlog::note::NoteKey;
use x811_ledger::audit::TrustedBy;

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
    /// What was named, for an audit; `None` where nothing was.
    pub(crate) fn read(&self) -> Result<Option<TrustedBy>, Failure> {
        Ok(match self.key()? {
            Some(key) => Some(key.into()),
            None => self.named_policy()?.map(TrustedBy::from),
        })
    }

    /// What was named, as a policy; `None` where nothing was.
    pub(crate) fn policy(&self) -> Result<Option<Policy>, Failure> {
        Ok(match self.key()? {
            Some(key) => Some(Policy::of_log(key)),
            None => self.named_policy()?,
        })
    }

    fn key(&self) -> Result<Option<NoteKey>, Failure> {
        let key = self.key.as_deref().map(NoteKey::from_vkey).transpose();
        key.map_err(|error| Failure::usage(&error.to_string()))
    }

    fn named_policy(&self) -> Result<Option<Policy>, Failure> {
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
