//! The forms of the ledger's answers over HTTP (ledger-contract.md section 6): the ledger writes them, a client
//! reads them, and with the feature `openapi` they describe themselves. Whoever reads ignores members that it does
//! not know: a newer ledger may say more.

mod agents;
mod ledger;
mod subjects;
pub(crate) mod written;

pub use agents::{
    Agent, AgentStatus, Availability, BoundWallet, Conduct, Exclusion, FoundAgent, Lifted,
    TrustShown,
};
pub use ledger::{
    EndpointSight, FollowerSight, LedgerInfo, LogCheck, NetworkInfo, NetworkSight, Readiness,
    StandbySight, StoreSight,
};
pub use subjects::{
    Accepted, AgreementView, AnsweredSubject, Engagement, Erased, InForce, InteractionView,
    ListedNegotiation, RoundView, SessionView, Trace,
};
