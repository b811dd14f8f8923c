//! What every handler holds.

use crate::cards::Cards;
use crate::config::LogReaders;
use crate::connections::ConnectionFigures;
use crate::contract_wallets::AskedContracts;
use crate::error::{ApiError, SUSPENDED};
use crate::feed::Feeds;
use crate::limits::Limiter;
use crate::metrics::HttpFigures;
use crate::others::Others;
use crate::passing::Passing;
use crate::presence::Presence;
use crate::role::{POSITION_PATIENCE_MS, Role};
use crate::signed_read::SignedReads;
use crate::start::blindness::BlindnessBound;
use crate::start::log_check::LogCheck;
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::watch;
use x811_ledger::checkpoint::{Signed, Unstored};
use x811_ledger::clock::Clock;
use x811_ledger::sequencer::Ledger;
use x811_protocol::event::LedgerOpened;
use x811_protocol::key::SecretKey;
use x811_protocol::parameters::Parameters;
use x811_protocol::refusal::{Kind, Refusal};
use x811_store::{Backend, ReadRows, StoreFault};
use x811_watcher::NetworkHealth;
use x811_world::keys_statement::SignedKeys;

/// How long a read waits for the rows to catch up.
const ROWS_PATIENCE_MS: u64 = 5_000;

/// The ledger as the server runs it.
pub(crate) type RunningLedger<C> = Ledger<Backend, ReadRows, C>;

/// Shared by all requests.
pub(crate) struct App<C> {
    pub(crate) ledger: RunningLedger<C>,
    pub(crate) clock: Arc<C>,
    /// Where everything is written.
    pub(crate) data_dir: PathBuf,
    pub(crate) connections: Arc<ConnectionFigures>,
    pub(crate) http: HttpFigures,
    pub(crate) identity: LedgerOpened,
    pub(crate) parameters: Parameters,
    pub(crate) receipt_key: SecretKey,
    /// Signs where streams end, in receipts and bundles; checkpoints are signed elsewhere.
    pub(crate) checkpoint_key: SecretKey,
    pub(crate) open_reads: bool,
    /// Who reads the log as a whole.
    pub(crate) log_readers: LogReaders,
    /// How long a network may be blind before the operator is called.
    pub(crate) blindness: BlindnessBound,
    /// How long a request's body may take to arrive.
    pub(crate) body_read_ms: u64,
    pub(crate) limiter: Limiter,
    /// Asked whether contract wallets take their proofs.
    pub(crate) contracts: Arc<AskedContracts>,
    /// What this process is to the ledger.
    pub(crate) role: Role,
    /// Between processes of this ledger.
    pub(crate) passing: Passing,
    /// Who else follows, and how far; looked up now and then.
    pub(crate) others: watch::Receiver<Others>,
    pub(crate) signed_reads: SignedReads,
    /// Composes and signs agent cards.
    pub(crate) cards: Cards,
    /// Who said lately that it is there.
    pub(crate) presence: Presence,
    /// What is kept for feeds beside the log.
    pub(crate) feeds: Feeds,
    /// The last checkpoint that this process has stored.
    pub(crate) signed: watch::Receiver<Option<Signed>>,
    /// Records that wait for a stored checkpoint.
    pub(crate) unstored: watch::Receiver<Option<Unstored>>,
    /// How far the log has been read again since the start.
    pub(crate) log_check: watch::Receiver<LogCheck>,
    /// How the network is watched.
    pub(crate) watching: watch::Receiver<NetworkHealth>,
    /// Becomes true when the server is to stop.
    pub(crate) stopping: watch::Receiver<bool>,
}

impl<C: Clock> App<C> {
    /// Waits, for a bounded time, until the rows reflect the record at `position`; 404 for one
    /// that the log does not hold.
    pub(crate) async fn rows_reflect(&self, position: u64) -> Result<(), ApiError> {
        let size = self.ledger.world().head().size;
        if position >= size {
            let message = format!("the log holds {size} records, none at that position yet");
            return Err(ApiError::not_found(message));
        }
        tokio::select! {
            reflected = self.ledger.rows_reflect(position) => Ok(reflected?),
            () = self.clock.sleep_ms(ROWS_PATIENCE_MS) => Err(ApiError::unavailable(
                "the rows for reading do not reflect that record yet: ask again",
            )),
        }
    }

    /// Waits, for a bounded time, until the record at `position` is published, which another process
    /// may have acknowledged just now.
    pub(crate) async fn await_position(&self, position: u64) -> Result<(), ApiError> {
        let mut worlds = self.ledger.follow();
        tokio::select! {
            biased;
            _ = worlds.wait_for(|world| world.head().size > position) => Ok(()),
            () = self.clock.sleep_ms(POSITION_PATIENCE_MS) => Err(ApiError::not_yet(
                "this process of the ledger has not come to that record yet: ask again, or ask another one",
            )),
        }
    }

    /// Waits until the rows reflect everything durable, as long as there is hope of it, and returns how
    /// many records that is. Rows that cannot be written, on a full disk say, are no reason to show
    /// nothing: what they reflect was true, and is all there.
    pub(crate) async fn rows_as_they_come(&self) -> u64 {
        let size = self.ledger.world().head().size;
        let mut failing = self.ledger.rows_failing();
        if let Some(last) = size.checked_sub(1) {
            tokio::select! {
                biased;
                _ = self.ledger.rows_reflect(last) => {}
                Ok(_) = failing.wait_for(|failing| *failing) => {}
                () = self.clock.sleep_ms(ROWS_PATIENCE_MS) => {}
            }
        }
        size
    }

