//! Downtime and blindness, and what waits meanwhile (ledger-contract.md sections 1.4 and 5). How long the ledger was away
//! is its word; which windows that moves is not: what parties signed never moves, and blindness moves the settlement
//! alone.

use serde_json::json;
use x811_protocol::facts::{ConsensusVerb, NegotiationVerb};
use x811_protocol::time::TimestampMs;

use super::super::super::base::Base;
use super::super::{Story, contests, rounds};
use super::{
    Lie, Pair, WORD, agreement_interaction, contract_interaction, hold, registry_round, round_round,
};

pub(super) const PAIR: Pair = Pair {
    cause: "downtime and blindness",
    effect: "every machine",
    lies: &[
        OF_CONTRACTS,
        OF_AGREEMENTS,
        OF_ROUNDS,
        OF_FAILURES,
        OF_DRAWS,
        OF_DRAWS_WITHOUT_A_HEAD,
    ],
};

/// The ledger was away for so long, until right before that record.
fn resumed(story: &mut Story, before: u64, gap_ms: u64) {
    let resumed = json!({ "type": "ledger_resumed", "gap_ms": gap_ms });
    story.put(before, "ledger", resumed);
}

/// The same, and everything from there on came as much later.
fn was_away(story: &mut Story, before: u64, gap_ms: u64) {
    let first = story.position(before);
    for name in story.names(|_| true) {
        if story.position(name) < first {
            continue;
        }
        let at_ms = story.time(name) + gap_ms;
        story.retimed(name, at_ms);
        if story.record(name).event_type() == "notice_issued" {
            story.signed_when_recorded(name);
        }
    }
    resumed(story, before, gap_ms);
}

/// The network was not seen from right before a record until right before another, at these moments.
fn was_blind(story: &mut Story, (from, from_ms): (u64, u64), (until, until_ms): (u64, u64)) {
    let stream = "network:base";
    let blind = json!({ "type": "network_blind", "cause": "unreachable", "silent": [] });
    let blind = story.put(from, stream, blind);
    let block = Base::block(Base::head_number(TimestampMs::new(until_ms)));
    let head = json!({
        "number": block.number, "hash": block.hash, "timestamp_s": block.timestamp_s,
    });
    let sighted = json!({
        "type": "network_sighted", "blind_ms": until_ms - from_ms, "head": head,
    });
    let sighted = story.put(until, stream, sighted);
    story.at(blind, from_ms).at(sighted, until_ms);
}

/// Moves these records to so much later, right before what comes after that.
fn later(story: &mut Story, names: &[u64], by_ms: u64) {
    let last_ms = names.iter().map(|name| story.time(*name)).max().unwrap() + by_ms;
    let behind = story.names(|it| it.at_ms > last_ms)[0];
    for name in names {
        let at_ms = story.time(*name) + by_ms;
        story
            .retimed(*name, at_ms)
            .moved_with_notices(*name, behind)
            .at(*name, at_ms);
    }
}

/// The VERIFY comes a second after its window, and what waits for a payment lapses as much later.
fn verified_late(story: &mut Story) -> u64 {
    const BY_MS: u64 = 60_001;
    let (result, verify) = (
        story.messages("x811/result")[0],
        story.messages("x811/verify")[0],
    );
    assert_eq!(story.time(verify) - story.time(result), 1_000);
    let lapse = story.lapses("payment")[0];
    later(story, &[verify], BY_MS);
    later(story, &[lapse], BY_MS);
    verify
}

const OF_CONTRACTS: &[Lie] = &[
    // The last word came when the terms were over; that the ledger was away does not move what was signed.
    (
        "xx_3_terms_are_accepted_that_a_downtime_kept_open",
        "before this was recorded: its lapse should have come first",
        |story| {
            let accepts = story.messages(NegotiationVerb::Accept.as_str());
            was_away(story, *accepts.last().unwrap(), 61_000);
        },
    ),
    // Only windows of the settlement stand still while a network is blind.
    (
        "lc_5_blindness_keeps_the_time_for_a_verdict_open",
        "the window for a VERIFY",
        |story| {
            let verify = verified_late(story);
            let next = story.next(story.messages("x811/result")[0]);
            let (from_ms, until_ms) = (story.time(next), story.time(verify));
            was_blind(story, (next, from_ms), (verify, until_ms));
        },
    ),
    // The downtime that keeps the time for a verdict open is longer than the silence that it lies in.
    (
        "lc_1_4_a_downtime_longer_than_the_silence_keeps_a_verdict_open",
        "it moves every window by 61000 ms",
        |story| {
            let result = story.messages("x811/result")[0];
            verified_late(story);
            let next = story.next(result);
            resumed(story, next, 61_000);
        },
    ),
];

