//! Two rounds block each other, and a block of a real chain draws who stays: whoever has the chain finds the
//! same (round.md, "When it is decided", rule 9).

use super::loops::Loop;
use super::rounds::Council;
use serde_json::{Value, json};
use x811_tests::binary::run;
use x811_tests::verifiers::{Job, Verifier};

const RULES: &str = "cycle = \"random\"\ncycle_network = \"local\"\ndraw_blocks = 4\n";

/// CC-61: neither proposer nor voters nor the operator pick the round; the hash of a later block does.
#[tokio::test]
async fn cc_061_a_block_of_a_real_chain_draws_and_the_audit_finds_it_there() {
    let council = Council::set_under(RULES).await;
    let long = ["--timeout", "90"];
    let early = council.propose(4, &long);
    let late = council.propose(4, &long);
    let script = format!(
        r#"if grep -q {early}; then it={late}; else it={early}; fi
echo "{{\"decision\": \"reject\", \"rationale\": \"first the other\", \"blocked_by\": [\"$it\"]}}""#
    );
    let config = format!("poll_ms = 300\n[run]\ncommand = ['/bin/sh', '-c', '''{script}''']\n");
    let loops = ["bert", "cleo"].map(|agent| Loop::start(&council.stage, agent, "voter", &config));
    let (mut loser, mut winner) = (early.clone(), late.clone());
    let mut shown = Value::Null;
    for _ in 0..120 {
        shown = council.said("ada", &["rounds", "show", &loser]);
        if shown["status"] == "aborted" {
            break;
        }
        std::mem::swap(&mut loser, &mut winner);
        council.stage.anvil.next_block().await;
    }
    assert_eq!(shown["outcome"]["reason"], "superseded", "{shown}");
    drop(loops);

    let data = council.stage.data_dir();
    let data = data.to_str().unwrap();
    let file = council.stage.folder.path().join("whole.x811");
    let named = file.to_str().unwrap();
    // It waits for the checkpoint over the draw; what is behind the last one is not audited.
    let _ = run(&["--json", "export", data, "--output", named]).ok();
    let rpc_url = council.stage.anvil.rpc_url();
    let report = run(&["--json", "audit", data, "--rpc", &rpc_url])
        .unverified()
        .json();
    assert_eq!(report["findings"], json!([]), "{report}");
    let observed = &report["observations"];
    let counts = (&observed["proven"], &observed["broken"]);
    assert_eq!(counts, (&json!(1), &json!(0)), "the draw: {report}");

    let text = std::fs::read_to_string(&file).unwrap();
    let records = text.lines().filter_map(|line| line.strip_prefix("r "));
    let events = records.map(|leaf| serde_json::from_str::<Value>(leaf).unwrap()["event"].clone());
    let drawn: Vec<Value> = events
        .filter(|event| event["type"] == "cycle_drawn")
        .collect();
    assert_eq!(drawn.len(), 1, "{drawn:?}");
    assert_eq!(drawn[0]["winner"], winner.as_str());
    let said = Verifier::Reader.judge(Job::export(&file)).unwrap();
    assert!(said.contains("root of all states"), "{said}");
}
