//! The loop itself, over a [`World`]: interactions that want attention, and the outbox.
//!
//! Every change is in the state file before anything leaves because of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::task::{self, JoinSet};
use x811_protocol::code::Code;
use x811_protocol::envelope::SealedEnvelope;
use x811_protocol::id::InteractionId;
use x811_protocol::settlement_view::ProviderPaid;
use x811_protocol::time::TimestampMs;

use super::case::Case;
use super::dealer::Dealer;
use super::decide::{self, InitiatorRules, Move, ProviderRules};
use super::money::Transfer;
use super::negotiator::Negotiator;
use super::notice::{Notice, Observer, What};
use super::outbox::{Act, Entry, MAX_SEALED};
use super::proof::{ProofDue, RETRY_MS};
use super::state::{Alarm, Outcome, State, StateError, Step};
use super::work::{Check, Product, WorkFault, Worker};
use super::world::World;
use crate::compose::Payload;
use crate::home::HomeError;
use crate::http::{ClientError, InboxPage};

/// When an interaction is looked at again after a fault that may pass, in milliseconds.
const RETRY_LOOK_MS: u64 = 2_000;

/// When an interaction is looked at again after an answer that does not hold, in milliseconds.
const DISTRUST_MS: u64 = 30_000;

/// What a provider's loop needs.
pub(crate) struct ProviderPart {
    pub(crate) rules: ProviderRules,
    pub(crate) worker: Arc<dyn Worker>,
}

/// What an initiator's loop needs.
pub(crate) struct InitiatorPart {
    pub(crate) rules: InitiatorRules,
    pub(crate) check: Arc<dyn Check>,
}

/// One loop of one DID.
pub(crate) struct Engine<W> {
    pub(crate) world: W,
    pub(crate) state: State,
    pub(crate) provider: Option<ProviderPart>,
    pub(crate) initiator: Option<InitiatorPart>,
    pub(crate) negotiator: Option<Arc<Negotiator>>,
    pub(crate) dealer: Option<Arc<Dealer>>,
    pub(crate) jobs: JoinSet<(InteractionId, Result<Product, WorkFault>)>,
    /// Interactions that are worked on, and by which task.
    pub(crate) working: BTreeMap<InteractionId, task::Id>,
    pub(crate) observer: Observer,
}

/// What ends an attention without ending the loop, or ends both.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The state cannot be written: nothing may be sent any more.
    State(StateError),
    /// The ledger did not answer, or not well.
    Ledger(ClientError),
    /// This one cannot go on; a person has to look.
    Stuck(String),
}

impl From<StateError> for Fault {
    fn from(error: StateError) -> Fault {
        Fault::State(error)
    }
}

impl From<HomeError> for Fault {
    fn from(error: HomeError) -> Fault {
        Fault::State(error.into())
    }
}

impl From<ClientError> for Fault {
    fn from(error: ClientError) -> Fault {
        Fault::Ledger(error)
    }
}

impl<W: World> Engine<W> {
    /// Takes a page of the feed: its interactions want attention, and the cursor moves, in one write.
    pub(crate) fn take(
        &mut self,
        page: &InboxPage,
        interactions: &[InteractionId],
    ) -> Result<(), StateError> {
        for bad in &page.unverified {
            self.alarm(
                None,
                format!(
                    "record {} in the feed does not hold: {}; it was passed over, tell the \
                     ledger's operator",
                    bad.position, bad.cause
                ),
            );
        }
        for interaction in interactions {
            self.state.touch(*interaction);
        }
        self.take_talks(page);
        self.take_deals(page);
        if page.next.is_some() {
            self.state.cursor.clone_from(&page.next);
        }
        self.save()
    }

    /// The earliest moment at which something is due.
    pub(crate) fn next_due(&self) -> Option<TimestampMs> {
        let looks = self.state.tasks.values().filter_map(|task| task.look_at_ms);
        let tries = self.state.outbox.iter().map(|entry| entry.not_before_ms);
        let proofs = self.state.proofs.iter().map(|due| due.try_at_ms);
        looks.chain(tries).chain(proofs).min()
    }

    /// Does all that is due now.
    pub(crate) async fn turn(&mut self) -> Result<(), StateError> {
        // What was sealed before a crash leaves first: what follows looks at its outcome.
        self.send_due().await?;
        for interaction in self.due_tasks() {
            self.attend(interaction).await?;
            self.send_due().await?;
        }
        self.fetch_proofs().await
    }

