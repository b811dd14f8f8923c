//! Cosignatures, policies and proof files: whose word a verifier takes, and for what.

#![expect(clippy::unwrap_used, reason = "test helpers outside #[test] functions")]

use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use proptest::prelude::*;
use x811_eventlog::note::{CosignerKey, Note, NoteError, NoteKey, VkeyError};
use x811_eventlog::policy::{Cosignature, Distrust};
use x811_eventlog::{
    Checkpoint, CheckpointError, Hash, Policy, TlogProof, TlogProofError, root_of,
};

/// Made with Python's cryptography package from the key of RFC 8032 section 7.1, test 2, over the
/// text of the example in C2SP tlog-cosignature.
const COSIGNED_TEXT: &str =
    "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n";
const COSIGNATURE_LINE: &str = "\u{2014} witness.example.com/w1 6EmBcgAAAABkGFDLU5VmHzFyg1moo3QxI1Ge6wHfwylQEoWhcwJH/SvRJW3LjvpU4PIuE1VI/0HWdoZ4oGL67Rl5yx89mAducLUyBQ==\n";
const WITNESS_VKEY: &str =
    "witness.example.com/w1+e8498172+BD1AF8PoQ4lakrcKp00bfrycmCzPLsSWjMDNVfEq9GYM";
const COSIGNED_AT_S: u64 = 1_679_315_147;

/// A log key (type 0x01): that of Go's checksum database.
const LOG_VKEY: &str = "sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8";

fn verifies(public_key: &[u8; 32], message: &[u8], signature: &[u8; 64]) -> bool {
    let key = VerifyingKey::from_bytes(public_key).unwrap();
    key.verify_strict(message, &Signature::from_bytes(signature))
        .is_ok()
}

fn secret(seed: u8) -> SigningKey {
    SigningKey::from_bytes(&[seed; 32])
}

fn log_key(seed: u8, name: &str) -> NoteKey {
    NoteKey::new(name, secret(seed).verifying_key().to_bytes()).unwrap()
}

fn witness_key(seed: u8, name: &str) -> CosignerKey {
    CosignerKey::new(name, secret(seed).verifying_key().to_bytes()).unwrap()
}

#[test]
fn c2sp_a_cosignature_is_the_one_another_program_made() {
    let key = CosignerKey::from_vkey(WITNESS_VKEY).unwrap();
    assert_eq!(key.to_vkey(), WITNESS_VKEY);
    let read = Note::parse(&format!("{COSIGNED_TEXT}\n{COSIGNATURE_LINE}")).unwrap();
    let by_key = |message: &[u8], signature: &_| verifies(key.public_key(), message, signature);
    assert_eq!(read.cosigned_at_s(&key, by_key), Ok(COSIGNED_AT_S));

    let mut seed = [0; 32];
    hex::decode_to_slice(
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        &mut seed,
    )
    .unwrap();
    let secret = SigningKey::from_bytes(&seed);
    let log = log_key(1, "example.com/behind-the-sofa");
    let mut note = Note::sign(COSIGNED_TEXT, &log, |_| [0; 64]).unwrap();
    let sign = |message: &[u8]| secret.sign(message).to_bytes();
    note.cosign(&key, COSIGNED_AT_S, sign).unwrap();
    assert!(note.encode().ends_with(COSIGNATURE_LINE));
    assert_eq!(
        note.cosign(&key, 1 << 63, |_| [0; 64]),
        Err(NoteError::Timestamp)
    );
}

#[test]
fn c2sp_a_cosignature_covers_its_time_and_its_text() {
    let key = CosignerKey::from_vkey(WITNESS_VKEY).unwrap();
    let by_key = |message: &[u8], signature: &_| verifies(key.public_key(), message, signature);
    let cosigned = |note: &str| Note::parse(note).unwrap().cosigned_at_s(&key, by_key);
    let later = COSIGNATURE_LINE
        .replace("ZBhQyw", "ZBhQzA")
        .replace("BkGFDL", "BkGFDM");
    assert_ne!(later, COSIGNATURE_LINE);
    assert_eq!(
        cosigned(&format!("{COSIGNED_TEXT}\n{later}")),
        Err(NoteError::Forged)
    );
    let other = COSIGNED_TEXT.replace("20852163", "20852164");
    assert_eq!(
        cosigned(&format!("{other}\n{COSIGNATURE_LINE}")),
        Err(NoteError::Forged)
    );
    let renamed = COSIGNATURE_LINE.replace("/w1", "/w2");
    assert_eq!(
        cosigned(&format!("{COSIGNED_TEXT}\n{renamed}")),
        Err(NoteError::NotSigned)
    );
}

