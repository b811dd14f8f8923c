use super::agreement::agreement_nodes;
use super::contract::contract_nodes;
use super::round::round_nodes;
use super::*;
use crate::id::RoundId;
use crate::key::{KeyId, SecretKey};
use crate::round::weights_hash;
use own::{OwnKey, own_claims, own_token};
use proptest::prelude::*;

mod forged;
mod own;
mod scenes;

const LEDGER: &str = "did:x811:019c8c61-8129-7511-9f31-aa5142e65440";

fn did(last: u32) -> Did {
    format!("did:x811:019c8c61-8129-7511-9f31-aa51{last:08x}")
        .parse()
        .unwrap()
}

fn round(last: u32) -> RoundId {
    format!("019c8c61-8129-7511-9f31-bb51{last:08x}")
        .parse()
        .unwrap()
}

fn signer() -> (KeyId, SecretKey) {
    let key = SecretKey::from_seed([9; 32]);
    let kid = KeyId {
        did: LEDGER.parse().unwrap(),
        key: key.public(),
    };
    (kid, key)
}

fn accepted(from: Did, facts: &Value, verb: &str, effect: bool) -> Event {
    let derived = if effect {
        json!({ "effect": "evidence" })
    } else {
        json!({})
    };
    let key = SecretKey::from_seed([1; 32]);
    let kid = KeyId {
        did: from,
        key: key.public(),
    };
    let event = json!({
        "type": "envelope_accepted", "derived": derived, "facts": facts,
        "envelope": {
            "id": round(9), "from": from, "to": LEDGER, "type": format!("x811.consensus/{verb}"),
            "version": "0.1.0", "created_ms": 5, "nonce_tag": Digest::ZERO,
            "digest": Digest::ZERO, "size": 1, "key": kid.to_string(), "profile": "digest",
            "signature": key.sign(b"").to_string(),
        },
    });
    Event::from_value(&event).unwrap()
}

fn proposal(of: RoundId, retries: Option<RoundId>) -> Event {
    let mut facts = json!({
        "action_hash": Digest::ZERO, "action_type": "com.example.route",
        "attempt": if retries.is_some() { 2 } else { 1 }, "blocked_by": [],
        "consensus_round_id": of, "leader": LEDGER, "mechanism": "majority",
        "participants": [did(1), did(2)], "proposal_hash": Digest::ZERO, "proposal_id": of,
        "quorum": 1, "resource_tags": [], "reversible": true, "risk": "low", "specificity": 0,
        "subject_hash": Digest::ZERO, "timeout_ms": 9_000, "urgency": 0, "voting": "open",
    });
    if let Some(retries) = retries {
        facts["resubmission_of"] = json!(retries);
    }
    accepted(did(1), &facts, "propose", false)
}

fn vote(of: RoundId, from: u32, effect: bool) -> Event {
    let facts = json!({
        "consensus_round_id": of, "decision": "approve", "proposal_hash": Digest::ZERO,
        "proposal_id": of, "timestamp_ms": 5, "vote_hash": Digest::ZERO,
    });
    accepted(did(from), &facts, "vote", effect)
}

fn decided(outcome: &str, reason: &str) -> Event {
    let event = json!({
        "type": "round_decided", "cause": 1, "outcome": outcome, "reason": reason,
        "votes_digest": Digest::ZERO,
        "tally": {
            "abstain": 0, "approve": 1, "connected": 2, "eligible": 2, "invalid": 0,
            "mechanism": "majority", "quorum_met": true, "quorum_required": 1, "received": 1,
            "reject": 0,
        },
    });
    Event::from_value(&event).unwrap()
}

fn traced(events: &[(RoundId, Event)]) -> Vec<Node> {
    let records = events
        .iter()
        .enumerate()
        .map(|(at, (round, event))| Recorded {
            event,
            hash: Digest::of(&at.to_be_bytes()),
            position: at as u64,
            recorded_at_ms: TimestampMs::new(10 + at as u64),
            payload: None,
            subject: Subject::Round(*round),
        });
    round_nodes(records)
}

fn tokens(nodes: &[Node]) -> Vec<String> {
    let (kid, key) = signer();
    let at = TimestampMs::new(1_000_000);
    let wid = round(1).to_string();
    let each = nodes.iter();
    each.map(|node| token(node, &wid, at, kid, &key)).collect()
}

fn checked(tokens: &[String]) -> Result<Vec<Claims>, TraceFault> {
    let tokens: Vec<&str> = tokens.iter().map(String::as_str).collect();
    check(&tokens).map(|(claims, _)| claims)
}

