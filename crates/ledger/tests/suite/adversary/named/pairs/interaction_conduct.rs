//! RESULTs that do not come, and what is recorded against the provider (capability.md, "Breach and exclusion"). A
//! provider's friend hides a breach, or its weight; a rival's invents one.

use serde_json::json;
use x811_protocol::parameters::Exclusion;

use super::super::super::conduct::{Scene, accepted, broken, excluding};
use super::super::super::deal::{Deal, Until};
use super::super::super::party::Account;
use super::super::Story;
use super::bodies::erased;
use super::{Lie, Pair, WORD, hold};

pub(super) const PAIR: Pair = Pair {
    cause: "interaction",
    effect: "conduct",
    lies: &[LIES],
};

/// The interactions: one that is delivered, three that are not, and one under no agreement that is not either.
const DELIVERED: usize = 0;
const PLAIN: usize = 4;

/// Two consumers, of whom the first has two agreements: the third breach excludes their provider.
pub(super) async fn honest() -> Story {
    let ledgerbox = excluding(Some(Exclusion::DEFAULT)).await;
    let scene = Scene::set(&ledgerbox).await;
    let mut deal = accepted(&ledgerbox, &scene.first).await;
    ledgerbox.advance_ms(1_000).await;
    let result = deal.result(&ledgerbox);
    ledgerbox.accept(&result).await;
    for bargain in [&scene.first, &scene.again, &scene.other] {
        broken(&ledgerbox, bargain).await;
    }
    let (consumer, provider) = (&scene.first.consumer, &scene.first.provider);
    let mut plain = Deal::between(&ledgerbox, consumer, provider, Account::new(0x46));
    plain.go(&ledgerbox, Until::Accepted).await;
    let result_ms = ledgerbox.parameters.windows.result_ms;
    ledgerbox.advance_ms(result_ms.max(60_000) + 1).await;
    Story::at_rest(ledgerbox).await
}

fn request(story: &Story, number: usize) -> u64 {
    story.messages("x811/request")[number]
}

fn breach(story: &Story, number: usize) -> u64 {
    story.events("breach_recorded")[number]
}

/// Nobody was excluded, and nobody was told so.
fn not_excluded(story: &mut Story) {
    let gone = story.with_notices(story.events("excluded")[0]);
    story.without(gone);
}

/// The REQUEST of that number was under no agreement, so that nothing was broken.
fn under_none(story: &mut Story, number: usize) {
    let request = request(story, number);
    let used = story.events("used")[number];
    let breach = breach(story, number - 1);
    story
        .unset(request, "/derived/agreement")
        .without([used, breach]);
    not_excluded(story);
}

/// The delivered interaction lapses for want of a RESULT, which is a breach that comes before the others.
fn delivery_is_a_breach(story: &mut Story) {
    let (request, accept) = (
        request(story, DELIVERED),
        story.messages("x811/accept")[DELIVERED],
    );
    let deadline_ms = story
        .get(accept, "/derived/deadline_at_ms")
        .as_u64()
        .unwrap();
    let (verify, like) = (story.lapses("verify")[0], story.lapses("result")[0]);
    let gone = story.with_notices(verify);
    story.without(gone);
    let behind = story.names(|it| it.at_ms > deadline_ms)[0];
    let (stream, event) = (story.stream(request), story.record(like).event.clone());
    let lapse = story.put(behind, &stream, event);
    story.at(lapse, deadline_ms + 1);
    let first = breach(story, 0);
    let (stream, mut event) = (story.stream(first), story.record(first).event.clone());
    event["cause"] = json!(lapse);
    let breach = story.put(behind, &stream, event);
    story.at(breach, deadline_ms + 1);
    let members = [
        ("interaction_id", story.get(request, "/envelope/id")),
        ("related_message_id", story.get(accept, "/envelope/id")),
    ];
    story.told_like((like, lapse), behind, &members);
    // One of an agreement and a day counts, so that it is for this one.
    let excluded = story.events("excluded")[0];
    story.set(excluded, "/causes/0", json!(breach));
}

