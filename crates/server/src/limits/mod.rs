//! Limits of this process, per address and per DID (ledger-contract.md section 3). They decide
//! nothing that a replay would see: a request over one of them never reaches the ledger, so they are
//! configuration and not recorded. Those that decide are in `Parameters`.
//!
//! An address is counted before anything is parsed; a DID only once its signature is verified, so
//! that nobody can use up what another one is allowed.

mod address;
mod buckets;
mod networks;
mod slots;

pub(crate) use address::Counted;
pub use address::{AddressBlock, NoAddressBlock};
pub(crate) use networks::OF_A_SITE;

use crate::app::App;
use crate::error::ApiError;
use crate::loopback;
use axum::extract::Request;
use buckets::{Buckets, Rate};
use networks::{AddressRates, AddressSlot, AddressSlots};
use slots::{Slot, Slots};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use x811_ledger::clock::Clock;
use x811_ledger::sequencer::Origin;
use x811_protocol::code::Code;
use x811_protocol::did::Did;
use x811_protocol::envelope::AcceptedHeader;
use x811_protocol::payload::registry::Verb;
use x811_protocol::refusal::{Kind, Refusal};

const SECOND_MS: u64 = 1_000;

const HOUR_MS: u64 = 60 * 60 * SECOND_MS;

/// When to try again where one of something held has to end first.
const HELD_RETRY_MS: u64 = SECOND_MS;

/// One address may have one stream of a feed in so many.
const STREAMS_SHARE: u32 = 4;

/// Bytes of all bodies that are being read at the same time.
const BODY_BYTES_IN_ALL: u64 = 256 * 1_048_576;

/// Bytes of all long answers that are in memory and not taken yet. Those that are read from the store
/// as they are taken do not count: each of them has less than 200 KiB there.
const UNREAD_BYTES_IN_ALL: u64 = 64 * 1_048_576;

/// The same of one address.
const UNREAD_BYTES_PER_ADDRESS: u64 = 8 * 1_048_576;

/// How much one address and one DID may ask of this process. A limit of 0 is off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateLimits {
    /// Requests of any kind, counted before anything is parsed.
    pub requests_per_second_per_address: u32,
    /// How many of those may come at once.
    pub burst_per_address: u32,
    /// Messages that a DID has signed.
    pub requests_per_second_per_did: u32,
    /// How many of those may come at once.
    pub burst_per_did: u32,
    /// Registrations that are signed properly.
    pub registrations_per_address_per_hour: u32,
    /// The same of all addresses together: a crowd fills the memory for agents no faster (decision 0181).
    pub registrations_per_hour: u32,
    /// Inbox reads of an address that wait at the same time.
    pub long_polls_per_address: u32,
    /// Inbox reads of one DID that wait at the same time.
    pub long_polls_per_did: u32,
    /// Streams of feeds that one DID has open (AE-134).
    pub streams_per_did: u32,
    /// Streams of feeds in all, of which one address may have a quarter.
    pub streams: u32,
    /// Bytes of bodies of an address that are being read at the same time.
    pub body_bytes_per_address: u64,
    /// Who may say, in `X-Forwarded-For`, whose request it passes on.
    pub trusted_proxies: Vec<AddressBlock>,
    /// Whether requests that come from this machine itself are limited too.
    pub limit_loopback: bool,
}

impl Default for RateLimits {
    fn default() -> RateLimits {
        RateLimits {
            requests_per_second_per_address: 500,
            burst_per_address: 2_000,
            requests_per_second_per_did: 200,
            burst_per_did: 1_000,
            registrations_per_address_per_hour: 60,
            registrations_per_hour: 3_600,
            long_polls_per_address: 512,
            long_polls_per_did: 16,
            streams_per_did: 3,
            streams: 100,
            body_bytes_per_address: 16 * 1_048_576,
            trusted_proxies: AddressBlock::LOOPBACK.to_vec(),
            limit_loopback: false,
        }
    }
}

/// Whose request it is; `None` for this machine's own, which are not limited.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Client(Option<Counted>);

impl Client {
    /// By whom its long messages take turns: one customer may have a whole /48 of IPv6.
    pub(crate) fn origin(self) -> Origin {
        self.0.map_or(Origin::HERE, |counted| {
            Origin::of(counted.site.map_or(counted.network, IpAddr::V6))
        })
    }
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(counted) => write!(f, "{}", counted.network),
            None => f.write_str("this machine"),
        }
    }
}

