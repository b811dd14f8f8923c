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
use serde_json::{Map, Value, json};
use std::sync::Arc;
use x811_eventlog::note::NoteKey;
use x811_ledger::clock::Clock;
use x811_protocol::document::DidDocument;
use x811_protocol::event::LedgerOpened;
use x811_protocol::key::{AgentKey, Profile};
use x811_protocol::parameters::Network;

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

/// Names, networks, windows.
#[utoipa::path(
    get,
    path = "/.well-known/x811.json",
    operation_id = "readLedger",
    tag = "ledger",
    responses((status = 200, description = "Who it is", body = schema::LedgerAnswer)),
)]
pub(super) async fn ledger<C: Clock>(State(app): State<Arc<App<C>>>) -> Json<Value> {
    let (identity, parameters) = (&app.identity, &app.parameters);
    let networks: Vec<Value> = parameters.networks.iter().map(network).collect();
    Json(json!({
        "did": identity.did,
        "log_id": identity.log_id,
        "origin": identity.origin,
        "checkpoint_vkey": checkpoint_vkey(identity),
        "protocol_versions": ["0"],
        "networks": networks,
        "windows": parameters.windows,
        "looks_ms": parameters.looks_ms,
        "payer_binding": parameters.payer_binding,
        "contracts": parameters.contracts,
        "capabilities": parameters.capabilities,
        "rounds": parameters.rounds,
    }))
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

fn network(network: &Network) -> Value {
    let mut shown = Map::new();
    shown.insert("name".to_owned(), json!(network.name));
    shown.insert("chain_id".to_owned(), json!(network.chain_id));
    shown.insert("token".to_owned(), json!(network.token.to_checksum()));
    if let Some(treasury) = network.treasury {
        shown.insert("treasury".to_owned(), json!(treasury.to_checksum()));
    }
    shown.insert("confirmed_depth".to_owned(), json!(network.confirmed_depth));
    if let Some(quorum) = network.endpoint_quorum {
        shown.insert("endpoint_quorum".to_owned(), json!(quorum));
    }
    Value::Object(shown)
}
