//! What came late and is watched: reversals that never were or are left out, finality
//! that came too early, and a watch that never ends (ledger-contract.md section 5).

use serde_json::{Value, json};
use x811_protocol::code::Code;

use super::super::base::{DEPTH, tx};
use super::super::deal::{Deal, TOTAL_MICRO_USDC, Until};
use super::super::ledgerbox::Ledgerbox;
use super::{Story, Told, hold};

/// Long enough for a transaction of the next block to be confirmed.
const CONFIRMED_MS: u64 = DEPTH * 2_000 + 2_000;

/// Four looks, and the dispute.
const DISPUTED_MS: u64 = 440_000;

/// How long what is over is watched in [`ended`].
const WATCHED_MS: u64 = 300_000;

/// A deal in dispute that transaction 1 paid afterwards, and its block. Transaction 2 was declared too
/// and never came.
async fn paid_late(ledgerbox: &mut Ledgerbox, waits_ms: u64) -> (Deal, u64) {
    let deal = Deal::opened(ledgerbox, Until::Verified).await;
    ledgerbox.sweep().await;
    for number in [1, 2] {
        ledgerbox.accept(&deal.payment(ledgerbox, number)).await;
    }
    ledgerbox.watch_ms(DISPUTED_MS + waits_ms).await;
    assert_eq!(ledgerbox.state(deal.id()), "disputed");
    let block = comes(ledgerbox, &deal).await;
    (deal, block)
}

/// Transaction 1 comes into the next block and is confirmed there.
async fn comes(ledgerbox: &mut Ledgerbox, deal: &Deal) -> u64 {
    let block = deal.mine(ledgerbox, 1, &[TOTAL_MICRO_USDC]);
    ledgerbox.watch_ms(CONFIRMED_MS).await;
    block
}

/// Paid late, reversed, returned, final.
async fn honest() -> Story {
    let mut ledgerbox = Ledgerbox::open().await;
    let (deal, _) = paid_late(&mut ledgerbox, 0).await;
    ledgerbox.base.reorganise_away(tx(1));
    ledgerbox.watch_ms(CONFIRMED_MS).await;
    let block = comes(&mut ledgerbox, &deal).await;
    ledgerbox.watch_ms(20_000).await;
    ledgerbox.base.finalized = Some(block);
    ledgerbox.watch_ms(2_000).await;
    told(ledgerbox).await
}

/// Paid late and watched to the end of its time. Nothing became of it.
async fn ended() -> Story {
    let mut ledgerbox = Ledgerbox::but(|it| it.networks[0].late_ms = WATCHED_MS).await;
    paid_late(&mut ledgerbox, WATCHED_MS - 60_000).await;
    // Its own time is over by then, that of what came late is not.
    ledgerbox.watch_ms(100_000).await;
    ledgerbox.provider().await;
    ledgerbox.watch_ms(WATCHED_MS).await;
    told(ledgerbox).await
}

/// The story as it was, of which nothing is wrong.
async fn told(ledgerbox: Ledgerbox) -> Story {
    let story = Story::at_rest(ledgerbox).await;
    story.is_clean();
    story
}

/// The only event of that type.
fn only(story: &Story, event_type: &str) -> u64 {
    let events = story.events(event_type);
    assert_eq!(events.len(), 1, "{event_type}: {events:?}");
    events[0]
}

/// When it was seen first, and when it was back.
fn seen(story: &Story) -> [u64; 2] {
    story.events("seen").try_into().expect("it was seen twice")
}

/// The notices of that record.
fn notices(story: &Story, cause: u64) -> Vec<u64> {
    let told = story.names(|it| it.event["cause"] == json!(cause) && it.event["to"].is_string());
    assert_eq!(told.len(), 2);
    told
}

/// A record that never was in the stream of the interaction, right before another.
fn put(story: &mut Story, before: u64, event: Value) -> u64 {
    let stream = story.record(only(story, "late")).stream.clone();
    story.put(before, &stream, event)
}

/// It disappears right before another record, and both parties are told.
fn disappears(story: &mut Story, before: u64) {
    let tx_hash = story.get(only(story, "late"), "/claims/0/tx_hash");
    put(story, before, json!({"type": "unseen", "tx_hash": tx_hash}));
    reversed(story, before, &tx_hash);
}

fn reversed(story: &mut Story, before: u64, tx_hash: &Value) {
    let event = json!({
        "type": "reversed", "tx_hash": tx_hash, "provider_seq": 0, "provider_prev": "0".repeat(64),
    });
    let cause = put(story, before, event);
    let payment = *story.messages("x811/payment").last().unwrap();
    story.told_with(cause, (payment, json!(Code::PaymentFailed)), before);
}

