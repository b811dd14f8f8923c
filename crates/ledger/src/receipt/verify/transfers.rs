//! The transfers that the confirmation claims: that they are what was declared and cover what was
//! due. That they are on the network is the ledger's word.

use super::messages::Messages;
use super::{Broken, PaidTransfer, Steps, Terms, broken};
use x811_protocol::authorization::{fee_nonce, payment_nonce};
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::event::{Claim, Confirmed, Evidence, Level, PayerBinding};
use x811_protocol::evm::EvmAddress;
use x811_protocol::facts::PaymentFacts;
use x811_protocol::id::InteractionId;
use x811_protocol::observation::Transfer;
use x811_protocol::parameters::Parameters;

/// The claimed transfers with their evidence, each claimed once.
///
/// # Errors
/// A claim that is there twice, or that no evidence has.
pub(super) fn claimed(confirmed: &Confirmed) -> Result<Vec<PaidTransfer>, Broken> {
    let about = "transfers";
    let mut transfers = Vec::new();
    for (index, claim) in confirmed.claims.iter().enumerate() {
        if confirmed.claims[..index].contains(claim) {
            return Err(broken(about, "a transfer is claimed twice"));
        }
        let evidence = confirmed.evidence.iter();
        let (evidence, transfer) = evidence
            .filter(|evidence| evidence.tx_hash == claim.tx_hash)
            .find_map(|evidence| Some((evidence, transfer(evidence, claim.ordinal)?)))
            .ok_or_else(|| broken(about, "a claimed transfer is not in the evidence"))?;
        transfers.push(paid_transfer(claim, evidence, transfer));
    }
    Ok(transfers)
}

fn transfer(evidence: &Evidence, ordinal: u64) -> Option<&Transfer> {
    let mut transfers = evidence.transfers.iter();
    transfers.find(|transfer| transfer.ordinal == ordinal)
}

fn paid_transfer(claim: &Claim, evidence: &Evidence, transfer: &Transfer) -> PaidTransfer {
    PaidTransfer {
        network: evidence.network.clone(),
        chain_id: claim.chain_id,
        token: None,
        tx_hash: claim.tx_hash,
        ordinal: claim.ordinal,
        from: transfer.from,
        payer_binding: None,
        authorization_nonce: None,
        to: transfer.to,
        amount: transfer.amount,
        block: evidence.block,
        depth: evidence.depth,
        level: evidence.level,
        endpoints: evidence.endpoints.clone(),
    }
}

/// The nonces that stand for these transfers of `interaction` at `ledger`, after the OFFER of that
/// hash: to the payee the payment's, to the treasury the fee's.
pub(super) fn own_nonces(
    transfers: &mut [PaidTransfer],
    (ledger, interaction): (Did, InteractionId),
    offer_hash: Digest,
    payee: EvmAddress,
) {
    for transfer in transfers {
        let nonce = match transfer.to == payee {
            true => payment_nonce(ledger, interaction, offer_hash),
            false => fee_nonce(ledger, interaction, offer_hash),
        };
        transfer.authorization_nonce = Some(nonce);
    }
}

/// The same with what the signed messages and the parameters at a position say of them.
///
/// # Errors
/// They are not what was declared, not of that network, or less than what was due.
pub(super) fn paid_transfers(
    messages: &Messages,
    terms: &Terms,
    confirmed: &Confirmed,
    parameters: &(u64, Parameters),
    steps: &mut Steps,
) -> Result<Vec<PaidTransfer>, Broken> {
    let mut transfers = claimed(confirmed)?;
    networks(&mut transfers, parameters, steps)?;
    wallets(&mut transfers, messages, steps)?;
    covers(&transfers, terms)?;
    steps.asserted("transfers", sentence(&transfers));
    Ok(transfers)
}

