//! From payloads to facts, with the signature that is inside.

use serde_json::{Map, Value, json};
use x811_protocol::code::Code;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::Header;
use x811_protocol::facts::consensus::{ConsensusFacts, ConsensusVerb, Decision, Risk, Said};
use x811_protocol::id::{EnvelopeId, Nonce};
use x811_protocol::jws;
use x811_protocol::key::KeyId;
use x811_protocol::payload::consensus::read;
use x811_protocol::refusal::Refusal;
use x811_protocol::round::{Opened, commitment, weights_hash};

use super::world::{BEGUN, agent, digest, key_of};

const ID: &str = "0190a1b2-c3d4-7e5f-8901-234567890abc";
const SALT: &str = "AAAAAAAAAAAAAAAAAAAAAA";

fn header(verb: ConsensusVerb) -> Header {
    Header {
        id: ID.parse().unwrap(),
        version: "0.1.0".to_owned(),
        message_type: verb.as_str().parse().unwrap(),
        from: agent(1),
        to: agent(9),
        created_ms: BEGUN,
        expires_ms: None,
        nonce: Nonce::from_random([1; 16]),
    }
}

/// The key of that agent.
fn key(number: u64) -> KeyId {
    KeyId {
        did: agent(number),
        key: key_of(agent(number)).public(),
    }
}

fn signed(verb: ConsensusVerb, object: &Map<String, Value>) -> Map<String, Value> {
    let secret = key_of(agent(1));
    let mut object = object.clone();
    let signature = jws::sign_object(&secret, &key(1), verb.jws_type(), &object);
    object.insert(jws::MEMBER.to_owned(), signature.into());
    object
}

fn facts(verb: ConsensusVerb, payload: &Value) -> Result<ConsensusFacts, Refusal> {
    let signed = signed(verb, payload.as_object().unwrap());
    let facts = read(verb, &header(verb), &key(1), &signed)?;
    let value = serde_json::to_value(&facts).unwrap();
    assert!(
        !value.to_string().contains("null"),
        "absent is left out: {value}"
    );
    Ok(facts)
}

fn proposal() -> Value {
    json!({
        "proposal_id": ID, "consensus_round_id": ID, "proposer": agent(1), "mechanism": "majority",
        "subject": "Route traffic over the second link",
        "action": { "type": "com.example.route", "resource": ["Link  A"], "risk": "low", "reversible": true },
        "timeout": "Thu, 01 Jan 2026 00:01:00 GMT", "quorum": 2, "leader": agent(9),
        "participants": [agent(1), agent(2), agent(3)],
    })
}

fn vote() -> Value {
    json!({
        "proposal_id": ID, "consensus_round_id": ID, "proposal_hash": digest("proposal"),
        "voter": agent(1), "decision": "reject", "rationale": "Too  risky",
        "timestamp": "2026-01-01T00:00:10.000Z",
    })
}

fn sealed() -> Value {
    let mut sealed = vote();
    sealed
        .as_object_mut()
        .unwrap()
        .retain(|name, _| name != "decision" && name != "rationale");
    sealed["commitment"] = json!(digest("sealed"));
    sealed
}

fn revealed() -> Value {
    let mut reveal = vote();
    reveal["salt"] = json!(SALT);
    reveal
}

fn other(verb: ConsensusVerb) -> Value {
    let of = |members: Value| {
        let mut payload = json!({ "proposal_id": ID });
        let object = payload.as_object_mut().unwrap();
        object.extend(members.as_object().unwrap().clone());
        payload
    };
    match verb {
        ConsensusVerb::Propose => proposal(),
        ConsensusVerb::Vote => vote(),
        ConsensusVerb::Reveal => revealed(),
        ConsensusVerb::VoteRequest => of(json!({ "proposal_hash": digest("p"), "term": 1 })),
        ConsensusVerb::Ready => {
            of(json!({ "proposal_hash": digest("p"), "term": 1, "leader": agent(9) }))
        }
        ConsensusVerb::Commit | ConsensusVerb::Abort => {
            of(json!({ "tally": { "approve": 3 }, "rationale": "as voted" }))
        }
        ConsensusVerb::Suspend | ConsensusVerb::Resume | ConsensusVerb::Withdraw => of(json!({})),
        ConsensusVerb::Escalate => of(json!({ "reason": "time_critical" })),
        ConsensusVerb::HumanDecision => {
            of(json!({ "decision": "approve", "escalation": 7, "rationale": "seen" }))
        }
        ConsensusVerb::Executed | ConsensusVerb::Failed => of(json!({ "report": "done" })),
    }
}

