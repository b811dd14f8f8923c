//! Many agents for minutes, while streams are cut, their processes killed and the ledger restarted:
//! nothing is missing, nothing is acted on twice, order is kept, nobody gets another's.
//!
//! 24 agents for sixteen seconds; 200 for five minutes with
//! `X811_SOAK=long cargo nextest run --profile full -p x811-tests --test program --no-capture`.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "what a fixture lacks fails the test; it is told its size, takes its time and says what it saw"
)]

mod cast;
mod oracle;
mod tap;

use cast::{Cast, Hosts};
use oracle::Log;
use std::path::Path;
use std::time::{Duration, Instant};
use tap::Tap;
use tempfile::TempDir;
use x811_tests::anvil::{Anvil, BASE_USDC, LOCAL_CHAIN_ID};
use x811_tests::binary::{Server, run};
use x811_tests::soak::TOTAL_MICRO_USDC;

/// Streams are cut so often: five a second.
const CUT_EVERY: Duration = Duration::from_millis(200);

/// How long the agents have to finish what they began, once nobody disturbs them.
const CALM: Duration = Duration::from_secs(150);

/// How much of it.
struct Size {
    pairs: usize,
    hosts: usize,
    time: Duration,
    kill_every: Duration,
}

impl Size {
    fn asked() -> Size {
        if std::env::var("X811_SOAK").is_ok_and(|size| size == "long") {
            return Size {
                pairs: 100,
                hosts: 5,
                time: Duration::from_secs(300),
                kill_every: Duration::from_secs(12),
            };
        }
        Size {
            pairs: 12,
            hosts: 3,
            time: Duration::from_secs(16),
            kill_every: Duration::from_secs(2),
        }
    }
}

/// A ledger that is started again in the same place.
struct Ledger<'a> {
    folder: &'a Path,
    options: Vec<String>,
    server: Option<Server>,
}

impl Ledger<'_> {
    fn start(&mut self, tap: &Tap) {
        let options: Vec<&str> = self.options.iter().map(String::as_str).collect();
        let data = self.folder.join("data");
        let log = self.folder.join("ledger.log");
        let server = Server::start_logged(&data, &options, &log).unwrap();
        tap.lead_to(Some(server.url().to_owned()));
        self.server = Some(server);
    }

    /// A power cut, or an operator's stop.
    fn end(&mut self, tap: &Tap, is_kill: bool) {
        tap.lead_to(None);
        match self.server.take() {
            Some(server) if is_kill => server.kill(),
            Some(server) => server.stop(),
            None => {}
        }
    }
}

fn options(tap: &Tap, anvil: &Anvil, pairs: usize) -> Vec<String> {
    let token = BASE_USDC.to_string();
    let rpc_url = anvil.rpc_url();
    let streams = (pairs * 2 + 20).to_string();
    let words = [
        "--network",
        "local",
        "--rpc",
        &rpc_url,
        "--token",
        &token,
        "--streams",
        &streams,
        "--public-authority",
        &tap.authority,
        "--verify-ms",
        "120000",
        "--payment-ms",
        "180000",
    ];
    words.map(str::to_owned).to_vec()
}

/// What was done to the agents and to their ledger.
#[derive(Default)]
struct Trouble {
    kills: u32,
    restarts: u32,
}

/// Cuts streams, kills processes and starts the ledger again, for as long as was asked.
async fn disturb(
    size: &Size,
    tap: &Tap,
    ledger: &mut Ledger<'_>,
    hosts: &mut Hosts,
    cast: &mut Cast,
) -> Trouble {
    let begun = Instant::now();
    let mut trouble = Trouble::default();
    let mut random = 1_usize;
    while begun.elapsed() < size.time {
        tokio::time::sleep(CUT_EVERY).await;
        tap.cut(|of| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (random >> 33) % of
        });
        if begun.elapsed() > size.kill_every * (trouble.kills + 1) {
            hosts.kill_and_start(cast);
            trouble.kills += 1;
        }
        if trouble.restarts < 3 && begun.elapsed() > size.time / 4 * (trouble.restarts + 1) {
            ledger.end(tap, trouble.restarts != 1);
            tokio::time::sleep(CUT_EVERY * 5).await;
            ledger.start(tap);
            trouble.restarts += 1;
        }
    }
    trouble
}