const OF_AGREEMENTS: &[Lie] = &[(
    "cc_087_an_agreement_is_used_that_a_downtime_kept_in_force",
    "the window of agreement:",
    |story| {
        let request = story.messages("x811/request")[5];
        was_away(story, request, 62_000);
    },
)];

const OF_ROUNDS: &[Lie] = &[
    // The deciding vote came behind the timeout, which no downtime moves.
    (
        "cx_5_a_vote_counts_that_a_downtime_kept_in_time",
        "before this was recorded: its lapse should have come first",
        |story| {
            let vote = story.messages(ConsensusVerb::Vote.as_str())[3];
            was_away(story, vote, 60_000);
        },
    ),
];

const OF_FAILURES: &[Lie] = &[
    // Only silence that is consent is spared what the ledger was away for.
    (
        "cx_25_a_vote_by_majority_fails_since_the_ledger_was_away",
        "the votes lead to another verdict",
        |story| {
            let (decided, closes) = (story.events("round_decided")[2], story.lapses("votes")[1]);
            assert_eq!(story.stream(closes), story.stream(decided));
            resumed(story, closes, 5_000);
            round_round::decided_as(story, decided, "abort", "ledger_down");
        },
    ),
];

/// The cycle is ended by the oldest of its rounds, as no block could be seen to draw; gives the vote.
fn ended_by_the_oldest(story: &mut Story) -> u64 {
    let closing = contests::closing(story);
    let (loser, passes) = (story.events("round_decided")[0], story.lapses("draw")[0]);
    let at_ms = story.time(closing);
    story
        .unset(closing, "/derived/seed")
        .set(loser, "/cause", json!(closing))
        .moved_with_notices(loser, passes)
        .at(loser, at_ms)
        .without([passes]);
    closing
}

const OF_DRAWS: &[Lie] = &[
    // The last head is forgotten, so that no block draws.
    (
        "cc_061_a_cycle_is_ended_by_its_oldest_as_if_no_head_was_known",
        "derived.seed: the record says nothing",
        |story| {
            ended_by_the_oldest(story);
        },
    ),
    // Nothing was seen a moment after the vote.
    (
        "cc_061_a_network_is_blind_behind_the_vote_that_names_no_block",
        "derived.seed: the record says nothing",
        |story| {
            let closing = ended_by_the_oldest(story);
            let closing_ms = story.time(closing);
            let told = story.notices(story.events("round_decided")[0])[0];
            was_blind(
                story,
                (told, closing_ms + 1_000),
                (told, closing_ms + 11_000),
            );
        },
    ),
    // Nobody knows what the ledger's endpoints answered: the report counts both records.
    (
        "lc_9_a_network_is_blind_while_a_cycle_is_closed",
        WORD,
        |story| {
            let closing = ended_by_the_oldest(story);
            let told = story.notices(story.events("round_decided")[0])[0];
            let closing_ms = story.time(closing);
            was_blind(story, (closing, closing_ms), (told, closing_ms + 10_000));
        },
    ),
];

/// In a log that has named no head of the network before.
const OF_DRAWS_WITHOUT_A_HEAD: &[Lie] = &[(
    "lc_9_no_head_was_known_when_a_cycle_was_closed",
    WORD,
    |story| {
        ended_by_the_oldest(story);
    },
)];

#[tokio::test]
async fn lc_1_4_lc_5_and_cx_25_no_lie_about_clocks_holds() {
    hold(&contract_interaction::honest().await, OF_CONTRACTS);
    hold(&agreement_interaction::honest().await, OF_AGREEMENTS);
    hold(&registry_round::honest().await, OF_ROUNDS);
    hold(&rounds::honest().await, OF_FAILURES);
    hold(&contests::passed_with_a_head().await, OF_DRAWS);
    hold(&contests::passed().await, OF_DRAWS_WITHOUT_A_HEAD);
}
