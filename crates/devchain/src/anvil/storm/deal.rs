//! One interaction in a storm, by an initiator of its own, from REQUEST to PAYMENT.

use serde_json::Map;
use x811_client::clock::{Clock as _, SystemClock};
use x811_client::compose::{
    Accept, Delivery, Judgement, Offer, Payment, Request, ResultContent, Verify,
};
use x811_client::http::NetworkInfo;
use x811_client::pay::{PayClient, SignedTransfer, Transfer};
use x811_protocol::authorization::payment_nonce;
use x811_protocol::canonical::to_canonical;
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::CoreType;
use x811_protocol::facts::AcceptancePolicy;
use x811_protocol::id::InteractionId;
use x811_protocol::money::MicroUsdc;

use crate::demo::cast::Agent;
use x811_console::failure::Failure;

/// The task that the provider registered.
pub(super) const TASK: &str = "storm";

/// The provider's price, in micro-USDC.
const PRICE_MICRO_USDC: u64 = 29_000;

/// Where deals are made.
pub(super) struct StormSite<'a> {
    pub(super) provider: &'a Agent,
    pub(super) ledger_did: Did,
    pub(super) network: &'a NetworkInfo,
    pub(super) rpc_url: &'a str,
}

/// A deal whose PAYMENT is sent.
pub(super) struct Deal {
    pub(super) payer: Agent,
    pub(super) interaction: InteractionId,
    pub(super) total: MicroUsdc,
    pub(super) transfer: SignedTransfer,
}

impl StormSite<'_> {
    pub(super) async fn pays(&self) -> Result<PayClient, Failure> {
        let network = self.network;
        let client = PayClient::connect(self.rpc_url, network.chain_id, network.token);
        Ok(client.await?)
    }

    /// All of it at once; both parties are quick.
    pub(super) async fn deal(&self, payer: Agent) -> Result<Deal, Failure> {
        let (to_provider, to_payer) = (self.provider.did(), payer.did());
        let requested = payer.send(to_provider, &request(to_payer)?).await?;
        let interaction = requested
            .interaction_id
            .ok_or_else(|| Failure::internal("a REQUEST opened nothing"))?;
        let offer = Offer {
            interaction,
            price: amount(PRICE_MICRO_USDC)?,
            estimated_time_s: 5,
            deliverables: vec!["calm".to_owned()],
            expiry_s: 120,
            terms: None,
            payment_address: self.provider.identity.account(),
        };
        let total = offer.total_cost()?;
        let offered = self.provider.send(to_payer, &offer).await?;
        let offer = payer
            .read(CoreType::Offer, offered.position)
            .await?
            .envelope;
        let _ = payer.send(to_provider, &Accept::of(&offer)).await?;
        let content = ResultContent::Inline("calm".to_owned());
        let result_hash = content.hash();
        let delivery = Delivery {
            interaction,
            offer_id: offer.header().id,
            content,
            content_type: "text/plain".to_owned(),
            execution_time_ms: 1,
            model_used: None,
            methodology: None,
        };
        let _ = self.provider.send(to_payer, &delivery).await?;
        let verify = Verify {
            interaction,
            offer_id: offer.header().id,
            result_hash,
            judgement: Judgement::Verified,
        };
        let _ = payer.send(to_provider, &verify).await?;
        let offer_hash = Digest::of(&to_canonical(offer.payload()));
        let nonce = payment_nonce(self.ledger_did, interaction, offer_hash);
        let transfer = self.transfer(&payer, total, nonce).await?;
        let payment = Payment {
            interaction,
            offer_id: offer.header().id,
            tx_hash: transfer.tx_hash,
            fee_tx_hash: None,
            amount: total,
            network: self.network.name.clone(),
            payer: payer.account(),
            payee: self.provider.account(),
            authorization_nonce: Some(nonce),
        };
        let _ = payer.send(to_provider, &payment).await?;
        Ok(Deal {
            payer,
            interaction,
            total,
            transfer,
        })
    }

    async fn transfer(
        &self,
        payer: &Agent,
        amount: MicroUsdc,
        nonce: Digest,
    ) -> Result<SignedTransfer, Failure> {
        let client = self.pays().await?;
        let due = Transfer {
            payee: self.provider.account(),
            amount,
        };
        let domain = client.token_domain().await?;
        let now = SystemClock.now();
        let signed = client.sign_authorized(&payer.wallet, due, &domain, nonce, now);
        let signed = signed.await?;
        client.send(&signed).await?;
        Ok(signed)
    }
}

/// Each payer asks once, so its own name is key enough.
fn request(payer: Did) -> Result<Request, Failure> {
    Ok(Request {
        task_type: TASK.to_owned(),
        parameters: Map::new(),
        max_budget: amount(50_000)?,
        deadline_s: 60,
        acceptance_policy: AcceptancePolicy::Auto,
        threshold_amount: None,
        callback_url: None,
        idempotency_key: payer.to_string(),
    })
}

fn amount(micro_usdc: u64) -> Result<MicroUsdc, Failure> {
    MicroUsdc::from_micro_usdc(micro_usdc).map_err(|error| Failure::internal(&error.to_string()))
}
