//! The answers that any operation may give instead of its own.

use super::schema::ErrorPayload;

/// What a request that did not succeed is answered with.
#[derive(utoipa::IntoResponses)]
#[expect(
    dead_code,
    reason = "described, never made: the answers are made by `error`"
)]
pub(crate) enum Refused {
    /// Malformed: a parameter, the query or the body.
    #[response(status = 400)]
    Malformed(ErrorPayload),
    /// Not authenticated: no signature, one that does not hold, or a status that forbids it.
    #[response(
        status = 401,
        headers(("Accept-Signature" = String, description = "Of signed reads, which signature is \
            wanted (RFC 9421 section 5.1): its components, `created`, `nonce`, `keyid`, `alg`")),
    )]
    Unauthenticated(ErrorPayload),
    /// Not for this reader.
    #[response(status = 403)]
    Forbidden(ErrorPayload),
    /// Nothing of that name.
    #[response(status = 404)]
    Unknown(ErrorPayload),
    /// The nonce was used.
    #[response(status = 409)]
    Used(ErrorPayload),
    /// The DID is deactivated or revoked.
    #[response(status = 410)]
    Gone(ErrorPayload),
    /// Too many requests: try again after `Retry-After` seconds.
    #[response(
        status = 429,
        headers(("Retry-After" = u64, description = "Seconds to wait; the same bytes are good then")),
    )]
    TooMany(ErrorPayload),
    /// A defect of the ledger, or damage of what it has stored.
    #[response(status = 500)]
    Fault(ErrorPayload),
    /// Not now: try again after `Retry-After` seconds. X811-9002 if nothing can be recorded, or read.
    #[response(
        status = 503,
        headers(("Retry-After" = u64, description = "Seconds to wait; the same bytes are good then")),
    )]
    NotNow(ErrorPayload),
}
