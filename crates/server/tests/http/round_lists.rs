//! What members get of a round, and the lists of rounds and of what waits for a human.

use crate::rounds::Table;
use crate::world::Agent;
use serde_json::{Value, json};
use x811_protocol::facts::ConsensusVerb as Verb;
use x811_protocol::parameters::Rounds;

/// The type of notices, which are signed beside everything else and come when they come.
const NOTICE: &str = "x811.consensus/notice";

/// Types of what an agent got, but for notices.
async fn got(table: &Table, agent: &Agent) -> Vec<String> {
    let mut all = every(table, agent).await;
    all.retain(|name| name != NOTICE);
    all
}

/// Waits until a notice has come; everything that the agent has got then.
async fn noticed(table: &Table, agent: &Agent) -> Vec<String> {
    loop {
        let all = every(table, agent).await;
        if all.iter().any(|name| name == NOTICE) {
            return all;
        }
        tokio::task::yield_now().await;
    }
}

/// Types of all that an agent got.
async fn every(table: &Table, agent: &Agent) -> Vec<String> {
    let path = format!("/api/v1/messages/{}", agent.uuid());
    let page = table.world.get_as(agent, &path).await.expect(200);
    let messages = page["messages"].as_array().unwrap();
    let types = messages
        .iter()
        .map(|message| message["envelope"]["type"].as_str().unwrap().to_owned());
    types.collect()
}

async fn listed(table: &Table, agent: &Agent, path: &str) -> Vec<Value> {
    let answer = table.world.get_as(agent, path).await.expect(200);
    let list = answer.as_object().unwrap().values().next().unwrap();
    list.as_array().unwrap().clone()
}

/// CC-8, CC-22: the ledger is the board, and members are told what is for all; votes go to nobody, reports
/// to the agent that leads.
#[tokio::test]
async fn cc_008_members_get_what_is_said_to_all_and_no_vote() {
    let mut table = Table::under(Rounds::DEFAULT).await;
    table.propose(|_| {}).await;
    let about = json!({ "proposal_id": table.round });
    let ready = json!({
        "proposal_id": table.round, "proposal_hash": table.proposal_hash,
        "leader": table.world.ledger(), "term": 1,
    });
    let ready = table.seal(&table.members[1], Verb::Ready, ready);
    table.world.accept(&ready).await;
    table
        .world
        .accept(&table.vote(1, &json!({ "decision": "approve" })))
        .await;
    let propose = Verb::Propose.as_str();
    for member in &table.members[1..] {
        assert_eq!(got(&table, member).await, [propose]);
    }
    // The opening is told to all, also to the proposer.
    for member in &table.members {
        noticed(&table, member).await;
    }
    for other in [&table.members[0], &table.stranger, &table.auditor] {
        assert!(got(&table, other).await.is_empty());
    }
    // Who has got a message reads it by its id too, and a stranger does not.
    let by_id = |id: String| format!("/api/v1/messages/by-id/{id}");
    let proposal = by_id(table.round.unwrap().to_string());
    table
        .world
        .get_as(&table.members[2], &proposal)
        .await
        .expect(200);
    let no = table.world.get_as(&table.stranger, &proposal).await;
    no.refused(404, "X811-4001");
    let late = table.seal(&table.members[0], Verb::Withdraw, about);
    let refused = table.world.post(late.json).await;
    refused.refused(422, "CCN-4001");
    assert_eq!(got(&table, &table.members[2]).await, [propose]);
}

