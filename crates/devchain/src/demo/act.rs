//! One interaction of the demo, from REQUEST to its end.

use super::DemoError;
use super::cast::Agent;
use super::chain::Chain;
use super::story::Story;
use super::terms::Contract;
use serde_json::Map;
use std::time::Duration;
use x811_client::clock::{Clock, SystemClock};
use x811_client::compose::{
    Accept, Delivery, Judgement, Offer, Payment, Request, ResultContent, Verify,
};
use x811_client::http::{Accepted, HistoryRecord, Incoming};
use x811_client::pay::{PayClient, Transfer};
use x811_protocol::authorization::payment_nonce;
use x811_protocol::canonical::to_canonical;
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::CoreType;
use x811_protocol::event::Event;
use x811_protocol::evm::{ChainId, TxHash};
use x811_protocol::facts::AcceptancePolicy;
use x811_protocol::id::{ContractId, InteractionId};
use x811_protocol::interaction::StateName;
use x811_protocol::money::MicroUsdc;
use x811_protocol::narration;

/// The task that the provider registered.
pub(super) const TASK: &str = "market-summary";

/// How long the task may take, in seconds.
pub(super) const TASK_S: u64 = 60;

/// What the provider promises.
pub(super) const DELIVERABLE: &str = "a summary of the week";

/// What the provider delivers.
const CONTENT: &str = r#"{"ticker":"ETH","period":"7d","trend":"sideways"}"#;

/// The provider's price, in micro-USDC: 0.029 USDC.
const PRICE_MICRO_USDC: u64 = 29_000;

/// What the payer that pays too little really transfers, in micro-USDC.
const SHORT_MICRO_USDC: u64 = 10_000;

/// How often the history is read while Base is watched.
const POLL: Duration = Duration::from_millis(250);

/// How long an act may take to end, in polls: one minute.
const POLLS: u32 = 240;

/// How the initiator pays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// The whole total.
    Paid,
    /// The same, and what it is was negotiated first.
    PaidAsAgreed,
    /// It names a transaction that does not exist.
    NeverPaid,
    /// It transfers less than it says.
    PaidTooLittle,
}

/// Where an act plays.
pub(super) struct Stage<'a, 'o> {
    pub(super) story: &'a Story<'o>,
    pub(super) chain: &'a Chain,
    pub(super) network: &'a str,
    pub(super) ada: &'a Agent,
    pub(super) bert: &'a Agent,
    pub(super) ledger_did: Did,
}

/// An interaction at its end.
pub(super) struct Ended {
    pub(super) interaction: InteractionId,
    /// The contract that it was opened under.
    pub(super) negotiation: Option<ContractId>,
    pub(super) state: StateName,
}

/// What has been agreed so far.
struct Agreed {
    interaction: InteractionId,
    offer: Incoming,
    total: MicroUsdc,
    first_position: u64,
}

impl Stage<'_, '_> {
    /// Plays one interaction to its end.
    pub(super) async fn play(&self, ending: Ending) -> Result<Ended, DemoError> {
        let contract = match ending {
            Ending::PaidAsAgreed => Some(self.negotiate().await?),
            Ending::Paid | Ending::NeverPaid | Ending::PaidTooLittle => None,
        };
        let negotiation = contract.as_ref().map(|contract| contract.id);
        let agreed = self.agree(contract).await?;
        self.deliver(&agreed).await?;
        let payment = self.pay(&agreed, ending).await?;
        let state = self.watch(&agreed, payment.position).await?;
        self.bert
            .tell_notices(self.story, agreed.first_position)
            .await?;
        Ok(Ended {
            interaction: agreed.interaction,
            negotiation,
            state,
        })
    }

    /// REQUEST, OFFER, ACCEPT: each party reads the other's message from its own inbox first.
    async fn agree(&self, contract: Option<Contract>) -> Result<Agreed, DemoError> {
        let mut parameters = Map::new();
        if let Some(contract) = &contract {
            let named = contract.id.to_public().into();
            parameters.insert("negotiation_id".to_owned(), named);
        }
        let request = Request {
            task_type: TASK.to_owned(),
            parameters,
            max_budget: amount(50_000)?,
            deadline_s: TASK_S,
            acceptance_policy: AcceptancePolicy::Auto,
            threshold_amount: None,
            callback_url: None,
            idempotency_key: uuid::Uuid::from_bytes(self.random()?).to_string(),
        };
        let requested = self.ada.send(self.bert.did(), &request).await?;
        self.story
            .message("REQUEST", "Ada → Bert", None, &requested);
        let interaction = requested
            .interaction_id
            .ok_or(DemoError::Setup("the interaction"))?;
        self.bert
            .read(CoreType::Request, requested.position)
            .await?;
        let offer = Offer {
            interaction,
            price: match &contract {
                Some(contract) => contract.price,
                None => amount(PRICE_MICRO_USDC)?,
            },
            estimated_time_s: 5,
            deliverables: vec![DELIVERABLE.to_owned()],
            expiry_s: 120,
            terms: None,
            payment_address: self.bert.identity.account(),
        };
        let total = offer.total_cost()?;
        let offered = self.bert.send(self.ada.did(), &offer).await?;
        self.story
            .message("OFFER", "Bert → Ada", Some(StateName::Pending), &offered);
        let offer = self.ada.read(CoreType::Offer, offered.position).await?;
        let accepted = self
            .ada
            .send(self.bert.did(), &Accept::of(&offer.envelope))
            .await?;
        self.story
            .message("ACCEPT", "Ada → Bert", Some(StateName::Offered), &accepted);
        Ok(Agreed {
            interaction,
            offer,
            total,
            first_position: contract.map_or(requested.position, |one| one.first_position),
        })
    }

