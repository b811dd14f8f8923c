//! What the ledger needs from the place where it is kept.
//!
//! The log itself is [`EventLog`]; beside it lie bodies, the journal of spent nonces and the
//! decision indexes. A backend with transactions writes all of a [`Commit`] in one; nothing is
//! acknowledged before it is durable (ledger-contract.md sections 1 and 2).

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use x811_eventlog::{AppendError, EventLog, Hash, HashTile, Head, Node, ReadError, Record};
use x811_protocol::code::Code;
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::event::{Claim, Event, LedgerEvent};
use x811_protocol::evm::{ChainId, EvmAddress, TxHash};
use x811_protocol::facts::Facts;
use x811_protocol::id::EnvelopeId;
use x811_protocol::stream::Subject;
use x811_protocol::time::TimestampMs;
use x811_world::row::{DeliveryRow, FoundAgent, MemberRow, RowChange, SubjectRow, TrustAsOf};

/// The canonical signable bytes of an accepted envelope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    /// Position of the record it belongs to.
    pub position: u64,
    /// SHA-256 of `bytes`; stands in the record too.
    pub digest: Digest,
    /// RFC 8785 bytes of the envelope without its signature.
    pub bytes: Arc<[u8]>,
}

/// A body whose bytes are not those that were signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the body at position {position} is damaged: its bytes have the digest {found}, its record \
     names {due}. Run `x811 doctor`, then restore a backup"
)]
pub struct DamagedBody {
    /// Position of its record.
    pub position: u64,
    /// Digest that the record names.
    pub due: Digest,
    /// SHA-256 of what is stored.
    pub found: Digest,
}

/// A row of the read model that is not as it was written. It travels inside
/// [`ReadError::Backend`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the table {table} holds {what}, in the row {row}: rebuild the rows with `x811 doctor --repair`"
)]
pub struct DamagedRow {
    /// Name of the table.
    pub table: &'static str,
    /// The columns that name the row.
    pub row: String,
    /// What was found there.
    pub what: String,
}

impl DamagedRow {
    /// The damaged row that `error` reports, if it reports one.
    #[must_use]
    pub fn reported_by(error: &ReadError) -> Option<&DamagedRow> {
        let ReadError::Backend(error) = error else {
            return None;
        };
        let inner = error.source().and_then(|source| source.downcast_ref());
        error.downcast_ref().or(inner)
    }
}

impl Body {
    /// Hashes the bytes and compares them with the digest that the record names: what lies on a disk
    /// may have changed there, and the digest beside it with it.
    ///
    /// # Errors
    /// [`DamagedBody`].
    pub fn check(&self, due: Digest) -> Result<(), DamagedBody> {
        let found = Digest::of(&self.bytes);
        if found == due {
            return Ok(());
        }
        Err(DamagedBody {
            position: self.position,
            due,
            found,
        })
    }
}

/// A nonce that was spent by an answer which left no record of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpentNonce {
    /// SHA-256(from ‖ 0x00 ‖ nonce).
    pub tag: Digest,
    /// When it was answered.
    pub at_ms: TimestampMs,
    /// How it was answered.
    pub outcome: NonceOutcome,
}

/// The first answer to a nonce.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NonceOutcome {
    /// Accepted earlier under another nonce: the record at this position answers it.
    Repeated {
        /// Position of the first record.
        position: u64,
    },
    /// Refused with this code.
    Refused(Code),
}

/// A body that is to be gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Erased {
    /// Position of the record whose body it is.
    pub position: u64,
    /// Position of the record that says so.
    pub record: u64,
}

/// Everything one group commit makes durable, all of it or nothing.
#[derive(Debug, Clone, Default)]
pub struct Commit {
    /// Size the log must have.
    pub expected_size: u64,
    /// New records in order; may be empty when only nonces were spent.
    pub records: Vec<Record>,
    /// Bodies of the accepted envelopes among them.
    pub bodies: Vec<Body>,
    /// Nonces whose answer left no record.
    pub nonces: Vec<SpentNonce>,
    /// Envelope id to position, unique for ever.
    pub envelope_ids: Vec<(EnvelopeId, u64)>,
    /// Idempotency tag to position of its REQUEST, unique for ever.
    pub idempotency: Vec<(Digest, u64)>,
    /// Claimed transfer to position of its confirmation, unique for ever.
    pub claims: Vec<(Claim, u64)>,
    /// Bodies of records before these that they say are erased.
    pub erased: Vec<Erased>,
    /// Running state of the Merkle tree after `records`.
    pub frontier: Vec<u8>,
}

