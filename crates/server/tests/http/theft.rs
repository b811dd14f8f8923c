//! Promise 7: nobody reads a mailbox that is not theirs. Every attempt is told how it failed and is
//! shown nothing; the readers whose business it is are served.

use crate::readers::readers;
use crate::signing::{Claim, both};
use crate::world::{Agent, Deal, Reply, World, reply};
use reqwest::Method;
use serde_json::json;
use x811_protocol::did::Did;
use x811_protocol::key::SecretKey;
use x811_protocol::signed_read::{ACCEPT_SIGNATURE, SIGNATURE, SIGNATURE_INPUT, SignedFields};

const SOME_ID: &str = "0190a1b2-c3d4-7e5f-8901-234567890abc";

/// Words of the deal that no refusal may repeat.
const SECRETS: [&str; 5] = ["Bonjour", "Hello", "10.25", "x811/", "translate"];

/// What clients know a ledger by.
const PUBLIC: [&str; 2] = ["ledger.example.org", "x811.ledgers.svc:8811"];

/// What a thief changes of what was honest.
type Change<'a, T> = &'a dyn Fn(&mut T);

/// A ledger without open reads, two parties with a deal between them, and a stranger.
struct Scene {
    world: World,
    initiator: Agent,
    provider: Agent,
    stranger: Agent,
    auditor: Agent,
    interaction: String,
    offer: String,
}

impl Scene {
    async fn set() -> Scene {
        let (world, [initiator, provider, stranger, auditor]) = readers().await;
        let deal = Deal::new(&world, &initiator, &provider);
        let offer = deal.verified().await.header.id.to_string();
        let interaction = deal.id().to_string();
        // Far enough from the start that a minute ago is after it.
        world.clock.advance_ms(300_000);
        Scene {
            world,
            initiator,
            provider,
            stranger,
            auditor,
            interaction,
            offer,
        }
    }

    /// What both parties may read.
    fn common(&self) -> [String; 3] {
        [
            format!("/api/v1/interactions/{}", self.interaction),
            format!("/api/v1/interactions/{}/history?limit=2", self.interaction),
            format!("/api/v1/messages/by-id/{}", self.offer),
        ]
    }

    fn inbox(&self) -> String {
        inbox_of(&self.provider)
    }

    /// Asks for the provider's inbox with a claim of the provider that `spoil` has changed.
    async fn spoilt(&self, spoil: impl FnOnce(&mut Claim)) -> Reply {
        let mut claim = Claim::of(&self.world, &self.provider, &self.inbox());
        spoil(&mut claim);
        self.world.ask_signed(&self.inbox(), &claim.sign()).await
    }

    /// The same with the finished fields changed.
    async fn bent(&self, bend: impl FnOnce(&mut SignedFields)) -> Reply {
        let mut fields = Claim::of(&self.world, &self.provider, &self.inbox()).sign();
        bend(&mut fields);
        self.world.ask_signed(&self.inbox(), &fields).await
    }

    /// The reader's answers to both paths as of one position of the log: what a timer appends between
    /// two questions is no difference between their answers.
    async fn answers_at_one_position(&self, reader: &Agent, paths: &[String; 2]) -> [Reply; 2] {
        loop {
            let first = self.world.get_as(reader, &paths[0]).await;
            let second = self.world.get_as(reader, &paths[1]).await;
            let [of_first, of_second] =
                [&first, &second].map(|reply| reply.json()["details"]["as_of"].clone());
            if of_first == of_second {
                return [first, second];
            }
        }
    }
}

fn inbox_of(agent: &Agent) -> String {
    format!("/api/v1/messages/{}", agent.uuid())
}

/// Refused with that status and code, told how to sign when that would help, and shown nothing.
#[track_caller]
fn empty_handed(attempt: &str, answer: &Reply, status: u16, code: &str) {
    assert_eq!(answer.status, status, "{attempt}: {}", answer.text);
    answer.refused(status, code);
    for secret in SECRETS {
        assert!(!answer.text.contains(secret), "{attempt}: {}", answer.text);
    }
    let is_told = answer.headers.contains_key(ACCEPT_SIGNATURE);
    assert_eq!(is_told, status == 401, "{attempt}");
}

/// Everything of an answer but its time.
fn bytes_of(answer: Reply) -> (u16, Vec<(String, Vec<u8>)>, String) {
    let headers = answer.headers.iter();
    let headers = headers.filter(|(name, _)| *name != "date");
    let headers = headers.map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()));
    (answer.status, headers.collect(), answer.text)
}

