//! An Anvil process, ended when dropped.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use super::AnvilError;

/// How long Anvil may take to start.
const PATIENCE: Duration = Duration::from_secs(20);

/// How many of its last words are read.
const LAST_WORDS_BYTES: u64 = 4_096;

/// What kind of chain.
#[derive(Debug, Clone, Copy)]
pub struct Chain {
    /// EIP-155 chain id.
    pub chain_id: u64,
    /// Port on 127.0.0.1; 0 takes any free one.
    pub port: u16,
    /// When blocks come.
    pub mining: Mining,
}

/// The rhythm of blocks.
#[derive(Debug, Clone, Copy)]
pub enum Mining {
    /// By the clock.
    EverySeconds(u64),
    /// Only when asked for.
    OnDemand,
}

/// A running Anvil.
#[derive(Debug)]
pub struct Node {
    process: Child,
    rpc_url: String,
}

impl Node {
    /// Starts it and waits until it listens.
    pub async fn start(program: &Path, chain: Chain) -> Result<Node, AnvilError> {
        let mut process = spawned(program, chain)?;
        let stdout = process.stdout.take().map(BufReader::new);
        let mut lines = stdout.map(BufReader::lines).ok_or(AnvilError::Silent {
            said: "it cannot be listened to".to_owned(),
        })?;
        let listening = tokio::time::timeout(PATIENCE, listening_on(&mut lines)).await;
        let Some(address) = listening.ok().flatten() else {
            return Err(AnvilError::Silent {
                said: last_words(&mut process).await,
            });
        };
        // Anvil stops when nobody reads what it prints.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Ok(Node {
            process,
            rpc_url: format!("http://{address}"),
        })
    }

    /// Where it answers.
    pub fn rpc_url(&self) -> &str {
        &self.rpc_url
    }

    /// Waits until it ends by itself.
    pub async fn ended(&mut self) {
        // There is nothing to learn from how.
        let _ = self.process.wait().await;
    }

    /// Ends it and waits until it is gone.
    pub async fn stop(mut self) {
        // Already gone is as good.
        let _ = self.process.kill().await;
    }
}

impl Chain {
    fn arguments(self) -> Vec<OsString> {
        let mut arguments = vec![
            "--host".into(),
            "127.0.0.1".into(),
            "--port".into(),
            self.port.to_string().into(),
            "--chain-id".into(),
            self.chain_id.to_string().into(),
        ];
        match self.mining {
            Mining::EverySeconds(seconds) => {
                arguments.extend(["--block-time".into(), seconds.to_string().into()]);
            }
            Mining::OnDemand => arguments.push("--no-mining".into()),
        }
        arguments
    }
}

/// Runs it. Where only its name is given and there is none on PATH, the pinned one that npm put
/// into the checkout is run: the program itself, not its wrapper, which would outlive a kill.
fn spawned(program: &Path, chain: Chain) -> Result<Child, AnvilError> {
    let spawn = |path: &Path| {
        Command::new(path)
            .args(chain.arguments())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
    };
    spawn(program)
        .or_else(|source| {
            let is_name = program.components().count() == 1;
            match is_name && source.kind() == ErrorKind::NotFound {
                true => spawn(&of_npm()).map_err(|_| source),
                false => Err(source),
            }
        })
        .map_err(|source| AnvilError::Spawn {
            path: program.to_owned(),
            source,
        })
}

fn of_npm() -> PathBuf {
    let os = match std::env::consts::OS {
        "macos" => "darwin",
        other => other,
    };
    let arch = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    PathBuf::from(format!(
        "node_modules/@foundry-rs/anvil-{os}-{arch}/bin/anvil"
    ))
}

/// Reads on until Anvil says where it listens.
async fn listening_on(lines: &mut Lines<BufReader<ChildStdout>>) -> Option<String> {
    while let Ok(Some(line)) = lines.next_line().await {
        if let Some(address) = line.trim().strip_prefix("Listening on ") {
            return Some(address.to_owned());
        }
    }
    None
}

async fn last_words(process: &mut Child) -> String {
    // If it cannot be ended, its error output stays open and is read as far as it came.
    let _ = process.start_kill();
    let mut text = Vec::new();
    if let Some(stderr) = process.stderr.take() {
        let mut stderr = stderr.take(LAST_WORDS_BYTES);
        let _ = tokio::time::timeout(PATIENCE, stderr.read_to_end(&mut text)).await;
    }
    let text = String::from_utf8_lossy(&text);
    let last = text.lines().rfind(|line| !line.trim().is_empty());
    last.unwrap_or("it said nothing").trim().to_owned()
}
