//! Verifiers by other authors, which share nothing with our code: Go's `sumdb/note` and
//! `sumdb/tlog`, and `aics-tlog`. `tests/verifiers` has the programs that put them to work; all of
//! them read jobs and answer each with a line.

#![expect(
    clippy::expect_used,
    reason = "a harness stops the test at once, and the message names what was missing"
)]

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::thread;

use crate::anvil::checkout;

/// A program that is not ours and verifies what we write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verifier {
    /// Go's `sumdb/note` and `sumdb/tlog`. Knows no cosignatures.
    Go,
    /// PyPI `aics-tlog`, for logs and proofs.
    Aics,
    /// The reader of bundles, receipts and rendered contracts in `tests/verifiers`, which was written
    /// from the texts beside `FORMAT.md` and from `docs/`.
    Reader,
    /// PyPI `scitt-cose`, for COSE statements alone.
    ScittCose,
    /// PyPI `joserfc`, for agreements as JWS and for traces.
    Joserfc,
    /// npm `jose`, for the same.
    Jose,
    /// PyPI `jsonschema`, for schemas alone.
    Jsonschema,
}

/// What is to be verified: a kind of file, the files and the keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job(String);

/// What was found to hold, or why it does not.
pub type Verdict = Result<String, String>;

impl Job {
    /// A signed checkpoint by the log `vkey`, cosigned by all `witnesses`.
    #[must_use]
    pub fn checkpoint(file: &Path, vkey: &str, witnesses: &[&str]) -> Job {
        let words = [&["checkpoint", in_words(file), vkey], witnesses].concat();
        Job(words.join("\t"))
    }

    /// A folder of tiles and the checkpoint in it.
    #[must_use]
    pub fn tiles(folder: &Path, vkey: &str) -> Job {
        Job(["tiles", in_words(folder), vkey].join("\t"))
    }

    /// A proof file about its own `extra`.
    #[must_use]
    pub fn proof(file: &Path, vkey: &str) -> Job {
        Job(["proof", in_words(file), vkey].join("\t"))
    }

    /// What a witness is sent, to be checked against the checkpoint `older`.
    #[must_use]
    pub fn consistency(file: &Path, older: &Path, vkey: &str) -> Job {
        Job(["consistency", in_words(file), in_words(older), vkey].join("\t"))
    }

    /// A bundle, to be judged by [`Verifier::Reader`].
    #[must_use]
    pub fn export(file: &Path) -> Job {
        Job(["export", in_words(file)].join("\t"))
    }

    /// A receipt in JSON, to be judged by [`Verifier::Reader`] for one who trusts the log `vkey`.
    #[must_use]
    pub fn receipt(file: &Path, vkey: &str) -> Job {
        Job(["receipt", in_words(file), vkey].join("\t"))
    }

    /// A rendered contract, to be judged by [`Verifier::Reader`].
    #[must_use]
    pub fn rendered(file: &Path) -> Job {
        Job(["rendered", in_words(file)].join("\t"))
    }

    /// A compact receipt by the keys of `log` and `issuer`, in hex.
    #[must_use]
    pub fn statement(file: &Path, log: &str, issuer: &str) -> Job {
        Job(["statement", in_words(file), log, issuer].join("\t"))
    }

    /// An agreement as a JWS.
    #[must_use]
    pub fn jws(file: &Path) -> Job {
        Job(["jws", in_words(file)].join("\t"))
    }

    /// Schemas and instances, one pair a line.
    #[must_use]
    pub fn schemas(file: &Path) -> Job {
        Job(["schemas", in_words(file)].join("\t"))
    }

    /// All words of JSON Schema 2020-12, to be named by [`Verifier::Jsonschema`].
    #[must_use]
    pub fn keywords() -> Job {
        Job("keywords".to_owned())
    }

    /// A trace that has to be by the key `kid`, to be judged by [`Verifier::Joserfc`].
    #[must_use]
    pub fn trace(file: &Path, kid: &str) -> Job {
        Job(["trace", in_words(file), kid].join("\t"))
    }

    /// Bare proofs, one a line: the kind, two numbers, two hashes, the path.
    #[must_use]
    pub fn proofs(file: &Path) -> Job {
        Job(["proofs", in_words(file)].join("\t"))
    }
}

