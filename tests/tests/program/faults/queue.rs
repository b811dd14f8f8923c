//! The sequencer's queue under more load than it can take: a simulation, for the plan of one process a
//! log (docs/scale.md). Its rules are the sequencer's own: one commit is on its way while the next one
//! is decided, who waits for longer than a quarter of a second is told to come again, and the queue has
//! a bound.
//!
//! What a commit and a message cost was measured by `bench_stores`; `X811_QUEUE_COMMIT_US` and
//! `X811_QUEUE_MESSAGE_US` put other figures in their place. docs/scale.md has what this prints, and says
//! where each figure comes from.

use x811_tests::size::from_environment;

/// A place for the log, as it was measured.
struct Measured {
    name: &'static str,
    /// Accepted a second with 256 conversations at once.
    a_second: u64,
    /// The median answer with one conversation: little else than its commit.
    commit_us: u64,
}

const MEASURED: [Measured; 3] = [
    Measured {
        name: "SQLite",
        a_second: 11_509,
        commit_us: 600,
    },
    Measured {
        name: "PostgreSQL",
        a_second: 10_475,
        commit_us: 600,
    },
    Measured {
        name: "PostgreSQL with quorum",
        a_second: 8_635,
        commit_us: 1_300,
    },
];

/// Messages of one commit, places in the queue, and patience, as in the sequencer.
const BATCH: usize = 1_024;
const ROOM: usize = 4_096;
const PATIENCE_US: u64 = 250_000;

/// How long it is looked at.
const SECONDS: u64 = 60;

/// The time of a commit, and of each message that is decided meanwhile, in microseconds.
#[derive(Debug, Clone, Copy)]
struct Costs {
    commit_us: u64,
    message_us: u64,
}

impl Costs {
    fn of(place: &Measured) -> Costs {
        Costs {
            commit_us: place.commit_us,
            message_us: 1_000_000 / place.a_second,
        }
    }

    /// What the environment says; both or none.
    fn given() -> Option<Costs> {
        Some(Costs {
            commit_us: from_environment("X811_QUEUE_COMMIT_US")?,
            message_us: from_environment("X811_QUEUE_MESSAGE_US")?.max(1),
        })
    }

    fn of_messages(self, count: usize) -> u64 {
        (self.message_us * count as u64).max(self.commit_us)
    }
}

/// What became of the messages.
#[derive(Debug, Default)]
struct Outcome {
    accepted: u64,
    refused: u64,
    longest_queue: usize,
    latencies_us: Vec<u64>,
}

impl Outcome {
    fn p99_ms(&mut self) -> u64 {
        self.latencies_us.sort_unstable();
        let place = self.latencies_us.len() * 99 / 100;
        self.latencies_us.get(place).copied().unwrap_or_default() / 1_000
    }
}

/// The time to the next of messages that come by themselves, `a_second` of them.
fn gap_us(dice: &mut u64, a_second: f64) -> f64 {
    // Knuth's generator: the same run each time.
    *dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    let share = ((*dice >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
    -share.ln() * 1e6 / a_second
}

fn simulate(costs: Costs, a_second: f64) -> Outcome {
    let (mut dice, mut outcome) = (811, Outcome::default());
    let mut queue = std::collections::VecDeque::new();
    let (mut now_us, mut next_us) = (0_u64, 0.0);
    while now_us < SECONDS * 1_000_000 {
        // Whoever came until now, as far as there is room.
        while next_us <= now_us as f64 {
            if queue.len() < ROOM {
                queue.push_back(next_us as u64);
            } else {
                outcome.refused += 1;
            }
            next_us += gap_us(&mut dice, a_second);
        }
        outcome.longest_queue = outcome.longest_queue.max(queue.len());
        // Whoever waited for too long is told so, which costs next to nothing.
        while queue
            .front()
            .is_some_and(|came| now_us - came > PATIENCE_US)
        {
            queue.pop_front();
            outcome.refused += 1;
        }
        let batch = queue.len().min(BATCH);
        if batch == 0 {
            now_us = now_us.max(next_us as u64 + 1);
            continue;
        }
        now_us += costs.of_messages(batch);
        for came in queue.drain(..batch) {
            outcome.latencies_us.push(now_us + costs.commit_us - came);
        }
        outcome.accepted += batch as u64;
    }
    outcome
}

/// Below a million, as pages write it.
fn thousands(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        1_000.. => format!("{},{:03}", number / 1_000, number % 1_000),
    }
}

/// How it goes at several times of what the place can take, as lines of a table.
fn rows(name: &str, costs: Costs) -> Vec<String> {
    let most = BATCH as f64 * 1e6 / costs.of_messages(BATCH) as f64;
    let row = |times: f64| {
        let mut outcome = simulate(costs, most * times);
        let accepted = outcome.accepted as f64 / SECONDS as f64;
        let all = outcome.accepted + outcome.refused;
        let refused = outcome.refused as f64 * 100.0 / all as f64;
        let p99_ms = outcome.p99_ms();
        assert!(outcome.longest_queue <= ROOM);
        if times < 1.0 {
            assert_eq!(
                outcome.refused, 0,
                "there is room for {times} of what it can"
            );
        } else {
            // It goes on at its own pace, and whoever is taken is answered in time.
            assert!(accepted > 0.9 * most, "{times}: {accepted}");
        }
        assert!(p99_ms <= (PATIENCE_US + 2 * costs.of_messages(BATCH)) / 1_000);
        let queue = thousands(outcome.longest_queue as u64);
        let accepted = thousands(accepted.round() as u64);
        format!("| {name} | {times:.1} | {accepted} | {refused:.0} % | {p99_ms} ms | {queue} |")
    };
    [0.5, 0.9, 1.0, 2.0, 10.0].map(row).to_vec()
}

#[test]
fn stores_7_ten_times_the_load_is_refused_and_slows_nobody_down() {
    if let Some(costs) = Costs::given() {
        println!("{costs:?}");
        rows("as given", costs)
            .iter()
            .for_each(|row| println!("{row}"));
        return;
    }
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/scale.md");
    let page = std::fs::read_to_string(page).unwrap();
    let places = MEASURED.iter();
    let mut rows: Vec<String> = places
        .flat_map(|place| rows(place.name, Costs::of(place)))
        .collect();
    rows.retain(|row| !page.contains(row));
    assert!(rows.is_empty(), "docs/scale.md lacks\n{}", rows.join("\n"));
}
