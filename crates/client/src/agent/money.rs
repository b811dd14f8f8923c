//! When a transfer may be broadcast, and what becomes of its PAYMENT (agents.md section 2).
//!
//! Sealed PAYMENT and signed transfer are both in the outbox before either leaves. That the transfer
//! is about to leave is written before it does: whoever is interrupted in between knows that it may
//! be on its way, and declares it.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use x811_protocol::digest::Digest;
use x811_protocol::evm::TxHash;
use x811_protocol::time::TimestampMs;

/// No transfer begins with less than this left to declare it in, in milliseconds.
pub const LEAST_WINDOW_MS: u64 = 20_000;

/// A signed transfer and how far it came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    /// Hash of the transaction.
    pub tx_hash: TxHash,
    /// The EIP-3009 nonce it is made under: it names ledger, interaction and OFFER.
    pub nonce: Digest,
    /// The signed transaction as [`crate::pay::SignedTransfer`] writes it; `None` where the token
    /// said that somebody has sent one under this nonce already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed: Option<Value>,
    /// Whether it may have left this computer.
    #[serde(default)]
    pub may_have_left: bool,
    /// Whether the network has it.
    #[serde(default)]
    pub has_arrived: bool,
}

/// What to do next with a PAYMENT in the outbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaymentMove {
    /// Write that the transfer may have left, before it does.
    Mark,
    /// Send the transfer.
    Broadcast,
    /// Send the PAYMENT.
    Declare,
    /// Take both out: the transfer never left, and there is too little time for it.
    Abandon,
}

impl Transfer {
    /// The next move, `deadline` being the end of the payment window; `None` while none is open to
    /// lapse, because a PAYMENT is recorded.
    pub fn next(&self, deadline: Option<TimestampMs>, now: TimestampMs) -> PaymentMove {
        let is_short = deadline.is_some_and(|end| end.since(now) < LEAST_WINDOW_MS);
        if self.has_arrived || self.signed.is_none() {
            return PaymentMove::Declare;
        }
        match (self.may_have_left, is_short) {
            (false, true) => PaymentMove::Abandon,
            (false, false) => PaymentMove::Mark,
            // It may be on its way: declared it counts, sent now it could come too late.
            (true, true) => PaymentMove::Declare,
            (true, false) => PaymentMove::Broadcast,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: TimestampMs = TimestampMs::new(1_000_000);

    fn transfer(may_have_left: bool, has_arrived: bool) -> Transfer {
        Transfer {
            tx_hash: TxHash::from_bytes([1; 32]),
            nonce: Digest::of(b"nonce"),
            signed: Some(Value::Null),
            may_have_left,
            has_arrived,
        }
    }

    #[test]
    fn ae_064_no_transfer_leaves_with_less_than_twenty_seconds_to_declare_it() {
        let in_ms = |ms| Some(NOW.saturating_add_ms(ms));
        // may have left, has arrived, end of the window, next
        let table = [
            (false, false, in_ms(20_000), PaymentMove::Mark),
            (false, false, in_ms(19_999), PaymentMove::Abandon),
            (false, false, in_ms(0), PaymentMove::Abandon),
            (false, false, None, PaymentMove::Mark),
            (true, false, in_ms(20_000), PaymentMove::Broadcast),
            (true, false, in_ms(19_999), PaymentMove::Declare),
            (true, false, None, PaymentMove::Broadcast),
            (true, true, in_ms(60_000), PaymentMove::Declare),
            (true, true, in_ms(1), PaymentMove::Declare),
        ];
        for (may_have_left, has_arrived, deadline, next) in table {
            let transfer = transfer(may_have_left, has_arrived);
            assert_eq!(
                transfer.next(deadline, NOW),
                next,
                "{may_have_left} {has_arrived} {deadline:?}"
            );
        }
    }

    #[test]
    fn ae_064_a_transfer_found_on_the_chain_is_declared_and_never_sent() {
        let found = Transfer {
            signed: None,
            ..transfer(false, false)
        };
        let end = Some(NOW.saturating_add_ms(5));
        assert_eq!(found.next(end, NOW), PaymentMove::Declare);
    }
}
