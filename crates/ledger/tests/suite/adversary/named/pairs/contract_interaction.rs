//! What was agreed on, and the interaction that it binds (contract.md, "From contract to interaction"). A payer's
//! friend gains by a lower price, by a contract that binds it no longer and by one that serves twice; a payee's by
//! the dearer of two.

use serde_json::{Value, json};
use x811_protocol::digest::Digest;
use x811_protocol::facts::NegotiationVerb as Verb;
use x811_protocol::parameters::Contracts;

use super::super::super::deal::Deal;
use super::super::super::party::Account;
use super::super::super::talks::{Talks, talking};
use super::super::Story;
use super::bodies::{erased, requested_again};
use super::{Lie, Pair, WORD, hold};

pub(super) const PAIR: Pair = Pair {
    cause: "contract",
    effect: "interaction",
    lies: &[LIES],
};

/// How long an agreed contract waits for its REQUEST.
const ENGAGEMENT_MS: u64 = 30_000;

/// Places of the contracts, in the order of their offers.
const CHEAP: usize = 0;
const DEAR: usize = 1;
const IDLE: usize = 2;

/// Three agreed contracts, of which the third is never asked under; a REQUEST under each of the others, and one
/// under none. The cheap one is delivered and not paid, the dear one never answered.
pub(super) async fn honest() -> Story {
    let ledgerbox = talking(Contracts {
        engagement_ms: ENGAGEMENT_MS,
        ..Contracts::DEFAULT
    })
    .await;
    let mut cheap = Talks::new(&ledgerbox).await;
    let (payer, payee) = (cheap.payer.clone(), cheap.payee.clone());
    let between = || Talks::between(payer.clone(), payee.clone(), payee.clone());
    cheap.agree(&ledgerbox).await;
    let (mut dear, mut idle) = (between(), between());
    for (talks, amount) in [(&mut dear, "1.23"), (&mut idle, "1.025")] {
        ledgerbox.advance_ms(1_000).await;
        talks.say(&ledgerbox, &payer, Verb::Offer, amount).await;
        talks.say(&ledgerbox, &payee, Verb::Accept, "").await;
    }
    ledgerbox.advance_ms(1_000).await;
    let mut deal = Deal::between(&ledgerbox, &payer, &payee, Account::new(0x46));
    let (id, request) = cheap.request(&ledgerbox, |_| {});
    ledgerbox.accept(&request).await;
    deal.request_id = id;
    for step in [Deal::offer, Deal::accept, Deal::result, Deal::verify] {
        ledgerbox.advance_ms(1_000).await;
        let message = step(&mut deal, &ledgerbox);
        ledgerbox.accept(&message).await;
    }
    ledgerbox.advance_ms(1_000).await;
    let (_, request) = dear.request(&ledgerbox, |_| {});
    ledgerbox.accept(&request).await;
    let mut plain = Deal::between(&ledgerbox, &payer, &payee, Account::new(0x46));
    let request = plain.request(&ledgerbox);
    ledgerbox.accept(&request).await;
    ledgerbox.watch_ms(100_000).await;
    Story::at_rest(ledgerbox).await
}

/// The first step of that contract's negotiation.
fn opening(story: &Story, contract: usize) -> u64 {
    story.messages(Verb::Offer.as_str())[contract]
}

/// The REQUEST of that number: under the cheap contract, under the dear one, under none.
fn request(story: &Story, number: usize) -> u64 {
    story.messages("x811/request")[number]
}

/// The lapse of the contract that nobody asked under.
fn idle_lapse(story: &Story) -> u64 {
    story.lapses("engagement")[0]
}

/// A record of that contract says that it is engaged, right behind the REQUEST.
fn engages(story: &mut Story, contract: usize, number: usize) {
    let (request, stream) = (
        request(story, number),
        story.stream(opening(story, contract)),
    );
    let interaction = story.get(request, "/envelope/id");
    let engaged = json!({ "type": "engaged", "cause": request, "interaction": interaction });
    let next = story.next(request);
    story.put(next, &stream, engaged);
}

