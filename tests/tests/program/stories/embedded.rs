//! The examples of the client, as an agent links it, on a live ledger and Anvil.

use super::loops::said_to;
use super::stage::{Stage, text};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use x811_tests::binary::{Server, x811};

struct Example(Child);

impl Drop for Example {
    fn drop(&mut self) {
        // Already gone is as good.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn run(stage: &Stage, name: &str, agent: &str, more: &[&str]) -> Example {
    let binary: PathBuf = x811().parent().unwrap().join("examples").join(name);
    assert!(
        binary.exists(),
        "{} is missing: run `cargo build --workspace --examples` first",
        binary.display()
    );
    let mut command = Command::new(binary);
    command.arg(stage.server.as_ref().map(Server::url).unwrap());
    command.arg(stage.folder.path().join("home")).arg(agent);
    command
        .args(more)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    Example(command.spawn().unwrap())
}

#[tokio::test]
async fn ae_109_the_examples_of_the_client_settle_with_each_other() {
    let stage = Stage::set(&[]).await;
    let _ = stage.cast().await;
    let _ = stage.x811("", &["agent", "new", "carl"]).ok();
    let register = ["agent", "register", "--capability", "upper"];
    let carl = text(&stage.x811("carl", &register).ok().json(), "did");
    let _provider = run(&stage, "provider", "carl", &[]);
    let rpc_url = stage.anvil.rpc_url();
    let _initiator = run(&stage, "initiator", "ada", &[&carl, &rpc_url, "local"]);
    for number in 0..60 {
        let all = stage.x811("carl", &["provider", "paid"]);
        if all.code == Some(0) && all.stdout.contains("0.01025") {
            break;
        }
        assert!(number < 59, "{all:?}");
        stage.anvil.next_block().await;
    }
    let inbox = stage.x811("ada", &["inbox"]).ok();
    assert!(inbox.stdout.contains("HELLO"), "{inbox:?}");
    let first = &inbox.json()["messages"][0]["envelope"]["payload"]["request_id"];
    let types = said_to("carl", &stage, first.as_str().unwrap());
    assert_eq!(types.len(), 6, "{types:?}");
}
