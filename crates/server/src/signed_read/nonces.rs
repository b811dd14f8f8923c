//! Which nonces of signed reads were used. In memory: a signature is good for some 65 seconds,
//! and one made before the start is not taken at all.

use std::collections::{HashMap, HashSet};
use x811_protocol::code::Code;
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::refusal::{Kind, Refusal};
use x811_protocol::time::TimestampMs;

/// How long nonces are taken into one bucket, in milliseconds.
const BUCKET_MS: u64 = 60_000;

/// Buckets that are kept. A signature dated 5 s ahead of the clock is good for 65 s, so what was spent
/// in the first millisecond of a bucket has to be known for two more.
const BUCKETS: usize = 3;

/// The most nonces of one agent in a bucket: 100 a second.
const MAX_PER_DID: u32 = 6_000;

/// The most nonces in a bucket: some 10 MiB.
const MAX_PER_BUCKET: usize = 250_000;

/// The nonces of the last two to three minutes.
#[derive(Debug, Default)]
pub(super) struct SpentNonces {
    buckets: [Bucket; BUCKETS],
}

#[derive(Debug, Default)]
struct Bucket {
    /// Which stretch of time it is for, in [`BUCKET_MS`] since 1970.
    number: u64,
    /// Half a digest each: 128 bits are enough for nobody to find two nonces with the same.
    spent: HashSet<[u8; 16]>,
    by_did: HashMap<Did, u32>,
}

impl SpentNonces {
    /// Spends a nonce of `did`, once.
    ///
    /// # Errors
    /// X811-2001 when it was spent, X811-9001 when no more can be kept.
    pub(super) fn spend(&mut self, did: Did, nonce: &str, now: TimestampMs) -> Result<(), Refusal> {
        let number = now.as_ms() / BUCKET_MS;
        let oldest = number.saturating_sub(BUCKETS as u64 - 1);
        let tag = tag(did, nonce);
        let mut kept = self.buckets.iter().filter(|bucket| bucket.number >= oldest);
        if kept.any(|bucket| bucket.spent.contains(&tag)) {
            return Err(Refusal::new(
                Code::NonceReplay,
                Kind::Conflict,
                "this signed read was answered before: sign each with a fresh nonce",
            ));
        }
        let bucket = &mut self.buckets[(number % BUCKETS as u64) as usize];
        if bucket.number != number {
            *bucket = Bucket {
                number,
                ..Bucket::default()
            };
        }
        bucket.insert(did, tag)
    }
}

impl Bucket {
    fn insert(&mut self, did: Did, tag: [u8; 16]) -> Result<(), Refusal> {
        let of_did = self.by_did.get(&did).copied().unwrap_or_default();
        if of_did >= MAX_PER_DID || self.spent.len() >= MAX_PER_BUCKET {
            return Err(Refusal::new(
                Code::RateLimitExceeded,
                Kind::Limit,
                "too many signed reads this minute: wait, and ask an inbox with wait_ms instead \
                 of again and again",
            ));
        }
        self.by_did.insert(did, of_did + 1);
        self.spent.insert(tag);
        Ok(())
    }
}

fn tag(did: Did, nonce: &str) -> [u8; 16] {
    let digest = Digest::of_parts(&[did.uuid().as_bytes(), nonce.as_bytes()]);
    std::array::from_fn(|at| digest.as_bytes()[at])
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONCE: &str = "0123456789abcdef";

    fn did(last: u8) -> Did {
        format!("did:x811:a1b2c3d4-e5f6-4890-abcd-ef12345678{last:02x}")
            .parse()
            .unwrap()
    }

    fn code(spent: Result<(), Refusal>) -> Option<Code> {
        spent.err().map(|refusal| refusal.code)
    }

    #[test]
    fn promise_7_a_nonce_is_known_for_as_long_as_its_signature_is_good() {
        for begun_ms in [0, 1, 59_999, 60_000, 119_999, 1_767_225_600_123] {
            let mut nonces = SpentNonces::default();
            let at = |after_ms: u64| TimestampMs::new(begun_ms + after_ms);
            assert_eq!(code(nonces.spend(did(1), NONCE, at(0))), None);
            for after_ms in [0, 1, 30_000, 60_000, 119_999, 120_000] {
                let again = nonces.spend(did(1), NONCE, at(after_ms));
                assert_eq!(
                    code(again),
                    Some(Code::NonceReplay),
                    "{begun_ms} {after_ms}"
                );
            }
            assert_eq!(code(nonces.spend(did(2), NONCE, at(120_000))), None);
            assert_eq!(code(nonces.spend(did(1), NONCE, at(180_000))), None);
        }
    }

    #[test]
    fn promise_7_one_agent_cannot_fill_the_memory_or_keep_others_out() {
        let mut nonces = SpentNonces::default();
        let now = TimestampMs::new(1_767_225_600_000);
        for number in 0..MAX_PER_DID {
            let nonce = format!("{number:016}");
            assert_eq!(code(nonces.spend(did(1), &nonce, now)), None);
        }
        let one_more = nonces.spend(did(1), NONCE, now);
        assert_eq!(code(one_more), Some(Code::RateLimitExceeded));
        assert_eq!(code(nonces.spend(did(2), NONCE, now)), None);
        // What was refused for want of room was not spent.
        let later = now.saturating_add_ms(BUCKET_MS);
        assert_eq!(code(nonces.spend(did(1), NONCE, later)), None);
    }

    #[test]
    fn promise_7_all_agents_together_cannot_fill_the_memory() {
        let mut nonces = SpentNonces::default();
        let now = TimestampMs::new(1_767_225_600_000);
        let each = u32::try_from(MAX_PER_BUCKET / 50).unwrap();
        for agent in 0..50 {
            for number in 0..each {
                let nonce = format!("{number:016}");
                assert_eq!(code(nonces.spend(did(agent), &nonce, now)), None);
            }
        }
        let one_more = nonces.spend(did(99), NONCE, now);
        assert_eq!(code(one_more), Some(Code::RateLimitExceeded));
    }
}
