//! One conversation, its envelopes shown to two ledgers where both agents are registered, and one
//! transfer: what says for which ledger it was made pays there alone (ledger-contract.md section 5).

use super::base::{Base, PAYEE, TREASURY, tx};
use super::deal::{Deal, TOTAL_MICRO_USDC};
use super::ledgerbox::{Ledgerbox, TASK, impatient_parameters};
use super::party::Account;
use serde_json::json;
use x811_protocol::authorization::{fee_nonce, payment_nonce};
use x811_protocol::digest::Digest;
use x811_protocol::envelope::SealedEnvelope;
use x811_protocol::event::{Event, RefutedCause, SettlementEvent};
use x811_protocol::evm::EvmAddress;

const PRICE_MICRO_USDC: u64 = 1_000_000;
const FEE_MICRO_USDC: u64 = 25_000;

/// Two ledgers that give up soon, and what both have heard.
struct Both {
    ledgers: [Ledgerbox; 2],
    deal: Deal,
}

impl Both {
    /// The same conversation at both, as far as VERIFY.
    async fn verified() -> Both {
        let parameters = impatient_parameters();
        let first = Ledgerbox::seeded(parameters.clone(), 811).await;
        let ledgers = [first, Ledgerbox::seeded(parameters, 118).await];
        assert_ne!(ledgers[0].identity.did, ledgers[1].identity.did);
        let account = Account::new(0x46);
        let (initiator, provider) = (ledgers[0].party(), ledgers[0].party());
        for ledger in &ledgers {
            let registration = ledger.registration(&initiator, &[], &[&account]);
            ledger.accept(&registration).await;
            let registration = ledger.registration(&provider, &[TASK], &[]);
            ledger.accept(&registration).await;
        }
        let deal = Deal::between(&ledgers[0], &initiator, &provider, account);
        let mut both = Both { ledgers, deal };
        let steps: [fn(&mut Deal, &Ledgerbox) -> SealedEnvelope; 5] = [
            Deal::request,
            Deal::offer,
            Deal::accept,
            Deal::result,
            Deal::verify,
        ];
        for step in steps {
            let envelope = step(&mut both.deal, &both.ledgers[0]);
            both.accept(&envelope).await;
        }
        both
    }

    /// Shows one envelope to both; both take it.
    async fn accept(&self, envelope: &SealedEnvelope) {
        for ledger in &self.ledgers {
            ledger.accept(envelope).await;
        }
    }

    /// The nonces of payment and fee that the conversation has at that ledger.
    fn nonces(&self, ledger: usize) -> [Digest; 2] {
        let (did, id) = (self.ledgers[ledger].identity.did, self.deal.id());
        [payment_nonce, fee_nonce].map(|nonce| nonce(did, id, self.deal.offer_hash))
    }

    /// Mines the transaction of that number with one transfer, on the one chain that both watch.
    fn mine(&mut self, number: u16, to: EvmAddress, micro_usdc: u64, nonce: Option<Digest>) {
        let payer = self.deal.account.address;
        for ledger in &mut self.ledgers {
            let block = Base::head_number(ledger.now()) + 1;
            let base = &mut ledger.base;
            base.mine_to(to, tx(number), block, payer, &[micro_usdc]);
            let nonces: Vec<_> = nonce.map(|nonce| (0, nonce)).into_iter().collect();
            base.authorize(tx(number), &nonces);
        }
    }

    /// Lets both ledgers see how it ends; the state at each.
    async fn ends(&self) -> [String; 2] {
        for ledger in &self.ledgers {
            ledger.watch_ms(20_000).await;
        }
        [0, 1].map(|ledger| self.ledgers[ledger].state(self.deal.id()))
    }

    /// Causes of what that ledger refuted.
    async fn refuted(&self, ledger: usize) -> Vec<RefutedCause> {
        let events = self.ledgers[ledger].events().await;
        let causes = events.iter().filter_map(|(_, event)| match event {
            Event::Settlement(SettlementEvent::Refuted(refuted)) => Some(refuted.cause),
            _ => None,
        });
        causes.collect()
    }
}

#[tokio::test]
async fn lc_5_two_ledgers_one_conversation_one_transfer_is_paid_once() {
    for payee in [0, 1] {
        let mut both = Both::verified().await;
        let [nonce, _] = both.nonces(payee);
        both.mine(1, PAYEE, TOTAL_MICRO_USDC, Some(nonce));
        let payment = both.deal.payment(&both.ledgers[0], 1);
        both.accept(&payment).await;

        let mut expected = ["disputed", "disputed"];
        expected[payee] = "completed";
        assert_eq!(both.ends().await, expected);
        assert_eq!(both.refuted(payee).await, []);
        let refuted = both.refuted(1 - payee).await;
        assert_eq!(refuted, [RefutedCause::Unauthorized]);
    }
}

#[tokio::test]
async fn lc_5_a_fee_under_its_own_nonce_is_paid_once_too() {
    let mut both = Both::verified().await;
    let [price, fee] = both.nonces(0);
    both.mine(1, PAYEE, PRICE_MICRO_USDC, Some(price));
    both.mine(2, TREASURY, FEE_MICRO_USDC, Some(fee));
    let payment = json!({
        "request_id": both.deal.request_id,
        "offer_id": both.deal.offer_id,
        "tx_hash": tx(1).to_string(),
        "fee_tx_hash": tx(2).to_string(),
        "amount": "1.025",
        "currency": "USDC",
        "network": "base",
        "payer_address": both.deal.account.address.to_checksum(),
        "payee_address": PAYEE.to_checksum(),
    });
    let (initiator, provider) = (&both.deal.initiator, &both.deal.provider);
    let payment = both.ledgers[0].seal(initiator, "x811/payment", provider, payment);
    both.accept(&payment).await;

    assert_eq!(both.ends().await, ["completed", "disputed"]);
    let refuted = both.refuted(1).await;
    assert_eq!(refuted, [RefutedCause::Unauthorized; 2]);
}

/// What no rule can tell apart: a plain transfer names no ledger. The README says so.
#[tokio::test]
async fn lc_5_a_plain_transfer_names_no_ledger_and_counts_at_both() {
    let mut both = Both::verified().await;
    both.mine(1, PAYEE, TOTAL_MICRO_USDC, None);
    let payment = both.deal.payment(&both.ledgers[0], 1);
    both.accept(&payment).await;
    assert_eq!(both.ends().await, ["completed", "completed"]);
}
