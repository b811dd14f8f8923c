//! One interaction from both sides: who, and what has been said so far.

use super::base::{Base, PAYEE, tx};
use super::ledgerbox::{Ledgerbox, TASK};
use super::party::{Account, Party};
use serde_json::{Value, json};
use x811_ledger::answer::Accepted;
use x811_protocol::canonical::to_canonical;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::SealedEnvelope;
use x811_protocol::evm::TxHash;
use x811_protocol::id::{EnvelopeId, InteractionId};

/// What every OFFER in these tests asks for, fee included.
pub(crate) const TOTAL_MICRO_USDC: u64 = 1_025_000;

/// What every RESULT in these tests delivers.
const CONTENT: &str = "Guten Tag";

/// How far to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Until {
    Pending,
    Offered,
    Accepted,
    Delivered,
    Verified,
}

impl Until {
    pub(crate) const ALL: [Until; 5] = [
        Until::Pending,
        Until::Offered,
        Until::Accepted,
        Until::Delivered,
        Until::Verified,
    ];
}

/// One interaction.
#[derive(Debug)]
pub(crate) struct Deal {
    pub(crate) initiator: Party,
    pub(crate) provider: Party,
    pub(crate) account: Account,
    pub(crate) request_id: EnvelopeId,
    pub(crate) offer_id: EnvelopeId,
    pub(crate) offer_hash: Digest,
}

impl Deal {
    /// The initiator's account transfers these amounts to the payee, in one transaction of the next block,
    /// which is told.
    pub(crate) fn mine(&self, ledgerbox: &mut Ledgerbox, number: u16, micro_usdc: &[u64]) -> u64 {
        let block = Base::head_number(ledgerbox.now()) + 1;
        let payer = self.account.address;
        ledgerbox.base.mine(tx(number), block, payer, micro_usdc);
        block
    }

    /// Two new parties that have not spoken yet.
    pub(crate) async fn between_new_parties(ledgerbox: &Ledgerbox) -> Deal {
        let account = Account::new(0x46);
        let initiator = ledgerbox.initiator(&account).await;
        let provider = ledgerbox.provider().await;
        Deal::between(ledgerbox, &initiator, &provider, account)
    }

    /// Many between two new parties, whose OFFERs end in ten seconds.
    pub(crate) async fn offered_briefly(ledgerbox: &Ledgerbox, count: usize) {
        let first = Deal::between_new_parties(ledgerbox).await;
        for _ in 0..count {
            let account = Account::new(0x46);
            let mut deal = Deal::between(ledgerbox, &first.initiator, &first.provider, account);
            ledgerbox.accept(&deal.request(ledgerbox)).await;
            let offer = deal.offer_for(ledgerbox, 10);
            ledgerbox.accept(&offer).await;
        }
    }

    /// The same between parties that are registered.
    pub(crate) fn between(
        ledgerbox: &Ledgerbox,
        initiator: &Party,
        provider: &Party,
        account: Account,
    ) -> Deal {
        let none = ledgerbox.letter("x811/request", provider, json!({})).id;
        Deal {
            initiator: initiator.clone(),
            provider: provider.clone(),
            account,
            request_id: none,
            offer_id: none,
            offer_hash: Digest::ZERO,
        }
    }

    /// A new interaction between new parties, some way into its life.
    pub(crate) async fn opened(ledgerbox: &Ledgerbox, until: Until) -> Deal {
        let mut deal = Deal::between_new_parties(ledgerbox).await;
        deal.go(ledgerbox, until).await;
        deal
    }

    /// Says everything from the REQUEST on, until the interaction stands there.
    pub(crate) async fn go(&mut self, ledgerbox: &Ledgerbox, until: Until) -> Accepted {
        let request = self.request(ledgerbox);
        let mut last = ledgerbox.accept(&request).await;
        let steps: [fn(&mut Deal, &Ledgerbox) -> SealedEnvelope; 4] =
            [Deal::offer, Deal::accept, Deal::result, Deal::verify];
        for step in steps.iter().take(until as usize) {
            let envelope = step(self, ledgerbox);
            last = ledgerbox.accept(&envelope).await;
        }
        last
    }

    pub(crate) fn id(&self) -> InteractionId {
        InteractionId::from(self.request_id)
    }

    /// Payload of a REQUEST under this idempotency key.
    pub(crate) fn request_payload(key: &str) -> Value {
        json!({
            "task_type": TASK,
            "parameters": {"text": "Good day"},
            "max_budget": 2,
            "currency": "USDC",
            "deadline": 60,
            "acceptance_policy": "auto",
            "idempotency_key": key,
        })
    }

    /// An envelope id of that moment.
    pub(crate) fn request_at(&self, at: x811_protocol::time::TimestampMs) -> EnvelopeId {
        EnvelopeId::from_parts(at.as_ms(), &[9; 10])
    }

