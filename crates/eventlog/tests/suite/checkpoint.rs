//! Checkpoints and signed notes against what others published, and against every small change.

#![expect(clippy::unwrap_used, reason = "test helpers outside #[test] functions")]

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use proptest::prelude::*;
use x811_eventlog::note::{MAX_SIGNATURES, Note, NoteError, NoteKey};
use x811_eventlog::{Checkpoint, CheckpointError, Hash};

/// Key, text and note of the documentation of Go's golang.org/x/mod/sumdb/note.
const GO_SKEY: &str = "AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz";
const GO_VKEY: &str = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
const GO_TEXT: &str = "If you think cryptography is the answer to your problem,\n\
    then you don't know what your problem is.\n";
const GO_LINE: &str = "\u{2014} PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";

/// The verifier key of Go's checksum database, as the go command has it built in.
const SUM_VKEY: &str = "sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8";

/// The example of C2SP tlog-checkpoint; its key was not published.
const C2SP_CHECKPOINT: &str = "example.com/behind-the-sofa\n20852163\n\
    CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n\
    \u{2014} example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n";

/// The example of C2SP signed-note: a text with an empty line in it.
const C2SP_NOTE: &str = "Ognuno sta solo sul cuor della terra\ntrafitto da un raggio di sole:\n\n\
    ed \u{e8} subito sera.\n\n\
    \u{2014} quasimodo.example/salvatore NnugSzTjtVAewIS+Z/iJhUPeFDkO/5QQ2i5ddnGITLlC+EhfLW9oJKONrMouFSQU0xMcXxj99ihAQwaqP3ZekRwNtIc=\n";

fn key_of(vkey: &str) -> NoteKey {
    let (name, rest) = vkey.split_once('+').unwrap();
    let typed = STANDARD.decode(rest.split_once('+').unwrap().1).unwrap();
    NoteKey::new(name, typed[1..].try_into().unwrap()).unwrap()
}

fn signing_key(seed: [u8; 32]) -> SigningKey {
    SigningKey::from_bytes(&seed)
}

fn verifies(key: &VerifyingKey) -> impl Fn(&[u8], &[u8; 64]) -> bool + use<> {
    let key = *key;
    move |message, signature| {
        key.verify_strict(message, &Signature::from_bytes(signature))
            .is_ok()
    }
}

fn sign(checkpoint: &Checkpoint, key: &SigningKey) -> String {
    let public = key.verifying_key().to_bytes();
    let signed = checkpoint.sign(public, |message| key.sign(message).to_bytes());
    signed.unwrap()
}

fn open(note: &str, origin: &str, key: &SigningKey) -> Result<Checkpoint, CheckpointError> {
    let public = key.verifying_key();
    Checkpoint::open(note, origin, public.to_bytes(), verifies(&public))
}

#[test]
fn c2sp_key_ids_and_verifier_keys_are_those_others_published() {
    for vkey in [GO_VKEY, SUM_VKEY] {
        assert_eq!(key_of(vkey).to_vkey(), vkey);
    }
}

#[test]
fn c2sp_the_reference_note_is_signed_and_verified_byte_for_byte() {
    let seed = STANDARD.decode(GO_SKEY).unwrap();
    let secret = signing_key(seed[1..].try_into().unwrap());
    let key = key_of(GO_VKEY);
    let note = Note::sign(GO_TEXT, &key, |message| secret.sign(message).to_bytes()).unwrap();
    let expected = format!("{GO_TEXT}\n{GO_LINE}");
    assert_eq!(note.encode(), expected);
    let verify = verifies(&secret.verifying_key());
    let read = Note::parse(&expected).unwrap();
    assert_eq!(read.verify(&key, verify), Ok(GO_TEXT));
}

#[test]
fn c2sp_the_specifications_examples_are_read() {
    let note = Note::parse(C2SP_NOTE).unwrap();
    assert_eq!(note.encode(), C2SP_NOTE);
    let note = Note::parse(C2SP_CHECKPOINT).unwrap();
    assert_eq!(note.encode(), C2SP_CHECKPOINT);
    let (text, _) = C2SP_CHECKPOINT.split_once("\n\n").unwrap();
    let checkpoint = Checkpoint::from_text(&format!("{text}\n")).unwrap();
    assert_eq!(checkpoint.origin, "example.com/behind-the-sofa");
    assert_eq!(checkpoint.size, 20_852_163);
    let root = "0ac5186a91863e8e1d90c808014aa89bf5da8e3ee1d9f07630f0378f68f1ab62";
    assert_eq!(checkpoint.root.to_string(), root);
    assert_eq!(checkpoint.to_text(), format!("{text}\n"));
}

