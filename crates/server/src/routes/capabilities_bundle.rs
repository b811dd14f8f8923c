//! `GET /api/v1/agents/{uuid}/capabilities/bundle`: every revision of what an agent says that it can
//! do, and every stream that this rests on, in one file that is audited offline. Open to everybody, as
//! the descriptor is.

use super::bundle::answer;
use super::capabilities::in_force;
use crate::app::App;
use crate::extract::AgentOf;
use crate::limits::Client;
use crate::openapi::Refused;
use crate::openapi::schema::Uuid;
use crate::signed_read::ReadRefusal;
use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use std::sync::Arc;
use x811_ledger::clock::Clock;
use x811_protocol::stream::Subject;

/// 200, or 404 of who is not registered (X811-1001) or has said nothing of the kind. Waits a moment for
/// a checkpoint that covers the last revision. It is made while it is sent: one that was cut off has no
/// trailer.
#[utoipa::path(
    get,
    path = "/api/v1/agents/{uuid}/capabilities/bundle",
    operation_id = "readCapabilitiesBundle",
    tag = "agents",
    params(("uuid" = Uuid, Path, description = "UUID of the agent's DID")),
    responses(
        (
            status = 200,
            description = "The bundle, to be kept byte for byte: `x811 audit` checks it",
            body = String,
            content_type = "text/plain",
        ),
        Refused
    ),
)]
pub(super) async fn handle<C: Clock>(
    State(app): State<Arc<App<C>>>,
    Extension(client): Extension<Client>,
    AgentOf(did): AgentOf,
) -> Result<Response, ReadRefusal> {
    app.rows_as_they_come().await;
    let row = in_force(&app, did).await?;
    answer(app, client, Subject::Descriptor(did), row.last_position).await
}
