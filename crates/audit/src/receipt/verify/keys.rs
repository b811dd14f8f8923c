//! Which key was in force, and what became of the payment: what the checkpoint key says in a receipt
//! (ledger-contract.md section 8).

use super::steps::{AsOf, Broken, Steps, broken, event};
use crate::checkpoint_note::verifies;
use crate::receipt::compact::CompactReceipt;
use crate::receipt::form::Receipt;
use crate::refresh::{CheckpointHold, Paper, Refresh, is_same_log, since_replaced};
use crate::standing::Standing;
use x811_eventlog::note::{NoteError, NoteKey};
use x811_eventlog::policy::Distrust;
use x811_eventlog::{Checkpoint, CheckpointError, Policy, Record};
use x811_protocol::event::{Event, LedgerEvent, LedgerOpened};
use x811_protocol::key::PublicKey;
use x811_protocol::time::TimestampMs;
use x811_world::keyring::Keyring;
use x811_world::keys_statement::{Rotation, SignedKeys};

/// The ledger with the keys that are in force after all that were replaced.
pub(super) fn opened(receipt: &Receipt) -> Result<LedgerOpened, Broken> {
    let about = "issuer";
    let record = receipt.ledger.record();
    let record = record.map_err(|error| broken(about, error))?;
    let Event::Ledger(LedgerEvent::Opened(mut opened)) = event(&record, about)? else {
        return Err(broken(about, "the record in `ledger` is no ledger_opened"));
    };
    opened.keys = *keyring(receipt, &opened)?.in_force();
    Ok(opened)
}

/// The keys as the receipt's rotations replace them.
fn keyring(receipt: &Receipt, opened: &LedgerOpened) -> Result<Keyring, Broken> {
    let about = "issuer";
    let positions = receipt.rotations.iter().map(|leaf| leaf.place.position);
    if !positions.is_sorted_by(|one, next| one < next) {
        return Err(broken(about, "the records in `rotations` are not in order"));
    }
    let mut keyring = Keyring::opened(opened.keys);
    for rotation in &receipt.rotations {
        let event = Event::from_value(&rotation.event);
        let event = event.map_err(|error| broken(about, error))?;
        let Event::Ledger(LedgerEvent::KeyRotated(rotated)) = event else {
            return Err(broken(about, "a record in `rotations` replaces no key"));
        };
        let position = rotation.place.position;
        let next = keyring.rotated(opened.did, &rotated, position);
        keyring = next.map_err(|why| broken(about, format!("a key was not replaced: {why}")))?;
    }
    Ok(keyring)
}

/// The checkpoint: by the ledger that the file names, and by the key that is trusted, or one that
/// the ledger replaced by it.
pub(super) fn checkpoint(
    receipt: &Receipt,
    trust: Option<&Policy>,
    refresh: Option<&Refresh>,
    opened: &LedgerOpened,
    steps: &mut Steps,
) -> Result<Checkpoint, Broken> {
    let about = "checkpoint";
    let key = *opened.keys.checkpoint.as_bytes();
    let own_key = NoteKey::new(&*opened.origin, key).map_err(|error| broken(about, error))?;
    let own_vkey = own_key.to_vkey();
    let is_only_trusted = trust.is_some_and(|trust| trust.logs() == [own_key.clone()]);
    let own = Policy::of_log(own_key);
    let note = &receipt.checkpoint;
    let Some(trust) = trust else {
        let trusted = own.check(note, verifies);
        let checkpoint = trusted.map_err(|error| broken(about, error))?.checkpoint;
        let sentence = format!(
            "signed over {} records by the ledger that the file names; whether that is the ledger \
             you mean is yours to say: give its key with --key",
            checkpoint.size
        );
        steps.not_checked(about, sentence);
        return Ok(checkpoint);
    };
    let trusted = match trust.check(note, verifies) {
        Err(Distrust::Checkpoint(CheckpointError::Note(NoteError::NotSigned)))
            if is_same_log(trust, &opened.origin, key) =>
        {
            None
        }
        trusted => {
            let other = |error: Distrust| broken(about, not_trusted(&error, &own_vkey));
            Some(trusted.map_err(other)?)
        }
    };
    let witnesses = trusted.as_ref().map(|trusted| trusted.cosignatures.len());
    // The identity in the file has to be that of the key, whoever named the key.
    let checkpoint = match trusted {
        Some(trusted) if is_only_trusted => trusted.checkpoint,
        _ => {
            let own = own.check(note, verifies);
            own.map_err(|error| broken(about, error))?.checkpoint
        }
    };
    match witnesses {
        Some(witnesses) => steps.proven(about, by_trusted(&checkpoint, witnesses)),
        None => {
            let paper = Paper {
                checkpoint: &checkpoint,
                note: Some(note),
                log_id: Some(opened.log_id),
                key,
                keys: Some(&opened.keys),
                statement: Some(&receipt.keys.statement),
            };
            replaced(since_replaced(paper, trust, refresh), steps)?;
        }
    }
    Ok(checkpoint)
}

