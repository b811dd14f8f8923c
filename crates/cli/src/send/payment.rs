//! `x811 send payment`.

use x811_client::compose::Payment;
use x811_client::http::LedgerInfo;
use x811_client::pay::{Declaration, PayClient};
use x811_protocol::authorization::payment_nonce;
use x811_protocol::code::Code;
use x811_protocol::digest::Digest;
use x811_protocol::evm::{EvmAddress, TxHash};
use x811_protocol::id::InteractionId;
use x811_protocol::money::MicroUsdc;
use x811_protocol::parameters::PayerBindingRule;

use super::case::{Case, Party};
use super::sent::Sent;
use super::{account, usdc};
use crate::context::Context;
use crate::failure::Failure;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which interaction
    interaction: InteractionId,
    /// The transaction that paid
    #[arg(long, value_name = "HASH")]
    tx: TxHash,
    /// The transaction that moved the fee, if it was another one
    #[arg(long, value_name = "HASH")]
    fee_tx: Option<TxHash>,
    /// The network; not needed when the ledger has only one
    #[arg(long, value_name = "NAME")]
    network: Option<String>,
    /// What was paid in all; the offer's total without it
    #[arg(long, value_name = "USDC", value_parser = usdc)]
    amount: Option<MicroUsdc>,
    /// The account that paid; your agent's wallet without it
    #[arg(long, value_name = "ADDRESS", value_parser = account)]
    payer: Option<EvmAddress>,
    /// The nonce of the EIP-3009 authorization it was paid under, if there was one
    #[arg(long, value_name = "NONCE", value_parser = nonce)]
    authorization_nonce: Option<Digest>,
    /// JSON-RPC endpoint at which the transaction is checked before it is named
    #[arg(
        long,
        alias = "rpc-url",
        env = "X811_RPC_URL",
        value_name = "URL",
        hide_env_values = true
    )]
    rpc: Option<String>,
    /// Name the transaction without a check
    #[arg(long)]
    unchecked: bool,
}

/// Names a transfer that was made elsewhere.
pub(crate) async fn run(args: Args, context: &Context) -> Result<Sent, Failure> {
    let case = Case::open(context, args.interaction, Party::Initiator).await?;
    let network = network_name(&case, args.network).await?;
    let wallet = case.identity.account();
    let payer = args.payer.or(wallet).ok_or_else(|| {
        Failure::usage("the agent has no wallet").hint("name the account that paid with --payer")
    })?;
    let (offer_id, offer) = case.offer()?;
    let payment = Payment {
        interaction: args.interaction,
        offer_id,
        tx_hash: args.tx,
        fee_tx_hash: args.fee_tx,
        amount: args.amount.unwrap_or(offer.total_cost),
        network,
        payer,
        payee: payee(&case)?,
        authorization_nonce: args.authorization_nonce,
    };
    if let Some(rpc_url) = args.rpc.filter(|_| !args.unchecked) {
        check(&case, &payment, &rpc_url).await?;
    }
    case.say(&payment).await
}

/// Refuses to name a transaction that the ledger would not count.
async fn check(case: &Case<'_>, payment: &Payment, rpc_url: &str) -> Result<(), Failure> {
    let info = case.client.info().await?;
    let network = network(case, Some(&payment.network)).await?;
    let declared = Declaration {
        payee: payment.payee,
        payer: payment.payer,
        is_bound: is_bound(case, &info, payment.payer).await?,
        nonce: payment_nonce(info.did, payment.interaction, case.offer()?.1.payload_hash),
    };
    let failed = |error| Failure::from(error).hint("--unchecked sends the PAYMENT without a check");
    let endpoint = PayClient::connect(rpc_url, network.chain_id, network.token).await;
    let inspection = endpoint.map_err(failed)?.inspect(payment.tx_hash).await;
    match inspection.map_err(failed)?.obstacle(&declared) {
        None => Ok(()),
        Some(obstacle) => Err(Failure::refused(Code::PaymentFailed, obstacle)
            .hint("nothing was sent to the ledger; --unchecked sends the PAYMENT all the same")),
    }
}

/// Whether plain transfers of an account count: it is a wallet of this agent, or the ledger asks for
/// no wallet.
pub(crate) async fn is_bound(
    case: &Case<'_>,
    info: &LedgerInfo,
    account: EvmAddress,
) -> Result<bool, Failure> {
    if info.payer_binding == PayerBindingRule::Unchecked {
        return Ok(true);
    }
    let agent = case.client.agent(case.identity.did).await?;
    Ok(agent.wallets.iter().any(|wallet| wallet.address == account))
}

/// 32 bytes of hex, with or without `0x`.
fn nonce(text: &str) -> Result<Digest, String> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let nonce = digits.to_ascii_lowercase().parse();
    nonce.map_err(|_| "not a nonce: write 64 hex digits".to_owned())
}

/// Who has to be paid, as fixed by the OFFER.
pub(crate) fn payee(case: &Case<'_>) -> Result<EvmAddress, Failure> {
    let (_, offer) = case.offer()?;
    let fixed = offer.payment_address.or(case.transcript.payee());
    fixed.ok_or_else(|| Failure::internal("the OFFER fixes no account to pay"))
}

async fn network_name(case: &Case<'_>, name: Option<String>) -> Result<String, Failure> {
    match name {
        Some(name) => Ok(name),
        None => Ok(network(case, None).await?.name),
    }
}

/// The network to pay on, as the ledger describes it.
pub(crate) async fn network(
    case: &Case<'_>,
    name: Option<&str>,
) -> Result<x811_client::http::NetworkInfo, Failure> {
    let info = case.client.info().await?;
    if let Some(network) = info.network(name) {
        return Ok(network.clone());
    }
    let names: Vec<&str> = info
        .networks
        .iter()
        .map(|network| network.name.as_str())
        .collect();
    let message = format!("this ledger settles on: {}", names.join(", "));
    Err(Failure::usage(&message).hint("name one with --network"))
}
