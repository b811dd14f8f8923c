//! A ledger kept in memory: for the tests of agents, for demonstrations, and as the plainest
//! reading of what [`LedgerStore`] and [`ReadModel`] promise.
//!
//! A [`MemoryStore`] outlives the sequencer that writes to it, so a restart is to open the same one
//! again. It can be told to fail: [`CommitFault`] says how.

use crate::port::{Body, Commit, IndexCounts, LedgerStore, ReadModel, SpentNonce, Stretch};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use x811_eventlog::tile::TileContent;
use x811_eventlog::{
    AppendError, EventLog, Hash, HashTile, Head, MemoryLog, Node, ReadError, Record, Tile,
    check_batch, root_of,
};
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::event::Claim;
use x811_protocol::evm::{ChainId, EvmAddress, TxHash};
use x811_protocol::id::EnvelopeId;
use x811_protocol::stream::Subject;
use x811_protocol::time::TimestampMs;
use x811_world::row::{
    AgentRow, DeliveryRow, FoundAgent, MAX_PAYERS, MemberRow, RowChange, SubjectRow, TrustAsOf,
    TrustRow,
};

/// How a commit is to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitFault {
    /// [`AppendError::Backend`]; nothing is stored.
    Backend,
    /// [`AppendError::OutcomeUnknown`]; nothing is stored.
    UnknownNothingStored,
    /// [`AppendError::OutcomeUnknown`]; everything is stored.
    UnknownAllStored,
    /// Everything is stored and the caller is never told, as if the process died right then: drop
    /// the caller.
    StoredNeverTold,
    /// [`AppendError::Conflict`], as if another writer had added a record; nothing is stored.
    Conflict,
    /// [`AppendError::Fenced`], as if another writer had taken over; nothing is stored.
    Fenced,
}

/// What a commit that was told to fail reports as its cause.
#[derive(Debug, thiserror::Error)]
#[error("this commit was told to fail")]
pub struct InjectedFault;

/// A key that may be used once was used again.
#[derive(Debug, thiserror::Error)]
#[error("{0} is taken: the commit would break a promise, so nothing of it was stored")]
pub struct UsedTwice(&'static str);

/// A [`LedgerStore`] that forgets everything when it is dropped.
#[derive(Debug, Default)]
pub struct MemoryStore {
    log: MemoryLog,
    kept: Mutex<BesideLog>,
    /// What happens to the commits to come; those beyond it are stored.
    script: Mutex<VecDeque<Option<CommitFault>>>,
    /// Held for the length of a commit: commits come one at a time, and can be held up.
    turn: tokio::sync::Mutex<()>,
}

/// Everything beside the log.
#[derive(Debug, Default)]
struct BesideLog {
    bodies: HashMap<u64, Body>,
    nonces: Vec<SpentNonce>,
    envelope_ids: HashMap<EnvelopeId, u64>,
    idempotency: HashMap<Digest, u64>,
    claims: BTreeMap<Claim, u64>,
    erased: HashMap<u64, u64>,
    frontier: Option<(u64, Vec<u8>)>,
    last_tick: Option<TimestampMs>,
    commits: u64,
}

/// While it is held, commits wait.
#[derive(Debug)]
pub struct HeldCommits<'a> {
    _turn: tokio::sync::MutexGuard<'a, ()>,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> MemoryStore {
        MemoryStore::default()
    }

    /// Makes the next commit fail; said again, the one after it.
    pub fn fail_next_commit(&self, fault: CommitFault) {
        lock(&self.script).push_back(Some(fault));
    }

    /// Lets the next commit pass, so that what is said then is about the one after it.
    pub fn pass_next_commit(&self) {
        lock(&self.script).push_back(None);
    }

    /// Lets all commits to come pass.
    pub fn pass_all_commits(&self) {
        lock(&self.script).clear();
    }

    /// Holds commits up until the guard is dropped, as a slow disk would.
    pub async fn hold_commits(&self) -> HeldCommits<'_> {
        HeldCommits {
            _turn: self.turn.lock().await,
        }
    }

    /// Loses a body, as a damaged disk would.
    pub fn lose_body(&self, position: u64) {
        lock(&self.kept).bodies.remove(&position);
    }

    /// How many commits were stored, nonces alone included.
    pub fn commits(&self) -> u64 {
        lock(&self.kept).commits
    }

    /// All records.
    ///
    /// # Errors
    /// None in memory; the signature is the log's.
    pub async fn records(&self) -> Result<Vec<Record>, ReadError> {
        self.log.read(0, usize::MAX).await
    }

    /// Checks, then stores in log and maps; after the checks nothing can fail.
    async fn store(&self, commit: &Commit) -> Result<Head, AppendError> {
        let head = self.log.head().await.map_err(unreadable)?;
        check_batch(&head, commit.expected_size, &commit.records)?;
        lock(&self.kept).check(commit)?;
        let head = self
            .log
            .append(commit.expected_size, &commit.records)
            .await?;
        lock(&self.kept).keep(commit, head);
        Ok(head)
    }
}