/// The limits with what has been used of them.
#[derive(Debug)]
pub(crate) struct Limiter {
    limits: RateLimits,
    /// Whether clients come under a name, and so past a proxy where they come from this machine.
    is_public: bool,
    /// Requests of others that cannot be told from each other.
    unattributed: AtomicU64,
    by_address: AddressRates,
    by_did: Buckets<Did>,
    registrations: AddressRates,
    registrations_in_all: Buckets<()>,
    polls_by_address: AddressSlots,
    polls_by_did: Slots<Did>,
    streams_by_address: AddressSlots,
    streams_by_did: Slots<Did>,
    streams_in_all: Slots<()>,
    body_bytes: AddressSlots,
    body_bytes_in_all: Slots<()>,
    unread_bytes: AddressSlots,
    unread_bytes_in_all: Slots<()>,
}

/// What a waiting read holds.
#[derive(Debug)]
pub(crate) struct LongPoll {
    _by_address: Option<AddressSlot>,
    _by_did: Slot<Did>,
}

/// What an open stream of a feed holds.
#[derive(Debug)]
pub(crate) struct StreamPlace {
    _by_address: Option<AddressSlot>,
    _by_did: Slot<Did>,
    _in_all: Slot<()>,
}

/// What a part of a body that is being read holds.
#[derive(Debug)]
pub(crate) struct BodyRoom {
    _by_address: Option<AddressSlot>,
    _in_all: Slot<()>,
}

/// What a long answer holds until its reader has taken it.
#[derive(Debug)]
pub(crate) struct AnswerRoom {
    _by_address: Option<AddressSlot>,
    _in_all: Slot<()>,
}

impl Limiter {
    /// The limits of a ledger that clients know by a name of its own, if it `is_public`.
    pub(crate) fn new(limits: RateLimits, is_public: bool) -> Limiter {
        let registrations = limits.registrations_per_address_per_hour;
        let in_all = limits.registrations_per_hour;
        Limiter {
            by_address: AddressRates::new(
                limits.requests_per_second_per_address,
                SECOND_MS,
                limits.burst_per_address,
            ),
            by_did: Buckets::new(Rate::new(
                limits.requests_per_second_per_did,
                SECOND_MS,
                limits.burst_per_did,
            )),
            registrations: AddressRates::new(registrations, HOUR_MS, registrations),
            registrations_in_all: Buckets::new(Rate::new(in_all, HOUR_MS, in_all)),
            polls_by_address: AddressSlots::new(unless_off(limits.long_polls_per_address.into())),
            polls_by_did: Slots::new(unless_off(limits.long_polls_per_did.into())),
            streams_by_address: AddressSlots::new(unless_off(
                limits.streams.div_ceil(STREAMS_SHARE).into(),
            )),
            streams_by_did: Slots::new(unless_off(limits.streams_per_did.into())),
            streams_in_all: Slots::new(unless_off(limits.streams.into())),
            body_bytes: AddressSlots::new(unless_off(limits.body_bytes_per_address)),
            body_bytes_in_all: Slots::new(BODY_BYTES_IN_ALL),
            unread_bytes: AddressSlots::new(UNREAD_BYTES_PER_ADDRESS),
            unread_bytes_in_all: Slots::new(UNREAD_BYTES_IN_ALL),
            is_public,
            unattributed: AtomicU64::new(0),
            limits,
        }
    }

    fn client(&self, peer: IpAddr, request: &Request) -> Client {
        let address = address::client(peer, request.headers(), &self.limits.trusted_proxies);
        // A proxy on this machine that says nothing of its clients still passes on the name they ask
        // for.
        let is_own = address.is_loopback()
            && loopback::is_addressed_locally(request.headers(), request.uri());
        if self.is_public && address.is_loopback() {
            self.note_unattributed();
        }
        let is_limited = self.limits.limit_loopback || !is_own;
        Client(is_limited.then(|| Counted::of(address)))
    }

    /// The address that a request comes from, past proxies that are believed.
    pub(crate) fn address(&self, peer: IpAddr, request: &Request) -> IpAddr {
        address::client(peer, request.headers(), &self.limits.trusted_proxies)
    }

    /// Requests of others that a proxy on this machine passed on without saying whose they are.
    pub(crate) fn unattributed(&self) -> u64 {
        self.unattributed.load(Ordering::Relaxed)
    }

