//! What is kept beside the log for feeds (agents.md section 1). Nothing of it decides anything in the
//! log, and all of it may be lost: what was acknowledged is then delivered again, and of several
//! loops of one agent the next to ask counts as the newest.
//!
//! | file | what is in it |
//! |---|---|
//! | `acks` | how far each agent has acknowledged, written behind |
//! | `instances` | which loop of an agent is the newest |
//! | `tokens` | short-lived tokens for browsers |

mod acks;
mod instances;
mod tokens;

use acks::FeedAcks;
pub(crate) use instances::{HeldRead, Instances};
pub(crate) use tokens::{Claims, Scope, TokenFault, Tokens};

use std::path::Path;
use std::sync::Arc;
use tokio::task::JoinHandle;
use uuid::Uuid;
use x811_ledger::clock::Clock;
use x811_protocol::key::SecretKey;

/// What all requests for feeds share.
pub(crate) struct Feeds {
    pub(crate) acks: FeedAcks,
    pub(crate) instances: Instances,
    pub(crate) tokens: Tokens,
    /// Held by a poll of the published SDK, which uses up what it gives out.
    pub(crate) consuming: tokio::sync::Mutex<()>,
}

impl Feeds {
    /// Those of the log of that id, which has so many records, and who writes their acknowledgements
    /// until they are dropped. Tokens are under a key that follows from `key`.
    pub(crate) async fn open<C: Clock>(
        data_dir: &Path,
        (log_id, size): (Uuid, u64),
        clock: &Arc<C>,
        key: &SecretKey,
    ) -> (Feeds, JoinHandle<()>) {
        let (acks, writer) = FeedAcks::open(data_dir, size).await;
        let feeds = Feeds {
            acks,
            instances: Instances::default(),
            tokens: Tokens::new(log_id, key),
            consuming: tokio::sync::Mutex::default(),
        };
        (feeds, tokio::spawn(writer.run(clock.clone())))
    }
}
