//! Reading a request's body in bounded memory: every piece is counted for its address as it arrives, so
//! that whoever sends slowly, or much, holds up nobody else.

use crate::app::App;
use crate::error::ApiError;
use crate::limits;
use axum::body::Bytes;
use axum::extract::Request;
use futures_util::StreamExt as _;
use x811_ledger::clock::Clock;

/// How much more than an envelope is read before a sender is cut off, so that one that is a little
/// too long is told so in words.
const SLACK_BYTES: usize = 65_536;

/// Room is taken in steps of this, so that many small pieces cost no more than a few large ones.
const STEP_BYTES: usize = 65_536;

/// The whole body.
pub(crate) async fn read<C: Clock>(request: Request, app: &App<C>) -> Result<Bytes, ApiError> {
    let client = limits::noted(&request);
    let envelope_bytes = usize::try_from(app.parameters.limits.envelope_bytes);
    let most = envelope_bytes
        .unwrap_or(usize::MAX)
        .saturating_add(SLACK_BYTES);
    let mut pieces = request.into_body().into_data_stream();
    let mut bytes = Whole::default();
    let mut room = Vec::new();
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|_| {
            ApiError::malformed("the request's body broke off: send the same envelope again")
        })?;
        if bytes.len() + piece.len() > most {
            return Err(ApiError::too_large());
        }
        while bytes.len() + piece.len() > room.len() * STEP_BYTES {
            room.push(app.limiter.body_room(client, STEP_BYTES)?);
        }
        bytes.push(piece);
    }
    Ok(bytes.into_bytes())
}

/// A body as far as it has arrived; most arrive in one piece, which is not copied.
#[derive(Default)]
struct Whole {
    first: Bytes,
    all: Vec<u8>,
}

impl Whole {
    fn len(&self) -> usize {
        self.first.len().max(self.all.len())
    }

    fn push(&mut self, piece: Bytes) {
        if self.len() == 0 {
            self.first = piece;
            return;
        }
        if self.all.is_empty() {
            self.all.extend_from_slice(&std::mem::take(&mut self.first));
        }
        self.all.extend_from_slice(&piece);
    }

    fn into_bytes(self) -> Bytes {
        if self.all.is_empty() {
            return self.first;
        }
        self.all.into()
    }
}
