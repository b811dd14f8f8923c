//! What agents earn (AX-37, agents.md section 4): every ending by itself, and random histories held
//! against `tests/verifiers/trust.py`, which knows the records and the rules' text alone.

use super::base::tx;
use super::deal::{Deal, TOTAL_MICRO_USDC, Until};
use super::ledgerbox::{Ledgerbox, impatient};
use super::party::{Account, Party};
use super::size::size;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use std::io::Write as _;
use std::process::{Child, Command, Stdio};
use x811_ledger::port::ReadModel as _;
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::trust::TrustCounters;

/// How many random histories there are unless `X811_TRUST` says otherwise.
const HISTORIES: u32 = 16;

/// Longer than any window of an interaction.
const LONG_MS: u64 = 3_700_000;

/// How an interaction goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Lapsed(Until),
    Declined,
    Contested,
    Paid,
    Reversed,
    Returned,
    Short,
    Free,
}

const ENDS: [End; 12] = [
    End::Lapsed(Until::Pending),
    End::Lapsed(Until::Offered),
    End::Lapsed(Until::Accepted),
    End::Lapsed(Until::Delivered),
    End::Lapsed(Until::Verified),
    End::Declined,
    End::Contested,
    End::Paid,
    End::Reversed,
    End::Returned,
    End::Short,
    End::Free,
];

fn counters(s: u32, f: u32, d: u32, contested: u32) -> TrustCounters {
    TrustCounters { contested, d, f, s }
}

const NONE: TrustCounters = TrustCounters::NONE;

/// What each ending is worth to initiator and provider: the table of agents.md section 4.
fn due(end: End) -> [TrustCounters; 2] {
    match end {
        End::Lapsed(Until::Accepted) => [NONE, counters(0, 1, 0, 0)],
        End::Lapsed(Until::Delivered) => [counters(0, 1, 0, 0), NONE],
        End::Lapsed(Until::Verified) | End::Short | End::Reversed => [counters(0, 0, 1, 0), NONE],
        End::Lapsed(Until::Pending | Until::Offered) | End::Declined | End::Free => [NONE, NONE],
        End::Contested => [NONE, counters(0, 0, 1, 1)],
        End::Paid | End::Returned => [counters(1, 0, 0, 0); 2],
    }
}

async fn pay(ledgerbox: &mut Ledgerbox, deal: &Deal, number: u16, micro_usdc: u64) {
    deal.mine(ledgerbox, number, &[micro_usdc]);
    ledgerbox.accept(&deal.payment(ledgerbox, number)).await;
    ledgerbox.watch_ms(8_000).await;
}

async fn contest(ledgerbox: &Ledgerbox, deal: &Deal) {
    let payload = json!({
        "request_id": deal.request_id,
        "offer_id": deal.offer_id,
        "result_hash": Digest::of(b"Guten Tag"),
        "verified": false,
        "dispute_reason": "not what was asked for",
        "dispute_code": "WRONG_RESULT",
    });
    let verdict = ledgerbox.letter("x811/verify", &deal.provider, payload);
    ledgerbox.accept(&deal.initiator.seal(&verdict)).await;
}

async fn free(ledgerbox: &Ledgerbox, deal: &mut Deal, number: u16) {
    deal.go(ledgerbox, Until::Pending).await;
    ledgerbox.accept(&deal.free_offer(ledgerbox)).await;
    for step in [Deal::accept, Deal::result, Deal::verify] {
        let envelope = step(deal, ledgerbox);
        ledgerbox.accept(&envelope).await;
    }
    let nothing = deal.payment_of(ledgerbox, &tx(number), "0");
    ledgerbox.accept(&nothing).await;
    ledgerbox.watch_ms(2_000).await;
}

async fn play(ledgerbox: &mut Ledgerbox, deal: &mut Deal, end: End, number: u16) {
    match end {
        End::Lapsed(until) => {
            deal.go(ledgerbox, until).await;
            ledgerbox.advance_ms(LONG_MS).await;
            ledgerbox.sweep().await;
        }
        End::Declined => {
            deal.go(ledgerbox, Until::Offered).await;
            ledgerbox.accept(&deal.reject(ledgerbox)).await;
        }
        End::Contested => {
            deal.go(ledgerbox, Until::Delivered).await;
            contest(ledgerbox, deal).await;
        }
        End::Free => free(ledgerbox, deal, number).await,
        End::Short => {
            deal.go(ledgerbox, Until::Verified).await;
            pay(ledgerbox, deal, number, TOTAL_MICRO_USDC - 1).await;
            ledgerbox.watch_ms(20_000).await;
        }
        End::Paid | End::Reversed | End::Returned => {
            deal.go(ledgerbox, Until::Verified).await;
            pay(ledgerbox, deal, number, TOTAL_MICRO_USDC).await;
        }
    }
    if matches!(end, End::Reversed | End::Returned) {
        ledgerbox.base.reorganise_away(tx(number));
        ledgerbox.watch_ms(2_000).await;
    }
    if end == End::Returned {
        deal.mine(ledgerbox, number, &[TOTAL_MICRO_USDC]);
        ledgerbox.watch_ms(6_000).await;
    }
}

fn earned(ledgerbox: &Ledgerbox, parties: [&Party; 2]) -> [TrustCounters; 2] {
    parties.map(|party| ledgerbox.ledger().world().trust(party.did))
}

