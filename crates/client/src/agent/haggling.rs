//! A loop's part in negotiations: offers for its orders, answers to the other party's terms, and the
//! REQUEST once they are agreed on.
//!
//! A negotiation is attended to as interactions are: what is sealed lies in the outbox before it is
//! sent, and an answer to some terms is sealed again only after a refusal.

use serde::{Deserialize, Serialize};
use x811_protocol::envelope::{CoreType, MessageType};
use x811_protocol::facts::NegotiationVerb;
use x811_protocol::id::{ContractId, EnvelopeId, InteractionId};
use x811_protocol::time::TimestampMs;

use super::bargain::{Bargain, BargainStanding};
use super::case::Case;
use super::engine::{Engine, Fault};
use super::notice::What;
use super::outbox::Act;
use super::run::LoopError;
use super::state::Outcome;
use super::world::World;
use crate::compose::{NegotiationStep, Offer};
use crate::http::{ClientError, InboxPage, Incoming};
use crate::negotiator::price_of;

/// When a negotiation is looked at after its terms should have lapsed, in milliseconds.
const AFTER_LAPSE_MS: u64 = 10_000;

/// What is said in negotiations, each once to the same terms.
const ACTS: [Act; 3] = [Act::Terms, Act::Agree, Act::Decline];

/// A negotiation that goes on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Talk {
    /// Key of the order that it is for; absent where the other party began it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<String>,
    /// The terms that were answered last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<EnvelopeId>,
}

/// Under which name tasks and outbox have a negotiation.
fn task_of(id: ContractId) -> InteractionId {
    InteractionId::from(id.offer_id())
}

impl<W: World> Engine<W> {
    /// Negotiations that messages of the feed belong to are looked at.
    pub(super) fn take_talks(&mut self, page: &InboxPage) {
        if self.negotiator.is_none() {
            return;
        }
        for message in &page.messages {
            let Some(id) = negotiation(message) else {
                continue;
            };
            // What an ERROR names is its sender's word alone: it may be an interaction.
            let is_step = NegotiationVerb::of(&message.envelope.header().message_type).is_some();
            if is_step {
                self.state.talks.entry(id).or_default();
            }
            if self.state.talks.contains_key(&id) {
                self.state.touch(task_of(id));
            }
        }
    }

    /// The negotiation that a task is, if it is one.
    pub(super) fn talk_of(&self, task: InteractionId) -> Option<ContractId> {
        let id = ContractId::from(EnvelopeId::from(task));
        self.state.talks.contains_key(&id).then_some(id)
    }

    /// Offers terms for orders that were not begun yet.
    pub(super) fn open_talks(&mut self) -> Result<(), LoopError> {
        let Some(negotiator) = self.negotiator.clone() else {
            return Ok(());
        };
        let me = self.world.me();
        for purchase in &negotiator.purchases {
            let key = &purchase.order.request.idempotency_key;
            if self.state.requests.contains_key(key) {
                continue;
            }
            let offer = NegotiationStep::Offer {
                terms: purchase.terms(me, &negotiator),
                expires_at: self.after_ms(negotiator.life_ms),
                max_turns: Some(negotiator.max_turns),
                parent: None,
                message: None,
            };
            let sealed = self.world.seal(purchase.order.provider, &offer)?;
            let id = ContractId::from(sealed.header.id);
            let talk = Talk {
                order: Some(key.clone()),
                answered: None,
            };
            self.state.talks.insert(id, talk);
            self.state.requests.insert(key.clone(), task_of(id));
            self.put(task_of(id), Act::Terms, &sealed, None);
            // Nothing to look at before it is accepted.
            if let Some(task) = self.state.tasks.get_mut(&task_of(id)) {
                task.look_at_ms = None;
            }
            self.save()?;
        }
        Ok(())
    }

