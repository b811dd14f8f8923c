//! `GET /api/v1/agents/{uuid}/keys`: the records that gave an agent its keys, leaves as they are
//! stored. Whoever reads an earlier message needs the keys its sender had at that position
//! (ledger-contract.md section 4), and can check each rotation by its two signatures. The ledger's
//! own DID is shown alike: its notices are messages too, and its keys are replaced like anybody's.

use super::stream_page::{Question, StreamPage};
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{AgentOf, Asked};
use crate::openapi::Refused;
use crate::openapi::schema::{AgentKeysAnswer, AgentUuid};
use axum::extract::State;
use axum::response::Response;
use std::sync::Arc;
use x811_ledger::clock::Clock;
use x811_protocol::event::{AgentEvent, Event, LedgerEvent};
use x811_protocol::stream::Stream;

/// 200, also for who is deactivated or revoked, or 404 X811-1001. A page may hold no record and
/// still have a `next`: records of the stream that leave the keys alone are passed over. Of the
/// ledger's own DID its `ledger_opened` and each `ledger_key_rotated`, of all its keys.
#[utoipa::path(
    get,
    path = "/api/v1/agents/{uuid}/keys",
    operation_id = "readAgentKeys",
    tag = "agents",
    params(("uuid" = AgentUuid, Path, description = "UUID of the agent's DID"), Question),
    responses(
        (status = 200, description = "How it came by its keys", body = AgentKeysAnswer),
        Refused
    ),
)]
pub(super) async fn handle<C: Clock>(
    State(app): State<Arc<App<C>>>,
    AgentOf(did): AgentOf,
    Asked(question): Asked<Question>,
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