#[test]
fn c2sp_vkeys_of_other_types_and_mistyped_ones_are_refused() {
    assert_eq!(
        NoteKey::from_vkey(WITNESS_VKEY),
        Err(VkeyError::Type {
            found: 4,
            expected: 1
        })
    );
    assert_eq!(NoteKey::from_vkey(LOG_VKEY).unwrap().to_vkey(), LOG_VKEY);
    for (vkey, error) in [
        (LOG_VKEY.replace("033de0ae", "033de0af"), VkeyError::Id),
        (LOG_VKEY.replace("sum.", "sun."), VkeyError::Id),
        (LOG_VKEY.replace("uAn8", "uAn7"), VkeyError::Id),
        (LOG_VKEY.replace("uAn8", "uAn"), VkeyError::Form),
        (LOG_VKEY.replace("033de0ae", "033DE0AE"), VkeyError::Form),
        (LOG_VKEY.replace("+033de0ae", ""), VkeyError::Form),
        (LOG_VKEY.replace("sum.golang.org", ""), VkeyError::Form),
        (String::new(), VkeyError::Form),
        ("a+00000000+".to_owned(), VkeyError::Form),
    ] {
        assert_eq!(NoteKey::from_vkey(&vkey), Err(error), "{vkey}");
    }
}

const ORIGIN: &str = "ledger.example/log";

/// The two-level policy of the specification's example, over log key 1 and witnesses 11 to 16.
fn two_levels() -> String {
    let log = log_key(1, ORIGIN).to_vkey();
    let mut text = format!("# who is trusted\n\n\tlog {log}  https://ledger.example/log\n");
    for (name, seed) in [("X1", 11), ("X2", 12), ("X3", 13)] {
        let vkey = witness_key(seed, &format!("w/{name}")).to_vkey();
        text.push_str(&format!("witness {name} {vkey}\n"));
    }
    text.push_str("group X-witnesses 2 X1 X2 X3\n");
    for (name, seed) in [("Y1", 14), ("Y2", 15), ("Y3", 16)] {
        let vkey = witness_key(seed, &format!("w/{name}")).to_vkey();
        text.push_str(&format!("witness {name} {vkey} https://{name}.example\n"));
    }
    text + "group Y-witnesses any Y1 Y2 Y3\n\
            group X-and-Y all X-witnesses Y-witnesses\n   # both\nquorum X-and-Y\n"
}

fn checkpoint() -> Checkpoint {
    Checkpoint {
        origin: ORIGIN.to_owned(),
        size: 7,
        root: Hash::of_leaf(b"root"),
    }
}

fn signed(log_seed: u8, witnesses: &[(u8, &str)]) -> String {
    let secret_log = secret(log_seed);
    let key = log_key(log_seed, ORIGIN);
    let sign = |message: &[u8]| secret_log.sign(message).to_bytes();
    let mut note = Note::sign(checkpoint().to_text(), &key, sign).unwrap();
    for (seed, name) in witnesses {
        let sign = |message: &[u8]| secret(*seed).sign(message).to_bytes();
        note.cosign(&witness_key(*seed, name), 1_000 + u64::from(*seed), sign)
            .unwrap();
    }
    note.encode()
}

#[test]
fn c2sp_a_quorum_counts_members_as_the_policy_says() {
    let policy: Policy = two_levels().parse().unwrap();
    assert_eq!(policy.logs().len(), 1);
    let table: [(&[(u8, &str)], bool); 8] = [
        (&[], false),
        (&[(11, "w/X1"), (12, "w/X2")], false),
        (&[(14, "w/Y1"), (15, "w/Y2"), (16, "w/Y3")], false),
        (&[(11, "w/X1"), (16, "w/Y3")], false),
        (&[(11, "w/X1"), (11, "w/X1"), (16, "w/Y3")], false),
        (&[(11, "w/X1"), (13, "w/X3"), (16, "w/Y3")], true),
        (
            &[(16, "w/Y3"), (13, "w/X3"), (12, "w/X2"), (99, "w/Z")],
            true,
        ),
        // Right keys under other names are others.
        (&[(11, "w/X1"), (13, "w/other"), (16, "w/Y3")], false),
    ];
    for (witnesses, is_good) in table {
        let verdict = policy.check(&signed(1, witnesses), verifies);
        match verdict {
            Ok(trusted) => {
                assert!(is_good, "{witnesses:?}");
                assert_eq!(trusted.checkpoint, checkpoint());
            }
            Err(Distrust::NoQuorum { quorum, .. }) => {
                assert!(!is_good, "{witnesses:?}");
                assert_eq!(quorum, "X-and-Y");
            }
            Err(other) => panic!("{witnesses:?}: {other}"),
        }
    }
    let note = signed(1, &[(16, "w/Y3"), (13, "w/X3"), (12, "w/X2")]);
    let cosignatures = policy.check(&note, verifies).unwrap().cosignatures;
    let seen = |witness: &str, timestamp_s| Cosignature {
        witness: witness.to_owned(),
        timestamp_s,
    };
    let expected = [seen("X2", 1_012), seen("X3", 1_013), seen("Y3", 1_016)];
    assert_eq!(cosignatures, expected);
}

