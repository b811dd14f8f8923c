//! Every cell of 6 states × 7 messages × 3 senders of a session (capability.md, "session").
#![cfg(test)]

use std::sync::Arc;

use x811_protocol::capability::session::{
    Context, Ending, OpenCounts, ProposedTerms, Session, State, StateName,
};
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::AcceptedHeader;
use x811_protocol::event::{CloseReason, EnvelopeAccepted, Event};
use x811_protocol::facts::{
    CapabilityFacts, CapabilityVerb as Verb, Facts, SessionAccept, SessionAgree, SessionClose,
    SessionCounter, SessionOffer, SessionReject, SessionResponse, SessionTerms,
};
use x811_protocol::id::{AgreementId, EnvelopeId, SessionId};
use x811_protocol::key::{KeyId, Profile, SecretKey};
use x811_protocol::machine::{Conclusion, Input, Machine as _, RecordRef, Recorded};
use x811_protocol::parameters::{
    AEEP_LOOKS_MS, Capabilities, Limits, Parameters, PayerBindingRule, Windows,
};
use x811_protocol::signature::Signature;
use x811_protocol::time::TimestampMs;

const NOW: TimestampMs = TimestampMs::new(1_767_225_600_000);

/// Written by hand from the page, not made from the machine's own table. Columns are the states in
/// the order of [`StateName::ALL`]. A cell says what becomes of the message of the author of the last
/// step, of the other one, of a stranger: the next state, or the last digit of CCN-400x.
const CELLS: [(Verb, [&str; 6]); 7] = [
    (
        Verb::Response,
        ["2 open 3", "1 1 3", "1 1 3", "1 1 3", "1 1 3", "3 3 3"],
    ),
    (
        Verb::Offer,
        ["1 1 3", "2 offered 3", "1 1 3", "1 1 3", "1 1 3", "3 3 3"],
    ),
    (
        Verb::Counter,
        [
            "1 1 3",
            "1 1 3",
            "2 countered 3",
            "2 countered 3",
            "1 1 3",
            "3 3 3",
        ],
    ),
    (
        Verb::Accept,
        [
            "1 1 3",
            "1 1 3",
            "2 agreeing 3",
            "2 agreeing 3",
            "1 1 3",
            "3 3 3",
        ],
    ),
    (
        Verb::Reject,
        [
            "1 1 3",
            "1 1 3",
            "2 closed 3",
            "2 closed 3",
            "1 1 3",
            "3 3 3",
        ],
    ),
    (
        Verb::Close,
        [
            "closed closed 3",
            "closed closed 3",
            "closed closed 3",
            "closed closed 3",
            "closed closed 3",
            "3 3 3",
        ],
    ),
    (
        Verb::Agree,
        [
            "1 1 3",
            "1 1 3",
            "1 1 3",
            "1 1 3",
            "agreeing agreeing 3",
            "3 3 3",
        ],
    ),
];

fn agent(number: u64) -> Did {
    let text = format!("did:x811:019c8c61-8129-7511-9f31-{number:012x}");
    text.parse().unwrap()
}

fn envelope(number: u8) -> EnvelopeId {
    EnvelopeId::from_parts(NOW.as_ms(), &[number; 10])
}

fn digest(text: &str) -> Digest {
    Digest::of(text.as_bytes())
}

fn key_of(agent: Did) -> KeyId {
    let seed = digest(&agent.to_string());
    KeyId {
        did: agent,
        key: SecretKey::from_seed(*seed.as_bytes()).public(),
    }
}

fn parameters() -> Parameters {
    Parameters {
        windows: Windows::AEEP,
        looks_ms: AEEP_LOOKS_MS,
        networks: Vec::new(),
        payer_binding: PayerBindingRule::Wallet,
        limits: Limits::DEFAULT,
        lenient: Vec::new(),
        contracts: None,
        capabilities: Some(Capabilities::DEFAULT),
        rounds: None,
    }
}

