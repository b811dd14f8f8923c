//! Who this ledger is: a DID, a log id and three secret keys, made at the first start and kept for
//! ever (AX-32, record.md section 2).
//!
//! | file in `keys/` | what it holds |
//! |---|---|
//! | `identity.json` | `did`, `log_id`, `origin`: not secret |
//! | `envelope.seed`, `checkpoint.seed`, `receipt.seed` | one Ed25519 seed each, 64 hex digits |
//! | the same with `.next` | the seed that takes its place at the next start |
//!
//! The folder has mode 0700 and its files 0600: whoever reads a seed can sign as this ledger. Wider modes
//! are refused, except for access by a group of this process, which Kubernetes gives to every file of a
//! volume with `fsGroup`: the ledger then starts with a warning. All of it appears in one rename, so a
//! crash at the first start leaves either everything or nothing.

use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use uuid::Uuid;
use x811_eventlog::FORMAT_VERSION;
use x811_ledger::entropy::Entropy;
use x811_protocol::did::{Did, DidError};
use x811_protocol::event::{Continues, LedgerKeyRotated, LedgerKeys, LedgerOpened, LedgerRole};
use x811_protocol::key::{PublicKey, SecretKey};
use x811_protocol::rules::Rules;
use x811_protocol::time::TimestampMs;
use x811_store::{Access, next_step};
use zeroize::Zeroizing;

const FOLDER: &str = "keys";
const UNFINISHED: &str = "keys.unfinished";
const IDENTITY: &str = "identity.json";

/// The ledger's identity and secret keys.
#[derive(Debug)]
pub struct Identity {
    /// What position 0 of a new log says: the names, and the keys below.
    pub opened: LedgerOpened,
    /// The key that signs notices and agent cards.
    pub envelope_key: SecretKey,
    /// The key that signs checkpoints, keys statements and ends of streams.
    pub checkpoint_key: SecretKey,
    /// The key that signs receipts and the tokens of traces.
    pub receipt_key: SecretKey,
    /// Keys that those above replace: their files are there still.
    pub replaced: Vec<Replaced>,
}

/// A key whose successor lies beside it, and is to be recorded.
#[derive(Debug, Clone)]
pub struct Replaced {
    /// What it is for.
    pub role: LedgerRole,
    /// The key that ends.
    pub key: SecretKey,
    /// What the log has to say of it.
    pub rotation: LedgerKeyRotated,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Names {
    did: Did,
    log_id: Uuid,
    origin: String,
    /// The log that this one goes on from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    continues: Option<Continues>,
}

impl Identity {
    /// True if `data_dir` has an identity; whether it can be used is not said.
    #[must_use]
    pub fn exists(data_dir: &Path) -> bool {
        data_dir.join(FOLDER).exists()
    }

    /// Reads the identity in `data_dir`. `None` when there is none yet.
    ///
    /// # Errors
    /// See [`KeyError`].
    pub fn load(data_dir: &Path) -> Result<Option<Identity>, KeyError> {
        let folder = data_dir.join(FOLDER);
        if !folder.exists() {
            return Ok(None);
        }
        if check_mode(&folder, "700")? == Access::OwnGroup {
            tracing::warn!(
                folder = %folder.display(),
                "a group of this process may read the ledger's keys, as after `fsGroup` in Kubernetes: run no \
                 other program in that group, or set `fsGroupChangePolicy: OnRootMismatch` and run `chmod -R \
                 go-rwx` on this folder once"
            );
        }
        let names = folder.join(IDENTITY);
        let text = fs::read(&names).map_err(|source| unusable(&names, source))?;
        let names: Names = serde_json::from_slice(&text).map_err(|_| KeyError::Malformed {
            path: names,
            expected: "did, log_id and origin as JSON",
        })?;
        Identity::assemble(&folder, names).map(Some)
    }

