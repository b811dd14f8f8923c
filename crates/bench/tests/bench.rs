//! Every benchmark, run by the real binary with next to nothing to do: it ends, it reports in both
//! forms, and it leaves nothing behind. What it measures then means nothing, so no time is looked at.

#![expect(
    clippy::unwrap_used,
    reason = "a benchmark that cannot be run has failed, and the test says where"
)]

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Runs a benchmark and gives what it printed.
fn bench(line: &str, more: &[&str]) -> String {
    let folder = TempDir::new().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_x811-bench"))
        .args(line.split(' '))
        .args(["--agents", "4"])
        .args(more)
        .arg("--dir")
        .arg(folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "bench {line}: {output:?}");
    let left = folder.path().read_dir().unwrap().count();
    assert_eq!(left, 0, "bench {line} leaves its directories behind");
    String::from_utf8(output.stdout).unwrap()
}

/// The report as JSON; all of these must be numbers above zero.
fn measured(line: &str, above_zero: &[&str]) -> Value {
    let text = bench(line, &["--json"]);
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["benchmark"], line.split(' ').next().unwrap());
    for pointer in ["/cores", "/limit_per_second", "/ratio"]
        .iter()
        .chain(above_zero)
    {
        let number = report.pointer(pointer).and_then(Value::as_f64);
        assert!(
            number.is_some_and(|number| number > 0.0),
            "{pointer}: {report}"
        );
    }
    report
}

/// A log that was made half, or by a version that signed no checkpoint, proves nothing.
#[test]
fn design_8_a_log_that_was_kept_without_its_checkpoint_is_refused_and_what_to_do_is_said() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("ledger.db"), "").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_x811-bench"))
        .args(["audit", "--agents", "4", "--keep"])
        .arg(folder.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    for part in ["has no checkpoint", "name another directory by --keep"] {
        assert!(said.contains(part), "{said}");
    }
    assert!(!folder.path().join("checkpoint").exists(), "{said}");
}

/// What an open round takes is measured by a process of its own, one for each size.
#[test]
fn what_open_rounds_take_is_measured_apart() {
    let text = bench("round --memory-of 5 --open-seats 20", &["--json"]);
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["rounds"], 4, "{report}");
    let is_read = report["bytes_each"].is_u64();
    assert_eq!(is_read, cfg!(target_os = "linux"), "{report}");
}

#[test]
fn contract_reports() {
    let report = measured(
        "contract --messages 75 --at-once 8",
        &["/turns/per_second", "/interaction_messages/per_second"],
    );
    assert_eq!(report["turns"]["count"], 75);
    assert_eq!(report["interaction_messages"]["count"], 75);
}

#[test]
fn ingest_reports() {
    let report = measured(
        "ingest --messages 75 --at-once 8",
        &[
            "/ingest/per_second",
            "/latency/p50_us",
            "/latency/p99_us",
            "/records",
        ],
    );
    assert_eq!(report["ingest"]["count"], 75);
    assert!(report["retried"].is_u64(), "{report}");
}

#[test]
fn http_reports() {
    let report = measured(
        "http --messages 75 --connections 8",
        &["/http/per_second", "/latency/p50_us", "/latency/p99_us"],
    );
    assert_eq!(report["http"]["count"], 75);
    assert_eq!(report["target_ratio"], 0.25);
    assert_eq!(report["target_per_server_cpu_second"], 9_000.0);
    assert!(report["retried"].is_u64(), "{report}");
    #[cfg(target_os = "linux")]
    assert!(
        report["accepted_per_server_cpu_second"].is_f64(),
        "{report}"
    );
}

#[test]
fn ae_136_feed_reports() {
    let line = "feed --messages 40 --connections 2";
    let report: Value = serde_json::from_str(&bench(line, &["--json"])).unwrap();
    assert_eq!(report["benchmark"], "feed");
    assert_eq!(report["messages"], 40);
    assert_eq!(report["streams_held"], 4);
    for pointer in [
        "/answer/p50_us",
        "/arrival/p99_us",
        "/p50_ratio",
        "/p99_ratio",
    ] {
        let number = report.pointer(pointer).and_then(Value::as_f64);
        assert!(number.is_some_and(|number| number > 0.0), "{report}");
    }
    let text = bench(line, &[]);
    assert!(text.contains("4 held"), "{text}");
}

