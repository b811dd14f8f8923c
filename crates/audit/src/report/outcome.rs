//! The three things an audit may say, and why it says the second (ledger-contract.md section 9).

use serde::Serialize;
use x811_protocol::named;

named! {
    /// What an audit says. Without a key or a policy from elsewhere it does not say whose log this is.
    #[derive(Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Outcome {
        /// Nothing contradicts, and everything in scope was decided.
        Clean = "clean",
        /// Nothing contradicts, but something in scope that should be decidable is not.
        Incomplete = "incomplete",
        /// At least one thing contradicts another: there are findings.
        Broken = "broken",
    }
}

/// What is not decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Gap {
    /// No checkpoint covers any record.
    NoCheckpoint,
    /// Records behind the last checkpoint that are younger than it by more than the grace.
    Tail,
    /// Records under decision rules that this version does not know.
    UnknownRules,
    /// Bodies that are not here and that no record erased.
    MissingBodies,
    /// Transfers that `seen` tells otherwise than another record: an endpoint lied, or the ledger.
    ContestedSightings,
    /// Windows that ended and whose lapse is not here.
    OverdueLapses,
    /// Notices that were owed for longer than the grace.
    OverdueNotices,
    /// Looks for a payment that were due for longer than the grace.
    OverdueLooks,
    /// Effects of the last record, which are recorded with it.
    MissingEffects,
}

/// Something that should be decidable and is not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Undecided {
    /// Why it is not decided.
    pub gap: Gap,
    /// The number of records, bodies, sightings, windows, notices, looks or effects.
    pub count: u64,
    /// The same for people: what is missing, and what to do.
    pub sentence: String,
}

impl Undecided {
    /// So many of them; `None` for none.
    pub(crate) fn of(gap: Gap, count: u64, sentence: impl Into<String>) -> Option<Undecided> {
        (count > 0).then(|| Undecided {
            gap,
            count,
            sentence: sentence.into(),
        })
    }
}
