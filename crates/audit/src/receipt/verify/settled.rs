//! Whether the claimed transfers settle what was due, by the rules that the ledger decides by: the
//! same choice of claims, the depth and the age that its parameters ask for, and the binding of
//! payers (ledger-contract.md sections 4 and 5).

use super::grounds::{Declared, Grounds};
use x811_protocol::authorization::{fee_nonce, payment_nonce};
use x811_protocol::event::{Claim, Confirmed, Evidence, Level, PayerBinding};
use x811_protocol::evm::EvmAddress;
use x811_protocol::money::MicroUsdc;
use x811_protocol::parameters::{Leniency, Network, PayerBindingRule};
use x811_protocol::settlement::age::{fork_fault, is_shown_older};
use x811_protocol::settlement::claim::{Candidate, Due, choose};
use x811_protocol::settlement::level::is_safe;

type Fault = &'static str;

/// Holds the confirmation to the rules.
///
/// # Errors
/// A sentence: which rule it breaks.
pub(super) fn settles(
    grounds: Grounds<'_>,
    network: &Network,
    declared: &[Declared<'_>],
    confirmed: &Confirmed,
) -> Result<(), Fault> {
    in_a_form_that_is_taken(grounds)?;
    for it in declared {
        declared_well(grounds, it)?;
    }
    for evidence in &confirmed.evidence {
        let it = declared.iter().find(|it| it.tx_hash == evidence.tx_hash);
        let it = it.ok_or("a transaction is in the evidence that no PAYMENT names")?;
        fits(grounds, network, it, evidence)?;
        deep_enough(grounds, network, evidence)?;
        young_enough(grounds, network, evidence)?;
        authorized(grounds, network, it, evidence)?;
    }
    chosen(grounds, network, declared, confirmed)?;
    let paid = claimed_micro_usdc(confirmed);
    let total = u128::from(grounds.terms.total_cost.as_micro_usdc());
    let surplus = paid.saturating_sub(total);
    // As much as an amount can be is written for what is more.
    let most = u128::from(MicroUsdc::MAX.as_micro_usdc());
    let due = (surplus > 0).then_some(surplus.min(most));
    let said = confirmed.surplus.map(MicroUsdc::as_micro_usdc);
    if said.map(u128::from) != due {
        return Err("the surplus is not what the claimed transfers exceed the total by");
    }
    Ok(())
}

/// What the published SDK writes otherwise stands only under the leniency for it (decision 0190).
fn in_a_form_that_is_taken(grounds: Grounds<'_>) -> Result<(), Fault> {
    if grounds.parameters.1.is_lenient(Leniency::ReferenceSdk) {
        return Ok(());
    }
    if grounds.messages.names_key(grounds.interaction) {
        return Err("a message names an idempotency key, which the parameters do not allow");
    }
    let fee = grounds.messages.offered().check_exact_fee();
    fee.map_err(|_| "the fee of the OFFER is not 2.5 % of its price, half up")
}

/// What a ledger asks of a PAYMENT.
fn declared_well(grounds: Grounds<'_>, declared: &Declared<'_>) -> Result<(), Fault> {
    let (payment, terms) = (declared.payment, grounds.terms);
    if payment.payee_address != terms.payee {
        return Err("a PAYMENT names another account than the one that was to be paid");
    }
    if payment.amount < terms.total_cost {
        return Err("a PAYMENT says that less was paid than what was due");
    }
    let is_allowed = match (grounds.parameters.1.payer_binding, declared.binding) {
        (PayerBindingRule::Wallet, PayerBinding::Wallet | PayerBinding::Authorization)
        | (PayerBindingRule::Unchecked, PayerBinding::Unchecked) => true,
        (PayerBindingRule::Wallet, PayerBinding::Unchecked) => {
            grounds.parameters.1.is_lenient(Leniency::ReferenceSdk)
        }
        (PayerBindingRule::Unchecked, PayerBinding::Wallet | PayerBinding::Authorization) => false,
    };
    if !is_allowed {
        return Err("a payer is bound in a way that the parameters do not have");
    }
    let offer_hash = grounds.messages.offered().payload_hash;
    let own = payment_nonce(grounds.ledger, grounds.interaction, offer_hash);
    let nonce = payment.authorization_nonce;
    let is_missing = declared.binding == PayerBinding::Authorization && nonce.is_none();
    if is_missing || nonce.is_some_and(|nonce| nonce != own) {
        return Err("a PAYMENT does not name this interaction's nonce");
    }
    Ok(())
}

/// Every transfer shown is from the declared payer to the payee or the treasury.
fn fits(
    grounds: Grounds<'_>,
    network: &Network,
    declared: &Declared<'_>,
    evidence: &Evidence,
) -> Result<(), Fault> {
    let payee = grounds.terms.payee;
    let is_to_them = |to: EvmAddress| to == payee || Some(to) == network.treasury;
    let mut transfers = evidence.transfers.iter();
    if !transfers.all(|it| it.from == declared.payment.payer_address && is_to_them(it.to)) {
        return Err("a transfer is not from the declared payer to payee or treasury");
    }
    Ok(())
}

fn deep_enough(grounds: Grounds<'_>, network: &Network, evidence: &Evidence) -> Result<(), Fault> {
    if evidence.depth < network.confirmed_depth || evidence.level < Level::Confirmed {
        return Err("a transfer is not as deep as the parameters ask for");
    }
    let total = grounds.terms.total_cost;
    let needs_safe = network.safe_above.is_some_and(|limit| total > limit);
    let is_safe = is_safe(network, evidence.level, evidence.depth);
    if needs_safe && !is_safe {
        return Err("a total as large as this needs a block that is safe, by the parameters");
    }
    Ok(())
}

/// Under the interaction's own nonce nothing is too old.
fn young_enough(grounds: Grounds<'_>, network: &Network, evidence: &Evidence) -> Result<(), Fault> {
    let (heads, accepted_at) = grounds.messages.accepted_at();
    let is_own = has_nonce(evidence) && is_under_own_nonce(grounds, network, evidence);
    if is_shown_older(evidence, heads, accepted_at) && !is_own {
        return Err("a transfer is older than the ACCEPT, so it pays something else");
    }
    fork_fault(evidence, heads).map_or(Ok(()), Err)
}

fn authorized(
    grounds: Grounds<'_>,
    network: &Network,
    declared: &Declared<'_>,
    evidence: &Evidence,
) -> Result<(), Fault> {
    let is_due = declared.binding == PayerBinding::Authorization;
    let is_due = is_due && !evidence.transfers.is_empty();
    if !is_due && !has_nonce(evidence) {
        return Ok(());
    }
    let mut transfers = evidence.transfers.iter();
    let are_named = transfers.all(|it| it.authorization_nonce.is_some());
    if !is_under_own_nonce(grounds, network, evidence) || (is_due && !are_named) {
        return Err("the transfer was not made under this interaction's nonce (EIP-3009)");
    }
    Ok(())
}

/// True if a transfer names its nonce.
fn has_nonce(evidence: &Evidence) -> bool {
    let mut transfers = evidence.transfers.iter();
    transfers.any(|it| it.authorization_nonce.is_some())
}

/// Whether the nonces that are named are this interaction's: the payment's to the payee, the fee's to
/// the treasury.
fn is_under_own_nonce(grounds: Grounds<'_>, network: &Network, evidence: &Evidence) -> bool {
    let (ledger, interaction) = (grounds.ledger, grounds.interaction);
    let offer_hash = grounds.messages.offered().payload_hash;
    let [payment, fee] = [payment_nonce, fee_nonce].map(|of| of(ledger, interaction, offer_hash));
    let mut named = Vec::new();
    for transfer in &evidence.transfers {
        let is_own = |nonce| {
            (transfer.to == grounds.terms.payee && nonce == payment)
                || (Some(transfer.to) == network.treasury && nonce == fee)
        };
        match transfer.authorization_nonce {
            Some(nonce) if !is_own(nonce) || named.contains(&nonce) => return false,
            Some(nonce) => named.push(nonce),
            None => {}
        }
    }
    !named.is_empty()
}

/// The claims are what the rule of choice takes of them, all of them, in its order.
fn chosen(
    grounds: Grounds<'_>,
    network: &Network,
    declared: &[Declared<'_>],
    confirmed: &Confirmed,
) -> Result<(), Fault> {
    let terms = grounds.terms;
    let due = Due {
        price: terms.price,
        protocol_fee: terms.protocol_fee,
        total: terms.total_cost,
        payee: terms.payee,
        treasury: network.treasury,
    };
    let mut candidates = Vec::new();
    for it in declared {
        let of_it = claimed(confirmed).filter(|claimed| claimed.tx_hash == it.tx_hash);
        candidates.extend(of_it);
    }
    let chosen = choose(&due, &candidates);
    let chosen = chosen.ok_or("the claimed transfers are less than what was due")?;
    let claim = |it: &Candidate| Claim {
        chain_id: network.chain_id,
        tx_hash: it.tx_hash,
        ordinal: it.ordinal,
    };
    if !chosen
        .iter()
        .map(claim)
        .eq(confirmed.claims.iter().copied())
    {
        return Err("the claimed transfers are not those that the rule of choice takes");
    }
    Ok(())
}

/// The claimed transfers, in order of the evidence and their ordinals.
fn claimed(confirmed: &Confirmed) -> impl Iterator<Item = Candidate> {
    let of = |evidence: &Evidence| {
        let tx_hash = evidence.tx_hash;
        let shown = evidence.transfers.clone().into_iter();
        shown.map(move |it| Candidate {
            tx_hash,
            ordinal: it.ordinal,
            to: it.to,
            amount: it.amount,
        })
    };
    let shown = confirmed.evidence.iter().flat_map(of);
    shown.filter(|it| {
        let mut claims = confirmed.claims.iter();
        claims.any(|claim| (claim.tx_hash, claim.ordinal) == (it.tx_hash, it.ordinal))
    })
}

fn claimed_micro_usdc(confirmed: &Confirmed) -> u128 {
    let amounts = claimed(confirmed).map(|it| u128::from(it.amount.as_micro_usdc()));
    amounts.sum()
}
