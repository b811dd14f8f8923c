//! `x811-bench audit`: how fast a whole log is audited by `x811 audit`, in a process of its own:
//! hashes, tree, signatures, facts against bodies, every decision made again, rows compared.
//!
//! The log is one of whole interactions, paid for on a chain that is made up, so it has records of
//! the ledger's own between the signed ones. Two ratios follow: records, and signatures, for each
//! signature that could have been checked singly. The audit checks them in batches, at a quarter
//! of that cost. Beside them, the hashes alone.

mod hashes;
mod program;

use std::path::{Path, PathBuf};

use serde_json::json;
use x811_eventlog::{Checkpoint, Hash};
use x811_ledger::checkpoint::CheckpointStore as _;
use x811_server::keys::Identity;
use x811_store::FileCheckpointStore;

use super::figures::{Rate, thousands};
use super::history::{History, PastClock, register};
use super::ledger::{BenchLedger, NETWORK, StartFrom};
use super::limit::Limit;
use super::measured::Measured;
use super::traffic::{Agents, Conversation, paid_conversations_of_records};
use super::{Common, broken, memory, wall_clock};
use hashes::Hashes;
use program::Audited;
use x811_console::failure::Failure;
use x811_console::output::Out;

/// What it should reach: records for each signature that raw checking would do.
const TARGET_RATIO: f64 = 0.8;

/// The memory it may take: 300 MB, which are 286 MiB.
const TARGET_RSS_BYTES: u64 = 300_000_000;

/// What it waits for when not all cores are busy.
const WAITING: &str = "what one core does alone: replaying in order, and reading";

/// Conversations the limit is measured with.
const SAMPLE: usize = 1_000;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    common: Common,
    /// About how many records the log has; 1000000 take minutes to make, and 3 GB on the disk
    #[arg(long, value_name = "COUNT", default_value_t = 200_000)]
    records: usize,
    /// A directory that keeps the log with its checkpoint: made there if there is none, audited again
    /// if there is
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

/// Measures and reports.
pub(super) async fn run(args: Args, out: &mut Out) -> Result<(), Failure> {
    let agents = Agents::generate(args.common.agents(), NETWORK)?.paid();
    let conversations = paid_conversations_of_records(args.records);
    let made = match &args.keep {
        Some(_) => None,
        None => Some(args.common.directory()?),
    };
    let directory = match (&args.keep, &made) {
        (Some(kept), _) => kept.as_path(),
        (None, Some(made)) => made.path(),
        (None, None) => return Err(broken("there is no directory")),
    };
    if directory.join("ledger.db").exists() {
        is_whole(directory).await?;
    } else {
        fill(directory, &agents, conversations).await?;
    }
    let sample = agents.conversations(conversations, SAMPLE)?;
    let mut limit = Limit::default();
    measure(&mut limit, &sample)?;
    let audited = program::audit(directory).await?;
    measure(&mut limit, &sample)?;
    let hashes = hashes::measure(directory).await?;
    out.report(&measured(&audited, limit.per_second(), &hashes));
    Ok(())
}

/// A ledger to audit, made and closed.
async fn fill(directory: &Path, agents: &Agents, conversations: usize) -> Result<(), Failure> {
    let clock = PastClock::at(wall_clock());
    let ledger = BenchLedger::open_at(directory, clock.of_ledger(), StartFrom::Snapshots).await?;
    register(&ledger, agents, &clock).await?;
    let history = History {
        first: 0,
        conversations,
        span_ms: 0,
    };
    history.make(&ledger, agents, &clock).await?;
    let world = ledger.running().world();
    let (size, root) = (world.head().size, world.frontier().root());
    drop(world);
    ledger.close().await?;
    sign(directory, size, root).await
}

