//! A loop's part in sessions about capabilities: it asks for the agreements it wants, answers sessions by
//! its descriptor, signs what was agreed on, and sends its orders under the agreement.
//!
//! A session is attended to as interactions are: what is sealed lies in the outbox before it is sent, and
//! an answer to some terms is sealed again only after a refusal.

use serde::{Deserialize, Serialize};
use x811_protocol::facts::CapabilityVerb;
use x811_protocol::id::{EnvelopeId, InteractionId, SessionId};
use x811_protocol::time::TimestampMs;

use super::dealer::{DealMove, Dealer};
use super::dealt::Dealt;
use super::engine::{Engine, Fault};
use super::notice::What;
use super::outbox::Act;
use super::run::LoopError;
use super::state::Outcome;
use super::world::World;
use crate::compose::SessionStep;
use crate::http::{ClientError, InboxPage, Incoming};

/// When a session is looked at after its window should have lapsed, in milliseconds.
const AFTER_LAPSE_MS: u64 = 10_000;

/// What the ledger tells of sessions that nobody's message ended.
const NOTICE: &str = "x811.capability/notice";

/// What is said in sessions, each once to the same terms.
const ACTS: [Act; 3] = [Act::Terms, Act::Agree, Act::Decline];

/// A session that goes on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deal {
    /// Key of the agreement that it is to make; absent where the other party began it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub want: Option<String>,
    /// The terms that were answered last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<EnvelopeId>,
}

/// Under which name tasks and outbox have a session.
fn task_of(id: SessionId) -> InteractionId {
    InteractionId::from(id.request_id())
}

impl<W: World> Engine<W> {
    /// Sessions that messages of the feed belong to are looked at.
    pub(super) fn take_deals(&mut self, page: &InboxPage) {
        if self.dealer.is_none() {
            return;
        }
        for id in page.messages.iter().filter_map(session) {
            self.state.deals.entry(id).or_default();
            self.state.touch(task_of(id));
        }
    }

    /// The session that a task is, if it is one.
    pub(super) fn deal_of(&self, task: InteractionId) -> Option<SessionId> {
        let id = SessionId::from(EnvelopeId::from(task));
        self.state.deals.contains_key(&id).then_some(id)
    }

    /// Asks for agreements that are neither in force nor negotiated, and sends orders under those that
    /// are.
    pub(super) async fn open_deals(&mut self) -> Result<(), LoopError> {
        let Some(dealer) = self.dealer.clone() else {
            return Ok(());
        };
        if dealer.wants.is_empty() {
            return Ok(());
        }
        self.adopt_agreements(&dealer).await?;
        for want in &dealer.wants {
            if self.state.agreements.contains_key(&want.key) {
                self.order_under(&want.key)?;
                continue;
            }
            let mut deals = self.state.deals.values();
            if deals.any(|deal| deal.want.as_deref() == Some(&want.key)) {
                continue;
            }
            let sealed = self.world.seal(want.provider, &want.request())?;
            let id = SessionId::from(sealed.header.id);
            let deal = Deal {
                want: Some(want.key.clone()),
                answered: None,
            };
            self.state.deals.insert(id, deal);
            self.put(task_of(id), Act::Ask, &sealed, None);
            // Nothing to look at before it is accepted.
            if let Some(task) = self.state.tasks.get_mut(&task_of(id)) {
                task.look_at_ms = None;
            }
            self.save()?;
        }
        Ok(())
    }

    /// What is in force is used, whether this loop remembers it or not; what is not is asked for anew.
    async fn adopt_agreements(&mut self, dealer: &Dealer) -> Result<(), ClientError> {
        let me = self.world.me();
        let found = self.world.active_agreements().await?;
        let mut agreements = std::mem::take(&mut self.state.agreements);
        agreements.retain(|key, id| {
            dealer.want(key).is_some() && found.iter().any(|active| active.id == *id)
        });
        for want in &dealer.wants {
            let mut fitting = found.iter().filter(|active| {
                (active.consumer, active.provider) == (me, want.provider)
                    && active.capability == want.capability
                    && !agreements.values().any(|taken| *taken == active.id)
            });
            if !agreements.contains_key(&want.key)
                && let Some(active) = fitting.next()
            {
                agreements.insert(want.key.clone(), active.id);
            }
        }
        self.state.agreements = agreements;
        Ok(())
    }

    /// Seals the REQUESTs under an agreement that were not sealed yet.
    fn order_under(&mut self, key: &str) -> Result<(), LoopError> {
        let Some(agreement) = self.state.agreements.get(key).copied() else {
            return Ok(());
        };
        let dealer = self.dealer.clone();
        let want = dealer.as_ref().and_then(|dealer| dealer.want(key));
        let mut orders = want.map_or_else(Vec::new, |want| want.orders.clone());
        for order in &mut orders {
            let named = agreement.to_string().into();
            let parameters = &mut order.request.parameters;
            parameters.insert("agreement_id".to_owned(), named);
        }
        self.order(&orders)
    }