    /// The secret half of a key, if its file is there: of one that signs, or of one that waits for
    /// the start that replaces it.
    pub fn secret(&self, role: LedgerRole, key: PublicKey) -> Option<&SecretKey> {
        let present = match role {
            LedgerRole::Envelope => &self.envelope_key,
            LedgerRole::Checkpoint => &self.checkpoint_key,
            LedgerRole::Receipt => &self.receipt_key,
        };
        let mut replaced = self.replaced.iter();
        let replaced = replaced.find(|replaced| replaced.role == role);
        let replaced = replaced.map(|replaced| &replaced.key);
        let mut secrets = [Some(present), replaced].into_iter().flatten();
        secrets.find(|secret| secret.public() == key)
    }
}

/// An identity that is in force once it is kept: before that, the next start makes another one.
#[derive(Debug)]
pub struct NewIdentity {
    identity: Identity,
    data_dir: PathBuf,
}

impl NewIdentity {
    /// Makes an identity for `data_dir`, which must exist and have none. With `continues` its log goes on
    /// from another one, which lost its tail (stores.md section 2).
    ///
    /// # Errors
    /// See [`KeyError`].
    pub fn make(
        data_dir: &Path,
        now: TimestampMs,
        entropy: &impl Entropy,
        continues: Option<Continues>,
    ) -> Result<NewIdentity, KeyError> {
        let unfinished = data_dir.join(UNFINISHED);
        clear(&unfinished)?;
        create_folder(&unfinished)?;
        for role in LedgerRole::ALL {
            write_seed(&unfinished.join(seed_file(role)), entropy)?;
        }
        let log_id = entropy.uuid_v7(now);
        let names = Names {
            did: Did::from_uuid(entropy.uuid_v7(now))?,
            log_id,
            origin: format!("x811/{log_id}"),
            continues,
        };
        let json = serde_json::to_vec_pretty(&names).map_err(|error| {
            let source = io::Error::other(error);
            unusable(&unfinished.join(IDENTITY), source)
        })?;
        write_private(&unfinished.join(IDENTITY), &json)?;
        sync(&unfinished)?;
        let identity = Identity::assemble(&unfinished, names)?;
        let data_dir = data_dir.to_owned();
        Ok(NewIdentity { identity, data_dir })
    }

    /// Whose it will be.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Puts it in force.
    ///
    /// # Errors
    /// See [`KeyError`].
    pub fn keep(self) -> Result<Identity, KeyError> {
        let folder = self.data_dir.join(FOLDER);
        let renamed = fs::rename(self.data_dir.join(UNFINISHED), &folder);
        renamed.map_err(|source| unusable(&folder, source))?;
        sync(&self.data_dir)?;
        Ok(self.identity)
    }
}

impl Identity {
    fn assemble(folder: &Path, names: Names) -> Result<Identity, KeyError> {
        let mut replaced = Vec::new();
        let mut key_of = |role| {
            let key = read_seed(&folder.join(seed_file(role)))?;
            let next = folder.join(next_file(role));
            if !next.exists() {
                return Ok(key);
            }
            let next = read_seed(&next)?;
            let rotation = LedgerKeyRotated::sign(names.did, role, &key, next.public());
            replaced.push(Replaced {
                role,
                key,
                rotation,
            });
            Ok::<_, KeyError>(next)
        };
        let envelope_key = key_of(LedgerRole::Envelope)?;
        let checkpoint_key = key_of(LedgerRole::Checkpoint)?;
        let receipt_key = key_of(LedgerRole::Receipt)?;
        let keys = LedgerKeys {
            envelope: envelope_key.public(),
            checkpoint: checkpoint_key.public(),
            receipt: receipt_key.public(),
        };
        Ok(Identity {
            opened: LedgerOpened {
                log_id: names.log_id,
                did: names.did,
                origin: names.origin,
                keys,
                format: FORMAT_VERSION,
                rules_version: Rules::LATEST.version(),
                continues: names.continues,
                reader: Rules::LATEST.reader(),
            },
            envelope_key,
            checkpoint_key,
            receipt_key,
            replaced,
        })
    }
}

/// Makes the key that takes the place of another at the next start, and gives it. Only the file is
/// made: until that start nothing has changed, and removing the file takes it back.
///
/// # Errors
/// See [`KeyError`].
pub fn prepare_rotation(
    data_dir: &Path,
    role: LedgerRole,
    entropy: &impl Entropy,
) -> Result<LedgerKeyRotated, KeyError> {
    let folder = data_dir.join(FOLDER);
    let next = folder.join(next_file(role));
    match Identity::load(data_dir)? {
        None => {
            let source = io::ErrorKind::NotFound.into();
            return Err(unusable(&folder, source));
        }
        Some(_) if next.exists() => return Err(KeyError::Prepared { path: next }),
        Some(_) => {}
    }
    // Half a seed never gets the name that a start looks for.
    let unfinished = folder.join(format!("{role}.seed.unfinished"));
    match fs::remove_file(&unfinished) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            return Err(unusable(&unfinished, source));
        }
        Ok(()) | Err(_) => {}
    }
    write_seed(&unfinished, entropy)?;
    fs::hard_link(&unfinished, &next).map_err(|source| unusable(&next, source))?;
    fs::remove_file(&unfinished).map_err(|source| unusable(&unfinished, source))?;
    sync(&folder)?;
    let prepared = Identity::load(data_dir)?;
    let replaced = prepared.into_iter().flat_map(|identity| identity.replaced);
    let mut prepared = replaced.filter(|replaced| replaced.role == role);
    prepared
        .next()
        .map(|replaced| replaced.rotation)
        .ok_or_else(|| unusable(&next, io::ErrorKind::NotFound.into()))
}

