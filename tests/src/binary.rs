//! The real `x811` binary, run the way a user runs it.

#![expect(
    clippy::expect_used,
    reason = "a harness stops the test at once, and the message names what was missing"
)]

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// The binary `x811` beside the tests that run.
///
/// # Panics
/// When it has not been built: a test of another package does not build it.
#[must_use]
pub fn x811() -> PathBuf {
    beside_tests("x811")
}

fn beside_tests(program: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own path");
    let profile = test
        .ancestors()
        .nth(2)
        .expect("tests run from <profile>/deps");
    let binary = profile.join(program);
    assert!(
        binary.exists(),
        "{} is missing: run scripts/test.sh, or `cargo build --workspace --bins` first",
        binary.display()
    );
    binary
}

/// What these tests are told by variables is no setting of a ledger, which refuses those it does not
/// know.
pub fn without_our_variables(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("X811_") {
            command.env_remove(name);
        }
    }
}

/// Runs `x811` to its end.
///
/// # Panics
/// When it cannot be started.
#[must_use]
pub fn run(arguments: &[&str]) -> Finished {
    run_program(&x811(), arguments)
}

/// Runs `x811-bench` to its end.
///
/// # Panics
/// When it has not been built or cannot be started.
#[must_use]
pub fn run_bench(arguments: &[&str]) -> Finished {
    run_program(&beside_tests("x811-bench"), arguments)
}

fn run_program(program: &Path, arguments: &[&str]) -> Finished {
    let mut command = Command::new(program);
    without_our_variables(&mut command);
    let output = command.args(arguments).output();
    Finished::from(output.expect("the binary starts"))
}

/// How a command ended.
#[derive(Debug, Clone)]
pub struct Finished {
    /// Exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// What it wrote to standard output.
    pub stdout: String,
    /// What it wrote to standard error.
    pub stderr: String,
}

