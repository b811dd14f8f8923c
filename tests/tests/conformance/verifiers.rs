//! What we write of a log, checked by code that shares nothing with ours. It takes every good folder
//! and refuses every one that was changed.

#![expect(
    clippy::unwrap_used,
    reason = "a harness stops the test at once where something is missing"
)]

use std::convert::Infallible;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use x811_eventlog::note::NoteKey;
use x811_eventlog::{
    Checkpoint, ConsistencyProof, Draft, EventLog, Hash, InclusionProof, MemoryLog, Node, Record,
    root_of,
};
use x811_ledger::export::write_tiles;
use x811_protocol::key::SecretKey;
use x811_tests::binary::{Finished, Server, run};
use x811_tests::verifiers::{Job, Verifier};

const ORIGIN: &str = "ledger.example/log";

/// What every verifier says of a job, once all of them say that it holds.
#[track_caller]
fn taken(job: &Job) -> [String; 2] {
    Verifier::ALL.map(|verifier| {
        let verdict = verifier.judge(job.clone());
        verdict.unwrap_or_else(|why| panic!("{verifier:?} refuses {job:?}: {why}"))
    })
}

fn succeeds(finished: Finished) {
    drop(finished.ok());
}

fn key() -> SecretKey {
    SecretKey::from_seed([7; 32])
}

fn vkey() -> String {
    let key = NoteKey::new(ORIGIN, *key().public().as_bytes()).unwrap();
    key.to_vkey()
}

/// A log exported in tiles.
struct Corpus {
    folder: TempDir,
    leaves: Vec<Hash>,
}

