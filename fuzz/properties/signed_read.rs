//! What holds for whatever is said to be a signed read (AX-44, ledger-contract.md section 6). The
//! input is the value of `signature-input`, a line feed and the value of `signature`.

use x811_protocol::code::Code;
use x811_protocol::did::Did;
use x811_protocol::key::SecretKey;
use x811_protocol::signed_read::{ReadProof, Target, sign};

const READER: &str = "did:x811:019c8c61-8129-7511-9f31-aa5142e65448";

/// What the seeds are signatures of.
const TARGET: Target<'static> = Target {
    method: "GET",
    authority: "ledger.example.org:8811",
    path: "/api/v1/messages/019c8c61-8129-7511-9f31-aa5142e65448",
    query: Some("limit=7"),
};

/// Fails when one of the properties does not hold for `bytes`.
pub fn holds(bytes: &[u8]) {
    let line_end = bytes.iter().position(|byte| *byte == b'\n');
    let (input, signature) = bytes.split_at(line_end.unwrap_or(bytes.len()));
    let signature = signature.strip_prefix(b"\n").unwrap_or_default();
    match ReadProof::parse(input, signature) {
        Ok(proof) => check(&proof, input, signature),
        Err(fault) => {
            assert!(matches!(
                fault.code(),
                Code::SignatureInvalid | Code::MissingCredentials
            ));
            let said = fault.to_string();
            assert!(!said.chars().any(char::is_control), "{said:?}");
        }
    }
    check_own(bytes);
}

/// One form, one reader, one request.
fn check(proof: &ReadProof, input: &[u8], signature: &[u8]) {
    let is_plain = |c: char| c.is_ascii_graphic() || c == ' ';
    assert!((16..=64).contains(&proof.nonce.len()) && proof.nonce.chars().all(is_plain));
    assert_eq!(ReadProof::parse(input, signature).as_ref(), Ok(proof));
    if proof.verify(&TARGET) {
        let others = [
            Target {
                method: "POST",
                ..TARGET
            },
            Target {
                authority: "ledger.example.org",
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
        ];
        for other in others {
            assert!(!proof.verify(&other), "it holds for {other:?} too");
        }
    }
    // The two fields cannot be swapped.
    assert!(ReadProof::parse(signature, input).is_err());
}

/// What our own side signs is read as it was meant, whatever is asked for.
fn check_own(bytes: &[u8]) {
    let text: String = String::from_utf8_lossy(bytes)
        .chars()
        .filter(char::is_ascii_graphic)
        .collect();
    let (path, query) = match text.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (text.as_str(), None),
    };
    let target = Target {
        path,
        query,
        ..TARGET
    };
    let mut nonce = [0; 16];
    for (at, byte) in bytes.iter().enumerate() {
        nonce[at % 16] ^= byte;
    }
    let created_s = u64::from(nonce[0]) << 24;
    let reader: Did = READER.parse().expect("a DID");
    let fields = sign(
        &target,
        reader,
        &SecretKey::from_seed([7; 32]),
        created_s,
        nonce,
    );
    let (input, signature) = (
        fields.signature_input.as_bytes(),
        fields.signature.as_bytes(),
    );
    let proof = ReadProof::parse(input, signature).expect("our own form is read");
    assert_eq!((proof.key_id.did, proof.created_s), (reader, created_s));
    assert!(proof.verify(&target), "{target:?}");
}
