//! What an operator signed to have bodies erased: the request itself (RFC 9421), kept in the record, so
//! that whoever reads the log need not believe the ledger that somebody ordered it.

use super::signed_request::{NotOrdered, SignedRequest};
use crate::id::{AgreementId, ContractId, InteractionId, SessionId};
use crate::key::KeyId;
use crate::signature::Signature;
use crate::stream::Subject;
use crate::time::TimestampMs;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// An operator's signed request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct ErasureOrder {
    /// Whose bodies; with the reason it gives path and query.
    pub subject: Subject,
    /// Host and port that it was sent to, in lower case, without the port of the scheme.
    pub authority: String,
    /// The value of `@signature-params`: what is covered, when it was created, the nonce, the key.
    pub parameters: String,
    /// By the key in `keyid`.
    pub signature: Signature,
}

/// The same as a record has it: the subject is one of four members.
#[skip_serializing_none]
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    interaction: Option<InteractionId>,
    contract: Option<ContractId>,
    session: Option<SessionId>,
    agreement: Option<AgreementId>,
    authority: String,
    parameters: String,
    signature: Signature,
}

impl From<ErasureOrder> for Written {
    fn from(order: ErasureOrder) -> Written {
        // Others are not erased: an order that named one would be read by nobody.
        Written {
            interaction: order.subject.interaction(),
            contract: order.subject.contract(),
            session: order.subject.session(),
            agreement: order.subject.agreement(),
            authority: order.authority,
            parameters: order.parameters,
            signature: order.signature,
        }
    }
}

impl TryFrom<Written> for ErasureOrder {
    type Error = &'static str;

    fn try_from(written: Written) -> Result<ErasureOrder, &'static str> {
        let named = [
            written.interaction.map(Subject::Interaction),
            written.contract.map(Subject::Contract),
            written.session.map(Subject::Session),
            written.agreement.map(Subject::Agreement),
        ];
        let mut named = named.into_iter().flatten();
        let (Some(subject), None) = (named.next(), named.next()) else {
            return Err(
                "an order names an interaction, a contract, a session or an agreement, and one of them",
            );
        };
        Ok(ErasureOrder {
            subject,
            authority: written.authority,
            parameters: written.parameters,
            signature: written.signature,
        })
    }
}

