//! Fills a ledger with messages and says how long a start takes: with the whole log, with a
//! snapshot, and with a snapshot and a tail.
//!
//! `cargo run --release -p x811-store --example restart -- <records> <minutes> <tail>`: so many
//! records spread over so many minutes, then a tail that no snapshot has. Nonces are held for 15
//! minutes, so with 14 of them all are.

#![expect(clippy::print_stdout, reason = "its output is what it is for")]
#![expect(clippy::disallowed_methods, reason = "it measures real time")]

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use x811_eventlog::{Draft, EventLog, Record};
use x811_ledger::clock::ManualClock;
use x811_ledger::entropy::Entropy;
use x811_ledger::port::{Commit, LedgerStore};
use x811_ledger::sequencer::{Opening, open};
use x811_ledger::snapshot::Snapshots;
use x811_ledger::stream::Stream;
use x811_ledger::world::World;
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::AcceptedHeader;
use x811_protocol::event::{
    AgentRegistered, Derived, EnvelopeAccepted, Event, LedgerKeys, LedgerOpened,
};
use x811_protocol::facts::{CustomFacts, Facts};
use x811_protocol::id::EnvelopeId;
use x811_protocol::key::{AgentKey, KeyId, Profile, SecretKey};
use x811_protocol::parameters::{AEEP_LOOKS_MS, Limits, Parameters, PayerBindingRule, Windows};
use x811_protocol::signature::Signature;
use x811_protocol::time::TimestampMs;
use x811_store::{FileSnapshots, SqliteReadModel, SqliteStore};

type Outcome<T> = Result<T, Box<dyn Error>>;

const START_MS: u64 = 1_767_312_000_000;
const MINUTE_MS: u64 = 60_000;
/// Records of one commit.
const COMMIT_RECORDS: u64 = 1_000;

struct Sevens;

impl Entropy for Sevens {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(7);
    }
}

fn key(seed: u8) -> SecretKey {
    SecretKey::from_seed([seed; 32])
}

fn did(random: u8) -> Outcome<Did> {
    let id = uuid::Builder::from_unix_timestamp_millis(START_MS, &[random; 10]);
    Ok(Did::from_uuid(id.into_uuid())?)
}

#[tokio::main]
async fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default| {
        arguments
            .next()
            .map_or(Ok(default), |text| text.parse::<u64>())
    };
    let (records, minutes, tail) = (number(1_000_000)?, number(14)?, number(10_000)?);
    let dir = tempfile::tempdir()?;
    let span_ms = minutes * MINUTE_MS;
    start(dir.path(), START_MS, "empty").await?;
    fill(dir.path(), records, START_MS, span_ms).await?;
    let now_ms = START_MS + span_ms;
    start(dir.path(), now_ms, "whole log, rows written").await?;
    start(dir.path(), now_ms, "snapshot, no tail").await?;
    fill(dir.path(), tail, now_ms, 1_000).await?;
    start(
        dir.path(),
        now_ms + 1_000,
        "snapshot and tail, its rows written",
    )
    .await?;
    start(dir.path(), now_ms + 1_000, "snapshot, no tail").await?;
    for entry in std::fs::read_dir(dir.path().join("snapshots"))? {
        let entry = entry?;
        println!("{:?}: {} bytes", entry.file_name(), entry.metadata()?.len());
    }
    Ok(())
}

/// Starts the ledger, says how long it took, and stops it in order.
async fn start(dir: &Path, now_ms: u64, what: &str) -> Outcome<()> {
    let begin = Instant::now();
    let store = Arc::new(SqliteStore::open(dir).await?);
    let stored = begin.elapsed();
    let rows = Arc::new(SqliteReadModel::open(dir).await?);
    let read = begin.elapsed();
    let clock = Arc::new(ManualClock::at(TimestampMs::new(now_ms)));
    let opening = Opening {
        identity: opened()?,
        parameters: parameters(),
        envelope_key: key(1),
        snapshots: Some(Snapshots::new(Arc::new(FileSnapshots::of(dir)))),
        checkpoint: None,
    };
    let (sequencer, ledger) = open(
        store.clone(),
        rows.clone(),
        clock,
        Arc::new(Sevens),
        opening,
    )
    .await?;
    let ready = begin.elapsed();
    let sizes = ledger.world().sizes();
    let size = ledger.world().head().size;
    println!(
        "{what}: {} records, {} nonces: ledger.db {} ms, read.db {} ms, world {} ms, in all {} ms",
        size,
        sizes.nonces,
        stored.as_millis(),
        (read - stored).as_millis(),
        (ready - read).as_millis(),
        ready.as_millis(),
    );
    drop(ledger);
    let begin = Instant::now();
    sequencer.run().await?;
    println!("  stop with a snapshot: {} ms", begin.elapsed().as_millis());
    while Arc::strong_count(&rows) > 1 {
        tokio::task::yield_now().await;
    }
    drop(rows);
    let store = Arc::into_inner(store).ok_or("the store is still in use")?;
    store.close().await;
    Ok(())
}

