//! Traces that whoever holds the receipt key changes and signs anew: only what they say can show it.

use super::super::verify;
use super::scenes::{Scene, all, scene};
use super::*;

/// The fault of the scene after that change of its claims, all of them signed anew.
fn fault(scene: &Scene, change: &dyn Fn(&mut Vec<Claims>)) -> Option<String> {
    let mut claims = scene.claims();
    change(&mut claims);
    let checked = verified(scene, &claims);
    checked.err().map(|fault| fault.to_string())
}

fn verified(scene: &Scene, claims: &[Claims]) -> Result<Verified, TraceFault> {
    let (kid, key) = signer();
    let tokens: Vec<String> = claims.iter().map(|it| it.signed(kid, &key)).collect();
    verify(scene.wid, &tokens, &owns(&scene.nodes))
}

/// The content of a node.
fn content(claims: &mut Claims) -> &mut Value {
    claims.ect_ext.values_mut().next().unwrap()
}

fn place_of(claims: &[Claims], act: &str) -> usize {
    let mut places = claims.iter();
    places.position(|node| node.exec_act == act).unwrap()
}

/// A value as the tables write it: JSON, or the name of something.
fn value(text: &str) -> Value {
    let number = |of: &str| text.strip_prefix(of)?.parse::<u32>().ok();
    if text == "zero" {
        json!(Digest::ZERO)
    } else if let Some(last) = number("round ") {
        json!(round(last))
    } else if let Some(last) = number("negotiation ") {
        json!(format!("neg-{}", round(last)))
    } else if let Some(last) = number("did ") {
        json!(did(last))
    } else {
        serde_json::from_str(text).unwrap()
    }
}

#[test]
fn cc_101_a_trace_of_every_shape_holds_and_says_what_it_cannot_show() {
    for scene in all() {
        let checked = verified(&scene, &scene.claims()).unwrap();
        let (counts, name) = (checked.not_checked, scene.name);
        let of = |act: &[Act]| {
            let nodes = scene.nodes.iter();
            nodes.filter(|node| act.contains(&node.act)).count() as u64
        };
        let records = scene.nodes.len() as u64 - of(&[Act::Votes]);
        assert_eq!(counts[&NotShown::Records], records, "{name}");
        assert_eq!(counts[&NotShown::End], 1, "{name}");
        let moments = counts.get(&NotShown::Moments).copied();
        assert_eq!(moments.unwrap_or_default(), of(&[Act::Commit]), "{name}");
    }
    let texts = |name: &str| {
        let scene = scene(name);
        let checked = verified(&scene, &scene.claims()).unwrap();
        checked.not_checked.get(&NotShown::Texts).copied()
    };
    assert_eq!(texts("rejected"), Some(1), "the beginning of a long one");
    assert_eq!(texts("engaged"), Some(1), "no hash is beside a message");
    assert_eq!(texts("committed"), None);
}

/// Scene, act, member and its new value, and a part of the fault.
const MEMBERS: &str = r#"
# Counts
committed | consensus_commit             | /tally/approve              | 3                 | count the votes
committed | consensus_commit             | /tally/received             | 2                 | received
committed | consensus_commit             | /tally/eligible             | 2                 | participants
committed | consensus_commit             | /tally/connected            | 4                 | participants
committed | consensus_commit             | /tally/quorum_met           | false             | quorum
retried   | consensus_commit             | /tally/quorum_required      | 1                 | quorum
weighted  | consensus_commit             | /tally/weights/approve      | 9                 | add up
weighted  | consensus_commit             | /tally/weights/total        | 9                 | outcome
crowded   | consensus_votes              | /votes                      | 99                | sum up
# Verdicts
committed | consensus_commit             | /outcome                    | "abort"           | outcome
committed | consensus_commit             | /reason                     | "rejected"        | outcome
committed | consensus_vote               | /decision                   | "abstain"         | count the votes
committed | consensus_escalate           | /reason                     | "retries"         | follow
committed | consensus_propose            | /mechanism                  | "optimistic"      | mechanism
# Digests
committed | consensus_commit             | /votes_digest               | zero              | votes_digest
committed | consensus_vote               | /vote_hash                  | zero              | votes_digest
committed | consensus_vote               | /rationale                  | "no"              | text
committed | consensus_vote               | /rationale_hash             | zero              | text
retried   | consensus_propose            | /subject                    | "Use the first"   | text
retried   | consensus_human_decision     | /rationale                  | "so"              | text
revoked   | capability_agreement_revoke  | /reason                     | "so"              | text
rejected  | capability_negotiation_close | /rationale/begins           | "no"              | length
# Terms
revoked   | capability_agreement_create  | /terms/duration_s           | 61                | terms
revoked   | capability_agreement_create  | /terms_hash                 | zero              | terms
revoked   | capability_renegotiate       | /previous_terms/duration_s  | 61                | previous
revoked   | capability_renegotiate       | /previous_terms_hash        | zero              | previous
engaged   | contract_offer               | /terms/deadline_s           | 91                | terms
engaged   | contract_accept              | /terms_hash                 | zero              | other terms
# Times
revoked   | capability_agreement_create  | /ends_at_ms                 | 1700000064000     | duration
revoked   | capability_agreement_create  | /starts_at_ms               | 1700000004000     | begin
committed | consensus_propose            | /timeout_ms                 | 1700000000500     | timeout
committed | consensus_propose            | /timeout_ms                 | 1700000002500     | timeout
retried   | consensus_commit             | /tally/invalid              | 1                 | behind the timeout
weighted  | consensus_commit             | /position                   | 19                | position
# Ids
committed | consensus_vote               | /record_hash                | zero              | jti
retried   | consensus_vote               | /proposal_id                | round 2           | another round
crowded   | consensus_votes              | /record_hash                | zero              | another record
crowded   | consensus_votes              | /chunk                      | 1                 | jti
revoked   | capability_agreement_create  | /session_id                 | round 2           | came to
revoked   | capability_agreement_revoke  | /revision                   | 1                 | revision
revoked   | capability_negotiation_close | /closed_by                  | did 7             | came to
engaged   | contract_engage              | /negotiation_id             | negotiation 9     | another
engaged   | contract_counter             | /by                         | did 1             | sender
lapsed    | contract_lapse               | /code                       | "X811-4020"       | code
lapsed    | contract_lapse               | /window                     | "engagement"      | window
# Members that no node has, and spellings that no ledger writes
committed | consensus_commit             | /winner                     | round 7           | winner
committed | consensus_vote               | /weight                     | 7                 | cannot be read
committed | consensus_vote               | /ect                        | []                | empty
engaged   | contract_offer               | /message                    | null              | spelling
"#;

