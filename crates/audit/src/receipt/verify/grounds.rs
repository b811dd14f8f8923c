//! What the transfers of a receipt are held against.

use super::messages::Messages;
use super::paid::Terms;
use x811_protocol::did::Did;
use x811_protocol::event::PayerBinding;
use x811_protocol::evm::TxHash;
use x811_protocol::facts::PaymentFacts;
use x811_protocol::id::InteractionId;
use x811_protocol::parameters::Parameters;

/// What the claims rest on besides the confirmation itself.
#[derive(Clone, Copy)]
pub(super) struct Grounds<'a> {
    pub(super) ledger: Did,
    pub(super) interaction: InteractionId,
    pub(super) messages: &'a Messages,
    pub(super) terms: &'a Terms,
    /// Where they stand in the log, and what they say.
    pub(super) parameters: &'a (u64, Parameters),
}

/// A transaction that was named as payment, by whom: the first PAYMENT that names it counts.
#[derive(Clone, Copy)]
pub(super) struct Declared<'a> {
    pub(super) tx_hash: TxHash,
    pub(super) payment: &'a PaymentFacts,
    pub(super) binding: PayerBinding,
}
