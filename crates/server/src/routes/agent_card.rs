//! `GET /.well-known/agent-card.json` and `GET /api/v1/agents/{uuid}/agent-card.json`: A2A 1.0 cards of
//! the ledger and of agents (agents.md section 3).

use super::did_document::resolvable;
use crate::app::App;
use crate::cards::{Skill, Subject};
use crate::error::ApiError;
use crate::extract::AgentOf;
use crate::openapi::Refused;
use crate::openapi::discovery::AgentCard;
use crate::openapi::schema::AgentUuid;
use axum::Json;
use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::IntoResponse;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use x811_ledger::clock::Clock;
use x811_ledger::port::ReadModel as _;
use x811_protocol::answer::TrustShown;

/// Trust and presence move, so a copy is soon old.
const CACHED: &str = "public, max-age=60";

fn answer(card: Value) -> impl IntoResponse {
    let headers = [
        (
            CONTENT_TYPE,
            HeaderValue::from_static("application/a2a+json"),
        ),
        (CACHE_CONTROL, HeaderValue::from_static(CACHED)),
    ];
    (headers, Json(card))
}

/// Who this ledger is, for programs that look for cards.
#[utoipa::path(
    get,
    path = "/.well-known/agent-card.json",
    operation_id = "readLedgerCard",
    tag = "ledger",
    responses((
        status = 200,
        description = "The ledger's card",
        body = AgentCard,
        content_type = "application/a2a+json",
    )),
)]
pub(super) async fn ledger<C: Clock>(State(app): State<Arc<App<C>>>) -> impl IntoResponse {
    let subject = Subject {
        did: app.identity.did,
        description: "A ledger that AI agents settle on: x811 AEEP, USDC on Base".to_owned(),
        skills: vec![Skill {
            id: "x811.settlement".to_owned(),
            description: "Records signed envelopes and confirms their payments".to_owned(),
        }],
        params: json!({ "origin": app.identity.origin }),
    };
    answer(app.cards.card(subject))
}

/// 200 with this ledger's view of an agent, signed by the ledger; 404 X811-1001 when there is none, 410
/// when its DID is deactivated or revoked.
#[utoipa::path(
    get,
    path = "/api/v1/agents/{uuid}/agent-card.json",
    operation_id = "readAgentCard",
    tag = "agents",
    params(("uuid" = AgentUuid, Path, description = "UUID of the agent's DID")),
    responses(
        (
            status = 200,
            description = "Its card, as this ledger sees it",
            body = AgentCard,
            content_type = "application/a2a+json",
        ),
        Refused,
    ),
)]
pub(super) async fn handle<C: Clock>(
    State(app): State<Arc<App<C>>>,
    AgentOf(did): AgentOf,
) -> Result<impl IntoResponse, ApiError> {
    let agent = app.ledger.world().agent(did).cloned();
    let agent = agent.ok_or_else(ApiError::no_such_agent)?;
    resolvable(&agent)?;
    let as_of = app.rows_as_they_come().await.saturating_sub(1);
    let known = app.ledger.read_model().trust(did, as_of).await?;
    let trust = known.row.map(|row| row.trust).unwrap_or_default();
    let wallets = agent.wallets.iter();
    let wallets: Vec<String> = wallets.map(|wallet| wallet.address.to_checksum()).collect();
    let mut params = json!({
        "status": agent.standing(app.ledger.now()).as_str(),
        "trust": texts(&json!(TrustShown::of(trust, known.distinct_payers))),
        "as_of": as_of.to_string(),
    });
    if !wallets.is_empty() {
        params["wallets"] = json!(wallets);
    }
    let subject = Subject {
        did,
        description: "An agent registered at this ledger, as this ledger sees it".to_owned(),
        skills: skills(&agent.capabilities),
        params,
    };
    Ok(answer(app.cards.card(subject)))
}

/// What an agent offers. A card has one skill at least: who offers nothing asks for work.
fn skills(capabilities: &[String]) -> Vec<Skill> {
    if capabilities.is_empty() {
        return vec![Skill {
            id: "x811.initiator".to_owned(),
            description: "Asks for work, and offers none".to_owned(),
        }];
    }
    let skill = |name: &String| Skill {
        id: name.clone(),
        description: format!("The task type {name} of x811 AEEP"),
    };
    capabilities.iter().map(skill).collect()
}

/// Numbers as decimal texts.
fn texts(members: &Value) -> Value {
    let members = members.as_object().into_iter().flatten();
    let texts = members.map(|(name, number)| (name.clone(), json!(number.to_string())));
    Value::Object(texts.collect::<Map<String, Value>>())
}
