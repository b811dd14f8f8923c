//! Clients that send for as long as a test wants: messages, and whole interactions.

use super::client::{Acknowledged, Agent, Told, post};
use super::dealing::Pair;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::watch;
use x811_protocol::did::Did;
use x811_protocol::envelope::SealedEnvelope;
use x811_protocol::id::InteractionId;

/// A pause of a client between two messages, so that audits stay short.
pub(crate) const PAUSE: Duration = Duration::from_millis(5);

/// Where the ledger is; `None` while it is down.
pub(crate) type Whereabouts = watch::Receiver<Option<String>>;

/// Who sends.
pub(crate) enum Client {
    Talker {
        agent: Box<Agent>,
        is_registered: bool,
    },
    Dealer(Box<Pair>),
}

impl Client {
    /// The next message, once the one before was acknowledged.
    fn say(&mut self, ledger: Did) -> SealedEnvelope {
        match self {
            Client::Talker {
                agent,
                is_registered: true,
            } => agent.message(ledger, 100),
            Client::Talker {
                agent,
                is_registered,
            } => {
                *is_registered = true;
                agent.registration(ledger)
            }
            Client::Dealer(pair) => pair.say(ledger),
        }
    }
}

/// What a client was told.
#[derive(Default)]
pub(crate) struct Heard {
    pub(crate) acknowledged: Acknowledged,
    /// Interactions whose PAYMENT was acknowledged.
    pub(crate) paid: Vec<InteractionId>,
}

/// Sends message after message, each until it is acknowledged, whoever answers and however often
/// the ledger dies on the way.
pub(crate) async fn talk(
    counted: Arc<AtomicU64>,
    mut client: Client,
    ledger: Did,
    mut at: Whereabouts,
    end: watch::Receiver<bool>,
) -> Heard {
    let mut acknowledged = Acknowledged::default();
    let mut due = client.say(ledger);
    while !*end.borrow() {
        let Ok(url) = at.wait_for(Option::is_some).await.map(|url| url.clone()) else {
            break;
        };
        match post(&url.unwrap_or_default(), &due).await {
            Told::Accepted(answer) => {
                acknowledged.note(&answer);
                counted.fetch_add(1, Ordering::Relaxed);
                due = client.say(ledger);
            }
            Told::Nothing => {}
            Told::Refused(status, body) => {
                let is_busy = matches!(status.as_u16(), 429 | 503);
                assert!(is_busy, "{status} {body}");
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
    let paid = match client {
        Client::Talker { .. } => Vec::new(),
        Client::Dealer(pair) => pair.paid,
    };
    Heard { acknowledged, paid }
}
