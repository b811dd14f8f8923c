//! `GET /health`: the process serves.

use axum::Json;
use serde_json::{Value, json};

/// Says so.
pub(super) async fn handle() -> Json<Value> {
    Json(json!({ "status": "ok" }))
}
