//! What comes on a stream, in which form and order, and where it begins and ends.

use super::{inbox_of, ping, stream_of};
use crate::signing::{Claim, both};
use crate::world::{Agent, Deal, World};
use serde_json::{Value, json};
use x811_protocol::envelope::wire_json;
use x811_protocol::id::EnvelopeId;

#[tokio::test]
async fn ae_126_to_130_and_ae_135_each_message_is_a_place_and_an_event_of_three_lines() {
    let (world, [a, b]) = World::peopled().await;
    let sent = ping(&world, &a, &b, 7);
    let accepted = world.accept(&sent).await;
    let mut listener = world.listen(&b, &stream_of(&b)).await;
    let headers = listener.response.headers();
    assert_eq!(headers["content-type"], "text/event-stream");
    assert_eq!(headers["cache-control"], "no-store, no-transform");
    assert_eq!(headers["x-accel-buffering"], "no");
    let place = listener.next().await.unwrap();
    let inbox = world.get(&inbox_of(&b)).await.expect(200);
    let cursor = inbox["messages"][0]["cursor"].as_str().unwrap();
    let (position, id) = (&accepted["position"], sent.header.id);
    assert_eq!(
        place,
        format!(
            "event: place\ndata: {{\"cursor\":\"{cursor}\",\"position\":{position},\
             \"envelope_id\":\"{id}\"}}"
        )
    );
    let envelope = wire_json(&sent.body, &sent.signature);
    let envelope = String::from_utf8(envelope).unwrap();
    let message = listener.next().await.unwrap();
    assert_eq!(
        message,
        format!("id: {id}\nevent: message\ndata: {envelope}")
    );
}

#[tokio::test]
async fn ae_128_a_place_says_interaction_and_what_is_answered_as_an_inbox_does() {
    let (world, [initiator, provider]) = World::peopled().await;
    let deal = Deal::new(&world, &initiator, &provider);
    let offer = deal.verified().await;
    let (request, offer) = (json!(deal.id()), json!(offer.header.id));
    for (agent, due) in [
        (&initiator, vec![Some(&request), Some(&offer)]),
        (&provider, vec![None, Some(&offer), Some(&offer)]),
    ] {
        let mut listener = world.listen(agent, &stream_of(agent)).await;
        let inbox = world.inbox(agent).await;
        assert_eq!(inbox.len(), due.len());
        for (item, answers) in inbox.iter().zip(due) {
            let (place, envelope) = listener.message().await;
            assert_eq!(place["interaction_id"], request);
            assert_eq!(place.get("answers"), answers);
            let mut whole = place.clone();
            whole["envelope"] = envelope;
            assert_eq!(&whole, item);
        }
    }
}

#[tokio::test]
async fn ae_136_what_comes_while_a_stream_is_open_comes_on_it_at_once_and_in_order() {
    let (world, [a, b]) = World::peopled().await;
    let mut listener = world.listen(&b, &stream_of(&b)).await;
    for number in 0..5 {
        // Records for others do not come.
        world.ping(&b, &a, 100..101).await;
        world.ping(&a, &b, number..number + 1).await;
        assert_eq!(listener.numbers(1).await, [number]);
    }
    world.ping(&a, &b, 5..9).await;
    assert_eq!(listener.numbers(4).await, [5, 6, 7, 8]);
}

#[tokio::test]
async fn ae_136_many_and_long_messages_come_by_pages_and_none_is_left_out() {
    let (world, [a, b]) = World::peopled().await;
    world.ping(&a, &b, 0..150).await;
    for number in 150..156 {
        let payload = json!({ "number": number, "padding": "x".repeat(200_000) });
        world
            .accept(&a.say(&world, b.did, "x811.test/ping", payload))
            .await;
    }
    let mut listener = world.listen(&b, &stream_of(&b)).await;
    let came = listener.numbers(156).await;
    assert_eq!(came, (0..156).collect::<Vec<_>>());
}

