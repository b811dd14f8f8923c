//! The one form that is taken, and everything beside it.

use proptest::prelude::*;

use super::*;

const DID: &str = "did:x811:019c8c61-8129-7511-9f31-aa5142e65448";
const NONCE: [u8; 16] = [7; 16];

const TARGET: Target<'static> = Target {
    method: "GET",
    authority: "ledger.example.org",
    path: "/api/v1/interactions/0190a1b2-c3d4-7e5f-8901-234567890abc",
    query: Some("min_position=7"),
};

fn key() -> SecretKey {
    SecretKey::from_seed([3; 32])
}

fn signed(target: &Target<'_>) -> SignedFields {
    sign(target, DID.parse().unwrap(), &key(), 1_767_225_600, NONCE)
}

fn parse(fields: &SignedFields) -> Result<ReadProof, ProofError> {
    ReadProof::parse(
        fields.signature_input.as_bytes(),
        fields.signature.as_bytes(),
    )
}

#[test]
fn promise_7_what_is_signed_is_read_back_and_holds() {
    for query in [None, Some(""), Some("a=%20b&c")] {
        let target = Target { query, ..TARGET };
        let proof = parse(&signed(&target)).unwrap();
        assert_eq!(proof.key_id.did, DID.parse().unwrap());
        assert_eq!(proof.key_id.key, key().public());
        assert_eq!(proof.created_s, 1_767_225_600);
        assert_eq!(proof.expires_s, None);
        assert_eq!(proof.nonce, "BwcHBwcHBwcHBwcHBwcHBw");
        assert!(proof.verify(&target), "{query:?}");
    }
}

/// Written by hand from RFC 9421 section 2.5.
#[test]
fn promise_7_the_base_has_a_line_for_each_component_and_the_parameters() {
    let base = Target {
        query: None,
        ..TARGET
    }
    .base("(…);created=1");
    let expected = "\"@method\": GET\n\
        \"@authority\": ledger.example.org\n\
        \"@path\": /api/v1/interactions/0190a1b2-c3d4-7e5f-8901-234567890abc\n\
        \"@query\": ?\n\
        \"@signature-params\": (…);created=1";
    assert_eq!(base, expected);
}

#[test]
fn promise_7_a_proof_holds_for_its_own_request_alone() {
    let proof = parse(&signed(&TARGET)).unwrap();
    for other in [
        Target {
            method: "HEAD",
            ..TARGET
        },
        Target {
            authority: "other.example.org",
            ..TARGET
        },
        Target {
            path: "/",
            ..TARGET
        },
        Target {
            query: None,
            ..TARGET
        },
        Target {
            query: Some("min_position=8"),
            ..TARGET
        },
    ] {
        assert!(!proof.verify(&other), "{other:?}");
    }
}

#[test]
fn promise_7_no_parameter_can_be_changed_after_signing() {
    let fields = signed(&TARGET);
    for (from, to) in [
        ("1767225600", "1767225601"),
        ("BwcH", "AwcH"),
        (";alg=\"ed25519\"", ""),
        (";alg=\"ed25519\"", ";expires=1767225700;alg=\"ed25519\""),
        ("a5142e65448", "a5142e65449"),
    ] {
        let changed = SignedFields {
            signature_input: fields.signature_input.replace(from, to),
            ..fields.clone()
        };
        assert_ne!(changed, fields, "{from}");
        assert!(!parse(&changed).unwrap().verify(&TARGET), "{from}");
    }
}

#[test]
fn other_spellings_of_the_same_parameters_hold() {
    let fields = signed(&TARGET);
    let proof = parse(&fields).unwrap();
    for spelt in [
        SignedFields {
            signature_input: fields.signature_input.replace("sig=", "pyhms="),
            signature: fields.signature.replace("sig=", "pyhms="),
        },
        SignedFields {
            signature_input: format!(" {} ", fields.signature_input.replace(';', ";  ")),
            signature: format!("  {}", fields.signature),
        },
    ] {
        assert_eq!(parse(&spelt), Ok(proof.clone()));
        assert!(parse(&spelt).unwrap().verify(&TARGET));
    }
}

