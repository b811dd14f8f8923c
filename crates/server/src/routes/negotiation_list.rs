//! `GET /api/v1/negotiations`: the negotiations of an agent, in order of id, which is that of their
//! offers' times.

use super::interaction::await_rows;
use super::listing::{MAX_ROWS, most, page, party, whose};
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Asked, Bounded, MAX_INTEGER};
use crate::openapi::Refused;
use crate::openapi::negotiation::NegotiationsAnswer;
use crate::signed_read::{ReadRefusal, Reader};
use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;
use utoipa::IntoParams;
use x811_ledger::clock::Clock;
use x811_ledger::row::SubjectRow;
use x811_protocol::id::ContractId;

/// What may be asked.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Question {
    /// UUID of the DID whose negotiations are listed; the reader's own without it, of an auditor all
    #[param(pattern = "^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")]
    party: Option<String>,
    /// Negotiations behind this one, `neg-` and a UUID; from the first without it
    #[param(pattern = "^neg-[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")]
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
    path = "/api/v1/negotiations",
    operation_id = "listNegotiations",
    tag = "negotiations",
    params(Question),
    responses(
        (status = 200, description = "In order of id", body = NegotiationsAnswer),
        Refused
    ),
    security(("signature" = [], "signature_input" = []), ("bearer" = []), ()),
)]
pub(super) async fn handle<C: Clock>(
    reader: Reader,
    State(app): State<Arc<App<C>>>,
    Asked(question): Asked<Question>,
) -> Result<Json<Value>, ReadRefusal> {
    let member = whose(&reader, question.party.as_deref().map(party).transpose()?)?;
    let after = question.after.as_deref().map(behind).transpose()?;
    await_rows(&app, question.min_position).await?;
    let after = after.map(|id| id.to_string());
    let behind = (after.as_deref(), most(question.limit));
    page(&app, ("contract", "negotiations"), member, behind, shown).await
}

fn behind(id: &str) -> Result<ContractId, ApiError> {
    ContractId::from_public(id)
        .map_err(|_| ApiError::malformed("`after` is no negotiation: repeat the `next` you got"))
}

/// A negotiation, without its messages.
fn shown(row: &SubjectRow) -> Value {
    let mut shown = row.detail.clone();
    shown["id"] = row.subject.public_id().into();
    shown["status"] = row.state.clone().into();
    shown["opened_at_ms"] = row.opened_at_ms.as_ms().into();
    shown["updated_at_ms"] = row.updated_at_ms.as_ms().into();
    shown["last_position"] = row.last_position.into();
    if let Some(deadline) = row.deadline_at_ms {
        shown["deadline_at_ms"] = deadline.as_ms().into();
    }
    shown
}
