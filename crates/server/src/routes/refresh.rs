//! `GET /log/refresh/{size}`: that the log goes on where a checkpoint over so many records ended, and
//! which keys signed until when; for papers from before the ledger replaced its checkpoint key
//! (ledger-contract.md section 8). Everybody's, as checkpoints are: it holds hashes and keys alone.

use super::well_known::JSON;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::Named;
use crate::openapi::{Refused, schema};
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use std::str::FromStr;
use std::sync::Arc;
use x811_ledger::clock::Clock;
use x811_ledger::refresh;

/// Records under a checkpoint, in digits without zeros in front.
pub(super) struct Size(u64);

impl FromStr for Size {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Size, &'static str> {
        let size: Option<u64> = text.parse().ok();
        let size = size.filter(|size| *size > 0 && size.to_string() == text);
        size.map(Size)
            .ok_or("a size is a whole number above 0, without zeros in front")
    }
}

/// 200; 404 for more records than the last checkpoint covers.
#[utoipa::path(
    get,
    path = "/log/refresh/{size}",
    operation_id = "readRefresh",
    tag = "log",
    params(("size" = u64, Path, minimum = 1, description = "Records that the older checkpoint covers")),
    responses(
        (
            status = 200,
            description = "The newest keys statement and checkpoint, and the consistency proof; to \
                           be kept beside the paper: `x811 receipt verify` and `x811 audit` read it",
            body = schema::RefreshAnswer,
        ),
        Refused,
    ),
)]
pub(super) async fn handle<C: Clock>(
    State(app): State<Arc<App<C>>>,
    Named(Size(size)): Named<Size>,
) -> Result<impl IntoResponse, ApiError> {
    let signed = app.last_signed()?;
    let newest = signed.checkpoint.size;
    if size > newest {
        let message = format!("the last checkpoint covers {newest} records: ask for no more");
        return Err(ApiError::not_found(message));
    }
    app.rows_reflect(newest - 1).await?;
    let made = refresh::build(app.ledger.read_model(), size, &signed).await;
    Ok(([(CONTENT_TYPE, JSON)], made?.to_bytes()))
}
