//! The registry of error codes (AEEP section 12, AE-106 and AE-107), and the codes of consensus and
//! capabilities (machines.md section 8).
//!
//! The table is data: the wire text, the name, the HTTP status and the sentence that tells a user
//! what to do next stand beside each other, once.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An error code: `X811-NNNN` of the protocol's registry, whose names the variants have, or `CCN-NNNN`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Code {
    /// X811-1001: the DID is not in the registry.
    DidNotFound,
    /// X811-1002: a registry operation on a revoked DID.
    DidRevoked,
    /// X811-1003: a registry operation on a deactivated DID.
    DidDeactivated,
    /// X811-1004: a key is malformed or missing from the document.
    InvalidPublicKey,
    /// X811-1005: the document, or what is registered with it, is not valid.
    DidDocumentInvalid,
    /// X811-2001: the nonce was seen from this DID within the window.
    NonceReplay,
    /// X811-2002: `created` is outside five minutes, or the envelope has expired.
    TimestampInvalid,
    /// X811-2003: the signature, the key or the status of the sender failed.
    SignatureInvalid,
    /// X811-2004: `signature`, `nonce` or `from` is absent.
    MissingCredentials,
    /// X811-3001: the addressed agent is not registered or not active.
    AgentNotFound,
    /// X811-3002: the provider did not register the `task_type`.
    CapabilityNotRegistered,
    /// X811-3003: the agent's heartbeat ran out.
    AgentOffline,
    /// X811-4001: wrong state, wrong sender, failed guard, or a malformed message.
    InvalidStateTransition,
    /// X811-4010: the ACCEPT's hash is not that of the OFFER.
    OfferHashMismatch,
    /// X811-4020: no OFFER in time.
    RequestTimeout,
    /// X811-4021: no ACCEPT or REJECT in time.
    OfferExpired,
    /// X811-4022: no RESULT in time.
    ResultTimeout,
    /// X811-4023: no VERIFY in time.
    VerifyTimeout,
    /// X811-4024: no PAYMENT in time.
    PaymentTimeout,
    /// X811-4030: the initiator's policy refused the OFFER.
    PolicyRejected,
    /// X811-5001: the amount is below the total, or the transaction hash is unusable.
    InsufficientBalance,
    /// X811-5002: an address is malformed, or not the one that must be paid or must pay.
    InvalidPaymentAddress,
    /// X811-5003: the transfer failed on-chain or was used already.
    PaymentFailed,
    /// X811-5030: the transfer was not confirmed in time.
    PaymentConfirmationTimeout,
    /// X811-6001: the VERIFY's hash is not that of the RESULT.
    ResultHashMismatch,
    /// X811-6002: the result is over the server's limit.
    ResultTooLarge,
    /// X811-6003: the content type is refused.
    ContentTypeUnsupported,
    /// X811-9001: too many requests.
    RateLimitExceeded,
    /// X811-9002: an unexpected fault of the server, or nothing can be recorded now.
    InternalError,
    /// X811-9003: the protocol version is not supported.
    ProtocolVersionUnsupported,
    /// CCN-1001: a message about capabilities or of a round is malformed.
    Schema,
    /// CCN-1002: a word that is none of those in its place.
    UnknownValue,
    /// CCN-2001: the inner signature or its protected header is not the one that is due.
    JwsInvalid,
    /// CCN-3001: somebody named may not take part, or the target does not offer what is asked.
    NotEligible,
    /// CCN-3002: somebody named is excluded for now.
    Excluded,
    /// CCN-4001: the state takes no such message now.
    WrongState,
    /// CCN-4002: another step was taken meanwhile.
    NotYourTurn,
    /// CCN-4003: what it is about is closed, or there is none.
    Closed,
    /// CCN-4004: the time for this message has passed.
    Late,
    /// CCN-4005: the sender has said this already, or something else in its place.
    Duplicate,
    /// CCN-4006: only the leader of the round says this.
    WrongLeader,
    /// CCN-4007: the round is suspended.
    Suspended,
    /// CCN-4008: no version is common to both.
    VersionMismatch,
    /// CCN-4009: as many as are allowed were sent.
    LimitReached,
    /// CCN-4010: it is not what the two have come to.
    TermsMismatch,
    /// CCN-4012: the time for this message has not come.
    TooEarly,
    /// CCN-5001: no answer in time.
    ResponseTimeout,
    /// CCN-5002: the session came to no agreement in time.
    SessionTimeout,
    /// CCN-5003: the agreement's time is over.
    AgreementEnded,
    /// CCN-5004: the leader did not speak in time.
    LeaderSilent,
    /// CCN-5005: the time for votes has passed.
    VotesClosed,
    /// CCN-5006: the time for reveals has passed.
    RevealsClosed,
    /// CCN-5007: no human decided in time.
    HumanSilent,
    /// CCN-5008: not everybody reported in time.
    ExecutionOverdue,
    /// CCN-5009: no retry came in time.
    NotResubmitted,
    /// CCN-6001: an execution-context token beside a message does not hold.
    TraceInvalid,
}

