//! Limits per address and DID (ledger-contract.md section 3): what is over them waits, and nobody
//! else notices. Addresses are played through `X-Forwarded-For`, which loopback is trusted with.

use crate::world::{Agent, Reply, World, reply};
use serde_json::{Value, json};
use x811_server::RateLimits;

const SPAMMER: &str = "203.0.113.9";

const NEIGHBOUR: &str = "192.0.2.7";

async fn limited(change: impl FnOnce(&mut RateLimits)) -> World {
    World::start_blind_with(|config| change(&mut config.rate_limits)).await
}

async fn get_from(world: &World, address: &str, path: &str) -> Reply {
    let request = world.http.get(format!("{}{path}", world.base));
    reply(request.header("x-forwarded-for", address)).await
}

async fn post_from(world: &World, address: &str, body: impl Into<reqwest::Body>) -> Reply {
    let request = world.http.post(format!("{}/api/v1/messages", world.base));
    reply(request.header("x-forwarded-for", address).body(body)).await
}

#[track_caller]
fn over(answer: &Reply, retry_after_s: &str) {
    answer.refused(429, "X811-9001");
    assert_eq!(answer.headers["retry-after"], retry_after_s);
}

#[tokio::test]
async fn lc_3_requests_per_second_and_address() {
    let world = limited(|limits| {
        limits.requests_per_second_per_address = 1;
        limits.burst_per_address = 3;
    })
    .await;
    for _ in 0..3 {
        get_from(&world, SPAMMER, "/health").await.expect(200);
    }
    over(&get_from(&world, SPAMMER, "/health").await, "1");
    over(&get_from(&world, SPAMMER, "/nowhere").await, "1");
    over(&post_from(&world, SPAMMER, "{").await, "1");
    get_from(&world, NEIGHBOUR, "/health").await.expect(200);
    // What a client writes in front of its own address changes nothing.
    let forged = format!("{NEIGHBOUR}, {SPAMMER}");
    over(&get_from(&world, &forged, "/health").await, "1");
    world.clock.advance_ms(1_000);
    get_from(&world, SPAMMER, "/health").await.expect(200);
    over(&get_from(&world, SPAMMER, "/health").await, "1");
    for _ in 0..20 {
        world.get("/health").await.expect(200);
    }
}

/// Whatever a script in the page would be made to do, it has nobody else to tell.
#[tokio::test]
async fn the_docs_page_loads_and_asks_nothing_but_this_ledger() {
    let world = limited(|_| ()).await;
    for path in ["/docs/", "/docs/swagger-ui-bundle.js"] {
        let answer = reqwest::get(format!("{}{path}", world.base)).await.unwrap();
        assert_eq!(answer.status(), 200, "{path}");
        let policy = answer.headers()["content-security-policy"].to_str();
        let policy = policy.unwrap();
        for rule in [
            "default-src 'none'",
            "script-src 'self';",
            "connect-src 'self'",
        ] {
            assert!(policy.contains(rule), "{path}: {policy}");
        }
    }
    let page = reqwest::get(format!("{}/docs/", world.base)).await.unwrap();
    let page = page.text().await.unwrap();
    let inline = page
        .split("<script")
        .skip(1)
        .all(|tag| tag.contains("src="));
    assert!(
        inline,
        "the policy allows no script in the page itself: {page}"
    );
    let nothing = world.get("/docs/nothing.js").await;
    nothing.refused(404, "X811-4001");
}

/// What reads bodies rests on it: each route knows whose request it answers, and refuses who asks
/// for too much.
#[tokio::test]
async fn lc_3_every_route_is_behind_the_limits() {
    let world = limited(|limits| {
        limits.requests_per_second_per_address = 1;
        limits.burst_per_address = 1;
    })
    .await;
    let description = world.get("/openapi.json").await.expect(200);
    let described = description["paths"].as_object().unwrap().iter();
    let mut routes: Vec<(String, String)> = described
        .flat_map(|(path, operations)| {
            let methods = operations.as_object().unwrap().keys();
            methods.map(|method| (method.to_uppercase(), filled(path)))
        })
        .collect();
    assert!(routes.len() >= 20, "{routes:?}");
    for (method, path) in [
        ("GET", "/openapi.json"),
        ("GET", "/docs/"),
        ("GET", "/docs"),
        ("GET", "/nowhere"),
        ("POST", "/nowhere"),
        ("DELETE", "/api/v1/messages"),
        ("HEAD", "/health"),
    ] {
        routes.push((method.to_owned(), path.to_owned()));
    }
    let http = reqwest::Client::builder().no_proxy();
    let http = http.redirect(reqwest::redirect::Policy::none()).build();
    let http = http.unwrap();
    for (number, (method, path)) in routes.iter().enumerate() {
        let address = format!("198.51.100.{number}");
        let ask = async || {
            let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
            let request = http.request(method, format!("{}{path}", world.base));
            let request = request.header("x-forwarded-for", &address).body("{}");
            request.send().await.unwrap().status().as_u16()
        };
        let (first, second) = (ask().await, ask().await);
        // There are no keys to show before the first checkpoint is signed.
        let is_unsigned = path.ends_with("/x811-keys") && first == 503;
        let is_let_in = first < 500 && first != 429;
        assert!(is_let_in || is_unsigned, "{method} {path}: {first}");
        assert_eq!(second, 429, "{method} {path}");
    }
}

/// A path with something in the place of each of its parameters.
fn filled(path: &str) -> String {
    let uuid = "019c8c61-8129-7511-9f31-aa5142e65448";
    let parts = path.split('/').map(|part| match part {
        "{level}" | "{index}" | "{position}" => "0",
        part if part.starts_with('{') => uuid,
        part => part,
    });
    Vec::from_iter(parts).join("/")
}

