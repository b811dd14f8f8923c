//! Changes of a trace that agree with each other, so that the trace alone holds.

use serde_json::{Value, json};
use x811_audit::compare_trace;
use x811_protocol::canonical::to_canonical;
use x811_protocol::digest::Digest;
use x811_protocol::round::votes_digest;
use x811_protocol::trace::Claims;

use super::served::Served;
use super::{Traced, jti, rename, verified};

type Nodes = Vec<Value>;

fn place(nodes: &Nodes, act: &str) -> usize {
    nodes
        .iter()
        .position(|node| node["exec_act"] == act)
        .unwrap()
}

/// The content of the first node of that act.
fn content<'a>(nodes: &'a mut Nodes, act: &str) -> &'a mut Value {
    let place = place(nodes, act);
    let areas = nodes[place]["ect_ext"].as_object_mut().unwrap();
    areas.values_mut().next().unwrap()
}

/// The hash of the record of that node, and the node's id with it.
fn of_another_record(nodes: &mut Nodes, act: &str) {
    let other = Digest::of(b"another record");
    content(nodes, act)["record_hash"] = json!(other);
    let place = place(nodes, act);
    let before = nodes[place]["jti"].clone();
    let after = json!(jti(other));
    nodes[place]["jti"] = after.clone();
    rename(nodes, &before, &after);
}

/// One vote says the opposite, and the decision counts it so.
fn turned(nodes: &mut Nodes) {
    let vote = content(nodes, "consensus_vote");
    assert_eq!(vote["decision"], "approve");
    vote["decision"] = json!("abstain");
    let commit = content(nodes, "consensus_commit");
    let count = |value: &Value| value.as_u64().unwrap();
    commit["tally"]["approve"] = json!(count(&commit["tally"]["approve"]) - 1);
    commit["tally"]["abstain"] = json!(count(&commit["tally"]["abstain"]) + 1);
}

/// The last vote was never there.
fn unheard(nodes: &mut Nodes) {
    let commit = place(nodes, "consensus_commit");
    let gone = nodes.remove(commit - 1);
    let (gone, vote) = (gone["jti"].clone(), gone["ect_ext"]["consensus"].clone());
    nodes[commit - 1]["pred"]
        .as_array_mut()
        .unwrap()
        .retain(|pred| *pred != gone);
    let votes = nodes
        .iter()
        .filter(|node| node["exec_act"] == "consensus_vote");
    let hashes = votes.map(|node| node["ect_ext"]["consensus"]["vote_hash"].clone());
    let hashes = hashes.map(|hash| serde_json::from_value(hash).unwrap());
    let digest = votes_digest(hashes.collect::<Vec<Digest>>());
    let said = content(nodes, "consensus_commit");
    said["votes_digest"] = json!(digest);
    let decision = vote["decision"].as_str().unwrap();
    for name in [decision, "received"] {
        said["tally"][name] = json!(said["tally"][name].as_u64().unwrap() - 1);
    }
}

/// Other terms, with their hash and the time at which they end.
fn other_terms(nodes: &mut Nodes) {
    for (act, terms, hash) in [
        ("capability_agreement_create", "terms", "terms_hash"),
        (
            "capability_renegotiate",
            "previous_terms",
            "previous_terms_hash",
        ),
    ] {
        let said = content(nodes, act);
        said[terms]["max_requests"] = json!(811);
        said[hash] = json!(Digest::of(&to_canonical(&said[terms])));
    }
}

/// Everything about one moment is a minute later.
fn later(nodes: &mut Nodes) {
    for node in nodes.iter_mut() {
        node["recorded_at_ms"] = json!(node["recorded_at_ms"].as_u64().unwrap() - 1_000);
        let areas = node["ect_ext"].as_object_mut().unwrap();
        for name in ["starts_at_ms", "ends_at_ms"] {
            let said = areas.values_mut().next().unwrap();
            if let Some(ms) = said[name].as_u64() {
                said[name] = json!(ms - 1_000);
            }
        }
    }
}

