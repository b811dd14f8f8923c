//! Proofs that a loop keeps, and a ledger that leaves out what it acknowledged.

use super::loops::provider;
use super::stage::{Stage, text};
use std::path::Path;
use std::process::Command;
use x811_tests::binary::Server;

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp")
        .arg("-a")
        .arg(from)
        .arg(to)
        .status()
        .unwrap();
    assert!(copied.success());
}

#[tokio::test]
async fn design_8_a_result_left_out_of_the_log_is_broken_by_its_proof() {
    let (mut stage, bert) = Stage::peopled(&[]).await;
    let interaction = stage.request(&bert, "hello");
    let offer = [
        "send",
        "offer",
        &interaction,
        "--price",
        "0.029",
        "--time",
        "5",
    ];
    let _ = stage.x811("bert", &offer).ok();
    let _ = stage.x811("ada", &["send", "accept", &interaction]).ok();

    // The operator keeps the log as it is before the RESULT.
    stage.kill();
    let other = stage.folder.path().join("other");
    copy(&stage.data_dir(), &other);
    let mut checkpoint = stage.data_dir().into_os_string();
    checkpoint.push("-checkpoint");
    let mut other_checkpoint = other.clone().into_os_string();
    other_checkpoint.push("-checkpoint");
    copy(checkpoint.as_ref(), other_checkpoint.as_ref());
    stage.start();

    let running = provider(&stage, "echo done\n");
    let _ = running.until(&stage, "said", "result").await;
    let proofs = stage.folder.path().join("home/loops/bert/proofs");
    let proof = proofs.join(format!("{interaction}-result.tlog-proof"));
    for number in 0..30 {
        if proof.is_file() {
            break;
        }
        assert!(number < 29, "{:?}", running.told());
        stage.anvil.next_block().await;
    }
    running.kill();
    let url = stage.server.as_ref().map(Server::url).unwrap();
    let info = format!("{url}/.well-known/x811.json");
    let info = reqwest::get(info).await.unwrap().text().await.unwrap();
    let key = text(&serde_json::from_str(&info).unwrap(), "checkpoint_vkey");
    let proofs = proofs.to_str().unwrap();
    let audit = |log: &Path| {
        let log = log.to_str().unwrap();
        stage.x811("", &["audit", log, "--proofs", proofs, "--key", &key])
    };
    let honest = audit(&stage.data_dir());
    assert_eq!(honest.code, Some(0), "{honest:?}");
    assert_eq!(honest.json()["proofs"]["held"], 1, "{honest:?}");

    // A log that goes on without it: something else stands in its place.
    let options = [
        "--network",
        "local",
        "--rpc",
        &stage.anvil.rpc_url(),
        "--token",
    ];
    let token = x811_tests::anvil::BASE_USDC.to_string();
    let server = Server::start(&other, &[&options[..], &[token.as_str()]].concat()).unwrap();
    let home = stage.folder.path().join("home");
    let register = [
        "--ledger",
        server.url(),
        "--home",
        home.to_str().unwrap(),
        "--agent",
        "dora",
    ];
    let made = x811_tests::binary::run(&[&register[..], &["agent", "new", "dora"]].concat());
    let _ = made.ok();
    let made = x811_tests::binary::run(&[&register[..], &["agent", "register"]].concat());
    let _ = made.ok();
    server.stop();
    let dishonest = audit(&other);
    assert_eq!(dishonest.code, Some(20), "{dishonest:?}");
    assert_eq!(dishonest.json()["proofs"]["broken"], 1, "{dishonest:?}");
    let log = stage.data_dir();
    let unknown = ["audit", log.to_str().unwrap(), "--proofs", proofs];
    assert_eq!(stage.x811("", &unknown).code, Some(2), "whose proofs?");
}
