//! `POST /api/v1/messages/{uuid}/ack`: an agent says how far it has dealt with its feed (agents.md
//! section 1).
//!
//! The signature covers path and query and no body, so the cursor is in the query. Acknowledgements
//! decide nothing but where a stream begins that says nothing else; a lost one is a repetition.

use super::inbox::Cursor;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{AgentOf, Asked};
use crate::openapi::Refused;
use crate::openapi::schema::AgentUuid;
use crate::signed_read::{ReadRefusal, SignedBy};
use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};
use x811_ledger::clock::Clock;
use x811_store::FeedAck;

/// What has to be said.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Question {
    /// The cursor of the last message that was dealt with
    through: String,
}

/// How far an agent has dealt with its feed; without members before the first message.
#[derive(Serialize, ToSchema)]
pub(super) struct AcknowledgedAnswer {
    /// The cursor behind it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    through: Option<String>,
    /// Place in the log of the last message that is dealt with.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    position: Option<u64>,
}

/// 200 with what is acknowledged now, which never goes back; 400 beyond what is durable; 403 for
/// everybody but the recipient.
#[utoipa::path(
    post,
    path = "/api/v1/messages/{uuid}/ack",
    operation_id = "acknowledgeMessages",
    tag = "messages",
    params(("uuid" = AgentUuid, Path, description = "UUID of the recipient's DID"), Question),
    responses(
        (status = 200, description = "What is acknowledged now", body = AcknowledgedAnswer),
        Refused,
    ),
    security(("signature" = [], "signature_input" = [])),
)]
pub(super) async fn handle<C: Clock>(
    SignedBy(key_id): SignedBy,
    State(app): State<Arc<App<C>>>,
    AgentOf(recipient): AgentOf,
    Asked(question): Asked<Question>,
) -> Result<Json<AcknowledgedAnswer>, ReadRefusal> {
    if key_id.did != recipient {
        return Err(ApiError::not_the_recipient().into());
    }
    let cursor = Cursor::read("through", &question.through, recipient)?;
    let size = app.ledger.world().head().size;
    if cursor.from_position > size {
        return Err(ApiError::malformed(format!(
            "`through` is beyond the {size} records of this ledger: acknowledge what was delivered"
        ))
        .into());
    }
    let through = match cursor.from_position.checked_sub(1) {
        Some(through_position) => {
            let ack = FeedAck {
                recipient,
                through_position,
                at: app.ledger.now(),
            };
            Some(app.feeds.acks.acknowledge(ack).await)
        }
        None => app.feeds.acks.through(recipient).await,
    };
    Ok(Json(AcknowledgedAnswer {
        through: through.map(|position| Cursor::behind(recipient, position).to_string()),
        position: through,
    }))
}
