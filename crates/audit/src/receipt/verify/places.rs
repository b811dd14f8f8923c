//! The records of a receipt among each other: their order, their times, their places in their streams,
//! and the hash that each names of the record before it. They are of one log.

use super::steps::{Broken, broken};
use crate::receipt::form::Receipt;
use crate::receipt::leaf::{Leaf, LeafPlace};
use std::collections::BTreeMap;
use x811_eventlog::{Checkpoint, Hash, Record, RecordError};
use x811_protocol::event::Confirmed;
use x811_protocol::stream::Stream;

const ABOUT: &str = "record";

/// A record of the file.
struct Placed {
    stream: String,
    place: LeafPlace,
    hash: Hash,
}

impl Placed {
    fn of(record: &Record) -> Placed {
        Placed {
            stream: record.stream().to_owned(),
            place: LeafPlace::of(record),
            hash: record.hash(),
        }
    }
}

/// Holds the records to each other and to the last of the interaction's stream.
///
/// # Errors
/// Two of them that cannot be of one log.
pub(super) fn check(
    receipt: &Receipt,
    record: &Record,
    confirmed: &Confirmed,
    checkpoint: &Checkpoint,
) -> Result<(), Broken> {
    let placed = placed(receipt, record, confirmed);
    let placed = placed.map_err(|error| broken(ABOUT, error))?;
    for two in placed.windows(2) {
        follows(&two[0], &two[1]).map_err(|sentence| broken(ABOUT, sentence))?;
    }
    let mut last: BTreeMap<&str, &Placed> = BTreeMap::new();
    for next in &placed {
        let before = last.insert(&next.stream, next);
        in_stream(before, next).map_err(|sentence| broken(ABOUT, sentence))?;
    }
    let messages = receipt.envelopes.iter().map(|it| it.place.position).max();
    if messages >= Some(record.position()) {
        return Err(broken(
            ABOUT,
            "a message was recorded after the confirmation",
        ));
    }
    result(receipt, confirmed)?;
    end(receipt, record, checkpoint)
}

/// Holds the confirmation to the messages that it names: each is a record of its own, before it in the
/// interaction's stream, which is no longer than the log.
///
/// # Errors
/// It names a record twice, or stands where they cannot all come before it.
pub(super) fn of_confirmation(record: &Record, confirmed: &Confirmed) -> Result<(), Broken> {
    let named = &confirmed.records;
    let mut hashes = vec![
        named.request,
        named.offer,
        named.accept,
        named.result,
        named.verify,
    ];
    hashes.extend(&named.payments);
    let messages = hashes.len() as u64;
    hashes.sort_unstable();
    if hashes.windows(2).any(|two| two[0] == two[1]) {
        return Err(broken(
            "messages",
            "the confirmation names one record for two messages",
        ));
    }
    // The ledger's own stream begins before every other.
    if !(messages..record.position()).contains(&record.stream_seq()) {
        let sentence = format!(
            "the confirmation cannot be record {} and number {} of its stream, behind {messages} messages",
            record.position(),
            record.stream_seq()
        );
        return Err(broken(ABOUT, sentence));
    }
    Ok(())
}

/// Every record, in order of position. Those of the messages hash to what the confirmation names.
fn placed(
    receipt: &Receipt,
    record: &Record,
    confirmed: &Confirmed,
) -> Result<Vec<Placed>, RecordError> {
    let named = &confirmed.records;
    let mut hashes = vec![named.request, named.offer, named.accept, named.verify];
    hashes.extend(&named.payments);
    // The REQUEST is there or it is not.
    let skipped = hashes.len().saturating_sub(receipt.envelopes.len());
    let messages = receipt.envelopes.iter().zip(&hashes[skipped..]);
    let messages = messages.map(|(enclosed, hash)| Placed {
        stream: receipt.stream(),
        place: enclosed.place,
        hash: Hash::from_bytes(*hash.as_bytes()),
    });
    let mut placed: Vec<Placed> = messages.collect();
    placed.push(Placed::of(record));
    placed.push(Placed::of(&receipt.ledger.record()?));
    let sealed = |leaf: &Leaf, stream: &str| {
        let record = leaf.record(stream.to_owned())?;
        Ok::<_, RecordError>(Placed::of(&record))
    };
    let ledger = Stream::Ledger.to_string();
    for leaf in receipt.rotations.iter().chain([&receipt.parameters]) {
        placed.push(sealed(leaf, &ledger)?);
    }
    let initiator = receipt.initiator_stream().unwrap_or_default();
    for leaf in &receipt.agent_keys {
        placed.push(sealed(leaf, &initiator)?);
    }
    placed.sort_by_key(|it| it.place.position);
    Ok(placed)
}

