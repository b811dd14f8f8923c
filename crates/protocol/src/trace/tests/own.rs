//! Tokens of agents' own, beside the ledger's.

use super::*;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// A token of an agent's own: `alg` and the key are chosen by `key`.
pub(super) fn own_token(key: &OwnKey, claims: &Value) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(to_canonical(value));
    let header = json!({ "alg": key.alg(), "kid": key.kid(), "typ": "exec+jwt" });
    let input = format!("{}.{}", part(&header), part(claims));
    let signature = key.sign(input.as_bytes());
    format!("{input}.{}", URL_SAFE_NO_PAD.encode(signature))
}

pub(super) enum OwnKey {
    Ed25519(Did, SecretKey),
    P256(p256::ecdsa::SigningKey),
}

impl OwnKey {
    pub(super) fn ed25519(of: u32) -> OwnKey {
        OwnKey::Ed25519(did(of), SecretKey::from_seed([of as u8; 32]))
    }

    fn p256() -> OwnKey {
        OwnKey::P256(p256::ecdsa::SigningKey::from_slice(&[7; 32]).unwrap())
    }

    fn alg(&self) -> &'static str {
        match self {
            OwnKey::Ed25519(..) => "EdDSA",
            OwnKey::P256(_) => "ES256",
        }
    }

    fn kid(&self) -> String {
        match self {
            OwnKey::Ed25519(did, key) => KeyId {
                did: *did,
                key: key.public(),
            }
            .to_string(),
            OwnKey::P256(key) => {
                let point = key.verifying_key().to_encoded_point(true);
                let coded = [&[0x80, 0x24], point.as_bytes()].concat();
                format!("did:key:z{}", bs58::encode(coded).into_string())
            }
        }
    }

    fn sign(&self, input: &[u8]) -> Vec<u8> {
        use p256::ecdsa::signature::Signer as _;
        match self {
            OwnKey::Ed25519(_, key) => key.sign(input).as_bytes().to_vec(),
            OwnKey::P256(key) => {
                let signature: p256::ecdsa::Signature = key.sign(input);
                signature.to_bytes().to_vec()
            }
        }
    }
}

pub(super) fn own_claims(number: u128, pred: &[Uuid]) -> Value {
    json!({
        "exec_act": "consensus_vote", "iat": 0, "exp": 600, "iss": did(1), "pred": pred,
        "jti": Uuid::from_u128(number), "wid": round(1),
    })
}

/// A round of one vote, in whose message `tokens` stand; the ledger's claims and what is listed beside.
fn with_vote(token: Option<&str>) -> (Vec<Claims>, Vec<OwnToken>) {
    let of = round(1);
    let events = [
        (of, proposal(of, None)),
        (of, vote(of, 1, false)),
        (of, decided("commit", "accepted")),
    ];
    let payload = json!({ "ect": token, "rationale": "so be it" });
    let recorded = events.iter().enumerate().map(|(at, (_, event))| Recorded {
        event,
        hash: Digest::of(&at.to_be_bytes()),
        payload: (at == 1).then_some(payload.as_object().unwrap()),
        position: at as u64,
        recorded_at_ms: TimestampMs::new(10 + at as u64),
        subject: Subject::Round(of),
    });
    let nodes = round_nodes(recorded);
    (checked(&tokens(&nodes)).unwrap(), owns(&nodes))
}

fn jti_of_proposal() -> Uuid {
    with_vote(None).0[0].jti
}

#[test]
fn cx_46_tokens_of_agents_are_taken_step_by_step() {
    let before = jti_of_proposal();
    for key in [OwnKey::ed25519(1), OwnKey::p256()] {
        let token = own_token(&key, &own_claims(5, &[before]));
        let (claims, own) = with_vote(Some(&token));
        assert_eq!(claims[1].ect_ext["consensus"]["rationale"], "so be it");
        let steps = check_own(&claims, &own).unwrap();
        assert_eq!(steps.len(), 1);
        assert_eq!(steps[0].fault, None, "{}", key.alg());
        assert_eq!(steps[0].key, Some(key.kid()));
        assert_eq!((steps[0].by, steps[0].node), (did(1), claims[1].jti));
    }
    let (claims, own) = with_vote(None);
    assert_eq!(check_own(&claims, &own), Ok(vec![]));
}

/// What an agent made badly is named, and takes nothing from the trace.
#[test]
fn cx_46_a_bad_token_of_an_agent_is_named() {
    let before = jti_of_proposal();
    let good = || own_claims(5, &[before]);
    let with = |name: &str, value: Value| {
        let mut claims = good();
        claims[name] = value;
        own_token(&OwnKey::ed25519(1), &claims)
    };
    let stolen = own_token(&OwnKey::ed25519(2), &good());
    let mut forged = own_token(&OwnKey::p256(), &good());
    forged.replace_range(forged.len() - 20..forged.len() - 10, "AAAAAAAAAA");
    let cases = [
        (stolen, "its key is not of whoever sent the message"),
        (forged, "its signature does not hold"),
        (with("iss", json!(did(2))), "its issuer is not whoever sent"),
        (with("wid", json!(round(9))), "it belongs to another trace"),
        (
            with("pred", json!([Uuid::from_u128(9)])),
            "it rests on what is not",
        ),
        (with("jti", json!(before)), "its jti was there before"),
        (with("iat", json!(10_000)), "made after its message"),
        (with("exec_act", json!("")), "it does not say what was done"),
        ("a.b".to_owned(), "a token has three parts"),
    ];
    for (token, why) in cases {
        let (claims, own) = with_vote(Some(&token));
        let steps = check_own(&claims, &own).unwrap();
        let fault = steps[0].fault.clone().unwrap();
        assert!(fault.contains(why), "{fault}: {why}");
    }
}

/// Attack: whoever is sent a token puts the same into its own message, so that the trace is not believed.
#[test]
fn cx_46_the_same_token_of_two_is_taken_of_each() {
    let token = own_token(&OwnKey::ed25519(1), &own_claims(5, &[]));
    let (mut claims, own) = with_vote(Some(&token));
    let said = claims[1].ect_ext.get_mut("consensus").unwrap();
    let named = said["ect"].as_array_mut().unwrap();
    let mut copied = named[0].clone();
    copied["by"] = json!(did(2));
    named.push(copied);
    let both = [own.clone(), own.clone()].concat();
    let steps = check_own(&claims, &both).unwrap();
    let holds: Vec<(Did, bool)> = steps
        .iter()
        .map(|step| (step.by, step.fault.is_none()))
        .collect();
    assert_eq!(holds, [(did(1), true), (did(2), false)]);
    let thrice = [both, own].concat();
    assert!(check_own(&claims, &thrice).is_err(), "named twice");
}

/// Attacks by whoever keeps the file: the ledger has signed the hash of each token, and by whom it is.
#[test]
fn cc_101_a_changed_token_of_an_agent_is_refused() {
    let token = own_token(&OwnKey::ed25519(1), &own_claims(5, &[]));
    let (claims, own) = with_vote(Some(&token));
    let mut other = own.clone();
    other[0].token = own_token(&OwnKey::ed25519(1), &own_claims(6, &[]));
    assert!(check_own(&claims, &other).is_err(), "exchanged");
    let twice = [own.clone(), own.clone()].concat();
    assert!(check_own(&claims, &twice).is_err(), "twice");
    let mut moved = own;
    moved[0].node = claims[0].jti;
    assert!(check_own(&claims, &moved).is_err(), "at another node");
    moved[0].node = Uuid::from_u128(1);
    assert!(check_own(&claims, &moved).is_err(), "at none");
}
