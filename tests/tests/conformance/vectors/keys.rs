//! The keys of the corpus, and the policies that trust them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use x811_audit::checkpoint_note::verifies;
use x811_eventlog::Policy;
use x811_eventlog::note::{CosignerKey, NoteKey};
use x811_eventlog::policy::{Distrust, Trusted};
use x811_protocol::key::SecretKey;

use super::generate::Files;
use super::strict;

pub(crate) const ORIGIN: &str = "ledger.example/log";
pub(crate) const WITNESS: &str = "witness.example";

/// The log's, whose seed is 32 bytes of 1.
pub(crate) fn log() -> SecretKey {
    SecretKey::from_seed([1; 32])
}

/// Of somebody who is not the log.
pub(crate) fn other() -> SecretKey {
    SecretKey::from_seed([2; 32])
}

/// The witness's.
pub(crate) fn witness() -> SecretKey {
    SecretKey::from_seed([3; 32])
}

/// Under which the ledger of bundles and receipts signs.
const LEDGER_ORIGIN: &str = "ledger.example/x811";

/// Its checkpoint key.
pub(crate) fn checkpoint_key() -> SecretKey {
    of_seed("c15c0289ec2d0a9167ec8e65a18debbe5e5532fbeea293f80bc942ee9086c171")
}

/// The checkpoint key that it replaces that one by, in some of them.
fn next_checkpoint_key() -> SecretKey {
    SecretKey::from_seed([92; 32])
}

/// Its receipt key.
pub(crate) fn receipt_key() -> SecretKey {
    of_seed("ce56971cde355897421efc0b1046c8bf2f537eddbfbc7b9864f6e7ff7a82f2c3")
}

/// The one by which the receipts are signed that the policy of this name is for.
pub(crate) fn issuer_under(policy: &str) -> SecretKey {
    match policy {
        "ledger-replaced" => SecretKey::from_seed([93; 32]),
        _ => receipt_key(),
    }
}

fn of_seed(digits: &str) -> SecretKey {
    SecretKey::from_seed(hex::decode(digits).unwrap().try_into().unwrap())
}

/// How `key` signs notes as `name`.
pub(crate) fn named(name: &str, key: &SecretKey) -> NoteKey {
    NoteKey::new(name, *key.public().as_bytes()).unwrap()
}

pub(crate) fn cosigner() -> CosignerKey {
    CosignerKey::new(WITNESS, *witness().public().as_bytes()).unwrap()
}

/// A signature line.
pub(crate) fn line(name: &str, key_id: [u8; 4], signature: &[u8]) -> String {
    let bytes = [&key_id[..], signature].concat();
    format!("\u{2014} {name} {}\n", STANDARD.encode(bytes))
}

/// The line by which `key` signs `text` as the log.
pub(crate) fn signed(text: &str, key: &SecretKey) -> String {
    let signature = key.sign(text.as_bytes());
    line(ORIGIN, named(ORIGIN, key).id(), signature.as_bytes())
}

/// Which logs and witnesses a case trusts.
pub(crate) fn policies() -> Files {
    let log = named(ORIGIN, &log()).to_vkey();
    let cosigner = cosigner().to_vkey();
    let ledger = named(LEDGER_ORIGIN, &checkpoint_key()).to_vkey();
    let replaced = named(LEDGER_ORIGIN, &next_checkpoint_key()).to_vkey();
    let weak = |key| NoteKey::new(ORIGIN, key).unwrap().to_vkey();
    let policies = [
        ("log", format!("log {log}\nquorum none\n")),
        (
            "witness",
            format!("log {log}\nwitness w {cosigner}\nquorum w\n"),
        ),
        ("ledger", format!("log {ledger}\nquorum none\n")),
        ("ledger-replaced", format!("log {replaced}\nquorum none\n")),
        (
            "small-order-key",
            format!("log {}\nquorum none\n", weak(strict::IDENTITY)),
        ),
        (
            "non-canonical-key",
            format!("log {}\nquorum none\n", weak(strict::IDENTITY_NOT_REDUCED)),
        ),
    ];
    let named = policies.map(|(name, text)| (format!("policy/{name}"), text.into_bytes()));
    named.into_iter().collect()
}

/// The keys of a policy of the corpus: the log's, and those of its witnesses.
pub(crate) fn vkeys(policy: &str) -> (String, Vec<String>) {
    let lines = policy.lines().map(|line| line.split(' ').collect());
    let lines: Vec<Vec<&str>> = lines.collect();
    let of = |kind| lines.iter().filter(move |line| line[0] == kind);
    let last = |line: &Vec<&str>| (*line.last().unwrap()).to_owned();
    (
        of("log").map(last).next().unwrap(),
        of("witness").map(last).collect(),
    )
}

/// What we say of a checkpoint: it, or the cause in one word.
pub(crate) fn check(note: &[u8], policy: &str) -> Result<Trusted, String> {
    let note = std::str::from_utf8(note).map_err(|_| "utf-8".to_owned())?;
    let policy: Policy = policy.parse().unwrap();
    policy.check(note, verifies).map_err(|why| cause(&why))
}

fn cause(why: &Distrust) -> String {
    match why {
        Distrust::Checkpoint(x811_eventlog::CheckpointError::Note(why)) => word(why),
        Distrust::Checkpoint(why) => word(why),
        Distrust::Forged { .. } => "cosignature".to_owned(),
        Distrust::NoQuorum { .. } => word(why),
    }
}

/// The name of an error's variant, as tables have it: `NotSigned` is `not-signed`.
pub(crate) fn word(error: &impl std::fmt::Debug) -> String {
    let name = format!("{error:?}");
    let name = name.split([' ', '(']).next().unwrap();
    let mut word = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !word.is_empty() {
            word.push('-');
        }
        word.extend(letter.to_lowercase());
    }
    word
}
