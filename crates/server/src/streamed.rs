//! Answers that may be long, read from the store as their reader takes them: what one in memory
//! costs does not depend on how long it gets, nor on how slowly it is taken.
//!
//! Most are short all the same: those go out whole, with their length, as others do.

use crate::error::ApiError;
use axum::body::{Body, Bytes};
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use futures_util::stream;

/// An answer that is no longer than this goes out whole; of a longer one about as much is in memory.
pub(crate) const WHOLE_BYTES: usize = 65_536;

pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// An answer, made piece by piece. A piece has about [`WHOLE_BYTES`] at most.
pub(crate) trait Pieces: Send + 'static {
    /// The next piece; `None` behind the last.
    fn next(&mut self) -> impl Future<Output = Result<Option<Bytes>, ApiError>> + Send;
}

/// The whole answer where it is short; else it is made while it is sent, and one that was cut off
/// has no end.
///
/// # Errors
/// What the first pieces say.
pub(crate) async fn answer(
    content_type: HeaderValue,
    mut pieces: impl Pieces,
) -> Result<Response, ApiError> {
    let mut begun = Vec::new();
    let body = loop {
        let Some(piece) = pieces.next().await? else {
            break Body::from(begun);
        };
        if begun.len() + piece.len() > WHOLE_BYTES {
            break rest(begun, piece, pieces);
        }
        begun.extend_from_slice(&piece);
    };
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    Ok(response)
}

/// What is left of an answer: what was read of it already comes first.
fn rest(begun: Vec<u8>, piece: Bytes, pieces: impl Pieces) -> Body {
    let read = [Bytes::from(begun), piece].into_iter();
    Body::from_stream(stream::try_unfold(
        (read, pieces),
        |(mut read, mut pieces)| async move {
            let piece = match read.next() {
                Some(piece) => Some(piece),
                None => pieces.next().await.inspect_err(|error| {
                    tracing::error!(?error, "an answer was cut off");
                })?,
            };
            Ok::<_, CutOff>(piece.map(|piece| (piece, (read, pieces))))
        },
    ))
}

/// Why an answer has no end: the connection is all that can say so.
#[derive(Debug, thiserror::Error)]
#[error("the rest of the answer could not be read")]
struct CutOff;

impl From<ApiError> for CutOff {
    fn from(_: ApiError) -> CutOff {
        CutOff
    }
}

/// A list of items in JSON between what stands before it and behind it.
pub(crate) struct JsonList<I> {
    items: I,
    place: StreamedFrom,
    after: Vec<u8>,
}

enum StreamedFrom {
    Before(Vec<u8>),
    First,
    Later,
    Over,
}

/// Where the items of a list come from.
pub(crate) trait Items: Send + 'static {
    /// The next piece of an item, and whether an item begins with it; `None` behind the last.
    fn next(&mut self) -> impl Future<Output = Result<Option<(bool, Bytes)>, ApiError>> + Send;
}

impl<I: Items> JsonList<I> {
    /// `before` ends with the bracket that opens the list, `after` begins with the one that closes it.
    pub(crate) fn new(before: Vec<u8>, items: I, after: Vec<u8>) -> JsonList<I> {
        JsonList {
            items,
            place: StreamedFrom::Before(before),
            after,
        }
    }
}

impl<I: Items> Pieces for JsonList<I> {
    async fn next(&mut self) -> Result<Option<Bytes>, ApiError> {
        match &mut self.place {
            StreamedFrom::Before(before) => {
                let before = std::mem::take(before);
                self.place = StreamedFrom::First;
                return Ok(Some(before.into()));
            }
            StreamedFrom::Over => return Ok(None),
            StreamedFrom::First | StreamedFrom::Later => {}
        }
        match self.items.next().await? {
            Some((true, piece)) if matches!(self.place, StreamedFrom::Later) => {
                Ok(Some([&b","[..], &piece].concat().into()))
            }
            Some((_, piece)) => {
                self.place = StreamedFrom::Later;
                Ok(Some(piece))
            }
            None => {
                self.place = StreamedFrom::Over;
                Ok(Some(std::mem::take(&mut self.after).into()))
            }
        }
    }
}

/// `value` as JSON, and as far as it goes: what follows is a list.
///
/// # Errors
/// 500, never: nothing that we write has keys that are no text.
pub(crate) fn json(value: &impl serde::Serialize) -> Result<Vec<u8>, ApiError> {
    serde_json::to_vec(value).map_err(|error| {
        tracing::error!(%error, "an answer cannot be written");
        ApiError::internal()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::HttpBody as _;

    /// So many pieces of so many bytes each.
    struct Of(usize, usize);

    impl Items for Of {
        async fn next(&mut self) -> Result<Option<(bool, Bytes)>, ApiError> {
            if self.0 == 0 {
                return Ok(None);
            }
            self.0 -= 1;
            Ok(Some((true, vec![b'1'; self.1].into())))
        }
    }

    async fn answered(count: usize, bytes: usize) -> (Option<u64>, String) {
        let list = JsonList::new(b"[".to_vec(), Of(count, bytes), b"]".to_vec());
        let response = answer(JSON, list).await.unwrap();
        assert_eq!(response.headers()[CONTENT_TYPE], JSON);
        let length = response.body().size_hint().exact();
        let body = axum::body::to_bytes(response.into_body(), usize::MAX).await;
        (length, String::from_utf8(body.unwrap().to_vec()).unwrap())
    }

    #[tokio::test]
    async fn a_short_answer_goes_out_whole_and_a_long_one_reads_the_same() {
        assert_eq!(answered(0, 0).await, (Some(2), "[]".to_owned()));
        assert_eq!(answered(2, 1).await, (Some(5), "[1,1]".to_owned()));
        let (length, long) = answered(3, WHOLE_BYTES).await;
        assert_eq!(length, None);
        let number = "1".repeat(WHOLE_BYTES);
        assert_eq!(long, format!("[{number},{number},{number}]"));
    }
}
