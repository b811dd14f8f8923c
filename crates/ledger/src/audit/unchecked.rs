//! What a bundle of one interaction cannot show, counted: never taken for good, never held against
//! anybody (ledger-contract.md section 7).

use std::collections::BTreeMap;

use serde::Serialize;

/// What takes the rest of the log, or another source, to check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unchecked {
    /// Records of the log that are not in the bundle.
    OtherRecords,
    /// Envelopes whose id, nonce and idempotency key other records may have used too.
    UsedOnce,
    /// Transfers that other interactions may have claimed too.
    ClaimedOnce,
    /// Choices of transfers that follow from the rules only if others had claimed some of those
    /// shown.
    ClaimedElsewhere,
    /// Numbers of the provider's receipts.
    ReceiptNumbers,
    /// Messages held against limits over all that their sender does.
    Quotas,
    /// Bodies of other interactions that a record erased, and whether they might be.
    ErasuresElsewhere,
    /// Records that erased bodies, and whether an active agent of the ledger had that done.
    Operators,
    /// Downtimes, which no record may have fallen into.
    Downtimes,
    /// Roots of all states.
    StateRoots,
    /// Rounds that may have been held for, or superseded by, rivals, and failures that may be the second in a
    /// row about one resource.
    RivalProposals,
    /// What proposers of rounds had earned.
    TrustInputs,
    /// Requests for sessions, and whether somebody was excluded from them.
    Exclusions,
    /// Effects whose cause, or causes whose effects, are in streams that are not here.
    EffectsElsewhere,
    /// A head that was noted and is none of the records here.
    ExpectedHead,
    /// A checkpoint that was noted, for which it takes all records that it covers.
    NotedCheckpoint,
}

impl Unchecked {
    /// In words, for however many there are.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Unchecked::OtherRecords => "other records of the log",
            Unchecked::UsedOnce => {
                "envelopes: whether their ids, nonces and idempotency keys were used elsewhere"
            }
            Unchecked::ClaimedOnce => "claimed transfers: whether others claimed them too",
            Unchecked::ClaimedElsewhere => "choices of transfers that rest on claims of others",
            Unchecked::ReceiptNumbers => "numbers among the provider's receipts",
            Unchecked::Quotas => "messages: limits over all that their sender does",
            Unchecked::ErasuresElsewhere => "erasures of bodies of other interactions",
            Unchecked::Operators => "erasures: whether an agent of the ledger had them done",
            Unchecked::Downtimes => "downtimes: whether no record fell into them",
            Unchecked::StateRoots => "roots of all states",
            Unchecked::RivalProposals => "decisions of rounds: what other rounds did to them",
            Unchecked::TrustInputs => "proposals: what their proposers and participants had earned",
            Unchecked::Exclusions => {
                "sessions and proposals: whether their parties were excluded from them"
            }
            Unchecked::EffectsElsewhere => "effects of records on streams that are not here",
            Unchecked::ExpectedHead => "head that was noted: it is none of the records here",
            Unchecked::NotedCheckpoint => {
                "checkpoint that was noted: it takes the whole log to hold it against"
            }
        }
    }
}

/// How many of each.
pub(super) type Counts = BTreeMap<Unchecked, u64>;