impl BesideLog {
    fn check(&self, commit: &Commit) -> Result<(), AppendError> {
        let mut ids = commit.envelope_ids.iter();
        let mut tags = commit.idempotency.iter();
        let mut claims = commit.claims.iter();
        let mut erased = commit.erased.iter();
        let taken = if erased.any(|erased| self.erased.contains_key(&erased.position)) {
            UsedTwice("an erasure")
        } else if ids.any(|(id, _)| self.envelope_ids.contains_key(id)) {
            UsedTwice("an envelope id")
        } else if tags.any(|(tag, _)| self.idempotency.contains_key(tag)) {
            UsedTwice("an idempotency tag")
        } else if claims.any(|(claim, _)| self.claims.contains_key(claim)) {
            UsedTwice("a transfer")
        } else {
            return Ok(());
        };
        Err(AppendError::Backend(Box::new(taken)))
    }

    fn keep(&mut self, commit: &Commit, head: Head) {
        let bodies = commit.bodies.iter().cloned();
        self.bodies.extend(bodies.map(|body| (body.position, body)));
        self.nonces.extend(&commit.nonces);
        self.envelope_ids
            .extend(commit.envelope_ids.iter().copied());
        self.idempotency.extend(commit.idempotency.iter().copied());
        self.claims.extend(commit.claims.iter().copied());
        for erased in &commit.erased {
            self.bodies.remove(&erased.position);
            self.erased.insert(erased.position, erased.record);
        }
        if !commit.frontier.is_empty() {
            self.frontier = Some((head.size, commit.frontier.clone()));
        }
        self.commits += 1;
    }
}

impl LedgerStore for MemoryStore {
    type Log = MemoryLog;

    fn log(&self) -> &MemoryLog {
        &self.log
    }

    async fn records(&self, positions: &[u64]) -> Result<Vec<Record>, ReadError> {
        let mut records = Vec::with_capacity(positions.len());
        for position in positions {
            records.extend(self.log.read(*position, 1).await?);
        }
        Ok(records)
    }

    async fn commit(&self, commit: Commit) -> Result<Head, AppendError> {
        let _turn = self.turn.lock().await;
        let fault = lock(&self.script).pop_front().flatten();
        let unknown = || AppendError::OutcomeUnknown {
            expected_size: commit.expected_size,
            source: Box::new(InjectedFault),
        };
        match fault {
            None => self.store(&commit).await,
            Some(CommitFault::Backend) => Err(AppendError::Backend(Box::new(InjectedFault))),
            Some(CommitFault::UnknownNothingStored) => Err(unknown()),
            Some(CommitFault::UnknownAllStored) => {
                self.store(&commit).await?;
                Err(unknown())
            }
            Some(CommitFault::StoredNeverTold) => {
                self.store(&commit).await?;
                std::future::pending().await
            }
            Some(CommitFault::Conflict) => Err(AppendError::Conflict {
                expected: commit.expected_size,
                actual: commit.expected_size + 1,
            }),
            Some(CommitFault::Fenced) => Err(AppendError::Fenced {
                epoch: 1,
                current_epoch: 2,
            }),
        }
    }

    async fn frontier(&self) -> Result<Option<(u64, Vec<u8>)>, ReadError> {
        Ok(lock(&self.kept).frontier.clone())
    }

    async fn bodies(&self, positions: &[u64]) -> Result<HashMap<u64, Body>, ReadError> {
        Ok(found(&lock(&self.kept).bodies, positions))
    }

    async fn erased(&self, positions: &[u64]) -> Result<HashMap<u64, u64>, ReadError> {
        Ok(found(&lock(&self.kept).erased, positions))
    }

    async fn idempotency(&self, tags: &[Digest]) -> Result<HashMap<Digest, u64>, ReadError> {
        Ok(found(&lock(&self.kept).idempotency, tags))
    }

