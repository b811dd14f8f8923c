//! What a receipt proves to somebody who has nothing but the file, and a key that he trusts.

mod agent_keys;
mod compact;
mod derived;
mod keys;
mod messages;
mod paid;
mod places;
mod settled;
mod times;
mod transfers;

pub use compact::{verify_compact, verify_compact_trusting};
pub use paid::{PaidPayment, PaidTransfer, Terms};

use super::{Receipt, ask};
use crate::audit::KnownAgentKeys;
use crate::refresh::Refresh;
use crate::standing::Standing;
use messages::Messages;
use serde::Serialize;
use transfers::{Grounds, own_nonces, paid_transfers};
use x811_eventlog::{Checkpoint, Policy, Record, TlogProof};
use x811_protocol::event::{Confirmed, Event, LedgerEvent, SettlementEvent};
use x811_protocol::parameters::Parameters;
use x811_protocol::time::TimestampMs;

/// How far a claim of the receipt holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimVerdict {
    /// It follows from signatures and hashes in the file, and from the key that was trusted.
    Proven,
    /// The ledger says so, under its signature; without a key that was trusted, the file.
    Asserted,
    /// Nobody looked: what it takes was not given, or is in no file.
    NotChecked,
    /// It does not hold.
    Broken,
}

/// One claim that a receipt makes, and how far it holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Step {
    /// What it is about, in a word.
    pub about: &'static str,
    /// How far it holds.
    pub verdict: ClaimVerdict,
    /// In a sentence.
    pub sentence: String,
}

/// The outcome of a verification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Checked {
    /// Every claim, in the order it was looked at; a broken one is the last.
    pub steps: Vec<Step>,
    /// Whether the ledger's key came from outside, and holds the checkpoint for good: whose ledger
    /// it is follows from nothing in the file.
    pub trusted: bool,
    /// What became of the payment, by the checkpoint key; absent where the file does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standing: Option<AsOf>,
    /// What was paid; absent when a claim is broken.
    pub paid: Option<PaidPayment>,
}

/// What became of a payment, and as of when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct AsOf {
    /// What became of the payment by then.
    pub standing: Standing,
    /// The last record that this takes into account: the last under the checkpoint.
    pub record: u64,
    /// A moment that this record is not older than, by the ledger's clock: when the payment was
    /// confirmed.
    pub not_before_ms: TimestampMs,
}

/// What a verifier has from other sources than the receipt.
#[derive(Debug, Clone, Copy, Default)]
pub struct Trusted<'a> {
    /// The log and the witnesses that are trusted.
    pub policy: Option<&'a Policy>,
    /// A later statement of the ledger about the receipt's checkpoint, where the trusted key is one that
    /// replaced the key of the checkpoint.
    pub refresh: Option<&'a Refresh>,
    /// Keys of agents.
    pub agent_keys: Option<&'a KnownAgentKeys>,
}

/// Verifies a receipt offline. Without `trust` it is only found to hold together: whose ledger it is
/// stays open, and what rests on that is asserted, for anybody can open a ledger.
#[must_use]
pub fn verify(receipt: &Receipt, trust: Option<&Policy>) -> Checked {
    let trusted = Trusted {
        policy: trust,
        ..Trusted::default()
    };
    verify_trusting(receipt, trusted)
}

/// The same with everything that the verifier has from other sources.
#[must_use]
pub fn verify_trusting(receipt: &Receipt, trusted: Trusted<'_>) -> Checked {
    let mut steps = Steps::under(trusted.policy);
    let paid = check(receipt, trusted, &mut steps);
    steps.checked(paid)
}

