//! COSE receipts and statements: their bytes, and what breaks them.

#![expect(clippy::unwrap_used, reason = "test helpers outside #[test] functions")]

use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use proptest::prelude::*;
use std::convert::Infallible;
use x811_eventlog::{
    CoseError, CoseReceipt, CoseStatement, Hash, InclusionError, InclusionProof, Node, root_of,
};

const ORIGIN: &str = "ledger.example/log";
const LEAF: &[u8] = br#"{"event":{"type":"any"}}"#;

/// The receipt of [`LEAF`] alone in its log, made with Python's cbor2, cryptography and hashlib from
/// the Ed25519 seed of 32 bytes 0x07. A tree of one leaf has an empty path, though the CDDL of RFC
/// 9942 says one hash or more.
const OF_ONE_LEAF: &str = "d2845840a40127045820ea4a6c63e29c520abef5507b132ec5f9954776aebebe7b92421e\
    ea691446d22c0fa101726c65646765722e6578616d706c652f6c6f6719018b01a119018ca120814483010080f658405b\
    087bfab685fcaaa38b4c78e2feb37f89ca4906b217ad9e7d8088cb3d5caf9704d1546cb83a2a282eafd50997860342f8\
    0a6ea924b759dfb60093c63122e403";

/// [`LEAF`] with that receipt, by the seed of 32 bytes 0x08; made in the same way.
const STATEMENT: &str = "d2845882a401270318320458201398f62c6d1a457c51ba6a4b5f3dbd2f69fca93216218dc89\
    97e416bd17d93ca0fa201782d6469643a783831313a30313962373664612d613830302d373030302d383030302d30303\
    03030303030303064310278243031396237\
    3664612d613830302d373030302d383030302d303030303030303030383131a119018a815893d2845840a40127045820\
    ea4a6c63e29c520abef5507b132ec5f9954776aebebe7b92421eea691446d22c0fa101726c65646765722e6578616d70\
    6c652f6c6f6719018b01a119018ca120814483010080f658405b087bfab685fcaaa38b4c78e2feb37f89ca4906b217ad\
    9e7d8088cb3d5caf9704d1546cb83a2a282eafd50997860342f80a6ea924b759dfb60093c63122e40358187b22657665\
    6e74223a7b2274797065223a22616e79227d7d5840e7fb0b9cd6353fac96908c280ee4569e421058fdca8a19e5a08000\
    e4fbee13bccad1d8a03382a8f8b2c32641339c6b0772a7eddab0d5ddc9cbfefeb6b7ac9605";

fn bytes(digits: &str) -> Vec<u8> {
    let nibble = |digit: u8| (digit as char).to_digit(16).unwrap() as u8;
    let digits = digits.as_bytes().chunks_exact(2);
    digits
        .map(|pair| nibble(pair[0]) << 4 | nibble(pair[1]))
        .collect()
}

fn verifies(public_key: &[u8; 32], message: &[u8], signature: &[u8; 64]) -> bool {
    let signature = Signature::from_bytes(signature);
    let key = VerifyingKey::from_bytes(public_key);
    key.is_ok_and(|key| key.verify_strict(message, &signature).is_ok())
}

fn key(seed: u8) -> SigningKey {
    SigningKey::from_bytes(&[seed; 32])
}

fn public(seed: u8) -> [u8; 32] {
    key(seed).verifying_key().to_bytes()
}

/// The receipt of the leaf at `position` of a log of `size`.
fn receipt(position: u64, size: u64) -> (CoseReceipt, Hash) {
    let leaf = |n: u64| {
        if n == position {
            LEAF.to_vec()
        } else {
            n.to_be_bytes().to_vec()
        }
    };
    let leaves: Vec<Hash> = (0..size).map(|n| Hash::of_leaf(&leaf(n))).collect();
    let node = |node: Node| {
        let from = (node.index() << node.level()) as usize;
        Ok::<_, Infallible>(root_of(&leaves[from..from + (1 << node.level())]))
    };
    let Ok(proof) = InclusionProof::build(position, size, node);
    let signed = CoseReceipt::signed_bytes(ORIGIN, public(7), root_of(&leaves));
    let receipt = CoseReceipt {
        origin: ORIGIN.to_owned(),
        public_key: public(7),
        proof: proof.unwrap(),
        signature: key(7).sign(&signed).to_bytes(),
    };
    (receipt, root_of(&leaves))
}

