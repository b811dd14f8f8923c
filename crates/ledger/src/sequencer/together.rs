//! Signatures of messages that arrive at the same time, checked together.
//!
//! Five hundred of them cost half as much together as one by one. So while many messages are being
//! taken, each waits until the group before it is checked; while few are, nobody waits for anybody.
//! A group with a bad signature says nothing of the others in it: then each is checked alone, and
//! so are those that follow for a while, so that bad signatures make nobody else much slower than
//! they were without groups.

use super::pool::on_the_pool;
use crate::figures::Figures;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::task::yield_now;
use x811_protocol::envelope::{Unverified, VerifiedEnvelope, verify_together};
use x811_protocol::key::{FEWEST_TOGETHER, WholeKeys};

/// So many messages are being taken before a group is worth waiting for: others of them are behind
/// their check already.
const MANY: usize = 2 * FEWEST_TOGETHER;

/// The largest group: larger ones cost little less each, and wait longer for each other.
const MOST: usize = 1_024;

/// After a bad signature, or a panic, so many messages are checked one by one.
const DISTRUSTED: usize = 16 * MOST;

/// Where messages wait for their group.
#[derive(Debug, Clone)]
pub(super) struct Together {
    groups: mpsc::Sender<Waiting>,
    taken: Arc<()>,
}

/// A message that is being taken, until this is dropped.
pub(super) struct TakenMessage(#[expect(dead_code, reason = "held to be counted")] Arc<()>);

/// An envelope whose signature is to be checked, and what is done with it then.
struct Waiting {
    envelope: Box<Unverified>,
    go_on: GoOn,
}

type GoOn = Box<dyn FnOnce(VerifiedEnvelope) + Send>;

impl Together {
    /// Checks groups until the last handle is dropped.
    pub(super) fn start(figures: Arc<Figures>) -> Together {
        let (groups, waiting) = mpsc::channel(MOST);
        tokio::spawn(check_groups(waiting, figures));
        let taken = Arc::new(());
        Together { groups, taken }
    }

    /// Counts a message that is being taken.
    pub(super) fn taken(&self) -> TakenMessage {
        TakenMessage(self.taken.clone())
    }

    /// Whether so many messages are being taken that groups are worth it.
    pub(super) fn is_worth_it(&self) -> bool {
        Arc::strong_count(&self.taken) > MANY
    }

    /// Has a signature checked with others. `go_on` is called on the CPU pool when it holds, and
    /// dropped when it is to be checked alone.
    pub(super) async fn check(
        &self,
        envelope: Box<Unverified>,
        go_on: impl FnOnce(VerifiedEnvelope) + Send + 'static,
    ) {
        let go_on = Box::new(go_on);
        // Where nobody checks groups any more it is dropped.
        let _ = self.groups.send(Waiting { envelope, go_on }).await;
    }
}

async fn check_groups(mut waiting: mpsc::Receiver<Waiting>, figures: Arc<Figures>) {
    let (mut distrusted, mut whole) = (0_usize, WholeKeys::default());
    loop {
        let group = next_group(&mut waiting).await;
        if group.is_empty() {
            return;
        }
        let count = group.len();
        if count < FEWEST_TOGETHER || distrusted > 0 {
            distrusted = distrusted.saturating_sub(count);
            continue;
        }
        let (counted, mut known) = (figures.clone(), std::mem::take(&mut whole));
        let check = move || (check_group(group, &mut known, &counted), known);
        // Who panics is not to be trusted either.
        let (holds, known) = on_the_pool(check).await.unwrap_or_default();
        whole = known;
        if !holds {
            distrusted = DISTRUSTED;
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

/// Whether all signatures hold together; if not, nothing is done with any of them.
fn check_group(group: Vec<Waiting>, whole: &mut WholeKeys, figures: &Figures) -> bool {
    let count = group.len();
    let (envelopes, go_on): (Vec<_>, Vec<GoOn>) = group
        .into_iter()
        .map(|waiting| (waiting.envelope, waiting.go_on))
        .unzip();
    let Ok(envelopes) = verify_together(envelopes, whole) else {
        return false;
    };
    figures.checked_together.add(count as u64);
    for (go_on, envelope) in go_on.into_iter().zip(envelopes) {
        go_on(envelope);
    }
    true
}
