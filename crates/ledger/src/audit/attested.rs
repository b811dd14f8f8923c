//! Statements that the ledger alone attests and that no row of the report counts (ledger-contract.md section 9).

use std::collections::BTreeMap;

use serde::Serialize;
use x811_protocol::event::{Event, ExclusionLifted, LedgerEvent};
use x811_protocol::named;
use x811_protocol::stream::{Stream, Subject};

use super::auditor::Auditor;

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
pub(super) type AttestedCounts = BTreeMap<Attested, AttestedCount>;

impl Auditor {
    /// Counts the statements of a replayed record that the ledger alone attests.
    pub(super) fn attest(&mut self, stream: Option<&Stream>, position: u64, event: &Event) {
        let remarks = &mut self.remarks;
        remarks.attest(Attested::Times, position);
        if let Event::Ledger(event) = event {
            match event {
                LedgerEvent::ParametersSet(_)
                | LedgerEvent::RulesChanged(_)
                | LedgerEvent::KeyRotated(_) => remarks.attest(Attested::Terms, position),
                LedgerEvent::BodiesErased(erased) => {
                    remarks.attest(Attested::Operators, position);
                    if erased.order.is_none() {
                        remarks.attest(Attested::UnorderedErasures, position);
                    }
                }
                LedgerEvent::ExclusionLifted(lifted) => {
                    remarks.attest(Attested::Operators, position);
                    let sentence = stream.and_then(|stream| lifted_by(stream, lifted));
                    if let Some(sentence) = sentence {
                        remarks.add(position, sentence);
                    }
                }
                LedgerEvent::Opened(_) | LedgerEvent::Resumed(_) => {}
            }
        }
        if let Some(stream) = stream {
            self.signing_order.take((stream, position), event, remarks);
        }
    }
}

/// A sentence about who lifted an exclusion; `None` where the order is not signed, which is a finding.
fn lifted_by(stream: &Stream, lifted: &ExclusionLifted) -> Option<String> {
    let Stream::Of(Subject::Conduct(agent)) = stream else {
        return None;
    };
    let signer = lifted.order.signer(*agent, lifted.excluded).ok()?;
    Some(format!(
        "the exclusion of {agent} at position {} was lifted by {}, whose key {} signed the order; that this \
         agent is an operator is attested by the ledger only",
        lifted.excluded, lifted.operator, signer.key
    ))
}
