//! `x811 agent status`: what a loop is at, and whether a person has to look.

use std::fs;

use serde::Serialize;
use x811_client::agent::{Alarm, State, peek};
use x811_client::identity::AgentName;
use x811_protocol::time::TimestampMs;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};
use x811_protocol::narration::moment;
use x811_protocol::shown::shorten;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Count the alarms there are as seen
    #[arg(long)]
    seen: bool,
}

/// Shows the state file; [`Exit::Alarm`] while there is an alarm that nobody saw.
pub(crate) fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let identity = context.identity_named(None)?;
    let folder = context.home.loop_folder(&identity.name);
    let Some(state) = peek(&folder)? else {
        let message = format!("agent {} has no loop here yet", identity.name);
        return Err(Failure::local("no_loop", message).hint("start one with `x811 agent run`"));
    };
    let file = folder.join("alarms-seen");
    if args.seen {
        let now = context.now().as_ms().to_string();
        fs::write(&file, now)
            .map_err(|error| Failure::local("file", format!("{}: {error}", file.display())))?;
    }
    let seen_ms = fs::read_to_string(&file).ok();
    let seen_ms = seen_ms.and_then(|text| text.trim().parse().ok());
    let seen_at = TimestampMs::new(seen_ms.unwrap_or(0));
    let status = Status::new(&identity.name, &state, seen_at, context.now());
    let exit = if status.alarms.is_empty() {
        Exit::Ok
    } else {
        Exit::Alarm
    };
    out.report(&status);
    Ok(exit)
}

#[derive(Serialize)]
struct Status {
    agent: AgentName,
    /// Interactions that go on.
    interactions: usize,
    /// Sealed envelopes without an outcome.
    outbox: usize,
    /// Proofs that are awaited.
    proofs_awaited: usize,
    /// What the ACCEPTs of the last 24 hours cost, in micro-USDC.
    committed_micro_usdc: u64,
    /// Alarms that nobody saw.
    alarms: Vec<Alarm>,
    #[serde(skip)]
    now: TimestampMs,
}

impl Status {
    fn new(name: &AgentName, state: &State, seen_at: TimestampMs, now: TimestampMs) -> Status {
        let alarms = state.alarms.iter().filter(|alarm| alarm.at_ms >= seen_at);
        let committed = state.commitments.iter();
        let committed = committed.map(|made| made.total.as_micro_usdc());
        Status {
            agent: name.clone(),
            interactions: state.tasks.len(),
            outbox: state.outbox.len(),
            proofs_awaited: state.proofs.len(),
            committed_micro_usdc: committed.fold(0, u64::saturating_add),
            alarms: alarms.cloned().collect(),
            now,
        }
    }
}

impl Report for Status {
    fn print(&self, out: &mut Out) {
        out.heading(Tone::Plain, format_args!("loop of {}", self.agent));
        out.fields(&[
            ("interactions", self.interactions.to_string()),
            ("on their way", format!("{} envelopes", self.outbox)),
            ("proofs", format!("{} awaited", self.proofs_awaited)),
        ]);
        for alarm in &self.alarms {
            let at = moment(alarm.at_ms, self.now);
            let id = alarm.interaction.map(|id| format!("{id}: "));
            let id = id.unwrap_or_default();
            out.heading(
                Tone::Bad,
                format_args!("{at}  {id}{}", shorten(&alarm.text)),
            );
        }
        if self.alarms.is_empty() {
            out.heading(Tone::Good, "no alarm");
        } else {
            out.line("once you dealt with them: x811 agent status --seen");
        }
    }
}
