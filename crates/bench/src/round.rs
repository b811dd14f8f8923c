//! `x811-bench round`: rounds and votes into a ledger in this process, in turns with messages of
//! interactions, for few voters and for many: what a vote costs beside one of those, and what an open round
//! takes of memory.

mod open;

use rayon::prelude::*;
use serde::Serialize;
use serde_json::{Map, Value, json};
use x811_client::clock::{Clock as _, SystemClock};
use x811_client::compose::{About, Ballot, NewProposal, RoundStep};
use x811_protocol::canonical::to_canonical;
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::facts::consensus::{Decision, Mechanism, Voting};
use x811_protocol::id::RoundId;
use x811_protocol::jws;

use super::figures::{Rate, thousands};
use super::ingest::turn;
use super::ledger::{BenchLedger, NETWORK};
use super::traffic::{Agents, Conversation, MESSAGES_EACH, Message};
use super::turns::{Sum, TURNS, Turns};
use super::{Common, broken};
use open::Open;
use x811_console::failure::Failure;
use x811_console::output::{Out, Report, Tone};

/// Sizes of rounds that are measured.
const VOTERS: [usize; 3] = [5, 50, 500];

/// How long votes are taken, in milliseconds: no round ends by time here.
const LIFE_MS: u64 = 3_600_000;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    common: Common,
    /// About how many messages are sent for each size of round, and of interactions beside
    #[arg(long, value_name = "COUNT", default_value_t = 50_000)]
    messages: usize,
    /// Rounds, and interactions, at once; each waits for its answers
    #[arg(long, value_name = "COUNT", default_value_t = 256)]
    at_once: usize,
    /// Seats of the rounds that are left open for their memory, all together
    #[arg(long, value_name = "COUNT", default_value_t = 20_000)]
    open_seats: usize,
    /// Measure nothing but what an open round of so many voters takes of memory
    #[arg(long, value_name = "VOTERS")]
    memory_of: Option<usize>,
}

/// Measures and reports.
pub(super) async fn run(args: Args, out: &mut Out) -> Result<(), Failure> {
    if let Some(voters) = args.memory_of {
        out.report(&open::measure(&args, voters).await?);
        return Ok(());
    }
    let directory = args.common.directory()?;
    let ledger = BenchLedger::open_with_rounds(directory.path()).await?;
    let most = VOTERS.into_iter().max().unwrap_or_default();
    let agents = Agents::generate(args.common.agents().max(most + 1), NETWORK)?.taking_part();
    let did = ledger.did();
    ledger.accept_all(agents.registrations(did)?).await?;
    let mut sizes = Vec::new();
    let mut beside = Turns::default();
    let mut first = 0;
    for voters in VOTERS {
        let each = (args.messages / (voters + 1) / TURNS).max(1);
        let rounds = |first| rounds(&agents, did, voters, first, each, voters);
        let mut turns = Turns::default();
        for _ in 0..TURNS {
            turn(&mut turns, &ledger, rounds(first)?, args.at_once).await?;
            first += each;
            let count = (args.messages / MESSAGES_EACH / TURNS / VOTERS.len()).max(1);
            let conversations = agents.conversations(first * 10_000, count)?;
            turn(&mut beside, &ledger, conversations, args.at_once).await?;
        }
        sizes.push((voters, turns.sum()));
    }
    let beside = beside.sum();
    let records = ledger.size();
    ledger.close().await?;
    let mut measured = Vec::new();
    for (voters, sum) in sizes {
        let open = open::measured(&args, voters).await?;
        measured.push(Size::new(voters, &sum, &beside, open));
    }
    out.report(&Measured {
        benchmark: "round",
        cores: rayon::current_num_threads(),
        limit_per_second: beside.limit_per_second,
        interaction_messages: beside.rate,
        sizes: measured,
        records,
    });
    Ok(())
}

/// `count` rounds among that many voters, of whom `votes` vote.
fn rounds(
    agents: &Agents,
    ledger: Did,
    voters: usize,
    first: usize,
    count: usize,
    votes: usize,
) -> Result<Vec<Conversation>, Failure> {
    let numbers = (first..first + count).into_par_iter();
    numbers
        .map(|number| round(agents, ledger, voters, number, votes))
        .collect()
}

