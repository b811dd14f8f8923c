//! `kill -9` at any moment: what was acknowledged is there, and the audit is clean.

use super::stage::{Stage, text};

/// How often the ledger is killed in one story.
const KILLS: usize = 6;

#[tokio::test]
async fn promise_1_kill_9_loses_nothing_that_was_acknowledged() {
    let (mut stage, bert) = Stage::peopled(&[]).await;
    let mut interactions = Vec::new();
    for round in 0..KILLS {
        let interaction = stage.deliver(&bert);
        if round % 2 == 0 {
            let _ = stage.pay(&interaction);
        }
        stage.kill();
        // Killed between two checkpoints: the last records may be under none.
        let report = stage.audit_stopped();
        assert_eq!(
            report["findings"].as_array().map(Vec::len),
            Some(0),
            "after kill {round}, before the restart: {report}"
        );
        stage.start();
        interactions.push(interaction);
    }
    for (round, interaction) in interactions.iter().enumerate() {
        let history = stage.x811("bert", &["history", interaction]).ok().json();
        let records = history["records"].as_array().map_or(0, Vec::len);
        let acknowledged = if round % 2 == 0 { 6 } else { 5 };
        assert!(records >= acknowledged, "round {round}: {history}");
    }
    let paid = stage.until_decided(&interactions[KILLS - 2]).await;
    assert_eq!(
        paid.code,
        Some(0),
        "a payment sent before a kill is confirmed after it: {paid:?}"
    );
    let report = stage.audit();
    assert_eq!(report["verdict"], "clean", "{report}");
}

#[tokio::test]
async fn lc_1_crash_table_a_repeat_after_a_kill_gets_the_first_outcome() {
    let (mut stage, bert) = Stage::peopled(&[]).await;
    let request = [
        "send", "request", "--to", &bert, "--task", "echo", "--budget", "0.05",
    ];
    let request = [
        &request[..],
        &["--deadline", "60", "--idempotency-key", "once"],
    ]
    .concat();
    let first = stage.x811("ada", &request).ok().json();
    stage.kill();
    stage.start();
    let second = stage.x811("ada", &request).ok().json();
    assert_eq!(
        text(&first, "interaction_id"),
        text(&second, "interaction_id")
    );
    assert_eq!(first["position"], second["position"]);
}