/// CC-95 to CC-97: two attempts, a second vote that counts for nothing, and what a human decided.
fn story() -> Vec<(RoundId, Event)> {
    let (first, second) = (round(1), round(2));
    let escalated = json!({
        "type": "round_escalated", "cause": 7, "reason": "time_critical",
        "votes_digest": Digest::ZERO,
    });
    let ruling = json!({
        "decision": "approve", "escalation": 7, "proposal_id": second,
        "rationale_hash": Digest::ZERO,
    });
    vec![
        (first, proposal(first, None)),
        (first, vote(first, 1, false)),
        (first, vote(first, 1, true)),
        (first, decided("abort", "no_quorum")),
        (second, proposal(second, Some(first))),
        (second, vote(second, 2, false)),
        (second, decided("abort", "no_quorum")),
        (second, Event::from_value(&escalated).unwrap()),
        (second, accepted(did(3), &ruling, "human-decision", false)),
    ]
}

#[test]
fn cx_46_a_round_and_its_retry_are_one_graph() {
    let nodes = traced(&story());
    let acts: Vec<&str> = nodes.iter().map(|node| node.act.as_str()).collect();
    let expected = [
        "consensus_propose",
        "consensus_vote",
        "consensus_commit",
        "consensus_propose",
        "consensus_vote",
        "consensus_commit",
        "consensus_escalate",
        "consensus_human_decision",
    ];
    assert_eq!(acts, expected, "evidence is no node");
    let jti: Vec<Uuid> = nodes.iter().map(|node| node.jti).collect();
    let pred: Vec<&[Uuid]> = nodes.iter().map(|node| node.pred.as_slice()).collect();
    assert!(pred[0].is_empty());
    assert_eq!(pred[1], [jti[0]]);
    assert_eq!(pred[2], [jti[0], jti[1]]);
    assert_eq!(pred[3], [jti[2]], "the previous attempt's outcome");
    assert_eq!(pred[6], [jti[5]]);
    assert_eq!(pred[7], [jti[6]]);
    assert!(nodes.iter().all(|node| node.jti.get_version_num() == 8));
    assert_eq!(checked(&tokens(&nodes)).unwrap().len(), nodes.len());
}

#[test]
fn cc_034_and_cc_095_to_cc_097_nodes_have_what_the_draft_asks_for() {
    let nodes = traced(&story());
    for (node, members) in [
        (0, "proposal_id proposer subject_hash action_type"),
        (1, "proposal_id voter decision vote_hash"),
        (2, "proposal_id tally outcome"),
    ] {
        for member in members.split(' ') {
            assert!(nodes[node].said.contains_key(member), "{node}: {member}");
        }
    }
    assert_eq!(nodes[1].said["decision"], "approve");
    assert_eq!(nodes[2].said["outcome"], "abort");
    let hash = weights_hash(&[did(1), did(2)], &[1, 2]);
    let mut weighted = serde_json::to_value(proposal(round(1), None)).unwrap();
    weighted["facts"]["mechanism"] = json!("weighted");
    weighted["facts"]["weights"] = json!([1, 2]);
    weighted["facts"]["weights_hash"] = json!(hash);
    let weighted = Event::from_value(&weighted).unwrap();
    let nodes_of_weighted = traced(&[(round(1), weighted)]);
    assert_eq!(nodes_of_weighted[0].said["weights_hash"], json!(hash));
    // The ledger leads, and signs each token.
    assert!(checked(&tokens(&nodes)).is_ok());
}

/// CX-51: what was voted is in no trace before the outcome.
#[test]
fn cx_51_a_trace_shows_no_vote_before_the_outcome() {
    let events = story();
    let acts: Vec<Act> = traced(&events[..3]).iter().map(|node| node.act).collect();
    assert_eq!(acts, [Act::Propose]);
}

#[test]
fn cx_46_more_than_a_hundred_votes_are_summed_up() {
    let of = round(1);
    let mut events = vec![(of, proposal(of, None))];
    events.extend((0..250).map(|from| (of, vote(of, 10 + from, false))));
    events.push((of, decided("commit", "accepted")));
    let nodes = traced(&events);
    let sums: Vec<&Node> = nodes.iter().filter(|it| it.act == Act::Votes).collect();
    let sizes: Vec<usize> = sums.iter().map(|sum| sum.pred.len()).collect();
    assert_eq!(sizes, [100, 100, 50]);
    let last = nodes.last().unwrap();
    assert_eq!((last.act, last.pred.len()), (Act::Commit, 4));
    assert!(checked(&tokens(&nodes)).is_ok());
}

