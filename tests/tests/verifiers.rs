//! What we write of a log, checked by code that shares nothing with ours: Go's `sumdb/note` and
//! `sumdb/tlog`. It takes every good folder and refuses every one that was changed.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a harness stops the test at once where something is missing"
)]

use std::convert::Infallible;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use tempfile::TempDir;
use x811_eventlog::note::NoteKey;
use x811_eventlog::{
    Checkpoint, ConsistencyProof, Draft, EventLog, Hash, InclusionProof, MemoryLog, Node, Record,
    root_of,
};
use x811_ledger::export::write_tiles;
use x811_protocol::key::SecretKey;
use x811_tests::binary::{Finished, Server, run};

const ORIGIN: &str = "ledger.example/log";

/// The verifier, built once beside the tests.
fn verifier() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let test = std::env::current_exe().unwrap();
        let folder = test.ancestors().nth(2).unwrap().join("verifiers");
        fs::create_dir_all(&folder).unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("verifiers/tlog/main.go");
        let binary = folder.join(format!("tlog-{}", std::process::id()));
        let built = Command::new("go")
            .args(["build", "-o"])
            .args([&binary, &source])
            .env("GO111MODULE", "off")
            .env("GOPATH", "/usr/share/gocode")
            .env("GOCACHE", folder.join("go-cache"))
            .status()
            .expect("Go is installed (Debian: golang-go and golang-golang-x-mod-dev)");
        assert!(built.success(), "golang-golang-x-mod-dev is installed");
        binary
    })
}

fn verify(folder: &Path, vkey: &str, proofs: Option<&Path>) -> Finished {
    let mut command = Command::new(verifier());
    command.arg(folder).arg(vkey).args(proofs);
    Finished::from(command.output().unwrap())
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
fn c2sp_go_takes_logs_of_every_shape_and_every_proof_of_ours() {
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
        let taken = verify(corpus.folder.path(), &vkey(), Some(&file)).ok();
        let expected = format!(
            "checkpoint of {size} records opened, {size} entries hashed\n{} proofs checked\n",
            proofs.lines().count()
        );
        assert_eq!(taken.stdout, expected);
    }
}

/// transparency-log.md section B.2's example: three levels of tiles.
#[test]
fn c2sp_go_takes_a_log_of_70_000_records() {
    let corpus = Corpus::of(70_000);
    for path in ["tile/0/273.p/112", "tile/1/001.p/17", "tile/2/000.p/1"] {
        assert!(corpus.path(path).exists(), "{path}");
    }
    succeeds(verify(corpus.folder.path(), &vkey(), None));
}

#[track_caller]
fn refused(corpus: &Corpus, what: &str) {
    let finished = verify(corpus.folder.path(), &vkey(), None);
    assert_eq!(finished.code, Some(1), "{what}: {finished:?}");
    assert!(!finished.stderr.contains("panic"), "{what}: {finished:?}");
}

#[test]
fn c2sp_go_refuses_every_changed_folder() {
    let corpus = Corpus::of(600);
    succeeds(verify(corpus.folder.path(), &vkey(), None));
    let files = [
        "checkpoint",
        "tile/0/000",
        "tile/0/001",
        "tile/0/002.p/88",
        "tile/1/000.p/2",
        "tile/entries/000",
        "tile/entries/002.p/88",
    ];
    for name in files {
        let good = fs::read(corpus.path(name)).unwrap();
        for at in [0, good.len() / 3, good.len() / 2, good.len() - 2] {
            let mut bad = good.clone();
            bad[at] ^= 1;
            put(&corpus.path(name), &bad);
            refused(&corpus, &format!("{name}, byte {at}"));
        }
        put(&corpus.path(name), &good[..good.len() - 1]);
        refused(&corpus, &format!("{name}, cut short"));
        put(&corpus.path(name), &[&*good, b"\0"].concat());
        refused(&corpus, &format!("{name}, a byte more"));
        fs::remove_file(corpus.path(name)).unwrap();
        refused(&corpus, &format!("{name}, missing"));
        put(&corpus.path(name), &good);
    }
    let [first, second] =
        ["tile/entries/000", "tile/entries/001"].map(|name| fs::read(corpus.path(name)).unwrap());
    put(&corpus.path("tile/entries/000"), &second);
    put(&corpus.path("tile/entries/001"), &first);
    refused(&corpus, "entries swapped");
    put(&corpus.path("tile/entries/000"), &first);
    put(&corpus.path("tile/entries/001"), &second);
    let other = NoteKey::new(ORIGIN, *SecretKey::from_seed([8; 32]).public().as_bytes());
    let other = verify(corpus.folder.path(), &other.unwrap().to_vkey(), None);
    assert_eq!(other.code, Some(1), "{other:?}");
    succeeds(verify(corpus.folder.path(), &vkey(), None));
}

#[test]
fn c2sp_go_refuses_every_changed_proof() {
    let corpus = Corpus::of(11);
    let file = corpus.path("proofs");
    for line in corpus.proofs(3).lines() {
        put(&file, line.as_bytes());
        succeeds(verify(corpus.folder.path(), &vkey(), Some(&file)));
        let words: Vec<&str> = line.split(' ').collect();
        // The size of the tree, word 2, is bound to its root by the checkpoint alone.
        for at in (1..words.len()).filter(|at| *at != 2) {
            let mut changed = words.clone();
            let swapped = match words[at].strip_suffix('0') {
                Some(before) => format!("{before}1"),
                None => format!("{}0", &words[at][..words[at].len() - 1]),
            };
            changed[at] = &swapped;
            put(&file, changed.join(" ").as_bytes());
            let refused = verify(corpus.folder.path(), &vkey(), Some(&file));
            assert_ne!(refused.code, Some(0), "{changed:?}");
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
    succeeds(verify(&once, &vkey, None));

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
