//! `x811.registry/register` (ledger-contract.md section 4).

use serde_json::json;
use x811_protocol::canonical::to_canonical;
use x811_protocol::digest::Digest;
use x811_protocol::document::DidDocument;
use x811_protocol::key::{AgentKey, Profile, PublicKey, SecretKey};
use x811_protocol::payload::registry::Registration;

use super::*;

const INVALID: Verdict = Verdict::Refused(Code::DidDocumentInvalid, 400);
const BAD_KEY: Verdict = Verdict::Refused(Code::InvalidPublicKey, 400);

/// Signed with the Python package eth-account 0.14.0 for [`INITIATOR`] on [`LEDGER`].
const WALLETS: [(&str, &str); 2] = [
    (
        "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
        "0xf924816f168a03f781584807bfca61bd49c52002946e1ebe66302f6581a3d6c1\
         3d1ecff2a16f57c5887a2e8f3d96a2f17f275b20f03a148349c73b7bb2d693861c",
    ),
    (
        "0x9d8A62f656a8d1615C1294fd71e9CFb3E4855A4F",
        "0xfde30acde7d8eba71f132379ee42020697cc7d4809354d933d26461cd85cafd8\
         78389291cfdae37ef391a7e2e8ebefb416d1f4fa8878ef98636e832b924ea8871b",
    ),
];

fn key(seed: u8) -> PublicKey {
    SecretKey::from_seed([seed; 32]).public()
}

fn document(of: &str) -> Value {
    let keys = [1, 2].map(|seed| AgentKey {
        key: key(seed),
        profile: Profile::Digest,
    });
    DidDocument::build(did(of), &keys, None)
}

fn wallet(index: usize) -> Value {
    let (address, proof) = WALLETS[index];
    json!({"address": address, "kind": "eoa", "proof": proof})
}

fn example() -> Value {
    json!({
        "document": document(INITIATOR),
        "profiles": {key(2).to_string(): "direct"},
        "capabilities": ["financial-analysis", "translation"],
        "wallets": [wallet(0), wallet(1)],
    })
}

fn parse(payload: &Value) -> Result<Registration, Refusal> {
    let read = Registration::parse(did(INITIATOR), did(LEDGER), object(payload));
    freeze::refusal("x811.registry/register", payload, read.as_ref().err());
    read
}

fn check(name: &str, table: impl IntoIterator<Item = (Option<Value>, Verdict)>) {
    for (member, expected) in table {
        let shown = member.clone();
        let outcome = parse(&with(&example(), name, member));
        let verdict = match &outcome {
            Ok(_) => ACCEPTED,
            Err(refusal) => Verdict::Refused(refusal.code, refusal.http_status()),
        };
        assert_eq!(verdict, expected, "{name} = {shown:?}: {outcome:?}");
    }
}

#[test]
fn a_registration_is_read_whole() {
    let registration = parse(&example()).unwrap();
    let expected_keys = [
        AgentKey {
            key: key(1),
            profile: Profile::Digest,
        },
        AgentKey {
            key: key(2),
            profile: Profile::Direct,
        },
    ];
    assert_eq!(registration.keys, expected_keys);
    assert_eq!(registration.entry.document.id, did(INITIATOR));
    assert_eq!(
        registration.entry.capabilities,
        ["financial-analysis", "translation"]
    );
    let addresses = registration
        .entry
        .wallets
        .iter()
        .map(|wallet| wallet.address.to_checksum());
    assert!(addresses.eq(WALLETS.map(|(address, _)| address)));
    let digest = Digest::of(&to_canonical(&document(INITIATOR)));
    assert_eq!(registration.entry.document_digest, digest);
}

#[test]
fn the_document_is_the_senders_own() {
    let bad_key = {
        let text = document(INITIATOR).to_string();
        let key = key(1).to_string();
        serde_json::from_str(&text.replace(&key, &key[..47])).unwrap()
    };
    check(
        "document",
        [
            (Some(document(LEDGER)), INVALID),
            (Some(json!({})), INVALID),
            (Some(bad_key), BAD_KEY),
            (Some(json!("did:x811")), MALFORMED),
            (None, MALFORMED),
        ],
    );
}

