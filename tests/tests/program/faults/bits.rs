//! One bit of the databases or their write-ahead logs changes where it lies. `x811 doctor` finds it,
//! or the file is refused by name, or nothing that is stored has changed, for the bit lay where
//! nothing is. And whatever is served is what was served before, or an error.

use super::client::{Told, get, ledger_did, post};
use super::dealing::Pair;
use super::dice::Dice;
use super::ledger::{Ledger, Place};
use serde_json::Value;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use x811_tests::size::from_environment;

/// Flips of a run that names no number; all that are asked for have their place by chance.
const FLIPS: u64 = 12;

/// The seed of a run that names none.
const SEED: u64 = 811;

/// What a ledger leaves that was killed, and one that ended in order.
const LEFT_BY: [&[&str]; 2] = [
    &["ledger.db", "read.db", "ledger.db-wal", "read.db-wal"],
    &["ledger.db", "read.db"],
];

/// What holds no answer: when and how migrations ran, how often the ledger was opened, when it was
/// last up, and nonces of the last minutes that were refused.
const NO_ANSWERS: [&str; 4] = ["_sqlx_migrations", "writer", "tick", "nonce_journal"];

/// Answers by the path that they were asked at.
type Answers = BTreeMap<String, Value>;

/// Rows by table and file.
type Content = BTreeMap<&'static str, BTreeMap<String, Vec<Option<String>>>>;

/// What there was before any bit changed.
struct Before {
    place: Place,
    paths: Vec<String>,
    answers: Answers,
    content: Content,
}

/// What became of a bit.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Clone, Copy)]
enum Outcome {
    Found,
    RefusedByName,
    NothingThere,
}

/// A ledger with whole interactions, killed once all of it was signed; and what to ask of it.
async fn killed(place: &Place) -> Vec<String> {
    let ledger = place.start();
    let did = ledger_did(&ledger.url).await.unwrap();
    let mut pair = Pair::new("bits");
    let mut paths = BTreeSet::new();
    while pair.paid.len() < 3 {
        let sealed = pair.say(did);
        let told = post(&ledger.url, &sealed).await;
        assert!(matches!(told, Told::Accepted(_)), "{told:?}");
        paths.insert(format!("/api/v1/messages/by-id/{}", sealed.header.id));
        paths.insert(format!("/api/v1/messages/{}", sealed.header.from.uuid()));
        paths.insert(format!("/api/v1/agents/{}", sealed.header.from.uuid()));
    }
    for interaction in &pair.paid {
        paths.insert(format!("/api/v1/interactions/{interaction}"));
        paths.insert(format!("/api/v1/interactions/{interaction}/history"));
    }
    signed(&ledger).await;
    ledger.kill();
    paths.into_iter().collect()
}

