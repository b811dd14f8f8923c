//! What the process costs, under the names that every Prometheus exporter uses. Only Linux tells.

use super::family::Families;

#[cfg(not(target_os = "linux"))]
pub(super) fn note(_: &mut Families) {}

/// Reads what the kernel tells; what it does not tell is left out.
#[cfg(target_os = "linux")]
pub(super) fn note(families: &mut Families) {
    use super::family::float;
    use procfs::process::Process;

    let Ok(process) = Process::myself() else {
        return;
    };
    if let Ok(stat) = process.stat() {
        let ticks = stat.utime + stat.stime;
        families.counter(
            "process_cpu_seconds",
            "Processor time used, in seconds",
            float(ticks) / float(procfs::ticks_per_second()),
        );
        families.gauge(
            "process_resident_memory_bytes",
            "Memory held",
            float(stat.rss * procfs::page_size()),
        );
        families.gauge(
            "process_threads",
            "Threads",
            float(u64::try_from(stat.num_threads).unwrap_or_default()),
        );
    }
    if let Ok(count) = process.fd_count() {
        families.gauge("process_open_fds", "Open files", float(count as u64));
    }
}
