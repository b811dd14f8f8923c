//! Whether a payer's authorization (EIP-3009) is the interaction's own. The nonce stands for one
//! ledger, interaction and OFFER, so that everybody can compute it (settlement-watcher.md rule 18).
//!
//! Evidence names it where a transfer that fits was made under it. A PAYMENT whose payer is bound
//! by *authorization* alone rests on nothing else: there only such transfers fit.

use x811_protocol::authorization::{fee_nonce, payment_nonce};
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::event::{Evidence, PayerBinding};
use x811_protocol::evm::EvmAddress;
use x811_protocol::id::InteractionId;
use x811_protocol::observation::Transfer;
use x811_protocol::settlement::Declared;

use crate::finding::findings::Findings;
use crate::money::grounds::Grounds;

/// What the nonces of an interaction follow from; each is computed when it is asked for.
#[derive(Debug, Clone, Copy)]
struct Own {
    ledger: Did,
    interaction: InteractionId,
    offer_hash: Digest,
    payee: EvmAddress,
    treasury: Option<EvmAddress>,
}

impl Own {
    /// `None` where it is not known which ledger this is.
    fn of(grounds: &Grounds<'_>) -> Option<Own> {
        let ledger = grounds.decided.before.identity()?.did;
        let (interaction, offer) = (grounds.deal.opening.id, &grounds.deal.offer);
        Some(Own {
            ledger,
            interaction,
            offer_hash: offer.offer_hash,
            payee: offer.payee,
            treasury: grounds.bill.network.treasury,
        })
    }

    fn payment(&self) -> Digest {
        payment_nonce(self.ledger, self.interaction, self.offer_hash)
    }

    fn fee(&self) -> Digest {
        fee_nonce(self.ledger, self.interaction, self.offer_hash)
    }

    /// Whether the transfer says that it was made under its own nonce.
    fn made(&self, transfer: &Transfer) -> bool {
        let nonce = transfer.authorization_nonce;
        (transfer.to == self.payee && nonce == Some(self.payment()))
            || (Some(transfer.to) == self.treasury && nonce == Some(self.fee()))
    }
}

/// Whether what is shown was made under the interaction's own authorization: every transfer names its
/// nonce.
pub(crate) fn is_own(grounds: &Grounds<'_>, evidence: &Evidence) -> bool {
    let own = Own::of(grounds);
    let transfers = &evidence.transfers;
    !transfers.is_empty() && own.is_some_and(|own| transfers.iter().all(|it| own.made(it)))
}

/// Holds each transfer to its own nonce: the payment's or the fee's, by where it went, each once.
pub(crate) fn check(
    grounds: &Grounds<'_>,
    field: &str,
    evidence: &Evidence,
    declared: &Declared,
    findings: &mut Findings,
) {
    let Some(own) = Own::of(grounds) else {
        return;
    };
    let by_authorization = declared.binding == PayerBinding::Authorization;
    let mut used = Vec::new();
    for (index, transfer) in evidence.transfers.iter().enumerate() {
        let sentence = match transfer.authorization_nonce {
            None if by_authorization => {
                "the payer is bound by an authorization alone, and the transfer was not made under it"
            }
            None => continue,
            Some(_) if !own.made(transfer) => "this is no nonce of this interaction's transfer",
            Some(nonce) if used.contains(&nonce) => "an authorization moves one transfer",
            Some(nonce) => {
                used.push(nonce);
                continue;
            }
        };
        let field = format!("{field}.transfers[{index}].authorization_nonce");
        grounds.no_evidence(&field, sentence, findings);
    }
}

/// A nonce is good once: of a payer who is bound by authorization alone, one transfer goes to the
/// payee and one to the treasury, and no other fits.
pub(crate) fn is_used_once(grounds: &Grounds<'_>, transfers: &[Transfer]) -> bool {
    let payee = grounds.deal.offer.payee;
    let is_to_payee = transfers.iter().map(|transfer| transfer.to == payee);
    let to_payee = is_to_payee.clone().filter(|is_to_payee| *is_to_payee);
    to_payee.count() <= 1 && is_to_payee.filter(|is_to_payee| !is_to_payee).count() <= 1
}