#[tokio::test]
async fn cc_021_an_agent_lists_its_own_rounds() {
    let mut table = Table::under(Rounds::DEFAULT).await;
    table.propose(|_| {}).await;
    let first = table.round.unwrap().to_string();
    table.world.clock.advance_ms(10);
    table.propose(|_| {}).await;
    let second = table.round.unwrap().to_string();
    for (agent, path) in [
        (&table.members[1], "/api/v1/rounds".to_owned()),
        (&table.members[2], "/api/v1/rounds?member=me".to_owned()),
        (&table.auditor, "/api/v1/rounds".to_owned()),
        (
            &table.auditor,
            format!("/api/v1/rounds?member={}", table.members[0].uuid()),
        ),
    ] {
        let rounds = listed(&table, agent, &path).await;
        let ids: Vec<_> = rounds.iter().map(|round| &round["id"]).collect();
        assert_eq!(ids, [first.as_str(), second.as_str()], "{path}");
        assert_eq!(rounds[0]["status"], "open");
    }
    let page = table
        .world
        .get_as(&table.members[1], "/api/v1/rounds?limit=1")
        .await;
    assert_eq!(page.expect(200)["next"], first.as_str());
    let behind = format!("/api/v1/rounds?after={first}");
    assert_eq!(listed(&table, &table.members[1], &behind).await.len(), 1);
    assert!(
        listed(&table, &table.stranger, "/api/v1/rounds")
            .await
            .is_empty()
    );
    let others = format!("/api/v1/rounds?member={}", table.members[0].uuid());
    let no = table.world.get_as(&table.stranger, &others).await;
    no.refused(403, "X811-2004");
    let nobody = table.world.get("/api/v1/rounds").await;
    nobody.refused(401, "X811-2004");
    // Where reads are open nobody is "me".
    let open = crate::world::World::start().await;
    let nobody = open.get("/api/v1/rounds?member=me").await;
    nobody.refused(401, "X811-2004");
}

/// CC-46 to CC-50: a failed round is put to a human, who reads all that was said, and whose word is final.
#[tokio::test]
async fn cc_046_a_human_finds_what_waits_for_a_decision() {
    let human = Agent::new();
    let block = Rounds {
        humans: vec![human.did],
        ..Rounds::DEFAULT
    };
    let mut table = Table::under(block).await;
    table.world.accept(&human.registration(&table.world)).await;
    table.propose(|_| {}).await;
    let objection = json!({ "decision": "reject", "rationale": "the second link is slow" });
    table.world.accept(&table.vote(1, &objection)).await;
    let list = "/api/v1/escalations";
    let one = format!("{list}/{}", table.round.unwrap());
    let early = table.world.get_as(&human, &one).await;
    early.refused(404, "X811-4001");
    table.world.clock.advance_ms(60_001);
    table.until("failed").await;
    let plea = json!({ "proposal_id": table.round, "reason": "time_critical" });
    let plea = table.seal(&table.members[0], Verb::Escalate, plea);
    let escalated = table.world.accept(&plea).await;
    table.until("escalated").await;
    for reader in [&human, &table.members[2], &table.auditor] {
        let waiting = listed(&table, reader, list).await;
        assert_eq!(waiting.len(), 1);
        assert_eq!(waiting[0]["id"], table.round.unwrap().to_string());
        let shown = table.world.get_as(reader, &one).await.expect(200);
        assert_eq!(shown["reason"], "time_critical");
        assert_eq!(shown["subject"], "Move to the second link");
        assert_eq!(shown["escalation"], waiting[0]["escalation"]);
        assert!(shown["escalation"].as_u64() > escalated["position"].as_u64());
        assert_eq!(shown["votes"][0]["rationale"], objection["rationale"]);
        assert_eq!(shown["votes"][0]["counted"], true);
    }
    assert!(listed(&table, &table.stranger, list).await.is_empty());
    let no = table.world.get_as(&table.stranger, &one).await;
    no.refused(404, "X811-4001");

    let shown = table.world.get_as(&human, &one).await.expect(200);
    let ruling = json!({
        "proposal_id": table.round, "escalation": shown["escalation"], "decision": "approve",
        "rationale": "it is slow, and it works",
    });
    let forged = table.seal(&table.members[1], Verb::HumanDecision, ruling.clone());
    let refused = table.world.post(forged.json).await;
    assert_ne!(refused.status, 202, "{}", refused.text);
    let ruling = table.seal(&human, Verb::HumanDecision, ruling);
    table.world.accept(&ruling).await;
    table.until("human_approved").await;
    assert!(listed(&table, &human, list).await.is_empty());
    let told = got(&table, &table.members[1]).await;
    let expected = [Verb::Propose, Verb::Escalate, Verb::HumanDecision].map(Verb::as_str);
    assert_eq!(told, expected);
    assert!(got(&table, &human).await.is_empty());
    // Of what was noticed humans alone are told, of the escalation they too.
    let notices = noticed(&table, &human).await;
    assert!(notices.iter().all(|name| name == NOTICE), "{notices:?}");
    assert!(every(&table, &table.stranger).await.is_empty());
}