    fn note_unattributed(&self) {
        if self.unattributed.fetch_add(1, Ordering::Relaxed) == 0 {
            tracing::warn!(
                "a request came from this machine without X-Forwarded-For, though clients know the \
                 ledger by a public name: if a proxy passed it on, all its clients count as one or \
                 not at all. Have it set X-Forwarded-For; limits by DID hold meanwhile"
            );
        }
    }

    fn request(&self, client: Client, now_ms: u64) -> Result<(), Refusal> {
        let taken = client
            .0
            .map(|address| self.by_address.take(address, now_ms));
        taken
            .unwrap_or(Ok(()))
            .map_err(|wait_ms| exceeded("too many requests come from this address", wait_ms))
    }

    /// Whether a message whose signature is verified may go on to the ledger.
    pub(crate) fn message(
        &self,
        client: Client,
        header: &AcceptedHeader,
        now_ms: u64,
    ) -> Result<(), Refusal> {
        // The published SDK registers by a REQUEST of the agent to itself.
        let is_registration = header.from == header.to
            || matches!(Verb::of(&header.message_type), Ok(Some(Verb::Register)));
        let address = match client {
            Client(Some(address)) => address,
            // It may be anybody's, past a proxy that does not say whose it is.
            Client(None) if self.is_public && is_registration => {
                return self.one_more_registers(now_ms);
            }
            Client(None) if self.is_public => return self.of_did(header.from, now_ms),
            Client(None) => return Ok(()),
        };
        if is_registration {
            let taken = self.registrations.take(address, now_ms);
            let full = |wait_ms| exceeded("too many DIDs register from this address", wait_ms);
            // One address that is at its limit takes nothing from all others.
            return taken
                .map_err(full)
                .and_then(|()| self.one_more_registers(now_ms));
        }
        self.of_did(header.from, now_ms)
    }

    fn one_more_registers(&self, now_ms: u64) -> Result<(), Refusal> {
        let taken = self.registrations_in_all.take((), now_ms);
        taken.map_err(|wait_ms| exceeded("too many DIDs register at this ledger", wait_ms))
    }

    fn of_did(&self, did: Did, now_ms: u64) -> Result<(), Refusal> {
        let taken = self.by_did.take(did, now_ms);
        taken.map_err(|wait_ms| exceeded("this DID sends too many messages", wait_ms))
    }

    /// A place for a read that waits.
    pub(crate) fn long_poll(&self, client: Client, reader: Did) -> Result<LongPoll, Refusal> {
        let full = |whose| exceeded(&format!("too many reads of {whose} wait"), HELD_RETRY_MS);
        let by_address = match client.0 {
            Some(address) => {
                let slot = self.polls_by_address.take(address, 1);
                Some(slot.ok_or_else(|| full("this address"))?)
            }
            None => None,
        };
        let by_did = self.polls_by_did.take(reader, 1);
        Ok(LongPoll {
            _by_address: by_address,
            _by_did: by_did.ok_or_else(|| full("this inbox"))?,
        })
    }

    /// A place for a stream of a feed that `reader` opens.
    pub(crate) fn stream(&self, client: Client, reader: Did) -> Result<StreamPlace, Refusal> {
        let full = |whose| {
            let why = format!("{whose} has as many streams open as it may");
            exceeded(&why, HELD_RETRY_MS)
        };
        let by_address = match client.0 {
            Some(address) => {
                let slot = self.streams_by_address.take(address, 1);
                Some(slot.ok_or_else(|| full("this address"))?)
            }
            None => None,
        };
        let by_did = self.streams_by_did.take(reader, 1);
        let by_did = by_did.ok_or_else(|| full("this DID"))?;
        let in_all = self.streams_in_all.take((), 1);
        Ok(StreamPlace {
            _by_address: by_address,
            _by_did: by_did,
            _in_all: in_all.ok_or_else(|| full("this ledger"))?,
        })
    }

    /// How many streams are open.
    pub(crate) fn open_streams(&self) -> u64 {
        self.streams_in_all.held(&())
    }

    /// Room for a piece of a body.
    pub(crate) fn body_room(&self, client: Client, bytes: usize) -> Result<BodyRoom, Refusal> {
        let full = |why| exceeded(why, HELD_RETRY_MS);
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let by_address = match client.0 {
            Some(address) => {
                let slot = self.body_bytes.take(address, bytes);
                Some(slot.ok_or_else(|| full("this address sends too much at once"))?)
            }
            None => None,
        };
        let in_all = self.body_bytes_in_all.take((), bytes);
        Ok(BodyRoom {
            _by_address: by_address,
            _in_all: in_all.ok_or_else(|| full("too much is sent at once"))?,
        })
    }
}

