//! The MAC by which processes of one ledger know each other.

use axum::http::HeaderName;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use x811_ledger::entropy::Entropy;
use x811_protocol::key::SecretKey;
use x811_protocol::time::TimestampMs;

/// Goes with a request that is passed on.
pub(crate) const PASSED_ON: HeaderName = HeaderName::from_static("x811-passed-on");

/// Goes with the answer to one.
pub(crate) const ANSWERED: HeaderName = HeaderName::from_static("x811-answered");

/// What the key is made for, and nothing else.
const PURPOSE: &[u8] = b"x811 processes of one ledger, form 1";

/// How far apart the clocks of two processes may be, and how long a request may be under way.
const TOLERANCE_MS: u64 = 10_000;

/// Stands for a process that accepts no authority.
const NONE: &str = "-";

/// What is passed on.
pub(super) struct Asked<'a> {
    pub(super) method: &'a str,
    /// Path and query.
    pub(super) target: &'a str,
    pub(super) client: SocketAddr,
    /// Separated by commas.
    pub(super) authorities: Option<&'a str>,
    pub(super) body: &'a [u8],
}

/// What another process says of what it passes on.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) client: SocketAddr,
    pub(super) authorities: Option<String>,
    pub(super) nonce: String,
    body_digest: String,
}

/// Why a seal is not taken.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unopened {
    /// No process of this ledger made it for this request, or it was taken before.
    Foreign,
    /// A process of this ledger made it, at a time that is not now.
    Clocks {
        /// Nonce of the request, which the seal of the answer needs.
        nonce: String,
        /// Difference between the time of the seal and the clock of this process, in milliseconds.
        apart_ms: u64,
    },
}

impl Opened {
    /// Whether `body` is the one that was passed on.
    pub(super) fn is_of(&self, body: &[u8]) -> bool {
        self.body_digest == digest(body)
    }
}

/// The shared key, and what was taken by it lately.
pub(super) struct Seal {
    mac: Hmac<Sha256>,
    /// Random, of this process.
    name: String,
    count: AtomicU64,
    /// Nonces of the last while, with when they came.
    taken: Mutex<HashMap<String, u64>>,
}

impl Seal {
    #[expect(clippy::expect_used, reason = "a key of any length is taken")]
    pub(super) fn new(key: &SecretKey, entropy: &impl Entropy) -> Seal {
        let mut derived =
            Hmac::<Sha256>::new_from_slice(key.seed()).expect("a key of any length is taken");
        derived.update(PURPOSE);
        let derived = derived.finalize().into_bytes();
        let mut name = [0; 16];
        entropy.fill(&mut name);
        Seal {
            mac: Hmac::new_from_slice(&derived).expect("a key of any length is taken"),
            name: hex::encode(name),
            count: AtomicU64::new(0),
            taken: Mutex::default(),
        }
    }

    /// The seal of `asked`, and the nonce in it.
    pub(super) fn ask(&self, asked: &Asked<'_>, now: TimestampMs) -> (String, String) {
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        let nonce = format!("{}{count:016x}", self.name);
        let authorities = asked.authorities.unwrap_or(NONE);
        let (client, body) = (asked.client, digest(asked.body));
        let said = format!("{} {nonce} {client} {authorities} {body}", now.as_ms());
        let mac = self.of_request(asked.method, asked.target, &said);
        (
            format!("{said} {}", hex::encode(mac.finalize().into_bytes())),
            nonce,
        )
    }

    /// What a seal says, if it was made for this very request just now, and taken never.
    ///
    /// # Errors
    /// [`Unopened`].
    pub(super) fn open(
        &self,
        seal: &str,
        method: &str,
        target: &str,
        now: TimestampMs,
    ) -> Result<Opened, Unopened> {
        let verified = self.verified(seal, method, target);
        let (at_ms, opened) = verified.ok_or(Unopened::Foreign)?;
        let apart_ms = now.as_ms().abs_diff(at_ms);
        if apart_ms > TOLERANCE_MS {
            let nonce = opened.nonce;
            return Err(Unopened::Clocks { nonce, apart_ms });
        }
        match self.is_new(&opened.nonce, now.as_ms()) {
            true => Ok(opened),
            false => Err(Unopened::Foreign),
        }
    }

    /// What a seal says, and when it was made; `None` unless a process of this ledger made it.
    fn verified(&self, seal: &str, method: &str, target: &str) -> Option<(u64, Opened)> {
        let (said, mac) = seal.rsplit_once(' ')?;
        let expected = self.of_request(method, target, said);
        expected.verify_slice(&hex::decode(mac).ok()?).ok()?;
        let mut fields = said.split(' ');
        let at_ms: u64 = fields.next()?.parse().ok()?;
        let nonce = fields.next()?.to_owned();
        let client = fields.next()?.parse().ok()?;
        let authorities = fields.next()?;
        let opened = Opened {
            client,
            authorities: (authorities != NONE).then(|| authorities.to_owned()),
            body_digest: fields.next()?.to_owned(),
            nonce,
        };
        Some((at_ms, opened))
    }

