//! The promises of [`LedgerStore`], [`ReadModel`] and [`CheckpointStore`], one function each, for
//! every backend to be held to; those of the log inside are in [`x811_eventlog::conformance`].
//!
//! A backend says in its tests how its places are made and opened again, and calls
//! [`store_conformance_tests!`](crate::store_conformance_tests) and its siblings once. A broken
//! promise panics, with the promise as the name of the test.

#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "a broken promise is a failed test"
)]

mod beside;
mod checkpoints;
mod commits;
mod rows;
mod sample;

use crate::checkpoint::CheckpointStore;
use crate::port::{LedgerStore, ReadModel};

pub use beside::{
    counts_are_of_what_lies_below, erased_bodies_are_gone_and_nothing_else,
    nonces_alone_need_the_right_size, purging_forgets_what_is_older_and_nothing_else,
    the_last_tick_is_the_one_that_counts,
};
pub use checkpoints::{
    a_checkpoint_survives_reopening, a_swap_needs_what_is_stored, of_two_swaps_one_is_done,
};
pub use commits::{
    a_commit_is_read_back_whole, a_commit_that_was_given_up_holds_whole_or_not_at_all,
    a_commit_twice_is_a_conflict_that_leaves_nothing, a_later_writer_fences_every_write,
    a_position_has_the_body_of_its_record, a_taken_key_leaves_nothing,
    asking_for_nothing_finds_nothing, everything_survives_reopening, many_rows_are_one_commit,
    records_come_in_the_order_they_are_asked_for,
};
pub use rows::{
    changes_out_of_order_are_refused_whole, deliveries_come_by_recipient_in_order,
    members_are_listed_whatever_the_page, rows_are_read_back_as_they_were, rows_survive_reopening,
    streams_are_listed_whatever_the_page, subjects_come_in_order_of_id,
};

/// How places for the suite are made.
pub trait Places {
    /// What is under test.
    type Place;

    /// A new and empty one, apart from every other one.
    fn open(&self) -> impl Future<Output = Self::Place>;

    /// Closes `place` and opens the same one again; `None`, as here, when it cannot outlive itself.
    fn reopen(&self, place: Self::Place) -> impl Future<Output = Option<Self::Place>> {
        drop(place);
        std::future::ready(None)
    }

    /// Opens the same one again while `place` is still open, as another process would that takes it
    /// over; `None`, as here, when a lock keeps a second one out.
    fn take_over(&self, place: &Self::Place) -> impl Future<Output = Option<Self::Place>> {
        let _ = place;
        std::future::ready(None)
    }
}

/// What [`LedgerStore`]s are reached through: a test may keep more beside one, its folder for instance.
pub trait StorePlace {
    /// The kind of store.
    type Store: LedgerStore;

    /// The store that is under test.
    fn store(&self) -> &Self::Store;
}

/// The same for rows.
pub trait RowsPlace {
    /// The kind of rows.
    type Rows: ReadModel;

    /// The rows that are under test.
    fn rows(&self) -> &Self::Rows;
}

/// The same for checkpoints.
pub trait CheckpointPlace {
    /// The checkpoint's store.
    type Checkpoint: CheckpointStore;

    /// The checkpoint's store.
    fn checkpoint(&self) -> &Self::Checkpoint;
}

/// Makes one `#[test]` for every promise of [`LedgerStore`].
///
/// `$run` is the path of a function that runs a future to its end; `$places` makes a [`Places`],
/// inside that future. Call it in a module of its own for each backend.
#[macro_export]
macro_rules! store_conformance_tests {
    ($($given:tt)*) => {
        $crate::conformance_tests! { $($given)*;
            a_commit_is_read_back_whole
            records_come_in_the_order_they_are_asked_for
            asking_for_nothing_finds_nothing
            a_taken_key_leaves_nothing
            a_commit_twice_is_a_conflict_that_leaves_nothing
            a_position_has_the_body_of_its_record
            a_commit_that_was_given_up_holds_whole_or_not_at_all
            a_later_writer_fences_every_write
            many_rows_are_one_commit
            everything_survives_reopening
            nonces_alone_need_the_right_size
            purging_forgets_what_is_older_and_nothing_else
            the_last_tick_is_the_one_that_counts
            counts_are_of_what_lies_below
            erased_bodies_are_gone_and_nothing_else
        }
    };
}

/// Makes one `#[test]` for every promise of [`ReadModel`], as
/// [`store_conformance_tests!`](crate::store_conformance_tests) does.
#[macro_export]
macro_rules! rows_conformance_tests {
    ($($given:tt)*) => {
        $crate::conformance_tests! { $($given)*;
            rows_are_read_back_as_they_were
            subjects_come_in_order_of_id
            deliveries_come_by_recipient_in_order
            members_are_listed_whatever_the_page
            streams_are_listed_whatever_the_page
            changes_out_of_order_are_refused_whole
            rows_survive_reopening
        }
    };
}

/// Makes one `#[test]` for every promise of [`CheckpointStore`], as
/// [`store_conformance_tests!`](crate::store_conformance_tests) does.
#[macro_export]
macro_rules! checkpoint_conformance_tests {
    ($($given:tt)*) => {
        $crate::conformance_tests! { $($given)*;
            a_swap_needs_what_is_stored
            of_two_swaps_one_is_done
            a_checkpoint_survives_reopening
        }
    };
}

/// One `#[test]` for each promise that is named, or all of them in turn; for the macros beside it.
#[doc(hidden)]
#[macro_export]
macro_rules! conformance_tests {
    (@of $places:ident; $($promise:ident)+) => {
        $($promise($places).await;)+
    };
    ($run:path, $places:expr; $($promise:ident)+) => {$(
        #[test]
        fn $promise() {
            $run(async { $crate::conformance::$promise(&$places).await });
        }
    )+};
}

/// Every promise of [`LedgerStore`], one after the other: where a place takes long to make.
pub async fn every_promise_of_a_store<P: Places<Place: StorePlace>>(places: &P) {
    store_conformance_tests! { @of places }
}

/// The same of [`CheckpointStore`].
pub async fn every_promise_of_a_checkpoint<P: Places<Place: CheckpointPlace>>(places: &P) {
    checkpoint_conformance_tests! { @of places }
}