    fn due_tasks(&self) -> Vec<InteractionId> {
        let now = self.world.now();
        let tasks = self.state.tasks.iter();
        let due = tasks.filter(|(_, task)| task.look_at_ms.is_some_and(|at| at <= now));
        due.map(|(id, _)| *id).collect()
    }

    /// Looks at one interaction and makes its next move.
    async fn attend(&mut self, id: InteractionId) -> Result<(), StateError> {
        let again_at = match self.make_move(id).await {
            Ok(look_at_ms) => look_at_ms,
            Err(Fault::State(error)) => return Err(error),
            Err(Fault::Ledger(ClientError::Refused(refused))) if refused.status == 404 => {
                // A custom message, or an interaction of others; what this agent said something in is
                // never forgotten because the ledger does not show it.
                let task = self.state.tasks.get(&id);
                if task.is_none_or(|task| task.steps.is_empty()) {
                    self.state.tasks.remove(&id);
                    return self.save();
                }
                Some(self.after_ms(RETRY_LOOK_MS))
            }
            Err(Fault::Ledger(error @ ClientError::Untrusted { .. })) => {
                self.alarm(Some(id), error.to_string());
                Some(self.after_ms(DISTRUST_MS))
            }
            Err(Fault::Ledger(_)) => Some(self.after_ms(RETRY_LOOK_MS)),
            Err(Fault::Stuck(text)) => {
                self.alarm(Some(id), text);
                None
            }
        };
        if let Some(task) = self.state.tasks.get_mut(&id) {
            task.look_at_ms = again_at;
        }
        self.save()
    }

    /// The next move in an interaction; gives when to look at it again.
    async fn make_move(&mut self, id: InteractionId) -> Result<Option<TimestampMs>, Fault> {
        if let Some(talk) = self.talk_of(id) {
            return self.haggle(talk).await;
        }
        if let Some(deal) = self.deal_of(id) {
            return self.deal(deal).await;
        }
        let case = self.world.case(id).await?;
        let next = match decide::is_initiator(&case, self.world.me()) {
            Some(true) if self.initiator.is_some() => self.initiator_move(&case).await?,
            Some(false) if self.provider.is_some() => self.provider_move(&case).await?,
            Some(_) | None => {
                self.state.tasks.remove(&id);
                return Ok(None);
            }
        };
        match next {
            Move::Wait(at) => {
                self.watch_transfer(&case).await?;
                Ok(at)
            }
            Move::Offer(offer) => {
                self.say(&case, Act::Offer, &offer, None)?;
                Ok(None)
            }
            Move::Work => {
                self.start_work(&case).await?;
                Ok(None)
            }
            Move::TooLate => {
                let reason = "there is too little time left for the work".to_owned();
                self.report_failure(&case, &WorkFault { reason })?;
                Ok(None)
            }
            Move::Accept(commitment) => {
                self.accept(&case, commitment).await?;
                Ok(None)
            }
            Move::Reject {
                code,
                error_code,
                reason,
            } => {
                self.reject(&case, code, error_code, reason)?;
                Ok(None)
            }
            Move::Ask {
                asked,
                answer_by_ms,
            } => self.ask(&case, asked, answer_by_ms).await.map(Some),
            Move::Check => {
                self.judge_result(&case).await?;
                Ok(None)
            }
            Move::Pay => self.pay(&case).await,
            Move::Over { paid } => {
                self.end(&case, paid)?;
                Ok(None)
            }
        }
    }

    fn end(&mut self, case: &Case, paid: ProviderPaid) -> Result<(), Fault> {
        let has_transfer = self.has_transfer(case.id);
        self.working.remove(&case.id);
        self.world.forget_question(case.id)?;
        if has_transfer && paid != ProviderPaid::Yes {
            self.alarm(
                Some(case.id),
                format!(
                    "a transfer was sent, and the interaction ended {}: see x811 provider paid {}",
                    case.state, case.id
                ),
            );
        }
        let what = if paid == ProviderPaid::Yes {
            What::Paid
        } else {
            What::Over
        };
        self.tell(Some(case.id), what, case.state.to_string());
        self.state
            .forget(case.id, has_transfer || paid == ProviderPaid::Yes);
        Ok(())
    }