fn terms() -> SessionTerms {
    SessionTerms {
        data_handling_hash: None,
        duration_s: 60,
        max_request_bytes: None,
        max_requests: Some(3),
        requests_per_minute: None,
        terms_hash: digest("terms"),
    }
}

fn record(number: u8) -> RecordRef {
    RecordRef {
        envelope: envelope(number),
        hash: digest("record"),
        position: u64::from(number),
    }
}

/// A session in that state. Its initiator is agent 1, its target agent 2, the last step `author`'s.
fn in_state(name: StateName, author: Did) -> State {
    let has_terms = !matches!(name, StateName::Requested | StateName::Open);
    let is_closed = name == StateName::Closed;
    State {
        author,
        capability: "com.example.translate".to_owned(),
        counters: 0,
        deadline: (!is_closed).then(|| NOW.saturating_add_ms(1_000)),
        ending: is_closed.then_some(Ending {
            closed_by: None,
            reason: CloseReason::Timeout,
        }),
        id: SessionId::from(envelope(1)),
        initiator: agent(1),
        is_closed,
        last: record(2),
        parameters: Arc::new(parameters()),
        parameters_hash: digest("parameters"),
        renews: None,
        signatures: Vec::new(),
        state: name,
        target: agent(2),
        terms: has_terms.then(|| ProposedTerms {
            record: record(2),
            terms: terms(),
        }),
        version: "1.0.0".parse().unwrap(),
    }
}

/// A message whose every guard holds, so that the cell alone decides.
fn message(verb: Verb, from: Did) -> CapabilityFacts {
    let session_id = SessionId::from(envelope(1));
    let step_id = envelope(2);
    match verb {
        Verb::Response => CapabilityFacts::Response(SessionResponse {
            lifetime_ms: None,
            session_id,
            willing: true,
        }),
        Verb::Offer => CapabilityFacts::Offer(Box::new(SessionOffer {
            session_id,
            terms: terms(),
        })),
        Verb::Counter => CapabilityFacts::Counter(Box::new(SessionCounter {
            session_id,
            step_id,
            terms: terms(),
        })),
        Verb::Accept => CapabilityFacts::Accept(SessionAccept {
            session_id,
            step_id,
            terms_hash: terms().terms_hash,
        }),
        Verb::Reject => CapabilityFacts::Reject(SessionReject {
            rationale_hash: digest("why"),
            session_id,
            step_id,
        }),
        Verb::Close => CapabilityFacts::Close(SessionClose { session_id }),
        Verb::Agree => CapabilityFacts::Agree(Box::new(SessionAgree {
            agreement_hash: digest("agreement"),
            agreement_id: AgreementId::from(session_id),
            consumer: agent(1),
            duration_s: 60,
            kid: key_of(from),
            parameters_hash: digest("parameters"),
            provider: agent(2),
            revision: 1,
            session_id,
            terms_hash: terms().terms_hash,
            capability: "com.example.translate".to_owned(),
            version: "1.0.0".parse().unwrap(),
        })),
        Verb::Advertise | Verb::Request | Verb::Revoke => {
            unreachable!("no message of an open session")
        }
    }
}

fn header(verb: Verb, from: Did, to: Did) -> AcceptedHeader {
    AcceptedHeader {
        created_ms: NOW,
        digest: digest("body"),
        expires_ms: None,
        from,
        id: envelope(3),
        key: key_of(from),
        nonce_tag: digest("nonce"),
        profile: Profile::Digest,
        signature: Signature::from_bytes([7; 64]),
        size: 500,
        to,
        message_type: verb.as_str().parse().unwrap(),
        version: "0.1.0".to_owned(),
    }
}

