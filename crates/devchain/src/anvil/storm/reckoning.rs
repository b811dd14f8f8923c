//! What the ledger says of each interaction, held against the chain itself.

use serde::Serialize;
use serde_json::{Value, json};
use x811_client::settlement::settlement;
use x811_protocol::event::{Event, SettlementEvent};
use x811_protocol::evm::EvmAddress;
use x811_protocol::id::InteractionId;
use x811_protocol::money::MicroUsdc;
use x811_protocol::settlement_view::ProviderPaid;

use super::deal::{Deal, StormSite};
use super::weather::{Minute, Weather};
use crate::anvil::AnvilError;
use crate::anvil::rpc::{Anvil, quantity};
use x811_console::exit::Exit;
use x811_console::failure::Failure;
use x811_console::output::{Out, Report, Tone};

/// Keccak-256 of `Transfer(address,address,uint256)`.
const TRANSFER: &str = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

/// The table in the end.
#[derive(Debug, Serialize)]
pub(super) struct Reckoning {
    seed: u64,
    minutes: usize,
    reorgs: usize,
    rows: Vec<Row>,
    lost: usize,
    paid_twice: usize,
}

#[derive(Debug, Serialize)]
struct Row {
    interaction: InteractionId,
    due_micro_usdc: MicroUsdc,
    /// Transfers from its payer to the provider in the chain's own logs, and what they move.
    transfers: usize,
    on_chain_micro_usdc: MicroUsdc,
    /// What the ledger counts.
    counted_micro_usdc: MicroUsdc,
    paid: ProviderPaid,
    /// How often it was confirmed and taken back.
    reversals: usize,
}

impl Row {
    /// The money moved and the ledger does not count it, or counts money that never moved.
    fn is_lost(&self) -> bool {
        self.paid != ProviderPaid::Yes
            || self.counted_micro_usdc != self.due_micro_usdc
            || self.on_chain_micro_usdc != self.counted_micro_usdc
    }

    fn is_paid_twice(&self) -> bool {
        self.transfers > 1 || self.counted_micro_usdc > self.due_micro_usdc
    }
}

/// Whether the provider has the money of every interaction, as the ledger says.
pub(super) async fn all_decided(deals: &[Deal]) -> Result<bool, Failure> {
    for deal in deals {
        let (_, view) = settlement(deal.payer.ledger(), deal.interaction).await?;
        if view.paid != ProviderPaid::Yes {
            return Ok(false);
        }
    }
    Ok(true)
}

impl Reckoning {
    pub(super) async fn of(
        seed: u64,
        deals: &[Deal],
        hour: &[Minute],
        place: &StormSite<'_>,
        anvil: &Anvil,
    ) -> Result<Reckoning, Failure> {
        let mut rows = Vec::with_capacity(deals.len());
        for deal in deals {
            rows.push(row(deal, place, anvil).await?);
        }
        let reorgs = hour
            .iter()
            .filter(|m| matches!(m.weather, Weather::Reorg(_)));
        Ok(Reckoning {
            seed,
            minutes: hour.len(),
            reorgs: reorgs.count(),
            lost: rows.iter().filter(|row| row.is_lost()).count(),
            paid_twice: rows.iter().filter(|row| row.is_paid_twice()).count(),
            rows,
        })
    }

    pub(super) fn exit(&self) -> Exit {
        match self.lost + self.paid_twice {
            0 => Exit::Ok,
            _ => Exit::Findings,
        }
    }
}

async fn row(deal: &Deal, place: &StormSite<'_>, anvil: &Anvil) -> Result<Row, Failure> {
    let (transcript, view) = settlement(deal.payer.ledger(), deal.interaction).await?;
    let entries = transcript.entries.iter();
    let (from, to) = (deal.payer.account(), place.provider.account());
    let amounts = transfers(anvil, place.network.token, from, to).await?;
    let sum = MicroUsdc::from_micro_usdc(amounts.iter().sum());
    Ok(Row {
        interaction: deal.interaction,
        due_micro_usdc: deal.total,
        transfers: amounts.len(),
        on_chain_micro_usdc: sum.map_err(|error| Failure::internal(&error.to_string()))?,
        counted_micro_usdc: view.paid_micro_usdc,
        paid: view.paid,
        reversals: entries
            .filter(|entry| matches!(entry.event, Event::Settlement(SettlementEvent::Reversed(_))))
            .count(),
    })
}

