//! What the two routes of tiles share: the name in the path, the tree it belongs to, the headers.
//!
//! The tree is the one under the last checkpoint, so that whatever is served can be checked. A tile
//! never changes under its name, so it may be kept for ever; by caches that serve others only
//! where everybody may read it.

use crate::app::App;
use crate::error::ApiError;
use crate::signed_read::LogReader;
use axum::http::HeaderValue;
use axum::http::header::CACHE_CONTROL;
use axum::response::Response;
use x811_eventlog::{Checkpoint, Tile};
use x811_ledger::clock::Clock;

pub(super) const BINARY: HeaderValue = HeaderValue::from_static("application/octet-stream");

const FOR_EVERYBODY: &str = "public, max-age=31536000, immutable";
const FOR_ONE: &str = "private, max-age=31536000, immutable";

/// The tile called `path`, once the rows hold it, and the checkpoint whose tree has it; 404 when the
/// tree has none of that name.
pub(super) async fn named<C: Clock>(
    app: &App<C>,
    path: &str,
) -> Result<(Tile, Checkpoint), ApiError> {
    let tile: Tile = path
        .parse()
        .map_err(|error| ApiError::not_found(format!("there is no such tile: {error}")))?;
    let checkpoint = app.last_signed()?.checkpoint.clone();
    let size = checkpoint.size;
    if !tile.is_in(size) {
        return Err(ApiError::not_found(format!(
            "the tree of {size} records has no {tile}: take the checkpoint first, and the tiles \
             of its size"
        )));
    }
    app.rows_reflect(size.saturating_sub(1)).await?;
    Ok((tile, checkpoint))
}

/// A tile as an answer, kept as long as its reader may.
pub(super) fn answer(reader: LogReader, mut tile: Response) -> Response {
    let cached = match reader {
        LogReader::Anyone => FOR_EVERYBODY,
        LogReader::Auditor => FOR_ONE,
    };
    let cached = HeaderValue::from_static(cached);
    tile.headers_mut().insert(CACHE_CONTROL, cached);
    tile
}
