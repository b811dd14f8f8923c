//! The first payments that a log confirms, each transaction by itself: for people who look one up.

use serde::Serialize;
use x811_protocol::event::{Confirmed, Event, Level};
use x811_protocol::evm::TxHash;
use x811_protocol::id::InteractionId;

use super::report::as_text;

/// Most that are listed; all are counted.
const MAX_LISTED: usize = 200;

/// A transaction that an interaction was paid with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Payment {
    /// Place of the record that confirms it.
    pub position: u64,
    /// What it paid.
    pub interaction: InteractionId,
    /// Where.
    pub network: String,
    /// The transaction.
    pub tx_hash: TxHash,
    /// What of it was claimed for the interaction, in micro-USDC as decimal text.
    #[serde(serialize_with = "as_text")]
    pub amount_micro_usdc: u128,
    /// How sure its block was, by the last record of it.
    pub level: Level,
    /// Whether a reorganisation took it back, by the last record of it.
    pub is_reversed: bool,
}

/// Payments so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Listed {
    pub(super) list: Vec<Payment>,
    pub(super) left_out: u64,
}

impl Listed {
    /// Takes a record of `interaction` that was replayed.
    pub(super) fn take(&mut self, position: u64, interaction: InteractionId, event: &Event) {
        if let Event::Confirmed(confirmed) = event {
            self.confirmed(position, interaction, confirmed);
        } else if let Event::Final(_) = event {
            self.of(interaction)
                .for_each(|payment| payment.level = Level::Final);
        } else if let Event::Reversed(gone) = event {
            self.stand(interaction, gone.tx_hash, true);
        } else if let Event::Returned(back) = event {
            self.stand(interaction, back.tx_hash, false);
        }
    }

    fn of(&mut self, interaction: InteractionId) -> impl Iterator<Item = &mut Payment> {
        let payments = self.list.iter_mut();
        payments.filter(move |payment| payment.interaction == interaction)
    }

    fn stand(&mut self, interaction: InteractionId, tx_hash: TxHash, is_reversed: bool) {
        self.of(interaction)
            .filter(|payment| payment.tx_hash == tx_hash)
            .for_each(|payment| payment.is_reversed = is_reversed);
    }

    fn confirmed(&mut self, position: u64, interaction: InteractionId, confirmed: &Confirmed) {
        for evidence in &confirmed.evidence {
            let claims = confirmed.claims.iter();
            let ordinals = claims
                .filter(|claim| claim.tx_hash == evidence.tx_hash)
                .map(|claim| claim.ordinal);
            let claimed = ordinals.filter_map(|ordinal| {
                let mut transfers = evidence.transfers.iter();
                transfers.find(|transfer| transfer.ordinal == ordinal)
            });
            let amount_micro_usdc = claimed
                .map(|transfer| u128::from(transfer.amount.as_micro_usdc()))
                .sum();
            if self.list.len() == MAX_LISTED {
                self.left_out += 1;
                continue;
            }
            self.list.push(Payment {
                position,
                interaction,
                network: evidence.network.clone(),
                tx_hash: evidence.tx_hash,
                amount_micro_usdc,
                level: evidence.level,
                is_reversed: false,
            });
        }
    }
}
