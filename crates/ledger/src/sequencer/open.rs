//! Start: the world, and note of the time away.

use super::admission::Admission;
use super::fair::Fair;
use super::projector;
use super::rebuild::{Rebuilt, rebuild};
use super::snapshots::Saver;
use super::together::Together;
use super::{Ledger, Readiness, Sequencer};
use crate::checkpoint::Misfit;
use crate::clock::{Clock, LedgerClock};
use crate::draft::{BatchDraft, Decided};
use crate::entropy::Entropy;
use crate::figures::Figures;
use crate::notice::Notary;
use crate::port::{LedgerStore, NonceOutcome, ReadModel};
use crate::snapshot::Snapshots;
use imbl::OrdSet;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use tokio::sync::{mpsc, watch};
use x811_eventlog::{AppendError, Break, Checkpoint, ReadError};
use x811_protocol::event::{
    Event, LedgerEvent, LedgerKeyRotated, LedgerKeys, LedgerOpened, LedgerResumed, LedgerRole,
    RulesChanged, unknown_rules,
};
use x811_protocol::evm::TxHash;
use x811_protocol::key::{PublicKey, SecretKey};
use x811_protocol::parameters::{Parameters, UnfitNetwork};
use x811_protocol::rules::Rules;
use x811_protocol::stream::Stream;
use x811_protocol::time::TimestampMs;
use x811_world::{Fault, FirstAnswer, World};

/// Items that may wait for the sequencer.
pub(super) const QUEUE_ITEMS: usize = 4_096;

/// Commits that the rows may lag behind.
const PROJECTION_LAG: usize = 256;

/// What a ledger is started with.
pub struct Opening {
    /// Who the ledger is, with the keys that it signs with from now on. It becomes position 0 of an
    /// empty log; otherwise name and keys must be those of the log.
    pub identity: LedgerOpened,
    /// Keys that end with this start. One that the log knows of already is passed over, so that a
    /// start that was cut off behind the record can be made again.
    pub rotations: Vec<LedgerKeyRotated>,
    /// The parameters in force from now on; recorded when they differ from the last.
    pub parameters: Parameters,
    /// Signs notices; the secret half of `identity.keys.envelope`.
    pub envelope_key: SecretKey,
    /// Where snapshots lie, and how often one is taken; without it every start replays the log.
    pub snapshots: Option<Snapshots>,
    /// The last checkpoint that was signed, which the log must extend.
    pub checkpoint: Option<Checkpoint>,
    /// True if an operator adopted it in place of a lost one; the log says so.
    pub checkpoint_adopted: bool,
    /// Names of the networks that endpoints are configured for. While no head of one was ever known,
    /// nothing that costs something is accepted.
    pub with_endpoints: Vec<String>,
}

/// Why a ledger does not start.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The log cannot be written.
    #[error(transparent)]
    Write(#[from] AppendError),
    /// The rows for readers cannot be read or written.
    #[error(transparent)]
    Rows(#[from] RowsError),
    /// The hash chain is broken.
    #[error("the log is damaged: {0}. Restore a backup, or audit an export to see what is left")]
    Broken(Break),
    /// The history breaks the rules.
    #[error("the log's history breaks the rules: {0}. Audit an export to see where")]
    Fault(Fault),
    /// Decision rules are in force in the log that this program does not know.
    #[error("this program does not know the rules of the log: {0}")]
    UnknownRules(Fault),
    /// The tree beside the log is another log's.
    #[error(
        "the tree kept beside the log does not match it: the database was changed by hand or restored in part"
    )]
    Tree,
    /// The log does not extend the last signed checkpoint.
    #[error(transparent)]
    Checkpoint(#[from] Misfit),
    /// The rows know more than the log.
    #[error(
        "the read model reflects {rows} records but the log has {log}: the log was restored from an older copy. Remove read.db to rebuild it, once you have made sure that nothing acknowledged is missing"
    )]
    RowsAhead {
        /// Records the rows reflect.
        rows: u64,
        /// Records there are.
        log: u64,
    },
    /// Parameters that no payment should be decided by.
    #[error(transparent)]
    Parameters(#[from] UnfitNetwork),
    /// A network's name would stand for another chain or token under interactions that use it.
    #[error(
        "{interactions} interactions that are not over, or whose payments are still watched, know \
         network {network} with another chain id or token: give the new network a name of its own"
    )]
    NetworkInUse {
        /// The network's name.
        network: String,
        /// How many interactions.
        interactions: u64,
    },
    /// The keys belong to another ledger.
    #[error(
        "the data directory's log belongs to {log}, but its key files to {keys}: put the right key files back"
    )]
    OtherLedger {
        /// DID in the log.
        log: x811_protocol::did::Did,
        /// DID of the key files.
        keys: x811_protocol::did::Did,
    },
    /// A key file is not the one in force.
    #[error(transparent)]
    OtherKey(Box<OtherKey>),
}

