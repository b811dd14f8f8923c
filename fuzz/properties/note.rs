//! What holds for every signed note and checkpoint that is read (C2SP signed-note, tlog-checkpoint,
//! tlog-cosignature).

use x811_eventlog::note::{CosignerKey, Note, NoteKey};
use x811_eventlog::{Checkpoint, Hash};
use x811_protocol::key::{PublicKey, SecretKey};
use x811_protocol::signature::Signature;

const ORIGIN: &str = "ledger.example/x811";

/// Fails when one of the properties does not hold for `bytes`.
pub fn holds(bytes: &[u8]) {
    if let Ok(text) = str::from_utf8(bytes) {
        check(text);
        check_key(text);
    }
    check_own(bytes);
}

fn check(text: &str) {
    let Ok(note) = Note::parse(text) else {
        assert!(Checkpoint::claimed(text).is_err(), "no note, no checkpoint");
        return;
    };
    assert_eq!(note.encode(), text, "a note has one form");
    let key = SecretKey::from_seed([1; 32]).public();
    let opened = Checkpoint::open(text, ORIGIN, *key.as_bytes(), verifier(key));
    match (Checkpoint::claimed(text), opened) {
        (Ok(claimed), opened) => {
            assert!(text.starts_with(&claimed.to_text()), "and so has its text");
            assert!(opened.is_err() || opened == Ok(claimed));
        }
        (Err(_), opened) => assert!(opened.is_err(), "what nobody can claim nobody opens"),
    }
}

/// Keys of verifiers, which are written in one line.
fn check_key(line: &str) {
    if let Ok(key) = NoteKey::from_vkey(line) {
        assert_eq!(key.to_vkey(), line);
    }
    if let Ok(key) = CosignerKey::from_vkey(line) {
        assert_eq!(key.to_vkey(), line);
    }
}

/// What our own side signs is opened, and not once a byte of it has changed.
fn check_own(bytes: &[u8]) {
    let [log, witness] = [[1; 32], [2; 32]].map(SecretKey::from_seed);
    let mut root = [0; 32];
    for (at, byte) in bytes.iter().enumerate() {
        root[at % 32] ^= byte;
    }
    let checkpoint = Checkpoint {
        origin: ORIGIN.to_owned(),
        size: u64::from(root[0]) << (root[1] % 46),
        root: Hash::from_bytes(root),
    };
    let public = log.public();
    let sign = |message: &[u8]| *log.sign(message).as_bytes();
    let signed = checkpoint.sign(*public.as_bytes(), sign);
    let signed = signed.expect("the origin can be a key's name");
    let open = |note: &str| Checkpoint::open(note, ORIGIN, *public.as_bytes(), verifier(public));
    assert_eq!(open(&signed), Ok(checkpoint));

    let mut note = Note::parse(&signed).expect("our own form is read");
    let cosigner = CosignerKey::new("witness.example", *witness.public().as_bytes());
    let cosigner = cosigner.expect("it can be a key's name");
    let cosign = |message: &[u8]| *witness.sign(message).as_bytes();
    let timestamp_s = u64::from(root[2]) << 20;
    let cosigned = note.cosign(&cosigner, timestamp_s, cosign);
    cosigned.expect("there is room for a line");
    let seen_at_s = note.cosigned_at_s(&cosigner, verifier(witness.public()));
    assert_eq!(seen_at_s, Ok(timestamp_s));

    let mut changed = signed.into_bytes();
    let at = usize::from(root[3]) % changed.len();
    changed[at] ^= 1 << (root[4] % 7);
    if let Ok(changed) = String::from_utf8(changed) {
        assert!(open(&changed).is_err(), "{changed:?}");
    }
}

fn verifier(key: PublicKey) -> impl Fn(&[u8], &[u8; 64]) -> bool {
    move |message, signature| key.verify(message, &Signature::from_bytes(*signature))
}
