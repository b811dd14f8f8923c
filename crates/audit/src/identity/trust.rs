//! Whose log this is: proven by keys and witnesses that the auditor named, or the file's own word.

use std::sync::Arc;

use serde::Serialize;
use serde_with::skip_serializing_none;
use x811_eventlog::note::{NoteError, NoteKey};
use x811_eventlog::policy::{Cosignature, Distrust};
use x811_eventlog::{Checkpoint, CheckpointError, Policy};
use x811_protocol::event::LedgerOpened;

use crate::checkpoint_note;
use crate::finding::findings::{Cause, Findings, Spot};
use crate::finding::verdict::Verdict;
use crate::options::{Given, Options, TrustedBy};
use crate::refresh::{CheckpointHold, Paper, Refresh, is_same_log, since_replaced};
use x811_world::keys_statement::KeysStatement;

/// How well it is known whose log this is.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Trust {
    /// Proven: every checkpoint is one that the key or the policy holds for good. Asserted: neither
    /// was given, and the key is the one that the file names; or the last checkpoint is by another
    /// key of the log than the trusted one, see `rotated`.
    pub verdict: Verdict,
    /// What the auditor gave, to say whom they trust; absent where it was nothing.
    pub given: Option<Given>,
    /// Why the last checkpoint is neither held for good nor broken: it is by a key that the ledger
    /// may have replaced, and nothing shows that the log goes on behind it.
    pub rotated: Option<String>,
    /// The checkpoint key in force at the end, as the file names it: `name+id+key`.
    pub checkpoint_vkey: Option<String>,
    /// Records under a checkpoint that is held for good.
    pub records_proven: u64,
    /// Records under none, of which the file alone says whose they are.
    pub records_asserted: u64,
    /// Witnesses of the policy that cosigned the last of those checkpoints.
    pub cosigned: Vec<Cosigned>,
}

/// That a witness has seen a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cosigned {
    /// The policy's name for it.
    pub witness: String,
    /// When, in seconds since the Unix epoch.
    pub timestamp_s: u64,
}

impl From<Cosignature> for Cosigned {
    fn from(seen: Cosignature) -> Cosigned {
        Cosigned {
            witness: seen.witness,
            timestamp_s: seen.timestamp_s,
        }
    }
}

/// A checkpoint that the ledger signed by its own words.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Signed<'a> {
    /// As it was signed.
    pub(crate) note: &'a str,
    /// What it says.
    pub(crate) checkpoint: &'a Checkpoint,
    /// Who the ledger says it is, with the keys in force after these records.
    pub(crate) ledger: Option<&'a LedgerOpened>,
    /// The file's keys statement of the same records, where it has one.
    pub(crate) statement: Option<&'a KeysStatement>,
}

/// What the auditor trusts, and what of the log so far rests on it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trusting {
    by: Option<TrustedBy>,
    refresh: Option<Arc<Refresh>>,
    /// Checkpoints that there were.
    checkpoints: u64,
    /// Some checkpoint did not hold.
    is_broken: bool,
    /// Why the last is not held, and is not broken either.
    rotated: Option<String>,
    /// Records under one that does.
    records: u64,
    cosigned: Vec<Cosigned>,
}

impl Trusting {
    pub(crate) fn by(options: &Options) -> Trusting {
        Trusting {
            by: options.trust.clone(),
            refresh: options.refresh.clone(),
            ..Trusting::default()
        }
    }

    /// A checkpoint that is not what it should be, whoever is trusted.
    pub(crate) fn refuse(&mut self) {
        self.checkpoints += 1;
        self.is_broken = true;
    }

    /// Asks the policy about a checkpoint. One by another key of the same log waits for a later one
    /// in the file, or for what the ledger said since.
    pub(crate) fn judge(&mut self, signed: Signed<'_>, spot: &Spot, findings: &mut Findings) {
        self.checkpoints += 1;
        let Some(TrustedBy { policy, given }) = &self.by else {
            return;
        };
        let held = match policy.check(signed.note, checkpoint_note::verifies) {
            Ok(trusted) => Ok(trusted.cosignatures),
            Err(why) => match replaced(&signed, policy, &why, self.refresh.as_deref()) {
                None => Err(why.to_string()),
                Some(CheckpointHold::Proven { cosignatures, .. }) => Ok(cosignatures),
                Some(CheckpointHold::Broken(why)) => Err(why),
                Some(CheckpointHold::Asserted(why)) => {
                    self.rotated = Some(why);
                    return;
                }
            },
        };
        match held {
            Ok(cosignatures) => {
                // It covers those before it, which are of the same records.
                self.rotated = None;
                self.records = signed.checkpoint.size;
                self.cosigned = cosignatures.into_iter().map(Into::into).collect();
            }
            Err(why) => {
                self.is_broken = true;
                let own = signed.ledger.and_then(vkey);
                let own = own.map_or_else(String::new, |vkey| {
                    format!("; the key that the file names for it is {vkey}")
                });
                let sentence =
                    format!("your {given} does not hold this checkpoint for good: {why}{own}");
                findings.add(spot, "checkpoint", Cause::CheckpointNotTrusted, sentence);
            }
        }
    }

    fn verdict(&self) -> Verdict {
        match &self.by {
            _ if self.is_broken => Verdict::Broken,
            Some(_) if self.checkpoints == 0 => Verdict::Asserted,
            Some(_) if self.rotated.is_some() => Verdict::Asserted,
            Some(_) => Verdict::Proven,
            None => Verdict::Asserted,
        }
    }

    /// For the report, over so many records; `ledger` is who the file says it is, with the keys in
    /// force at the end.
    pub(crate) fn report(&self, records: u64, ledger: Option<&LedgerOpened>) -> Trust {
        let records_proven = self.records.min(records);
        Trust {
            verdict: self.verdict(),
            given: self.by.as_ref().map(|by| by.given),
            rotated: self.rotated.clone().filter(|_| !self.is_broken),
            checkpoint_vkey: ledger.and_then(vkey),
            records_proven,
            records_asserted: records - records_proven,
            cosigned: self.cosigned.clone(),
        }
    }
}

/// What can be said of a checkpoint that the policy refuses because it is by another key of a log
/// which the policy trusts; `None` for every other reason.
fn replaced(
    signed: &Signed<'_>,
    policy: &Policy,
    why: &Distrust,
    refresh: Option<&Refresh>,
) -> Option<CheckpointHold> {
    let is_unsigned = matches!(
        why,
        Distrust::Checkpoint(CheckpointError::Note(NoteError::NotSigned))
    );
    let ledger = signed.ledger.filter(|_| is_unsigned)?;
    let key = *ledger.keys.checkpoint.as_bytes();
    if !is_same_log(policy, &signed.checkpoint.origin, key) {
        return None;
    }
    let paper = Paper {
        checkpoint: signed.checkpoint,
        note: Some(signed.note),
        log_id: Some(ledger.log_id),
        key,
        keys: Some(&ledger.keys),
        statement: signed.statement,
    };
    Some(since_replaced(paper, policy, refresh))
}

/// The ledger's checkpoint key as a text; none where its origin is no name for one.
fn vkey(ledger: &LedgerOpened) -> Option<String> {
    let key = NoteKey::new(&*ledger.origin, *ledger.keys.checkpoint.as_bytes());
    Some(key.ok()?.to_vkey())
}
