//! Who has a connection, and who gives way when all places are taken.
//!
//! A connection *works* while the ledger answers a request on it, and *waits* while it is the peer's
//! turn: to ask, to send a body on, to take an answer. Of those that wait the one gives way that has
//! waited longest, among the connections of the address that has most; never one of an address that
//! has fewer than the newcomer's own, so that whoever opens many only ever loses its own.

use crate::limits::{Counted, OF_A_SITE};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// It is the ledger's turn.
const WORKS: u64 = 0;

/// It was told to leave, and its place is another one's already.
const LEAVES: u64 = u64::MAX;

#[derive(Debug)]
pub(super) struct Places {
    held: Mutex<HeldPlaces>,
    /// Most connections, in all.
    most: usize,
    /// Most of one address; a /48 of IPv6 has [`OF_A_SITE`] times as many.
    most_per_address: usize,
    /// Numbers connections, and the moments at which one began to wait.
    clock: AtomicU64,
}

#[derive(Debug, Default)]
struct HeldPlaces {
    places: HashMap<u64, Arc<ConnectionPlace>>,
    networks: HashMap<IpAddr, Arc<AtomicUsize>>,
    sites: HashMap<Ipv6Addr, Arc<AtomicUsize>>,
}

#[derive(Debug)]
pub(super) struct ConnectionPlace {
    number: u64,
    address: Counted,
    /// Connections of its address, this one included.
    of_address: Arc<AtomicUsize>,
    /// Since when it waits, by the clock of all places; [`WORKS`], or [`LEAVES`].
    waits_since: AtomicU64,
    /// Told to leave.
    leave: Notify,
    all: Arc<Places>,
}

/// A place that is held; given back when dropped.
#[derive(Debug)]
pub(super) struct TakenPlace(Arc<ConnectionPlace>);

/// Why there is no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Full {
    /// The address has its share, and all of it works.
    Address,
    /// All places are taken, and none gives way to this address.
    All,
}

impl Places {
    /// `most` places, of which an address may have `most_per_address`.
    pub(super) fn new(most: usize, most_per_address: usize) -> Arc<Places> {
        Arc::new(Places {
            held: Mutex::default(),
            most,
            most_per_address,
            clock: AtomicU64::new(1),
        })
    }

    /// How many are taken.
    pub(super) fn taken(&self) -> usize {
        self.lock().places.len()
    }

    /// A place for a connection from `peer`; where there is none, that of one that waits, and whether it
    /// was. This machine has no share: a proxy may be on it.
    pub(super) fn take(self: &Arc<Self>, peer: IpAddr) -> Result<(TakenPlace, bool), Full> {
        let address = Counted::of(peer);
        let mut held = self.lock();
        let mut has_given_way = false;
        if !address.network.is_loopback() && self.is_full_for(&held, address) {
            let own = |place: &ConnectionPlace| {
                place.address.network == address.network
                    || (address.site.is_some() && place.address.site == address.site)
            };
            has_given_way = held.send_away(0, own);
            if !has_given_way {
                return Err(Full::Address);
            }
        }
        if held.places.len() >= self.most {
            let own = count(held.networks.get(&address.network));
            has_given_way = held.send_away(own, |_| true);
            if !has_given_way {
                return Err(Full::All);
            }
        }
        Ok((self.held_by(&mut held, address), has_given_way))
    }

    fn held_by(self: &Arc<Self>, held: &mut HeldPlaces, address: Counted) -> TakenPlace {
        let of_address = held.networks.entry(address.network).or_default().clone();
        of_address.fetch_add(1, Ordering::Relaxed);
        if let Some(site) = address.site {
            let of_site = held.sites.entry(site).or_default();
            of_site.fetch_add(1, Ordering::Relaxed);
        }
        let now = self.clock.fetch_add(1, Ordering::Relaxed);
        let place = Arc::new(ConnectionPlace {
            number: now,
            address,
            of_address,
            waits_since: AtomicU64::new(now),
            leave: Notify::new(),
            all: self.clone(),
        });
        held.places.insert(now, place.clone());
        TakenPlace(place)
    }

    fn is_full_for(&self, held: &HeldPlaces, address: Counted) -> bool {
        let of_network = count(held.networks.get(&address.network));
        let of_site = address.site.map_or(0, |site| count(held.sites.get(&site)));
        let most_per_site = self.most_per_address.saturating_mul(OF_A_SITE as usize);
        of_network >= self.most_per_address || of_site >= most_per_site
    }

    fn lock(&self) -> MutexGuard<'_, HeldPlaces> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HeldPlaces {
    /// Takes the place of one of `among` whose address has at least `own` connections; false where
    /// none waits.
    fn send_away(&mut self, own: usize, among: impl Fn(&ConnectionPlace) -> bool) -> bool {
        // The one that is found may be asked something just then: then the next.
        while let Some((since, place)) = self.longest(own, &among) {
            let order = Ordering::Relaxed;
            let told = place
                .waits_since
                .compare_exchange(since, LEAVES, order, order);
            if told.is_ok() {
                place.leave.notify_one();
                self.forget(&place);
                return true;
            }
        }
        false
    }

    fn longest(
        &self,
        own: usize,
        among: impl Fn(&ConnectionPlace) -> bool,
    ) -> Option<(u64, Arc<ConnectionPlace>)> {
        let waiting = self.places.values().filter_map(|place| {
            let since = place.waits_since.load(Ordering::Relaxed);
            let count = place.of_address.load(Ordering::Relaxed);
            let gives_way = since != WORKS && count >= own && among(place);
            gives_way.then_some((count, std::cmp::Reverse(since), place))
        });
        let longest = waiting.max_by_key(|(count, since, _)| (*count, *since));
        longest.map(|(_, since, place)| (since.0, place.clone()))
    }

