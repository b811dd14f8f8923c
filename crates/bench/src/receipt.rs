//! `x811-bench receipt`: how long one receipt takes to be made from a ledger's store, and to be
//! verified by whoever gets it, one after the other on one core.
//!
//! Verifying is held against the signatures in the file, checked raw. Building is one question to
//! both databases, for which two threads are woken, then the signature over the file. On a machine
//! that is busy with something else the slowest of a hundred are those that waited to be woken.
//!
//! The ledger is closed and opened again before: a write-ahead log that is still on its way into the
//! database belongs to the history, not to the receipts. They are made in no order, as they would be
//! asked for, so that what was read for one is seldom what the next needs.

use serde_json::json;
use std::time::Duration;
use x811_audit::receipt::{Receipt, verify};
use x811_eventlog::note::NoteKey;
use x811_eventlog::{Checkpoint, CoseReceipt, Policy};
use x811_ledger::checkpoint::Signed;
use x811_ledger::port::ReadModel as _;
use x811_ledger::receipt::{Issuer, ReceiptError, build};
use x811_server::keys::Identity;
use x811_world::keyring::Keyring;
use x811_world::keys_statement::KeysStatement;
use x811_world::row::SubjectRow;

use super::cpu::now;
use super::figures::{Latency, thousands};
use super::history::{History, PastClock, register};
use super::ledger::{BenchLedger, NETWORK, StartFrom};
use super::limit::Limit;
use super::measured::Measured;
use super::traffic::{Agents, Message, conversations_of_records};
use super::{Common, broken, wall_clock};
use x811_console::failure::Failure;
use x811_console::output::Out;
use x811_ledger::clock::ManualClock;

/// What they should take at most, 99 of 100.
const BUILD_TARGET_US: u32 = 1_000;
const VERIFY_TARGET_US: u32 = 2_000;

/// Made first and not counted: connections are opened and statements prepared.
const WARM_UP: usize = 50;

/// Signatures of a receipt besides those of its messages: the checkpoint's, that of the keys statement
/// and of the end by the same key, and the issuer's.
const OTHER_SIGNATURES: usize = 4;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    common: Common,
    /// About how many records the log has
    #[arg(long, value_name = "COUNT", default_value_t = 20_000)]
    records: usize,
    /// How many receipts are made, at most
    #[arg(long, value_name = "COUNT", default_value_t = 3_000)]
    receipts: usize,
}

/// Measures and reports.
pub(super) async fn run(args: Args, out: &mut Out) -> Result<(), Failure> {
    let directory = args.common.directory()?;
    let agents = Agents::generate(args.common.agents(), NETWORK)?;
    let clock = PastClock::at(wall_clock());
    let ledger =
        BenchLedger::open_at(directory.path(), clock.of_ledger(), StartFrom::Snapshots).await?;
    register(&ledger, &agents, &clock).await?;
    let conversations = conversations_of_records(args.records);
    let history = History {
        first: 0,
        conversations,
        span_ms: 0,
    };
    history.make(&ledger, &agents, &clock).await?;
    ledger.close().await?;
    let ledger =
        BenchLedger::open_at(directory.path(), clock.of_ledger(), StartFrom::Snapshots).await?;
    let sample = agents.conversations(conversations, 200)?;
    let sample: Vec<&Message> = sample.iter().flatten().collect();
    let identity = Identity::load(directory.path()).map_err(broken)?;
    let identity = identity.ok_or_else(|| broken("the ledger has no keys"))?;
    let mut limit = Limit::default();
    limit.measure(&sample)?;
    let times = measure(&ledger, &identity, args.receipts, &sample).await?;
    limit.measure(&sample)?;
    let records = ledger.size();
    ledger.close().await?;
    out.report(&measured(times, records, limit.per_second())?);
    Ok(())
}

/// What each took.
#[derive(Default)]
struct Times {
    build_us: Vec<u32>,
    verify_us: Vec<u32>,
    bytes: Vec<u32>,
    /// Checking as many signatures as the receipts have, raw.
    raw: Duration,
    verifying: Duration,
}

