//! Every answer that is no success: the ERROR payload as JSON, under the status that code and kind
//! give (AX-42, ledger-contract.md section 6).

use axum::Json;
use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::json;
use x811_eventlog::ReadError;
use x811_ledger::export::BundleError;
use x811_ledger::port::DamagedBody;
use x811_ledger::proof::ProofError;
use x811_ledger::receipt::ReceiptError;
use x811_ledger::refresh::RefreshError;
use x811_protocol::code::Code;
use x811_protocol::refusal::{Kind, Refusal};
use x811_store::{PostgresError, StoreError};

/// After how long to try again, where nothing better is known.
const RETRY_AFTER_MS: u64 = 1_000;

/// Refusal of what would have to be recorded while the store must not be written to. `/ready` names the
/// reason.
pub(crate) const SUSPENDED: &str = "the store of this ledger is suspended until its operator repairs it, \
    and nothing was recorded: send the same message again later";

/// An answer that is no success.
#[derive(Debug)]
pub(crate) struct ApiError {
    status: StatusCode,
    refusal: Refusal,
    is_damage: bool,
}

/// Goes with an answer that was refused because what is stored is damaged, for whoever counts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Damage;

impl ApiError {
    /// 400: the request itself is malformed.
    pub(crate) fn malformed(message: impl AsRef<str>) -> ApiError {
        Refusal::shape(message).into()
    }

    const fn of(status: StatusCode, refusal: Refusal) -> ApiError {
        ApiError {
            status,
            is_damage: false,
            refusal,
        }
    }

    /// 403 X811-2004: not for whoever asks.
    fn forbidden(message: &str) -> ApiError {
        let refusal = Refusal::new(Code::MissingCredentials, Kind::Authentication, message);
        ApiError::of(StatusCode::FORBIDDEN, refusal)
    }

    /// 404: nothing of that name.
    pub(crate) fn not_found(message: impl AsRef<str>) -> ApiError {
        ApiError::of(
            StatusCode::NOT_FOUND,
            Refusal::new(Code::InvalidStateTransition, Kind::NotFound, message),
        )
    }

    /// 404: no envelope of that id, as of then.
    pub(crate) fn no_such_message(as_of: &impl Serialize) -> ApiError {
        let mut error =
            ApiError::not_found("no accepted envelope has this id that is from you or to you");
        error.refusal = error.refusal.with_details(json!({ "as_of": as_of }));
        error
    }

    /// 404 X811-1001: no such DID.
    pub(crate) fn no_such_agent() -> ApiError {
        let message = "this DID is not registered here: check its spelling";
        Refusal::new(Code::DidNotFound, Kind::NotFound, message).into()
    }

    /// 405: the path is known, the method is not for it.
    pub(crate) fn method_not_allowed() -> ApiError {
        ApiError::of(
            StatusCode::METHOD_NOT_ALLOWED,
            Refusal::shape("this path has another method: the Allow header names it"),
        )
    }

    /// 403 X811-2004: an inbox of somebody else.
    pub(crate) fn other_inbox() -> ApiError {
        let message = "an inbox is read by the agent it belongs to: sign with a key of that agent";
        ApiError::forbidden(message)
    }

    /// 403 X811-2004: somebody else's negotiations.
    pub(crate) fn other_list() -> ApiError {
        let message = "an agent lists what it takes part in itself: sign with a key of that agent";
        ApiError::forbidden(message)
    }

    /// 403 X811-2004: an acknowledgement, or a loop's name, by somebody else than the recipient.
    pub(crate) fn not_the_recipient() -> ApiError {
        let message = "only the agent itself acknowledges its feed and names its loops: sign with a \
                       key of that agent";
        ApiError::forbidden(message)
    }

    /// 403 X811-2004: a heartbeat for somebody else.
    pub(crate) fn not_itself() -> ApiError {
        let message = "only the agent itself may say this: sign it with a key of that agent";
        ApiError::forbidden(message)
    }

    /// 409 X811-4001: another loop of the agent is newer.
    pub(crate) fn superseded() -> ApiError {
        let message = "a newer loop of this agent reads its feed, and one at a time may act: stop \
                       this one, or start it again under a new name";
        ApiError::of(
            StatusCode::CONFLICT,
            Refusal::new(Code::InvalidStateTransition, Kind::Conflict, message),
        )
    }

    /// 403 X811-2004: the log as a whole, by somebody who is no auditor.
    pub(crate) fn not_an_auditor() -> ApiError {
        let message = "the log as a whole is for this ledger's auditors: ask its operator to name \
                       your DID, or read your own interactions and their proofs";
        ApiError::forbidden(message)
    }

    /// 403 X811-2004: an order of somebody who is no operator, or does not say who it is.
    pub(crate) fn not_an_operator() -> ApiError {
        let message = "this is done for the ledger's operators alone, who sign the request: name your \
                       DID under `operators` in its configuration, and sign";
        ApiError::forbidden(message)
    }

