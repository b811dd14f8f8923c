//! A receipt from what the running ledger keeps.

use super::agent_keys;
use crate::checkpoint::Signed;
use crate::port::{Body, DamagedBody, LedgerStore, ReadModel};
use crate::proof::{self, ProofError};
use std::collections::HashMap;
use x811_audit::export::{LastRecord, SignedEnd, StreamEnd};
use x811_audit::receipt::{CompactReceipt, Enclosed, Leaf, Opened, RECEIPT_VERSION, Receipt, ask};
use x811_audit::standing::{Settling, Standing};
use x811_eventlog::{CoseReceipt, Hash, Node, ReadError, Record};
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::event::{Confirmed, EnvelopeAccepted, Event, SettlementEvent};
use x811_protocol::evm::TxHash;
use x811_protocol::facts::RefersTo;
use x811_protocol::id::EnvelopeId;
use x811_protocol::key::SecretKey;
use x811_protocol::signature::Signature;
use x811_protocol::stream::Stream;
use x811_world::keyring::Keyring;
use x811_world::keys_statement::SignedKeys;
use x811_world::row::SubjectRow;

/// Most records of an interaction that are read; the limits of a ledger allow far fewer.
const MAX_RECORDS: usize = 1_000;

/// Why there is no receipt.
#[derive(Debug, thiserror::Error)]
pub enum ReceiptError {
    /// No confirmed payment.
    #[error(
        "there is no confirmed payment: a receipt is made once the transfer is deep enough, \
         x811 provider paid says where it is"
    )]
    NotConfirmed,
    /// The payment was confirmed and then taken back by a reorganisation.
    #[error(
        "the payment was confirmed and then a reorganisation took it back: record {position} of the \
         log says so. There is no receipt unless it returns, x811 provider paid says where it is"
    )]
    Reversed {
        /// Place in the log of the record that says so.
        position: u64,
    },
    /// The payment was confirmed, and a transaction that it needs is in no block at the moment.
    #[error(
        "the payment was confirmed, and its transaction is at the moment in no block: record \
         {position} of the log says so. There is no receipt until it is back, x811 provider paid says \
         where it is"
    )]
    InNoBlock {
        /// Place in the log of the record that says so.
        position: u64,
    },
    /// Longer than an end can be signed of.
    #[error("the interaction has {MAX_RECORDS} records or more: take its bundle, x811 export")]
    TooLong,
    /// A record or a message that must be kept is gone.
    #[error("the {what} that the payment rests on is missing: audit the ledger")]
    Missing {
        /// Which record or message it is, in words.
        what: &'static str,
    },
    /// A record is not the one that was appended.
    #[error(
        "the record at position {position} is not the one that the tree over the log has: run \
         x811 doctor"
    )]
    Damaged {
        /// Its place in the log.
        position: u64,
    },
    /// A body is not the one that was signed.
    #[error(transparent)]
    Body(#[from] DamagedBody),
    /// A proof could not be made from the log.
    #[error(transparent)]
    Proof(#[from] ProofError),
    /// The store cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// Who issues receipts.
#[derive(Debug, Clone, Copy)]
pub struct Issuer<'a> {
    /// DID of the ledger.
    pub ledger: Did,
    /// Its keys, and which there were before.
    pub keyring: &'a Keyring,
    /// The receipt key in force.
    pub key: &'a SecretKey,
    /// The checkpoint key in force: it says where the interaction's stream ends.
    pub checkpoint_key: &'a SecretKey,
    /// Position of the parameters in force: most interactions were opened under them, so they are
    /// read at once.
    pub parameters: Option<u64>,
}

/// Makes the receipt of `row`'s interaction under `signed`, as its file, once its payment is confirmed there. The rows
/// must reflect what the checkpoint covers.
///
/// # Errors
/// [`ReceiptError`].
pub async fn build<S: LedgerStore, R: ReadModel>(
    store: &S,
    rows: &R,
    row: &SubjectRow,
    signed: &Signed,
    issuer: Issuer<'_>,
) -> Result<Vec<u8>, ReceiptError> {
    let replaced = issuer.keyring.replaced().iter();
    let replaced = replaced.map(|replaced| replaced.position);
    let replaced: Vec<u64> = replaced
        .filter(|position| *position < signed.checkpoint.size)
        .collect();
    // Of the ledger's own stream: none of them is in the interaction's.
    let own = [0].into_iter().chain(issuer.parameters);
    let own: Vec<u64> = own.chain(replaced.iter().copied()).collect();
    let interaction = row
        .subject
        .interaction()
        .ok_or(ReceiptError::NotConfirmed)?;
    let stream = Stream::interaction(interaction).to_string();
    let (mut records, bodies) = rows
        .stream_with_bodies(store, &stream, &own, MAX_RECORDS)
        .await?;
    let own = records.split_off(records.partition_point(|it| it.stream() == stream));
    let settled = Settled::of(records)?;
    settled.check(rows, row, signed.checkpoint.size).await?;
    let keys = keys_of(signed)?;
    let end = settled.end(signed.checkpoint.size, &keys, issuer.checkpoint_key)?;
    let [opened, parameters, rotations @ ..] =
        &*configuration(store, &settled.records, own, &replaced).await?
    else {
        return Err(ReceiptError::Missing { what: "record" });
    };
    let envelopes = envelopes(&settled, &bodies)?;
    let agent_keys = agent_keys::of(store, rows, &envelopes).await?;
    let mut proven = vec![opened, parameters, &settled.record];
    proven.extend(rotations.iter().chain(&agent_keys));
    proven.sort_unstable_by_key(|record| record.position());
    let proof = proof::together(rows, &proven, &signed.checkpoint).await?;
    let receipt = Receipt {
        agent_keys: agent_keys.iter().map(Leaf::of).collect(),
        ask: ask(interaction),
        checkpoint: signed.note.clone(),
        confirmed: Leaf::of(&settled.record),
        end,
        envelopes,
        hashes: proof.hashes,
        interaction,
        keys,
        ledger: Opened::of(opened),
        parameters: Leaf::of(parameters),
        rotations: rotations.iter().map(Leaf::of).collect(),
        signature: Signature::from_bytes([0; 64]),
        version: RECEIPT_VERSION,
    };
    Ok(receipt.issue(issuer.key).1)
}

/// Makes the compact receipt of `row`'s interaction, under the same conditions as [`build`].
///
/// # Errors
/// [`ReceiptError`].
pub async fn build_compact<S: LedgerStore, R: ReadModel>(
    store: &S,
    rows: &R,
    row: &SubjectRow,
    signed: &Signed,
    issuer: Issuer<'_>,
) -> Result<CompactReceipt, ReceiptError> {
    let interaction = row
        .subject
        .interaction()
        .ok_or(ReceiptError::NotConfirmed)?;
    let stream = Stream::interaction(interaction).to_string();
    let records = rows.stream_with_bodies(store, &stream, &[], MAX_RECORDS);
    let (records, _) = records.await?;
    let settled = Settled::of(records)?;
    settled.check(rows, row, signed.checkpoint.size).await?;
    settled.standing(signed.checkpoint.size)?;
    let statement = keys_of(signed)?;
    let proof = proof::inclusion(rows, &settled.record, &signed.checkpoint).await?;
    let keys = issuer.keyring.after(signed.checkpoint.size);
    let receipt = CoseReceipt {
        origin: signed.checkpoint.origin.clone(),
        public_key: *keys.checkpoint.as_bytes(),
        proof,
        signature: signed.cose_signature,
    };
    let confirmed = settled.record.bytes().to_vec();
    Ok(CompactReceipt::sign(
        interaction,
        issuer.ledger,
        confirmed,
        receipt,
        &statement,
        issuer.key,
    ))
}

/// The keys statement that was made with the checkpoint.
fn keys_of(signed: &Signed) -> Result<SignedKeys, ReceiptError> {
    let what = "keys statement";
    signed.keys.clone().ok_or(ReceiptError::Missing { what })
}

/// The records of an interaction whose payment is confirmed.
struct Settled {
    records: Vec<Record>,
    /// The one that says so.
    record: Record,
    confirmed: Confirmed,
    /// What tells how the payment stands, in order, each with its place in the log.
    told: Vec<(u64, Event)>,
}

/// The events that tell how a payment stands.
const TELLING: [&[u8]; 5] = [b"confirmed", b"seen", b"unseen", b"reversed", b"returned"];

impl Settled {
    fn of(records: Vec<Record>) -> Result<Settled, ReceiptError> {
        let mut told = Vec::new();
        let telling = |record: &&Record| TELLING.contains(&record.event_type());
        for record in records.iter().filter(telling) {
            let what = "readable record";
            let event = event(record).map_err(|_| ReceiptError::Missing { what })?;
            told.push((record.position(), event));
        }
        let confirmed = told.iter().find_map(|(position, event)| {
            let confirmed = as_confirmed(event)?.clone();
            Some((*position, confirmed))
        });
        let (position, confirmed) = confirmed.ok_or(ReceiptError::NotConfirmed)?;
        let record = records.iter().find(|record| record.position() == position);
        let record = record.cloned().ok_or(ReceiptError::NotConfirmed)?;
        let missing = missing(&confirmed, &told);
        if let Some(position) = missing.reversed_at() {
            return Err(ReceiptError::Reversed { position });
        }
        if let Some(position) = missing.in_no_block_at() {
            return Err(ReceiptError::InNoBlock { position });
        }
        Ok(Settled {
            records,
            record,
            confirmed,
            told,
        })
    }

    /// Compares the records under a checkpoint over `size` records with the leaves of the tree. Not
    /// all of them are proven, but what became of the payment is read from all: none may be missing
    /// between them or behind them, up to the last that the row has seen.
    async fn check<R: ReadModel>(
        &self,
        rows: &R,
        row: &SubjectRow,
        size: u64,
    ) -> Result<(), ReceiptError> {
        let stream = self.record.stream();
        let is_elsewhere = |(seq, record): &(u64, &Record)| {
            record.stream() != stream || record.stream_seq() != *seq
        };
        if let Some((_, record)) = (0..).zip(&self.records).find(is_elsewhere) {
            let position = record.position();
            return Err(ReceiptError::Damaged { position });
        }
        let last = self.records.last().map(Record::position);
        if self.records.len() < MAX_RECORDS && last < Some(row.last_position) {
            let position = row.last_position;
            return Err(ReceiptError::Damaged { position });
        }
        let leaf = |record: &Record| Node::leaf(record.position());
        let leaves: Vec<Node> = self.under(size).map(leaf).collect();
        let hashes = rows.nodes(&leaves).await?;
        let mut records = self.under(size);
        match records.find(|record| hashes.get(&leaf(record)) != Some(&record.hash())) {
            Some(record) => Err(ReceiptError::Damaged {
                position: record.position(),
            }),
            None => Ok(()),
        }
    }

    /// Where the stream ends under a checkpoint over `size` records, by the key in force there.
    fn end(
        &self,
        size: u64,
        keys: &SignedKeys,
        key: &SecretKey,
    ) -> Result<SignedEnd, ReceiptError> {
        if key.public() != keys.statement.keys.checkpoint {
            let what = "checkpoint key in force";
            return Err(ReceiptError::Missing { what });
        }
        let standing = self.standing(size)?;
        let last = self.under(size).last();
        let end = StreamEnd {
            stream: self.record.stream().to_owned(),
            last: last.map(|record| LastRecord {
                seq: record.stream_seq(),
                hash: record.hash(),
            }),
            standing: Some(standing),
            tree_size: size,
        };
        Ok(end.sign(key))
    }

    /// What became of the payment by the records under a checkpoint, if it stands.
    fn standing(&self, size: u64) -> Result<Standing, ReceiptError> {
        // A stream that was read in part has another end.
        if self.records.len() >= MAX_RECORDS {
            return Err(ReceiptError::TooLong);
        }
        let under = self.told.partition_point(|(position, _)| *position < size);
        let told = &self.told[..under];
        let mut settling = Settling::default();
        for (_, event) in told {
            settling.take(event);
        }
        match settling.standing() {
            standing @ (Standing::Paid | Standing::Returned) => Ok(standing),
            Standing::Reversed => {
                let missing = missing(&self.confirmed, told);
                let position = missing.reversed_at().unwrap_or_default();
                Err(ReceiptError::Reversed { position })
            }
            Standing::None => Err(ReceiptError::NotConfirmed),
        }
    }

    fn under(&self, size: u64) -> impl Iterator<Item = &Record> {
        let records = self.records.iter();
        records.filter(move |record| record.position() < size)
    }
}

/// Position 0, the parameters that the interaction was opened under, and the records at `replaced`.
/// Those that are not among `known` are read.
async fn configuration<S: LedgerStore>(
    store: &S,
    records: &[Record],
    known: Vec<Record>,
    replaced: &[u64],
) -> Result<Vec<Record>, ReceiptError> {
    let Some(Ok(Event::EnvelopeAccepted(request))) = records.first().map(event) else {
        return Err(ReceiptError::Missing { what: "REQUEST" });
    };
    let missing = ReceiptError::Missing { what: "record" };
    let parameters = request.derived.parameters.ok_or(missing)?;
    let wanted = [0, parameters].into_iter().chain(replaced.iter().copied());
    let find = |position| known.iter().find(|record| record.position() == position);
    let found: Vec<Record> = wanted.clone().filter_map(find).cloned().collect();
    let wanted: Vec<u64> = wanted.collect();
    let found = match found.len() == wanted.len() {
        true => found,
        false => store.records(&wanted).await?,
    };
    if found.len() == wanted.len() {
        Ok(found)
    } else {
        Err(ReceiptError::Missing { what: "record" })
    }
}

/// The messages that show price, payee, consent and payment, and before them the REQUEST where it
/// names the contract that the price is of, or where others refer to it by its idempotency key.
fn envelopes(
    settled: &Settled,
    bodies: &HashMap<u64, Body>,
) -> Result<Vec<Enclosed>, ReceiptError> {
    let named = &settled.confirmed.records;
    let request = settled.records.first().map(event);
    let mut wanted = vec![named.offer, named.accept, named.verify];
    wanted.extend(&named.payments);
    let find = |hash: Digest| {
        let hash = Hash::from_bytes(*hash.as_bytes());
        settled.records.iter().find(|record| record.hash() == hash)
    };
    let missing = ReceiptError::Missing { what: "envelope" };
    let found: Option<Vec<&Record>> = wanted.into_iter().map(find).collect();
    let mut found = found.ok_or(missing)?;
    if let Some(Ok(Event::EnvelopeAccepted(request))) = request
        && (request.derived.contract.is_some() || is_named_by_key(request.envelope.id, &found))
    {
        let missing = ReceiptError::Missing { what: "envelope" };
        found.insert(0, find(named.request).ok_or(missing)?);
    }
    let enclosed = |record| enclosed(record, bodies);
    found.into_iter().map(enclosed).collect()
}

/// Whether one of these messages refers to the REQUEST by neither its id nor its OFFER's: by its
/// idempotency key, which the published SDK does (decision 0190).
fn is_named_by_key(request: EnvelopeId, messages: &[&Record]) -> bool {
    let accepted = |record: &&Record| {
        let Ok(Event::EnvelopeAccepted(accepted)) = event(record) else {
            return None;
        };
        Some(accepted)
    };
    let accepted: Vec<EnvelopeAccepted> = messages.iter().filter_map(accepted).collect();
    let mut known: Vec<EnvelopeId> = accepted.iter().map(|it| it.envelope.id).collect();
    known.push(request);
    accepted.iter().any(|it| match it.facts.refers_to() {
        RefersTo::Envelope(reference) => !known.contains(&reference),
        RefersTo::Itself
        | RefersTo::Subject(_)
        | RefersTo::Nothing
        | RefersTo::EnvelopeIfKnown(_) => false,
    })
}

fn enclosed(record: &Record, bodies: &HashMap<u64, Body>) -> Result<Enclosed, ReceiptError> {
    let missing = || ReceiptError::Missing { what: "message" };
    let body = bodies.get(&record.position()).ok_or_else(missing)?;
    let Ok(Event::EnvelopeAccepted(accepted)) = event(record) else {
        return Err(missing());
    };
    body.check(accepted.envelope.digest)?;
    Enclosed::of(record, accepted, &body.bytes).ok_or_else(missing)
}

/// Transactions that paid and are missing, each with the place of the record that says so.
#[derive(Default)]
struct Missing {
    reversed: HashMap<TxHash, u64>,
    in_no_block: HashMap<TxHash, u64>,
}

impl Missing {
    /// Place in the log of the last `reversed` whose transaction has not returned.
    fn reversed_at(&self) -> Option<u64> {
        self.reversed.values().max().copied()
    }

    /// Place in the log of the last `unseen` whose transaction is in no block since.
    fn in_no_block_at(&self) -> Option<u64> {
        self.in_no_block.values().max().copied()
    }
}

/// What is missing of a payment after these events of its stream.
fn missing(confirmed: &Confirmed, told: &[(u64, Event)]) -> Missing {
    let mut missing = Missing::default();
    let paid = |tx_hash: &TxHash| confirmed.claims.iter().any(|it| it.tx_hash == *tx_hash);
    let told = told.iter();
    let since = told.skip_while(|(_, event)| as_confirmed(event).is_none());
    for (position, event) in since {
        if let Event::Settlement(SettlementEvent::Reversed(reversed)) = event {
            missing.reversed.insert(reversed.tx_hash, *position);
        } else if let Event::Settlement(SettlementEvent::Returned(returned)) = event {
            missing.reversed.remove(&returned.tx_hash);
        } else if let Event::Settlement(SettlementEvent::Unseen(unseen)) = event {
            missing.in_no_block.insert(unseen.tx_hash, *position);
        } else if let Event::Settlement(SettlementEvent::Seen(seen)) = event {
            missing.in_no_block.remove(&seen.tx_hash);
        }
    }
    missing.reversed.retain(|tx_hash, _| paid(tx_hash));
    missing.in_no_block.retain(|tx_hash, _| paid(tx_hash));
    missing
}

fn as_confirmed(event: &Event) -> Option<&Confirmed> {
    if let Event::Settlement(SettlementEvent::Confirmed(confirmed)) = event {
        Some(confirmed)
    } else {
        None
    }
}

fn event(record: &Record) -> Result<Event, serde_json::Error> {
    Event::from_named_json(record.event_type(), record.event_json())
}
