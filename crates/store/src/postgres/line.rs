//! The one session that writes, and what is known of the log that it writes to.

use std::sync::Arc;
use std::time::Duration;

use sqlx::Postgres;
use sqlx::postgres::{PgArguments, PgConnection, PgRow};
use sqlx::query::Query;
use tokio::sync::{Mutex, MutexGuard, watch};
use tokio::time::timeout;
use x811_eventlog::{AppendError, BackendError, Head, ReadError, check_batch};
use x811_ledger::port::Commit;

use super::append::{append, is_mine_and_written};
use super::assured::Assured;
use super::error::PostgresError;
use super::open::{end_sessions, session_name};
use super::quorum::Quorum;
use super::reading;
use super::renewal::Gate;
use super::session;
use super::url::StoreUrl;

/// How long one statement may take, its wait for standbys included. What takes longer is unknown.
const STATEMENT_PATIENCE: Duration = Duration::from_secs(10);

/// What only the writing process has.
#[derive(Debug)]
pub(super) struct Owner {
    pub(super) url: StoreUrl,
    /// Random, new for each opening.
    pub(super) holder: String,
    pub(super) epoch: u64,
    pub(super) quorum: Option<Quorum>,
    /// What is known of the standbys of `quorum`.
    pub(super) assured: watch::Sender<Assured>,
    pub(super) gate: Arc<Gate>,
    pub(super) line: Mutex<Line>,
}

/// The session. Held for the length of a commit.
#[derive(Debug, Default)]
pub(super) struct Line {
    /// Absent once it broke: then what was under way on it may yet be done.
    session: Option<PgConnection>,
    /// Where the log ends, as far as is sure.
    head: Option<Head>,
}

impl Line {
    pub(super) fn over(session: PgConnection) -> Line {
        Line {
            session: Some(session),
            head: None,
        }
    }

    /// Ends the session in order.
    pub(super) async fn close(self) {
        if let Some(session) = self.session {
            let _ = sqlx::Connection::close(session).await;
        }
    }
}

impl Owner {
    /// Stores `commit`, all of it or nothing.
    pub(super) async fn commit(&self, commit: &Commit) -> Result<Head, AppendError> {
        let mut line = self.line.lock().await;
        let (mut session, head) = self.session(&mut line).await?;
        let next = match check_batch(&head, commit.expected_size, &commit.records) {
            Ok(next) => next,
            Err(error) => {
                line.session = Some(session);
                return Err(error);
            }
        };
        let unknown = |source: BackendError| AppendError::OutcomeUnknown {
            expected_size: commit.expected_size,
            source,
        };
        // From here on the session is gone unless all is known.
        let statement = append(commit, self.epoch, &self.holder).fetch_one(&mut session);
        let row = match timeout(STATEMENT_PATIENCE, statement).await {
            Ok(Ok(row)) => row,
            Ok(Err(error)) => match PostgresError::of_write(error) {
                Ok(refused) => {
                    line.session = Some(session);
                    return Err(self.of_refusal(refused, commit, &mut line).await);
                }
                Err(error) => return Err(unknown(Box::new(PostgresError::Unreachable(error)))),
            },
            Err(elapsed) => return Err(unknown(Box::new(elapsed))),
        };
        let refused = match is_mine_and_written(&row) {
            Ok((true, true)) => None,
            Ok((is_mine, _)) => Some(self.refused(&mut session, commit, is_mine).await),
            Err(refused) => Some(refused.into()),
        };
        if let Some(refused) = refused {
            line.session = Some(session);
            return Err(refused);
        }
        if let Some(quorum) = &self.quorum {
            let confirmed = quorum.confirm(&mut session).await;
            confirmed.map_err(|error| unknown(Box::new(error)))?;
            if !self.note_confirmation().await {
                return Err(AppendError::Fenced {
                    epoch: self.epoch,
                    current_epoch: self.epoch.saturating_add(1),
                });
            }
        }
        *line = Line {
            session: Some(session),
            head: Some(next),
        };
        Ok(next)
    }

    /// Runs one statement beside the log, which must say first whether it found a row of `mine`. What
    /// is written so may be written twice, so an unknown outcome needs no name of its own.
    pub(super) async fn write_one(
        &self,
        statement: Query<'_, Postgres, PgArguments>,
    ) -> Result<(), AppendError> {
        self.write(statement, None).await.map(drop)
    }

    /// The same, on as many standbys as must have what is acknowledged; gives the row.
    #[cfg(feature = "eventstore")]
    pub(super) async fn write_on_standbys(
        &self,
        statement: Query<'_, Postgres, PgArguments>,
    ) -> Result<PgRow, AppendError> {
        self.write(statement, self.quorum.as_ref()).await
    }

