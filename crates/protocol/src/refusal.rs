//! One type for every way the protocol says no.
//!
//! A refusal carries the code the specification names and the kind of fault it was; the two
//! together give the HTTP status (ledger-contract.md section 6), because X811-4001 answers both a
//! malformed message (400) and a wrong state (422).

use std::fmt;

use serde_json::{Map, Value};

use crate::code::Code;
use crate::id::EnvelopeId;
use crate::time::TimestampMs;

/// When to try again after a limit on open subjects: one may end at any moment.
pub const OPEN_RETRY_MS: u64 = 5_000;

/// The longest message, in characters.
const MESSAGE_CHARS: usize = 512;

/// The longest piece of a sender's own text that a message repeats, in characters.
const QUOTED_CHARS: usize = 48;

/// What kind of fault a refusal answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The message is malformed: a member is missing, has the wrong type or the wrong form.
    Shape,
    /// The message is well formed but the state does not allow it.
    State,
    /// The message came from, or went to, the wrong party.
    Sender,
    /// A condition of the transition does not hold.
    Guard,
    /// The amount does not cover what is due.
    Amount,
    /// The sender could not be authenticated.
    Authentication,
    /// Something the message refers to is not known here.
    NotFound,
    /// Something with that name exists already.
    Conflict,
    /// A limit of the ledger is reached.
    Limit,
    /// Nothing is wrong with the message, but it cannot be recorded now. The same one may be sent again.
    NotNow,
    /// The fault is ours.
    Internal,
}

/// A refused message or request: what happened, and what to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The code of the registry.
    pub code: Code,
    /// The kind of fault.
    pub kind: Kind,
    /// What happened and what to do next; at most 512 characters.
    pub message: String,
    /// The envelope the refusal is about, if it is known.
    pub related: Option<EnvelopeId>,
    /// More for a program to read, such as the outcome of the first of two equal messages.
    pub details: Option<Value>,
    /// After how long the same message may be sent again, in milliseconds; a limit knows it.
    pub retry_after_ms: Option<u64>,
}

impl Refusal {
    /// A refusal; `message` is cut to 512 characters and loses its control characters.
    pub fn new(code: Code, kind: Kind, message: impl AsRef<str>) -> Self {
        let message = message.as_ref().chars().take(MESSAGE_CHARS);
        let message = message
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        Self {
            code,
            kind,
            message,
            related: None,
            details: None,
            retry_after_ms: None,
        }
    }

    /// A malformed message: X811-4001, HTTP 400 (AX-46).
    pub fn shape(message: impl AsRef<str>) -> Self {
        Self::new(Code::InvalidStateTransition, Kind::Shape, message)
    }

    /// A message the state does not allow: X811-4001, HTTP 422 (AE-96).
    pub fn state(message: impl AsRef<str>) -> Self {
        Self::new(Code::InvalidStateTransition, Kind::State, message)
    }

    /// A message from or to the wrong party: X811-4001, HTTP 422 (AX-11).
    pub fn sender(message: impl AsRef<str>) -> Self {
        Self::new(Code::InvalidStateTransition, Kind::Sender, message)
    }

    /// A failed guard, answered with the code the transition names (AE-37).
    pub fn guard(code: Code, message: impl AsRef<str>) -> Self {
        Self::new(code, Kind::Guard, message)
    }

    /// A message that found its window passed: the lapse's own code (ledger-contract.md section 1).
    pub fn lapsed(code: Code) -> Self {
        let message = format!(
            "the window had passed when this arrived; {}",
            code.what_to_do()
        );
        Self::new(code, Kind::State, message)
    }

    /// A message that cannot be recorded now and may be sent again as it is: X811-9002, HTTP 503.
    pub fn not_now(message: impl AsRef<str>) -> Self {
        Self::new(Code::InternalError, Kind::NotNow, message)
    }

    /// X811-9001 because of `why`; the same message is taken when `until` has come about.
    pub fn exceeded(why: &str, until: &str, retry_after_ms: u64) -> Self {
        let message = format!("{why}: send the same message again when {until}");
        Self::new(Code::RateLimitExceeded, Kind::Limit, message).retry_after_ms(retry_after_ms)
    }

    /// Refuses one more than `limit` open subjects; `which` names what the limit is on.
    ///
    /// # Errors
    /// X811-9001 where the limit is reached.
    pub fn check_room(open: u64, limit: u64, which: &str) -> Result<(), Self> {
        if open < limit {
            return Ok(());
        }
        let why = format!("{open} {which}, which is the limit");
        Err(Self::exceeded(&why, "one of them has ended", OPEN_RETRY_MS))
    }

    /// Refuses what is over a limit of a day of UTC, until the next one.
    pub fn exceeded_today(why: &str, now: TimestampMs) -> Self {
        let until = "the next day of UTC has begun";
        Self::exceeded(why, until, now.left_of_day_ms())
    }

