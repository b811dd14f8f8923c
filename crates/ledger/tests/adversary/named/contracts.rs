//! Negotiations: what was agreed on, what it opened, and what lapsed (contract.md).

use serde_json::{Value, json};
use tokio::sync::OnceCell;
use x811_protocol::facts::NegotiationVerb;
use x811_protocol::parameters::Contracts;

use super::{Story, found};
use crate::deal::Deal;
use crate::ledgerbox::{Ledgerbox, parameters};
use crate::party::Account;
use crate::rarer::quiet;
use crate::single::written_by;
use crate::talks::{LIFE_MS, Talks};

/// How long an agreed contract waits for its REQUEST.
const ENGAGEMENT_MS: u64 = 20_000;

const OFFER: &str = "x811.negotiation/offer";
const COUNTER: &str = "x811.negotiation/counter";
const ACCEPT: &str = "x811.negotiation/accept";

/// Three negotiations: agreed and engaged, agreed and not engaged, and countered once.
async fn negotiated() -> Ledgerbox {
    let mut parameters = parameters();
    parameters.contracts = Some(Contracts {
        engagement_ms: ENGAGEMENT_MS,
        ..Contracts::DEFAULT
    });
    let mut ledgerbox = Ledgerbox::with(parameters).await;
    let mut engaged = Talks::new(&ledgerbox).await;
    engaged.agree(&ledgerbox).await;
    let (payer, payee) = (engaged.payer.clone(), engaged.payee.clone());
    let mut deal = Deal::between(&ledgerbox, &payer, &payee, Account::new(0x46));
    let (id, request) = engaged.request(&ledgerbox, |_| {});
    ledgerbox.accept(&request).await;
    deal.request_id = id;
    let offer = deal.offer(&ledgerbox);
    ledgerbox.accept(&offer).await;
    let mut idle = Talks::between(payer.clone(), payee.clone(), engaged.stranger.clone());
    idle.agree(&ledgerbox).await;
    let mut open = Talks::between(payer.clone(), payee.clone(), engaged.stranger.clone());
    open.say(&ledgerbox, &payer, NegotiationVerb::Offer, "0.41")
        .await;
    open.say(&ledgerbox, &payee, NegotiationVerb::Counter, "2.05")
        .await;
    ledgerbox.watch_ms(LIFE_MS + 1_000).await;
    assert_eq!(idle.state(&ledgerbox), "accepted");
    assert_eq!(open.state(&ledgerbox), "expired");
    quiet(&mut ledgerbox).await;
    ledgerbox
}

async fn honest() -> Story {
    static WRITTEN: OnceCell<Story> = OnceCell::const_new();
    let write = || async { Story::of(written_by(&negotiated().await).await) };
    WRITTEN.get_or_init(write).await.clone()
}

/// The REQUEST that names a contract.
fn request(story: &Story) -> u64 {
    let requests = story.messages("x811/request");
    let derived = |name: &&u64| story.record(**name).event["derived"]["contract"].is_object();
    *requests.iter().find(derived).expect("one was made")
}

/// Lapses of that window.
fn lapses(story: &Story, window: &str) -> Vec<u64> {
    let mut lapses = story.events("lapsed");
    lapses.retain(|name| story.get(*name, "/window") == window);
    lapses
}

/// A lapse, with the notices that tell of it.
fn with_notices(story: &Story, lapse: u64) -> Vec<u64> {
    let of_it = |name: &u64| story.record(*name).event["cause"] == json!(lapse);
    let notices = story.events("notice_issued").into_iter().filter(of_it);
    std::iter::once(lapse).chain(notices).collect()
}

#[tokio::test]
async fn xn_9_the_first_log_of_negotiations_has_them_all() {
    let story = honest().await;
    assert_eq!(story.messages(OFFER).len(), 3);
    assert_eq!(story.messages(COUNTER).len(), 5);
    assert_eq!(story.messages(ACCEPT).len(), 2);
    assert_eq!(story.events("engaged").len(), 1);
    for window in ["contract", "engagement"] {
        let lapses = lapses(&story, window);
        assert_eq!(lapses.len(), 1, "{window}");
        assert_eq!(with_notices(&story, lapses[0]).len(), 3);
    }
}

/// The payer may ask once more under the same contract.
#[tokio::test]
async fn xn_9_an_engagement_is_left_out() {
    let mut story = honest().await;
    let engaged = story.events("engaged")[0];
    story.without([engaged]);
    found!(story);
}

#[tokio::test]
async fn xn_9_an_engagement_names_another_interaction() {
    let mut story = honest().await;
    let engaged = story.events("engaged")[0];
    let other = story.get(story.messages(OFFER)[1], "/envelope/id");
    story.set(engaged, "/interaction", other);
    found!(story);
}

#[tokio::test]
async fn xn_9_an_engagement_comes_before_its_request() {
    let mut story = honest().await;
    let engaged = story.events("engaged")[0];
    story.moved(engaged, request(&story));
    found!(story);
}

/// The contract that nobody engaged is said to have been, so that its payer is bound.
#[tokio::test]
async fn xn_9_a_contract_is_engaged_that_nobody_asked_under() {
    let mut story = honest().await;
    let idle = lapses(&story, "engagement")[0];
    let engaged = story.record(story.events("engaged")[0]).event.clone();
    let stream = story.record(idle).stream.clone();
    let lapse = with_notices(&story, idle);
    story.put(idle, &stream, engaged);
    story.without(lapse);
    found!(story);
}