impl Code {
    /// Every code of the registry, in its order.
    pub const ALL: [Self; COUNT] = {
        let mut all = [Self::DidNotFound; COUNT];
        let mut place = 0;
        while place < COUNT {
            all[place] = REGISTRY[place].code;
            place += 1;
        }
        all
    };

    /// The wire text, such as `"X811-2001"`.
    pub const fn as_str(self) -> &'static str {
        self.entry().text
    }

    /// Whether it is of the protocol's registry: only those travel in ERRORs (AE-66).
    pub fn is_of_registry(self) -> bool {
        self.as_str().starts_with("X811-")
    }

    /// The name in the registry, such as `"NONCE_REPLAY"`.
    pub const fn name(self) -> &'static str {
        self.entry().name
    }

    /// The HTTP status of an answer with this code (AX-42). A [`crate::refusal::Refusal`] refines
    /// it by kind. X811-4030 travels inside a REJECT and never answers a submission; it has 422.
    pub const fn http_status(self) -> u16 {
        self.entry().http_status
    }

    /// One sentence fragment saying what the receiver of the code should do next. Notices of the ledger
    /// are held to it by audits of logs of all times: changed, it takes new rules.
    pub const fn what_to_do(self) -> &'static str {
        self.entry().what_to_do
    }

    const fn entry(self) -> &'static Entry {
        // The registry stands in the order of the variants; a test holds it to that.
        &REGISTRY[self as usize]
    }
}

impl fmt::Display for Code {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for Code {
    type Err = UnknownCode;

