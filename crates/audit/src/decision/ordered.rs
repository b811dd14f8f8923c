//! Who had bodies erased. What the operator signed is held to the record, where it keeps that. The
//! rest is the ledger's word: the log names no operators, so nothing in it says whose order counts,
//! and records of older versions keep no order.

use x811_protocol::event::BodiesErased;
use x811_protocol::time::TimestampMs;

use crate::finding::findings::{Cause, Findings, Spot};
use crate::finding::verdict::Verdict;
use x811_world::agent::Agent;

/// Whether `operator`, the agent that the record names, ordered this, and for its moment `at`. Never
/// proven: that an agent's orders count is configuration.
pub(crate) fn judge(
    spot: &Spot,
    erased: &BodiesErased,
    operator: Option<&Agent>,
    at: TimestampMs,
    findings: &mut Findings,
) -> Verdict {
    let Some(order) = &erased.order else {
        return Verdict::Asserted;
    };
    let signer = match order.signer(&erased.reason_code) {
        Ok(signer) => signer,
        Err(why) => {
            findings.add(spot, "order", Cause::ProofInvalid, why.to_string());
            return Verdict::Broken;
        }
    };
    if signer.did != erased.operator {
        let sentence = format!("{} signed the order, and not the operator", signer.did);
        findings.add(spot, "order", Cause::ProofInvalid, sentence);
        return Verdict::Broken;
    }
    if let Err(why) = order.check_fresh(at) {
        findings.add(spot, "order", Cause::ReDecisionDiffers, why.to_string());
        return Verdict::Broken;
    }
    // Of one whose records are not here nobody knows the keys.
    if operator.is_some_and(|operator| operator.key(&signer.key).is_none()) {
        let sentence = format!("{} was no key of the operator then", signer.key);
        findings.add(spot, "order", Cause::KeyNotTheSenders, sentence);
        return Verdict::Broken;
    }
    Verdict::Asserted
}