#[test]
fn audit_reports() {
    let report = measured(
        "audit --records 170",
        &[
            "/records/per_second",
            "/signatures/per_second",
            "/records_ratio",
            "/signatures_ratio",
            "/hash_only/ratio",
        ],
    );
    // 24 conversations: 120 messages, and 16 payments seen, confirmed and final; two records begin a
    // log.
    assert_eq!(report["signatures"]["count"], 120 + 4);
    assert_eq!(report["records"]["count"], 120 + 3 * 16 + 4 + 2);
    assert_eq!(report["target_ratio"], 0.8);
    assert_eq!(report["hash_only"]["records"], 174);
    #[cfg(target_os = "linux")]
    assert!(report["peak_rss_bytes"].is_u64(), "{report}");
}

#[test]
fn audit_keeps_the_log_where_it_is_told_to() {
    let kept = TempDir::new().unwrap();
    let line = format!("audit --records 50 --keep {}", kept.path().display());
    let records = || measured(&line, &[])["records"]["count"].clone();
    let first = records();
    let made = kept.path().join("ledger.db").metadata().unwrap();
    assert_eq!(records(), first);
    let found = kept.path().join("ledger.db").metadata().unwrap();
    assert_eq!(made.modified().unwrap(), found.modified().unwrap());
}

#[test]
fn append_reports() {
    let text = bench("append --records 8192 --at-once 256", &["--json"]);
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["benchmark"], "append");
    assert_eq!(report["pairs"], 2);
    assert_eq!(report["target_ratio"], 0.95);
    let ratio = |name: &str| report[name].as_f64().unwrap();
    assert!(ratio("ratio_from") <= ratio("ratio"), "{report}");
    assert!(ratio("ratio") <= ratio("ratio_to"), "{report}");
}

#[test]
fn growth_reports() {
    let report = measured(
        "growth --stored 30 --messages 75 --at-once 8",
        &["/empty/ingest/per_second", "/filled/ingest/per_second"],
    );
    for side in ["empty", "filled"] {
        let side = &report[side];
        assert_eq!(side["ingest"]["count"], 75);
        assert!(
            side["latency"]["p99_us"].is_u64() && side["retried"].is_u64(),
            "{report}"
        );
    }
    // What was made before is finished, and older than anything that is held.
    assert_eq!(report["fill"]["count"], 170 + 4 + 2);
    assert_eq!(report["held_nonces"], 75 + 6, "turns and warm-up: {report}");
    assert_eq!(report["target_ratio"], 0.9);
}

#[test]
fn restart_reports() {
    let report = measured(
        "restart --records 170 --tail 17 --agreements 20",
        &["/replayed_per_second", "/replay_ratio", "/fill/per_second"],
    );
    let held = |starts: &serde_json::Value| -> Vec<u64> {
        let starts = starts.as_array().unwrap().iter();
        starts
            .map(|start| start["agreements"].as_u64().unwrap())
            .collect()
    };
    assert_eq!(report["agreements"]["count"], 20);
    assert_eq!(held(&report["agreements"]["starts"]), [0, 20, 20]);
    assert_eq!(held(&report["starts"]), [20, 20, 20]);
    let starts = report["starts"].as_array().unwrap();
    let what: Vec<_> = starts.iter().map(|start| &start["what"]).collect();
    assert_eq!(what, ["snapshot", "snapshot and tail", "whole log"]);
    for start in starts {
        let ms = |name: &str| start[name].as_f64().unwrap();
        assert!(ms("ready_ms") >= ms("world_ms"), "{start}");
        assert!(ms("first_accepted_ms") >= ms("ready_ms"), "{start}");
        assert!(
            start["nonces"].as_u64().unwrap() >= 150,
            "all are held: {start}"
        );
    }
}

