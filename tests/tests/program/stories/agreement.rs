//! An agreement about a capability, by the real binary: two counters, signed by both, used three times
//! and paid, the fourth refused, negotiated again, revoked, and audited from its bundle.

use super::stage::{Stage, text};
use serde_json::{Value, json};
use x811_tests::verifiers::{Job, Verifier};

/// What Bert publishes.
const DESCRIPTOR: &str = r#"{
  "min_version": "1.0.0", "max_version": "1.1.0", "deprecated_versions": [],
  "capabilities": [{
    "type": "com.example.translate", "category": "knowledge", "version": "2.0.1",
    "description": "translates texts from English", "parameters": {},
    "parameters_schema": {
      "type": "object", "required": ["to"], "properties": {"to": {"enum": ["de", "fr"]}}
    },
    "constraints": {}, "availability": "available"
  }]
}"#;

fn said(stage: &Stage, agent: &str, arguments: &[&str]) -> Value {
    let arguments = [&["capability"], arguments].concat();
    stage.x811(agent, &arguments).ok().json()
}

/// Bert publishes what he can do.
pub(crate) fn advertised(stage: &Stage) {
    let file = stage.folder.path().join("capabilities.json");
    std::fs::write(&file, DESCRIPTOR).unwrap();
    let file = format!("@{}", file.display());
    let _ = said(stage, "bert", &["advertise", &file]);
}

/// Opens a session; `more` is what else the request says.
fn requested(stage: &Stage, bert: &str, more: &[&str]) -> String {
    let request = [
        "request",
        "--to",
        bert,
        "--type",
        "com.example.translate",
        "--max",
        "1.1.0",
        "--parameters",
        r#"{"to": "de"}"#,
    ];
    text(
        &said(stage, "ada", &[&request[..], more].concat()),
        "session",
    )
}

/// From the request to both signatures; returns the agreement.
fn agreed(stage: &Stage, bert: &str, requests: &str, more: &[&str]) -> String {
    let session = requested(stage, bert, more);
    let session = session.as_str();
    let step = |agent, arguments: &[&str]| {
        let arguments = [&arguments[..1], &[session], &arguments[1..]].concat();
        said(stage, agent, &arguments)
    };
    assert_eq!(step("bert", &["respond"])["state"], "open");
    let _ = step("ada", &["offer", "--duration", "3600", "--requests", "9"]);
    let _ = step("bert", &["counter", "--requests", "2"]);
    let countered = step("ada", &["counter", "--requests", requests]);
    assert_eq!(countered["state"], "countered");
    let _ = step("bert", &["accept"]);
    assert_eq!(step("bert", &["agree"])["state"], "agreeing");
    let signed = step("ada", &["agree"]);
    assert_eq!(signed["state"], "closed");
    let shown = step("ada", &["sessions"]);
    assert_eq!(shown["reason"], "agreed", "{shown}");
    assert_eq!(shown["signed_terms"]["duration_s"], 3600);
    text(&signed, "agreement")
}

/// A REQUEST under the agreement.
fn used(stage: &Stage, bert: &str, agreement: &str) -> x811_tests::binary::Finished {
    let named = format!("agreement_id={agreement}");
    let request = [
        "send",
        "request",
        "--to",
        bert,
        "--task",
        "com.example.translate",
        "--budget",
        "0.05",
        "--deadline",
        "60",
        "--param",
        &named,
    ];
    stage.x811("ada", &request)
}

#[tokio::test]
async fn cc_076_to_088_agreed_used_paid_agreed_again_and_revoked() {
    let (stage, bert) = Stage::peopled(&[]).await;
    advertised(&stage);

    let agreement = agreed(&stage, &bert, "3", &[]);
    for _ in 0..3 {
        let request = used(&stage, &bert, &agreement).ok().json();
        let interaction = text(&request, "interaction_id");
        stage.deliver_on(&interaction, "Guten Tag");
        let _ = stage.pay(&interaction);
        assert_eq!(stage.until_decided(&interaction).await.code, Some(0));
    }
    let fourth = used(&stage, &bert, &agreement);
    assert_eq!(fourth.code, Some(1), "{fourth:?}");
    assert!(fourth.stdout.contains("negotiate the agreement again"));

    let again = ["--agreement", &agreement, "--reason", "inadequate"];
    assert_eq!(agreed(&stage, &bert, "4", &again), agreement);
    let _ = used(&stage, &bert, &agreement).ok();
    let shown = said(&stage, "bert", &["agreements", &agreement]);
    assert_eq!(shown["revision"], 2);
    assert_eq!(shown["requests"], 1, "counters begin anew");

    let _ = said(
        &stage,
        "bert",
        &["revoke", &agreement, "--reason", "moved away"],
    );
    let refused = used(&stage, &bert, &agreement);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    let listed = said(&stage, "ada", &["agreements"]);
    assert_eq!(listed["agreements"][0]["status"], "revoked");
    let active = said(&stage, "ada", &["agreements", "--active"]);
    assert_eq!(active["agreements"], json!([]));
    let open = said(&stage, "ada", &["sessions", "--open"]);
    assert_eq!(open["sessions"], json!([]));

    proven(&stage, &agreement);
    traced(&stage, &agreement);
}

