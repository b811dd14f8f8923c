//! `GET /api/v1/agents/{uuid}` and what is below it: what is registered of an agent, whatever its standing; whether
//! it may act and is there; what it has earned; the records that gave it its keys; what it says that it can do.

use super::message_by_id::FoundEnvelope;
use super::stream_page::{self, StreamPage};
use super::subject::Question;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{AgentOf, Asked, Bounded, MAX_INTEGER};
use crate::openapi::Refused;
use crate::openapi::capability::DescriptorAnswer;
use crate::openapi::schema::{AgentKeysAnswer, AgentUuid};
use crate::stored::EnvelopeParts;
use crate::streamed::JSON;
use crate::{stored, streamed};
use axum::Json;
use axum::extract::State;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};
use x811_ledger::clock::Clock;
use x811_ledger::port::ReadModel as _;
use x811_protocol::answer::{Agent, AgentStatus, Availability, BoundWallet, TrustShown};
use x811_protocol::did::Did;
use x811_protocol::event::{AgentEvent, Event, LedgerEvent};
use x811_protocol::stream::{Stream, Subject};
use x811_protocol::time::TimestampMs;
use x811_world::row::SubjectRow;

/// 200 with the status as of now (AX-31), or 404 X811-1001.
#[utoipa::path(
    get,
    path = "/api/v1/agents/{uuid}",
    operation_id = "readAgent",
    tag = "agents",
    params(("uuid" = AgentUuid, Path, description = "UUID of the agent's DID")),
    responses((status = 200, description = "What is registered", body = Agent), Refused),
)]
pub(super) async fn registered<C: Clock>(
    State(app): State<Arc<App<C>>>,
    AgentOf(did): AgentOf,
) -> Result<Json<Agent>, ApiError> {
    let world = app.ledger.world();
    let agent = world.agent(did).ok_or_else(ApiError::no_such_agent)?;
    let wallets = agent.wallets.iter().map(|wallet| BoundWallet {
        address: wallet.address,
        kind: wallet.kind,
    });
    Ok(Json(Agent {
        did,
        status: agent.standing(app.ledger.now()),
        expires_at_ms: agent.expires_at_ms,
        capabilities: agent.capabilities.to_vec(),
        wallets: wallets.collect(),
        keys: agent.keys.to_vec(),
        registered_at_ms: agent.registered_at_ms,
        position: agent.position,
    }))
}

/// How an agent is now.
#[derive(Serialize, ToSchema)]
pub(super) struct PresenceAnswer {
    /// DID of the agent.
    did: Did,
    /// Whether it may act.
    status: AgentStatus,
    /// Whether it is there, as far as this server knows.
    availability: Availability,
    /// Absent when it never sent a heartbeat to this process.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_seen_at_ms: Option<TimestampMs>,
    /// The same in RFC 3339, as the published SDK reads it.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_seen_at: Option<String>,
}

/// 200 with the status as of now, or 404 X811-1001.
#[utoipa::path(
    get,
    path = "/api/v1/agents/{uuid}/status",
    operation_id = "readAgentStatus",
    tag = "agents",
    params(("uuid" = AgentUuid, Path, description = "UUID of the agent's DID")),
    responses((status = 200, description = "How it is", body = PresenceAnswer), Refused),
)]
pub(super) async fn status<C: Clock>(
    State(app): State<Arc<App<C>>>,
    AgentOf(did): AgentOf,
) -> Result<Json<PresenceAnswer>, ApiError> {
    presence(&app, did).map(Json)
}

/// What is known of an agent now.
pub(super) fn presence<C: Clock>(app: &App<C>, did: Did) -> Result<PresenceAnswer, ApiError> {
    let world = app.ledger.world();
    let agent = world.agent(did).ok_or_else(ApiError::no_such_agent)?;
    let (availability, last_seen) = app.presence.of(did, app.clock.monotonic_ms());
    Ok(PresenceAnswer {
        did,
        status: agent.standing(app.ledger.now()),
        availability,
        last_seen_at_ms: last_seen,
        last_seen_at: last_seen.map(TimestampMs::to_rfc3339),
    })
}

/// What may be asked of trust.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct TrustQuestion {
    /// Position of a record; the last one without it
    #[param(value_type = Option<u64>, maximum = 9_007_199_254_740_991_u64)]
    as_of: Option<Bounded<0, MAX_INTEGER>>,
}

/// What an agent has earned as of a record.
#[derive(Serialize, ToSchema)]
pub(super) struct TrustAnswer {
    /// DID of the agent.
    did: Did,
    /// Position of the record that the numbers are as of.
    as_of: u64,
    /// Place of the last record that moved it; absent without history.
    #[serde(skip_serializing_if = "Option::is_none")]
    position: Option<u64>,
    #[serde(flatten)]
    trust: TrustShown,
}

