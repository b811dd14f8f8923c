//! Keys that prove nothing, keys of others, and registrations that belong elsewhere
//! (ledger-contract.md sections 4 and 7).

use super::{Case, Stage, UNSIGNED, case};
use crate::world::{Agent, World, sign_members};
use serde_json::{Value, json};
use x811_protocol::canonical::to_canonical;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::{seal, wire_json};
use x811_protocol::key::{Profile, SecretKey};
use x811_protocol::signature::Signature;

/// The eight points of small order, and every other encoding that some reader takes for one.
const SMALL_ORDER: [&str; 14] = [
    "0100000000000000000000000000000000000000000000000000000000000000",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0000000000000000000000000000000000000000000000000000000000000080",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
    "0100000000000000000000000000000000000000000000000000000000000080",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
];

/// R is the neutral point and S is 0: lenient verifiers take it under many a small-order key.
fn neutral_signature() -> Signature {
    Signature::from_bytes(std::array::from_fn(|at| u8::from(at == 0)))
}

fn multibase(key: &[u8]) -> String {
    let prefixed = [&[0xed, 0x01], key].concat();
    format!("z{}", bs58::encode(prefixed).into_string())
}

/// A registration of `agent` whose document shows another key.
fn registration_with_key(stage: &Stage, agent: &Agent, key: &str, signature: Signature) -> Vec<u8> {
    let good = agent.registration(&stage.world);
    let text = std::str::from_utf8(&good.body).unwrap();
    let shown = agent.key.public().to_string();
    wire_json(text.replace(&shown, key).as_bytes(), &signature)
}

#[tokio::test]
async fn lc_7_keys_of_small_order_are_never_registered() {
    let stage = Stage::open().await;
    let agent = Agent::new();
    let mut cases: Vec<Case> = SMALL_ORDER
        .iter()
        .map(|point| {
            let key = multibase(&hex(point));
            let body = registration_with_key(&stage, &agent, &key, neutral_signature());
            case(*point, body, (400, "X811-1004"))
        })
        .collect();
    // Second spellings of the points with y from p to 2^255 - 1, whatever their order.
    for low in 0xed..=0xff_u8 {
        let mut point = [0xff; 32];
        (point[0], point[31]) = (low, 0x7f);
        let key = multibase(&point);
        let body = registration_with_key(&stage, &agent, &key, neutral_signature());
        cases.push(case(
            format!("y = p + {}", low - 0xed),
            body,
            (400, "X811-1004"),
        ));
    }
    let public = agent.key.public();
    for (name, key) in [
        ("31 bytes", multibase(&public.as_bytes()[1..])),
        (
            "33 bytes",
            multibase(&[public.as_bytes().as_slice(), &[0]].concat()),
        ),
        (
            "another codec",
            format!("z{}", bs58::encode([0xe7; 34]).into_string()),
        ),
        ("no multibase", hex_text(public.as_bytes())),
        ("no point", multibase(&[2; 32])),
    ] {
        let body = registration_with_key(&stage, &agent, &key, neutral_signature());
        cases.push(case(name, body, (400, "X811-1004")));
    }
    stage.refuse_unspent(cases).await;
    stage.world.accept(&agent.registration(&stage.world)).await;
}

#[tokio::test]
async fn ae_095_signatures_by_nobody_and_by_others() {
    let stage = Stage::open().await;
    let (world, members) = (&stage.world, stage.ping_members());
    let body = to_canonical(&members);
    let good = stage.a.key.sign(Digest::of(&body).as_bytes());
    let mut direct = members.clone();
    direct["payload"]["n"] = json!(2);
    let direct = to_canonical(&direct);
    let cases = vec![
        case(
            "the neutral signature",
            wire_json(&body, &neutral_signature()),
            UNSIGNED,
        ),
        case(
            "zeros",
            wire_json(&body, &Signature::from_bytes([0; 64])),
            UNSIGNED,
        ),
        case(
            "S + L",
            wire_json(&body, &with_order_added(&good)),
            UNSIGNED,
        ),
        case(
            "another's key",
            sign_members(&members, &stage.b.key),
            UNSIGNED,
        ),
        case(
            "a stranger's key",
            sign_members(&members, &SecretKey::from_seed([1; 32])),
            UNSIGNED,
        ),
        // The key is registered for digests: the other profile is never tried (AX-23).
        case(
            "profile direct",
            wire_json(&direct, &stage.a.key.sign(&direct)),
            UNSIGNED,
        ),
    ];
    stage.refuse_unspent(cases).await;

    // A notice that the ledger never issued.
    let mut forged = stage.ping_members();
    forged["from"] = json!(world.ledger());
    forged["type"] = json!("x811/error");
    let forged = sign_members(&forged, &stage.a.key);
    let cases = vec![case("the ledger's name", forged, UNSIGNED)];
    stage.refuse_unspent(cases).await;
}

/// The same signature with the group order added to S: equal modulo the order, and refused.
fn with_order_added(signature: &Signature) -> Signature {
    let order = hex("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010");
    let mut bytes = *signature.as_bytes();
    let mut carry = 0_u16;
    for (byte, addend) in bytes[32..].iter_mut().zip(order) {
        let sum = u16::from(*byte) + u16::from(addend) + carry;
        (*byte, carry) = (sum.to_le_bytes()[0], sum >> 8);
    }
    Signature::from_bytes(bytes)
}

