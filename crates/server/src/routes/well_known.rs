//! `GET /.well-known/did.json`, `/.well-known/x811.json` and `/.well-known/x811-keys`: who this ledger
//! is, what it decides on (AX-32, AE-121), and which keys it has had (ledger-contract.md section 8).

use super::did_document::document;
use crate::app::App;
use crate::error::ApiError;
use crate::openapi::{Refused, schema};
use axum::Json;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::IntoResponse;
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;
use x811_eventlog::note::NoteKey;
use x811_ledger::clock::Clock;
use x811_protocol::answer::{LedgerInfo, NetworkInfo};
use x811_protocol::document::DidDocument;
use x811_protocol::event::LedgerOpened;
use x811_protocol::key::{AgentKey, Profile};
use x811_protocol::parameters::{Capabilities, Contracts, Network, Rounds};

pub(super) const JSON: &str = "application/json";

/// One is signed every second, so a copy may be as old.
const CACHED: &str = "public, max-age=1";

/// The ledger's DID document; its key signs notices.
#[utoipa::path(
    get,
    path = "/.well-known/did.json",
    operation_id = "readLedgerDid",
    tag = "ledger",
    responses((
        status = 200,
        description = "The ledger's DID document",
        body = schema::DidDocument,
        content_type = "application/did+json",
    )),
)]
pub(super) async fn did<C: Clock>(State(app): State<Arc<App<C>>>) -> impl IntoResponse {
    let key = AgentKey {
        key: app.identity.keys.envelope,
        profile: Profile::Digest,
    };
    document(DidDocument::build(app.identity.did, &[key], None))
}

/// Who this ledger is and what it decides on.
#[derive(Serialize, ToSchema)]
pub(super) struct LedgerAnswer {
    #[serde(flatten)]
    who: LedgerInfo,
    /// What negotiations are held to; null where none are opened.
    #[schema(required)]
    contracts: Option<Contracts>,
    /// What descriptors are held to; null where none are taken.
    #[schema(required)]
    capabilities: Option<Capabilities>,
    /// What rounds are held to, as `[rounds]` of the configuration names it; null where none are opened.
    #[schema(required, value_type = Option<Object>)]
    rounds: Option<Arc<Rounds>>,
}

/// Names, networks, windows.
#[utoipa::path(
    get,
    path = "/.well-known/x811.json",
    operation_id = "readLedger",
    tag = "ledger",
    responses((status = 200, description = "Who it is", body = LedgerAnswer)),
)]
pub(super) async fn ledger<C: Clock>(State(app): State<Arc<App<C>>>) -> Json<LedgerAnswer> {
    let (identity, parameters) = (&app.identity, &app.parameters);
    Json(LedgerAnswer {
        who: LedgerInfo {
            did: identity.did,
            log_id: identity.log_id.to_string(),
            origin: identity.origin.clone(),
            protocol_versions: vec!["0".to_owned()],
            networks: parameters.networks.iter().map(network).collect(),
            windows: parameters.windows,
            looks_ms: parameters.looks_ms,
            checkpoint_vkey: checkpoint_vkey(identity),
            payer_binding: parameters.payer_binding,
        },
        contracts: parameters.contracts,
        capabilities: parameters.capabilities,
        rounds: parameters.rounds.clone(),
    })
}

/// Which keys the ledger has, and every one that it replaced, signed by its checkpoint key with the
/// last checkpoint: the object in RFC 8785 form and a line end. 503 before the first since the start.
#[utoipa::path(
    get,
    path = "/.well-known/x811-keys",
    operation_id = "readLedgerKeys",
    tag = "ledger",
    responses(
        (status = 200, description = "The keys statement", body = schema::KeysAnswer),
        Refused,
    ),
)]
pub(super) async fn keys<C: Clock>(
    State(app): State<Arc<App<C>>>,
) -> Result<impl IntoResponse, ApiError> {
    let mut statement = app.last_keys()?.to_json();
    statement.push(b'\n');
    let headers = [(CONTENT_TYPE, JSON), (CACHE_CONTROL, CACHED)];
    Ok((headers, statement))
}

/// `None`, shown as null, would mean that no checkpoint could be signed either.
fn checkpoint_vkey(identity: &LedgerOpened) -> Option<String> {
    let key = NoteKey::new(&*identity.origin, *identity.keys.checkpoint.as_bytes());
    key.ok().map(|key| key.to_vkey())
}

fn network(network: &Network) -> NetworkInfo {
    NetworkInfo {
        name: network.name.clone(),
        chain_id: network.chain_id,
        token: network.token,
        treasury: network.treasury,
        confirmed_depth: network.confirmed_depth,
        endpoint_quorum: network.endpoint_quorum,
        final_by: network.final_by,
    }
}