    /// 403 X811-2004: open reads, asked for from outside or under a foreign name.
    pub(crate) fn not_loopback() -> ApiError {
        let message = "open reads are for this machine alone: ask 127.0.0.1, [::1] or localhost, \
                       without a proxy in between, or sign the read";
        ApiError::forbidden(message)
    }

    /// 408: the body did not arrive in the time it may take.
    pub(crate) fn too_slow() -> ApiError {
        ApiError::of(
            StatusCode::REQUEST_TIMEOUT,
            Refusal::shape("the body arrived too slowly: send the same envelope again"),
        )
    }

    /// 413 X811-6002: longer than anything that is taken.
    pub(crate) fn too_large() -> ApiError {
        let message = "the request is longer than the largest envelope this ledger takes (1 MiB \
                       unless it is configured otherwise): deliver large results behind a URL";
        Refusal::new(Code::ResultTooLarge, Kind::Limit, message).into()
    }

    /// 503 X811-9001: not now.
    pub(crate) fn unavailable(message: impl AsRef<str>) -> ApiError {
        ApiError::of(
            StatusCode::SERVICE_UNAVAILABLE,
            Refusal::new(Code::RateLimitExceeded, Kind::Limit, message),
        )
    }

    /// 503 X811-9002: not here, or not now, and it may not be known what became of what was sent. The same
    /// may be sent again.
    pub(crate) fn not_yet(message: impl AsRef<str>) -> ApiError {
        Refusal::not_now(message).into()
    }

    /// 403 X811-2004: passed on by nobody who may.
    pub(crate) fn not_a_process() -> ApiError {
        let message = "only a process of this ledger, with its keys and a clock that is right, passes \
                       on what others sent";
        ApiError::forbidden(message)
    }

    /// 503: no keys statement to give.
    pub(crate) fn no_keys_statement() -> ApiError {
        ApiError::unavailable("no keys statement was signed since the start: ask again")
    }

    /// 500 X811-9002: what is stored is not what this program wrote.
    pub(crate) fn damaged(position: u64) -> ApiError {
        tracing::error!(
            position,
            "a stored record is missing, or not as it was written"
        );
        damage()
    }

    /// 500 X811-9002: a defect of ours, which the log names.
    pub(crate) fn internal() -> ApiError {
        internal()
    }
}

/// 500 X811-9002: what is stored is not what was written, so it is not given out.
fn damage() -> ApiError {
    ApiError {
        is_damage: true,
        ..internal()
    }
}

fn internal() -> ApiError {
    let message = "the ledger could not read its own records: its log says why";
    Refusal::new(Code::InternalError, Kind::Internal, message).into()
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> ApiError {
        let status = StatusCode::from_u16(refusal.http_status());
        ApiError::of(status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), refusal)
    }
}

impl From<ReceiptError> for ApiError {
    fn from(error: ReceiptError) -> ApiError {
        match error {
            ReceiptError::NotConfirmed => ApiError::not_found(error.to_string()),
            ReceiptError::Reversed { .. }
            | ReceiptError::InNoBlock { .. }
            | ReceiptError::TooLong => Refusal::state(error.to_string()).into(),
            ReceiptError::Proof(error) => error.into(),
            ReceiptError::Read(error) => error.into(),
            ReceiptError::Body(error) => error.into(),
            ReceiptError::Missing { .. } | ReceiptError::Damaged { .. } => {
                tracing::error!(%error, "no receipt can be made");
                damage()
            }
        }
    }
}

impl From<BundleError> for ApiError {
    fn from(error: BundleError) -> ApiError {
        match error {
            BundleError::NoSubject { .. } => ApiError::not_found(error.to_string()),
            BundleError::RowsBehind { .. }
            | BundleError::OtherKey { .. }
            | BundleError::OtherStatement { .. } => ApiError::unavailable(error.to_string()),
            BundleError::Proof(error) => error.into(),
            BundleError::Read(error) => error.into(),
            BundleError::Body(error) => error.into(),
            BundleError::Checkpoint(_)
            | BundleError::Damaged { .. }
            | BundleError::Cut { .. }
            | BundleError::BodyLine { .. }
            | BundleError::Json(_) => {
                tracing::error!(%error, "no bundle can be made");
                damage()
            }
        }
    }
}

impl From<ProofError> for ApiError {
    fn from(error: ProofError) -> ApiError {
        match error {
            ProofError::NotCovered { .. } | ProofError::Shrunk { .. } => {
                ApiError::unavailable(error.to_string())
            }
            ProofError::Read(error) => error.into(),
            ProofError::NoTile(_)
            | ProofError::Tile(_)
            | ProofError::Tiles(_)
            | ProofError::TilesOfSeveral(_)
            | ProofError::TilesOfOlder(_) => {
                tracing::error!(%error, "no proof can be made");
                damage()
            }
        }
    }
}

impl From<RefreshError> for ApiError {
    fn from(error: RefreshError) -> ApiError {
        match error {
            RefreshError::NoStatement => ApiError::no_keys_statement(),
            RefreshError::Proof(error) => error.into(),
        }
    }
}

