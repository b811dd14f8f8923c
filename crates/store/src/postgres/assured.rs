//! That standbys go on confirming while nothing is committed, and that the database still names them
//! (stores.md section 3): otherwise nobody would hear that they are gone before the next message waits
//! for them in vain.

use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::PgConnection;
use tokio::time::{Instant, sleep};

use super::error::PostgresError;
use super::line::Owner;
use super::open::session_name;
use super::quorum::Quorum;
use super::session::connect;

/// Between two looks: at the setting, and at the standbys unless a commit showed them meanwhile.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How long a confirmation counts.
const COUNTS: Duration = Duration::from_secs(3);

/// What is known of the standbys that must confirm.
#[derive(Debug, Clone, Copy)]
pub(super) struct Assured {
    /// When they confirmed something last.
    at: Instant,
    /// Whether the database waited for them at the last look.
    is_named: bool,
}

impl Assured {
    /// Confirmed just now.
    pub(super) fn now() -> Assured {
        Assured {
            at: Instant::now(),
            is_named: true,
        }
    }

    /// Notes that they confirmed just now.
    pub(super) fn confirm(&mut self) {
        self.at = Instant::now();
    }

    /// Whether they confirmed within the last three seconds, and are named.
    pub(super) fn is_sure(&self) -> bool {
        self.is_named && self.is_recent()
    }

    /// Whether they confirmed something within the last three seconds.
    pub(super) fn is_recent(&self) -> bool {
        self.at.elapsed() < COUNTS
    }
}

/// Looks after the standbys of the one who writes, for as long as it is run.
pub(super) async fn look_after(owner: Arc<Owner>) {
    let Some(quorum) = owner.quorum.clone() else {
        return;
    };
    let mut session = None;
    let mut was_sure = true;
    loop {
        sleep(LOOK_EVERY).await;
        let looked = look(&owner, &quorum, &mut session).await;
        let is_sure = owner.assured.borrow().is_sure();
        if let Err(error) = looked {
            session = None;
            if was_sure && !is_sure {
                tracing::warn!(%error, "standbys confirm nothing: nobody is acknowledged");
            }
        } else if is_sure && !was_sure {
            tracing::warn!("standbys confirm again");
        }
        was_sure = is_sure;
    }
}

async fn look(
    owner: &Owner,
    quorum: &Quorum,
    session: &mut Option<PgConnection>,
) -> Result<(), PostgresError> {
    let session = match session {
        Some(session) => session,
        None => {
            let name = session_name(&owner.holder);
            session.insert(connect(&owner.url.as_session(&name)).await?)
        }
    };
    let assured = &owner.assured;
    let named = quorum.check_settings(session).await;
    assured.send_modify(|assured| assured.is_named = named.is_ok());
    named?;
    if assured.borrow().at.elapsed() >= LOOK_EVERY {
        owner.barrier(session).await?;
        if !owner.note_confirmation().await {
            return Err(PostgresError::RanOut);
        }
    }
    Ok(())
}
