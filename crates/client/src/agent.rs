//! Agents that run unattended: loops {feed → verify → decide → seal → send} (agents.md section 2).
//!
//! A loop is one DID at one ledger with a folder of its own. What must not happen twice is in the
//! state file before it happens: the sealed envelope, the signed transfer, the commitment behind an
//! ACCEPT, the start of a task. What the ledger knows is asked of the ledger, so a lost state file
//! costs questions, never a second payment.
//!
//! | room | what is in it |
//! |---|---|
//! | `decide` | the next move in an interaction, pure |
//! | `outbox` | when an envelope leaves, and when another may be sealed, pure |
//! | `money`, `caps` | when a transfer may leave, what may be committed, pure |
//! | `engine`, `sending`, `selling`, `buying`, `orders` | the loop over a `World` |
//! | `dealing`, `dealer`, `dealt` | sessions about capabilities: the loop's part, what it wants and grants, what was said |
//! | `haggling`, `negotiator`, `bargain` | terms before work: the loop's part, what it wants, what was said |
//! | `live`, `purse`, `feed` | that world: ledger, chain, folder |
//! | `approval` | questions to a person, in files |
//! | `guard` | the same rules for whoever decides beside the loop |
//! | `proof` | proofs of inclusion that are kept |

mod acknowledging;
mod approval;
mod bargain;
mod buying;
mod caps;
mod case;
mod dealer;
mod dealing;
mod dealt;
mod decide;
mod engine;
mod feed;
mod guard;
mod haggling;
mod heartbeat;
mod live;
mod money;
mod negotiator;
mod notice;
mod orders;
mod outbox;
mod proof;
#[cfg(feature = "pay")]
mod purse;
mod run;
mod selling;
mod sending;
mod state;
mod work;
mod world;

pub use approval::{Answer, Approvals, Decision, DecisionFault, Question, Seen};
pub use caps::{Cap, Caps, Commitment};
pub use dealer::{Dealer, Grant, Want};
pub use dealing::Deal;
pub use decide::{InitiatorRules, PriceRule, ProviderRules};
pub use guard::{Guard, Ruling};
pub use haggling::Talk;
pub use money::{LEAST_WINDOW_MS, Transfer};
pub use negotiator::{Negotiator, Purchase, Sale};
pub use notice::{Notice, Observer, What, silent};
pub use outbox::{Act, DEAD_AFTER_MS, Entry};
pub use proof::{ProofCheck, ProofDue};
pub use run::{Initiator, LoopError, Order, Provider, Settings};
pub use state::{Alarm, Asked, Outcome, State, StateError, Step, Task, peek};
pub use work::{Check, Delivered, Job, Product, WorkFault, Worker, Working, good_if_inline};
