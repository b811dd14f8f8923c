//! A log that is kept in `tests/logs`: the same verdict, the same bytes, and the ledger goes on where it
//! stood (machines.md section 1). And logs of rules that this program does not know.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that panics has failed"
)]

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Map, Value, json};
use tempfile::TempDir;
use x811_eventlog::{Checkpoint, Draft, EventLog as _, Head, Record};
use x811_ledger::port::{Commit, LedgerStore as _};
use x811_protocol::key::SecretKey;
use x811_store::SqliteStore;
use x811_tests::binary::{Finished, Server, run, without_our_variables, x811};

/// The checkpoint key of the ledger of `rules-2`.
const KEY: &str = "x811/01a22701-22d1-7a7d-9034-8dc4e4e4bb82+60c2be48+AdlQmwmd/m6mlOcM/4dCm72zSXy7tS59Lj+yQ862AVU4";

/// The request that waited for an offer when that ledger stopped, behind all other records.
const OPEN: &str = "01a22703-0af9-7d6e-80e6-9a123f32d66f";

const TOKEN: &str = "0x8110000000000000000000000000000000000811";

/// Nobody listens there: the chain of that ledger is gone.
const NO_CHAIN: &str = "http://127.0.0.1:9";

fn kept() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("logs/rules-2")
}

/// Copies a folder, for its owner alone: version control keeps no such permissions.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    fs::set_permissions(to, Permissions::from_mode(0o700)).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy(&from, &to);
        } else {
            fs::copy(&from, &to).unwrap();
            fs::set_permissions(&to, Permissions::from_mode(0o600)).unwrap();
        }
    }
}

/// A copy of the kept ledger that may be changed.
fn copied() -> TempDir {
    let place = tempfile::tempdir().unwrap();
    copy(&kept(), place.path());
    place
}

fn in_place(place: &Path, arguments: &[&str]) -> Finished {
    let mut command = Command::new(x811());
    without_our_variables(&mut command);
    let output = command.args(arguments).current_dir(place).output();
    Finished::from(output.expect("the binary starts"))
}

/// The export that the version of that time made is judged as it judged it: every member that its
/// report had is what it was.
#[test]
fn mach_1_a_kept_log_has_the_verdict_it_had() {
    let finished = in_place(&kept(), &["--json", "audit", "rules-2.x811", "--key", KEY]).ok();
    let expected = fs::read_to_string(kept().join("audit.json")).unwrap();
    let expected: Map<String, Value> = serde_json::from_str(&expected).unwrap();
    let said = finished.json();
    for (member, expected) in expected {
        assert_eq!(said[&member], expected, "{member}");
    }
    assert_eq!(said["rules"], json!([{"position": 0, "rules_version": 2}]));
}

/// Its export is made again from its data directory, byte for byte.
#[test]
fn mach_1_a_kept_log_is_exported_as_it_was() {
    let place = copied();
    let _ = in_place(place.path(), &["export", "data", "-o", "again.x811"]).ok();
    let again = fs::read(place.path().join("again.x811")).unwrap();
    assert!(again == fs::read(kept().join("rules-2.x811")).unwrap());
}

/// It is opened and goes on, and what was open is answered. Its first records stay what they were.
#[test]
fn mach_1_a_kept_log_goes_on() {
    let place = copied();
    let options = ["--network", "local", "--rpc", NO_CHAIN, "--token", TOKEN];
    let server = Server::start(&place.path().join("data"), &options).unwrap();
    let home = place.path().join("agents-home");
    let agent = [
        "--ledger",
        server.url(),
        "--home",
        home.to_str().unwrap(),
        "--agent",
    ];
    let as_agent = |arguments: &[&str]| run(&[&agent[..], arguments].concat());
    let _ = as_agent(&[
        "bert", "send", "offer", OPEN, "--price", "0.01", "--time", "30",
    ])
    .ok();
    let mail = [
        "ada",
        "send",
        "custom",
        "--to",
        &did_of(&home, "bert"),
        "--type",
    ];
    let refused = as_agent(&[&mail[..], &["x811.negotiation/hello"]].concat());
    assert_eq!(refused.code, Some(1), "{refused:?}");
    let _ = as_agent(&[&mail[..], &["x811.greetings/hello"]].concat()).ok();
    server.stop();

    let _ = in_place(place.path(), &["audit", "data", "--key", KEY]).ok();
    let _ = in_place(place.path(), &["doctor", "data"]).ok();
    let _ = in_place(place.path(), &["export", "data", "-o", "longer.x811"]).ok();
    let records = |file: PathBuf| -> Vec<String> {
        let text = fs::read_to_string(file).unwrap();
        let records = text.lines().filter(|line| line.starts_with("r "));
        records.map(str::to_owned).collect()
    };
    let (longer, kept) = (
        records(place.path().join("longer.x811")),
        records(kept().join("rules-2.x811")),
    );
    assert_eq!(longer[..kept.len()], kept);
    assert!(longer.len() > kept.len());
}

