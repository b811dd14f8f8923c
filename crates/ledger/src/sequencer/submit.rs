//! A message's way from its bytes to its answer.
//!
//! While few messages are on it, each goes alone: whoever sent it checks it and queues it for its
//! turn. While many are, whoever checked a group of signatures sends its messages on, so that their
//! senders are woken once only, for the answer. Those of a group that does not hold, or that nobody
//! checked, go alone after all.

use super::Item;
use super::admission::Admitted;
use super::batch::busy;
use super::check::{Check, Checked, Refused};
use super::fair::Origin;
use super::handle::{Ledger, gone};
use super::repeat::Sent;
use crate::SPANS;
use crate::answer::Answer;
use crate::clock::{Clock, LedgerClock};
use crate::contract_wallets;
use crate::port::{ContractWallets, LedgerStore, NoContracts};
use crate::submission::{self, Submission};
use std::sync::Arc;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};
use tracing::{Instrument as _, Span};
use x811_protocol::envelope::{AcceptedHeader, Unverified, VerifiedEnvelope};
use x811_protocol::refusal::Refusal;
use x811_protocol::time::TimestampMs;

/// Who is asked whether a message may go on, once its signature is verified.
pub trait MayGoOn: Fn(&AcceptedHeader) -> Result<(), Refusal> + Clone + Send + 'static {}

impl<F: Fn(&AcceptedHeader) -> Result<(), Refusal> + Clone + Send + 'static> MayGoOn for F {}

/// Who is asked before a message takes its turn, and since when it is on its way.
struct Asked<'a, M, W> {
    origin: Origin,
    may: M,
    contracts: &'a W,
    now: TimestampMs,
}

impl<S: LedgerStore, R, C: Clock> Ledger<S, R, C> {
    /// Takes a message: `bytes` are an envelope, bare or as `{"envelope": …}`. The answer comes
    /// once it is durable.
    ///
    /// # Errors
    /// The refusal to answer with. X811-9001 when the ledger is busy and X811-9002 when it failed:
    /// neither spends the nonce, so the same bytes may be sent again.
    pub async fn submit(
        &self,
        bytes: impl AsRef<[u8]> + Send + 'static,
    ) -> Result<Answer, Refusal> {
        self.submit_if(bytes, |_: &_| Ok(()), &NoContracts).await
    }

    /// The same, when `may` agrees. It is asked once the signature is verified, so that nobody can
    /// use up what another one is allowed. After it `contracts` judge the contract wallets that the
    /// message brings, if any.
    ///
    /// # Errors
    /// Those of [`Ledger::submit`] and of `may`; a refusal of `may` spends no nonce. X811-9002 and
    /// X811-9001 when a contract could not be asked.
    pub async fn submit_if(
        &self,
        bytes: impl AsRef<[u8]> + Send + 'static,
        may: impl MayGoOn,
        contracts: &impl ContractWallets,
    ) -> Result<Answer, Refusal> {
        self.submit_from(Origin::HERE, bytes, may, contracts).await
    }

    /// The same for a message that came from `origin`: long ones wait for those of the same origin, and
    /// hardly for others'.
    ///
    /// # Errors
    /// Those of [`Ledger::submit_if`], and X811-9001 when the origin has too much on its way.
    pub async fn submit_from(
        &self,
        origin: Origin,
        bytes: impl AsRef<[u8]> + Send + 'static,
        may: impl MayGoOn,
        contracts: &impl ContractWallets,
    ) -> Result<Answer, Refusal> {
        let span = tracing::debug_span!(target: SPANS, "submit");
        let now = self.clock.now();
        let asked = Asked {
            origin,
            may,
            contracts,
            now,
        };
        let answer = self.take(bytes, asked).instrument(span).await;
        self.figures.answered(&answer);
        answer
    }

    async fn take(
        &self,
        bytes: impl AsRef<[u8]> + Send + 'static,
        asked: Asked<'_, impl MayGoOn, impl ContractWallets>,
    ) -> Result<Answer, Refusal> {
        let admitted = self.admission.admit(bytes.as_ref().len())?;
        let _taken = self.together.taken();
        let check = Check {
            bytes,
            world: self.world(),
            newest: self.world.clone(),
            now: asked.now,
        };
        let span = check_span();
        if !check.is_short() {
            let length = check.bytes.as_ref().len();
            let alone = move || (span.in_scope(|| check.alone()), admitted);
            let turn = self.fair.at_its_turn(asked.origin, length, alone);
            let (checked, admitted) = turn.await?;
            return self.go_alone(checked, admitted, asked).await;
        }
        if !self.together.is_worth_it() {
            let checked = span.in_scope(|| check.alone());
            drop(span);
            return self.go_alone(checked, admitted, asked).await;
        }
        match span.in_scope(|| check.but_for_signature()) {
            Ok(envelope) => {
                self.go_together(check, envelope, admitted, span, asked)
                    .await
            }
            Err(checked) => {
                drop(span);
                self.go_alone(checked, admitted, asked).await
            }
        }
    }