fn check(
    receipt: &Receipt,
    trusted: Trusted<'_>,
    steps: &mut Steps,
) -> Result<PaidPayment, Broken> {
    let opened = keys::opened(receipt)?;
    let Trusted {
        policy, refresh, ..
    } = trusted;
    let checkpoint = keys::checkpoint(receipt, policy, refresh, &opened, steps)?;
    let (record, confirmed) = confirmed(receipt)?;
    let parameters = under_one_root(receipt, &record, &checkpoint)?;
    keys::issuer(receipt, &opened, &checkpoint, steps)?;
    let recorded_at_ms = TimestampMs::new(record.recorded_at_ms());
    let sentence = format!(
        "the confirmation is record {} of the log, of {}",
        record.position(),
        recorded_at_ms.to_rfc3339()
    );
    steps.by_the_log("record", sentence);
    keys::standing(receipt, &opened, &checkpoint, &record, steps)?;
    let unknown = KnownAgentKeys::default();
    let known = trusted.agent_keys.unwrap_or(&unknown);
    let messages = Messages::read(receipt, opened.did, &confirmed, known, steps)?;
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
    derived::opening(&opened, receipt)?;
    derived::check(grounds)?;
    places::of_confirmation(&record, &confirmed)?;
    places::check(receipt, &record, &confirmed, &checkpoint)?;
    numbered(&record, &confirmed)?;
    times::of_messages(grounds, steps)?;
    times::of_blocks(&confirmed, recorded_at_ms, steps)?;
    let paid = PaidPayment::new(receipt.interaction, &record, &confirmed, transfers)
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
    let checked = check(receipt, Trusted::default(), &mut Steps::under(None));
    let proof = checked.and_then(|_| proof_of_confirmed(receipt));
    proof.map_err(|Broken { about, sentence }| Step {
        about,
        verdict: ClaimVerdict::Broken,
        sentence,
    })
}

fn proof_of_confirmed(receipt: &Receipt) -> Result<TlogProof, Broken> {
    let about = "record";
    let opened = keys::opened(receipt)?;
    let checkpoint = keys::checkpoint(receipt, None, None, &opened, &mut Steps::under(None))?;
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

fn confirmed(receipt: &Receipt) -> Result<(Record, Confirmed), Broken> {
    let about = "record";
    let record = receipt.confirmed.record(receipt.stream());
    let record = record.map_err(|error| broken(about, error))?;
    let Event::Settlement(SettlementEvent::Confirmed(confirmed)) = event(&record, about)? else {
        return Err(broken(about, "the record is no confirmation"));
    };
    Ok((record, confirmed))
}

/// Holds the number among the provider's receipts to its place: the first has none before it, and each
/// one before is a record of its own.
fn numbered(record: &Record, confirmed: &Confirmed) -> Result<(), Broken> {
    let is_first = confirmed.provider_seq == 0;
    if is_first == confirmed.provider_prev.is_none() && confirmed.provider_seq < record.position() {
        return Ok(());
    }
    let sentence = format!(
        "receipt {} of the provider, counted from 0, cannot {}",
        confirmed.provider_seq,
        match confirmed.provider_prev {
            Some(_) => "follow the receipt that it names",
            None => "be the first one",
        }
    );
    Err(broken("sequence", sentence))
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
    let Event::Ledger(LedgerEvent::ParametersSet(parameters)) = parameters else {
        let sentence = "the record in `parameters` is no parameters_set";
        return Err(broken(about, sentence));
    };
    Ok((receipt.parameters.place.position, parameters))
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
    /// The checkpoint is by a key that the ledger replaced since.
    is_replaced: bool,
    standing: Option<AsOf>,
}

impl Steps {
    fn under(trust: Option<&Policy>) -> Steps {
        Steps {
            list: Vec::new(),
            is_trusted: trust.is_some(),
            is_replaced: false,
            standing: None,
        }
    }

    fn add(&mut self, about: &'static str, verdict: ClaimVerdict, sentence: impl ToString) {
        let sentence = sentence.to_string();
        self.list.push(Step {
            about,
            verdict,
            sentence,
        });
    }

    fn proven(&mut self, about: &'static str, sentence: impl ToString) {
        self.add(about, ClaimVerdict::Proven, sentence);
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
        self.add(about, ClaimVerdict::Asserted, sentence);
    }

    fn not_checked(&mut self, about: &'static str, sentence: impl ToString) {
        self.add(about, ClaimVerdict::NotChecked, sentence);
    }

    /// What no file can show.
    fn left(&mut self, paid: &PaidPayment, ask: &str) {
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
        self.add("transfer", ClaimVerdict::NotChecked, sentence);
        let sentence = format!("whether a reorganisation took it back since: ask {ask}");
        self.add("reversal", ClaimVerdict::NotChecked, sentence);
    }

    fn checked(mut self, paid: Result<PaidPayment, Broken>) -> Checked {
        let paid = paid.map_err(|Broken { about, sentence }| {
            self.add(about, ClaimVerdict::Broken, sentence);
        });
        Checked {
            steps: self.list,
            trusted: self.is_trusted,
            standing: self.standing,
            paid: paid.ok(),
        }
    }
}

fn event(record: &Record, about: &'static str) -> Result<Event, Broken> {
    Event::from_json(record.event_json()).map_err(|error| broken(about, error))
}
