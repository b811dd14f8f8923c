//! `GET /api/v1/escalations`: rounds that wait for a human. `GET /api/v1/escalations/{id}`: a round that humans were
//! asked about, with what they decide on: why, what was proposed, and what everybody said.

use super::lists::{MAX_ROWS, most};
use super::subject::{Question, await_rows, may_read, readable, shown};
use super::subjects::ROUND;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Asked, Bounded, MAX_INTEGER};
use crate::openapi::Refused;
use crate::openapi::round::{EscalationAnswer, EscalationsAnswer};
use crate::signed_read::{ReadRefusal, Reader};
use crate::stored;
use axum::Json;
use axum::extract::{Path, State};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use utoipa::IntoParams;
use x811_ledger::clock::Clock;
use x811_ledger::port::{LedgerStore as _, ReadModel as _};
use x811_protocol::digest::Digest;
use x811_protocol::envelope::{AcceptedHeader, ParsedEnvelope};
use x811_protocol::event::{Effect, Event};
use x811_protocol::facts::{ConsensusFacts, Facts};
use x811_protocol::id::RoundId;
use x811_protocol::stream::{Stream, Subject};
use x811_world::row::SubjectRow;

/// Positions that are read together.
const PAGE: usize = 200;

/// Texts of more bytes than that are shown by their hash and their beginning.
const WHOLE_BYTES: usize = 1_024;

/// Characters of the beginning of a long text.
const BEGINNING: usize = 512;

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
pub(super) async fn list<C: Clock>(
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

/// The round that a page goes on behind.
fn behind_round(id: &str) -> Result<RoundId, ApiError> {
    id.parse()
        .map_err(|_| ApiError::malformed("`after` is no round: repeat the `next` you got"))
}

/// 200, or 404, also to those who take no part in it and to humans who were not asked.
#[utoipa::path(
    get,
    path = "/api/v1/escalations/{id}",
    operation_id = "readEscalation",
    tag = "rounds",
    params(("id" = String, Path, description = "The envelope id of the round's proposal"), Question),
    responses((status = 200, description = "What is decided on", body = EscalationAnswer), Refused),
    security(("signature" = [], "signature_input" = []), ("bearer" = []), ()),
)]
pub(super) async fn handle<C: Clock>(
    reader: Reader,
    State(app): State<Arc<App<C>>>,
    Path(id): Path<String>,
    Asked(question): Asked<Question>,
) -> Result<Json<Value>, ReadRefusal> {
    question.await_rows(&app).await?;
    let row = readable(&app, &reader, &ROUND, (ROUND.subject)(&id).ok()).await?;
    if row.detail["escalated"] != true {
        return Err(ApiError::not_found("nobody was asked about this round").into());
    }
    Ok(Json(escalation(&app, &row).await?))
}

/// The round, and what its records say besides.
async fn escalation<C: Clock>(app: &App<C>, row: &SubjectRow) -> Result<Value, ApiError> {
    let stream = Stream::Of(row.subject).to_string();
    let (mut answer, mut said, mut from_seq) = (shown(row), Vec::new(), 0);
    loop {
        let rows = app.ledger.read_model();
        let mut positions = rows.stream_positions(&stream, from_seq, PAGE).await?;
        from_seq += positions.len() as u64;
        let is_last = positions.len() < PAGE;
        // What came after the row was read is not in its status.
        positions.retain(|position| *position <= row.last_position);
        let mut bodies = app.ledger.store().bodies(&positions).await?;
        for position in positions {
            let event = stored::event(&stored::record(app, position).await?)?;
            if let Event::Effect(Effect::RoundEscalated(escalated)) = &event {
                answer["escalation"] = position.into();
                answer["reason"] = json!(escalated.reason);
            }
            let Event::EnvelopeAccepted(accepted) = &event else {
                continue;
            };
            let members = match (&accepted.facts, bodies.remove(&position)) {
                (Facts::Consensus(facts), Some(body)) => {
                    body.check(accepted.envelope.digest)?;
                    let parsed =
                        ParsedEnvelope::from_body(&body.bytes, accepted.envelope.signature);
                    let parsed = parsed.map_err(|_| ApiError::damaged(position))?;
                    said_by(facts, parsed.payload, &mut answer)
                }
                (Facts::Consensus(_), None) => None,
                _ => return Err(ApiError::damaged(position)),
            };
            let counts = accepted.derived.effect.is_none();
            said.extend(
                members.map(|members| entry(position, &accepted.envelope, counts, members)),
            );
        }
        if is_last {
            break;
        }
    }
    answer["votes"] = said.into();
    Ok(answer)
}

/// Members of a vote or of what revealed one; the proposal's go into the answer.
fn said_by(
    facts: &ConsensusFacts,
    payload: Map<String, Value>,
    answer: &mut Value,
) -> Option<Map<String, Value>> {
    match facts {
        ConsensusFacts::Propose(_) => {
            for name in ["subject", "action"] {
                if let Some(value) = payload.get(name) {
                    answer[name] = shortened(value);
                }
            }
            None
        }
        ConsensusFacts::Vote(_) | ConsensusFacts::Reveal(_) => Some(payload),
        ConsensusFacts::VoteRequest(_)
        | ConsensusFacts::Ready(_)
        | ConsensusFacts::Commit(_)
        | ConsensusFacts::Abort(_)
        | ConsensusFacts::Suspend(_)
        | ConsensusFacts::Resume(_)
        | ConsensusFacts::Withdraw(_)
        | ConsensusFacts::Escalate(_)
        | ConsensusFacts::HumanDecision(_)
        | ConsensusFacts::Executed(_)
        | ConsensusFacts::Failed(_) => None,
    }
}

fn entry(
    position: u64,
    header: &AcceptedHeader,
    counts: bool,
    payload: Map<String, Value>,
) -> Value {
    let mut entry = json!({
        "position": position, "envelope_id": header.id, "voter": header.from, "counted": counts,
    });
    for name in ["decision", "rationale", "commitment"] {
        if let Some(value) = payload.get(name) {
            entry[name] = shortened(value);
        }
    }
    entry
}

/// A text or object as it is, or if it is long its hash and its beginning.
fn shortened(value: &Value) -> Value {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            value.to_string()
        }
    };
    if text.len() <= WHOLE_BYTES {
        return value.clone();
    }
    let beginning: String = text.chars().take(BEGINNING).collect();
    json!({ "sha256": Digest::of(text.as_bytes()), "begins": beginning })
}
