//! The payload of `x811/payment` (AE-64, AE-65).

use serde_json::{Map, Value};

use super::PayloadRules;
use super::member::Members;
use crate::facts::{PaymentFacts, is_network_name};
use crate::refusal::Refusal;

/// Reads a PAYMENT.
///
/// A `fee_tx_hash` equal to `tx_hash` says that one transaction moved both parts: the fact is left
/// out, so that one transaction is declared once. The network's name is checked for its form only;
/// which networks there are is a setting of the ledger (AX-16). `authorization_nonce`, 64 lower-case
/// hex digits, is a member of ours: it says that the payer is proven by an EIP-3009 authorization
/// (ledger-contract.md section 4).
pub(super) fn facts(
    payload: &Map<String, Value>,
    rules: &PayloadRules,
) -> Result<PaymentFacts, Refusal> {
    let members = Members::new("PAYMENT", payload);
    let request_id = members.envelope_id("request_id")?;
    let offer_id = members.envelope_id("offer_id")?;
    let tx_hash = members.tx_hash("tx_hash")?;
    let amount = members.written_amount("amount", rules)?;
    members.currency()?;
    let network = members.string("network")?;
    if !is_network_name(network) {
        return Err(Refusal::shape(
            "network must be 1 to 32 of [a-z0-9-]; name a network of this ledger, such as base",
        ));
    }
    let payer_address = members.address("payer_address", rules)?;
    let payee_address = members.address("payee_address", rules)?;
    let fee_tx_hash = members.optional_tx_hash("fee_tx_hash")?;
    Ok(PaymentFacts {
        request_id,
        offer_id,
        tx_hash,
        fee_tx_hash: fee_tx_hash.filter(|hash| *hash != tx_hash),
        amount,
        payer_address,
        payee_address,
        network: network.to_owned(),
        authorization_nonce: members.optional_digest("authorization_nonce")?,
    })
}