impl From<Fault> for OpenError {
    fn from(fault: Fault) -> OpenError {
        match fault {
            Fault::UnknownRules { .. } => OpenError::UnknownRules(fault),
            Fault::Unreadable { .. }
            | Fault::Illegal(_)
            | Fault::Misplaced { .. }
            | Fault::Record(_) => OpenError::Fault(fault),
        }
    }
}

/// Why the rows for readers do not follow the log.
#[derive(Debug, thiserror::Error)]
pub enum RowsError {
    /// They cannot be read.
    #[error("the rows for readers cannot be read: {0}")]
    Read(ReadError),
    /// They cannot be written.
    #[error("the rows for readers cannot be written: {0}")]
    Write(AppendError),
}

/// A key file that is not the one in force.
#[derive(Debug, thiserror::Error)]
#[error(
    "the log's {role} key is {log}, but keys/{role}.seed holds {file}: put the file with the key in force back. If the key was rotated, that is the newer one, or keys/{role}.seed.next"
)]
pub struct OtherKey {
    /// Which of the ledger's keys it is.
    pub role: LedgerRole,
    /// The one in force.
    pub log: PublicKey,
    /// The one in the file.
    pub file: PublicKey,
}

/// Starts a ledger on `store`: the sequencer to run, and the handle to talk to it.
///
/// # Errors
/// See [`OpenError`]; nothing was written then but what is durable and consistent.
pub async fn open<S, R, C, E>(
    store: Arc<S>,
    read_model: Arc<R>,
    clock: Arc<C>,
    entropy: Arc<E>,
    opening: Opening,
) -> Result<(Sequencer<S, C, E>, Ledger<S, R, C>), OpenError>
where
    S: LedgerStore,
    R: ReadModel,
    C: Clock,
    E: Entropy,
{
    open_warm(store, read_model, clock, entropy, opening, None).await
}

/// The same, from the world on that a [`super::Follower`] of this log has kept warm.
///
/// # Errors
/// As [`open`].
pub async fn open_warm<S, R, C, E>(
    store: Arc<S>,
    read_model: Arc<R>,
    clock: Arc<C>,
    entropy: Arc<E>,
    opening: Opening,
    warm: Option<World>,
) -> Result<(Sequencer<S, C, E>, Ledger<S, R, C>), OpenError>
where
    S: LedgerStore,
    R: ReadModel,
    C: Clock,
    E: Entropy,
{
    let Rebuilt {
        mut world,
        snapshot_size,
    } = rebuild(&*store, &*read_model, &opening, warm).await?;
    let last_up = last_up(&*store, &world).await?;
    let ledger_clock = Arc::new(LedgerClock::start(clock.clone(), last_up));
    let now = ledger_clock.now();
    restore_nonces(&*store, &mut world, now).await?;
    let saver = Saver::new(
        opening.snapshots,
        opening.envelope_key.clone(),
        &opening.identity,
        snapshot_size,
    );
    let notary = Notary::new(opening.identity.did, opening.envelope_key);
    let networks = opening.parameters.networks.iter();
    let networks: Vec<String> = networks.map(|network| network.name.clone()).collect();
    let start = Start {
        identity: opening.identity,
        rotations: opening.rotations,
        parameters: opening.parameters,
        away_ms: now.since(last_up),
        checkpoint_adopted: opening.checkpoint_adopted,
    };
    let world = record(&*store, &*read_model, &world, start, now).await?;
    Ok(assemble(Parts {
        store,
        read_model,
        clock,
        ledger_clock,
        entropy,
        notary,
        saver,
        watched: watches(&world, networks),
        with_endpoints: opening.with_endpoints,
        world,
    }))
}

