//! The transfers that the confirmation claims: that they are what was declared, and what the rules
//! take for what was due. That they are on the network is the ledger's word.

use super::grounds::{Declared, Grounds};
use super::messages::Messages;
use super::paid::PaidTransfer;
use super::settled::settles;
use super::steps::{Broken, Steps, broken};
use crate::money::evidence::{are_of_one_branch, head_of};
use x811_protocol::authorization::{fee_nonce, payment_nonce};
use x811_protocol::event::{Claim, Confirmed, Evidence, Level, PayerBinding};
use x811_protocol::evm::{EvmAddress, TxHash};
use x811_protocol::observation::Transfer;
use x811_protocol::parameters::Network;

/// The claimed transfers with their evidence, each claimed once and shown as a look at one network
/// shows it.
///
/// # Errors
/// A claim that is there twice, or that no evidence has; evidence that contradicts itself.
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
    let mut shown: Vec<TxHash> = confirmed.claims.iter().map(|claim| claim.tx_hash).collect();
    shown.dedup();
    if !confirmed.evidence.iter().map(|it| it.tx_hash).eq(shown) {
        let sentence = "there is not one evidence for each transaction that is claimed from";
        return Err(broken(about, sentence));
    }
    for evidence in &confirmed.evidence {
        plausible(evidence).map_err(|sentence| broken(about, sentence))?;
    }
    one_branch(confirmed).map_err(|sentence| broken(about, sentence))?;
    Ok(transfers)
}

/// Whether evidence can be what somebody saw.
fn plausible(evidence: &Evidence) -> Result<(), &'static str> {
    let transfers = &evidence.transfers;
    if evidence.endpoints.is_empty() {
        return Err("no endpoint showed a transaction that is claimed from");
    }
    let endpoints = &evidence.endpoints;
    let is_twice = |(index, one): (usize, &String)| endpoints[..index].contains(one);
    if endpoints.iter().enumerate().any(is_twice) {
        return Err("an endpoint is named twice, and each speaks once");
    }
    if !transfers.is_sorted_by(|one, next| one.ordinal < next.ordinal) {
        return Err("the transfers of a transaction are not in order of their ordinals");
    }
    let mut ordinals = transfers.iter().map(|transfer| transfer.ordinal);
    if !ordinals.all(|ordinal| ordinal < evidence.transfer_count) {
        return Err("a transfer is counted beyond the transaction's transfers");
    }
    if transfers.iter().any(|transfer| transfer.amount.is_zero()) {
        return Err("a transfer of nothing stands in the evidence");
    }
    Ok(())
}

/// All that is claimed was seen at one moment on one network.
fn one_branch(confirmed: &Confirmed) -> Result<(), &'static str> {
    let Some(first) = confirmed.evidence.first() else {
        return Ok(());
    };
    let chain_id = confirmed.claims.first().map(|claim| claim.chain_id);
    let mut claims = confirmed.claims.iter();
    let is_one_network = claims.all(|claim| Some(claim.chain_id) == chain_id);
    let mut others = confirmed.evidence.iter();
    if !is_one_network || !others.all(|it| it.network == first.network) {
        return Err("the claimed transfers are on several networks");
    }
    let is_same_height = |one: &Evidence, two: &Evidence| one.block.number == two.block.number;
    for (index, one) in confirmed.evidence.iter().enumerate() {
        let mut same = confirmed.evidence[..index].iter();
        if same.any(|two| is_same_height(one, two) && one.block != two.block) {
            return Err("two blocks of one height are in the evidence");
        }
    }
    for two in confirmed.evidence.windows(2) {
        if head_of(&two[0]) != head_of(&two[1]) {
            return Err("the depths are not counted from one head");
        }
        if !are_of_one_branch(&two[0], &two[1]) {
            return Err("no branch has all blocks of the evidence");
        }
    }
    Ok(())
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

/// The nonces that stand for these transfers: to the payee the payment's, to the treasury the fee's.
pub(super) fn own_nonces(transfers: &mut [PaidTransfer], grounds: Grounds<'_>) {
    let (ledger, interaction) = (grounds.ledger, grounds.interaction);
    let offer_hash = grounds.messages.offered().payload_hash;
    for transfer in transfers {
        let nonce = match transfer.to == grounds.terms.payee {
            true => payment_nonce(ledger, interaction, offer_hash),
            false => fee_nonce(ledger, interaction, offer_hash),
        };
        transfer.authorization_nonce = Some(nonce);
    }
}

/// The same with what the signed messages and the parameters at a position say of them.
///
/// # Errors
/// They are not what was declared, not of that network, or not what settles what was due.
pub(super) fn paid_transfers(
    grounds: Grounds<'_>,
    confirmed: &Confirmed,
    steps: &mut Steps,
) -> Result<Vec<PaidTransfer>, Broken> {
    let mut transfers = claimed(confirmed)?;
    let network = network(grounds)?;
    on_network(&mut transfers, grounds, network, steps)?;
    let declared = declared(grounds.messages)?;
    wallets(&mut transfers, &declared, steps)?;
    let settled = settles(grounds, network, &declared, confirmed);
    settled.map_err(|sentence| broken("transfers", sentence))?;
    steps.asserted("transfers", sentence(&transfers));
    by_fewer(grounds, network, confirmed, steps);
    elsewhere(&transfers, steps);
    Ok(transfers)
}

