//! A receipt in whichever of its two forms a file has.

use x811_eventlog::{Checkpoint, Policy};
use x811_ledger::receipt::{
    Checked, CompactReceipt, Receipt, verify_compact_refreshed, verify_refreshed,
};
use x811_ledger::refresh::Refresh;

pub(super) enum AnyReceipt {
    Whole(Box<Receipt>),
    Compact(Box<CompactReceipt>),
}

impl AnyReceipt {
    /// Reads a file; the error is a sentence.
    pub(super) fn from_bytes(bytes: &[u8]) -> Result<AnyReceipt, String> {
        if CompactReceipt::may_be(bytes) {
            let compact = CompactReceipt::from_bytes(bytes);
            let compact = compact.map_err(|error| error.to_string())?;
            return Ok(AnyReceipt::Compact(Box::new(compact)));
        }
        let whole = Receipt::from_bytes(bytes).map_err(|error| error.to_string())?;
        Ok(AnyReceipt::Whole(Box::new(whole)))
    }

    pub(super) fn is_compact(&self) -> bool {
        matches!(self, AnyReceipt::Compact(_))
    }

    /// Verifies it, with what the ledger said later of its checkpoint.
    pub(super) fn verify(&self, trust: Option<&Policy>, refresh: Option<&Refresh>) -> Checked {
        match self {
            AnyReceipt::Whole(receipt) => verify_refreshed(receipt, trust, refresh),
            AnyReceipt::Compact(receipt) => verify_compact_refreshed(receipt, trust, refresh),
        }
    }

    /// Records that its checkpoint covers, by its own words; the error is a sentence.
    pub(super) fn size(&self) -> Result<u64, String> {
        match self {
            AnyReceipt::Whole(receipt) => {
                let claimed = Checkpoint::claimed(&receipt.checkpoint);
                Ok(claimed.map_err(|error| error.to_string())?.size)
            }
            AnyReceipt::Compact(receipt) => Ok(receipt.statement.receipt.proof.size),
        }
    }
}