    fn from_str(text: &str) -> Result<Self, UnknownCode> {
        let entry = REGISTRY.iter().find(|entry| entry.text == text);
        entry.map(|entry| entry.code).ok_or(UnknownCode)
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Code {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

/// The text is not a code of the registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a code: use one of X811-1001 to X811-9003 or CCN-1001 to CCN-6001 as listed")]
pub struct UnknownCode;

struct Entry {
    code: Code,
    text: &'static str,
    name: &'static str,
    http_status: u16,
    what_to_do: &'static str,
}

const fn entry(
    code: Code,
    text: &'static str,
    name: &'static str,
    http_status: u16,
    what_to_do: &'static str,
) -> Entry {
    Entry {
        code,
        text,
        name,
        http_status,
        what_to_do,
    }
}

const COUNT: usize = 56;

#[rustfmt::skip]
const REGISTRY: [Entry; COUNT] = [
    entry(Code::DidNotFound, "X811-1001", "DID_NOT_FOUND", 404,
        "register the DID with this ledger first, or check its spelling"),
    entry(Code::DidRevoked, "X811-1002", "DID_REVOKED", 410,
        "register a new DID: a revoked one never comes back"),
    entry(Code::DidDeactivated, "X811-1003", "DID_DEACTIVATED", 410,
        "reactivate the DID, then repeat the operation"),
    entry(Code::InvalidPublicKey, "X811-1004", "INVALID_PUBLIC_KEY", 400,
        "give an Ed25519 key in multibase form (z6Mk…) in the DID document"),
    entry(Code::DidDocumentInvalid, "X811-1005", "DID_DOCUMENT_INVALID", 400,
        "correct the registration as the message says and send it again"),
    entry(Code::NonceReplay, "X811-2001", "NONCE_REPLAY", 409,
        "look at the outcome of the first message; for a new one, draw a fresh nonce"),
    entry(Code::TimestampInvalid, "X811-2002", "TIMESTAMP_INVALID", 401,
        "synchronise the clock, then sign a new envelope"),
    entry(Code::SignatureInvalid, "X811-2003", "SIGNATURE_INVALID", 401,
        "sign with a key this ledger has for the sender, in its registered profile"),
    entry(Code::MissingCredentials, "X811-2004", "MISSING_CREDENTIALS", 401,
        "send signature, nonce (UUIDv4) and from with every envelope"),
    entry(Code::AgentNotFound, "X811-3001", "AGENT_NOT_FOUND", 404,
        "choose a registered and active agent as the recipient"),
    entry(Code::CapabilityNotRegistered, "X811-3002", "CAPABILITY_NOT_REGISTERED", 422,
        "choose a task type the provider registered, or another provider"),
    entry(Code::AgentOffline, "X811-3003", "AGENT_OFFLINE", 503,
        "try again later, or choose another provider"),
    entry(Code::InvalidStateTransition, "X811-4001", "INVALID_STATE_TRANSITION", 422,
        "read the interaction's state and send what it allows from you"),
    entry(Code::OfferHashMismatch, "X811-4010", "OFFER_HASH_MISMATCH", 422,
        "hash the RFC 8785 form of the OFFER payload as received and accept again"),
    entry(Code::RequestTimeout, "X811-4020", "REQUEST_TIMEOUT", 422,
        "send a new REQUEST, perhaps to another provider"),
    entry(Code::OfferExpired, "X811-4021", "OFFER_EXPIRED", 422,
        "send a new REQUEST and answer its OFFER in time"),
    entry(Code::ResultTimeout, "X811-4022", "RESULT_TIMEOUT", 422,
        "send a new REQUEST: the work came too late to count"),
    entry(Code::VerifyTimeout, "X811-4023", "VERIFY_TIMEOUT", 422,
        "settle with the other party: the result was not verified in time"),
    entry(Code::PaymentTimeout, "X811-4024", "PAYMENT_TIMEOUT", 422,
        "settle with the other party: the payment was not declared in time"),
    entry(Code::PolicyRejected, "X811-4030", "POLICY_REJECTED", 422,
        "offer again on a new REQUEST, within the initiator's policy"),
    entry(Code::InsufficientBalance, "X811-5001", "INSUFFICIENT_BALANCE", 402,
        "pay at least the total cost and name the transaction that did"),
    entry(Code::InvalidPaymentAddress, "X811-5002", "INVALID_PAYMENT_ADDRESS", 400,
        "give the agreed account with its EIP-55 checksum"),
    entry(Code::PaymentFailed, "X811-5003", "PAYMENT_FAILED", 502,
        "make a new transfer and send a PAYMENT that names it"),
    entry(Code::PaymentConfirmationTimeout, "X811-5030", "PAYMENT_CONFIRMATION_TIMEOUT", 504,
        "wait: the ledger keeps looking; if the transfer is lost, make another and declare it"),
    entry(Code::ResultHashMismatch, "X811-6001", "RESULT_HASH_MISMATCH", 422,
        "repeat the result_hash of the RESULT; to dispute the content, send verified=false"),
    entry(Code::ResultTooLarge, "X811-6002", "RESULT_TOO_LARGE", 413,
        "deliver the content by result_url instead of inline, or make it smaller"),
    entry(Code::ContentTypeUnsupported, "X811-6003", "CONTENT_TYPE_UNSUPPORTED", 415,
        "name a valid MIME type such as application/json"),
    entry(Code::RateLimitExceeded, "X811-9001", "RATE_LIMIT_EXCEEDED", 429,
        "wait as long as Retry-After says and send the same envelope again"),
    entry(Code::InternalError, "X811-9002", "INTERNAL_ERROR", 500,
        "retry with exponential backoff; the same envelope is safe to repeat"),
    entry(Code::ProtocolVersionUnsupported, "X811-9003", "PROTOCOL_VERSION_UNSUPPORTED", 400,
        "send version 0.1.0"),
    entry(Code::Schema, "CCN-1001", "SCHEMA", 400,
        "correct the message as it says and send it again"),
    entry(Code::UnknownValue, "CCN-1002", "UNKNOWN_VALUE", 400,
        "take one of the words that the message names"),
    entry(Code::JwsInvalid, "CCN-2001", "JWS_INVALID", 401,
        "sign the object as it stands with the key that signs the envelope, alg EdDSA"),
    entry(Code::NotEligible, "CCN-3001", "NOT_ELIGIBLE", 422,
        "name only agents that may take part, and ask for what they offer"),
    entry(Code::Excluded, "CCN-3002", "EXCLUDED", 422,
        "wait until the exclusion is over, or go on without who is excluded"),
    entry(Code::WrongState, "CCN-4001", "WRONG_STATE", 422,
        "read the state and send what it takes from you"),
    entry(Code::NotYourTurn, "CCN-4002", "NOT_YOUR_TURN", 422,
        "read what is in force now and answer that"),
    entry(Code::Closed, "CCN-4003", "CLOSED", 422,
        "open a new one: this one takes no further message"),
    entry(Code::Late, "CCN-4004", "LATE", 422,
        "read how it ended"),
    entry(Code::Duplicate, "CCN-4005", "DUPLICATE", 409,
        "keep to what was said first"),
    entry(Code::WrongLeader, "CCN-4006", "WRONG_LEADER", 422,
        "leave it to the leader that the proposal names"),
    entry(Code::Suspended, "CCN-4007", "SUSPENDED", 422,
        "wait until it is resumed"),
    entry(Code::VersionMismatch, "CCN-4008", "VERSION_MISMATCH", 422,
        "support a version of the other side, or ask another agent"),
    entry(Code::LimitReached, "CCN-4009", "LIMIT_REACHED", 422,
        "keep to the limit that the refusal names, or go on without it"),
    entry(Code::TermsMismatch, "CCN-4010", "TERMS_MISMATCH", 422,
        "read what was recorded last and repeat that"),
    entry(Code::TooEarly, "CCN-4012", "TOO_EARLY", 422,
        "wait as long as Retry-After says and send it again"),
    entry(Code::ResponseTimeout, "CCN-5001", "RESPONSE", 422,
        "read how it ended, then ask anew"),
    entry(Code::SessionTimeout, "CCN-5002", "SESSION", 422,
        "send a new request and conclude in time"),
    entry(Code::AgreementEnded, "CCN-5003", "AGREEMENT_ENDED", 422,
        "agree anew"),
    entry(Code::LeaderSilent, "CCN-5004", "LEADER_SILENT", 422,
        "propose again, perhaps with another leader"),
    entry(Code::VotesClosed, "CCN-5005", "VOTES", 422,
        "read how the round ended"),
    entry(Code::RevealsClosed, "CCN-5006", "REVEALS", 422,
        "read how the round ended"),
    entry(Code::HumanSilent, "CCN-5007", "HUMAN", 422,
        "propose again: it stays undecided"),
    entry(Code::ExecutionOverdue, "CCN-5008", "EXECUTION", 422,
        "settle what was not reported outside of the round"),
    entry(Code::NotResubmitted, "CCN-5009", "RESUBMISSION", 422,
        "propose anew"),
    entry(Code::TraceInvalid, "CCN-6001", "TRACE_INVALID", 403,
        "correct the tokens in Execution-Context, or leave that header out"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Codes, names and statuses as the specification's registry and AX-42 print them.
    const PRINTED: [(&str, &str, u16); 56] = [
        ("X811-1001", "DID_NOT_FOUND", 404),
        ("X811-1002", "DID_REVOKED", 410),
        ("X811-1003", "DID_DEACTIVATED", 410),
        ("X811-1004", "INVALID_PUBLIC_KEY", 400),
        ("X811-1005", "DID_DOCUMENT_INVALID", 400),
        ("X811-2001", "NONCE_REPLAY", 409),
        ("X811-2002", "TIMESTAMP_INVALID", 401),
        ("X811-2003", "SIGNATURE_INVALID", 401),
        ("X811-2004", "MISSING_CREDENTIALS", 401),
        ("X811-3001", "AGENT_NOT_FOUND", 404),
        ("X811-3002", "CAPABILITY_NOT_REGISTERED", 422),
        ("X811-3003", "AGENT_OFFLINE", 503),
        ("X811-4001", "INVALID_STATE_TRANSITION", 422),
        ("X811-4010", "OFFER_HASH_MISMATCH", 422),
        ("X811-4020", "REQUEST_TIMEOUT", 422),
        ("X811-4021", "OFFER_EXPIRED", 422),
        ("X811-4022", "RESULT_TIMEOUT", 422),
        ("X811-4023", "VERIFY_TIMEOUT", 422),
        ("X811-4024", "PAYMENT_TIMEOUT", 422),
        ("X811-4030", "POLICY_REJECTED", 422),
        ("X811-5001", "INSUFFICIENT_BALANCE", 402),
        ("X811-5002", "INVALID_PAYMENT_ADDRESS", 400),
        ("X811-5003", "PAYMENT_FAILED", 502),
        ("X811-5030", "PAYMENT_CONFIRMATION_TIMEOUT", 504),
        ("X811-6001", "RESULT_HASH_MISMATCH", 422),
        ("X811-6002", "RESULT_TOO_LARGE", 413),
        ("X811-6003", "CONTENT_TYPE_UNSUPPORTED", 415),
        ("X811-9001", "RATE_LIMIT_EXCEEDED", 429),
        ("X811-9002", "INTERNAL_ERROR", 500),
        ("X811-9003", "PROTOCOL_VERSION_UNSUPPORTED", 400),
        ("CCN-1001", "SCHEMA", 400),
        ("CCN-1002", "UNKNOWN_VALUE", 400),
        ("CCN-2001", "JWS_INVALID", 401),
        ("CCN-3001", "NOT_ELIGIBLE", 422),
        ("CCN-3002", "EXCLUDED", 422),
        ("CCN-4001", "WRONG_STATE", 422),
        ("CCN-4002", "NOT_YOUR_TURN", 422),
        ("CCN-4003", "CLOSED", 422),
        ("CCN-4004", "LATE", 422),
        ("CCN-4005", "DUPLICATE", 409),
        ("CCN-4006", "WRONG_LEADER", 422),
        ("CCN-4007", "SUSPENDED", 422),
        ("CCN-4008", "VERSION_MISMATCH", 422),
        ("CCN-4009", "LIMIT_REACHED", 422),
        ("CCN-4010", "TERMS_MISMATCH", 422),
        ("CCN-4012", "TOO_EARLY", 422),
        ("CCN-5001", "RESPONSE", 422),
        ("CCN-5002", "SESSION", 422),
        ("CCN-5003", "AGREEMENT_ENDED", 422),
        ("CCN-5004", "LEADER_SILENT", 422),
        ("CCN-5005", "VOTES", 422),
        ("CCN-5006", "REVEALS", 422),
        ("CCN-5007", "HUMAN", 422),
        ("CCN-5008", "EXECUTION", 422),
        ("CCN-5009", "RESUBMISSION", 422),
        ("CCN-6001", "TRACE_INVALID", 403),
    ];

    #[test]
    fn ae_106_the_registry_is_complete_and_in_order() {
        let ours = Code::ALL.map(|code| (code.as_str(), code.name(), code.http_status()));
        assert_eq!(ours, PRINTED);
        for (place, code) in Code::ALL.into_iter().enumerate() {
            assert_eq!(code as usize, place, "{code} stands where its variant does");
        }
    }

    #[test]
    fn ae_106_codes_and_names_are_unique() {
        let texts: BTreeSet<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
        let names: BTreeSet<_> = Code::ALL.iter().map(|code| code.name()).collect();
        assert_eq!((texts.len(), names.len()), (PRINTED.len(), PRINTED.len()));
    }

    #[test]
    fn ae_107_codes_read_back_and_others_do_not() {
        for code in Code::ALL {
            assert_eq!(code.as_str().parse(), Ok(code));
            let json = serde_json::to_string(&code).unwrap();
            assert_eq!(serde_json::from_str::<Code>(&json).unwrap(), code);
            assert!(!code.what_to_do().is_empty());
        }
        for text in [
            "",
            "X811-0000",
            "x811-4001",
            "X811-4001 ",
            "4001",
            "X811-40010",
        ] {
            assert_eq!(text.parse::<Code>(), Err(UnknownCode), "{text:?}");
        }
    }

    /// Audits hold the notices in logs of all times to these texts: another one takes new rules.
    #[test]
    fn lc_1_6_the_texts_that_notices_give_never_change() {
        let of_registry = Code::ALL.into_iter().filter(|code| code.is_of_registry());
        let lines: Vec<String> = of_registry
            .map(|code| format!("{code} {}\n", code.what_to_do()))
            .collect();
        let digest = crate::digest::Digest::of(lines.concat().as_bytes());
        let expected = "4a973bbd08027acc2ae1f3ad1b116ecf42dbdce6cd12226afd9b28d93ef68800";
        assert_eq!(digest.to_string(), expected, "{lines:?}");
    }
}