#[tokio::test]
async fn ax_37_each_ending_counts_for_whom_the_rules_say() {
    for (number, end) in (1..).zip(ENDS) {
        let mut ledgerbox = impatient().await;
        let mut deal = Deal::between_new_parties(&ledgerbox).await;
        play(&mut ledgerbox, &mut deal, end, number).await;
        let earned = earned(&ledgerbox, [&deal.initiator, &deal.provider]);
        assert_eq!(earned, due(end), "{end:?}");
        ledgerbox.assert_log_adds_up().await;
    }
}

/// Who gains: an owner of two agents, who pays itself. The score rises; what gives it away is that all
/// of it came from one account (agents.md section 4, "named limits").
#[tokio::test]
async fn ax_37_two_agents_of_one_owner_raise_each_other_and_it_shows() {
    let mut ledgerbox = impatient().await;
    let mut deal = Deal::between_new_parties(&ledgerbox).await;
    for number in 1..=3 {
        play(&mut ledgerbox, &mut deal, End::Paid, number).await;
    }
    let [_, provider] = earned(&ledgerbox, [&deal.initiator, &deal.provider]);
    assert_eq!(provider, counters(3, 0, 0, 0));
    let known = ledgerbox
        .rows
        .trust(deal.provider.did, u64::MAX)
        .await
        .unwrap();
    assert_eq!(known.distinct_payers, 1);
}

/// Who gains: an initiator that has the work and says it is none. It costs it nothing but what it
/// would have paid, and the provider's score falls; `contested` says on whose word that rests.
#[tokio::test]
async fn ax_37_a_verify_that_says_no_costs_its_sender_nothing_and_is_shown_as_contested() {
    let mut ledgerbox = impatient().await;
    let mut deal = Deal::between_new_parties(&ledgerbox).await;
    play(&mut ledgerbox, &mut deal, End::Contested, 1).await;
    let [initiator, provider] = earned(&ledgerbox, [&deal.initiator, &deal.provider]);
    assert_eq!((initiator, provider), (NONE, counters(0, 0, 1, 1)));
    assert!(provider.score_hundredths() < initiator.score_hundredths());
}

/// A history's records, and every row of trust that the ledger made of them.
async fn written(ledgerbox: &Ledgerbox) -> Value {
    let records = ledgerbox.records().await;
    let leaves = records
        .iter()
        .map(|record| -> Value { serde_json::from_slice(record.bytes()).unwrap() });
    let (leaves, mut rows) = (leaves.collect::<Vec<_>>(), Vec::new());
    for row in ledgerbox.rows.rows().trust.values() {
        let known = ledgerbox.rows.trust(row.did, row.position).await.unwrap();
        rows.push(json!({
            "position": row.position,
            "did": row.did,
            "s": row.trust.s,
            "f": row.trust.f,
            "d": row.trust.d,
            "contested": row.trust.contested,
            "score_hundredths": row.trust.score_hundredths(),
            "distinct_payers": known.distinct_payers,
        }));
    }
    json!({ "records": leaves, "trust": rows })
}

/// `tests/verifiers/trust.py`, which reads histories.
fn second_implementation() -> Child {
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/verifiers/trust.py"
    );
    let mut command = Command::new("python3");
    command.arg(script).stdin(Stdio::piped());
    command.spawn().expect("python3 runs")
}

/// Holds every row of trust that this ledger made against the second implementation.
pub(crate) async fn held_by_second_implementation(ledgerbox: &Ledgerbox) {
    let mut second = second_implementation();
    let mut lines = second.stdin.take().unwrap();
    writeln!(lines, "{}", written(ledgerbox).await).unwrap();
    drop(lines);
    assert!(
        second.wait().unwrap().success(),
        "the second implementation differs"
    );
}

async fn history(steps: Vec<(usize, usize, usize)>) -> Value {
    let mut ledgerbox = impatient().await;
    let accounts = [0x46, 0x47].map(Account::new);
    let mut initiators = Vec::new();
    for account in &accounts {
        initiators.push(ledgerbox.initiator(account).await);
    }
    let providers = [ledgerbox.provider().await, ledgerbox.provider().await];
    for (number, (initiator, provider, end)) in (1..).zip(steps) {
        let account = Account::new([0x46, 0x47][initiator]);
        let (initiator, provider) = (&initiators[initiator], &providers[provider]);
        let mut deal = Deal::between(&ledgerbox, initiator, provider, account);
        play(&mut ledgerbox, &mut deal, ENDS[end], number).await;
    }
    ledgerbox.assert_log_adds_up().await;
    // Who has no history has no rows, and no place in memory.
    let rows = ledgerbox.rows.rows();
    let of_rows = |did: Did| {
        let mut known = rows.trust.range((did, 0)..=(did, u64::MAX));
        known.next_back().map_or(NONE, |(_, row)| row.trust)
    };
    for party in initiators.iter().chain(&providers) {
        assert_eq!(
            ledgerbox.ledger().world().trust(party.did),
            of_rows(party.did)
        );
    }
    written(&ledgerbox).await
}

/// `X811_TRUST=10000` for the long form.
#[test]
fn ax_37_random_histories_earn_what_a_second_implementation_computes() {
    let mut second = second_implementation();
    let lines = std::cell::RefCell::new(second.stdin.take().unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let step = (0..2_usize, 0..2_usize, 0..ENDS.len());
    let steps = proptest::collection::vec(step, 1..8);
    let cases = size("X811_TRUST", HISTORIES);
    let mut runner = TestRunner::new(Config::with_cases(cases));
    runner
        .run(&steps, |steps| {
            let written = runtime.block_on(history(steps));
            writeln!(lines.borrow_mut(), "{written}").unwrap();
            Ok(())
        })
        .unwrap();
    // The end of its input.
    drop(lines);
    assert!(
        second.wait().unwrap().success(),
        "the second implementation differs"
    );
}