#[test]
fn c2sp_a_checkpoint_of_no_listed_log_is_not_trusted_whoever_cosigned_it() {
    let policy: Policy = two_levels().parse().unwrap();
    let everybody = [(11, "w/X1"), (12, "w/X2"), (16, "w/Y3")];
    let not_signed = Distrust::Checkpoint(CheckpointError::Note(NoteError::NotSigned));
    assert_eq!(
        policy.check(&signed(2, &everybody), verifies),
        Err(not_signed)
    );

    let forged = signed(1, &everybody).replace("\n7\n", "\n8\n");
    let changed = Distrust::Checkpoint(CheckpointError::Note(NoteError::Forged));
    assert_eq!(policy.check(&forged, verifies), Err(changed));

    // A forged cosignature is a reason to reject even when the quorum holds without it.
    let good = signed(1, &everybody);
    let line = good.lines().find(|line| line.contains("w/X1")).unwrap();
    let cosigned_by = |seed, name| {
        let other = signed(1, &[(seed, name)]);
        other.lines().last().unwrap().to_owned()
    };
    let lie = cosigned_by(11, "w/X1").replace("AAAA", "AAAB");
    assert_ne!(lie, line);
    let note = good.replace(line, &lie);
    assert!(policy.check(&note, verifies).is_err());

    let alone = Policy::of_log(log_key(1, ORIGIN));
    let trusted = alone.check(&signed(1, &[]), verifies).unwrap();
    assert_eq!(trusted.checkpoint, checkpoint());
    assert!(alone.check(&signed(2, &[]), verifies).is_err());
}

#[test]
fn c2sp_what_is_no_policy_is_refused_with_its_line() {
    let (log, x1, x2) = (
        log_key(1, ORIGIN).to_vkey(),
        witness_key(11, "w/X1").to_vkey(),
        witness_key(12, "w/X2").to_vkey(),
    );
    let x1_again = witness_key(11, "w/other").to_vkey();
    let good = format!("log {log}\nwitness a {x1}\nwitness b {x2}\n");
    assert!(format!("{good}quorum none").parse::<Policy>().is_ok());
    let table = [
        (String::new(), 0),
        (good.clone(), 3),
        (format!("{good}quorum c\n"), 4),
        (format!("{good}quorum a\nquorum a\n"), 5),
        (format!("{good}quorum none\nquorum none\n"), 5),
        (format!("{good}witness a {x1}\nquorum a\n"), 4),
        (format!("{good}witness c {x1_again}\nquorum a\n"), 4),
        (format!("{good}log {log}\nquorum a\n"), 4),
        (format!("log {x1}\nquorum none\n"), 1),
        (format!("witness a {log} x y\nquorum none\n"), 1),
        (format!("witness none {x1}\nquorum none\n"), 1),
        (format!("{good}group a any b\nquorum a\n"), 4),
        (format!("{good}group g 0 a b\nquorum g\n"), 4),
        (format!("{good}group g 3 a b\nquorum g\n"), 4),
        (format!("{good}group g 02 a b\nquorum g\n"), 4),
        (format!("{good}group g two a b\nquorum g\n"), 4),
        (format!("{good}group g any\nquorum none\n"), 4),
        (format!("{good}group g all a a\nquorum g\n"), 4),
        (format!("{good}group g any a\ngroup h any a\nquorum g\n"), 5),
        (format!("{good}group g any g\nquorum g\n"), 4),
        (format!("{good}group g any none\nquorum g\n"), 4),
        (format!("quorum a\nwitness a {x1}\n"), 1),
        (format!("{good}quorum\n"), 4),
        (format!("{good}quorum a b\n"), 4),
        (format!("{good}Quorum a\n"), 4),
        (format!("{good}quorum a\r\n"), 4),
        (format!("{good}quorum\u{a0}a\n"), 4),
        (format!("{good}# \u{7}\nquorum a\n"), 4),
    ];
    for (text, line) in table {
        let error = text.parse::<Policy>().unwrap_err().to_string();
        let expected = format!("line {line} of the policy: ");
        assert!(error.starts_with(&expected), "{text}\n{error}");
    }
}

#[test]
fn c2sp_a_witness_of_an_unknown_type_counts_as_absent() {
    let (log, x1) = (
        log_key(1, ORIGIN).to_vkey(),
        witness_key(11, "w/X1").to_vkey(),
    );
    // A log's key where a witness's belongs: type 0x01, which cosigns nothing.
    let other = log_key(12, "w/X2").to_vkey();
    let witnesses = format!("log {log}\nwitness a {x1}\nwitness b {other}\n");
    let note = signed(1, &[(11, "w/X1")]);
    for (group, is_good) in [("any", true), ("all", false)] {
        let policy = format!("{witnesses}group g {group} a b\nquorum g\n");
        let policy: Policy = policy.parse().unwrap();
        assert_eq!(policy.check(&note, verifies).is_ok(), is_good, "{group}");
    }
}

