//! `GET /api/v1/agreements`: those of an agent, in order of id; with `as_of` those that were in force as of
//! some record, and which revision ("active between A and B for T as of N", capability.md).

use super::interaction::await_rows;
use super::listing::{MAX_ROWS, behind, most, page, whose};
use super::subject::shown;
use crate::app::App;
use crate::extract::{Asked, Bounded, MAX_INTEGER, OfAgent};
use crate::openapi::Refused;
use crate::openapi::capability::AgreementsAnswer;
use crate::signed_read::{ReadRefusal, Reader};
use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use utoipa::IntoParams;
use x811_ledger::clock::Clock;
use x811_protocol::did::Did;
use x811_world::row::SubjectRow;

/// What may be asked.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Question {
    /// UUID of the DID whose they are; the reader's own without it, of an auditor all
    #[param(value_type = Option<String>, pattern = "^[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")]
    party: Option<OfAgent>,
    /// UUID of the DID who uses the capability
    #[param(value_type = Option<String>, pattern = "^[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")]
    consumer: Option<OfAgent>,
    /// UUID of the DID who provides it
    #[param(value_type = Option<String>, pattern = "^[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")]
    provider: Option<OfAgent>,
    /// The type of the capability
    r#type: Option<String>,
    /// Only those in force as of this record, each with the revision that was
    #[param(value_type = Option<u64>, maximum = 9_007_199_254_740_991_u64)]
    as_of: Option<Bounded<0, MAX_INTEGER>>,
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

/// What an agreement has to be.
struct Filter {
    consumer: Option<Did>,
    provider: Option<Did>,
    capability: Option<String>,
    as_of: Option<u64>,
}

impl Filter {
    fn of(question: &Question) -> Filter {
        Filter {
            consumer: question.consumer.as_ref().map(|OfAgent(did)| *did),
            provider: question.provider.as_ref().map(|OfAgent(did)| *did),
            capability: question.r#type.clone(),
            as_of: question.as_of.map(|as_of| as_of.0),
        }
    }

    /// The agreement as it is shown, if it is one that was asked for.
    fn shown(&self, row: &SubjectRow) -> Option<Value> {
        let detail = &row.detail;
        let is = |member: &str, due: Option<Value>| due.is_none_or(|due| detail[member] == due);
        let is_it = is("consumer", self.consumer.map(|did| json!(did)))
            && is("provider", self.provider.map(|did| json!(did)))
            && is("type", self.capability.as_ref().map(|name| json!(name)));
        let mut shown = Some(shown(row)).filter(|_| is_it)?;
        if let Some(as_of) = self.as_of {
            shown["in_force"] = in_force(detail, as_of)?;
        }
        Some(shown)
    }
}

/// The revision that was in force as of that record, from which one on and up to which.
fn in_force(detail: &Value, as_of: u64) -> Option<Value> {
    let positions = detail["revisions"].as_array()?;
    let positions: Vec<u64> = positions.iter().filter_map(Value::as_u64).collect();
    let over = detail["over"].as_u64();
    if over.is_some_and(|over| over <= as_of) {
        return None;
    }
    let revision = positions.partition_point(|position| *position <= as_of);
    let from = *positions.get(revision.checked_sub(1)?)?;
    let mut shown = json!({ "revision": revision, "from_position": from });
    if let Some(to) = positions.get(revision).copied().or(over) {
        shown["to_position"] = to.into();
    }
    Some(shown)
}

/// 200, also when there is none; 403 for anybody else's.
#[utoipa::path(
    get,
    path = "/api/v1/agreements",
    operation_id = "listAgreements",
    tag = "capabilities",
    params(Question),
    responses((status = 200, description = "In order of id", body = AgreementsAnswer), Refused),
    security(("signature" = [], "signature_input" = []), ("bearer" = []), ()),
)]
pub(super) async fn handle<C: Clock>(
    reader: Reader,
    State(app): State<Arc<App<C>>>,
    Asked(question): Asked<Question>,
) -> Result<Json<Value>, ReadRefusal> {
    let member = whose(&reader, question.party)?;
    let filter = Filter::of(&question);
    let after = question.after.as_deref().map(behind).transpose()?;
    let due = question
        .min_position
        .map(|position| position.0)
        .max(filter.as_of);
    await_rows(&app, due.map(Bounded)).await?;
    let place = (after, most(question.limit));
    let of = ("agreement", "agreements");
    page(&app, of, member, place, |row| filter.shown(row)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cx_41_which_revision_was_in_force_as_of_a_record() {
        let active = json!({ "revisions": [10, 20] });
        let over = json!({ "revisions": [10, 20], "over": 30 });
        let table = [
            (&active, 9, None),
            (
                &active,
                10,
                Some(json!({"revision": 1, "from_position": 10, "to_position": 20})),
            ),
            (
                &active,
                19,
                Some(json!({"revision": 1, "from_position": 10, "to_position": 20})),
            ),
            (
                &active,
                20,
                Some(json!({"revision": 2, "from_position": 20})),
            ),
            (
                &active,
                99,
                Some(json!({"revision": 2, "from_position": 20})),
            ),
            (
                &over,
                29,
                Some(json!({"revision": 2, "from_position": 20, "to_position": 30})),
            ),
            (&over, 30, None),
        ];
        for (detail, as_of, due) in table {
            assert_eq!(in_force(detail, as_of), due, "{detail} as of {as_of}");
        }
    }
}