/// Why the key or policy that was given does not hold a paper, and which key would.
fn not_trusted(why: &dyn std::fmt::Display, own_vkey: &str) -> String {
    format!(
        "what you gave does not hold this checkpoint for good: {why}; the key that the file names for \
         it is {own_vkey}"
    )
}

fn by_trusted(checkpoint: &Checkpoint, witnesses: usize) -> String {
    format!(
        "signed over {} records by the key you trust, cosigned by {witnesses} {}",
        checkpoint.size,
        if witnesses == 1 {
            "witness"
        } else {
            "witnesses"
        }
    )
}

/// What a checkpoint by another key of the trusted log is worth.
fn replaced(held: CheckpointHold, steps: &mut Steps) -> Result<(), Broken> {
    let about = "checkpoint";
    match held {
        CheckpointHold::Proven { sentence, .. } => {
            steps.proven(about, sentence);
            steps.is_replaced = true;
        }
        CheckpointHold::Asserted(sentence) => {
            steps.is_trusted = false;
            steps.asserted(about, format!("rotated, asserted: {sentence}"));
        }
        CheckpointHold::Broken(sentence) => return Err(broken(about, sentence)),
    }
    Ok(())
}

/// Who issued it: the receipt key in force, which the keys statement says.
pub(super) fn issuer(
    receipt: &Receipt,
    opened: &LedgerOpened,
    checkpoint: &Checkpoint,
    steps: &mut Steps,
) -> Result<(), Broken> {
    let about = "issuer";
    let signed = receipt.signed_bytes();
    if !opened.keys.receipt.verify(&signed, &receipt.signature) {
        let sentence = "the receipt is not signed by the ledger's receipt key";
        return Err(broken(about, sentence));
    }
    let sentence = format!(
        "signed by {}, the receipt key of {} as {}",
        opened.keys.receipt,
        opened.did,
        match receipt.rotations.last() {
            None => "position 0 has it".to_owned(),
            Some(last) => format!("position {} leaves it", last.place.position),
        }
    );
    let rotations = receipt_rotations(receipt)?;
    let why = misfit(&receipt.keys, opened, checkpoint, &rotations);
    why.map_or(Ok(()), |why| Err(broken(about, why)))?;
    let sentence = format!("{sentence}, and the keys statement of the checkpoint says so");
    steps.by_the_log(about, sentence);
    Ok(())
}

/// The rotations in a receipt as a statement lists them.
fn receipt_rotations(receipt: &Receipt) -> Result<Vec<Rotation>, Broken> {
    let Event::Ledger(LedgerEvent::Opened(opened)) =
        Event::from_value(&receipt.ledger.event).map_err(|error| broken("issuer", error))?
    else {
        return Err(broken(
            "issuer",
            "the record in `ledger` is no ledger_opened",
        ));
    };
    Ok(keyring(receipt, &opened)?.rotations(u64::MAX))
}

/// In what a keys statement is not of this ledger and checkpoint.
fn misfit(
    keys: &SignedKeys,
    opened: &LedgerOpened,
    checkpoint: &Checkpoint,
    rotations: &[Rotation],
) -> Option<&'static str> {
    let statement = &keys.statement;
    let is_of_log = (statement.log_id, &statement.origin) == (opened.log_id, &opened.origin);
    [
        (
            keys.is_its_own(),
            "the keys statement is not signed by the checkpoint key that it names, or its rotations \
             do not lead to the keys that it names",
        ),
        (is_of_log, "the keys statement is of another log"),
        (
            statement.is_of(checkpoint),
            "the keys statement is of another checkpoint than the receipt",
        ),
        (
            statement.rotations == rotations,
            "the keys statement lists other rotations of the ledger's keys than the receipt: one \
             was left out, or put in",
        ),
        (
            statement.keys == opened.keys,
            "the keys statement names other keys than those in force in the receipt",
        ),
    ]
    .into_iter()
    .find_map(|(holds, why)| (!holds).then_some(why))
}