/// Checks that a log that was kept is one to be audited: nothing behind the last checkpoint counts.
async fn is_whole(directory: &Path) -> Result<(), Failure> {
    let kept = FileCheckpointStore::at(&checkpoint_dir(directory));
    let note = kept.load().await.map_err(broken)?;
    note.map(drop).ok_or_else(|| {
        let message = format!(
            "the log in {} has no checkpoint: it was not made to its end by this benchmark, or by a \
             version that signed none",
            directory.display()
        );
        Failure::local("bench_log", message).hint(
            "name another directory by --keep, or remove this one if nobody needs it: the log is made \
             anew. A ledger of your own is audited by x811 audit",
        )
    })
}

/// Where its checkpoint is kept: it goes with the log.
fn checkpoint_dir(directory: &Path) -> PathBuf {
    directory.join("checkpoint")
}

/// Signs what there is, for an audit counts nothing that no checkpoint covers.
async fn sign(directory: &Path, size: u64, root: Hash) -> Result<(), Failure> {
    let identity = Identity::load(directory).map_err(broken)?;
    let identity = identity.ok_or_else(|| broken("the ledger has no keys"))?;
    let checkpoint = Checkpoint {
        origin: identity.opened.origin,
        size,
        root,
    };
    let key = &identity.checkpoint_key;
    let sign = |message: &[u8]| *key.sign(message).as_bytes();
    let note = checkpoint.sign(*key.public().as_bytes(), sign);
    let kept = FileCheckpointStore::open(&checkpoint_dir(directory)).map_err(broken)?;
    let swapped = kept.compare_and_swap(None, note.map_err(broken)?);
    swapped.await.map_err(broken)
}

fn measure(limit: &mut Limit, sample: &[Conversation]) -> Result<(), Failure> {
    let messages: Vec<_> = sample.iter().flatten().collect();
    limit.measure(&messages)
}

fn measured(audited: &Audited, limit_per_second: f64, hashes: &Hashes) -> Measured {
    let records = Rate::of(audited.records, audited.elapsed);
    let signatures = Rate::of(audited.signatures, audited.elapsed);
    // Records audited, and signatures checked among everything else, for each that could have been checked.
    let records_ratio = records.per_second / limit_per_second;
    let signatures_ratio = signatures.per_second / limit_per_second;
    let heading = format!(
        "audit: {records_ratio:.2} records (target {TARGET_RATIO:.2}) and {signatures_ratio:.2} signatures for \
         each raw verify_strict"
    );
    let (signed, all) = (
        thousands(signatures.count as f64),
        thousands(records.count as f64),
    );
    let (most, target) = (audited.peak_rss_bytes, Some(TARGET_RSS_BYTES));
    let memory = format!(
        "{} at most (target {})",
        memory::text(most),
        memory::text(target)
    );
    Measured::new("audit", heading)
        .figures(json!({
            "limit_per_second": limit_per_second, "records_ratio": records_ratio,
            "signatures_ratio": signatures_ratio, "ratio": records_ratio, "target_ratio": TARGET_RATIO,
            "records": records, "signatures": signatures, "peak_rss_bytes": most,
            "target_rss_bytes": TARGET_RSS_BYTES, "hash_only": hashes,
        }))
        .fields([
            ("records", records.text("records")),
            ("signatures", signatures.text("signatures")),
            ("log", format!("{signed} of {all} records are signed, the others are the ledger's own")),
            ("limit", super::limit::text(limit_per_second)),
            ("memory", memory),
            ("hashes only", hashes.text()),
        ])
        .line(bound(&records, limit_per_second))
}

/// What keeps it from being faster: a record's CPU time, and whether all cores were used.
fn bound(records: &Rate, limit_per_second: f64) -> String {
    let Some(cpu_us) = records.cpu_us_each else {
        return "bound: unknown, CPU time cannot be read here".to_owned();
    };
    let cores = rayon::current_num_threads();
    let core_us_per_second = cores as f64 * 1e6;
    let busy = cpu_us * records.per_second / core_us_per_second;
    let what = if busy > 0.85 { "CPU" } else { WAITING };
    format!(
        "bound by {what}: {:.0} % of {cores} cores busy; a record takes {cpu_us:.0} µs, one raw \
         verify_strict {:.0} µs",
        busy * 100.0,
        core_us_per_second / limit_per_second,
    )
}
