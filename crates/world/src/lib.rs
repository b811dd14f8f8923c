//! What the records of a log add up to: one function, [`World::apply`], makes a record into state. The sequencer
//! uses it on what it is about to append, a restart on the stored log, an audit on an export.
//!
//! Everything here is a synchronous function of its arguments: no clock, no configuration, no network.
//!
//! | module | what is in it |
//! |---|---|
//! | `world` | [`World`] and what changes it |
//! | [`agent`], [`registry`], [`sender`] | what a DID's records add up to, who may ask what of the registry, whose messages are taken |
//! | [`keyring`], [`keys_statement`] | the ledger's own keys, and which were in force when |
//! | [`quota`], [`policies`] | limits that are counted from the log, and what one machine's event causes in another |
//! | [`AsOf`], [`route`], [`reading`], [`schemas`] | what a decision reads, and how a message is read |
//! | [`notice`], [`erasure`] | which notices are owed, and which bodies may be erased |
//! | [`projection`], [`row`], [`settlement_view`] | what readers are shown of it |

pub mod agent;
mod as_of;
pub mod erasure;
pub mod keyring;
pub mod keys_statement;
pub mod notice;
pub mod policies;
pub mod projection;
pub mod quota;
pub mod reading;
mod recent;
pub mod registry;
pub mod route;
pub mod row;
pub mod schemas;
pub mod sender;
pub mod settlement_view;
mod spent;
mod world;

pub use as_of::AsOf;
pub use world::{
    ContentError, Fault, FirstAnswer, HeldMachine, LAPSES_AT_A_TIME, Live, LiveSubject, OwedNotice,
    Roots, STATE_ROOT_EVERY, Sight, Sighted, Sizes, StoredFailed, StoredSubjects, SubjectState,
    Subjects, Touched, World, WorldContent,
};
