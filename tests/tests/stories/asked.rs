//! An auditor asks an endpoint of their own for the transfers that a log rests on.

use std::fs;

use serde_json::Value;
use x811_eventlog::{Checkpoint, Frontier, Hash};
use x811_protocol::key::SecretKey;
use x811_tests::anvil::{Anvil, LOCAL_CHAIN_ID};
use x811_tests::binary::{Finished, run};

use crate::stage::Stage;

/// A log whose one payment is confirmed, as an export.
async fn paid() -> (Stage, String, String) {
    let stage = Stage::set(&[]).await;
    let bert = stage.cast().await;
    let interaction = stage.deliver(&bert);
    // A reorganisation below must not take the token along.
    stage.anvil.mine(12).await;
    let _ = stage.pay(&interaction);
    assert_eq!(stage.until_decided(&interaction).await.code, Some(0));
    let file = exported(&stage, "log.x811");
    (stage, file, interaction)
}

fn exported(stage: &Stage, name: &str) -> String {
    let file = stage.folder.path().join(name).to_str().unwrap().to_owned();
    let data_dir = stage.data_dir();
    let _ = run(&["export", data_dir.to_str().unwrap(), "-o", &file]).ok();
    file
}

fn asked(source: &str, rpc: &str) -> Finished {
    run(&["--json", "audit", source, "--rpc", rpc])
}

/// Checked, reversed, not checked, different.
fn transfers(report: &Value) -> [u64; 4] {
    let count = |name| report["transfers"][name].as_u64().unwrap();
    ["checked", "reversed", "not_checked", "differ"].map(count)
}

#[tokio::test]
async fn sw_26_transfers_are_asserted_until_an_endpoint_shows_them() {
    let (stage, file, _) = paid().await;
    let unasked = run(&["--json", "audit", &file]).unverified().json();
    assert_eq!(transfers(&unasked), [0, 0, 1, 0]);
    let unseen = &unasked["observations"];
    let confirmed = &unseen["records"]["confirmed"];
    assert_eq!((&unseen["proven"], confirmed), (&0.into(), &1.into()));
    assert!(unasked["network"].is_null(), "{unasked}");

    let rpc = stage.anvil.rpc_url();
    let data_dir = stage.data_dir();
    for source in [&file, data_dir.to_str().unwrap()] {
        let report = asked(source, &rpc).unverified().json();
        assert_eq!(transfers(&report), [1, 0, 0, 0], "{report}");
        let chain = &report["network"]["asked"][0];
        assert_eq!(chain["chain_id"], LOCAL_CHAIN_ID, "{report}");
        assert_eq!(chain["transactions"], 1, "{report}");
        let observations = &report["observations"];
        let asserted = unseen["asserted"].as_u64().map(|asserted| asserted - 1);
        assert_eq!(observations["proven"], 1, "{report}");
        assert_eq!(observations["asserted"].as_u64(), asserted, "{report}");
    }
    let text = run(&["audit", &file, "--rpc", &rpc]).unverified().stdout;
    assert!(
        text.contains("chain 31337 was asked about 1 transaction,"),
        "{text}"
    );

    // Of another chain, nothing can be said of this one.
    let other = Anvil::start(LOCAL_CHAIN_ID + 1, None);
    let report = asked(&file, &other.rpc_url()).unverified().json();
    assert_eq!(transfers(&report), [0, 0, 1, 0], "{report}");
    let why = report["network"]["not_checked"].as_object().unwrap();
    assert!(
        why.contains_key("no endpoint of chain 31337 was named"),
        "{report}"
    );

    let nobody = asked(&file, "http://127.0.0.1:1");
    assert_eq!(nobody.code, Some(3), "{nobody:?}");
    assert_eq!(nobody.json()["error"]["code"], "rpc");
    assert_eq!(asked(&file, "ftp://127.0.0.1").code, Some(2));
    assert!(
        !nobody.stdout.contains("127.0.0.1:1"),
        "URLs may hold keys: {nobody:?}"
    );
}

#[tokio::test]
async fn sw_26_a_transfer_that_never_was_is_named_by_position() {
    let (_stage, file, _) = paid().await;
    // The same chain id, where nobody ever paid anybody.
    let empty = Anvil::start(LOCAL_CHAIN_ID, None);
    let rpc = empty.rpc_url();
    let behind = asked(&file, &rpc).unverified().json();
    assert_eq!(
        transfers(&behind),
        [0, 0, 1, 0],
        "it may only be behind: {behind}"
    );

    empty.mine(200).await;
    let refuted = asked(&file, &rpc);
    assert_eq!(refuted.code, Some(20), "{refuted:?}");
    let report = refuted.json();
    assert_eq!(transfers(&report), [0, 0, 0, 1], "{report}");
    assert_eq!(report["observations"]["broken"], 1, "{report}");
    let [finding] = report["findings"].as_array().unwrap().as_slice() else {
        panic!("{report}");
    };
    assert_eq!(finding["cause"], "evidence_differs", "{finding}");
    assert_eq!(finding["field"], "evidence[0].tx_hash", "{finding}");
    let line = usize::try_from(finding["line"].as_u64().unwrap()).unwrap();
    let text = fs::read_to_string(&file).unwrap();
    let named = text.lines().nth(line - 1).unwrap();
    assert!(named.contains("\"type\":\"confirmed\""), "{named}");
}

