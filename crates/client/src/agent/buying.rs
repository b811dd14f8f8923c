//! An initiator's part of the loop: answer OFFERs by policy, judge RESULTs, pay.

use x811_protocol::authorization::payment_nonce;
use x811_protocol::code::Code;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::VerifiedEnvelope;
use x811_protocol::evm::{EvmAddress, TxHash};
use x811_protocol::facts::{DisputeCode, RejectCode};
use x811_protocol::interaction::StateName;
use x811_protocol::time::TimestampMs;

use super::approval::{Decision, Question};
use super::caps::Commitment;
use super::case::Case;
use super::decide::{self, Known, Move};
use super::engine::{Engine, Fault};
use super::money::Transfer;
use super::notice::What;
use super::outbox::Act;
use super::state::{Asked, Outcome};
use super::work::Delivered;
use super::world::{Arrival, Due, World};
use crate::compose::{Accept, Judgement, Payment, Reject, Verify};
use crate::http::ClientError;

/// How often the file of a question is read, in milliseconds.
const ANSWER_LOOK_MS: u64 = 1_000;

/// When signing is tried again after a fault that may pass, in milliseconds.
const PAY_AGAIN_MS: u64 = 2_000;

impl<W: World> Engine<W> {
    /// The next move where this agent is the initiator.
    pub(super) async fn initiator_move(&mut self, case: &Case) -> Result<Move, Fault> {
        let Some(part) = &self.initiator else {
            return Ok(Move::Wait(None));
        };
        // Everybody who may not act is refused, whatever a person says (AE-112).
        let provider = match case.state {
            StateName::Offered => Some(self.world.standing(case.provider).await?),
            StateName::Pending
            | StateName::Accepted
            | StateName::Delivered
            | StateName::Verified
            | StateName::Completed
            | StateName::Expired
            | StateName::Rejected
            | StateName::Disputed
            | StateName::Failed => None,
        };
        let decision = self.decision(case)?;
        let known = Known {
            provider,
            decision: decision.as_ref(),
        };
        let now = self.world.now();
        Ok(decide::initiator(
            case,
            &self.state,
            &part.rules,
            known,
            now,
        ))
    }

    /// What a person decided about the OFFER of this interaction as it is.
    fn decision(&self, case: &Case) -> Result<Option<Decision>, Fault> {
        let Some((_, offer)) = &case.offer else {
            return Ok(None);
        };
        let asked = Asked {
            offer_hash: offer.payload_hash,
            total: offer.total_cost,
        };
        let question = self.world.question(case.id)?;
        Ok(question.and_then(|question| question.decision_about(&asked).cloned()))
    }

    /// Asks a person, once for each OFFER, and gives when to look for the answer.
    pub(super) async fn ask(
        &mut self,
        case: &Case,
        asked: Asked,
        answer_by_ms: TimestampMs,
    ) -> Result<TimestampMs, Fault> {
        let task = self.state.tasks.entry(case.id).or_default();
        let is_asked = task.asked == Some(asked);
        if !is_asked || self.world.question(case.id)?.is_none() {
            let question = self.question(case, asked, answer_by_ms).await?;
            self.world.ask(&question)?;
            let task = self.state.tasks.entry(case.id).or_default();
            task.asked = Some(asked);
            let total = asked.total.to_usdc_decimal();
            self.tell(
                Some(case.id),
                What::Asked,
                format!("{total} USDC: x811 approvals show {}", case.id),
            );
        }
        Ok(self.after_ms(ANSWER_LOOK_MS))
    }

    async fn question(
        &self,
        case: &Case,
        asked: Asked,
        answer_by_ms: TimestampMs,
    ) -> Result<Question, Fault> {
        let offer = self.signed_offer(case).await?;
        let (Some(request), Some((_, facts))) = (&case.request, &case.offer) else {
            return Err(missing(case, "REQUEST"));
        };
        let deliverables = offer.payload().get("deliverables");
        let deliverables = deliverables.and_then(|list| list.as_array());
        let texts = deliverables.into_iter().flatten();
        let terms = offer
            .payload()
            .get("terms")
            .and_then(|terms| terms.as_str());
        Ok(Question {
            interaction: case.id,
            provider: case.provider,
            task_type: request.task_type.clone(),
            total: asked.total,
            price: facts.price,
            max_budget: request.max_budget,
            estimated_time_s: facts.estimated_time_s,
            deliverables: texts
                .filter_map(|text| text.as_str().map(str::to_owned))
                .collect(),
            terms: terms.map(str::to_owned),
            offer_hash: asked.offer_hash,
            asked_at_ms: self.world.now(),
            answer_by_ms,
            decision: None,
        })
    }

