//! Deciding together, by the real binary: five agents, one votes twice, one is silent; a round that only a
//! human decides; sealed votes; two that block each other. Each is taken along in a bundle, audited, and counted again in Python.

use super::forged_trace;
use super::loops::Loop;
use super::stage::{Stage, text};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Duration;
use x811_tests::verifiers::{Job, Verifier};

const AGENTS: [&str; 5] = ["ada", "bert", "cleo", "dan", "eve"];

/// What is decided, as a command writes it.
const ACTION: &str =
    r#"{"type": "com.example.route", "resource": ["link a"], "risk": "low", "reversible": true}"#;

pub(crate) struct Council {
    pub(crate) stage: Stage,
    dids: Vec<String>,
}

impl Council {
    /// Five who have agreed to take part, and a human whom the ledger names.
    async fn set() -> Council {
        Council::set_under("").await
    }

    /// The same, with more in `[rounds]`.
    pub(crate) async fn set_under(rules: &str) -> Council {
        let mut stage = Stage::set(&[]).await;
        let _ = stage.x811("", &["agent", "new", "hana"]).ok();
        let hana = stage.x811("hana", &["agent", "register"]).ok().json();
        let config = stage.folder.path().join("x811.toml");
        let rounds = format!(
            "[rounds]\nenabled = true\nhumans = [\"{}\"]\n{rules}",
            text(&hana, "did")
        );
        std::fs::write(&config, rounds).unwrap();
        stage.start_with(&["--config", config.to_str().unwrap()]);
        let mut dids = Vec::new();
        for name in AGENTS {
            let _ = stage.x811("", &["agent", "new", name]).ok();
            let register = ["agent", "register", "--capability", "x811.consensus"];
            dids.push(text(&stage.x811(name, &register).ok().json(), "did"));
        }
        Council { stage, dids }
    }

    pub(crate) fn said(&self, agent: &str, arguments: &[&str]) -> Value {
        self.stage.x811(agent, arguments).ok().json()
    }

    /// Ada proposes to the first so many; returns the round.
    pub(crate) fn propose(&self, seats: usize, more: &[&str]) -> String {
        let mut arguments = vec!["rounds", "propose", "--subject", "Use the second link"];
        arguments.extend(["--action", ACTION]);
        if !more.contains(&"--timeout") {
            arguments.extend(["--timeout", "12"]);
        }
        for did in &self.dids[..seats] {
            arguments.extend(["--participant", did]);
        }
        arguments.extend(more);
        text(&self.said("ada", &arguments), "round")
    }

