//! Terms before work, by the real binary: three turns, agreed, engaged, paid, and audited.

use super::stage::{Stage, text};
use serde_json::Value;

/// What the last answer says.
fn said(stage: &Stage, agent: &str, arguments: &[&str]) -> Value {
    stage.x811(agent, arguments).ok().json()
}

/// Three turns, and the last terms are agreed on; returns the negotiation.
fn agreed(stage: &Stage, bert: &str) -> String {
    let offer = [
        "negotiation",
        "offer",
        "--to",
        bert,
        "--amount",
        "0.02",
        "--task",
        "echo",
        "--deadline",
        "60",
        "--deliverable",
        "the text",
    ];
    let offered = said(stage, "ada", &offer);
    let negotiation = text(&offered, "negotiation");
    let counter = |agent: &str, amount: &str| {
        let counter = [
            "negotiation",
            "counter",
            &negotiation,
            "--amount",
            amount,
            "--message",
            "what about this",
        ];
        assert_eq!(said(stage, agent, &counter)["state"], "countered");
    };
    counter("bert", "0.041");
    counter("ada", "0.0205");
    let own = stage.x811("ada", &["negotiation", "accept", &negotiation]);
    assert_eq!(own.code, Some(1), "the last terms are Ada's own: {own:?}");
    let _ = said(stage, "bert", &["negotiation", "accept", &negotiation]);
    negotiation
}

/// The interaction that the contract opens, up to the VERIFY; returns it.
fn engaged(stage: &Stage, bert: &str, negotiation: &str) -> String {
    let named = format!("negotiation_id={negotiation}");
    let under = |budget| {
        [
            "send",
            "request",
            "--to",
            bert,
            "--task",
            "echo",
            "--budget",
            budget,
            "--deadline",
            "60",
            "--param",
            &named,
        ]
    };
    let short = stage.x811("ada", &under("0.0204"));
    assert_eq!(short.code, Some(1), "less than agreed on: {short:?}");
    assert!(short.stdout.contains("max_budget"), "{short:?}");
    let request = under("0.05");
    let interaction = text(&said(stage, "ada", &request), "interaction_id");
    let again = stage.x811("ada", &request);
    assert_eq!(again.code, Some(1), "one contract, one interaction");
    let price = |price: &str| {
        let offer = [
            "send",
            "offer",
            &interaction,
            "--price",
            price,
            "--time",
            "5",
            "--deliverable",
            "the text",
        ];
        stage.x811("bert", &offer)
    };
    let refused = price("0.03");
    assert_eq!(refused.code, Some(1), "not what was agreed on");
    let names = |it: &str| refused.stdout.contains(it) || refused.stderr.contains(it);
    assert!(names("a price of 0.02 USDC"), "{refused:?}");
    let _ = price("0.02").ok();
    let _ = said(stage, "ada", &["send", "accept", &interaction]);
    let _ = said(
        stage,
        "bert",
        &["send", "result", &interaction, "--content", "hello"],
    );
    let _ = said(stage, "ada", &["send", "verify", &interaction]);
    interaction
}

