//! What following promises: it wakes, and not too early.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

use super::Backend;
use super::join::join;
use super::records::{append, head};
use crate::log::EventLog;

/// Following a log that is longer already does not wait.
pub async fn follow_returns_at_once_when_already_longer(backend: &impl Backend) {
    let log = backend.open().await;
    append(&log, 3).await;
    for seen_size in 0..3 {
        let size = log
            .follow(seen_size)
            .await
            .expect("a healthy log is followed");
        assert_eq!(size, 3, "the size is the one there is");
    }
}

/// A follower sleeps while the log is no longer than it has seen, through an append that does not
/// reach further too, and wakes at the one that does.
pub async fn follow_wakes_only_when_longer(backend: &impl Backend) {
    let log = backend.open().await;
    append(&log, 1).await;
    let is_long = Cell::new(false);
    let write = async {
        append(&log, 1).await;
        pause().await;
        is_long.set(true);
        append(&log, 1).await;
    };
    let follow = async {
        let size = log.follow(2).await.expect("a healthy log is followed");
        assert!(
            is_long.get(),
            "a follower that has seen 2 does not wake at 2"
        );
        assert_eq!(size, 3);
    };
    join(follow, write).await;
    assert_eq!(head(&log).await.size, 3);
}

/// One append wakes all who follow.
pub async fn follow_wakes_every_follower(backend: &impl Backend) {
    let log = backend.open().await;
    let follow = || async { log.follow(0).await.expect("a healthy log is followed") };
    let followers = join(follow(), join(follow(), follow()));
    let ((one, (other, third)), _) = join(followers, append(&log, 2)).await;
    assert_eq!([one, other, third], [2, 2, 2]);

    // A follower that gave up is no burden to the log.
    let mut given_up = Box::pin(log.follow(2));
    let is_ready = poll_fn(|context| Poll::Ready(given_up.as_mut().poll(context).is_ready())).await;
    assert!(!is_ready, "there is nothing to wake for yet");
    drop(given_up);
    append(&log, 1).await;
    assert_eq!(follow().await, 3);
}

/// Gives the other future of a [`join`] several turns.
async fn pause() {
    for _ in 0..8 {
        let mut is_first = true;
        pin!(poll_fn(move |context| {
            if std::mem::take(&mut is_first) {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            Poll::Ready(())
        }))
        .await;
    }
}