fn in_words(path: &Path) -> &str {
    path.to_str().expect("the tests name their files in UTF-8")
}

impl Verifier {
    /// Those of other authors, who judge everything but bundles.
    pub const ALL: [Verifier; 2] = [Verifier::Go, Verifier::Aics];

    /// Its verdict on one job.
    ///
    /// # Panics
    /// When it is not installed, or breaks.
    pub fn judge(self, job: Job) -> Verdict {
        let mut verdicts = self.judge_all(&[job]);
        verdicts.pop().expect("as many verdicts as jobs")
    }

    /// Its verdicts, in the order of the jobs.
    ///
    /// # Panics
    /// When it is not installed, or breaks.
    #[must_use]
    pub fn judge_all(self, jobs: &[Job]) -> Vec<Verdict> {
        let mut process = self
            .command()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the verifier starts");
        let mut stdin = process.stdin.take().expect("stdin is piped");
        let lines: String = jobs.iter().map(|job| format!("{}\n", job.0)).collect();
        // Whoever writes without reading can wait for one who does the same.
        let written = thread::spawn(move || stdin.write_all(lines.as_bytes()));
        let output = process.wait_with_output().expect("it ends with its input");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success(),
            "{self:?} broke: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let written = written.join().expect("writing does not panic");
        written.expect("the verifier reads every job");
        let verdicts: Vec<Verdict> = said.lines().map(verdict).collect();
        assert_eq!(verdicts.len(), jobs.len(), "{self:?} said {said}");
        verdicts
    }

    fn command(self) -> Command {
        match self {
            Self::Go => Command::new(go_program()),
            Self::Aics => python("aics.py"),
            Self::ScittCose => python("cose.py"),
            Self::Joserfc => python("jws.py"),
            Self::Jose => node("jws.mjs"),
            Self::Jsonschema => python("schemas.py"),
            Self::Reader => python("export.py"),
        }
    }
}

fn verdict(line: &str) -> Verdict {
    match line.split_once('\t') {
        Some(("ok", what)) => Ok(what.to_owned()),
        Some(("refused", why)) => Err(why.to_owned()),
        _ => panic!("no verdict: {line}"),
    }
}

/// A program of `tests/verifiers` and the Python that has what it imports.
///
/// # Panics
/// When that Python is not installed.
#[must_use]
pub fn python(program: &str) -> Command {
    let mut command = installed("python");
    // Several tests at once: none may read what another has half written.
    command.arg("-B").arg(sources().join(program));
    command
}

/// A program of `tests/verifiers` for Node, with what `npm ci` installs.
fn node(program: &str) -> Command {
    let mut command = Command::new("node");
    command.arg(sources().join(program));
    command
}

/// A program that `scripts/verifiers.sh` installs.
///
/// # Panics
/// When it is not there.
#[must_use]
pub fn installed(program: &str) -> Command {
    let program = target().join("verifiers/python/bin").join(program);
    assert!(
        program.exists(),
        "{} is missing: run scripts/verifiers.sh",
        program.display()
    );
    Command::new(program)
}

fn sources() -> PathBuf {
    checkout().join("tests/verifiers")
}

/// The folder that every profile is built under.
fn target() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own path");
    let target = test.ancestors().nth(3);
    target.expect("tests run from <profile>/deps").to_owned()
}

/// Built by each process of tests, all of them from one cache.
fn go_program() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let folder = target().join("verifiers");
        fs::create_dir_all(&folder).expect("the target folder can be written to");
        let part = folder.join(format!("tlog-{}", std::process::id()));
        let sources = ["main.go", "tiles.go", "proofs.go"];
        let built = Command::new("go")
            .args(["build", "-o"])
            .arg(&part)
            .args(sources.map(|name| self::sources().join("tlog").join(name)))
            .env("GO111MODULE", "off")
            .env("GOPATH", "/usr/share/gocode")
            .env("GOCACHE", folder.join("go-cache"))
            .status()
            .expect("Go is installed (Debian: golang-go and golang-golang-x-mod-dev)");
        assert!(built.success(), "golang-golang-x-mod-dev is installed");
        let program = folder.join("tlog");
        fs::rename(&part, &program).expect("both lie in one folder");
        program
    })
}