#[tokio::test]
async fn sw_26_evidence_written_anew_with_every_hash_holds_until_the_network_is_asked() {
    let (stage, file, _) = paid().await;
    let honest = fs::read_to_string(&file).unwrap();
    let forged = written_anew(&honest, &checkpoint_key(&stage), |event| {
        for block in ["/block/timestamp_s", "/evidence/0/block/timestamp_s"] {
            if let Some(time) = event.pointer_mut(block) {
                *time = Value::from(time.as_u64().unwrap() + 1);
            }
        }
    });
    fs::write(&file, forged).unwrap();
    let unasked = run(&["--json", "audit", &file]);
    assert_eq!(unasked.code, Some(21), "{}", unasked.json()["findings"]);
    let refuted = asked(&file, &stage.anvil.rpc_url());
    assert_eq!(refuted.code, Some(20), "{refuted:?}");
    let report = refuted.json();
    assert_eq!(
        report["findings"][0]["field"], "evidence[0].block",
        "{report}"
    );
    assert_eq!(
        report["findings_by_cause"]["evidence_differs"], 1,
        "{report}"
    );
}

#[tokio::test]
async fn sw_24_a_payment_that_a_reorganisation_took_back_is_counted_as_reversed() {
    let (stage, _, interaction) = paid().await;
    stage.anvil.reorg(10).await;
    stage.until_recorded(&interaction, "\"reversed\"").await;
    let file = exported(&stage, "reversed.x811");
    let report = asked(&file, &stage.anvil.rpc_url()).unverified().json();
    assert_eq!(transfers(&report), [0, 1, 0, 0], "{report}");
    assert_eq!(report["observations"]["proven"], 0, "{report}");
}

#[tokio::test]
async fn a_receipt_is_held_against_the_network_too() {
    let (stage, _, interaction) = paid().await;
    let file = stage.folder.path().join("receipt.json");
    let file = file.to_str().unwrap();
    let _ = stage
        .x811("bert", &["receipt", &interaction, "-o", file])
        .ok();
    let verified = |rpc: &str| run(&["--json", "receipt", "verify", file, "--rpc", rpc]);
    let verdict = |verified: &Finished, about: &str| {
        let json = verified.json();
        let steps = json["steps"].as_array().unwrap().clone();
        let step = steps
            .into_iter()
            .find(|step| step["about"] == about)
            .unwrap();
        step["verdict"].as_str().unwrap().to_owned()
    };
    let rpc = stage.anvil.rpc_url();
    // Whose ledger it is, no chain can say.
    let there = verified(&rpc);
    assert_eq!(there.code, Some(21), "{there:?}");
    assert_eq!(verdict(&there, "transfer"), "proven", "{there:?}");
    assert_eq!(verdict(&there, "reversal"), "proven", "{there:?}");

    let other = Anvil::start(LOCAL_CHAIN_ID + 1, None);
    let elsewhere = verified(&other.rpc_url());
    assert_eq!(elsewhere.code, Some(21), "{elsewhere:?}");
    assert_eq!(
        verdict(&elsewhere, "transfer"),
        "not_checked",
        "{elsewhere:?}"
    );
    assert_eq!(verified("http://127.0.0.1:1").code, Some(3));

    stage.anvil.reorg(10).await;
    let gone = verified(&rpc);
    assert_eq!(gone.code, Some(20), "{gone:?}");
    assert_eq!(verdict(&gone, "transfer"), "broken", "{gone:?}");
    assert_eq!(verdict(&gone, "reversal"), "not_checked", "{gone:?}");
    assert!(gone.json()["paid"].is_null(), "{gone:?}");
}

/// The export with every event changed, every hash behind it, the checkpoint signed anew by `key`, and
/// the trailer.
fn written_anew(export: &str, key: &SecretKey, change: impl Fn(&mut Value)) -> String {
    let mut prev = Hash::ZERO;
    let mut tree = Frontier::new();
    let mut lines = Vec::new();
    for line in export.lines() {
        if let Some(leaf) = line.strip_prefix("r ") {
            let mut leaf: Value = serde_json::from_str(leaf).unwrap();
            leaf["prev"] = Value::from(prev.to_string());
            change(&mut leaf["event"]);
            let leaf = leaf.to_string();
            prev = Hash::of_leaf(leaf.as_bytes());
            tree.push(prev);
            lines.push(format!("r {leaf}"));
        } else if line.contains("\"x811_trailer\"") {
            let mut trailer: Value = serde_json::from_str(line).unwrap();
            trailer["head"] = Value::from(prev.to_string());
            trailer["root"] = Value::from(tree.root().to_string());
            lines.push(trailer.to_string());
        } else if let Some(note) = line.strip_prefix("c ") {
            let note: String = serde_json::from_str(note).unwrap();
            let checkpoint = Checkpoint {
                root: tree.root(),
                ..Checkpoint::claimed(&note).unwrap()
            };
            let sign = |message: &[u8]| *key.sign(message).as_bytes();
            let note = checkpoint.sign(*key.public().as_bytes(), sign).unwrap();
            lines.push(format!("c {}", Value::from(note)));
        } else {
            lines.push(line.to_owned());
        }
    }
    lines.join("\n") + "\n"
}

/// The key by which the ledger signs checkpoints, as its operator has it.
fn checkpoint_key(stage: &Stage) -> SecretKey {
    let seed = fs::read_to_string(stage.data_dir().join("keys/checkpoint.seed")).unwrap();
    let seed: Vec<u8> = (0..32)
        .map(|byte| u8::from_str_radix(&seed[2 * byte..2 * byte + 2], 16).unwrap())
        .collect();
    SecretKey::from_seed(seed.try_into().unwrap())
}