impl Corpus {
    /// Of `size` records that mean nothing.
    fn of(size: u64) -> Corpus {
        let log = MemoryLog::default();
        let (mut prev, mut leaves, mut batch) = (Hash::ZERO, Vec::new(), Vec::new());
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.build().unwrap();
        for position in 0..size {
            let draft = Draft {
                recorded_at_ms: position,
                stream: "any".to_owned(),
                stream_seq: position,
                event: serde_json::json!({ "type": "any", "n": position }),
            };
            let record = Record::seal(position, prev, draft).unwrap();
            prev = record.hash();
            leaves.push(prev);
            batch.push(record);
            if batch.len() == 1_000 || position + 1 == size {
                let expected = position + 1 - batch.len() as u64;
                runtime.block_on(log.append(expected, &batch)).unwrap();
                batch.clear();
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let root = runtime.block_on(write_tiles(&log, size, |tile, bytes| {
            put(&folder.path().join(tile.to_string()), bytes);
            Ok(())
        }));
        let checkpoint = Checkpoint {
            origin: ORIGIN.to_owned(),
            size,
            root: root.unwrap(),
        };
        assert_eq!(checkpoint.root, root_of(&leaves));
        let public = *key().public().as_bytes();
        let note = checkpoint.sign(public, |message| *key().sign(message).as_bytes());
        put(&folder.path().join("checkpoint"), note.unwrap().as_bytes());
        Corpus { folder, leaves }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn tiles(&self) -> Job {
        Job::tiles(self.folder.path(), &vkey())
    }

    /// Proofs of records and of earlier trees, one of `every`, as lines for the verifier.
    fn proofs(&self, every: usize) -> String {
        let (size, root) = (self.leaves.len() as u64, root_of(&self.leaves));
        let node = |node: Node| {
            let from = (node.index() << node.level()) as usize;
            Ok::<_, Infallible>(root_of(&self.leaves[from..from + (1 << node.level())]))
        };
        let mut lines = String::new();
        for n in (0..size).step_by(every) {
            let leaf = self.leaves[n as usize];
            let Ok(proof) = InclusionProof::build(n, size, node);
            writeln!(
                lines,
                "inclusion {n} {size} {leaf} {root}{}",
                path(&proof.unwrap().path)
            )
            .unwrap();
            let (old, old_root) = (n + 1, root_of(&self.leaves[..=n as usize]));
            let Ok(proof) = ConsistencyProof::build(old, size, node);
            let path = path(&proof.unwrap().path);
            writeln!(lines, "consistency {old} {size} {old_root} {root}{path}").unwrap();
        }
        lines
    }
}

fn path(hashes: &[Hash]) -> String {
    hashes.iter().map(|hash| format!(" {hash}")).collect()
}

fn put(path: &Path, bytes: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

#[test]
fn c2sp_others_take_logs_of_every_shape_and_every_proof_of_ours() {
    for (size, every) in [
        (1, 1),
        (2, 1),
        (3, 1),
        (255, 1),
        (256, 1),
        (257, 1),
        (600, 7),
    ] {
        let corpus = Corpus::of(size);
        let proofs = corpus.proofs(every);
        let file = corpus.path("proofs");
        put(&file, proofs.as_bytes());
        let all = format!("{size} entries in the tree");
        assert_eq!(taken(&corpus.tiles()), [&*all; 2]);
        let all = format!("{} proofs", proofs.lines().count());
        assert_eq!(taken(&Job::proofs(&file)), [&*all; 2]);
    }
}

/// transparency-log.md section B.2's example: three levels of tiles.
#[test]
#[ignore = "20 s of one core: part everything of scripts/test.sh --full"]
fn c2sp_others_take_a_log_of_70_000_records() {
    let corpus = Corpus::of(70_000);
    for path in ["tile/0/273.p/112", "tile/1/001.p/17", "tile/2/000.p/1"] {
        assert!(corpus.path(path).exists(), "{path}");
    }
    assert_eq!(taken(&corpus.tiles()), ["70000 entries in the tree"; 2]);
}

/// A copy of a folder with some files of other bytes, or without them.
fn changed(good: &[(String, Vec<u8>)], changes: &[(&str, Option<&[u8]>)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in good {
        let change = changes.iter().find(|(changed, _)| changed == name);
        if let Some(bytes) = change.map_or(Some(&**bytes), |(_, bytes)| *bytes) {
            put(&folder.path().join(name), bytes);
        }
    }
    folder
}

/// What a verifier takes though it was changed: nothing that is hashed or signed.
fn lenient(verifier: Verifier) -> &'static [&'static str] {
    match verifier {
        Verifier::Go
        | Verifier::Reader
        | Verifier::ScittCose
        | Verifier::Joserfc
        | Verifier::Jose
        | Verifier::Jsonschema => &[],
        // It does without the last line end, and reads of the tiles at the edge what it needs.
        Verifier::Aics => &[
            "checkpoint, cut short",
            "tile/0/002.p/88, a byte more",
            "tile/1/000.p/2, a byte more",
        ],
    }
}

#[test]
fn c2sp_others_refuse_every_changed_folder() {
    let corpus = Corpus::of(600);
    let good = files(corpus.folder.path());
    let (mut folders, mut what) = (Vec::new(), Vec::new());
    for (name, bytes) in &good {
        let mut change = |how: &str, bad: Option<&[u8]>| {
            folders.push(changed(&good, &[(name, bad)]));
            what.push(format!("{name}, {how}"));
        };
        for at in [0, bytes.len() / 3, bytes.len() / 2, bytes.len() - 2] {
            let mut bad = bytes.clone();
            bad[at] ^= 1;
            change(&format!("byte {at}"), Some(&bad));
        }
        change("cut short", Some(&bytes[..bytes.len() - 1]));
        change("a byte more", Some(&[bytes, &b"\0"[..]].concat()));
        change("missing", None);
    }
    assert_eq!(folders.len(), 8 * 7, "every file, in every way");
    let [first, second] = ["tile/entries/000", "tile/entries/001"];
    let bytes = |name| {
        let found = good.iter().find(|(found, _)| found == name);
        found.map(|(_, bytes)| &**bytes)
    };
    let swapped = [(first, bytes(second)), (second, bytes(first))];
    folders.push(changed(&good, &swapped));
    what.push("entries swapped".to_owned());

    let mut jobs = vec![corpus.tiles()];
    jobs.extend(
        folders
            .iter()
            .map(|folder| Job::tiles(folder.path(), &vkey())),
    );
    let other = NoteKey::new(ORIGIN, *SecretKey::from_seed([8; 32]).public().as_bytes());
    jobs.push(Job::tiles(corpus.folder.path(), &other.unwrap().to_vkey()));
    what.push("another key".to_owned());
    for verifier in Verifier::ALL {
        let mut verdicts = verifier.judge_all(&jobs).into_iter();
        assert!(verdicts.next().unwrap().is_ok(), "{verifier:?}");
        let taken = verdicts.zip(&what).filter(|(verdict, _)| verdict.is_ok());
        let taken: Vec<&str> = taken.map(|(_, what)| &**what).collect();
        assert_eq!(taken, lenient(verifier), "{verifier:?}");
    }
}

#[test]
fn c2sp_others_refuse_every_changed_proof() {
    let corpus = Corpus::of(11);
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    let mut number = 0;
    let mut job = |line: &str| {
        number += 1;
        let file = corpus.path(&format!("proof-{number}"));
        put(&file, line.as_bytes());
        Job::proofs(&file)
    };
    for line in corpus.proofs(3).lines() {
        good.push(job(line));
        let words: Vec<&str> = line.split(' ').collect();
        // The size of the tree, word 2, is bound to its root by the checkpoint alone.
        for at in (1..words.len()).filter(|at| *at != 2) {
            let mut changed = words.clone();
            let swapped = match words[at].strip_suffix('0') {
                Some(before) => format!("{before}1"),
                None => format!("{}0", &words[at][..words[at].len() - 1]),
            };
            changed[at] = &swapped;
            bad.push(job(&changed.join(" ")));
        }
    }
    assert!(bad.len() > 40, "{}", bad.len());
    for verifier in Verifier::ALL {
        for (job, verdict) in good.iter().zip(verifier.judge_all(&good)) {
            assert!(verdict.is_ok(), "{verifier:?}, {job:?}: {verdict:?}");
        }
        for (job, verdict) in bad.iter().zip(verifier.judge_all(&bad)) {
            assert!(verdict.is_err(), "{verifier:?} takes {job:?}: {verdict:?}");
        }
    }
}

const SERVE: [&str; 7] = [
    "--open-reads",
    "--network",
    "local",
    "--token",
    "0x5FbDB2315678afecb367f032d93F642f64180aa3",
    "--rpc-url",
    "http://127.0.0.1:1",
];

/// Every file under `folder`, by its path in it.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let (mut folders, mut found) = (vec![folder.to_owned()], Vec::new());
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap();
                found.push((name.to_owned(), fs::read(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

fn export(place: &TempDir, name: &str) -> (PathBuf, String) {
    let (data_dir, folder) = (place.path().join("ledger"), place.path().join(name));
    let exported = run(&[
        "--json",
        "export",
        data_dir.to_str().unwrap(),
        "--tiles",
        folder.to_str().unwrap(),
    ]);
    let vkey = exported.ok().json()["vkey"].as_str().unwrap().to_owned();
    (folder, vkey)
}

#[tokio::test]
async fn c2sp_a_real_ledger_is_exported_and_served_as_the_same_files() {
    let place = tempfile::tempdir().unwrap();
    let server = Server::start(&place.path().join("ledger"), &SERVE).unwrap();
    let home = place.path().join("agents");
    for name in ["ada", "bert"] {
        let global = [
            "--json",
            "--home",
            home.to_str().unwrap(),
            "--ledger",
            server.url(),
        ];
        succeeds(run(&[&global[..], &["agent", "new", name]].concat()));
        let register = ["--agent", name, "agent", "register", "--capability", "echo"];
        succeeds(run(&[&global[..], &register].concat()));
    }
    server.stop();

    let (once, vkey) = export(&place, "once");
    let (again, _) = export(&place, "again");
    assert_eq!(files(&once), files(&again), "byte-identical each time");
    let _ = taken(&Job::tiles(&once, &vkey));

    let _ = rustls::crypto::ring::default_provider().install_default();
    let server = Server::start(&place.path().join("ledger"), &SERVE).unwrap();
    for (name, bytes) in files(&once) {
        if name == "checkpoint" {
            continue;
        }
        let url = format!("{}/log/{name}", server.url());
        let served = loop {
            let answer = reqwest::get(&url).await.unwrap();
            // Until the first checkpoint of this run is signed.
            if answer.status() != 503 {
                break answer;
            }
            tokio::task::yield_now().await;
        };
        assert_eq!(served.status(), 200, "{name}");
        assert_eq!(served.bytes().await.unwrap(), bytes, "{name}");
    }
    let shown = reqwest::get(format!("{}/.well-known/x811.json", server.url()));
    let shown: serde_json::Value = shown.await.unwrap().json().await.unwrap();
    assert_eq!(shown["checkpoint_vkey"], vkey);

    let data_dir = place.path().join("ledger");
    let taken = once.to_str().unwrap();
    let refused = run(&["export", data_dir.to_str().unwrap(), "--tiles", taken]);
    assert_eq!(refused.code, Some(4), "{refused:?}");
    assert_eq!(files(&once), files(&again), "nothing of it was touched");
}