fn statement(position: u64, size: u64) -> CoseStatement {
    let mut statement = CoseStatement {
        issuer: "did:x811:019b76da-a800-7000-8000-0000000000d1".to_owned(),
        subject: "019b76da-a800-7000-8000-000000000811".to_owned(),
        public_key: public(8),
        leaf: LEAF.to_vec(),
        receipt: receipt(position, size).0,
        keys: None,
        signature: [0; 64],
    };
    statement.signature = key(8).sign(&statement.signed_bytes()).to_bytes();
    statement
}

#[test]
fn rfc_9942_a_tree_of_one_leaf_has_an_empty_path() {
    let (made, root) = receipt(0, 1);
    assert_eq!(made.to_bytes(), bytes(OF_ONE_LEAF));
    let read = CoseReceipt::from_bytes(&bytes(OF_ONE_LEAF)).unwrap();
    assert_eq!((&read, read.proof.path.len()), (&made, 0));
    assert_eq!(read.verify(Hash::of_leaf(LEAF), &verifies), Ok(root));
}

#[test]
fn rfc_9052_a_statement_is_the_bytes_that_others_make_of_it() {
    let made = statement(0, 1);
    assert_eq!(made.to_bytes(), bytes(STATEMENT));
    let read = CoseStatement::from_bytes(&bytes(STATEMENT)).unwrap();
    assert_eq!(read, made);
    assert_eq!(read.verify(&verifies), Ok(()));
}

