//! Stories that no file can contradict: the report counts them as the ledger's word, and says where
//! to ask (`tests/AUDIT.md`).

use serde_json::json;

use super::Story;

#[test]
fn lc_9_a_transaction_that_never_was_is_the_ledgers_word() {
    let mut story = Story::golden();
    // Another block, wherever the log names it: `--rpc` asks the chain for it.
    for name in [10, 11] {
        let block = match name {
            10 => "/block",
            _ => "/evidence/0/block",
        };
        story.set(
            name,
            &format!("{block}/hash"),
            json!(format!("0x{}", "ab".repeat(32))),
        );
    }
    let report = story.is_clean();
    assert!(report.transfers.not_checked > 0);
    assert!(report.observations.asserted > 0);
}

#[test]
fn lc_9_a_reversal_that_is_kept_quiet_is_the_ledgers_word() {
    let mut story = Story::of_interactions();
    story.expect(12, "unseen").expect(17, "returned");
    story.without(12..=17);
    let report = story.is_clean();
    // Its evidence names the block that it is in no more: `--rpc` finds that.
    assert!(report.transfers.not_checked > 0);
}

#[test]
fn lc_9_a_message_that_was_dropped_is_the_ledgers_word() {
    let mut story = Story::of_interactions();
    // The REJECT has an answer with its record hash, and its sender has that.
    let stream = story.record(74).stream.clone();
    story.without([74]);
    let lapse = json!({"type": "lapsed", "window": "accept", "code": "X811-4021"});
    let lapse = story.put(105, &stream, lapse);
    story.told(lapse, 72, 108);
    story.is_clean();
}

#[test]
fn lc_9_facts_of_a_body_that_was_erased_are_the_ledgers_word() {
    let mut story = Story::golden();
    story.set(4, "/facts/task_type", json!("another"));
    let honest = Story::golden().report();
    let report = story.report();
    assert_eq!(report.facts, honest.facts);
    assert!(report.facts.asserted > 0);
}

#[test]
fn lc_9_a_downtime_in_a_silence_is_the_ledgers_word() {
    let mut story = Story::of_interactions();
    // In the hour before the last lapses nothing was recorded.
    let resumed = json!({"type": "ledger_resumed", "gap_ms": 1_000});
    story.put(102, "ledger", resumed);
    story.is_clean();
}
