//! A receipt in whichever of its two forms a file has.

use x811_eventlog::Policy;
use x811_ledger::receipt::{Checked, CompactReceipt, Receipt, verify, verify_compact};

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

    pub(super) fn verify(&self, trust: Option<&Policy>) -> Checked {
        match self {
            AnyReceipt::Whole(receipt) => verify(receipt, trust),
            AnyReceipt::Compact(receipt) => verify_compact(receipt, trust),
        }
    }
}
