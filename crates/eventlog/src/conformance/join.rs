//! Two futures at once, on whatever executor the caller has.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

/// Polls both, the first one first, until both are done.
pub(super) async fn join<A: Future, B: Future>(a: A, b: B) -> (A::Output, B::Output) {
    let (mut a, mut b) = (pin!(a), pin!(b));
    let (mut a_done, mut b_done) = (None, None);
    poll_fn(|context| {
        if a_done.is_none()
            && let Poll::Ready(output) = a.as_mut().poll(context)
        {
            a_done = Some(output);
        }
        if b_done.is_none()
            && let Poll::Ready(output) = b.as_mut().poll(context)
        {
            b_done = Some(output);
        }
        match (a_done.take(), b_done.take()) {
            (Some(a), Some(b)) => Poll::Ready((a, b)),
            unfinished => {
                (a_done, b_done) = unfinished;
                Poll::Pending
            }
        }
    })
    .await
}
