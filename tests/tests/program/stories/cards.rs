//! Agent cards, read and verified by the A2A project's own SDK of PyPI (tests/a2a).

use super::languages::python_with;
use super::stage::Stage;
use std::fs;
use std::process::Command;
use x811_tests::anvil::checkout;
use x811_tests::binary::Server;

#[tokio::test]
async fn ae_121_cards_are_read_and_verified_by_the_sdk_of_a2a() {
    let (stage, bert) = Stage::peopled(&[]).await;
    let url = stage.server.as_ref().map(Server::url).unwrap();
    let folder = checkout().join("tests/a2a");
    let python = python_with(&folder.join("requirements.txt"), "a2a-python");
    let fetched = async |path: &str, name: &str| {
        let answer = reqwest::get(format!("{url}{path}")).await.unwrap();
        let file = stage.folder.path().join(name);
        fs::write(&file, answer.text().await.unwrap()).unwrap();
        file
    };
    let document = fetched("/.well-known/did.json", "did.json").await;
    let uuid = bert.trim_start_matches("did:x811:");
    let card_of_bert = format!("/api/v1/agents/{uuid}/agent-card.json");
    for path in ["/.well-known/agent-card.json", &card_of_bert] {
        let card = fetched(path, "card.json").await;
        let mut script = Command::new(&python);
        script.arg(folder.join("card.py")).args([&card, &document]);
        let done = script.output().unwrap();
        let said = String::from_utf8_lossy(&done.stdout);
        assert!(
            done.status.success() && said.starts_with("good "),
            "{path}: {done:?}"
        );
    }
}