    fn is_new(&self, nonce: &str, now_ms: u64) -> bool {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.retain(|_, at_ms| now_ms.abs_diff(*at_ms) <= 2 * TOLERANCE_MS);
        taken.insert(nonce.to_owned(), now_ms).is_none()
    }

    /// The seal of an answer to the request with that nonce.
    pub(super) fn answer(&self, nonce: &str, status: u16, body: &[u8]) -> String {
        hex::encode(self.of_answer(nonce, status, body).finalize().into_bytes())
    }

    /// Whether `seal` is the one of that answer.
    pub(super) fn is_answer(&self, seal: &str, nonce: &str, status: u16, body: &[u8]) -> bool {
        let mac = self.of_answer(nonce, status, body);
        hex::decode(seal).is_ok_and(|seal| mac.verify_slice(&seal).is_ok())
    }

    fn of_request(&self, method: &str, target: &str, said: &str) -> Hmac<Sha256> {
        self.over(&["passed on", method, target, said])
    }

    fn of_answer(&self, nonce: &str, status: u16, body: &[u8]) -> Hmac<Sha256> {
        self.over(&["answered", nonce, &status.to_string(), &digest(body)])
    }

    /// Over lines: no line end is in any of them, as none is in what HTTP puts there.
    fn over(&self, lines: &[&str]) -> Hmac<Sha256> {
        let mut mac = self.mac.clone();
        for line in lines {
            mac.update(line.as_bytes());
            mac.update(b"\n");
        }
        mac
    }
}

fn digest(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(u8);

    impl Entropy for Fixed {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(self.0);
        }
    }

    fn asked(body: &'static [u8]) -> Asked<'static> {
        Asked {
            method: "POST",
            target: "/api/v1/messages",
            client: "192.0.2.7:4711".parse().unwrap(),
            authorities: Some("ledger.example.org,127.0.0.1:8811"),
            body,
        }
    }

    #[test]
    fn stores_5_processes_of_one_ledger_authenticate_each_other() {
        let key = SecretKey::from_seed([7; 32]);
        let (from, to) = (Seal::new(&key, &Fixed(1)), Seal::new(&key, &Fixed(2)));
        let stranger = Seal::new(&SecretKey::from_seed([8; 32]), &Fixed(1));
        let now = TimestampMs::new(1_000_000);
        let (seal, nonce) = from.ask(&asked(b"body"), now);
        let open = |seal: &str, method, target, at_ms| {
            to.open(seal, method, target, TimestampMs::new(at_ms))
        };
        let foreign = |opened: Result<Opened, Unopened>| {
            assert_eq!(opened.unwrap_err(), Unopened::Foreign);
        };
        foreign(open(&seal, "GET", "/api/v1/messages", 1_000_000));
        foreign(open(&seal, "POST", "/api/v1/tokens", 1_000_000));
        foreign(open("", "POST", "/api/v1/messages", 1_000_000));
        let forged = seal.replace("192.0.2.7", "192.0.2.8");
        foreign(open(&forged, "POST", "/api/v1/messages", 1_000_000));
        let (strange, _) = stranger.ask(&asked(b"body"), now);
        foreign(open(&strange, "POST", "/api/v1/messages", 1_000_000));
        // Clocks that differ are told from strangers, and a stranger's clock does not matter.
        foreign(open(&strange, "POST", "/api/v1/messages", 9_000_000));
        for (at_ms, apart_ms) in [(1_010_001, 10_001), (400_000, 600_000)] {
            let nonce = nonce.clone();
            let refused = open(&seal, "POST", "/api/v1/messages", at_ms).unwrap_err();
            assert_eq!(refused, Unopened::Clocks { nonce, apart_ms });
        }
        let opened = open(&seal, "POST", "/api/v1/messages", 1_003_000).unwrap();
        assert_eq!(opened.client, "192.0.2.7:4711".parse().unwrap());
        let authorities = "ledger.example.org,127.0.0.1:8811";
        assert_eq!(opened.authorities.as_deref(), Some(authorities));
        assert!(opened.is_of(b"body") && !opened.is_of(b"other"));
        // Caught on the wire and sent once more.
        foreign(open(&seal, "POST", "/api/v1/messages", 1_003_000));
        let answer = to.answer(&nonce, 202, b"accepted");
        assert!(from.is_answer(&answer, &nonce, 202, b"accepted"));
        assert!(!from.is_answer(&answer, &nonce, 200, b"accepted"));
        assert!(!from.is_answer(&answer, &nonce, 202, b"rejected"));
        assert!(!from.is_answer(&answer, "other", 202, b"accepted"));
        assert!(!from.is_answer(
            &stranger.answer(&nonce, 202, b"accepted"),
            &nonce,
            202,
            b"accepted"
        ));
    }
}
