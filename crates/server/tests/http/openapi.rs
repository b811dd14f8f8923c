//! The description for programs: what generators of clients need of it.

use crate::world::World;
use serde_json::Value;
use std::collections::BTreeSet;

#[tokio::test]
async fn operations_have_ids_of_their_own_and_tags_and_security_that_are_described() {
    let world = World::start_blind_with(|_| {}).await;
    let description = world.get("/openapi.json").await.expect(200);
    let tags: Vec<&Value> = description["tags"].as_array().unwrap().iter().collect();
    let schemes = &description["components"]["securitySchemes"];
    let (mut ids, mut count) = (BTreeSet::new(), 0);
    for (path, operations) in description["paths"].as_object().unwrap() {
        for operation in operations.as_object().unwrap().values() {
            count += 1;
            ids.insert(operation["operationId"].as_str().unwrap());
            let tag = &operation["tags"][0];
            assert!(
                tags.iter().any(|known| known["name"] == *tag),
                "{path}: {tag}"
            );
            let security = operation.get("security").and_then(Value::as_array);
            for wanted in security.into_iter().flatten() {
                for scheme in wanted.as_object().unwrap().keys() {
                    assert!(schemes.get(scheme).is_some(), "{path} {scheme}");
                }
            }
        }
    }
    assert_eq!(ids.len(), count, "{ids:?}");
    assert!(count > 20, "{count}");
    for signed in ["/api/v1/messages/{uuid}", "/api/v1/interactions/{id}"] {
        let security = &description["paths"][signed]["get"]["security"];
        assert!(security[0].get("signature").is_some(), "{security}");
    }
}

/// A generator of clients stops at the first name that is not described.
#[tokio::test]
async fn every_schema_that_is_named_is_described() {
    let world = World::start().await;
    let description = world.get("/openapi.json").await.expect(200);
    let mut open = vec![&description];
    let mut named = 0;
    while let Some(value) = open.pop() {
        if let Some(place) = value.get("$ref").and_then(Value::as_str) {
            named += 1;
            let pointer = place.strip_prefix('#').unwrap();
            assert!(description.pointer(pointer).is_some(), "{place}");
        }
        if let Some(members) = value.as_object() {
            open.extend(members.values());
        }
        open.extend(value.as_array().into_iter().flatten());
    }
    assert!(named > 100, "{named}");
}

/// AX-25: the UUID of a DID has version 4 or 7, wherever an agent is named.
#[tokio::test]
async fn ax_25_the_description_takes_agents_of_both_versions() {
    let world = World::start().await;
    let description = world.get("/openapi.json").await.expect(200);
    let schemas = &description["components"]["schemas"];
    let takes = |pattern: &Value| pattern.as_str().is_some_and(|it| it.contains("-[47]["));
    for schema in ["DidText", "AgentUuid"] {
        assert!(takes(&schemas[schema]["pattern"]), "{schema}");
    }
    let mut count = 0;
    for (path, operations) in description["paths"].as_object().unwrap() {
        let operations = operations.as_object().unwrap().values();
        let parameters = operations.filter_map(|operation| operation["parameters"].as_array());
        for parameter in parameters.flatten() {
            let schema = &parameter["schema"];
            match parameter["name"].as_str().unwrap() {
                "uuid" => assert_eq!(schema["$ref"], "#/components/schemas/AgentUuid", "{path}"),
                "party" | "consumer" | "provider" | "member" => {
                    assert!(takes(&schema["pattern"]), "{path}: {parameter}");
                }
                _ => continue,
            }
            count += 1;
        }
    }
    assert!(count > 15, "{count}");
}

/// Decision 0028: a parameter out of bounds is refused, by its own name and with what to write.
#[tokio::test]
async fn what_is_wrong_in_a_query_is_named_and_how_to_write_it() {
    let world = World::start().await;
    let number = "write a whole number from 1 to 100";
    for (query, said) in [
        ("agents?limit=0", format!("limit: {number}")),
        ("agents?limit=101", format!("limit: {number}")),
        ("agents?limit=1e3", format!("limit: {number}")),
        ("agents?limit=", format!("limit: {number}")),
        (
            "agents?limit=99999999999999999999",
            format!("limit: {number}"),
        ),
        ("agreements?party=x", "party: names no agent".to_owned()),
        (
            "agreements?consumer=x",
            "consumer: names no agent".to_owned(),
        ),
        (
            "agreements?provider=x",
            "provider: names no agent".to_owned(),
        ),
        ("rounds?member=x", "`member` names no agent".to_owned()),
        ("agents?nonsense=1", "unknown field `nonsense`".to_owned()),
    ] {
        let answer = world.get(&format!("/api/v1/{query}")).await;
        let answer = answer.refused(400, "X811-4001");
        let message = answer["message"].as_str().unwrap();
        assert!(message.contains(&said), "{query}: {message}");
        assert!(!message.contains("deserialize"), "{query}: {message}");
    }
}
