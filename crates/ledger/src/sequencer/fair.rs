//! Where long envelopes wait for the CPU pool. To check one takes as long as thousands of short ones,
//! so that their order matters: whoever has many of them, or longer ones, waits longer.
//!
//! Each origin has a queue of its own, and all are served by bytes (start-time fair queueing): a message
//! would end at the bytes that were begun when it came, or where its origin's last one ends, and its own
//! bytes on top; the origin with the earliest end comes next. One thread of the pool is left for others
//! where there are several, so that short messages that are checked together do not wait for long ones.
//! What one origin may have on its way is bounded.
//!
//! Within an origin shorter messages come first, because one address can be that of many agents. Connections
//! do not tell them apart: an agent opens as many as it likes, and a proxy shares its own. How long a
//! message can be overtaken grows with its length ([`OVERTAKEN`]), so that no flood of short messages
//! keeps a long one waiting for ever. Since only shorter messages move ahead, an origin never has more
//! bytes begun than its turns allow by then.

use super::batch::{busy, defect, not_recorded};
use super::pool::on_the_pool;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;
use x811_protocol::refusal::Refusal;

/// Most bytes of one origin that wait or are checked.
const BYTES_OF_ONE: u64 = 16 * 1_048_576;

/// Shorter messages of the same origin overtake a message until its own bytes were begun so many times.
/// For the longest message that is as much as one origin may have on its way.
const OVERTAKEN: u64 = 16;

/// Whom a message came from, as far as the network can say: those of one origin share its turns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Origin(Option<IpAddr>);

impl Origin {
    /// This machine, or nobody in particular.
    pub const HERE: Origin = Origin(None);

    /// An address, or what stands for several of them.
    pub fn of(address: IpAddr) -> Origin {
        Origin(Some(address))
    }
}

/// Long envelopes on their way to the CPU pool.
#[derive(Debug, Clone)]
pub(super) struct Fair {
    queue: Arc<Mutex<Queue>>,
}

#[derive(Debug)]
struct Queue {
    /// Places on the pool that are free.
    free: usize,
    /// Where the message began that was begun last.
    now: u64,
    /// The turns of all origins, by where they end, then in order of arrival; with where they begin.
    turns: BTreeMap<(u64, u64), (u64, Origin)>,
    /// The messages of each origin, as many as it has turns.
    waiting: HashMap<Origin, Line>,
    /// Where the last turn of each origin ends, unless that is past.
    ends: HashMap<Origin, u64>,
    arrived: u64,
}

/// The messages of one origin, by how long they may be overtaken, then in order of arrival.
type Line = BTreeMap<(u64, u64), oneshot::Sender<PoolPlace>>;

/// A place on the pool; the next one's when dropped.
#[derive(Debug)]
struct PoolPlace {
    queue: Option<Arc<Mutex<Queue>>>,
}

impl Fair {
    /// For this machine's pool.
    pub(super) fn new() -> Fair {
        Fair::with(rayon::current_num_threads().saturating_sub(1).max(1))
    }

    fn with(places: usize) -> Fair {
        Fair {
            queue: Arc::new(Mutex::new(Queue {
                free: places,
                now: 0,
                turns: BTreeMap::new(),
                waiting: HashMap::new(),
                ends: HashMap::new(),
                arrived: 0,
            })),
        }
    }

    /// Does `work` on a message of so many bytes from `origin` at its turn.
    ///
    /// # Errors
    /// X811-9001 where its origin has too much on its way, X811-9002 where the work panicked.
    pub(super) async fn at_its_turn<T: Send + 'static>(
        &self,
        origin: Origin,
        bytes: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        let turn = self.enqueue(origin, bytes);
        let turn = turn.ok_or_else(|| busy("this address has too much on its way"))?;
        let place = turn.await.map_err(|_| not_recorded())?;
        let worked = on_the_pool(move || {
            let worked = work();
            drop(place);
            worked
        });
        worked.await.ok_or_else(defect)
    }

    fn enqueue(&self, origin: Origin, bytes: usize) -> Option<oneshot::Receiver<PoolPlace>> {
        let (turn, waits) = oneshot::channel();
        let mut queue = lock(&self.queue);
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let last = queue.ends.get(&origin).copied().unwrap_or(0);
        let begins = last.max(queue.now);
        let ends = begins.saturating_add(bytes);
        if origin != Origin::HERE && ends - queue.now > BYTES_OF_ONE {
            return None;
        }
        queue.ends.insert(origin, ends);
        let arrived = queue.arrived;
        queue.arrived += 1;
        queue.turns.insert((ends, arrived), (begins, origin));
        let overtaken_until = queue.now.saturating_add(bytes.saturating_mul(OVERTAKEN));
        let line = queue.waiting.entry(origin).or_default();
        line.insert((overtaken_until, arrived), turn);
        drop(queue);
        hand_over(&self.queue);
        Some(waits)
    }
}