const LIES: &[Lie] = &[
    // The second breach is of the agreement of the first, of which one counts in a day.
    (
        "cc_112_a_breach_is_of_another_agreement",
        "the effect `breach_recorded`",
        |story| {
            let agreement = story.get(breach(story, 0), "/agreement");
            story.set(breach(story, 1), "/agreement", agreement);
            not_excluded(story);
        },
    ),
    // All are of one consumer, whose word alone excludes nobody.
    (
        "cc_112_all_breaches_are_of_one_consumer",
        "the effect `breach_recorded`",
        |story| {
            let consumer = story.get(breach(story, 0), "/consumer");
            story.set(breach(story, 2), "/consumer", consumer);
            not_excluded(story);
        },
    ),
    (
        "cc_112_a_broken_agreement_was_none",
        "it was not held to the agreement it names",
        |story| {
            under_none(story, 3);
        },
    ),
    (
        "cc_113_an_exclusion_is_left_out_with_its_notice",
        "the effect `excluded`",
        not_excluded,
    ),
    (
        "cc_113_an_exclusion_ends_early_and_is_told_so",
        "or it is for another time",
        |story| {
            let excluded = story.events("excluded")[0];
            let until_ms = story.get(excluded, "/until_ms").as_u64().unwrap() - 86_400_000;
            story.set(excluded, "/until_ms", json!(until_ms));
        },
    ),
    // What was asked for under no agreement breaks one.
    (
        "cc_112_an_interaction_under_no_agreement_breaks_one",
        "causes it",
        |story| {
            let lapse = story.lapses("result")[PLAIN - 1];
            assert_eq!(story.stream(lapse), story.stream(request(story, PLAIN)));
            let like = breach(story, 1);
            let (stream, mut event) = (story.stream(like), story.record(like).event.clone());
            event["cause"] = json!(lapse);
            let next = story.next(lapse);
            story.put(next, &stream, event);
        },
    ),
    // The consumer is said to have broken what its provider broke.
    (
        "cc_112_the_consumer_breaks_the_agreement",
        "the effect `breach_recorded`",
        |story| {
            let breach = breach(story, 2);
            let (consumer, provider) = (
                story.get(breach, "/consumer"),
                story.get(breach, "/provider"),
            );
            let stream = format!("conduct:{}", consumer.as_str().unwrap());
            story
                .set(breach, "/consumer", provider)
                .set(breach, "/provider", consumer)
                .in_stream(breach, &stream);
            not_excluded(story);
        },
    ),
    (
        "cc_112_a_result_is_hidden_in_mail_and_its_lapse_is_a_breach",
        "is not in its stream",
        |story| {
            let result = story.messages("x811/result")[0];
            let to = story.get(result, "/envelope/to");
            delivery_is_a_breach(story);
            story
                .in_stream(result, &format!("mail:{}", to.as_str().unwrap()))
                .set(result, "/derived", json!({}));
        },
    ),
    // A ledger that withholds a RESULT makes a breach; its sender has the answer with the record's hash.
    (
        "lc_9_a_result_is_left_out_and_its_lapse_is_a_breach",
        WORD,
        |story| {
            let result = story.messages("x811/result")[0];
            delivery_is_a_breach(story);
            story.without([result]);
        },
    ),
    (
        "lc_9_an_erased_request_was_under_no_agreement_that_is_broken",
        WORD,
        |story| {
            let request = request(story, 3);
            under_none(story, 3);
            story.unset(request, "/facts/agreement_id").set(
                request,
                "/facts/task_type",
                json!("translation"),
            );
            erased(story, request);
        },
    ),
];

#[tokio::test]
async fn cc_112_and_cc_113_no_lie_about_interactions_and_conduct_holds() {
    hold(&honest().await, LIES);
}
