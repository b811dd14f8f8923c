//! What was paid: each transaction by itself, for people who look one up, and what they add up to.
//!
//! The totals are those of `provider paid` (`settlement_view`): of every claimed transfer the amount
//! that its evidence shows, of confirmations and of late payments, less those whose transaction a
//! reorganisation took back. They come from the records that were replayed, so that what a broken
//! record claims is in none.
//!
//! Memory: some 90 bytes for each transaction while records are taken, some 150 in the report.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use x811_protocol::event::{Claim, Event, Evidence, Level, SettlementEvent};
use x811_protocol::evm::TxHash;
use x811_protocol::id::InteractionId;
use x811_protocol::interaction::State;

use crate::finding::verdict::as_text;
use crate::record::numbered::{Keyed, Numbered};
use x811_protocol::stream::{Stream, Subject};
use x811_world::World;

/// Most that are listed, so that a report stays below 200 MB; all are counted.
const MAX_LISTED: usize = 1_000_000;

/// A transaction that an interaction was paid with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Payment {
    /// Place of the record that confirms it, or binds it as late.
    pub position: u64,
    /// What it paid.
    pub interaction: InteractionId,
    /// The name of the network that it was paid on.
    pub network: Arc<str>,
    /// Hash of the transaction.
    pub tx_hash: TxHash,
    /// What of it was claimed for the interaction, in micro-USDC as decimal text.
    #[serde(serialize_with = "as_text")]
    pub amount_micro_usdc: u128,
    /// How sure its block was, by the last record of it.
    pub level: Level,
    /// Whether it came after the interaction had ended.
    pub is_late: bool,
    /// Whether a reorganisation took it back, by the last record of it.
    pub is_reversed: bool,
}

/// What was paid on one network. Amounts are what the claimed transfers moved, as their evidence
/// shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PaidSums {
    /// Interactions with a confirmed payment, those that was taken back included.
    pub interactions: u64,
    /// What came and is there: confirmed and late, less reversed. It is what `provider paid` adds
    /// up to over all providers; in micro-USDC as decimal text.
    #[serde(serialize_with = "as_text")]
    pub total_micro_usdc: u128,
    /// The protocol fees of interactions with a confirmed payment, where none of it is reversed; in
    /// micro-USDC as decimal text.
    #[serde(serialize_with = "as_text")]
    pub fee_micro_usdc: u128,
    /// What confirmations claimed, in micro-USDC as decimal text.
    #[serde(serialize_with = "as_text")]
    pub confirmed_micro_usdc: u128,
    /// What was bound as late, in micro-USDC as decimal text.
    #[serde(serialize_with = "as_text")]
    pub late_micro_usdc: u128,
    /// What of the confirmed and the late was taken back by a reorganisation and has not returned, in micro-USDC
    /// as decimal text.
    #[serde(serialize_with = "as_text")]
    pub reversed_micro_usdc: u128,
}

/// What a record changes of what was paid.
#[derive(Debug)]
pub(crate) struct Change {
    interaction: InteractionId,
    network: String,
    what: What,
}

#[derive(Debug)]
enum What {
    /// Transfers were claimed. The fee is that of the interaction.
    Claimed {
        fee_micro_usdc: u128,
        is_late: bool,
        transactions: Vec<(TxHash, u128, Level)>,
    },
    /// Every transaction of these is final.
    Final(Vec<TxHash>),
    /// A transaction that paid is gone, or back. The fee is counted while none is gone.
    Gone {
        tx_hash: TxHash,
        amount_micro_usdc: u128,
        fee_micro_usdc: u128,
        is_gone: bool,
    },
}

/// Payments so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Payments {
    rows: Numbered<Row>,
    /// What was paid, by the name of the network.
    paid: BTreeMap<String, PaidSums>,
    left_out: u64,
}

/// One transaction; the network is that of an interaction's place among `Payments::paid`.
#[derive(Debug, Clone)]
struct Row {
    key: (InteractionId, TxHash),
    position: u64,
    amount_micro_usdc: u64,
    network: Box<str>,
    level: Level,
    is_late: bool,
    is_reversed: bool,
}

impl Keyed for Row {
    type Key = (InteractionId, TxHash);

    fn key(&self) -> &Self::Key {
        &self.key
    }
}

/// What a record of `stream` changes, by the world before it; `None` when nothing.
pub(crate) fn change(before: &World, stream: Option<&Stream>, event: &Event) -> Option<Change> {
    let Some(Stream::Of(Subject::Interaction(id))) = stream else {
        return None;
    };
    let state = &before.watching(*id)?.state;
    let network = state.watched().map(|payment| payment.network.to_owned());
    let what = if let Event::Settlement(SettlementEvent::Confirmed(confirmed)) = event {
        claimed(state, &confirmed.evidence, &confirmed.claims, false)
    } else if let Event::Settlement(SettlementEvent::Late(late)) = event {
        claimed(state, &late.evidence, &late.claims, true)
    } else if let Event::Settlement(SettlementEvent::Final(reached)) = event {
        What::Final(state.made_final_by(&reached.head))
    } else if let Event::Settlement(SettlementEvent::Reversed(gone)) = event {
        moved(state, gone.tx_hash, true)?
    } else if let Event::Settlement(SettlementEvent::Returned(back)) = event {
        moved(state, back.tx_hash, false)?
    } else {
        return None;
    };
    Some(Change {
        interaction: *id,
        network: network?,
        what,
    })
}

