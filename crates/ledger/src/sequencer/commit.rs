//! From a draft to durable records, and from there to everybody who waits.

use super::batch::{Reply, not_recorded};
use super::in_flight::{self, InFlight, Written};
use super::projector::Batch;
use super::{Sequencer, owed};
use crate::answer::{Accepted, Answer, TurnVerdict};
use crate::clock::Clock;
use crate::draft::BatchDraft;
use crate::entropy::Entropy;
use crate::port::{Commit, LedgerStore};
use crate::turn::nonce_replay;
use std::sync::Arc;
use x811_eventlog::{AppendError, EventLog, ReadError, Record};
use x811_protocol::code::Code;
use x811_protocol::event::Event;
use x811_protocol::refusal::{Kind, Refusal};
use x811_world::notice::Owed;
use x811_world::projection::Changes;
use x811_world::{Fault, World};

/// Why the sequencer ended. The process must end with it and start again.
#[derive(Debug, thiserror::Error)]
pub enum Stopped {
    /// Another writer took over, or the log is not what memory says.
    #[error("another writer has the log: {0}. Make sure that one process only uses it, then start")]
    Fenced(#[source] AppendError),
    /// It cannot be found out whether the last commit holds.
    #[error("the log cannot be read after a commit of unknown outcome: {0}. Mend it, then start")]
    Unreadable(#[source] ReadError),
    /// The readers' projection is gone.
    #[error("the projection has ended: see the errors before this one, then start again")]
    Projection,
    /// A rule was broken by the ledger itself.
    #[error("the ledger broke its own rules: {0}. Report it, with an export of the log")]
    Defect(#[source] Fault),
}

impl<S, C, E> Sequencer<S, C, E>
where
    S: LedgerStore,
    C: Clock,
    E: Entropy,
{
    /// Begins to make the draft durable, once the batch before it is. When that one fails, the
    /// draft is dropped with it: it was decided on top of it.
    pub(super) async fn send_off(
        &mut self,
        draft: BatchDraft,
        replies: Vec<Reply>,
    ) -> Result<(), Stopped> {
        let is_empty = draft.is_empty();
        let decided = draft.finish().map_err(Stopped::Defect)?;
        if is_empty && replies.is_empty() {
            match &mut self.in_flight {
                Some(in_flight) => in_flight.follow(decided.world),
                None => self.publish(decided.world),
            }
            return Ok(());
        }
        let before = match self.written().await? {
            Before::None => None,
            Before::Durable(durable) => Some(durable),
            Before::Failed => {
                refuse(replies);
                return Ok(());
            }
        };
        if is_empty {
            if let Some(durable) = before {
                self.tell(durable).await?;
            }
            self.publish(decided.world);
            self.answer(replies, &[]).await;
            return Ok(());
        }
        let begun_ms = self.clock.monotonic_ms();
        self.in_flight = Some(InFlight::begin(&self.store, decided, replies, begun_ms));
        match before {
            // While the next is being written.
            Some(durable) => self.tell(durable).await,
            None => Ok(()),
        }
    }

    /// Waits for the batch that is being written, if one is, and publishes and answers it; `false`
    /// when it failed: then it is dropped whole and nobody is told of success.
    pub(super) async fn settle(&mut self) -> Result<bool, Stopped> {
        match self.written().await? {
            Before::None => Ok(true),
            Before::Durable(durable) => self.tell(durable).await.map(|()| true),
            Before::Failed => Ok(false),
        }
    }

    /// Waits for the batch that is being written, if one is.
    async fn written(&mut self) -> Result<Before, Stopped> {
        if self.in_flight.is_some() {
            in_flight::written(&mut self.in_flight).await;
        }
        let Some(in_flight) = self.in_flight.take() else {
            return Ok(Before::None);
        };
        let Written {
            outcome,
            commit,
            world,
            answers,
            changes,
            replies,
            begun_ms,
        } = in_flight.end();
        if let Err(error) = outcome
            && let Outcome::Nothing = self.after_failure(error, &commit).await?
        {
            self.figures.failed_commits.add(1);
            self.notices_lost = true;
            // What the messages of that time were to change was lost with them.
            let lost_ms = self.clock.monotonic_ms().saturating_sub(begun_ms);
            let since = self.clock.now().saturating_sub_ms(lost_ms);
            self.away_since.get_or_insert(since);
            refuse(replies);
            return Ok(Before::Failed);
        }
        self.count(&commit.records, begun_ms);
        self.set_readiness(|readiness| readiness.last_commit_failed = false);
        if commit.records.first().is_some_and(is_resumption) {
            self.away_since = None;
        }
        Ok(Before::Durable(Box::new(Durable {
            world,
            answers,
            changes,
            replies,
        })))
    }

    /// Publishes what has become durable and answers everybody who waited for it.
    async fn tell(&mut self, durable: Box<Durable>) -> Result<(), Stopped> {
        let durable = *durable;
        let batch = Batch {
            old_size: self.world.head().size,
            new_size: durable.world.head().size,
            changes: durable.changes,
        };
        self.publish(durable.world);
        self.answer(durable.replies, &durable.answers).await;
        if batch.old_size < batch.new_size && self.projections.send(batch).await.is_err() {
            return Err(Stopped::Projection);
        }
        Ok(())
    }

    async fn after_failure(&self, error: AppendError, commit: &Commit) -> Result<Outcome, Stopped> {
        match error {
            AppendError::Conflict { .. } | AppendError::Fenced { .. } => {
                Err(Stopped::Fenced(error))
            }
            AppendError::OutcomeUnknown { expected_size, .. } => {
                tracing::warn!(%error, "reading the log to find out");
                let head = self.store.log().head().await.map_err(Stopped::Unreadable)?;
                let last = commit.records.last();
                if head.size == expected_size {
                    self.set_readiness(|readiness| readiness.last_commit_failed = true);
                    Ok(Outcome::Nothing)
                } else if last.is_some_and(|last| last.hash() == head.hash) {
                    Ok(Outcome::Holds)
                } else {
                    Err(Stopped::Fenced(error))
                }
            }
            AppendError::TooLarge { .. }
            | AppendError::NotContiguous { .. }
            | AppendError::Backend(_) => {
                tracing::error!(error = ?error, "nothing was recorded");
                self.set_readiness(|readiness| readiness.last_commit_failed = true);
                Ok(Outcome::Nothing)
            }
        }
    }

    fn count(&self, records: &[Record], begun_ms: u64) {
        let took_ms = self.clock.monotonic_ms().saturating_sub(begun_ms);
        let count = records.len() as u64;
        let lapses = records.iter().filter(|record| is_lapse(record)).count() as u64;
        self.figures.commit_ms.note(took_ms);
        self.figures.commit_records.note(count);
        self.figures.records.add(count);
        self.figures.lapses.add(lapses);
        for record in records {
            self.figures.settled(record.event_type());
            tell_of_reversal(record);
        }
    }

    fn publish(&mut self, world: World) {
        let known = self.world.head().size;
        let mut owed: Vec<Owed> = world.owed_since(known).map(owed).collect();
        owed.reverse();
        self.world = world;
        self.publish_watched();
        self.published.send_replace(Arc::new(self.world.clone()));
        self.sign(owed);
    }

    fn publish_watched(&self) {
        for (network, watched) in &self.watched {
            let hashes = self.world.watched(network);
            watched.send_if_modified(|known| {
                // Replaced even when it holds the same: what the two share is not compared.
                let before = std::mem::replace(known, hashes);
                !before.ptr_eq(known) && before.diff(known).next().is_some()
            });
        }
    }

    async fn answer(&self, replies: Vec<Reply>, answers: &[Accepted]) {
        for reply in replies {
            match reply {
                Reply::Message {
                    verdict,
                    to,
                    commit,
                } => {
                    drop(commit);
                    let answer = self.resolve(verdict, answers).await;
                    // A sender that is gone can ask again: the answer is in the log.
                    let _ = to.send(answer);
                }
                Reply::Erasure { done, to } => {
                    let _ = to.send(Ok(done));
                }
                Reply::Lift { done, to } => {
                    let _ = to.send(Ok(done));
                }
            }
        }
    }

    async fn resolve(&self, verdict: TurnVerdict, answers: &[Accepted]) -> Result<Answer, Refusal> {
        match verdict {
            TurnVerdict::Recorded(position) => self
                .first_answer(position, answers)
                .await
                .map(Answer::Accepted),
            TurnVerdict::Repeats(position) => self
                .first_answer(position, answers)
                .await
                .map(Answer::Repeated),
            TurnVerdict::Replays(position) => {
                let first = self.first_answer(position, answers).await?;
                Err(nonce_replay().with_details(serde_json::json!({ "first": first })))
            }
            TurnVerdict::Refused(refusal) => Err(refusal),
        }
    }

    /// The answer that the record at `position` stands for.
    async fn first_answer(&self, position: u64, answers: &[Accepted]) -> Result<Accepted, Refusal> {
        let of_batch = answers.binary_search_by_key(&position, |accepted| accepted.position);
        if let Ok(index) = of_batch {
            return Ok(answers[index].clone());
        }
        let page = self.store.log().read(position, 1).await;
        let page = page.map_err(|error| unread(&error))?;
        let record = page.into_iter().next().ok_or_else(damaged)?;
        let event = Event::from_named_json(record.event_type(), record.event_json())
            .map_err(|_| damaged())?;
        Accepted::from_record(&record, &event).ok_or_else(damaged)
    }
}

/// A payment that disappeared is nothing a log may whisper.
fn tell_of_reversal(record: &Record) {
    if record.event_type() == b"reversed" {
        let interaction = record.stream().trim_start_matches("interaction:");
        tracing::error!(
            interaction,
            position = record.position(),
            "a confirmed payment was reversed: the network reorganised it away. Both parties are told"
        );
    }
}

fn is_resumption(record: &Record) -> bool {
    record.event_type() == b"ledger_resumed"
}

fn is_lapse(record: &Record) -> bool {
    record.event_type() == b"lapsed"
}

enum Outcome {
    Holds,
    Nothing,
}

/// What became of the batch before.
enum Before {
    /// There was none.
    None,
    /// It holds, and nobody knows yet.
    Durable(Box<Durable>),
    /// It is dropped, and who waited for it was told.
    Failed,
}

/// A batch that holds.
struct Durable {
    world: World,
    answers: Vec<Accepted>,
    changes: Changes,
    replies: Vec<Reply>,
}

fn refuse(replies: Vec<Reply>) {
    for reply in replies {
        match reply {
            Reply::Message { to, .. } => drop(to.send(Err(not_recorded()))),
            Reply::Erasure { to, .. } => drop(to.send(Err(not_recorded()))),
            Reply::Lift { to, .. } => drop(to.send(Err(not_recorded()))),
        }
    }
}

/// The refusal of a message that was answered before, while that answer cannot be read.
fn unread(error: &ReadError) -> Refusal {
    match error {
        ReadError::Backend(_) => Refusal::not_now(
            "the first answer to this message cannot be read now: send the same message again",
        ),
        ReadError::Damaged(_) => damaged(),
    }
}

/// X811-9002, HTTP 500: the record of a first answer is not as it was written.
fn damaged() -> Refusal {
    Refusal::new(
        Code::InternalError,
        Kind::Internal,
        "the record of the first answer to this message is damaged: tell the operator of this ledger, who \
         runs `x811 doctor` on the data directory",
    )
}
