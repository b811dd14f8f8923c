//! `x811 pay --instructions`: how to pay by other means, before money moves.

use serde::Serialize;
use x811_client::http::{LedgerInfo, NetworkInfo};
use x811_client::pay::Transfer;
use x811_protocol::authorization::payment_nonce;
use x811_protocol::digest::Digest;
use x811_protocol::id::InteractionId;
use x811_protocol::interaction::StateName;
use x811_protocol::parameters::PayerBindingRule;
use x811_protocol::time::TimestampMs;

use crate::failure::Failure;
use crate::output::{Out, Report, Tone};
use crate::send::case::Case;
use x811_protocol::narration::moment;

/// What has to be paid, and which transfers count.
#[derive(Serialize)]
pub(super) struct Instructions {
    interaction: InteractionId,
    state: StateName,
    amount_usdc: String,
    payee: String,
    token: String,
    network: String,
    chain_id: u64,
    /// Wallets from which a plain transfer counts; absent where one from any account does.
    #[serde(skip_serializing_if = "Option::is_none")]
    wallets: Option<Vec<String>>,
    /// The nonce of an EIP-3009 authorization that counts from any account.
    authorization_nonce: Digest,
    #[serde(skip_serializing_if = "Option::is_none")]
    pay_by_ms: Option<TimestampMs>,
    #[serde(skip)]
    now: TimestampMs,
}

impl Instructions {
    pub(super) async fn of(
        case: &Case<'_>,
        info: &LedgerInfo,
        network: &NetworkInfo,
        due: Transfer,
    ) -> Result<Instructions, Failure> {
        let (_, offer) = case.offer()?;
        let view = &case.transcript.view;
        let wallets = match info.payer_binding {
            PayerBindingRule::Unchecked => None,
            PayerBindingRule::Wallet => {
                let agent = case.client.agent(case.identity.did).await?;
                let wallets = agent.wallets.iter();
                Some(wallets.map(|wallet| wallet.address.to_checksum()).collect())
            }
        };
        Ok(Instructions {
            interaction: case.transcript.id(),
            state: view.state,
            amount_usdc: due.amount.to_usdc_decimal(),
            payee: due.payee.to_checksum(),
            token: network.token.to_checksum(),
            network: network.name.clone(),
            chain_id: network.chain_id.as_u64(),
            wallets,
            authorization_nonce: payment_nonce(info.did, case.transcript.id(), offer.payload_hash),
            pay_by_ms: view
                .deadline_at_ms
                .filter(|_| view.state == StateName::Verified),
            now: case.context.now(),
        })
    }

    /// The accounts from which a plain transfer counts.
    fn accounts(&self) -> String {
        match self.wallets.as_deref() {
            None => "any account".to_owned(),
            Some([]) => "no account: no wallet is bound to this agent".to_owned(),
            Some(wallets) => wallets.join(" or "),
        }
    }
}

impl Report for Instructions {
    fn print(&self, out: &mut Out) {
        out.heading(
            Tone::Waiting,
            format!("{} USDC are to be paid", self.amount_usdc),
        );
        let network = format!("{}, chain {}", self.network, self.chain_id);
        let nonce = format!(
            "an EIP-3009 authorization with nonce {}",
            self.authorization_nonce
        );
        let mut fields = vec![
            ("to", self.payee.clone()),
            ("token", format!("{}, USDC", self.token)),
            ("network", network),
            ("from", self.accounts()),
            ("or under", nonce),
        ];
        let pay_by = self.pay_by_ms.map(|at| ("by", moment(at, self.now)));
        fields.extend(pay_by);
        out.fields(&fields);
        if self.state != StateName::Verified {
            let state = self.state;
            out.line(format!(
                "The interaction is {state}: do not pay before it is verified, a PAYMENT is refused until then."
            ));
        }
        if self.wallets.is_some() {
            out.line(
            "Transfers that do not count: from an exchange or another account, in USDbC or another token, \
             under another authorization (as payments by x402 are).",
        );
        }
        let (id, nonce) = (self.interaction, self.authorization_nonce);
        out.line(format!("Then run `x811 send payment {id} --tx HASH`."));
        out.line(format!(
            "From an account that is not bound, add `--payer ADDRESS --authorization-nonce {nonce}`."
        ));
        out.line("The hash of a user operation of a smart account is no transaction hash.");
    }
}
