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
//! | rows for readers, as they should be | [`rows`] |
//! | a checkpoint that the auditor noted elsewhere | `noted` |
//! | every interaction and payment by itself, for whoever keeps books | `listing` |
//!
//! The modules are: `record`, what can be checked of a record alone; `replay`, the log by the world's own rules;
//! `decision`, what was decided; `money`, `network` and `time`, what settlement rests on; `identity`, whose log and
//! whose keys; `finding` and `report`, what is said of it. [`export`], [`receipt`] and [`refresh`] are the forms of
//! files; `extract`, `hashes` and `against` read them.
//!
//! An [`Auditor`] takes records from anywhere and goes on after every fault; [`audit_export`]
//! feeds one from a file. Three verdicts for facts (record.md section 3): proven, asserted,
//! broken. Where something is broken, what follows in that stream is *not replayed*, and counted:
//! never silently taken for good.
//!
//! A body that is not there makes a fact asserted, whether a record erased it or it was left out; the
//! report tells the two apart. One that a record erased and that is there all the same is a finding.
//!
//! [`hash_export`] looks at the hashes alone, and says so: `hashes`.
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

mod against;
mod auditor;
pub mod checkpoint_note;
mod decision;
pub mod export;
mod extract;
mod finding;
mod from_export;
mod hashes;
mod identity;
mod in_base64;
mod money;
mod network;
mod options;
pub mod receipt;
mod record;
pub mod refresh;
mod replay;
mod report;
pub mod standing;
mod time;
mod version;

pub use record::pages;
pub use replay::rows;

pub use against::{
    AgainstError, Comparison, Contradiction, Contradicts, PaperKind, PaperReport, TraceComparison,
    TraceDifference, TraceGap, compare, compare_trace,
};
pub use auditor::Auditor;
pub use extract::{ExtractReport, StreamReport};
pub use finding::attested::{Attested, AttestedCount};
pub use finding::findings::{Cause, Finding, Findings, Spot};
pub use finding::remarks::Remark;
pub use finding::unchecked::Unchecked;
pub use finding::verdict::{FactCounts, Verdict};
pub use from_export::{ExportAudit, audit_export, audit_export_in_pages};
pub use hashes::{HashAudit, HashReport, PAGE_RECORDS, Piece, hash_export};
pub use identity::agent_keys::{AgentKeysReport, KnownAgentKeys};
pub use identity::checkpoints::Covered;
pub use identity::trust::{Cosigned, Trust};
pub use money::listing::{ListedInteraction, Listing, Period, Totals};
pub use money::payments::{PaidSums, Payment};
pub use network::draws::{Drawing, RecordedDraw};
pub use network::observed::{Heard, Observations};
pub use network::on_chain::{
    ChainPlace, DeclaredTransaction, RecordedEvidence, RecordedSighting, Sighting,
};
pub use options::{Given, OnProgress, Options, TrustedBy};
pub use record::body::shown;
pub use record::examine::{Entry, Examined, Leaf, Whole};
pub use report::document::{AbsentBodies, Erasure, ReadModelCheck, Report, TransferCounts};
pub use report::outcome::{Gap, Outcome, Undecided};
pub use report::parameters::{NetworkReport, ParameterChange, ParametersReport, RulesReport};
pub use report::prefix::{AsOf, Tail};
pub use time::downtime::Downtimes;
pub use time::lateness::LateLapse;