    fn has_transfer(&self, id: InteractionId) -> bool {
        let task = self.state.tasks.get(&id);
        let declared = task.and_then(|task| task.transfer.as_ref());
        let mut outbox = self.state.outbox.iter();
        declared.is_some()
            || outbox.any(|entry| entry.interaction == id && entry.transfer.is_some())
    }

    /// Seals a message to the other party and puts it into the outbox; it is sent once that is
    /// written.
    pub(crate) fn say(
        &mut self,
        case: &Case,
        act: Act,
        payload: &dyn Payload,
        transfer: Option<Transfer>,
    ) -> Result<(), Fault> {
        let to = case.counterparty(self.world.me());
        let sealed = self.world.seal(to, payload);
        let sealed = match sealed {
            Ok(sealed) => sealed,
            Err(error) => {
                // It would be refused each time.
                let task = self.state.tasks.entry(case.id).or_default();
                let given_up = Step {
                    sealed: MAX_SEALED,
                    outcome: Outcome::Refused(Code::InvalidStateTransition),
                };
                task.steps.insert(act, given_up);
                let what = act.as_str();
                return Err(Fault::Stuck(format!("the {what} was not sealed: {error}")));
            }
        };
        self.put(case.id, act, &sealed, transfer);
        Ok(())
    }

    pub(crate) fn put(
        &mut self,
        interaction: InteractionId,
        act: Act,
        sealed: &SealedEnvelope,
        transfer: Option<Transfer>,
    ) {
        self.state.put(Entry {
            interaction,
            act,
            envelope_id: sealed.header.id,
            digest: sealed.digest,
            created_ms: sealed.header.created_ms,
            envelope: String::from_utf8_lossy(&sealed.json).into_owned(),
            transfer,
            tries: 0,
            not_before_ms: TimestampMs::new(0),
            is_doubtful: false,
        });
    }

    async fn fetch_proofs(&mut self) -> Result<(), StateError> {
        let now = self.world.now();
        let due = self.state.proofs.iter().filter(|due| due.try_at_ms <= now);
        let due: Vec<ProofDue> = due.cloned().collect();
        for wanted in due {
            let fetched = self.world.proof(&wanted).await;
            let kept = fetched
                .map_err(|error| error.to_string())
                .and_then(|text| self.world.keep_proof(&wanted, &text));
            let same = |due: &ProofDue| due.envelope_id == wanted.envelope_id;
            match kept {
                Ok(()) => self.state.proofs.retain(|due| !same(due)),
                Err(cause) => {
                    let again_at = self.after_ms(RETRY_MS);
                    let now = self.world.now();
                    let mut proofs = self.state.proofs.iter_mut();
                    let Some(due) = proofs.find(|due| same(due)) else {
                        continue;
                    };
                    due.try_at_ms = again_at;
                    if due.is_overdue(now) {
                        due.is_alarmed = true;
                        let (what, position) = (due.act.as_str(), due.position);
                        let interaction = due.interaction;
                        self.alarm(
                            Some(interaction),
                            format!(
                                "no proof that the acknowledged {what} is record {position} of the \
                                 log ({cause}): keep the state file, ask the ledger's operator"
                            ),
                        );
                    }
                }
            }
            self.save()?;
        }
        Ok(())
    }

    /// Notes what a person has to look at.
    pub(crate) fn alarm(&mut self, interaction: Option<InteractionId>, text: String) {
        let alarm = Alarm {
            at_ms: self.world.now(),
            interaction,
            text: text.clone(),
        };
        if self.state.alarm(alarm) {
            self.tell(interaction, What::Alarm, text);
        }
    }

    pub(crate) fn tell(&self, interaction: Option<InteractionId>, what: What, text: String) {
        (self.observer)(&Notice {
            at_ms: self.world.now(),
            interaction,
            what,
            text,
        });
    }

    pub(crate) fn save(&mut self) -> Result<(), StateError> {
        let now = self.world.now();
        self.state.forget_old(now);
        self.world.save(&self.state)
    }

    pub(crate) fn after_ms(&self, ms: u64) -> TimestampMs {
        self.world.now().saturating_add_ms(ms)
    }
}

#[cfg(test)]
mod tests;
