//! Users whom the mode of a file lets in.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;

use rustix::process::{Gid, getegid, getgroups};

/// Users who may read or write a file, besides root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// The owner alone.
    Owner,
    /// The owner and a group that this process belongs to. Kubernetes gives the group of `fsGroup` this
    /// access to every file of a volume.
    OwnGroup,
    /// Users outside of this process's groups.
    Others,
}

impl Access {
    /// Returns who has access to the file of `metadata`, seen from this process.
    #[must_use]
    pub fn of(metadata: &Metadata) -> Access {
        let mut groups = getgroups().unwrap_or_default();
        groups.push(getegid());
        let groups: Vec<u32> = groups.into_iter().map(Gid::as_raw).collect();
        Access::by(metadata.mode(), metadata.gid(), &groups)
    }

    /// Returns who has access to a file of that mode and group, seen from a process in `own_groups`.
    fn by(mode: u32, group: u32, own_groups: &[u32]) -> Access {
        match (mode & 0o070, mode & 0o007) {
            (0, 0) => Access::Owner,
            (_, 0) if own_groups.contains(&group) => Access::OwnGroup,
            _ => Access::Others,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_of_this_process_is_told_from_others() {
        const FILE: u32 = 0o100_000;
        for (mode, group, due) in [
            (0o600, 20, Access::Owner),
            (0o700, 99, Access::Owner),
            (0o640, 20, Access::OwnGroup),
            (0o660, 30, Access::OwnGroup),
            (0o2770, 30, Access::OwnGroup),
            (0o610, 20, Access::OwnGroup),
            (0o640, 99, Access::Others),
            (0o660, 99, Access::Others),
            (0o644, 20, Access::Others),
            (0o604, 20, Access::Others),
            (0o602, 20, Access::Others),
            (0o701, 20, Access::Others),
            (0o666, 20, Access::Others),
        ] {
            let found = Access::by(FILE | mode, group, &[20, 30]);
            assert_eq!(found, due, "{mode:o} {group}");
        }
    }
}