/// Whether `next` can stand behind `before`.
fn follows(before: &Placed, next: &Placed) -> Result<(), String> {
    let (one, two) = (before.place, next.place);
    let (at, behind) = (one.position, two.position);
    if at == behind {
        return Err(format!("two records are at position {at}"));
    }
    if two.recorded_at_ms < one.recorded_at_ms {
        return Err(format!(
            "record {behind} is older than record {at} before it"
        ));
    }
    if behind == at + 1 && two.prev != before.hash {
        return Err(format!(
            "record {behind} names another record than {at} as the one before it"
        ));
    }
    Ok(())
}

/// Whether `next` can be that number of its stream, behind `before` or as the first one here.
fn in_stream(before: Option<&Placed>, next: &Placed) -> Result<(), String> {
    let LeafPlace {
        position,
        stream_seq,
        ..
    } = next.place;
    let (records, numbers) = match before.map(|before| before.place) {
        None => (position + 1, stream_seq.checked_add(1)),
        Some(before) => (
            position - before.position,
            stream_seq.checked_sub(before.stream_seq),
        ),
    };
    match numbers {
        Some(numbers) if (1..=records).contains(&numbers) => Ok(()),
        Some(_) | None => Err(format!(
            "record {position} cannot be number {stream_seq} of the stream {}",
            next.stream
        )),
    }
}

/// Where nothing but the RESULT can stand between ACCEPT and VERIFY, the VERIFY names it as the record
/// before it.
fn result(receipt: &Receipt, confirmed: &Confirmed) -> Result<(), Broken> {
    let messages = receipt.envelopes.len() - confirmed.records.payments.len();
    let [.., accept, verify] = &receipt.envelopes[..messages] else {
        return Ok(());
    };
    let (accept, verify) = (accept.place, verify.place);
    let is_next = verify.position == accept.position + 2
        && verify.stream_seq == accept.stream_seq.saturating_add(2);
    if is_next && verify.prev.as_bytes() != confirmed.records.result.as_bytes() {
        let sentence = "the confirmation names another RESULT than the record before the VERIFY";
        return Err(broken("messages", sentence));
    }
    Ok(())
}

/// A stream has no more records behind the confirmation than the log has.
fn end(receipt: &Receipt, record: &Record, checkpoint: &Checkpoint) -> Result<(), Broken> {
    let Some(last) = receipt.end.end.last else {
        return Ok(());
    };
    let behind = checkpoint.size.saturating_sub(record.position() + 1);
    if last.seq.saturating_sub(record.stream_seq()) > behind {
        let sentence = "the end numbers more records of the stream than the log has";
        return Err(broken("standing", sentence));
    }
    Ok(())
}

/// Holds the number among the provider's receipts to its place: the first has none before it, and each
/// one before is a record of its own.
pub(super) fn numbered(record: &Record, confirmed: &Confirmed) -> Result<(), Broken> {
    let is_first = confirmed.provider_seq == 0;
    if is_first == confirmed.provider_prev.is_none() && confirmed.provider_seq < record.position() {
        return Ok(());
    }
    let sentence = format!(
        "receipt {} of the provider, counted from 0, cannot {}",
        confirmed.provider_seq,
        match confirmed.provider_prev {
            Some(_) => "follow the receipt that it names",
            None => "be the first one",
        }
    );
    Err(broken("sequence", sentence))
}
