//! What a receipt proves to somebody who has nothing but the file, and a key that he trusts.

mod compact;
mod keys;
mod messages;
mod paid;
mod settled;
mod transfers;

pub use compact::verify_compact;
pub use paid::{Paid, PaidTransfer, Terms};

use super::{Receipt, ask};
use crate::checkpoint::verifies;
use crate::keyring::Keyring;
use messages::Messages;
use serde::Serialize;
use transfers::{Grounds, own_nonces, paid_transfers};
use x811_eventlog::note::NoteKey;
use x811_eventlog::{Checkpoint, Policy, Record, TlogProof};
use x811_protocol::event::{Confirmed, Event, LedgerOpened};
use x811_protocol::parameters::Parameters;
use x811_protocol::time::TimestampMs;

/// How far a claim of the receipt holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It follows from signatures and hashes in the file, and from the key that was trusted.
    Proven,
    /// The ledger says so, under its signature; without a key that was trusted, the file.
    Asserted,
    /// Nobody looked.
    NotChecked,
    /// It does not hold.
    Broken,
}

/// One claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Step {
    /// What it is about, in a word.
    pub about: &'static str,
    /// How far it holds.
    pub verdict: Verdict,
    /// In a sentence.
    pub sentence: String,
}

/// The outcome of a verification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Checked {
    /// Every claim, in the order it was looked at; a broken one is the last.
    pub steps: Vec<Step>,
    /// Whether the ledger's key came from outside: whose ledger it is follows from nothing in the
    /// file.
    pub trusted: bool,
    /// What was paid; absent when a claim is broken.
    pub paid: Option<Paid>,
}

/// Verifies a receipt offline. Without `trust` it is only found to hold together: whose ledger it is
/// stays open, and what rests on that is asserted, for anybody can open a ledger.
#[must_use]
pub fn verify(receipt: &Receipt, trust: Option<&Policy>) -> Checked {
    let mut steps = Steps::under(trust);
    let paid = check(receipt, trust, &mut steps);
    steps.checked(paid)
}

fn check(receipt: &Receipt, trust: Option<&Policy>, steps: &mut Steps) -> Result<Paid, Broken> {
    let opened = opened(receipt)?;
    let checkpoint = checkpoint(receipt, trust, &opened, steps)?;
    let (record, confirmed) = confirmed(receipt)?;
    let parameters = under_one_root(receipt, &record, &checkpoint)?;
    issuer(receipt, &opened, steps)?;
    let recorded_at_ms = TimestampMs::new(record.recorded_at_ms());
    let sentence = format!(
        "the confirmation is record {} of the log, of {}",
        record.position(),
        recorded_at_ms.to_rfc3339()
    );
    steps.by_the_log("record", sentence);
    let messages = Messages::read(receipt, opened.did, &confirmed, steps)?;
    let terms = messages.terms(receipt.interaction, steps)?;
    let grounds = Grounds {
        ledger: opened.did,
        interaction: receipt.interaction,
        messages: &messages,
        terms: &terms,
        parameters: &parameters,
    };
    let mut transfers = paid_transfers(grounds, &confirmed, steps)?;
    own_nonces(&mut transfers, grounds);
    if receipt.ask != ask(receipt.interaction) {
        let sentence = "the path to ask at is not that of this interaction";
        return Err(broken("reversal", sentence));
    }
    let paid = Paid::new(receipt.interaction, &record, &confirmed, transfers)
        .by(opened.did)
        .under_checkpoint(checkpoint.size)
        .under(terms);
    steps.left(&paid, &receipt.ask);
    Ok(paid)
}

/// The record `confirmed` and its inclusion proof alone, as a C2SP tlog-proof.
///
/// # Errors
/// What does not hold in the receipt.
pub fn tlog_proof(receipt: &Receipt) -> Result<TlogProof, Step> {
    let checked = check(receipt, None, &mut Steps::under(None));
    let proof = checked.and_then(|_| proof_of_confirmed(receipt));
    proof.map_err(|Broken { about, sentence }| Step {
        about,
        verdict: Verdict::Broken,
        sentence,
    })
}

