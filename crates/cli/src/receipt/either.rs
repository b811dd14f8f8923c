//! A receipt in whichever of its two forms a file has.

use x811_audit::export::foreign_file;
use x811_audit::receipt::{
    Checked, CompactReceipt, Receipt, Trusted, verify_compact_trusting, verify_trusting,
};
use x811_eventlog::Checkpoint;

use crate::failure::Failure;
use crate::kinds::{self, Kind};

/// What a file is instead of a receipt, where that is plain; a damaged receipt is not.
fn what_else(bytes: &[u8]) -> Option<&'static str> {
    if bytes.is_empty() {
        return Some("it is empty");
    }
    if CompactReceipt::may_be(bytes) {
        return None;
    }
    let has = |word: &[u8]| bytes.windows(word.len()).any(|part| part == word);
    if has(b"\"x811_receipt\"") {
        return foreign_file(bytes);
    }
    foreign_file(bytes).or_else(|| kinds::other_than(Kind::Receipt, bytes))
}

/// A file that cannot be read as a receipt.
pub(super) fn no_receipt(why: String) -> Failure {
    Failure::local("receipt", why)
        .hint("take it whole from the ledger: x811 receipt INTERACTION -o FILE")
}

pub(super) enum AnyReceipt {
    Whole(Box<Receipt>),
    Compact(Box<CompactReceipt>),
}

impl AnyReceipt {
    /// Reads a file; the error is a sentence.
    pub(super) fn from_bytes(bytes: &[u8]) -> Result<AnyReceipt, String> {
        if let Some(what) = what_else(bytes) {
            return Err(format!("the file is no receipt: {what}"));
        }
        if CompactReceipt::may_be(bytes) {
            let compact = CompactReceipt::from_bytes(bytes);
            let compact = compact.map_err(|error| error.to_string())?;
            return Ok(AnyReceipt::Compact(Box::new(compact)));
        }
        let whole = Receipt::from_bytes(bytes).map_err(|error| error.to_string())?;
        Ok(AnyReceipt::Whole(Box::new(whole)))
    }

    /// Verifies the receipt.
    pub(super) fn verify(&self, trusted: Trusted<'_>) -> Checked {
        match self {
            AnyReceipt::Whole(receipt) => verify_trusting(receipt, trusted),
            AnyReceipt::Compact(receipt) => verify_compact_trusting(receipt, trusted),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_receipt_says_what_it_is() {
        let table: [(&[u8], &str); 6] = [
            (b"", "empty"),
            (b"\x1f\x8b\x08\0", "gunzip"),
            (b"{\"did\":1,\"x811_export\":2}\nr {}\n", "x811 audit"),
            (b"hello\n", "no JSON"),
            (b"{\"wid\":\"01a2\",\"tokens\":[]}\n", "x811 trace verify"),
            (b"x811/01a2\n12\n", "--checkpoint"),
        ];
        for (bytes, expected) in table {
            let error = AnyReceipt::from_bytes(bytes).err().unwrap_or_default();
            assert!(error.contains(expected), "{error}");
        }
    }
}