const STORIES: &[Told] = &[
    (
        "rule_24_a_late_payment_is_reversed_that_was_there_all_the_time",
        |story| {
            let unseen = only(story, "unseen");
            story.without([unseen]);
        },
    ),
    (
        "rule_24_a_late_payment_is_reversed_and_then_final_all_the_same",
        |story| {
            let reached = only(story, "final");
            disappears(story, reached);
        },
    ),
    (
        "rule_24_a_late_payment_is_reversed_that_was_final",
        |story| {
            let greeting = *story.messages("x811.ext/greeting").last().unwrap();
            disappears(story, greeting);
        },
    ),
    (
        "rule_24_a_transaction_is_reversed_that_was_bound_neither_early_nor_late",
        |story| {
            let back = seen(story)[1];
            reversed(story, back, &json!(tx(2)));
        },
    ),
    ("rule_24_a_late_payment_is_reversed_twice", |story| {
        let (back, tx_hash) = (seen(story)[1], json!(tx(1)));
        reversed(story, back, &tx_hash);
    }),
    (
        "rule_24_a_late_reversal_is_left_out_and_what_was_not_taken_returns",
        |story| {
            let reversed = only(story, "reversed");
            let told = notices(story, reversed);
            story.without([reversed]).without(told);
        },
    ),
    (
        "rule_24_a_late_reversal_is_left_out_and_what_is_gone_is_final",
        |story| {
            let (reversed, returned) = (only(story, "reversed"), only(story, "returned"));
            let (told, back) = (notices(story, reversed), seen(story)[1]);
            story.without([reversed, returned, back]).without(told);
        },
    ),
    ("rule_24_a_late_reversal_is_told_to_nobody", |story| {
        let told = notices(story, only(story, "reversed"));
        story.without(told);
    }),
    (
        "rule_24_a_late_reversal_counts_as_another_receipt_of_the_provider",
        |story| {
            let reversed = only(story, "reversed");
            story.set(reversed, "/provider_seq", json!(1));
        },
    ),
    (
        "rule_24_a_late_payment_returns_before_it_is_back",
        |story| {
            let (returned, back) = (only(story, "returned"), seen(story)[1]);
            story.moved(returned, back);
        },
    ),
    (
        "rule_24_a_late_payment_returns_as_another_transfer",
        |story| {
            let back = seen(story)[1];
            story.set(back, "/transfers/0/amount", json!("7"));
        },
    ),
    (
        "lc_5_a_late_payment_is_final_while_it_is_reversed",
        |story| {
            let (reached, back) = (only(story, "final"), seen(story)[1]);
            story.moved(reached, back);
        },
    ),
    ("lc_5_a_late_payment_is_final_before_it_returned", |story| {
        let (reached, returned) = (only(story, "final"), only(story, "returned"));
        story.moved(reached, returned);
    }),
    (
        "lc_5_a_late_payment_is_final_before_it_was_bound",
        |story| {
            let (reached, late) = (only(story, "final"), only(story, "late"));
            story.moved(reached, late);
        },
    ),
    ("lc_5_a_late_payment_is_final_below_its_block", |story| {
        let reached = only(story, "final");
        let first = story.get(seen(story)[0], "/block");
        story.set(reached, "/head", first);
    }),
    (
        "lc_5_a_late_payment_is_final_by_a_head_of_the_future",
        |story| {
            let reached = only(story, "final");
            let later_s = story.time(reached) / 1_000 + 3_600;
            story.set(reached, "/head/number", json!(99_999_999));
            story.set(reached, "/head/timestamp_s", json!(later_s));
        },
    ),
    (
        "lc_5_a_late_payment_is_final_by_a_head_of_another_branch",
        |story| {
            let reached = only(story, "final");
            let other = json!(format!("0x{}", "ab".repeat(32)));
            story.set(reached, "/head/hash", other);
        },
    ),
    ("lc_5_a_late_payment_is_final_twice", |story| {
        let reached = only(story, "final");
        let greeting = *story.messages("x811.ext/greeting").last().unwrap();
        story.again(reached, greeting);
    }),
];

#[tokio::test]
async fn rule_24_and_lc_5_no_story_of_a_late_payment_holds() {
    hold(&honest().await, STORIES);
}

const OF_ITS_END: &[Told] = &[
    ("lc_5_a_late_payment_is_reversed_after_its_time", |story| {
        let greeting = *story.messages("x811.ext/greeting").last().unwrap();
        disappears(story, greeting);
    }),
    ("lc_5_a_late_payment_is_final_after_its_time", |story| {
        let greeting = *story.messages("x811.ext/greeting").last().unwrap();
        let block = story.get(only(story, "seen"), "/block");
        put(story, greeting, json!({"type": "final", "head": block}));
    }),
    (
        "lc_5_what_was_never_late_is_seen_while_the_late_payment_alone_is_watched",
        |story| {
            let late = only(story, "late");
            let mut event = story.record(only(story, "seen")).event.clone();
            event["tx_hash"] = json!(tx(2));
            let registered = story.events("agent_registered");
            let meanwhile = registered.into_iter().find(|name| *name > late);
            put(story, meanwhile.unwrap(), event);
        },
    ),
];

#[tokio::test]
async fn lc_5_no_story_of_what_is_watched_no_longer_holds() {
    hold(&ended().await, OF_ITS_END);
}

/// As of what paid: that something disappeared is the watcher's word.
#[tokio::test]
async fn lc_9_a_late_reversal_that_is_kept_quiet_is_the_ledgers_word() {
    let mut story = honest().await;
    let (unseen, reversed) = (only(&story, "unseen"), only(&story, "reversed"));
    let told = notices(&story, reversed);
    let rest = [unseen, reversed, seen(&story)[1], only(&story, "returned")];
    story.without(rest).without(told);
    let report = story.is_clean();
    // `--rpc` finds that the transaction is in another block than its evidence names.
    assert!(report.transfers.not_checked > 0);
}

#[tokio::test]
async fn lc_9_a_late_reversal_that_never_was_is_the_ledgers_word() {
    let mut story = honest().await;
    let before = story.report().observations.asserted;
    let reached = only(&story, "final");
    disappears(&mut story, reached);
    story.without([reached]);
    let report = story.is_clean();
    assert!(report.observations.asserted > before);
}
