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
