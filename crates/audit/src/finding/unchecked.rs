//! What a bundle of one interaction cannot show, counted: never taken for good, never held against
//! anybody (ledger-contract.md section 7).

use std::collections::BTreeMap;

use serde::Serialize;
use x811_protocol::named;

named! {
    /// What takes the rest of the log, or another source, to check; its text is words for however many there are.
    #[derive(Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Unchecked {
        /// Records of the log that are not in the bundle.
        OtherRecords = "other records of the log",
        /// Envelopes whose id, nonce and idempotency key other records may have used too.
        UsedOnce = "envelopes: whether their ids, nonces and idempotency keys were used elsewhere",
        /// Transfers that other interactions may have claimed too.
        ClaimedOnce = "claimed transfers: whether others claimed them too",
        /// Choices of transfers that follow from the rules only if others had claimed some of those
        /// shown.
        ClaimedElsewhere = "choices of transfers that rest on claims of others",
        /// Numbers of the provider's receipts.
        ReceiptNumbers = "numbers among the provider's receipts",
        /// Messages held against limits over all that their sender does.
        Quotas = "messages: limits over all that their sender does",
        /// Bodies of other interactions that a record erased, and whether they might be.
        ErasuresElsewhere = "erasures of bodies of other interactions",
        /// Agents whose keys the auditor knows and whose records are not in the bundle.
        AgentKeys = "agents whose keys you know: their records are not here",
        /// Records that erased bodies, and whether an active agent of the ledger had that done.
        Operators = "erasures: whether an agent of the ledger had them done",
        /// Downtimes, which no record may have fallen into.
        Downtimes = "downtimes: whether no record fell into them",
        /// Roots of all states.
        StateRoots = "roots of all states",
        /// Rounds that may have been held for, or superseded by, rivals, and failures that may be the second in a
        /// row about one resource.
        RivalProposals = "decisions of rounds: what other rounds did to them",
        /// Heads at an ACCEPT that are as old, or as young, as only one that another record named may be.
        NamedHeads = "heads at an ACCEPT: whether other records had named them",
        /// Lapses, and whether something else was decided between the end of the window and them; decisions
        /// while a window was over, and whether enough lapses were recorded first.
        LateLapses = "lapses: whether something else was decided before them",
        /// What proposers of rounds had earned.
        TrustInputs = "proposals: what their proposers and participants had earned",
        /// Requests for sessions, and whether somebody was excluded from them.
        Exclusions = "sessions and proposals: whether their parties were excluded from them",
        /// Effects whose cause, or causes whose effects, are in streams that are not here.
        EffectsElsewhere = "effects of records on streams that are not here",
        /// A head that was noted and is none of the records here.
        ExpectedHead = "head that was noted: it is none of the records here",
        /// A checkpoint that was noted, for which it takes all records that it covers.
        NotedCheckpoint = "checkpoint that was noted: it takes the whole log to hold it against",
    }
}

/// How many of each.
pub(crate) type Counts = BTreeMap<Unchecked, u64>;
