//! Whether a proof file proves what was acknowledged: the record that the ledger named is under a
//! checkpoint by the ledger's key, and it holds the very envelope that was sent.

use std::sync::Arc;

use x811_audit::checkpoint_note::verifies;
use x811_client::agent::{ProofCheck, ProofDue};
use x811_client::http::LedgerClient;
use x811_eventlog::note::NoteKey;
use x811_eventlog::{Checkpoint, Hash, Policy, Record, TlogProof};
use x811_protocol::event::Event;

use crate::failure::Failure;

/// The check of a loop, by the key that was named, else by the one that the ledger says it has.
pub(super) async fn check(
    client: &LedgerClient,
    named: Option<&str>,
) -> Result<Arc<ProofCheck>, Failure> {
    let said = match named {
        Some(vkey) => Some(vkey.to_owned()),
        None => client.info().await?.checkpoint_vkey,
    };
    let said = said.ok_or_else(|| {
        Failure::untrusted("the ledger names no checkpoint key, so it proves nothing")
            .hint("set checkpoint_key in the configuration")
    })?;
    let key = NoteKey::from_vkey(&said).map_err(|error| {
        Failure::usage(&error.to_string())
            .hint("take `checkpoint_vkey` from the ledger's /.well-known/x811.json")
    })?;
    let policy = Policy::of_log(key);
    Ok(Arc::new(move |due: &ProofDue, text: &str| {
        holds(due, text, &policy)
    }))
}

fn holds(due: &ProofDue, text: &str, policy: &Policy) -> Result<(), String> {
    let proof = TlogProof::from_text(text).map_err(|error| error.to_string())?;
    let leaf = proof.extra.clone().ok_or("the proof has no record in it")?;
    if proof.index != due.position
        || Hash::of_leaf(&leaf).to_string() != due.record_hash.to_string()
    {
        return Err("it proves another record than the one that was acknowledged".to_owned());
    }
    let checkpoint = opened(&proof.checkpoint, policy)?;
    proof
        .verify(Hash::of_leaf(&leaf), &checkpoint)
        .map_err(|error| error.to_string())?;
    let record = Record::parse(leaf).map_err(|error| error.to_string())?;
    let event = Event::from_value(&record.event()).map_err(|error| error.to_string())?;
    let is_ours = event
        .envelope()
        .is_some_and(|header| (header.id, header.digest) == (due.envelope_id, due.digest));
    match is_ours {
        true => Ok(()),
        false => Err("the record does not hold the envelope that was sent".to_owned()),
    }
}

/// The checkpoint of a note that the policy takes.
fn opened(note: &str, policy: &Policy) -> Result<Checkpoint, String> {
    policy
        .check(note, verifies)
        .map(|taken| taken.checkpoint)
        .map_err(|error| error.to_string())
}
