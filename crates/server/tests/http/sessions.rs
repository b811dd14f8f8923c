//! Sessions and agreements as their parties read them: lists, histories, bundles, and the JWS.

use crate::capabilities::descriptor;
use crate::log::{checkpoint, covered_as};
use crate::readers::readers;
use crate::world::{Agent, World};
use serde_json::{Value, json};
use x811_audit::audit_export;
use x811_protocol::canonical::to_canonical;
use x811_protocol::capability::agreement::JWS_TYPE;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::SealedEnvelope;
use x811_protocol::jws;
use x811_protocol::key::KeyId;
use x811_protocol::payload::capability::signed_agreement;

const SESSIONS: &str = "/api/v1/sessions";
const AGREEMENTS: &str = "/api/v1/agreements";

/// Says it; the id of the envelope.
async fn say(world: &World, from: &Agent, to: &Agent, verb: &str, payload: Value) -> String {
    let kind = format!("x811.capability/{verb}");
    let sealed = from.say(world, to.did, &kind, payload);
    let id = sealed.header.id.to_string();
    world.accept(&sealed).await;
    id
}

pub(crate) async fn advertise(world: &World, agent: &Agent) {
    let kind = "x811.capability/advertise";
    let sealed = agent.say(world, world.ledger(), kind, descriptor(agent, 1));
    world.accept(&sealed).await;
}

/// A request for a session.
pub(crate) fn request_to(world: &World, from: &Agent, to: &Agent) -> SealedEnvelope {
    let payload = json!({
        "type": "tool.api", "parameters": {},
        "protocol": {"min": "1.1.0", "max": "1.2.0", "deprecated": []},
    });
    from.say(world, to.did, "x811.capability/request", payload)
}

async fn request(world: &World, from: &Agent, to: &Agent) -> String {
    let sealed = request_to(world, from, to);
    world.accept(&sealed).await;
    sealed.header.id.to_string()
}

/// A session that both signed, about an hour.
async fn agree(world: &World, ada: &Agent, bert: &Agent) -> String {
    agree_for(world, ada, bert, 3_600).await
}

/// The same, about so long.
pub(crate) async fn agree_for(world: &World, ada: &Agent, bert: &Agent, duration_s: u64) -> String {
    let session = request(world, ada, bert).await;
    let willing = json!({"session_id": session, "willing": true});
    say(world, bert, ada, "response", willing).await;
    let terms = json!({"duration_s": duration_s, "max_requests": 3});
    let offer = json!({"session_id": session, "terms": terms});
    let step = say(world, ada, bert, "offer", offer).await;
    let terms_hash = Digest::of(&to_canonical(&terms));
    let accept = json!({"session_id": session, "step_id": step, "terms_hash": terms_hash});
    say(world, bert, ada, "accept", accept).await;
    let object = json!({
        "ledger": world.ledger(), "agreement_id": session, "session_id": session, "revision": 1,
        "consumer": ada.did, "provider": bert.did, "type": "tool.api", "version": "1.2.0",
        "parameters": {}, "terms": terms,
    });
    for (from, to) in [(ada, bert), (bert, ada)] {
        let kid = KeyId {
            did: from.did,
            key: from.key.public(),
        };
        let signed = jws::sign(kid, JWS_TYPE, &to_canonical(&object), &from.key);
        let agree = json!({
            "agreement": object, "protected": signed.protected, "signature": signed.signature,
        });
        say(world, from, to, "agree", agree).await;
    }
    session
}

fn ids(page: &Value, name: &str) -> Vec<String> {
    let listed = page[name].as_array().unwrap();
    let id = |one: &Value| one["id"].as_str().unwrap().to_owned();
    listed.iter().map(id).collect()
}

#[tokio::test]
async fn cc_076_an_agent_lists_its_own_sessions_page_by_page() {
    let (world, [ada, bert, eve, auditor]) = &readers().await;
    advertise(world, bert).await;
    let mut expected = Vec::new();
    for _ in 0..3 {
        expected.push(request(world, ada, bert).await);
    }
    expected.sort_unstable();
    let others = request(world, eve, bert).await;

    let own = world.get_as(ada, SESSIONS).await.expect(200);
    assert_eq!(ids(&own, "sessions"), expected);
    assert_eq!(own["sessions"][0]["status"], "requested");
    let first = world.get_as(ada, &format!("{SESSIONS}?limit=2")).await;
    let first = first.expect(200);
    assert_eq!(ids(&first, "sessions"), expected[..2]);
    let next = first["next"].as_str().unwrap();
    let rest = format!("{SESSIONS}?limit=2&after={next}");
    let rest = world.get_as(ada, &rest).await.expect(200);
    assert_eq!(ids(&rest, "sessions"), expected[2..]);
    assert!(rest.get("next").is_none(), "{rest}");

    // Eve sees hers alone, an auditor those of all.
    let hers = world.get_as(eve, SESSIONS).await.expect(200);
    assert_eq!(ids(&hers, "sessions"), [others]);
    let theirs = format!("{SESSIONS}?party={}", ada.uuid());
    world.get_as(eve, &theirs).await.refused(403, "X811-2004");
    let audited = world.get_as(auditor, &theirs).await.expect(200);
    assert_eq!(ids(&audited, "sessions"), expected);
    world.get(SESSIONS).await.refused(401, "X811-2004");
    for path in [SESSIONS, AGREEMENTS] {
        for wrong in ["?after=1", "?party=ada", "?limit=0", "?who=me"] {
            let answer = world.get_as(ada, &format!("{path}{wrong}")).await;
            answer.refused(400, "X811-4001");
        }
    }
}

