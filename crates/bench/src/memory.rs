//! Memory of a process, as Linux counts it.

use std::fs;

/// The most that was resident at a time in a process that runs.
pub(super) fn peak_rss_bytes_of(pid: u32) -> Option<u64> {
    status_bytes(pid, "VmHWM:")
}

/// What is resident in this process now.
pub(super) fn rss_bytes() -> Option<u64> {
    rss_bytes_of(std::process::id())
}

/// What of that is of no file, such as the program itself.
pub(super) fn own_bytes() -> Option<u64> {
    status_bytes(std::process::id(), "RssAnon:")
}

/// The same of a process that runs.
pub(super) fn rss_bytes_of(pid: u32) -> Option<u64> {
    status_bytes(pid, "VmRSS:")
}

fn status_bytes(pid: u32, name: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with(name))?;
    let kib: u64 = line.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1_024)
}

/// A size, for people.
pub(super) fn text(bytes: Option<u64>) -> String {
    match bytes {
        Some(bytes) => format!("{} MiB", bytes >> 20),
        None => "unknown here".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_resident_is_no_more_than_the_peak() {
        if let (Some(now), Some(peak)) = (rss_bytes(), peak_rss_bytes_of(std::process::id())) {
            assert!(now > 0 && peak > 0, "{now} {peak}");
            assert_eq!(text(Some(3 << 20)), "3 MiB");
        }
    }
}
