//! Exclusions that an operator lifted: the order is held to the record. That its signer's orders count is
//! configuration, so it is the ledger's word.

use x811_protocol::event::ExclusionLifted;
use x811_protocol::stream::{Stream, Subject};

use crate::finding::findings::{Cause, Findings};
use crate::finding::unchecked::Unchecked;
use crate::replay::decided::Decided;
use x811_world::erasure;

impl Decided<'_> {
    /// Holds a lifted exclusion to the order that the record keeps.
    pub(crate) fn lifted(&self, lifted: &ExclusionLifted, findings: &mut Findings) {
        let Stream::Of(Subject::Conduct(agent)) = self.stream else {
            return;
        };
        let signer = match lifted.order.signer(*agent, lifted.excluded) {
            Ok(signer) => signer,
            Err(why) => {
                findings.add(self.spot, "order", Cause::ProofInvalid, why.to_string());
                return;
            }
        };
        if signer.did != lifted.operator {
            let sentence = format!("{} signed the order, and not the operator", signer.did);
            findings.add(self.spot, "order", Cause::ProofInvalid, sentence);
            return;
        }
        if let Err(why) = lifted.order.check_fresh(self.at) {
            self.differs("order", why.to_string(), findings);
        }
        if self.leaves(Unchecked::Operators, findings) {
            return;
        }
        if erasure::check_operator(self.before, lifted.operator, self.at).is_err() {
            let sentence = "whoever had it lifted was no active agent of the ledger then";
            self.differs("operator", sentence, findings);
        }
        let operator = self.before.agent(lifted.operator);
        if operator.is_some_and(|operator| operator.key(&signer.key).is_none()) {
            let sentence = format!("{} was no key of the operator then", signer.key);
            findings.add(self.spot, "order", Cause::KeyNotTheSenders, sentence);
        }
    }
}
