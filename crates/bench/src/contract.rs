//! `x811-bench contract`: turns of negotiations into a ledger in this process, in turns with messages
//! of interactions: what a turn costs beside one of those.

use serde_json::{Map, json};
use x811_client::clock::{Clock as _, SystemClock};
use x811_client::compose::{Answered as Answers, ComposeError, NegotiationStep};
use x811_protocol::canonical::to_canonical;
use x811_protocol::digest::Digest;
use x811_protocol::id::{ContractId, EnvelopeId};

use super::Common;
use super::figures::thousands;
use super::ingest::turn;
use super::ledger::{BenchLedger, NETWORK};
use super::measured::Measured;
use super::traffic::{Agents, Conversation, MESSAGES_EACH, Pair, TASK};
use super::turns::{TURNS, Turns};
use x811_console::failure::Failure;
use x811_console::output::Out;

/// Messages of a negotiation here: an offer, three counters and an accept, as many as an average
/// conversation of `ingest` has.
const COUNTERS: usize = 3;

/// How long the terms stand, in milliseconds.
const LIFE_MS: u64 = 3_600_000;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    common: Common,
    /// About how many messages are sent of each kind
    #[arg(long, value_name = "COUNT", default_value_t = 50_000)]
    messages: usize,
    /// Conversations at once; each waits for its answers
    #[arg(long, value_name = "COUNT", default_value_t = 1_024)]
    at_once: usize,
}

/// Measures and reports.
pub(super) async fn run(args: Args, out: &mut Out) -> Result<(), Failure> {
    let directory = args.common.directory()?;
    let ledger = BenchLedger::open(directory.path()).await?;
    let agents = Agents::generate(args.common.agents(), NETWORK)?;
    ledger
        .accept_all(agents.registrations(ledger.did())?)
        .await?;
    let each = args.messages / MESSAGES_EACH / TURNS;
    let warm_up = negotiations(&agents, 0, each / 2)?;
    ledger.converse(warm_up, args.at_once).await?;
    let (mut contracts, mut interactions) = (Turns::default(), Turns::default());
    for number in 0..TURNS {
        let talks = negotiations(&agents, each * (number + 1), each)?;
        turn(&mut contracts, &ledger, talks, args.at_once).await?;
        let conversations = agents.conversations(each * number, each)?;
        turn(&mut interactions, &ledger, conversations, args.at_once).await?;
    }
    let records = ledger.size();
    ledger.close().await?;
    let (contracts, interactions) = (contracts.sum(), interactions.sum());
    let cpu_ratio = contracts
        .rate
        .cpu_us_each
        .zip(interactions.rate.cpu_us_each);
    let cpu_ratio = cpu_ratio.map(|(turn, message)| turn / message);
    let heading = match cpu_ratio {
        Some(ratio) => format!("contract: a turn takes {ratio:.2} of a message's CPU"),
        None => "contract: CPU time cannot be read here".to_owned(),
    };
    let figures = json!({
        "limit_per_second": contracts.limit_per_second, "turns": contracts.rate, "ratio": contracts.ratio(),
        "interaction_messages": interactions.rate, "cpu_ratio": cpu_ratio, "records": records,
    });
    let measured = Measured::new("contract", heading).figures(figures).fields([
        ("turns", contracts.rate.text("turns")),
        ("messages", interactions.rate.text("messages")),
        ("limit", super::limit::text(contracts.limit_per_second)),
        ("log", format!("{} records", thousands(records as f64))),
    ]);
    out.report(&measured);
    Ok(())
}

fn negotiations(agents: &Agents, first: usize, count: usize) -> Result<Vec<Conversation>, Failure> {
    let numbers = first..first + count;
    let talks = numbers.map(|number| negotiation(&agents.pair(number)));
    let talks: Result<_, ComposeError> = talks.collect();
    talks.map_err(super::broken)
}

/// An offer, counters by turns, and an accept of the last.
fn negotiation(pair: &Pair<'_>) -> Result<Conversation, ComposeError> {
    let terms = |turn: usize| {
        let value = format!("0.0{}", 20 + turn);
        let terms = json!({
            "payer": pair.initiator(), "payee": pair.provider(), "task_type": TASK,
            "amount": {"value": value, "currency": "USDC"}, "amount_of": "price",
            "deadline_s": 60, "deliverables": ["the text in German"],
        });
        terms.as_object().cloned().unwrap_or_else(Map::new)
    };
    let offer = pair.ask(&NegotiationStep::Offer {
        terms: terms(0),
        expires_at: SystemClock.now().saturating_add_ms(LIFE_MS),
        max_turns: None,
        parent: None,
        message: None,
    })?;
    let id = ContractId::from(offer.header.id);
    let mut step = offer.header.id;
    let answers = |step: EnvelopeId| Answers {
        negotiation: id,
        step,
    };
    let mut said: Conversation = vec![offer.into()];
    for turn in 1..=COUNTERS {
        let counter = NegotiationStep::Counter {
            answers: answers(step),
            terms: terms(turn),
            expires_at: None,
            message: None,
        };
        let counter = match turn % 2 {
            1 => pair.reply(&counter)?,
            _ => pair.ask(&counter)?,
        };
        step = counter.header.id;
        said.push(counter.into());
    }
    // The last counter is the provider's.
    let accept = pair.ask(&NegotiationStep::Accept {
        answers: answers(step),
        terms_hash: Digest::of(&to_canonical(&terms(COUNTERS))),
    })?;
    said.push(accept.into());
    Ok(said)
}
