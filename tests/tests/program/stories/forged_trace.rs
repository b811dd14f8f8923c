//! The operator of a ledger changes a trace and signs it anew, with the receipt key from the data directory.

use super::rounds::Council;
use super::stage::{Stage, text};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use x811_protocol::key::{KeyId, SecretKey};
use x811_protocol::trace::Claims;

struct Operator {
    key: SecretKey,
    kid: KeyId,
}

impl Operator {
    fn of(stage: &Stage, signed_by: &str) -> Operator {
        let key = stage.key("receipt");
        let kid: KeyId = signed_by.parse().unwrap();
        assert_eq!(kid.key, key.public());
        Operator { key, kid }
    }

    /// The trace in that file, after a change of what its nodes say.
    fn resigned(&self, honest: &Path, name: &str, change: impl FnOnce(&mut [Value])) -> PathBuf {
        let mut trace: Value = serde_json::from_slice(&std::fs::read(honest).unwrap()).unwrap();
        let tokens = trace["tokens"].as_array().unwrap();
        let claims = tokens.iter().map(|token| {
            let payload = token.as_str().unwrap().split('.').nth(1).unwrap();
            serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).unwrap()).unwrap()
        });
        let mut nodes: Vec<Value> = claims.collect();
        change(&mut nodes);
        let tokens = nodes.into_iter().map(|node| {
            let claims: Claims = serde_json::from_value(node).unwrap();
            claims.signed(self.kid, &self.key)
        });
        trace["tokens"] = tokens.collect();
        let path = honest.with_file_name(name);
        std::fs::write(&path, trace.to_string()).unwrap();
        path
    }
}

/// CC-101: a trace that contradicts itself breaks offline; one that does not is found against the bundle.
pub(crate) fn resigned(council: &Council, round: &str, bundle: &Path) {
    let stage = &council.stage;
    let honest = stage.folder.path().join("honest-trace.json");
    let show = ["trace", "show", round, "-o", honest.to_str().unwrap()];
    let key = text(&council.said("eve", &show), "signed_by");
    let operator = Operator::of(stage, &key);
    let codes = |trace: &Path| {
        let trace = trace.to_str().unwrap();
        let verified = stage.x811("", &["trace", "verify", trace, "--key", &key]);
        let audited = stage.x811("", &["audit", bundle.to_str().unwrap(), trace]);
        (verified.code, audited.code, audited.json())
    };
    let (verified, audited, said) = codes(&honest);
    assert_eq!((verified, audited), (Some(0), Some(0)), "{said}");
    assert_eq!(said["not_checked"], json!({ "served": 1 }), "{said}");

    // Dan's vote is counted twice.
    let counted = operator.resigned(&honest, "counted.json", |nodes| {
        nodes[5]["ect_ext"]["consensus"]["tally"]["approve"] = json!(4);
    });
    let (verified, audited, said) = codes(&counted);
    assert_eq!((verified, audited), (Some(20), Some(20)), "{said}");
    assert!(text(&said, "fault").contains("count the votes"), "{said}");
    assert_eq!(
        said["differences"][0]["member"],
        "ect_ext.consensus.tally.approve"
    );
    assert_eq!(said["is_evidence"], true, "{said}");

    // Ada abstained, and the tally says so too.
    let agreeing = operator.resigned(&honest, "agreeing.json", |nodes| {
        nodes[1]["ect_ext"]["consensus"]["decision"] = json!("abstain");
        let tally = &mut nodes[5]["ect_ext"]["consensus"]["tally"];
        (tally["approve"], tally["abstain"]) = (json!(2), json!(1));
    });
    let (verified, audited, said) = codes(&agreeing);
    assert_eq!((verified, audited), (Some(0), Some(20)), "{said}");
    let differences = said["differences"].as_array().unwrap();
    assert_eq!(differences.len(), 3, "{said}");
    let words = stage.x811_in_words(
        "",
        &[
            "audit",
            agreeing.to_str().unwrap(),
            bundle.to_str().unwrap(),
        ],
    );
    for part in ["THE TRACE CONTRADICTS THE LOG", "decision is", "prove it"] {
        assert!(
            words.stdout.contains(part),
            "no `{part}` in {}",
            words.stdout
        );
    }
}
