//! An initiator's rules for whoever decides beside the loop: the same caps, the same journal, the
//! same questions to a person (AE-109, AE-113).
//!
//! While a [`Guard`] lives it holds the state file, so that a loop of the same agent cannot commit
//! it to anything meanwhile.

use std::sync::Arc;

use x811_protocol::code::Code;
use x811_protocol::facts::RejectCode;
use x811_protocol::id::InteractionId;
use x811_protocol::interaction::StateName;
use x811_protocol::money::MicroUsdc;
use x811_protocol::time::TimestampMs;

use super::decide::{InitiatorRules, Move, is_initiator};
use super::engine::{Engine, Fault, InitiatorPart};
use super::live::Live;
use super::run::{LoopError, Settings, Start};
use super::work::good_if_inline;
use super::world::World as _;
use crate::http::ClientError;

/// What an initiator's rules say of the OFFER of an interaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ruling {
    /// It may be accepted; what that commits to is in the journal.
    Allowed,
    /// A person has to answer first; the question is written.
    AskPerson {
        /// Until when an answer counts.
        answer_by_ms: TimestampMs,
    },
    /// It must not be accepted.
    Refused {
        /// The `code` of a REJECT.
        code: RejectCode,
        /// The `error_code` of a REJECT, where there is one.
        error_code: Option<Code>,
        /// The `reason` of a REJECT: why, for a person.
        reason: String,
    },
    /// No OFFER of this interaction can be accepted by this agent now.
    NoOffer {
        /// The state that it is in.
        state: StateName,
    },
}

/// The rules of one initiator, and its journal, locked.
pub struct Guard {
    engine: Engine<Live>,
}

impl Guard {
    /// Locks the journal. Where there is none yet, what the ledger has of this agent's ACCEPTs is
    /// counted first.
    ///
    /// # Errors
    /// [`LoopError`]; its `State` while a loop of this agent runs.
    pub async fn open(settings: Settings, rules: InitiatorRules) -> Result<Guard, LoopError> {
        let start = Start::new(settings)?;
        let info = start.client.info().await?;
        let mut engine = start.engine(&info)?;
        engine.initiator = Some(InitiatorPart {
            rules,
            check: Arc::new(good_if_inline),
        });
        engine.rebuild_once().await?;
        Ok(Guard { engine })
    }

    /// Rules about the OFFER of an interaction, after what a person decided about it.
    ///
    /// # Errors
    /// [`LoopError`].
    pub async fn rule(&mut self, interaction: InteractionId) -> Result<Ruling, LoopError> {
        let engine = &mut self.engine;
        let case = engine.world.case(interaction).await?;
        let state = case.state;
        if state != StateName::Offered || is_initiator(&case, engine.world.me()) != Some(true) {
            return Ok(Ruling::NoOffer { state });
        }
        match engine.initiator_move(&case).await.map_err(ended)? {
            Move::Accept(commitment) => {
                engine.commit(commitment);
                engine.save()?;
                Ok(Ruling::Allowed)
            }
            Move::Ask {
                asked,
                answer_by_ms,
            } => {
                let asking = engine.ask(&case, asked, answer_by_ms).await;
                asking.map_err(ended)?;
                engine.save()?;
                Ok(Ruling::AskPerson { answer_by_ms })
            }
            Move::Reject {
                code,
                error_code,
                reason,
            } => Ok(Ruling::Refused {
                code,
                error_code,
                reason,
            }),
            Move::Wait(_)
            | Move::Offer(_)
            | Move::Work
            | Move::TooLate
            | Move::Check
            | Move::Pay
            | Move::Over { .. } => Ok(Ruling::NoOffer { state }),
        }
    }

    /// What was committed to in this interaction in the last 24 hours.
    pub fn committed(&self, interaction: InteractionId) -> Option<MicroUsdc> {
        let mut made = self.engine.state.commitments.iter();
        let made = made.find(|made| made.interaction == interaction);
        made.map(|made| made.total)
    }

    /// The ACCEPT is recorded: nobody has to answer any more.
    ///
    /// # Errors
    /// [`LoopError`].
    pub fn accepted(&self, interaction: InteractionId) -> Result<(), LoopError> {
        let forgotten = self.engine.world.forget_question(interaction);
        Ok(forgotten.map_err(super::state::StateError::from)?)
    }

    /// The ledger refused the ACCEPT: it commits to nothing.
    ///
    /// # Errors
    /// [`LoopError`].
    pub fn refused(&mut self, interaction: InteractionId) -> Result<(), LoopError> {
        self.engine.state.forget(interaction, false);
        Ok(self.engine.save()?)
    }
}

fn ended(fault: Fault) -> LoopError {
    match fault {
        Fault::State(error) => error.into(),
        Fault::Ledger(error) => error.into(),
        Fault::Stuck(cause) => ClientError::Untrusted { cause }.into(),
    }
}
