//! What an agreement allows, and the REQUESTs under it (capability.md, "Use"). A consumer's friend gains by a use
//! more than was agreed on and by one that is not counted, a provider's by one less.

use serde_json::{Value, json};
use x811_protocol::facts::CapabilityVerb as Verb;
use x811_protocol::parameters::Capabilities;

use super::super::super::bargain::{Bargain, taking};
use super::super::super::deal::{Deal, Until};
use super::super::super::ledgerbox::{Ledgerbox, TASK};
use super::super::super::party::Account;
use super::super::Story;
use super::bodies::{erased, requested_again};
use super::{Lie, Pair, WORD, hold};

pub(super) const PAIR: Pair = Pair {
    cause: "agreement",
    effect: "interaction",
    lies: &[LIES],
};

const YEAR_S: u64 = 31_536_000;

/// Uses of the first revision, of the second one within a minute and in the next minute, and of the short agreement.
const FIRST: [usize; 2] = [0, 1];
const SECOND: [usize; 3] = [2, 3, 4];
const SHORT: usize = 5;

/// A REQUEST under the agreement, an OFFER, and no.
async fn used(ledgerbox: &Ledgerbox, bargain: &Bargain) {
    let (id, request) = bargain.use_it(ledgerbox, |_| {});
    ledgerbox.accept(&request).await;
    let (consumer, provider) = (&bargain.consumer, &bargain.provider);
    let mut deal = Deal::between(ledgerbox, consumer, provider, Account::new(0x46));
    deal.request_id = id;
    let offer = deal.offer(ledgerbox);
    ledgerbox.accept(&offer).await;
    ledgerbox.accept(&deal.reject(ledgerbox)).await;
    ledgerbox.advance_ms(1_000).await;
}

/// An agreement for two REQUESTs that are made, its second revision for four, which is revoked; a short one of the
/// same parties, and a REQUEST under none.
pub(super) async fn honest() -> Story {
    let ledgerbox = taking(Capabilities::DEFAULT).await;
    let mut bargain = Bargain::new(&ledgerbox).await;
    bargain.agree(&ledgerbox, &Bargain::terms(YEAR_S, 2)).await;
    used(&ledgerbox, &bargain).await;
    ledgerbox.advance_ms(60_000).await;
    used(&ledgerbox, &bargain).await;
    bargain.agree(&ledgerbox, &Bargain::terms(YEAR_S, 4)).await;
    ledgerbox.advance_ms(55_000).await;
    for _ in &SECOND[..2] {
        used(&ledgerbox, &bargain).await;
    }
    ledgerbox.advance_ms(4_000).await;
    used(&ledgerbox, &bargain).await;
    let mut short = bargain.clone();
    short.agreement = None;
    short.agree(&ledgerbox, &Bargain::terms(60, 2)).await;
    used(&ledgerbox, &short).await;
    let (consumer, provider) = (bargain.consumer.clone(), bargain.provider.clone());
    bargain
        .say(&ledgerbox, &consumer, Verb::Revoke, &Value::Null)
        .await;
    let mut plain = Deal::between(&ledgerbox, &consumer, &provider, Account::new(0x46));
    plain.go(&ledgerbox, Until::Pending).await;
    ledgerbox.watch_ms(61_000).await;
    Story::at_rest(ledgerbox).await
}

fn request(story: &Story, number: usize) -> u64 {
    story.messages("x811/request")[number]
}

/// The `used` of that REQUEST.
fn used_by(story: &Story, number: usize) -> u64 {
    let request = request(story, number);
    story.names(|it| it.event_type() == "used" && it.event["cause"] == request)[0]
}

/// Moves the REQUEST and its use to that moment, right before another record.
fn used_before(story: &mut Story, number: usize, before: u64) {
    let (request, used) = (request(story, number), used_by(story, number));
    story.retimed_before(request, before).moved(used, before);
}

/// The second signature under the second revision.
fn renewed(story: &Story) -> u64 {
    story.messages(Verb::Agree.as_str())[3]
}

/// The first use of the second revision is one more of the first.
fn third_of_two(story: &mut Story) {
    let request = request(story, SECOND[0]);
    used_before(story, SECOND[0], renewed(story));
    story.set(request, "/derived/agreement/revision", json!(1));
}

/// The REQUEST is under no agreement.
fn unused(story: &mut Story, number: usize) {
    let (request, used) = (request(story, number), used_by(story, number));
    story.unset(request, "/derived/agreement").without([used]);
}