/// CC-98 to CC-100: the trace goes from the first session to the end, holds by itself and for strangers, and
/// is nobody else's.
fn traced(stage: &Stage, agreement: &str) {
    let folder = stage.folder.path();
    let (kept, picture) = (folder.join("trace.json"), folder.join("trace.svg"));
    let [kept, picture] = [&kept, &picture].map(|path| path.to_str().unwrap());
    let show = ["trace", "show", agreement, "-o", kept, "--svg", picture];
    let shown = stage.x811("bert", &show).ok().json();
    let nodes = shown["nodes"].as_array().unwrap();
    let acts: Vec<&str> = nodes
        .iter()
        .map(|node| node["exec_act"].as_str().unwrap())
        .collect();
    let expected = [
        "capability_negotiation_close",
        "capability_agreement_create",
        "capability_negotiation_close",
        "capability_renegotiate",
        "capability_agreement_revoke",
    ];
    assert_eq!(acts, expected, "{shown}");
    let again = &nodes[3]["ect_ext"]["capability_negotiation"];
    assert_eq!(again["previous_terms"]["max_requests"], 3, "{again}");
    assert_eq!(again["terms"]["max_requests"], 4, "{again}");
    assert_eq!(again["agreement_id"], agreement);
    let key = text(&shown, "signed_by");
    let verified = stage.x811("", &["trace", "verify", kept, "--key", &key]);
    assert_eq!(verified.ok().json()["proven"], true);
    let stranger = Verifier::Joserfc.judge(Job::trace(kept.as_ref(), &key));
    assert_eq!(stranger.as_deref(), Ok("5 nodes"));
    let svg = std::fs::read_to_string(picture).unwrap();
    assert!(
        svg.contains("revision 2") && !svg.contains("script"),
        "{svg}"
    );
}

/// By files alone: to strangers who signed what, to auditors what came of it.
fn proven(stage: &Stage, agreement: &str) {
    let jws = stage.folder.path().join("agreement.json");
    let named = jws.to_str().unwrap();
    for revision in ["1", "2"] {
        let fetch = ["jws", agreement, "--revision", revision, "-o", named];
        let _ = said(stage, "bert", &fetch);
        let verified = said(stage, "", &["verify", named]);
        assert_eq!(verified["agreement"]["agreement_id"], agreement);
        assert_eq!(verified["agreement"]["revision"].to_string(), revision);
        for stranger in [Verifier::Joserfc, Verifier::Jose] {
            let verdict = stranger.judge(Job::jws(&jws));
            assert_eq!(verdict, Ok(format!("revision {revision}")), "{stranger:?}");
        }
    }
    let altered = std::fs::read_to_string(&jws).unwrap();
    std::fs::write(&jws, format!("{altered}{altered}")).unwrap();
    let refused = stage.x811("", &["capability", "verify", named]);
    assert_ne!(refused.code, Some(0), "{refused:?}");

    let bundle = stage.folder.path().join("agreement.x811");
    let named = bundle.to_str().unwrap();
    let export = ["export", "--agreement", agreement, "-o", named];
    let _ = stage.x811("ada", &export).ok();
    let audited = stage.x811("", &["audit", named]).json();
    assert_eq!(audited["findings"], json!([]), "{audited}");
    assert_eq!(audited["verdict"], "clean", "{audited}");
    Verifier::Reader.judge(Job::export(&bundle)).unwrap();
    let whole = stage.audit();
    assert_eq!(whole["findings"], json!([]), "{whole}");
}

/// Leaving, declining and turning down each close a session once.
#[tokio::test]
async fn cc_082_a_session_that_comes_to_nothing_is_closed() {
    let (stage, bert) = Stage::peopled(&[]).await;
    advertised(&stage);
    let left = requested(&stage, &bert, &[]);
    let _ = said(&stage, "ada", &["close", &left]);
    let declined = requested(&stage, &bert, &[]);
    let _ = said(&stage, "bert", &["respond", &declined, "--decline"]);
    let rejected = requested(&stage, &bert, &[]);
    let _ = said(&stage, "bert", &["respond", &rejected]);
    let early = stage.x811("ada", &["capability", "accept", &rejected]);
    assert_ne!(early.code, Some(0), "there are no terms: {early:?}");
    let _ = said(&stage, "ada", &["offer", &rejected, "--duration", "60"]);
    let _ = said(
        &stage,
        "bert",
        &["reject", &rejected, "--rationale", "too short"],
    );
    for (session, reason) in [
        (left, "abandoned"),
        (declined, "declined"),
        (rejected, "rejected"),
    ] {
        let shown = said(&stage, "bert", &["sessions", &session]);
        assert_eq!(shown["status"], "closed");
        assert_eq!(shown["reason"], reason);
        let late = stage.x811("ada", &["capability", "close", &session]);
        assert!(late.stdout.contains("CCN-4003"), "{late:?}");
    }
    let outsider = stage.x811("", &["agent", "new", "eve"]);
    let _ = outsider.ok();
    let _ = stage.x811("eve", &["agent", "register"]).ok();
    let listed = said(&stage, "eve", &["sessions"]);
    assert_eq!(listed["sessions"], json!([]), "others' business");
}
