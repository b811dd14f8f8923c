//! What a loop tells whoever runs it.

use std::sync::Arc;

use x811_protocol::id::InteractionId;
use x811_protocol::time::TimestampMs;

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// When it happened.
    pub at_ms: TimestampMs,
    /// In which interaction, if in one.
    pub interaction: Option<InteractionId>,
    /// What kind of thing happened.
    pub what: What,
    /// More, for a person; may quote an agent or the ledger, so escape it before you print it.
    pub text: String,
}

/// The kinds of things that a loop tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// The loop runs.
    Running,
    /// The feed answers again, or for the first time.
    FeedBack,
    /// The feed does not answer.
    FeedLost,
    /// A message of this agent was accepted.
    Said,
    /// A transfer was signed again with higher fees.
    FeesRaised,
    /// Work was started.
    Working,
    /// Terms were agreed on, and their REQUEST follows.
    Agreed,
    /// A person is asked.
    Asked,
    /// An interaction ended and the provider has its money.
    Paid,
    /// An interaction ended otherwise.
    Over,
    /// A person has to look.
    Alarm,
}

impl What {
    /// One word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            What::Running => "running",
            What::FeedBack => "feed",
            What::FeedLost => "feed-lost",
            What::Said => "said",
            What::FeesRaised => "fees-raised",
            What::Working => "working",
            What::Agreed => "agreed",
            What::Asked => "asked",
            What::Paid => "paid",
            What::Over => "over",
            What::Alarm => "ALARM",
        }
    }
}

/// Whoever is told.
pub type Observer = Arc<dyn Fn(&Notice) + Send + Sync>;

/// An observer that does nothing with what it is told.
pub fn silent() -> Observer {
    Arc::new(|_| {})
}
