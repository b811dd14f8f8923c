//! `GET /api/v1/records/{position}/proof`: that a record is in the log, as a file that is checked
//! offline (C2SP tlog-proof). The record itself is in its line `extra`.

use super::log_checkpoint::TEXT;
use super::round_readers;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::Named;
use crate::openapi::Refused;
use crate::signed_read::{ReadRefusal, Reader};
use crate::stored;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use std::str::FromStr;
use std::sync::Arc;
use x811_eventlog::{Record, TlogProof};
use x811_ledger::clock::Clock;
use x811_ledger::port::ReadModel as _;
use x811_ledger::proof;
use x811_protocol::stream::{Stream, Subject};

/// A place in the log, in digits without zeros in front.
pub(super) struct Position(u64);

impl FromStr for Position {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Position, &'static str> {
        let position: Option<u64> = text.parse().ok();
        let position = position.filter(|position| position.to_string() == text);
        position
            .map(Position)
            .ok_or("a position is a whole number, without zeros in front")
    }
}

/// 200, or 404, also to those whose business the record is not. Records of the ledger, of networks
/// and of agents' keys are every reader's. Waits a moment for a checkpoint that covers it.
#[utoipa::path(
    get,
    path = "/api/v1/records/{position}/proof",
    operation_id = "readRecordProof",
    tag = "log",
    params((
        "position" = u64,
        Path,
        maximum = 9_007_199_254_740_991_u64,
        description = "Place of the record in the log"
    )),
    responses(
        (
            status = 200,
            description = "A proof file: the leaf, the hashes beside its way to the root, and the \
                           checkpoint with that root",
            body = String,
            content_type = "text/plain",
        ),
        Refused,
    ),
    security(("signature" = [], "signature_input" = []), ("bearer" = []), ()),
)]
pub(super) async fn handle<C: Clock>(
    reader: Reader,
    State(app): State<Arc<App<C>>>,
    Named(Position(position)): Named<Position>,
) -> Result<impl IntoResponse, ReadRefusal> {
    if position >= app.ledger.world().head().size {
        return Err(no_record().into());
    }
    app.rows_reflect(position).await?;
    let record = stored::record(&app, position).await?;
    if !may_read(&app, &reader, &record).await? {
        return Err(no_record().into());
    }
    let signed = app.signed_over(position).await?;
    app.rows_reflect(signed.checkpoint.size - 1).await?;
    let rows = app.ledger.read_model();
    let proof = proof::inclusion(rows, &record, &signed.checkpoint).await;
    let file = TlogProof {
        extra: Some(record.bytes().to_vec()),
        index: position,
        path: proof.map_err(ApiError::from)?.path,
        checkpoint: signed.note,
    };
    Ok(([(CONTENT_TYPE, TEXT)], file.to_text()))
}

fn no_record() -> ApiError {
    ApiError::not_found(
        "no record that you may read is at this position: the history of an interaction shows \
         the positions of its records",
    )
}

async fn may_read<C: Clock>(
    app: &App<C>,
    reader: &Reader,
    record: &Record,
) -> Result<bool, ApiError> {
    let stream: Option<Stream> = record.stream().parse().ok();
    Ok(match stream {
        Some(Stream::Of(Subject::Interaction(id))) => {
            let row = app.ledger.read_model().interaction(id).await?;
            row.is_some_and(|row| reader.may_read(&[row.initiator, row.provider]))
        }
        Some(Stream::Of(subject @ Subject::Round(_))) => {
            let row = app.ledger.read_model().subject(subject).await?;
            let Some(row) = row.filter(|row| round_readers::may_read(app, reader, row)) else {
                return Ok(false);
            };
            round_readers::may_read_votes(app, reader, &row)
                || !round_readers::is_vote(&stored::event(record)?)
        }
        Some(Stream::Mail(_)) => {
            let event = stored::event(record)?;
            let parties = event.envelope().map(|header| [header.from, header.to]);
            parties.is_some_and(|parties| reader.may_read(&parties))
        }
        Some(
            Stream::Of(Subject::Descriptor(_))
            | Stream::Ledger
            | Stream::Network(_)
            | Stream::Agent(_)
            | Stream::Roots,
        ) => true,
        // Whoever takes part in it, and nobody else.
        Some(Stream::Of(subject)) => {
            let row = app.ledger.read_model().subject(subject).await?;
            row.is_some_and(|row| reader.may_read(&row.members))
        }
        None => return Err(ApiError::damaged(record.position())),
    })
}
