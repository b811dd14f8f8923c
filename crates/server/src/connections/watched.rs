//! A connection and its requests' bodies, as they tell the connection's place whose turn it is.

use super::places::ConnectionPlace;
use axum::body::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A connection whose reader shows that it is there by what it takes.
pub(super) struct WatchedStream<S> {
    stream: S,
    place: Arc<ConnectionPlace>,
}

impl<S> WatchedStream<S> {
    pub(super) fn new(stream: S, place: Arc<ConnectionPlace>) -> WatchedStream<S> {
        WatchedStream { stream, place }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WatchedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        read: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, read)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WatchedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write(context, bytes));
        self.place.goes_on();
        Poll::Ready(written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// A request's body as it arrives.
pub(crate) struct Arriving {
    body: Incoming,
    place: Arc<ConnectionPlace>,
    waits: bool,
}

impl Arriving {
    pub(super) fn new(body: Incoming, place: Arc<ConnectionPlace>) -> Arriving {
        Arriving {
            body,
            place,
            waits: false,
        }
    }
}

impl Body for Arriving {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if polled.is_pending() && !self.waits {
            self.waits = true;
            self.place.waits();
        } else if polled.is_ready() && self.waits {
            self.waits = false;
            self.place.works();
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