/// Attacks by whoever keeps the file: a node left out, put twice, in another order, of another trace, by
/// another key, said otherwise.
#[test]
fn cc_101_a_trace_that_was_changed_is_refused() {
    let nodes = traced(&story());
    let honest = tokens(&nodes);
    let refused = |change: &dyn Fn(&mut Vec<String>)| {
        let mut tokens = honest.clone();
        change(&mut tokens);
        checked(&tokens).unwrap_err()
    };
    assert_eq!(refused(&|it| drop(it.remove(0))).place, 0);
    assert_eq!(refused(&|it| it.swap(0, 1)).place, 0);
    assert_eq!(refused(&|it| it.push(it[2].clone())).place, honest.len());
    let other = SecretKey::from_seed([8; 32]);
    let (kid, key) = signer();
    let by_other = KeyId {
        key: other.public(),
        ..kid
    };
    let (at, wid) = (TimestampMs::new(1_000_000), round(1).to_string());
    assert_eq!(
        refused(&|it| it[3] = token(&nodes[3], &wid, at, by_other, &other)).place,
        3
    );
    assert_eq!(
        refused(&|it| it[3] = token(&nodes[3], &wid, at, kid, &other)).place,
        3
    );
    let elsewhere = round(7).to_string();
    assert_eq!(
        refused(&|it| it[3] = token(&nodes[3], &elsewhere, at, kid, &key)).place,
        3
    );
    let mut cyclic = nodes.clone();
    cyclic[0].pred = vec![nodes[2].jti];
    let fault = checked(&tokens(&cyclic)).unwrap_err();
    assert_eq!(fault.place, 0, "a cycle: {fault}");
    let mut early = nodes;
    early[2].recorded_at_ms = TimestampMs::new(1);
    assert_eq!(checked(&tokens(&early)).unwrap_err().place, 2);
}

proptest! {
    /// Whatever character is changed in whatever token, it is found.
    #[test]
    fn cc_101_every_changed_character_of_a_token_is_found(
        place in 0_usize..8, at in 0_usize..10_000, to in prop::char::range('!', '~'),
    ) {
        let mut all = tokens(&traced(&story()));
        let text = all[place].clone();
        let at = at % text.len();
        prop_assume!(text.as_bytes()[at] != to as u8);
        all[place].replace_range(at..=at, to.encode_utf8(&mut [0; 4]));
        prop_assert!(checked(&all).is_err());
    }
}

/// CX-45: what is long is named by its hash, whatever its JSON form adds to it.
#[test]
fn cx_45_long_texts_are_shown_by_hash_and_beginning() {
    for text in ["x".repeat(1_025), "\u{1}".repeat(200), "ß".repeat(600)] {
        let shown = serde_json::to_value(ShownText::of(&text)).unwrap();
        assert_eq!(shown["sha256"], json!(Digest::of(text.as_bytes())));
        let begins = shown["begins"].as_str().unwrap();
        assert!(text.starts_with(begins) && !begins.is_empty());
        assert!(to_canonical(begins).len() <= BEGINNING_BYTES + 2);
    }
    assert_eq!(ShownText::of("short"), ShownText::Whole("short".to_owned()));
}

fn session(last: u32) -> crate::id::SessionId {
    round(last).to_string().parse().unwrap()
}

fn agreed(revision: u64, by: u32, terms: &Value, before: Option<&Value>) -> Event {
    let hash = |terms: &Value| Digest::of(&to_canonical(terms));
    let mut event = json!({
        "type": "agreed", "agreement_hash": Digest::ZERO, "capability": "com.example.translate",
        "cause": 1, "consumer": did(1), "ends_at_ms": 9_000, "limits": {}, "provider": did(2),
        "revision": revision, "session": session(by), "signatures": [Digest::ZERO, Digest::ZERO],
        "starts_at_ms": 1_000, "terms_hash": hash(terms), "version": "1.0.0",
    });
    if let Some(before) = before {
        event["previous_terms_hash"] = json!(hash(before));
        event["reason"] = json!("inadequate");
    }
    Event::from_value(&event).unwrap()
}

fn closed(reason: &str) -> Event {
    Event::from_value(&json!({ "type": "session_closed", "cause": 1, "reason": reason })).unwrap()
}

fn capability(verb: &str, facts: &Value) -> Event {
    let mut event = serde_json::to_value(vote(round(1), 1, false)).unwrap();
    event["envelope"]["type"] = json!(format!("x811.capability/{verb}"));
    event["facts"] = facts.clone();
    Event::from_value(&event).unwrap()
}

