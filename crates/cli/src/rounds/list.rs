//! `x811 rounds list`.

use serde::Serialize;
use x811_client::http::RoundView;
use x811_protocol::did::Did;
use x811_protocol::time::TimestampMs;

use super::Member;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Report};
use x811_protocol::narration::moment;
use x811_protocol::shown::shorten;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only those that are not decided
    #[arg(long)]
    open: bool,
}

/// Rounds, oldest first.
#[derive(Debug, Serialize)]
pub(crate) struct Rounds {
    #[serde(skip)]
    pub(crate) me: Did,
    #[serde(skip)]
    pub(crate) now: TimestampMs,
    pub(crate) rounds: Vec<RoundView>,
}

impl Report for Rounds {
    fn print(&self, out: &mut Out) {
        let rows = self.rounds.iter().map(|one| {
            let until = one.deadline_at_ms.map(|at| moment(at, self.now));
            vec![
                one.id.to_string(),
                shorten(&one.status),
                shorten(&one.action_type),
                format!("{} of {}", one.voted.len(), one.participants.len()),
                role(one, self.me).to_owned(),
                until.unwrap_or_default(),
            ]
        });
        let header = ["round", "status", "action", "voted", "you", "until"];
        out.list("rounds", &header, rows);
    }
}

/// What the agent is in it.
fn role(one: &RoundView, me: Did) -> &'static str {
    match (one.proposer == me, one.leader == me) {
        (true, _) => "propose",
        (false, true) => "lead",
        (false, false) if one.participants.contains(&me) => "vote",
        (false, false) => "read",
    }
}

pub(super) async fn run(args: &Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let member = Member::open(context).await?;
    let mut rounds = member.client.rounds(None).await?;
    rounds.retain(|one| !args.open || one.outcome.is_none());
    out.report(&Rounds {
        me: member.identity.did,
        now: context.now(),
        rounds,
    });
    Ok(Exit::Ok)
}