    /// Gives its place back, unless that was done.
    fn forget(&mut self, place: &ConnectionPlace) {
        if self.places.remove(&place.number).is_none() {
            return;
        }
        if place.of_address.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.networks.remove(&place.address.network);
        }
        if let Some(site) = place.address.site
            && let Some(of_site) = self.sites.get(&site)
            && of_site.fetch_sub(1, Ordering::Relaxed) == 1
        {
            self.sites.remove(&site);
        }
    }
}

fn count(of: Option<&Arc<AtomicUsize>>) -> usize {
    of.map_or(0, |count| count.load(Ordering::Relaxed))
}

impl ConnectionPlace {
    /// The ledger has something to do for it; false where it was told to leave.
    pub(super) fn works(&self) -> bool {
        self.turns(|_| WORKS)
    }

    /// It is the peer's turn, from now on.
    pub(super) fn waits(&self) {
        let now = self.all.clock.fetch_add(1, Ordering::Relaxed);
        self.turns(|_| now);
    }

    /// Its peer did something, if it was its turn: it waits anew.
    pub(super) fn goes_on(&self) {
        let now = self.all.clock.fetch_add(1, Ordering::Relaxed);
        self.turns(|since| if since == WORKS { WORKS } else { now });
    }

    /// Whoever was told to leave leaves.
    fn turns(&self, to: impl Fn(u64) -> u64) -> bool {
        let order = Ordering::Relaxed;
        let turned = self
            .waits_since
            .fetch_update(order, order, |since| (since != LEAVES).then(|| to(since)));
        turned.is_ok()
    }

    /// Ready when it is to leave.
    pub(super) async fn gives_way(&self) {
        self.leave.notified().await;
    }
}

impl std::ops::Deref for TakenPlace {
    type Target = Arc<ConnectionPlace>;

    fn deref(&self) -> &Arc<ConnectionPlace> {
        &self.0
    }
}

impl Drop for TakenPlace {
    fn drop(&mut self) {
        self.0.all.lock().forget(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;

    fn take(places: &Arc<Places>, address: &str) -> Result<TakenPlace, Full> {
        let taken = places.take(address.parse().unwrap());
        taken.map(|(place, _)| place)
    }

    fn is_sent_away(place: &TakenPlace) -> bool {
        place.gives_way().now_or_never().is_some()
    }

    #[test]
    fn an_address_has_its_share_and_its_neighbour_too() {
        let places = Places::new(100, 2);
        let first = take(&places, "192.0.2.1").unwrap();
        let second = take(&places, "192.0.2.1").unwrap();
        first.works();
        second.works();
        assert_eq!(take(&places, "192.0.2.1").unwrap_err(), Full::Address);
        let neighbour = take(&places, "192.0.2.2");
        assert!(neighbour.is_ok(), "its neighbour is not hurt");
        drop(first);
        let third = take(&places, "192.0.2.1").unwrap();
        let own: Vec<_> = (0..5).map(|_| take(&places, "127.0.0.1")).collect();
        assert!(own.iter().all(Result::is_ok), "this machine has no share");
        drop((second, third, neighbour, own));
        let held = places.lock();
        assert!(held.places.is_empty() && held.networks.is_empty());
    }

    #[test]
    fn limits_ipv6_has_one_share_for_64_bits_and_two_for_48() {
        let places = Places::new(100, 1);
        let first = take(&places, "2001:db8:1::1").unwrap();
        first.works();
        assert!(take(&places, "2001:db8:1::2").is_err());
        let second = take(&places, "2001:db8:1:1::1").unwrap();
        second.works();
        assert!(take(&places, "2001:db8:1:2::1").is_err(), "the site");
        assert!(take(&places, "2001:db8:2::1").is_ok());
        drop((first, second));
        assert!(places.lock().sites.is_empty());
    }

    #[test]
    fn limits_the_one_that_waits_longest_gives_way_and_no_one_that_works() {
        let places = Places::new(3, 100);
        let [oldest, second, third] = ["192.0.2.1"; 3].map(|from| take(&places, from).unwrap());
        assert!(oldest.works());
        second.waits();
        let newcomer = take(&places, "192.0.2.2").unwrap();
        assert!(is_sent_away(&third), "it waited longest");
        assert!(!third.works(), "what it asks now is not begun");
        assert!(!is_sent_away(&oldest) && !is_sent_away(&second));
        assert!(newcomer.works());
        second.goes_on();
        let next = take(&places, "192.0.2.2").unwrap();
        assert!(is_sent_away(&second));
        assert_eq!(places.taken(), 3);
        next.works();
        assert_eq!(take(&places, "192.0.2.3").unwrap_err(), Full::All);
        drop((second, third));
        assert_eq!(places.taken(), 3, "their places are taken already");
        drop(oldest);
        assert!(take(&places, "192.0.2.3").is_ok());
    }

    #[test]
    fn limits_whoever_opens_many_loses_its_own() {
        let places = Places::new(4, 3);
        let honest = take(&places, "192.0.2.9").unwrap();
        let flood = ["192.0.2.1"; 3].map(|from| take(&places, from).unwrap());
        // Its share is used up: its own oldest goes.
        let fourth = take(&places, "192.0.2.1").unwrap();
        assert!(is_sent_away(&flood[0]) && !is_sent_away(&honest));
        // All places are: that of whoever has most goes, though the honest one waits longer.
        let _other = take(&places, "192.0.2.2").unwrap();
        assert!(is_sent_away(&flood[1]) && !is_sent_away(&honest));
        // Nobody gives way to an address that has more than its own.
        assert!(flood[2].works() && fourth.works());
        assert_eq!(take(&places, "192.0.2.1").unwrap_err(), Full::All);
        assert!(!is_sent_away(&honest));
    }
}
