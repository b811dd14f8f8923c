use super::*;
use crate::id::RoundId;
use crate::key::{KeyId, SecretKey};
use proptest::prelude::*;

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
            "id": round(9), "from": from, "to": LEDGER, "type": format!("x811.said/{verb}"),
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