/// The kept ledger, with a last record that puts rules in force that nobody knows yet.
async fn under_rules_3(place: &Path) {
    let store = SqliteStore::open(&place.join("data")).await.unwrap();
    let head = store.log().head().await.unwrap();
    let records = store.log().read(0, 1_000).await.unwrap();
    let of_ledger = records.iter().filter(|it| it.stream() == "ledger");
    let draft = Draft {
        // Long enough behind the last checkpoint for that to be remarkable.
        recorded_at_ms: head.recorded_at_ms + 60_000,
        stream: "ledger".to_owned(),
        stream_seq: of_ledger.count() as u64,
        event: json!({ "type": "rules_changed", "rules_version": 3, "reader": 3, "more": true }),
    };
    let _ = append(&store, &head, draft).await;
    store.close().await;
}

/// The kept ledger with another log, which was begun under the rules of before the first release, and its checkpoint.
async fn under_rules_1(place: &Path) {
    let kept = SqliteStore::open(&place.join("data")).await.unwrap();
    let first = kept.log().read(0, 1).await.unwrap().remove(0);
    kept.close().await;
    fs::remove_file(place.join("data/ledger.db")).unwrap();
    let mut opened = first.event();
    let origin = opened["origin"].as_str().unwrap().to_owned();
    opened["rules_version"] = 1.into();
    opened.as_object_mut().unwrap().remove("reader");
    let store = SqliteStore::open(&place.join("data")).await.unwrap();
    let draft = Draft {
        recorded_at_ms: first.recorded_at_ms(),
        stream: "ledger".to_owned(),
        stream_seq: 0,
        event: opened,
    };
    let record = append(&store, &Head::EMPTY, draft).await;
    store.close().await;
    let checkpoint = Checkpoint {
        origin,
        size: 1,
        root: record.hash(),
    };
    let seed = fs::read_to_string(place.join("data/keys/checkpoint.seed")).unwrap();
    let seed: [u8; 32] = hex::decode(seed.trim()).unwrap().try_into().unwrap();
    let key = SecretKey::from_seed(seed);
    let sign = |message: &[u8]| *key.sign(message).as_bytes();
    let note = checkpoint.sign(*key.public().as_bytes(), sign).unwrap();
    fs::write(place.join("data-checkpoint/checkpoint"), note).unwrap();
}

async fn append(store: &SqliteStore, head: &Head, draft: Draft<Value>) -> Record {
    let record = Record::seal(head.size, head.hash, draft).unwrap();
    let commit = Commit {
        expected_size: head.size,
        records: vec![record.clone()],
        ..Commit::default()
    };
    store.commit(commit).await.unwrap();
    record
}

/// A program that does not know the rules in force does not start on the log, and neither `doctor` nor an
/// audit calls it broken: all three say what to do.
#[tokio::test]
async fn mach_1_a_log_of_other_rules_is_refused_with_the_way_out() {
    let way_out = "use the version of x811 that wrote the log";
    let [earlier, later] = [copied(), copied()];
    under_rules_1(earlier.path()).await;
    under_rules_3(later.path()).await;
    for (place, rules) in [(earlier, 1), (later, 3)] {
        let options = ["--network", "local", "--rpc", NO_CHAIN, "--token", TOKEN];
        let served = Server::start(&place.path().join("data"), &options).unwrap_err();
        assert_eq!(served.code, Some(4), "{served:?}");
        let named = format!("rules {rules} are in force, and this program knows 2: {way_out}");
        assert!(served.stderr.contains(&named), "{served:?}");
        let examined = in_place(place.path(), &["doctor", "data"]);
        assert_ne!(examined.code, Some(0));
        let said = format!("{}{}", examined.stdout, examined.stderr);
        assert!(said.contains(way_out), "{said}");
        let audited = in_place(place.path(), &["audit", "data", "--key", KEY]);
        assert_eq!(audited.code, Some(22), "{audited:?}");
    }
}

fn did_of(home: &Path, agent: &str) -> String {
    let file = home.join("agents").join(agent).with_extension("json");
    let file: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    file["did"].as_str().unwrap().to_owned()
}