    pub(crate) fn request(&mut self, ledgerbox: &Ledgerbox) -> SealedEnvelope {
        let mut letter = ledgerbox.letter("x811/request", &self.provider, json!({}));
        letter.payload = Deal::request_payload(&letter.id.to_string());
        self.request_id = letter.id;
        self.initiator.seal(&letter)
    }

    pub(crate) fn offer(&mut self, ledgerbox: &Ledgerbox) -> SealedEnvelope {
        self.offer_for(ledgerbox, 300)
    }

    /// An OFFER that is good for this long.
    pub(crate) fn offer_for(&mut self, ledgerbox: &Ledgerbox, expiry_s: u64) -> SealedEnvelope {
        self.priced_offer(ledgerbox, expiry_s, ["1", "0.025", "1.025"])
    }

    /// An OFFER to do it for nothing.
    pub(crate) fn free_offer(&mut self, ledgerbox: &Ledgerbox) -> SealedEnvelope {
        self.priced_offer(ledgerbox, 300, ["0", "0", "0"])
    }

    fn priced_offer(
        &mut self,
        ledgerbox: &Ledgerbox,
        expiry_s: u64,
        [price, fee, total]: [&str; 3],
    ) -> SealedEnvelope {
        let payload = json!({
            "request_id": self.request_id,
            "price": price,
            "protocol_fee": fee,
            "total_cost": total,
            "currency": "USDC",
            "estimated_time": 10,
            "deliverables": ["the text in German"],
            "expiry": expiry_s,
            "payment_address": PAYEE.to_checksum(),
        });
        self.offer_hash = Digest::of(&to_canonical(&payload));
        let letter = ledgerbox.letter("x811/offer", &self.initiator, payload);
        self.offer_id = letter.id;
        self.provider.seal(&letter)
    }

    pub(crate) fn accept(&mut self, ledgerbox: &Ledgerbox) -> SealedEnvelope {
        let payload = json!({"offer_id": self.offer_id, "offer_hash": self.offer_hash});
        ledgerbox.seal(&self.initiator, "x811/accept", &self.provider, payload)
    }

    pub(crate) fn reject(&self, ledgerbox: &Ledgerbox) -> SealedEnvelope {
        let payload = json!({
            "offer_id": self.offer_id,
            "reason": "too dear",
            "code": "PRICE_TOO_HIGH",
        });
        ledgerbox.seal(&self.initiator, "x811/reject", &self.provider, payload)
    }

    pub(crate) fn result(&mut self, ledgerbox: &Ledgerbox) -> SealedEnvelope {
        let payload = json!({
            "request_id": self.request_id,
            "offer_id": self.offer_id,
            "content": CONTENT,
            "content_type": "text/plain",
            "result_hash": Digest::of(CONTENT.as_bytes()),
            "execution_time_ms": 7,
        });
        ledgerbox.seal(&self.provider, "x811/result", &self.initiator, payload)
    }

    pub(crate) fn verify(&mut self, ledgerbox: &Ledgerbox) -> SealedEnvelope {
        let payload = json!({
            "request_id": self.request_id,
            "offer_id": self.offer_id,
            "result_hash": Digest::of(CONTENT.as_bytes()),
            "verified": true,
        });
        ledgerbox.seal(&self.initiator, "x811/verify", &self.provider, payload)
    }

    /// A PAYMENT by the transaction of that number.
    pub(crate) fn payment(&self, ledgerbox: &Ledgerbox, number: u16) -> SealedEnvelope {
        self.payment_of(ledgerbox, &tx(number), "1.025")
    }

    pub(crate) fn payment_of(
        &self,
        ledgerbox: &Ledgerbox,
        tx_hash: &TxHash,
        amount: &str,
    ) -> SealedEnvelope {
        let payload = json!({
            "request_id": self.request_id,
            "offer_id": self.offer_id,
            "tx_hash": tx_hash.to_string(),
            "amount": amount,
            "currency": "USDC",
            "network": "base",
            "payer_address": self.account.address.to_checksum(),
            "payee_address": PAYEE.to_checksum(),
        });
        ledgerbox.seal(&self.initiator, "x811/payment", &self.provider, payload)
    }

    /// An ERROR of the provider about some message.
    pub(crate) fn error(
        &self,
        ledgerbox: &Ledgerbox,
        related: Option<EnvelopeId>,
    ) -> SealedEnvelope {
        let mut payload = json!({"code": "X811-9002", "message": "out of paper"});
        if let Some(related) = related {
            payload["related_message_id"] = json!(related);
        }
        ledgerbox.seal(&self.provider, "x811/error", &self.initiator, payload)
    }
}