#[tokio::test]
async fn ae_131_a_comment_comes_after_30_s_of_silence() {
    let (world, [agent]) = World::peopled().await;
    let mut listener = world.listen(&agent, &stream_of(&agent)).await;
    for _ in 0..2 {
        let comment = listener.in_time(&world).await;
        assert_eq!(comment.as_deref(), Some(": keepalive"));
    }
}

#[tokio::test]
async fn ae_133_ax_43_a_reader_that_comes_back_gets_what_is_behind_the_last_in_order_of_the_log() {
    let (world, [a, b]) = World::peopled().await;
    let mut sent: Vec<String> = Vec::new();
    // Ids by the senders' clocks go back while the log goes on.
    for (number, behind_ms) in [(0, 0), (1, 60_000), (2, 30_000), (3, 120_000)] {
        let mut header = a.header(&world, b.did, "x811.test/ping");
        header.created_ms = header.created_ms.saturating_sub_ms(behind_ms);
        header.id = EnvelopeId::from_parts(header.created_ms.as_ms(), &crate::world::drawn());
        let sealed = a.say_as(header, json!({ "number": number }));
        world.accept(&sealed).await;
        sent.push(sealed.header.id.to_string());
    }
    for (last, due) in [(0, vec![1, 2, 3]), (1, vec![2, 3]), (2, vec![3])] {
        let mut listener = resume(&world, &b, &sent[last]).await;
        assert_eq!(listener.numbers(due.len()).await, due, "{last}");
    }
    let mut listener = resume(&world, &b, &sent[3]).await;
    world.ping(&a, &b, 4..5).await;
    assert_eq!(listener.numbers(1).await, [4]);
}

async fn resume(world: &World, agent: &Agent, last: &str) -> super::Listener {
    let path = stream_of(agent);
    let fields = Claim::of(world, agent, &path).sign();
    let [input, signature] = both(&fields);
    let fields = [input, signature, ("last-event-id", last)];
    world.listen_with(&path, &fields).await
}

#[tokio::test]
async fn ax_43_a_last_id_that_was_not_delivered_here_begins_behind_what_is_acknowledged() {
    let world = World::start().await;
    let (a, b, c) = (
        world.agent().await,
        world.agent().await,
        world.agent().await,
    );
    world.ping(&a, &b, 0..3).await;
    let others = world.ping(&a, &c, 9..10).await;
    world.ping(&a, &b, 3..4).await;
    let others = others[0]["envelope_id"].as_str().unwrap();
    let unknown = EnvelopeId::from_parts(7, &[7; 10]).to_string();
    let lasts = [others, &unknown, "", "7", "../../etc/passwd"];
    for last in lasts {
        let mut listener = resume(&world, &b, last).await;
        assert_eq!(listener.numbers(4).await, [0, 1, 2, 3], "{last}");
    }
    let inbox = world.inbox(&b).await;
    world.ack(&b, &inbox[1]["cursor"]).await.expect(200);
    for last in lasts {
        let mut listener = resume(&world, &b, last).await;
        assert_eq!(listener.numbers(2).await, [2, 3], "{last}");
    }
    // One of its own counts, whatever was acknowledged.
    let first = inbox[0]["envelope_id"].as_str().unwrap();
    let mut listener = resume(&world, &b, first).await;
    assert_eq!(listener.numbers(3).await, [1, 2, 3]);
}

#[tokio::test]
async fn ae_133_a_cursor_overrides_all_and_one_of_another_inbox_is_refused() {
    let (world, [a, b]) = World::peopled().await;
    world.ping(&a, &b, 0..4).await;
    let inbox = world.inbox(&b).await;
    world.ack(&b, &inbox[3]["cursor"]).await.expect(200);
    let cursor = inbox[0]["cursor"].as_str().unwrap();
    let path = format!("{}?after={cursor}", stream_of(&b));
    let fields = Claim::of(&world, &b, &path).sign();
    let [input, signature] = both(&fields);
    let last = inbox[2]["envelope_id"].as_str().unwrap();
    let fields = [input, signature, ("last-event-id", last)];
    let mut listener = world.listen_with(&path, &fields).await;
    assert_eq!(listener.numbers(3).await, [1, 2, 3]);
    for bad in [cursor, "", "0", "%C3%BC"] {
        let path = format!("{}?after={bad}", stream_of(&a));
        let fields = Claim::of(&world, &a, &path).sign();
        let refused = world.open(&path, &both(&fields)).await.err().unwrap();
        refused.refused(400, "X811-4001");
    }
}

