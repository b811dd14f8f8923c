//! How far each agent has acknowledged its feed. It is written behind, at most once a second, off the
//! way of messages; what was not written when a process ends is delivered again.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;
use x811_ledger::clock::Clock;
use x811_protocol::did::Did;
use x811_store::{AckFile, FeedAck, OpenError};

/// How long is waited between two writes, in milliseconds.
const WRITE_EVERY_MS: u64 = 1_000;

/// Acknowledgements as requests see them.
pub(crate) struct FeedAcks {
    shared: Arc<Shared>,
    /// Tells the writer; dropping it ends the writer.
    changed: watch::Sender<()>,
}

/// Writes acknowledgements behind until [`FeedAcks`] is dropped.
pub(super) struct AckWriter {
    shared: Arc<Shared>,
    changed: watch::Receiver<()>,
}

struct Shared {
    /// None where it can neither be used nor made anew: then memory is all there is.
    file: Option<AckFile>,
    unwritten: Mutex<HashMap<Did, FeedAck>>,
}

impl FeedAcks {
    /// Opens those beside a log of `size` records; a file that cannot be used is replaced by an empty
    /// one.
    pub(super) async fn open(data_dir: &Path, size: u64) -> (FeedAcks, AckWriter) {
        let opened = match AckFile::open(data_dir, size).await {
            Err(error) => {
                tracing::warn!(%error, "acknowledgements of feeds are lost: messages come again");
                anew(data_dir, size).await
            }
            opened => opened,
        };
        let opened = opened.inspect_err(|error| {
            tracing::warn!(%error, "acknowledgements of feeds are kept in memory alone");
        });
        let shared = Arc::new(Shared {
            file: opened.ok(),
            unwritten: Mutex::default(),
        });
        let (changed, writer) = watch::channel(());
        let writer = AckWriter {
            shared: shared.clone(),
            changed: writer,
        };
        (FeedAcks { shared, changed }, writer)
    }

    /// The position through which `recipient` has acknowledged; `None` before its first, and where it
    /// is lost.
    pub(crate) async fn through(&self, recipient: Did) -> Option<u64> {
        let unwritten = self.shared.unwritten().get(&recipient).copied();
        if let Some(ack) = unwritten {
            return Some(ack.through_position);
        }
        let through = self.shared.file.as_ref()?.through(recipient).await;
        through.unwrap_or_else(|error| {
            tracing::warn!(%error, "an acknowledgement cannot be read: messages come again");
            None
        })
    }

    /// Takes an acknowledgement, unless it is behind what was acknowledged; through where everything
    /// is acknowledged now.
    pub(crate) async fn acknowledge(&self, ack: FeedAck) -> u64 {
        let known = self.through(ack.recipient).await;
        if let Some(known) = known.filter(|known| *known >= ack.through_position) {
            return known;
        }
        let through = {
            let mut unwritten = self.shared.unwritten();
            let newest = unwritten.entry(ack.recipient).or_insert(ack);
            if newest.through_position < ack.through_position {
                *newest = ack;
            }
            newest.through_position
        };
        self.changed.send_replace(());
        through
    }
}

async fn anew(data_dir: &Path, size: u64) -> Result<AckFile, OpenError> {
    AckFile::remove(data_dir)?;
    AckFile::open(data_dir, size).await
}

impl Shared {
    fn unwritten(&self) -> MutexGuard<'_, HashMap<Did, FeedAck>> {
        self.unwritten
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes what is new; what cannot be written is kept for the next time.
    async fn write(&self) {
        let acks: Vec<FeedAck> = self.unwritten().values().copied().collect();
        let Some(file) = self.file.as_ref().filter(|_| !acks.is_empty()) else {
            return;
        };
        match file.save(&acks).await {
            Ok(()) => {
                let mut unwritten = self.unwritten();
                for ack in acks {
                    if unwritten.get(&ack.recipient) == Some(&ack) {
                        unwritten.remove(&ack.recipient);
                    }
                }
            }
            Err(error) => tracing::warn!(%error, "acknowledgements cannot be written yet"),
        }
    }
}

impl AckWriter {
    /// Writes what comes, at most once a second, and the rest at the end.
    pub(crate) async fn run<C: Clock>(mut self, clock: Arc<C>) {
        while self.changed.changed().await.is_ok() {
            self.shared.write().await;
            let mut rest = self.changed.clone();
            tokio::select! {
                () = clock.sleep_ms(WRITE_EVERY_MS) => {}
                () = async { while rest.changed().await.is_ok() {} } => {}
            }
        }
        self.shared.write().await;
        if let Some(file) = &self.shared.file {
            file.close().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use x811_ledger::clock::ManualClock;
    use x811_protocol::time::TimestampMs;

    fn ack(last: u8, through_position: u64) -> FeedAck {
        let recipient = format!("did:x811:a1b2c3d4-e5f6-4890-abcd-ef12345678{last:02x}");
        FeedAck {
            recipient: recipient.parse().unwrap(),
            through_position,
            at: TimestampMs::new(7),
        }
    }

    /// What the file alone knows.
    async fn written(acks: &FeedAcks, of: FeedAck) -> Option<u64> {
        let file = acks.shared.file.as_ref().unwrap();
        file.through(of.recipient).await.unwrap()
    }

    #[tokio::test]
    async fn ax_44_acknowledgements_are_written_behind_and_at_most_once_a_second() {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::at(TimestampMs::new(0)));
        let (acks, writer) = FeedAcks::open(folder.path(), 100).await;
        let writing = tokio::spawn(writer.run(clock.clone()));
        assert_eq!(acks.acknowledge(ack(1, 5)).await, 5);
        while written(&acks, ack(1, 0)).await != Some(5) {
            tokio::task::yield_now().await;
        }
        // Known at once, written when a second has passed.
        assert_eq!(acks.acknowledge(ack(1, 9)).await, 9);
        assert_eq!(acks.acknowledge(ack(1, 7)).await, 9);
        assert_eq!(acks.through(ack(1, 0).recipient).await, Some(9));
        assert_eq!(written(&acks, ack(1, 0)).await, Some(5));
        while written(&acks, ack(1, 0)).await != Some(9) {
            clock.advance_ms(WRITE_EVERY_MS);
            tokio::task::yield_now().await;
        }
        assert_eq!(acks.acknowledge(ack(1, 8)).await, 9);
        // The last is written on the way down, whatever the clock says.
        acks.acknowledge(ack(2, 3)).await;
        drop(acks);
        writing.await.unwrap();
        let (acks, _writer) = FeedAcks::open(folder.path(), 100).await;
        assert_eq!(acks.through(ack(1, 0).recipient).await, Some(9));
        assert_eq!(acks.through(ack(2, 0).recipient).await, Some(3));
    }

    #[tokio::test]
    async fn ax_44_a_file_that_cannot_be_used_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("feed.db"), [b'x'; 9_000]).unwrap();
        let (acks, _writer) = FeedAcks::open(folder.path(), 100).await;
        assert_eq!(acks.through(ack(1, 0).recipient).await, None);
        assert!(acks.shared.file.is_some());
    }
}