    async fn signed_offer(&self, case: &Case) -> Result<VerifiedEnvelope, Fault> {
        let offer = self.world.body(case, Act::Offer, case.provider).await?;
        offer.ok_or_else(|| missing(case, "OFFER"))
    }

    /// Journals the commitment and seals the ACCEPT, in one write.
    pub(super) async fn accept(
        &mut self,
        case: &Case,
        commitment: Commitment,
    ) -> Result<(), Fault> {
        let offer = self.signed_offer(case).await?;
        self.commit(commitment);
        self.say(case, Act::Accept, &Accept::of(&offer), None)
    }

    /// Journals what an ACCEPT commits to, once for each interaction.
    pub(super) fn commit(&mut self, commitment: Commitment) {
        let id = commitment.interaction;
        self.state.commitments.retain(|made| made.interaction != id);
        self.state.commitments.push(commitment);
    }

    pub(super) fn reject(
        &mut self,
        case: &Case,
        code: RejectCode,
        error_code: Option<Code>,
        reason: String,
    ) -> Result<(), Fault> {
        let Some((offer_id, _)) = &case.offer else {
            return Err(missing(case, "OFFER"));
        };
        let reject = Reject {
            offer_id: *offer_id,
            reason,
            code,
            error_code,
        };
        self.say(case, Act::Reject, &reject, None)
    }

    /// Holds the RESULT against its hash, judges it, and seals the VERIFY.
    pub(super) async fn judge_result(&mut self, case: &Case) -> Result<(), Fault> {
        let result = self.world.body(case, Act::Result, case.provider).await?;
        let result = result.ok_or_else(|| missing(case, "RESULT"))?;
        let (Some(facts), Some((offer_id, _)), Some(request), Some(part)) =
            (&case.result, &case.offer, &case.request, &self.initiator)
        else {
            return Err(missing(case, "RESULT"));
        };
        let text = |name: &str| {
            let value = result.payload().get(name).and_then(|value| value.as_str());
            value.map(str::to_owned)
        };
        let delivered = Delivered {
            interaction: case.id,
            task_type: request.task_type.clone(),
            content: text("content"),
            url: text("result_url"),
            content_type: facts.content_type.clone(),
        };
        let content = delivered.content.as_ref();
        let is_other = content.is_some_and(|text| Digest::of(text.as_bytes()) != facts.result_hash);
        let judgement = if is_other {
            Some(Judgement::Disputed {
                reason: "the content does not have the hash that the RESULT names".to_owned(),
                code: DisputeCode::WrongResult,
            })
        } else {
            part.check.check(&delivered)
        };
        let Some(judgement) = judgement else {
            let id = case.id;
            return Err(Fault::Stuck(format!(
                "the RESULT waits for a person: x811 send verify {id}"
            )));
        };
        let verify = Verify {
            interaction: case.id,
            offer_id: *offer_id,
            result_hash: facts.result_hash,
            judgement,
        };
        self.say(case, Act::Verify, &verify, None)
    }

    /// Signs the transfer and seals its PAYMENT, both into the outbox before either leaves. One
    /// transfer at a time: another would be signed with the same account nonce.
    pub(super) async fn pay(&mut self, case: &Case) -> Result<Option<TimestampMs>, Fault> {
        let is_unsent = |transfer: &Transfer| !transfer.has_arrived && transfer.signed.is_some();
        let mut outbox = self.state.outbox.iter();
        if outbox.any(|entry| entry.transfer.as_ref().is_some_and(is_unsent)) {
            return Ok(Some(self.after_ms(PAY_AGAIN_MS)));
        }
        let _ = self.payer(case)?;
        let due = self.due(case)?;
        let transfer = match self.world.sign(&due).await {
            Ok(transfer) => transfer,
            Err(fault) if fault.is_passing => {
                self.alarm(Some(case.id), fault.text);
                return Ok(Some(self.after_ms(PAY_AGAIN_MS)));
            }
            Err(fault) => return Err(Fault::Stuck(fault.text)),
        };
        self.declare(case, transfer)?;
        Ok(None)
    }

    /// What has to be paid, and under which nonce.
    fn due(&self, case: &Case) -> Result<Due, Fault> {
        let Some((_, offer)) = &case.offer else {
            return Err(missing(case, "OFFER"));
        };
        let payee = offer.payment_address.or(case.payee);
        Ok(Due {
            payee: payee.ok_or_else(|| missing(case, "account to pay"))?,
            total: offer.total_cost,
            nonce: payment_nonce(self.world.ledger(), case.id, offer.payload_hash),
        })
    }

