//! Which transfers pay: the choice of claims (ledger-contract.md section 5, AX-17, AX-18).
//!
//! Over all unclaimed transfers of all declared transactions, in order of (declaration, ordinal):
//! one transfer that is the total; else one that is the price and one that is the fee; else as many
//! as it takes until price and total are covered. Only the chosen are claimed, so that the rest of
//! a transaction can settle other interactions.

use crate::evm::{EvmAddress, TxHash};
use crate::money::MicroUsdc;

/// What has to be paid, and to whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// At least this to the payee.
    pub price: MicroUsdc,
    /// The fee's share of the total.
    pub protocol_fee: MicroUsdc,
    /// At least this to payee and treasury together.
    pub total: MicroUsdc,
    /// The provider's account.
    pub payee: EvmAddress,
    /// Where fees may go.
    pub treasury: Option<EvmAddress>,
}

/// An unclaimed transfer from the payer to payee or treasury, above zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// Hash of its transaction.
    pub tx_hash: TxHash,
    /// Its place among the token's transfers there.
    pub ordinal: u64,
    /// Payee or treasury.
    pub to: EvmAddress,
    /// How much it moves.
    pub amount: MicroUsdc,
}

/// The transfers that pay `due`, or `None` when `candidates` do not cover it. `candidates` are in
/// order of (declaration, ordinal).
pub fn choose(due: &Due, candidates: &[Candidate]) -> Option<Vec<Candidate>> {
    whole(due, candidates)
        .or_else(|| price_and_fee(due, candidates))
        .or_else(|| greedy(due, candidates))
}

/// (i) One transfer = total, to the payee.
fn whole(due: &Due, candidates: &[Candidate]) -> Option<Vec<Candidate>> {
    let exact = candidates
        .iter()
        .find(|c| c.to == due.payee && c.amount == due.total)?;
    Some(vec![*exact])
}

/// (ii) One = price to the payee and one = fee to the treasury.
fn price_and_fee(due: &Due, candidates: &[Candidate]) -> Option<Vec<Candidate>> {
    let treasury = due.treasury?;
    let price = candidates
        .iter()
        .position(|c| c.to == due.payee && c.amount == due.price)?;
    let fee = candidates.iter().enumerate().position(|(index, c)| {
        index != price && c.to == treasury && c.amount == due.protocol_fee
    })?;
    let mut chosen = [price, fee];
    chosen.sort_unstable();
    Some(chosen.iter().map(|index| candidates[*index]).collect())
}

/// (iii) Until price and total are covered; a transfer that helps neither is passed over.
fn greedy(due: &Due, candidates: &[Candidate]) -> Option<Vec<Candidate>> {
    let (mut to_payee, mut to_both) = (0_u128, 0_u128);
    let (price, total) = (
        u128::from(due.price.as_micro_usdc()),
        u128::from(due.total.as_micro_usdc()),
    );
    let mut chosen = Vec::new();
    for candidate in candidates {
        if to_payee >= price && to_both >= total {
            break;
        }
        let pays_payee = candidate.to == due.payee;
        let helps = if pays_payee {
            to_payee < price || to_both < total
        } else {
            to_both < total
        };
        if !helps {
            continue;
        }
        let amount = u128::from(candidate.amount.as_micro_usdc());
        to_both += amount;
        if pays_payee {
            to_payee += amount;
        }
        chosen.push(*candidate);
    }
    (to_payee >= price && to_both >= total).then_some(chosen)
}
