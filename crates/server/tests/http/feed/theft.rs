//! Promise 7 of streams: nobody reads one that is not theirs, and none outlives its proof.

use super::{stream_of, time_passes, unsigned};
use crate::readers::readers;
use crate::registry::rotation;
use crate::signing::{Claim, both};
use crate::world::{Agent, Reply, World};
use reqwest::Method;
use serde_json::json;
use x811_protocol::key::SecretKey;
use x811_protocol::signed_read::ACCEPT_SIGNATURE;

/// A ledger without open reads, and a mailbox with a secret.
struct Scene {
    world: World,
    owner: Agent,
    sender: Agent,
    stranger: Agent,
}

impl Scene {
    async fn set() -> Scene {
        let (world, [initiator, provider, stranger, _]) = readers().await;
        world.ping(&initiator, &provider, 0..1).await;
        // Far enough from the start that a minute ago is after it.
        world.clock.advance_ms(300_000);
        Scene {
            world,
            owner: provider,
            sender: initiator,
            stranger,
        }
    }

    async fn refused(&self, path: &str, fields: &[(&str, &str)]) -> Reply {
        let refused = self.world.open(path, fields).await.err();
        let refused = refused.unwrap_or_else(|| panic!("{path} was opened"));
        assert!(!refused.text.contains("sesame"), "{}", refused.text);
        let is_told = refused.headers.contains_key(ACCEPT_SIGNATURE);
        assert_eq!(is_told, refused.status == 401);
        refused
    }

    /// A claim of the owner for its stream that `spoil` has changed.
    async fn spoilt(&self, spoil: impl FnOnce(&mut Claim)) -> Reply {
        let path = stream_of(&self.owner);
        let mut claim = Claim::of(&self.world, &self.owner, &path);
        spoil(&mut claim);
        self.refused(&path, &both(&claim.sign())).await
    }
}

#[tokio::test]
async fn promise_7_nobody_opens_a_stream_without_a_proof_of_their_own() {
    let scene = Scene::set().await;
    let path = stream_of(&scene.owner);
    let none = scene.refused(&path, &[]).await;
    none.refused(401, "X811-2004");
    let wrong_key = scene.spoilt(|claim| claim.key = SecretKey::from_seed([3; 32]));
    wrong_key.await.refused(401, "X811-2003");
    let signed_by_another = scene.spoilt(|claim| claim.key = scene.stranger.key.clone());
    signed_by_another.await.refused(401, "X811-2003");
    let of_the_inbox = scene.spoilt(|claim| {
        claim.path = claim.path.trim_end_matches("/stream").to_owned();
    });
    of_the_inbox.await.refused(401, "X811-2003");
    let of_another_ledger = scene.spoilt(|claim| claim.authority = "ledger.example".to_owned());
    of_another_ledger.await.refused(401, "X811-2003");
    let old = scene.spoilt(|claim| claim.created_s -= 61);
    old.await.refused(401, "X811-2002");
    let unregistered = scene.spoilt(|claim| claim.did = Agent::new().did);
    unregistered.await.refused(404, "X811-1001");
    for other in [&scene.sender, &scene.stranger] {
        let fields = Claim::of(&scene.world, other, &path).sign();
        let refused = scene.refused(&path, &both(&fields)).await;
        refused.refused(403, "X811-2004");
    }
}

#[tokio::test]
async fn promise_7_a_proof_opens_one_stream_alone() {
    let scene = Scene::set().await;
    let path = stream_of(&scene.owner);
    let fields = Claim::of(&scene.world, &scene.owner, &path).sign();
    let mut listener = scene.world.listen_with(&path, &both(&fields)).await;
    assert_eq!(listener.numbers(1).await, [0]);
    let replayed = scene.refused(&path, &both(&fields)).await;
    replayed.refused(409, "X811-2001");
    // What is in the query is signed too.
    let fields = Claim::of(&scene.world, &scene.owner, &path).sign();
    let other = format!("{path}?instance=thief");
    let refused = scene.refused(&other, &both(&fields)).await;
    refused.refused(401, "X811-2003");
}

/// With each way in which a key or its agent loses its standing.
#[tokio::test]
async fn promise_7_an_open_stream_does_not_outlive_its_key_or_its_did() {
    let scene = Scene::set().await;
    let world = &scene.world;
    for verb in ["rotate", "deactivate", "revoke"] {
        world.checkpoint_is_stored().await;
        let owner = world.agent().await;
        let path = stream_of(&owner);
        let mut listener = world.listen(&owner, &path).await;
        let token = world.token(&owner, "feed", 300).await;
        let by_token = format!("{path}?token={token}");
        let mut watched = world.listen_with(&by_token, &[]).await;
        world.ping(&scene.sender, &owner, 0..1).await;
        assert_eq!(listener.numbers(1).await, [0]);
        assert_eq!(watched.numbers(1).await, [0]);
        let change = match verb {
            "rotate" => rotation(world, &owner, &SecretKey::from_seed([5; 32])).0,
            _ => {
                let kind = format!("x811.registry/{verb}");
                owner.say(world, world.ledger(), &kind, json!({}))
            }
        };
        world.accept(&change).await;
        // Before time passes, by which the token might expire.
        let fields = Claim::of(world, &owner, &path).sign();
        let refused = scene.refused(&path, &both(&fields)).await;
        refused.refused(401, "X811-2003");
        let refused = scene.refused(&by_token, &[]).await;
        refused.refused(401, "X811-2003");
        if verb == "rotate" {
            world.ping(&scene.sender, &owner, 1..2).await;
            // The page that would have had it is refused.
            let why = "the reader's key or standing has gone";
            assert_eq!(listener.end().await, why);
            assert_eq!(watched.end().await, why);
        } else {
            // Nobody can be sent anything then: it ends at the latest when something has to be sent.
            for mut open in [listener, watched] {
                let why = loop {
                    match open.in_time(world).await.as_deref() {
                        Some(": keepalive") => {}
                        why => break why.map(str::to_owned),
                    }
                };
                let due = ": over: the reader's key or standing has gone";
                assert_eq!(why.as_deref(), Some(due), "{verb}");
            }
        }
    }
}