/// Writes what is said at a start, if anything; gives the world behind it.
async fn record<S: LedgerStore, R: ReadModel>(
    store: &S,
    read_model: &R,
    world: &World,
    start: Start,
    now: TimestampMs,
) -> Result<World, OpenError> {
    let old_size = world.head().size;
    let Decided {
        world,
        commit,
        changes,
        ..
    } = begin(world, start, now)?.finish()?;
    if !commit.records.is_empty() {
        store.commit(commit).await?;
        let applied = read_model
            .apply(old_size, world.head().size, &changes.into_rows())
            .await;
        applied.map_err(RowsError::Write)?;
    }
    store.tick(now).await?;
    Ok(world)
}

struct Parts<S, R, C, E> {
    store: Arc<S>,
    read_model: Arc<R>,
    clock: Arc<C>,
    ledger_clock: Arc<LedgerClock<C>>,
    entropy: Arc<E>,
    notary: Notary,
    saver: Saver,
    world: World,
    watched: BTreeMap<String, watch::Sender<OrdSet<TxHash>>>,
    with_endpoints: Vec<String>,
}

/// What of each network is to be watched, to be told.
fn watches(
    world: &World,
    networks: Vec<String>,
) -> BTreeMap<String, watch::Sender<OrdSet<TxHash>>> {
    let watches = networks.into_iter().map(|network| {
        let hashes = world.watched(&network);
        (network, watch::Sender::new(hashes))
    });
    watches.collect()
}

fn assemble<S, R, C, E>(parts: Parts<S, R, C, E>) -> (Sequencer<S, C, E>, Ledger<S, R, C>)
where
    S: LedgerStore,
    R: ReadModel,
    C: Clock,
    E: Entropy,
{
    let (world, ledger_clock) = (parts.world, parts.ledger_clock);
    let (items, received) = mpsc::channel(QUEUE_ITEMS);
    let (projections, batches) = mpsc::channel(PROJECTION_LAG);
    let (published, world_seen) = watch::channel(Arc::new(world.clone()));
    let (applied, applied_seen) = watch::channel(world.head().size);
    let settled = ledger_clock.is_settled();
    let (readiness, readiness_seen) = watch::channel(Readiness::at_start(settled));
    let watched = parts.watched.iter();
    let watched_seen = watched.map(|(network, told)| (network.clone(), told.subscribe()));
    let watched_seen = watched_seen.collect();
    let (wanted, wanted_seen) = watch::channel(0);
    let (rows, clock) = (parts.read_model.clone(), parts.clock);
    let (failing, rows_failing) = watch::channel(false);
    tokio::spawn(projector::run(
        rows,
        clock,
        batches,
        applied,
        wanted_seen,
        failing,
    ));
    let figures = Arc::new(Figures::default());
    let sequencer = Sequencer {
        figures: figures.clone(),
        store: parts.store.clone(),
        last_tick_ms: ledger_clock.monotonic_ms(),
        last_purge_ms: ledger_clock.monotonic_ms(),
        clock: ledger_clock.clone(),
        entropy: parts.entropy,
        notary: Arc::new(parts.notary),
        saver: parts.saver,
        world,
        in_flight: None,
        waiting: VecDeque::new(),
        items: received,
        own_items: items.downgrade(),
        projections,
        published,
        watched: parts.watched,
        with_endpoints: parts.with_endpoints,
        readiness,
        away_since: None,
        lapse_failed: false,
        notices_lost: false,
    };
    let ledger = Ledger {
        store: parts.store,
        read_model: parts.read_model,
        clock: ledger_clock,
        admission: Admission::new(),
        together: Together::start(figures.clone()),
        fair: Fair::new(),
        items,
        world: world_seen,
        applied: applied_seen,
        rows_wanted: Arc::new(wanted),
        rows_failing,
        watched: watched_seen,
        readiness: readiness_seen,
        figures,
    };
    (sequencer, ledger)
}

/// Reads a record's event.
///
/// # Errors
/// [`Fault::Unreadable`] for an unknown type or member; [`Fault::UnknownRules`] where that is so
/// because the record puts unknown rules in force.
pub(crate) fn read_event(record: &x811_eventlog::Record) -> Result<Event, Fault> {
    let read = Event::from_named_json(record.event_type(), record.event_json());
    read.map_err(|source| {
        let position = record.position();
        match unknown_rules(record.event_json()) {
            Some(rules_version) => Fault::UnknownRules {
                position,
                rules_version,
            },
            None => Fault::Unreadable { position, source },
        }
    })
}