/// CC-99 and CC-100: made, negotiated again with both terms, revoked; each behind its session's close.
#[test]
fn cx_44_and_cc_098_to_cc_100_an_agreement_is_traced_from_its_sessions_to_its_end() {
    let (first, second) = (json!({"duration_s": 60}), json!({"duration_s": 90}));
    let agree = |by: u32, terms: &Value| {
        let kid = signer().0;
        let facts = json!({
            "agreement_hash": Digest::ZERO, "agreement_id": session(1), "consumer": did(1),
            "duration_s": 60, "kid": kid.to_string(), "parameters_hash": Digest::ZERO,
            "provider": did(2), "revision": 1, "session_id": session(by),
            "terms_hash": Digest::ZERO, "type": "com.example.translate", "version": "1.0.0",
        });
        (
            capability("agree", &facts),
            Some(json!({"agreement": {"terms": terms}})),
        )
    };
    let revoke = capability(
        "revoke",
        &json!({"agreement_id": session(1), "reason_hash": Digest::ZERO, "revision": 2}),
    );
    let of = |by: u32| Subject::Session(session(by));
    let agreement = Subject::Agreement(session(1).into());
    let records = [
        (of(1), agree(1, &first)),
        (agreement, (agreed(1, 1, &first, None), None)),
        (of(1), (closed("agreed"), None)),
        (of(2), agree(2, &second)),
        (agreement, (agreed(2, 2, &second, Some(&first)), None)),
        (of(2), (closed("agreed"), None)),
        (agreement, (revoke, Some(json!({"reason": "moved away"})))),
    ];
    let recorded = records
        .iter()
        .enumerate()
        .map(|(at, (subject, (event, payload)))| Recorded {
            event,
            hash: Digest::of(&at.to_be_bytes()),
            payload: payload.as_ref().and_then(Value::as_object),
            position: at as u64,
            recorded_at_ms: TimestampMs::new(10),
            subject: *subject,
        });
    let nodes = agreement_nodes(recorded);
    let acts: Vec<&str> = nodes.iter().map(|node| node.act.as_str()).collect();
    let expected = [
        "capability_negotiation_close",
        "capability_agreement_create",
        "capability_negotiation_close",
        "capability_renegotiate",
        "capability_agreement_revoke",
    ];
    assert_eq!(acts, expected);
    let jti: Vec<Uuid> = nodes.iter().map(|node| node.jti).collect();
    assert_eq!(nodes[1].pred, [jti[0]]);
    assert_eq!(nodes[3].pred, [jti[1], jti[2]]);
    assert_eq!(nodes[4].pred, [jti[3]]);
    assert_eq!(nodes[3].said["terms"], second);
    assert_eq!(nodes[3].said["previous_terms"], first);
    assert_eq!(nodes[4].said["reason"], "moved away");
    let claims = checked(&tokens(&nodes)).unwrap();
    let area = |claims: &Claims| claims.ect_ext.contains_key("capability_negotiation");
    assert!(claims.iter().all(area));
}

fn negotiation(verb: &str, number: u32, facts: &Value) -> Event {
    let mut event = serde_json::to_value(vote(round(1), 1, false)).unwrap();
    event["envelope"]["type"] = json!(format!("x811.negotiation/{verb}"));
    event["envelope"]["id"] = json!(round(number));
    event["facts"] = facts.clone();
    Event::from_value(&event).unwrap()
}

fn terms_facts(terms: &Value) -> Value {
    json!({
        "amount": "1000", "amount_of": "price", "currency": "USDC", "payee": did(2), "payer": did(1),
        "terms_hash": Digest::of(&to_canonical(terms)),
    })
}

/// An offer, a counter and what `last` makes of it, whose payloads name these terms.
fn contract_trace(first: &Value, shown: &Value, last: &[(Event, Option<Value>)]) -> Vec<Node> {
    let id = crate::id::ContractId::from_public(&format!("neg-{}", round(1))).unwrap();
    let second = json!({ "deadline": 60 });
    let token = own_token(&OwnKey::ed25519(1), &own_claims(5, &[]));
    let offer = json!({ "expires_at_ms": 9_000, "terms": terms_facts(first) });
    let counter = json!({
        "negotiation_id": round(1), "step_id": round(1), "terms": terms_facts(&second),
    });
    let said = json!({ "terms": shown, "message": "as agreed", "ect": token });
    let mut records = vec![
        (negotiation("offer", 1, &offer), Some(said)),
        (
            negotiation("counter", 2, &counter),
            Some(json!({ "terms": second })),
        ),
    ];
    records.extend(last.iter().cloned());
    let recorded = records
        .iter()
        .enumerate()
        .map(|(at, (event, payload))| Recorded {
            event,
            hash: Digest::of(&at.to_be_bytes()),
            payload: payload.as_ref().and_then(Value::as_object),
            position: at as u64,
            recorded_at_ms: TimestampMs::new(10 + at as u64),
            subject: Subject::Contract(id),
        });
    contract_nodes(recorded)
}

