//! `x811 pay`: transfers the total and sends the PAYMENT.
//!
//! The transfer is signed, kept on disk, sent, and only then declared. Whoever is interrupted runs
//! the command again: it sends the kept transfer, never a second one.

use serde::Serialize;
use x811_client::http::NetworkInfo;
use x811_client::pay::{PayClient, Receipt, SignedTransfer, Transfer};
use x811_client::transcript::Transcript;
use x811_protocol::code::Code;
use x811_protocol::envelope::CoreType;
use x811_protocol::evm::TxHash;
use x811_protocol::id::InteractionId;
use x811_protocol::interaction::StateName;
use x811_protocol::time::TimestampMs;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::narrate::usdc;
use crate::output::{Out, Report, Tone};
use crate::send::case::{Case, Party};
use crate::send::payment;
use crate::send::sent::Sent;

/// Less time than this is too little to pay in: the money would be gone and the PAYMENT late.
const LEAST_TIME_MS: u64 = 3_000;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which interaction
    interaction: InteractionId,
    /// JSON-RPC endpoint of the network
    #[arg(long, env = "X811_RPC_URL", value_name = "URL", hide_env_values = true)]
    rpc: String,
    /// The network; not needed when the ledger has only one
    #[arg(long, value_name = "NAME")]
    network: Option<String>,
    /// Wait this long for the transfer to be in a block before the PAYMENT is sent
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    wait: u64,
}

/// Pays.
pub(crate) async fn run(args: Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let case = Case::open(context, args.interaction, Party::Initiator).await?;
    case.signed(CoreType::Offer, "OFFER").await?;
    let network = payment::network(&case, args.network.as_deref()).await?;
    let due = Transfer {
        payee: payment::payee(&case)?,
        amount: case.offer()?.1.total_cost,
    };
    let endpoint = PayClient::connect(&args.rpc, network.chain_id, network.token).await?;
    let kept = kept_transfer(&case, due)?;
    let resumed = kept.is_some();
    let signed = match kept {
        Some(signed) => signed,
        None => {
            check_payable(&case.transcript, context.now())?;
            sign_and_keep(&case, &endpoint, due).await?
        }
    };
    endpoint.send(&signed).await.map_err(|error| {
        let path = context.home.transfer_path(args.interaction);
        let hint = format!(
            "the signed transfer is kept in {}; run this again",
            path.display()
        );
        Failure::from(error).hint(hint)
    })?;
    let block_number = await_block(&endpoint, &signed, context, args.wait).await?;
    let sent = declare(&case, &network, &signed).await?;
    out.report(&Paid {
        resumed,
        tx_hash: signed.tx_hash,
        amount_usdc: due.amount.to_usdc_decimal(),
        payer: signed.payer.to_checksum(),
        payee: due.payee.to_checksum(),
        network: network.name,
        block_number,
        payment: sent,
    });
    Ok(Exit::Ok)
}

/// The transfer signed for this interaction before, if there is one.
fn kept_transfer(case: &Case<'_>, due: Transfer) -> Result<Option<SignedTransfer>, Failure> {
    let id = case.transcript.id();
    let Some(bytes) = case.context.home.transfer(id)? else {
        return Ok(None);
    };
    let path = case.context.home.transfer_path(id);
    let unusable = |cause: &str| {
        Failure::local("damaged_transfer", format!("{}: {cause}", path.display()))
            .hint("see on Base whether it paid, then delete the file")
    };
    let kept: SignedTransfer =
        serde_json::from_slice(&bytes).map_err(|_| unusable("it is no transfer"))?;
    if kept.transfer == due {
        Ok(Some(kept))
    } else {
        Err(unusable("it pays something else"))
    }
}

