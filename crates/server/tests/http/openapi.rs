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
