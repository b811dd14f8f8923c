//! What agents can do, by the real binary: published, read by another agent, replaced, taken along
//! in a bundle, and audited.

use super::stage::Stage;
use serde_json::{Value, json};
use x811_tests::verifiers::{Job, Verifier};

/// What stands in Bert's file.
fn descriptor() -> Value {
    json!({
        "min_version": "1.0.0",
        "max_version": "1.1.0",
        "deprecated_versions": [],
        "capabilities": [{
            "type": "com.example.translate",
            "category": "knowledge",
            "version": "2.0.1",
            "description": "translates texts from English",
            "parameters": {"glossary": "general"},
            "parameters_schema": {
                "type": "object",
                "required": ["to"],
                "properties": {"to": {"enum": ["de", "fr"]}},
                "additionalProperties": false,
            },
            "constraints": {"requests_per_minute": 30, "max_payload_bytes": 65536},
            "availability": "available",
        }],
    })
}

/// CC-63 to CC-75.
#[tokio::test]
async fn cc_063_a_descriptor_is_published_read_and_replaced() {
    let (stage, bert) = Stage::peopled(&[]).await;
    let none = stage.x811("ada", &["capability", "show", &bert]);
    assert_ne!(none.code, Some(0), "nothing is published yet: {none:?}");

    let file = stage.folder.path().join("capabilities.json");
    let named = format!("@{}", file.display());
    let publish = |descriptor: &Value| {
        std::fs::write(&file, descriptor.to_string()).unwrap();
        stage.x811("bert", &["capability", "advertise", &named])
    };
    let first = publish(&descriptor()).ok().json();
    assert_eq!(first["revision"], "1");
    let shown = stage
        .x811("ada", &["capability", "show", &bert])
        .ok()
        .json();
    assert_eq!(shown["revision"], 1);
    let capability = &shown["descriptor"]["capabilities"][0];
    assert_eq!(
        capability,
        &descriptor()["capabilities"][0],
        "as it was signed"
    );

    let mut busy = descriptor();
    busy["capabilities"][0]["availability"] = json!("busy");
    let _ = publish(&busy).ok();
    let mut loose = descriptor();
    loose["capabilities"][0]["parameters_schema"]["$ref"] = json!("#");
    let refused = publish(&loose);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    let shown = stage
        .x811("ada", &["capability", "show", &bert])
        .ok()
        .json();
    assert_eq!(shown["revision"], 2, "a refused one changes nothing");
    let capability = &shown["descriptor"]["capabilities"][0];
    assert_eq!(capability["availability"], "busy");

    // Somebody else takes every revision along, and programs of two authors read them alike.
    let bundle = stage.folder.path().join("bert.x811");
    let named = bundle.to_str().unwrap();
    let export = ["export", "--capabilities", &bert, "-o", named];
    let exported = stage.x811("ada", &export).ok().json();
    assert_eq!(exported["descriptor"], bert, "{exported}");
    let audited = stage.x811("", &["audit", named]).json();
    assert_eq!(audited["findings"], json!([]), "{audited}");
    assert_eq!(audited["verdict"], "clean", "{audited}");
    Verifier::Reader.judge(Job::export(&bundle)).unwrap();

    let data = stage.data_dir();
    let whole = stage.x811("", &["audit", data.to_str().unwrap()]).json();
    assert_eq!(whole["findings"], json!([]), "{whole}");
}
