//! Both verbs over a ledger's real directory, while the ledger runs.

use std::sync::Arc;

use serde_json::Value;
use tempfile::TempDir;
use uuid::Uuid;
use x811_ledger::clock::ManualClock;
use x811_ledger::entropy::Entropy;
use x811_ledger::port::ReadModel;
use x811_ledger::sequencer::{Ledger, Opening, open};
use x811_protocol::did::Did;
use x811_protocol::event::{LedgerKeys, LedgerOpened};
use x811_protocol::id::EnvelopeId;
use x811_protocol::key::SecretKey;
use x811_protocol::parameters::{AEEP_LOOKS_MS, Limits, Parameters, PayerBindingRule, Windows};
use x811_protocol::stream::Subject;
use x811_protocol::time::TimestampMs;
use x811_world::row::{RowChange, SubjectRow};

use super::*;
use crate::command::Global;
use crate::context::Context;

/// The moment 2026-01-01T00:00:00Z.
const NOW: TimestampMs = TimestampMs::new(1_767_225_600_000);

struct Sevens;

impl Entropy for Sevens {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(7);
    }
}

fn did() -> Did {
    let uuid = uuid::Builder::from_unix_timestamp_millis(NOW.as_ms(), &[7; 10]).into_uuid();
    Did::from_uuid(uuid).unwrap()
}

/// A running ledger with the two records of its beginning.
async fn running(directory: &Path) -> Ledger<Backend, ReadRows, ManualClock> {
    let key = |seed| SecretKey::from_seed([seed; 32]);
    let opening = Opening {
        identity: LedgerOpened {
            log_id: Uuid::nil(),
            did: did(),
            origin: "ledger.example".to_owned(),
            keys: LedgerKeys {
                envelope: key(1).public(),
                checkpoint: key(2).public(),
                receipt: key(3).public(),
            },
            format: 1,
            rules_version: x811_protocol::rules::Rules::LATEST.version(),
            continues: None,
            reader: x811_protocol::rules::Rules::LATEST.reader(),
        },
        rotations: Vec::new(),
        parameters: Parameters {
            windows: Windows::AEEP,
            looks_ms: AEEP_LOOKS_MS,
            networks: Vec::new(),
            payer_binding: PayerBindingRule::Wallet,
            limits: Limits::DEFAULT,
            lenient: Vec::new(),
            contracts: None,
            capabilities: None,
            rounds: None,
        },
        envelope_key: key(1),
        snapshots: None,
        checkpoint: None,
        checkpoint_adopted: false,
        with_endpoints: Vec::new(),
    };
    let (sequencer, ledger) = open(
        Arc::new(Backend::open(directory, None).await.unwrap()),
        Arc::new(ReadRows::open(directory).await.unwrap()),
        Arc::new(ManualClock::at(NOW)),
        Arc::new(Sevens),
        opening,
    )
    .await
    .unwrap();
    tokio::spawn(sequencer.run());
    ledger
}

/// Audits, and returns exit and JSON.
async fn audit(source: &Path, expect_head: Option<Hash>) -> (Exit, Value) {
    let (mut out, text, _) = Out::captured(true);
    let source = source.to_owned();
    let args = Args {
        source,
        expect_head,
        ..Args::default()
    };
    let exit = run(args, &nowhere(), &mut out).await.unwrap();
    (exit, serde_json::from_str(&text.text()).unwrap())
}

/// No ledger answers there.
pub(super) fn nowhere() -> Context {
    Context::new(Global {
        ledger: "http://127.0.0.1:1".to_owned(),
        home: PathBuf::from("none"),
        agent: None,
        json: false,
    })
}

async fn export(directory: &Path, file: &Path) -> Exit {
    let (mut out, _, _) = Out::captured(false);
    let args = crate::export::Args::new(directory, file);
    crate::export::run(args, &nowhere(), false, &mut out)
        .await
        .unwrap()
}

#[tokio::test]
async fn a_running_ledger_and_its_export_are_clean() {
    let directory = TempDir::new().unwrap();
    let _ledger = running(directory.path()).await;
    let (exit, stored) = audit(directory.path(), None).await;
    assert_eq!(
        (exit, stored["verdict"].as_str()),
        (Exit::Incomplete, Some("incomplete"))
    );
    assert_eq!(stored["records"], 2);
    assert_eq!(stored["read_model"]["applied_size"], 2);

    let file = directory.path().join("log.x811");
    assert_eq!(export(directory.path(), &file).await, Exit::Ok);
    let head: Hash = stored["head"].as_str().unwrap().parse().unwrap();
    let (exit, exported) = audit(&file, Some(head)).await;
    assert_eq!(exit, Exit::Incomplete, "nothing was signed");
    assert_eq!(exported["expected_head_position"], 1);
    for member in ["ledger", "records", "head", "root"] {
        assert_eq!(exported[member], stored[member], "{member}");
    }
    let left: Vec<_> = std::fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains("part"))
        .collect();
    assert_eq!(left, Vec::<String>::new(), "nothing half written is left");
}

