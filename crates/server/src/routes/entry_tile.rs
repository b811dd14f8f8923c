//! `GET /log/tile/entries/{index}`: up to 256 leaves of the log (C2SP tlog-tiles).

use super::tile;
use crate::app::App;
use crate::error::ApiError;
use crate::openapi::Refused;
use crate::openapi::schema::Binary;
use crate::signed_read::{LogReader, ReadRefusal};
use axum::extract::{Path, State};
use axum::response::IntoResponse;
use std::sync::Arc;
use x811_eventlog::tile::write_entries;
use x811_eventlog::{Record, Tile};
use x811_ledger::clock::Clock;
use x811_ledger::port::LedgerStore as _;
use x811_ledger::whole;

/// 200, or 404 for what the log does not have, however it is called.
#[utoipa::path(
    get,
    path = "/log/tile/entries/{index}",
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
)]
pub(super) async fn handle<C: Clock>(
    reader: LogReader,
    State(app): State<Arc<App<C>>>,
    Path(index): Path<String>,
) -> Result<impl IntoResponse, ReadRefusal> {
    let named = tile::named(&app, &format!("tile/entries/{index}")).await?;
    let records = records(&app, named).await?;
    let entries = write_entries(records.iter().map(Record::bytes));
    let entries = entries.map_err(|_| ApiError::damaged(named.start()))?;
    Ok(tile::answer(reader, entries))
}

async fn records<C: Clock>(app: &App<C>, tile: Tile) -> Result<Vec<Record>, ApiError> {
    let (width, head) = (usize::from(tile.width), app.ledger.world().head());
    let log = app.ledger.store().log();
    let records = whole::records(log, tile.start(), width, head).await?;
    if records.len() < width {
        return Err(ApiError::damaged(tile.start() + records.len() as u64));
    }
    Ok(records)
}