impl Commit {
    /// Adds what lies beside `event` at `position`: index entries, the body, and what it erases.
    pub(crate) fn index(&mut self, position: u64, event: &Event, body: Option<&Arc<[u8]>>) {
        if let Some(envelope) = event.envelope() {
            self.envelope_ids.push((envelope.id, position));
            self.bodies.extend(body.map(|bytes| Body {
                position,
                digest: envelope.digest,
                bytes: bytes.clone(),
            }));
        }
        if let Event::EnvelopeAccepted(accepted) = event
            && let Facts::Request(request) = &accepted.facts
        {
            self.idempotency.push((request.idempotency_tag, position));
        }
        let claims = event.claims().iter().map(|claim| (*claim, position));
        self.claims.extend(claims);
        if let Event::Ledger(LedgerEvent::BodiesErased(erased)) = event {
            let erased = erased.positions.iter().map(|erased| Erased {
                position: *erased,
                record: position,
            });
            self.erased.extend(erased);
        }
    }
}

/// How many entries below some position lie beside the log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IndexCounts {
    /// Bodies, and places of erased ones that the store keeps.
    pub bodies: u64,
    /// Ids of accepted envelopes.
    pub envelope_ids: u64,
    /// Entries of the index of idempotency tags.
    pub idempotency: u64,
    /// Entries of the index of claimed transfers.
    pub claims: u64,
}

/// What a contract wallet is asked (ERC-1271).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContractProof {
    /// The wallet's address.
    pub wallet: EvmAddress,
    /// What was signed, as [`x811_protocol::wallet::binding_hash`] makes it.
    pub hash: [u8; 32],
    /// What the contract is to take for its signature: 1 to 1,024 bytes.
    pub signature: Vec<u8>,
}

/// What the contracts at one address say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContractVerdict {
    /// Yes on every network that payments may come on.
    Accepted,
    /// No on this network, or there is no contract.
    Rejected {
        /// The network's name.
        network: String,
    },
}

/// Why contracts were not asked, or not answered for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ContractsNotAsked {
    /// There is nobody to ask.
    #[error(
        "this ledger asks no node, so it takes no contract wallets: bind an account with a key"
    )]
    NotConfigured,
    /// Too many are being asked.
    #[error("too many contract wallets are being checked")]
    Busy,
    /// No answer that counts.
    #[error(
        "the wallet's contract could not be asked on the network {network} ({detail}): try again; \
         if it stays so, tell the operator of this ledger"
    )]
    Silent {
        /// The network's name.
        network: String,
        /// What happened; never an endpoint's URL.
        detail: String,
    },
}

/// Asks contract wallets whether a signature is theirs. Any stranger can cause that, so it takes a
/// bounded time, and not many are asked at the same time.
pub trait ContractWallets: Send + Sync {
    /// The verdicts on `proofs`, in the same order.
    fn judge(
        &self,
        proofs: &[ContractProof],
    ) -> impl Future<Output = Result<Vec<ContractVerdict>, ContractsNotAsked>> + Send;
}

/// For a ledger that can ask no network: no contract wallet is bound.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoContracts;

impl ContractWallets for NoContracts {
    async fn judge(
        &self,
        _proofs: &[ContractProof],
    ) -> Result<Vec<ContractVerdict>, ContractsNotAsked> {
        Err(ContractsNotAsked::NotConfigured)
    }
}