#[tokio::test]
async fn promise_4_a_changed_export_is_named_and_exits_with_20() {
    let directory = TempDir::new().unwrap();
    let _ledger = running(directory.path()).await;
    let file = directory.path().join("log.x811");
    export(directory.path(), &file).await;
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(
        &file,
        text.replace("\"verify_ms\":30000", "\"verify_ms\":30001"),
    )
    .unwrap();
    let (exit, report) = audit(&file, None).await;
    assert_eq!((exit, exit.code()), (Exit::Findings, 20));
    let first = &report["findings"][0];
    assert_eq!(
        (&first["position"], &first["line"], &first["cause"]),
        (&1.into(), &3.into(), &"bytes_changed".into())
    );

    let (mut out, text, _) = Out::captured(false);
    let args = Args {
        source: file,
        ..Args::default()
    };
    run(args, &nowhere(), &mut out).await.unwrap();
    let text = text.text();
    for part in [
        "BROKEN",
        "position 1, line 3",
        "bytes changed",
        "--expect-head",
    ] {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
}

#[tokio::test]
async fn the_page_is_written_whole_or_not_at_all() {
    let directory = TempDir::new().unwrap();
    let _ledger = running(directory.path()).await;
    let folder = TempDir::new().unwrap();
    let audit_to = async |source: &Path, page: PathBuf| {
        let (mut out, text, _) = Out::captured(true);
        let args = Args {
            source: source.to_owned(),
            html: Some(page),
            ..Args::default()
        };
        run(args, &nowhere(), &mut out).await.map(|_| text.text())
    };
    let page = folder.path().join("report.html");
    std::fs::write(&page, "of yesterday").unwrap();
    let json = audit_to(directory.path(), page.clone()).await.unwrap();
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["html"], page.to_str().unwrap());
    let text = std::fs::read_to_string(&page).unwrap();
    assert!(text.ends_with("</html>\n"), "{text}");

    // What cannot be audited leaves the page of yesterday, and nothing half written.
    let none = folder.path().join("none");
    assert!(audit_to(&none, page.clone()).await.is_err());
    assert_eq!(std::fs::read_to_string(&page).unwrap(), text);
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");

    for (place, exit) in [
        (folder.path().join("none/report.html"), Exit::Local),
        (folder.path().to_owned(), Exit::Usage),
    ] {
        let failure = audit_to(directory.path(), place).await.unwrap_err();
        assert_eq!(failure.exit, exit, "{failure:?}");
    }
    let failure = audit_to(&page, page.clone()).await.unwrap_err();
    assert_eq!(
        failure.exit,
        Exit::Usage,
        "the page would replace what it is about"
    );
}