    /// Has the signature checked with others, and the message sent on from there. It is nothing that
    /// a contract is asked about: those are checked alone.
    async fn go_together(
        &self,
        check: Check<impl AsRef<[u8]>>,
        envelope: Box<Unverified>,
        admitted: Admitted,
        span: Span,
        asked: Asked<'_, impl MayGoOn, impl ContractWallets>,
    ) -> Result<Answer, Refusal> {
        let sent = Sent::of_parsed(&envelope.parsed);
        let (reply, answer) = oneshot::channel();
        let (world, may) = (check.world.clone(), asked.may.clone());
        let (turns, parent) = (self.turns(), Span::current());
        let go_on = move |envelope: VerifiedEnvelope| {
            drop(span);
            let message = submission::verified(envelope, &world)
                .and_then(|message| may(&message.header).map(|()| message));
            match message {
                Ok(message) => turns.queue(message, admitted, reply, &parent),
                // A sender that is gone needs no answer.
                Err(refusal) => drop(reply.send(Err(refusal))),
            }
        };
        self.together.check(envelope, go_on).await;
        if let Ok(answer) = answer.await {
            return self.answered(sent, answer).await;
        }
        // Nobody went on with it, and its share is given back.
        let admitted = self.admission.admit(check.bytes.as_ref().len());
        let admitted = admitted.map_err(|refusal| refusal.related_to(sent.id))?;
        let checked = check_span().in_scope(|| check.alone());
        // Boxed, as it is rare.
        Box::pin(self.go_alone(checked, admitted, asked)).await
    }

    /// Sends on what was checked here, and waits for its answer.
    async fn go_alone(
        &self,
        checked: Checked,
        admitted: Admitted,
        asked: Asked<'_, impl MayGoOn, impl ContractWallets>,
    ) -> Result<Answer, Refusal> {
        let message = match checked {
            Ok(message) => message,
            Err(refused) => return Err(self.refusal(*refused).await),
        };
        let sent = Sent::of(&message.header);
        let judged = match (asked.may)(&message.header) {
            Ok(()) => {
                let world = self.world();
                contract_wallets::judge(message, &world, asked.contracts, asked.now).await
            }
            Err(refusal) => Err(refusal),
        };
        let answer = match judged {
            Ok(message) => self.take_turn(message, admitted).await,
            Err(refusal) => Err(refusal),
        };
        self.answered(sent, answer).await
    }

    /// The answer to a message whose signature held when it was checked.
    async fn answered(
        &self,
        sent: Sent,
        answer: Result<Answer, Refusal>,
    ) -> Result<Answer, Refusal> {
        match answer {
            Ok(answer) => Ok(answer),
            Err(refusal) => {
                let refusal = self.unless_repeated(sent, refusal).await;
                Err(refusal.related_to(sent.id))
            }
        }
    }

    async fn refusal(&self, Refused { refusal, sent }: Refused) -> Refusal {
        match sent {
            Some(sent) => self.unless_repeated(sent, refusal).await,
            None => refusal,
        }
    }

    /// Queues an authentic message and waits for its answer.
    async fn take_turn(
        &self,
        message: Box<Submission>,
        admitted: Admitted,
    ) -> Result<Answer, Refusal> {
        let (reply, answer) = oneshot::channel();
        self.turns()
            .queue(message, admitted, reply, &Span::current());
        answer.await.map_err(|_| gone())?
    }

    fn turns(&self) -> Turns<C> {
        Turns {
            items: self.items.clone(),
            clock: self.clock.clone(),
        }
    }
}

fn check_span() -> Span {
    tracing::debug_span!(target: SPANS, "check")
}

/// Where messages wait for their turn.
struct Turns<C> {
    items: mpsc::Sender<Item>,
    clock: Arc<LedgerClock<C>>,
}

impl<C: Clock> Turns<C> {
    /// Queues an authentic message, or answers at once where nothing can be queued.
    fn queue(
        &self,
        message: Box<Submission>,
        admitted: Admitted,
        reply: oneshot::Sender<Result<Answer, Refusal>>,
        parent: &Span,
    ) {
        let item = Item::Message {
            message,
            queued_at_ms: self.clock.monotonic_ms(),
            turn: tracing::debug_span!(target: SPANS, parent: parent, "turn"),
            reply,
            admitted,
        };
        let (item, refusal) = match self.items.try_send(item) {
            Ok(()) => return,
            Err(TrySendError::Full(item)) => (item, busy("the ledger has too much to do")),
            Err(TrySendError::Closed(item)) => (item, gone()),
        };
        if let Item::Message { reply, .. } = item {
            // A sender that is gone needs no answer.
            let _ = reply.send(Err(refusal));
        }
    }
}
