//! Bodies are erased: what they said is in no file any more, and everything that rests on their
//! record holds as before (record.md sections 3 and 4).

use super::stage::{Stage, text};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use x811_tests::anvil::Anvil;
use x811_tests::binary::{Finished, Server, dumped, is_in_database, run};

/// A text that nothing else holds.
const CONFIDENTIAL: &str = "Koenigsberger-Klopse-4711";

/// The retry schedule, shortened at start as the demo does.
const SHORT: [&str; 4] = [
    "--confirmation-ms",
    "5000",
    "--looks-ms",
    "2000,2000,2000,2000",
];

/// Blocks after which Anvil calls one final, and some more.
const UNTIL_FINAL_BLOCKS: u64 = 80;

/// Everything under `path`, the folders excepted.
fn files(path: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found
}

/// The files under `path` that hold the text, byte for byte; where the log is in a database, what is
/// dumped of it, too.
fn holding(path: &Path) -> Vec<PathBuf> {
    let has = |bytes: &[u8], text: &[u8]| bytes.windows(text.len()).any(|window| window == text);
    let text = CONFIDENTIAL.as_bytes();
    let hex: String = text.iter().map(|byte| format!("{byte:02x}")).collect();
    let holds = |file: &PathBuf| has(&std::fs::read(file).unwrap(), text);
    let mut found: Vec<PathBuf> = files(path).into_iter().filter(holds).collect();
    let dump = dumped(path);
    if has(&dump, text) || has(&dump, hex.as_bytes()) {
        found.push("the database".into());
    }
    found
}

fn over(verb: &[&str], paths: &[&Path]) -> Finished {
    let paths = paths.iter().map(|path| path.to_str().unwrap());
    let all: Vec<&str> = ["--json"]
        .into_iter()
        .chain(verb.iter().copied())
        .chain(paths)
        .collect();
    run(&all)
}

/// The audit passes and names what is the ledger's word only; `more` says where the checkpoint of a
/// copy lies.
#[track_caller]
fn audit_lists(source: &Path, more: &[&str], done: &Value, operator: &str) {
    let report = over(&[&["audit"], more].concat(), &[source]);
    let report = report.unverified().json();
    assert_eq!(report["verdict"], "clean", "{report}");
    assert_eq!(report["facts"]["asserted"], 2, "{report}");
    let absent = json!({
        "erased": 2,
        "missing": 0,
        "erasures": [{
            "position": done["position"],
            "operator": operator,
            "is_ordered": true,
            "reason_code": "gdpr_request",
            "positions": done["erased"],
        }],
        "erasures_left_out": 0,
    });
    assert_eq!(report["absent_bodies"], absent, "{report}");
    assert_eq!(report["signatures_valid"], report["envelopes"], "{report}");
    // The operator's own signature holds; that its orders count is configuration.
    assert_eq!(report["erasures"]["asserted"], 1, "{report}");
    let page = source.with_extension("html");
    let audit = ["audit", source.to_str().unwrap(), "--html"];
    let told = run(&[&audit[..], &[page.to_str().unwrap()], more].concat());
    let told = told.unverified().stdout;
    let shown = std::fs::read_to_string(page).unwrap();
    for part in ["2 bodies in all", operator, "gdpr_request"] {
        assert!(shown.contains(part), "no {part} in {shown}");
    }
    assert!(told.contains("asserted only"), "{told}");
}

/// An agent that the configuration names as operator, and one that it does not.
fn appoint_operator(stage: &mut Stage) -> String {
    let made = stage.x811("", &["agent", "new", "olga"]).ok().json();
    let operator = text(&made, "did");
    stage.start_with(&["--operator", &operator]);
    let _ = stage.x811("olga", &["agent", "register"]).ok();
    operator
}

fn erase(stage: &Stage, agent: &str, interaction: &str) -> Finished {
    stage.x811(agent, &["erase", interaction, "--reason", "gdpr_request"])
}

#[track_caller]
fn refused(stage: &Stage, agent: &str, interaction: &str, code: &str, why: &str) {
    let refused = erase(stage, agent, interaction);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    let error = &refused.json()["error"];
    assert_eq!(error["code"], code, "{error}");
    assert!(text(error, "message").contains(why), "{why}: {error}");
}

