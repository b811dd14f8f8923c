//! An operator lifts an exclusion over HTTP by its signed order, and nobody else does (CC-113, decision 0228).

use crate::sessions::{advertise, agree_for, request_to};
use crate::signing::Claim;
use crate::world::{Agent, Deal, Reply, World, reply};
use serde_json::{Value, json};
use std::time::Duration;
use x811_protocol::parameters::Exclusion;
use x811_protocol::signed_read::{SIGNATURE, SIGNATURE_INPUT, SignedFields};

/// More than any window of an interaction.
const LONG_MS: u64 = 3_700_000;

/// Until when something is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// A provider that broke agreements with two consumers, and an operator.
struct Scene {
    world: World,
    operator: Agent,
    consumers: [Agent; 2],
    provider: Agent,
}

impl Scene {
    async fn set() -> Scene {
        let operator = Agent::new();
        let world = World::start_with(|config| {
            config.operators = vec![operator.did];
            let block = config.capabilities.as_mut().unwrap();
            block.exclusion = Some(Exclusion {
                breaches: 2,
                ..Exclusion::DEFAULT
            });
        });
        let world = world.await;
        world.accept(&operator.registration(&world)).await;
        let scene = Scene {
            consumers: [world.agent().await, world.agent().await],
            provider: world.agent().await,
            operator,
            world,
        };
        scene.broken().await;
        scene
    }

    /// Both consumers ask under an agreement, and get no RESULT in time.
    async fn broken(&self) {
        let (world, provider) = (&self.world, &self.provider);
        advertise(world, provider).await;
        for consumer in &self.consumers {
            let agreement = agree_for(world, consumer, provider, 86_400).await;
            let mut deal = Deal::new(world, consumer, provider);
            let mut payload = Deal::request_payload(&agreement);
            payload["task_type"] = json!("tool.api");
            payload["parameters"]["agreement_id"] = json!(agreement);
            deal.request = consumer.say(world, provider.did, "x811/request", payload);
            world.accept(&deal.request).await;
            let offer = deal.offer();
            world.accept(&offer).await;
            world.accept(&deal.accept(&offer)).await;
        }
        world.clock.advance_ms(LONG_MS);
        let excluded = async {
            while self.conduct().await["is_excluded"] == false {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, excluded).await.unwrap();
    }

    fn path(&self) -> String {
        format!("/api/v1/agents/{}/conduct", self.provider.uuid())
    }

    async fn conduct(&self) -> Value {
        let shown = self.world.get_as(&self.operator, &self.path()).await;
        shown.expect(200)
    }

    /// The order to lift that exclusion, as the operator signs it now.
    fn claim(&self, excluded: u64) -> Claim {
        let path = format!("{}/lift?excluded={excluded}", self.path());
        Claim {
            method: "POST",
            ..Claim::of(&self.world, &self.operator, &path)
        }
    }

    async fn send(&self, excluded: u64, fields: Option<&SignedFields>) -> Reply {
        let url = format!(
            "{}{}/lift?excluded={excluded}",
            self.world.base,
            self.path()
        );
        let mut request = self.world.http.post(url);
        if let Some(fields) = fields {
            request = request
                .header(SIGNATURE_INPUT, &fields.signature_input)
                .header(SIGNATURE, &fields.signature);
        }
        reply(request).await
    }

    /// How a request for a new session is answered.
    async fn asked(&self) -> Reply {
        let asked = request_to(&self.world, &self.consumers[0], &self.provider);
        self.world.post(asked.json).await
    }
}

/// Who gains by a lifted exclusion is the provider; a competitor gains by one that stays.
#[tokio::test]
async fn cc_113_an_operator_lifts_an_exclusion_by_an_order_that_only_it_can_sign() {
    let scene = Scene::set().await;
    let excluded = scene.conduct().await["exclusion"]["position"].as_u64();
    let excluded = excluded.unwrap();
    scene.asked().await.refused(422, "CCN-3002");

    // Nobody's, the provider's own, and one in the operator's name by another key.
    assert_eq!(scene.send(excluded, None).await.status, 403);
    let own = Claim {
        did: scene.provider.did,
        key: scene.provider.key.clone(),
        ..scene.claim(excluded)
    };
    let forged = Claim {
        key: scene.provider.key.clone(),
        ..scene.claim(excluded)
    };
    // A read of the operator's, an order of a minute ago, and one for another exclusion.
    let read = Claim {
        method: "GET",
        ..scene.claim(excluded)
    };
    let mut stale = scene.claim(excluded);
    stale.created_s -= 61;
    let other = scene.claim(excluded + 1);
    for (wrong, status) in [
        (own, 403),
        (forged, 401),
        (read, 401),
        (stale, 401),
        (other, 401),
    ] {
        let answer = scene.send(excluded, Some(&wrong.sign())).await;
        assert_eq!(answer.status, status, "{}", answer.text);
    }
    // Well signed, and there is no such exclusion.
    let nothing = scene.claim(excluded + 1).sign();
    let answer = scene.send(excluded + 1, Some(&nothing)).await;
    answer.refused(422, "X811-4001");
    assert_eq!(scene.conduct().await["is_excluded"], true);
    scene.asked().await.refused(422, "CCN-3002");

    let order = scene.claim(excluded).sign();
    let lifted = scene.send(excluded, Some(&order)).await.expect(200);
    assert_eq!(lifted["excluded"], excluded);
    let shown = scene.conduct().await;
    assert_eq!(shown["is_excluded"], false, "{shown}");
    assert_eq!(shown["exclusion"]["is_lifted"], true, "{shown}");
    assert_eq!(scene.asked().await.status, 202);
    replayed(scene, excluded, &order).await;
}

/// The order is good for once: neither again, nor by a new signature, nor after a restart.
async fn replayed(mut scene: Scene, excluded: u64, order: &SignedFields) {
    let again = scene.send(excluded, Some(order)).await;
    assert_eq!(again.json()["code"], "X811-2001", "{}", again.text);
    let anew = scene.claim(excluded).sign();
    let anew = scene.send(excluded, Some(&anew)).await;
    anew.refused(422, "X811-4001");
    let operators = vec![scene.operator.did];
    let again = scene.world.restart_with(
        1_000,
        async |_| {},
        |config| {
            config.operators = operators;
        },
    );
    scene.world = again.await;
    let shown = scene.conduct().await;
    assert_eq!(shown["is_excluded"], false, "{shown}");
    let fields = scene.claim(excluded).sign();
    let answer = scene.send(excluded, Some(&fields)).await;
    answer.refused(422, "X811-4001");
    let told = scene.world.inbox(&scene.provider).await;
    let news = told
        .iter()
        .filter(|message| message.to_string().contains("exclusion_lifted"));
    assert_eq!(news.count(), 1);
}