#[tokio::test]
async fn ae_133_an_erased_message_is_stepped_over_with_its_place() {
    let operator = Agent::new();
    let world = World::start_with(|config| config.operators = vec![operator.did]).await;
    world.accept(&operator.registration(&world)).await;
    let (initiator, provider) = (world.agent().await, world.agent().await);
    let deal = Deal::new(&world, &initiator, &provider);
    let offer = deal.offer();
    world.accept(&deal.request).await;
    world.accept(&offer).await;
    let reject = json!({ "offer_id": offer.header.id, "reason": "no", "code": "PRICE_TOO_HIGH" });
    let reject = initiator.say(&world, provider.did, "x811/reject", reject);
    world.accept(&reject).await;
    let path = format!(
        "/api/v1/interactions/{}/erasure?reason_code=gdpr_request",
        deal.id()
    );
    world.post_as(&operator, &path).await.expect(200);
    let mut listener = world.listen(&provider, &stream_of(&provider)).await;
    let erased = listener.place().await;
    assert_eq!(erased["envelope_id"], json!(deal.id()));
    let (place, _) = listener.message().await;
    assert_eq!(place["envelope_id"], json!(reject.header.id));
    // Acknowledged it does not come again, and the browser's way behind the last goes on too.
    world.ack(&provider, &erased["cursor"]).await.expect(200);
    let mut listener = world.listen(&provider, &stream_of(&provider)).await;
    assert_eq!(listener.message().await.0, place);
}

#[tokio::test]
async fn ae_136_a_stream_ends_when_the_ledger_stops() {
    let (mut world, [agent]) = World::peopled().await;
    let listener = world.listen(&agent, &stream_of(&agent)).await;
    world.running.shutdown();
    assert_eq!(listener.end().await, "the ledger stops");
    world.running.wait().await.unwrap();
}

#[tokio::test]
async fn ax_44_a_stream_ends_after_an_hour_and_a_fresh_proof_goes_on() {
    let (world, [a, b]) = World::peopled().await;
    let mut listener = world.listen(&b, &stream_of(&b)).await;
    let mut comments = 0;
    let why = loop {
        match listener.in_time(&world).await.as_deref() {
            Some(": keepalive") => comments += 1,
            why => break why.map(str::to_owned),
        }
    };
    assert_eq!(why.as_deref(), Some(": over: this stream is an hour old"));
    assert!((2..=120).contains(&comments), "{comments}");
    assert_eq!(listener.next().await, None);
    world.ping(&a, &b, 0..1).await;
    let mut listener = world.listen(&b, &stream_of(&b)).await;
    assert_eq!(listener.numbers(1).await, [0]);
}

#[tokio::test]
async fn ae_125_what_cannot_be_streamed_is_refused_with_a_code() {
    let (world, [agent]) = World::peopled().await;
    let nobody = Agent::new();
    let table: [(String, u16, &str); 5] = [
        (stream_of(&nobody), 404, "X811-1001"),
        ("/api/v1/messages/x/stream".to_owned(), 400, "X811-4001"),
        (format!("{}?unknown=1", stream_of(&agent)), 400, "X811-4001"),
        (format!("{}?instance=", stream_of(&agent)), 400, "X811-4001"),
        (
            format!("{}?instance={}", stream_of(&agent), "a".repeat(65)),
            400,
            "X811-4001",
        ),
    ];
    for (path, status, code) in table {
        let refused: Value = world.get(&path).await.refused(status, code);
        assert!(refused["message"].is_string(), "{path}");
    }
}
