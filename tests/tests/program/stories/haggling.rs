//! Two loops that negotiate by themselves, by what their files say.

use super::loops::{CAPS, Loop, initiator, order, said};
use super::stage::{Stage, text};
use serde_json::Value;

const BLOCK: &str = "[negotiation]\nstrategy = 'STRATEGY'\nper_turn = '0.004'\n";

fn block(strategy: &str) -> String {
    BLOCK.replace("STRATEGY", strategy)
}

/// Bert asks 0.029 and takes 0.024.
fn provider(stage: &Stage, lowest: &str) -> Loop {
    let config = format!(
        "{}[[capability]]\ntask = 'echo'\nprice = '0.029'\nlowest = '{lowest}'\ntime_s = 5\n\
         deliverables = ['the text']\n[run]\ncommand = ['cat']\n",
        block("fixed_concession")
    );
    Loop::start(stage, "bert", "provider", &config)
}

/// Ada begins with 0.02, and has this budget.
fn haggler(stage: &Stage, bert: &str, budget: &str) -> Loop {
    let order = order("first", bert, budget, "policy = 'auto'\nopening = '0.02'");
    let rest = format!("{CAPS}{}{order}", block("tit_for_tat"));
    initiator(stage, &rest)
}

fn listed(stage: &Stage, agent: &str) -> Vec<Value> {
    let list = stage.x811(agent, &["negotiation", "list"]).ok().json();
    list["negotiations"].as_array().unwrap().clone()
}

#[tokio::test]
async fn xn_4_two_loops_agree_within_their_limits_and_are_paid_what_they_agreed() {
    let (stage, bert) = Stage::peopled(&[]).await;
    let working = provider(&stage, "0.024");
    let paying = haggler(&stage, &bert, "0.0287");
    let paid = working.until(&stage, "paid", "completed").await;
    let interaction = text(&paid, "interaction");
    let _ = paying.until(&stage, "paid", "completed").await;
    assert_eq!(
        said(&stage, &interaction)[..2],
        ["x811/request", "x811/offer"]
    );

    let negotiations = listed(&stage, "ada");
    let [one] = &negotiations[..] else {
        panic!("{negotiations:?}");
    };
    assert_eq!(one["status"], "accepted", "{one}");
    assert_eq!(one["engagement"]["interaction_id"], interaction.as_str());
    let price: u64 = text(&one["terms"], "amount").parse().unwrap();
    assert!((24_000..=28_000).contains(&price), "{one}");
    let view = stage
        .x811("bert", &["provider", "paid", &interaction])
        .json();
    assert_eq!(view["contract"]["id"], one["id"], "{view}");
    let total = price + (price + 20) / 40;
    assert_eq!(view["paid_micro_usdc"], total.to_string(), "{view}");

    // Each of the two reads it; the contract alone is proven offline, its authors too.
    assert_eq!(listed(&stage, "bert"), negotiations);
    let file = stage.folder.path().join("contract.x811");
    let id = text(one, "id");
    let export = ["export", "--negotiation", &id, "-o", file.to_str().unwrap()];
    let _ = stage.x811("ada", &export).ok();
    let audited = stage.x811("", &["audit", file.to_str().unwrap()]).json();
    assert_eq!(audited["findings"], serde_json::json!([]), "{audited}");
    assert_eq!(
        audited["signatures_valid"], audited["envelopes"],
        "{audited}"
    );
    assert_eq!(audited["facts"]["asserted"], 0, "{audited}");
}

#[tokio::test]
async fn xn_4_loops_that_cannot_meet_part_without_an_interaction() {
    let (stage, bert) = Stage::peopled(&[]).await;
    let _working = provider(&stage, "0.028");
    let paying = haggler(&stage, &bert, "0.0246");
    let _ = paying.until(&stage, "over", "no terms").await;
    let negotiations = listed(&stage, "bert");
    assert_eq!(negotiations[0]["status"], "rejected", "{negotiations:?}");
    assert_eq!(paying.count("said", "request"), 0);
    // The order was not sent for good: the next start begins anew.
    paying.kill();
    let paying = haggler(&stage, &bert, "0.05");
    let _ = paying.until(&stage, "paid", "completed").await;
    assert_eq!(listed(&stage, "ada").len(), 2);
}
