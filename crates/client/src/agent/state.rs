//! The state file of one loop: what must survive a crash, and nothing that the ledger knows better.
//!
//! It is replaced whole by an atomic rename, readable by its owner alone (0600), and locked for as
//! long as a loop runs.

use std::collections::BTreeMap;
use std::fs::File;
use std::fs::TryLockError;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use x811_protocol::code::Code;
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::id::{AgreementId, ContractId, InteractionId, SessionId};
use x811_protocol::money::MicroUsdc;
use x811_protocol::time::TimestampMs;

use super::caps::{self, Commitment};
use super::dealing::Deal;
use super::haggling::Talk;
use super::money::Transfer;
use super::outbox::{Act, Entry, MAX_SEALED};
use super::proof::ProofDue;
use crate::home::{HomeError, open_lock, read_private_up_to, replace};
use crate::http::Cursor;

/// The version of the form that this crate writes and reads.
const VERSION: u8 = 1;

/// The largest state file that is read, in bytes: some hundred results of 512 KiB on their way.
const MAX_STATE_BYTES: u64 = 64 << 20;

/// How many alarms are kept; the oldest goes first.
const MAX_ALARMS: usize = 200;

/// What survives a crash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    v: u8,
    /// The agent whose state it is.
    pub did: Did,
    /// At which ledger.
    pub ledger: Did,
    /// Everything in the feed up to here is handled; `None` before the first page.
    pub cursor: Option<Cursor>,
    /// Whether the interactions that the ledger has were all looked at once.
    pub is_rebuilt: bool,
    /// REQUESTs of the configuration that were sealed, by their key.
    pub requests: BTreeMap<String, InteractionId>,
    /// Interactions that go on.
    pub tasks: BTreeMap<InteractionId, Task>,
    /// Negotiations that go on; their tasks have their ids.
    #[serde(default)]
    pub talks: BTreeMap<ContractId, Talk>,
    /// Sessions that go on; their tasks have their ids.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub deals: BTreeMap<SessionId, Deal>,
    /// Agreements of the configuration that are in force, by their key.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub agreements: BTreeMap<String, AgreementId>,
    /// Sealed envelopes without an outcome.
    pub outbox: Vec<Entry>,
    /// What was committed in the last 24 hours.
    pub commitments: Vec<Commitment>,
    /// Proofs that are to be fetched.
    pub proofs: Vec<ProofDue>,
    /// What a person has to look at, oldest first.
    pub alarms: Vec<Alarm>,
}

/// An interaction that goes on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// The next look at it; at once when zero, not by time alone when absent.
    pub look_at_ms: Option<TimestampMs>,
    /// What this agent said in it.
    #[serde(default)]
    pub steps: BTreeMap<Act, Step>,
    /// When work on it was started; journalled before it is, so work may run more than once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_started_ms: Option<TimestampMs>,
    /// The OFFER a person was asked about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Asked>,
    /// The transfer of an accepted PAYMENT, until the network has it for good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfer: Option<Transfer>,
}

/// How one thing that is said once stands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// How many envelopes were sealed for it.
    pub sealed: u32,
    /// What became of the last.
    pub outcome: Outcome,
}

/// What became of an envelope.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// In the outbox.
    #[default]
    Open,
    /// The ledger accepted it.
    Delivered,
    /// Refused for good.
    Refused(Code),
    /// Never accepted, and too old to be.
    Dead,
    /// Taken out before it left.
    Abandoned,
}

/// The OFFER that a person is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// Hash of that OFFER.
    pub offer_hash: Digest,
    /// What it costs in all.
    pub total: MicroUsdc,
}

/// What a person has to look at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Alarm {
    /// When the alarm was raised.
    pub at_ms: TimestampMs,
    /// About which interaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interaction: Option<InteractionId>,
    /// What happened and what to do; may quote the ledger or an agent.
    pub text: String,
}

impl State {
    /// Of a loop that has done nothing yet.
    pub fn new(did: Did, ledger: Did) -> State {
        State {
            v: VERSION,
            did,
            ledger,
            cursor: None,
            is_rebuilt: false,
            requests: BTreeMap::new(),
            tasks: BTreeMap::new(),
            talks: BTreeMap::new(),
            deals: BTreeMap::new(),
            agreements: BTreeMap::new(),
            outbox: Vec::new(),
            commitments: Vec::new(),
            proofs: Vec::new(),
            alarms: Vec::new(),
        }
    }

    /// Makes sure that the interaction is looked at soon.
    pub fn touch(&mut self, interaction: InteractionId) {
        let task = self.tasks.entry(interaction).or_default();
        task.look_at_ms = Some(TimestampMs::new(0));
    }

