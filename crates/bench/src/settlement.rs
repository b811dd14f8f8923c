//! `x811-bench settlement`: what it costs to find out that payments arrived, by following the chain
//! as the ledger does, against asking for one receipt per payment.
//!
//! The chain is an Anvil of its own. The limit is the bare download of the blocks' transfer logs
//! from it: the watcher cannot be faster than the endpoint. Each receipt is asked for once, when it
//! is certain to be there; who does not know that asks again and again.

mod base;
mod metered;
mod watch;

use std::path::PathBuf;

use serde::Serialize;
use serde_json::json;
use x811_watcher::WatchedSet;

use super::cpu::{Elapsed, Stopwatch};
use super::figures::{Rate, thousands};
use super::measured::Measured;
use super::{broken, memory};
use base::{Base, made_up};
use metered::Calls;
use watch::Watch;
use x811_console::failure::Failure;
use x811_console::output::Out;

/// Base's chain id.
const CHAIN_ID: u64 = 8_453;

/// The ledger's default.
const CONFIRMED_DEPTH: u64 = 12;

/// Blocks below the first that is looked at.
const BLOCKS_BEFORE: u64 = 20;

/// Receipts in one request, as many as providers advise.
const BATCH: usize = 50;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The `anvil` program; without a path, the one of npm where there is none on PATH
    #[arg(long, value_name = "FILE", default_value = "anvil")]
    anvil: PathBuf,
    /// Transfers that are confirmed in one turn
    #[arg(long, value_name = "COUNT", default_value_t = 5_000, value_parser = clap::value_parser!(u64).range(1..=50_000))]
    transfers: u64,
    /// Payments that are pending beside them and never arrive
    #[arg(long, value_name = "COUNT", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pending: u64,
    /// Turns of tailing and asking, one after the other
    #[arg(long, value_name = "COUNT", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..))]
    turns: u64,
    /// Blocks over which the calls are counted
    #[arg(long, value_name = "COUNT", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    blocks: u64,
}

/// Measures and reports.
pub(super) async fn run(args: Args, out: &mut Out) -> Result<(), Failure> {
    let base = Base::start(&args.anvil).await?;
    base.mine(BLOCKS_BEFORE).await?;
    let mut watch = Watch::start(base.rpc_url(), base.token())?;
    watch.until_head(base.head_number().await?).await?;
    let some = args.pending.div_ceil(100);
    let mut calls = vec![count_calls(&base, &mut watch, 0, args.blocks).await?];
    watch.watch(&made_up(some).collect()).await?;
    calls.push(count_calls(&base, &mut watch, some, args.blocks).await?);
    let rss_before_bytes = memory::rss_bytes();
    let pending: WatchedSet = made_up(args.pending).collect();
    watch.watch(&pending).await?;
    let rss_after_bytes = memory::rss_bytes();
    calls.push(count_calls(&base, &mut watch, args.pending, args.blocks).await?);
    let mut turns = Turns::default();
    for turn in 0..args.turns {
        let first = turn * args.transfers;
        turns
            .measure(&base, &mut watch, &pending, first, args.transfers)
            .await?;
    }
    watch.stop().await?;
    base.stop().await;
    let grown_bytes = rss_before_bytes
        .zip(rss_after_bytes)
        .map(|(before, after)| after.saturating_sub(before));
    let share = |bytes: u64| bytes as f64 / (args.pending - some).max(1) as f64;
    out.report(&turns.measured(args.pending, &calls, grown_bytes.map(share)));
    Ok(())
}

/// What blocks cost with so many payments pending.
async fn count_calls(
    base: &Base,
    watch: &mut Watch,
    pending: u64,
    blocks: u64,
) -> Result<PerBlock, Failure> {
    let before = watch.calls();
    for _ in 0..blocks {
        base.mine(1).await?;
        watch.until_head(base.head_number().await?).await?;
    }
    let calls = watch.calls().since(before);
    Ok(PerBlock {
        pending,
        blocks,
        calls_per_block: calls.all() as f64 / blocks as f64,
        calls,
    })
}

/// The turns so far.
#[derive(Debug, Default)]
struct Turns {
    transfers: u64,
    blocks: u64,
    logs: Elapsed,
    tail: Elapsed,
    alone: Elapsed,
    batched: Elapsed,
}