impl ErasureOrder {
    /// The key that signed the order for this reason.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn signer(&self, reason_code: &str) -> Result<KeyId, NotOrdered> {
        let (path, query) = ErasureOrder::target(self.subject, reason_code);
        self.request().signer(&path, &query)
    }

    /// Whether the order is taken at `at`, by the ledger's clock, as any signed request is.
    ///
    /// # Errors
    /// Why it is not.
    pub fn check_fresh(&self, at: TimestampMs) -> Result<(), NotOrdered> {
        self.request().check_fresh(at)
    }

    fn request(&self) -> SignedRequest<'_> {
        SignedRequest {
            authority: &self.authority,
            parameters: &self.parameters,
            signature: self.signature,
        }
    }

    /// Path and query of the request, as they are signed.
    #[must_use]
    pub fn target(subject: Subject, reason_code: &str) -> (String, String) {
        (
            format!("/api/v1/{}/erasure", subject.path()),
            format!("reason_code={reason_code}"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::did::Did;
    use crate::key::SecretKey;
    use crate::signed_read::sign;
    use crate::signed_read::{NotFresh, ReadProof, Target};

    const INTERACTION: &str = "019b76da-a800-7000-8000-000000000001";
    const OPERATOR: &str = "did:x811:019b76da-a800-7000-8000-0000000000d2";

    fn order(key: &SecretKey, reason_code: &str) -> ErasureOrder {
        order_of(
            format!("interaction:{INTERACTION}").parse().unwrap(),
            key,
            reason_code,
        )
    }

    fn order_of(subject: Subject, key: &SecretKey, reason_code: &str) -> ErasureOrder {
        let operator: Did = OPERATOR.parse().unwrap();
        let (path, query) = ErasureOrder::target(subject, reason_code);
        let target = Target {
            method: "POST",
            authority: "ledger.example:8811",
            path: &path,
            query: Some(&query),
        };
        let fields = sign(&target, operator, key, 1_767_225_600, [7; 16]);
        let (input, signature) = (fields.signature_input, fields.signature);
        let proof = ReadProof::parse(input.as_bytes(), signature.as_bytes()).unwrap();
        ErasureOrder {
            subject,
            authority: "ledger.example:8811".to_owned(),
            parameters: proof.parameters().to_owned(),
            signature: proof.signature(),
        }
    }

    #[test]
    fn rec_4_an_order_names_its_signer_for_one_interaction_and_one_reason() {
        let key = SecretKey::from_seed([1; 32]);
        let good = order(&key, "gdpr_request");
        let signer = good.signer("gdpr_request").unwrap();
        assert_eq!(signer.to_string(), format!("{OPERATOR}#{}", key.public()));
        assert_eq!(good.signer("spam"), Err(NotOrdered::Signature));
        let read: ErasureOrder =
            serde_json::from_value(serde_json::to_value(&good).unwrap()).unwrap();
        assert_eq!(read, good);

        let mut elsewhere = good.clone();
        elsewhere.authority = "ledger.example".to_owned();
        let mut another = good.clone();
        let other_id = INTERACTION.replace("01", "02");
        another.subject = Subject::Interaction(other_id.parse().unwrap());
        let mut unsigned = good.clone();
        unsigned.signature = Signature::from_bytes([7; 64]);
        // Subjects of one id are several.
        let of_others = [
            Subject::Contract(INTERACTION.parse().unwrap()),
            Subject::Session(INTERACTION.parse().unwrap()),
            Subject::Agreement(INTERACTION.parse().unwrap()),
        ];
        let of_others = of_others.map(|subject| ErasureOrder {
            subject,
            ..good.clone()
        });
        for wrong in [elsewhere, another, unsigned].into_iter().chain(of_others) {
            assert_eq!(wrong.signer("gdpr_request"), Err(NotOrdered::Signature));
        }
    }

    #[test]
    fn mach_6_an_order_names_one_subject() {
        let key = SecretKey::from_seed([1; 32]);
        for (member, subject) in [
            ("contract", Subject::Contract(INTERACTION.parse().unwrap())),
            ("session", Subject::Session(INTERACTION.parse().unwrap())),
            (
                "agreement",
                Subject::Agreement(INTERACTION.parse().unwrap()),
            ),
        ] {
            let order = order_of(subject, &key, "spam");
            order.signer("spam").unwrap();
            let written = serde_json::to_value(&order).unwrap();
            assert_eq!(written[member], INTERACTION);
            assert_eq!(written.get("interaction"), None);
            let read: ErasureOrder = serde_json::from_value(written.clone()).unwrap();
            assert_eq!(read, order);
            let mut both = written.clone();
            both["interaction"] = INTERACTION.into();
            let mut neither = written;
            neither.as_object_mut().unwrap().remove(member);
            for wrong in [both, neither] {
                assert!(serde_json::from_value::<ErasureOrder>(wrong).is_err());
            }
        }
    }

    #[test]
    fn rec_4_an_order_is_for_its_time() {
        let order = order(&SecretKey::from_seed([1; 32]), "gdpr_request");
        let created_ms = 1_767_225_600_000_u64;
        for (at_ms, expected) in [
            (created_ms, Ok(())),
            (created_ms + 60_000, Ok(())),
            (created_ms - 5_000, Ok(())),
            (created_ms + 60_001, Err(NotFresh::Created.into())),
            (created_ms - 5_001, Err(NotFresh::Created.into())),
            (0, Err(NotFresh::Created.into())),
            (u64::MAX, Err(NotFresh::Created.into())),
        ] {
            assert_eq!(order.check_fresh(TimestampMs::new(at_ms)), expected);
        }
        let expires = order.parameters.clone() + ";expires=1767225610";
        let expiring = ErasureOrder {
            parameters: expires,
            ..order
        };
        let at = |after_ms| TimestampMs::new(created_ms + after_ms);
        assert_eq!(expiring.check_fresh(at(10_000)), Ok(()));
        let expired = Err(NotFresh::Expired.into());
        assert_eq!(expiring.check_fresh(at(10_001)), expired);
    }

    #[test]
    fn rec_4_the_parameters_of_an_order_have_one_form() {
        let good = order(&SecretKey::from_seed([1; 32]), "gdpr_request");
        for parameters in [
            String::new(),
            good.parameters.replace(";nonce", "; nonce"),
            format!("{},sig2={}", good.parameters, good.parameters),
            good.parameters.replace("\"@query\"", "\"@path\""),
        ] {
            let wrong = ErasureOrder {
                parameters,
                ..good.clone()
            };
            let refused = wrong.signer("gdpr_request");
            assert!(matches!(refused, Err(NotOrdered::Form(_))), "{wrong:?}");
        }
    }
}