    async fn envelope_positions(
        &self,
        ids: &[EnvelopeId],
    ) -> Result<HashMap<EnvelopeId, u64>, ReadError> {
        Ok(found(&lock(&self.kept).envelope_ids, ids))
    }

    async fn claims(
        &self,
        chain_id: ChainId,
        tx_hashes: &[TxHash],
    ) -> Result<Vec<(Claim, u64)>, ReadError> {
        Ok(lock(&self.kept)
            .claims
            .iter()
            .filter(|(claim, _)| claim.chain_id == chain_id && tx_hashes.contains(&claim.tx_hash))
            .map(|(claim, position)| (*claim, *position))
            .collect())
    }

    async fn index_counts(&self, size: u64) -> Result<IndexCounts, ReadError> {
        let kept = lock(&self.kept);
        let below = |positions: &mut dyn Iterator<Item = &u64>| {
            positions.filter(|position| **position < size).count() as u64
        };
        Ok(IndexCounts {
            bodies: below(&mut kept.bodies.keys()),
            envelope_ids: below(&mut kept.envelope_ids.values()),
            idempotency: below(&mut kept.idempotency.values()),
            claims: below(&mut kept.claims.values()),
        })
    }

    async fn spent_nonces(&self, since: TimestampMs) -> Result<Vec<SpentNonce>, ReadError> {
        let kept = lock(&self.kept);
        let nonces = kept.nonces.iter().filter(|spent| spent.at_ms >= since);
        Ok(nonces.copied().collect())
    }

    async fn purge_nonces(&self, before: TimestampMs) -> Result<(), AppendError> {
        lock(&self.kept)
            .nonces
            .retain(|spent| spent.at_ms >= before);
        Ok(())
    }

    async fn last_tick(&self) -> Result<Option<TimestampMs>, ReadError> {
        Ok(lock(&self.kept).last_tick)
    }

    async fn tick(&self, at: TimestampMs) -> Result<(), AppendError> {
        lock(&self.kept).last_tick = Some(at);
        Ok(())
    }
}

/// A [`ReadModel`] that forgets everything when it is dropped.
#[derive(Debug, Default)]
pub struct MemoryReadModel {
    rows: Mutex<Rows>,
    is_stuck: AtomicBool,
}

/// All rows of a read model, to be compared with others.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rows {
    /// How many records they reflect.
    pub applied_size: u64,
    /// Rows of subjects, by subject.
    pub subjects: BTreeMap<Subject, SubjectRow>,
    /// Which agents may read which of them.
    pub subject_members: BTreeSet<MemberRow>,
    /// By position of the registration.
    pub agents: BTreeMap<u64, AgentRow>,
    /// Names of capabilities and positions of the registrations of who offers them.
    pub agent_capabilities: BTreeSet<(String, u64)>,
    /// By agent and position.
    pub trust: BTreeMap<(Did, u64), TrustRow>,
    /// By agent and account: the record that confirmed its first payment.
    pub payers: BTreeMap<(Did, EvmAddress), u64>,
    /// By recipient and position.
    pub deliveries: BTreeMap<(Did, u64), DeliveryRow>,
    /// Positions by stream and place in it.
    pub stream_positions: BTreeMap<String, BTreeMap<u64, u64>>,
    /// Record hashes by position: the leaves of the tree.
    pub leaves: Vec<Hash>,
}

impl MemoryReadModel {
    /// Rows of an empty log: none.
    pub fn new() -> MemoryReadModel {
        MemoryReadModel::default()
    }

    /// Makes every write fail from now on, or none any more.
    pub fn set_stuck(&self, is_stuck: bool) {
        self.is_stuck.store(is_stuck, Ordering::SeqCst);
    }

    /// A copy of all rows.
    pub fn rows(&self) -> Rows {
        lock(&self.rows).clone()
    }

    /// Puts others in their place, as a damaged disk would.
    pub fn set_rows(&self, rows: Rows) {
        *lock(&self.rows) = rows;
    }
}