#[test]
fn c2sp_lines_of_unknown_keys_are_ignored_and_false_ones_refuse_the_note() {
    let (ours, other) = (signing_key([1; 32]), signing_key([2; 32]));
    let checkpoint = Checkpoint {
        origin: "ledger.example/x811".to_owned(),
        size: 0,
        root: Hash::of_nothing(),
    };
    let signed = sign(&checkpoint, &ours);
    let by_other = sign(&checkpoint, &other);
    let other_line = by_other.split_once("\n\n").unwrap().1;
    // Same name, other key id; a type nobody here knows; then the known one.
    let witness = "\u{2014} witness.example AAAABAAAAAA=\n";
    let many = format!("{signed}{other_line}{witness}");
    assert_eq!(
        open(&many, &checkpoint.origin, &ours),
        Ok(checkpoint.clone())
    );
    assert_eq!(
        open(&many, &checkpoint.origin, &other),
        Ok(checkpoint.clone())
    );
    let stranger = open(&many, &checkpoint.origin, &signing_key([3; 32]));
    assert_eq!(stranger, Err(NoteError::NotSigned.into()));
    // A second line by a known key that does not verify refuses the note, whatever the first says.
    let of_other_text = Checkpoint {
        size: 1,
        ..checkpoint.clone()
    };
    let false_line = sign(&of_other_text, &ours);
    let forged = format!("{signed}{}", false_line.split_once("\n\n").unwrap().1);
    let forged = open(&forged, &checkpoint.origin, &ours);
    assert_eq!(forged, Err(NoteError::Forged.into()));
}

#[test]
fn c2sp_names_texts_and_lines_have_their_form() {
    for name in ["", "a b", "a+b", "a\u{2003}b", "a\nb", "\u{85}"] {
        assert_eq!(
            NoteKey::new(name, [0; 32]),
            Err(NoteError::Name),
            "{name:?}"
        );
    }
    let key = NoteKey::new("ledger.example", [0; 32]).unwrap();
    for text in ["", "no end", "tab\t\n", "return\r\n"] {
        let signed = Note::sign(text, &key, |_| [0; 64]);
        assert_eq!(signed, Err(NoteError::Text), "{text:?}");
    }
    let (text, line) = (GO_TEXT, GO_LINE);
    let too_many = format!("{text}\n{}", line.repeat(MAX_SIGNATURES + 1));
    for (note, error) in [
        (text.to_owned(), NoteError::NoSignatures),
        (format!("{text}\n"), NoteError::NoSignatures),
        (
            format!("{text}\n{}", line.trim_end()),
            NoteError::NoSignatures,
        ),
        (format!("{text}\n-{}", &line[3..]), NoteError::SignatureLine),
        (
            format!("{text}\n{}", line.replace('=', "")),
            NoteError::SignatureLine,
        ),
        (
            format!("{text}\n\u{2014} name x08goA==\n"),
            NoteError::SignatureLine,
        ),
        (format!("{text}\n{line}junk\n"), NoteError::SignatureLine),
        (too_many, NoteError::TooManySignatures),
    ] {
        assert_eq!(Note::parse(&note), Err(error), "{note:?}");
    }
    let sixteen = format!("{text}\n{}", line.repeat(16));
    assert!(Note::parse(&sixteen).is_ok(), "the format asks for 16");
}

#[test]
fn c2sp_checkpoint_texts_have_their_form() {
    let root = STANDARD.encode([7; 32]);
    for (text, error) in [
        (format!("o\n1\n{root}"), CheckpointError::Lines),
        (format!("\n1\n{root}\n"), CheckpointError::Lines),
        ("o\n1\n".to_owned(), CheckpointError::Lines),
        (format!("o\n1\n{root}\nextension\n"), CheckpointError::Lines),
        (format!("o\n01\n{root}\n"), CheckpointError::Size),
        (format!("o\n+1\n{root}\n"), CheckpointError::Size),
        (format!("o\n-1\n{root}\n"), CheckpointError::Size),
        (format!("o\n\n{root}\n"), CheckpointError::Size),
        (
            format!("o\n9007199254740993\n{root}\n"),
            CheckpointError::Size,
        ),
        (format!("o\n1\n{}\n", &root[..43]), CheckpointError::Root),
        (
            format!("o\n1\n{}\n", STANDARD.encode([7; 31])),
            CheckpointError::Root,
        ),
    ] {
        assert_eq!(Checkpoint::from_text(&text), Err(error), "{text:?}");
    }
}

/// Any origin that can be signed under; sizes up to the last.
fn checkpoints() -> impl Strategy<Value = Checkpoint> {
    let origin = "[!-*,-~\u{e8}]{1,40}";
    let size = prop_oneof![0..=(1_u64 << 53), 0..300_u64];
    (origin, size, any::<[u8; 32]>()).prop_map(|(origin, size, root)| Checkpoint {
        origin,
        size,
        root: Hash::from_bytes(root),
    })
}

proptest! {
    #[test]
    fn c2sp_what_is_signed_is_read_again(checkpoint in checkpoints(), seed: [u8; 32]) {
        let key = signing_key(seed);
        let note = sign(&checkpoint, &key);
        prop_assert_eq!(open(&note, &checkpoint.origin, &key), Ok(checkpoint));
    }

    /// No changed byte passes; a changed signature line may be one of an unknown key, but then
    /// nothing is signed.
    #[test]
    fn c2sp_one_changed_byte_is_refused(
        checkpoint in checkpoints(),
        at: prop::sample::Index,
        to: u8,
    ) {
        let key = signing_key([9; 32]);
        let mut bytes = sign(&checkpoint, &key).into_bytes();
        let at = at.index(bytes.len());
        prop_assume!(bytes[at] != to);
        bytes[at] = to;
        if let Ok(note) = String::from_utf8(bytes) {
            prop_assert!(open(&note, &checkpoint.origin, &key).is_err());
        }
    }

    #[test]
    fn c2sp_reading_never_panics(text: String) {
        let _ = Note::parse(&text);
        let _ = Checkpoint::from_text(&text);
    }
}
