//! How much room is left where the ledger writes. A full disk harms nothing, but takes no messages.

use std::path::Path;

/// Bytes that may still be written on the disk of `directory`; `None` where the system does not
/// tell.
pub(crate) fn free_bytes(directory: &Path) -> Option<u64> {
    let room = rustix::fs::statvfs(directory).ok()?;
    Some(room.f_bavail.saturating_mul(room.f_frsize))
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
}