fn other_reason(nodes: &mut Nodes) {
    let vote = content(nodes, "consensus_vote");
    vote["rationale"] = json!("I was told to");
    vote["rationale_hash"] = json!(Digest::of(b"I was told to"));
}

fn other_voter(nodes: &mut Nodes) {
    let human = json!("did:x811:019c8c61-8129-7511-9f31-aa5142e65477");
    content(nodes, "consensus_vote")["voter"] = human;
}

fn other_message(nodes: &mut Nodes) {
    content(nodes, "contract_offer")["message"] = json!("and a favour");
}

fn shifted(nodes: &mut Nodes) {
    let said = content(nodes, "consensus_propose");
    said["position"] = json!(said["position"].as_u64().unwrap() - 1);
}

/// A trace that has `acts`, and what is changed in it.
type Row = (&'static str, &'static [&'static str], fn(&mut Nodes));

const VOTED: &[&str] = &[
    "consensus_vote",
    "consensus_vote",
    "consensus_vote",
    "consensus_commit",
];

const ROWS: &[Row] = &[
    ("a vote turned", VOTED, turned),
    ("a vote left out", VOTED, unheard),
    ("another reason of a vote", VOTED, other_reason),
    ("another voter", VOTED, other_voter),
    ("another place in the log", VOTED, shifted),
    ("another record of a proposal", VOTED, |it| {
        of_another_record(it, "consensus_propose")
    }),
    ("another record of a decision", VOTED, |it| {
        of_another_record(it, "consensus_commit")
    }),
    (
        "other terms of an agreement",
        &["capability_renegotiate"],
        other_terms,
    ),
    (
        "an agreement at another time",
        &["capability_renegotiate"],
        later,
    ),
    ("a round at another time", VOTED, later),
    (
        "another message beside an offer",
        &["contract_offer"],
        other_message,
    ),
    ("another record of an offer", &["contract_engage"], |it| {
        of_another_record(it, "contract_offer")
    }),
    ("another interaction", &["contract_engage"], |it| {
        content(it, "contract_engage")["interaction_id"] =
            json!("019c8c61-8129-7511-9f31-bb5100000007");
    }),
];

/// The traces of that log with these acts, in which that change of one is possible.
fn first<'a>(traced: &'a Traced, acts: &[&str]) -> &'a Served {
    let has = |served: &&Served| {
        let has = |act: &str, least: usize| {
            served.claims.iter().filter(|it| it.exec_act == act).count() >= least
        };
        let approves = served
            .claims
            .iter()
            .find(|it| it.exec_act == "consensus_vote");
        let approves = approves.is_none_or(|it| it.ect_ext["consensus"]["decision"] == "approve");
        approves
            && acts
                .iter()
                .all(|act| has(act, acts.iter().filter(|it| *it == act).count()))
    };
    traced.traces.iter().find(has).unwrap()
}

/// The trace alone holds, and the log shows what was changed.
#[test]
fn cc_101_changes_that_agree_with_each_other_are_found_against_the_log() {
    let traced = Traced::of("log-every-event");
    for (name, acts, change) in ROWS {
        let served = first(&traced, acts);
        let mut nodes: Nodes = served.claims.iter().map(|it| json!(it)).collect();
        change(&mut nodes);
        let claims: Vec<Claims> = nodes
            .into_iter()
            .map(|node| serde_json::from_value(node).unwrap())
            .collect();
        let trace = served.resigned(&claims);
        assert!(
            verified(&trace).is_some(),
            "{name}: the trace alone shows it"
        );
        let compared = compare_trace(("log", &traced.export[..]), ("trace", &trace)).unwrap();
        assert!(compared.fault.is_none() && !compared.agrees(), "{name}");
        assert!(compared.is_evidence, "{name}: {compared:?}");
    }
}