#[tokio::test]
async fn promise_7_tokens_of_others_of_other_uses_and_old_ones_open_nothing() {
    let scene = Scene::set().await;
    let world = &scene.world;
    let path = stream_of(&scene.owner);
    let of_another = world.token(&scene.stranger, "feed", 300).await;
    let refused = scene
        .refused(&format!("{path}?token={of_another}"), &[])
        .await;
    refused.refused(403, "X811-2004");
    let of_another_use = world.token(&scene.owner, "explorer", 300).await;
    let refused = scene
        .refused(&format!("{path}?token={of_another_use}"), &[])
        .await;
    refused.refused(401, "X811-2003");
    let elsewhere = World::start().await;
    let mut same = Agent::new();
    (same.did, same.key) = (scene.owner.did, scene.owner.key.clone());
    elsewhere.accept(&same.registration(&elsewhere)).await;
    let of_another_ledger = elsewhere.token(&same, "feed", 300).await;
    for bad in [of_another_ledger.as_str(), "", "x", "a.b", "%C3%BC"] {
        let refused = scene.refused(&format!("{path}?token={bad}"), &[]).await;
        refused.refused(401, "X811-2003");
        if bad.is_ascii() && !bad.is_empty() {
            let field = format!("Bearer {bad}");
            let refused = scene.refused(&path, &[("authorization", &field)]).await;
            refused.refused(401, "X811-2003");
        }
    }
    let short = world.token(&scene.owner, "feed", 1).await;
    world.clock.advance_ms(1_000);
    let refused = scene.refused(&format!("{path}?token={short}"), &[]).await;
    refused.refused(401, "X811-2002");
}

#[tokio::test]
async fn promise_7_an_open_stream_does_not_outlive_its_token() {
    let scene = Scene::set().await;
    let world = &scene.world;
    let token = world.token(&scene.owner, "feed", 10).await;
    let path = format!("{}?token={token}", stream_of(&scene.owner));
    let mut silent = world.listen_with(&path, &[]).await;
    let mut busy = world.listen_with(&path, &[]).await;
    assert_eq!(silent.numbers(1).await, [0]);
    assert_eq!(busy.numbers(1).await, [0]);
    world.clock.advance_ms(10_000);
    world.ping(&scene.sender, &scene.owner, 1..2).await;
    for mut open in [silent, busy] {
        let why = loop {
            match open.next().await.as_deref() {
                Some(": keepalive") => {}
                why => break why.map(str::to_owned),
            }
        };
        assert_eq!(why.as_deref(), Some(": over: the token has expired"));
        assert_eq!(open.next().await, None);
    }
    let refused = scene.refused(&path, &[]).await;
    refused.refused(401, "X811-2002");
}

/// Nothing at all happens on it, and time alone ends it.
#[tokio::test]
async fn promise_7_an_idle_stream_ends_with_its_token() {
    let scene = Scene::set().await;
    let world = &scene.world;
    let token = world.token(&scene.owner, "feed", 60).await;
    let path = format!("{}?token={token}", stream_of(&scene.owner));
    let mut open = world.listen_with(&path, &[]).await;
    assert_eq!(open.numbers(1).await, [0]);
    let ended = async {
        loop {
            match open.next().await {
                Some(block) if block == ": keepalive" => {}
                end => break end,
            }
        }
    };
    let end = tokio::select! {
        end = ended => end,
        () = time_passes(world) => None,
    };
    assert_eq!(end.as_deref(), Some(": over: the token has expired"));
}

#[tokio::test]
async fn promise_7_open_reads_are_for_this_machine_alone() {
    let (world, [a, b]) = World::peopled().await;
    world.ping(&a, &b, 0..1).await;
    let mut own = world.listen_with(&stream_of(&b), &[]).await;
    assert_eq!(own.numbers(1).await, [0]);
    let passed_on = [("x-forwarded-for", "192.0.2.7")];
    let refused = world.open(&stream_of(&b), &passed_on).await.err().unwrap();
    refused.refused(403, "X811-2004");
    let page_of_another = [("host", "evil.example:8811")];
    let refused = world.open(&stream_of(&b), &page_of_another).await;
    refused.err().unwrap().refused(403, "X811-2004");
    let refused = unsigned(&world, Method::POST, "/api/v1/tokens?scope=feed").await;
    refused.refused(401, "X811-2004");
}