fn proof() -> (TlogProof, Vec<Hash>) {
    let leaves: Vec<Hash> = (0..3_u8).map(|n| Hash::of_leaf(&[n])).collect();
    let checkpoint = Checkpoint {
        size: 3,
        root: root_of(&leaves),
        ..checkpoint()
    };
    let secret = secret(1);
    let public = secret.verifying_key().to_bytes();
    let proof = TlogProof {
        extra: Some(vec![1]),
        index: 1,
        path: vec![leaves[0], leaves[2]],
        checkpoint: checkpoint
            .sign(public, |message| secret.sign(message).to_bytes())
            .unwrap(),
    };
    (proof, leaves)
}

#[test]
fn c2sp_a_proof_file_has_these_lines() {
    let (proof, leaves) = proof();
    let text = proof.to_text();
    let lines: Vec<&str> = text.split('\n').collect();
    // `printf '\0\0' | openssl dgst -sha256 -binary | base64`, and the same of 00 02.
    assert_eq!(
        lines[..6],
        [
            "c2sp.org/tlog-proof@v1",
            "extra AQ==",
            "index 1",
            "lqKW0iTyhcZ77pPDD4owkVfw2qNdxbh+QQt4YwoJz8c=",
            "/PCmxwDdE+J0tvuo3uqN2bJuTu3eNJVxfKyECMnFF38=",
            "",
        ]
    );
    assert_eq!(lines[6], ORIGIN);
    assert_eq!(TlogProof::from_text(&text), Ok(proof.clone()));

    let policy = Policy::of_log(log_key(1, ORIGIN));
    let trusted = policy.check(&proof.checkpoint, verifies).unwrap();
    let leaf = Hash::of_leaf(proof.extra.as_deref().unwrap());
    assert_eq!(proof.verify(leaf, &trusted.checkpoint), Ok(()));
    assert!(proof.verify(leaves[0], &trusted.checkpoint).is_err());

    let bare = TlogProof {
        extra: None,
        path: Vec::new(),
        ..proof
    };
    assert_eq!(TlogProof::from_text(&bare.to_text()), Ok(bare));
}

#[test]
fn c2sp_other_spellings_are_no_proof_file() {
    let (proof, _) = proof();
    let text = proof.to_text();
    let long = format!("{}\n", "A".repeat(43) + "=").repeat(64);
    let table = [
        (text.replace("@v1", "@v2"), TlogProofError::FirstLine),
        (text.replace("AQ==", "AQ"), TlogProofError::Extra),
        (text.replace("AQ==", "AR=="), TlogProofError::Extra),
        (text.replace("index 1", "index 01"), TlogProofError::Index),
        (text.replace("index 1", "index -1"), TlogProofError::Index),
        (text.replace("index 1\n", ""), TlogProofError::Index),
        (
            text.replace("extra AQ==\n", "extra AQ==\nextra AQ==\n"),
            TlogProofError::Index,
        ),
        (text.replace("lqKW", "lqK"), TlogProofError::Hash),
        (text.replace("\n\n", "\n"), TlogProofError::NoCheckpoint),
        (
            text.replace("index 1\n", &format!("index 1\n{long}")),
            TlogProofError::TooLong,
        ),
        (text.replace('\n', "\r\n"), TlogProofError::NoCheckpoint),
        (String::new(), TlogProofError::NoCheckpoint),
    ];
    for (text, error) in table {
        assert_eq!(TlogProof::from_text(&text), Err(error), "{text}");
    }
}

proptest! {
    #[test]
    fn a_proof_file_is_read_back(
        extra in prop::option::of(prop::collection::vec(any::<u8>(), 0..100)),
        index in 0..(1_u64 << 53),
        path in prop::collection::vec(any::<[u8; 32]>().prop_map(Hash::from_bytes), 0..63),
    ) {
        let proof = TlogProof { extra, index, path, ..proof().0 };
        prop_assert_eq!(TlogProof::from_text(&proof.to_text()), Ok(proof));
    }

    #[test]
    fn no_text_makes_a_reader_panic(text in "(\\PC|\n|extra |index |log |witness |group |quorum ){0,40}") {
        let headed = format!("c2sp.org/tlog-proof@v1\n{text}");
        for text in [&text, &headed] {
            let _ = text.parse::<Policy>();
            if let Ok(proof) = TlogProof::from_text(text) {
                prop_assert_eq!(&proof.to_text(), text);
            }
        }
    }
}
