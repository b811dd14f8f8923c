//! Whether a checkpoint under a replaced key is held for good.

use super::file::{Link, Refresh};
use crate::checkpoint_note::verifies;
use uuid::Uuid;
use x811_eventlog::note::NoteKey;
use x811_eventlog::policy::{Cosignature, Distrust};
use x811_eventlog::{Checkpoint, ConsistencyProof, Policy};
use x811_protocol::event::LedgerKeys;
use x811_world::keys_statement::KeysStatement;

/// What a paper says of its log, its signatures verified already by the keys that it names.
#[derive(Debug, Clone, Copy)]
pub struct Paper<'a> {
    /// Its checkpoint: name, size and root.
    pub checkpoint: &'a Checkpoint,
    /// The same as it was signed; absent in compact receipts.
    pub note: Option<&'a str>,
    /// The log, where the paper names it.
    pub log_id: Option<Uuid>,
    /// The key that signed the checkpoint, 32 bytes of Ed25519.
    pub key: [u8; 32],
    /// All keys in force after the records that the checkpoint covers, where the paper names them.
    pub keys: Option<&'a LedgerKeys>,
    /// Its own keys statement, where it has one.
    pub statement: Option<&'a KeysStatement>,
}

/// How far a checkpoint by another key than the trusted one is held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckpointHold {
    /// The trusted key covers the paper's checkpoint.
    Proven {
        /// Why, in a sentence.
        sentence: String,
        /// Witnesses that have cosigned what was trusted.
        cosignatures: Vec<Cosignature>,
    },
    /// Nobody can tell: *rotated, asserted*. The sentence says what to do.
    Asserted(String),
    /// The refresh and the paper contradict each other; the sentence says in what.
    Broken(String),
}

/// Whether the policy trusts a log of that name, and not by that key: then the key may be an earlier
/// or a later one of the same log.
#[must_use]
pub fn is_same_log(policy: &Policy, origin: &str, key: [u8; 32]) -> bool {
    let mut logs = policy.logs().iter();
    let mut others = policy.logs().iter();
    logs.any(|log| log.name() == origin)
        && others.all(|log| log.name() != origin || *log.public_key() != key)
}

/// Judges a paper whose checkpoint is by another key of the log than the one that `policy` trusts.
#[must_use]
pub fn since_replaced(
    paper: Paper<'_>,
    policy: &Policy,
    refresh: Option<&Refresh>,
) -> CheckpointHold {
    let Some(refresh) = refresh else {
        return CheckpointHold::Asserted(
            "the checkpoint is by another key than the one you trust for this log: either the \
             ledger replaced its key since, or the file is not its own. Ask the ledger for the \
             proof: x811 receipt refresh FILE"
                .to_owned(),
        );
    };
    let judged = statement(paper, policy, refresh).and_then(|replaced| match &refresh.link {
        Some(link) => linked(paper, policy, refresh, link, replaced),
        None => cosigned(paper, policy, replaced),
    });
    judged.unwrap_or_else(|held| held)
}

fn broken<T>(sentence: impl ToString) -> Result<T, CheckpointHold> {
    Err(CheckpointHold::Broken(sentence.to_string()))
}

fn asserted<T>(sentence: impl ToString) -> Result<T, CheckpointHold> {
    Err(CheckpointHold::Asserted(sentence.to_string()))
}

