//! The test double of EventStoreDB, started as a program: it is no real server, and keeps nothing.

#![expect(
    clippy::expect_used,
    reason = "a harness stops at once, and the message names what was missing"
)]

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A running double, which ends with this.
#[derive(Debug)]
pub struct Double {
    process: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
    url: String,
}

impl Double {
    /// Starts as many nodes, by the example `eventstore_double` of `x811-store` below `profile`, the
    /// directory of what cargo built.
    ///
    /// # Panics
    /// When it was not built, or does not start.
    #[must_use]
    pub fn start(profile: &Path, nodes: usize) -> Double {
        Double::start_with(profile, nodes, &[])
    }

    /// Starts as many nodes with options of the example: `--delay MS`, `--tls`, `--user NAME:PASSWORD`.
    ///
    /// # Panics
    /// When it was not built, or does not start.
    #[must_use]
    pub fn start_with(profile: &Path, nodes: usize, options: &[&str]) -> Double {
        let program = profile.join("examples/eventstore_double");
        let mut process = Command::new(program)
            .arg(nodes.to_string())
            .args(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("cargo build -p x811-store --example eventstore_double makes it");
        let commands = process.stdin.take().expect("stdin is piped");
        let stdout = process.stdout.take().expect("stdout is piped");
        let mut double = Double {
            process,
            commands,
            answers: BufReader::new(stdout),
            url: String::new(),
        };
        double.url = double.answer();
        double
    }

    /// Returns the address of its nodes, without a user.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the address of its nodes for a user.
    #[must_use]
    pub fn url_as(&self, user: &str, password: &str) -> String {
        let credentials = format!("://{user}:{password}@");
        self.url.replacen("://", &credentials, 1)
    }

    /// Sends a command of the example, and waits until it was carried out.
    ///
    /// # Panics
    /// When it is no command, or the double ended.
    pub fn say(&mut self, line: &str) {
        writeln!(self.commands, "{line}").expect("the double listens");
        assert_eq!(self.answer(), line);
    }

    /// Ends the node that leads, with all its connections; another one leads.
    ///
    /// # Panics
    /// When it does not answer.
    pub fn kill_leader(&mut self) {
        self.say("kill leader");
    }

    fn answer(&mut self) -> String {
        let mut line = String::new();
        let read = self.answers.read_line(&mut line);
        assert!(read.expect("the double's output") > 0, "the double ended");
        line.trim_end().to_owned()
    }
}

impl Drop for Double {
    fn drop(&mut self) {
        // Already gone is as good.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
