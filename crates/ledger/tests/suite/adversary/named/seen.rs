//! Which head the ledger knew when an ACCEPT came. At or below it a payment is older than the ACCEPT, so the
//! operator gains by an old head, or by none: then its friend pays with what it had paid before for something
//! else. And a network that was blind is blind for everybody (ledger-contract.md section 5).

use serde_json::{Value, json};
use x811_protocol::observation::Block;

use super::super::base::Base;
use super::super::deal::{Deal, TOTAL_MICRO_USDC, Until};
use super::super::ledgerbox::Ledgerbox;
use super::super::scene::pay;
use super::{Story, Told, hold};

/// Blocks of an hour.
const HOUR: u64 = 1_800;

/// One interaction that was accepted, and another one that was accepted an hour later, and paid.
async fn honest() -> Story {
    let mut ledgerbox = Ledgerbox::open().await;
    ledgerbox.watch_ms(2_000).await;
    Deal::opened(&ledgerbox, Until::Accepted).await;
    ledgerbox.watch_ms(3_600_000).await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    pay(&mut ledgerbox, &deal, 1, TOTAL_MICRO_USDC).await;
    ledgerbox.watch_ms(60_000).await;
    assert_eq!(ledgerbox.state(deal.id()), "completed");
    Story::at_rest(ledgerbox).await
}

fn json_of(block: Block) -> Value {
    json!({ "number": block.number, "hash": block.hash, "timestamp_s": block.timestamp_s })
}

/// The ACCEPT of what was paid.
fn accept(story: &Story) -> u64 {
    story.messages("x811/accept")[1]
}

fn head_of(story: &Story) -> u64 {
    let head = story.get(accept(story), "/derived/heads/0/number");
    head.as_u64().unwrap()
}

/// The ACCEPT names that head.
fn name_head(story: &mut Story, number: u64) {
    let block = Base::block(number);
    for (member, value) in [
        ("number", json!(block.number)),
        ("hash", json!(block.hash)),
        ("timestamp_s", json!(block.timestamp_s)),
    ] {
        let pointer = format!("/derived/heads/0/{member}");
        story.set(accept(story), &pointer, value);
    }
}

/// What pays is mined in that block.
fn mined_in(story: &mut Story, number: u64) {
    let (seen, confirmed) = (story.events("seen")[0], story.events("confirmed")[0]);
    let was = story.get(seen, "/block/number").as_u64().unwrap();
    story.set(seen, "/block", json_of(Base::block(number)));
    let depth = story.get(confirmed, "/evidence/0/depth").as_u64().unwrap();
    story
        .set(confirmed, "/evidence/0/block", json_of(Base::block(number)))
        .set(confirmed, "/evidence/0/depth", json!(depth + was - number));
}

#[tokio::test]
async fn lc_5_the_honest_log_of_an_accept_holds() {
    let story = honest().await;
    let report = story.report();
    assert_eq!(report.findings, []);
    assert_eq!(report.paid.len(), 1);
}

const STORIES: &[Told] = &[
    // The transfer was made half an hour before the ACCEPT, which is said to have come when the head was an hour old.
    (
        "lc_5_a_transfer_of_before_the_accept_pays_behind_an_old_head",
        |story| {
            let head = head_of(story);
            name_head(story, head - HOUR + 30);
            mined_in(story, head - HOUR / 2);
        },
    ),
    // It is the head that the ACCEPT before named: the last one that the log has.
    (
        "lc_5_a_transfer_of_before_the_accept_pays_behind_the_last_recorded_head",
        |story| {
            let head = head_of(story);
            let first = story.messages("x811/accept")[0];
            let known = story.get(first, "/derived/heads/0/number");
            name_head(story, known.as_u64().unwrap());
            mined_in(story, head - HOUR / 2);
        },
    ),
    // No head is named at all, so that the clock decides what is older: two seconds are given.
    (
        "lc_5_an_accept_forgets_the_head_that_the_log_has_named",
        |story| {
            let accept = accept(story);
            story.unset(accept, "/derived/heads");
        },
    ),
    // A network is said to have been blind while somebody's ACCEPT names a head that would have ended that.
    (
        "lc_5_blindness_lies_over_an_accept_that_names_a_fresh_head",
        |story| {
            let accept = accept(story);
            let (head, stream) = (head_of(story), "network:base");
            let request = story.messages("x811/request")[1];
            let registered = story.messages("x811.registry/register");
            let before = *registered.iter().rfind(|name| **name < request).unwrap();
            let blind = json!({
                "type": "network_blind", "cause": "unreachable", "silent": [],
                "head": json_of(Base::block(head - 60)),
            });
            story.put(before, stream, blind);
            let result = story.messages("x811/result")[0];
            assert!(result > accept);
            let blind_ms = story.time(result) - story.time(before);
            let sighted = json!({
                "type": "network_sighted", "blind_ms": blind_ms, "head": json_of(Base::block(head)),
            });
            story.put(result, stream, sighted);
        },
    ),
];

#[tokio::test]
async fn lc_5_no_story_of_the_head_of_an_accept_holds() {
    hold(&honest().await, STORIES);
}
