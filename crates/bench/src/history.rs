//! What a ledger holds before it is measured: conversations that were carried on some time ago.
//!
//! Every message of them is signed, checked, decided and committed by the real sequencer; only the
//! clock is not the machine's. It stands while a part of them is carried on, then goes on until all
//! of them have ended, and further, so a history of hours is made as fast as the ledger takes
//! messages.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use x811_client::clock::Clock;
use x811_ledger::clock::{Clock as _, ManualClock};
use x811_protocol::time::TimestampMs;

use super::chain::Chain;
use super::ledger::BenchLedger;
use super::traffic::Agents;
use x811_console::failure::Failure;

/// Conversations between two steps of the clock; they are in memory together.
const PART: usize = 2_000;

/// Between two looks at what is still open.
const STEP: Duration = Duration::from_millis(1);

/// Conversations at once.
const AT_ONCE: usize = 768;

/// The clock of ledger and agents while history is made.
#[derive(Debug, Clone)]
pub(super) struct PastClock(Arc<ManualClock>);

impl PastClock {
    /// A clock that stands at `at`.
    pub(super) fn at(at: TimestampMs) -> PastClock {
        PastClock(Arc::new(ManualClock::at(at)))
    }

    /// The side of it that the ledger sees.
    pub(super) fn of_ledger(&self) -> Arc<ManualClock> {
        self.0.clone()
    }

    /// Goes on by that time.
    pub(super) fn pass(&self, time: Duration) {
        let ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self.0.advance_ms(ms);
    }

    /// Goes on until no interaction is open and no payment is waited for: one that is free of charge
    /// completes when its time has come.
    async fn let_end(&self, ledger: &BenchLedger<ManualClock>) {
        while ledger.held().interactions > 0 || !ledger.watched().is_empty() {
            self.0.advance_ms(1);
            tokio::time::sleep(STEP).await;
        }
    }
}

impl Clock for PastClock {
    fn now(&self) -> TimestampMs {
        self.0.wall()
    }

    fn pause(&self, ms: u64) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.0.sleep_ms(ms))
    }
}

/// Conversations spread over a time.
#[derive(Debug, Clone, Copy)]
pub(super) struct History {
    /// Number of the first conversation.
    pub(super) first: usize,
    /// How many there are.
    pub(super) conversations: usize,
    /// The time they take, which the clock moves on in all.
    pub(super) span_ms: u64,
}

impl History {
    /// Carries them on at `ledger`, where the agents are registered.
    pub(super) async fn make(
        self,
        ledger: &BenchLedger<ManualClock>,
        agents: &Agents,
        clock: &PastClock,
    ) -> Result<(), Failure> {
        let mut chain = Chain::paying(agents.total());
        let parts = self.conversations.div_ceil(PART);
        for part in 0..parts {
            let done = part * PART;
            let count = PART.min(self.conversations - done);
            let conversations = agents.conversations_at(self.first + done, count, clock)?;
            ledger.converse(conversations, AT_ONCE).await?;
            chain.settle(ledger, clock.0.wall()).await;
            clock.let_end(ledger).await;
            ledger.rows_caught_up().await?;
            clock.0.advance_ms(self.span_ms / parts as u64);
        }
        Ok(())
    }
}

/// Registers all agents at a ledger whose clock that is.
pub(super) async fn register(
    ledger: &BenchLedger<ManualClock>,
    agents: &Agents,
    clock: &PastClock,
) -> Result<(), Failure> {
    let registrations = agents.registrations_at(ledger.did(), clock)?;
    ledger.accept_all(registrations).await
}