    /// The next move in a negotiation; gives when to look at it again.
    pub(super) async fn haggle(&mut self, id: ContractId) -> Result<Option<TimestampMs>, Fault> {
        let bargain = match self.world.bargain(id).await {
            Ok(bargain) => bargain,
            Err(ClientError::Refused(refused))
                if refused.status == 404 && !self.is_on_its_way(id) =>
            {
                self.leave(id);
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        let now = self.world.now();
        let is_own = bargain
            .last()
            .is_some_and(|last| last.author == self.world.me());
        match bargain.standing {
            BargainStanding::Open if is_own => {
                let end = bargain.expires_at.max(now);
                Ok(Some(end.saturating_add_ms(AFTER_LAPSE_MS)))
            }
            BargainStanding::Open => self.answer_terms(&bargain),
            BargainStanding::Agreed => {
                self.engage(&bargain)?;
                Ok(None)
            }
            BargainStanding::Engaged | BargainStanding::Over => {
                let order = self
                    .state
                    .talks
                    .get(&id)
                    .and_then(|talk| talk.order.clone());
                if let Some(order) = order {
                    let text = format!("no terms were agreed on for the order {order}");
                    self.tell(Some(task_of(id)), What::Over, text);
                }
                self.leave(id);
                Ok(None)
            }
        }
    }

    /// Whether something that this agent said in it may become known, or is.
    fn is_on_its_way(&self, id: ContractId) -> bool {
        let task = self.state.tasks.get(&task_of(id));
        let mut steps = task.into_iter().flat_map(|task| task.steps.values());
        steps.any(|step| matches!(step.outcome, Outcome::Open | Outcome::Delivered))
    }

    fn answer_terms(&mut self, bargain: &Bargain) -> Result<Option<TimestampMs>, Fault> {
        let id = task_of(bargain.id);
        let again_at = bargain.expires_at.max(self.world.now());
        let again_at = Some(again_at.saturating_add_ms(AFTER_LAPSE_MS));
        let talk = self.state.talks.entry(bargain.id).or_default();
        let step = bargain.last().map(|last| last.step);
        let task = self.state.tasks.entry(id).or_default();
        if talk.answered != step {
            talk.answered = step;
            for act in ACTS {
                task.steps.remove(&act);
            }
        }
        let order = talk.order.clone();
        let refused = task.steps.get(&Act::Terms);
        let may_counter = refused.is_none_or(|step| !matches!(step.outcome, Outcome::Refused(_)));
        if !ACTS.into_iter().all(|act| self.state.may_seal(id, act)) {
            return Ok(again_at);
        }
        let me = self.world.me();
        let answer = self.negotiator.as_ref().and_then(|negotiator| {
            let order = order.as_deref();
            let purchase = order.and_then(|key| negotiator.purchase(key));
            negotiator.answer(me, bargain, purchase, may_counter)
        });
        let Some(answer) = answer else {
            self.leave(bargain.id);
            return Ok(None);
        };
        let act = match &answer {
            NegotiationStep::Offer { .. } | NegotiationStep::Counter { .. } => Act::Terms,
            NegotiationStep::Accept { .. } => Act::Agree,
            NegotiationStep::Reject { .. } | NegotiationStep::Withdraw { .. } => Act::Decline,
        };
        let sealed = self.world.seal(bargain.counterparty(me), &answer);
        let sealed = sealed.map_err(|error| {
            Fault::Stuck(format!("the {} was not sealed: {error}", act.as_str()))
        })?;
        self.put(id, act, &sealed, None);
        Ok(again_at)
    }

    /// Seals the REQUEST under agreed terms, where they are for an order of this agent.
    fn engage(&mut self, bargain: &Bargain) -> Result<(), Fault> {
        let talk = self.state.talks.get(&bargain.id);
        let order = talk.and_then(|talk| talk.order.clone());
        let negotiator = self.negotiator.as_ref();
        let purchase = order
            .as_deref()
            .and_then(|key| negotiator?.purchase(key).cloned());
        let (Some(purchase), Some(agreed)) = (purchase, bargain.agreed()) else {
            self.leave(bargain.id);
            return Ok(());
        };
        let total = agreed.facts.total().map(|total| total.to_usdc_decimal());
        let mut request = purchase.order.request;
        let named = bargain.id.to_public().into();
        request
            .parameters
            .insert("negotiation_id".to_owned(), named);
        let sealed = self.world.seal(purchase.order.provider, &request);
        let sealed =
            sealed.map_err(|error| Fault::Stuck(format!("the request was not sealed: {error}")))?;
        let id = InteractionId::from(sealed.header.id);
        let text = format!("on {} USDC", total.unwrap_or_default());
        self.tell(Some(task_of(bargain.id)), What::Agreed, text);
        self.leave(bargain.id);
        self.state.requests.insert(request.idempotency_key, id);
        self.put(id, Act::Request, &sealed, None);
        if let Some(task) = self.state.tasks.get_mut(&id) {
            task.look_at_ms = None;
        }
        Ok(())
    }

    /// Forgets a negotiation; the next start begins its order anew, unless a REQUEST was sealed.
    fn leave(&mut self, id: ContractId) {
        let task = task_of(id);
        self.state.talks.remove(&id);
        self.state.tasks.remove(&task);
        self.state.requests.retain(|_, begun| *begun != task);
    }

    /// The OFFER for a REQUEST under a contract, by its agreed terms; `None` where there are none
    /// that this agent signed for.
    pub(super) async fn agreed_offer(
        &self,
        case: &Case,
        contract: ContractId,
    ) -> Result<Option<Offer>, Fault> {
        let bargain = self.world.bargain(contract).await?;
        let (Some(agreed), Some(part), Some(request)) =
            (bargain.agreed(), &self.provider, &case.request)
        else {
            return Ok(None);
        };
        let Some(amount) = agreed
            .facts
            .amount
            .filter(|_| agreed.facts.payee == case.provider)
        else {
            return Ok(None);
        };
        let mut prices = part.rules.prices.iter();
        let rule = prices.find(|rule| rule.task_type == request.task_type);
        let named = agreed
            .terms
            .get("deliverables")
            .and_then(|list| list.as_array());
        let named = named.map(|list| {
            let texts = list.iter().filter_map(|text| text.as_str());
            texts.map(str::to_owned).collect()
        });
        let usual = || rule.map(|rule| rule.deliverables.clone());
        let time_s = rule.map_or(request.deadline_s, |rule| rule.estimated_time_s);
        Ok(Some(Offer {
            interaction: case.id,
            price: price_of(amount, agreed.facts.amount_of),
            estimated_time_s: time_s.min(request.deadline_s),
            deliverables: named
                .or_else(usual)
                .unwrap_or_else(|| vec!["the result".to_owned()]),
            expiry_s: rule.map_or(300, |rule| rule.expiry_s),
            terms: None,
            payment_address: part.rules.payment_address,
        }))
    }
}

/// The negotiation that a message is about. It is only looked at because of it.
fn negotiation(message: &Incoming) -> Option<ContractId> {
    let header = message.envelope.header();
    let named = message.envelope.payload().get("negotiation_id");
    let named = named
        .and_then(|id| id.as_str())
        .and_then(|id| ContractId::from_public(id).ok());
    match NegotiationVerb::of(&header.message_type) {
        Some(NegotiationVerb::Offer) => Some(ContractId::from(header.id)),
        Some(_) => named,
        None if header.message_type == MessageType::Core(CoreType::Error) => named,
        None => None,
    }
}
