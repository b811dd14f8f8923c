//! What an operator signs to have bodies erased.

use x811_ledger::sequencer::ErasureAnswer;
use x811_protocol::event::ErasureOrder;
use x811_protocol::refusal::Refusal;
use x811_protocol::signed_read::{ReadProof, Target, sign};
use x811_protocol::stream::Subject;
use x811_world::erasure::ErasureRequest;

use super::ledgerbox::Ledgerbox;
use super::party::Party;

impl Ledgerbox {
    /// Its operator has the bodies of the subject erased, by an order of now.
    pub(crate) async fn erase(
        &self,
        subject: impl Into<Subject>,
    ) -> Result<ErasureAnswer, Refusal> {
        let (subject, now_s) = (subject.into(), self.now().as_ms() / 1_000);
        let order = self.identity.order_erasure(subject, now_s);
        self.erase_by(subject, Some(order)).await
    }

    /// The same by that order, or without one.
    pub(crate) async fn erase_by(
        &self,
        subject: impl Into<Subject>,
        order: Option<ErasureOrder>,
    ) -> Result<ErasureAnswer, Refusal> {
        let request = ErasureRequest {
            subject: subject.into(),
            operator: self.identity.did,
            reason_code: "gdpr_request".parse().unwrap(),
            order,
        };
        self.ledger().erase(request).await
    }
}

impl Party {
    /// Signs that the bodies of the subject be erased, for `gdpr_request`.
    pub(crate) fn order_erasure(&self, subject: Subject, created_s: u64) -> ErasureOrder {
        let (path, query) = ErasureOrder::target(subject, "gdpr_request");
        let authority = "ledger.example";
        let target = Target {
            method: "POST",
            authority,
            path: &path,
            query: Some(&query),
        };
        let fields = sign(&target, self.did, &self.key, created_s, [7; 16]);
        let (input, signature) = (fields.signature_input, fields.signature);
        let proof = ReadProof::parse(input.as_bytes(), signature.as_bytes()).unwrap();
        ErasureOrder {
            subject,
            authority: authority.to_owned(),
            parameters: proof.parameters().to_owned(),
            signature: proof.signature(),
        }
    }
}
