//! Where messages come from: a source that is asked again and again, with growing patience.
//!
//! A source gives pages of verified messages behind a cursor. The loop moves its cursor only when
//! what follows is in the state file.

use std::future::Future;
use std::sync::Arc;

use tokio::sync::mpsc;
use x811_protocol::code::Code;
use x811_protocol::did::Did;
use x811_protocol::envelope::{CoreType, MessageType};
use x811_protocol::id::{EnvelopeId, InteractionId};
use x811_protocol::time::TimestampMs;

use crate::clock::Clock;
use crate::http::{
    ClientError, Cursor, InboxPage, InboxRequest, Incoming, LedgerClient, MessageStream,
    StreamRequest,
};

/// How long a poll waits for a first message, in milliseconds: at first, and when nothing came for
/// long (AE-140).
const POLL_WAIT_MS: (u64, u64) = (2_000, 10_000);

/// So many streams in a row have to fail before the inbox is polled (AE-140).
const FAILED_STREAMS: u32 = 5;

/// For how long it is polled before a stream is tried again, in milliseconds.
const POLL_FOR_MS: u64 = 60_000;

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
}

/// The stream of a ledger, and its inbox polled while streams fail.
pub(crate) struct Source {
    client: Arc<LedgerClient>,
    clock: Arc<dyn Clock>,
    me: Did,
    instance: String,
    stream: Option<MessageStream>,
    last: Option<EnvelopeId>,
    /// Streams that failed in a row.
    failures: u32,
    /// Polled until then.
    poll_until: Option<TimestampMs>,
    /// Polls in a row that gave nothing.
    idle: u32,
}

impl Source {
    /// The feed of `me`, read by the loop `instance`.
    pub(crate) fn new(
        client: Arc<LedgerClient>,
        clock: Arc<dyn Clock>,
        me: Did,
        instance: String,
    ) -> Source {
        Source {
            client,
            clock,
            me,
            instance,
            stream: None,
            last: None,
            failures: 0,
            poll_until: None,
            idle: 0,
        }
    }

    /// Opens a stream; an empty page says that it is open.
    async fn open(&mut self, after: Option<&Cursor>) -> Result<InboxPage, ClientError> {
        let request = StreamRequest {
            after: after.cloned(),
            last: self.last,
            instance: Some(self.instance.clone()),
        };
        match self.client.stream(self.me, &request).await {
            Ok(stream) => {
                self.failures = 0;
                self.poll_until = None;
                self.stream = Some(stream);
                Ok(empty_page())
            }
            Err(error) => Err(error),
        }
    }

    async fn poll(&mut self, after: Option<&Cursor>) -> Result<InboxPage, ClientError> {
        let (first_ms, most_ms) = POLL_WAIT_MS;
        let request = InboxRequest {
            after: after.cloned(),
            limit: None,
            wait_ms: most_ms.min(first_ms << self.idle.min(8)),
            instance: Some(self.instance.clone()),
        };
        let asked_at = self.clock.now();
        let page = self.client.inbox(self.me, &request).await?;
        let is_idle = page.is_empty();
        self.idle = if is_idle {
            self.idle.saturating_add(1)
        } else {
            0
        };
        if is_idle && self.clock.now().since(asked_at) < IDLE_MS {
            self.clock.pause(IDLE_MS).await;
        }
        Ok(page)
    }

    /// What follows a stream that failed: the error, or a poll where streams fail again and again.
    async fn failed(
        &mut self,
        after: Option<&Cursor>,
        error: ClientError,
    ) -> Result<InboxPage, ClientError> {
        self.stream = None;
        self.failures = self.failures.saturating_add(1);
        // No streams here, or none left: polls do the same meanwhile.
        let has_none = matches!(&error, ClientError::NotALedger { .. })
            || matches!(&error, ClientError::Refused(refused) if refused.code == Code::RateLimitExceeded);
        if is_replaced(&error) || self.failures < FAILED_STREAMS && !has_none {
            return Err(error);
        }
        self.poll_until = Some(self.clock.now().saturating_add_ms(POLL_FOR_MS));
        self.poll(after).await
    }
}