/// Counts evidence by fewer endpoints than the parameters in the file ask for. The ledger holds a
/// confirmation to the parameters of that moment, which may be others.
fn by_fewer(grounds: Grounds<'_>, network: &Network, confirmed: &Confirmed, steps: &mut Steps) {
    let fewest = confirmed
        .evidence
        .iter()
        .map(|it| it.endpoints.len() as u64);
    let quorum = network.endpoint_quorum.unwrap_or_default();
    if let Some(fewest) = fewest.min().filter(|fewest| *fewest < quorum) {
        let sentence = format!(
            "whether {fewest} of {quorum} endpoints were enough: the parameters at position {} ask for \
             {quorum}, and whether later ones ask for fewer, an audit of the whole log shows",
            grounds.parameters.0
        );
        steps.not_checked("endpoints", sentence);
    }
}

/// The network that the PAYMENTs are on.
fn network<'a>(grounds: Grounds<'a>) -> Result<&'a Network, Broken> {
    let payments = &grounds.messages.payments;
    let first = payments.first().map(|it| it.facts.network.as_str());
    let mut others = payments.iter();
    let first = first.filter(|first| others.all(|it| it.facts.network == *first));
    let first = first.ok_or_else(|| broken("network", "the PAYMENTs are on several networks"))?;
    let network = grounds.parameters.1.network(first);
    network.ok_or_else(|| {
        let sentence = "the PAYMENT is on a network that the ledger has not";
        broken("network", sentence)
    })
}

fn on_network(
    transfers: &mut [PaidTransfer],
    grounds: Grounds<'_>,
    network: &Network,
    steps: &mut Steps,
) -> Result<(), Broken> {
    let about = "network";
    for transfer in transfers.iter_mut() {
        if transfer.network != network.name || transfer.chain_id != network.chain_id {
            let sentence = "a transfer is on another network than the PAYMENT says";
            return Err(broken(about, sentence));
        }
        transfer.token = Some(network.token);
    }
    if !transfers.is_empty() {
        let sentence = format!(
            "{} is chain {} and its USDC {}, confirmed from {} blocks on, by the parameters at \
             position {}{}",
            network.name,
            network.chain_id,
            network.token.to_checksum(),
            network.confirmed_depth,
            grounds.parameters.0,
            quorum(network)
        );
        steps.asserted(about, sentence);
    }
    Ok(())
}

fn quorum(network: &Network) -> String {
    match network.endpoint_quorum {
        None => String::new(),
        Some(1) => ", which take the word of one endpoint".to_owned(),
        Some(quorum) => format!(", which ask for {quorum} endpoints"),
    }
}

/// Every transaction that a PAYMENT names, in order.
fn declared(messages: &Messages) -> Result<Vec<Declared<'_>>, Broken> {
    let mut declared: Vec<Declared<'_>> = Vec::new();
    for message in &messages.payments {
        let binding = message.accepted.derived.payer_binding;
        let binding = binding
            .ok_or_else(|| broken("wallets", "a PAYMENT does not say how its payer is bound"))?;
        let payment = &message.facts;
        for tx_hash in std::iter::once(payment.tx_hash).chain(payment.fee_tx_hash) {
            if declared.iter().all(|known| known.tx_hash != tx_hash) {
                declared.push(Declared {
                    tx_hash,
                    payment,
                    binding,
                });
            }
        }
    }
    Ok(declared)
}

fn wallets(
    transfers: &mut [PaidTransfer],
    declared: &[Declared<'_>],
    steps: &mut Steps,
) -> Result<(), Broken> {
    let mut said = Vec::new();
    for transfer in transfers {
        let mut declared = declared.iter();
        let declared = declared.find(|known| known.tx_hash == transfer.tx_hash);
        let is_of_payer = |known: &&Declared<'_>| known.payment.payer_address == transfer.from;
        let declared = declared.filter(is_of_payer).ok_or_else(|| {
            let sentence = "a claimed transfer is in no PAYMENT of its payer";
            broken("transfers", sentence)
        })?;
        transfer.payer_binding = Some(declared.binding);
        let sentence = bound(transfer.from, declared.binding);
        if !said.contains(&sentence) {
            said.push(sentence);
        }
    }
    if !said.is_empty() {
        steps.asserted("wallets", said.join("; "));
    }
    Ok(())
}

fn bound(payer: EvmAddress, binding: PayerBinding) -> String {
    let payer = payer.to_checksum();
    match binding {
        PayerBinding::Wallet => {
            format!("the payer {payer} is bound to the initiator by a signature of its own")
        }
        PayerBinding::Authorization => {
            format!("the payer {payer} authorised this interaction's nonce (EIP-3009)")
        }
        PayerBinding::Unchecked => {
            format!("whose the payer {payer} is was not checked")
        }
    }
}

/// A transfer names no ledger unless it was made under a nonce that does.
pub(super) fn elsewhere(transfers: &[PaidTransfer], steps: &mut Steps) {
    let is_plain = |it: &PaidTransfer| it.payer_binding != Some(PayerBinding::Authorization);
    if transfers.iter().any(is_plain) {
        let sentence = "whether the same transfer pays at another ledger as well: a transfer that \
                        was not made under this interaction's nonce (EIP-3009) names no ledger, so \
                        ask the other ledgers that the two agents use";
        steps.add(
            "elsewhere",
            super::steps::ClaimVerdict::NotChecked,
            sentence,
        );
    }
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
