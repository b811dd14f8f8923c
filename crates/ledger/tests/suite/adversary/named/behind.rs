//! A lapse of each machine that is held back behind one decision about something else (ledger-contract.md
//! section 1.3). Whoever writes the log gains by what is decided meanwhile: a rival that comes in time, a
//! session with somebody who would have been excluded.

use serde_json::{Value, json};
use x811_audit::{Options, Outcome, Report, Unchecked, audit_export};
use x811_protocol::facts::{CapabilityVerb, ConsensusVerb as Verb, NegotiationVerb};
use x811_protocol::parameters::{Capabilities, Contracts, Exclusion, Rounds};

use super::super::bargain::{Bargain, taking};
use super::super::bundles::bundle;
use super::super::conduct::{Scene, accepted, broken, excluding};
use super::super::council::{Council, running};
use super::super::deal::{Deal, Until};
use super::super::ledgerbox::Ledgerbox;
use super::super::log::Written;
use super::super::party::Account;
use super::super::talks::{LIFE_MS, Talks, talking};
use super::Story;

/// Two others register.
async fn goes_on(ledgerbox: &Ledgerbox) -> Story {
    ledgerbox.provider().await;
    ledgerbox.provider().await;
    Story::written_by(ledgerbox).await
}

async fn request_unanswered() -> Story {
    let ledgerbox = Ledgerbox::open().await;
    Deal::opened(&ledgerbox, Until::Pending).await;
    ledgerbox.advance_ms(60_001).await;
    goes_on(&ledgerbox).await
}

async fn terms_unanswered() -> Story {
    let ledgerbox = talking(Contracts::DEFAULT).await;
    let mut talks = Talks::new(&ledgerbox).await;
    let payer = talks.payer.clone();
    let offer = NegotiationVerb::Offer;
    talks.say(&ledgerbox, &payer, offer, "0.41").await;
    ledgerbox.advance_ms(LIFE_MS + 1).await;
    goes_on(&ledgerbox).await
}

async fn session_unanswered() -> Story {
    let ledgerbox = taking(Capabilities::DEFAULT).await;
    let mut bargain = Bargain::new(&ledgerbox).await;
    let (consumer, request) = (bargain.consumer.clone(), CapabilityVerb::Request);
    bargain
        .say(&ledgerbox, &consumer, request, &Value::Null)
        .await;
    ledgerbox.advance_ms(DAY_MS).await;
    goes_on(&ledgerbox).await
}

async fn agreement_over() -> Story {
    let ledgerbox = taking(Capabilities::DEFAULT).await;
    let mut bargain = Bargain::new(&ledgerbox).await;
    let terms = Bargain::terms(60, 5);
    bargain.agree(&ledgerbox, &terms).await;
    ledgerbox.advance_ms(60_000).await;
    goes_on(&ledgerbox).await
}

async fn votes_over() -> Story {
    let ledgerbox = running(Rounds::DEFAULT).await;
    let mut council = Council::new(&ledgerbox, 3).await;
    let proposal = council.proposal(&ledgerbox, 60_000, |_| {});
    ledgerbox.accept(&proposal).await;
    ledgerbox.advance_ms(60_001).await;
    goes_on(&ledgerbox).await
}

/// The third breach of an agreement excludes its provider.
async fn excluded() -> Story {
    let ledgerbox = excluding(Some(Exclusion::DEFAULT)).await;
    Scene::set(&ledgerbox).await.exclude(&ledgerbox).await;
    goes_on(&ledgerbox).await
}

/// Longer than a session is open for.
const DAY_MS: u64 = 86_400_000;

fn is_effect(written: &Written) -> bool {
    written.event.get("cause").is_some() && written.event_type() != "notice_issued"
}

/// The last lapse and the effects behind it.
fn lapse_and_effects(story: &Story) -> Vec<u64> {
    let lapse = *story.events("lapsed").last().unwrap();
    let mut group = vec![lapse];
    let effects = story.names(is_effect);
    while effects.contains(&(lapse + group.len() as u64)) {
        group.push(lapse + group.len() as u64);
    }
    group
}

/// Holds the last lapse back, and what follows from it, behind the next registration; gives the position of
/// that.
fn hold_for_one(story: &mut Story) -> u64 {
    let group = lapse_and_effects(story);
    let told = story.names(|it| {
        let cause = it.event["cause"].as_u64();
        it.event_type() == "notice_issued" && cause.is_some_and(|cause| group.contains(&cause))
    });
    let mut others = story.events("agent_registered");
    others.retain(|name| *name > group[0]);
    for name in group.into_iter().chain(told) {
        story.moved(name, others[1]);
    }
    story.position(others[0])
}

