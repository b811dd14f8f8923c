//! `GET /api/v1/escalations`: rounds that wait for a human, in order of id.

use super::capability_subject::shown;
use super::interaction::await_rows;
use super::listing::{MAX_ROWS, most};
use super::round_list::behind;
use super::round_readers::may_read;
use crate::app::App;
use crate::extract::{Asked, Bounded, MAX_INTEGER};
use crate::openapi::Refused;
use crate::openapi::round::EscalationsAnswer;
use crate::signed_read::{ReadRefusal, Reader};
use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use utoipa::IntoParams;
use x811_ledger::clock::Clock;
use x811_ledger::port::ReadModel as _;
use x811_protocol::stream::Subject;

/// What may be asked.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Question {
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

/// 200, also when there is none. To a human who is named in the parameters all are shown, to others those
/// they are members of.
#[utoipa::path(
    get,
    path = "/api/v1/escalations",
    operation_id = "listEscalations",
    tag = "rounds",
    params(Question),
    responses((status = 200, description = "In order of id", body = EscalationsAnswer), Refused),
    security(("signature" = [], "signature_input" = []), ("bearer" = []), ()),
)]
pub(super) async fn handle<C: Clock>(
    reader: Reader,
    State(app): State<Arc<App<C>>>,
    Asked(question): Asked<Question>,
) -> Result<Json<Value>, ReadRefusal> {
    let after = question.after.as_deref().map(behind).transpose()?;
    await_rows(&app, question.min_position).await?;
    let limit = most(question.limit);
    // They are few, and live: those that no human answered are over.
    let mut waiting = app.ledger.world().escalated_rounds();
    waiting.retain(|(id, _)| after.is_none_or(|after| *id > after));
    waiting.sort_unstable();
    let mut found = Vec::new();
    for (id, position) in waiting {
        if found.len() > limit {
            break;
        }
        let row = app.ledger.read_model().subject(Subject::Round(id)).await?;
        // Rows come a moment later than the world.
        let row = row.filter(|row| row.state == "escalated" && may_read(&app, &reader, row));
        found.extend(row.map(|row| (id, position, row)));
    }
    let has_more = found.len() > limit;
    found.truncate(limit);
    let next = found.last().filter(|_| has_more).map(|(id, ..)| *id);
    let shown = found.iter().map(|(_, position, row)| {
        let mut round = shown(row);
        round["escalation"] = (*position).into();
        round
    });
    let mut answer = json!({ "escalations": shown.collect::<Vec<Value>>() });
    if let Some(next) = next {
        answer["next"] = next.to_string().into();
    }
    Ok(Json(answer))
}