#[tokio::test]
async fn lc_3_this_machine_is_limited_when_it_shall_be() {
    let world = limited(|limits| {
        limits.limit_loopback = true;
        limits.burst_per_address = 1;
        limits.requests_per_second_per_address = 1;
    })
    .await;
    world.get("/health").await.expect(200);
    over(&world.get("/health").await, "1");
}

#[tokio::test]
async fn cc_105_and_lc_3_registrations_per_address_and_hour() {
    let world = limited(|limits| limits.registrations_per_address_per_hour = 20).await;
    for _ in 0..20 {
        let registration = Agent::new().registration(&world).json;
        post_from(&world, SPAMMER, registration).await.expect(202);
    }
    let late = Agent::new().registration(&world).json;
    over(&post_from(&world, SPAMMER, late.clone()).await, "180");
    let neighbour = Agent::new().registration(&world).json;
    post_from(&world, NEIGHBOUR, neighbour).await.expect(202);
    world.clock.advance_ms(180_000);
    post_from(&world, SPAMMER, late).await.expect(202);
}

/// A crowd registers from as many addresses as it likes, or past a proxy that does not say from which.
#[tokio::test]
async fn lc_3_registrations_of_all_addresses_and_hour() {
    let world = limited(|limits| limits.registrations_per_hour = 20).await;
    for number in 0..20 {
        let registration = Agent::new().registration(&world).json;
        let address = format!("198.51.100.{number}");
        post_from(&world, &address, registration).await.expect(202);
    }
    let late = Agent::new().registration(&world).json;
    over(&post_from(&world, NEIGHBOUR, late.clone()).await, "180");
    world.clock.advance_ms(180_000);
    post_from(&world, NEIGHBOUR, late).await.expect(202);

    let world = World::start_with(|config| {
        config.open_reads = false;
        config.public_authorities = vec!["ledger.example.org".to_owned()];
        config.rate_limits.registrations_per_hour = 2;
    })
    .await;
    for _ in 0..2 {
        world.agent().await;
    }
    let third = Agent::new().registration(&world).json;
    over(&world.post(third).await, "1800");
}

#[tokio::test]
async fn lc_3_messages_per_second_and_did() {
    let world = limited(|limits| {
        limits.requests_per_second_per_did = 1;
        limits.burst_per_did = 2;
    })
    .await;
    let (a, b) = (world.agent().await, world.agent().await);
    let ping = |from: &Agent, to: &Agent| {
        let payload = json!({ "n": 1 });
        from.say(&world, to.did, "x811.test/ping", payload).json
    };
    // Nobody uses up what another one is allowed: these are not signed by whom they name.
    for _ in 0..5 {
        let mut forged: Value = serde_json::from_slice(&ping(&a, &b)).unwrap();
        forged["payload"] = json!({ "n": 2 });
        post_from(&world, SPAMMER, forged.to_string())
            .await
            .refused(401, "X811-2003");
    }
    for _ in 0..2 {
        post_from(&world, SPAMMER, ping(&a, &b)).await.expect(202);
    }
    let third = ping(&a, &b);
    over(&post_from(&world, SPAMMER, third.clone()).await, "1");
    over(&post_from(&world, NEIGHBOUR, third.clone()).await, "1");
    post_from(&world, SPAMMER, ping(&b, &a)).await.expect(202);
    world.clock.advance_ms(1_000);
    post_from(&world, SPAMMER, third).await.expect(202);
}

#[tokio::test]
async fn lc_3_reads_that_wait_are_limited_per_inbox() {
    let world = limited(|limits| limits.long_polls_per_did = 1).await;
    let (a, b) = (world.agent().await, world.agent().await);
    let inbox = |agent: &Agent, wait_ms: u64| {
        format!(
            "{}/api/v1/messages/{}?wait_ms={wait_ms}",
            world.base,
            agent.uuid()
        )
    };
    let mut first = tokio::spawn(reply(world.http.get(inbox(&a, 30_000))));
    let mut second = tokio::spawn(reply(world.http.get(inbox(&a, 30_000))));
    // Whichever comes second finds no room; the other one waits.
    let (refused, waiting) = tokio::select! {
        refused = &mut first => (refused.unwrap(), second),
        refused = &mut second => (refused.unwrap(), first),
    };
    over(&refused, "1");
    reply(world.http.get(inbox(&a, 0))).await.expect(200);
    reply(world.http.get(inbox(&b, 1))).await.expect(200);
    let ping = b.say(&world, a.did, "x811.test/ping", json!({}));
    world.accept(&ping).await;
    let page = waiting.await.unwrap().expect(200);
    assert_eq!(page["messages"].as_array().unwrap().len(), 1);
    reply(world.http.get(inbox(&a, 1))).await.expect(200);
}

/// A proxy on this machine that neither names its clients nor keeps the name they ask for hides them
/// all behind loopback, which has no limit by address.
#[tokio::test]
async fn limits_past_a_silent_proxy_limits_by_did_hold() {
    let world = World::start_with(|config| {
        config.open_reads = false;
        config.public_authorities = vec!["ledger.example.org".to_owned()];
        config.rate_limits.requests_per_second_per_did = 1;
        config.rate_limits.burst_per_did = 1;
    })
    .await;
    let (a, b) = (world.agent().await, world.agent().await);
    let ping = |from: &Agent, to: &Agent| from.say(&world, to.did, "x811.test/ping", json!({}));
    world.accept(&ping(&a, &b)).await;
    over(&world.post(ping(&a, &b).json).await, "1");
    world.accept(&ping(&b, &a)).await;
}
