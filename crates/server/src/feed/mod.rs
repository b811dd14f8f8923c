//! What is kept beside the log for feeds (agents.md section 1). Nothing of it decides anything in the
//! log, and all of it may be lost: what was acknowledged is then delivered again, tokens are asked for
//! anew, and of several loops of one agent the next to ask counts as the newest.
//!
//! | file | what is in it |
//! |---|---|
//! | `acks` | how far each agent has acknowledged, written behind |
//! | `instances` | which loop of an agent is the newest |
//! | `tokens` | short-lived tokens for browsers |

mod acks;
mod instances;
mod tokens;

pub(crate) use acks::{AckWriter, FeedAcks};
pub(crate) use instances::{Held, Instances};
pub(crate) use tokens::{Claims, Scope, TokenFault, Tokens};

use std::path::Path;
use uuid::Uuid;
use x811_ledger::entropy::Entropy;

/// What all requests for feeds share.
pub(crate) struct Feeds {
    pub(crate) acks: FeedAcks,
    pub(crate) instances: Instances,
    pub(crate) tokens: Tokens,
}

impl Feeds {
    /// Those of the ledger `log_id`, whose log has `size` records, and who writes their
    /// acknowledgements.
    pub(crate) async fn open(
        data_dir: &Path,
        log_id: Uuid,
        size: u64,
        entropy: &impl Entropy,
    ) -> (Feeds, AckWriter) {
        let (acks, writer) = FeedAcks::open(data_dir, size).await;
        let feeds = Feeds {
            acks,
            instances: Instances::default(),
            tokens: Tokens::new(log_id, entropy),
        };
        (feeds, writer)
    }
}
