//! Compact receipts, checked by code that shares nothing with ours: PyPI `scitt-cose`. It takes and
//! refuses what we take and refuse.

#![expect(
    clippy::unwrap_used,
    reason = "a harness stops the test at once where something is missing"
)]

use std::convert::Infallible;
use std::fs;
use tempfile::TempDir;
use x811_audit::checkpoint_note::verifies;
use x811_eventlog::{CoseReceipt, CoseStatement, Hash, InclusionProof, Node, root_of};
use x811_protocol::key::SecretKey;
use x811_tests::verifiers::{Job, Verdict, Verifier};

const ISSUER: &str = "did:x811:019b76da-a800-7000-8000-0000000000d1";

fn log() -> SecretKey {
    SecretKey::from_seed([7; 32])
}

fn issuer() -> SecretKey {
    SecretKey::from_seed([8; 32])
}

fn leaf(position: u64) -> Vec<u8> {
    format!(r#"{{"event":{{"type":"any"}},"position":{position}}}"#).into_bytes()
}

/// The record at `position` of a log of `size`.
fn statement(position: u64, size: u64) -> CoseStatement {
    let leaves: Vec<Hash> = (0..size).map(|n| Hash::of_leaf(&leaf(n))).collect();
    let node = |node: Node| {
        let from = (node.index() << node.level()) as usize;
        Ok::<_, Infallible>(root_of(&leaves[from..from + (1 << node.level())]))
    };
    let Ok(proof) = InclusionProof::build(position, size, node);
    let (origin, public_key) = ("ledger.example/log", *log().public().as_bytes());
    let signed = CoseReceipt::signed_bytes(origin, public_key, root_of(&leaves));
    let mut statement = CoseStatement {
        issuer: ISSUER.to_owned(),
        subject: "019b76da-a800-7000-8000-000000000811".to_owned(),
        public_key: *issuer().public().as_bytes(),
        leaf: leaf(position),
        receipt: CoseReceipt {
            origin: origin.to_owned(),
            public_key,
            proof: proof.unwrap(),
            signature: *log().sign(&signed).as_bytes(),
        },
        keys: None,
        signature: [0; 64],
    };
    statement.signature = *issuer().sign(&statement.signed_bytes()).as_bytes();
    statement
}

/// Whether we take it, of this log and by this issuer.
fn we_take(bytes: &[u8]) -> bool {
    let Ok(statement) = CoseStatement::from_bytes(bytes) else {
        return false;
    };
    let receipt = &statement.receipt;
    statement.public_key == *issuer().public().as_bytes()
        && receipt.public_key == *log().public().as_bytes()
        && statement.verify(&verifies).is_ok()
        && receipt
            .verify(Hash::of_leaf(&statement.leaf), &verifies)
            .is_ok()
}

/// The verdicts of scitt-cose on files of these bytes.
fn judged(files: &[Vec<u8>]) -> Vec<Verdict> {
    let folder = TempDir::new().unwrap();
    let [log, issuer] = [log(), issuer()].map(|key| hex::encode(key.public().as_bytes()));
    let job = |(number, bytes): (usize, &Vec<u8>)| {
        let file = folder.path().join(number.to_string());
        fs::write(&file, bytes).unwrap();
        Job::statement(&file, &log, &issuer)
    };
    let jobs: Vec<Job> = files.iter().enumerate().map(job).collect();
    Verifier::ScittCose.judge_all(&jobs)
}

#[test]
fn rfc_9942_scitt_cose_takes_receipts_of_every_shape() {
    let places: Vec<(u64, u64)> = [1, 2, 3, 7, 8, 9, 47, 300]
        .into_iter()
        .flat_map(|size| {
            (0..size)
                .step_by(1 + size as usize / 9)
                .map(move |n| (n, size))
        })
        .collect();
    let files: Vec<Vec<u8>> = places
        .iter()
        .map(|(position, size)| statement(*position, *size).to_bytes())
        .collect();
    for ((position, size), verdict) in places.iter().zip(judged(&files)) {
        let expected = format!("record {position} of {size}, by {ISSUER}");
        assert_eq!(verdict, Ok(expected));
    }
    assert!(files.iter().all(|file| we_take(file)));
}

/// What both take are other sizes of the tree with a way of the same turns: no signature covers it.
#[test]
fn rfc_9942_scitt_cose_and_we_agree_on_every_flipped_bit() {
    let good = statement(11, 47).to_bytes();
    let mut files = Vec::new();
    for at in 0..good.len() {
        for bit in 0..8 {
            let mut bad = good.clone();
            bad[at] ^= 1 << bit;
            files.push(bad);
        }
    }
    let mut taken = 0;
    for ((number, file), verdict) in files.iter().enumerate().zip(judged(&files)) {
        let (at, bit) = (number / 8, number % 8);
        assert_eq!(
            verdict.is_ok(),
            we_take(file),
            "byte {at}, bit {bit}: {verdict:?}"
        );
        taken += usize::from(verdict.is_ok());
    }
    assert_eq!(taken, 5);
}

#[test]
fn rfc_9942_scitt_cose_refuses_other_leaves_keys_and_spellings() {
    let good = statement(11, 47);
    let mut moved = good.clone();
    moved.receipt.proof.position = 10;
    let mut swapped = good.clone();
    swapped.receipt.proof.path.swap(0, 1);
    let mut shorter = good.clone();
    shorter.receipt.proof.path.pop();
    let mut other_leaf = statement(12, 47);
    other_leaf.receipt = good.receipt.clone();
    let mut by_the_log = good.clone();
    by_the_log.signature = *log().sign(&good.signed_bytes()).as_bytes();
    let mut files: Vec<Vec<u8>> = [moved, swapped, shorter, other_leaf, by_the_log]
        .iter()
        .map(CoseStatement::to_bytes)
        .collect();
    let encoded = good.to_bytes();
    files.push([&encoded[..], &[0]].concat());
    files.push([&[0xd2, 0x9f][..], &encoded[2..], &[0xff]].concat());
    files.push([&[0xd8, 0x12][..], &encoded[1..]].concat());
    files.extend(
        (0..encoded.len())
            .step_by(37)
            .map(|end| encoded[..end].to_vec()),
    );
    for (file, verdict) in files.iter().zip(judged(&files)) {
        assert!(verdict.is_err(), "{verdict:?}");
        assert!(!we_take(file));
    }
}
