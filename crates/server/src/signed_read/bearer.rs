//! Who reads by a token (agents.md section 1). A token stands for the signature that it was made by,
//! for what it was made for.

use super::{ReadRefusal, Reader, check_standing, is_signed, only};
use crate::app::App;
use crate::feed::{Claims, Scope, TokenFault};
use axum::extract::{FromRequestParts, Query};
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use serde::Deserialize;
use std::sync::Arc;
use x811_ledger::clock::Clock;
use x811_protocol::code::Code;
use x811_protocol::refusal::{Kind, Refusal};
use x811_protocol::time::TimestampMs;

/// What stands before a token in its header field.
const SCHEME: &str = "Bearer ";

/// Who reads a feed, and until when.
pub(crate) struct FeedReader {
    pub(crate) reader: Reader,
    /// When its token expires; `None` for a reader without one.
    pub(crate) until: Option<TimestampMs>,
}

/// A browser's `EventSource` can set no header field.
#[derive(Deserialize)]
struct TokenInQuery {
    token: Option<String>,
}

impl<C: Clock> FromRequestParts<Arc<App<C>>> for FeedReader {
    type Rejection = ReadRefusal;

    async fn from_request_parts(
        parts: &mut Parts,
        app: &Arc<App<C>>,
    ) -> Result<FeedReader, ReadRefusal> {
        let in_query = Query::<TokenInQuery>::try_from_uri(&parts.uri);
        let in_query = in_query.ok().and_then(|Query(query)| query.token);
        let claims = match in_query {
            Some(token) => Some(granted(&token, Scope::Feed, app)?),
            None => claims(parts, Scope::Feed, app)?,
        };
        let until = claims.as_ref().map(|claims| claims.expires_at);
        let reader = match claims {
            Some(claims) => Reader::by(claims.key_id, false, app),
            None => Reader::without_token(parts, app)?,
        };
        Ok(FeedReader { reader, until })
    }
}

/// What the token of a request that is not signed says, if it has one; it has to be for `scope`.
pub(super) fn claims<C: Clock>(
    parts: &Parts,
    scope: Scope,
    app: &App<C>,
) -> Result<Option<Claims>, Refusal> {
    if is_signed(parts) || !parts.headers.contains_key(AUTHORIZATION) {
        return Ok(None);
    }
    let field = str::from_utf8(only(&parts.headers, AUTHORIZATION.as_str())?);
    // Other schemes are those of a proxy, and nothing to us.
    let token = field.ok().and_then(|field| field.strip_prefix(SCHEME));
    token.map(|token| granted(token, scope, app)).transpose()
}

fn granted<C: Clock>(token: &str, scope: Scope, app: &App<C>) -> Result<Claims, Refusal> {
    let now = app.ledger.now();
    let claims = app.feeds.tokens.read(token, scope, now);
    let claims = claims.map_err(|fault| {
        let code = match fault {
            TokenFault::NotOurs => Code::SignatureInvalid,
            TokenFault::Expired => Code::TimestampInvalid,
        };
        Refusal::new(code, Kind::Authentication, fault.to_string())
    })?;
    check_standing(&claims.key_id, &app.ledger.world(), now)?;
    Ok(claims)
}
