//! Statements that the ledger alone attests and that no row of the report counts (ledger-contract.md section 9).

use std::collections::BTreeMap;

use serde::Serialize;
use x811_protocol::named;

named! {
    /// A kind of statement that the ledger alone attests; its text is words for however many there are.
    #[derive(Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Attested {
        /// The time of every record, and its place between the records of other streams.
        Times = "times of records, and their order between streams",
        /// Parameters, rules and keys of the ledger that the operator set.
        Terms = "parameters, rules and ledger keys that the operator set",
        /// Orders of agents of which the log does not say that they are operators.
        Operators = "orders of operators: that their signers are operators",
        /// Erasures that keep no signed order.
        UnorderedErasures = "erasures without a signed order",
        /// Payments that are final as of a head above every head that was recorded before.
        FinalHeads = "final payments whose finalized head is above every head recorded before",
        /// Messages recorded after a message in another stream that their sender signed later.
        SigningOrder = "messages recorded after one that the same sender signed later in another stream",
    }
}

/// The statements of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct AttestedCount {
    /// Their number.
    pub count: u64,
    /// Position of the first.
    pub first: u64,
}

/// The statements of each kind.
pub(crate) type AttestedCounts = BTreeMap<Attested, AttestedCount>;
