//! Memory of this process, as Linux counts it.

use std::fs;

/// Forgets the most that was ever used, so that [`peak_rss_bytes`] counts from now on. Where the
/// kernel does not allow it the peak is that of the whole run.
pub(super) fn forget_peak() {
    // 5 stands for the peak (proc_pid_clear_refs(5)).
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// The most that was resident at a time.
pub(super) fn peak_rss_bytes() -> Option<u64> {
    status_bytes("VmHWM:")
}

/// What is resident now.
pub(super) fn rss_bytes() -> Option<u64> {
    status_bytes("VmRSS:")
}

fn status_bytes(name: &str) -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
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
        if let (Some(now), Some(peak)) = (rss_bytes(), peak_rss_bytes()) {
            assert!(now > 0 && peak > 0, "{now} {peak}");
            assert_eq!(text(Some(3 << 20)), "3 MiB");
        }
    }
}