    /// Waits until the round is there.
    async fn until(&self, round: &str, status: &str) -> Value {
        for _ in 0..120 {
            let shown = self.said("ada", &["rounds", "show", round]);
            if shown["status"] == status {
                return shown;
            }
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
        panic!("round {round} does not become {status}");
    }

    /// The bundle of a round, asked by that agent: audited, and read by a program of another author.
    fn taken_along(&self, agent: &str, round: &str) -> PathBuf {
        let file = self.stage.folder.path().join(format!("{round}.x811"));
        let named = file.to_str().unwrap();
        let exported = self.said(agent, &["export", "--round", round, "-o", named]);
        assert_eq!(exported["round"], round, "{exported}");
        let audited = self.stage.x811("", &["audit", named]).json();
        assert_eq!(audited["findings"], json!([]), "{audited}");
        assert_eq!(audited["verdict"], "clean", "{audited}");
        Verifier::Reader.judge(Job::export(&file)).unwrap();
        file
    }
}

/// CC-8 to CC-62: what is said twice does not count, silence is counted as silence, and a human's word ends
/// what agents could not decide.
#[tokio::test]
async fn cc_013_five_agents_decide_together_and_a_human_where_they_cannot() {
    let council = Council::set().await;
    let round = council.propose(5, &[]);
    let inbox = council.said("bert", &["inbox"]);
    let told = &inbox["messages"][0];
    assert_eq!(
        told["envelope"]["type"], "x811.consensus/propose",
        "{inbox}"
    );
    let vote = |agent: &str, decision: &str| {
        let why = format!("{agent} says {decision}");
        let vote = ["rounds", "vote", &round, decision, "--rationale", &why];
        council.said(agent, &vote)
    };
    let _ = council.said("cleo", &["rounds", "ready", &round]);
    let _ = vote("ada", "approve");
    let _ = vote("bert", "approve");
    let twice = vote("bert", "reject");
    assert_eq!(
        (&twice["counted"], &twice["code"]),
        (&json!(false), &json!("CCN-4005"))
    );
    let third = council
        .stage
        .x811("bert", &["rounds", "vote", &round, "abstain"]);
    assert_eq!(third.code, Some(1), "{third:?}");
    let _ = vote("cleo", "reject");
    let bare = council
        .stage
        .x811("dan", &["rounds", "vote", &round, "reject"]);
    assert_eq!(bare.code, Some(1), "a rejection says why: {bare:?}");
    let _ = vote("dan", "approve");
    let open = council.said("eve", &["rounds", "list", "--open"]);
    assert_eq!(open["rounds"][0]["id"], round.as_str(), "{open}");
    let early = council.stage.x811("eve", &["rounds", "show", &round]).ok();
    assert!(!early.stdout.contains("votes approve"), "{}", early.stdout);

    let shown = council.until(&round, "committed").await;
    let outcome = &shown["outcome"];
    let counts = ["approve", "reject", "received", "eligible"].map(|name| outcome[name].clone());
    assert_eq!(counts, [3, 1, 4, 5].map(|count| json!(count)), "{outcome}");
    for agent in &AGENTS[..4] {
        let _ = council.said(agent, &["rounds", "report", &round]);
    }
    let findings = council.said("eve", &["rounds", "findings"]);
    assert_eq!(findings["noticed"][0]["kind"], "second_vote", "{findings}");
    assert_eq!(findings["noticed"][0]["agents"], json!([council.dids[1]]));
    let told = council
        .stage
        .x811_in_words("eve", &["rounds", "show", &round])
        .ok();
    assert!(told.stdout.contains("decided: commit"), "{}", told.stdout);
    let bundle = council.taken_along("eve", &round);
    traced(&council, &round);
    forged_trace::resigned(&council, &round, &bundle);

    escalated(&council).await;
    sealed(&council).await;
    in_a_circle(&council).await;

    let data = council.stage.data_dir();
    let whole = council
        .stage
        .x811("", &["audit", data.to_str().unwrap()])
        .json();
    assert_eq!(whole["findings"], json!([]), "{whole}");
}

/// CC-94, CC-101: the trace is drawn, holds offline, and is refused once it was changed.
fn traced(council: &Council, round: &str) {
    let folder = council.stage.folder.path();
    let (kept, picture) = (folder.join("trace.json"), folder.join("trace.svg"));
    let [kept, picture] = [&kept, &picture].map(|path| path.to_str().unwrap());
    let show = ["trace", "show", round, "-o", kept, "--svg", picture];
    let shown = council.said("eve", &show);
    let acts: Vec<&str> = shown["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| node["exec_act"].as_str().unwrap())
        .collect();
    let mut expected = vec!["consensus_propose"];
    expected.extend(["consensus_vote"; 4]);
    expected.push("consensus_commit");
    assert_eq!(acts, expected, "{shown}");
    let svg = std::fs::read_to_string(picture).unwrap();
    assert!(svg.starts_with("<svg") && !svg.contains("script"), "{svg}");
    let key = text(&shown, "signed_by");
    let verified = council.said("", &["trace", "verify", kept, "--key", &key]);
    assert_eq!(verified["proven"], true, "{verified}");
    let alone = council.stage.x811("", &["trace", "verify", kept]);
    assert_eq!(alone.code, Some(21), "nobody said whose key: {alone:?}");
    let stranger = |file: &str| Verifier::Joserfc.judge(Job::trace(file.as_ref(), &key));
    assert_eq!(stranger(kept).as_deref(), Ok("6 nodes"));
    let honest = std::fs::read_to_string(kept).unwrap();
    let mut trace: Value = serde_json::from_str(&honest).unwrap();
    trace["tokens"].as_array_mut().unwrap().remove(1);
    std::fs::write(kept, trace.to_string()).unwrap();
    let changed = council.stage.x811("", &["trace", "verify", kept]);
    assert_eq!(changed.code, Some(20), "a vote is left out: {changed:?}");
    assert!(stranger(kept).is_err());
}

/// One votes and the others are silent: no quorum. A human decides.
async fn escalated(council: &Council) {
    let round = council.propose(5, &[]);
    let _ = council.said("ada", &["rounds", "vote", &round, "approve"]);
    let shown = council.until(&round, "failed").await;
    assert_eq!(shown["outcome"]["reason"], "no_quorum", "{shown}");
    let early = council.stage.x811("hana", &["escalations", "show", &round]);
    assert_eq!(early.code, Some(1), "nobody asked: {early:?}");
    let _ = council.said("ada", &["rounds", "escalate", &round]);
    let waiting = council.said("hana", &["escalations", "list"]);
    assert_eq!(waiting["rounds"][0]["id"], round.as_str(), "{waiting}");
    let asked = council.said("hana", &["escalations", "show", &round]);
    assert_eq!(asked["reason"], "time_critical", "{asked}");
    assert_eq!(asked["subject"], "Use the second link", "{asked}");
    assert_eq!(asked["votes"][0]["decision"], "approve", "{asked}");
    let decide = |agent: &str| {
        let decide = [
            "escalations",
            "decide",
            &round,
            "approve",
            "--rationale",
            "it is safe",
        ];
        council.stage.x811(agent, &decide)
    };
    assert_eq!(decide("bert").code, Some(1), "no human of this ledger");
    let _ = decide("hana").ok();
    assert_eq!(decide("hana").code, Some(1), "decided once");
    let _ = council.until(&round, "human_approved").await;
    let _ = council.said(
        "ada",
        &["rounds", "report", &round, "--failed", "--text", "no power"],
    );
    let _ = council.taken_along("ada", &round);
}

/// Votes that nobody reads before the time is over.
async fn sealed(council: &Council) {
    let round = council.propose(3, &["--sealed", "--reveal", "10"]);
    for (agent, decision) in [("ada", "approve"), ("bert", "approve"), ("cleo", "reject")] {
        let vote = [
            "rounds",
            "vote",
            &round,
            decision,
            "--rationale",
            "so I think",
        ];
        let _ = council.said(agent, &vote);
        // The same again is the same vote; another one stays on this computer.
        assert!(council.stage.x811(agent, &vote).code == Some(0));
        let other = council
            .stage
            .x811(agent, &["rounds", "vote", &round, "abstain"]);
        assert!(other.stdout.contains("voted"), "{other:?}");
    }
    let early = council.stage.x811("ada", &["rounds", "reveal", &round]);
    assert_eq!(early.code, Some(1), "{early:?}");
    let _ = council.until(&round, "revealing").await;
    for agent in ["ada", "bert", "cleo"] {
        let _ = council.said(agent, &["rounds", "reveal", &round]);
    }
    let shown = council.until(&round, "committed").await;
    assert_eq!(shown["outcome"]["approve"], 2, "{shown}");
    let _ = council.taken_along("cleo", &round);
}

/// CC-60: a proposal says what stands in its way, and so do two rejections: the later of both rounds ends.
async fn in_a_circle(council: &Council) {
    let early = council.propose(4, &["--timeout", "60"]);
    let later = ["--timeout", "60", "--blocked-by", &early];
    let late = council.propose(4, &later);
    for agent in ["ada", "bert"] {
        let vote = [
            "rounds",
            "vote",
            &early,
            "reject",
            "--rationale",
            "after the other",
        ];
        let _ = council.said(agent, &[&vote[..], &["--blocked-by", &late]].concat());
    }
    let shown = council.until(&late, "aborted").await;
    assert_eq!(shown["outcome"]["reason"], "superseded", "{shown}");
    assert_eq!(shown["superseded_by"], early.as_str(), "{shown}");
    let unknown = "019c8c61-8129-7511-9f31-aa5142e65440";
    let vote = ["rounds", "vote", &early, "approve", "--blocked-by", unknown];
    let refused = council.stage.x811("cleo", &vote);
    assert_eq!(refused.code, Some(1), "nobody knows it: {refused:?}");
}

/// CC-18: agents that run by themselves vote by what a command says of the proposal, and reveal what they
/// sealed; one whose command fails is silent.
#[tokio::test]
async fn cc_018_agents_vote_by_a_command() {
    let council = Council::set().await;
    let run = |agent: &str, script: &str| {
        let config = format!("poll_ms = 300\n[run]\ncommand = ['/bin/sh', '-c', '''{script}''']\n");
        Loop::start(&council.stage, agent, "voter", &config)
    };
    let careful = r#"grep -q '"risk":"low"' && echo '{"decision": "approve"}'"#;
    let bert = run("bert", careful);
    let against = r#"echo '{"decision": "reject", "rationale": "the second link is slow"}'"#;
    let cleo = run("cleo", against);
    let dan = run("dan", "echo approve");
    let round = council.propose(4, &[]);
    let _ = council.said("ada", &["rounds", "vote", &round, "approve"]);
    let shown = council.until(&round, "committed").await;
    let outcome = &shown["outcome"];
    assert_eq!(
        (
            &outcome["approve"],
            &outcome["reject"],
            &outcome["received"]
        ),
        (&json!(2), &json!(1), &json!(3)),
        "{shown}"
    );
    assert_eq!(
        (
            bert.count("voted", "approve"),
            cleo.count("voted", "reject")
        ),
        (1, 1)
    );
    assert_eq!(dan.count("failed", "no ballot"), 3, "then it is left alone");
    let _ = council.taken_along("bert", &round);

    let round = council.propose(3, &["--sealed", "--reveal", "10"]);
    let _ = council.said("ada", &["rounds", "vote", &round, "approve"]);
    let _ = council.until(&round, "revealing").await;
    let _ = council.said("ada", &["rounds", "reveal", &round]);
    let shown = council.until(&round, "committed").await;
    assert_eq!(shown["outcome"]["invalid"], 0, "{shown}");
    assert_eq!(shown["outcome"]["reject"], 1, "{shown}");
    assert_eq!(
        (
            bert.count("revealed", "approve"),
            cleo.count("revealed", "reject")
        ),
        (1, 1)
    );
}
