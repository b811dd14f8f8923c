//! Incidents of other ledgers told against the real binary and its real files;
//! `tests/INCIDENTS.md` lists all.

use super::client::{Acknowledged, Agent, Told, ledger_did, post};
use super::ledger::Place;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions as _, Connection as _};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use x811_eventlog::{Draft, Record};
use x811_protocol::event::{Event, LedgerEvent, LedgerResumed};
use x811_protocol::stream::Stream;
use x811_world::World;

/// Exit code of an audit that found something.
const FOUND: Option<i32> = Some(20);

/// Somebody with a shell on a database of the ledger.
async fn stranger(place: &Place, file: &str) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(place.data_dir.join(file));
    options.connect().await.unwrap()
}

/// What a stranger does to a database.
async fn change(place: &Place, file: &str, statements: &[&str]) {
    let mut connection = stranger(place, file).await;
    for statement in statements {
        let statement = sqlx::AssertSqlSafe((*statement).to_owned());
        sqlx::query(statement)
            .execute(&mut connection)
            .await
            .unwrap();
    }
    connection.close().await.unwrap();
}

/// Stores other bytes at a position, as a bad sector would.
async fn store_leaf(place: &Place, position: u64, leaf: &[u8]) {
    change(
        place,
        "ledger.db",
        &["DROP TRIGGER IF EXISTS records_never_updated"],
    )
    .await;
    let mut connection = stranger(place, "ledger.db").await;
    sqlx::query("UPDATE records SET leaf = ? WHERE position = ?")
        .bind(leaf)
        .bind(position.cast_signed())
        .execute(&mut connection)
        .await
        .unwrap();
    connection.close().await.unwrap();
}