fn opened() -> Outcome<LedgerOpened> {
    Ok(LedgerOpened {
        log_id: uuid::Uuid::nil(),
        did: did(1)?,
        origin: "ledger.example".to_owned(),
        keys: LedgerKeys {
            envelope: key(1).public(),
            checkpoint: key(2).public(),
            receipt: key(3).public(),
        },
        format: 1,
        rules_version: 1,
    })
}

fn parameters() -> Parameters {
    Parameters {
        windows: Windows::AEEP,
        looks_ms: AEEP_LOOKS_MS,
        networks: Vec::new(),
        payer_binding: PayerBindingRule::Wallet,
        limits: Limits::DEFAULT,
        lenient: Vec::new(),
    }
}

/// Appends messages from one agent to another, the agents first where they are unknown.
async fn fill(dir: &Path, count: u64, from_ms: u64, span_ms: u64) -> Outcome<()> {
    let store = SqliteStore::open(dir).await?;
    let mut world = World::empty();
    let size = store.log().head().await?.size;
    while world.head().size < size {
        for record in store.log().read(world.head().size, 1_024).await? {
            world.apply(&record, &Event::from_value(record.event())?)?;
        }
    }
    let begin = Instant::now();
    let mut done = 0;
    while done < count {
        let mut commit = Commit {
            expected_size: world.head().size,
            ..Commit::default()
        };
        for n in done..count.min(done + COMMIT_RECORDS) {
            let at_ms = from_ms + n * span_ms / count;
            let event = next_event(&world, at_ms)?;
            let record = append(&mut world, &event, at_ms)?;
            if let Some(envelope) = event.envelope() {
                commit.envelope_ids.push((envelope.id, record.position()));
            }
            commit.records.push(record);
        }
        done += COMMIT_RECORDS;
        commit.frontier = world.frontier().to_bytes();
        store.commit(commit).await?;
    }
    println!(
        "  {count} records appended in {} s",
        begin.elapsed().as_secs()
    );
    store.close().await;
    Ok(())
}

fn next_event(world: &World, at_ms: u64) -> Outcome<Event> {
    let unknown = [did(2)?, did(3)?]
        .into_iter()
        .find(|agent| world.agent(*agent).is_none());
    let from = unknown.unwrap_or(did(2)?);
    let envelope = header(world.head().size, from, at_ms)?;
    if unknown.is_some() {
        let profile = Profile::Digest;
        return Ok(Event::AgentRegistered(AgentRegistered {
            keys: vec![AgentKey {
                key: key(4).public(),
                profile,
            }],
            wallets: Vec::new(),
            capabilities: Vec::new(),
            expires_at_ms: None,
            document_digest: Digest::ZERO,
            envelope,
        }));
    }
    let payload_hash = Digest::of(b"{}");
    Ok(Event::EnvelopeAccepted(EnvelopeAccepted {
        envelope,
        facts: Facts::Custom(CustomFacts { payload_hash }),
        derived: Derived::default(),
    }))
}

fn header(position: u64, from: Did, at_ms: u64) -> Outcome<AcceptedHeader> {
    let digest = Digest::of(&position.to_be_bytes());
    let mut random = [0; 10];
    random.copy_from_slice(&digest.as_bytes()[..10]);
    Ok(AcceptedHeader {
        id: EnvelopeId::from_parts(at_ms, &random),
        message_type: "x811.ext/a".parse()?,
        version: "0.1.0".to_owned(),
        from,
        to: did(3)?,
        created_ms: TimestampMs::new(at_ms),
        expires_ms: None,
        key: KeyId {
            did: from,
            key: key(4).public(),
        },
        profile: Profile::Digest,
        digest,
        signature: Signature::from_bytes([7; 64]),
        nonce_tag: digest,
        size: 300,
    })
}

fn append(world: &mut World, event: &Event, at_ms: u64) -> Outcome<Record> {
    let stream = if let Event::AgentRegistered(registered) = event {
        Stream::Agent(registered.envelope.from)
    } else {
        Stream::Mail(did(3)?)
    };
    let head = world.head();
    let draft = Draft {
        recorded_at_ms: at_ms,
        stream: stream.to_string(),
        stream_seq: world.next_seq(&stream).ok_or("no such stream")?,
        event: serde_json::to_value(event)?,
    };
    let record = Record::seal(head.size, head.hash, draft)?;
    world.apply(&record, event)?;
    Ok(record)
}
