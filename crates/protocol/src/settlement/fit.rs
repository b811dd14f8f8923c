//! Which transfers of a declared transaction can pay. For the machines, and for whoever holds what a
//! log says against the network once more.
//!
//! Source: ledger-contract.md section 5, settlement-watcher.md rules 14, 18 and 20.

use crate::digest::Digest;
use crate::event::PayerBinding;
use crate::evm::EvmAddress;
use crate::observation::Transfer;

/// What a transfer must be to pay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fit {
    /// How the account is bound to who pays.
    pub binding: PayerBinding,
    /// The EIP-3009 nonce of a transfer to the treasury.
    pub fee_nonce: Digest,
    /// Who is to be paid.
    pub payee: EvmAddress,
    /// The account that the transfer has to be from.
    pub payer: EvmAddress,
    /// The EIP-3009 nonce of a transfer to the payee. It names the ledger, so another ledger has
    /// another one for the same conversation.
    pub payment_nonce: Digest,
    /// Where fees may go.
    pub treasury: Option<EvmAddress>,
}

impl Fit {
    /// Between the right accounts, and for this bill: a transfer that carries the `nonce` of an
    /// EIP-3009 authorization counts only where it is the bill's own, whoever the payer is, and one
    /// that carries none where the payer is proven otherwise.
    pub fn takes(&self, transfer: &Transfer, nonce: Option<&Digest>) -> bool {
        let may_count = match (nonce, self.binding) {
            (Some(nonce), _) => self.is_own(transfer, nonce),
            (None, PayerBinding::Wallet | PayerBinding::Unchecked) => true,
            (None, PayerBinding::Authorization) => false,
        };
        may_count && self.is_between(transfer)
    }

    /// From the payer to payee or treasury, above zero (a zero transfer can be forged by anyone).
    pub fn is_between(&self, transfer: &Transfer) -> bool {
        let to_us = transfer.to == self.payee || Some(transfer.to) == self.treasury;
        transfer.from == self.payer && to_us && !transfer.amount.is_zero()
    }

    /// Whether the nonce stands for this bill's payment, of a transfer to the payee, or its
    /// fee, of one to the treasury.
    pub fn is_own(&self, transfer: &Transfer, nonce: &Digest) -> bool {
        (transfer.to == self.payee && *nonce == self.payment_nonce)
            || (Some(transfer.to) == self.treasury && *nonce == self.fee_nonce)
    }
}
