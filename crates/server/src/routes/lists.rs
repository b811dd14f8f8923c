//! `GET /api/v1/sessions`, `/negotiations`, `/rounds`: the subjects of an agent, in order of id, which is that of
//! the times of what opened them. `GET /api/v1/escalations`: rounds that wait for a human.

use super::interaction::await_rows;
use super::listing::{MAX_ROWS, behind, most, page, whose};
use super::round_readers::may_read;
use super::subject::shown;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Asked, Bounded, MAX_INTEGER, OfAgent};
use crate::openapi::Refused;
use crate::openapi::capability::SessionsAnswer;
use crate::openapi::negotiation::NegotiationsAnswer;
use crate::openapi::round::{EscalationsAnswer, RoundsAnswer};
use crate::signed_read::{ReadRefusal, Reader};
use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use utoipa::IntoParams;
use x811_ledger::clock::Clock;
use x811_ledger::port::ReadModel as _;
use x811_protocol::code::Code;
use x811_protocol::id::{ContractId, RoundId};
use x811_protocol::refusal::{Kind, Refusal};
use x811_protocol::stream::Subject;

/// What may be asked of sessions.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct OfSessions {
    /// UUID of the DID whose they are; the reader's own without it, of an auditor all
    #[param(value_type = Option<String>, pattern = "^[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")]
    party: Option<OfAgent>,
    /// Those behind this one; from the first without it
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
    path = "/api/v1/sessions",
    operation_id = "listSessions",
    tag = "capabilities",
    params(OfSessions),
    responses((status = 200, description = "In order of id", body = SessionsAnswer), Refused),
    security(("signature" = [], "signature_input" = []), ("bearer" = []), ()),
)]
pub(super) async fn sessions<C: Clock>(
    reader: Reader,
    State(app): State<Arc<App<C>>>,
    Asked(question): Asked<OfSessions>,
) -> Result<Json<Value>, ReadRefusal> {
    let member = whose(&reader, question.party)?;
    let after = question.after.as_deref().map(behind).transpose()?;
    await_rows(&app, question.min_position).await?;
    let place = (after, most(question.limit));
    page(&app, ("session", "sessions"), member, place, |row| {
        Some(shown(row))
    })
    .await
}

/// What may be asked of negotiations.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct OfNegotiations {
    /// UUID of the DID whose negotiations are listed; the reader's own without it, of an auditor all
    #[param(value_type = Option<String>, pattern = "^[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")]
    party: Option<OfAgent>,
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
    params(OfNegotiations),
    responses((status = 200, description = "In order of id", body = NegotiationsAnswer), Refused),
    security(("signature" = [], "signature_input" = []), ("bearer" = []), ()),
)]
pub(super) async fn negotiations<C: Clock>(
    reader: Reader,
    State(app): State<Arc<App<C>>>,
    Asked(question): Asked<OfNegotiations>,
) -> Result<Json<Value>, ReadRefusal> {
    let member = whose(&reader, question.party)?;
    let after = question
        .after
        .as_deref()
        .map(behind_negotiation)
        .transpose()?;
    await_rows(&app, question.min_position).await?;
    let place = (after, most(question.limit));
    page(&app, ("contract", "negotiations"), member, place, |row| {
        Some(shown(row))
    })
    .await
}

fn behind_negotiation(id: &str) -> Result<String, ApiError> {
    let id = ContractId::from_public(id);
    let id = id
        .map_err(|_| ApiError::malformed("`after` is no negotiation: repeat the `next` you got"))?;
    Ok(id.to_string())
}

/// What may be asked of rounds.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct OfRounds {
    /// `me`, or the UUID of the DID whose rounds are listed; the reader's own without it, of an auditor all
    #[param(
        pattern = "^(me|[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})$"
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
    params(OfRounds),
    responses((status = 200, description = "In order of id", body = RoundsAnswer), Refused),
    security(("signature" = [], "signature_input" = []), ("bearer" = []), ()),
)]
pub(super) async fn rounds<C: Clock>(
    reader: Reader,
    State(app): State<Arc<App<C>>>,
    Asked(question): Asked<OfRounds>,
) -> Result<Json<Value>, ReadRefusal> {
    let member = match question.member.as_deref() {
        None => reader.alone(),
        Some("me") => Some(reader.agent().ok_or_else(nobody)?),
        Some(uuid) => whose(&reader, Some(member(uuid)?))?,
    };
    let after = question.after.as_deref().map(behind_round).transpose()?;
    await_rows(&app, question.min_position).await?;
    let place = (after.map(|id| id.to_string()), most(question.limit));
    page(&app, ("round", "rounds"), member, place, |row| {
        Some(shown(row))
    })
    .await
}

fn nobody() -> Refusal {
    let message = "`member=me` is said by an agent: sign the request, or give a UUID";
    Refusal::new(Code::MissingCredentials, Kind::Authentication, message)
}

fn member(uuid: &str) -> Result<OfAgent, ApiError> {
    let did = format!("did:x811:{uuid}").parse();
    did.map(OfAgent).map_err(|_| {
        ApiError::malformed(
            "`member` names no agent: give `me`, or the UUID of its DID in lower case",
        )
    })
}

/// The round that a page goes on behind.
fn behind_round(id: &str) -> Result<RoundId, ApiError> {
    id.parse()
        .map_err(|_| ApiError::malformed("`after` is no round: repeat the `next` you got"))
}

/// What may be asked of escalations.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct OfEscalations {
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
    params(OfEscalations),
    responses((status = 200, description = "In order of id", body = EscalationsAnswer), Refused),
    security(("signature" = [], "signature_input" = []), ("bearer" = []), ()),
)]
pub(super) async fn escalations<C: Clock>(
    reader: Reader,
    State(app): State<Arc<App<C>>>,
    Asked(question): Asked<OfEscalations>,
) -> Result<Json<Value>, ReadRefusal> {
    let after = question.after.as_deref().map(behind_round).transpose()?;
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
