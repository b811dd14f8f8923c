//! `x811 serve`: runs the ledger.
//!
//! Settings come in layers: defaults, then the file of `--config` (none is read unless named), then
//! the environment, then options ([`layers`]). What a decision depends on is written into the log
//! when it changes, so an auditor needs none of this.

mod args;
mod effective;
mod environment;
mod layers;
mod settings;
mod telemetry;
mod value;

use std::path::PathBuf;
use std::pin::pin;

use serde::Serialize;
use tokio::signal::unix::{Signal, SignalKind, signal};
use x811_console::stop::StopSignals;
use x811_server::{RunError, Running, ServerConfig, StartError};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};
pub(crate) use args::Args;
use effective::Effective;
use settings::Settings;
use telemetry::Telemetry;
use value::LogFormat;

/// What is said once the ledger runs.
#[derive(Debug, Serialize)]
struct Started {
    url: String,
    did: String,
    /// There was none in the data directory.
    new_ledger: bool,
    log_id: String,
    data_dir: PathBuf,
    network: String,
    chain_id: u64,
    confirmed_depth: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    starts_blind: Option<String>,
}

impl Report for Started {
    fn print(&self, out: &mut Out) {
        out.heading(Tone::Good, format!("x811 ledger at {}", self.url));
        out.fields(&[
            ("DID", self.did.clone()),
            ("data", self.data_dir.display().to_string()),
            (
                "network",
                format!(
                    "{}, chain id {}, confirmed at {} blocks",
                    self.network, self.chain_id, self.confirmed_depth
                ),
            ),
        ]);
        if self.new_ledger {
            out.heading(
                Tone::Waiting,
                "this is a NEW ledger: the directory held none",
            );
            out.line("  If you expected yours, stop this one, name the right --data-dir, and");
            out.line("  delete this directory and its checkpoint.");
        }
        if let Some(why) = &self.starts_blind {
            out.heading(
                Tone::Waiting,
                "Base cannot be seen yet; settlement clocks stand still",
            );
            out.line(format!("  {why}"));
        }
        out.line(format!(
            "Next: x811 --ledger {} agent new NAME. Ctrl-C stops it.",
            self.url
        ));
    }
}

/// What `--check` prints: as a file, so that it can become one.
#[derive(Debug, Serialize)]
struct Checked(Settings);

impl Report for Checked {
    fn print(&self, out: &mut Out) {
        let text = toml::to_string(&self.0).unwrap_or_else(|error| format!("# {error}"));
        for line in text.lines() {
            out.line(line);
        }
    }
}

/// Runs the ledger until it is asked to stop.
pub(crate) async fn run(args: Args, out: &mut Out) -> Result<Exit, Failure> {
    let only_check = args.check;
    if args.logs_json() {
        out.speak_json();
    }
    environment::check()?;
    let effective = effective(args.clone())?;
    if effective.log_format == LogFormat::Json && !only_check {
        out.speak_json();
        telemetry::log_panics();
    }
    if only_check {
        out.report(&Checked(effective.shown()));
        return Ok(Exit::Ok);
    }
    let telemetry = Telemetry::start(&effective)?;
    let ended = serve(effective.server, args, out).await;
    telemetry.finish().await;
    ended
}

/// Until it is asked to stop.
async fn serve(config: ServerConfig, args: Args, out: &mut Out) -> Result<Exit, Failure> {
    // Before anybody can know that there is something to stop.
    let mut asked = pin!(StopSignals::set().asked());
    let mut running = tokio::select! {
        running = x811_server::start(config.clone()) => running.map_err(not_started)?,
        // As a crash would: a start leaves nothing that the next one does not take up.
        () = &mut asked => return Ok(Exit::Interrupted),
    };
    let mut reloads = signal(SignalKind::hangup()).ok();
    out.report(&started(&config, &running));
    let ended = loop {
        tokio::select! {
            ended = running.wait() => break ended,
            () = &mut asked => {
                running.shutdown();
                break running.wait().await;
            }
            () = asked_to_reload(&mut reloads) => reload(&running, &args).await,
        }
    };
    ended.map_err(|error| {
        let failure = Failure::new(Exit::Local, "ledger_stopped", error.to_string());
        // The sentence of a store that is lost, or cannot be opened, says what to do.
        match matches!(error, RunError::StoreLost(_) | RunError::Start(_)) {
            true => failure,
            false => {
                failure.hint("`x811 audit` of the data directory says whether the log is whole")
            }
        }
    })?;
    Ok(Exit::Ok)
}

/// Waits for SIGHUP; for ever where it cannot be caught.
async fn asked_to_reload(reloads: &mut Option<Signal>) {
    let is_asked = match reloads {
        Some(reloads) => reloads.recv().await.is_some(),
        None => false,
    };
    if !is_asked {
        std::future::pending().await
    }
}

/// Reads file, environment and options again, and exchanges the RPC endpoints. Whatever is wrong is
/// logged, and the ledger goes on as before.
async fn reload(running: &Running, args: &Args) {
    let reloaded = match effective(args.clone()) {
        Ok(effective) => running.reload(&effective.server).await,
        Err(failure) => {
            tracing::error!(error = failure.message, "nothing was reloaded");
            return;
        }
    };
    if let Err(error) = reloaded {
        tracing::error!(%error, "nothing was reloaded");
    }
}

/// All layers on top of each other, checked.
fn effective(args: Args) -> Result<Effective, Failure> {
    let file = match &args.config {
        Some(path) => layers::read(path)?,
        None => Settings::default(),
    };
    let effective: Effective = layers::merge(&file, &args.settings)?.try_into()?;
    let valid = effective.server.validate();
    valid.map_err(|error| not_started(error.into()))?;
    Ok(effective)
}

fn started(config: &ServerConfig, running: &Running) -> Started {
    Started {
        url: format!("http://{}", running.local_addr),
        did: running.identity.did.to_string(),
        new_ledger: running.is_new,
        log_id: running.identity.log_id.to_string(),
        data_dir: config.data_dir.clone(),
        network: config.network.name.clone(),
        chain_id: config.network.chain_id.as_u64(),
        confirmed_depth: config.network.confirmed_depth,
        starts_blind: running.starts_blind.clone(),
    }
}

/// A ledger that did not start.
fn not_started(error: StartError) -> Failure {
    Failure::new(Exit::Local, "not_started", error.to_string())
}
