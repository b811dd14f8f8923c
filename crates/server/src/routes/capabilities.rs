//! `GET /api/v1/agents/{uuid}/capabilities`: what an agent says that it can do, in the envelope that
//! it signed (capability.md, "Descriptor"). Open to everybody: it is an advertisement.

use super::interaction::Question;
use super::message_by_id::FoundEnvelope;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{AgentOf, Asked};
use crate::openapi::Refused;
use crate::openapi::capability::DescriptorAnswer;
use crate::openapi::schema::AgentUuid;
use crate::stored::{self, EnvelopeParts};
use crate::streamed::{self, JSON};
use axum::extract::State;
use axum::response::Response;
use std::sync::Arc;
use x811_ledger::clock::Clock;
use x811_ledger::port::ReadModel as _;
use x811_ledger::row::SubjectRow;
use x811_protocol::did::Did;
use x811_protocol::stream::{Stream, Subject};

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
pub(super) async fn handle<C: Clock>(
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