/// That nothing else is found than that this was decided too early.
#[track_caller]
fn is_too_early(story: &Story, position: u64, what: &str) {
    let report = story.report();
    let found: Vec<u64> = report.findings.iter().map(|it| it.position).collect();
    assert_eq!(found, [position], "{what}: {:#?}", report.findings);
    let sentence = &report.findings[0].sentence;
    assert!(sentence.contains("held back"), "{what}: {sentence}");
    assert!(sentence.contains(what), "{what}: {sentence}");
}

#[tokio::test]
async fn lc_1_3_a_lapse_of_any_machine_is_held_back_for_one_decision() {
    for (honest, what) in [
        (request_unanswered().await, "the window for an OFFER"),
        (terms_unanswered().await, "the time to answer the terms"),
        (session_unanswered().await, "the window for a response"),
        (agreement_over().await, "the duration"),
        (votes_over().await, "the time for votes"),
        (excluded().await, "the window for a RESULT"),
    ] {
        assert_eq!(honest.report().findings, [], "{what}");
        let mut story = honest;
        let position = hold_for_one(&mut story);
        is_too_early(&story, position, what);
    }
}

/// Whoever breaks an agreement for the third time opens a session in the moment between the end of the window and
/// its lapse.
#[tokio::test]
async fn lc_1_3_a_session_is_opened_before_an_exclusion_that_was_due() {
    let ledgerbox = excluding(Some(Exclusion::DEFAULT)).await;
    let scene = Scene::set(&ledgerbox).await;
    for bargain in [&scene.first, &scene.again] {
        broken(&ledgerbox, bargain).await;
    }
    accepted(&ledgerbox, &scene.other).await;
    let window_ms = ledgerbox.parameters.windows.result_ms.max(60_000);
    ledgerbox.advance_ms(window_ms - 100).await;
    let mut more = scene.other.clone();
    more.agreement = None;
    let (consumer, request) = (more.consumer.clone(), CapabilityVerb::Request);
    more.say(&ledgerbox, &consumer, request, &Value::Null).await;
    ledgerbox.advance_ms(200).await;
    let honest = Story::written_by(&ledgerbox).await;
    assert_eq!(honest.report().findings, []);
    let mut story = honest;
    let lapse = lapse_and_effects(&story)[0];
    assert_eq!(story.events("excluded").len(), 1);
    let request = *story.messages(request.as_str()).last().unwrap();
    let (before, now) = (story.time(request), story.time(lapse) - 50);
    let deadline = story.get(request, "/derived/deadline_at_ms");
    let deadline = json!(deadline.as_u64().unwrap() + now - before);
    story
        .set(request, "/derived/deadline_at_ms", deadline)
        .at(request, now);
    let position = story.position(request);
    is_too_early(&story, position, "the window for a RESULT");
}

/// A round is held for a rival of higher rank, which is rejected. Before the lapse that frees it the operator lets
/// another rival in, which supersedes it.
#[tokio::test]
async fn cx_26_a_rival_is_let_in_before_a_held_round_is_freed() {
    let ledgerbox = running(Rounds::DEFAULT).await;
    let mut council = Council::new(&ledgerbox, 3).await;
    let mut rounds = Vec::new();
    for (specificity, to) in [(0, "a"), (9, "b"), (9, "c")] {
        let proposal = council.proposal(&ledgerbox, 120_000, |it| {
            it["action"]["to"] = json!(to);
            it["specificity"] = json!(specificity);
        });
        ledgerbox.accept(&proposal).await;
        ledgerbox.advance_ms(200).await;
        rounds.push((council.round, council.proposal_hash));
    }
    let decisions = [("approve", 0), ("reject", 1), ("approve", 2)];
    for (decision, of) in decisions {
        (council.round, council.proposal_hash) = rounds[of];
        for from in 0..3 {
            let said = json!({ "decision": decision, "rationale": "it is so" });
            council.say(&ledgerbox, from, Verb::Vote, said).await;
            ledgerbox.advance_ms(200).await;
        }
    }
    let honest = Story::written_by(&ledgerbox).await;
    assert_eq!(honest.report().findings, []);
    let mut story = honest;
    let decided = story.events("round_decided");
    let reasons = decided.iter().map(|it| story.get(*it, "/reason"));
    assert_eq!(
        reasons.collect::<Vec<_>>(),
        ["rejected", "accepted", "superseded"]
    );
    // The proposal of the last one comes behind the decision about the one before.
    let proposed = story.messages(Verb::Propose.as_str())[2];
    let opened = story.events("round_opened")[2];
    let next = story.messages(Verb::Vote.as_str());
    let next = *next.iter().find(|vote| **vote > decided[0]).unwrap();
    let told =
        story.names(|it| it.event_type() == "notice_issued" && it.event["cause"] == json!(opened));
    story
        .moved(proposed, next)
        .moved(opened, next)
        .without(told);
    let position = story.position(proposed);
    is_too_early(&story, position, "the time that it is held");
}

