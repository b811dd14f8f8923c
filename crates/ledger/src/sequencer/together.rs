//! Signatures of messages that arrive at the same time, checked together.
//!
//! Five hundred of them cost half as much together as one by one. So while many messages are being
//! taken, each waits until the group before it is checked; while few are, nobody waits for anybody.
//! A group with a bad signature says nothing of the others in it: then each is checked alone, and
//! so are those that follow for a while, so that bad signatures make nobody else much slower than
//! they were without groups.

use super::handle::gone;
use super::pool::on_the_pool;
use crate::figures::Figures;
use crate::submission::Sealed;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};
use tokio::task::yield_now;
use x811_protocol::envelope::{Unverified, VerifiedEnvelope, verify, verify_together};
use x811_protocol::key::FEWEST_TOGETHER;
use x811_protocol::refusal::Refusal;

/// So many messages are being taken before a group is worth waiting for: others of them are behind
/// their check already.
const MANY: usize = 2 * FEWEST_TOGETHER;

/// The largest group: larger ones cost little less each, and wait longer for each other.
const MOST: usize = 1_024;

/// After a bad signature so many messages are checked one by one.
const DISTRUSTED: usize = 16 * MOST;

/// Where messages wait for their group.
#[derive(Debug, Clone)]
pub(super) struct Together {
    groups: mpsc::Sender<Waiting>,
    taken: Arc<()>,
}

/// A message that is being taken, until this is dropped.
pub(super) struct Taken(#[expect(dead_code, reason = "held to be counted")] Arc<()>);

/// What became of an envelope: it is given back when it is to be checked alone.
type Verdict = Result<VerifiedEnvelope, Box<Unverified>>;

/// An envelope whose signature is to be checked, and who waits for that.
#[derive(Debug)]
struct Waiting {
    envelope: Box<Unverified>,
    checked: oneshot::Sender<Verdict>,
}

impl Together {
    /// Checks groups until the last handle is dropped.
    pub(super) fn start(figures: Arc<Figures>) -> Together {
        let (groups, waiting) = mpsc::channel(MOST);
        tokio::spawn(check_groups(waiting, figures));
        let taken = Arc::new(());
        Together { groups, taken }
    }

    /// Counts a message that is being taken.
    pub(super) fn taken(&self) -> Taken {
        Taken(self.taken.clone())
    }

    /// Whether so many messages are being taken that groups are worth it.
    pub(super) fn is_worth_it(&self) -> bool {
        Arc::strong_count(&self.taken) > MANY
    }

    /// Checks a signature with others, or alone where more than one key may have made it.
    ///
    /// # Errors
    /// X811-2003, as of a check alone.
    pub(super) async fn verify(&self, sealed: Box<Sealed>) -> Result<VerifiedEnvelope, Refusal> {
        let envelope = match sealed.by_one_key() {
            Ok(envelope) => envelope,
            Err(sealed) => return sealed.verify(),
        };
        let (checked, verdict) = oneshot::channel();
        let waiting = Waiting { envelope, checked };
        self.groups.send(waiting).await.map_err(|_| gone())?;
        verdict.await.map_err(|_| gone())?.or_else(|unverified| {
            let Unverified { parsed, key } = *unverified;
            verify(parsed, &[key])
        })
    }
}

async fn check_groups(mut waiting: mpsc::Receiver<Waiting>, figures: Arc<Figures>) {
    let mut distrusted = 0_usize;
    loop {
        let group = next_group(&mut waiting).await;
        if group.is_empty() {
            return;
        }
        let count = group.len();
        let (envelopes, checked) = group
            .into_iter()
            .map(|waiting| (waiting.envelope, waiting.checked))
            .unzip();
        if count < FEWEST_TOGETHER || distrusted > 0 {
            distrusted = distrusted.saturating_sub(count);
            tell(checked, envelopes, Err);
            continue;
        }
        match on_the_pool(|| verify_together(envelopes)).await {
            Some(Ok(envelopes)) => {
                figures.checked_together.add(count as u64);
                tell(checked, envelopes, Ok);
            }
            Some(Err(envelopes)) => {
                distrusted = DISTRUSTED;
                tell(checked, envelopes, Err);
            }
            None => return,
        }
    }
}

/// Waits for the next envelopes and takes those that follow as long as any do; none when nobody is
/// left to send any.
async fn next_group(waiting: &mut mpsc::Receiver<Waiting>) -> Vec<Waiting> {
    let mut group = Vec::with_capacity(MOST);
    let mut before = usize::MAX;
    waiting.recv_many(&mut group, MOST).await;
    while group.len() < MOST && group.len() != before {
        before = group.len();
        // Whoever was woken with these senders comes first.
        yield_now().await;
        while group.len() < MOST
            && let Ok(next) = waiting.try_recv()
        {
            group.push(next);
        }
    }
    group
}

/// Whoever is gone needs no verdict.
fn tell<T>(checked: Vec<oneshot::Sender<Verdict>>, all: Vec<T>, verdict: fn(T) -> Verdict) {
    for (checked, one) in checked.into_iter().zip(all) {
        let _ = checked.send(verdict(one));
    }
}
