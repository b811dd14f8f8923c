//! Every answer that an endpoint can give to each call, and what it counts as: the table of settlement-watcher.md section
//! 5, walked through one endpoint and through two of which one answers so.

#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a table that cannot be read stops the test"
)]

use std::fmt;

use x811_protocol::observation::{Observation, TransactionStatus};
use x811_watcher::SourceError;

use super::depth;
use super::rig::Rig;
use super::scripted::{
    CONFIRMED_DEPTH, ScriptedChain, World, rate_limited, refused, tx, unreachable,
};

const PAGE: &str = include_str!("../../../../../docs/spec/settlement-watcher.md");

/// The rows of the table, without the marks around their words.
fn rows() -> Vec<[String; 5]> {
    let table = PAGE
        .split("<!-- answers -->")
        .nth(1)
        .expect("the table has its mark");
    let lines = table
        .lines()
        .map(str::trim)
        .skip_while(|line| !line.starts_with("|---"));
    let lines = lines.skip(1).take_while(|line| line.starts_with('|'));
    let row = |line: &str| {
        let cells: Vec<String> = line
            .split('|')
            .map(|it| it.trim().replace('`', ""))
            .collect();
        cells[1..6].to_vec().try_into().unwrap()
    };
    lines.map(row).collect()
}

/// The endpoint gives that answer to that call from now on.
fn answers(world: &mut World, call: &'static str, answer: &str) {
    let failure = match answer {
        "refused" => refused(),
        "rate limit" => rate_limited(),
        "no answer" => unreachable(),
        "not yet" => SourceError::NotYet {
            method: call,
            message: "indexing is in progress".to_owned(),
        },
        "unknown block" => SourceError::Behind { method: call },
        "unreadable" => SourceError::Malformed {
            method: call,
            detail: "no header".to_owned(),
        },
        "too long" => SourceError::TooLarge {
            method: call,
            limit_bytes: 1,
        },
        other => return says(world, call, other),
    };
    world.fails.insert(call, failure);
}

fn says(world: &mut World, call: &'static str, answer: &str) {
    match (call, answer) {
        ("eth_chainId", "another") => world.chain_id = x811_protocol::evm::ChainId::new(1),
        ("eth_getCode", "empty") => world.has_code = false,
        ("eth_call", "another") => world.decimals = Some(18),
        // A live endpoint shows both as no number.
        ("eth_call", "empty" | "reverted") => world.decimals = None,
        ("eth_getLogs", "empty") => drop(world.omitted.insert(tx(1))),
        ("eth_getLogs", "another") => drop(world.forged_in_lists.insert(tx(1), 1)),
        // So does a live endpoint show each of these.
        ("eth_getTransactionReceipt", "unanswered") => world.is_indexing = true,
        ("eth_getTransactionReceipt", "null") => drop(world.denied.insert(tx(1))),
        ("eth_getTransactionReceipt", "another") => drop(world.forged.insert(tx(1), 1)),
        ("latest", "another") => world.invented = 1,
        ("safe" | "finalized", "another") => {
            let mut stray = world.head();
            stray.hash = stray.parent;
            world.stray_level = Some(stray);
        }
        (_, "null") => drop(world.nulls.insert(call)),
        (_, "value") => {}
        (call, answer) => panic!("nobody knows how {call} answers: {answer}"),
    }
}

/// What came of a payment while the endpoint answered so.
#[derive(Debug, Default)]
struct Outcome {
    confirmed: bool,
    missing: bool,
    /// Heads that were reported.
    heads: usize,
    /// A head that a level reached, of those that came since.
    level: bool,
    state: &'static str,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let payment = match self {
            Outcome { missing: true, .. } => "missing",
            Outcome {
                confirmed: true,
                level: true,
                ..
            } => "confirmed",
            Outcome {
                confirmed: true, ..
            } => "confirmed, no level",
            Outcome { heads, .. } if *heads > 30 => "waits",
            Outcome { .. } => "blind",
        };
        f.write_str(payment)
    }
}

const CALLS: [&str; 10] = [
    "eth_chainId",
    "eth_getCode",
    "eth_call",
    "latest",
    "safe",
    "finalized",
    "eth_getBlockByHash",
    "eth_getLogs",
    "eth_getTransactionReceipt",
    "eth_getBlockByNumber",
];

async fn outcome(endpoints: usize, call: &str, answer: &str) -> Outcome {
    let chains = [(); 2].map(|()| ScriptedChain::with_blocks(40));
    let both = [("a", &chains[0]), ("b", &chains[1])];
    let mut rig = Rig::through(&both[..endpoints], &[tx(1)]);
    let call = CALLS.into_iter().find(|known| *known == call).expect(call);
    // The number of decimals is requested at the start only.
    if call != "eth_call" {
        rig.sweep().await;
    }
    answers(&mut chains[0].world(), call, answer);
    rig.look_for(&[tx(1)]);
    let mut outcome = Outcome::default();
    // Two blocks at a time, so that a block below the head is asked for by its hash; and so long that what is checked
    // every minute is checked before the payment.
    for step in 0..100 {
        if step == 40 {
            outcome.heads = 0;
            for chain in &chains {
                chain.world().pay(tx(1), 29_725);
            }
        }
        for heard in rig.all_within(2_000).await {
            let Observation::Sweep(sweep) = heard else {
                continue;
            };
            outcome.heads += 1;
            outcome.confirmed |= depth(&sweep, tx(1)) >= Some(CONFIRMED_DEPTH);
            let status = sweep.transactions.get(&tx(1));
            outcome.missing |= step >= 40 && status == Some(&TransactionStatus::NotFound);
            outcome.level |= match call {
                "safe" => sweep.safe_number > Some(40),
                _ => sweep.finalized.is_some_and(|head| head.number > 40),
            };
        }
        for chain in &chains {
            let mut world = chain.world();
            world.mine(2);
            let blocks = world.canonical.len();
            world.safe_number = Some(blocks - 5);
        }
    }
    outcome.state = rig.health.borrow().endpoints[0].state.as_str();
    outcome
}

#[tokio::test(start_paused = true)]
async fn sw_answers_count_as_the_table_says() {
    let rows = rows();
    assert!(rows.len() >= 60, "{}", rows.len());
    let mut faults = Vec::new();
    for [call, answer, alone, of_two, state] in rows {
        let one = outcome(1, &call, &answer).await;
        let two = outcome(2, &call, &answer).await;
        let found = [one.to_string(), two.to_string(), one.state.to_owned()];
        if found != [alone, of_two, state] {
            faults.push(format!("| `{call}` | {answer} | {} |", found.join(" | ")));
        }
    }
    assert!(faults.is_empty(), "it is so:\n{}", faults.join("\n"));
}