async fn measure(
    ledger: &BenchLedger<ManualClock>,
    identity: &Identity,
    count: usize,
    sample: &[&Message],
) -> Result<Times, Failure> {
    let running = ledger.running();
    let world = running.world();
    let keyring = world.keyring().ok_or_else(|| broken("no keys"))?;
    let signed = signed(
        identity,
        keyring,
        world.head().size,
        world.frontier().root(),
    )?;
    let issuer = Issuer {
        ledger: identity.opened.did,
        keyring,
        key: &identity.receipt_key,
        checkpoint_key: &identity.checkpoint_key,
        parameters: world.parameters().map(|(position, _)| position),
    };
    let key = NoteKey::new(
        &*identity.opened.origin,
        *identity.checkpoint_key.public().as_bytes(),
    );
    let trust = Policy::of_log(key.map_err(broken)?);
    let mut messages = sample.iter().cycle();
    let mut times = Times::default();
    let interactions = interactions(ledger).await?;
    let warm_up = WARM_UP.min(interactions.len() / 2);
    for (made, interaction) in interactions.into_iter().take(warm_up + count).enumerate() {
        if made == warm_up {
            times = Times::default();
        }
        let (store, rows) = (running.store(), running.read_model());
        let begin = now();
        let bytes = match build(store, rows, &interaction, &signed, issuer).await {
            Ok(file) => file,
            Err(ReceiptError::NotConfirmed) => continue,
            Err(error) => return Err(broken(error)),
        };
        times.build_us.push(micros(begin.elapsed()));
        times
            .bytes
            .push(u32::try_from(bytes.len()).map_err(broken)?);
        let begin = now();
        let read = Receipt::from_bytes(&bytes).map_err(broken)?;
        if verify(&read, Some(&trust)).paid.is_none() {
            return Err(broken("a receipt of its own does not hold"));
        }
        let took = begin.elapsed();
        times.verify_us.push(micros(took));
        times.verifying += took;
        let begin = now();
        let signatures = read.envelopes.len() + OTHER_SIGNATURES;
        if !messages
            .by_ref()
            .take(signatures)
            .all(|it| it.is_authentic())
        {
            return Err(broken("a signature of its own does not verify"));
        }
        times.raw += begin.elapsed();
    }
    Ok(times)
}

async fn interactions(ledger: &BenchLedger<ManualClock>) -> Result<Vec<SubjectRow>, Failure> {
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = ledger.running().read_model();
        let page = page.subjects("interaction", None, after, 500).await;
        let page = page.map_err(broken)?;
        after = page.last().map(|row| row.subject);
        if page.is_empty() {
            break;
        }
        found.extend(page);
    }
    // What follows the time in an id is random.
    found.sort_unstable_by_key(|row| row.subject.uuid().as_u64_pair().1);
    Ok(found)
}

fn signed(
    identity: &Identity,
    keyring: &Keyring,
    size: u64,
    root: x811_eventlog::Hash,
) -> Result<Signed, Failure> {
    let origin = identity.opened.origin.clone();
    let public = *identity.checkpoint_key.public().as_bytes();
    let sign = |message: &[u8]| *identity.checkpoint_key.sign(message).as_bytes();
    let cose_signature = sign(&CoseReceipt::signed_bytes(&origin, public, root));
    let checkpoint = Checkpoint { origin, size, root };
    let statement = KeysStatement::of(&identity.opened, keyring, &checkpoint);
    Ok(Signed {
        note: checkpoint.sign(public, sign).map_err(broken)?,
        keys: Some(statement.sign(&identity.checkpoint_key)),
        checkpoint,
        cose_signature,
        monotonic_ms: 0,
    })
}

fn micros(time: Duration) -> u32 {
    u32::try_from(time.as_micros()).unwrap_or(u32::MAX)
}

fn measured(mut times: Times, records: u64, limit_per_second: f64) -> Result<Measured, Failure> {
    times.bytes.sort_unstable();
    let (receipts, middle) = (times.bytes.len(), times.bytes.get(times.bytes.len() / 2));
    let bytes_p50 = *middle.ok_or_else(|| broken("no interaction was paid: make more"))?;
    let (build, verify) = (Latency::of(times.build_us), Latency::of(times.verify_us));
    // Of the time that verifying took, the part that raw checking of the signatures would.
    let ratio = times.raw.as_secs_f64() / times.verifying.as_secs_f64();
    let heading = format!(
        "receipt: built in {} at p99 (target {}), verified in {} (target {})",
        ms(build.p99_us),
        ms(BUILD_TARGET_US),
        ms(verify.p99_us),
        ms(VERIFY_TARGET_US)
    );
    let both = |latency: Latency| format!("p50 {}, p99 {}", ms(latency.p50_us), ms(latency.p99_us));
    let (bytes, log) = (thousands(f64::from(bytes_p50)), thousands(records as f64));
    Ok(Measured::new("receipt", heading)
        .figures(json!({
            "limit_per_second": limit_per_second, "ratio": ratio, "receipts": receipts, "records": records,
            "bytes_p50": bytes_p50, "build": build, "build_target_us": BUILD_TARGET_US, "verify": verify,
            "verify_target_us": VERIFY_TARGET_US,
        }))
        .fields([
            ("built", both(build)),
            ("verified", both(verify)),
            ("receipts", format!("{receipts} of {bytes} bytes, from a log of {log} records")),
            ("limit", super::limit::text(limit_per_second)),
        ])
        .line(format!(
            "building one is one question to the database, for which two threads are woken; raw checking \
             of its signatures would take {ratio:.2} of the time that verifying it takes"
        )))
}

fn ms(us: u32) -> String {
    format!("{:.2} ms", f64::from(us) / 1_000.0)
}
