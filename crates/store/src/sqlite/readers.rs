//! Connections that read. The pool of sqlx asks a connection whether it is still there whenever it
//! is given back, in a task of its own: that is three threads to wake for one question, and to wake
//! one takes longer than most answers. A connection to a file need not be asked.

use std::ops::{Deref, DerefMut};
use std::path::PathBuf;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use tokio::sync::{MappedMutexGuard, Mutex, MutexGuard, Semaphore, SemaphorePermit};

use super::connect;
use super::error::StoreError;
use super::worker::Watched;

/// Readers at once; more than the cores of a small machine gain nothing.
const READERS: usize = 4;

/// Connections to one database, opened when they are needed.
#[derive(Debug)]
pub(super) struct Readers {
    options: SqliteConnectOptions,
    /// A second database that is asked together with the first, and its name in statements.
    attached: Option<(PathBuf, &'static str)>,
    /// As many as there are slots: who holds one finds a slot.
    permits: Semaphore,
    slots: [Mutex<Option<Watched>>; READERS],
}

/// A connection that is somebody's until it is dropped. A question that is given up on the way
/// leaves nothing behind: the connection's thread sees that nobody takes the answer, and ends it.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    connection: MappedMutexGuard<'a, SqliteConnection>,
    /// Goes after the connection.
    _permit: SemaphorePermit<'a>,
}

impl Readers {
    pub(super) fn new(options: SqliteConnectOptions) -> Readers {
        Readers {
            options,
            attached: None,
            permits: Semaphore::new(READERS),
            slots: Default::default(),
        }
    }

    /// The same, with the tables of the database `file` under the name `schema`.
    pub(super) fn attaching(self, file: PathBuf, schema: &'static str) -> Readers {
        Readers {
            attached: Some((file, schema)),
            ..self
        }
    }

    /// Waits until a connection is free. One whose thread has ended is replaced.
    ///
    /// # Errors
    /// The file cannot be opened, or the readers are closed.
    pub(super) async fn get(&self) -> Result<Reader<'_>, StoreError> {
        let permit = self.permits.acquire().await;
        let permit = permit.map_err(|_| sqlx::Error::PoolClosed)?;
        let mut slot = self.slot().await;
        if slot.as_ref().is_some_and(Watched::has_ended) {
            tracing::warn!("a thread that read the database ended; another takes its place");
            *slot = None;
        }
        if slot.is_none() {
            *slot = Some(self.open().await?);
        }
        let connection = MutexGuard::try_map(slot, |slot| slot.as_mut().map(Watched::connection));
        Ok(Reader {
            connection: connection.map_err(|_| sqlx::Error::PoolClosed)?,
            _permit: permit,
        })
    }

    async fn open(&self) -> Result<Watched, StoreError> {
        let mut open = Watched::open(&self.options).await?;
        if let Some((file, schema)) = &self.attached {
            sqlx::query("ATTACH ? AS ?")
                .bind(file.to_str())
                .bind(*schema)
                .execute(open.connection())
                .await?;
        }
        Ok(open)
    }

    /// The first that is free: the pages it read last are those that are asked for most.
    async fn slot(&self) -> MutexGuard<'_, Option<Watched>> {
        let [first, ..] = &self.slots;
        let free = self.slots.iter().find_map(|slot| slot.try_lock().ok());
        match free {
            Some(slot) => slot,
            // They changed hands while we looked.
            None => first.lock().await,
        }
    }

    /// Waits until nobody reads, then closes all connections; there are none after it.
    pub(super) async fn close(&self) {
        self.permits.close();
        for slot in &self.slots {
            if let Some(open) = slot.lock().await.take() {
                connect::close(open.into_connection()).await;
            }
        }
    }
}

impl Deref for Reader<'_> {
    type Target = SqliteConnection;

    fn deref(&self) -> &SqliteConnection {
        &self.connection
    }
}

impl DerefMut for Reader<'_> {
    fn deref_mut(&mut self) -> &mut SqliteConnection {
        &mut self.connection
    }
}