impl Limiter {
    /// Room for a long answer that is in memory as a whole.
    pub(crate) fn answer_room(&self, client: Client, bytes: u64) -> Result<AnswerRoom, Refusal> {
        let full = |why| exceeded(why, HELD_RETRY_MS);
        let by_address = match client.0 {
            Some(address) => {
                let slot = self.unread_bytes.take(address, bytes);
                Some(slot.ok_or_else(|| full("this address reads its answers too slowly"))?)
            }
            None => None,
        };
        let in_all = self.unread_bytes_in_all.take((), bytes);
        Ok(AnswerRoom {
            _by_address: by_address,
            _in_all: in_all.ok_or_else(|| full("too many answers wait to be read"))?,
        })
    }
}

/// Notes whose a request is, and counts it for its address: 429 X811-9001 when that has used up what
/// it may ask.
pub(crate) fn guard<C: Clock>(
    app: &App<C>,
    peer: SocketAddr,
    request: &mut Request,
) -> (Client, Result<(), ApiError>) {
    let client = app.limiter.client(peer.ip(), request);
    request.extensions_mut().insert(client);
    let may_ask = app.limiter.request(client, app.clock.monotonic_ms());
    (client, may_ask.map_err(ApiError::from))
}

/// Whose request it is, as [`guard`] noted.
#[expect(clippy::expect_used, reason = "the guard runs before every route")]
pub(crate) fn noted(request: &Request) -> Client {
    let client = request.extensions().get::<Client>().copied();
    client.expect("the request log has every request's client noted")
}

/// 0 turns a limit off.
fn unless_off(most: u64) -> u64 {
    if most == 0 { u64::MAX } else { most }
}