/// The log's own statement beside the receipt: read back, and covered by no signature of the issuer.
#[test]
fn lc_8_a_statement_carries_the_keys_of_the_log() {
    let without = statement(0, 1);
    let mut with = without.clone();
    with.keys = Some(br#"{"keys":{}}"#.to_vec());
    let read = CoseStatement::from_bytes(&with.to_bytes()).unwrap();
    assert_eq!(read, with);
    assert_eq!(read.verify(&verifies), Ok(()));
    assert_eq!(with.signed_bytes(), without.signed_bytes());
    // {394: […], -81101: h'…'}: the shorter key first.
    let made = with.to_bytes();
    let place = |bytes: &[u8]| made.windows(bytes.len()).position(|found| found == bytes);
    let (receipts, keys) = (
        place(b"\xa2\x19\x01\x8a"),
        place(b"\x3a\x00\x01\x3c\xcc\x4b{"),
    );
    assert!(
        receipts.is_some() && receipts < keys,
        "{receipts:?} {keys:?}"
    );
    let mut other = made.clone();
    let at = keys.unwrap();
    other[at + 4] ^= 1;
    assert_eq!(CoseStatement::from_bytes(&other), Err(CoseError::Form));
}

#[test]
fn rfc_9942_a_receipt_of_every_place_holds_and_is_read_back() {
    for size in [1, 2, 3, 7, 8, 9, 47, 300] {
        for position in 0..size.min(50) {
            let (made, root) = receipt(position, size);
            let read = CoseReceipt::from_bytes(&made.to_bytes()).unwrap();
            assert_eq!(read, made);
            assert_eq!(read.verify(Hash::of_leaf(LEAF), &verifies), Ok(root));
            let other = Hash::of_leaf(b"another");
            assert_eq!(read.verify(other, &verifies), Err(CoseError::Signature));
        }
    }
}

#[test]
fn rfc_9942_its_size_at_a_million_leaves() {
    let (mut receipt, _) = receipt(0, 1);
    let (size, position) = (1 << 20, (1 << 20) - 1);
    receipt.proof = InclusionProof {
        position,
        size,
        path: vec![Hash::ZERO; 20],
    };
    // An origin as a real ledger has it.
    receipt.origin = "x811/01a1ff8b-f401-7afd-bc3f-d90b9ecc5e94".to_owned();
    assert_eq!(receipt.to_bytes().len(), 861);
    let read = CoseReceipt::from_bytes(&receipt.to_bytes());
    assert_eq!(read, Ok(receipt.clone()));
    receipt.proof.path.pop();
    let refused = receipt.verify(Hash::of_leaf(LEAF), &verifies);
    let short = InclusionError::Length {
        position,
        size,
        found: 19,
    };
    assert_eq!(refused, Err(CoseError::Inclusion(short)));
}

/// The bits of a statement that change nothing: some of the tree's size, which no signature covers.
#[test]
fn no_bit_of_a_statement_changes_what_it_says() {
    let good = statement(11, 47);
    let encoded = good.to_bytes();
    let mut sizes = Vec::new();
    for at in 0..encoded.len() {
        for bit in 0..8 {
            let mut bad = encoded.clone();
            bad[at] ^= 1 << bit;
            let Ok(read) = CoseStatement::from_bytes(&bad) else {
                continue;
            };
            let holds = read.verify(&verifies).is_ok();
            let included = read.receipt.verify(Hash::of_leaf(&read.leaf), &verifies);
            if holds && included.is_ok() {
                sizes.push(read.receipt.proof.size);
                let mut same = read;
                same.receipt.proof.size = 47;
                assert_eq!(same, good, "byte {at}, bit {bit}");
            }
        }
    }
    // Trees of these sizes have a way of the same turns from position 11 to the root.
    sizes.sort_unstable();
    assert_eq!(sizes, [39, 43, 45, 46, 63]);
}

#[test]
fn rfc_8949_other_spellings_are_refused() {
    let good = statement(3, 9).to_bytes();
    assert_eq!(
        CoseStatement::from_bytes(&[&good[..], &[0]].concat()),
        Err(CoseError::NotSign1)
    );
    assert_eq!(
        CoseStatement::from_bytes(&good[1..]),
        Err(CoseError::NotSign1)
    );
    for end in 0..good.len() {
        assert!(CoseStatement::from_bytes(&good[..end]).is_err(), "{end}");
    }
    let change = |at: usize, remove: usize, put: &[u8]| {
        let mut bad = good.clone();
        bad.splice(at..at + remove, put.iter().copied());
        CoseStatement::from_bytes(&bad)
    };
    // An array of indefinite length, ended; a tag in two bytes; a length in two bytes.
    let ended = [&[0xd2, 0x9f][..], &good[2..], &[0xff]].concat();
    assert_eq!(CoseStatement::from_bytes(&ended), Err(CoseError::Form));
    assert_eq!(change(0, 1, &[0xd8, 0x12]), Err(CoseError::Form));
    assert_eq!(change(2, 2, &[0x59, 0x00, good[3]]), Err(CoseError::Form));
    let large = vec![0xd2; 100_000];
    let too_large = CoseError::TooLarge { bytes: 100_000 };
    assert_eq!(CoseStatement::from_bytes(&large), Err(too_large));
    let nested = [&[0xd2][..], &[0x81; 60_000]].concat();
    assert_eq!(CoseStatement::from_bytes(&nested), Err(CoseError::NotSign1));
}

proptest! {
    #[test]
    fn no_bytes_make_a_reader_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        at in 0_usize..500,
        put in prop::collection::vec(any::<u8>(), 0..6),
    ) {
        let _ = CoseStatement::from_bytes(&bytes);
        let _ = CoseReceipt::from_bytes(&bytes);
        let mut near = statement(3, 9).to_bytes();
        let at = at % near.len();
        let end = (at + put.len()).min(near.len());
        near.splice(at..end, put);
        if let Ok(read) = CoseStatement::from_bytes(&near) {
            prop_assert_eq!(read.to_bytes(), near);
        }
    }
}
