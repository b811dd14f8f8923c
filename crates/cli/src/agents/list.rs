//! `x811 agents list`.

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use x811_client::http::{AgentQuery, AgentsPage, Availability};
use x811_client::policy::Trust;
use x811_protocol::capability::version::Version;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Who offers this task type
    #[arg(long, value_name = "TASK")]
    pub(crate) capability: Option<String>,
    /// Whose descriptor has a capability of this type
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) advertised: Option<String>,
    /// Whose descriptor supports this version; with --type, of that type
    #[arg(long, value_name = "MAJOR.MINOR.PATCH")]
    pub(crate) version: Option<Version>,
    /// Whose score is at least this, from 0 to 1; 0.5 is a new agent's
    #[arg(long, value_name = "SCORE", value_parser = score)]
    pub(crate) trust_min: Option<Trust>,
    /// Who is so now, as far as the ledger knows
    #[arg(long)]
    pub(crate) availability: Option<Asked>,
    /// Go on behind this agent: the `next` of the page before
    #[arg(long, value_name = "POSITION")]
    pub(crate) after: Option<u64>,
    /// How many at most
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=100))]
    pub(crate) limit: u64,
}

/// Reads a score: a ledger takes no more than two digits of it.
fn score(text: &str) -> Result<Trust, &'static str> {
    let digits = text.split_once('.').map_or(0, |(_, digits)| digits.len());
    let score = text.parse().ok().filter(|_| digits <= 2);
    score.ok_or("write a number from 0 to 1 with at most two digits behind the point")
}

#[derive(Debug, Clone, Copy, ValueEnum, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Asked {
    Online,
    Busy,
    Offline,
    Unknown,
}

impl From<Asked> for Availability {
    fn from(asked: Asked) -> Availability {
        match asked {
            Asked::Online => Availability::Online,
            Asked::Busy => Availability::Busy,
            Asked::Offline => Availability::Offline,
            Asked::Unknown => Availability::Unknown,
        }
    }
}

/// Shows a page of agents.
pub(crate) async fn run(args: Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let query = AgentQuery {
        capability: args.capability,
        advertised: args.advertised,
        version: args.version,
        trust_min: args.trust_min,
        availability: args.availability.map(Availability::from),
        after: args.after,
        limit: Some(args.limit),
    };
    let page = context.client()?.agents(&query).await?;
    out.report(&Shown { page });
    Ok(Exit::Ok)
}

#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    page: AgentsPage,
}

impl Report for Shown {
    fn print(&self, out: &mut Out) {
        if self.page.agents.is_empty() {
            out.line("nobody on this page");
        }
        for agent in &self.page.agents {
            out.heading(Tone::Plain, agent.did);
            out.fields(&[
                ("offers", agent.capabilities.join(", ")),
                ("is", agent.availability.as_str().to_owned()),
                ("trust", super::trust::sentence(&agent.trust)),
            ]);
        }
        out.line(format!("as of record {}", self.page.as_of));
        if let Some(next) = self.page.next {
            out.line(format!("more: --after {next}"));
        }
    }
}