fn proof_of_confirmed(receipt: &Receipt) -> Result<TlogProof, Broken> {
    let about = "record";
    let opened = opened(receipt)?;
    let checkpoint = checkpoint(receipt, None, &opened, &mut Steps::under(None))?;
    let (record, _) = confirmed(receipt)?;
    let leaves = receipt.leaves(&record);
    let leaves = leaves.map_err(|error| broken(about, error))?;
    let proof = receipt.multiproof(checkpoint.size);
    let proof = proof.inclusion(&leaves, record.position());
    Ok(TlogProof {
        extra: Some(record.bytes().to_vec()),
        index: record.position(),
        path: proof.map_err(|error| broken(about, error))?.path,
        checkpoint: receipt.checkpoint.clone(),
    })
}

fn opened(receipt: &Receipt) -> Result<LedgerOpened, Broken> {
    let about = "issuer";
    let record = receipt.ledger.record();
    let record = record.map_err(|error| broken(about, error))?;
    let Event::LedgerOpened(opened) = event(&record, about)? else {
        return Err(broken(about, "the record in `ledger` is no ledger_opened"));
    };
    in_force(receipt, opened)
}

/// The same ledger with the keys that are in force after all that were replaced.
fn in_force(receipt: &Receipt, mut opened: LedgerOpened) -> Result<LedgerOpened, Broken> {
    let about = "issuer";
    let positions = receipt.rotations.iter().map(|leaf| leaf.place.position);
    if !positions.is_sorted_by(|one, next| one < next) {
        return Err(broken(about, "the records in `rotations` are not in order"));
    }
    let mut keyring = Keyring::opened(opened.keys);
    for rotation in &receipt.rotations {
        let event = Event::from_value(&rotation.event);
        let event = event.map_err(|error| broken(about, error))?;
        let Event::LedgerKeyRotated(rotated) = event else {
            return Err(broken(about, "a record in `rotations` replaces no key"));
        };
        let position = rotation.place.position;
        let next = keyring.rotated(opened.did, &rotated, position);
        keyring = next.map_err(|why| broken(about, format!("a key was not replaced: {why}")))?;
    }
    opened.keys = *keyring.in_force();
    Ok(opened)
}

fn checkpoint(
    receipt: &Receipt,
    trust: Option<&Policy>,
    opened: &LedgerOpened,
    steps: &mut Steps,
) -> Result<Checkpoint, Broken> {
    let about = "checkpoint";
    let own = NoteKey::new(&*opened.origin, *opened.keys.checkpoint.as_bytes());
    let own = Policy::of_log(own.map_err(|error| broken(about, error))?);
    let note = &receipt.checkpoint;
    let trusted = trust.unwrap_or(&own).check(note, verifies);
    let trusted = trusted.map_err(|error| broken(about, error))?;
    let checkpoint = trusted.checkpoint;
    let size = checkpoint.size;
    if trust.is_none() {
        let sentence = format!(
            "signed over {size} records by the ledger that the file names; whether that is the \
             ledger you mean is yours to say: give its key with --key"
        );
        steps.add(about, Verdict::NotChecked, sentence);
        return Ok(checkpoint);
    }
    // The identity in the file has to be that of the key, whoever named the key.
    own.check(note, verifies)
        .map_err(|error| broken(about, error))?;
    let witnesses = trusted.cosignatures.len();
    let sentence = format!(
        "signed over {size} records by the key you trust, cosigned by {witnesses} {}",
        if witnesses == 1 {
            "witness"
        } else {
            "witnesses"
        }
    );
    steps.proven(about, sentence);
    Ok(checkpoint)
}

fn confirmed(receipt: &Receipt) -> Result<(Record, Confirmed), Broken> {
    let about = "record";
    let record = receipt.confirmed.record(receipt.stream());
    let record = record.map_err(|error| broken(about, error))?;
    let Event::Confirmed(confirmed) = event(&record, about)? else {
        return Err(broken(about, "the record is no confirmation"));
    };
    Ok((record, confirmed))
}