/// A proposal and its votes.
fn round(
    agents: &Agents,
    ledger: Did,
    voters: usize,
    number: usize,
    votes: usize,
) -> Result<Conversation, Failure> {
    let seats: Vec<usize> = (number..number + voters).collect();
    let participants = seats.iter().map(|seat| agents.did(*seat)).collect();
    let proposal = RoundStep::Propose(Box::new(NewProposal {
        action: action(number),
        blocked_by: Vec::new(),
        f: None,
        leader: ledger,
        mechanism: Mechanism::Majority,
        participants,
        quorum: voters as u64 / 2 + 1,
        retry: None,
        reveal_ms: None,
        specificity: None,
        subject: format!("Route traffic over link {number}"),
        threshold: None,
        timeout: SystemClock.now().saturating_add_ms(LIFE_MS),
        urgency: None,
        voting: Voting::Open,
        weights: None,
    }));
    let proposed = agents.tell(number, ledger, &proposal).map_err(broken)?;
    let about = About {
        round: RoundId::from(proposed.header.id),
        proposal_hash: hash_of(&proposed.json)?,
        weights_hash: None,
        term: 1,
    };
    let mut said: Vec<Message> = vec![proposed.into()];
    for seat in seats.into_iter().take(votes) {
        let vote = RoundStep::Vote {
            about,
            ballot: Ballot {
                decision: Decision::Approve,
                rationale: None,
            },
            blocked_by: Vec::new(),
        };
        said.push(agents.tell(seat, ledger, &vote).map_err(broken)?.into());
    }
    Ok(said)
}

fn action(number: usize) -> Map<String, Value> {
    let action = json!({
        "type": "com.example.route", "risk": "low", "reversible": true,
        "resource": [format!("link {number}")],
    });
    action.as_object().cloned().unwrap_or_default()
}

/// SHA-256 of the proposal without the signature in it.
fn hash_of(envelope: &[u8]) -> Result<Digest, Failure> {
    let envelope: Value = serde_json::from_slice(envelope).map_err(broken)?;
    let mut payload = envelope.get("payload").cloned().unwrap_or_default();
    if let Some(members) = payload.as_object_mut() {
        members.remove(jws::MEMBER);
    }
    Ok(Digest::of(&to_canonical(&payload)))
}

/// The figures of one size.
#[derive(Debug, Serialize)]
struct Size {
    voters: usize,
    rounds_per_second: f64,
    votes_per_second: f64,
    /// A proposal or a vote.
    messages: Rate,
    ratio: f64,
    /// CPU of a message of a round for that of an interaction's.
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_ratio: Option<f64>,
    open_rounds: usize,
    /// Of a round with all votes but one, with the rows' and the store's own memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_each_open: Option<u64>,
}

impl Size {
    fn new(voters: usize, sum: &Sum, beside: &Sum, open: Open) -> Size {
        let rounds_per_second = sum.rate.per_second / (voters + 1) as f64;
        Size {
            voters,
            rounds_per_second,
            votes_per_second: rounds_per_second * voters as f64,
            messages: sum.rate,
            ratio: sum.ratio(),
            cpu_ratio: sum
                .rate
                .cpu_us_each
                .zip(beside.rate.cpu_us_each)
                .map(|(vote, message)| vote / message),
            open_rounds: open.rounds,
            bytes_each_open: open.bytes_each,
        }
    }

    fn text(&self) -> String {
        let cost = match self.cpu_ratio {
            Some(ratio) => format!("{ratio:.2} of a message's CPU"),
            None => "CPU time cannot be read here".to_owned(),
        };
        let memory = match self.bytes_each_open {
            Some(bytes) => format!("{} KiB each open", bytes >> 10),
            None => "memory cannot be read here".to_owned(),
        };
        format!(
            "{} rounds and {} votes a second, {cost}, {memory}",
            thousands(self.rounds_per_second),
            thousands(self.votes_per_second)
        )
    }
}

#[derive(Debug, Serialize)]
struct Measured {
    benchmark: &'static str,
    cores: usize,
    limit_per_second: f64,
    interaction_messages: Rate,
    sizes: Vec<Size>,
    records: u64,
}

impl Report for Measured {
    fn print(&self, out: &mut Out) {
        let costs = self.sizes.iter().filter_map(|size| size.cpu_ratio);
        let heading = match costs.reduce(f64::max) {
            Some(most) => format!("round: a vote takes {most:.2} of a message's CPU at most"),
            None => "round: CPU time cannot be read here".to_owned(),
        };
        out.heading(Tone::Plain, heading);
        for size in &self.sizes {
            let name = format!("{} voters", size.voters);
            out.fields(&[(name.as_str(), size.text())]);
        }
        out.fields(&[
            ("messages", self.interaction_messages.text("messages")),
            ("limit", super::limit::text(self.limit_per_second)),
            ("log", format!("{} records", thousands(self.records as f64))),
        ]);
    }
}
