//! The promises of [`EventLog`], one function each, for every backend to be held to.
//!
//! A backend implements [`Backend`] in its tests and calls
//! [`conformance_tests!`](crate::conformance_tests) once. The functions are generic and know no
//! executor: the macro is given one. A broken promise panics with the promise as its message.
//!
//! A log that breaks its promise to wake a follower hangs: run with a time limit per test.

#![expect(clippy::expect_used, reason = "a broken promise is a failed test")]

mod appending;
mod following;
mod join;
mod reading;
mod records;

use std::future::Future;

use crate::log::EventLog;

pub use appending::{
    append_returns_the_head, batch_over_the_limit_is_refused, concurrent_appends_have_one_winner,
    conflict_changes_nothing, empty_batch_writes_nothing, non_contiguous_batch_is_refused,
};
pub use following::{
    follow_returns_at_once_when_already_longer, follow_wakes_every_follower,
    follow_wakes_only_when_longer,
};
pub use reading::{
    bytes_are_read_back_verbatim, new_log_is_empty, pages_are_contiguous_and_limited,
    reading_past_the_end_is_empty, survives_reopening,
};

/// How a backend makes logs for the suite.
pub trait Backend {
    /// The log under test.
    type Log: EventLog;

    /// A new and empty log, apart from every other one.
    fn open(&self) -> impl Future<Output = Self::Log>;

    /// Closes `log` and opens the same one again; `None`, as here, when it cannot outlive itself.
    fn reopen(&self, log: Self::Log) -> impl Future<Output = Option<Self::Log>> {
        drop(log);
        std::future::ready(None)
    }
}

/// Makes one `#[test]` for every promise of [`crate::EventLog`].
///
/// `$run` is the path of a function that runs a future to its end; `$backend` is an expression
/// that makes a [`Backend`](crate::conformance::Backend), evaluated inside that future. The tests
/// bear the names of the promises, so call it in a module of its own for each backend.
#[macro_export]
macro_rules! conformance_tests {
    ($run:path, $backend:expr) => {
        $crate::conformance_tests! { @every $run, $backend }
    };
    (@every $($given:tt)*) => {
        $crate::conformance_tests! {
            @each $($given)*;
            new_log_is_empty
            append_returns_the_head
            empty_batch_writes_nothing
            conflict_changes_nothing
            concurrent_appends_have_one_winner
            batch_over_the_limit_is_refused
            non_contiguous_batch_is_refused
            bytes_are_read_back_verbatim
            pages_are_contiguous_and_limited
            reading_past_the_end_is_empty
            survives_reopening
            follow_returns_at_once_when_already_longer
            follow_wakes_only_when_longer
            follow_wakes_every_follower
        }
    };
    (@each of $backend:ident; $($promise:ident)+) => {
        $($promise($backend).await;)+
    };
    (@each $run:path, $backend:expr; $($promise:ident)+) => {$(
        #[test]
        fn $promise() {
            $run(async { $crate::conformance::$promise(&$backend).await });
        }
    )+};
}

/// Every promise of [`crate::EventLog`], one after the other: where a backend takes long to start.
pub async fn every_promise<B: Backend>(backend: &B) {
    crate::conformance_tests! { @every of backend }
}