fn networks(
    transfers: &mut [PaidTransfer],
    (position, parameters): &(u64, Parameters),
    steps: &mut Steps,
) -> Result<(), Broken> {
    let about = "network";
    let mut said = Vec::new();
    for transfer in transfers {
        let network = parameters
            .network(&transfer.network)
            .filter(|network| network.chain_id == transfer.chain_id)
            .ok_or_else(|| broken(about, "a transfer is on a network that the ledger has not"))?;
        transfer.token = Some(network.token);
        let sentence = format!(
            "{} is chain {} and its USDC {}, confirmed from {} blocks on",
            network.name,
            network.chain_id,
            network.token.to_checksum(),
            network.confirmed_depth
        );
        if !said.contains(&sentence) {
            said.push(sentence);
        }
    }
    if !said.is_empty() {
        let said = said.join("; ");
        steps.asserted(
            about,
            format!("{said}, by the parameters at position {position}"),
        );
    }
    Ok(())
}

fn wallets(
    transfers: &mut [PaidTransfer],
    messages: &Messages,
    steps: &mut Steps,
) -> Result<(), Broken> {
    let mut said = Vec::new();
    for transfer in transfers {
        let declares = |payment: &PaymentFacts| {
            payment.payer_address == transfer.from
                && (payment.tx_hash == transfer.tx_hash
                    || payment.fee_tx_hash == Some(transfer.tx_hash))
        };
        let payments = messages.payments.iter();
        let mut declared = payments.filter(|(_, payment)| declares(payment));
        let (payment, _) = declared.next().ok_or_else(|| {
            let sentence = "a claimed transfer is in no PAYMENT of its payer";
            broken("transfers", sentence)
        })?;
        transfer.payer_binding = payment.derived.payer_binding;
        let sentence = bound(transfer.from, transfer.payer_binding);
        if !said.contains(&sentence) {
            said.push(sentence);
        }
    }
    if !said.is_empty() {
        steps.asserted("wallets", said.join("; "));
    }
    Ok(())
}

fn bound(payer: EvmAddress, binding: Option<PayerBinding>) -> String {
    let payer = payer.to_checksum();
    match binding {
        Some(PayerBinding::Wallet) => {
            format!("the payer {payer} is bound to the initiator by a signature of its own")
        }
        Some(PayerBinding::Authorization) => {
            format!("the payer {payer} authorised this interaction's nonce (EIP-3009)")
        }
        Some(PayerBinding::Unchecked) | None => {
            format!("whose the payer {payer} is was not checked")
        }
    }
}

fn covers(transfers: &[PaidTransfer], terms: &Terms) -> Result<(), Broken> {
    let (mut total, mut to_payee) = (0_u64, 0_u64);
    for transfer in transfers {
        let amount = transfer.amount.as_micro_usdc();
        total = total.saturating_add(amount);
        if transfer.to == terms.payee {
            to_payee = to_payee.saturating_add(amount);
        }
    }
    if to_payee < terms.price.as_micro_usdc() || total < terms.total_cost.as_micro_usdc() {
        let sentence = "the claimed transfers are less than what was due";
        return Err(broken("transfers", sentence));
    }
    Ok(())
}

pub(super) fn sentence(transfers: &[PaidTransfer]) -> String {
    if transfers.is_empty() {
        return "nothing was due, and no transfer is claimed".to_owned();
    }
    let said: Vec<String> = transfers.iter().map(transfer_sentence).collect();
    said.join("; ")
}

fn transfer_sentence(transfer: &PaidTransfer) -> String {
    format!(
        "{} USDC from {} to {}: transfer {} of {}, in block {} ({}), {} at {} deep, asked: {}",
        transfer.amount.to_usdc_decimal(),
        transfer.from.to_checksum(),
        transfer.to.to_checksum(),
        transfer.ordinal,
        transfer.tx_hash,
        transfer.block.number,
        transfer.block.hash,
        level(transfer.level),
        transfer.depth,
        transfer.endpoints.join(", ")
    )
}

fn level(level: Level) -> &'static str {
    match level {
        Level::Seen => "seen",
        Level::Confirmed => "confirmed",
        Level::Safe => "safe",
        Level::Final => "final",
    }
}
