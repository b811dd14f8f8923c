//! Parameters, and what is decided under them. The operator sets them when it likes, so that it sets them for a moment:
//! every subject keeps those that it was opened under, and where those in force count the report names both changes.

use serde_json::{Value, json};
use x811_protocol::facts::NegotiationVerb;
use x811_protocol::facts::{CapabilityVerb, ConsensusVerb};

use super::super::{Story, contests, excluded, rounds};
use super::{
    Lie, Pair, WORD, conduct_session, contract_interaction, hold, interaction_conduct,
    registry_interaction,
};

pub(super) const PAIR: Pair = Pair {
    cause: "parameters",
    effect: "every machine",
    lies: &[
        OF_CONTRACTS,
        OF_PAYMENTS,
        OF_CONDUCT,
        OF_SESSIONS,
        OF_EXCLUSIONS,
        OF_ROUNDS,
        OF_HUMANS,
    ],
};

/// Other parameters are in force from right before a record until right before another.
fn for_a_while(story: &mut Story, (from, until): (u64, u64), pointer: &str, value: Value) {
    let set = story.events("parameters_set")[0];
    let back = story.record(set).event.clone();
    let mut others = back.clone();
    let (parent, member) = pointer.rsplit_once('/').unwrap();
    let holder = others.pointer_mut(parent).unwrap();
    if value.is_null() {
        holder.as_object_mut().unwrap().remove(member).unwrap();
    } else {
        holder[member] = value;
    }
    story.put(from, "ledger", others);
    story.put(until, "ledger", back);
    // What is opened names those in force.
    let mut in_force = set;
    for name in story.names(|_| true) {
        if story.record(name).event_type() == "parameters_set" {
            in_force = name;
        } else if story
            .record(name)
            .event
            .pointer("/derived/parameters")
            .is_some()
        {
            story.set(name, "/derived/parameters", json!(in_force));
        }
    }
}

/// What comes behind a record and the notices of it.
fn behind(story: &Story, name: u64) -> u64 {
    story.next(*story.with_notices(name).last().unwrap())
}

/// The deadline that a message opens is earlier, or later.
fn deadline_moves(story: &mut Story, name: u64, by_ms: i64) {
    let pointer = "/derived/deadline_at_ms";
    let deadline_ms = story.get(name, pointer).as_u64().unwrap();
    story.set(
        name,
        pointer,
        json!(deadline_ms.saturating_add_signed(by_ms)),
    );
}

const OF_CONTRACTS: &[Lie] = &[
    // Who agreed waits less for a REQUEST than the parameters said when the talks began.
    (
        "xx_4_a_contract_waits_by_parameters_that_came_later",
        "derived.deadline_at_ms: the record says",
        |story| {
            let accept = *story
                .messages(NegotiationVerb::Accept.as_str())
                .last()
                .unwrap();
            let lapse = story.lapses("engagement")[0];
            for_a_while(
                story,
                (accept, story.next(accept)),
                "/contracts/engagement_ms",
                json!(25_000),
            );
            deadline_moves(story, accept, -5_000);
            for name in story.with_notices(lapse) {
                story.at(name, story.time(name) - 5_000);
            }
            let next = behind(story, lapse);
            story.told_before(lapse, next);
        },
    ),
    (
        "lc_1_3_a_payment_is_due_by_parameters_that_came_later",
        "derived.deadline_at_ms: the record says",
        |story| {
            let (verify, lapse) = (story.messages("x811/verify")[0], story.lapses("payment")[0]);
            for_a_while(
                story,
                (verify, story.next(verify)),
                "/windows/payment_ms",
                json!(59_000),
            );
            deadline_moves(story, verify, -1_000);
            let next = behind(story, lapse);
            story
                .at(lapse, story.time(lapse) - 1_000)
                .told_before(lapse, next);
        },
    ),
];

const OF_PAYMENTS: &[Lie] = &[
    // Nobody asks whose wallet it is while the friend pays.
    (
        "rule_18_a_payer_is_unchecked_by_parameters_that_came_later",
        "payer_address is not a wallet bound to the initiator",
        |story| {
            let payment = story.messages("x811/payment")[0];
            for_a_while(
                story,
                (payment, story.next(payment)),
                "/payer_binding",
                json!("unchecked"),
            );
            story.set(payment, "/derived/payer_binding", json!("unchecked"));
            registry_interaction::is_bound_late(story);
        },
    ),
];

/// The third breach, and the exclusion behind it.
fn third_breach(story: &Story) -> [u64; 2] {
    [
        story.events("breach_recorded")[2],
        story.events("excluded")[0],
    ]
}