/// A paid interaction whose settlement is final; gives it and its receipt.
async fn settled(stage: &Stage, bert: &str) -> (String, PathBuf) {
    let interaction = stage.deliver_about(bert, CONFIDENTIAL);
    let _ = stage.pay(&interaction);
    assert_eq!(stage.until_decided(&interaction).await.code, Some(0));
    refused(stage, "olga", &interaction, "X811-4001", "still watched");
    stage.anvil.mine(UNTIL_FINAL_BLOCKS).await;
    stage.until_recorded(&interaction, "\"final\"").await;
    let file = stage.folder.path().join("before.receipt.json");
    let output = ["receipt", &interaction, "-o", file.to_str().unwrap()];
    let _ = stage.x811("bert", &output).ok();
    (interaction, file)
}

/// History, verdict and receipts of the interaction are what they were.
async fn all_rests_on_the_record(stage: &Stage, interaction: &str, before: &Value, receipt: &Path) {
    let history = stage.x811("bert", &["history", interaction]).ok().json();
    assert_eq!(&history, before);
    let paid = stage.x811("bert", &["provider", "paid", interaction]);
    assert_eq!(paid.code, Some(0), "{paid:?}");
    let vkey = vkey(stage).await;
    let again = stage.folder.path().join("again.receipt.json");
    let _ = std::fs::remove_file(&again);
    let output = ["receipt", interaction, "-o", again.to_str().unwrap()];
    let _ = stage.x811("bert", &output).ok();
    for file in [receipt, &again] {
        let verified = over(&["receipt", "verify", "--key", &vkey], &[file]);
        let paid = &verified.ok().json()["paid"];
        assert_eq!(paid["interaction"], interaction, "{paid}");
    }
}

async fn vkey(stage: &Stage) -> String {
    let url = stage.server.as_ref().unwrap().url();
    let answer = reqwest::get(format!("{url}/.well-known/x811.json")).await;
    let about = answer.unwrap().bytes().await.unwrap();
    text(&serde_json::from_slice(&about).unwrap(), "checkpoint_vkey")
}

#[tokio::test]
async fn rec_4_what_an_operator_has_erased_is_nowhere_and_everything_else_stays() {
    let mut stage = Stage::set(&SHORT).await;
    let operator = appoint_operator(&mut stage);
    let bert = stage.cast().await;
    let (interaction, receipt) = settled(&stage, &bert).await;
    let data_dir = stage.data_dir();
    let old_backup = stage.folder.path().join("old-backup");
    if !is_in_database() {
        let _ = over(&["backup"], &[&data_dir, &old_backup]).ok();
        assert!(!holding(&old_backup).is_empty());
    }
    assert!(!holding(&data_dir).is_empty());
    let before = stage.x811("bert", &["history", &interaction]).ok().json();

    refused(&stage, "ada", &interaction, "X811-2004", "operators");
    assert!(!holding(&data_dir).is_empty());
    let done = erase(&stage, "olga", &interaction).ok().json();

    assert_eq!(done["erased"].as_array().unwrap().len(), 2, "{done}");
    assert_eq!(holding(&data_dir), Vec::<PathBuf>::new(), "while it runs");
    let why = format!("erased before: the record at position {}", done["position"]);
    refused(&stage, "olga", &interaction, "X811-4001", &why);
    all_rests_on_the_record(&stage, &interaction, &before, &receipt).await;
    // An export waits until a checkpoint covers the order; before that it is nobody's word.
    let covered = stage.folder.path().join("covered.x811");
    let _ = over(&["export", "-o"], &[&covered, &data_dir]).ok();
    audit_lists(&data_dir, &[], &done, &operator);

    stage.kill();
    stage.start();
    refused(&stage, "olga", &interaction, "X811-4001", &why);
    all_rests_on_the_record(&stage, &interaction, &before, &receipt).await;
    let server = stage.server.take().unwrap();
    server.stop();
    assert_eq!(holding(&data_dir), Vec::<PathBuf>::new(), "once it ended");
    audit_lists(&data_dir, &[], &done, &operator);
    copies_hold_nothing_either(&stage, &done, &operator);
}