/// What becomes of it: the next state's word, or the last digit of a code CCN-400x.
fn outcome(state: &State, verb: Verb, from: Did) -> String {
    let to = state.counterparty(from);
    let (envelope, facts) = (
        header(verb, from, to),
        Facts::Capability(message(verb, from)),
    );
    let parameters = parameters();
    let context = Context {
        parameters: &parameters,
        parameters_position: 0,
        recipient_is_active: true,
        excluded: None,
        descriptor: None,
        agreement: None,
        parameters_unfit: None,
        open: OpenCounts::default(),
    };
    let input = Input {
        envelope: &envelope,
        facts: &facts,
    };
    let derived = match Session::decide(Some(state), &input, &context, NOW) {
        Ok(Conclusion::Record(derived)) => derived,
        Ok(Conclusion::Repeat { first }) => return format!("repeats {first}"),
        Err(refusal) => {
            let code = refusal.code.to_string();
            return code.strip_prefix("CCN-400").unwrap_or(&code).to_owned();
        }
    };
    let event = Event::EnvelopeAccepted(EnvelopeAccepted {
        derived,
        envelope,
        facts,
    });
    let recorded = Recorded {
        event: &event,
        position: 3,
        hash: digest("record"),
        recorded_at_ms: NOW,
        parameters: None,
    };
    let after = Session::evolve(Some(state.clone()), &recorded).unwrap();
    assert_eq!(after.author, from, "the last step is the sender's");
    assert_eq!(after.ending.is_some(), after.state == StateName::Closed);
    assert!(!after.is_closed, "`session_closed` follows, and closes it");
    after.state.to_string()
}

/// Whoever had the last step, the initiator or the target, the cells are the same.
#[test]
fn cc_076_to_cc_084_every_cell_of_a_session() {
    let mut seen = 0;
    for (verb, columns) in CELLS {
        for (name, due) in StateName::ALL.into_iter().zip(columns) {
            for (author, other) in [(agent(1), agent(2)), (agent(2), agent(1))] {
                let state = in_state(name, author);
                let senders = [author, other, agent(3)];
                let became = senders.map(|sender| outcome(&state, verb, sender));
                assert_eq!(became.join(" "), due, "{verb} in {name}");
            }
            seen += 3;
        }
    }
    assert_eq!(seen, 6 * 7 * 3);
}

/// What a record could not have been written for is no state, whoever stored it.
#[test]
fn cc_083_a_refused_cell_is_an_illegal_record() {
    for (verb, columns) in CELLS {
        for (name, due) in StateName::ALL.into_iter().zip(columns) {
            let state = in_state(name, agent(1));
            for (from, due) in [agent(1), agent(2), agent(3)]
                .into_iter()
                .zip(due.split(' '))
            {
                if due.parse::<u8>().is_err() {
                    continue;
                }
                // As an operator would have it who writes what was refused.
                let event = forged(&state, verb, from);
                let recorded = Recorded {
                    event: &event,
                    position: 3,
                    hash: digest("record"),
                    recorded_at_ms: NOW,
                    parameters: None,
                };
                let read = Session::evolve(Some(state.clone()), &recorded);
                assert!(read.is_err(), "{verb} in {name} by {from}");
            }
        }
    }
}

fn forged(state: &State, verb: Verb, from: Did) -> Event {
    use x811_protocol::event::{Derived, EnvelopeAccepted};
    Event::EnvelopeAccepted(EnvelopeAccepted {
        derived: Derived {
            deadline_at_ms: Some(NOW.saturating_add_ms(1_000)),
            ..Derived::default()
        },
        envelope: header(verb, from, state.counterparty(from)),
        facts: Facts::Capability(message(verb, from)),
    })
}

/// Both sign, each once: one party's second signature is no agreement.
#[test]
fn cc_084_two_signatures_of_one_party_are_an_illegal_record() {
    let sign = |state: &State, from| {
        let event = forged(state, Verb::Agree, from);
        let recorded = Recorded {
            event: &event,
            position: 3,
            hash: digest("record"),
            recorded_at_ms: NOW,
            parameters: None,
        };
        Session::evolve(Some(state.clone()), &recorded)
    };
    let once = sign(&in_state(StateName::Agreeing, agent(1)), agent(1)).unwrap();
    assert!(sign(&once, agent(1)).is_err());
    assert_eq!(sign(&once, agent(2)).unwrap().state, StateName::Closed);
}