    /// Whether an envelope may be sealed for this step: none is on its way, none was accepted, and
    /// not too many were refused.
    pub fn may_seal(&self, interaction: InteractionId, act: Act) -> bool {
        let step = self.tasks.get(&interaction);
        let Some(step) = step.and_then(|task| task.steps.get(&act)) else {
            return true;
        };
        match step.outcome {
            Outcome::Open | Outcome::Delivered | Outcome::Abandoned => false,
            Outcome::Refused(_) | Outcome::Dead => step.sealed < MAX_SEALED,
        }
    }

    /// Puts a sealed envelope on its way.
    pub fn put(&mut self, entry: Entry) {
        let task = self.tasks.entry(entry.interaction).or_default();
        let step = task.steps.entry(entry.act).or_default();
        step.sealed += 1;
        step.outcome = Outcome::Open;
        self.outbox.push(entry);
    }

    /// Takes the entry at `place` out, with what became of it; gives it back.
    pub fn settle(&mut self, place: usize, outcome: Outcome) -> Entry {
        let entry = self.outbox.remove(place);
        let task = self.tasks.entry(entry.interaction).or_default();
        task.steps.entry(entry.act).or_default().outcome = outcome;
        task.look_at_ms = Some(TimestampMs::new(0));
        entry
    }

    /// Notes what a person has to look at; whether it is new.
    pub fn alarm(&mut self, alarm: Alarm) -> bool {
        let is_known =
            |known: &Alarm| known.text == alarm.text && known.interaction == alarm.interaction;
        if self.alarms.iter().any(is_known) {
            return false;
        }
        if self.alarms.len() >= MAX_ALARMS {
            self.alarms.remove(0);
        }
        self.alarms.push(alarm);
        true
    }

    /// Forgets an interaction that is over; its commitment only where no transfer was signed.
    pub fn forget(&mut self, interaction: InteractionId, was_paid: bool) {
        self.tasks.remove(&interaction);
        if !was_paid {
            self.commitments
                .retain(|made| made.interaction != interaction);
        }
    }

    /// Forgets commitments that count no more.
    pub fn forget_old(&mut self, now: TimestampMs) {
        self.commitments.retain(|made| caps::is_recent(made, now));
    }
}

/// The file, locked.
#[derive(Debug)]
pub(crate) struct StateFile {
    path: PathBuf,
    _lock: File,
}

impl StateFile {
    /// Locks and reads `folder/state.json`; `None` when there is none yet.
    ///
    /// # Errors
    /// [`StateError`].
    pub(crate) fn open(folder: &Path) -> Result<(StateFile, Option<State>), StateError> {
        let path = folder.join("state.json");
        let lock_path = folder.join("state.lock");
        let lock = open_lock(&lock_path).map_err(|error| HomeError::io(&lock_path, error))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(StateError::Running { path: lock_path }),
            Err(TryLockError::Error(error)) => return Err(HomeError::io(&lock_path, error).into()),
        }
        let state = read(&path)?;
        Ok((StateFile { path, _lock: lock }, state))
    }

    /// Replaces the file, durably.
    ///
    /// # Errors
    /// [`StateError::File`].
    pub(crate) fn save(&self, state: &State) -> Result<(), StateError> {
        let bytes = serde_json::to_vec(state)
            .map_err(|error| HomeError::io(&self.path, io::Error::other(error)))?;
        Ok(replace(&self.path, &bytes)?)
    }
}

/// Reads the state in `folder`, whoever runs it; `None` when there is none.
///
/// # Errors
/// [`StateError`].
pub fn peek(folder: &Path) -> Result<Option<State>, StateError> {
    read(&folder.join("state.json"))
}

fn read(path: &Path) -> Result<Option<State>, StateError> {
    let bytes = match read_private_up_to(path, MAX_STATE_BYTES) {
        Ok(bytes) => bytes,
        Err(HomeError::Missing { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let damaged = |cause: String| StateError::Damaged {
        path: path.to_owned(),
        cause,
    };
    let state: State =
        serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
    if state.v == VERSION {
        Ok(Some(state))
    } else {
        let version = state.v;
        Err(damaged(format!(
            "it is of version {version}, not {VERSION}"
        )))
    }
}

/// Why the state cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// Another loop of this agent runs on this computer.
    #[error("another loop of this agent runs and holds {}; end that one first", path.display())]
    Running {
        /// Path of the lock file.
        path: PathBuf,
    },
    /// The file is not one that was written here.
    #[error(
        "{} cannot be used: {cause}; move it away, and the loop is rebuilt from the ledger and \
         pays nothing twice",
        path.display()
    )]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// What is wrong with it.
        cause: String,
    },
    /// It belongs to another agent or another ledger.
    #[error(
        "the state in {} is that of {did} at {ledger}; give every agent and every ledger a folder \
         of its own",
        path.display()
    )]
    Other {
        /// Path of the folder.
        path: PathBuf,
        /// Whose state it is.
        did: Did,
        /// At which ledger.
        ledger: Did,
    },
    /// It cannot be read or written.
    #[error(transparent)]
    File(#[from] HomeError),
}

#[cfg(test)]
mod tests;