impl From<Output> for Finished {
    fn from(output: Output) -> Finished {
        Finished {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Finished {
    /// Standard output as one JSON value.
    ///
    /// # Panics
    /// When it is none.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("no JSON ({error}): {self:?}"))
    }

    /// The same, once the command has succeeded.
    ///
    /// # Panics
    /// When it has not.
    #[must_use]
    pub fn ok(self) -> Finished {
        assert_eq!(self.code, Some(0), "the command failed: {self:?}");
        self
    }

    /// The same, once nothing was found wrong and nobody said whose it is: what an audit and
    /// `receipt verify` say without `--key` and `--policy`.
    ///
    /// # Panics
    /// When it ended otherwise.
    #[must_use]
    pub fn unverified(self) -> Finished {
        assert_eq!(
            self.code,
            Some(21),
            "not clean, or of a known ledger: {self:?}"
        );
        self
    }
}

/// Names a PostgreSQL server for the logs of all ledgers that tests start; each data directory gets a
/// schema there. The program `on_postgres` starts one, and what is to run over it.
pub const STORE: &str = "X811_TEST_STORE_URL";

/// Whether the logs of ledgers that tests start are in a database.
#[must_use]
pub fn is_in_database() -> bool {
    std::env::vars_os().any(|(name, _)| name == STORE)
}

/// Everything that the database has of the ledger of `data_dir`, as `pg_dump` writes it: bytes are in
/// hexadecimal there. Empty where its log is in the directory.
///
/// # Panics
/// When it cannot be read.
#[must_use]
pub fn dumped(data_dir: &Path) -> Vec<u8> {
    if !is_in_database() || !data_dir.join("store-url").exists() {
        return Vec::new();
    }
    let words = store(data_dir, &[]);
    let url = words.last().expect("the address follows the option");
    let schema = url.rsplit("%3D").next().unwrap_or_default();
    let server = url.split("options=").next().unwrap_or_default();
    let mut dump = Command::new("pg_dump");
    dump.args([
        "--inserts",
        "-n",
        schema,
        server.trim_end_matches(['?', '&']),
    ]);
    let done = dump.output().expect("pg_dump is installed with the server");
    assert!(done.status.success(), "{done:?}");
    done.stdout
}

/// Where the log of `data_dir` is, unless there, or where `more` says.
fn store(data_dir: &Path, more: &[&str]) -> Vec<String> {
    let named = std::env::vars_os().find(|(name, _)| name == STORE);
    let Some((_, url)) = named.filter(|_| !more.contains(&"--store-url")) else {
        return Vec::new();
    };
    let url = url.to_str().expect("an address is text");
    // The same directory is the same ledger.
    let bytes = data_dir.as_os_str().as_encoded_bytes();
    let schema = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let make = format!("CREATE SCHEMA IF NOT EXISTS ledger_{schema:016x}");
    let made = Command::new("psql").args(["-q", url, "-c", &make]).status();
    let made = made.expect("psql is installed with the server");
    assert!(made.success(), "no schema could be made");
    let join = if url.contains('?') { '&' } else { '?' };
    let url = format!("{url}{join}options=-csearch_path%3Dledger_{schema:016x}");
    vec!["--store-url".to_owned(), url]
}

/// A running `x811 serve`, killed when dropped.
#[derive(Debug)]
pub struct Server {
    process: Child,
    url: String,
}

impl Server {
    /// Starts a ledger in `data_dir` on a free port and waits until it says where it listens.
    ///
    /// # Errors
    /// How it ended, when it did not start.
    ///
    /// # Panics
    /// When the binary cannot be run at all.
    pub fn start(data_dir: &Path, more: &[&str]) -> Result<Server, Finished> {
        Server::spawn(data_dir, more, Stdio::piped())
    }

    /// The same, with its log lines in the file `log`.
    ///
    /// # Errors
    /// How it ended, when it did not start.
    ///
    /// # Panics
    /// When the binary cannot be run at all, or the file cannot be made.
    pub fn start_logged(data_dir: &Path, more: &[&str], log: &Path) -> Result<Server, Finished> {
        let log = File::create(log).expect("the log file can be made");
        Server::spawn(data_dir, more, Stdio::from(log))
    }

    fn spawn(data_dir: &Path, more: &[&str], stderr: Stdio) -> Result<Server, Finished> {
        let mut command = Command::new(x811());
        without_our_variables(&mut command);
        command
            .args(["serve", "--listen", "127.0.0.1:0"])
            .arg("--data-dir")
            .arg(data_dir)
            .args(more)
            .args(store(data_dir, more));
        Server::of(&mut command, stderr)
    }

    /// The same by a command of the caller's, which must listen on 127.0.0.1.
    ///
    /// # Errors
    /// How it ended, when it did not start.
    ///
    /// # Panics
    /// When the binary cannot be run at all.
    pub fn start_by(command: &mut Command) -> Result<Server, Finished> {
        Server::of(command, Stdio::piped())
    }

    fn of(command: &mut Command, stderr: Stdio) -> Result<Server, Finished> {
        let mut process = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .expect("the binary starts");
        let stdout = process.stdout.take().expect("stdout is piped");
        let mut lines = BufReader::new(stdout).lines();
        let mut said = String::new();
        for line in lines.by_ref().map_while(Result::ok) {
            said.push_str(&line);
            said.push('\n');
            if let Some(url) = url_in(&line) {
                // Both pipes are read to their end, or the server would stop writing.
                if let Some(mut stderr) = process.stderr.take() {
                    std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
                }
                std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
                return Ok(Server { process, url });
            }
        }
        let output = process
            .wait_with_output()
            .expect("a process that closed its pipes ends");
        Err(Finished {
            stdout: said,
            ..Finished::from(output)
        })
    }

    /// Base URL of its HTTP interface.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Its process, for signals.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Ends it as a power cut would.
    ///
    /// # Panics
    /// When it cannot be killed.
    pub fn kill(mut self) {
        self.process
            .kill()
            .expect("a running process can be killed");
        self.process.wait().expect("a killed process ends");
    }

    /// Ends it as an operator would, with SIGTERM.
    ///
    /// # Panics
    /// When it cannot be signalled, or does not end well.
    pub fn stop(mut self) {
        let signalled = Command::new("kill")
            .args(["-TERM", &self.process.id().to_string()])
            .status()
            .expect("kill runs");
        assert!(signalled.success(), "the server could not be signalled");
        let status = self.process.wait().expect("a signalled process ends");
        assert!(status.success(), "the server did not end well: {status}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Already gone is as good.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The first http URL of a line.
fn url_in(line: &str) -> Option<String> {
    let start = line.find("http://127.0.0.1:")?;
    let url: String = line[start..]
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || ":/.".contains(*c))
        .collect();
    Some(url.trim_end_matches(['/', '.']).to_owned())
}