impl Turns {
    /// New transfers, confirmed in each of the ways.
    async fn measure(
        &mut self,
        base: &Base,
        watch: &mut Watch,
        pending: &WatchedSet,
        first: u64,
        count: u64,
    ) -> Result<(), Failure> {
        let sent = base.send(first, count).await?;
        let mut watched = pending.clone();
        watched.extend(sent.iter().copied());
        watch.watch(&watched).await?;
        watch.meter().hold();
        let first_block = base.head_number().await? + 1;
        let blocks = base.mine_all().await?;
        base.mine(CONFIRMED_DEPTH).await?;
        let last_block = base.head_number().await?;
        let stopwatch = Stopwatch::start(std::process::id());
        watch.meter().release();
        watch.until_deep(&sent).await?;
        self.tail += stopwatch.elapsed();
        let (transfers, elapsed) = base.logs(first_block, last_block).await?;
        if transfers != count {
            return Err(broken("the blocks hold other transfers"));
        }
        self.logs += elapsed;
        self.alone += base.receipts(&sent, 1).await?;
        self.batched += base.receipts(&sent, BATCH).await?;
        self.transfers += count;
        self.blocks += blocks;
        Ok(())
    }

    fn measured(&self, pending: u64, calls: &[PerBlock], bytes_each: Option<f64>) -> Measured {
        let rate = |elapsed| Rate::of(self.transfers, elapsed);
        // Transfers in the bare logs of the same blocks.
        let limit_per_second = rate(self.logs).per_second;
        let (tail, alone, batched) = (rate(self.tail), rate(self.alone), rate(self.batched));
        let ratio = tail.per_second / limit_per_second;
        let times_alone = tail.per_second / alone.per_second;
        let times_batched = tail.per_second / batched.per_second;
        let a_block = self.transfers / self.blocks.max(1);
        let heading = format!(
            "settlement: {times_alone:.0} times one receipt at a time, {times_batched:.0} times batches of \
             {BATCH}; {ratio:.2} of the limit"
        );
        let limit = thousands(limit_per_second);
        let more = thousands(pending as f64);
        let memory = bytes_each.map(|bytes| format!("{bytes:.0} bytes for each pending payment"));
        let header = [
            "pending",
            "calls a block",
            "head",
            "header",
            "logs",
            "safe, final",
            "receipts",
        ];
        Measured::new("settlement", heading)
            .figures(json!({
                "pending": pending, "transfers_per_block": a_block, "limit_per_second": limit_per_second,
                "ratio": ratio, "tail": tail, "one_receipt": alone, "batched_receipts": batched,
                "batch": BATCH, "times_one_receipt": times_alone, "times_batched_receipts": times_batched,
                "calls": calls, "bytes_per_pending": bytes_each,
            }))
            .fields([
                ("tailing", tail.text("transfers confirmed")),
                ("one receipt", alone.text("transfers confirmed")),
                ("batched", batched.text("transfers confirmed")),
                ("limit", format!("{limit} transfers a second in the bare logs of the same blocks")),
                (
                    "chain",
                    format!("{a_block} transfers a block, {more} more payments pending, one endpoint"),
                ),
                ("memory", memory.unwrap_or_else(|| "unknown here".to_owned())),
            ])
            .gap()
            .table(&header, calls.iter().map(PerBlock::row).collect())
            .gap()
            .line(bound(&tail))
    }
}

/// What a block costs.
#[derive(Debug, Serialize)]
struct PerBlock {
    pending: u64,
    blocks: u64,
    calls_per_block: f64,
    calls: Calls,
}

/// What keeps the tail from being faster.
fn bound(tail: &Rate) -> String {
    let Some(cpu_us) = tail.cpu_us_each else {
        return "bound: unknown, CPU time cannot be read here".to_owned();
    };
    let busy = cpu_us * tail.per_second / 1e6;
    // It either waits or computes.
    let what = match busy > 0.5 {
        true => "this process, more than by Anvil",
        false => "Anvil, which answers for logs and receipts",
    };
    format!(
        "bound by {what}: {:.0} % of one core is used, {cpu_us:.1} µs for each transfer; what \
         is pending costs no call for 150 blocks, and then two receipts a block at most",
        busy * 100.0
    )
}

impl PerBlock {
    fn row(&self) -> Vec<String> {
        let per_block = |calls: u64| format!("{:.1}", calls as f64 / self.blocks as f64);
        vec![
            thousands(self.pending as f64),
            format!("{:.1}", self.calls_per_block),
            per_block(self.calls.heads),
            per_block(self.calls.headers),
            per_block(self.calls.logs),
            per_block(self.calls.levels),
            per_block(self.calls.receipts),
        ]
    }
}