/// Log, bodies, nonce journal and decision indexes of one ledger.
pub trait LedgerStore: Send + Sync + 'static {
    /// The log inside.
    type Log: EventLog;

    /// The log inside, for reading. Appending goes through [`LedgerStore::commit`].
    fn log(&self) -> &Self::Log;

    /// The records at these positions, in their order; a position that the log does not hold is left
    /// out.
    fn records(
        &self,
        positions: &[u64],
    ) -> impl Future<Output = Result<Vec<Record>, ReadError>> + Send;

    /// Makes `commit` durable; checks the writer epoch. A store with transactions makes all of it
    /// durable at once. One without keeps this order: bodies under position *and* digest, so that a
    /// writer that was replaced can overwrite none; the records, which decide; indexes with the
    /// position they reach; nonces before their answers (stores.md section 1). What it erases is nowhere in the store's own
    /// files when this returns, unless a reader is in the way: then soon after.
    fn commit(&self, commit: Commit) -> impl Future<Output = Result<Head, AppendError>> + Send;

    /// Size and running state of the tree at the last commit; `None` on an empty log.
    fn frontier(&self) -> impl Future<Output = Result<Option<(u64, Vec<u8>)>, ReadError>> + Send;

    /// The bodies at these positions, as they were committed with the record there; absent and
    /// erased ones are left out. Whoever judges by one checks it against the digest that its record
    /// names ([`Body::check`]).
    fn bodies(
        &self,
        positions: &[u64],
    ) -> impl Future<Output = Result<HashMap<u64, Body>, ReadError>> + Send;

    /// At most `most` bytes of the body at `position` from its byte `from` on: none behind its end,
    /// and `None` where it is absent or erased. Whoever sends a long one holds no more of it.
    fn body_part(
        &self,
        position: u64,
        from: usize,
        most: usize,
    ) -> impl Future<Output = Result<Option<Vec<u8>>, ReadError>> + Send {
        async move {
            let body = self.bodies(&[position]).await?.remove(&position);
            let part = body.map(|body| body.bytes.get(from..).unwrap_or_default().to_vec());
            Ok(part.map(|mut part| {
                part.truncate(most);
                part
            }))
        }
    }

    /// The records and the bodies at these positions, as [`LedgerStore::records`] and
    /// [`LedgerStore::bodies`] give them.
    fn records_with_bodies(
        &self,
        positions: &[u64],
    ) -> impl Future<Output = Result<(Vec<Record>, HashMap<u64, Body>), ReadError>> + Send {
        async move {
            Ok((
                self.records(positions).await?,
                self.bodies(positions).await?,
            ))
        }
    }

    /// The bodies at these positions that were erased: position to that of the record that says so.
    fn erased(
        &self,
        positions: &[u64],
    ) -> impl Future<Output = Result<HashMap<u64, u64>, ReadError>> + Send;

    /// Positions of the REQUESTs first accepted under these idempotency tags.
    fn idempotency(
        &self,
        tags: &[Digest],
    ) -> impl Future<Output = Result<HashMap<Digest, u64>, ReadError>> + Send;

    /// Positions of accepted envelopes by id; unknown ids are left out.
    fn envelope_positions(
        &self,
        ids: &[EnvelopeId],
    ) -> impl Future<Output = Result<HashMap<EnvelopeId, u64>, ReadError>> + Send;

    /// Claims on any transfer of these transactions, with the position of the confirmation.
    fn claims(
        &self,
        chain_id: ChainId,
        tx_hashes: &[TxHash],
    ) -> impl Future<Output = Result<Vec<(Claim, u64)>, ReadError>> + Send;

    /// How many entries of positions below `size` there are. Counts them: not for the commit path.
    fn index_counts(
        &self,
        size: u64,
    ) -> impl Future<Output = Result<IndexCounts, ReadError>> + Send;

    /// Nonces spent without a record since `since`.
    fn spent_nonces(
        &self,
        since: TimestampMs,
    ) -> impl Future<Output = Result<Vec<SpentNonce>, ReadError>> + Send;

    /// Forgets nonces spent without a record before `before`.
    fn purge_nonces(
        &self,
        before: TimestampMs,
    ) -> impl Future<Output = Result<(), AppendError>> + Send;

    /// When the ledger was last known to be up.
    fn last_tick(&self) -> impl Future<Output = Result<Option<TimestampMs>, ReadError>> + Send;

    /// Notes that the ledger is up at `at`.
    fn tick(&self, at: TimestampMs) -> impl Future<Output = Result<(), AppendError>> + Send;
}