impl Queue {
    /// Who comes next, where there is a place.
    fn next(&mut self) -> Option<oneshot::Sender<PoolPlace>> {
        if self.free == 0 {
            return None;
        }
        let Some((_, (begins, origin))) = self.turns.pop_first() else {
            // Nobody is ahead of anybody.
            self.ends.clear();
            return None;
        };
        self.now = self.now.max(begins);
        let now = self.now;
        self.ends.retain(|_, ends| *ends > now);
        let message = self.first_of(origin)?;
        self.free -= 1;
        Some(message)
    }

    /// Takes the message that is the next one of `origin`.
    fn first_of(&mut self, origin: Origin) -> Option<oneshot::Sender<PoolPlace>> {
        let Entry::Occupied(mut line) = self.waiting.entry(origin) else {
            return None;
        };
        let first = line.get_mut().pop_first();
        if line.get().is_empty() {
            line.remove();
        }
        first.map(|(_, message)| message)
    }
}

/// Gives the places that are free to those who come next.
fn hand_over(queue: &Arc<Mutex<Queue>>) {
    while let Some(turn) = { lock(queue).next() } {
        let place = PoolPlace {
            queue: Some(queue.clone()),
        };
        // Whoever has gone needs none.
        if let Err(mut place) = turn.send(place) {
            place.queue = None;
            lock(queue).free += 1;
        }
    }
}

impl Drop for PoolPlace {
    fn drop(&mut self) {
        if let Some(queue) = self.queue.take() {
            lock(&queue).free += 1;
            hand_over(&queue);
        }
    }
}