#[test]
fn cc_008_to_cc_016_a_proposal_in_the_members_of_the_draft() {
    let ConsensusFacts::Propose(facts) = facts(ConsensusVerb::Propose, &proposal()).unwrap() else {
        panic!("no proposal");
    };
    assert_eq!(facts.timeout_ms, BEGUN.saturating_add_ms(60_000));
    assert_eq!((facts.attempt, facts.urgency, facts.specificity), (1, 0, 0));
    assert_eq!(facts.resource_tags, [Digest::of(b"link a")]);
    assert_eq!((facts.risk, facts.reversible), (Risk::Low, true));
    let jcs = x811_protocol::canonical::to_canonical(&proposal());
    assert_eq!(
        facts.proposal_hash,
        Digest::of(&jcs),
        "without its signature"
    );

    let mut weighted = proposal();
    weighted["mechanism"] = json!("weighted");
    weighted["weights"] = json!([50, 30, 20]);
    let ConsensusFacts::Propose(facts) = self::facts(ConsensusVerb::Propose, &weighted).unwrap()
    else {
        panic!("no proposal");
    };
    let hash = weights_hash(&facts.participants, &[50, 30, 20]);
    assert_eq!(facts.weights_hash, Some(hash));
    let mut bare = proposal();
    bare["action"] = json!({ "type": "x" });
    let ConsensusFacts::Propose(facts) = self::facts(ConsensusVerb::Propose, &bare).unwrap() else {
        panic!("no proposal");
    };
    assert_eq!(
        (facts.risk, facts.reversible),
        (Risk::High, false),
        "what is not said is not safe"
    );
}

#[test]
fn cc_017_to_cc_022_and_cx_8_votes_open_sealed_and_revealed() {
    let ConsensusFacts::Vote(open) = facts(ConsensusVerb::Vote, &vote()).unwrap() else {
        panic!("no vote");
    };
    let Ok(Said::Open(choice)) = open.said() else {
        panic!("not open");
    };
    assert_eq!(choice.decision, Decision::Reject);
    assert_eq!(choice.rationale_hash, Some(Digest::of(b"Too  risky")));
    assert_eq!(choice.rationale_tag, Some(Digest::of(b"too risky")));
    let ConsensusFacts::Vote(hidden) = facts(ConsensusVerb::Vote, &sealed()).unwrap() else {
        panic!("no vote");
    };
    assert_eq!(hidden.said(), Ok(Said::Sealed(digest("sealed"))));
    let value = serde_json::to_value(&hidden).unwrap();
    for shows in ["decision", "vote_hash", "rationale_hash", "rationale_tag"] {
        assert!(value.get(shows).is_none(), "{shows} would show it");
    }
    let ConsensusFacts::Reveal(reveal) = facts(ConsensusVerb::Reveal, &revealed()).unwrap() else {
        panic!("no reveal");
    };
    let round = EnvelopeId::lenient(ID).unwrap().into();
    let opened = Opened {
        decision: Decision::Reject,
        proposal_id: round,
        rationale: Some("Too  risky"),
        round,
        salt: SALT,
        voter: agent(1),
    };
    assert_eq!(reveal.commitment, commitment(&opened));
}

#[test]
fn cx_1_every_message_is_read_and_unknown_members_are_passed_over() {
    for verb in ConsensusVerb::ALL {
        let mut payload = other(verb);
        let plain = facts(verb, &payload).unwrap();
        assert_eq!(plain.verb(), verb);
        assert_eq!(plain.round(), EnvelopeId::lenient(ID).unwrap().into());
        assert_eq!(
            ConsensusVerb::of(&verb.as_str().parse().unwrap()),
            Some(verb)
        );
        payload["x_more"] = json!(1);
        assert!(facts(verb, &payload).is_ok(), "{verb}");
        let mut without = payload.clone();
        without.as_object_mut().unwrap().remove("proposal_id");
        let refused = facts(verb, &without).unwrap_err();
        assert_eq!(
            (refused.code, refused.http_status()),
            (Code::Schema, 400),
            "{verb}"
        );
    }
}