/// That contract lapses in the way of the idle one, as if nobody had asked under it.
fn lapses_too(story: &mut Story, contract: usize) {
    let (like, before) = (idle_lapse(story), story.next(idle_lapse(story)));
    let (offer, step) = (opening(story, contract), last_accept(story, contract));
    let stream = story.stream(offer);
    let event = story.record(like).event.clone();
    let lapse = story.put(like, &stream, event);
    let of = format!("neg-{}", story.get(offer, "/envelope/id").as_str().unwrap());
    let members = [
        ("negotiation_id", json!(of)),
        ("related_message_id", story.get(step, "/envelope/id")),
    ];
    story.told_like((like, lapse), before, &members);
}

fn last_accept(story: &Story, contract: usize) -> u64 {
    story.messages(Verb::Accept.as_str())[contract]
}

/// What the contract of that number came to, as a REQUEST has it.
fn of_contract(story: &Story, number: usize) -> Value {
    story.get(request(story, number), "/derived/contract")
}

/// The REQUEST forgets its contract, which was never engaged.
fn forgotten(story: &mut Story, number: usize) {
    let (request, engaged) = (request(story, number), story.events("engaged")[number]);
    story.unset(request, "/derived/contract").without([engaged]);
}

/// The payer's REQUEST under no contract once more, as one that engages the idle contract.
fn engages_by_an_old_signature(story: &mut Story) {
    let (lapse, plain) = (idle_lapse(story), request(story, 2));
    let at_ms = story.time(plain);
    let copy = requested_again(story, plain, lapse, at_ms);
    let (offer, accept) = (opening(story, IDLE), last_accept(story, IDLE));
    let (id, mut contract) = (story.get(offer, "/envelope/id"), of_contract(story, CHEAP));
    (contract["id"], contract["accept"]) = (id.clone(), json!(accept));
    story
        .set(copy, "/facts/negotiation_id", id)
        .set(copy, "/derived/contract", contract);
    let interaction = story.get(copy, "/envelope/id");
    let engaged = json!({ "type": "engaged", "cause": copy, "interaction": interaction });
    let (stream, told) = (story.stream(offer), story.with_notices(lapse));
    let engaged = story.put(lapse, &stream, engaged);
    story.at(engaged, at_ms).without(told);
}