/// Who gains by reading: a competitor who learns with whom and on which terms others deal.
#[tokio::test]
async fn cc_084_an_agreement_is_read_by_its_parties_and_proven_by_its_files() {
    let (world, [ada, bert, stranger, auditor]) = &readers().await;
    advertise(world, bert).await;
    let id = agree(world, ada, bert).await;
    checkpoint(world).await;
    let paths = [
        format!("{SESSIONS}/{id}"),
        format!("{SESSIONS}/{id}/history"),
        format!("{SESSIONS}/{id}/bundle"),
        format!("{AGREEMENTS}/{id}"),
        format!("{AGREEMENTS}/{id}/history"),
        format!("{AGREEMENTS}/{id}/bundle"),
        format!("{AGREEMENTS}/{id}/jws"),
    ];
    for path in &paths {
        let stranger = world.get_as(stranger, path).await;
        stranger.refused(404, "X811-4001");
        for reader in [ada, bert, auditor] {
            let answer = covered_as(world, reader, path).await;
            assert_eq!(answer.status, 200, "{path}: {}", answer.text);
            if path.ends_with("bundle") {
                let report = audit_export(answer.text.as_bytes(), None).unwrap();
                assert!(report.is_clean(), "{path}: {:?}", report.findings);
                // A signature that is left out is missed.
                let lines = answer.text.split_inclusive('\n');
                let without: String = lines
                    .filter(|line| !line.contains("capability/agree"))
                    .collect();
                let report = audit_export(without.as_bytes(), None).unwrap();
                assert!(!report.findings.is_empty(), "{path}: signatures left out");
            }
        }
    }
    let shown = world.get_as(ada, &paths[3]).await.expect(200);
    assert_eq!(
        (&shown["status"], &shown["revision"]),
        (&json!("active"), &json!(1))
    );
    let jws = world.get_as(bert, &paths[6]).await;
    let signed = signed_agreement(jws.text.as_bytes()).unwrap();
    assert_eq!(signed.keys.map(|kid| kid.did), [ada.did, bert.did]);
    let none = world
        .get_as(bert, &format!("{}?revision=2", paths[6]))
        .await;
    none.refused(404, "X811-4001");
    let listed = world.get_as(bert, AGREEMENTS).await.expect(200);
    assert_eq!(ids(&listed, "agreements"), [id.as_str()]);
    // Behind the last there is nothing, and nowhere to go on.
    let behind = world.get_as(ada, &format!("{AGREEMENTS}?after={id}")).await;
    assert_eq!(behind.expect(200), json!({ "agreements": [] }));
    let others = world.get_as(stranger, AGREEMENTS).await.expect(200);
    assert_eq!(others["agreements"], json!([]));
}

/// "Active between A and B for T as of N": by parties, type and record, for its parties and auditors.
#[tokio::test]
async fn cx_41_agreements_are_listed_as_of_a_record() {
    let (world, [ada, bert, stranger, auditor]) = &readers().await;
    advertise(world, bert).await;
    let id = agree(world, ada, bert).await;
    let shown = world.get_as(ada, &format!("{AGREEMENTS}/{id}")).await;
    let from = shown.expect(200)["revisions"][0].as_u64().unwrap();
    let (consumer, provider) = (ada.uuid(), bert.uuid());
    let of = |who: &str| format!("{AGREEMENTS}?consumer={consumer}&provider={provider}&type={who}");
    let list = async |reader: &Agent, path: &str| {
        let page = world.get_as(reader, path).await.expect(200);
        page["agreements"].as_array().unwrap().clone()
    };
    let path = format!("{}&as_of={from}", of("tool.api"));
    for reader in [ada, bert, auditor] {
        let found = list(reader, &path).await;
        assert_eq!(found.len(), 1, "{found:?}");
        let in_force = json!({"revision": 1, "from_position": from});
        assert_eq!(found[0]["in_force"], in_force);
    }
    assert_eq!(list(stranger, &path).await, Vec::<Value>::new());
    for none in [
        format!("{}&as_of={}", of("tool.api"), from - 1),
        of("compute.inference"),
        format!("{AGREEMENTS}?consumer={provider}"),
    ] {
        assert_eq!(list(ada, &none).await, Vec::<Value>::new(), "{none}");
    }
    let revoke = json!({"agreement_id": id, "revision": 1, "reason": "moved away"});
    say(world, ada, bert, "revoke", revoke).await;
    let page = world
        .get_as(ada, &format!("{path}&min_position={}", from + 2))
        .await;
    let found = page.expect(200)["agreements"].clone();
    let to = found[0]["in_force"]["to_position"].as_u64().unwrap();
    assert!(to > from, "it was in force then: {found}");
    let later = format!("{}&as_of={to}", of("tool.api"));
    assert_eq!(
        list(ada, &later).await,
        Vec::<Value>::new(),
        "and is no longer"
    );
}

/// What an agent answers for is no business of its competitors, and no operator lifts what is not there.
#[tokio::test]
async fn cc_113_conduct_is_for_the_agent_and_auditors() {
    let (world, [_, bert, stranger, auditor]) = &readers().await;
    let path = format!("/api/v1/agents/{}/conduct", bert.uuid());
    for reader in [bert, auditor] {
        let shown = world.get_as(reader, &path).await.expect(200);
        assert_eq!(shown["breaches"], 0, "{shown}");
        assert_eq!(shown["is_excluded"], false);
    }
    world
        .get_as(stranger, &path)
        .await
        .refused(403, "X811-2004");
    world.get(&path).await.refused(401, "X811-2004");
}