    /// Size and age in milliseconds of the last checkpoint; `None` before this process stored one.
    pub(crate) fn checkpoint(&self) -> Option<(u64, u64)> {
        let signed = self.signed.borrow();
        let signed = signed.as_ref()?;
        let now_ms = self.clock.monotonic_ms();
        let age_ms = now_ms.saturating_sub(signed.monotonic_ms);
        Some((signed.checkpoint.size, age_ms))
    }

    /// Records that wait for a stored checkpoint, and need attention by now.
    pub(crate) fn unstored(&self) -> Option<Unstored> {
        self.unstored.borrow().filter(Unstored::needs_attention)
    }

    /// True while no checkpoint could be stored for so long that no messages are taken.
    pub(crate) fn is_checkpoint_overdue(&self) -> bool {
        self.unstored()
            .is_some_and(|unstored| unstored.is_overdue())
    }

    /// Returns the state of the store that keeps the ledger from recording anything, if there is one.
    pub(crate) fn store_fault(&self) -> Option<StoreFault> {
        self.ledger.store().fault()
    }

    /// Refuses what would have to be recorded while the store must not be written to.
    pub(crate) fn may_record(&self) -> Result<(), ApiError> {
        match self.store_fault() {
            Some(_) => Err(ApiError::not_yet(SUSPENDED)),
            None => Ok(()),
        }
    }

    /// Returns the answer for a refusal of the ledger. One that comes of a suspended store says so.
    pub(crate) fn refused(&self, refusal: Refusal) -> ApiError {
        refused(refusal, self.store_fault().as_ref())
    }

    /// The last checkpoint; 503 before this process stored one.
    pub(crate) fn last_signed(&self) -> Result<Signed, ApiError> {
        let signed = self.signed.borrow().clone();
        signed.ok_or_else(|| {
            ApiError::unavailable("no checkpoint is signed since the ledger was started: ask again")
        })
    }

    /// The keys statement of the last checkpoint; 503 before this process made one.
    pub(crate) fn last_keys(&self) -> Result<SignedKeys, ApiError> {
        let keys = self.last_signed()?.keys;
        keys.ok_or_else(ApiError::no_keys_statement)
    }

    /// Waits, for a bounded time, until the last checkpoint covers the record at `position`.
    pub(crate) async fn signed_over(&self, position: u64) -> Result<Signed, ApiError> {
        let mut signed = self.signed.clone();
        let covers = |signed: &Option<Signed>| {
            let signed = signed.as_ref();
            signed.is_some_and(|signed| signed.checkpoint.size > position)
        };
        tokio::select! {
            // Whoever signed is gone: what it left is the last.
            _ = signed.wait_for(covers) => {}
            () = self.clock.sleep_ms(ROWS_PATIENCE_MS) => {}
        }
        let last = self.last_signed()?;
        if last.checkpoint.size > position {
            return Ok(last);
        }
        Err(ApiError::unavailable(
            "no checkpoint covers that record yet: one is signed every second, ask again",
        ))
    }

    /// Ready when the server is to stop.
    pub(crate) fn stopped(&self) -> impl Future<Output = ()> + Send + 'static {
        stopped(self.stopping.clone())
    }
}

fn refused(mut refusal: Refusal, fault: Option<&StoreFault>) -> ApiError {
    if fault.is_some() && refusal.kind == Kind::NotNow {
        SUSPENDED.clone_into(&mut refusal.message);
    }
    refusal.into()
}

/// Ready when the server is to stop.
pub(crate) async fn stopped(mut stopping: watch::Receiver<bool>) {
    // Nobody left who could ask for it means the same.
    let _ = stopping.wait_for(|stop| *stop).await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::to_bytes;
    use axum::http::header::RETRY_AFTER;
    use axum::response::IntoResponse as _;

    /// Status, `Retry-After` and body of the answer for `refusal`.
    async fn answered(refusal: Refusal, fault: Option<&StoreFault>) -> (u16, bool, String) {
        let response = refused(refusal, fault).into_response();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        let body = String::from_utf8(body.to_vec()).unwrap();
        (status, headers.contains_key(RETRY_AFTER), body)
    }

    #[tokio::test]
    async fn ae_108_what_a_suspended_store_did_not_record_is_refused_by_its_name() {
        let fault = StoreFault::Suspended("the stream has $maxCount".to_owned());
        let failed = || Refusal::not_now("nothing happened");
        let (status, waits, body) = answered(failed(), Some(&fault)).await;
        assert_eq!((status, waits), (503, true), "{body}");
        for words in ["is suspended", "send the same message again"] {
            assert!(body.contains(words), "{words}: {body}");
        }
        assert!(body.contains("X811-9002"), "{body}");
        assert!(!body.contains("$maxCount"), "{body}");
        let (status, waits, body) = answered(failed(), None).await;
        assert_eq!((status, waits), (503, true), "{body}");
        assert!(body.contains("nothing happened"), "{body}");
        let (status, _, body) = answered(Refusal::state("too late"), Some(&fault)).await;
        assert_eq!(status, 422);
        assert!(body.contains("too late"), "{body}");
    }
}
