//! One loop of an agent at a time: the newest ends the others, and they get nothing any more.

use super::{inbox_of, stream_of};
use crate::readers::readers;
use crate::signing::{Claim, both};
use crate::world::{Agent, Reply, World};
use reqwest::Method;

fn named(path: &str, instance: &str) -> String {
    format!("{path}?instance={instance}")
}

async fn refused_stream(world: &World, agent: &Agent, path: &str) -> Reply {
    let fields = Claim::of(world, agent, path).sign();
    world.open(path, &both(&fields)).await.err().unwrap()
}

#[tokio::test]
async fn ax_44_the_newest_loop_ends_streams_and_polls_of_the_others() {
    let (world, [a, b]) = World::peopled().await;
    let (stream, inbox) = (stream_of(&b), inbox_of(&b));
    let first = world.listen(&b, &named(&stream, "first")).await;
    let mut onlooker = world.listen(&b, &stream).await;
    let waiting = format!("{}&wait_ms=30000", named(&inbox, "first"));
    let second = async {
        let mut second = world.listen(&b, &named(&stream, "second")).await;
        world.ping(&a, &b, 0..1).await;
        assert_eq!(second.numbers(1).await, [0]);
        second
    };
    let (polled, mut second) = tokio::join!(world.get_as(&b, &waiting), second);
    // It may have come after the second, or waited when that came.
    polled.refused(409, "X811-4001");
    assert_eq!(first.end().await, "a newer loop of this agent reads");
    // Coming back does not help the older one.
    let old = named(&stream, "first");
    refused_stream(&world, &b, &old)
        .await
        .refused(409, "X811-4001");
    let old = named(&inbox, "first");
    world.get_as(&b, &old).await.refused(409, "X811-4001");
    // The newest goes on, by polls too, and who names no loop is not one.
    world.get_as(&b, &named(&inbox, "second")).await.expect(200);
    world.ping(&a, &b, 1..2).await;
    assert_eq!(second.numbers(1).await, [1]);
    assert_eq!(onlooker.numbers(2).await, [0, 1]);
}

#[tokio::test]
async fn ax_44_a_poll_stands_for_the_stream_of_its_loop() {
    let (world, [agent]) = World::peopled().await;
    let first = world
        .listen(&agent, &named(&stream_of(&agent), "first"))
        .await;
    let poll = named(&inbox_of(&agent), "second");
    world.get_as(&agent, &poll).await.expect(200);
    assert_eq!(first.end().await, "a newer loop of this agent reads");
}

#[tokio::test]
async fn ax_44_nobody_else_ends_the_reads_of_an_agent() {
    let (world, [initiator, provider, _, auditor]) = readers().await;
    let path = named(&stream_of(&provider), "first");
    let mut listener = world.listen(&provider, &path).await;
    for path in [stream_of(&provider), inbox_of(&provider)] {
        let path = named(&path, "other");
        for other in [&auditor, &initiator] {
            let refused = refused_stream(&world, other, &path).await;
            refused.refused(403, "X811-2004");
        }
    }
    // Nor does who got hold of a token.
    let token = world.token(&provider, "feed", 300).await;
    let path = format!("{}&token={token}", named(&stream_of(&provider), "thief"));
    let refused = world.open(&path, &[]).await.err().unwrap();
    refused.refused(403, "X811-2004");
    let token = world.token(&provider, "explorer", 300).await;
    let (path, field) = (
        named(&inbox_of(&provider), "thief"),
        format!("Bearer {token}"),
    );
    let by_token = [("authorization", field.as_str())];
    let refused = world.ask(Method::GET, &path, &by_token).await;
    refused.refused(403, "X811-2004");
    // One's own loops have names of their own.
    let own = named(&stream_of(&initiator), "other");
    let _own = world.listen(&initiator, &own).await;
    world.ping(&initiator, &provider, 0..1).await;
    assert_eq!(listener.numbers(1).await, [0]);
}
