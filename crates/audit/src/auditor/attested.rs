//! Counts what the ledger alone attests.

use crate::finding::attested::Attested;

use super::Auditor;
use x811_protocol::event::{Event, ExclusionLifted, LedgerEvent};
use x811_protocol::stream::{Stream, Subject};

impl Auditor {
    /// Counts the statements of a replayed record that the ledger alone attests.
    pub(crate) fn attest(&mut self, stream: Option<&Stream>, position: u64, event: &Event) {
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