fn lock(queue: &Mutex<Queue>) -> MutexGuard<'_, Queue> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: usize = 945_000;

    fn origin(last: u8) -> Origin {
        Origin::of(IpAddr::from([192, 0, 2, last]))
    }

    fn queued(fair: &Fair, origin: Origin, bytes: usize) -> oneshot::Receiver<PoolPlace> {
        fair.enqueue(origin, bytes).unwrap()
    }

    /// The order in which those who wait get their place.
    fn order(mut waiting: Vec<(&'static str, oneshot::Receiver<PoolPlace>)>) -> Vec<&'static str> {
        let mut order = Vec::new();
        while !waiting.is_empty() {
            let at = waiting
                .iter_mut()
                .position(|(_, turn)| match turn.try_recv() {
                    Ok(place) => {
                        drop(place);
                        true
                    }
                    Err(_) => false,
                });
            order.push(waiting.remove(at.unwrap()).0);
        }
        order
    }

    #[test]
    fn limits_a_long_message_waits_for_no_more_than_its_own_and_what_was_begun() {
        let fair = Fair::with(1);
        let begun = queued(&fair, origin(1), LONG);
        let mut waiting = Vec::new();
        for _ in 0..15 {
            waiting.push(("flood", queued(&fair, origin(1), LONG)));
        }
        waiting.push(("honest", queued(&fair, origin(2), 100_000)));
        drop(begun);
        assert_eq!(order(waiting)[0], "honest");
    }

    #[test]
    fn limits_of_as_many_addresses_the_short_one_comes_first_and_the_long_ones_in_turn() {
        let fair = Fair::with(1);
        let begun = queued(&fair, origin(0), LONG);
        let mut waiting = Vec::new();
        for (name, from) in [("a", 1), ("a", 1), ("b", 2), ("b", 2)] {
            waiting.push((name, queued(&fair, origin(from), LONG)));
        }
        waiting.push(("honest", queued(&fair, origin(9), 100_000)));
        drop(begun);
        assert_eq!(order(waiting), ["honest", "a", "b", "a", "b"]);
    }

    #[test]
    fn limits_short_ones_of_others_do_not_keep_a_long_one_waiting_for_ever() {
        let fair = Fair::with(1);
        let begun = queued(&fair, origin(0), 20_000);
        let mut waiting = vec![("long", queued(&fair, origin(1), 100_000))];
        for _ in 0..10 {
            waiting.push(("short", queued(&fair, origin(2), 20_000)));
        }
        drop(begun);
        let order = order(waiting);
        let at = order.iter().position(|name| *name == "long");
        assert!(at.is_some_and(|at| at <= 5), "{order:?}");
    }

    #[test]
    fn limits_of_one_address_the_short_message_comes_first() {
        let fair = Fair::with(1);
        let begun = queued(&fair, origin(1), LONG);
        let mut waiting = Vec::new();
        for _ in 0..15 {
            waiting.push(("flood", queued(&fair, origin(1), LONG)));
        }
        waiting.push(("honest", queued(&fair, origin(1), 100_000)));
        drop(begun);
        assert_eq!(order(waiting)[0], "honest");
    }

    /// The flood goes on: as one of its messages is begun, the next one comes.
    #[test]
    fn limits_of_one_address_a_long_message_is_overtaken_for_a_bounded_time() {
        let fair = Fair::with(1);
        let short = || queued(&fair, origin(1), 20_000);
        let (mut begun, mut next) = (short(), short());
        let mut long = queued(&fair, origin(1), 100_000);
        let most: usize = 16 * 100_000 / 20_000;
        let overtakers = (0..=most).take_while(|_| {
            let following = std::mem::replace(&mut next, short());
            drop(std::mem::replace(&mut begun, following));
            long.try_recv().is_err()
        });
        let overtakers = overtakers.count();
        assert!((1..=most).contains(&overtakers), "{overtakers}");
    }

    /// An address gets no more by the order of its own messages.
    #[test]
    fn limits_short_messages_of_one_address_take_no_turn_of_another() {
        let fair = Fair::with(1);
        let begun = queued(&fair, origin(0), LONG);
        let mut waiting = Vec::new();
        for (name, from, bytes) in [
            ("a long", 1, LONG),
            ("b long", 2, LONG),
            ("a short", 1, 100_000),
            ("b short", 2, 100_000),
        ] {
            waiting.push((name, queued(&fair, origin(from), bytes)));
        }
        drop(begun);
        assert_eq!(order(waiting), ["a short", "b short", "a long", "b long"]);
    }

    #[test]
    fn whoever_has_gone_keeps_no_place_and_nothing_is_left_behind() {
        let fair = Fair::with(1);
        let begun = queued(&fair, origin(1), LONG);
        let gone = queued(&fair, origin(2), LONG);
        let last = queued(&fair, origin(3), LONG);
        drop(gone);
        drop(begun);
        assert_eq!(order(vec![("last", last)]), ["last"]);
        let queue = lock(&fair.queue);
        assert!(queue.free == 1 && queue.turns.is_empty());
        assert!(queue.waiting.is_empty() && queue.ends.is_empty());
    }

    #[test]
    fn limits_what_an_address_has_on_its_way_is_bounded() {
        let fair = Fair::with(1);
        let most = usize::try_from(BYTES_OF_ONE).unwrap();
        let held = queued(&fair, origin(1), most);
        assert!(fair.enqueue(origin(1), 1).is_none());
        assert!(fair.enqueue(origin(2), most).is_some());
        assert!(fair.enqueue(Origin::HERE, 2 * most).is_some());
        drop(held);
    }

    #[tokio::test]
    async fn a_panic_costs_whoever_asked_its_answer_and_nobody_a_place() {
        let fair = Fair::with(1);
        let panicked = fair.at_its_turn(origin(1), 1, || panic!("as it should"));
        let refusal = panicked.await.map(|()| 0).unwrap_err();
        assert_eq!(refusal.http_status(), 500, "a defect of ours: {refusal}");
        let worked = fair.at_its_turn(origin(1), 1, || 2 + 2).await;
        assert_eq!(worked.map_err(|refusal| refusal.code), Ok(4));
    }
}