/// Where the paper's key was replaced, by the newest keys statement.
fn statement(paper: Paper<'_>, policy: &Policy, refresh: &Refresh) -> Result<u64, CheckpointHold> {
    let statement = &refresh.keys.statement;
    let size = paper.checkpoint.size;
    if !refresh.keys.is_its_own() {
        return broken("the newest keys statement is not signed by the key that it names");
    }
    let key = statement.checkpoint_key();
    if !key.is_ok_and(|key| policy.logs().contains(&key)) {
        return asserted(
            "the newest keys statement is not by the key that you trust: ask the ledger for a new \
             one, and compare its key with yours",
        );
    }
    let is_same = statement.origin == paper.checkpoint.origin
        && paper.log_id.is_none_or(|log_id| log_id == statement.log_id);
    if !is_same {
        return broken("the newest keys statement is of another log");
    }
    if statement.size < size {
        return asserted(format!(
            "the newest keys statement is of {} records, the paper of {size}: ask the ledger for a \
             new one",
            statement.size
        ));
    }
    let key = paper.key;
    let then = statement.keys_after(size);
    if then.checkpoint.as_bytes() != &key {
        let mut rotations = statement.rotations.iter();
        let replaced = rotations.find(|rotation| rotation.old.as_bytes() == &key);
        return broken(match replaced {
            Some(rotation) => format!(
                "the checkpoint is over {size} records, but record {} replaced the key that signed \
                 it: whoever made it has a key that was in force no more",
                rotation.position
            ),
            None => "the key that signed the checkpoint never was one of this log's".to_owned(),
        });
    }
    if paper.keys.is_some_and(|keys| *keys != then) {
        return broken(format!(
            "the paper names other keys than those that were in force after {size} records"
        ));
    }
    if let Some(why) = paper.statement.and_then(|own| own.contradicts(statement)) {
        return broken(why);
    }
    match statement.replaced_at(then.checkpoint) {
        Some(position) => Ok(position),
        // It is in force still, and the policy trusts it: whoever asks has not looked.
        None => broken("the newest keys statement names the paper's key as the one in force"),
    }
}

/// By the consistency proof that leads to the newest checkpoint.
fn linked(
    paper: Paper<'_>,
    policy: &Policy,
    refresh: &Refresh,
    link: &Link,
    replaced: u64,
) -> Result<CheckpointHold, CheckpointHold> {
    let size = paper.checkpoint.size;
    let newest = match policy.check(&link.checkpoint, verifies) {
        Ok(newest) => newest,
        Err(why @ Distrust::NoQuorum { .. }) => return asserted(why),
        Err(why) => return broken(format!("the newest checkpoint does not hold: {why}")),
    };
    if !refresh.keys.statement.is_of(&newest.checkpoint) {
        return broken("the newest keys statement is not of the newest checkpoint");
    }
    if link.size != size {
        return asserted(format!(
            "the proof is of a paper over {} records, this one is over {size}: ask the ledger for \
             its own",
            link.size
        ));
    }
    let proof = ConsistencyProof {
        old_size: size,
        new_size: newest.checkpoint.size,
        path: link.hashes.clone(),
    };
    if let Err(why) = proof.verify(paper.checkpoint.root, newest.checkpoint.root) {
        return broken(format!(
            "the newest checkpoint does not go on where this one ended: {why}"
        ));
    }
    Ok(CheckpointHold::Proven {
        sentence: format!(
            "signed over {size} records by the key that was in force until record {replaced} \
             replaced it, and the checkpoint over {} records by the key you trust goes on where it \
             ended",
            newest.checkpoint.size
        ),
        cosignatures: newest.cosignatures,
    })
}

/// By witnesses: who saw the old checkpoint has seen no other log since.
fn cosigned(
    paper: Paper<'_>,
    policy: &Policy,
    replaced: u64,
) -> Result<CheckpointHold, CheckpointHold> {
    let size = paper.checkpoint.size;
    let without = "the keys statement alone does not show that the log goes on where the paper \
                   ended: ask the ledger for the proof, x811 receipt refresh FILE";
    let Some(note) = paper.note.filter(|_| policy.asks_for_witnesses()) else {
        return asserted(without);
    };
    let Ok(key) = NoteKey::new(&*paper.checkpoint.origin, paper.key) else {
        return broken("the log's name is none that a key can have");
    };
    match policy.clone().with_log(key).check(note, verifies) {
        Ok(trusted) => Ok(CheckpointHold::Proven {
            sentence: format!(
                "signed over {size} records by the key that was in force until record {replaced} \
                 replaced it, and cosigned by the quorum of your policy"
            ),
            cosignatures: trusted.cosignatures,
        }),
        Err(Distrust::NoQuorum { .. }) => asserted(without),
        Err(why) => broken(why),
    }
}