const OF_CONDUCT: &[Lie] = &[
    // The rule that spares the friend is set when the breach is recorded already.
    (
        "cc_113_an_exclusion_is_spared_by_a_rule_that_came_later",
        "the effect `excluded`",
        |story| {
            let [_, excluded] = third_breach(story);
            let gone = story.with_notices(excluded);
            let next = story.next(excluded);
            for_a_while(
                story,
                (excluded, next),
                "/capabilities/exclusion/breaches",
                json!(4),
            );
            story.without(gone);
        },
    ),
    // It is in force when the lapse is recorded that is the breach.
    (
        "lc_9_an_exclusion_is_spared_by_a_rule_for_a_moment",
        WORD,
        |story| {
            let [breach, excluded] = third_breach(story);
            let lapse = story.get(breach, "/cause").as_u64().unwrap();
            let gone = story.with_notices(excluded);
            let next = story.next(excluded);
            for_a_while(
                story,
                (lapse, next),
                "/capabilities/exclusion/breaches",
                json!(4),
            );
            story.without(gone);
        },
    ),
];

const OF_SESSIONS: &[Lie] = &[(
    "cc_076_a_session_lasts_by_parameters_that_came_later",
    "derived.deadline_at_ms: the record says",
    |story| {
        let response = *story
            .messages(CapabilityVerb::Response.as_str())
            .last()
            .unwrap();
        for_a_while(
            story,
            (response, story.next(response)),
            "/capabilities/session_ms",
            json!(90_000),
        );
        deadline_moves(story, response, 30_000);
    },
)];

const OF_EXCLUSIONS: &[Lie] = &[
    // Who is excluded may propose while there is no block of capabilities.
    (
        "lc_9_an_excluded_agent_proposes_while_there_are_no_capabilities",
        WORD,
        |story| {
            let order = story.events("exclusion_lifted")[0];
            let gone = story.with_notices(order);
            let proposal = story.messages(ConsensusVerb::Propose.as_str())[0];
            let next = story.next(proposal);
            for_a_while(
                story,
                (proposal, story.next(next)),
                "/capabilities",
                Value::Null,
            );
            story.without(gone);
        },
    ),
];

const OF_ROUNDS: &[Lie] = &[
    // Reports are not waited for, by parameters that the round was not opened under.
    (
        "cc_057_reports_are_waited_for_by_parameters_that_came_later",
        "the window had not passed",
        |story| {
            let decided = story.events("round_decided")[0];
            let over = story.lapses("execution")[0];
            assert_eq!(story.stream(over), story.stream(decided));
            let closing = story.get(decided, "/cause").as_u64().unwrap();
            let span = (closing, story.next(decided));
            for_a_while(story, span, "/rounds/execution_ms", json!(2_000));
            let (at_ms, next) = (story.time(over) - 2_000, behind(story, over));
            story.at(over, at_ms).told_before(over, next);
        },
    ),
];

const OF_HUMANS: &[Lie] = &[(
    "cc_048_a_round_waits_for_humans_by_parameters_that_came_later",
    "the window had not passed",
    |story| {
        let (escalated, ruling) = (
            story.events("round_escalated")[0],
            story.messages(ConsensusVerb::HumanDecision.as_str())[0],
        );
        let plea = story.get(escalated, "/cause").as_u64().unwrap();
        for_a_while(
            story,
            (plea, story.next(escalated)),
            "/rounds/human_ms",
            json!(5_000),
        );
        // A window of the parameters before is open, so that it does not lapse yet.
        let (like, stream) = (story.lapses("execution")[0], story.stream(escalated));
        let mut event = story.record(like).event.clone();
        (event["window"], event["code"]) = (json!("human"), json!("CCN-5007"));
        let over = story.time(escalated) + 5_001;
        let behind = story.names(|it| it.at_ms > over)[0];
        let lapse = story.put(behind, &stream, event);
        let execution = story.with_notices(*story.lapses("execution").last().unwrap());
        story.at(lapse, over).without(execution).without([ruling]);
    },
)];

#[tokio::test]
async fn xx_4_cc_113_and_cx_5_no_lie_about_parameters_holds() {
    hold(&contract_interaction::honest().await, OF_CONTRACTS);
    hold(&registry_interaction::honest().await, OF_PAYMENTS);
    hold(&interaction_conduct::honest().await, OF_CONDUCT);
    hold(&conduct_session::honest().await, OF_SESSIONS);
    hold(&excluded::honest().await, OF_EXCLUSIONS);
    hold(&contests::superseded().await, OF_ROUNDS);
    hold(&rounds::honest().await, OF_HUMANS);
}