#[tokio::test]
async fn promise_7_those_whose_business_it_is_read_it() {
    let scene = Scene::set().await;
    for reader in [&scene.initiator, &scene.provider, &scene.auditor] {
        for path in scene.common() {
            scene.world.get_as(reader, &path).await.expect(200);
        }
    }
    for owner in [&scene.initiator, &scene.provider] {
        for reader in [owner, &scene.auditor] {
            let page = scene.world.get_as(reader, &inbox_of(owner)).await;
            let page = page.expect(200);
            assert!(!page["messages"].as_array().unwrap().is_empty());
        }
    }
    let head = Claim {
        method: "HEAD",
        ..Claim::of(&scene.world, &scene.provider, &scene.inbox())
    };
    let (fields, inbox) = (head.sign(), scene.inbox());
    let answer = scene.world.ask(Method::HEAD, &inbox, &both(&fields)).await;
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn promise_7_nobody_reads_a_mailbox_that_is_not_theirs_without_a_proof() {
    let scene = Scene::set().await;
    let good = Claim::of(&scene.world, &scene.provider, &scene.inbox()).sign();
    let [input, signature] = both(&good);
    let twice = format!("{0}, {0}", good.signature_input);
    let two = format!("{}, b={}", good.signature_input, &good.signature_input[4..]);
    let attempts: [(&str, Vec<(&str, &str)>); 7] = [
        ("nothing", vec![]),
        ("no signature", vec![input]),
        ("no parameters", vec![signature]),
        ("parameters twice", vec![input, input, signature]),
        ("signature twice", vec![input, signature, signature]),
        (
            "one label twice",
            vec![(SIGNATURE_INPUT, &twice), signature],
        ),
        ("two signatures", vec![(SIGNATURE_INPUT, &two), signature]),
    ];
    for (attempt, fields) in attempts {
        for path in scene.common().into_iter().chain([scene.inbox()]) {
            let answer = scene.world.ask(Method::GET, &path, &fields).await;
            empty_handed(attempt, &answer, 401, "X811-2004");
        }
    }
    // None of them has spent the nonce.
    scene
        .world
        .ask_signed(&scene.inbox(), &good)
        .await
        .expect(200);
}

#[tokio::test]
async fn promise_7_nobody_reads_a_mailbox_that_is_not_theirs_by_a_false_signature() {
    let scene = Scene::set().await;
    let (nobodys, stranger) = (SecretKey::from_seed([9; 32]), &scene.stranger);
    let table: [(&str, Change<Claim>); 8] = [
        ("a key of nobody", &|c| c.key = nobodys.clone()),
        ("a stranger's key", &|c| c.key = stranger.key.clone()),
        ("another method", &|c| c.method = "HEAD"),
        ("another authority", &|c| {
            c.authority = "other.example.org".to_owned()
        }),
        ("another name of the machine", &|c| {
            c.authority = c.authority.replace("127.0.0.1", "localhost")
        }),
        ("another path", &|c| c.path = inbox_of(stranger)),
        ("another query", &|c| c.query = Some("limit=1".to_owned())),
        ("another agent's name", &|c| c.did = stranger.did),
    ];
    for (attempt, spoil) in table {
        let answer = scene.spoilt(spoil).await;
        empty_handed(attempt, &answer, 401, "X811-2003");
    }
    let nobody = Agent::new();
    let unknown = scene.world.get_as(&nobody, &scene.inbox()).await;
    empty_handed("a DID of nobody", &unknown, 404, "X811-1001");
}

#[tokio::test]
async fn promise_7_nobody_reads_a_mailbox_that_is_not_theirs_by_a_bent_signature() {
    let scene = Scene::set().await;
    let small_order = "z6MkeXATEjyXENzBXBxgC5EHk2JE5aqd7qMGGtDpLUH1e2Sj";
    let key = scene.provider.key.public().to_string();
    let strangers = scene.stranger.key.public().to_string();
    let renamed = |f: &mut SignedFields, from: &str, to: &str| {
        f.signature_input = f.signature_input.replace(from, to);
    };
    let table: [(&str, Change<SignedFields>); 6] = [
        ("another nonce", &|f| {
            f.signature_input = swapped(&f.signature_input, "nonce=\"")
        }),
        ("another time", &|f| {
            renamed(f, ";nonce", ";expires=1999999999;nonce")
        }),
        ("another signature", &|f| {
            f.signature = swapped(&f.signature, "sig=:")
        }),
        ("another key's name", &|f| renamed(f, &key, &strangers)),
        ("a key of small order", &|f| renamed(f, &key, small_order)),
        ("an algorithm of its own", &|f| {
            renamed(f, "ed25519\"", "hmac-sha256\"")
        }),
    ];
    for (attempt, bend) in table {
        let answer = scene.bent(bend).await;
        empty_handed(attempt, &answer, 401, "X811-2003");
    }
}

/// The text with the first character behind `mark` changed to another of its alphabet.
fn swapped(text: &str, mark: &str) -> String {
    let at = text.find(mark).unwrap() + mark.len();
    let other = if text[at..].starts_with('A') {
        "B"
    } else {
        "A"
    };
    format!("{}{other}{}", &text[..at], &text[at + 1..])
}

#[tokio::test]
async fn promise_7_nobody_reads_a_mailbox_that_is_not_theirs_under_their_own_name() {
    let scene = Scene::set().await;
    let unknown = [
        format!("/api/v1/interactions/{SOME_ID}"),
        format!("/api/v1/interactions/{SOME_ID}/history?limit=2"),
        format!("/api/v1/messages/by-id/{SOME_ID}"),
    ];
    for (there, not_there) in scene.common().into_iter().zip(unknown) {
        let paths = [there, not_there];
        let answers = scene.answers_at_one_position(&scene.stranger, &paths);
        let [theirs, nothing] = answers.await;
        let [there, _] = paths;
        empty_handed(&there, &theirs, 404, "X811-4001");
        assert_eq!(bytes_of(theirs), bytes_of(nothing), "{there}");
    }
    for reader in [&scene.stranger, &scene.initiator] {
        let paths = [scene.inbox(), inbox_of(&Agent::new())];
        let [theirs, nothing] = scene.answers_at_one_position(reader, &paths).await;
        empty_handed("a neighbour", &theirs, 403, "X811-2004");
        assert_eq!(bytes_of(theirs), bytes_of(nothing));
    }
    // Messages to and from others, of no interaction.
    let registration = scene.stranger.registration(&scene.world).header.id;
    let path = format!("/api/v1/messages/by-id/{registration}");
    scene
        .world
        .get_as(&scene.initiator, &path)
        .await
        .refused(404, "X811-4001");
}

#[tokio::test]
async fn promise_7_a_signature_is_good_once() {
    let scene = Scene::set().await;
    let (world, inbox) = (&scene.world, scene.inbox());
    let claim = Claim::of(world, &scene.provider, &inbox);
    world.ask_signed(&inbox, &claim.sign()).await.expect(200);
    for after_ms in [0, 1_000, 58_000] {
        world.clock.advance_ms(after_ms);
        let again = world.ask_signed(&inbox, &claim.sign()).await;
        empty_handed("a replay", &again, 409, "X811-2001");
    }
    // The nonce is the agent's own: another one may use the same, and the same agent not for
    // another request.
    let elsewhere = format!("/api/v1/interactions/{}", scene.interaction);
    let other = Claim {
        nonce: claim.nonce,
        ..Claim::of(world, &scene.initiator, &elsewhere)
    };
    world
        .ask_signed(&elsewhere, &other.sign())
        .await
        .expect(200);
    let same = Claim {
        nonce: claim.nonce,
        ..Claim::of(world, &scene.provider, &elsewhere)
    };
    let answer = world.ask_signed(&elsewhere, &same.sign()).await;
    empty_handed("another request under the nonce", &answer, 409, "X811-2001");
}

#[tokio::test]
async fn promise_7_a_signature_is_good_for_a_minute() {
    let scene = Scene::set().await;
    for (age_s, passes) in [
        (0_i64, true),
        (60, true),
        (-5, true),
        (61, false),
        (-6, false),
    ] {
        let answer = scene
            .spoilt(|claim| claim.created_s = claim.created_s.checked_add_signed(-age_s).unwrap())
            .await;
        if passes {
            answer.expect(200);
        } else {
            empty_handed("out of time", &answer, 401, "X811-2002");
            let body = answer.json();
            let details = &body["details"];
            let offset_ms =
                details["now_ms"].as_i64().unwrap() - details["created_ms"].as_i64().unwrap();
            assert_eq!(offset_ms, age_s * 1_000);
            assert_eq!(details["offset_ms"], offset_ms);
            let side = if age_s < 0 { "ahead of" } else { "behind" };
            let offset = format!("{} ms {side} this ledger's clock", offset_ms.abs());
            let message = body["message"].as_str().unwrap();
            assert!(message.contains(&offset), "{message}");
            assert!(message.contains("2026-01-01T00:05:00"), "{message}");
        }
    }
}

/// The nonces are in memory: what the process before may have answered is not taken.
#[tokio::test]
async fn promise_7_a_restart_does_not_open_a_replay() {
    let scene = Scene::set().await;
    let inbox = scene.inbox();
    let fields = Claim::of(&scene.world, &scene.provider, &inbox).sign();
    scene.world.ask_signed(&inbox, &fields).await.expect(200);
    let authority = scene.world.running.local_addr;
    let world = scene
        .world
        .restart_with(
            1_000,
            async |_| {},
            |config| {
                config.open_reads = false;
                config.public_authorities = vec![authority.to_string()];
            },
        )
        .await;
    let again = world.ask_signed(&inbox, &fields).await;
    empty_handed("a replay", &again, 401, "X811-2002");
    let anew = Claim {
        authority: authority.to_string(),
        ..Claim::of(&world, &scene.provider, &inbox)
    };
    world.ask_signed(&inbox, &anew.sign()).await.expect(200);
}

#[tokio::test]
async fn promise_7_a_cursor_of_another_inbox_is_none_of_this_one() {
    let scene = Scene::set().await;
    let page = scene
        .world
        .get_as(&scene.initiator, &inbox_of(&scene.initiator))
        .await;
    let cursor = page.expect(200)["next"].as_str().unwrap().to_owned();
    let path = format!("{}?after={cursor}", scene.inbox());
    let answer = scene.world.get_as(&scene.provider, &path).await;
    empty_handed("a cursor", &answer, 400, "X811-4001");
}

#[tokio::test]
async fn promise_7_a_public_authority_is_what_is_signed_whatever_is_dialled() {
    let world = World::start_with(|config| {
        config.open_reads = false;
        config.public_authorities = PUBLIC.map(str::to_owned).to_vec();
    })
    .await;
    let agent = world.agent().await;
    let inbox = inbox_of(&agent);
    let dialled = world.get_as(&agent, &inbox).await;
    let body = dialled.refused(401, "X811-2003");
    assert_eq!(body["details"], json!({ "authorities": PUBLIC }));
    let message = body["message"].as_str().unwrap();
    assert!(message.contains(&PUBLIC.join(" or ")), "{message}");
    for authority in PUBLIC {
        let public = Claim {
            authority: authority.to_owned(),
            ..Claim::of(&world, &agent, &inbox)
        };
        world.ask_signed(&inbox, &public.sign()).await.expect(200);
        let again = world.ask_signed(&inbox, &public.sign()).await;
        empty_handed("a replay", &again, 409, "X811-2001");
    }
}

/// A loopback name is that of every machine: a signature for it is good on this one alone.
#[tokio::test]
async fn promise_7_a_loopback_name_beside_a_public_one_is_for_this_machine() {
    const LOOPBACK: &str = "localhost:8811";
    let world = World::start_with(|config| {
        config.open_reads = false;
        config.public_authorities = ["ledger.example.org", LOOPBACK].map(str::to_owned).to_vec();
    })
    .await;
    let agent = world.agent().await;
    let inbox = inbox_of(&agent);
    let signed = || {
        let claim = Claim {
            authority: LOOPBACK.to_owned(),
            ..Claim::of(&world, &agent, &inbox)
        };
        claim.sign()
    };
    world.ask_signed(&inbox, &signed()).await.expect(200);
    for (name, value) in [
        ("x-forwarded-for", "203.0.113.9"),
        ("forwarded", "for=203.0.113.9"),
        ("host", "ledger.example.org"),
    ] {
        let fields = signed();
        let [input, signature] = both(&fields);
        let passed_on = [input, signature, (name, value)];
        let answer = world.ask(Method::GET, &inbox, &passed_on).await;
        empty_handed(name, &answer, 401, "X811-2003");
    }
}

#[tokio::test]
async fn promise_7_where_reads_are_open_a_signature_still_counts() {
    let (world, [owner, other]) = World::peopled().await;
    let inbox = inbox_of(&owner);
    world.get(&inbox).await.expect(200);
    world.get_as(&owner, &inbox).await.expect(200);
    world.get_as(&other, &inbox).await.refused(403, "X811-2004");
    let fields = Claim::of(&world, &owner, &inbox).sign();
    let half = reply(
        world
            .http
            .get(format!("{}{inbox}", world.base))
            .header(SIGNATURE, fields.signature),
    );
    half.await.refused(401, "X811-2004");
}

/// What comes from outside is refused in words, whatever it is.
#[tokio::test]
async fn promise_7_no_header_breaks_the_server() {
    let world = World::start_with(|config| config.open_reads = false).await;
    let agent = world.agent().await;
    let (inbox, ledger) = (inbox_of(&agent), Did::to_string(&world.ledger()));
    let long = "(".repeat(5_000);
    let ledgers_key = format!("sig=();created=1;nonce=\"0123456789abcdef\";keyid=\"{ledger}#z\"");
    for hostile in [
        "",
        "sig",
        "sig=",
        "=",
        "\"",
        "sig=:AAAA:",
        "\u{fc}",
        "%",
        &long,
        &ledgers_key,
    ] {
        let fields = [(SIGNATURE_INPUT, hostile), (SIGNATURE, hostile)];
        let answer = world.ask(Method::GET, &inbox, &fields).await;
        assert_eq!(answer.status, 401, "{hostile:.20}: {}", answer.text);
    }
}
