//! Whether the ledger takes messages, and how well it sees its networks.

#![expect(dead_code, reason = "shapes are described here and made elsewhere")]

use super::schema::HexHash;
use utoipa::ToSchema;

/// Whether messages are taken.
#[derive(ToSchema)]
pub(crate) struct ReadyAnswer {
    /// Whether they are.
    ready: bool,
    /// Why they are not.
    #[schema(nullable = false)]
    why: Option<Vec<String>>,
    /// What the operator has to look after, though messages are taken.
    #[schema(nullable = false)]
    attention: Option<Vec<String>>,
    /// `alone`, `writer`, or `standby`: one that follows the log, and passes on what it is sent.
    role: String,
    /// How old the last published head is that a standby knows of.
    #[schema(nullable = false)]
    published_age_ms: Option<u64>,
    /// Where the log lies in a database: who writes, who follows, and how far.
    #[schema(nullable = false)]
    store: Option<StoreAnswer>,
    /// Records in the log.
    size: u64,
    /// Hash of the last record.
    #[schema(value_type = HexHash)]
    head_hash: String,
    /// `settled` or `unsettled`.
    clock: String,
    /// Durable records that what readers are shown does not reflect yet.
    rows_lag: u64,
    /// How far the log has been read again since the start.
    log_check: LogCheckAnswer,
    /// Records that the last signed checkpoint covers; absent until one was signed since the start.
    #[schema(nullable = false)]
    checkpoint_size: Option<u64>,
    /// How long ago that was; it grows while nothing is recorded.
    #[schema(nullable = false)]
    checkpoint_age_ms: Option<u64>,
    /// Bytes that may still be written on the ledger's disk.
    #[schema(nullable = false)]
    free_bytes: Option<u64>,
    /// The version that runs.
    version: String,
    /// How well each network is seen.
    networks: Vec<NetworkSight>,
}

/// Who writes to a log in a database, who follows it, and how far.
#[derive(ToSchema)]
pub(crate) struct StoreAnswer {
    /// Number of the present writer's lease.
    epoch: u64,
    /// What that writer calls itself in the database; `null` before there was one.
    holder: Option<String>,
    /// How long ago it renewed its lease.
    lease_age_ms: u64,
    /// Records that lie wherever they must.
    published: u64,
    /// The database's clock against this process's.
    clock_ahead_ms: i64,
    /// Processes that follow.
    followers: Vec<FollowerAnswer>,
    /// Standbys of the database.
    standbys: Vec<StandbyAnswer>,
}

/// A process that follows the log.
#[derive(ToSchema)]
pub(crate) struct FollowerAnswer {
    /// Where it listens.
    name: String,
    /// Records that it shows.
    size: u64,
    /// Published records that it does not show yet.
    behind: u64,
    /// How long ago it said so.
    seen_ms: u64,
}

/// A standby of the database.
#[derive(ToSchema)]
pub(crate) struct StandbyAnswer {
    /// Its `application_name`.
    name: String,
    /// `streaming` when all is well; `null` where the ledger may not see it.
    state: Option<String>,
    /// Bytes of the database's log that it has not on disk yet.
    behind_bytes: Option<u64>,
}

/// How far the log, and what lies beside it, has been read again since the start.
#[derive(ToSchema)]
pub(crate) struct LogCheckAnswer {
    /// `running`, `sound` or `damaged`.
    state: String,
    /// Records that were read.
    checked: u64,
    /// Records that there were at the start.
    of: u64,
}

/// How well a network is seen.
#[derive(ToSchema)]
pub(crate) struct NetworkSight {
    /// Which.
    name: String,
    /// `fresh`, `stale`, `blind` or `unknown`.
    sight: String,
    /// The newest block.
    #[schema(nullable = false)]
    head_number: Option<u64>,
    /// How old it is.
    #[schema(nullable = false)]
    head_age_ms: Option<u64>,
    /// For how long nothing has been seen, downtime left out; absent unless it is blind.
    #[schema(nullable = false)]
    blind_ms: Option<u64>,
    /// The RPC endpoints it is watched through; absent for a network that is not watched any more.
    #[schema(nullable = false)]
    endpoints: Option<Vec<EndpointSight>>,
    /// Whether as many of them as must agree carry one head.
    #[schema(nullable = false)]
    agreed: Option<bool>,
    /// Labels of those that give no usable answer.
    #[schema(nullable = false)]
    silent: Option<Vec<String>>,
}

/// How one RPC endpoint behaves.
#[derive(ToSchema)]
pub(crate) struct EndpointSight {
    /// Its configured label.
    label: String,
    /// `unknown`, `good`, `lagging`, `failing` or `misfit` (another chain or token).
    state: String,
    /// Whether headers and transfers are asked of it.
    leads: bool,
    /// The newest block it named.
    #[schema(nullable = false)]
    head_number: Option<u64>,
    /// How old that is.
    #[schema(nullable = false)]
    head_age_ms: Option<u64>,
    /// Times it gave no usable answer.
    failures: u64,
    /// Transactions of which it said something else than another endpoint.
    disagreements: u64,
    /// Why it last failed.
    #[schema(nullable = false)]
    last_error: Option<String>,
}
