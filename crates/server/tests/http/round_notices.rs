//! Who reads a notice of a round by its id, and tokens beside messages.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use x811_protocol::canonical::to_canonical;
use x811_protocol::jws;
use x811_protocol::key::KeyId;
use x811_protocol::parameters::Rounds;

use crate::rounds::Table;
use crate::world::{Agent, Reply, reply};

/// By what they tell, the ids of the notices that an agent got, once it has got those.
async fn told(table: &Table, agent: &Agent, events: &[&str]) -> Vec<(String, String)> {
    let path = format!("/api/v1/messages/{}", agent.uuid());
    loop {
        let page = table.world.get_as(agent, &path).await.expect(200);
        let envelopes = page["messages"].as_array().unwrap().iter();
        let envelopes = envelopes.map(|message| &message["envelope"]);
        let notices = envelopes.filter(|it| it["type"] == "x811.consensus/notice");
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let told: Vec<_> = notices
            .map(|it| (text(&it["payload"]["event"]), text(&it["id"])))
            .collect();
        let known: BTreeSet<&str> = told.iter().map(|(event, _)| event.as_str()).collect();
        if events.iter().all(|event| known.contains(event)) {
            return told;
        }
        tokio::task::yield_now().await;
    }
}

/// What a human gets is what it is asked about, and what was noticed; the rest of a round is its members'
/// business until it is asked. Members read all that stands in the history of their round.
#[tokio::test]
async fn cc_117_who_reads_a_notice_is_who_gets_it_or_reads_the_round() {
    let human = Agent::new();
    let mut table = Table::under(Rounds {
        humans: vec![human.did],
        ..Rounds::DEFAULT
    })
    .await;
    table.world.accept(&human.registration(&table.world)).await;
    table.propose(|_| {}).await;
    for decision in ["approve", "abstain"] {
        let vote = json!({ "decision": decision });
        table.world.accept(&table.vote(1, &vote)).await;
    }
    let noticed = told(&table, &human, &["anomaly_noted"]).await;
    assert_eq!(noticed.len(), 1, "{noticed:?}");
    let member = &table.members[2];
    let opened = told(&table, member, &["round_opened"]).await;
    assert_eq!(opened.len(), 1, "{opened:?}");
    let path = |id: &str| format!("/api/v1/messages/by-id/{id}");
    let (anomaly, opening) = (path(&noticed[0].1), path(&opened[0].1));
    for (reader, path, status) in [
        (&human, &anomaly, 200),
        (&human, &opening, 404),
        (member, &anomaly, 200),
        (member, &opening, 200),
        (&table.auditor, &anomaly, 200),
        (&table.stranger, &anomaly, 404),
        (&table.stranger, &opening, 404),
    ] {
        let answer = table.world.get_as(reader, path).await;
        assert_eq!(answer.status, status, "{path}: {}", answer.text);
    }
}

/// An agent's token by `signer` as a key of `agent`.
fn token(agent: &Agent, signer: &Agent, claims: &Value) -> String {
    let kid = KeyId {
        did: agent.did,
        key: signer.key.public(),
    };
    let payload = to_canonical(claims);
    let signed = jws::sign(kid, "exec+jwt", &payload, &signer.key);
    let payload = URL_SAFE_NO_PAD.encode(payload);
    format!("{}.{payload}.{}", signed.protected, signed.signature)
}

/// A vote with these tokens beside it.
async fn voted(table: &Table, from: usize, tokens: &[&str]) -> Reply {
    let vote = table.vote(from, &json!({ "decision": "approve" }));
    let url = format!("{}/api/v1/messages", table.world.base);
    let mut request = table.world.http.post(url).body(vote.json);
    for token in tokens {
        request = request.header("Execution-Context", *token);
    }
    reply(request).await
}

/// Attack: a token of somebody else, by another key, of another time, or cut, shown beside a good message. The
/// message is refused, leaves no record, and is taken without the token.
#[tokio::test]
async fn cc_101_a_token_beside_a_message_is_checked_and_not_recorded() {
    let mut table = Table::under(Rounds::DEFAULT).await;
    table.propose(|_| {}).await;
    let (agent, other) = (&table.members[1], &table.members[2]);
    let now_s = x811_ledger::clock::Clock::wall(&*table.world.clock).as_ms() / 1_000;
    let claims = json!({
        "exec_act": "com.example.measure", "iat": now_s, "exp": now_s + 600, "iss": agent.did,
        "jti": "019c8c61-8129-7511-9f31-aa5142e65440", "pred": [],
    });
    let with = |name: &str, value: Value| {
        let mut claims = claims.clone();
        claims[name] = value;
        token(agent, agent, &claims)
    };
    let good = token(agent, agent, &claims);
    let before = [1, 2, 3, 4, 5, 6, 7, 8].map(|number| {
        let mut claims = claims.clone();
        claims["iss"] = json!(other.did);
        claims["jti"] = json!(format!("019c8c61-8129-7511-9f31-aa5142e6545{number}"));
        token(other, other, &claims)
    });
    let nine: Vec<&str> = [&good]
        .into_iter()
        .chain(&before)
        .map(String::as_str)
        .collect();
    let long = with("exec_act", json!("x".repeat(5_000)));
    let changed = format!("{}x", &good[..good.len() - 1]);
    let own_key = token(agent, other, &claims);
    let (late, future) = (with("exp", json!(now_s)), with("iat", json!(now_s + 1_000)));
    let endless = with("exp", Value::Null);
    let bad: [&[&str]; 10] = [
        &["no token"],
        &[&before[0]],
        &[&own_key],
        &[&changed],
        &[&long],
        &[&late],
        &[&future],
        &[&endless],
        &[&good, &good],
        &nine,
    ];
    for tokens in bad {
        let refused = voted(&table, 1, tokens).await;
        refused.refused(403, "CCN-6001");
    }
    let taken = voted(&table, 1, &nine[..8]).await;
    taken.expect(202);
    // Nobody reads it anywhere: it is no part of what was signed.
    let path = table.path("/history");
    let history = table.world.get_as(&table.auditor, &path).await;
    assert!(!history.expect(200).to_string().contains(&good));
}
