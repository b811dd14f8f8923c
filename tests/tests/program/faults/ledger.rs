//! A ledger of one test, started, ended and audited as an operator would.

use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;
use tempfile::TempDir;
use x811_tests::binary::{Finished, run, without_our_variables, x811};

/// How long a process may take to end by itself.
const PATIENCE: Duration = Duration::from_secs(20);
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Where a ledger lives, and what it is started with.
pub(crate) struct Place {
    pub(crate) folder: TempDir,
    pub(crate) data_dir: PathBuf,
    pub(crate) checkpoint_dir: PathBuf,
    /// What the binary is run under, such as strace with its options.
    pub(crate) under: Vec<String>,
    /// Further options of `serve`.
    pub(crate) options: Vec<String>,
    /// Where it listens.
    pub(crate) listen: String,
}

/// A running ledger. Killed when dropped.
pub(crate) struct Ledger {
    process: Child,
    pub(crate) url: String,
    said: Arc<Mutex<String>>,
    readers: Vec<JoinHandle<()>>,
}

/// How a process ended, and what it said until then.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) said: String,
}

impl Place {
    pub(crate) fn new() -> Place {
        let folder = TempDir::new().unwrap();
        let data_dir = folder.path().join("data");
        let checkpoint_dir = folder.path().join("checkpoint");
        Place {
            folder,
            data_dir,
            checkpoint_dir,
            under: Vec::new(),
            options: Vec::new(),
            listen: "127.0.0.1:0".to_owned(),
        }
    }

    fn command(&self) -> Command {
        let mut words = self.under.iter().map(PathBuf::from).collect::<Vec<_>>();
        words.push(x811());
        let mut command = Command::new(&words[0]);
        without_our_variables(&mut command);
        command
            .args(&words[1..])
            .args(["serve", "--listen", &self.listen, "--open-reads"])
            // Nobody listens there: the ledger starts blind, and these tests need no chain.
            .args(["--rpc-url", "http://127.0.0.1:1"])
            .arg("--data-dir")
            .arg(&self.data_dir)
            .arg("--checkpoint-dir")
            .arg(&self.checkpoint_dir)
            .args(&self.options)
            .env("RUST_LOG", "warn")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Starts it, and waits for nothing.
    pub(crate) fn spawn(&self) -> Child {
        self.command().spawn().unwrap()
    }

    /// Starts it and waits until it says where it listens.
    pub(crate) fn try_start(&self) -> Result<Ledger, Ended> {
        let mut process = self.spawn();
        let said = Arc::new(Mutex::new(String::new()));
        let mut stderr = process.stderr.take().unwrap();
        let mut stdout = BufReader::new(process.stdout.take().unwrap());
        let (all, rest) = (said.clone(), said.clone());
        let mut readers = vec![std::thread::spawn(move || {
            let mut buffer = [0; 4_096];
            while let Ok(read @ 1..) = stderr.read(&mut buffer) {
                let text = String::from_utf8_lossy(&buffer[..read]).into_owned();
                all.lock().unwrap().push_str(&text);
            }
        })];
        let mut line = String::new();
        let mut url = None;
        while url.is_none() && stdout.read_line(&mut line).is_ok_and(|read| read > 0) {
            url = url_in(&line);
            said.lock().unwrap().push_str(&std::mem::take(&mut line));
        }
        readers.push(std::thread::spawn(move || {
            let mut text = String::new();
            while stdout.read_line(&mut text).is_ok_and(|read| read > 0) {
                rest.lock().unwrap().push_str(&std::mem::take(&mut text));
            }
        }));
        let mut ledger = Ledger {
            process,
            url: url.clone().unwrap_or_default(),
            said,
            readers,
        };
        match url {
            Some(_) => Ok(ledger),
            None => Err(ledger.ended()),
        }
    }

    #[track_caller]
    pub(crate) fn start(&self) -> Ledger {
        self.try_start()
            .unwrap_or_else(|ended| panic!("the ledger starts: {ended:?}"))
    }

    /// The start must be refused with these words.
    #[track_caller]
    pub(crate) fn refused(&self, words: &[&str]) {
        match self.try_start() {
            Ok(ledger) => panic!("it must not start: {}", ledger.said()),
            Err(ended) => {
                assert_eq!(ended.status.code(), Some(4), "{}", ended.said);
                for word in words {
                    assert!(ended.said.contains(word), "no {word:?} in: {}", ended.said);
                }
            }
        }
    }

    /// What `x811 audit` says of the data directory.
    pub(crate) fn audit(&self, expect_head: Option<&str>) -> Finished {
        let data_dir = self.data_dir.to_str().unwrap();
        let mut arguments = vec!["--json", "audit", data_dir];
        if let Some(head) = expect_head {
            arguments.extend(["--expect-head", head]);
        }
        run(&arguments)
    }

    /// The audit, which must find nothing wrong. A ledger that was killed leaves records behind its
    /// last checkpoint, or has none: nothing else may be undecided.
    #[track_caller]
    pub(crate) fn clean(&self, expect_head: Option<&str>) -> Value {
        let audit = self.audit(expect_head);
        assert!(matches!(audit.code, Some(21 | 22)), "{audit:?}");
        let report = audit.json();
        assert_eq!(
            report["findings"].as_array().map(Vec::len),
            Some(0),
            "{report}"
        );
        let undecided = report["undecided"].as_array().unwrap();
        let of_checkpoints =
            |it: &Value| matches!(it["gap"].as_str(), Some("tail" | "no_checkpoint"));
        assert!(undecided.iter().all(of_checkpoints), "{report}");
        report
    }

    /// What `x811 doctor` says of the checkpoint: exit code, report, and what a person is told.
    pub(crate) fn doctor(&self) -> (Option<i32>, Value, String) {
        let directories = [&self.data_dir, &self.checkpoint_dir];
        let [data_dir, checkpoint_dir] = directories.map(|path| path.to_str().unwrap());
        let words = ["doctor", data_dir, "--checkpoint-dir", checkpoint_dir];
        let told = run(&words).stdout;
        let ended = run(&[&["--json"], &words[..]].concat());
        (ended.code, ended.json(), told)
    }

    /// The exit code of `x811 doctor`, and all it says, also where it cannot go on.
    pub(crate) fn doctor_says(&self) -> (Option<i32>, String) {
        let directories = [&self.data_dir, &self.checkpoint_dir];
        let [data_dir, checkpoint_dir] = directories.map(|path| path.to_str().unwrap());
        let words = ["doctor", data_dir, "--checkpoint-dir", checkpoint_dir];
        let ended = run(&words);
        (ended.code, format!("{}{}", ended.stdout, ended.stderr))
    }

    /// Copies the data directory to `to`; nobody may be writing.
    pub(crate) fn copy_data(&self, to: &Path) {
        copy(&self.data_dir, to);
    }

    /// Another place with the same in it.
    pub(crate) fn copied(&self) -> Place {
        let place = Place::new();
        copy(&self.data_dir, &place.data_dir);
        copy(&self.checkpoint_dir, &place.checkpoint_dir);
        Place {
            options: self.options.clone(),
            ..place
        }
    }
}

fn copy(from: &Path, to: &Path) {
    let _ = std::fs::remove_dir_all(to);
    let mut copy = Command::new("cp");
    let copied = copy.arg("-a").arg(from).arg(to).status();
    assert!(copied.unwrap().success());
}

impl Ledger {
    /// All it has said.
    pub(crate) fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.process.try_wait().unwrap().is_none()
    }