const LIES: &[Lie] = &[
    // Each REQUEST is under the contract of the other one.
    (
        "xx_6_two_requests_are_under_each_others_contracts",
        "it was not held to the contract it names",
        |story| {
            let contracts = [CHEAP, DEAR].map(|number| of_contract(story, number));
            let engaged = story.events("engaged");
            let streams = [0, 1].map(|number| story.stream(engaged[number]));
            for (number, other) in [(0, 1), (1, 0)] {
                let request = request(story, number);
                story
                    .set(request, "/derived/contract", contracts[other].clone())
                    .in_stream(engaged[number], &streams[other]);
            }
        },
    ),
    // A REQUEST that names none is under the contract that nobody engaged, so that this binds its payee.
    (
        "xn_9_a_request_that_names_no_contract_engages_the_idle_one",
        "it was not held to the contract it names",
        |story| {
            let mut contract = of_contract(story, CHEAP);
            let (accept, offer) = (last_accept(story, IDLE), opening(story, IDLE));
            contract["id"] = story.get(offer, "/envelope/id");
            contract["accept"] = json!(accept);
            let (plain, lapse) = (request(story, 2), story.with_notices(idle_lapse(story)));
            story
                .set(plain, "/derived/contract", contract)
                .without(lapse);
            engages(story, IDLE, 2);
        },
    ),
    // One contract serves for two interactions.
    (
        "xn_9_a_contract_is_asked_under_once_more",
        "it was not held to the contract it names",
        |story| {
            let (contract, plain) = (of_contract(story, CHEAP), request(story, 2));
            story.set(plain, "/derived/contract", contract);
            engages(story, CHEAP, 2);
        },
    ),
    // The payer is bound by nothing: nobody asked under the dear contract, which lapses.
    (
        "xx_3_an_engaged_contract_lapses_as_if_nobody_had_asked",
        "it was not held to the contract it names",
        |story| {
            forgotten(story, DEAR);
            lapses_too(story, DEAR);
        },
    ),
    (
        "xx_6_the_price_is_lowered_in_terms_contract_and_offer",
        "facts.terms: the record says",
        |story| {
            let (counter, request) = (story.messages(Verb::Counter.as_str())[1], request(story, 0));
            let offer = story.messages("x811/offer")[0];
            story
                .set(counter, "/facts/terms/amount", json!("820000"))
                .set(request, "/derived/contract/amount", json!("820000"))
                .set(offer, "/facts/price", json!("800000"))
                .set(offer, "/facts/protocol_fee", json!("20000"))
                .set(offer, "/facts/total_cost", json!("820000"));
        },
    ),
    // The last word was had after the REQUEST, so that there was nothing yet to be bound by.
    (
        "xn_9_the_accept_of_a_contract_comes_behind_its_request",
        "names no contract that is agreed on",
        |story| {
            let accept = last_accept(story, CHEAP);
            let next = story.next(story.events("engaged")[0]);
            story.retimed_before(accept, next);
        },
    ),
    // The REQUEST came when the contract had lapsed, and engages it all the same.
    (
        "xx_3_a_request_engages_a_contract_whose_time_is_over",
        "the window for a REQUEST of contract",
        |story| {
            let (request, engaged) = (request(story, 1), story.events("engaged")[1]);
            let behind = story.next(idle_lapse(story));
            story.retimed_before(request, behind).moved(engaged, behind);
        },
    ),
    // Deliverables that nobody agreed on are in the terms, in the contract and in the OFFER.
    (
        "xx_6_other_deliverables_are_agreed_on_and_offered",
        "facts.terms: the record says",
        |story| {
            let (counter, request) = (story.messages(Verb::Counter.as_str())[1], request(story, 0));
            let (offer, other) = (
                story.messages("x811/offer")[0],
                json!(Digest::of(b"[\"nothing\"]")),
            );
            story
                .set(counter, "/facts/terms/deliverables_hash", other.clone())
                .set(
                    request,
                    "/derived/contract/deliverables_hash",
                    other.clone(),
                )
                .set(offer, "/facts/deliverables_hash", other);
        },
    ),
    // The dear contract is said to be that of the interaction that was delivered: the REQUESTs' bodies are erased.
    (
        "xx_6_erased_requests_are_under_each_others_contracts",
        "total_cost is 1.025 USDC and the contract",
        |story| {
            let contracts = [CHEAP, DEAR].map(|number| of_contract(story, number));
            let engaged = story.events("engaged");
            let streams = [0, 1].map(|number| story.stream(engaged[number]));
            for (number, other) in [(0, 1), (1, 0)] {
                let request = request(story, number);
                story
                    .set(
                        request,
                        "/facts/negotiation_id",
                        contracts[other]["id"].clone(),
                    )
                    .set(request, "/derived/contract", contracts[other].clone())
                    .in_stream(engaged[number], &streams[other]);
                erased(story, request);
            }
        },
    ),
    // A message that the payer once signed is recorded again as a REQUEST, and its body is erased.
    (
        "xn_9_an_old_signature_engages_the_idle_contract",
        "no two envelopes have the same bytes",
        engages_by_an_old_signature,
    ),
    // The body that names the contract is erased, and the REQUEST is said to have named none.
    (
        "lc_9_an_erased_request_forgets_its_contract",
        WORD,
        |story| {
            let request = request(story, 1);
            forgotten(story, 1);
            lapses_too(story, DEAR);
            story.unset(request, "/facts/negotiation_id");
            erased(story, request);
        },
    ),
];

#[tokio::test]
async fn xn_9_xx_3_and_xx_6_no_lie_about_a_contract_and_its_interaction_holds() {
    hold(&honest().await, LIES);
}
