//! Whose checkpoints somebody trusts, from a source outside the file that is verified.

use std::fs;
use std::path::{Path, PathBuf};

use x811_eventlog::Policy;
use x811_eventlog::note::NoteKey;
use x811_ledger::audit::TrustedBy;
use x811_ledger::refresh::Refresh;

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

/// What the ledger said later of a paper from before it replaced its checkpoint key.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct RefreshArgs {
    /// What `x811 receipt refresh` wrote, or the ledger's /.well-known/x811-keys, where the ledger
    /// replaced its checkpoint key since (the source with `.refresh` behind it, if it is there)
    #[arg(long, value_name = "FILE")]
    pub(crate) refresh: Option<PathBuf>,
}

impl RefreshArgs {
    /// The file that was named, or the one that lies beside `paper`; `None` where there is none.
    pub(crate) fn read(&self, paper: &Path) -> Result<Option<Refresh>, Failure> {
        let beside = beside(paper);
        let file = match &self.refresh {
            Some(named) => named,
            None if beside.is_file() => &beside,
            None => return Ok(None),
        };
        let failed = |why: String| {
            let message = format!("{} cannot be read: {why}", file.display());
            Failure::local("refresh", message).hint("ask the ledger again: x811 receipt refresh")
        };
        let bytes = fs::read(file).map_err(|error| failed(error.to_string()))?;
        let refresh = Refresh::from_bytes(&bytes).map_err(|error| failed(error.to_string()))?;
        Ok(Some(refresh))
    }
}

/// Where what refreshes a paper is kept: its own name with `.refresh` behind it.
pub(crate) fn beside(paper: &Path) -> PathBuf {
    let mut name = paper.as_os_str().to_owned();
    name.push(".refresh");
    name.into()
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
        key.map_err(|error| {
            Failure::usage(&error.to_string())
                .hint("take `checkpoint_vkey` from the ledger's /.well-known/x811.json")
        })
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
