//! `x811 pay`: transfers the total and sends the PAYMENT.
//!
//! The transfer is signed, kept on disk, sent, and only then declared. Whoever is interrupted runs
//! the command again: it sends the kept transfer, never a second one. The transfer is made under an
//! EIP-3009 authorization whose nonce names the interaction, so even without the file the token
//! says whether it has been paid, and nobody else can claim it.

mod instructions;
mod transfer;

use serde::Serialize;
use x811_client::http::NetworkInfo;
use x811_client::pay::{PayClient, Transfer};
use x811_protocol::authorization::payment_nonce;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::CoreType;
use x811_protocol::evm::TxHash;
use x811_protocol::id::InteractionId;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};
use crate::send::case::{Case, Party};
use crate::send::payment;
use crate::send::sent::Sent;
use instructions::Instructions;
use transfer::{Made, Origin, Payer};
use x811_protocol::narration::usdc;

/// How long the block of a declared transfer is looked for: three blocks of Base.
pub(crate) const FOLLOW_S: u64 = 6;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which interaction
    pub(crate) interaction: InteractionId,
    /// JSON-RPC endpoint of the network
    #[arg(
        long,
        alias = "rpc-url",
        env = "X811_RPC_URL",
        value_name = "URL",
        hide_env_values = true,
        required_unless_present = "instructions"
    )]
    pub(crate) rpc: Option<String>,
    /// Pay nothing; show what is due, to whom, and which transfers count
    #[arg(long)]
    pub(crate) instructions: bool,
    /// The network; not needed when the ledger has only one
    #[arg(long, value_name = "NAME")]
    pub(crate) network: Option<String>,
    /// Wait this long for the transfer to be in a block before the PAYMENT is sent
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    pub(crate) wait: u64,
    /// Look this long for the block of a declared transfer, and declare the transaction that paid if it is
    /// another one
    #[arg(long, value_name = "SECONDS", default_value_t = FOLLOW_S)]
    pub(crate) follow: u64,
    /// Make a plain transfer, for a token that takes no EIP-3009 authorizations
    #[arg(long)]
    pub(crate) plain_transfer: bool,
}

pub(crate) async fn run(args: Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let case = Case::open(context, args.interaction, Party::Initiator).await?;
    pay(&case, args, out).await
}

/// Pays an interaction that was read.
pub(crate) async fn pay(case: &Case<'_>, args: Args, out: &mut Out) -> Result<Exit, Failure> {
    case.signed(CoreType::Offer, "OFFER").await?;
    let network = payment::network(case, args.network.as_deref()).await?;
    let due = Transfer {
        payee: payment::payee(case)?,
        amount: case.offer()?.1.total_cost,
    };
    let info = case.client.info().await?;
    if case.identity.ledger.is_some_and(|known| known != info.did) {
        let message = format!(
            "the agent is registered at another ledger than {}",
            info.did
        );
        return Err(Failure::new(Exit::Refused, "other_ledger", message)
            .hint("name the agent's own ledger with --ledger"));
    }
    let Some(rpc_url) = args.rpc.filter(|_| !args.instructions) else {
        let instructions = Instructions::of(case, &info, &network, due).await?;
        out.report(&instructions);
        return Ok(Exit::Ok);
    };
    let payer = Payer {
        case,
        endpoint: PayClient::connect(&rpc_url, network.chain_id, network.token).await?,
        due,
        nonce: payment_nonce(info.did, case.transcript.id(), case.offer()?.1.payload_hash),
        info,
        is_on_base: network.chain_id.is_base(),
        wait_ms: args.wait.saturating_mul(1_000),
    };
    let mut made = payer.pay(args.plain_transfer).await?;
    let mut sent = None;
    if needs_payment(case, &made) {
        sent = Some(declare(case, &network, due, &made).await?);
    }
    if made.block_number.is_none()
        && let Some(mined) = payer.follow(args.follow.saturating_mul(1_000)).await?
    {
        let is_other = sent.is_none() || mined.tx_hash != made.tx_hash;
        if is_other && needs_payment(case, &mined) {
            sent = Some(declare(case, &network, due, &mined).await?);
        }
        made.tx_hash = mined.tx_hash;
        made.block_number = mined.block_number;
    }
    out.report(&PaidAnswer {
        resumed: made.origin != Origin::Signed,
        origin: made.origin,
        tx_hash: made.tx_hash,
        amount_usdc: due.amount.to_usdc_decimal(),
        payer: made.payer.to_checksum(),
        payee: due.payee.to_checksum(),
        network: network.name,
        block_number: made.block_number,
        authorization_nonce: made.authorization_nonce,
        plain_because: made.plain_because,
        payment: sent,
    });
    Ok(Exit::Ok)
}

