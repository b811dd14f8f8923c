//! Lifting an exclusion: what an operator asks of a running ledger, and its turn.

use super::batch::busy;
use super::handle::gone;
use super::{Item, Ledger, LiftAnswer};
use crate::clock::Clock;
use crate::draft::BatchDraft;
use crate::port::{LedgerStore, ReadModel};
use tokio::sync::{mpsc, oneshot};
use x811_protocol::code::Code;
use x811_protocol::did::Did;
use x811_protocol::event::{Event, ExclusionLifted, LedgerEvent, LiftOrder};
use x811_protocol::refusal::{Kind, Refusal};
use x811_protocol::stream::{Stream, Subject};
use x811_protocol::time::TimestampMs;
use x811_world::Fault;
use x811_world::erasure;

/// What an operator asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiftRequest {
    /// Who is to be admitted to sessions again.
    pub agent: Did,
    /// Position of the `excluded` that is to hold no longer.
    pub excluded: u64,
    /// Who orders it; whether they may has been asked before.
    pub operator: Did,
    /// What they signed; the record keeps it.
    pub order: LiftOrder,
}

impl<S: LedgerStore, R: ReadModel, C: Clock> Ledger<S, R, C> {
    /// Lifts an exclusion. The answer comes once the record of it is durable.
    ///
    /// # Errors
    /// X811-4001 when that agent is not excluded by that record; X811-2002 and X811-2003 for the order;
    /// X811-9001 when the ledger is busy and X811-9002 when it failed: then nothing was lifted.
    pub async fn lift_exclusion(&self, request: LiftRequest) -> Result<LiftAnswer, Refusal> {
        let (reply, answer) = oneshot::channel();
        let item = Item::Lift {
            request: Box::new(request),
            reply,
        };
        self.items.try_send(item).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => busy("the ledger has too much to do"),
            mpsc::error::TrySendError::Closed(_) => gone(),
        })?;
        answer.await.map_err(|_| gone())?
    }
}

/// Records that the exclusion is lifted.
pub(super) fn record(
    draft: &mut BatchDraft,
    request: &LiftRequest,
    now: TimestampMs,
) -> Result<Result<LiftAnswer, Refusal>, Fault> {
    if let Err(refusal) = check(draft, request, now) {
        return Ok(Err(refusal));
    }
    let stream = Stream::Of(Subject::Conduct(request.agent));
    let event = Event::Ledger(LedgerEvent::ExclusionLifted(ExclusionLifted {
        excluded: request.excluded,
        operator: request.operator,
        order: request.order.clone(),
    }));
    let appended = draft.append(&stream, event, None, now)?;
    Ok(Ok(LiftAnswer {
        agent_id: request.agent,
        excluded: request.excluded,
        position: appended.position,
        record_hash: appended.hash,
    }))
}

fn check(draft: &BatchDraft, request: &LiftRequest, now: TimestampMs) -> Result<(), Refusal> {
    let world = draft.world();
    erasure::check_operator(world, request.operator, now)?;
    let unsigned = |why: String| {
        let message = format!("nothing is lifted at {}: {why}", now.to_rfc3339());
        Refusal::new(Code::SignatureInvalid, Kind::Authentication, message)
    };
    let signer = request.order.signer(request.agent, request.excluded);
    let signer = signer.map_err(|why| unsigned(why.to_string()))?;
    if signer.did != request.operator {
        return Err(unsigned(format!("{} signed the order", signer.did)));
    }
    request.order.check_fresh(now).map_err(|why| {
        let message = format!("nothing is lifted at {}: {why}", now.to_rfc3339());
        Refusal::new(Code::TimestampInvalid, Kind::Authentication, message)
    })?;
    let live = world.conduct(request.agent);
    let exclusion = live.and_then(|live| live.state.exclusion);
    let is_it = exclusion.is_some_and(|exclusion| exclusion.position == request.excluded);
    if is_it && world.is_excluded(request.agent, now) {
        return Ok(());
    }
    Err(Refusal::state(
        "that agent is not excluded by this record: GET /api/v1/agents/{uuid}/conduct says by which, \
         if it is",
    ))
}