/// Counts, digests, terms, times and ids, each in five ways and more.
#[test]
fn cc_101_what_a_trace_says_twice_is_computed_again() {
    let is_row = |line: &&str| !line.is_empty() && !line.starts_with('#');
    for row in MEMBERS.lines().filter(is_row) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [name, act, pointer, text, why] = cells[..].try_into().unwrap();
        let found = fault(&scene(name), &|claims| {
            let place = place_of(claims, act);
            let (object, member) = pointer.rsplit_once('/').unwrap();
            let content = content(&mut claims[place]);
            content.pointer_mut(object).unwrap()[member] = value(text);
        });
        let found = found.unwrap_or_else(|| panic!("{name}, {act}{pointer}: nobody finds it"));
        assert!(
            found.contains(why),
            "{name}, {act}{pointer}: {found}, not {why}"
        );
    }
}

type Change = fn(&mut Vec<Claims>);

fn without_a_vote(claims: &mut Vec<Claims>) {
    let gone = claims.remove(2).jti;
    claims[3].pred.retain(|pred| *pred != gone);
}

/// Changes of the trace "committed", and a part of the fault.
const CLAIMS: &[(Change, &str)] = &[
    (|it| it[5].jti = Uuid::from_u128(7), "jti"),
    (
        |it| (it[1].iat, it[1].exp) = (1_700_000_001, 1_700_000_601),
        "served at another",
    ),
    (
        |it| it.iter_mut().for_each(|it| (it.iat, it.exp) = (5, 605)),
        "later than",
    ),
    (
        |it| it[3].recorded_at_ms = it[1].recorded_at_ms,
        "before the node",
    ),
    (
        |it| it[1].exec_act = "consensus_veto".to_owned(),
        "exec_act",
    ),
    (|it| it[0].ect_ext.clear(), "ect_ext"),
    (|it| *content(&mut it[0]) = json!(7), "ect_ext"),
    (
        |it| it[4].pred = it[4].pred.split_off(1),
        "rest on its proposal",
    ),
    (|it| it[4].pred.truncate(3), "rest on its proposal"),
    (|it| it[2].pred = vec![it[1].jti], "rests on the proposal"),
    (|it| it.swap(1, 2), "before the node"),
    (|it| it.truncate(4), "without the decision"),
    (without_a_vote, "votes_digest"),
    (
        |it| content(&mut it[1])["ect"][0]["by"] = json!(did(2)),
        "sender",
    ),
    (
        |it| it.iter_mut().for_each(|it| it.wid = round(7).to_string()),
        "another trace",
    ),
];

#[test]
fn cc_101_claims_are_held_to_the_content_and_to_each_other() {
    for (place, (change, why)) in CLAIMS.iter().enumerate() {
        let found = fault(&scene("committed"), &|claims| change(claims));
        let found = found.unwrap_or_else(|| panic!("{place}: nobody finds it"));
        assert!(found.contains(why), "{place}: {found}, not {why}");
    }
}

/// Attack: a tally of numbers that no counter holds.
#[test]
fn cc_101_a_tally_of_impossible_numbers_is_refused_and_nothing_overflows() {
    for member in [
        "abstain",
        "approve",
        "connected",
        "eligible",
        "invalid",
        "received",
        "reject",
    ] {
        for count in [u64::MAX, u64::MAX / 2 + 1, 513] {
            let found = fault(&scene("weighted"), &|claims| {
                let place = place_of(claims, "consensus_commit");
                content(&mut claims[place])["tally"][member] = json!(count);
            });
            assert!(found.is_some(), "{member}: {count}");
        }
    }
}
