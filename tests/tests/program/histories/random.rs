//! Random histories. A longer run, with the number of them:
//! `X811_HISTORIES=2000 cargo nextest run --profile full -p x811-tests --test program --no-capture property`.
//! A run is repeated with the `X811_SEED` that it printed.

use std::cell::RefCell;
use std::fmt;
use std::hash::{BuildHasher as _, RandomState};

use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use x811_ledger::memory::CommitFault;
use x811_tests::size::from_environment;

use super::chain::Fault;
use super::quietly::quietly;
use super::story::{Act, Amount, Story};
use super::verdict::Tally;

/// Transactions of one history.
const TRANSACTIONS: u16 = 4;
/// Histories of one run.
const HISTORIES: u32 = 24;
/// The most by which a reorganisation makes the chain shorter.
const MOST_FEWER: usize = 16;
/// The longest a failing history is shortened.
const SHRINK_MS: u32 = 40_000;

/// What happens, printed an act a line.
#[derive(Clone)]
struct History(Vec<Act>);

impl fmt::Debug for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|act| write!(f, "\n  {act:?},"))
    }
}

fn history() -> impl Strategy<Value = History> {
    prop::collection::vec(passage(), 3..18).prop_map(|passages| History(passages.concat()))
}

/// A few acts: one of any kind, or some that lead somewhere together.
fn passage() -> impl Strategy<Value = Vec<Act>> {
    let paid = (number(), amount(), wait(), any::<bool>());
    let paid_twice = (number(), number(), amount(), wait());
    let lost = (17_usize..34, any::<bool>(), wait());
    let lower = (number(), 1..=MOST_FEWER, any::<bool>(), wait());
    prop_oneof![
        10 => act().prop_map(|act| vec![act]),
        4 => paid.prop_map(|(tx, amount, wait, is_mined_first)| {
            let mine = Act::Mine { tx, amount, reverts: false };
            let both = if is_mined_first { [mine, Act::Pay(tx)] } else { [Act::Pay(tx), mine] };
            Vec::from_iter(both.into_iter().chain([Act::Pass(wait)]))
        }),
        2 => paid_twice.prop_map(|(first, second, amount, wait)| {
            let mine = |tx, amount| Act::Mine { tx, amount, reverts: false };
            vec![
                Act::Pay(first),
                Act::PayAgain(0, second),
                mine(first, Amount::Total),
                mine(second, amount),
                Act::Pass(wait),
            ]
        }),
        2 => lost.prop_map(|(depth, comes_back, wait)| {
            vec![Act::Reorg { depth, fewer: 0, comes_back }, Act::Pass(wait)]
        }),
        // What was paid is mined anew, at or below the head that the ACCEPT has.
        2 => lower.prop_map(|(tx, fewer, comes_back, wait)| {
            let mine = Act::Mine { tx, amount: Amount::Total, reverts: false };
            let lower = Act::Reorg { depth: fewer + 4, fewer, comes_back };
            vec![Act::Pay(tx), mine.clone(), lower, mine, Act::Pass(wait)]
        }),
        2 => (number(), amount(), wait()).prop_map(|(tx, amount, wait)| {
            vec![Act::Mine { tx, amount, reverts: false }, Act::Pass(wait)]
        }),
    ]
}

fn number() -> impl Strategy<Value = u16> + Clone {
    1..=TRANSACTIONS
}

fn amount() -> impl Strategy<Value = Amount> + Clone {
    prop_oneof![
        5 => Just(Amount::Total),
        1 => Just(Amount::Two),
        1 => Just(Amount::Twice),
        1 => Just(Amount::Half),
        1 => Just(Amount::Short),
    ]
}

fn wait() -> impl Strategy<Value = u64> + Clone {
    prop_oneof![
        1 => Just(2_000_u64),
        1 => Just(9_000),
        2 => Just(26_000),
        3 => Just(35_000),
        1 => Just(70_000),
    ]
}

