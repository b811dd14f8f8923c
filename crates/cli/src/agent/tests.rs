//! The verbs as typed, against a ledger in this process.

mod lossy;
mod rotated;

use std::net::SocketAddr;
use std::path::Path;

use clap::Parser;
use serde_json::{Value, json};
use tempfile::TempDir;
use x811_client::compose::Rotation;
use x811_client::entropy::SystemEntropy;
use x811_client::home::Home;
use x811_client::identity::{AgentName, Identity};
use x811_protocol::evm::EvmAddress;
use x811_server::{NetworkConfig, RpcUrl, Running, ServerConfig};

use super::change::Registrant;
use crate::command::Cli;
use crate::context::Context;
use crate::exit::Exit;
use crate::output::Out;

/// A ledger, a home, and the agent bob in it, registered.
struct World {
    dir: TempDir,
    running: Running,
}

impl World {
    async fn start() -> World {
        // Another test of this process may have installed it.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let dir = tempfile::tempdir().unwrap();
        let running = x811_server::start(config(dir.path())).await.unwrap();
        let world = World { dir, running };
        world.done("agent new bob").await;
        world
            .done("agent register bob --capability echo --endpoint https://bob.example")
            .await;
        world
    }

    /// Runs a command line with `--json`.
    async fn run(&self, line: &str) -> (Exit, Value) {
        self.run_through(self.running.local_addr, line).await
    }

    async fn run_through(&self, address: SocketAddr, line: &str) -> (Exit, Value) {
        let words = format!(
            "x811 {line} --json --ledger http://{address} --home {}",
            self.home().path().display()
        );
        let cli = Cli::try_parse_from(words.split_whitespace()).unwrap();
        let (mut out, text, _) = Out::captured(true);
        // Every command line that a test awaits would lie on its stack otherwise.
        let exit = match Box::pin(cli.run(&mut out)).await {
            Ok(exit) => exit,
            Err(failure) => {
                out.failure(&failure);
                failure.exit
            }
        };
        (exit, serde_json::from_str(&text.text()).unwrap())
    }

    async fn done(&self, line: &str) -> Value {
        let (exit, value) = self.run(line).await;
        assert_eq!(exit, Exit::Ok, "{line}: {value}");
        value
    }

    async fn refused(&self, line: &str, code: &str) {
        let (exit, value) = self.run(line).await;
        assert_eq!(exit, Exit::Refused, "{line}: {value}");
        assert_eq!(value["error"]["code"], code, "{line}: {value}");
    }

    fn home(&self) -> Home {
        Home::new(self.dir.path().join("home"))
    }

    fn bob(&self) -> Identity {
        self.home().agent(&bob()).unwrap()
    }

    /// What the ledger shows of bob.
    async fn shown(&self) -> Value {
        let did = self.bob().did;
        self.done(&format!("agent show --did {did}")).await
    }

    /// A message that only bob's registered key can sign.
    async fn speak(&self) -> (Exit, Value) {
        let ledger = self.running.identity.did;
        self.run(&format!("send custom --to {ledger} --type x811.ext/hello"))
            .await
    }

    fn context(&self) -> Context {
        let line = format!(
            "x811 status --ledger http://{} --home {}",
            self.running.local_addr,
            self.home().path().display()
        );
        let cli = Cli::try_parse_from(line.split_whitespace()).unwrap();
        Context::new(cli.global)
    }
}

fn config(dir: &Path) -> ServerConfig {
    let nobody = RpcUrl::new("http://127.0.0.1:1");
    let network = NetworkConfig::local(nobody, EvmAddress::from_bytes([0x75; 20]));
    let mut config = ServerConfig::new(dir.join("data"), network);
    config.listen = "127.0.0.1:0".parse().unwrap();
    config.open_reads = true;
    config.checkpoint_dir = Some(dir.join("checkpoint"));
    config
}