/// An interaction under an agreement that ends before the ACCEPT; others register before that, and before both.
async fn under_an_agreement(others: usize) -> (Story, Vec<u8>) {
    let mut ledgerbox = taking(Capabilities::DEFAULT).await;
    let mut bargain = Bargain::new(&ledgerbox).await;
    bargain.agree(&ledgerbox, &Bargain::terms(60, 5)).await;
    ledgerbox.advance_ms(50_000).await;
    let (id, request) = bargain.use_it(&ledgerbox, |_| {});
    ledgerbox.accept(&request).await;
    let (consumer, provider) = (&bargain.consumer, &bargain.provider);
    let mut deal = Deal::between(&ledgerbox, consumer, provider, Account::new(0x46));
    deal.request_id = id;
    let offer = deal.offer(&ledgerbox);
    ledgerbox.accept(&offer).await;
    ledgerbox.advance_ms(9_000).await;
    for _ in 0..others {
        ledgerbox.provider().await;
    }
    ledgerbox.advance_ms(1_000).await;
    let accept = deal.accept(&ledgerbox);
    ledgerbox.accept(&accept).await;
    ledgerbox.provider().await;
    let honest = bundle(&ledgerbox, deal.id()).await;
    ledgerbox.stop().await.unwrap();
    (Story::written_by(&ledgerbox).await, honest)
}

fn audited(story: &Story, bundle: &[u8]) -> Report {
    let options = Options {
        trust: Some(story.trusted().clone().into()),
        ..Options::default()
    };
    audit_export(bundle, options).unwrap()
}

fn late_lapses(report: &Report) -> u64 {
    let extract = report.extract.as_ref().unwrap();
    let count = extract.not_checked.get(&Unchecked::LateLapses);
    count.copied().unwrap_or_default()
}

/// A bundle has the agreement's stream too. Where fewer records are missing than a backlog has, nothing explains
/// it; otherwise it is counted.
#[tokio::test]
async fn lc_1_3_a_bundle_shows_what_no_backlog_explains() {
    for (others, verdict) in [(2, Outcome::Broken), (260, Outcome::Clean)] {
        let (honest, bundle) = under_an_agreement(others).await;
        let report = audited(&honest, &bundle);
        assert_eq!(report.findings, []);
        let unseen = late_lapses(&report);
        let mut story = honest.clone();
        let lapse = *story.events("lapsed").last().unwrap();
        let told = story
            .names(|it| it.event_type() == "notice_issued" && it.event["cause"] == json!(lapse));
        let accept = story.messages("x811/accept")[0];
        let last = *story.events("agent_registered").last().unwrap();
        story.moved(lapse, last);
        for notice in told {
            story.moved(notice, last);
        }
        story.is_found();
        let report = audited(&honest, &story.bundle(&bundle));
        assert_eq!(report.verdict, verdict, "{:#?}", report.findings);
        if verdict == Outcome::Broken {
            assert_eq!(report.findings[0].position, story.position(accept));
        } else {
            assert_eq!(late_lapses(&report), unseen + 1);
        }
    }
}

/// In a bundle it is not checked whether others were served before a lapse, where records of others are between.
#[tokio::test]
async fn lc_1_3_a_bundle_counts_lapses_that_others_may_have_come_before() {
    for others in [0, 1] {
        let ledgerbox = Ledgerbox::open().await;
        let deal = Deal::opened(&ledgerbox, Until::Pending).await;
        for _ in 0..others {
            ledgerbox.advance_ms(59_000).await;
            ledgerbox.provider().await;
        }
        ledgerbox.advance_ms(60_001).await;
        let bundle = bundle(&ledgerbox, deal.id()).await;
        let story = Story::written_by(&ledgerbox).await;
        let report = audited(&story, &bundle);
        assert_eq!(
            (report.findings, late_lapses(&audited(&story, &bundle))),
            (vec![], others)
        );
    }
}
