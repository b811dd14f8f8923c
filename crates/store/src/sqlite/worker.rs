//! Whether the thread behind a connection still runs. sqlx gives every connection one, and once it
//! has ended (it panicked, say) no question to that connection is ever answered. Nothing but a
//! question shows it, and to ask one before each is what [`Readers`](super::readers::Readers)
//! avoid: so the thread is given something that it drops when it ends.
//!
//! Of a panic that would be too late. While the thread unwinds, whoever asked is told so and may ask
//! again; that question goes into a channel that is nobody's a moment later, and is never answered.
//! A panic is noted before it unwinds anything.

use std::cell::Cell;
use std::cmp::Ordering;
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering as Order};
use std::sync::{Arc, Once};

use sqlx::ConnectOptions as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};

thread_local! {
    static END: Cell<Option<End>> = const { Cell::new(None) };
}

/// A connection whose end is noticed.
#[derive(Debug)]
pub(super) struct Watched {
    connection: SqliteConnection,
    has_ended: Arc<AtomicBool>,
}

/// Dropped with its thread, or when that begins to panic.
struct End(Arc<AtomicBool>);

impl Watched {
    pub(super) async fn open(options: &SqliteConnectOptions) -> Result<Self, sqlx::Error> {
        note_panics();
        let has_ended = Arc::new(AtomicBool::new(false));
        let noted = Arc::clone(&has_ended);
        // A comparison of our own is what SQLite calls on the connection's thread.
        let options = options.clone().collation("worker", move |_, _| {
            END.set(Some(End(Arc::clone(&noted))));
            Ordering::Equal
        });
        let mut connection = options.connect().await?;
        sqlx::query("SELECT 'a' = 'b' COLLATE worker")
            .execute(&mut connection)
            .await?;
        Ok(Self {
            connection,
            has_ended,
        })
    }

    /// Nothing will be answered any more.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended.load(Order::Acquire)
    }

    pub(super) fn connection(&mut self) -> &mut SqliteConnection {
        &mut self.connection
    }

    pub(super) fn into_connection(self) -> SqliteConnection {
        self.connection
    }
}

impl Drop for End {
    fn drop(&mut self) {
        self.0.store(true, Order::Release);
    }
}

/// Has the panics of this program's threads noted, besides what is done about them already.
fn note_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let others = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            // Where the thread is being taken down there is nothing left to drop.
            let _ = END.try_with(|end| drop(end.take()));
            others(panic);
        }));
    });
}
