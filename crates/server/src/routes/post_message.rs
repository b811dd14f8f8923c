//! `POST /api/v1/messages`: an envelope, bare or as `{"envelope": …}`.

use crate::app::App;
use crate::error::ApiError;
use crate::extract::WholeBody;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use std::sync::Arc;
use x811_ledger::answer::{Accepted, Answer};
use x811_ledger::clock::Clock;

/// 202 once it is durable; 200 with the first answer when it repeats an accepted one.
pub(super) async fn handle<C: Clock>(
    State(app): State<Arc<App<C>>>,
    WholeBody(body): WholeBody,
) -> Result<(StatusCode, Json<Accepted>), ApiError> {
    Ok(match app.ledger.submit(body).await? {
        Answer::Accepted(accepted) => (StatusCode::ACCEPTED, Json(accepted)),
        Answer::Repeated(first) => (StatusCode::OK, Json(first)),
    })
}
