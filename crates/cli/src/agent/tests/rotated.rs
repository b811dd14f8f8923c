//! A key replaced in the middle of an interaction stops neither party (ledger-contract.md section 4).

use serde_json::{Value, json};

use super::World;

fn text<'a>(value: &'a Value, member: &str) -> &'a str {
    value[member].as_str().unwrap()
}

/// The types of everything ada was sent, oldest first; all of it must be believed.
async fn inbox(world: &World) -> Vec<String> {
    let inbox = world.done("inbox --agent ada").await;
    assert_eq!(inbox["unverified"], json!([]), "{inbox}");
    let messages = inbox["messages"].as_array().unwrap();
    let types = messages.iter().map(|said| text(&said["envelope"], "type"));
    types.map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn lc_4_what_a_provider_said_before_a_rotation_still_counts() {
    let world = World::start().await;
    world.done("agent new ada").await;
    world.done("agent register ada").await;
    let bob = world.bob().did;
    let request = format!("send request --to {bob} --task echo --budget 0.05 --deadline 60");
    let request = world.done(&format!("{request} --agent ada")).await;
    let id = text(&request, "interaction_id");

    world
        .done(&format!("send offer {id} --price 0 --time 5 --agent bob"))
        .await;
    world.done("agent rotate bob").await;
    world.done(&format!("history {id} --agent ada")).await;
    assert_eq!(inbox(&world).await, ["x811/offer"]);
    world.done(&format!("send accept {id} --agent ada")).await;

    world
        .done(&format!("send result {id} --content hello --agent bob"))
        .await;
    world.done("agent rotate bob").await;
    assert_eq!(inbox(&world).await, ["x811/offer", "x811/result"]);
    world.done(&format!("send verify {id} --agent ada")).await;
    let history = world.done(&format!("history {id} --agent ada")).await;
    assert_eq!(text(&history, "state"), "verified");

    // Nor when it has gone since.
    world.done("agent revoke bob --for-ever").await;
    assert_eq!(inbox(&world).await, ["x811/offer", "x811/result"]);
}