/// The first field of a good proof, and what the faults below change in it.
fn good_input() -> String {
    let key_id = key_id_text();
    let covered = r#"("@method" "@authority" "@path" "@query")"#;
    let nonce = "n".repeat(16);
    format!(r#"sig={covered};created=1;nonce="{nonce}";keyid="{key_id}""#)
}

fn key_id_text() -> String {
    format!("{DID}#{}", key().public())
}

#[track_caller]
fn all_refused<const N: usize>(table: [(String, ProofError); N]) {
    let signature = signed(&TARGET).signature;
    assert!(ReadProof::parse(good_input().as_bytes(), signature.as_bytes()).is_ok());
    for (input, expected) in table {
        let parsed = ReadProof::parse(input.as_bytes(), signature.as_bytes());
        assert_eq!(parsed, Err(expected), "{input}");
    }
}

#[test]
fn promise_7_there_is_one_signature_over_the_four_components() {
    use ProofError::{Covered, Labels, NotOne, Syntax, TooLong};
    let field = SIGNATURE_INPUT;
    let good = good_input();
    let swap = |from: &str, to: &str| good.replace(from, to);
    all_refused([
        (String::new(), NotOne { field }),
        (format!("{good}, b=()"), NotOne { field }),
        (format!("{good}, sig=()"), NotOne { field }),
        (format!("{good},"), Syntax { field }),
        (swap("\"@query\")", "\"@query\""), Syntax { field }),
        (
            format!("{good};x=\"{}\"", "x".repeat(1_024)),
            TooLong { field },
        ),
        (swap("sig=", "other="), Labels),
        (
            swap("(\"@method\" \"@authority\" \"@path\" \"@query\")", "()"),
            Covered,
        ),
        (
            swap("(\"@method\" \"@authority\" \"@path\" \"@query\")", "1"),
            Covered,
        ),
        (swap(" \"@query\"", ""), Covered),
        (swap("\"@query\"", "\"@query\" \"host\""), Covered),
        (swap("\"@query\"", "\"@query\";req"), Covered),
        (swap("\"@query\"", "@1"), Covered),
        (
            swap("\"@path\" \"@query\"", "\"@query\" \"@path\""),
            Covered,
        ),
        (swap("\"@authority\"", "\"@path\""), Covered),
    ]);
}

#[test]
fn promise_7_each_parameter_is_known_and_comes_once() {
    use ProofError::{Algorithm, Missing, Nonce, Repeated, Seconds, Unknown};
    let small_order = bs58::encode([&[0xed, 0x01, 1][..], &[0; 31]].concat()).into_string();
    let (good, key_id) = (good_input(), key_id_text());
    let swap = |from: &str, to: &str| good.replace(from, to);
    let nonce = format!(";nonce=\"{}\"", "n".repeat(16));
    all_refused([
        (format!("{good};tag=\"t\""), Unknown),
        (swap("nonce=", "expires=9;x="), Unknown),
        (format!("{good};created=1"), Repeated),
        (format!("{good};alg=\"ed25519\";alg=\"ed25519\""), Repeated),
        (swap(";created=1", ""), Missing("created")),
        (swap(&nonce, ""), Missing("nonce")),
        (swap(&format!(";keyid=\"{key_id}\""), ""), Missing("keyid")),
        (swap("created=1", "created=-1"), Seconds("created")),
        (swap("created=1", "created=1.0"), Seconds("created")),
        (swap("created=1", "created"), Seconds("created")),
        (format!("{good};expires=\"1\""), Seconds("expires")),
        (swap("nnnn\"", "nnn\""), Nonce),
        (swap("nnnn\"", &format!("{}\"", "n".repeat(53))), Nonce),
        (format!("{good};alg=\"rsa-v1_5-sha256\""), Algorithm),
        (format!("{good};alg=ed25519"), Algorithm),
        (swap(&key_id, DID), ProofError::KeyId(KeyError::NotKeyId)),
        (
            swap(&key().public().to_string(), &format!("z{small_order}")),
            ProofError::KeyId(KeyError::SmallOrder),
        ),
    ]);
}

#[test]
fn promise_7_the_signature_is_64_bytes_under_the_same_label() {
    let fields = signed(&TARGET);
    let short = STANDARD.encode([1; 63]);
    for (signature, expected) in [
        (String::new(), ProofError::NotOne { field: SIGNATURE }),
        (
            format!("{0}, {0}", fields.signature),
            ProofError::NotOne { field: SIGNATURE },
        ),
        (fields.signature.replace("sig=", "x="), ProofError::Labels),
        ("sig".to_owned(), ProofError::Signature),
        ("sig=()".to_owned(), ProofError::Signature),
        (format!("sig=:{short}:"), ProofError::Signature),
        (format!("{};a", fields.signature), ProofError::Signature),
        (
            "sig=:%%:".to_owned(),
            ProofError::Syntax { field: SIGNATURE },
        ),
    ] {
        let parsed = ReadProof::parse(fields.signature_input.as_bytes(), signature.as_bytes());
        assert_eq!(parsed, Err(expected), "{signature}");
    }
}

#[test]
fn every_fault_has_a_code_and_a_sentence() {
    for (error, code) in [
        (ProofError::Covered, Code::MissingCredentials),
        (ProofError::Missing("nonce"), Code::MissingCredentials),
        (ProofError::Signature, Code::SignatureInvalid),
        (
            ProofError::KeyId(KeyError::SmallOrder),
            Code::SignatureInvalid,
        ),
    ] {
        assert_eq!(error.code(), code);
        assert!(error.to_string().len() > 20);
    }
    let wanted = members(WANTED.as_bytes()).unwrap();
    assert_eq!(check_covered(&wanted[0].value), Ok(()));
    let parameters = wanted[0].parameters.iter().map(|(name, _)| name.as_str());
    let parameters: Vec<&str> = parameters.collect();
    assert_eq!(parameters, ["created", "nonce", "keyid", "alg"]);
}

proptest! {
    /// Bytes of any kind, and a good proof with a hole in it.
    #[test]
    fn promise_7_no_bytes_make_the_reader_panic(
        input in proptest::collection::vec(any::<u8>(), 0..300),
        signature in proptest::collection::vec(any::<u8>(), 0..150),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let _ = ReadProof::parse(&input, &signature);
        let fields = signed(&TARGET);
        let mut bent = fields.signature_input.clone().into_bytes();
        let at = at.index(bent.len());
        bent[at] = byte;
        let unchanged = bent == fields.signature_input.as_bytes();
        if let Ok(proof) = ReadProof::parse(&bent, fields.signature.as_bytes()) {
            prop_assert!(unchanged || !proof.verify(&TARGET));
        }
        let _ = ReadProof::parse(&input, fields.signature.as_bytes());
    }

    /// Text of the field's own alphabet gets further into the reader than any bytes do.
    #[test]
    fn promise_7_no_text_makes_the_reader_panic(
        input in "[a-z]=[(]?[\"@a-z ]{0,40}[)]?(;[a-z]{1,8}(=[-0-9a-z\":?.@%]{0,20})?){0,6}",
        signature in "[a-z]=[:A-Za-z0-9+/=]{0,100}",
    ) {
        prop_assert!(ReadProof::parse(input.as_bytes(), signature.as_bytes()).is_err());
    }
}
