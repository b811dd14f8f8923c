//! The proof for an auditor: re-runs a whole log from its bytes and trusts nobody.
//!
//! | checked of every record | in |
//! |---|---|
//! | whether what it says is in its one spelling | `spelling` |
//! | form, hash chain, order; which record a broken link speaks against | `links` |
//! | signed checkpoints | `checkpoints` |
//! | whether they are by somebody the auditor trusts | `trust` |
//! | signature; whether the key was the sender's at that position | `signature` |
//! | the keys of agents, against those that the auditor knows | `agent_keys` |
//! | body against digest, envelope members, facts; wallet proofs | `body` |
//! | envelope ids, nonces, idempotency keys and transfers used once | `uniqueness` |
//! | the machines' rules | `replay` |
//! | the decision again: guards, deadlines, payee, times | `decision` |
//! | whether a message is in the stream that its turn puts it into | `routed` |
//! | the terms of an agreement, against the object that was signed | `signed_terms` |
//! | notices: whole, from the records that they tell of | `notices` |
//! | payments from their evidence: depth, claims, surplus, causes | `settlement` |
//! | whether an authorization is the interaction's own | `authorization` |
//! | what looks and refutations say, against what was seen | `looks`, `short` |
//! | what came of them afterwards | `aftermath` |
//! | one story of the network over the whole log | `story`, `heads` |
//! | which heads were known when an ACCEPT came | `known_heads` |
//! | what time should have caused and is not there | `overdue` |
//! | what it caused too late | `late_lapse`, `lateness` |
//! | how far checkpoints cover it: what is judged | `prefix` |
//! | what it says in the end | `conclude`, `outcome` |
//! | how long the ledger says that it was away, and what came of that | `downtime` |
//! | what rests on the watcher's word | `observed` |
//! | evidence, and what of the network there is none of, kept for whoever asks it | `on_chain` |
//! | bodies that are not there: erased by a record, and rightly, or missing | `erased` |
//! | whether an operator ordered that | `ordered` |
//! | the same of an exclusion that was lifted | `conduct` |
//! | parameters, and what changed when | `parameters` |
//! | what the rules allowed and people should know | `remarks` |
//! | statements that the ledger alone attests | `attested` |
//! | messages recorded in another order than they were signed | `signing_order` |
//! | rows for readers | `rows`, `subject_rows`, `agent_rows`, `compare` |
//! | a checkpoint that the auditor noted elsewhere | `noted` |
//! | every interaction and payment by itself, for whoever keeps books | `listing` |
//!
//! An [`Auditor`] takes records from anywhere and goes on after every fault; [`audit_export`] and
//! [`audit_store`] feed one. Three verdicts for facts (record.md section 3): proven, asserted,
//! broken. Where something is broken, what follows in that stream is *not replayed*, and counted:
//! never silently taken for good.
//!
//! A body that is not there makes a fact asserted, whether a record erased it or it was left out; the
//! report tells the two apart. One that a record erased and that is there all the same is a finding.
//!
//! [`hash_export`] and [`hash_store`] look at the hashes alone, and say so: `hashes`.
//!
//! A bundle of one interaction is audited as an *extract*: `extract` holds its streams against the
//! one checkpoint and the signed ends, the replay steps over positions that are not there, and what
//! takes the rest of the log is counted as [`Unchecked`].
//!
//! Two files of one log are held against each other by [`compare`], a trace against a log or a bundle by
//! [`compare_trace`]: `against`.
//!
//! Three verdicts for the whole (ledger-contract.md section 9): *broken* where something contradicts,
//! *incomplete* where something is not decided that should be, else *clean*; always as of the last
//! record under a checkpoint.
//!
//! What no audit of one file can show: a log that was cut off, or written anew from some point on
//! by whoever has the ledger's keys. Note a head (`expected_head`), compare with somebody else's, or
//! name witnesses who must have seen it (`trust`).

mod aftermath;
mod against;
mod agent_keys;
mod agent_rows;
mod attested;
mod auditor;
mod authorization;
mod body;
mod checkpoints;
mod compare;
mod conclude;
mod conduct;
mod decision;
mod downtime;
mod draws;
mod effects;
mod erased;
mod evidence;
mod examine;
mod extract;
mod finding;
mod from_export;
mod from_store;
mod hashes;
mod heads;
mod known_heads;
mod late_lapse;
mod lateness;
mod links;
mod listing;
mod looks;
mod noted;
mod notices;
mod numbered;
mod observed;
mod on_chain;
mod options;
mod ordered;
mod outcome;
mod overdue;
mod pages;
mod parameters;
mod payments;
mod places;
mod prefix;
mod remarks;
mod replay;
mod report;
mod routed;
mod rows;
mod settlement;
mod short;
mod signature;
mod signed_terms;
mod signing_order;
mod spelling;
mod story;
mod subject_rows;
mod trust;
mod unchecked;
mod uniqueness;

pub use against::{
    AgainstError, Comparison, Contradiction, Contradicts, PaperKind, PaperReport, TraceComparison,
    TraceDifference, TraceGap, compare, compare_trace,
};
pub use agent_keys::{AgentKeysReport, KnownAgentKeys};
pub use attested::{Attested, AttestedCount};
pub use auditor::Auditor;
pub use checkpoints::Covered;
pub use downtime::Downtimes;
pub use draws::{Drawing, RecordedDraw};
pub(crate) use evidence::{are_of_one_branch, head_of};
pub use examine::{Entry, Leaf};
pub use extract::{ExtractReport, StreamReport};
pub use finding::{Cause, Finding};
pub use from_export::{ExportAudit, audit_export, audit_export_in_pages};
pub use from_store::audit_store;
pub use hashes::{HashAudit, HashReport, PAGE_RECORDS, Piece, hash_export, hash_store};
pub use lateness::LateLapse;
pub use listing::{ListedInteraction, Listing, Period, Totals};
pub use observed::{Heard, Observations};
pub use on_chain::{ChainPlace, DeclaredTransaction, RecordedEvidence, RecordedSighting, Sighting};
pub use options::{Given, OnProgress, Options, TrustedBy};
pub use outcome::{Gap, Outcome, Undecided};
pub use parameters::{NetworkReport, ParameterChange, ParametersReport, RulesReport};
pub use payments::{PaidSums, Payment};
pub use prefix::{AsOf, Tail};
pub use remarks::Remark;
pub use report::{
    AbsentBodies, Erasure, FactCounts, ReadModelCheck, Report, TransferCounts, Verdict,
};
pub use trust::{Cosigned, Trust};
pub use unchecked::Unchecked;
