//! The renewal of the writer's lease, and the gaps in it (stores.md section 2).
//!
//! A lease that ran out in the database is not renewed before the process has compared its log with
//! those of its peers: it may have slept through the promotion of another server, and this database may
//! be the one that was left behind. Until it is renewed the database refuses every commit (`append`).

use std::sync::Arc;
use std::time::Duration;

use sqlx::Connection as _;
use sqlx::postgres::PgConnection;
use tokio::sync::watch;
use tokio::time::sleep;

use super::moment::Moment;
use super::open::{RENEW_EVERY, session_name};
use super::published::Renewed;
use super::session;
use super::url::StoreUrl;

/// The shortest time between two publications of how far the log is sure.
const PUBLISH_PAUSE: Duration = Duration::from_millis(20);

/// Renews the lease as long as it has not run out, or with `$3` in any case. The interval is `LEASE_MS`.
const RENEW: &str = "
    UPDATE lease SET renewed_at = clock_timestamp(), published = greatest(published, $2)
    WHERE holder = $1 AND ($3 OR renewed_at > clock_timestamp() - interval '3 seconds')";

/// Stops the writer between a gap and the comparison with its peers.
#[derive(Debug, Default)]
pub(super) struct Gate(watch::Sender<GateState>);

#[derive(Debug, Clone, Copy, Default)]
struct GateState {
    /// Somebody compares. Without a watcher the gate is open.
    is_watched: bool,
    is_shut: bool,
    /// A peer is ahead: nothing is written any more.
    is_over: bool,
}

impl Gate {
    /// Shuts the gate where it is watched, and waits until it is opened again; false where this process
    /// must not write any more.
    pub(super) async fn pass(&self) -> bool {
        let mut seen = self.0.subscribe();
        self.0.send_if_modified(|state| {
            state.is_shut = state.is_watched && !state.is_over;
            state.is_shut
        });
        // The sender lives in `self`.
        let opened = seen.wait_for(|state| !state.is_shut).await;
        opened.is_ok_and(|state| !state.is_over)
    }

    /// Ready while the gate is shut.
    pub(super) async fn shut(&self) {
        let mut seen = self.0.subscribe();
        self.0.send_modify(|state| state.is_watched = true);
        let _ = seen.wait_for(|state| state.is_shut).await;
    }

    /// Opens the gate.
    pub(super) fn open(&self) {
        self.0.send_modify(|state| state.is_shut = false);
    }

    /// Lets nobody pass any more.
    pub(super) fn end(&self) {
        self.0.send_modify(|state| {
            state.is_shut = false;
            state.is_over = true;
        });
    }

    /// Ready once nobody passes any more.
    async fn over(&self) {
        let _ = self.0.subscribe().wait_for(|state| state.is_over).await;
    }
}

/// What renews the lease of one process.
pub(super) struct Renewal {
    pub(super) url: StoreUrl,
    pub(super) holder: String,
    /// Records known to be stored.
    pub(super) size: watch::Receiver<u64>,
    pub(super) renewed: watch::Sender<Renewed>,
    pub(super) gate: Arc<Gate>,
}

impl Renewal {
    /// Renews the lease until this process must not write any more, and publishes how far the log is
    /// sure.
    pub(super) async fn run(mut self) {
        let gate = self.gate.clone();
        tokio::select! {
            () = self.until_lost() => tracing::error!("another process has the lease of this ledger"),
            () = gate.over() => {}
        }
        self.renewed.send_modify(|renewed| renewed.is_lost = true);
    }

    async fn until_lost(&mut self) {
        // Nobody is acknowledged by it: a renewal that a crash undoes lets others take over sooner.
        let session = self
            .url
            .as_session(&session_name(&self.holder))
            .options([("synchronous_commit", "off")]);
        loop {
            match session::connect(&session).await {
                Ok(mut connection) => match self.run_on(&mut connection).await {
                    Ok(()) => {
                        let _ = connection.close().await;
                        return;
                    }
                    Err(error) => tracing::warn!(%error, "the lease could not be renewed"),
                },
                Err(error) => tracing::warn!(%error, "the lease could not be renewed"),
            }
            sleep(RENEW_EVERY).await;
        }
    }

    async fn run_on(&mut self, connection: &mut PgConnection) -> Result<(), sqlx::Error> {
        loop {
            let published = *self.size.borrow_and_update();
            let Some(at) = self.renew(connection, published).await? else {
                return Ok(());
            };
            self.renewed.send_modify(|renewed| renewed.at = at);
            sleep(PUBLISH_PAUSE).await;
            let size = &mut self.size;
            let more = async {
                if size.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            };
            tokio::select! {
                () = more => {}
                () = sleep(RENEW_EVERY) => {}
            }
        }
    }

    /// Renews the lease once, and returns when that was asked for; `None` where another process has it.
    async fn renew(
        &self,
        connection: &mut PgConnection,
        published: u64,
    ) -> Result<Option<Moment>, sqlx::Error> {
        // Before it is asked for: a renewal counts from then.
        let at = Moment::now();
        if self.renewed_as(connection, published, false).await? {
            return Ok(Some(at));
        }
        let mine = "SELECT EXISTS (SELECT FROM lease WHERE holder = $1)";
        let mine = sqlx::query_scalar::<_, bool>(mine).bind(&self.holder);
        if !mine.fetch_one(&mut *connection).await? {
            return Ok(None);
        }
        tracing::warn!("the lease ran out before it was renewed");
        let may_go_on = self.gate.pass().await;
        let at = Moment::now();
        let is_mine = may_go_on && self.renewed_as(connection, published, true).await?;
        Ok(is_mine.then_some(at))
    }

    async fn renewed_as(
        &self,
        connection: &mut PgConnection,
        published: u64,
        is_late: bool,
    ) -> Result<bool, sqlx::Error> {
        let renewal = sqlx::query(RENEW)
            .bind(&self.holder)
            .bind(published.cast_signed())
            .bind(is_late);
        Ok(renewal.execute(connection).await?.rows_affected() > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn stores_2_a_gate_that_nobody_watches_is_open() {
        assert!(Gate::default().pass().await);
    }

    #[tokio::test]
    async fn stores_2_a_gate_that_is_watched_stays_shut_until_it_is_opened() {
        for may_go_on in [true, false] {
            let gate = Arc::new(Gate::default());
            let watched = gate.clone();
            let watching = tokio::spawn(async move { watched.shut().await });
            while !gate.0.borrow().is_watched {
                tokio::task::yield_now().await;
            }
            let passed = gate.clone();
            let passing = tokio::spawn(async move { passed.pass().await });
            watching.await.unwrap();
            tokio::task::yield_now().await;
            assert!(!passing.is_finished());
            match may_go_on {
                true => gate.open(),
                false => gate.end(),
            }
            assert_eq!(passing.await.unwrap(), may_go_on);
            if !may_go_on {
                assert!(!gate.pass().await);
            }
        }
    }
}