/// What an agent has earned, now or as of some record (agents.md section 4): 200, also without history; 404 X811-1001 for no such agent, 404 for a position that
/// the log does not hold.
#[utoipa::path(
    get,
    path = "/api/v1/agents/{uuid}/trust",
    operation_id = "readTrust",
    tag = "agents",
    params(("uuid" = AgentUuid, Path, description = "UUID of the agent's DID"), TrustQuestion),
    responses((status = 200, description = "What it has earned", body = TrustAnswer), Refused),
)]
pub(super) async fn trust<C: Clock>(
    State(app): State<Arc<App<C>>>,
    AgentOf(did): AgentOf,
    Asked(question): Asked<TrustQuestion>,
) -> Result<Json<TrustAnswer>, ApiError> {
    if app.ledger.world().agent(did).is_none() {
        return Err(ApiError::no_such_agent());
    }
    let as_of = match question.as_of {
        Some(Bounded(position)) => {
            app.rows_reflect(position).await?;
            position
        }
        None => app.rows_as_they_come().await.saturating_sub(1),
    };
    let known = app.ledger.read_model().trust(did, as_of).await?;
    let trust = known.row.map(|row| row.trust).unwrap_or_default();
    Ok(Json(TrustAnswer {
        did,
        as_of,
        position: known.row.map(|row| row.position),
        trust: TrustShown::of(trust, known.distinct_payers),
    }))
}

/// Leaves as they are stored. Whoever reads an earlier message needs the keys its sender had at that position
/// (ledger-contract.md section 4), and can check each rotation by its two signatures. The ledger's own DID is shown
/// alike: its notices are messages too, and its keys are replaced like anybody's.
///
/// 200, also for who is deactivated or revoked, or 404 X811-1001. A page may hold no record and
/// still have a `next`: records of the stream that leave the keys alone are passed over. Of the
/// ledger's own DID its `ledger_opened` and each `ledger_key_rotated`, of all its keys.
#[utoipa::path(
    get,
    path = "/api/v1/agents/{uuid}/keys",
    operation_id = "readAgentKeys",
    tag = "agents",
    params(("uuid" = AgentUuid, Path, description = "UUID of the agent's DID"), stream_page::Question),
    responses(
        (status = 200, description = "How it came by its keys", body = AgentKeysAnswer),
        Refused
    ),
)]
pub(super) async fn keys<C: Clock>(
    State(app): State<Arc<App<C>>>,
    AgentOf(did): AgentOf,
    Asked(question): Asked<stream_page::Question>,
) -> Result<Response, ApiError> {
    let page = if did == app.identity.did {
        StreamPage::of(&app, own_rotations(&app), &question).await?
    } else {
        if app.ledger.world().agent(did).is_none() {
            return Err(ApiError::no_such_agent());
        }
        question.await_rows(&app).await?;
        StreamPage::read(&app, &Stream::Agent(did), &question).await?
    };
    page.answer(app, ("did", did.to_string()), gives_keys).await
}

/// Where the ledger's own keys were named and replaced.
fn own_rotations<C: Clock>(app: &App<C>) -> Vec<u64> {
    let world = app.ledger.world();
    let replaced = world
        .keyring()
        .map_or(&[][..], |keyring| keyring.replaced());
    let replaced = replaced.iter().map(|replaced| replaced.position);
    std::iter::once(0).chain(replaced).collect()
}

fn gives_keys(event: &Event) -> bool {
    matches!(
        event,
        Event::Agent(AgentEvent::Registered(_) | AgentEvent::KeyRotated(_))
            | Event::Ledger(LedgerEvent::Opened(_) | LedgerEvent::KeyRotated(_))
    )
}

/// In the envelope that it signed (capability.md, "Descriptor"). Open to everybody: it is an advertisement.
///
/// 200, or 404 of who is not registered (X811-1001) or has said nothing of the kind.
#[utoipa::path(
    get,
    path = "/api/v1/agents/{uuid}/capabilities",
    operation_id = "readCapabilities",
    tag = "agents",
    params(("uuid" = AgentUuid, Path, description = "UUID of the agent's DID"), Question),
    responses(
        (status = 200, description = "Its descriptor in force", body = DescriptorAnswer),
        Refused
    ),
)]
pub(super) async fn capabilities<C: Clock>(
    State(app): State<Arc<App<C>>>,
    AgentOf(did): AgentOf,
    Asked(question): Asked<Question>,
) -> Result<Response, ApiError> {
    question.await_rows(&app).await?;
    let row = in_force(&app, did).await?;
    let position = row.last_position;
    let record = stored::record(&app, position).await?;
    let event = stored::event(&record)?;
    let header = event.envelope();
    let stream = Stream::Of(Subject::Descriptor(did));
    let is_its_own = record.stream() == stream.to_string();
    let header = header.filter(|_| is_its_own);
    let header = header.ok_or_else(|| ApiError::damaged(position))?;
    let envelope = EnvelopeParts::begin(&app, position, (header.digest, &header.signature)).await?;
    let before = format!(
        r#"{{"did":"{did}","position":{position},"recorded_at_ms":{},"revision":{},"envelope":"#,
        record.recorded_at_ms(),
        row.detail["revision"],
    );
    let found = FoundEnvelope {
        app,
        before: Some(before),
        envelope: Some(envelope.ok_or_else(|| ApiError::damaged(position))?),
        after: Some("}".to_owned()),
    };
    streamed::answer(JSON, found).await
}

/// The row of that agent's descriptor.
pub(super) async fn in_force<C: Clock>(app: &App<C>, agent: Did) -> Result<SubjectRow, ApiError> {
    if app.ledger.world().agent(agent).is_none() {
        return Err(ApiError::no_such_agent());
    }
    let subject = Subject::Descriptor(agent);
    let row = app.ledger.read_model().subject(subject).await?;
    row.ok_or_else(|| {
        ApiError::not_found("the agent has published no descriptor of its capabilities")
    })
}