    /// Names the envelope the refusal is about.
    #[must_use]
    pub fn related_to(mut self, id: EnvelopeId) -> Self {
        self.related = Some(id);
        self
    }

    /// Adds what a program may want to read.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }

    /// Says when the same message may be sent again (`Retry-After`).
    #[must_use]
    pub fn retry_after_ms(mut self, retry_after_ms: u64) -> Self {
        self.retry_after_ms = Some(retry_after_ms);
        self
    }

    /// The HTTP status of the answer, from code and kind (ledger-contract.md section 6).
    pub const fn http_status(&self) -> u16 {
        match (self.code, self.kind) {
            (Code::InvalidStateTransition | Code::InsufficientBalance, Kind::Shape) => 400,
            (Code::DidDocumentInvalid, Kind::Conflict) => 409,
            (Code::InternalError, Kind::NotNow) => 503,
            (code, _) => code.http_status(),
        }
    }

    /// The ERROR payload `{code, message, related_message_id?, details?}`, which is also the body
    /// of an HTTP answer (AE-66, AX-42).
    pub fn to_payload(&self) -> Value {
        let mut payload = Map::new();
        payload.insert("code".to_owned(), self.code.as_str().into());
        payload.insert("message".to_owned(), self.message.as_str().into());
        if let Some(id) = self.related {
            payload.insert("related_message_id".to_owned(), id.to_string().into());
        }
        if let Some(details) = &self.details {
            payload.insert("details".to_owned(), details.clone());
        }
        Value::Object(payload)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} {}: {}",
            self.code,
            self.code.name(),
            self.message
        )
    }
}

impl std::error::Error for Refusal {}

/// A sender's own text made fit for a message: escaped, quoted, at most 48 characters.
pub(crate) fn quoted(text: &str) -> String {
    let mut escaped = text.chars().flat_map(char::escape_debug);
    let mut kept: String = escaped.by_ref().take(QUOTED_CHARS).collect();
    if escaped.next().is_some() {
        kept.push('…');
    }
    format!("\"{kept}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ax_042_status_from_code_and_kind() {
        let table = [
            (Refusal::shape(""), 400),
            (Refusal::state(""), 422),
            (Refusal::sender(""), 422),
            (Refusal::guard(Code::InvalidStateTransition, ""), 422),
            (Refusal::guard(Code::OfferHashMismatch, ""), 422),
            (
                Refusal::new(Code::InsufficientBalance, Kind::Shape, ""),
                400,
            ),
            (
                Refusal::new(Code::InsufficientBalance, Kind::Amount, ""),
                402,
            ),
            (
                Refusal::new(Code::InvalidPaymentAddress, Kind::Shape, ""),
                400,
            ),
            (Refusal::new(Code::DidDocumentInvalid, Kind::Shape, ""), 400),
            (
                Refusal::new(Code::DidDocumentInvalid, Kind::Conflict, ""),
                409,
            ),
            (Refusal::new(Code::NonceReplay, Kind::Conflict, ""), 409),
            (
                Refusal::new(Code::SignatureInvalid, Kind::Authentication, ""),
                401,
            ),
            (Refusal::new(Code::MissingCredentials, Kind::Shape, ""), 401),
            (Refusal::new(Code::AgentNotFound, Kind::NotFound, ""), 404),
            (Refusal::new(Code::RateLimitExceeded, Kind::Limit, ""), 429),
            (Refusal::new(Code::ResultTooLarge, Kind::Limit, ""), 413),
            (Refusal::new(Code::InternalError, Kind::Internal, ""), 500),
            (Refusal::not_now(""), 503),
            (
                Refusal::new(Code::ProtocolVersionUnsupported, Kind::Shape, ""),
                400,
            ),
        ];
        for (refusal, status) in table {
            assert_eq!(refusal.http_status(), status, "{refusal:?}");
        }
    }

    #[test]
    fn ae_066_payload_leaves_out_what_is_absent() {
        let refusal = Refusal::state("already completed; start a new interaction");
        let bare = serde_json::json!({
            "code": "X811-4001",
            "message": "already completed; start a new interaction",
        });
        assert_eq!(refusal.to_payload(), bare);

        let id = "0190a1b2-c3d4-7e5f-8901-234567890abc";
        let full = refusal
            .related_to(id.parse().unwrap())
            .with_details(serde_json::json!([1]));
        assert_eq!(full.to_payload()["related_message_id"], id);
        assert_eq!(full.to_payload()["details"], serde_json::json!([1]));
    }

    #[test]
    fn messages_are_bounded_and_printable() {
        let refusal = Refusal::shape("é\u{7}".repeat(600));
        assert_eq!(refusal.message.chars().count(), 512);
        assert!(!refusal.message.chars().any(char::is_control));
        assert_eq!(quoted("a\"b\u{1b}"), "\"a\\\"b\\u{1b}\"");
        assert_eq!(quoted(&"x".repeat(4_000)).chars().count(), 51);
    }
}