/// Nonces of accepted envelopes came with the log; those of other answers are in the journal.
async fn restore_nonces<S: LedgerStore>(
    store: &S,
    world: &mut World,
    now: TimestampMs,
) -> Result<(), OpenError> {
    let since = now.saturating_sub_ms(world.nonces_held_ms());
    for spent in store.spent_nonces(since).await? {
        let answer = match spent.outcome {
            NonceOutcome::Repeated { position } => FirstAnswer::Record(position),
            NonceOutcome::Refused(code) => FirstAnswer::Refused(code),
        };
        if world.first_answer(&spent.tag).is_none() {
            world.spend_nonce(spent.tag, answer, spent.at_ms);
        }
    }
    world.forget_old(now);
    Ok(())
}

/// When the ledger was last known to be up. Time goes on from there, also when the wall clock was
/// set back while it was down: refusals of that time may have been answered without a record.
pub(super) async fn last_up<S: LedgerStore>(
    store: &S,
    world: &World,
) -> Result<TimestampMs, ReadError> {
    let recorded_at = TimestampMs::new(world.head().recorded_at_ms);
    let tick = store.last_tick().await?;
    Ok(tick.map_or(recorded_at, |at| at.max(recorded_at)))
}

/// What is said at a start.
struct Start {
    identity: LedgerOpened,
    rotations: Vec<LedgerKeyRotated>,
    parameters: Parameters,
    away_ms: u64,
    checkpoint_adopted: bool,
}

/// The first records of this run: who we are, how long we were away, which keys begin, which rules
/// and parameters are in force.
fn begin(world: &World, start: Start, now: TimestampMs) -> Result<BatchDraft, OpenError> {
    let mut draft = BatchDraft::on(world, None);
    match (world.identity(), world.keyring()) {
        (Some(known), Some(keyring)) => {
            if (known.did, known.log_id) != (start.identity.did, start.identity.log_id) {
                return Err(OpenError::OtherLedger {
                    log: known.did,
                    keys: start.identity.did,
                });
            }
            let event = Event::Ledger(LedgerEvent::Resumed(LedgerResumed {
                gap_ms: start.away_ms,
                checkpoint_adopted: start.checkpoint_adopted,
            }));
            draft.append(&Stream::Ledger, event, None, now)?;
            let mut keys = *keyring.in_force();
            for rotated in start.rotations {
                if keys.of(rotated.role) == rotated.old_key {
                    keys = keys.with(rotated.role, rotated.new_key);
                    let event = Event::Ledger(LedgerEvent::KeyRotated(rotated));
                    draft.append(&Stream::Ledger, event, None, now)?;
                }
            }
            check_keys(&keys, &start.identity.keys)?;
            let latest = RulesChanged::to(Rules::LATEST);
            if let Some(change) = latest.due(world.rules_version()) {
                let event = Event::Ledger(LedgerEvent::RulesChanged(change));
                draft.append(&Stream::Ledger, event, None, now)?;
            }
        }
        (_, _) => {
            let event = Event::Ledger(LedgerEvent::Opened(start.identity));
            draft.append(&Stream::Ledger, event, None, now)?;
        }
    }
    let parameters = start.parameters;
    if world
        .parameters()
        .is_none_or(|(_, known)| **known != parameters)
    {
        check_networks(world, &parameters)?;
        draft.append(
            &Stream::Ledger,
            Event::Ledger(LedgerEvent::ParametersSet(parameters)),
            None,
            now,
        )?;
    }
    Ok(draft)
}

/// Refuses networks by which no payment should be decided, before a record says so.
fn check_networks(world: &World, parameters: &Parameters) -> Result<(), OpenError> {
    if let Some(unfit) = parameters.unfit().into_iter().next() {
        return Err(unfit.into());
    }
    match world.networks_moved(parameters).into_iter().next() {
        Some((network, interactions)) => Err(OpenError::NetworkInUse {
            network,
            interactions,
        }),
        None => Ok(()),
    }
}

/// Refuses to sign with a key that nobody could hold against the log.
fn check_keys(log: &LedgerKeys, files: &LedgerKeys) -> Result<(), OpenError> {
    for role in LedgerRole::ALL {
        let (log, file) = (log.of(role), files.of(role));
        if log != file {
            return Err(OpenError::OtherKey(Box::new(OtherKey { role, log, file })));
        }
    }
    Ok(())
}