/// Some records of a stream that follow each other in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stretch {
    /// The stream's name.
    pub stream: String,
    /// Place in the stream of the last of them.
    pub last_seq: u64,
    /// Their positions, in order of their places.
    pub positions: Vec<u64>,
}

/// Rows for reading, following the log by position. Never asked by a decision.
pub trait ReadModel: Send + Sync + 'static {
    /// How many records the rows reflect.
    fn applied_size(&self) -> impl Future<Output = Result<u64, ReadError>> + Send;

    /// Applies `changes` of the records up to (not including) `new_size` in one transaction with
    /// that size. A batch that does not begin at the applied size is an error.
    fn apply(
        &self,
        old_size: u64,
        new_size: u64,
        changes: &[RowChange],
    ) -> impl Future<Output = Result<(), AppendError>> + Send;

    /// The row of one subject; `None` where there is none.
    fn subject(
        &self,
        subject: Subject,
    ) -> impl Future<Output = Result<Option<SubjectRow>, ReadError>> + Send;

    /// Subjects of a machine in order of id, after `after`; only those of `member`, if it is named, which finds
    /// none of a machine without [a list](Subject::has_list).
    fn subjects(
        &self,
        kind: &str,
        member: Option<Did>,
        after: Option<Subject>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<SubjectRow>, ReadError>> + Send;

    /// The index from members to subjects of all machines, in order of machine, member and id, behind
    /// `after`.
    fn subject_members(
        &self,
        after: Option<&MemberRow>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<MemberRow>, ReadError>> + Send;

    /// Registered agents in order of their registrations, behind the one at `after`; only those that
    /// offer `capability`, if it is named. Agents that may not act now are among them.
    fn agents(
        &self,
        capability: Option<&str>,
        after: Option<u64>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<FoundAgent>, ReadError>> + Send;

    /// What `did` had earned as of the record at `as_of`.
    fn trust(
        &self,
        did: Did,
        as_of: u64,
    ) -> impl Future<Output = Result<TrustAsOf, ReadError>> + Send;

    /// Envelopes to `recipient` with a position of at least `from_position`, in order of position.
    fn deliveries(
        &self,
        recipient: Did,
        from_position: u64,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<DeliveryRow>, ReadError>> + Send;

    /// What all streams list behind `after`, a stream and a place in it, in order of name and
    /// place: at most `limit` records. A stream that is longer goes on in the next page.
    fn stretches(
        &self,
        after: Option<(String, u64)>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Stretch>, ReadError>> + Send;

    /// The tile of hashes at `index` of `level` (C2SP tlog-tiles), as wide as the tree over the
    /// records that the rows reflect has it; `None` where that has none.
    fn hash_tile(
        &self,
        level: u8,
        index: u64,
    ) -> impl Future<Output = Result<Option<HashTile>, ReadError>> + Send;

    /// The hashes of those of these perfect subtrees that the tree over the records that the rows
    /// reflect has.
    fn nodes(
        &self,
        nodes: &[Node],
    ) -> impl Future<Output = Result<HashMap<Node, Hash>, ReadError>> + Send;

    /// Positions of a stream's records from `from_seq` on, in order.
    fn stream_positions(
        &self,
        stream: &str,
        from_seq: u64,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<u64>, ReadError>> + Send;

    /// The first `limit` records of a stream, in order, then those at `others`, and the bodies of
    /// all of them, from `store`, whose log these rows follow. As [`ReadModel::stream_positions`]
    /// and [`LedgerStore::records_with_bodies`] give them, unless both can be asked at once.
    fn stream_with_bodies<S: LedgerStore>(
        &self,
        store: &S,
        stream: &str,
        others: &[u64],
        limit: usize,
    ) -> impl Future<Output = Result<(Vec<Record>, HashMap<u64, Body>), ReadError>> + Send {
        async move {
            let positions = self.stream_positions(stream, 0, limit).await?;
            let positions = [&*positions, others].concat();
            store.records_with_bodies(&positions).await
        }
    }
}