/// Waits until all orders are done, and what was got is acknowledged; how long the first took, in
/// seconds.
async fn calm_down(tap: &Tap, hosts: &mut Hosts, orders: usize) -> u64 {
    let calm = Instant::now();
    while calm.elapsed() < CALM && !hosts.are_done(orders) {
        tokio::time::sleep(CUT_EVERY).await;
        assert_eq!(hosts.ended(), None, "a loop ended by itself");
    }
    let calm_s = calm.elapsed().as_secs();
    // Acknowledgements follow what they acknowledge.
    tokio::time::sleep(CUT_EVERY * 10).await;
    while calm.elapsed() < CALM && !tap.seen().is_acknowledged() {
        tokio::time::sleep(CUT_EVERY).await;
    }
    calm_s
}

/// The log, as the ledger's own export shows it and its audit takes it.
fn exported(folder: &Path) -> Log {
    let log = folder.join("log.x811");
    let data = folder.join("data");
    let words = [
        "export",
        data.to_str().unwrap(),
        "-o",
        log.to_str().unwrap(),
    ];
    let _ = run(&words).ok();
    let _ = run(&["--json", "audit", log.to_str().unwrap()]).unverified();
    Log::read(&log)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ae_133_many_agents_under_cuts_kills_and_restarts_lose_nothing_and_repeat_nothing() {
    let size = Size::asked();
    let folder = TempDir::new().unwrap();
    let anvil = Anvil::start(LOCAL_CHAIN_ID, None);
    anvil.deploy_usdc(BASE_USDC).await;
    let tap = Tap::start().await;
    let mut ledger = Ledger {
        folder: folder.path(),
        options: options(&tap, &anvil, size.pairs),
        server: None,
    };
    ledger.start(&tap);
    let mut cast = Cast::registered(folder.path(), &tap, size.pairs).await;
    cast.fund(&anvil).await;
    let before = cast.purses(&anvil).await;
    anvil.blocks_every_second().await;
    let mut hosts = Hosts::start(size.hosts, &mut cast, &tap.url(), &anvil.rpc_url());

    let trouble = disturb(&size, &tap, &mut ledger, &mut hosts, &mut cast).await;
    let orders = cast.orders();
    let calm_s = calm_down(&tap, &mut hosts, orders).await;
    let told = hosts.stop();
    ledger.end(&tap, false);
    let log = exported(folder.path());
    let spent = before - cast.purses(&anvil).await;

    let seen = tap.seen();
    let figures = log.figures(&seen);
    println!(
        "{} agents in {} processes for {} s: {} streams cut ({} opened, {} refused, {} polls), {} processes killed, \
         ledger restarted {} times\n{orders} orders, {} interactions, {} paid; {} \
         envelopes sent {} times, {} accepted; {} delivered, {} of them again; {} alarms; calm \
         after {calm_s} s",
        size.pairs * 2,
        size.hosts,
        size.time.as_secs(),
        seen.cuts,
        seen.streams,
        seen.refused_streams,
        seen.polls,
        trouble.kills,
        trouble.restarts,
        figures.interactions,
        log.paid(),
        seen.sent.len(),
        seen.sent.values().sum::<u32>(),
        figures.accepted,
        figures.delivered,
        figures.repeated,
        told.alarms.len(),
    );
    let faults = log.faults(&seen);
    assert_eq!(faults, Vec::<String>::new(), "{} faults", faults.len());
    assert_eq!(
        figures.interactions, orders,
        "each order is one interaction"
    );
    assert_eq!(log.paid(), orders, "{:?}", told.alarms);
    assert_eq!(spent, TOTAL_MICRO_USDC * orders as u64, "each paid once");
    assert_eq!(told.alarms, Vec::<String>::new());
    assert!(
        trouble.kills >= 5 && seen.cuts > size.time.as_secs(),
        "it was quiet"
    );
}