#[tokio::test]
async fn xn_9_a_contract_is_engaged_twice() {
    let mut story = honest().await;
    let engaged = story.events("engaged")[0];
    story.again(engaged, story.messages(OFFER)[1]);
    found!(story);
}

/// The price of the interaction is free again.
#[tokio::test]
async fn xx_6_a_request_forgets_its_contract() {
    let mut story = honest().await;
    let (request, engaged) = (request(&story), story.events("engaged")[0]);
    story.unset(request, "/derived/contract").without([engaged]);
    found!(story);
}

#[tokio::test]
async fn xx_6_a_request_is_held_to_another_amount() {
    for (member, value) in [
        ("amount", json!("1024999")),
        ("amount_of", json!("price")),
        ("accept", json!(1)),
        ("terms_hash", json!("5b".repeat(32))),
        ("deliverables_hash", json!("5b".repeat(32))),
    ] {
        let mut story = honest().await;
        let pointer = format!("/derived/contract/{member}");
        story.set(request(&story), &pointer, value);
        found!(story);
    }
}

/// It is held to the contract that lapsed, which has the same parties and terms.
#[tokio::test]
async fn xx_6_a_request_is_held_to_another_contract() {
    let mut story = honest().await;
    let idle = story.messages(OFFER)[1];
    let accept = story.messages(ACCEPT)[1];
    let request = request(&story);
    let id = story.get(idle, "/envelope/id");
    story.set(request, "/derived/contract/id", id);
    story.set(request, "/derived/contract/accept", json!(accept));
    found!(story);
}

#[tokio::test]
async fn xn_9_an_accept_is_left_out_behind_which_there_is_a_request() {
    let mut story = honest().await;
    let accept = story.messages(ACCEPT)[0];
    story.without([accept]);
    found!(story);
}

#[tokio::test]
async fn xn_5_the_last_counter_is_left_out_and_its_accept_is_not() {
    let mut story = honest().await;
    let counters = story.messages(COUNTER);
    story.without([counters[1]]);
    found!(story);
}

#[tokio::test]
async fn xn_5_a_counter_is_put_into_another_negotiation() {
    let mut story = honest().await;
    let counter = *story.messages(COUNTER).last().unwrap();
    let stream = story.record(story.messages(OFFER)[1]).stream.clone();
    story.in_stream(counter, &stream);
    found!(story);
}

#[tokio::test]
async fn xn_5_an_accept_is_hidden_in_mail_and_the_contract_lapses() {
    let mut story = honest().await;
    let accept = story.messages(ACCEPT)[1];
    let to = story.get(accept, "/envelope/to");
    let lapse = with_notices(&story, lapses(&story, "engagement")[0]);
    story
        .in_stream(accept, &format!("mail:{}", to.as_str().unwrap()))
        .set(accept, "/derived", json!({}))
        .without(lapse);
    found!(story);
}

#[tokio::test]
async fn xn_5_a_counter_is_recorded_twice() {
    let mut story = honest().await;
    let counter = story.messages(COUNTER)[0];
    story.again(counter, story.messages(COUNTER)[1]);
    found!(story);
}

/// Who lets it lapse is no longer bound by what was agreed.
#[tokio::test]
async fn xx_3_an_agreed_contract_lapses_early() {
    let mut story = honest().await;
    let lapse = with_notices(&story, lapses(&story, "engagement")[0]);
    let before = story.messages(OFFER)[2];
    for name in lapse {
        story.moved(name, before);
    }
    found!(story);
}

#[tokio::test]
async fn xx_3_a_negotiation_never_lapses() {
    for window in ["contract", "engagement"] {
        let mut story = honest().await;
        let lapse = with_notices(&story, lapses(&story, window)[0]);
        story.without(lapse);
        found!(story);
    }
}

#[tokio::test]
async fn xx_3_a_lapse_is_told_to_nobody() {
    let mut story = honest().await;
    let lapse = with_notices(&story, lapses(&story, "contract")[0]);
    story.without(lapse.into_iter().skip(1));
    found!(story);
}

#[tokio::test]
async fn xx_3_a_lapse_is_of_the_other_window() {
    let mut story = honest().await;
    let lapse = lapses(&story, "contract")[0];
    story.set(lapse, "/window", json!("engagement"));
    story.set(lapse, "/code", json!("X811-4020"));
    for notice in with_notices(&story, lapse).into_iter().skip(1) {
        story.set(notice, "/code", json!("X811-4020"));
    }
    found!(story);
}

/// Parameters under which what was said could not have been.
#[tokio::test]
async fn xx_4_negotiations_were_opened_under_other_limits() {
    let limits: [(&str, Value); 5] = [
        ("/contracts/max_turns", json!(2)),
        ("/contracts/max_life_ms", json!(LIFE_MS - 1)),
        ("/contracts/min_life_ms", json!(LIFE_MS + 1)),
        ("/contracts/engagement_ms", json!(ENGAGEMENT_MS + 1)),
        ("/contracts/open_per_pair", json!(1)),
    ];
    for (pointer, value) in limits {
        let mut story = honest().await;
        let set = story.events("parameters_set")[0];
        story.set(set, pointer, value);
        found!(story);
    }
}

#[tokio::test]
async fn mach_1_negotiations_go_on_where_they_are_off() {
    let mut story = honest().await;
    let set = story.events("parameters_set")[0];
    story.unset(set, "/contracts");
    found!(story);
}
