//! Whose log this is: proven by keys and witnesses that the auditor named, or the file's own word.

use serde::Serialize;
use x811_eventlog::note::NoteKey;
use x811_eventlog::policy::Cosignature;
use x811_protocol::event::LedgerOpened;

use super::finding::{Cause, Findings, Spot};
use super::options::{Given, TrustedBy};
use super::report::Verdict;
use crate::checkpoint;

/// How well it is known whose log this is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Trust {
    /// Proven: every checkpoint is one that the key or the policy holds for good. Asserted: neither
    /// was given, and the key is the one that the file names.
    pub verdict: Verdict,
    /// What the auditor gave, to say whom they trust; absent where it was nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub given: Option<Given>,
    /// The checkpoint key in force at the end, as the file names it: `name+id+key`.
    #[serde(skip_serializing_if = "Option::is_none")]
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

/// What the auditor trusts, and what of the log so far rests on it.
#[derive(Debug, Clone, Default)]
pub(super) struct Trusting {
    by: Option<TrustedBy>,
    /// Checkpoints that there were.
    checkpoints: u64,
    /// Some checkpoint did not hold.
    is_broken: bool,
    /// Records under one that does.
    records: u64,
    cosigned: Vec<Cosigned>,
}

impl Trusting {
    pub(super) fn by(by: Option<TrustedBy>) -> Trusting {
        Trusting {
            by,
            ..Trusting::default()
        }
    }

    /// A checkpoint that is not what it should be, whoever is trusted.
    pub(super) fn refuse(&mut self) {
        self.checkpoints += 1;
        self.is_broken = true;
    }

    /// Asks the policy about a checkpoint over so many records, which `ledger` signed by its own
    /// words.
    pub(super) fn judge(
        &mut self,
        note: &str,
        records: u64,
        ledger: Option<&LedgerOpened>,
        spot: &Spot,
        findings: &mut Findings,
    ) {
        self.checkpoints += 1;
        let Some(TrustedBy { policy, given }) = &self.by else {
            return;
        };
        match policy.check(note, checkpoint::verifies) {
            Ok(trusted) => {
                self.records = records;
                self.cosigned = trusted.cosignatures.into_iter().map(Into::into).collect();
            }
            Err(why) => {
                self.is_broken = true;
                let own = ledger.and_then(vkey);
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
            Some(_) => Verdict::Proven,
            None => Verdict::Asserted,
        }
    }

    /// For the report, over so many records; `ledger` is who the file says it is, with the keys in
    /// force at the end.
    pub(super) fn report(&self, records: u64, ledger: Option<&LedgerOpened>) -> Trust {
        let records_proven = self.records.min(records);
        Trust {
            verdict: self.verdict(),
            given: self.by.as_ref().map(|by| by.given),
            checkpoint_vkey: ledger.and_then(vkey),
            records_proven,
            records_asserted: records - records_proven,
            cosigned: self.cosigned.clone(),
        }
    }
}

/// The ledger's checkpoint key as a text; none where its origin is no name for one.
fn vkey(ledger: &LedgerOpened) -> Option<String> {
    let key = NoteKey::new(&*ledger.origin, *ledger.keys.checkpoint.as_bytes());
    Some(key.ok()?.to_vkey())
}
