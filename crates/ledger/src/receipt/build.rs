//! A receipt from what the running ledger keeps.

use super::{Enclosed, Receipt};
use crate::checkpoint::Signed;
use crate::port::{LedgerStore, ReadModel};
use crate::proof::{self, ProofError};
use crate::stream::Stream;
use x811_eventlog::{EventLog as _, Hash, ReadError, Record, TlogProof};
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
    let records = records(store, rows, interaction).await?;
    let (record, confirmed) = records
        .iter()
        .find_map(|record| Some((record, confirmed(record)?)))
        .ok_or(ReceiptError::NotConfirmed)?;
    let opened = record_at(store, 0).await?;
    let checkpoint = &signed.checkpoint;
    let identity = proof::inclusion(rows, &opened, checkpoint).await?;
    let proof = proof::inclusion(rows, record, checkpoint).await?;
    let receipt = Receipt {
        interaction,
        envelopes: envelopes(store, &records, &confirmed).await?,
        identity: opened.bytes().to_vec(),
        identity_path: identity.path,
        proof: TlogProof {
            extra: Some(record.bytes().to_vec()),
            index: record.position(),
            path: proof.path,
            checkpoint: signed.note.clone(),
        },
        ask: format!("/api/v1/interactions/{interaction}/settlement"),
        signature: Signature::from_bytes([0; 64]),
    };
    Ok(receipt.sign(key))
}

fn confirmed(record: &Record) -> Option<Confirmed> {
    if record.event_type() != b"confirmed" {
        return None;
    }
    match Event::from_json(record.event_json()) {
        Ok(Event::Confirmed(confirmed)) => Some(confirmed),
        Ok(_) | Err(_) => None,
    }
}

async fn records<S: LedgerStore, R: ReadModel>(
    store: &S,
    rows: &R,
    interaction: InteractionId,
) -> Result<Vec<Record>, ReceiptError> {
    let stream = Stream::Interaction(interaction).to_string();
    let positions = rows.stream_positions(&stream, 0, MAX_RECORDS).await?;
    let mut records = Vec::with_capacity(positions.len());
    for position in positions {
        records.push(record_at(store, position).await?);
    }
    Ok(records)
}

async fn record_at<S: LedgerStore>(store: &S, position: u64) -> Result<Record, ReceiptError> {
    let page = store.log().read(position, 1).await?;
    let record = page.into_iter().next();
    record.ok_or(ReceiptError::Missing { what: "record" })
}

/// The envelopes that show price, payee, consent and payment.
async fn envelopes<S: LedgerStore>(
    store: &S,
    records: &[Record],
    confirmed: &Confirmed,
) -> Result<Vec<Enclosed>, ReceiptError> {
    let named = &confirmed.records;
    let mut wanted = vec![named.offer, named.accept, named.verify];
    wanted.extend(&named.payments);
    let find = |hash: Digest| {
        let hash = Hash::from_bytes(*hash.as_bytes());
        records.iter().find(|record| record.hash() == hash)
    };
    let found: Option<Vec<&Record>> = wanted.into_iter().map(find).collect();
    let found = found.ok_or(ReceiptError::Missing { what: "envelope" })?;
    let positions: Vec<u64> = found.iter().map(|record| record.position()).collect();
    let mut bodies = store.bodies(&positions).await?;
    let enclosed = |record: &Record| {
        let body = bodies.remove(&record.position())?;
        Some(Enclosed {
            leaf: record.bytes().to_vec(),
            body: body.bytes.to_vec(),
        })
    };
    let enclosed: Option<Vec<Enclosed>> = found.into_iter().map(enclosed).collect();
    enclosed.ok_or(ReceiptError::Missing { what: "message" })
}