/// What became of the payment by the records under the checkpoint.
pub(super) fn standing(
    receipt: &Receipt,
    opened: &LedgerOpened,
    checkpoint: &Checkpoint,
    confirmed: &Record,
    steps: &mut Steps,
) -> Result<(), Broken> {
    let about = "standing";
    let not_before_ms = TimestampMs::new(confirmed.recorded_at_ms());
    let signed = &receipt.end;
    let end = &signed.end;
    let key = opened.keys.checkpoint;
    if !signed.is_by(&key) {
        let sentence = "the end of the interaction's stream is not signed by the checkpoint key";
        return Err(broken(about, sentence));
    }
    if end.stream != receipt.stream() || end.tree_size != checkpoint.size {
        let sentence = "the end is of another stream or checkpoint than the receipt";
        return Err(broken(about, sentence));
    }
    if let Some(why) = signed.contradicts(confirmed) {
        return Err(broken(about, why));
    }
    let is_last = end
        .last
        .is_some_and(|last| last.seq == confirmed.stream_seq());
    let last_record = checkpoint.size.saturating_sub(1);
    let as_of = format!(
        "as of record {last_record}, of {} or later",
        not_before_ms.to_rfc3339()
    );
    let standing = match end.standing {
        Some(standing @ (Standing::Paid | Standing::Returned)) => standing,
        Some(Standing::Reversed) if !is_last => {
            let sentence = format!(
                "REVERSED {as_of}: a reorganisation took the payment back, by the ledger's word at \
                 the end of the interaction's stream"
            );
            return Err(broken(about, sentence));
        }
        Some(Standing::None | Standing::Reversed) | None => {
            let sentence = "the end says that nothing was confirmed, or nothing else happened, and \
                            the receipt has the confirmation";
            return Err(broken(about, sentence));
        }
    };
    if is_last && standing == Standing::Returned {
        let sentence = "the end says that the payment was taken back and returned, and that the \
                        confirmation was the stream's last record";
        return Err(broken(about, sentence));
    }
    let word = if standing == Standing::Returned {
        "paid again, after a reorganisation had taken it back,"
    } else {
        "paid"
    };
    steps.standing = Some(AsOf {
        standing,
        record: last_record,
        not_before_ms,
    });
    if steps.is_replaced {
        let sentence = format!("{word} {as_of}, by the checkpoint key that was replaced since");
        steps.asserted(about, sentence);
    } else {
        steps.by_the_log(
            about,
            format!("{word} {as_of}: the checkpoint key signed that"),
        );
    }
    Ok(())
}

/// Whose receipt a compact one is: what its keys statement says of the key that signed it. The log's
/// name and root are those that its inner receipt signs.
pub(super) fn compact_issuer(receipt: &CompactReceipt, root: &Checkpoint) -> Result<(), Broken> {
    let about = "issuer";
    let keys = receipt.keys().map_err(|why| broken(about, why))?;
    let statement = &keys.statement;
    if !keys.is_its_own() || !statement.is_of(root) {
        let sentence = "the keys statement is not by the key that it names, or of another tree";
        return Err(broken(about, sentence));
    }
    let log = &receipt.statement.receipt;
    if statement.keys.checkpoint.as_bytes() != &log.public_key {
        let sentence = "the keys statement names another checkpoint key than the one that signed";
        return Err(broken(about, sentence));
    }
    let key = PublicKey::from_bytes(&receipt.statement.public_key);
    if !key.is_ok_and(|key| key == statement.keys.receipt) {
        let sentence = "the receipt is not signed by the receipt key that was in force";
        return Err(broken(about, sentence));
    }
    Ok(())
}

/// What a compact receipt's root is worth where it is by another key of the trusted log.
pub(super) fn compact_replaced(
    receipt: &CompactReceipt,
    root: &Checkpoint,
    trust: &Policy,
    refresh: Option<&Refresh>,
    steps: &mut Steps,
) -> Result<(), Broken> {
    let about = "checkpoint";
    let log = &receipt.statement.receipt;
    if !is_same_log(trust, &log.origin, log.public_key) {
        let own = NoteKey::new(&*log.origin, log.public_key);
        let own = own.map_err(|error| broken(about, error))?.to_vkey();
        let why = "it is signed by a log that you do not trust: compare the key";
        return Err(broken(about, not_trusted(&why, &own)));
    }
    let keys = receipt.keys().map_err(|why| broken("issuer", why))?;
    let statement = &keys.statement;
    let paper = Paper {
        checkpoint: root,
        note: None,
        log_id: Some(statement.log_id),
        key: log.public_key,
        keys: Some(&statement.keys),
        statement: Some(statement),
    };
    replaced(since_replaced(paper, trust, refresh), steps)
}