impl Rows {
    fn change(&mut self, change: &RowChange) {
        match change {
            RowChange::Subject(row) => {
                let read = |text: String| serde_json::from_str(&text).unwrap_or_default();
                let row = row.as_ref().clone().with_detail(read);
                self.subject_members
                    .extend(MemberRow::of(row.subject, &row.members));
                self.subjects.insert(row.subject, row);
            }
            RowChange::Agent(row) => {
                self.agents.insert(row.registered_position, *row);
            }
            RowChange::Capabilities {
                registered_position,
                names,
            } => {
                let position = *registered_position;
                self.agent_capabilities
                    .retain(|(_, known)| *known != position);
                let names = names.iter().cloned();
                self.agent_capabilities
                    .extend(names.map(|name| (name, position)));
            }
            RowChange::Trust(row) => {
                self.trust.insert((row.did, row.position), *row);
            }
            RowChange::Payer {
                did,
                account,
                position,
            } => {
                self.payers.entry((*did, *account)).or_insert(*position);
            }
            RowChange::Delivery(row) => {
                self.deliveries.insert((row.recipient, row.position), *row);
            }
            RowChange::StreamRecord(row) => {
                let positions = self.stream_positions.entry(row.stream.clone()).or_default();
                positions.insert(row.stream_seq, row.position);
            }
            RowChange::Leaf { hash, .. } => self.leaves.push(*hash),
        }
    }

    fn found(&self, row: &AgentRow) -> FoundAgent {
        let position = row.registered_position;
        let of_it = self.agent_capabilities.iter();
        let of_it = of_it.filter(|(_, known)| *known == position);
        FoundAgent {
            row: *row,
            capabilities: of_it.map(|(name, _)| name.clone()).collect(),
            distinct_payers: self.payers_of(row.did, u64::MAX),
        }
    }

    fn payers_of(&self, did: Did, as_of: u64) -> u64 {
        let payers = self.payers.iter();
        let payers = payers.filter(|((paid, _), position)| *paid == did && **position <= as_of);
        (payers.count() as u64).min(MAX_PAYERS)
    }

    fn check_leaves(&self, changes: &[RowChange]) -> Result<(), AppendError> {
        let mut actual = self.leaves.len() as u64;
        for change in changes {
            if let RowChange::Leaf { position, .. } = change {
                if *position != actual {
                    let expected = *position;
                    return Err(AppendError::Conflict { expected, actual });
                }
                actual += 1;
            }
        }
        Ok(())
    }

    fn hash_tile(&self, level: u8, index: u64) -> Option<HashTile> {
        let tile = Tile::at(TileContent::Hashes(level), index, self.leaves.len() as u64)?;
        let leaves_each = 1_usize << (8 * level);
        let from = usize::try_from(tile.start()).ok()? * leaves_each;
        let below = self.leaves[from..].chunks_exact(leaves_each);
        let hashes = below.take(usize::from(tile.width)).map(root_of);
        let bytes: Vec<u8> = hashes.flat_map(|hash| *hash.as_bytes()).collect();
        HashTile::from_bytes(tile, &bytes).ok()
    }
}

impl ReadModel for MemoryReadModel {
    async fn applied_size(&self) -> Result<u64, ReadError> {
        Ok(lock(&self.rows).applied_size)
    }

    async fn apply(
        &self,
        old_size: u64,
        new_size: u64,
        changes: &[RowChange],
    ) -> Result<(), AppendError> {
        if self.is_stuck.load(Ordering::SeqCst) {
            return Err(AppendError::Backend("the rows are stuck".into()));
        }
        let mut rows = lock(&self.rows);
        if rows.applied_size != old_size {
            return Err(AppendError::Conflict {
                expected: old_size,
                actual: rows.applied_size,
            });
        }
        rows.check_leaves(changes)?;
        for change in changes {
            rows.change(change);
        }
        rows.applied_size = new_size;
        Ok(())
    }

    async fn subject(&self, subject: Subject) -> Result<Option<SubjectRow>, ReadError> {
        Ok(lock(&self.rows).subjects.get(&subject).cloned())
    }

    async fn subjects(
        &self,
        kind: &str,
        member: Option<Did>,
        after: Option<Subject>,
        limit: usize,
    ) -> Result<Vec<SubjectRow>, ReadError> {
        let rows = lock(&self.rows);
        let lists = |row: &SubjectRow, member: Did| {
            let mut entries = MemberRow::of(row.subject, std::slice::from_ref(&member));
            entries.any(|entry| rows.subject_members.contains(&entry))
        };
        Ok(rows
            .subjects
            .values()
            .filter(|row| row.subject.kind() == kind)
            .filter(|row| member.is_none_or(|member| lists(row, member)))
            .filter(|row| after.is_none_or(|after| row.subject > after))
            .take(limit)
            .cloned()
            .collect())
    }