#[test]
fn cx_9_no_message_passes_without_its_own_signature() {
    for verb in ConsensusVerb::ALL {
        let payload = other(verb);
        let object = payload.as_object().unwrap();
        let refused = read(verb, &header(verb), &key(1), object).unwrap_err();
        assert_eq!(
            (refused.code, refused.http_status()),
            (Code::JwsInvalid, 401),
            "{verb}"
        );
        let another = if verb == ConsensusVerb::Vote {
            ConsensusVerb::Reveal
        } else {
            ConsensusVerb::Vote
        };
        let mistaken = signed(another, object);
        let refused = read(verb, &header(verb), &key(1), &mistaken).unwrap_err();
        assert_eq!(
            refused.code,
            Code::JwsInvalid,
            "{verb}: typ of another object"
        );
        let good = signed(verb, object);
        let refused = read(verb, &header(verb), &key(2), &good).unwrap_err();
        assert_eq!(refused.code, Code::JwsInvalid, "{verb}: another key");
        let mut changed = good.clone();
        changed.insert("more".to_owned(), true.into());
        let refused = read(verb, &header(verb), &key(1), &changed).unwrap_err();
        assert_eq!(refused.code, Code::JwsInvalid, "{verb}: changed afterwards");
        assert!(read(verb, &header(verb), &key(1), &good).is_ok(), "{verb}");
    }
}

#[test]
fn cx_2_what_is_malformed_says_so() {
    type Change = fn(&mut Value);
    let table: [(ConsensusVerb, Change, Code); 27] = {
        use Code::{Schema, UnknownValue};
        use ConsensusVerb::{HumanDecision, Propose, Reveal, Vote};
        [
            (Propose, |it| it["proposer"] = json!(agent(2)), Schema),
            (
                Propose,
                |it| it["proposal_id"] = json!("0190a1b2-c3d4-7e5f-8901-234567890abd"),
                Schema,
            ),
            (
                Propose,
                |it| it["mechanism"] = json!("lottery"),
                UnknownValue,
            ),
            (Propose, |it| it["mechanism"] = json!(1), Schema),
            (Propose, |it| it["voting"] = json!("secret"), UnknownValue),
            (
                Propose,
                |it| it["action"]["risk"] = json!("none"),
                UnknownValue,
            ),
            (
                Propose,
                |it| it["action"]["resource"] = json!("link"),
                Schema,
            ),
            (Propose, |it| it["timeout"] = json!("tomorrow"), Schema),
            (Propose, |it| it["quorum"] = json!(4), Schema),
            (Propose, |it| it["quorum"] = json!(-1), Schema),
            (Propose, |it| it["participants"] = json!([]), Schema),
            (
                Propose,
                |it| it["participants"] = json!([agent(1), agent(1)]),
                Schema,
            ),
            (
                Propose,
                |it| it["participants"] = json!((0..513).map(agent).collect::<Vec<_>>()),
                Schema,
            ),
            (Propose, |it| it["f"] = json!(1), Schema),
            (Propose, |it| it["weights"] = json!([1, 1, 1]), Schema),
            (Propose, |it| it["mechanism"] = json!("weighted"), Schema),
            (
                Propose,
                |it| {
                    it["mechanism"] = json!("weighted");
                    it["weights"] = json!([0, 0, 0]);
                },
                Schema,
            ),
            (
                Propose,
                |it| {
                    it["mechanism"] = json!("optimistic");
                    it["voting"] = json!("sealed");
                },
                Schema,
            ),
            (Propose, |it| it["urgency"] = json!(101), Schema),
            (Propose, |it| it["attempt"] = json!(2), Schema),
            (Vote, |it| it["voter"] = json!(agent(2)), Schema),
            (Vote, |it| it["rationale"] = json!(" \n"), Schema),
            (Vote, |it| it["decision"] = json!("maybe"), UnknownValue),
            (Vote, |it| it["commitment"] = json!(digest("both")), Schema),
            (Reveal, |it| it["salt"] = json!("AAAA"), Schema),
            (Reveal, |it| it["timestamp"] = json!(""), Schema),
            (HumanDecision, |it| it["rationale"] = json!(""), Schema),
        ]
    };
    for (place, (verb, change, code)) in table.into_iter().enumerate() {
        let mut payload = other(verb);
        change(&mut payload);
        let refused =
            facts(verb, &payload).map_err(|refusal| (refusal.code, refusal.http_status()));
        assert_eq!(refused.err(), Some((code, 400)), "row {place} of {verb}");
    }
}
