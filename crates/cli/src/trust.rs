//! Whose checkpoints somebody trusts, from a source outside the file that is verified.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use x811_audit::TrustedBy;
use x811_audit::refresh::Refresh;
use x811_eventlog::Policy;
use x811_eventlog::note::NoteKey;

use crate::bounded;
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
        let bytes = read(file).map_err(|error| failed(error.to_string()))?;
        let refresh = Refresh::from_bytes(&bytes).map_err(|error| failed(error.to_string()))?;
        Ok(Some(refresh))
    }
}

/// Most bytes of a policy, or of what refreshes a paper: neither comes near it.
const MAX_BYTES: usize = 1 << 20;

fn read(file: &Path) -> io::Result<Vec<u8>> {
    let bytes = bounded::read(file, MAX_BYTES)?;
    if bytes.len() <= MAX_BYTES {
        return Ok(bytes);
    }
    let message = "it has more than 1 MiB, and was not read any further";
    Err(io::Error::new(ErrorKind::FileTooLarge, message))
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
        let unread = |error: io::Error| {
            let message = format!("{} cannot be read: {error}", file.display());
            Failure::local("policy", message)
        };
        let bytes = read(file).map_err(unread)?;
        let text = String::from_utf8(bytes)
            .map_err(|error| unread(io::Error::new(ErrorKind::InvalidData, error)))?;
        let policy = text.parse::<Policy>();
        let policy = policy.map_err(|error| Failure::local("policy", error.to_string()))?;
        Ok(Some(policy))
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn lc_9_a_file_beside_a_paper_is_not_read_whole() {
        let folder = tempfile::tempdir().unwrap();
        let paper = folder.path().join("paper");
        let policy = Some(paper.clone());
        for (size, is_read) in [(MAX_BYTES, true), (MAX_BYTES + 1, false), (1 << 40, false)] {
            for path in [beside(&paper), paper.clone()] {
                // Of a file with a hole the disk holds nothing.
                File::create(&path).unwrap().set_len(size as u64).unwrap();
                assert_eq!(read(&path).is_ok(), is_read, "{size}");
            }
            let refused = RefreshArgs::default().read(&paper).unwrap_err().message;
            assert_eq!(refused.contains("more than 1 MiB"), !is_read, "{refused}");
            let (key, policy) = (None, policy.clone());
            let refused = TrustArgs { key, policy }.policy().unwrap_err().message;
            assert_eq!(refused.contains("more than 1 MiB"), !is_read, "{refused}");
        }
    }
}
