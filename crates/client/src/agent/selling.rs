//! A provider's part of the loop: OFFER by price rule, work, RESULT or ERROR.

use tokio::task::JoinError;
use x811_protocol::canonical::to_canonical;
use x811_protocol::code::Code;
use x811_protocol::id::InteractionId;
use x811_protocol::interaction::StateName;

use super::case::Case;
use super::decide::{self, Move, WORK_MARGIN_MS};
use super::engine::{Engine, Fault};
use super::notice::What;
use super::outbox::Act;
use super::state::StateError;
use super::work::{Job, Product, WorkFault};
use super::world::World;
use crate::compose::{Delivery, ErrorReport};
use crate::http::ClientError;

impl<W: World> Engine<W> {
    /// The next move where this agent is the provider.
    pub(super) async fn provider_move(&mut self, case: &Case) -> Result<Move, Fault> {
        let Some(part) = &self.provider else {
            return Ok(Move::Wait(None));
        };
        let now = self.world.now();
        let contract = case.request.as_ref().and_then(|facts| facts.negotiation_id);
        if let (StateName::Pending, Some(contract)) = (case.state, contract) {
            // What was agreed on is offered at once, however much there is to do.
            let offer = match self.state.may_seal(case.id, Act::Offer) {
                true => self.agreed_offer(case, contract).await?,
                false => None,
            };
            return Ok(offer.map_or(Move::Wait(case.deadline_at_ms), Move::Offer));
        }
        let parameters_bytes = match case.state {
            StateName::Pending => {
                let job = job(&self.world, case).await?;
                to_canonical(&job.parameters).len()
            }
            StateName::Offered
            | StateName::Accepted
            | StateName::Delivered
            | StateName::Verified
            | StateName::Completed
            | StateName::Expired
            | StateName::Rejected
            | StateName::Disputed
            | StateName::Failed => 0,
        };
        let is_working = self.working.contains_key(&case.id);
        Ok(decide::provider(
            case,
            &self.state,
            &part.rules,
            parameters_bytes,
            is_working,
            now,
        ))
    }

    /// Journals that the work is started, and starts it.
    pub(super) async fn start_work(&mut self, case: &Case) -> Result<(), Fault> {
        let Some(part) = &self.provider else {
            return Ok(());
        };
        let job = job(&self.world, case).await?;
        let worker = part.worker.clone();
        let now = self.world.now();
        let task = self.state.tasks.entry(case.id).or_default();
        task.work_started_ms = Some(now);
        self.save()?;
        self.tell(Some(case.id), What::Working, job.task_type.clone());
        let id = case.id;
        let work = async move { (id, worker.work(job).await) };
        let task = self.jobs.spawn(work);
        self.working.insert(id, task.id());
        Ok(())
    }

    /// A job ended, by itself or because the worker panicked.
    pub(super) async fn job_ended(
        &mut self,
        done: Result<(InteractionId, Result<Product, WorkFault>), JoinError>,
    ) -> Result<(), StateError> {
        let (id, outcome) = match done {
            Ok(done) => done,
            Err(error) => {
                let mut working = self.working.iter();
                let Some((id, _)) = working.find(|(_, task)| **task == error.id()) else {
                    return Ok(());
                };
                let reason = "the program that does the work broke off".to_owned();
                (*id, Err(WorkFault { reason }))
            }
        };
        self.worked(id, outcome).await
    }

    /// Work ended: its RESULT or its ERROR goes into the outbox.
    pub(super) async fn worked(
        &mut self,
        id: InteractionId,
        outcome: Result<Product, WorkFault>,
    ) -> Result<(), StateError> {
        self.working.remove(&id);
        let case = match self.world.case(id).await {
            Ok(case) => case,
            // It is done again: once the ledger answers, the interaction is still accepted.
            Err(_) => {
                self.state.touch(id);
                return self.save();
            }
        };
        let can_deliver = case.state == StateName::Accepted
            && self.state.may_seal(id, Act::Result)
            && self.state.may_seal(id, Act::Error);
        let said = match outcome {
            _ if !can_deliver => Ok(()),
            Ok(product) => self.deliver(&case, product),
            Err(fault) => self.report_failure(&case, &fault),
        };
        match said {
            Err(Fault::State(error)) => return Err(error),
            // The content itself is refused, too large for instance: the initiator is told.
            Err(Fault::Stuck(text)) => {
                self.alarm(Some(id), text.clone());
                if let Err(Fault::State(error)) =
                    self.report_failure(&case, &WorkFault { reason: text })
                {
                    return Err(error);
                }
            }
            Ok(()) | Err(Fault::Ledger(_)) => {}
        }
        self.state.touch(id);
        self.save()
    }

    fn deliver(&mut self, case: &Case, product: Product) -> Result<(), Fault> {
        let Some((offer_id, _)) = &case.offer else {
            return Ok(());
        };
        let task = self.state.tasks.get(&case.id);
        let started = task.and_then(|task| task.work_started_ms);
        let now = self.world.now();
        let delivery = Delivery {
            interaction: case.id,
            offer_id: *offer_id,
            content: product.content,
            content_type: product.content_type,
            execution_time_ms: started.map_or(0, |started| now.since(started)),
            model_used: product.model_used,
            methodology: product.methodology,
        };
        self.say(case, Act::Result, &delivery, None)
    }

    /// Tells the initiator that there will be no RESULT.
    pub(super) fn report_failure(&mut self, case: &Case, fault: &WorkFault) -> Result<(), Fault> {
        self.alarm(
            Some(case.id),
            format!(
                "the work failed, and the initiator is told: {}",
                fault.reason
            ),
        );
        let report = ErrorReport {
            code: Code::ResultTimeout,
            message: fault.reason.clone(),
            related: Some(case.id.request_id()),
        };
        self.say(case, Act::Error, &report, None)
    }
}

/// The task of an interaction, from its signed REQUEST.
async fn job<W: World>(world: &W, case: &Case) -> Result<Job, Fault> {
    let request = world.body(case, Act::Request, case.initiator).await?;
    let request = request.ok_or_else(|| ClientError::Untrusted {
        cause: format!("interaction {} has no REQUEST", case.id),
    })?;
    let payload = request.payload();
    let parameters = payload
        .get("parameters")
        .and_then(|value| value.as_object());
    let task_type = case.request.as_ref().map(|facts| facts.task_type.clone());
    let deadline = case.deadline_at_ms;
    Ok(Job {
        interaction: case.id,
        initiator: case.initiator,
        task_type: task_type.unwrap_or_default(),
        parameters: parameters.cloned().unwrap_or_default(),
        end_by_ms: deadline.map(|deadline| deadline.saturating_sub_ms(WORK_MARGIN_MS)),
    })
}
