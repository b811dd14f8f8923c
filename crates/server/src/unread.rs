//! Answers that wait for their reader. A long one that is in memory as a whole is counted for its
//! address and in all until it is taken, and goes out in slices, so that its connection copies no more
//! than one of them.

use crate::app::App;
use crate::error::ApiError;
use crate::limits::Client;
use crate::streamed::WHOLE_BYTES;
use axum::body::{Body, Bytes, HttpBody};
use axum::response::{IntoResponse as _, Response};
use hyper::body::{Frame, SizeHint};
use std::pin::Pin;
use std::task::{Context, Poll};
use x811_ledger::clock::Clock;

/// Most bytes that a connection is given at a time.
const SLICE_BYTES: usize = 32_768;

/// `response` as it is when it is short or streamed; else counted and sliced, or where there is no
/// room for it, a refusal.
pub(crate) fn bounded<C: Clock>(app: &App<C>, client: Client, response: Response) -> Response {
    let bytes = response.body().size_hint().lower();
    if bytes <= WHOLE_BYTES as u64 {
        return response;
    }
    match app.limiter.answer_room(client, bytes) {
        Ok(room) => response.map(|body| sliced(body, room)),
        Err(refusal) => ApiError::from(refusal).into_response(),
    }
}

/// `body` in slices, with what it holds until its end.
pub(crate) fn sliced(body: Body, held: impl Send + Unpin + 'static) -> Body {
    Body::new(Sliced {
        body,
        piece: Bytes::new(),
        _held: held,
    })
}

struct Sliced<H> {
    body: Body,
    /// What is left of the last piece.
    piece: Bytes,
    _held: H,
}

impl<H: Unpin> HttpBody for Sliced<H> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.piece.is_empty() {
            let next = std::task::ready!(Pin::new(&mut self.body).poll_frame(context));
            match next.map(|frame| frame.map(Frame::into_data)) {
                Some(Ok(Ok(data))) => self.piece = data,
                Some(Ok(Err(other))) => return Poll::Ready(Some(Ok(other))),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
        let length = self.piece.len().min(SLICE_BYTES);
        let slice = self.piece.split_to(length);
        Poll::Ready(Some(Ok(Frame::data(slice))))
    }

    fn is_end_stream(&self) -> bool {
        self.piece.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (rest, piece) = (self.body.size_hint(), self.piece.len() as u64);
        let mut hint = SizeHint::new();
        hint.set_lower(rest.lower() + piece);
        if let Some(upper) = rest.upper() {
            hint.set_upper(upper + piece);
        }
        hint
    }
}