#[test]
fn ax_023_profiles_are_per_key_and_digest_by_default() {
    check(
        "profiles",
        [
            (None, ACCEPTED),
            (Some(json!({})), ACCEPTED),
            (Some(json!({key(1).to_string(): "digest"})), ACCEPTED),
            (Some(json!({key(3).to_string(): "direct"})), INVALID),
            (Some(json!({key(1).to_string(): "DIRECT"})), INVALID),
            (Some(json!({key(1).to_string(): 1})), INVALID),
            (Some(json!([])), MALFORMED),
        ],
    );
    let without = parse(&with(&example(), "profiles", None)).unwrap();
    assert!(
        without
            .keys
            .iter()
            .all(|key| key.profile == Profile::Digest)
    );
}

#[test]
fn capabilities_are_at_most_64_different_names() {
    let many = |count: usize| json!((0..count).map(|n| format!("task-{n}")).collect::<Vec<_>>());
    check(
        "capabilities",
        [
            (Some(json!([])), ACCEPTED),
            (Some(many(64)), ACCEPTED),
            (Some(many(65)), INVALID),
            (Some(json!(["x".repeat(128)])), ACCEPTED),
            (Some(json!(["x".repeat(129)])), INVALID),
            (Some(json!([""])), INVALID),
            (Some(json!([1])), INVALID),
            (Some(json!(["a", "b", "a"])), INVALID),
            (Some(json!("a")), MALFORMED),
            (None, MALFORMED),
        ],
    );
}

#[test]
fn wallets_prove_that_they_are_the_agents_here() {
    let other_proof = with(&wallet(0), "proof", Some(json!(WALLETS[1].1)));
    let contract = with(&wallet(0), "kind", Some(json!("erc1271")));
    let lower = with(
        &wallet(0),
        "address",
        Some(json!(WALLETS[0].0.to_lowercase())),
    );
    check(
        "wallets",
        [
            (None, ACCEPTED),
            (Some(json!([])), ACCEPTED),
            (Some(json!([lower])), ACCEPTED),
            (Some(json!([wallet(0), lower])), INVALID),
            (Some(json!([other_proof])), INVALID),
            (Some(json!([contract])), ACCEPTED),
            (
                Some(json!([with(&contract, "proof", Some(json!("0x")))])),
                INVALID,
            ),
            (
                Some(json!([with(&wallet(0), "kind", Some(json!("safe")))])),
                INVALID,
            ),
            (Some(json!([with(&wallet(0), "proof", None)])), INVALID),
            (
                Some(json!([with(&wallet(0), "address", Some(json!("0x00")))])),
                INVALID,
            ),
            (Some(json!(["0x00"])), INVALID),
            (Some(json!([null])), INVALID),
            (Some(Value::from(vec![wallet(0); 9])), INVALID),
            (Some(json!({})), MALFORMED),
        ],
    );
    let elsewhere = Registration::parse(did(INITIATOR), did(INITIATOR), object(&example()));
    assert_eq!(
        elsewhere.unwrap_err().code,
        Code::DidDocumentInvalid,
        "another ledger"
    );
}

#[test]
fn rule_18_a_contract_wallets_proof_has_a_form() {
    let too_long = json!(format!("0x{}", "00".repeat(1_025)));
    let contract = with(&wallet(0), "kind", Some(json!("erc1271")));
    let contract = with(&contract, "proof", Some(too_long));
    let refused = parse(&with(&example(), "wallets", Some(json!([contract]))));
    let message = refused.unwrap_err().message;
    assert!(
        message.contains("wallets[0]") && message.contains("1,024"),
        "{message}"
    );
}

#[test]
fn more_than_eight_wallets_are_not_even_checked() {
    let nine = Value::from(vec![wallet(0); 9]);
    let refused = parse(&with(&example(), "wallets", Some(nine))).unwrap_err();
    assert!(
        refused.message.contains("more than 8 wallets"),
        "{}",
        refused.message
    );
}