const LIES: &[Lie] = &[
    // The short agreement has one left, as the other one is said to be used.
    (
        "cc_90_a_request_uses_another_agreement_of_its_parties",
        "it was not held to the agreement it names",
        |story| {
            let (of_short, used) = (request(story, SHORT), used_by(story, SHORT));
            let agreement = story.get(request(story, SECOND[0]), "/derived/agreement");
            let stream = story.stream(used_by(story, SECOND[0]));
            story
                .set(of_short, "/derived/agreement", agreement)
                .in_stream(used, &stream);
        },
    ),
    (
        "cc_90_a_third_request_is_under_a_revision_for_two",
        "all REQUESTs that were agreed on are used",
        third_of_two,
    ),
    // The next minute is told as the one before, so that what waited is refused in it.
    (
        "cc_90_three_requests_in_a_minute_are_under_an_agreement_for_two",
        "2 REQUESTs a minute were agreed on",
        |story| {
            let offer = story.messages("x811/offer")[SECOND[1]];
            used_before(story, SECOND[2], offer);
        },
    ),
    (
        "cc_87_a_revoked_agreement_is_used",
        "names no active agreement of yours",
        |story| {
            let revoked = story.messages(Verb::Revoke.as_str())[0];
            let before = request(story, SECOND[2]);
            story.moved(revoked, before);
        },
    ),
    // Its end is the moment that both have signed.
    (
        "cc_87_an_agreement_lasts_longer_than_was_signed",
        "the effect `agreed`",
        |story| {
            let (agreed, lapse) = (story.events("agreed")[2], story.lapses("agreement")[0]);
            let ends_ms = story.get(agreed, "/ends_at_ms").as_u64().unwrap() + 5_000;
            let behind = story.names(|it| it.at_ms > ends_ms)[0];
            story
                .set(agreed, "/ends_at_ms", json!(ends_ms))
                .moved_with_notices(lapse, behind)
                .at(lapse, ends_ms);
        },
    ),
    // The consumer has one use more, as the second is not counted.
    (
        "cc_90_a_use_is_not_counted",
        "it was not held to the agreement it names",
        |story| unused(story, FIRST[1]),
    ),
    (
        "cc_90_a_request_under_no_agreement_is_counted",
        "it was not held to the agreement it names",
        |story| {
            let plain = request(story, SHORT + 1);
            let (id, like) = (
                story.get(request(story, SHORT), "/derived/agreement"),
                used_by(story, SHORT),
            );
            let (interaction, stream) = (story.get(plain, "/envelope/id"), story.stream(like));
            story.set(plain, "/derived/agreement", id);
            let used = json!({ "type": "used", "cause": plain, "interaction": interaction });
            let next = story.next(plain);
            story.put(next, &stream, used);
        },
    ),
    // The terms allow a third REQUEST, in the step of the session and in what follows: its body is erased.
    (
        "cc_86_erased_terms_allow_a_third_request_that_nobody_signed",
        "are not those that were signed",
        |story| {
            let (offer, agreed) = (
                story.messages(Verb::Offer.as_str())[0],
                story.events("agreed")[0],
            );
            third_of_two(story);
            story.set(offer, "/facts/terms/max_requests", json!(3)).set(
                agreed,
                "/limits/max_requests",
                json!(3),
            );
            erased(story, offer);
        },
    ),
    // A REQUEST of before is recorded again and uses up what was agreed on.
    (
        "cc_90_an_old_signature_uses_an_agreement_up",
        "no two envelopes have the same bytes",
        |story| {
            let (plain, like) = (request(story, SHORT + 1), used_by(story, SHORT));
            let (before, stream) = (story.lapses("agreement")[0], story.stream(like));
            let at_ms = story.time(plain);
            let copy = requested_again(story, plain, before, at_ms);
            let agreement = story.get(request(story, SHORT), "/derived/agreement");
            let interaction = story.get(copy, "/envelope/id");
            story
                .set(copy, "/facts/agreement_id", agreement["id"].clone())
                .set(copy, "/facts/task_type", json!("com.example.translate"))
                .set(copy, "/derived/agreement", agreement);
            let used = json!({ "type": "used", "cause": copy, "interaction": interaction });
            let used = story.put(before, &stream, used);
            story.at(used, at_ms);
        },
    ),
    // Only the erased body shows that it was under an agreement.
    (
        "lc_9_an_erased_request_forgets_its_agreement",
        WORD,
        |story| {
            let request = request(story, FIRST[1]);
            unused(story, FIRST[1]);
            story.unset(request, "/facts/agreement_id").set(
                request,
                "/facts/task_type",
                json!(TASK),
            );
            erased(story, request);
        },
    ),
];

#[tokio::test]
async fn cc_86_cc_87_and_cc_90_no_lie_about_an_agreement_and_its_interactions_holds() {
    hold(&honest().await, LIES);
}