/// Puts the new seeds in the place of those they replace, once the log says so and nothing waits
/// for a signature by the old ones.
///
/// # Errors
/// See [`KeyError`].
pub fn finish_rotations(data_dir: &Path, replaced: &[Replaced]) -> Result<(), KeyError> {
    let folder = data_dir.join(FOLDER);
    for replaced in replaced {
        let (next, file) = (next_file(replaced.role), seed_file(replaced.role));
        let (next, file) = (folder.join(next), folder.join(file));
        fs::rename(&next, &file).map_err(|source| unusable(&next, source))?;
    }
    sync(&folder)
}

fn seed_file(role: LedgerRole) -> String {
    format!("{role}.seed")
}

fn next_file(role: LedgerRole) -> String {
    format!("{role}.seed.next")
}

fn write_seed(path: &Path, entropy: &impl Entropy) -> Result<(), KeyError> {
    let mut seed = Zeroizing::new([0; 32]);
    entropy.fill(&mut *seed);
    let digits = Zeroizing::new(hex::encode(seed.as_slice()));
    write_private(path, digits.as_bytes())
}

fn read_seed(path: &Path) -> Result<SecretKey, KeyError> {
    check_mode(path, "600")?;
    let text = fs::read(path).map_err(|source| unusable(path, source))?;
    let text = Zeroizing::new(text);
    let mut seed = Zeroizing::new([0; 32]);
    hex::decode_to_slice(text.trim_ascii(), &mut *seed).map_err(|_| KeyError::Malformed {
        path: path.to_owned(),
        expected: "a seed of 64 hex digits",
    })?;
    Ok(SecretKey::from_seed(*seed))
}

/// Refuses a file that users outside of this process's groups may read or write.
fn check_mode(path: &Path, wanted: &'static str) -> Result<Access, KeyError> {
    let metadata = fs::metadata(path).map_err(|source| unusable(path, source))?;
    match Access::of(&metadata) {
        Access::Others => Err(KeyError::TooOpen {
            path: path.to_owned(),
            wanted,
        }),
        access @ (Access::Owner | Access::OwnGroup) => Ok(access),
    }
}

/// What an earlier first start left when it was cut off; nothing was ever signed with it.
fn clear(unfinished: &Path) -> Result<(), KeyError> {
    match fs::remove_dir_all(unfinished) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(unusable(unfinished, source))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

fn create_folder(path: &Path) -> Result<(), KeyError> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
        .create(path)
        .map_err(|source| unusable(path, source))
}

fn write_private(path: &Path, content: &[u8]) -> Result<(), KeyError> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let write = |mut file: File| {
        file.write_all(content)?;
        file.sync_all()
    };
    options
        .open(path)
        .and_then(write)
        .map_err(|source| unusable(path, source))
}

/// Makes the names in a folder durable.
fn sync(folder: &Path) -> Result<(), KeyError> {
    #[cfg(unix)]
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(|source| unusable(folder, source))?;
    #[cfg(not(unix))]
    let _ = folder;
    Ok(())
}

fn unusable(path: &Path, source: io::Error) -> KeyError {
    KeyError::File {
        path: path.to_owned(),
        source,
    }
}

