//! `GET /health`: the process serves.

use crate::openapi::schema::HealthAnswer;
use axum::Json;
use serde_json::{Value, json};

#[utoipa::path(
    get,
    path = "/health",
    operation_id = "health",
    tag = "operations",
    responses((status = 200, description = "It serves", body = HealthAnswer)),
)]
pub(super) async fn handle() -> Json<Value> {
    Json(json!({ "status": "ok" }))
}
