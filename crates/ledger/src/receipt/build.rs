//! A receipt from what the running ledger keeps.

use super::{Enclosed, Leaf, Opened, RECEIPT_VERSION, Receipt};
use crate::checkpoint::Signed;
use crate::port::{LedgerStore, ReadModel};
use crate::proof::{self, ProofError};
use crate::stream::Stream;
use x811_eventlog::{Hash, ReadError, Record};
use x811_protocol::digest::Digest;
use x811_protocol::event::{Confirmed, Event};
use x811_protocol::id::InteractionId;
use x811_protocol::key::SecretKey;
use x811_protocol::signature::Signature;

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
    /// A record or a message that must be kept is gone.
    #[error("the {what} that the payment rests on is missing: audit the ledger")]
    Missing {
        /// Which.
        what: &'static str,
    },
    /// Not provable.
    #[error(transparent)]
    Proof(#[from] ProofError),
    /// The store cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// Makes the receipt of `interaction` under `signed`, once its payment is confirmed there. The rows
/// must reflect what the checkpoint covers.
///
/// # Errors
/// [`ReceiptError`].
pub async fn build<S: LedgerStore, R: ReadModel>(
    store: &S,
    rows: &R,
    interaction: InteractionId,
    signed: &Signed,
    key: &SecretKey,
) -> Result<Receipt, ReceiptError> {
    let settled = settled(store, rows, interaction).await?;
    let [opened, parameters] = configuration(store, &settled.records).await?;
    let proven = [&opened, &parameters, &settled.record];
    let proof = proof::together(rows, &proven, &signed.checkpoint).await?;
    let receipt = Receipt {
        version: RECEIPT_VERSION,
        interaction,
        envelopes: envelopes(store, &settled).await?,
        ledger: Opened::of(&opened),
        parameters: Leaf::of(&parameters),
        confirmed: Leaf::of(&settled.record),
        hashes: proof.hashes,
        checkpoint: signed.note.clone(),
        ask: format!("/api/v1/interactions/{interaction}/settlement"),
        signature: Signature::from_bytes([0; 64]),
    };
    Ok(receipt.sign(key))
}

/// The records of an interaction whose payment is confirmed.
struct Settled {
    records: Vec<Record>,
    /// The one that says so.
    record: Record,
    confirmed: Confirmed,
}

async fn settled<S: LedgerStore, R: ReadModel>(
    store: &S,
    rows: &R,
    interaction: InteractionId,
) -> Result<Settled, ReceiptError> {
    let stream = Stream::Interaction(interaction).to_string();
    let positions = rows.stream_positions(&stream, 0, MAX_RECORDS).await?;
    let records = store.records(&positions).await?;
    let is_confirmed = |record: &&Record| record.event_type() == b"confirmed";
    let record = records.iter().find(is_confirmed).cloned();
    let record = record.ok_or(ReceiptError::NotConfirmed)?;
    let Ok(Event::Confirmed(confirmed)) = Event::from_json(record.event_json()) else {
        return Err(ReceiptError::NotConfirmed);
    };
    Ok(Settled {
        records,
        record,
        confirmed,
    })
}

/// Position 0, and the parameters that the interaction was opened under.
async fn configuration<S: LedgerStore>(
    store: &S,
    records: &[Record],
) -> Result<[Record; 2], ReceiptError> {
    let request = records
        .first()
        .map(|first| Event::from_json(first.event_json()));
    let Some(Ok(Event::EnvelopeAccepted(request))) = request else {
        return Err(ReceiptError::Missing { what: "REQUEST" });
    };
    let missing = ReceiptError::Missing { what: "record" };
    let Some(parameters) = request.derived.parameters else {
        return Err(missing);
    };
    let found = store.records(&[0, parameters]).await?;
    found.try_into().map_err(|_| missing)
}

/// The messages that show price, payee, consent and payment.
async fn envelopes<S: LedgerStore>(
    store: &S,
    settled: &Settled,
) -> Result<Vec<Enclosed>, ReceiptError> {
    let named = &settled.confirmed.records;
    let mut wanted = vec![named.offer, named.accept, named.verify];
    wanted.extend(&named.payments);
    let find = |hash: Digest| {
        let hash = Hash::from_bytes(*hash.as_bytes());
        settled.records.iter().find(|record| record.hash() == hash)
    };
    let found: Option<Vec<&Record>> = wanted.into_iter().map(find).collect();
    let found = found.ok_or(ReceiptError::Missing { what: "envelope" })?;
    let positions: Vec<u64> = found.iter().map(|record| record.position()).collect();
    let bodies = store.bodies(&positions).await?;
    let enclosed = |record: &Record| Enclosed::of(record, &bodies.get(&record.position())?.bytes);
    let enclosed: Option<Vec<Enclosed>> = found.into_iter().map(enclosed).collect();
    enclosed.ok_or(ReceiptError::Missing { what: "message" })
}
