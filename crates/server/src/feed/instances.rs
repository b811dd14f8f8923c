//! Which loop of an agent is the newest. A loop names itself in each of its reads; the first read of
//! a new name ends what others of the same agent have open, and they get nothing any more.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;

/// Names of earlier loops that are known of each agent.
const EARLIER: usize = 16;

/// Agents of which names are known; beyond, those that read nothing at the moment are forgotten.
const MOST_AGENTS: usize = 10_000;

/// Half a digest of a name.
type Tag = [u8; 16];

/// The loops of all agents.
#[derive(Debug, Default)]
pub(crate) struct Instances(Mutex<HashMap<Did, Loops>>);

/// The loops of one agent.
#[derive(Debug)]
struct Loops {
    newest: watch::Sender<Tag>,
    earlier: VecDeque<Tag>,
}

/// A read of the newest loop of an agent, as long as it is that.
#[derive(Debug)]
pub(crate) struct HeldRead {
    tag: Tag,
    newest: watch::Receiver<Tag>,
    /// Asks another process of the ledger meanwhile.
    #[expect(dead_code, reason = "it ends when it is dropped")]
    asking: Option<Asking>,
}

#[derive(Debug)]
struct Asking(JoinHandle<()>);

impl Drop for Asking {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Another loop of the agent is newer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Superseded;

impl Instances {
    /// A read of the loop `instance` of `agent`: it is the newest, or becomes it when its name is new.
    pub(crate) fn claim(&self, agent: Did, instance: &str) -> Result<HeldRead, Superseded> {
        let tag = tag_of(instance);
        let mut of = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if of.len() >= MOST_AGENTS && !of.contains_key(&agent) {
            of.retain(|_, loops| loops.newest.receiver_count() > 0);
        }
        let loops = of.entry(agent).or_insert_with(|| Loops {
            newest: watch::Sender::new(tag),
            earlier: VecDeque::new(),
        });
        if loops.earlier.contains(&tag) {
            return Err(Superseded);
        }
        if *loops.newest.borrow() != tag {
            loops.replace(tag);
        }
        Ok(HeldRead {
            tag,
            newest: loops.newest.subscribe(),
            asking: None,
        })
    }

    /// Another process of the ledger knows a newer loop of `agent` than `instance`.
    pub(crate) fn end(&self, agent: Did, instance: &str) {
        let mut of = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(loops) = of.get_mut(&agent)
            && *loops.newest.borrow() == tag_of(instance)
        {
            // Whatever it is called.
            loops.replace(Tag::default());
        }
    }
}

impl Loops {
    fn replace(&mut self, newest: Tag) {
        if self.earlier.len() == EARLIER {
            self.earlier.pop_front();
        }
        let before = self.newest.send_replace(newest);
        self.earlier.push_back(before);
    }
}

fn tag_of(instance: &str) -> Tag {
    let digest = Digest::of(instance.as_bytes());
    std::array::from_fn(|at| digest.as_bytes()[at])
}

impl HeldRead {
    /// The same, which `asking` watches over as long as it lives.
    pub(crate) fn asking(self, asking: JoinHandle<()>) -> HeldRead {
        HeldRead {
            asking: Some(Asking(asking)),
            ..self
        }
    }

    /// Ready when another loop is newer.
    pub(crate) async fn superseded(&mut self) {
        let tag = self.tag;
        if self.newest.wait_for(|newest| *newest != tag).await.is_err() {
            // Forgotten: so there is no newer one.
            std::future::pending().await
        }
    }

    /// Whether another loop is newer.
    pub(crate) fn is_superseded(&self) -> bool {
        *self.newest.borrow() != self.tag
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn did(number: u128) -> Did {
        let uuid = uuid::Builder::from_random_bytes(number.to_be_bytes());
        Did::from_uuid(uuid.into_uuid()).unwrap()
    }

    #[tokio::test]
    async fn ax_44_the_newest_loop_ends_the_others_for_good() {
        let instances = Instances::default();
        let mut first = instances.claim(did(1), "a").unwrap();
        let again = instances.claim(did(1), "a").unwrap();
        let other = instances.claim(did(2), "x").unwrap();
        assert!(!first.is_superseded() && !again.is_superseded());
        let second = instances.claim(did(1), "b").unwrap();
        first.superseded().await;
        assert!(again.is_superseded() && !second.is_superseded() && !other.is_superseded());
        assert_eq!(instances.claim(did(1), "a").unwrap_err(), Superseded);
        let third = instances.claim(did(1), "c").unwrap();
        assert!(second.is_superseded() && !third.is_superseded());
        for earlier in ["a", "b"] {
            assert_eq!(instances.claim(did(1), earlier).unwrap_err(), Superseded);
        }
        assert!(instances.claim(did(2), "a").is_ok());
    }

    #[tokio::test]
    async fn ax_44_a_newer_loop_at_another_process_ends_the_one_here() {
        let instances = Instances::default();
        let mut first = instances.claim(did(1), "a").unwrap();
        instances.end(did(1), "b");
        instances.end(did(2), "a");
        assert!(!first.is_superseded());
        instances.end(did(1), "a");
        first.superseded().await;
        assert_eq!(instances.claim(did(1), "a").unwrap_err(), Superseded);
        // It is reached again, and is newer still.
        assert!(!instances.claim(did(1), "b").unwrap().is_superseded());
    }

    #[test]
    fn ax_44_agents_that_come_and_go_do_not_fill_the_memory() {
        let instances = Instances::default();
        let kept = instances.claim(did(0), "kept").unwrap();
        for number in 1..=(2 * MOST_AGENTS as u128) {
            instances.claim(did(number), "a").unwrap();
        }
        assert!(instances.0.lock().unwrap().len() <= MOST_AGENTS);
        instances.claim(did(0), "newer").unwrap();
        assert!(kept.is_superseded(), "an open read is not forgotten");
    }
}
