//! What the owner of an agent plugs in: the work of a provider, the judgement of an initiator.

use std::future::Future;
use std::pin::Pin;

use serde_json::{Map, Value};
use x811_protocol::did::Did;
use x811_protocol::id::InteractionId;
use x811_protocol::time::TimestampMs;

use crate::compose::{Judgement, ResultContent};

/// A task that was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Id of the interaction that it belongs to.
    pub interaction: InteractionId,
    /// The agent that asked for it.
    pub initiator: Did,
    /// The capability asked for.
    pub task_type: String,
    /// What the task needs, in the initiator's words.
    pub parameters: Map<String, Value>,
    /// The work is ended at this moment, a little before the RESULT is due.
    pub end_by_ms: Option<TimestampMs>,
}

/// What was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Product {
    /// The result, or where it is.
    pub content: ResultContent,
    /// Its MIME type.
    pub content_type: String,
    /// The model that made it.
    pub model_used: Option<String>,
    /// How it was made.
    pub methodology: Option<String>,
}

impl Product {
    /// A text in the message itself.
    pub fn text(content: impl Into<String>) -> Product {
        Product {
            content: ResultContent::Inline(content.into()),
            content_type: "text/plain".to_owned(),
            model_used: None,
            methodology: None,
        }
    }
}

/// Why nothing was made; the initiator is told in an ERROR.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct WorkFault {
    /// For the initiator to read.
    pub reason: String,
}

/// The result of a job, later.
pub type Working = Pin<Box<dyn Future<Output = Result<Product, WorkFault>> + Send>>;

/// Does the work. A job may be done again after a crash; its RESULT is sent once.
pub trait Worker: Send + Sync {
    /// Does one job.
    fn work(&self, job: Job) -> Working;
}

impl<F, W> Worker for F
where
    F: Fn(Job) -> W + Send + Sync,
    W: Future<Output = Result<Product, WorkFault>> + Send + 'static,
{
    fn work(&self, job: Job) -> Working {
        Box::pin(self(job))
    }
}

/// A RESULT to judge. Where the content is in the message, its hash was checked before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivered {
    /// Id of the interaction.
    pub interaction: InteractionId,
    /// What was asked for.
    pub task_type: String,
    /// The content; `None` when it is behind `url`.
    pub content: Option<String>,
    /// Where the content is, and nothing of it was fetched.
    pub url: Option<String>,
    /// Its MIME type.
    pub content_type: String,
}

/// Judges results in place of a person.
pub trait Check: Send + Sync {
    /// Good or not; `None` leaves it to a person, with `x811 send verify`.
    fn check(&self, delivered: &Delivered) -> Option<Judgement>;
}

impl<F: Fn(&Delivered) -> Option<Judgement> + Send + Sync> Check for F {
    fn check(&self, delivered: &Delivered) -> Option<Judgement> {
        self(delivered)
    }
}

/// Content in the message whose hash is right is good; content elsewhere is left to a person.
pub fn good_if_inline(delivered: &Delivered) -> Option<Judgement> {
    delivered.content.as_ref().map(|_| Judgement::Verified)
}
