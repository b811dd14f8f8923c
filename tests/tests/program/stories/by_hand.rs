//! What docs/rehearsal.md has a newcomer type, typed.

use std::process::Command;

use x811_tests::anvil::{Anvil, checkout};
use x811_tests::binary::x811;

use super::playground::Playground;
use super::stage::Stage;

/// The shell blocks of the section, in order.
fn blocks(page: &str) -> Vec<&str> {
    let (_, section) = page.split_once("\n## By hand\n").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let blocks = section.split("```sh\n").skip(1);
    blocks
        .map(|block| block.split_once("```").unwrap().0)
        .collect()
}

#[tokio::test]
async fn by_hand_settles_an_interaction_as_it_is_typed() {
    let page = std::fs::read_to_string(checkout().join("docs/rehearsal.md")).unwrap();
    let [paths, chain, ledger, agents] = blocks(&page)[..] else {
        panic!("the section has another number of blocks");
    };
    assert!(paths.contains("X811_RPC_URL"), "{paths}");
    assert_eq!(chain.trim(), "x811 anvil start");
    let playground = Playground::start();
    let options = ledger.trim().strip_prefix("x811 serve ").unwrap();
    let mut options: Vec<String> = options.split(' ').map(str::to_owned).collect();
    options.extend(["--rpc".to_owned(), playground.rpc_url()]);
    let stage = Stage::on(Anvil::attach(&playground.rpc_url()), options);

    let url = stage.server.as_ref().unwrap().url();
    let binaries = x811().parent().unwrap().display().to_string();
    let typed = Command::new("bash")
        .args(["-euo", "pipefail", "-c"])
        .arg(format!("PATH={binaries}:$PATH\n{agents}"))
        .current_dir(stage.folder.path())
        .env("X811_RPC_URL", playground.rpc_url())
        .env("X811_LEDGER", url)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&typed.stdout);
    assert!(typed.status.success(), "{typed:?}");
    assert!(said.contains("PAID: confirmed"), "{said}");
}