async fn leaves(place: &Place) -> Vec<Vec<u8>> {
    let mut connection = stranger(place, "ledger.db").await;
    let rows = sqlx::query_scalar("SELECT leaf FROM records ORDER BY position");
    let leaves = rows.fetch_all(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    leaves
}

/// A life with `messages` after the registrations, ended in order: its last record is signed.
async fn live(place: &Place, messages: usize) -> Acknowledged {
    let ledger = place.start();
    let did = ledger_did(&ledger.url).await.unwrap();
    let (mut anna, bob) = (Agent::new("anna"), Agent::new("bob"));
    let mut due = vec![anna.registration(did), bob.registration(did)];
    due.push(anna.request(bob.identity.did));
    due.extend((0..messages).map(|_| anna.message(bob.identity.did, 100)));
    let mut acknowledged = Acknowledged::default();
    for envelope in due {
        match post(&ledger.url, &envelope).await {
            Told::Accepted(answer) => acknowledged.note(&answer),
            other @ (Told::Refused(..) | Told::Nothing) => panic!("{other:?}"),
        }
    }
    assert!(ledger.stop().status.success());
    acknowledged
}

/// A ledger's files, to begin from again and again.
struct Copy {
    data: PathBuf,
    signed: Vec<u8>,
}

impl Copy {
    fn of(place: &Place) -> Copy {
        let data = place.folder.path().join("copy");
        place.copy_data(&data);
        Copy {
            data,
            signed: signed(place),
        }
    }

    fn put_back(&self, place: &Place) {
        std::fs::remove_dir_all(&place.data_dir).unwrap();
        let mut copy = Command::new("cp");
        let copied = copy.arg("-a").args([&self.data, &place.data_dir]).status();
        assert!(copied.unwrap().success());
        std::fs::write(place.checkpoint_dir.join("checkpoint"), &self.signed).unwrap();
    }
}

/// What the audit blames: positions.
fn blamed(place: &Place) -> BTreeSet<u64> {
    let audit = place.audit(None);
    assert_eq!(audit.code, FOUND, "{audit:?}");
    let report = audit.json();
    let findings = report["findings"].as_array().unwrap().iter();
    findings
        .filter_map(|finding| finding["position"].as_u64())
        .collect()
}

fn signed(place: &Place) -> Vec<u8> {
    std::fs::read(place.checkpoint_dir.join("checkpoint")).unwrap()
}

/// One bit of a stored record flips before a checkpoint was signed over it. The start is refused,
/// nothing is signed over the flip, and the audit names the record.
#[tokio::test]
async fn incident_bit_flip_in_a_stored_entry_before_signing_yeti() {
    let place = Place::new();
    live(&place, 2).await;
    let signed_before = signed(&place);
    let signed_size = leaves(&place).await.len();
    live(&place, 6).await;
    // The signer was behind when the process died.
    std::fs::write(place.checkpoint_dir.join("checkpoint"), &signed_before).unwrap();
    let copy = Copy::of(&place);
    let leaves = leaves(&place).await;
    let last = leaves.len() - 1;
    let mut flips = 0;
    for position in [signed_size, usize::midpoint(signed_size, last), last] {
        for part in 0..4 {
            let mut leaf = leaves[position].clone();
            let at = (leaf.len() - 1) * part / 3;
            leaf[at] ^= 1 << (part * 2);
            copy.put_back(&place);
            store_leaf(&place, position as u64, &leaf).await;
            let Err(ended) = place.try_start() else {
                panic!("it starts over byte {at} of record {position}");
            };
            assert_eq!(ended.status.code(), Some(4), "{ended:?}");
            assert_eq!(signed(&place), signed_before, "nothing was signed");
            let blamed = blamed(&place);
            assert!(
                blamed.contains(&(position as u64)),
                "{position}: {blamed:?}"
            );
            flips += 1;
        }
    }
    println!("{flips} flips, none signed, all named");
    copy.put_back(&place);
    place.start().stop();
    place.clean(None);
}

/// What lies before the snapshot a start begins with, or at the seam of two pages, is verified too:
/// by every audit, and by every start without a snapshot.
#[tokio::test]
async fn incident_segment_before_the_last_never_verified_kurrentdb_1653() {
    const PAGE: u64 = 1_024;
    let place = Place::new();
    live(&place, 1).await;
    grow(&place, 2 * PAGE + 50).await;
    live(&place, 1).await;
    let size = place.clean(None)["records"].as_u64().unwrap();
    assert!(size > 2 * PAGE + 50);
    let copy = Copy::of(&place);
    let leaves = leaves(&place).await;
    for position in [
        2,
        PAGE - 1,
        PAGE,
        2 * PAGE - 1,
        2 * PAGE,
        size - 2,
        size - 1,
    ] {
        copy.put_back(&place);
        let mut leaf = leaves[usize::try_from(position).unwrap()].clone();
        // A digit of the time: still a good leaf, only another one.
        let time = String::from_utf8(leaf.clone()).unwrap();
        let at = time.find("\"recorded_at_ms\":").unwrap() + 25;
        leaf[at] ^= 1;
        store_leaf(&place, position, &leaf).await;
        let blamed = blamed(&place);
        assert_eq!(blamed.first(), Some(&position), "{blamed:?}");
        std::fs::remove_dir_all(place.data_dir.join("snapshots")).unwrap();
        let Err(ended) = place.try_start() else {
            panic!("it starts over record {position}");
        };
        assert_eq!(ended.status.code(), Some(4), "{ended:?}");
    }
    println!("{size} records, 7 flips, all named first");
}

/// Appends `count` more records by hand, sealed as the ledger seals them.
async fn grow(place: &Place, count: u64) {
    let mut world = World::empty();
    for leaf in leaves(place).await {
        let record = Record::parse(leaf).unwrap();
        let event = Event::from_value(&record.event()).unwrap();
        world.apply(&record, &event).unwrap();
    }
    let mut connection = stranger(place, "ledger.db").await;
    let mut transaction = connection.begin().await.unwrap();
    for _ in 0..count {
        let (stream, event) = match world.state_root_due() {
            Some(root) => (Stream::Roots, Event::StateRoot(root)),
            None => (
                Stream::Ledger,
                Event::Ledger(LedgerEvent::Resumed(LedgerResumed {
                    gap_ms: 0,
                    checkpoint_adopted: false,
                })),
            ),
        };
        let head = world.head();
        let draft = Draft {
            recorded_at_ms: head.recorded_at_ms,
            stream: stream.to_string(),
            stream_seq: world.next_seq(&stream).unwrap(),
            event: &event,
        };
        let record = Record::seal(head.size, head.hash, draft).unwrap();
        world.apply(&record, &event).unwrap();
        sqlx::query("INSERT INTO records (position, leaf) VALUES (?, ?)")
            .bind(record.position().cast_signed())
            .bind(record.bytes())
            .execute(&mut *transaction)
            .await
            .unwrap();
    }
    sqlx::query("UPDATE tree SET size = ?, frontier = ?")
        .bind(world.head().size.cast_signed())
        .bind(world.frontier().to_bytes())
        .execute(&mut *transaction)
        .await
        .unwrap();
    transaction.commit().await.unwrap();
    connection.close().await.unwrap();
}

/// All roots are as they were, and what they stand for is not: the audit reads every leaf and every
/// body, and believes no hash that it has not made itself.
#[tokio::test]
async fn incident_audit_that_compares_roots_only_immudb_2063_2091() {
    let place = Place::new();
    live(&place, 4).await;
    let copy = Copy::of(&place);
    let roots = |place: &Place| signed(place);
    let before = roots(&place);
    let leaves = leaves(&place).await;

    // A body, with a digest beside it that fits.
    let mut connection = stranger(&place, "ledger.db").await;
    let bodies: Vec<(i64, Vec<u8>)> =
        sqlx::query_as("SELECT position, bytes FROM bodies ORDER BY position")
            .fetch_all(&mut connection)
            .await
            .unwrap();
    connection.close().await.unwrap();
    for (position, bytes) in &bodies {
        copy.put_back(&place);
        let mut forged = bytes.clone();
        let at = forged.len() / 2;
        forged[at] ^= 1;
        change(&place, "ledger.db", &["DROP TRIGGER bodies_never_updated"]).await;
        let mut connection = stranger(&place, "ledger.db").await;
        let digest = x811_protocol::digest::Digest::of(&forged);
        sqlx::query("UPDATE bodies SET bytes = ?, digest = ? WHERE position = ?")
            .bind(&forged)
            .bind(digest.as_bytes().as_slice())
            .bind(position)
            .execute(&mut connection)
            .await
            .unwrap();
        connection.close().await.unwrap();
        assert_eq!(blamed(&place), BTreeSet::from([position.cast_unsigned()]));
    }
    // A leaf, while the tree beside the log stays what it was.
    for (position, leaf) in leaves.iter().enumerate() {
        copy.put_back(&place);
        let mut forged = leaf.clone();
        let at = forged.len() / 2;
        forged[at] ^= 1;
        store_leaf(&place, position as u64, &forged).await;
        let blamed = blamed(&place);
        assert!(
            blamed.contains(&(position as u64)),
            "{position}: {blamed:?}"
        );
    }
    assert_eq!(roots(&place), before, "no root has changed");
    println!(
        "{} bodies, {} leaves, all named",
        bodies.len(),
        leaves.len()
    );
}

/// Who misses a row.
enum Missed {
    /// The audit.
    Audit,
    /// `x811 doctor`, which names this part.
    Doctor(&'static str),
    /// The start itself.
    Start,
    /// The start, which throws the rows away and writes them again.
    Rebuilt,
    /// Nobody needs it, for this reason.
    Never(&'static str),
}

/// Every table of every database.
fn tables() -> BTreeMap<(&'static str, &'static str), Missed> {
    use Missed::{Audit, Doctor, Never, Rebuilt, Start};
    BTreeMap::from([
        (("ledger.db", "records"), Audit),
        (("ledger.db", "bodies"), Doctor("bodies")),
        (("ledger.db", "envelope_ids"), Doctor("envelope_ids")),
        (
            ("ledger.db", "idempotency"),
            Never("empty here; the doctor asks it in operations/doctor.rs"),
        ),
        (("ledger.db", "new_idempotency"), Doctor("idempotency")),
        (("ledger.db", "filing"), Start),
        (
            ("ledger.db", "claims"),
            Never("empty here; the doctor counts it in operations/doctor.rs"),
        ),
        (
            ("ledger.db", "erased"),
            Never("empty here; the audit holds it to the records that name erasures"),
        ),
        (
            ("ledger.db", "nonce_journal"),
            Never("refusals of the last minutes; empty here"),
        ),
        (("read.db", "subjects"), Doctor("rows")),
        (
            ("read.db", "subject_members"),
            Never("no negotiation here; the doctor rebuilds and compares them"),
        ),
        (("ledger.db", "writer"), Start),
        (
            ("ledger.db", "tree"),
            Never("made from the records, and written with the next commit"),
        ),
        (
            ("ledger.db", "tick"),
            Never("the gap counts from the last record then"),
        ),
        (("ledger.db", "_sqlx_migrations"), Start),
        (("read.db", "deliveries"), Doctor("rows")),
        (("read.db", "stream_records"), Doctor("rows")),
        (("read.db", "tiles"), Doctor("rows")),
        (("read.db", "agents"), Doctor("rows")),
        (("read.db", "agent_capabilities"), Doctor("rows")),
        (
            ("read.db", "trust"),
            Never("nobody earned anything here; the doctor rebuilds and compares it"),
        ),
        (
            ("read.db", "trust_payers"),
            Never("nobody paid here; the doctor rebuilds and compares it"),
        ),
        (("read.db", "applied"), Rebuilt),
        (
            ("read.db", "_sqlx_migrations"),
            Never("the one in the middle empties the rows when it runs again: they are rebuilt"),
        ),
    ])
}

/// The tables there are.
async fn stored_tables(place: &Place) -> BTreeSet<(&'static str, String)> {
    let mut found = BTreeSet::new();
    for file in ["ledger.db", "read.db"] {
        let mut connection = stranger(place, file).await;
        let names = sqlx::query_scalar(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
        );
        let names: Vec<String> = names.fetch_all(&mut connection).await.unwrap();
        connection.close().await.unwrap();
        found.extend(names.into_iter().map(|name| (file, name)));
    }
    found
}

/// Copies a table as a migration does, and loses the row in the middle.
async fn migrate_badly(place: &Place, file: &str, table: &str) {
    let statements = [
        format!("DROP TRIGGER IF EXISTS {table}_never_deleted"),
        format!("DROP TRIGGER IF EXISTS {table}_append_only"),
        format!("CREATE TEMP TABLE kept AS SELECT * FROM {table}"),
        format!("DELETE FROM {table}"),
        format!(
            "INSERT INTO {table} SELECT * FROM kept
             WHERE rowid <> (SELECT (max(rowid) + 1) / 2 FROM kept)"
        ),
    ];
    let statements: Vec<&str> = statements.iter().map(String::as_str).collect();
    change(place, file, &statements).await;
}

/// A row that a migration loses, whatever table it was in, is missed.
#[tokio::test]
async fn incident_row_lost_in_migration_oak() {
    let place = Place::new();
    live(&place, 3).await;
    let copy = Copy::of(&place);
    let tables = tables();
    let known = tables
        .keys()
        .map(|(file, name)| (*file, (*name).to_owned()));
    let known: BTreeSet<_> = known.collect();
    assert_eq!(
        stored_tables(&place).await,
        known,
        "a new table? Say who misses a row of it"
    );
    for ((file, table), missed) in tables {
        copy.put_back(&place);
        migrate_badly(&place, file, table).await;
        match missed {
            Missed::Audit => assert!(!blamed(&place).is_empty(), "{table}"),
            Missed::Doctor(part) => {
                let data_dir = place.data_dir.to_str().unwrap();
                let report = x811_tests::binary::run(&["--json", "doctor", data_dir]);
                assert_eq!(report.code, FOUND, "{table}: {report:?}");
                let findings = report.json()["findings"].clone();
                let mut findings = findings.as_array().unwrap().iter();
                let is_named = findings.any(|finding| finding["part"] == part);
                assert!(is_named, "{table}: {report:?}");
            }
            Missed::Start => match place.try_start() {
                Ok(ledger) => panic!("{table}: it starts: {:?}", ledger.stop()),
                Err(ended) => assert_eq!(ended.status.code(), Some(4), "{table}: {ended:?}"),
            },
            Missed::Rebuilt => {
                let ended = place.start().stop();
                assert!(ended.status.success(), "{table}: {ended:?}");
                assert!(
                    ended.said.contains("read.db is damaged"),
                    "{table}: {ended:?}"
                );
                place.clean(None);
            }
            Missed::Never(why) => {
                assert!(place.start().stop().status.success(), "{table}: {why}");
                place.clean(None);
            }
        }
    }
}

/// A name is durable once its directory is synced: after every rename, and after every file that is
/// made, through a handle opened for that, which nothing can evict.
#[tokio::test]
async fn incident_directory_fsync_on_an_evicted_inode_tessera_749() {
    let mut place = Place::new();
    let log = place
        .folder
        .path()
        .join("calls")
        .to_str()
        .unwrap()
        .to_owned();
    let words = ["strace", "-D", "-f", "-y", "-qq", "-s", "256", "-o", &log];
    let trace = [
        "-e",
        "trace=openat,rename,renameat,renameat2,fsync,fdatasync",
    ];
    let words = words.into_iter().chain(trace);
    place.under = words.map(str::to_owned).collect();
    live(&place, 3).await;
    let calls = std::fs::read_to_string(log).unwrap();
    let calls: Vec<&str> = calls.lines().collect();
    let folder = place.folder.path().to_str().unwrap();
    let (mut named, mut made) = (0, BTreeSet::new());
    for (at, call) in calls.iter().enumerate() {
        // The lock and the index of the WAL are made anew whenever they are missing.
        let is_made =
            call.contains("O_CREAT") && !call.contains("/LOCK\"") && !call.contains("-shm\"");
        if !(is_made || call.contains("rename")) || !call.contains(folder) {
            continue;
        }
        // The last path of the call is the name that has to stay.
        let path = call.split('"').rfind(|part| part.starts_with(folder));
        let path = Path::new(path.unwrap());
        let parent = path.parent().unwrap().display().to_string();
        let is_unfinished = path.extension().is_some_and(|end| end == "unfinished");
        // What is opened once more has its name, and what is unfinished gets it by the rename.
        if is_made && (is_unfinished || !made.insert(path)) {
            continue;
        }
        let is_synced = calls[at..].iter().any(|later| {
            let has_failed = later.contains("= -1");
            later.contains("sync(") && later.contains(&format!("<{parent}>")) && !has_failed
        });
        assert!(is_synced, "{parent} is not synced after {call}");
        named += 1;
    }
    assert!(named >= 5, "{named} names: {calls:#?}");
    println!("{named} names, every one synced");
}
