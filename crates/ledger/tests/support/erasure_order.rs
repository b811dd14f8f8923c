//! What an operator signs to have bodies erased.

use x811_protocol::event::ErasureOrder;
use x811_protocol::signed_read::{ReadProof, Target, sign};
use x811_protocol::stream::Subject;

use crate::party::Party;

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
