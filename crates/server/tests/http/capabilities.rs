//! `GET /api/v1/agents/{uuid}/capabilities`.

use crate::log::{checkpoint, covered};
use crate::world::{Agent, World};
use serde_json::{Value, json};
use x811_audit::audit_export;
use x811_protocol::envelope::{EnvelopeRules, ParsedEnvelope, verify};
use x811_protocol::key::{AgentKey, Profile};
use x811_protocol::stream::Subject;

/// What that agent says that it can do.
pub(crate) fn descriptor(agent: &Agent, revision: u64) -> Value {
    json!({
        "agent_id": agent.did,
        "revision": revision,
        "min_version": "1.0.0",
        "max_version": "1.2.0",
        "deprecated_versions": ["1.0.0"],
        "capabilities": [{
            "type": "tool.api",
            "category": "tool_access",
            "version": "4.5.6",
            "parameters": {},
            "constraints": {"requests_per_minute": 10},
            "availability": "available",
        }],
    })
}

/// CC-63, CC-64, CC-74: anybody reads it, in the bytes that the agent signed.
#[tokio::test]
async fn cc_064_and_cc_074_a_stranger_verifies_a_descriptor() {
    let (world, [agent]) = World::peopled().await;
    let path = format!("/api/v1/agents/{}/capabilities", agent.uuid());
    world.get(&path).await.refused(404, "X811-4001");
    let nobody = format!("/api/v1/agents/{}/capabilities", Agent::new().uuid());
    world.get(&nobody).await.refused(404, "X811-1001");
    let mut position = 0;
    for revision in 1..=2 {
        let payload = descriptor(&agent, revision);
        let sealed = agent.say(&world, world.ledger(), "x811.capability/advertise", payload);
        position = world.accept(&sealed).await["position"].as_u64().unwrap();
    }
    let answer = world
        .get(&format!("{path}?min_position={position}"))
        .await
        .expect(200);
    assert_eq!(answer["revision"], 2);
    assert_eq!(answer["position"], position);
    assert_eq!(answer["did"], agent.did.to_string());
    let envelope = answer["envelope"].to_string();
    let parsed = ParsedEnvelope::parse(envelope.as_bytes(), &EnvelopeRules::default()).unwrap();
    let key = AgentKey {
        key: agent.key.public(),
        profile: Profile::Digest,
    };
    let verified = verify(parsed, &[key]).unwrap();
    assert_eq!(
        Value::from(verified.payload().clone()),
        descriptor(&agent, 2)
    );
}

/// By type and version of what is in force; who has published nothing is not among them.
#[tokio::test]
async fn ax_37_agents_are_found_by_type_and_version_of_their_descriptors() {
    let (world, [agent, _silent]) = World::peopled().await;
    let payload = descriptor(&agent, 1);
    let sealed = agent.say(&world, world.ledger(), "x811.capability/advertise", payload);
    world.accept(&sealed).await;
    let found = async |query: &str| {
        let page = world.get(&format!("/api/v1/agents?{query}")).await;
        page.expect(200)["agents"].as_array().unwrap().len()
    };
    for (query, count) in [
        ("", 2),
        ("type=tool.api", 1),
        ("type=tool.api&version=1.2.0", 1),
        ("version=1.0.0", 1),
        ("version=1.2.1", 0),
        ("type=tool.api&version=0.9.9", 0),
        ("type=compute.inference", 0),
        ("type=tool.api&capability=translate", 1),
        ("type=tool.api&capability=other", 0),
    ] {
        assert_eq!(found(query).await, count, "{query}");
    }
    let malformed = world.get("/api/v1/agents?version=1.2").await;
    malformed.refused(400, "X811-4001");
}

/// As open as the descriptor itself, and clean without the ledger.
#[tokio::test]
async fn cc_074_a_stranger_audits_every_revision_offline() {
    let (world, [agent]) = World::peopled().await;
    let path = format!("/api/v1/agents/{}/capabilities/bundle", agent.uuid());
    world.get(&path).await.refused(404, "X811-4001");
    let nobody = format!("/api/v1/agents/{}/capabilities/bundle", Agent::new().uuid());
    world.get(&nobody).await.refused(404, "X811-1001");
    for revision in 1..=2 {
        let payload = descriptor(&agent, revision);
        let sealed = agent.say(&world, world.ledger(), "x811.capability/advertise", payload);
        world.accept(&sealed).await;
    }
    checkpoint(&world).await;
    let answer = covered(&world, &path).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let report = audit_export(answer.text.as_bytes(), None).unwrap();
    assert!(report.is_clean(), "{:?}", report.findings);
    let of = report.extract.unwrap().subject();
    assert_eq!(of, Some(Subject::Descriptor(agent.did)));
}