    /// `kill -9`.
    pub(crate) fn kill(mut self) -> Ended {
        self.killed()
    }

    /// The same, of one whose place another will take.
    pub(crate) fn killed(&mut self) -> Ended {
        self.process.kill().unwrap();
        self.ended()
    }

    /// SIGTERM, then waits for the end.
    pub(crate) fn stop(mut self) -> Ended {
        let id = self.process.id().to_string();
        // It may have ended by itself.
        let _ = Command::new("kill").args(["-TERM", &id]).status().unwrap();
        self.ended()
    }

    /// Waits for its end.
    pub(crate) fn ended(&mut self) -> Ended {
        let mut looks = PATIENCE.as_millis() / LOOK_EVERY.as_millis();
        let status = loop {
            if let Some(status) = self.process.try_wait().unwrap() {
                break status;
            }
            looks -= 1;
            if looks == 0 {
                let _ = self.process.kill();
                panic!("it does not end: {}", self.said());
            }
            std::thread::sleep(LOOK_EVERY);
        };
        for reader in self.readers.drain(..) {
            reader.join().unwrap();
        }
        Ended {
            status,
            said: self.said(),
        }
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        // Already gone is as good.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn url_in(line: &str) -> Option<String> {
    let start = line.find("http://127.0.0.1:")?;
    let is_part = |c: &char| c.is_ascii_alphanumeric() || ":/.".contains(*c);
    let url: String = line[start..].chars().take_while(is_part).collect();
    Some(url.trim_end_matches(['/', '.']).to_owned())
}