fn act() -> impl Strategy<Value = Act> {
    let mine = (number(), amount(), prop::bool::weighted(0.15));
    let away = prop_oneof![Just(0_u64), Just(3_000), Just(60_000)];
    let restart = (away, any::<bool>(), any::<bool>());
    prop_oneof![
        3 => number().prop_map(Act::Pay),
        3 => (0_usize..6, number()).prop_map(|(deal, tx)| Act::PayAgain(deal, tx)),
        4 => mine.prop_map(|(tx, amount, reverts)| Act::Mine { tx, amount, reverts }),
        1 => number().prop_map(Act::Drop),
        3 => (1_usize..34, 0..=MOST_FEWER, any::<bool>()).prop_map(|(depth, fewer, comes_back)| {
            let fewer = if fewer % 2 == 0 { 0 } else { fewer.min(depth) };
            Act::Reorg { depth, fewer, comes_back }
        }),
        4 => wait().prop_map(Act::Pass),
        1 => wait().prop_map(Act::Halt),
        1 => wait().prop_map(Act::Slow),
        2 => (0_usize..2, fault()).prop_map(|(endpoint, fault)| Act::Fault(endpoint, fault)),
        4 => (0_usize..2).prop_map(Act::Heal),
        2 => (0_usize..2).prop_map(Act::Exchange),
        2 => commit_fault().prop_map(Act::Commit),
        2 => restart.prop_map(|(away_ms, forgets, dies_after_commit)| Act::Restart {
            away_ms,
            forgets,
            dies_after_commit,
        }),
    ]
}

fn fault() -> impl Strategy<Value = Fault> {
    prop_oneof![
        Just(Fault::Down),
        (1_usize..9).prop_map(Fault::Lag),
        (2_usize..5).prop_map(Fault::LogsFailEvery),
        (2_usize..5).prop_map(Fault::HeadersFailEvery),
        number().prop_map(Fault::OmitsLog),
        number().prop_map(Fault::DeniesReceipt),
        number().prop_map(Fault::Forges),
        (1_u64..40).prop_map(Fault::InventsBlocks),
        number().prop_map(Fault::InventsTransfer),
        Just(Fault::RepeatsLogs),
        Just(Fault::RefusesLevels),
        Just(Fault::RefusesLists),
        (0_usize..3).prop_map(Fault::CutsLists),
        Just(Fault::Indexes),
        Just(Fault::LimitsRate),
        Just(Fault::Dies),
    ]
}

fn commit_fault() -> impl Strategy<Value = CommitFault> {
    prop_oneof![
        Just(CommitFault::Backend),
        Just(CommitFault::UnknownNothingStored),
        Just(CommitFault::UnknownAllStored),
    ]
}

/// Lets all of it happen before two endpoints, and everything come to its end.
pub(crate) fn run(acts: &[Act]) -> Tally {
    run_before(2, acts)
}

fn run_before(endpoints: usize, acts: &[Act]) -> Tally {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut story = Story::begin(endpoints).await;
        for act in acts {
            story.act(act).await;
        }
        story.quiet_down().await;
        story.compare_with_a_fresh_scan().await
    })
}

#[test]
fn sw_property_what_is_booked_in_the_end_is_what_the_chain_says() {
    holds_before(2, HISTORIES);
}

#[test]
fn sw_property_the_lone_endpoint_may_fail_and_nothing_wrong_is_booked() {
    holds_before(1, HISTORIES / 4);
}

/// So many histories, unless told.
fn holds_before(endpoints: usize, histories: u32) {
    let seed = from_environment("X811_SEED").unwrap_or_else(|| RandomState::new().hash_one(()));
    println!("histories: X811_SEED={seed}");
    let histories = from_environment("X811_HISTORIES").map_or(histories, |n| n.try_into().unwrap());
    let config = ProptestConfig {
        cases: histories,
        max_shrink_time: SHRINK_MS,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let all = RefCell::new(Vec::new());
    let result = TestRunner::new_with_rng(config, rng).run(&history(), |history| {
        let tally = quietly(|| run_before(endpoints, &history.0)).map_err(TestCaseError::fail)?;
        all.borrow_mut().push(tally);
        Ok(())
    });
    let all = all.into_inner();
    if let Err(failed) = result {
        panic!("X811_SEED={seed}, after {} that held\n{failed}", all.len());
    }
    let sum = |count: fn(&Tally) -> usize| all.iter().map(count).sum::<usize>();
    println!(
        "{} histories before {endpoints}: {} confirmed, {} reversed, {} returned, {} late, {} refuted",
        all.len(),
        sum(|tally| tally.confirmed),
        sum(|tally| tally.reversed),
        sum(|tally| tally.returned),
        sum(|tally| tally.late),
        sum(|tally| tally.refuted),
    );
}
