//! An auditor asks an endpoint of their own for the transfers that a log rests on.

use std::fs;

use serde_json::{Value, json};
use x811_eventlog::{Checkpoint, Frontier, Hash};
use x811_protocol::key::SecretKey;
use x811_tests::anvil::{Anvil, BASE_USDC, LOCAL_CHAIN_ID};
use x811_tests::binary::{Finished, run};
use x811_tests::proxy::{Act, Proxy};

use super::stage::Stage;

/// Where no endpoint answers.
const NOBODY: &str = "http://127.0.0.1:1";

/// A log whose one payment is confirmed, as an export.
async fn paid() -> (Stage, String, String) {
    let (stage, bert) = Stage::peopled(&[]).await;
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

    let nobody = asked(&file, NOBODY);
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
    let forged = written_anew(&honest, &stage.key("checkpoint"), |event| {
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
    let payment = stage.payment(&interaction);
    stage.anvil.reorg_from(payment).await;
    stage.until_recorded(&interaction, "\"reversed\"").await;
    let file = exported(&stage, "reversed.x811");
    let report = asked(&file, &stage.anvil.rpc_url()).unverified().json();
    assert_eq!(transfers(&report), [0, 1, 0, 0], "{report}");
    assert_eq!(report["observations"]["proven"], 0, "{report}");
}

/// A ledger that waits for two blocks, gives up soon, and asks this endpoint.
fn impatient(rpc_url: &str) -> Vec<String> {
    let token = BASE_USDC.to_string();
    [
        ["--network", "local"],
        ["--rpc", rpc_url],
        ["--token", &token],
        ["--confirmed-depth", "2"],
        ["--confirmation-ms", "5000"],
        ["--looks-ms", "2000,2000,2000,2000"],
    ]
    .concat()
    .into_iter()
    .map(str::to_owned)
    .collect()
}

/// The transactions that looks did not find, and how many of them are as the log says.
fn sought(report: &Value) -> [&Value; 2] {
    let asked = &report["network"]["asked"][0];
    ["sought", "sought_same"].map(|name| &asked[name])
}

/// The ledger's own endpoint hides every transfer: what it recorded hangs together, and only the
/// network shows that a provider was paid and told otherwise.
#[tokio::test(flavor = "multi_thread")]
async fn sw_10_a_payment_that_the_log_says_was_never_there_is_found_by_the_auditors_endpoint() {
    let anvil = Anvil::start(LOCAL_CHAIN_ID, Some(1));
    anvil.deploy_usdc(BASE_USDC).await;
    let hiding = Proxy::start(&anvil.rpc_url()).await;
    hiding.rule(|call| match call.method {
        "eth_getLogs" => Act::Replace(json!([])),
        "eth_getTransactionReceipt" => Act::null(),
        _ => Act::Pass,
    });
    let stage = Stage::on(anvil, impatient(hiding.url()));
    let bert = stage.cast().await;
    let interaction = stage.deliver(&bert);
    let _ = stage.pay(&interaction);
    assert_eq!(stage.until_decided(&interaction).await.code, Some(11));
    let file = exported(&stage, "hidden.x811");
    let unasked = run(&["--json", "audit", &file]).unverified().json();
    assert_eq!(unasked["observations"]["records"]["looked_not_found"], 4);

    let found = asked(&file, &stage.anvil.rpc_url());
    assert_eq!(found.code, Some(20), "{found:?}");
    let report = found.json();
    let [finding] = report["findings"].as_array().unwrap().as_slice() else {
        panic!("{report}");
    };
    assert_eq!(finding["cause"], "evidence_differs", "{finding}");
    assert_eq!(finding["field"], "finding[0].status", "{finding}");
    let sentence = finding["sentence"].as_str().unwrap();
    let said = "the network has a transfer that the log says was not found: 0.029725 USDC";
    assert!(sentence.contains(said), "{sentence}");
    assert_eq!(sought(&report), [1, 0], "{report}");
    assert_eq!(transfers(&report), [0, 0, 0, 0], "{report}");
    assert_eq!(report["observations"]["broken"], 1, "{report}");
}

#[tokio::test]
async fn sw_10_a_payment_that_never_was_is_asked_for_and_nothing_is_found() {
    let anvil = Anvil::start(LOCAL_CHAIN_ID, Some(1));
    anvil.deploy_usdc(BASE_USDC).await;
    let options = impatient(&anvil.rpc_url());
    let stage = Stage::on(anvil, options);
    let bert = stage.cast().await;
    let interaction = stage.deliver(&bert);
    let nothing = format!("0x{}", "ab".repeat(32));
    let payment = ["send", "payment", &interaction, "--tx", &nothing];
    let _ = stage.x811("ada", &payment).ok();
    assert_eq!(stage.until_decided(&interaction).await.code, Some(11));
    let file = exported(&stage, "never.x811");
    let rpc = stage.anvil.rpc_url();
    let report = asked(&file, &rpc).unverified().json();
    assert_eq!(sought(&report), [1, 1], "{report}");
    assert_eq!(report["network"]["not_checked"], json!({}), "{report}");
    let text = run(&["audit", &file, "--rpc", &rpc]).unverified().stdout;
    assert!(
        text.contains("also asked about 1 transaction that"),
        "{text}"
    );
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
    assert_eq!(verified(NOBODY).code, Some(3));

    let payment = stage.payment(&interaction);
    stage.anvil.reorg_from(payment).await;
    let gone = verified(&rpc);
    assert_eq!(gone.code, Some(20), "{gone:?}");
    assert_eq!(verdict(&gone, "transfer"), "broken", "{gone:?}");
    assert_eq!(verdict(&gone, "reversal"), "not_checked", "{gone:?}");
    assert!(gone.json()["paid"].is_null(), "{gone:?}");
}

/// Section 9: the first that fits of 20, 3, 22, 21, 0. What contradicts needs no network.
#[tokio::test]
async fn lc_9_what_is_broken_is_broken_without_a_network() {
    let (stage, log, interaction) = paid().await;
    let file = stage.folder.path().join("receipt.json");
    let file = file.to_str().unwrap();
    let _ = stage
        .x811("bert", &["receipt", &interaction, "-o", file])
        .ok();
    for (file, changed, to) in [
        (&*log, "\"confirmed\"", "\"lapsed\""),
        (file, "\"verified\":true", "\"verified\":false"),
    ] {
        let text = std::fs::read_to_string(file).unwrap();
        assert!(text.contains(changed), "{file}");
        std::fs::write(file, text.replacen(changed, to, 1)).unwrap();
    }
    assert_eq!(asked(&log, NOBODY).code, Some(20));
    let receipt = run(&["receipt", "verify", file, "--rpc", NOBODY]);
    assert_eq!(receipt.code, Some(20), "{receipt:?}");
}

/// Another nonce than the transfer was made under.
fn under_another_nonce(receipt: &mut Value) {
    for log in receipt["logs"].as_array_mut().into_iter().flatten() {
        if log["data"] == "0x" {
            log["topics"][2] = json!(format!("0x{}", "99".repeat(32)));
        }
    }
}

/// The payer is a bound wallet: a ledger of before the rule counted it, so nothing is broken; and
/// nothing is proven, for the same transfer may have been counted at the ledger that it names.
#[tokio::test(flavor = "multi_thread")]
async fn sw_18_a_transfer_under_another_nonce_is_not_proven_to_pay_this() {
    let (stage, file, interaction) = paid().await;
    let changed = Proxy::start(&stage.anvil.rpc_url()).await;
    changed.rule(|call| match call.method {
        "eth_getTransactionReceipt" => Act::edit(under_another_nonce),
        _ => Act::Pass,
    });
    // The log names the nonce, so there it shows as well.
    let audited = asked(&file, changed.url());
    assert_eq!(audited.code, Some(20), "{audited:?}");
    let finding = &audited.json()["findings"][0];
    assert_eq!(
        finding["field"], "evidence[0].transfers[0].authorization_nonce",
        "{finding}"
    );

    let receipt = stage.folder.path().join("receipt.json");
    let receipt = receipt.to_str().unwrap();
    let fetch = ["receipt", &interaction, "-o", receipt];
    let _ = stage.x811("bert", &fetch).ok();
    let verify = [
        "--json",
        "receipt",
        "verify",
        receipt,
        "--rpc",
        changed.url(),
    ];
    let verified = run(&verify).json();
    let steps = verified["steps"].as_array().unwrap();
    let step = steps
        .iter()
        .find(|step| step["about"] == "transfer")
        .unwrap();
    assert_eq!(step["verdict"], "not_checked", "{verified}");
    let sentence = step["sentence"].as_str().unwrap();
    assert!(sentence.contains("for something else"), "{sentence}");
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
