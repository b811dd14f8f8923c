//! When to try again, and how long to wait before (AE-108).

use std::future::Future;

use x811_protocol::code::Code;

use super::LedgerClient;
use super::error::ClientError;
use super::exchange::Reply;

/// Patience: exponential backoff with jitter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// How often something is tried in all; at least once.
    pub attempts: u32,
    /// Wait before the second try, in milliseconds, before jitter.
    pub first_delay_ms: u64,
    /// The longest wait, in milliseconds, also when the ledger asks for a longer one.
    pub max_delay_ms: u64,
}

impl Default for RetryPolicy {
    /// Five tries, 250 ms doubled up to 10 s: an outage of a few seconds goes unnoticed, and the
    /// whole stays far below the five minutes an envelope is good for (AE-89).
    fn default() -> RetryPolicy {
        RetryPolicy {
            attempts: 5,
            first_delay_ms: 250,
            max_delay_ms: 10_000,
        }
    }
}

impl RetryPolicy {
    /// How long to wait after failed try number `tries` (from 1), in milliseconds: between half
    /// and all of the doubled delay, chosen by `random`, and not less than the ledger asked for.
    pub fn delay_ms(&self, tries: u32, random: u64, retry_after_ms: Option<u64>) -> u64 {
        let doublings = tries.saturating_sub(1).min(32);
        let whole_ms = self
            .first_delay_ms
            .saturating_mul(1 << doublings)
            .min(self.max_delay_ms);
        let half_ms = whole_ms / 2;
        let jittered_ms = half_ms + random % (whole_ms - half_ms + 1);
        let asked_ms = retry_after_ms.unwrap_or(0).min(self.max_delay_ms);
        jittered_ms.max(asked_ms)
    }
}

impl LedgerClient {
    /// Makes a call until it has an answer that another try would not change. Tried again are lost
    /// answers, X811-9001, X811-9002, and gateways that answer for a ledger they cannot reach.
    pub(super) async fn retried<F>(&self, call: impl Fn() -> F) -> Result<Reply, ClientError>
    where
        F: Future<Output = Result<Reply, ClientError>>,
    {
        let mut tries = 1;
        loop {
            let answer = call().await;
            let (again, retry_after_ms) = match &answer {
                Ok(reply) => (is_passing(reply), reply.retry_after_ms),
                Err(error) => (matches!(error, ClientError::Unreachable { .. }), None),
            };
            if !again || tries >= self.retry.attempts {
                return answer;
            }
            // Without randomness the jitter is left out, not the retry.
            let random = self.entropy.array().map_or(0, u64::from_be_bytes);
            let delay_ms = self.retry.delay_ms(tries, random, retry_after_ms);
            self.clock.pause(delay_ms).await;
            tries += 1;
        }
    }
}

/// Whether the answer may be another one in a moment.
fn is_passing(reply: &Reply) -> bool {
    match reply.refused().map(|refused| refused.code) {
        Some(code) => matches!(code, Code::RateLimitExceeded | Code::InternalError),
        None => matches!(reply.status, 429 | 500 | 502 | 503 | 504),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ae_108_delays_double_with_jitter_up_to_the_most() {
        let policy = RetryPolicy {
            attempts: 9,
            first_delay_ms: 100,
            max_delay_ms: 1_000,
        };
        // try, least, most
        let table = [
            (1, 50, 100),
            (2, 100, 200),
            (3, 200, 400),
            (4, 400, 800),
            (5, 500, 1_000),
        ];
        for (tries, least, most) in table {
            assert_eq!(policy.delay_ms(tries, 0, None), least, "try {tries}");
            let reaches = most - least;
            assert_eq!(policy.delay_ms(tries, reaches, None), most, "try {tries}");
            for random in [1, 12_345, u64::MAX] {
                let delay_ms = policy.delay_ms(tries, random, None);
                assert!(
                    (least..=most).contains(&delay_ms),
                    "try {tries}: {delay_ms}"
                );
            }
        }
        assert_eq!(policy.delay_ms(u32::MAX, 500, None), 1_000);
    }

    #[test]
    fn ae_108_retry_after_is_the_least_within_reason() {
        let policy = RetryPolicy::default();
        assert_eq!(policy.delay_ms(1, 0, Some(1_000)), 1_000);
        assert_eq!(policy.delay_ms(1, 0, Some(0)), 125);
        assert_eq!(policy.delay_ms(1, 0, Some(u64::MAX)), policy.max_delay_ms);
    }
}