impl Feed for Source {
    async fn next(&mut self, after: Option<&Cursor>) -> Result<InboxPage, ClientError> {
        if self
            .poll_until
            .is_some_and(|until| self.clock.now() < until)
        {
            return self.poll(after).await;
        }
        let page = match &mut self.stream {
            Some(stream) => self.client.next_of(stream).await,
            None => self.open(after).await,
        };
        let page = match page {
            Ok(page) => page,
            Err(error) => return self.failed(after, error).await,
        };
        let last = page.messages.last();
        self.last = last.map(|last| last.envelope.header().id).or(self.last);
        Ok(page)
    }
}

fn empty_page() -> InboxPage {
    InboxPage {
        messages: Vec::new(),
        board: Vec::new(),
        unverified: Vec::new(),
        next: None,
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
    /// The feed answers again, or for the first time.
    Back,
    /// The feed does not answer, this often in a row.
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
) {
    let mut failures = 0;
    let mut is_back = false;
    loop {
        let told = match next(&mut feed, &client, after.as_ref()).await {
            Ok((page, interactions)) => {
                failures = 0;
                if !is_back && pages.send(FromFeed::Back).await.is_err() {
                    return;
                }
                is_back = true;
                if page.next.is_none() || page.is_empty() {
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
    use crate::testing::{Step, ledger_did, scripted_client};
    use serde_json::json;

    /// Five streams fail; the inbox is polled for a minute; then a stream is tried again, and told
    /// that a newer loop reads.
    #[tokio::test]
    async fn ae_140_after_five_failed_streams_the_inbox_is_polled_and_then_a_stream_tried() {
        let refused =
            |status, code: &str| Step::json(status, json!({"code": code, "message": "no"}));
        let mut steps: Vec<Step> = (0..5).map(|_| refused(503, "X811-9002")).collect();
        let empty = json!({"messages": [], "next": "c 7"});
        steps.extend([Step::json(200, empty.clone()), Step::json(200, empty)]);
        steps.push(refused(409, "X811-4001"));
        let (client, clock, ledger) = scripted_client(steps).await;
        let mut source = Source::new(client, clock.clone(), ledger_did(), "me".to_owned());
        let after = Cursor::from("c 6".to_owned());
        for _ in 0..4 {
            assert!(!is_replaced(&source.next(Some(&after)).await.unwrap_err()));
        }
        for _ in 0..2 {
            let page = source.next(Some(&after)).await.unwrap();
            assert_eq!(page.next, Some(Cursor::from("c 7".to_owned())));
        }
        let idle_ms = clock.pauses_ms.lock().unwrap().clone();
        assert_eq!(idle_ms, [IDLE_MS, IDLE_MS], "a ledger that does not wait");
        clock.pause(POLL_FOR_MS).await;
        assert!(is_replaced(&source.next(Some(&after)).await.unwrap_err()));
        let requests = ledger.await.unwrap();
        let lines: Vec<&str> = requests
            .iter()
            .filter_map(|all| all.lines().next())
            .collect();
        let streams: Vec<bool> = lines.iter().map(|line| line.contains("/stream?")).collect();
        assert_eq!(streams, [true, true, true, true, true, false, false, true]);
        for line in lines {
            assert!(
                line.contains("instance=me") && line.contains("after=c+6"),
                "{line}"
            );
        }
        assert!(requests[5].contains("wait_ms=2000") && requests[6].contains("wait_ms=4000"));
    }

    #[tokio::test]
    async fn ae_132_and_ae_141_a_stream_opened_again_names_the_last_message() {
        let full = json!({"code": "X811-9001", "message": "no"});
        let empty = json!({"messages": [], "next": "c 7"});
        let steps = vec![Step::json(429, full), Step::json(200, empty)];
        let (client, clock, ledger) = scripted_client(steps).await;
        let mut source = Source::new(client, clock, ledger_did(), "me".to_owned());
        let last: EnvelopeId = "0190a1b2-c3d4-7e5f-8901-234567890abc".parse().unwrap();
        source.last = Some(last);
        // Where no stream is left it polls at once.
        let page = source.next(None).await.unwrap();
        assert_eq!(page.next, Some(Cursor::from("c 7".to_owned())));
        let requests = ledger.await.unwrap();
        let field = format!("last-event-id: {last}");
        assert!(requests[0].to_lowercase().contains(&field), "{requests:?}");
        assert!(requests[0].contains("/stream?") && !requests[1].contains("/stream?"));
    }

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