    async fn subject_members(
        &self,
        after: Option<&MemberRow>,
        limit: usize,
    ) -> Result<Vec<MemberRow>, ReadError> {
        let behind = after.map_or(Bound::Unbounded, Bound::Excluded);
        let rows = lock(&self.rows);
        let entries = rows.subject_members.range((behind, Bound::Unbounded));
        Ok(entries.take(limit).cloned().collect())
    }

    async fn agents(
        &self,
        capability: Option<&str>,
        after: Option<u64>,
        limit: usize,
    ) -> Result<Vec<FoundAgent>, ReadError> {
        let rows = lock(&self.rows);
        let offers = |position| {
            let offered = |name: &str| {
                rows.agent_capabilities
                    .contains(&(name.to_owned(), position))
            };
            capability.is_none_or(offered)
        };
        let behind = after.map_or(Bound::Unbounded, Bound::Excluded);
        let agents = rows.agents.range((behind, Bound::Unbounded));
        let agents = agents.filter(|(position, _)| offers(**position));
        Ok(agents.take(limit).map(|(_, row)| rows.found(row)).collect())
    }

    async fn trust(&self, did: Did, as_of: u64) -> Result<TrustAsOf, ReadError> {
        let rows = lock(&self.rows);
        let mut known = rows.trust.range((did, 0)..=(did, as_of));
        Ok(TrustAsOf {
            row: known.next_back().map(|(_, row)| *row),
            distinct_payers: rows.payers_of(did, as_of),
        })
    }

    async fn deliveries(
        &self,
        recipient: Did,
        from_position: u64,
        limit: usize,
    ) -> Result<Vec<DeliveryRow>, ReadError> {
        Ok(lock(&self.rows)
            .deliveries
            .range((recipient, from_position)..=(recipient, u64::MAX))
            .take(limit)
            .map(|(_, row)| *row)
            .collect())
    }

    async fn stretches(
        &self,
        after: Option<(String, u64)>,
        limit: usize,
    ) -> Result<Vec<Stretch>, ReadError> {
        let rows = lock(&self.rows);
        let records = rows.stream_positions.iter().flat_map(|(stream, records)| {
            let records = records.iter();
            records.map(move |(seq, position)| (stream.as_str(), *seq, *position))
        });
        let is_behind = |stream: &str, seq: u64| {
            let after = after.as_ref().map(|(name, seq)| (name.as_str(), *seq));
            after.is_none_or(|after| (stream, seq) > after)
        };
        let behind = records.filter(|(stream, seq, _)| is_behind(stream, *seq));
        let mut stretches: Vec<Stretch> = Vec::new();
        for (stream, seq, position) in behind.take(limit) {
            match stretches.last_mut().filter(|last| last.stream == stream) {
                Some(last) => {
                    last.last_seq = seq;
                    last.positions.push(position);
                }
                None => stretches.push(Stretch {
                    stream: stream.to_owned(),
                    last_seq: seq,
                    positions: vec![position],
                }),
            }
        }
        Ok(stretches)
    }

    async fn hash_tile(&self, level: u8, index: u64) -> Result<Option<HashTile>, ReadError> {
        Ok(lock(&self.rows).hash_tile(level, index))
    }

    async fn nodes(&self, nodes: &[Node]) -> Result<HashMap<Node, Hash>, ReadError> {
        let rows = lock(&self.rows);
        let found = nodes.iter().filter_map(|node| {
            let from = usize::try_from(node.index() << node.level()).ok()?;
            let leaves = rows.leaves.get(from..from + (1 << node.level()))?;
            Some((*node, root_of(leaves)))
        });
        Ok(found.collect())
    }

    async fn stream_positions(
        &self,
        stream: &str,
        from_seq: u64,
        limit: usize,
    ) -> Result<Vec<u64>, ReadError> {
        let rows = lock(&self.rows);
        let positions = rows.stream_positions.get(stream).into_iter();
        Ok(positions
            .flat_map(|positions| positions.range(from_seq..))
            .take(limit)
            .map(|(_, position)| *position)
            .collect())
    }
}

/// A panic elsewhere cannot have left the maps half written: they change in calls that do not fail.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn found<K, V>(map: &HashMap<K, V>, keys: &[K]) -> HashMap<K, V>
where
    K: std::hash::Hash + Eq + Clone,
    V: Clone,
{
    let entries = keys.iter().filter_map(|key| map.get_key_value(key));
    entries
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

fn unreadable(error: ReadError) -> AppendError {
    AppendError::Backend(Box::new(error))
}
