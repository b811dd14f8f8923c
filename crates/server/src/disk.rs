//! Free bytes where the ledger writes, and the length of SQLite's write-ahead logs. A full disk harms
//! nothing, but takes no messages.

use std::path::Path;

/// Bytes that may still be written on the disk of `directory`; `None` where the system does not
/// tell.
pub(crate) fn free_bytes(directory: &Path) -> Option<u64> {
    let room = rustix::fs::statvfs(directory).ok()?;
    Some(room.f_bavail.saturating_mul(room.f_frsize))
}

/// The databases of a data directory.
const DATABASES: [&str; 4] = ["ledger.db", "read.db", "feed.db", "chain.db"];

/// The length in bytes of the write-ahead log of each database in `directory`. A process that reads a
/// database and does not end its transaction makes the log grow without bound.
pub(crate) fn wal_bytes(directory: &Path) -> Vec<(&'static str, u64)> {
    let lengths = DATABASES.into_iter().filter_map(|database| {
        let wal = directory.join(format!("{database}-wal"));
        Some((database, std::fs::metadata(wal).ok()?.len()))
    });
    lengths.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_told_for_what_exists_and_for_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        assert!(free_bytes(folder.path()).unwrap() > 0);
        assert_eq!(free_bytes(&folder.path().join("nothing")), None);
    }

    #[test]
    fn write_ahead_logs_are_measured_where_there_are_some() {
        let folder = tempfile::tempdir().unwrap();
        assert!(wal_bytes(folder.path()).is_empty());
        std::fs::write(folder.path().join("read.db-wal"), [0; 7]).unwrap();
        std::fs::write(folder.path().join("other.db-wal"), [0; 8]).unwrap();
        assert_eq!(wal_bytes(folder.path()), [("read.db", 7)]);
    }
}