fn bob() -> AgentName {
    "bob".parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn lc_4_update_changes_what_is_named_and_keeps_the_rest() {
    let world = World::start().await;
    let before = world.shown().await;
    assert_eq!(before.get("expires_at_ms"), None);

    let expiring = "agent update bob --expires 2100-01-01T00:00:00Z";
    let changed = world.done(expiring).await;
    assert_eq!(changed["type"], "x811.registry/update");
    assert_eq!(changed["name"], "bob");
    assert!(changed["position"].as_u64() > before["position"].as_u64());
    let mut expected = before.clone();
    expected["expires_at_ms"] = json!(4_102_444_800_000_u64);
    assert_eq!(world.shown().await, expected);

    world
        .done("agent update bob --capability sum --capability echo")
        .await;
    expected["capabilities"] = json!(["sum", "echo"]);
    assert_eq!(world.shown().await, expected, "the expiry stays");
    let document = world.context().client().unwrap();
    let document = document.document(world.bob().did).await.unwrap();
    let endpoint = x811_client::compose::service_endpoint(&document);
    assert_eq!(endpoint, Some("https://bob.example"), "the endpoint stays");

    world
        .done("agent update bob --expires none --endpoint none")
        .await;
    assert_eq!(world.shown().await.get("expires_at_ms"), None);
    let past = "agent update bob --expires 2001-01-01T00:00:00Z";
    world.refused(past, "X811-1005").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ax_031_register_can_say_when_the_did_expires() {
    let world = World::start().await;
    world.done("agent new ada").await;
    let past = "agent register ada --expires 2001-01-01T00:00:00Z";
    world.refused(past, "X811-1005").await;
    let registered = world
        .done("agent register ada --expires 2100-01-01T00:00:00Z")
        .await;
    let did = registered["did"].as_str().unwrap();
    let shown = world.done(&format!("agent show --did {did}")).await;
    assert_eq!(shown["expires_at_ms"], json!(4_102_444_800_000_u64));
    assert_eq!(shown["wallets"][0]["kind"], "eoa");
    let line = "x811 agent register ada --expires tomorrow";
    assert!(Cli::try_parse_from(line.split_whitespace()).is_err());
}

/// The second of two ledgers of one home: said as a member, and on standard error for a person.
#[tokio::test(flavor = "multi_thread")]
async fn lc_5_a_did_that_another_ledger_knows_is_registered_with_a_warning() {
    let world = World::start().await;
    let again = world.done("agent register bob --capability echo").await;
    assert!(again["warnings"].is_null(), "the same ledger: {again}");

    let elsewhere = tempfile::tempdir().unwrap();
    let other = x811_server::start(config(elsewhere.path())).await.unwrap();
    let line = "agent register bob --capability echo";
    let (exit, registered) = world.run_through(other.local_addr, line).await;
    assert_eq!(exit, Exit::Ok, "{registered}");
    let [warning] = registered["warnings"].as_array().unwrap().as_slice() else {
        panic!("{registered}");
    };
    let first = world.running.identity.did;
    let warning = warning.as_str().unwrap();
    assert!(warning.contains(&first.to_string()), "{warning}");
    let bob = world.bob();
    assert_eq!(bob.ledger, Some(other.identity.did));
    assert_eq!(bob.other_ledgers, [first]);

    let words = format!(
        "x811 {line} --ledger http://{} --home {}",
        other.local_addr,
        world.home().path().display()
    );
    let cli = Cli::try_parse_from(words.split_whitespace()).unwrap();
    let (mut out, text, err) = Out::captured(false);
    assert_eq!(cli.run(&mut out).await.unwrap(), Exit::Ok);
    let said = err.text();
    assert!(said.starts_with("warning this DID"), "{said}");
    assert!(!text.text().contains("warning"), "{}", text.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_never_unbinds_a_wallet_it_cannot_bind_again() {
    let world = World::start().await;
    let mut poorer = world.bob();
    poorer.wallet_key = None;
    world.home().update_agent(&poorer).unwrap();
    let (exit, value) = world.run("agent update bob --expires none").await;
    assert_eq!(
        (exit, &value["error"]["code"]),
        (Exit::Local, &json!("wallet"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn ax_031_status_goes_there_and_back_and_ends() {
    let world = World::start().await;
    world.refused("agent reactivate bob", "X811-4001").await;
    let changed = world.done("agent deactivate bob").await;
    assert_eq!(changed["type"], "x811.registry/deactivate");
    assert_eq!(world.shown().await["status"], "deactivated");
    world.refused("agent deactivate bob", "X811-1003").await;

    world.done("agent reactivate bob").await;
    assert_eq!(world.shown().await["status"], "active");
    assert_eq!(world.speak().await.0, Exit::Ok);

    let revoked = world.done("agent revoke bob --for-ever").await;
    assert_eq!(revoked["type"], "x811.registry/revoke");
    assert_eq!(world.shown().await["status"], "revoked");
    world.refused("agent reactivate bob", "X811-1002").await;
    assert_eq!(world.speak().await.0, Exit::Refused);
}

#[tokio::test(flavor = "multi_thread")]
async fn ax_030_rotate_replaces_the_key_here_and_there() {
    let world = World::start().await;
    let before = world.bob();
    let rotated = world.done("agent rotate bob").await;
    let after = world.bob();
    assert_eq!(rotated["old_key"], json!(before.signing_key.public()));
    assert_eq!(rotated["new_key"], json!(after.signing_key.public()));
    assert!(rotated["position"].is_u64());
    assert_ne!(before.signing_key, after.signing_key);
    assert_eq!(after.next_signing_key, None);
    assert_eq!(world.shown().await["keys"], json!([after.agent_key()]));
    assert_eq!(world.speak().await.0, Exit::Ok);

    world.home().update_agent(&before).unwrap();
    assert_eq!(world.speak().await.0, Exit::Refused, "the old key is over");
}

#[tokio::test(flavor = "multi_thread")]
async fn ax_030_a_crash_before_the_ledger_heard_of_it_keeps_both_keys() {
    let world = World::start().await;
    let mut interrupted = world.bob();
    let next = interrupted.prepare_rotation(&SystemEntropy).unwrap();
    world.home().update_agent(&interrupted).unwrap();

    assert_eq!(world.speak().await.0, Exit::Ok, "the old key still signs");
    assert_eq!(world.bob(), interrupted, "the message may yet arrive");
    let rotated = world.done("agent rotate bob").await;
    assert_eq!(rotated["new_key"], json!(next.public()), "no third key");
    assert_eq!(world.bob().signing_key, next);
}

#[tokio::test(flavor = "multi_thread")]
async fn ax_030_a_crash_after_the_ledger_accepted_is_settled_by_the_next_command() {
    for command in [
        "speak",
        "agent rotate bob",
        "agent update bob --expires none",
    ] {
        let world = World::start().await;
        let context = world.context();
        let mut registrant = Registrant::open(&context, Some(&bob())).await.unwrap();
        let next = registrant
            .identity
            .prepare_rotation(&SystemEntropy)
            .unwrap();
        world.home().update_agent(&registrant.identity).unwrap();
        let registered = [registrant.identity.agent_key()];
        let (identity, ledger) = (&registrant.identity, registrant.ledger);
        let rotation = Rotation::new(identity, ledger, &registered, &next, None);
        registrant.send(&rotation).await.unwrap();

        if command == "speak" {
            assert_eq!(world.speak().await.0, Exit::Ok);
        } else {
            world.done(command).await;
        }
        let settled = world.bob();
        assert_eq!(settled.next_signing_key, None, "{command}");
        let is_rotated_again = command == "agent rotate bob";
        assert_eq!(settled.signing_key != next, is_rotated_again, "{command}");
        assert_eq!(world.speak().await.0, Exit::Ok, "{command}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ax_030_a_rotation_whose_answer_was_lost_is_done() {
    // Sent again it gets its first outcome; if no answer ever comes, the registered key tells.
    for (lost, is_told) in [(1, true), (4, false)] {
        let world = World::start().await;
        let old_key = world.bob().signing_key;
        let address = lossy::losing_answers(world.running.local_addr, lost).await;
        let (exit, rotated) = world.run_through(address, "agent rotate bob").await;
        assert_eq!(exit, Exit::Ok, "{rotated}");
        assert_eq!(rotated["position"].is_u64(), is_told, "{rotated}");
        let bob = world.bob();
        assert_ne!(bob.signing_key, old_key);
        assert_eq!(bob.next_signing_key, None);
        assert_eq!(world.shown().await["keys"], json!([bob.agent_key()]));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ax_030_a_refused_rotation_loses_no_key() {
    let world = World::start().await;
    world.done("agent deactivate bob").await;
    let old_key = world.bob().signing_key;
    world.refused("agent rotate bob", "X811-1003").await;
    assert_eq!(world.bob().signing_key, old_key);
    world.done("agent reactivate bob").await;
    world.done("agent rotate bob").await;
    assert_ne!(world.bob().signing_key, old_key);
}

/// Nothing is called done that was not: a second registration changes nothing.
#[tokio::test(flavor = "multi_thread")]
async fn lc_4_a_registration_that_says_something_else_is_not_called_done() {
    let world = World::start().await;
    for line in ["", "--capability echo", "--endpoint https://bob.example"] {
        let again = world.done(&format!("agent register bob {line}")).await;
        assert_eq!(again["repeated"], true, "{line}: {again}");
    }
    let other = "agent register bob --capability sum --expires 2090-01-01T00:00:00Z";
    let (exit, value) = world.run(other).await;
    assert_eq!(exit, Exit::Refused, "{value}");
    let error = &value["error"];
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("--capability, --expires"), "{message}");
    let what_to_do = error["what_to_do"].as_str().unwrap();
    assert!(what_to_do.contains("x811 agent update bob"), "{what_to_do}");
    assert_eq!(world.shown().await["capabilities"], json!(["echo"]));
}

/// The verbs that the page of capabilities names, by the agent that the command line names.
#[tokio::test(flavor = "multi_thread")]
async fn cc_113_conduct_and_lift_are_run_as_a_named_agent() {
    let world = World::start().await;
    let did = world.bob().did;
    let conduct = world.done("--agent bob capability conduct").await;
    assert_eq!(conduct["agent_id"], did.to_string());
    let lift = format!("capability lift {did} --agent bob");
    world.refused(&lift, "X811-4001").await;
}

/// What is in an envelope's payload is checked before it is sent, all of it at once.
#[tokio::test(flavor = "multi_thread")]
async fn ax_46_a_message_that_is_not_sent_names_all_its_faults() {
    let world = World::start().await;
    let did = world.bob().did;
    world.done("agent new ada").await;
    let line = format!(
        "--agent ada send request --to {did} --task \u{7} --budget 1 --deadline 0 --callback-url nowhere"
    );
    let (exit, value) = world.run(&line).await;
    assert_eq!(exit, Exit::Refused, "{value}");
    let error = &value["error"];
    for member in ["task_type", "deadline", "callback_url"] {
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(member), "{member}: {message}");
        let members = error["details"]["members"].as_array().unwrap();
        assert!(members.contains(&json!(member)), "{member}: {value}");
    }
    // That code has no one meaning, so nothing is said beside the message.
    assert_eq!(error["what_to_do"], "", "{value}");
}
