//! The directory an agent's owner keeps on this computer: one file per agent, one per transfer.
//!
//! ```text
//! <home>/agents/<name>.json            identity, keys included
//! <home>/agents/<name>.lock            empty; held while the identity is being changed
//! <home>/transfers/<interaction>.json  a signed transfer, written before it is sent
//! <home>/ballots/<name>/<round>.json   a sealed vote, written before its commitment is sent
//! <home>/loops/<name>/                 state, approvals and proofs of an agent that runs unattended
//! ```
//!
//! Directories are made for their owner alone (mode 0700) and files too (0600); a file that others
//! can read is refused as ssh refuses such keys. Files appear whole or not at all.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use x811_protocol::id::{InteractionId, RoundId};
use zeroize::Zeroizing;

use crate::identity::{AgentName, Identity, IdentityError};

/// The largest file that is read, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// The directory where the agents of one owner lie, with all that is theirs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    path: PathBuf,
}

impl Home {
    /// The home at `path`; nothing is made before something is written.
    pub fn new(path: impl Into<PathBuf>) -> Home {
        Home { path: path.into() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Names of the agents, sorted; files with other names are not looked at.
    ///
    /// # Errors
    /// [`HomeError::Io`].
    pub fn agents(&self) -> Result<Vec<AgentName>, HomeError> {
        let directory = self.path.join("agents");
        let entries = match fs::read_dir(&directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(HomeError::io(&directory, error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| HomeError::io(&directory, error))?;
            let file_name = entry.file_name();
            let name = file_name
                .to_str()
                .and_then(|name| name.strip_suffix(".json"));
            names.extend(name.and_then(|name| name.parse().ok()));
        }
        names.sort();
        Ok(names)
    }

    /// Writes a new agent's file and says where.
    ///
    /// # Errors
    /// [`HomeError::Exists`] when the name is taken, [`HomeError::Io`].
    pub fn add_agent(&self, agent: &Identity) -> Result<PathBuf, HomeError> {
        let path = self.agent_path(&agent.name);
        write_new(&path, &agent_file(&path, agent)?)?;
        Ok(path)
    }

    /// Replaces an agent's file.
    ///
    /// # Errors
    /// [`HomeError::Io`].
    pub fn update_agent(&self, agent: &Identity) -> Result<(), HomeError> {
        let path = self.agent_path(&agent.name);
        replace(&path, &agent_file(&path, agent)?)
    }

    /// Reads an agent's file.
    ///
    /// # Errors
    /// [`HomeError::Missing`], [`HomeError::Open`] when others can read it, [`HomeError::Identity`]
    /// when it is damaged, [`HomeError::Io`].
    pub fn agent(&self, name: &AgentName) -> Result<Identity, HomeError> {
        let path = self.agent_path(name);
        let bytes = read_private(&path)?;
        Identity::from_file(&bytes).map_err(|cause| HomeError::Identity { path, cause })
    }

    /// Keeps every other command from changing the agent's file until the lock is dropped: whoever
    /// reads the file, asks the ledger and writes the file back holds it, or a key that another
    /// command has just made is overwritten.
    ///
    /// # Errors
    /// [`HomeError::Busy`] while another command holds it, [`HomeError::Io`].
    pub fn lock_agent(&self, name: &AgentName) -> Result<AgentLock, HomeError> {
        let path = self.agent_path(name).with_extension("lock");
        let file = open_lock(&path).map_err(|error| HomeError::io(&path, error))?;
        match file.try_lock() {
            Ok(()) => Ok(AgentLock { _file: file }),
            Err(TryLockError::WouldBlock) => Err(HomeError::Busy { path }),
            Err(TryLockError::Error(error)) => Err(HomeError::io(&path, error)),
        }
    }

    /// Where the agent's file is or would be.
    pub fn agent_path(&self, name: &AgentName) -> PathBuf {
        self.path.join("agents").join(format!("{name}.json"))
    }

    /// The folder of an agent's loop: state, approvals, proofs.
    pub fn loop_folder(&self, name: &AgentName) -> PathBuf {
        self.path.join("loops").join(name.as_str())
    }

    /// Keeps a signed transfer for an interaction, before it is sent: whoever is interrupted then
    /// sends the same one again and never a second.
    ///
    /// # Errors
    /// [`HomeError::Exists`] when there is one already, [`HomeError::Io`].
    pub fn add_transfer(&self, interaction: InteractionId, file: &[u8]) -> Result<(), HomeError> {
        write_new(&self.transfer_path(interaction), file)
    }

    /// Keeps a transfer in place of the one that is kept, before it is sent. Both are under one nonce of
    /// the account or of the token, which takes one of them.
    ///
    /// # Errors
    /// [`HomeError::Io`].
    pub fn replace_transfer(
        &self,
        interaction: InteractionId,
        file: &[u8],
    ) -> Result<(), HomeError> {
        replace(&self.transfer_path(interaction), file)
    }

    /// The transfer kept for an interaction, if there is one.
    ///
    /// # Errors
    /// [`HomeError::Open`], [`HomeError::Io`].
    pub fn transfer(
        &self,
        interaction: InteractionId,
    ) -> Result<Option<Zeroizing<Vec<u8>>>, HomeError> {
        match read_private(&self.transfer_path(interaction)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(HomeError::Missing { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Keeps a sealed vote of an agent, before its commitment is sent: without it nothing can be revealed.
    ///
    /// # Errors
    /// [`HomeError::Exists`] when there is one already, [`HomeError::Io`].
    pub fn add_ballot(
        &self,
        name: &AgentName,
        round: RoundId,
        file: &[u8],
    ) -> Result<(), HomeError> {
        write_new(&self.ballot_path(name, round), file)
    }

    /// The sealed vote that an agent keeps for a round, if there is one.
    ///
    /// # Errors
    /// [`HomeError::Open`], [`HomeError::Io`].
    pub fn ballot(
        &self,
        name: &AgentName,
        round: RoundId,
    ) -> Result<Option<Zeroizing<Vec<u8>>>, HomeError> {
        match read_private(&self.ballot_path(name, round)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(HomeError::Missing { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Where the sealed vote of a round is or would be kept.
    pub fn ballot_path(&self, name: &AgentName, round: RoundId) -> PathBuf {
        let folder = self.path.join("ballots").join(name.as_str());
        folder.join(format!("{round}.json"))
    }

    /// Where the transfer of an interaction is or would be kept.
    pub fn transfer_path(&self, interaction: InteractionId) -> PathBuf {
        self.path
            .join("transfers")
            .join(format!("{interaction}.json"))
    }
}

/// The right to change one agent's file; it ends when dropped.
#[derive(Debug)]
pub struct AgentLock {
    _file: File,
}

/// Why the home cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    /// No such file.
    #[error("{} does not exist", path.display())]
    Missing {
        /// Path of the file.
        path: PathBuf,
    },
    /// A file that must not be overwritten.
    #[error("{} exists already and is left as it is", path.display())]
    Exists {
        /// Path of the file.
        path: PathBuf,
    },
    /// Another command is changing the agent.
    #[error(
        "another command is changing this agent and holds {}; run this one again when that has \
         ended",
        path.display()
    )]
    Busy {
        /// Path of the lock file.
        path: PathBuf,
    },
    /// Others than the owner may read or write it.
    #[error(
        "{} has mode {mode:04o}, so others can read the keys in it; run `chmod 600` on it, and \
         make a new agent if someone may have",
        path.display()
    )]
    Open {
        /// Path of the file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// It holds no identity.
    #[error("{} cannot be used: {cause}; restore it from a copy", path.display())]
    Identity {
        /// Path of the file.
        path: PathBuf,
        /// What is wrong with it.
        cause: IdentityError,
    },
    /// The operating system refused.
    #[error("{}: {cause}; check the path, its owner and the free space", path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// What it said.
        cause: io::Error,
    },
}

impl HomeError {
    pub(crate) fn io(path: &Path, cause: io::Error) -> HomeError {
        let path = path.to_owned();
        if cause.kind() == io::ErrorKind::NotFound {
            HomeError::Missing { path }
        } else if cause.kind() == io::ErrorKind::AlreadyExists {
            HomeError::Exists { path }
        } else {
            HomeError::Io { path, cause }
        }
    }
}

fn agent_file(path: &Path, agent: &Identity) -> Result<Zeroizing<Vec<u8>>, HomeError> {
    let unwritable = |error| HomeError::io(path, io::Error::other(error));
    agent.to_file().map_err(unwritable)
}

/// Writes a file that must not be there yet.
fn write_new(path: &Path, bytes: &[u8]) -> Result<(), HomeError> {
    let failed = |error| HomeError::io(path, error);
    // What is missing here is a folder that cannot be made, not the file.
    let staged = stage(path, bytes).map_err(|cause| HomeError::Io {
        path: path.to_owned(),
        cause,
    })?;
    // A link fails where a file is; a rename would replace it.
    let linked = fs::hard_link(&staged, path);
    fs::remove_file(&staged).map_err(failed)?;
    linked.map_err(failed)?;
    sync_directory(path).map_err(failed)
}

/// Writes a file in place of the one that is there.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), HomeError> {
    let write = || {
        fs::rename(stage(path, bytes)?, path)?;
        sync_directory(path)
    };
    write().map_err(|error| HomeError::io(path, error))
}

/// Puts the bytes durably beside `path`.
fn stage(path: &Path, bytes: &[u8]) -> io::Result<PathBuf> {
    if let Some(directory) = path.parent() {
        make_private_directory(directory)?;
    }
    let staged = path.with_extension(format!("{}.new", std::process::id()));
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&staged)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    Ok(staged)
}

pub(crate) fn open_lock(path: &Path) -> io::Result<File> {
    if let Some(directory) = path.parent() {
        make_private_directory(directory)?;
    }
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn make_private_directory(directory: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}

fn sync_directory(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(directory) if cfg!(unix) => File::open(directory)?.sync_all(),
        _ => Ok(()),
    }
}

fn read_private(path: &Path) -> Result<Zeroizing<Vec<u8>>, HomeError> {
    read_private_up_to(path, MAX_FILE_BYTES)
}

/// The first `max_bytes` of a file that nobody but its owner can read.
pub(crate) fn read_private_up_to(
    path: &Path,
    max_bytes: u64,
) -> Result<Zeroizing<Vec<u8>>, HomeError> {
    let failed = |error| HomeError::io(path, error);
    let file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    refuse_open_mode(path, &metadata)?;
    let mut bytes = Zeroizing::new(Vec::with_capacity(
        usize::try_from(metadata.len()).unwrap_or(0),
    ));
    file.take(max_bytes)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    Ok(bytes)
}

#[cfg(unix)]
fn refuse_open_mode(path: &Path, metadata: &fs::Metadata) -> Result<(), HomeError> {
    let mode = std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o777;
    if mode & 0o077 == 0 {
        return Ok(());
    }
    Err(HomeError::Open {
        path: path.to_owned(),
        mode,
    })
}

#[cfg(not(unix))]
fn refuse_open_mode(_: &Path, _: &fs::Metadata) -> Result<(), HomeError> {
    Ok(())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::testing::{CountingEntropy, identity};

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn keys_lie_in_a_file_of_their_owner_alone() {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::new(directory.path().join("new/home"));
        let agent = identity("alice", &CountingEntropy::default());
        let path = home.add_agent(&agent).unwrap();
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(path.parent().unwrap()), 0o700);
        assert_eq!(mode(home.path()), 0o700);
        assert_eq!(home.agent(&agent.name).unwrap(), agent);

        home.update_agent(&agent).unwrap();
        assert_eq!(mode(&path), 0o600, "after a change");
        let files = fs::read_dir(path.parent().unwrap()).unwrap().count();
        assert_eq!(files, 1, "nothing staged is left behind");
    }

    #[test]
    fn a_file_others_can_read_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::new(directory.path());
        let agent = identity("alice", &CountingEntropy::default());
        let path = home.add_agent(&agent).unwrap();
        for open in [0o640, 0o604, 0o620, 0o666] {
            fs::set_permissions(&path, fs::Permissions::from_mode(open)).unwrap();
            let error = home.agent(&agent.name).unwrap_err();
            assert!(
                matches!(error, HomeError::Open { mode, .. } if mode == open),
                "{error}"
            );
            assert!(error.to_string().contains("chmod 600"), "{error}");
        }
    }

    #[test]
    fn an_agent_is_never_overwritten() {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::new(directory.path());
        let entropy = CountingEntropy::default();
        let (first, second) = (identity("alice", &entropy), identity("alice", &entropy));
        home.add_agent(&first).unwrap();
        let error = home.add_agent(&second).unwrap_err();
        assert!(matches!(error, HomeError::Exists { .. }), "{error}");
        assert_eq!(home.agent(&first.name).unwrap(), first);
    }

    #[test]
    fn agents_are_listed_by_name() {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::new(directory.path());
        assert_eq!(home.agents().unwrap(), Vec::<AgentName>::new());
        let entropy = CountingEntropy::default();
        for name in ["bob", "alice"] {
            home.add_agent(&identity(name, &entropy)).unwrap();
        }
        fs::write(directory.path().join("agents/README"), "not an agent").unwrap();
        let names: Vec<String> = home
            .agents()
            .unwrap()
            .into_iter()
            .map(String::from)
            .collect();
        assert_eq!(names, ["alice", "bob"]);
        let missing = home.agent(&"carol".parse().unwrap()).unwrap_err();
        assert!(matches!(missing, HomeError::Missing { .. }), "{missing}");
    }

    #[test]
    fn one_command_at_a_time_changes_an_agent() {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::new(directory.path());
        let name: AgentName = "alice".parse().unwrap();
        let lock = home.lock_agent(&name).unwrap();
        let error = home.lock_agent(&name).unwrap_err();
        assert!(matches!(error, HomeError::Busy { .. }), "{error}");
        home.lock_agent(&"bob".parse().unwrap()).unwrap();
        drop(lock);
        home.lock_agent(&name).unwrap();
        assert_eq!(home.agents().unwrap(), Vec::<AgentName>::new());
    }

    #[test]
    fn a_transfer_is_kept_once() {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::new(directory.path());
        let interaction: InteractionId = "0190a1b2-c3d4-7e5f-8901-234567890abc".parse().unwrap();
        assert_eq!(home.transfer(interaction).unwrap(), None);
        home.add_transfer(interaction, b"first").unwrap();
        let error = home.add_transfer(interaction, b"second").unwrap_err();
        assert!(matches!(error, HomeError::Exists { .. }), "{error}");
        assert_eq!(
            home.transfer(interaction).unwrap().unwrap().as_slice(),
            b"first"
        );
        assert_eq!(mode(&home.transfer_path(interaction)), 0o600);
    }
}
