//! What became of an interaction's payment, in the four words that the end of its stream says it
//! with (ledger-contract.md section 8). Whoever signs an end and whoever checks one take it from the
//! same records.

use serde::{Deserialize, Serialize};
use x811_protocol::event::{Event, SettlementEvent};
use x811_protocol::evm::TxHash;
use x811_protocol::named;

named! {
    /// What became of a payment.
    #[derive(Default, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Standing {
        /// Nothing is confirmed.
        #[default]
        None = "none",
        /// It is confirmed, and nothing was taken back since.
        Paid = "paid",
        /// A transaction that paid is in no block any more.
        Reversed = "reversed",
        /// Every transaction that was is back: paid again.
        Returned = "returned",
    }
}

impl Standing {
    /// Whether the payment stands.
    #[must_use]
    pub fn is_paid(self) -> bool {
        matches!(self, Standing::Paid | Standing::Returned)
    }
}

/// The standing after the events of one interaction's stream, in their order.
#[derive(Debug, Clone, Default)]
pub struct Settling {
    is_confirmed: bool,
    has_returned: bool,
    /// Transactions that the confirmation rests on. What was bound late besides is no part of it.
    paid: Vec<TxHash>,
    /// Transactions that paid and are gone.
    gone: Vec<TxHash>,
}

impl Settling {
    /// Takes the next event of the stream.
    pub fn take(&mut self, event: &Event) {
        if let Event::Settlement(SettlementEvent::Confirmed(confirmed)) = event {
            self.is_confirmed = true;
            self.paid = confirmed.claims.iter().map(|it| it.tx_hash).collect();
        } else if let Event::Settlement(SettlementEvent::Reversed(reversed)) = event
            && self.paid.contains(&reversed.tx_hash)
        {
            self.gone.push(reversed.tx_hash);
        } else if let Event::Settlement(SettlementEvent::Returned(returned)) = event
            && self.paid.contains(&returned.tx_hash)
        {
            self.gone.retain(|tx_hash| *tx_hash != returned.tx_hash);
            self.has_returned = true;
        }
    }

    /// What it is now.
    #[must_use]
    pub fn standing(&self) -> Standing {
        match (self.is_confirmed, self.gone.is_empty()) {
            (false, _) => Standing::None,
            (true, false) => Standing::Reversed,
            (true, true) if self.has_returned => Standing::Returned,
            (true, true) => Standing::Paid,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const ONE: &str = "0xabababababababababababababababababababababababababababababababab";
    const TWO: &str = "0xcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd";

    const LATE: &str = "0xefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefef";

    fn confirmed() -> Event {
        let hash = "00".repeat(32);
        let records = json!({
            "request": hash, "offer": hash, "accept": hash, "result": hash, "verify": hash,
            "payments": [hash],
        });
        let claims =
            [ONE, TWO].map(|tx_hash| json!({ "chain_id": 8453, "tx_hash": tx_hash, "ordinal": 0 }));
        event(json!({
            "type": "confirmed", "evidence": [], "claims": claims, "records": records,
            "provider_seq": 0,
        }))
    }

    fn reversed(tx_hash: &str) -> Event {
        event(json!({
            "type": "reversed", "tx_hash": tx_hash, "provider_seq": 1,
            "provider_prev": "00".repeat(32),
        }))
    }

    fn returned(tx_hash: &str) -> Event {
        event(json!({ "type": "returned", "tx_hash": tx_hash }))
    }

    fn event(value: serde_json::Value) -> Event {
        Event::from_value(&value).unwrap()
    }

    /// Price and fee may come by a transaction each, and each disappears by itself.
    #[test]
    fn lc_8_the_standing_is_what_the_stream_adds_up_to() {
        // A stream that no ledger writes makes no payment out of nothing.
        let mut settling = Settling::default();
        settling.take(&returned(TWO));
        assert_eq!(settling.standing(), Standing::None);

        let steps = [
            (confirmed(), Standing::Paid),
            // What was bound late besides is no part of what paid.
            (reversed(LATE), Standing::Paid),
            (returned(LATE), Standing::Paid),
            (reversed(ONE), Standing::Reversed),
            (reversed(TWO), Standing::Reversed),
            (returned(ONE), Standing::Reversed),
            (returned(TWO), Standing::Returned),
            (reversed(TWO), Standing::Reversed),
            (returned(TWO), Standing::Returned),
        ];
        let mut settling = Settling::default();
        assert_eq!(settling.standing(), Standing::None);
        for (place, (event, expected)) in steps.into_iter().enumerate() {
            settling.take(&event);
            assert_eq!(settling.standing(), expected, "{place}");
            let word = serde_json::to_value(expected).unwrap();
            assert_eq!(word, expected.as_str());
        }
    }
}
