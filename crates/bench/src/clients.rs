//! Clients that carry on conversations: each sends a message when the one before is answered.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::Serialize;
use tokio::task::JoinSet;

use super::broken;
use super::cpu::now;
use x811_console::failure::Failure;

/// How long a client waits that was told that the ledger is busy.
pub(super) const RETRY_AFTER: Duration = Duration::from_millis(100);

/// How a ledger answers; whatever else it may say ends the benchmark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Accepted, and so durable.
    Accepted,
    /// X811-9001, and why: not now, but the same bytes may come again.
    Busy(String),
}

/// One client's way to the ledger.
pub(super) trait Sender: Send + 'static {
    /// A message in the form in which it goes that way.
    type Message: Send + 'static;

    /// Sends, and waits for the answer.
    fn send(
        &mut self,
        message: &Self::Message,
    ) -> impl Future<Output = Result<Outcome, Failure>> + Send;
}

/// What the clients were told.
#[derive(Debug, Default)]
pub(super) struct Answered {
    /// Of each accepted message the time from its first sending to the answer, in microseconds.
    pub(super) latencies_us: Vec<u32>,
    pub(super) retries: Retries,
}

/// How often a message had to be sent again.
#[derive(Debug, Default, Serialize)]
pub(super) struct Retries {
    retried: u64,
    /// Why, the first time.
    #[serde(skip_serializing_if = "Option::is_none")]
    retried_because: Option<String>,
}

impl Answered {
    pub(super) fn add(&mut self, more: Answered) {
        self.latencies_us.extend(more.latencies_us);
        self.retries.retried += more.retries.retried;
        let because = &mut self.retries.retried_because;
        *because = because.take().or(more.retries.retried_because);
    }
}

impl Retries {
    fn add(&mut self, because: String) {
        self.retried += 1;
        self.retried_because.get_or_insert(because);
    }

    pub(super) fn text(&self) -> String {
        let because = self.retried_because.as_ref();
        let because = because.map_or_else(String::new, |because| format!(" ({because})"));
        format!("{}{because}", self.retried)
    }
}

type Waiting<S> = Arc<Mutex<Vec<Vec<<S as Sender>::Message>>>>;

/// Carries on all conversations, one at a time for each sender, and gives the senders back: what
/// becomes of them is no part of what is measured.
pub(super) async fn converse<S: Sender>(
    senders: Vec<S>,
    conversations: Vec<Vec<S::Message>>,
) -> Result<(Answered, Vec<S>), Failure> {
    carry_on(senders, conversations, RETRY_AFTER).await
}

async fn carry_on<S: Sender>(
    senders: Vec<S>,
    conversations: Vec<Vec<S::Message>>,
    retry_after: Duration,
) -> Result<(Answered, Vec<S>), Failure> {
    let waiting: Waiting<S> = Arc::new(Mutex::new(conversations));
    let (mut answered, mut done) = (Answered::default(), Vec::with_capacity(senders.len()));
    let mut clients = JoinSet::new();
    for sender in senders {
        clients.spawn(client(sender, waiting.clone(), retry_after));
    }
    while let Some(ended) = clients.join_next().await {
        let (told, sender) = ended.map_err(broken)??;
        answered.add(told);
        done.push(sender);
    }
    Ok((answered, done))
}

async fn client<S: Sender>(
    mut sender: S,
    waiting: Waiting<S>,
    retry_after: Duration,
) -> Result<(Answered, S), Failure> {
    let mut answered = Answered::default();
    loop {
        let next = waiting.lock().map_err(|_| broken("a client died"))?.pop();
        let Some(conversation) = next else {
            return Ok((answered, sender));
        };
        for message in conversation {
            let sent = now();
            while let Outcome::Busy(why) = sender.send(&message).await? {
                answered.retries.add(why);
                tokio::time::sleep(retry_after).await;
            }
            let us = u32::try_from(sent.elapsed().as_micros());
            answered.latencies_us.push(us.unwrap_or(u32::MAX));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Is busy at every first try, and keeps what it took.
    struct Reluctant {
        tried: bool,
        taken: Arc<Mutex<Vec<u8>>>,
    }

    impl Sender for Reluctant {
        type Message = u8;

        async fn send(&mut self, message: &u8) -> Result<Outcome, Failure> {
            self.tried = !self.tried;
            if self.tried {
                return Ok(Outcome::Busy(format!("not {message}")));
            }
            self.taken.lock().unwrap().push(*message);
            Ok(Outcome::Accepted)
        }
    }

    #[tokio::test]
    async fn messages_go_in_order_and_again_while_the_ledger_is_busy() {
        let taken = Arc::new(Mutex::new(Vec::new()));
        let sender = Reluctant {
            tried: false,
            taken: taken.clone(),
        };
        let conversations = vec![vec![3, 4], vec![1, 2]];
        let carried_on = carry_on(vec![sender], conversations, Duration::ZERO).await;
        let (answered, senders) = carried_on.unwrap();
        assert_eq!(senders.len(), 1);
        assert_eq!(*taken.lock().unwrap(), [1, 2, 3, 4]);
        assert_eq!(answered.latencies_us.len(), 4);
        assert_eq!(answered.retries.text(), "4 (not 1)");
    }
}