/// From the checkout, where npm has put the pinned Anvil.
fn bench_settlement(more: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_x811-bench"))
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .args(["settlement", "--transfers", "60"])
        .args(["--pending", "200", "--turns", "2", "--blocks", "5"])
        .args(more)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn sw_4_what_a_block_costs_does_not_depend_on_what_is_pending() {
    let report: Value = serde_json::from_str(&bench_settlement(&["--json"])).unwrap();
    assert_eq!(report["benchmark"], "settlement");
    for pointer in [
        "/cores",
        "/limit_per_second",
        "/ratio",
        "/times_one_receipt",
    ] {
        let number = report.pointer(pointer).and_then(Value::as_f64);
        assert!(number.is_some_and(|it| it > 0.0), "{pointer}: {report}");
    }
    for way in ["tail", "one_receipt", "batched_receipts"] {
        assert_eq!(report[way]["count"], 120, "{way}: {report}");
    }
    let rows = report["calls"].as_array().unwrap();
    let pending: Vec<_> = rows.iter().map(|row| &row["pending"]).collect();
    assert_eq!(pending, [0, 2, 200]);
    for row in rows {
        assert_eq!(row["calls"]["heads"], 5, "{row}");
        assert_eq!(row["calls"]["logs"], 5, "{row}");
        assert_eq!(row["calls"]["receipts"], 0, "{row}");
        assert!(row["calls"]["levels"].as_u64().unwrap() <= 4, "{row}");
    }
    #[cfg(target_os = "linux")]
    assert!(report["bytes_per_pending"].is_f64(), "{report}");
}

#[test]
fn settlement_is_told_to_people_with_what_bounds_it() {
    let text = bench_settlement(&[]);
    assert!(text.contains("one receipt at a time"), "{text}");
    assert!(text.lines().last().unwrap().starts_with("bound"), "{text}");
}

#[test]
fn people_get_a_table_and_what_bounds_it() {
    for line in [
        "ingest --messages 50 --at-once 8",
        "http --messages 50 --connections 4",
        "audit --records 50",
        "growth --stored 10 --messages 50 --at-once 8",
        "restart --records 50 --tail 17 --agreements 5",
    ] {
        let text = bench(line, &[]);
        let name = line.split(' ').next().unwrap();
        assert!(
            text.starts_with("\u{1b}[1m") || text.starts_with(name),
            "{text}"
        );
        assert!(text.contains("raw verify_strict"), "{text}");
        assert!(text.lines().last().unwrap().starts_with("bound"), "{text}");
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_benchmark_and_what_it_made() {
    for line in ["http --messages 20000", "growth --stored 20000"] {
        let folder = TempDir::new().unwrap();
        let mut process = Command::new(env!("CARGO_BIN_EXE_x811-bench"))
            .args(line.split(' '))
            .arg("--dir")
            .arg(folder.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        while !has_ledger(folder.path()) {
            assert_eq!(process.try_wait().unwrap(), None, "bench {line} runs on");
            std::thread::yield_now();
        }
        let pid = process.id().to_string();
        let signalled = Command::new("kill").args(["-INT", &pid]).status();
        assert!(signalled.unwrap().success());
        assert_eq!(process.wait().unwrap().code(), Some(130), "bench {line}");
        let left = folder.path().read_dir().unwrap().count();
        assert_eq!(left, 0, "bench {line} leaves its directories behind");
    }
}

/// Whether a ledger was made in a directory of `folder`, or one below.
#[cfg(unix)]
fn has_ledger(folder: &Path) -> bool {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    let mut paths = entries.map(|entry| entry.path());
    paths.any(|path| path.ends_with("ledger.db") || has_ledger(&path))
}

#[test]
fn receipt_reports() {
    let report = measured(
        "receipt --records 60 --receipts 5",
        &[
            "/build/p99_us",
            "/verify/p99_us",
            "/receipts",
            "/records",
            "/bytes_p50",
        ],
    );
    assert!(report["receipts"].as_u64().unwrap() <= 5, "{report}");
}