    async fn write(
        &self,
        statement: Query<'_, Postgres, PgArguments>,
        quorum: Option<&Quorum>,
    ) -> Result<PgRow, AppendError> {
        let mut line = self.line.lock().await;
        let (mut session, head) = self.session(&mut line).await?;
        let statement = statement.bind(self.epoch.cast_signed()).bind(&self.holder);
        let row = match timeout(STATEMENT_PATIENCE, statement.fetch_one(&mut session)).await {
            Ok(row) => row.map_err(PostgresError::from)?,
            Err(elapsed) => return Err(AppendError::Backend(Box::new(elapsed))),
        };
        let is_mine: bool = sqlx::Row::try_get(&row, 0).map_err(PostgresError::from)?;
        if let Some(quorum) = quorum {
            quorum.confirm(&mut session).await?;
        }
        let written = match is_mine {
            true => Ok(row),
            false => Err(self.fenced(&mut session).await),
        };
        *line = Line {
            session: Some(session),
            head: Some(head),
        };
        written
    }

    /// That what can be read now stays, as long as the line is held: no commit is under way; after a
    /// session broke, what was on it has ended, and standbys have everything.
    pub(super) async fn settle(&self) -> Result<MutexGuard<'_, Line>, PostgresError> {
        let mut line = self.line.lock().await;
        if line.session.is_none() {
            line.session = Some(self.reconnect().await?);
        }
        Ok(line)
    }

    /// Takes the session out of its place, with the head of the log.
    async fn session(&self, line: &mut Line) -> Result<(PgConnection, Head), AppendError> {
        let mut session = match line.session.take() {
            Some(session) => session,
            None => self.reconnect().await?,
        };
        let head = match line.head.take() {
            Some(head) => head,
            None => reading::head(&mut session).await.map_err(unreadable)?,
        };
        Ok((session, head))
    }

    async fn reconnect(&self) -> Result<PgConnection, PostgresError> {
        let name = session_name(&self.holder);
        let mut session = session::connect(&self.url.as_session(&name)).await?;
        end_sessions(&mut session, &self.holder).await?;
        self.barrier(&mut session).await?;
        if self.quorum.is_some() && !self.note_confirmation().await {
            return Err(PostgresError::RanOut);
        }
        Ok(session)
    }

    /// Notes that standbys have confirmed what they must. Where they had not for long, this process may
    /// have been cut off and its database left behind: then it compares itself with its peers first, and
    /// false says that it must not write any more.
    pub(super) async fn note_confirmation(&self) -> bool {
        let is_recent = self.assured.borrow().is_recent();
        if !is_recent && !self.gate.pass().await {
            return false;
        }
        self.assured.send_modify(Assured::confirm);
        true
    }

    /// Once this returns, standbys have everything that can be read of the log now. Something is
    /// written first: what is read may be a commit that only this server has (stores.md section 3).
    pub(super) async fn barrier(&self, session: &mut PgConnection) -> Result<(), PostgresError> {
        let Some(quorum) = &self.quorum else {
            return Ok(());
        };
        sqlx::raw_sql(
            "BEGIN; SET LOCAL synchronous_commit = local; UPDATE tree SET size = size; COMMIT",
        )
        .execute(&mut *session)
        .await?;
        quorum.confirm_all(session).await
    }

    /// A key that is taken; where it is a position, another writer was there.
    async fn of_refusal(
        &self,
        refused: PostgresError,
        commit: &Commit,
        line: &mut Line,
    ) -> AppendError {
        let is_position = matches!(
            &refused,
            PostgresError::Duplicate { constraint } if constraint == "records_pkey"
        );
        match &mut line.session {
            Some(session) if is_position => self.refused(session, commit, true).await,
            _ => refused.into(),
        }
    }

    /// Why nothing was written.
    async fn refused(
        &self,
        session: &mut PgConnection,
        commit: &Commit,
        is_mine: bool,
    ) -> AppendError {
        if !is_mine {
            return self.fenced(session).await;
        }
        match reading::head(session).await {
            Ok(head) => AppendError::Conflict {
                expected: commit.expected_size,
                actual: head.size,
            },
            Err(error) => unreadable(error),
        }
    }

    async fn fenced(&self, session: &mut PgConnection) -> AppendError {
        match sqlx::query_scalar::<_, i64>("SELECT epoch FROM writer")
            .fetch_one(session)
            .await
        {
            Ok(epoch) => AppendError::Fenced {
                epoch: self.epoch,
                current_epoch: epoch.cast_unsigned(),
            },
            Err(error) => PostgresError::from(error).into(),
        }
    }
}

fn unreadable(error: ReadError) -> AppendError {
    AppendError::Backend(Box::new(error))
}