#[tokio::test]
async fn xn_9_three_turns_agreed_engaged_and_paid() {
    let (stage, bert) = Stage::peopled(&[]).await;
    let negotiation = agreed(&stage, &bert);

    // The page proves its own chain, and nothing of who wrote it.
    let page = said(&stage, "bert", &["negotiation", "show", &negotiation]);
    assert_eq!(page["status"], "accepted");
    assert_eq!(page["history"].as_array().map(Vec::len), Some(4));
    // Each turn is shown with its amount, and what was agreed on with task and deliverables.
    let show = ["negotiation", "show", &negotiation];
    let shown = stage.x811_in_words("bert", &show).ok();
    for told in page["history"].as_array().unwrap() {
        let value = told["terms"]["amount"]["value"]
            .as_str()
            .unwrap_or("accept");
        assert!(shown.stdout.contains(value), "{}", shown.stdout);
    }
    let task = page["terms"]["task_type"].as_str().unwrap();
    assert!(shown.stdout.contains(task), "{}", shown.stdout);
    let file = stage.folder.path().join("contract.json");
    std::fs::write(&file, page.to_string()).unwrap();
    let audited = stage.x811("", &["audit", file.to_str().unwrap()]);
    assert_eq!(audited.code, Some(21), "{audited:?}");

    let interaction = engaged(&stage, &bert, &negotiation);
    let _ = stage.pay(&interaction);
    assert_eq!(stage.until_decided(&interaction).await.code, Some(0));

    let told = stage.x811("bert", &["history", &interaction]).ok();
    let id = negotiation.trim_start_matches("neg-");
    assert!(told.stdout.contains(id), "{}", told.stdout);

    // The records of the negotiation end with the interaction that it opened.
    let records = said(&stage, "bert", &["history", &negotiation]);
    assert_eq!(records["negotiation"], negotiation.as_str());
    let who = |row: &Value| row["who"].as_str().unwrap().to_owned();
    let who: Vec<String> = records["records"]
        .as_array()
        .unwrap()
        .iter()
        .map(who)
        .collect();
    let turns = ["initiator", "responder", "initiator", "responder", "ledger"];
    assert_eq!(who, turns, "{records}");
    let told = stage.x811_in_words("bert", &["history", &negotiation]).ok();
    assert!(told.stdout.contains(&interaction), "{}", told.stdout);
    let stranger = stage.x811("", &["agent", "new", "eve"]).ok();
    let _ = stage.x811("eve", &["agent", "register"]).ok();
    let refused = stage.x811("eve", &["history", &negotiation]);
    assert_ne!(refused.code, Some(0), "{stranger:?} {refused:?}");

    // The whole log, and the interaction alone, which brings its contract.
    let data = stage.data_dir();
    let whole = stage.x811("", &["audit", data.to_str().unwrap()]).json();
    assert_eq!(whole["findings"], serde_json::json!([]), "{whole}");
    let bundle = stage.folder.path().join("bundle.x811");
    let export = [
        "export",
        "--interaction",
        &interaction,
        "--output",
        bundle.to_str().unwrap(),
    ];
    let _ = stage.x811("bert", &export).ok();
    let alone = stage.x811("", &["audit", bundle.to_str().unwrap()]).json();
    assert_eq!(alone["findings"], serde_json::json!([]), "{alone}");
    let contract = format!("contract:{}", negotiation.trim_start_matches("neg-"));
    assert!(alone.to_string().contains(&contract), "{alone}");
    let receipt = stage.folder.path().join("receipt.json");
    let receipt = receipt.to_str().unwrap();
    let _ = said(&stage, "bert", &["receipt", &interaction, "-o", receipt]);
    let verified = stage.x811("", &["receipt", "verify", receipt]);
    assert_eq!(verified.code, Some(21), "{verified:?}");
    let verified = verified.json();
    assert_eq!(
        verified["paid"]["terms"]["contract"],
        negotiation.as_str(),
        "{verified}"
    );
    let paid = said(&stage, "ada", &["provider", "paid", &interaction]);
    assert_eq!(paid["contract"]["id"], negotiation.as_str(), "{paid}");
}

/// Nobody answers the REQUEST in time: the contract is used up, and the next names it as its parent.
#[tokio::test]
async fn xn_9_a_contract_whose_interaction_lapsed_is_used_up() {
    let (stage, bert) = Stage::peopled(&["--offer-ms", "2000"]).await;
    let negotiation = agreed(&stage, &bert);
    let request = |key: &str, negotiation: &str| {
        let named = format!("negotiation_id={negotiation}");
        let request = ["send", "request", "--to", &bert, "--task", "echo"];
        let terms = ["--budget", "0.05", "--deadline", "60", "--param", &named];
        let key = ["--idempotency-key", key];
        stage.x811("ada", &[&request[..], &terms[..], &key[..]].concat())
    };
    let lapsed = text(&request("one", &negotiation).ok().json(), "interaction_id");
    stage.until_recorded(&lapsed, "expired").await;
    let second = request("two", &negotiation);
    assert_eq!(second.code, Some(1), "{second:?}");
    assert!(second.stdout.contains("X811-4001"), "{second:?}");

    let offer = [
        "negotiation",
        "offer",
        "--to",
        &bert,
        "--amount",
        "0.0205",
        "--parent",
        &negotiation,
    ];
    let anew = text(&said(&stage, "ada", &offer), "negotiation");
    let _ = said(&stage, "bert", &["negotiation", "accept", &anew]);
    let _ = request("three", &anew).ok();
    let open = said(&stage, "bert", &["negotiation", "list", "--open"]);
    assert_eq!(open["negotiations"], serde_json::json!([]), "{open}");
}
