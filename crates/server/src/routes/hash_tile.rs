//! `GET /log/tile/{level}/{index}`: up to 256 hashes of the tree (C2SP tlog-tiles).

use super::tile;
use crate::app::App;
use crate::error::ApiError;
use crate::openapi::Refused;
use crate::openapi::schema::Binary;
use crate::signed_read::{LogReader, ReadRefusal};
use axum::extract::{Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use std::sync::Arc;
use x811_eventlog::HashTile;
use x811_eventlog::tile::TileContent;
use x811_ledger::clock::Clock;
use x811_ledger::port::ReadModel as _;
use x811_ledger::proof;

const HASH_BYTES: usize = 32;

/// 200, or 404 for what the tree does not have, however it is called.
#[utoipa::path(
    get,
    path = "/log/tile/{level}/{index}",
    operation_id = "readHashTile",
    tag = "log",
    params(
        ("level" = u64, Path, maximum = 63, description = "0 for record hashes"),
        (
            "index" = String,
            Path,
            pattern = r"^(x[0-9]{3}/)*[0-9]{3}(\.p/[1-9][0-9]{0,2})?$",
            description = "Place in the level in groups of three digits, all but the last behind \
                           an x (`x001/x234/067`), with `.p/` and the width behind it when the tile \
                           is partial. Its slashes are part of the path"
        ),
    ),
    responses(
        (
            status = 200,
            description = "32 bytes a hash",
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
    Path((level, index)): Path<(String, String)>,
) -> Result<impl IntoResponse, ReadRefusal> {
    let path = format!("tile/{level}/{index}");
    let (named, checkpoint) = tile::named(&app, &path).await?;
    let TileContent::Hashes(level) = named.content else {
        return Err(ApiError::not_found("hashes have a level of 0 to 63").into());
    };
    let rows = app.ledger.read_model();
    let stored = rows.hash_tile(level, named.index).await?;
    let mut bytes = stored.map(|stored| stored.to_bytes()).unwrap_or_default();
    // What is stored may be wider by now.
    bytes.truncate(usize::from(named.width) * HASH_BYTES);
    let tile = HashTile::from_bytes(named, &bytes);
    let tile = tile.map_err(|_| ApiError::damaged(named.start()))?;
    // The rows are not believed: whoever keeps a tile keeps it for ever.
    let held = proof::tile(rows, &tile, &checkpoint).await;
    held.map_err(ApiError::from)?;
    let hashes = ([(CONTENT_TYPE, tile::BINARY)], bytes);
    Ok(tile::answer(reader, hashes.into_response()))
}