/// Why the ledger's identity cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// Others may read the secret keys.
    #[error(
        "{} may be used by others than its owner: run `chmod {wanted} {}`, and think about who \
         may have read the keys", path.display(), path.display()
    )]
    TooOpen {
        /// Folder or file.
        path: PathBuf,
        /// The mode it needs.
        wanted: &'static str,
    },
    /// A file is missing or cannot be read or written.
    #[error("{} could not be used ({source}): {}", path.display(), next_step(path, source))]
    File {
        /// Folder or file.
        path: PathBuf,
        /// What the system reported.
        source: io::Error,
    },
    /// A file that is not what this program wrote.
    #[error("{} does not hold {expected}: put the file back from a copy", path.display())]
    Malformed {
        /// Path of the file.
        path: PathBuf,
        /// What belongs there.
        expected: &'static str,
    },
    /// Records without keys: making new ones would orphan the log.
    #[error(
        "{} holds a log but no keys: put the folder `keys` back from a copy of this ledger",
        data_dir.display()
    )]
    Missing {
        /// The data directory.
        data_dir: PathBuf,
    },
    /// A rotation waits already.
    #[error(
        "{} waits for the next start already: start the ledger, or remove the file if no start has \
         read it yet", path.display()
    )]
    Prepared {
        /// The new seed.
        path: PathBuf,
    },
    /// A random UUID that is no DID.
    #[error("no DID could be made: {0}")]
    Did(#[from] DidError),
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU8, Ordering};

    struct Counting(AtomicU8);

    impl Entropy for Counting {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill_with(|| self.0.fetch_add(1, Ordering::Relaxed));
        }
    }

    fn create(data_dir: &Path) -> Identity {
        let now = TimestampMs::new(1_767_225_600_000);
        let made = NewIdentity::make(data_dir, now, &Counting(AtomicU8::new(0)), None).unwrap();
        assert!(Identity::load(data_dir).unwrap().is_none());
        made.keep().unwrap()
    }

    #[test]
    fn ax_032_made_once_and_kept() {
        let dir = tempfile::tempdir().unwrap();
        assert!(Identity::load(dir.path()).unwrap().is_none());
        let made = create(dir.path());
        let kept = Identity::load(dir.path()).unwrap().unwrap();
        assert_eq!(made.opened, kept.opened);
        assert_eq!(kept.envelope_key.public(), kept.opened.keys.envelope);
        assert!(made.opened.origin.contains(&made.opened.log_id.to_string()));
        let keys = made.opened.keys;
        assert_ne!(keys.envelope, keys.checkpoint);
        assert_ne!(keys.checkpoint, keys.receipt);
        let shown = format!("{made:?}");
        assert!(!shown.contains(&hex::encode(made.envelope_key.seed())));
    }

    #[test]
    fn a_first_start_that_was_cut_off_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        create_folder(&dir.path().join(UNFINISHED)).unwrap();
        write_private(&dir.path().join(UNFINISHED).join("envelope.seed"), b"half").unwrap();
        assert!(Identity::load(dir.path()).unwrap().is_none());
        create(dir.path());
        assert!(Identity::load(dir.path()).unwrap().is_some());
        assert!(!dir.path().join(UNFINISHED).exists());
    }

    /// A data directory with new keys, one of whose paths has this mode by now.
    fn keys_with_mode(path: &str, mode: u32) -> tempfile::TempDir {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        create(dir.path());
        let path = dir.path().join(path);
        let made = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(made, if path.is_dir() { 0o700 } else { 0o600 });
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        dir
    }

    #[test]
    fn keys_that_others_may_read_are_refused_with_the_remedy() {
        for (path, mode, remedy) in [
            ("keys", 0o755, "chmod 700"),
            ("keys", 0o701, "chmod 700"),
            ("keys/receipt.seed", 0o644, "chmod 600"),
            ("keys/envelope.seed", 0o604, "chmod 600"),
            ("keys/checkpoint.seed", 0o662, "chmod 600"),
        ] {
            let dir = keys_with_mode(path, mode);
            let error = Identity::load(dir.path()).unwrap_err().to_string();
            assert!(error.contains(remedy), "{error}");
        }
    }

    /// Kubernetes changes the modes of a volume's files at each mount, also of those that the first start
    /// made: the second start must take them.
    #[test]
    fn keys_that_fs_group_opened_to_our_own_group_are_taken() {
        for (path, mode) in [
            ("keys", 0o2770),
            ("keys", 0o750),
            ("keys/receipt.seed", 0o640),
            ("keys/envelope.seed", 0o660),
        ] {
            let dir = keys_with_mode(path, mode);
            let loaded = Identity::load(dir.path());
            assert!(loaded.unwrap().is_some(), "{path} {mode:o}");
        }
    }

    #[test]
    fn damaged_key_files_are_named() {
        for (name, content) in [
            ("envelope.seed", "12"),
            ("checkpoint.seed", "zz"),
            (IDENTITY, "{}"),
        ] {
            let dir = tempfile::tempdir().unwrap();
            create(dir.path());
            let path = dir.path().join(FOLDER).join(name);
            fs::write(&path, content).unwrap();
            let error = Identity::load(dir.path()).unwrap_err().to_string();
            assert!(
                error.contains(name) && error.contains("from a copy"),
                "{error}"
            );
            fs::remove_file(&path).unwrap();
            let error = Identity::load(dir.path()).unwrap_err().to_string();
            assert!(error.contains(name), "{error}");
        }
    }
}
