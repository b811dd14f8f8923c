//! Agents that run by themselves, as processes of their own.

use super::stage::{Stage, text};
use serde_json::Value;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use x811_tests::binary::{Server, without_our_variables, x811};

/// What an initiator may commit itself to.
pub(crate) const CAPS: &str = "[caps]\nper_interaction = '0.05'\nper_day = '0.2'\n\
                               per_counterparty = '0.2'\nper_network = '0.2'\n";

/// A loop, killed when dropped.
pub(crate) struct Loop {
    process: Child,
    log: PathBuf,
}

impl Loop {
    /// Starts `x811 agent run PART` with this configuration.
    pub(crate) fn start(stage: &Stage, agent: &str, part: &str, config: &str) -> Loop {
        Loop::start_in(
            stage,
            &stage.folder.path().join("home"),
            agent,
            part,
            config,
        )
    }

    /// The same with another home.
    pub(crate) fn start_in(
        stage: &Stage,
        home: &Path,
        agent: &str,
        part: &str,
        config: &str,
    ) -> Loop {
        let file = home.join(format!("{agent}.toml"));
        fs::write(&file, config).unwrap();
        let log = home.join(format!("{agent}.log"));
        let lines = File::options()
            .create(true)
            .append(true)
            .open(&log)
            .unwrap();
        let mut command = Command::new(x811());
        without_our_variables(&mut command);
        let url = stage.server.as_ref().map(Server::url).unwrap();
        command.args(["--ledger", url, "--agent", agent, "--json", "--home"]);
        command.arg(home).args(["agent", "run", part, "--config"]);
        command.arg(&file).stdin(Stdio::null());
        command.stdout(lines.try_clone().unwrap()).stderr(lines);
        Loop {
            process: command.spawn().unwrap(),
            log,
        }
    }

    /// What it told so far, in order; lines that are no JSON are left out.
    pub(crate) fn told(&self) -> Vec<Value> {
        let log = fs::read_to_string(&self.log).unwrap();
        let lines = log.lines();
        lines
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    }

    /// Waits until it tells `what`, with this in its text; gives the interaction.
    pub(crate) async fn until(&self, stage: &Stage, what: &str, part: &str) -> Value {
        for _ in 0..90 {
            let told = self.told();
            let found = told.iter().find(|line| {
                line["what"] == what && line["text"].as_str().is_some_and(|it| it.contains(part))
            });
            if let Some(found) = found {
                return found.clone();
            }
            stage.anvil.next_block().await;
        }
        let log = fs::read_to_string(&self.log).unwrap();
        panic!("{what} {part} was not told within 90 blocks:\n{log}");
    }

    /// How often it told that.
    pub(crate) fn count(&self, what: &str, part: &str) -> usize {
        let is_it = |line: &&Value| {
            line["what"] == what && line["text"].as_str().is_some_and(|it| it.contains(part))
        };
        self.told().iter().filter(is_it).count()
    }

    /// `kill -9`.
    pub(crate) fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Waits for its end; gives the exit code.
    pub(crate) async fn ended(&mut self, stage: &Stage) -> Option<i32> {
        for _ in 0..60 {
            if let Some(status) = self.process.try_wait().unwrap() {
                return status.code();
            }
            stage.anvil.next_block().await;
        }
        panic!("it goes on: {:?}", self.told());
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        // Already gone is as good.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A provider of `echo` whose work is this script.
pub(crate) fn provider(stage: &Stage, script: &str) -> Loop {
    let path = stage.folder.path().join("work.sh");
    fs::write(&path, script).unwrap();
    let config = "[[capability]]\ntask = 'echo'\nprice = '0.029'\ntime_s = 5\n\
                  [run]\ncommand = ['/bin/sh', 'SCRIPT']\n";
    let config = config.replace("SCRIPT", path.to_str().unwrap());
    Loop::start(stage, "bert", "provider", &config)
}

/// An order of `echo`, as a part of an initiator's file.
pub(crate) fn order(key: &str, bert: &str, budget: &str, policy: &str) -> String {
    format!(
        "[[order]]\nkey = '{key}'\nprovider = '{bert}'\ntask = 'echo'\nbudget = '{budget}'\n\
         deadline_s = 60\n{policy}\nparameters = {{ text = 'hello' }}\n"
    )
}

/// An initiator with these orders and caps.
pub(crate) fn initiator(stage: &Stage, rest: &str) -> Loop {
    let rpc_url = stage.anvil.rpc_url();
    let config = format!("rpc_url = '{rpc_url}'\nnetwork = 'local'\n{rest}");
    Loop::start(stage, "ada", "initiator", &config)
}

/// The types of what was accepted in an interaction, in order.
pub(crate) fn said(stage: &Stage, interaction: &str) -> Vec<String> {
    said_to("bert", stage, interaction)
}

/// The same as this party reads it.
pub(crate) fn said_to(agent: &str, stage: &Stage, interaction: &str) -> Vec<String> {
    let history = stage.x811(agent, &["history", interaction]).ok().json();
    let records = history["records"].as_array().unwrap();
    let types = records
        .iter()
        .filter_map(|record| record["leaf"]["event"]["envelope"]["type"].as_str());
    types.map(str::to_owned).collect()
}

/// The interaction that a told line is about.
pub(crate) fn interaction(line: &Value) -> String {
    text(line, "interaction")
}