fn claimed(state: &State, evidence: &[Evidence], claims: &[Claim], is_late: bool) -> What {
    let transactions = evidence.iter().map(|shown| {
        let is_claimed = |ordinal| {
            let mut claims = claims.iter();
            claims.any(|claim| (claim.tx_hash, claim.ordinal) == (shown.tx_hash, ordinal))
        };
        let transfers = shown.transfers.iter();
        let amounts = transfers
            .filter(|transfer| is_claimed(transfer.ordinal))
            .map(|transfer| u128::from(transfer.amount.as_micro_usdc()));
        (shown.tx_hash, amounts.sum(), shown.level)
    });
    What::Claimed {
        fee_micro_usdc: fee(state),
        is_late,
        transactions: transactions.collect(),
    }
}

fn moved(state: &State, tx_hash: TxHash, is_gone: bool) -> Option<What> {
    let (_, aftermath) = state.aftermath()?;
    let bound = aftermath.bound_of(tx_hash);
    let amounts = bound.map(|bound| u128::from(bound.transfer.amount.as_micro_usdc()));
    // The fee is one of what paid, not of what came late.
    let paid = state.completion().filter(|_| aftermath.has_paid(tx_hash));
    let is_only = paid.is_some_and(|it| it.reversed.iter().all(|gone| *gone == tx_hash));
    Some(What::Gone {
        tx_hash,
        amount_micro_usdc: amounts.sum(),
        fee_micro_usdc: if is_only { fee(state) } else { 0 },
        is_gone,
    })
}

fn fee(state: &State) -> u128 {
    let offer = state.offer();
    offer.map_or(0, |offer| u128::from(offer.protocol_fee.as_micro_usdc()))
}

impl Payments {
    /// Takes what a record at `position` that was replayed changes.
    pub(crate) fn take(&mut self, position: u64, change: Change) {
        let Change {
            interaction,
            network,
            what,
        } = change;
        let paid = self.paid.entry(network.clone()).or_default();
        match what {
            What::Claimed {
                fee_micro_usdc,
                is_late,
                transactions,
            } => {
                let amount: u128 = transactions.iter().map(|(_, amount, _)| amount).sum();
                if is_late {
                    paid.late_micro_usdc += amount;
                } else {
                    paid.interactions += 1;
                    paid.confirmed_micro_usdc += amount;
                    paid.fee_micro_usdc += fee_micro_usdc;
                }
                for (tx_hash, amount, level) in transactions {
                    self.list(Row {
                        key: (interaction, tx_hash),
                        position,
                        amount_micro_usdc: u64::try_from(amount).unwrap_or(u64::MAX),
                        network: network.as_str().into(),
                        level,
                        is_late,
                        is_reversed: false,
                    });
                }
            }
            What::Final(transactions) => {
                for tx_hash in transactions {
                    self.stand(interaction, tx_hash, |row| row.level = Level::Final);
                }
            }
            What::Gone {
                tx_hash,
                amount_micro_usdc: amount,
                fee_micro_usdc: fee,
                is_gone,
            } => {
                if is_gone {
                    paid.reversed_micro_usdc += amount;
                    paid.fee_micro_usdc = paid.fee_micro_usdc.saturating_sub(fee);
                } else {
                    paid.reversed_micro_usdc = paid.reversed_micro_usdc.saturating_sub(amount);
                    paid.fee_micro_usdc += fee;
                }
                self.stand(interaction, tx_hash, |row| row.is_reversed = is_gone);
            }
        }
    }

    fn list(&mut self, row: Row) {
        if self.rows.number(&row.key).is_none() && self.rows.len() >= MAX_LISTED {
            self.left_out += 1;
            return;
        }
        self.rows.enter(row);
    }

    fn stand(&mut self, interaction: InteractionId, tx_hash: TxHash, change: impl Fn(&mut Row)) {
        if let Some(number) = self.rows.number(&(interaction, tx_hash)) {
            change(&mut self.rows[number]);
        }
    }

    /// The totals by network, each transaction in the order of the log, and how many more there are.
    pub(crate) fn finish(mut self) -> (BTreeMap<String, PaidSums>, Vec<Payment>, u64) {
        for paid in self.paid.values_mut() {
            let came = paid.confirmed_micro_usdc + paid.late_micro_usdc;
            paid.total_micro_usdc = came.saturating_sub(paid.reversed_micro_usdc);
        }
        let rows = self.rows.iter().map(|(_, row)| Payment {
            position: row.position,
            interaction: row.key.0,
            network: (&*row.network).into(),
            tx_hash: row.key.1,
            amount_micro_usdc: u128::from(row.amount_micro_usdc),
            level: row.level,
            is_late: row.is_late,
            is_reversed: row.is_reversed,
        });
        (self.paid, rows.collect(), self.left_out)
    }
}
