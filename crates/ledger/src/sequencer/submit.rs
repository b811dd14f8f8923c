//! A message's way from its bytes to its answer.

use super::Item;
use super::admission::Admitted;
use super::batch::busy;
use super::check::{Check, Checked, Refused};
use super::handle::{Ledger, gone};
use super::pool::on_the_pool;
use super::repeat::Sent;
use crate::SPANS;
use crate::answer::Answer;
use crate::clock::Clock;
use crate::contract_wallets;
use crate::port::{ContractWallets, LedgerStore, NoContracts};
use crate::submission::Submission;
use tokio::sync::{mpsc, oneshot};
use tracing::Instrument as _;
use x811_protocol::envelope::AcceptedHeader;
use x811_protocol::refusal::Refusal;
use x811_protocol::time::TimestampMs;

/// Up to here an envelope takes little longer to check than its signature does, and handing it over
/// to another thread would cost a tenth of that.
const CHECKED_HERE_BYTES: usize = 16 * 1_024;

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
        self.submit_if(bytes, |_| Ok(()), &NoContracts).await
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
        may: impl FnOnce(&AcceptedHeader) -> Result<(), Refusal> + Send,
        contracts: &impl ContractWallets,
    ) -> Result<Answer, Refusal> {
        let span = tracing::debug_span!(target: SPANS, "submit");
        let answer = self.receive(bytes, may, contracts).instrument(span).await;
        self.figures.answered(&answer);
        answer
    }

    async fn receive(
        &self,
        bytes: impl AsRef<[u8]> + Send + 'static,
        may: impl FnOnce(&AcceptedHeader) -> Result<(), Refusal> + Send,
        contracts: &impl ContractWallets,
    ) -> Result<Answer, Refusal> {
        let admitted = self.admission.admit(bytes.as_ref().len())?;
        let _taken = self.together.taken();
        let now = self.clock.now();
        let (checked, admitted) = self.checked(bytes, admitted, now).await?;
        let message = match checked {
            Ok(message) => message,
            Err(refused) => return Err(self.refusal(*refused).await),
        };
        let sent = Sent::of(&message.header);
        let id = message.header.id;
        let judged = match may(&message.header) {
            Ok(()) => contract_wallets::judge(message, &self.world(), contracts, now).await,
            Err(refusal) => Err(refusal),
        };
        let answer = match judged {
            Ok(message) => self.take_turn(message, admitted).await,
            Err(refusal) => Err(refusal),
        };
        match answer {
            Ok(answer) => Ok(answer),
            Err(refusal) => Err(self.unless_repeated(sent, refusal).await.related_to(id)),
        }
    }

    /// Checks what needs no order, on this thread or, if that may take long, on the CPU pool.
    async fn checked(
        &self,
        bytes: impl AsRef<[u8]> + Send + 'static,
        admitted: Admitted,
        now: TimestampMs,
    ) -> Result<(Checked, Admitted), Refusal> {
        let span = tracing::debug_span!(target: SPANS, "check");
        let is_small = bytes.as_ref().len() <= CHECKED_HERE_BYTES;
        let check = Check {
            bytes,
            world: self.world(),
            newest: self.world.clone(),
            now,
        };
        if is_small && self.together.is_worth_it() {
            let checked = check.together(&self.together).instrument(span).await;
            return Ok((checked, admitted));
        }
        let check = move || (span.in_scope(|| check.alone()), admitted);
        if is_small {
            return Ok(check());
        }
        on_the_pool(check).await.ok_or_else(gone)
    }

    async fn refusal(&self, Refused { refusal, sent }: Refused) -> Refusal {
        match sent {
            Some(sent) => self.unless_repeated(sent, refusal).await,
            None => refusal,
        }
    }

    /// Queues an authentic message and waits for its answer.
    async fn take_turn(&self, message: Submission, admitted: Admitted) -> Result<Answer, Refusal> {
        let (reply, answer) = oneshot::channel();
        let item = Item::Message {
            message: Box::new(message),
            queued_at_ms: self.clock.monotonic_ms(),
            turn: tracing::debug_span!(target: SPANS, "turn"),
            reply,
            admitted,
        };
        self.items.try_send(item).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => busy("the ledger has too much to do"),
            mpsc::error::TrySendError::Closed(_) => gone(),
        })?;
        answer.await.map_err(|_| gone())?
    }
}