    /// Seals the PAYMENT that names the transfer, and puts both into the outbox.
    fn declare(&mut self, case: &Case, transfer: Transfer) -> Result<(), Fault> {
        let due = self.due(case)?;
        let (Some((offer_id, _)), Some(part)) = (&case.offer, &self.initiator) else {
            return Err(missing(case, "OFFER"));
        };
        let payment = Payment {
            interaction: case.id,
            offer_id: *offer_id,
            tx_hash: transfer.tx_hash,
            fee_tx_hash: None,
            amount: due.total,
            network: part.rules.network.clone(),
            payer: self.payer(case)?,
            payee: due.payee,
            authorization_nonce: Some(due.nonce),
        };
        self.say(case, Act::Payment, &payment, Some(transfer))
    }

    fn payer(&self, case: &Case) -> Result<EvmAddress, Fault> {
        self.world.payer().ok_or_else(|| {
            Fault::Stuck(format!(
                "the agent has no wallet key: pay by other means, then x811 send payment {} --tx HASH \
                 --payer ADDRESS",
                case.id
            ))
        })
    }

    /// Sees to it that a declared transfer stays on the network and is included. One that can never pay
    /// is replaced by another under the same EIP-3009 nonce, so that at most one of them pays.
    pub(super) async fn watch_transfer(&mut self, case: &Case) -> Result<(), Fault> {
        let Some(task) = self.state.tasks.get(&case.id) else {
            return Ok(());
        };
        let Some(transfer) = task.transfer.clone() else {
            return Ok(());
        };
        if case.state != StateName::Verified || transfer.signed.is_none() {
            return Ok(());
        }
        let tx_hash = transfer.tx_hash;
        match self.world.broadcast(&transfer).await {
            // A ledger takes few declarations: one with raised fees is declared once it is in a block.
            Ok(Arrival::Mined { tx_hash }) if is_undeclared(case, tx_hash) => {
                self.give_up(case, tx_hash)?;
                if !self.state.may_seal(case.id, Act::Payment) {
                    return Ok(());
                }
                let found = Transfer {
                    tx_hash,
                    signed: None,
                    ..transfer
                };
                self.declare(case, found)?;
                Ok(self.save()?)
            }
            Ok(Arrival::Mined { .. }) => Ok(()),
            Ok(Arrival::Waiting) => {
                let _ = self.raise_fees(case, &transfer).await?;
                Ok(())
            }
            Ok(Arrival::Lost) => {
                self.alarm(
                    Some(case.id),
                    format!(
                        "transaction {tx_hash} can never pay; another is made under the same nonce"
                    ),
                );
                self.give_up(case, tx_hash)
            }
            Err(fault) => {
                // Nodes refuse a transaction whose fees are too low, also one that they had before.
                if !fault.is_passing || !self.raise_fees(case, &transfer).await? {
                    self.alarm(Some(case.id), fault.text);
                }
                Ok(())
            }
        }
    }

    /// Takes the last PAYMENT for one that does not count, so that the next one can be sealed. The last
    /// one that the loop may seal leaves it to a person.
    fn give_up(&mut self, case: &Case, tx_hash: TxHash) -> Result<(), Fault> {
        let task = self.state.tasks.entry(case.id).or_default();
        task.transfer = None;
        task.steps.entry(Act::Payment).or_default().outcome = Outcome::Dead;
        if !self.state.may_seal(case.id, Act::Payment) {
            let nonce = self.due(case)?.nonce;
            self.alarm(
                Some(case.id),
                format!(
                    "the loop sends no further PAYMENT after {tx_hash}: see which transaction paid, then \
                     x811 send payment {} --tx HASH --authorization-nonce {nonce}",
                    case.id
                ),
            );
        }
        Ok(self.save()?)
    }

    /// Keeps the transfer with higher fees, where the network asks for more; the next look sends it.
    async fn raise_fees(&mut self, case: &Case, transfer: &Transfer) -> Result<bool, Fault> {
        match self.world.raise_fees(transfer).await {
            Ok(None) => Ok(false),
            Ok(Some(raised)) => {
                let text = format!("{} replaces {}", raised.tx_hash, transfer.tx_hash);
                self.tell(Some(case.id), What::FeesRaised, text);
                self.state.tasks.entry(case.id).or_default().transfer = Some(raised);
                self.save()?;
                Ok(true)
            }
            Err(fault) => {
                self.alarm(Some(case.id), fault.text);
                Ok(false)
            }
        }
    }
}

/// Whether the PAYMENTs so far name other transactions.
fn is_undeclared(case: &Case, tx_hash: TxHash) -> bool {
    !case.payments.is_empty() && !case.payments.contains(&tx_hash)
}

fn missing(case: &Case, what: &str) -> Fault {
    Fault::Ledger(ClientError::Untrusted {
        cause: format!("interaction {} has no {what}", case.id),
    })
}
