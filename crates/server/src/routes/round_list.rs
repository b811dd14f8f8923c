//! `GET /api/v1/rounds`: the rounds that an agent takes part in, in order of id, which is that of their
//! proposals' times.

use super::capability_subject::shown;
use super::interaction::await_rows;
use super::listing::{MAX_ROWS, most, page, whose};
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Asked, Bounded, MAX_INTEGER};
use crate::openapi::Refused;
use crate::openapi::round::RoundsAnswer;
use crate::signed_read::{ReadRefusal, Reader};
use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;
use utoipa::IntoParams;
use x811_ledger::clock::Clock;
use x811_protocol::code::Code;
use x811_protocol::did::Did;
use x811_protocol::id::RoundId;
use x811_protocol::refusal::{Kind, Refusal};

/// What may be asked.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Question {
    /// `me`, or the UUID of the DID whose rounds are listed; the reader's own without it, of an auditor all
    #[param(
        pattern = "^(me|[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})$"
    )]
    member: Option<String>,
    /// Rounds behind this one; from the first without it
    #[param(pattern = "^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")]
    after: Option<String>,
    /// How many at most; 100 without it
    #[param(value_type = Option<u64>, minimum = 1, maximum = 100)]
    limit: Option<Bounded<1, MAX_ROWS>>,
    /// The answer reflects at least this record
    #[param(value_type = Option<u64>, maximum = 9_007_199_254_740_991_u64)]
    min_position: Option<Bounded<0, MAX_INTEGER>>,
}

/// 200, also when there is none; 403 for anybody else's.
#[utoipa::path(
    get,
    path = "/api/v1/rounds",
    operation_id = "listRounds",
    tag = "rounds",
    params(Question),
    responses((status = 200, description = "In order of id", body = RoundsAnswer), Refused),
    security(("signature" = [], "signature_input" = []), ("bearer" = []), ()),
)]
pub(super) async fn handle<C: Clock>(
    reader: Reader,
    State(app): State<Arc<App<C>>>,
    Asked(question): Asked<Question>,
) -> Result<Json<Value>, ReadRefusal> {
    let member = match question.member.as_deref() {
        None => reader.alone(),
        Some("me") => Some(reader.agent().ok_or_else(nobody)?),
        Some(uuid) => whose(&reader, Some(member(uuid)?))?,
    };
    let after = question.after.as_deref().map(behind).transpose()?;
    await_rows(&app, question.min_position).await?;
    let after = after.map(|id| id.to_string());
    let behind = (after.as_deref(), most(question.limit));
    page(&app, ("round", "rounds"), member, behind, shown).await
}

fn nobody() -> Refusal {
    let message = "`member=me` is said by an agent: sign the request, or give a UUID";
    Refusal::new(Code::MissingCredentials, Kind::Authentication, message)
}

fn member(uuid: &str) -> Result<Did, ApiError> {
    let did = format!("did:x811:{uuid}").parse();
    did.map_err(|_| {
        ApiError::malformed(
            "`member` names no agent: give `me`, or the UUID of its DID in lower case",
        )
    })
}

/// The round that a page goes on behind.
pub(super) fn behind(id: &str) -> Result<RoundId, ApiError> {
    id.parse()
        .map_err(|_| ApiError::malformed("`after` is no round: repeat the `next` you got"))
}
