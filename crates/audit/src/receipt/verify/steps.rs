//! The claims of a receipt, and how far each holds.

use super::paid::PaidPayment;
use crate::standing::Standing;
use serde::Serialize;
use x811_eventlog::{Policy, Record};
use x811_protocol::event::Event;
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

/// Why it ends.
pub(super) struct Broken {
    pub(super) about: &'static str,
    pub(super) sentence: String,
}

pub(super) fn broken(about: &'static str, sentence: impl ToString) -> Broken {
    let sentence = sentence.to_string();
    Broken { about, sentence }
}

/// The claims so far.
pub(super) struct Steps {
    pub(super) list: Vec<Step>,
    pub(super) is_trusted: bool,
    /// The checkpoint is by a key that the ledger replaced since.
    pub(super) is_replaced: bool,
    pub(super) standing: Option<AsOf>,
}

impl Steps {
    pub(super) fn under(trust: Option<&Policy>) -> Steps {
        Steps {
            list: Vec::new(),
            is_trusted: trust.is_some(),
            is_replaced: false,
            standing: None,
        }
    }

    pub(super) fn add(
        &mut self,
        about: &'static str,
        verdict: ClaimVerdict,
        sentence: impl ToString,
    ) {
        let sentence = sentence.to_string();
        self.list.push(Step {
            about,
            verdict,
            sentence,
        });
    }

    pub(super) fn proven(&mut self, about: &'static str, sentence: impl ToString) {
        self.add(about, ClaimVerdict::Proven, sentence);
    }

    /// What follows from the log that signed its root, and from who named that log.
    pub(super) fn by_the_log(&mut self, about: &'static str, sentence: impl ToString) {
        if self.is_trusted {
            self.proven(about, sentence);
        } else {
            self.asserted(about, sentence);
        }
    }

    pub(super) fn asserted(&mut self, about: &'static str, sentence: impl ToString) {
        self.add(about, ClaimVerdict::Asserted, sentence);
    }

    pub(super) fn not_checked(&mut self, about: &'static str, sentence: impl ToString) {
        self.add(about, ClaimVerdict::NotChecked, sentence);
    }

    /// What no file can show.
    pub(super) fn left(&mut self, paid: &PaidPayment, ask: &str) {
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

    pub(super) fn checked(mut self, paid: Result<PaidPayment, Broken>) -> Checked {
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

pub(super) fn event(record: &Record, about: &'static str) -> Result<Event, Broken> {
    Event::from_json(record.event_json()).map_err(|error| broken(about, error))
}