/// Each step rests on the terms that it answers; what time did and what came of it on the step before.
#[test]
fn cc_101_a_contract_is_traced_from_its_offer_to_its_interaction() {
    let first = json!({ "deadline": 90 });
    let accept = json!({
        "negotiation_id": round(1), "step_id": round(2),
        "terms_hash": Digest::of(&to_canonical(&json!({ "deadline": 60 }))),
    });
    let engaged = json!({ "type": "engaged", "cause": 9, "interaction": round(7) });
    let nodes = contract_trace(
        &first,
        &first,
        &[
            (negotiation("accept", 3, &accept), Some(json!({}))),
            (Event::from_value(&engaged).unwrap(), None),
        ],
    );
    let acts: Vec<&str> = nodes.iter().map(|node| node.act.as_str()).collect();
    let expected = [
        "contract_offer",
        "contract_counter",
        "contract_accept",
        "contract_engage",
    ];
    assert_eq!(acts, expected);
    assert!(nodes.iter().all(|node| node.act.area() == "contract"));
    let of_negotiation = json!(format!("neg-{}", round(1)));
    assert!(
        nodes
            .iter()
            .all(|node| node.said["negotiation_id"] == of_negotiation)
    );
    let jti: Vec<Uuid> = nodes.iter().map(|node| node.jti).collect();
    assert!(nodes[0].pred.is_empty());
    assert_eq!([&*nodes[1].pred, &*nodes[2].pred], [&jti[..1], &jti[1..2]]);
    assert_eq!(nodes[3].pred, [jti[2]]);
    assert_eq!(
        (&nodes[0].said["terms"], &nodes[0].said["message"]),
        (&first, &json!("as agreed"))
    );
    assert_eq!(nodes[2].said["terms_hash"], accept["terms_hash"]);
    assert!(
        !nodes[2].said.contains_key("terms"),
        "they stand in the step that is accepted"
    );
    assert_eq!(nodes[3].said["interaction_id"], json!(round(7)));
    let own = owns(&nodes);
    assert_eq!((own.len(), own[0].node), (1, jti[0]));
    let claims = checked(&tokens(&nodes)).unwrap();
    assert_eq!(claims.len(), 4);
    assert!(check_own(&claims, &own).unwrap()[0].fault.is_none());
    let mut left_out = tokens(&nodes);
    left_out.remove(1);
    assert_eq!(
        checked(&left_out).unwrap_err().place,
        1,
        "its acceptance rests on the counter"
    );
}

/// A refusal rests on the step that it names, not on the last one.
#[test]
fn cc_101_a_contract_that_came_to_nothing_is_traced_too() {
    let first = json!({ "deadline": 90 });
    let lapsed = json!({ "type": "lapsed", "window": "contract", "code": "X811-4021" });
    let step = |of: u32| json!({ "negotiation_id": round(1), "step_id": round(of) });
    for (last, act, rests_on) in [
        (negotiation("reject", 3, &step(2)), "contract_reject", 1),
        (negotiation("withdraw", 3, &step(1)), "contract_withdraw", 0),
        (Event::from_value(&lapsed).unwrap(), "contract_lapse", 1),
    ] {
        let nodes = contract_trace(&first, &first, &[(last, None)]);
        assert_eq!(nodes[2].act.as_str(), act);
        assert_eq!(nodes[2].pred, [nodes[rests_on].jti]);
        assert!(checked(&tokens(&nodes)).is_ok());
    }
}

/// Terms stand in a node where they are those of the record, and neither long nor deep.
#[test]
fn cx_45_other_terms_long_or_deep_ones_are_not_shown() {
    let (first, other) = (json!({ "deadline": 90 }), json!({ "deadline": 91 }));
    let long = json!({ "text": "x".repeat(5_000) });
    let deep = json!({ "a": { "b": { "c": { "d": 1 } } } });
    for (of_record, shown) in [
        (&first, &other),
        (&long, &long),
        (&deep, &deep),
        (&first, &Value::Null),
    ] {
        let nodes = contract_trace(of_record, shown, &[]);
        assert!(!nodes[0].said.contains_key("terms"));
        let hash = Digest::of(&to_canonical(of_record));
        assert_eq!(nodes[0].said["terms_hash"], json!(hash));
        assert!(checked(&tokens(&nodes)).is_ok());
    }
}
