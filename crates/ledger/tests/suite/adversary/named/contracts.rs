//! Negotiations: what was agreed on, what it opened, and what lapsed (contract.md).

use serde_json::{Value, json};
use x811_protocol::facts::NegotiationVerb;
use x811_protocol::parameters::Contracts;

use super::super::deal::Deal;
use super::super::party::Account;
use super::super::talks::{LIFE_MS, Talks, talking};
use super::{Story, Told, hold};

/// How long an agreed contract waits for its REQUEST.
const ENGAGEMENT_MS: u64 = 20_000;

const OFFER: &str = "x811.negotiation/offer";
const COUNTER: &str = "x811.negotiation/counter";
const ACCEPT: &str = "x811.negotiation/accept";

/// Three negotiations: agreed and engaged, agreed and not engaged, and countered once.
pub(super) async fn honest() -> Story {
    let ledgerbox = talking(Contracts {
        engagement_ms: ENGAGEMENT_MS,
        ..Contracts::DEFAULT
    })
    .await;
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
    Story::at_rest(ledgerbox).await
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

const STORIES: &[Told] = &[
    // The payer may ask once more under the same contract.
    ("xn_9_an_engagement_is_left_out", |story| {
        let engaged = story.events("engaged")[0];
        story.without([engaged]);
    }),
    ("xn_9_an_engagement_names_another_interaction", |story| {
        let engaged = story.events("engaged")[0];
        let other = story.get(story.messages(OFFER)[1], "/envelope/id");
        story.set(engaged, "/interaction", other);
    }),
    ("xn_9_an_engagement_comes_before_its_request", |story| {
        let engaged = story.events("engaged")[0];
        story.moved(engaged, request(story));
    }),
    // The contract that nobody engaged is said to have been, so that its payer is bound.
    (
        "xn_9_a_contract_is_engaged_that_nobody_asked_under",
        |story| {
            let idle = lapses(story, "engagement")[0];
            let engaged = story.record(story.events("engaged")[0]).event.clone();
            let stream = story.record(idle).stream.clone();
            let lapse = with_notices(story, idle);
            story.put(idle, &stream, engaged);
            story.without(lapse);
        },
    ),
    ("xn_9_a_contract_is_engaged_twice", |story| {
        let engaged = story.events("engaged")[0];
        story.again(engaged, story.messages(OFFER)[1]);
    }),
    // The price of the interaction is free again.
    ("xx_6_a_request_forgets_its_contract", |story| {
        let (request, engaged) = (request(story), story.events("engaged")[0]);
        story.unset(request, "/derived/contract").without([engaged]);
    }),
    // It is held to the contract that lapsed, which has the same parties and terms.
    ("xx_6_a_request_is_held_to_another_contract", |story| {
        let idle = story.messages(OFFER)[1];
        let accept = story.messages(ACCEPT)[1];
        let request = request(story);
        let id = story.get(idle, "/envelope/id");
        story.set(request, "/derived/contract/id", id);
        story.set(request, "/derived/contract/accept", json!(accept));
    }),
    (
        "xn_9_an_accept_is_left_out_behind_which_there_is_a_request",
        |story| {
            let accept = story.messages(ACCEPT)[0];
            story.without([accept]);
        },
    ),
    (
        "xn_5_the_last_counter_is_left_out_and_its_accept_is_not",
        |story| {
            let counters = story.messages(COUNTER);
            story.without([counters[1]]);
        },
    ),
    ("xn_5_a_counter_is_put_into_another_negotiation", |story| {
        let counter = *story.messages(COUNTER).last().unwrap();
        let stream = story.record(story.messages(OFFER)[1]).stream.clone();
        story.in_stream(counter, &stream);
    }),
    (
        "xn_5_an_accept_is_hidden_in_mail_and_the_contract_lapses",
        |story| {
            let accept = story.messages(ACCEPT)[1];
            let to = story.get(accept, "/envelope/to");
            let lapse = with_notices(story, lapses(story, "engagement")[0]);
            story
                .in_stream(accept, &format!("mail:{}", to.as_str().unwrap()))
                .set(accept, "/derived", json!({}))
                .without(lapse);
        },
    ),
    ("xn_5_a_counter_is_recorded_twice", |story| {
        let counter = story.messages(COUNTER)[0];
        story.again(counter, story.messages(COUNTER)[1]);
    }),
    // Who lets it lapse is no longer bound by what was agreed.
    ("xx_3_an_agreed_contract_lapses_early", |story| {
        let lapse = with_notices(story, lapses(story, "engagement")[0]);
        let before = story.messages(OFFER)[2];
        for name in lapse {
            story.moved(name, before);
        }
    }),
    ("xx_3_a_lapse_is_told_to_nobody", |story| {
        let lapse = with_notices(story, lapses(story, "contract")[0]);
        story.without(lapse.into_iter().skip(1));
    }),
    ("xx_3_a_lapse_is_of_the_other_window", |story| {
        let lapse = lapses(story, "contract")[0];
        story.set(lapse, "/window", json!("engagement"));
        story.set(lapse, "/code", json!("X811-4020"));
        for notice in with_notices(story, lapse).into_iter().skip(1) {
            story.set(notice, "/code", json!("X811-4020"));
        }
    }),
    ("mach_1_negotiations_go_on_where_they_are_off", |story| {
        let set = story.events("parameters_set")[0];
        story.unset(set, "/contracts");
    }),
];

#[tokio::test]
async fn xn_5_xn_9_xx_3_xx_6_and_mach_1_no_story_of_negotiations_holds() {
    hold(&honest().await, STORIES);
}

#[tokio::test]
async fn xx_6_a_request_is_held_to_another_amount() {
    let honest = honest().await;
    for (member, value) in [
        ("amount", json!("1024999")),
        ("amount_of", json!("price")),
        ("accept", json!(1)),
        ("terms_hash", json!("5b".repeat(32))),
        ("deliverables_hash", json!("5b".repeat(32))),
    ] {
        let mut story = honest.clone();
        let pointer = format!("/derived/contract/{member}");
        story.set(request(&story), &pointer, value);
        story.is_found();
    }
}

#[tokio::test]
async fn xx_3_a_negotiation_never_lapses() {
    let honest = honest().await;
    for window in ["contract", "engagement"] {
        let mut story = honest.clone();
        let lapse = with_notices(&story, lapses(&story, window)[0]);
        story.without(lapse);
        story.is_found();
    }
}

/// Parameters under which what was said could not have been.
#[tokio::test]
async fn xx_4_negotiations_were_opened_under_other_limits() {
    let honest = honest().await;
    let limits: [(&str, Value); 5] = [
        ("/contracts/max_turns", json!(2)),
        ("/contracts/max_life_ms", json!(LIFE_MS - 1)),
        ("/contracts/min_life_ms", json!(LIFE_MS + 1)),
        ("/contracts/engagement_ms", json!(ENGAGEMENT_MS + 1)),
        ("/contracts/open_per_pair", json!(1)),
    ];
    for (pointer, value) in limits {
        let mut story = honest.clone();
        let set = story.events("parameters_set")[0];
        story.set(set, pointer, value);
        story.is_found();
    }
}