fn exceeded(why: &str, retry_after_ms: u64) -> Refusal {
    let message = format!("{why}: send the same again after the time that Retry-After names");
    Refusal::new(Code::RateLimitExceeded, Kind::Limit, message).retry_after_ms(retry_after_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(address: &str) -> Client {
        Client(Some(Counted::of(address.parse().unwrap())))
    }

    #[test]
    fn lc_3_a_silent_proxy_on_this_machine_does_not_lift_the_limits() {
        let limiter = Limiter::new(RateLimits::default(), false);
        let limited = |host: &str, forwarded_for: Option<&str>| {
            let mut request = Request::builder().uri("/x").header("host", host);
            if let Some(address) = forwarded_for {
                request = request.header("x-forwarded-for", address);
            }
            let request = request.body(axum::body::Body::empty()).unwrap();
            limiter
                .client("127.0.0.1".parse().unwrap(), &request)
                .0
                .is_some()
        };
        assert!(!limited("127.0.0.1:8811", None), "this machine's own");
        assert!(!limited("localhost:8811", None), "this machine's own");
        assert!(limited("ledger.example.org", None));
        assert!(limited("ledger.example.org", Some("127.0.0.1")), "made up");
        assert!(limited("127.0.0.1:8811", Some("192.0.2.7")));
    }

    #[test]
    fn lc_3_bodies_being_read_take_up_bounded_room() {
        let limiter = Limiter::new(
            RateLimits {
                body_bytes_per_address: 100,
                ..RateLimits::default()
            },
            false,
        );
        let (spammer, neighbour) = (client("203.0.113.9"), client("192.0.2.7"));
        let held = limiter.body_room(spammer, 60).unwrap();
        let refusal = limiter.body_room(spammer, 41).unwrap_err();
        assert_eq!(refusal.code, Code::RateLimitExceeded);
        assert_eq!(refusal.retry_after_ms, Some(1_000));
        assert!(limiter.body_room(neighbour, 100).is_ok());
        drop(held);
        assert!(limiter.body_room(spammer, 100).is_ok());
        // All addresses together, this machine included.
        let all = usize::try_from(BODY_BYTES_IN_ALL).unwrap();
        let _held = limiter.body_room(Client(None), all).unwrap();
        assert!(limiter.body_room(neighbour, 1).is_err());
    }

    #[test]
    fn limits_what_a_silent_proxy_passes_on_is_counted() {
        for (is_public, forwarded_for, counted) in [
            (true, None, 1),
            (true, Some("192.0.2.7"), 0),
            (false, None, 0),
        ] {
            let limiter = Limiter::new(RateLimits::default(), is_public);
            let mut request = Request::builder().uri("/x").header("host", "localhost");
            if let Some(address) = forwarded_for {
                request = request.header("x-forwarded-for", address);
            }
            let request = request.body(axum::body::Body::empty()).unwrap();
            limiter.client("127.0.0.1".parse().unwrap(), &request);
            assert_eq!(limiter.unattributed(), counted, "{forwarded_for:?}");
        }
    }

    #[test]
    fn limits_a_limit_of_0_is_off() {
        let limits = RateLimits {
            requests_per_second_per_address: 0,
            long_polls_per_did: 0,
            body_bytes_per_address: 0,
            ..RateLimits::default()
        };
        let limiter = Limiter::new(limits, false);
        let spammer = client("203.0.113.9");
        for _ in 0..10_000 {
            assert!(limiter.request(spammer, 0).is_ok());
        }
        let _held = limiter.body_room(spammer, 100 * 1_048_576).unwrap();
        let did = Did::from_uuid(uuid::Builder::from_random_bytes([7; 16]).into_uuid()).unwrap();
        let polls: Result<Vec<_>, _> = (0..100).map(|_| limiter.long_poll(spammer, did)).collect();
        assert!(polls.is_ok());
    }

    #[test]
    fn limits_answers_that_nobody_takes_take_up_bounded_room() {
        let limiter = Limiter::new(RateLimits::default(), false);
        let (slow, neighbour) = (client("203.0.113.9"), client("192.0.2.7"));
        let held = limiter.answer_room(slow, UNREAD_BYTES_PER_ADDRESS).unwrap();
        let refusal = limiter.answer_room(slow, 1).unwrap_err();
        assert_eq!(refusal.code, Code::RateLimitExceeded);
        assert!(limiter.answer_room(neighbour, 1_000_000).is_ok());
        drop(held);
        assert!(limiter.answer_room(slow, 1).is_ok());
        // All addresses together, this machine included.
        let _held = limiter.answer_room(Client(None), UNREAD_BYTES_IN_ALL);
        assert!(limiter.answer_room(neighbour, 1).is_err());
    }

    #[test]
    fn ae_134_streams_are_limited_per_did_per_address_and_in_all() {
        let did = |number| {
            let uuid = uuid::Builder::from_random_bytes([number; 16]).into_uuid();
            Did::from_uuid(uuid).unwrap()
        };
        let limiter = Limiter::new(RateLimits::default(), false);
        let here = Client(None);
        let mut held: Vec<_> = (0..3)
            .map(|_| limiter.stream(here, did(1)).unwrap())
            .collect();
        let fourth = limiter.stream(here, did(1)).unwrap_err();
        assert_eq!(fourth.code, Code::RateLimitExceeded);
        assert_eq!(fourth.retry_after_ms, Some(1_000));
        held.pop();
        held.push(limiter.stream(here, did(1)).unwrap());
        // An address has a quarter, however many DIDs come from there.
        let greedy = client("203.0.113.9");
        for number in 2..27 {
            held.push(limiter.stream(greedy, did(number)).unwrap());
        }
        assert!(limiter.stream(greedy, did(200)).is_err());
        for number in 27..99 {
            held.push(limiter.stream(here, did(number)).unwrap());
        }
        assert_eq!(held.len(), 100);
        assert!(limiter.stream(here, did(201)).is_err());
        held.clear();
        assert!(limiter.stream(greedy, did(200)).is_ok());
    }

    #[test]
    fn lc_3_reads_that_wait_are_limited_per_address_and_per_inbox() {
        let limiter = Limiter::new(
            RateLimits {
                long_polls_per_address: 2,
                long_polls_per_did: 1,
                ..RateLimits::default()
            },
            false,
        );
        let did = |number| {
            let uuid = uuid::Builder::from_random_bytes([number; 16]).into_uuid();
            Did::from_uuid(uuid).unwrap()
        };
        let (spammer, neighbour) = (client("203.0.113.9"), client("192.0.2.7"));
        let first = limiter.long_poll(spammer, did(1)).unwrap();
        assert!(limiter.long_poll(spammer, did(1)).is_err(), "the inbox");
        let _second = limiter.long_poll(spammer, did(2)).unwrap();
        assert!(limiter.long_poll(spammer, did(3)).is_err(), "the address");
        assert!(limiter.long_poll(neighbour, did(3)).is_ok());
        drop(first);
        assert!(limiter.long_poll(spammer, did(1)).is_ok());
    }
}