/// Whether its records are under the checkpoint; gives the parameters among them.
fn under_one_root(
    receipt: &Receipt,
    confirmed: &Record,
    checkpoint: &Checkpoint,
) -> Result<(u64, Parameters), Broken> {
    let about = "record";
    let leaves = receipt.leaves(confirmed);
    let leaves = leaves.map_err(|error| broken(about, error))?;
    let proof = receipt.multiproof(checkpoint.size);
    let included = proof.verify(&leaves, checkpoint.root);
    included.map_err(|error| broken(about, error))?;
    let about = "network";
    let parameters = Event::from_value(&receipt.parameters.event);
    let parameters = parameters.map_err(|error| broken(about, error))?;
    let Event::ParametersSet(parameters) = parameters else {
        let sentence = "the record in `parameters` is no parameters_set";
        return Err(broken(about, sentence));
    };
    Ok((receipt.parameters.place.position, parameters))
}

fn issuer(receipt: &Receipt, opened: &LedgerOpened, steps: &mut Steps) -> Result<(), Broken> {
    let about = "issuer";
    let signed = receipt.signed_bytes();
    if !opened.keys.receipt.verify(&signed, &receipt.signature) {
        let sentence = "the receipt is not signed by the ledger's receipt key";
        return Err(broken(about, sentence));
    }
    let sentence = format!(
        "signed by {}, the receipt key of {} as {}",
        opened.keys.receipt,
        opened.did,
        match receipt.rotations.last() {
            None => "position 0 has it".to_owned(),
            Some(last) => format!("position {} leaves it", last.place.position),
        }
    );
    steps.by_the_log(about, sentence);
    Ok(())
}

/// Why it ends.
struct Broken {
    about: &'static str,
    sentence: String,
}

fn broken(about: &'static str, sentence: impl ToString) -> Broken {
    let sentence = sentence.to_string();
    Broken { about, sentence }
}

/// The claims so far.
struct Steps {
    list: Vec<Step>,
    is_trusted: bool,
}

impl Steps {
    /// None yet.
    fn under(trust: Option<&Policy>) -> Steps {
        Steps {
            list: Vec::new(),
            is_trusted: trust.is_some(),
        }
    }

    fn add(&mut self, about: &'static str, verdict: Verdict, sentence: impl ToString) {
        let sentence = sentence.to_string();
        self.list.push(Step {
            about,
            verdict,
            sentence,
        });
    }

    fn proven(&mut self, about: &'static str, sentence: impl ToString) {
        self.add(about, Verdict::Proven, sentence);
    }

    /// What follows from the log that signed its root, and from who named that log.
    fn by_the_log(&mut self, about: &'static str, sentence: impl ToString) {
        if self.is_trusted {
            self.proven(about, sentence);
        } else {
            self.asserted(about, sentence);
        }
    }

    fn asserted(&mut self, about: &'static str, sentence: impl ToString) {
        self.add(about, Verdict::Asserted, sentence);
    }

    /// What no file can show.
    fn left(&mut self, paid: &Paid, ask: &str) {
        let sentence = match paid.provider_prev {
            None => "the first receipt of this provider on the ledger".to_owned(),
            Some(before) => format!(
                "receipt {} of this provider, counted from 0, after the one whose record hash is \
                 {before}: one left out shows",
                paid.provider_seq
            ),
        };
        self.asserted("sequence", sentence);
        let sentence = "the transfer itself, on its network: no --rpc was given";
        self.add("transfer", Verdict::NotChecked, sentence);
        let sentence = format!("whether a reorganisation took it back since: ask {ask}");
        self.add("reversal", Verdict::NotChecked, sentence);
    }

    fn checked(mut self, paid: Result<Paid, Broken>) -> Checked {
        let paid = paid.map_err(|Broken { about, sentence }| {
            self.add(about, Verdict::Broken, sentence);
        });
        Checked {
            steps: self.list,
            trusted: self.is_trusted,
            paid: paid.ok(),
        }
    }
}

fn event(record: &Record, about: &'static str) -> Result<Event, Broken> {
    Event::from_json(record.event_json()).map_err(|error| broken(about, error))
}
