//! Who signed this very request: neither a token nor open reads stand for it.

use super::{ReadRefusal, verified};
use crate::app::App;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use std::sync::Arc;
use x811_ledger::clock::Clock;
use x811_protocol::key::KeyId;

/// The key whose signature holds.
pub(crate) struct SignedBy(pub(crate) KeyId);

impl<C: Clock> FromRequestParts<Arc<App<C>>> for SignedBy {
    type Rejection = ReadRefusal;

    async fn from_request_parts(
        parts: &mut Parts,
        app: &Arc<App<C>>,
    ) -> Result<SignedBy, ReadRefusal> {
        Ok(SignedBy(verified(parts, app)?))
    }
}
