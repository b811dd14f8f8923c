//! Where messages come from: a source that is asked again and again, with growing patience.
//!
//! A source gives pages of verified messages behind a cursor. The loop moves its cursor only when
//! what follows is in the state file, and acknowledges only then.

use std::future::Future;
use std::sync::Arc;

use tokio::sync::{mpsc, watch};
use x811_protocol::code::Code;
use x811_protocol::did::Did;
use x811_protocol::envelope::{CoreType, MessageType};
use x811_protocol::id::InteractionId;

use crate::clock::Clock;
use crate::http::{ClientError, Cursor, InboxPage, InboxRequest, Incoming, LedgerClient};

/// How long one poll waits for a first message, in milliseconds.
pub(crate) const POLL_WAIT_MS: u64 = 10_000;

/// The shortest time between two polls that gave nothing, in milliseconds: for ledgers that do not
/// wait.
const IDLE_MS: u64 = 2_000;

/// Delays before the feed is asked again after failures that follow each other, in milliseconds
/// (AE-139).
const RECONNECT_MS: [u64; 6] = [1_000, 2_000, 4_000, 8_000, 16_000, 30_000];

/// The delay after `failures` failures in a row, from 1.
pub(crate) fn reconnect_ms(failures: u32) -> u64 {
    let place = usize::try_from(failures.saturating_sub(1)).unwrap_or(usize::MAX);
    RECONNECT_MS[place.min(RECONNECT_MS.len() - 1)]
}

/// A source of messages.
pub(crate) trait Feed: Send {
    /// The next messages behind `after`; waits for the first, and gives an empty page when none came.
    fn next(
        &mut self,
        after: Option<&Cursor>,
    ) -> impl Future<Output = Result<InboxPage, ClientError>> + Send;

    /// Everything up to here is handled, durably.
    fn acknowledge(
        &mut self,
        through: &Cursor,
    ) -> impl Future<Output = Result<(), ClientError>> + Send;
}

/// The inbox, polled.
pub(crate) struct Poll {
    pub(crate) client: Arc<LedgerClient>,
    pub(crate) me: Did,
}

impl Feed for Poll {
    async fn next(&mut self, after: Option<&Cursor>) -> Result<InboxPage, ClientError> {
        let request = InboxRequest {
            after: after.cloned(),
            limit: None,
            wait_ms: POLL_WAIT_MS,
        };
        self.client.inbox(self.me, &request).await
    }

    async fn acknowledge(&mut self, _: &Cursor) -> Result<(), ClientError> {
        Ok(())
    }
}

/// What the feed tells the loop.
#[derive(Debug)]
pub(crate) enum FromFeed {
    /// Messages and the interactions they belong to.
    Page {
        page: InboxPage,
        interactions: Vec<InteractionId>,
    },
    /// It answers.
    Back,
    /// It does not, this often in a row.
    Lost { failures: u32, cause: String },
    /// Another loop of this agent took over: this one must send nothing more.
    Replaced,
}

/// Follows a source for ever, from `after` on; ends when the loop is gone or was replaced.
pub(crate) async fn follow<F: Feed>(
    mut feed: F,
    client: Arc<LedgerClient>,
    clock: Arc<dyn Clock>,
    mut after: Option<Cursor>,
    pages: mpsc::Sender<FromFeed>,
    mut handled: watch::Receiver<Option<Cursor>>,
) {
    let mut failures = 0;
    let mut is_back = false;
    loop {
        let asked_at = clock.now();
        let told = match next(&mut feed, &client, after.as_ref()).await {
            Ok((page, interactions)) => {
                failures = 0;
                if !is_back && pages.send(FromFeed::Back).await.is_err() {
                    return;
                }
                is_back = true;
                if page.next.is_none() || page.messages.is_empty() && page.unverified.is_empty() {
                    if clock.now().since(asked_at) < IDLE_MS {
                        clock.pause(IDLE_MS).await;
                    }
                    continue;
                }
                after.clone_from(&page.next);
                FromFeed::Page { page, interactions }
            }
            Err(error) if is_replaced(&error) => {
                // Nobody listens any more is as good.
                let _ = pages.send(FromFeed::Replaced).await;
                return;
            }
            Err(error) => {
                failures += 1;
                is_back = false;
                let cause = error.to_string();
                let told = FromFeed::Lost { failures, cause };
                if pages.send(told).await.is_err() {
                    return;
                }
                clock.pause(reconnect_ms(failures)).await;
                continue;
            }
        };
        if pages.send(told).await.is_err() {
            return;
        }
        // Acknowledged is what the state file has; a lost acknowledgement costs a repetition.
        let through = handled.borrow_and_update().clone();
        if let Some(through) = through {
            let _ = feed.acknowledge(&through).await;
        }
    }
}

async fn next<F: Feed>(
    feed: &mut F,
    client: &LedgerClient,
    after: Option<&Cursor>,
) -> Result<(InboxPage, Vec<InteractionId>), ClientError> {
    let page = feed.next(after).await?;
    let interactions = interactions(client, &page).await?;
    Ok((page, interactions))
}

/// Another loop of the same agent reads the feed now.
fn is_replaced(error: &ClientError) -> bool {
    matches!(error, ClientError::Refused(refused)
        if refused.status == 409 && refused.code != Code::NonceReplay)
}

/// The interactions of a page's messages, each once.
pub(crate) async fn interactions(
    client: &LedgerClient,
    page: &InboxPage,
) -> Result<Vec<InteractionId>, ClientError> {
    let mut all = Vec::new();
    for message in &page.messages {
        let id = match named(message) {
            Some(id) => Some(id),
            // ACCEPT and REJECT name the OFFER alone.
            None => {
                let id = message.envelope.header().id;
                client.outcome(id).await?.interaction_id
            }
        };
        all.extend(id.filter(|id| !all.contains(id)));
    }
    Ok(all)
}

/// The interaction that a message says it belongs to. It is only looked at because of it.
fn named(message: &Incoming) -> Option<InteractionId> {
    let header = message.envelope.header();
    let of_request = (header.message_type == MessageType::Core(CoreType::Request))
        .then_some(InteractionId::from(header.id));
    let member = message.envelope.payload().get("request_id");
    let of_member = member
        .and_then(|id| id.as_str())
        .and_then(|id| InteractionId::lenient(id).ok());
    message.interaction_id.or(of_request).or(of_member)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ae_139_reconnects_after_1_2_4_8_16_and_then_30_seconds() {
        let delays_ms: Vec<u64> = (1..=8).map(reconnect_ms).collect();
        assert_eq!(
            delays_ms,
            [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]
        );
        assert_eq!(reconnect_ms(u32::MAX), 30_000);
    }
}