/// Whether paying now does any good.
fn check_payable(transcript: &Transcript, now: TimestampMs) -> Result<(), Failure> {
    let state = transcript.view.state;
    if state != StateName::Verified {
        let message = format!("nothing was paid: the interaction is {state}, not verified");
        return Err(Failure::refused(Code::InvalidStateTransition, message));
    }
    if transcript.has_payment() {
        let message = "nothing was paid: a PAYMENT has been sent already";
        let hint = format!(
            "see what came of it: x811 provider paid {}",
            transcript.id()
        );
        return Err(Failure::refused(Code::InvalidStateTransition, message).hint(hint));
    }
    let deadline = transcript.view.deadline_at_ms;
    if deadline.is_some_and(|deadline| deadline.since(now) < LEAST_TIME_MS) {
        let message = "nothing was paid: the time for the PAYMENT is over";
        return Err(Failure::refused(Code::PaymentTimeout, message));
    }
    Ok(())
}

async fn sign_and_keep(
    case: &Case<'_>,
    endpoint: &PayClient,
    due: Transfer,
) -> Result<SignedTransfer, Failure> {
    let Some(key) = &case.identity.wallet_key else {
        return Err(Failure::local("no_wallet", "the agent has no wallet key")
            .hint("pay by other means, then name the transaction with `x811 send payment`"));
    };
    let signed = endpoint.sign(key, due).await?;
    let file = serde_json::to_vec_pretty(&signed)
        .map_err(|error| Failure::internal(&error.to_string()))?;
    case.context
        .home
        .add_transfer(case.transcript.id(), &file)?;
    Ok(signed)
}

/// Waits for the block if that was asked for. A transfer that did nothing is not declared.
async fn await_block(
    endpoint: &PayClient,
    signed: &SignedTransfer,
    context: &Context,
    wait_s: u64,
) -> Result<Option<u64>, Failure> {
    if wait_s == 0 {
        return Ok(None);
    }
    let limit_ms = wait_s.saturating_mul(1_000);
    let receipt = endpoint
        .await_receipt(signed.tx_hash, &*context.clock, limit_ms)
        .await?;
    match receipt {
        Some(Receipt::Succeeded { block_number }) => Ok(Some(block_number)),
        None => Ok(None),
        Some(Receipt::Reverted { block_number }) => {
            let (hash, payee) = (signed.tx_hash, signed.transfer.payee.to_checksum());
            let message = format!("{hash} is in block {block_number} but moved nothing to {payee}");
            Err(Failure::refused(Code::PaymentFailed, message))
        }
    }
}

/// Sends the PAYMENT. If that fails, the money is on its way and the failure says what to run.
async fn declare(
    case: &Case<'_>,
    network: &NetworkInfo,
    signed: &SignedTransfer,
) -> Result<Sent, Failure> {
    let id = case.transcript.id();
    let payment = x811_client::compose::Payment {
        interaction: id,
        offer_id: case.offer()?.0,
        tx_hash: signed.tx_hash,
        fee_tx_hash: None,
        amount: signed.transfer.amount,
        network: network.name.clone(),
        payer: signed.payer,
        payee: signed.transfer.payee,
    };
    case.say(&payment).await.map_err(|failure| {
        let amount = usdc(signed.transfer.amount);
        let message = format!(
            "{amount} was sent with {}, but the PAYMENT was not accepted: {}",
            signed.tx_hash, failure.message
        );
        let hint = format!("run `x811 pay {id}` again; it does not pay twice");
        Failure { message, ..failure }.hint(hint)
    })
}

#[derive(Serialize)]
struct Paid {
    /// The transfer had been signed by an earlier run; nothing was paid twice.
    resumed: bool,
    tx_hash: TxHash,
    amount_usdc: String,
    payer: String,
    payee: String,
    network: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    block_number: Option<u64>,
    payment: Sent,
}

impl Report for Paid {
    fn print(&self, out: &mut Out) {
        let amount = &self.amount_usdc;
        let heading = match self.resumed {
            true => format!("{amount} USDC were signed before; the same transfer was sent again"),
            false => format!("{amount} USDC sent"),
        };
        out.heading(Tone::Good, heading);
        let mut fields = vec![
            ("transaction", self.tx_hash.to_string()),
            ("from", self.payer.clone()),
            ("to", self.payee.clone()),
            ("network", self.network.clone()),
        ];
        fields.extend(
            self.block_number
                .map(|number| ("block", number.to_string())),
        );
        out.fields(&fields);
        self.payment.print(out);
    }
}