/// Exports, tiles, backups and what is restored from them.
fn copies_hold_nothing_either(stage: &Stage, done: &Value, operator: &str) {
    let data_dir = stage.data_dir();
    let copies = stage.folder.path().join("copies");
    std::fs::create_dir(&copies).unwrap();
    let [export, tiles, backup, restored] =
        ["log.x811", "tiles", "backup", "restored"].map(|name| copies.join(name));
    let _ = over(&["export", "-o"], &[&export, &data_dir]).ok();
    let _ = over(&["export", "--tiles"], &[&tiles, &data_dir]).ok();
    audit_lists(&export, &[], done, operator);
    assert_eq!(holding(&copies), Vec::<PathBuf>::new());
    if is_in_database() {
        // It has tools of its own to back it up.
        let _ = over(&["doctor"], &[&data_dir]).ok();
        return;
    }
    let _ = over(&["backup"], &[&data_dir, &backup]).ok();
    let _ = over(&["restore"], &[&backup, &restored]).ok();
    let checkpoint_dir = format!("{}-checkpoint", data_dir.display());
    let beside: [&str; 2] = ["--checkpoint-dir", &checkpoint_dir];
    for source in [&backup, &restored] {
        audit_lists(source, &beside, done, operator);
    }
    let restored_checkpoint = format!("{}-checkpoint", restored.display());
    std::fs::create_dir(&restored_checkpoint).unwrap();
    let files = [&checkpoint_dir, &restored_checkpoint].map(|dir| format!("{dir}/checkpoint"));
    std::fs::copy(&files[0], &files[1]).unwrap();
    for directory in [&data_dir, &restored] {
        let _ = over(&["doctor"], &[directory]).ok();
    }
    assert_eq!(holding(&copies), Vec::<PathBuf>::new());
    let again = Server::start(&restored, &["--rpc-url", "http://127.0.0.1:1"]).unwrap();
    again.stop();
    audit_lists(&restored, &[], done, operator);
}

#[tokio::test]
async fn rec_4_what_is_open_or_in_dispute_is_not_erased() {
    let mut stage = Stage::set(&SHORT).await;
    appoint_operator(&mut stage);
    let bert = stage.cast().await;
    let open = stage.request(&bert, CONFIDENTIAL);
    refused(&stage, "olga", &open, "X811-4001", "pending");
    let disputed = stage.deliver_about(&bert, CONFIDENTIAL);
    refused(&stage, "olga", &disputed, "X811-4001", "verified");
    let payer = stage.wallet_key("ada");
    let payee = stage.payee(&disputed);
    let short = Anvil::transfer(&stage.anvil, &payer, x811_tests::anvil::BASE_USDC, payee, 1);
    let payment = ["send", "payment", &disputed, "--tx"];
    let short = short.await.to_string();
    let _ = stage.x811("ada", &[&payment[..], &[&short]].concat()).ok();
    assert_eq!(stage.until_decided(&disputed).await.code, Some(11));
    refused(&stage, "olga", &disputed, "X811-4001", "disputed");
    assert!(!holding(&stage.data_dir()).is_empty());
    assert_eq!(stage.audit()["absent_bodies"]["erased"], 0);
}

#[tokio::test]
async fn mach_6_what_was_said_in_a_closed_negotiation_is_nowhere_once_erased() {
    let mut stage = Stage::set(&SHORT).await;
    let operator = appoint_operator(&mut stage);
    let bert = stage.cast().await;
    let offer = [
        "negotiation",
        "offer",
        "--to",
        &bert,
        "--amount",
        "0.02",
        "--deliverable",
        CONFIDENTIAL,
    ];
    let offered = stage.x811("ada", &offer).ok().json();
    let negotiation = text(&offered, "negotiation");
    refused(&stage, "olga", &negotiation, "X811-4001", "pending");
    let reject = ["negotiation", "reject", &negotiation];
    let _ = stage.x811("bert", &reject).ok();
    refused(&stage, "ada", &negotiation, "X811-2004", "operators");
    assert!(!holding(&stage.data_dir()).is_empty());

    let done = erase(&stage, "olga", &negotiation).ok().json();
    assert_eq!(done["negotiation_id"], negotiation.as_str());
    assert_eq!(holding(&stage.data_dir()), Vec::<PathBuf>::new());
    let shown = stage.x811("bert", &["negotiation", "show", &negotiation]);
    assert_eq!(shown.code, Some(1), "{shown:?}");
    assert!(shown.stdout.contains("were erased"), "{shown:?}");
    let covered = stage.folder.path().join("covered.x811");
    let _ = over(&["export", "-o"], &[&covered, &stage.data_dir()]).ok();
    audit_lists(&stage.data_dir(), &[], &done, &operator);
    stage.kill();
    stage.start();
    let why = format!("erased before: the record at position {}", done["position"]);
    refused(&stage, "olga", &negotiation, "X811-4001", &why);
    audit_lists(&stage.data_dir(), &[], &done, &operator);
}