#[tokio::test]
async fn lc_4_registrations_for_another_ledger_or_by_another_agent() {
    const INVALID: (u16, &str) = (400, "X811-1005");
    let (stage, elsewhere) = (Stage::open().await, World::start().await);
    let world = &stage.world;
    let newcomer = Agent::new();
    let there = newcomer.registration(&elsewhere);
    elsewhere.accept(&there).await;
    let with = |change: &dyn Fn(&mut Value)| {
        let mut payload = newcomer.registration_payload(world);
        change(&mut payload);
        newcomer
            .say(world, world.ledger(), "x811.registry/register", payload)
            .json
    };
    let foreign_proof = elsewhere_proof(&newcomer, &elsewhere);
    let document = Agent::new().registration_payload(world)["document"].clone();
    let to_agent = newcomer.say(
        world,
        stage.b.did,
        "x811.registry/register",
        newcomer.registration_payload(world),
    );
    let wallets = newcomer.registration_payload(world)["wallets"].clone();
    let many: Vec<String> = (0..65).map(|number| format!("task {number}")).collect();
    let cases = vec![
        case("replayed from another ledger", there.json, INVALID),
        case("to another agent", to_agent.json, INVALID),
        case(
            "a wallet bound elsewhere",
            with(&|p| p["wallets"] = foreign_proof.clone()),
            INVALID,
        ),
        case(
            "another's document",
            with(&|p| p["document"] = document.clone()),
            INVALID,
        ),
        case(
            "a wallet twice",
            with(&|p| p["wallets"] = json!([wallets[0], wallets[0]])),
            INVALID,
        ),
        case(
            "65 capabilities",
            with(&|p| p["capabilities"] = json!(many)),
            INVALID,
        ),
        case(
            "a capability twice",
            with(&|p| p["capabilities"] = json!(["a", "a"])),
            INVALID,
        ),
        case(
            "control characters",
            with(&|p| p["capabilities"] = json!(["\u{1b}[2J"])),
            INVALID,
        ),
        case(
            "capabilities that look like others",
            with(&|p| p["capabilities"] = json!(["ec\u{200b}ho", "\u{202e}ohce"])),
            INVALID,
        ),
        case(
            "no capabilities",
            with(&|p| p["capabilities"] = json!(null)),
            super::MALFORMED,
        ),
        case(
            "no document",
            with(&|p| p["document"] = json!("x")),
            super::MALFORMED,
        ),
    ];
    stage.refuse_unspent(cases).await;
    world.accept(&newcomer.registration(world)).await;
}

fn elsewhere_proof(agent: &Agent, elsewhere: &World) -> Value {
    agent.registration_payload(elsewhere)["wallets"].clone()
}

/// A DID belongs to whoever was first, and the attempt of a stranger spends none of its nonces.
#[tokio::test]
async fn lc_4_a_taken_did_stays_taken() {
    let stage = Stage::open().await;
    let world = &stage.world;
    let mut thief = Agent::new();
    thief.did = stage.a.did;
    let stolen = thief.registration(world);
    let taken = (409, "X811-1005");
    let cases = vec![case("by another key", stolen.json.clone(), taken)];
    stage.refuse_unspent(cases).await;
    let again = stage.a.registration(world);
    stage
        .refuse_spent(vec![case("by its own key", again.json, taken)])
        .await;
    // The nonce of the stolen registration is still the agent's own to use.
    let mut header = stage.a.header(world, stage.b.did, "x811.test/ping");
    header.nonce = stolen.header.nonce;
    world.accept(&stage.a.say_as(header, json!({}))).await;
}

/// A key for `direct` signs the bytes and never their digest (AX-23).
#[tokio::test]
async fn ax_023_the_profile_is_the_keys_and_never_guessed() {
    let stage = Stage::open().await;
    let (world, agent) = (&stage.world, Agent::new());
    let mut payload = agent.registration_payload(world);
    payload["profiles"] = json!({ agent.key.public().to_string(): "direct" });
    let header = agent.header(world, world.ledger(), "x811.registry/register");
    let members: serde_json::Map<String, Value> = serde_json::from_value(payload).unwrap();
    let by_digest = seal(header.clone(), members.clone(), &agent.key, Profile::Digest);
    stage
        .refuse_unspent(vec![case("signed by digest", by_digest.json, UNSIGNED)])
        .await;
    let by_bytes = seal(header, members, &agent.key, Profile::Direct);
    world.accept(&by_bytes).await;
    let ping = agent.header(world, stage.b.did, "x811.test/ping");
    let good = seal(
        ping.clone(),
        serde_json::Map::new(),
        &agent.key,
        Profile::Direct,
    );
    let bad = seal(ping, serde_json::Map::new(), &agent.key, Profile::Digest);
    stage
        .refuse_unspent(vec![case("digest", bad.json, UNSIGNED)])
        .await;
    world.accept(&good).await;
}

fn hex(text: &str) -> [u8; 32] {
    std::array::from_fn(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap())
}

fn hex_text(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
