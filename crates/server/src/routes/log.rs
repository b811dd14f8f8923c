//! The log itself, with its proofs: `GET /log/checkpoint`, `/log/refresh/{size}`, `/log/tile/…` and
//! `/api/v1/records/{position}/proof`.
//!
//! The tree of tiles is the one under the last checkpoint, so that whatever is served can be checked. A tile
//! never changes under its name, so it may be kept for ever; by caches that serve others only
//! where everybody may read it.

use super::round_readers::is_vote;
use super::subject;
use super::well_known::JSON;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::Named;
use crate::openapi::schema::Binary;
use crate::openapi::{Refused, schema};
use crate::signed_read::{LogReader, ReadRefusal, Reader};
use crate::streamed::{Pieces, WHOLE_BYTES};
use crate::{stored, streamed};
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use std::str::FromStr;
use std::sync::Arc;
use x811_eventlog::tile::{TileContent, write_entries};
use x811_eventlog::{Checkpoint, HashTile, Record, Tile, TlogProof};
use x811_ledger::clock::Clock;
use x811_ledger::port::{LedgerStore as _, ReadModel as _};
use x811_ledger::{proof, refresh, whole};
use x811_protocol::code::Code;
use x811_protocol::refusal::{Kind, Refusal};
use x811_protocol::stream::{Stream, Subject};

/// One is signed every second, so a copy may be as old.
const CACHED: &str = "public, max-age=1";

pub(super) const TEXT: &str = "text/plain; charset=utf-8";

/// The last signed checkpoint (C2SP tlog-checkpoint), everybody's: 200, or 503 before the first one since the start.
#[utoipa::path(
    get,
    path = "/log/checkpoint",
    operation_id = "readCheckpoint",
    tag = "log",
    responses(
        (
            status = 200,
            description = "Origin, size and root of the log, as a signed note",
            body = String,
            content_type = "text/plain",
        ),
        Refused,
    ),
)]
pub(super) async fn checkpoint<C: Clock>(
    State(app): State<Arc<App<C>>>,
) -> Result<impl IntoResponse, ApiError> {
    let signed = app.last_signed()?;
    Ok(([(CONTENT_TYPE, TEXT), (CACHE_CONTROL, CACHED)], signed.note))
}

/// Records under a checkpoint, in digits without zeros in front.
pub(super) struct Size(u64);

impl FromStr for Size {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Size, &'static str> {
        let size: Option<u64> = text.parse().ok();
        let size = size.filter(|size| *size > 0 && size.to_string() == text);
        size.map(Size)
            .ok_or("a size is a whole number above 0, without zeros in front")
    }
}

/// That the log goes on where a checkpoint over so many records ended, and which keys signed until when; for papers
/// from before the ledger replaced its checkpoint key (ledger-contract.md section 8). Everybody's, as checkpoints
/// are: it holds hashes and keys alone. 200; 404 for more records than the last checkpoint covers.
#[utoipa::path(
    get,
    path = "/log/refresh/{size}",
    operation_id = "readRefresh",
    tag = "log",
    params(("size" = u64, Path, minimum = 1, description = "Records that the older checkpoint covers")),
    responses(
        (
            status = 200,
            description = "The newest keys statement and checkpoint, and the consistency proof; to \
                           be kept beside the paper: `x811 receipt verify` and `x811 audit` read it",
            body = schema::RefreshAnswer,
        ),
        Refused,
    ),
)]
pub(super) async fn refreshed<C: Clock>(
    State(app): State<Arc<App<C>>>,
    Named(Size(size)): Named<Size>,
) -> Result<impl IntoResponse, ApiError> {
    let signed = app.last_signed()?;
    let newest = signed.checkpoint.size;
    if size > newest {
        let message = format!("the last checkpoint covers {newest} records: ask for no more");
        return Err(ApiError::not_found(message));
    }
    app.rows_reflect(newest - 1).await?;
    let made = refresh::build(app.ledger.read_model(), size, &signed).await;
    Ok(([(CONTENT_TYPE, JSON)], made?.to_bytes()))
}

const BINARY: HeaderValue = HeaderValue::from_static("application/octet-stream");

const FOR_EVERYBODY: &str = "public, max-age=31536000, immutable";
const FOR_ONE: &str = "private, max-age=31536000, immutable";

/// The tile called `path`, once the rows hold it, and the checkpoint whose tree has it; 404 when the
/// tree has none of that name.
async fn named_tile<C: Clock>(app: &App<C>, path: &str) -> Result<(Tile, Checkpoint), ApiError> {
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
fn cached(reader: LogReader, mut tile: Response) -> Response {
    let cached = match reader {
        LogReader::Anyone => FOR_EVERYBODY,
        LogReader::Auditor => FOR_ONE,
    };
    let cached = HeaderValue::from_static(cached);
    tile.headers_mut().insert(CACHE_CONTROL, cached);
    tile
}

const HASH_BYTES: usize = 32;

/// Up to 256 hashes of the tree (C2SP tlog-tiles): 200, or 404 for what the tree does not have, however it is called.
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
pub(super) async fn hashes<C: Clock>(
    reader: LogReader,
    State(app): State<Arc<App<C>>>,
    Path((level, index)): Path<(String, String)>,
) -> Result<impl IntoResponse, ReadRefusal> {
    let path = format!("tile/{level}/{index}");
    let (named, checkpoint) = named_tile(&app, &path).await?;
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
    let hashes = ([(CONTENT_TYPE, BINARY)], bytes);
    Ok(cached(reader, hashes.into_response()))
}

/// When to ask again for leaves that are not shown yet: windows for reveals are ten seconds where nobody says
/// otherwise.
const RETRY_AFTER_MS: u64 = 10_000;

/// Up to 256 leaves of the log (C2SP tlog-tiles): 200, or 404 for what the log does not have, however it is called. A tile with a reveal of a sealed vote
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
pub(super) async fn entries<C: Clock>(
    reader: LogReader,
    State(app): State<Arc<App<C>>>,
    Path(index): Path<String>,
) -> Result<impl IntoResponse, ReadRefusal> {
    let (named, _) = named_tile(&app, &format!("tile/entries/{index}")).await?;
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
    Ok(cached(reader, streamed::answer(BINARY, leaves).await?))
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

/// That a record is in the log, as a file that is checked offline (C2SP tlog-proof); the record itself is in its
/// line `extra`. 200, or 404, also to those whose business the record is not. Records of the ledger, of networks
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
pub(super) async fn proof<C: Clock>(
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
    let path = proof::inclusion(rows, &record, &signed.checkpoint).await;
    let file = TlogProof {
        extra: Some(record.bytes().to_vec()),
        index: position,
        path: path.map_err(ApiError::from)?.path,
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
        Some(Stream::Of(subject)) => {
            let row = app.ledger.read_model().subject(subject).await?;
            let Some(row) = row.filter(|row| subject::may_read(app, reader, row)) else {
                return Ok(false);
            };
            subject::may_read_votes(app, reader, &row) || !is_vote(&stored::event(record)?)
        }
        None => return Err(ApiError::damaged(record.position())),
    })
}