/// Waits until a checkpoint covers everything.
async fn signed(ledger: &Ledger) {
    for _ in 0..200 {
        let (_, ready) = get(&ledger.url, "/ready").await.unwrap();
        if ready["size"] == ready["checkpoint_size"] && ready["rows_lag"] == 0 {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("nothing is signed");
}

async fn ask(ledger: &Ledger, paths: &[String]) -> Answers {
    let mut answers = Answers::new();
    for path in paths {
        let answer = get(&ledger.url, path).await;
        let answer = answer.filter(|(status, _)| *status == 200);
        answers.extend(answer.map(|(_, answer)| (path.clone(), answer)));
    }
    answers
}

/// All that is stored and that an answer is made of.
async fn content(data_dir: &Path, file: &str) -> BTreeMap<String, Vec<Option<String>>> {
    let options = SqliteConnectOptions::new().filename(data_dir.join(file));
    let mut connection = options.connect().await.unwrap();
    let tables: Vec<String> =
        sqlx::query_scalar("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
            .fetch_all(&mut connection)
            .await
            .unwrap();
    let mut content = BTreeMap::new();
    for table in tables
        .iter()
        .filter(|name| !NO_ANSWERS.contains(&name.as_str()))
    {
        content.insert(table.clone(), rows(&mut connection, table).await);
    }
    connection.close().await.unwrap();
    content
}

async fn rows(connection: &mut SqliteConnection, table: &str) -> Vec<Option<String>> {
    let columns: Vec<String> = sqlx::query_scalar("SELECT name FROM pragma_table_info(?)")
        .bind(table)
        .fetch_all(&mut *connection)
        .await
        .unwrap();
    let columns: Vec<String> = columns
        .iter()
        .map(|name| format!("quote({name})"))
        .collect();
    let select = format!(
        "SELECT {} AS row FROM {table} ORDER BY row",
        columns.join(" || ',' || ")
    );
    let rows = sqlx::query_scalar(AssertSqlSafe(select));
    rows.fetch_all(connection).await.unwrap()
}

fn flip(file: &Path, byte: u64, bit: u64) {
    let mut bytes = std::fs::read(file).unwrap();
    bytes[usize::try_from(byte).unwrap()] ^= 1 << bit;
    std::fs::write(file, bytes).unwrap();
}

/// What `x811 doctor` says, and what is served.
async fn outcome(place: &Place, file: &str, before: &Before, bit: (u64, u64)) -> Outcome {
    let due = &before.answers;
    let examined = place.copied();
    for copy in [place, &examined] {
        flip(&copy.data_dir.join(file), bit.0, bit.1);
    }
    let (code, said) = examined.doctor_says();
    let by_doctor = match code {
        Some(0) => None,
        Some(20) => Some(Outcome::Found),
        Some(4) => Some(Outcome::RefusedByName),
        other => panic!("{other:?}: {said}"),
    };
    let unchanged = place.copied();
    let started = place.try_start();
    if let Ok(ledger) = &started {
        let answers = ask(ledger, &before.paths).await;
        for (path, answer) in &answers {
            let is_short = by_doctor.is_some() && is_part(answer, &due[path]);
            assert!(
                answer == &due[path] || is_short,
                "{file} {bit:?}: {path} says {answer}, before {}\n{said}",
                due[path]
            );
        }
        if by_doctor.is_none() {
            assert_eq!(&answers, due, "{file} {bit:?}: {said} {}", ledger.said());
        }
    }
    match (by_doctor, started) {
        (Some(outcome), _) => outcome,
        (None, Err(ended)) => {
            assert_eq!(ended.status.code(), Some(4), "{file} {bit:?}: {ended:?}");
            Outcome::RefusedByName
        }
        (None, Ok(_)) => {
            for (name, due) in &before.content {
                let found = content(&unchanged.data_dir, name).await;
                assert!(found == *due, "{file} {bit:?}: nobody noticed: {said}");
            }
            Outcome::NothingThere
        }
    }
}

/// An inbox that lacks messages, none of which is another than before.
fn is_part(answer: &Value, due: &Value) -> bool {
    let messages = |page: &Value| page["messages"].as_array().cloned();
    match (messages(answer), messages(due)) {
        (Some(some), Some(all)) => some.iter().all(|message| all.contains(message)),
        _ => false,
    }
}

impl Before {
    async fn at(place: Place, paths: &[String]) -> Before {
        let (as_it_was, served) = (place.copied(), place.copied());
        let mut content_of = Content::new();
        for file in ["ledger.db", "read.db"] {
            content_of.insert(file, content(&as_it_was.data_dir, file).await);
        }
        let answers = ask(&served.start(), paths).await;
        assert_eq!(answers.len(), paths.len());
        Before {
            place,
            paths: paths.to_vec(),
            answers,
            content: content_of,
        }
    }
}

#[tokio::test]
async fn rest_4_one_bit_that_changed_is_found_or_refused_and_nothing_wrong_is_served() {
    let mut dice = Dice::seeded("bits", SEED);
    let killed_one = Place::new();
    let paths = killed(&killed_one).await;
    let stopped = killed_one.copied();
    assert!(stopped.start().stop().status.success());
    let before = [
        Before::at(killed_one, &paths).await,
        Before::at(stopped, &paths).await,
    ];
    let mut counts: BTreeMap<(&str, Outcome), u64> = BTreeMap::new();
    for _ in 0..from_environment("X811_FLIPS").unwrap_or(FLIPS) {
        let one = usize::try_from(dice.below(2)).unwrap();
        let (before, files) = (&before[one], LEFT_BY[one]);
        let file = files[usize::try_from(dice.below(files.len() as u64)).unwrap()];
        let place = before.place.copied();
        let length = std::fs::metadata(place.data_dir.join(file)).unwrap().len();
        let bit = (dice.below(length), dice.below(8));
        let outcome = outcome(&place, file, before, bit).await;
        println!("{file} byte {} bit {}: {outcome:?}", bit.0, bit.1);
        *counts.entry((file, outcome)).or_default() += 1;
    }
    println!("{counts:?}");
}
