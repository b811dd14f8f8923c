//! `GET /log/tile/entries/{index}`: up to 256 leaves of the log (C2SP tlog-tiles).

use super::tile;
use crate::app::App;
use crate::error::ApiError;
use crate::openapi::Refused;
use crate::openapi::schema::Binary;
use crate::signed_read::{LogReader, ReadRefusal};
use crate::streamed::{self, Pieces, WHOLE_BYTES};
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::response::IntoResponse;
use std::sync::Arc;
use x811_eventlog::Record;
use x811_eventlog::tile::write_entries;
use x811_ledger::clock::Clock;
use x811_ledger::port::LedgerStore as _;
use x811_ledger::whole;
use x811_protocol::code::Code;
use x811_protocol::refusal::{Kind, Refusal};

/// When to ask again for leaves that are not shown yet: windows for reveals are ten seconds where nobody says
/// otherwise.
const RETRY_AFTER_MS: u64 = 10_000;

/// 200, or 404 for what the log does not have, however it is called. A tile with a reveal of a sealed vote
/// is there once the round's reveals are over, a minute later at most: 422 until then.
#[utoipa::path(
    get,
    path = "/log/tile/entries/{index}",
    operation_id = "readEntryTile",
    tag = "log",
    params((
        "index" = String,
        Path,
        pattern = r"^(x[0-9]{3}/)*[0-9]{3}(\.p/[1-9][0-9]{0,2})?$",
        description = "Place among the tiles of entries, written like that of a tile of hashes"
    )),
    responses(
        (
            status = 200,
            description = "Leaves as they are stored, each behind its length in two bytes",
            body = Binary,
            content_type = "application/octet-stream",
        ),
        Refused,
    ),
    security(("signature" = [], "signature_input" = []), ("bearer" = []), ()),
)]
pub(super) async fn handle<C: Clock>(
    reader: LogReader,
    State(app): State<Arc<App<C>>>,
    Path(index): Path<String>,
) -> Result<impl IntoResponse, ReadRefusal> {
    let (named, _) = tile::named(&app, &format!("tile/entries/{index}")).await?;
    let end = named.start() + u64::from(named.width);
    let hidden = app.ledger.world().first_hidden_reveal();
    if hidden.is_some_and(|position| position < end) {
        return Err(still_revealed().into());
    }
    let leaves = Leaves {
        app,
        at: named.start(),
        end,
        largest: WHOLE_BYTES / 2,
    };
    Ok(tile::answer(
        reader,
        streamed::answer(tile::BINARY, leaves).await?,
    ))
}

/// Whoever read the reveals of others could keep back its own (CX-51).
fn still_revealed() -> ApiError {
    let message = "sealed votes of a round are being revealed, and these leaves are shown once that is over: \
                   ask again, or for a smaller part of the tile";
    let refusal = Refusal::new(Code::TooEarly, Kind::State, message);
    ApiError::from(Refusal {
        retry_after_ms: Some(RETRY_AFTER_MS),
        ..refusal
    })
}

/// The leaves of a tile that were not sent. They are read in pages of about as many bytes as go out
/// whole, as far as the largest leaf until now tells.
struct Leaves<C> {
    app: Arc<App<C>>,
    at: u64,
    end: u64,
    largest: usize,
}

impl<C: Clock> Pieces for Leaves<C> {
    async fn next(&mut self) -> Result<Option<Bytes>, ApiError> {
        let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
        if left == 0 {
            return Ok(None);
        }
        let limit = (WHOLE_BYTES / self.largest).clamp(1, left);
        let head = self.app.ledger.world().head();
        let log = self.app.ledger.store().log();
        let page = whole::records(log, self.at, limit, head).await?;
        let largest = page.iter().map(|record| record.bytes().len()).max();
        let largest = largest.ok_or_else(|| ApiError::damaged(self.at))?;
        // Half as much again may come next.
        self.largest = (largest + largest / 2).max(1);
        let entries = write_entries(page.iter().map(Record::bytes));
        let entries = entries.map_err(|_| ApiError::damaged(self.at))?;
        self.at += page.len() as u64;
        Ok(Some(entries.into()))
    }
}