    /// The next move in a session; gives when to look at it again.
    pub(super) async fn deal(&mut self, id: SessionId) -> Result<Option<TimestampMs>, Fault> {
        let dealt = match self.world.dealt(id).await {
            Ok(dealt) => dealt,
            Err(ClientError::Refused(refused)) if refused.status == 404 && !self.is_open(id) => {
                self.leave_deal(id);
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        let again_at = dealt.deadline.unwrap_or_else(|| self.world.now());
        let again_at = again_at
            .max(self.world.now())
            .saturating_add_ms(AFTER_LAPSE_MS);
        let (want, may_counter) = self.answering(&dealt);
        match self.next_deal(&dealt, want.as_deref(), may_counter).await? {
            DealMove::Wait => Ok(Some(again_at)),
            DealMove::Leave => {
                self.leave_deal(id);
                Ok(None)
            }
            DealMove::Over => {
                if let Some(want) = want {
                    let text = format!("no terms were agreed on for the agreement {want}");
                    self.tell(Some(task_of(id)), What::Over, text);
                }
                self.leave_deal(id);
                Ok(None)
            }
            DealMove::Agreed => {
                self.agreed(&dealt, want)?;
                Ok(None)
            }
            DealMove::Say(act, step) => {
                self.say_in(&dealt, act, &step)?;
                Ok(Some(again_at))
            }
            DealMove::Sign => {
                let object = dealt.object.clone().ok_or_else(|| {
                    Fault::Stuck(format!("session {id} has nothing that could be signed"))
                })?;
                let step = self.world.signed(object);
                self.say_in(&dealt, Act::Sign, &step)?;
                Ok(Some(again_at))
            }
        }
    }

    /// What the session is for, and whether a counter to the last terms may be tried: terms that were not
    /// answered before are answered anew.
    fn answering(&mut self, dealt: &Dealt) -> (Option<String>, bool) {
        let step = dealt.last().map(|last| last.step);
        let deal = self.state.deals.entry(dealt.id).or_default();
        let task = self.state.tasks.entry(task_of(dealt.id)).or_default();
        if deal.answered != step {
            deal.answered = step;
            for act in ACTS {
                task.steps.remove(&act);
            }
        }
        let refused = task.steps.get(&Act::Terms);
        let may_counter = refused.is_none_or(|step| !matches!(step.outcome, Outcome::Refused(_)));
        (deal.want.clone(), may_counter)
    }

    async fn next_deal(
        &self,
        dealt: &Dealt,
        want: Option<&str>,
        may_counter: bool,
    ) -> Result<DealMove, Fault> {
        let Some(dealer) = &self.dealer else {
            return Ok(DealMove::Leave);
        };
        let me = self.world.me();
        // What this agent published a moment ago may say less than what it read at its start.
        let descriptor = match dealt.consumer == me {
            true => None,
            false => self.world.descriptor().await?,
        };
        let want = want.and_then(|key| dealer.want(key));
        Ok(dealer.next(me, dealt, want, descriptor.as_ref(), may_counter))
    }

    fn say_in(&mut self, dealt: &Dealt, act: Act, step: &SessionStep) -> Result<(), Fault> {
        let task = task_of(dealt.id);
        if !self.state.may_seal(task, act) {
            return Ok(());
        }
        let to = dealt.counterparty(self.world.me());
        let sealed = self.world.seal(to, step);
        let sealed = sealed.map_err(|error| {
            Fault::Stuck(format!("the {} was not sealed: {error}", act.as_str()))
        })?;
        self.put(task, act, &sealed, None);
        Ok(())
    }

    /// The agreement is in force: its orders are sent.
    fn agreed(&mut self, dealt: &Dealt, want: Option<String>) -> Result<(), Fault> {
        let text = format!("on {}, agreement {}", dealt.capability, dealt.agreement);
        self.tell(Some(task_of(dealt.id)), What::Agreed, text);
        self.leave_deal(dealt.id);
        let Some(key) = want else {
            return Ok(());
        };
        self.state.agreements.insert(key.clone(), dealt.agreement);
        self.save()?;
        self.order_under(&key).map_err(|error| {
            Fault::Stuck(format!("the orders under {key} were not sealed: {error}"))
        })
    }

    /// Whether something that this agent said in it may become known, or is.
    fn is_open(&self, id: SessionId) -> bool {
        let task = self.state.tasks.get(&task_of(id));
        let mut steps = task.into_iter().flat_map(|task| task.steps.values());
        steps.any(|step| matches!(step.outcome, Outcome::Open | Outcome::Delivered))
    }

    /// Forgets a session; the next start asks for its agreement anew, unless that is in force.
    fn leave_deal(&mut self, id: SessionId) {
        self.state.deals.remove(&id);
        self.state.tasks.remove(&task_of(id));
    }
}

/// The session that a message is about. It is only looked at because of it.
fn session(message: &Incoming) -> Option<SessionId> {
    let header = message.envelope.header();
    let payload = message.envelope.payload();
    let named = |name: &str| payload.get(name).and_then(|id| id.as_str());
    if header.message_type.as_str() == NOTICE {
        let subject = payload.get("subject")?;
        let is_session = subject.get("kind")?.as_str() == Some("session");
        let id = subject.get("id")?.as_str()?.parse().ok()?;
        return is_session.then_some(id);
    }
    match CapabilityVerb::of(&header.message_type)? {
        CapabilityVerb::Request => Some(SessionId::from(header.id)),
        CapabilityVerb::Agree => {
            let object = payload.get("agreement")?;
            object.get("session_id")?.as_str()?.parse().ok()
        }
        CapabilityVerb::Advertise | CapabilityVerb::Revoke => None,
        CapabilityVerb::Response
        | CapabilityVerb::Offer
        | CapabilityVerb::Counter
        | CapabilityVerb::Accept
        | CapabilityVerb::Reject
        | CapabilityVerb::Close => named("session_id")?.parse().ok(),
    }
}
