//! The cells of the kill matrix in which a host's clock is wrong by an hour (docs/scale.md): its process
//! takes over, and what it records bears the database's time.

use super::client::{Agent, ledger_did};
use super::hosts::{Host, both, hosts};
use super::standing::{accepted, now_ms, read};
use super::takeovers::wrong_clock;
use std::time::{Duration, Instant};
use x811_tests::postgres::Node;

/// A take-over takes 5 s; a machine that runs other tests meanwhile is slow.
const TAKE_OVER: Duration = Duration::from_secs(15);

/// How far recorded time may be off, in milliseconds.
const OFF_MS: u64 = 10_000;

async fn takes_over_with_a_clock_off_by(offset: &str) {
    let node = Node::start(&[]).await;
    let mut hosts = hosts(&node.url().await, &[]);
    hosts[1].place.under = wrong_clock(offset);
    both(&mut hosts).await;
    let [right, wrong] = hosts.each_ref().map(Host::url);
    let ledger = ledger_did(&right).await.unwrap();
    let mut agent = Agent::new("one");
    accepted(&right, &agent.registration(ledger)).await;
    // Passed on between clocks that differ by an hour.
    accepted(&wrong, &agent.message(ledger, 10)).await;

    // To the host whose clock is wrong, and back.
    for (dead, next) in [(0, &wrong), (1, &right)] {
        hosts[dead].kill();
        let begun = Instant::now();
        accepted(next, &agent.message(ledger, 10)).await;
        let took = begun.elapsed();
        println!(
            "clock {offset}: {} ms until {next} took over",
            took.as_millis()
        );
        assert!(took < TAKE_OVER, "{took:?}");
        hosts[1 - dead].becomes("writer").await;
        let (_, as_of, shown) = read(next, "/api/v1/agents").await.unwrap();
        let (_, at_ms) = as_of.unwrap_or_else(|| panic!("{shown}"));
        assert!(
            now_ms().abs_diff(at_ms) < OFF_MS,
            "recorded time is {at_ms}"
        );
        hosts[dead].start();
        hosts[dead].becomes("standby").await;
    }
    for host in &mut hosts {
        host.runs();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lc_1_2_a_process_whose_clock_is_an_hour_ahead_takes_over_and_records_no_later_time() {
    takes_over_with_a_clock_off_by("+3600s").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lc_1_2_a_process_whose_clock_is_an_hour_behind_takes_over_and_does_not_wait_for_it() {
    takes_over_with_a_clock_off_by("-3600s").await;
}
