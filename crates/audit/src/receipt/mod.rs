//! Receipts: proof of a payment in one file, for people who were not there. The format is in
//! `crates/eventlog/FORMAT.md`, "Receipts".
//!
//! A receipt holds the messages that were signed and, of the records they stand in, only what does
//! not follow from them. Whoever reads it makes the records from the messages: they hash to what the
//! record `confirmed` lists, or the receipt is broken. `confirmed` in turn hangs on the checkpoint,
//! together with the records that say whose ledger it is, under which keys, and which token it counts.
//!
//! That no rotation of the ledger's keys is left out, and what became of the payment, the ledger's
//! checkpoint key says: in its keys statement and in the end of the interaction's stream
//! (ledger-contract.md section 8). The receipt key signs the whole, and decides no more than who
//! issued it.

mod compact;
mod form;
mod leaf;
mod verify;

pub use compact::CompactReceipt;
pub use form::{MAX_RECEIPT_BYTES, NotAReceipt, RECEIPT_VERSION, Receipt, ask};
pub use leaf::{Enclosed, Leaf, LeafPlace, Opened};
pub use verify::{
    AsOf, Checked, ClaimVerdict, PaidPayment, PaidTransfer, Step, Terms, Trusted, tlog_proof,
    verify, verify_compact, verify_compact_trusting, verify_trusting,
};
