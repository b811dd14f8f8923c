//! Every code and what it means for an envelope.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "all codes but those named have one fate"
)]

use super::*;
use crate::http::Refused;
use serde_json::json;

const CREATED: u64 = 1_000_000;

fn entry() -> Entry {
    let id = "0190a1b2-c3d4-7e5f-8901-234567890abc";
    Entry {
        interaction: id.parse().unwrap(),
        act: Act::Accept,
        envelope_id: id.parse().unwrap(),
        digest: Digest::of(b"body"),
        created_ms: TimestampMs::new(CREATED),
        envelope: "{}".to_owned(),
        transfer: None,
        tries: 0,
        not_before_ms: TimestampMs::new(0),
        is_doubtful: false,
    }
}

fn refused(status: u16, code: Code, details: Option<serde_json::Value>) -> ClientError {
    ClientError::Refused(Box::new(Refused {
        status,
        code,
        message: "no".to_owned(),
        related_message_id: None,
        details,
    }))
}

fn fate_of(error: ClientError) -> Fate {
    entry().after(Reply::of(Err(error)))
}

#[test]
fn ae_086_what_leaves_the_nonce_unspent_is_sent_again() {
    let silence = ClientError::Unreachable {
        url: String::new(),
        cause: String::new(),
    };
    let gateway = ClientError::NotALedger {
        url: String::new(),
        cause: "HTTP status 502".to_owned(),
    };
    for error in [
        silence,
        gateway,
        refused(429, Code::RateLimitExceeded, None),
        refused(500, Code::InternalError, None),
        refused(503, Code::InternalError, None),
        refused(503, Code::AgentOffline, None),
    ] {
        assert_eq!(fate_of(error), Fate::Again);
    }
}

/// Every code there is has a fate, and only few are not definite.
#[test]
fn ae_086_every_other_refusal_is_definite_but_those_of_one_sending() {
    for code in Code::ALL {
        let fate = fate_of(refused(400, code, None));
        let expected = match code {
            Code::RateLimitExceeded | Code::InternalError | Code::AgentOffline => Fate::Again,
            Code::TimestampInvalid | Code::NonceReplay => Fate::Ask,
            code => Fate::Refused {
                code,
                message: "no".to_owned(),
            },
        };
        assert_eq!(fate, expected, "{code}");
    }
}

#[test]
fn ae_086_an_envelope_is_dead_by_the_ledgers_own_time_alone() {
    let absent = |details| Lookup::of(Err(refused(404, Code::InvalidStateTransition, details)));
    let as_of = |at_ms: u64| Some(json!({ "as_of": { "position": 7, "at_ms": at_ms } }));
    let table = [
        (None, Fate::Ask),
        (as_of(CREATED), Fate::Ask),
        (as_of(CREATED + DEAD_AFTER_MS), Fate::Ask),
        (as_of(CREATED + DEAD_AFTER_MS + 1), Fate::Dead),
    ];
    for (details, fate) in table {
        assert_eq!(
            entry().after_lookup(absent(details.clone())),
            fate,
            "{details:?}"
        );
    }
    let lost = Lookup::of(Err(refused(403, Code::MissingCredentials, None)));
    assert_eq!(entry().after_lookup(lost), Fate::Ask);
}

#[test]
fn ae_086_the_id_is_asked_first_once_the_bytes_may_be_too_old() {
    let at = |ms| TimestampMs::new(CREATED + ms);
    assert!(!entry().asks_first(at(0)));
    assert!(!entry().asks_first(at(DEAD_AFTER_MS)));
    assert!(entry().asks_first(at(DEAD_AFTER_MS + 1)));
    let doubtful = Entry {
        is_doubtful: true,
        ..entry()
    };
    assert!(doubtful.asks_first(at(0)));
}

#[test]
fn ae_108_tries_become_rarer() {
    let now = TimestampMs::new(0);
    let delays = [0, 1, 2, 3, 4, 5, 1_000].map(|tries| {
        let entry = Entry { tries, ..entry() };
        entry.next_try(now).as_ms()
    });
    assert_eq!(delays, [500, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000]);
}