/// What moved from one account to the other, in the blocks that are left.
async fn transfers(
    anvil: &Anvil,
    token: EvmAddress,
    from: EvmAddress,
    to: EvmAddress,
) -> Result<Vec<u64>, AnvilError> {
    let method = "eth_getLogs";
    let topic = |account: EvmAddress| {
        let account = account.to_string();
        format!("0x{:0>64}", account.trim_start_matches("0x"))
    };
    let topics = json!([TRANSFER, topic(from), topic(to)]);
    let filter =
        json!({"address": token, "topics": topics, "fromBlock": "0x0", "toBlock": "latest"});
    let logs = anvil.call(method, json!([filter])).await?;
    let logs = logs.as_array().ok_or(AnvilError::Unreadable { method })?;
    let amount = |log: &Value| log.get("data").and_then(quantity);
    let amounts: Option<Vec<u64>> = logs.iter().map(amount).collect();
    amounts.ok_or(AnvilError::Unreadable { method })
}

impl Report for Reckoning {
    fn print(&self, out: &mut Out) {
        let row = |row: &Row| {
            let paid = match row.paid {
                ProviderPaid::Yes => "PAID",
                ProviderPaid::NotYet => "NOT YET",
                ProviderPaid::No => "NO",
            };
            vec![
                row.interaction.to_string(),
                row.due_micro_usdc.to_usdc_decimal(),
                row.on_chain_micro_usdc.to_usdc_decimal(),
                row.transfers.to_string(),
                row.counted_micro_usdc.to_usdc_decimal(),
                paid.to_owned(),
                row.reversals.to_string(),
            ]
        };
        let rows: Vec<_> = self.rows.iter().map(row).collect();
        let names = [
            "interaction",
            "due USDC",
            "on chain",
            "transfers",
            "ledger",
            "paid",
            "reversals",
        ];
        out.table(&names, &rows);
        out.gap();
        let (seed, minutes, reorgs) = (self.seed, self.minutes, self.reorgs);
        let storm = format!("storm {seed}, {minutes} minutes, {reorgs} reorganisations");
        let count = self.rows.len();
        if self.exit() == Exit::Ok {
            let sentence =
                format!("{storm}: {count} interactions, nothing lost, nothing paid twice");
            out.heading(Tone::Good, sentence);
        } else {
            let (lost, twice) = (self.lost, self.paid_twice);
            let sentence =
                format!("{storm}: of {count} interactions {lost} LOST, {twice} PAID TWICE");
            out.heading(Tone::Bad, sentence);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(transfers: usize, on_chain: u64, counted: u64, paid: ProviderPaid) -> Row {
        let amount = |micro_usdc| MicroUsdc::from_micro_usdc(micro_usdc).unwrap();
        Row {
            interaction: "0190a1b2-c3d4-7e5f-8901-234567890abc".parse().unwrap(),
            due_micro_usdc: amount(29_725),
            transfers,
            on_chain_micro_usdc: amount(on_chain),
            counted_micro_usdc: amount(counted),
            paid,
            reversals: 0,
        }
    }

    #[test]
    fn what_is_lost_or_paid_twice_is_said_to_be() {
        for (row, lost, twice) in [
            (row(1, 29_725, 29_725, ProviderPaid::Yes), false, false),
            (row(1, 29_725, 0, ProviderPaid::NotYet), true, false),
            (row(1, 29_725, 0, ProviderPaid::No), true, false),
            (row(0, 0, 29_725, ProviderPaid::Yes), true, false),
            (row(2, 59_450, 29_725, ProviderPaid::Yes), true, true),
            (row(1, 29_725, 59_450, ProviderPaid::Yes), true, true),
        ] {
            assert_eq!(
                (row.is_lost(), row.is_paid_twice()),
                (lost, twice),
                "{row:?}"
            );
        }
    }
}