/// Whether a PAYMENT has to name the transfer. One with raised fees is named once it is in a block: a
/// ledger takes few PAYMENTs, and each raise makes another transaction.
fn needs_payment(case: &Case<'_>, made: &Made) -> bool {
    let mut declared = case.transcript.declared();
    let is_held_back = made.origin == Origin::Raised
        && made.block_number.is_none()
        && case.transcript.has_payment();
    !is_held_back && !declared.any(|tx_hash| tx_hash == made.tx_hash)
}

/// Sends the PAYMENT. If that fails, the money is on its way and the failure says what to run.
async fn declare(
    case: &Case<'_>,
    network: &NetworkInfo,
    due: Transfer,
    made: &Made,
) -> Result<Sent, Failure> {
    let id = case.transcript.id();
    let payment = x811_client::compose::Payment {
        interaction: id,
        offer_id: case.offer()?.0,
        tx_hash: made.tx_hash,
        fee_tx_hash: None,
        amount: due.amount,
        network: network.name.clone(),
        payer: made.payer,
        payee: due.payee,
        authorization_nonce: made.authorization_nonce,
    };
    case.say(&payment).await.map_err(|failure| {
        let amount = usdc(due.amount);
        let message = format!(
            "{amount} was sent with {}, but the PAYMENT was not accepted: {}",
            made.tx_hash, failure.message
        );
        let hint = format!("run `x811 pay {id}` again; it does not pay twice");
        Failure { message, ..failure }.hint(hint)
    })
}

#[derive(Serialize)]
struct PaidAnswer {
    /// The transfer is not of this run; nothing was paid twice.
    resumed: bool,
    origin: Origin,
    tx_hash: TxHash,
    amount_usdc: String,
    payer: String,
    payee: String,
    network: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    block_number: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    authorization_nonce: Option<Digest>,
    /// Why it is a plain transfer, where that was not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    plain_because: Option<String>,
    /// Not where one names it already, or is sent once it is in a block.
    #[serde(skip_serializing_if = "Option::is_none")]
    payment: Option<Sent>,
}

impl Report for PaidAnswer {
    fn print(&self, out: &mut Out) {
        let amount = &self.amount_usdc;
        let heading = match self.origin {
            Origin::Signed => format!("{amount} USDC sent"),
            Origin::Kept => {
                format!("{amount} USDC were signed before; the same transfer was sent again")
            }
            Origin::Raised => format!("{amount} USDC sent again with higher fees"),
            Origin::Found => {
                format!("{amount} USDC were paid before; the token would not pay them again")
            }
        };
        out.heading(Tone::Good, heading);
        if let Some(cause) = &self.plain_because {
            out.line(format!("Made as a plain transfer: {cause}."));
        }
        let mut fields = vec![
            ("transaction", self.tx_hash.to_string()),
            ("from", self.payer.clone()),
            ("to", self.payee.clone()),
            ("network", self.network.clone()),
        ];
        fields.push((
            "authorised",
            match self.authorization_nonce {
                Some(nonce) => format!("EIP-3009, for this interaction only, nonce {nonce}"),
                None => "no, a plain transfer".to_owned(),
            },
        ));
        fields.extend(
            self.block_number
                .map(|number| ("block", number.to_string())),
        );
        out.fields(&fields);
        match &self.payment {
            Some(payment) => payment.print(out),
            None if self.block_number.is_none() && self.origin == Origin::Raised => out.line(
                "It is in no block yet. Run this again to declare it, or to raise its fees further.",
            ),
            None => out.line("A PAYMENT that names it was sent before."),
        }
    }
}