impl From<ReadError> for ApiError {
    fn from(error: ReadError) -> ApiError {
        tracing::error!(error = ?error, "the store cannot be read");
        if is_damage(&error) {
            damage()
        } else {
            ApiError::not_yet("the ledger cannot read its own records now: ask again")
        }
    }
}

/// True if what is stored is wrong, and not only out of reach.
fn is_damage(error: &ReadError) -> bool {
    let source = match error {
        ReadError::Damaged(_) => return true,
        ReadError::Backend(source) => source,
    };
    let of_file = source.downcast_ref::<StoreError>();
    let of_database = source.downcast_ref::<PostgresError>();
    of_file.is_some_and(StoreError::is_damage)
        || matches!(of_database, Some(PostgresError::BadValue { .. }))
}

impl From<DamagedBody> for ApiError {
    fn from(error: DamagedBody) -> ApiError {
        tracing::error!(%error, "a stored body is not given out");
        damage()
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let retry_after_ms = self.refusal.retry_after_ms.unwrap_or(RETRY_AFTER_MS);
        let mut payload = self.refusal.to_payload();
        // Where the published SDK looks for it (decision 0190).
        payload["error"] = json!({
            "code": payload["code"], "message": payload["message"], "details": payload["details"],
        });
        let mut response = (self.status, Json(payload)).into_response();
        if matches!(
            self.status,
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE
        ) {
            let seconds = retry_after_ms.div_ceil(1_000).max(1);
            let headers = response.headers_mut();
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.is_damage {
            response.extensions_mut().insert(Damage);
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lc_8_a_reversed_payment_is_refused_with_the_record_that_says_so() {
        let reversed = ReceiptError::Reversed { position: 811 };
        let in_no_block = ReceiptError::InNoBlock { position: 811 };
        for error in [reversed, in_no_block].map(ApiError::from) {
            assert_eq!(error.status, StatusCode::UNPROCESSABLE_ENTITY);
            assert_eq!(error.refusal.code, Code::InvalidStateTransition);
            let message = &error.refusal.message;
            assert!(message.contains("record 811 of the log"), "{message}");
        }
    }

    #[test]
    fn ax_042_every_refusal_goes_out_under_its_own_status() {
        for code in Code::ALL {
            for kind in [
                Kind::Shape,
                Kind::State,
                Kind::Conflict,
                Kind::Limit,
                Kind::NotNow,
                Kind::Internal,
            ] {
                let refusal = Refusal::new(code, kind, "why");
                let status = refusal.http_status();
                let response = ApiError::from(refusal).into_response();
                assert_eq!(response.status().as_u16(), status, "{code} {kind:?}");
                let waits = response.headers().contains_key(RETRY_AFTER);
                assert_eq!(waits, matches!(status, 429 | 503), "{code} {kind:?}");
            }
        }
    }

    #[test]
    fn lc_3_a_limit_says_in_whole_seconds_when_there_is_room() {
        for (retry_after_ms, seconds) in [
            (None, "1"),
            (Some(0), "1"),
            (Some(1_000), "1"),
            (Some(1_001), "2"),
            (Some(86_400_000), "86400"),
        ] {
            let mut refusal = Refusal::new(Code::RateLimitExceeded, Kind::Limit, "full");
            refusal.retry_after_ms = retry_after_ms;
            let response = ApiError::from(refusal).into_response();
            assert_eq!(response.headers()[RETRY_AFTER], seconds);
        }
    }

    #[test]
    fn ae_108_records_out_of_reach_are_asked_for_again_and_damaged_ones_are_not() {
        let out_of_reach = PostgresError::RanOut;
        let damaged = PostgresError::BadValue {
            table: "leaves",
            what: "nothing".to_owned(),
        };
        for (error, status, is_damage) in [(out_of_reach, 503, false), (damaged, 500, true)] {
            let error = ApiError::from(ReadError::from(error));
            assert_eq!(error.refusal.code, Code::InternalError);
            let response = error.into_response();
            assert_eq!(response.status().as_u16(), status);
            assert_eq!(response.headers().contains_key(RETRY_AFTER), !is_damage);
            assert_eq!(response.extensions().get::<Damage>().is_some(), is_damage);
        }
    }

    #[test]
    fn our_own_answers_have_the_status_they_are_named_for() {
        let table = [
            (ApiError::malformed(""), 400),
            (ApiError::other_inbox(), 403),
            (ApiError::other_list(), 403),
            (ApiError::not_the_recipient(), 403),
            (ApiError::superseded(), 409),
            (ApiError::not_an_auditor(), 403),
            (ApiError::not_an_operator(), 403),
            (ApiError::not_loopback(), 403),
            (ApiError::not_found(""), 404),
            (ApiError::no_such_agent(), 404),
            (ApiError::method_not_allowed(), 405),
            (ApiError::too_slow(), 408),
            (ApiError::too_large(), 413),
            (ApiError::damaged(7), 500),
            (ApiError::internal(), 500),
            (ApiError::unavailable(""), 503),
            (ApiError::not_yet(""), 503),
        ];
        for (error, status) in table {
            assert_eq!(error.into_response().status().as_u16(), status);
        }
    }
}