    /// RESULT and VERIFY; the initiator hashes what it got before it says yes (AX-19).
    async fn deliver(&self, agreed: &Agreed) -> Result<(), DemoError> {
        let content = ResultContent::Inline(CONTENT.to_owned());
        let result_hash = content.hash();
        let delivery = Delivery {
            interaction: agreed.interaction,
            offer_id: agreed.offer.envelope.header().id,
            content,
            content_type: "application/json".to_owned(),
            execution_time_ms: 1_200,
            model_used: None,
            methodology: None,
        };
        let delivered = self.bert.send(self.ada.did(), &delivery).await?;
        self.story.message(
            "RESULT",
            "Bert → Ada",
            Some(StateName::Accepted),
            &delivered,
        );
        let result = self.ada.read(CoreType::Result, delivered.position).await?;
        let got = result
            .envelope
            .payload()
            .get("content")
            .and_then(|content| content.as_str());
        let got = ResultContent::Inline(got.unwrap_or_default().to_owned()).hash();
        if got != result_hash {
            return Err(DemoError::Forged {
                position: delivered.position,
            });
        }
        let verify = Verify {
            interaction: agreed.interaction,
            offer_id: agreed.offer.envelope.header().id,
            result_hash: got,
            judgement: Judgement::Verified,
        };
        let verified = self.ada.send(self.bert.did(), &verify).await?;
        self.story.message(
            "VERIFY",
            "Ada → Bert",
            Some(StateName::Delivered),
            &verified,
        );
        Ok(())
    }

    /// The transfer, as far as there is one, and the PAYMENT that names it.
    async fn pay(&self, agreed: &Agreed, ending: Ending) -> Result<Accepted, DemoError> {
        let (tx_hash, authorization_nonce) = match ending {
            Ending::Paid | Ending::PaidAsAgreed => self.transfer(agreed, agreed.total).await?,
            Ending::PaidTooLittle => self.transfer(agreed, amount(SHORT_MICRO_USDC)?).await?,
            Ending::NeverPaid => {
                self.story
                    .fact("transfer", "none: Ada makes a transaction hash up");
                (TxHash::from_bytes(self.random()?), None)
            }
        };
        let payment = Payment {
            interaction: agreed.interaction,
            offer_id: agreed.offer.envelope.header().id,
            tx_hash,
            fee_tx_hash: None,
            amount: agreed.total,
            network: self.network.to_owned(),
            payer: self.ada.account(),
            payee: self.bert.account(),
            authorization_nonce,
        };
        let paid = self.ada.send(self.bert.did(), &payment).await?;
        self.story
            .message("PAYMENT", "Ada → Bert", Some(StateName::Verified), &paid);
        Ok(paid)
    }

    /// Pays under an authorization that is good for this interaction only.
    async fn transfer(
        &self,
        agreed: &Agreed,
        amount: MicroUsdc,
    ) -> Result<(TxHash, Option<Digest>), DemoError> {
        let chain_id = ChainId::new(super::chain::CHAIN_ID);
        let payer = PayClient::connect(self.chain.rpc_url(), chain_id, self.chain.token()).await?;
        let transfer = Transfer {
            payee: self.bert.account(),
            amount,
        };
        let offer_hash = Digest::of(&to_canonical(agreed.offer.envelope.payload()));
        let nonce = payment_nonce(self.ledger_did, agreed.interaction, offer_hash);
        let domain = payer.token_domain().await?;
        let now = SystemClock.now();
        let signed = payer.sign_authorized(&self.ada.wallet, transfer, &domain, nonce, now);
        let signed = signed.await?;
        payer.send(&signed).await?;
        self.story.fact(
            "transfer",
            &format!(
                "Ada → Bert    {} USDC, authorised for this interaction only",
                amount.to_usdc_decimal()
            ),
        );
        self.story
            .fact("", &format!("transaction {}", signed.tx_hash));
        Ok((signed.tx_hash, Some(nonce)))
    }

    /// Tells what the ledger records until the interaction has ended.
    async fn watch(&self, agreed: &Agreed, payment_position: u64) -> Result<StateName, DemoError> {
        let mut told = payment_position;
        for _ in 0..POLLS {
            let history = self.bert.ledger().history(agreed.interaction).await?;
            for record in history.iter().filter(|record| record.position > told) {
                self.tell(record)?;
            }
            told = history.last().map_or(told, |record| record.position);
            let view = self
                .bert
                .ledger()
                .interaction(agreed.interaction, Some(told))
                .await?;
            if view.state.is_terminal() {
                let states = format!("{} → {}", StateName::Verified, view.state);
                self.story.fact("state", &states);
                return Ok(view.state);
            }
            tokio::time::sleep(POLL).await;
        }
        Err(DemoError::Silence {
            who: "the ledger",
            what: "the end of the interaction",
        })
    }

    /// What a record says; notices are told at the end, as the provider reads them.
    fn tell(&self, record: &HistoryRecord) -> Result<(), DemoError> {
        let event = record.event()?;
        if !matches!(event, Event::NoticeIssued(_)) {
            let position = format!("position {}", record.position);
            self.story.fact(&position, &narration::event(&event));
        }
        Ok(())
    }

    fn random<const N: usize>(&self) -> Result<[u8; N], DemoError> {
        let entropy: &dyn x811_client::entropy::Entropy = &x811_client::entropy::SystemEntropy;
        entropy
            .array()
            .map_err(|_| DemoError::Setup("random bytes"))
    }
}

pub(super) fn amount(micro_usdc: u64) -> Result<MicroUsdc, DemoError> {
    MicroUsdc::from_micro_usdc(micro_usdc).map_err(|_| DemoError::Setup("an amount"))
}
