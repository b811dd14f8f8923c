//! Erasing bodies: what an operator asks of a running ledger, and its turn.

use super::batch::busy;
use super::handle::gone;
use super::{ErasureAnswer, Item, Ledger};
use crate::clock::Clock;
use crate::draft::BatchDraft;
use crate::port::{LedgerStore, ReadModel};
use crate::sequencer::read_event;
use std::collections::HashMap;
use tokio::sync::{mpsc, oneshot};
use x811_eventlog::{EventLog as _, ReadError, Record};
use x811_protocol::event::{BodiesErased, Event, LedgerEvent};
use x811_protocol::id::ContractId;
use x811_protocol::refusal::Refusal;
use x811_protocol::stream::{Stream, Subject};
use x811_protocol::time::TimestampMs;
use x811_world::Fault;
use x811_world::erasure::{self, Erasure, ErasureRequest, opened_by};

/// Records of a subject that are looked up at a time.
const PAGE_RECORDS: usize = 256;

impl<S: LedgerStore, R: ReadModel, C: Clock> Ledger<S, R, C> {
    /// Erases the bodies of REQUEST and RESULT of an interaction that is over and not in dispute, or all of a
    /// negotiation, session or agreement that is closed, but for what both signed. The answer comes once the
    /// record of it is durable and the bodies are gone.
    ///
    /// # Errors
    /// 404 when there is no such subject; X811-4001 when its bodies may not be erased, or are;
    /// X811-9001 when the ledger is busy and X811-9002 when it failed: then nothing was erased.
    pub async fn erase(&self, request: ErasureRequest) -> Result<ErasureAnswer, Refusal> {
        let world = self.world();
        erasure::check_over(&world, request.subject, self.clock.now())?;
        if let Some(last) = world.head().size.checked_sub(1) {
            self.rows_reflect(last).await?;
        }
        let records = self.records_of(request.subject).await?;
        let opened = match opened_by(request.subject, &records) {
            Some(interaction @ Subject::Interaction(_)) => self.records_of(interaction).await?,
            Some(_) | None => Vec::new(),
        };
        let erasure = Erasure::of(request, &records, &opened, &world)?;
        let (reply, answer) = oneshot::channel();
        let item = Item::Erasure {
            erasure: Box::new(erasure),
            reply,
        };
        self.items.try_send(item).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => busy("the ledger has too much to do"),
            mpsc::error::TrySendError::Closed(_) => gone(),
        })?;
        answer.await.map_err(|_| gone())?
    }

    /// The records of a subject. The rows only say where they lie.
    async fn records_of(&self, subject: Subject) -> Result<Vec<(Record, Event)>, Refusal> {
        let stream = Stream::Of(subject).to_string();
        let mut records = Vec::new();
        loop {
            let from_seq = records.len() as u64;
            let page = self
                .read_model
                .stream_positions(&stream, from_seq, PAGE_RECORDS);
            let page = page.await.map_err(unread)?;
            for position in &page {
                let read = self.store.log().read(*position, 1).await.map_err(unread)?;
                for record in read {
                    let event = read_event(&record).map_err(|fault| {
                        tracing::error!(%fault, "a record of a subject is damaged");
                        erasure::damaged()
                    })?;
                    records.push((record, event));
                }
            }
            if page.len() < PAGE_RECORDS {
                return Ok(records);
            }
        }
    }
}

/// Records that the bodies are erased, which erases them with the commit. `erased` are those that
/// the store knows to be.
pub(super) fn record(
    draft: &mut BatchDraft,
    erasure: &Erasure,
    erased: &HashMap<u64, u64>,
    now: TimestampMs,
) -> Result<Result<ErasureAnswer, Refusal>, Fault> {
    let request = &erasure.request;
    let world = draft.world();
    let order = request.order.as_ref();
    let may = erasure::check_operator(world, request.operator, now)
        .and_then(|()| order.map_or(Ok(()), |order| erasure::check_order(order, now)))
        .and_then(|()| erasure::check_over(world, request.subject, now))
        .and_then(|()| {
            let rests_on = erasure.rests_on;
            rests_on.map_or(Ok(()), |other| erasure::check_over(world, other, now))
        });
    if let Err(refusal) = may {
        return Ok(Err(refusal));
    }
    let mut positions = erasure.positions.clone();
    let mut by = None;
    positions.retain(|position| {
        let record = draft.erased_by(*position);
        let record = record.or_else(|| erased.get(position).copied());
        by = by.max(record);
        record.is_none()
    });
    if positions.is_empty() {
        return Ok(Err(erased_before(by)));
    }
    let event = Event::Ledger(LedgerEvent::BodiesErased(BodiesErased {
        positions: positions.clone(),
        operator: request.operator,
        reason_code: request.reason_code.to_string(),
        order: request.order.clone(),
    }));
    let appended = draft.append(&Stream::Ledger, event, None, now)?;
    Ok(Ok(ErasureAnswer {
        interaction_id: request.subject.interaction(),
        negotiation_id: request.subject.contract().map(ContractId::to_public),
        session_id: request.subject.session(),
        agreement_id: request.subject.agreement(),
        position: appended.position,
        record_hash: appended.hash,
        erased: positions,
        kept: erasure.kept.clone(),
    }))
}

fn erased_before(by: Option<u64>) -> Refusal {
    let position = by.unwrap_or_default();
    Refusal::state(format!(
        "these bodies were erased before: the record at position {position} says so"
    ))
    .with_details(serde_json::json!({ "position": position }))
}

fn unread(error: ReadError) -> Refusal {
    tracing::error!(%error, "the records of a subject cannot be read");
    match error {
        ReadError::Backend(_) => Refusal::not_now(
            "the ledger cannot read the records now, and nothing was erased: ask again later",
        ),
        ReadError::Damaged(_) => erasure::damaged(),
    }
}
