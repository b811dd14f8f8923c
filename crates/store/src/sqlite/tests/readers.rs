//! A connection that reads is replaced when its thread has ended.

use std::thread::{self, ThreadId};
use std::time::Duration;

use sqlx::sqlite::SqliteConnectOptions;
use tempfile::TempDir;
use tracing::span::Id;
use tracing::{Subscriber, info_span};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::registry;

use crate::sqlite::error::StoreError;
use crate::sqlite::readers::Readers;

/// Longer than any answer takes.
const PATIENCE: Duration = Duration::from_secs(20);

/// Whoever follows a span to another thread than this one panics there.
struct StayHere(ThreadId);

impl<S: Subscriber> Layer<S> for StayHere {
    fn on_enter(&self, _span: &Id, _context: Context<'_, S>) {
        assert_eq!(thread::current().id(), self.0, "wanted by the test");
    }
}

#[tokio::test]
async fn design_8_a_reader_whose_thread_ended_is_replaced() {
    let directory = TempDir::new().unwrap();
    let options = SqliteConnectOptions::new()
        .filename(directory.path().join("some.db"))
        .create_if_missing(true);
    let readers = Readers::new(options);
    assert_eq!(ask(&readers).await.unwrap(), 1);
    {
        let subscriber = registry().with(StayHere(thread::current().id()));
        let _default = tracing::subscriber::set_default(subscriber);
        let _entered = info_span!("fatal").entered();
        ask(&readers).await.unwrap_err();
    }
    // While the thread still unwinds: nobody may be sent to it.
    let asked = tokio::time::timeout(PATIENCE, ask(&readers)).await;
    assert_eq!(asked.unwrap().unwrap(), 1);
    readers.close().await;
}

async fn ask(readers: &Readers) -> Result<i64, StoreError> {
    let mut reader = readers.get().await?;
    Ok(sqlx::query_scalar("SELECT 1")
        .fetch_one(&mut *reader)
        .await?)
}