#[tokio::test]
async fn more_findings_than_are_shown_are_counted_by_cause() {
    let directory = TempDir::new().unwrap();
    let _ledger = running(directory.path()).await;
    let mut report = of_directory(directory.path(), None).await.unwrap();
    let finding = |position| x811_audit::Finding {
        position,
        line: None,
        stream: None,
        field: "leaf".to_owned(),
        cause: x811_audit::Cause::Missing,
        sentence: "gone".to_owned(),
    };
    report.verdict = Outcome::Broken;
    report.tail = None;
    report.findings = (0..25).map(finding).collect();
    report.findings_left_out = 7;
    report
        .findings_by_cause
        .insert(x811_audit::Cause::Missing, 32);
    let (mut out, text, _) = Out::captured(false);
    out.report(&Audited {
        source: PathBuf::from("log.x811"),
        report,
        network: None,
        proofs: None,
        html: None,
        csv: None,
    });
    let text = text.text();
    for part in [
        "BROKEN: 32 things are wrong",
        "\n  32 missing\n",
        "position 19: missing (leaf)",
        "and 12 more",
        "not checked: 0, of it not re-decided: 0",
    ] {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
    assert!(!text.contains("position 20"), "{text}");
}

#[tokio::test]
async fn another_head_than_the_noted_one_exits_with_20() {
    let directory = TempDir::new().unwrap();
    let _ledger = running(directory.path()).await;
    let noted = Hash::from_bytes([8; 32]);
    let (exit, report) = audit(directory.path(), Some(noted)).await;
    assert_eq!(exit, Exit::Findings);
    assert_eq!(report["findings"][0]["cause"], "head_differs");
}

#[tokio::test]
async fn a_row_changed_by_hand_is_named() {
    let directory = TempDir::new().unwrap();
    let _ledger = running(directory.path()).await;
    let rows = ReadRows::open(directory.path()).await.unwrap();
    let id = EnvelopeId::from_parts(NOW.as_ms(), &[9; 10]);
    let row = SubjectRow {
        subject: Subject::Interaction(id.into()),
        state: "completed".to_owned(),
        members: vec![did(), did()],
        deadline_at_ms: None,
        opened_at_ms: NOW,
        updated_at_ms: NOW,
        last_position: 1,
        detail: serde_json::json!({}),
    };
    let change = RowChange::from(row);
    rows.apply(2, 2, &[change]).await.unwrap();
    let (exit, report) = audit(directory.path(), None).await;
    assert_eq!(exit, Exit::Findings);
    let finding = &report["findings"][0];
    assert_eq!(finding["cause"], "read_model_differs");
    let id = id.to_string();
    assert!(finding["sentence"].as_str().unwrap().contains(&id));
}

#[tokio::test]
async fn what_is_not_there_is_a_failure_and_no_finding() {
    let directory = TempDir::new().unwrap();
    for source in [directory.path().to_owned(), directory.path().join("none")] {
        let (mut out, _, _) = Out::captured(false);
        let args = Args {
            source,
            ..Args::default()
        };
        let failure = run(args, &nowhere(), &mut out).await.unwrap_err();
        assert_eq!(failure.exit, Exit::Local, "{failure:?}");
    }
    let (mut out, _, _) = Out::captured(true);
    let args = crate::export::Args::new(directory.path(), Path::new("-"));
    let failure = crate::export::run(args, &nowhere(), true, &mut out)
        .await
        .unwrap_err();
    assert_eq!(failure.exit, Exit::Usage);
}

#[tokio::test]
async fn hashes_alone_never_say_that_a_log_is_sound() {
    let directory = TempDir::new().unwrap();
    let _ledger = running(directory.path()).await;
    let file = directory.path().join("log.x811");
    export(directory.path(), &file).await;
    let hashed = async |source: &Path, is_json| {
        let (mut out, text, _) = Out::captured(is_json);
        let args = Args {
            source: source.to_owned(),
            hash_only: true,
            ..Args::default()
        };
        let exit = run(args, &nowhere(), &mut out).await.unwrap();
        (exit, text.text())
    };
    for source in [directory.path(), &file] {
        let (exit, json) = hashed(source, true).await;
        let json: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(
            (exit, &json["hashes_hold"]),
            (Exit::Unverified, &true.into())
        );
        assert_eq!(json["records_hold"], 2);
        assert!(json["clean"].is_null(), "{json}");
        let (_, text) = hashed(source, false).await;
        for part in [
            "NOTHING ELSE WAS CHECKED",
            "leave --hash-only out",
            "asserted: whose log this is",
        ] {
            assert!(text.contains(part), "no `{part}` in {text}");
        }
        let row = ["signatures", "0", "0", "0", "2"];
        let is_row = |line: &str| line.split_whitespace().eq(row);
        assert!(text.lines().any(is_row), "nothing of the records: {text}");
        for word in ["clean", "sound", "nothing is wrong"] {
            assert!(!text.contains(word), "`{word}` in {text}");
        }
    }
    let text = std::fs::read_to_string(&file).unwrap();
    let changed = text.replace("\"verify_ms\":30000", "\"verify_ms\":30001");
    std::fs::write(&file, changed).unwrap();
    let (exit, text) = hashed(&file, false).await;
    assert_eq!(exit, Exit::Findings);
    assert!(text.contains("THE HASHES DO NOT HOLD"), "{text}");
}

/// `--hash-only` asks nobody, whatever is set.
#[test]
fn the_environments_endpoint_is_asked_where_none_is_named() {
    let (mine, set) = ("http://mine".to_owned(), Some("http://set".to_owned()));
    let asked = |given: &[String], hash_only| endpoints(given.to_vec(), hash_only, set.clone());
    assert_eq!(asked(&[], false), ["http://set"]);
    assert_eq!(asked(std::slice::from_ref(&mine), false), ["http://mine"]);
    assert!(asked(&[], true).is_empty());
    assert!(endpoints(Vec::new(), false, None).is_empty());
    assert!(endpoints(Vec::new(), false, Some(String::new())).is_empty());
}
