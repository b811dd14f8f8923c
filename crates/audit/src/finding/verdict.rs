//! How well facts are known.

use serde::Serialize;

/// How well a fact is known (record.md section 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The body is there and says the same.
    Proven,
    /// The body is not there: the ledger's word, chained and signed over.
    Asserted,
    /// The body says otherwise.
    Broken,
}

/// How many facts, wallets, or roots are known how well.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct FactCounts {
    /// Envelopes whose members and facts the body proves; wallets whose key proves it.
    pub proven: u64,
    /// Envelopes whose body is not there; contract wallets, whose contracts were asked when they
    /// were bound and never are again.
    pub asserted: u64,
    /// Envelopes whose body says otherwise; wallets whose proof does not hold.
    pub broken: u64,
}

impl FactCounts {
    pub(crate) fn count(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Proven => self.proven += 1,
            Verdict::Asserted => self.asserted += 1,
            Verdict::Broken => self.broken += 1,
        }
    }
}

/// Writes a sum as text: a JSON number would lose digits.
pub(crate) fn as_text<S: serde::Serializer>(
    amount: &u128,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(amount)
}
