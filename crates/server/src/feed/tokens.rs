//! Short-lived tokens for browsers, which cannot sign the requests of an `EventSource`.
//!
//! A token is what an agent signed for once, under a MAC: which log, whose, by which key, what for and
//! until when. Nothing is stored of it. The MAC's key follows from the ledger's envelope key, which all
//! processes of a ledger have, so a token of one is good at the others. It is good until it expires, or
//! until the agent's key is not the agent's any more.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use uuid::Uuid;
use x811_protocol::key::{KeyId, SecretKey};
use x811_protocol::time::TimestampMs;
use zeroize::Zeroizing;

/// What the key is made for, and nothing else.
const PURPOSE: &[u8] = b"x811 tokens of one ledger, form 1";

/// The longest token that is read, in bytes.
const MAX_BYTES: usize = 1_024;

/// What a token is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Scope {
    /// The stream of the agent's messages.
    Feed,
    /// What the agent may read by `GET`, but for that stream.
    Explorer,
}

/// What a token says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Claims {
    /// Who asked for it, and by which key.
    pub(crate) key_id: KeyId,
    pub(crate) scope: Scope,
    pub(crate) expires_at: TimestampMs,
}

/// How claims are written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    log_id: Uuid,
    key_id: String,
    scope: Scope,
    expires_at_ms: u64,
}

/// Why a token is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TokenFault {
    /// Not made by a process of this ledger for this use.
    #[error(
        "the token was not made by this ledger under its present key, or not for this: sign POST \
         /api/v1/tokens for another one"
    )]
    NotOurs,
    /// The moment until which it was good has passed.
    #[error("the token has expired: sign POST /api/v1/tokens for another one")]
    Expired,
}

/// Makes tokens and reads them.
pub(crate) struct Tokens {
    log_id: Uuid,
    mac: Hmac<Sha256>,
}

impl Tokens {
    /// Those of the ledger `log_id`, under a key that follows from `key`.
    #[expect(clippy::expect_used, reason = "HMAC takes keys of any length")]
    pub(super) fn new(log_id: Uuid, key: &SecretKey) -> Tokens {
        let mut derived =
            Hmac::<Sha256>::new_from_slice(key.seed()).expect("a key of any length is taken");
        derived.update(PURPOSE);
        let derived = Zeroizing::new(<[u8; 32]>::from(derived.finalize().into_bytes()));
        Tokens {
            log_id,
            mac: Hmac::new_from_slice(&*derived).expect("a key of any length is taken"),
        }
    }

    /// A token that says that.
    pub(crate) fn issue(&self, claims: &Claims) -> Result<String, serde_json::Error> {
        let written = Written {
            log_id: self.log_id,
            key_id: claims.key_id.to_string(),
            scope: claims.scope,
            expires_at_ms: claims.expires_at.as_ms(),
        };
        let said = URL_SAFE_NO_PAD.encode(serde_json::to_vec(&written)?);
        let mac = self.mac.clone().chain_update(said.as_bytes()).finalize();
        let mac = URL_SAFE_NO_PAD.encode(mac.into_bytes());
        Ok(format!("{said}.{mac}"))
    }

    /// What a token for `scope` says that is good at `now`. The MAC is compared in constant time, and
    /// before anything else of the token is looked at.
    pub(crate) fn read(
        &self,
        token: &str,
        scope: Scope,
        now: TimestampMs,
    ) -> Result<Claims, TokenFault> {
        let claims = self.authentic(token).ok_or(TokenFault::NotOurs)?;
        if claims.scope != scope {
            return Err(TokenFault::NotOurs);
        }
        if claims.expires_at <= now {
            return Err(TokenFault::Expired);
        }
        Ok(claims)
    }

    fn authentic(&self, token: &str) -> Option<Claims> {
        let (said, mac) = token.split_once('.').filter(|_| token.len() <= MAX_BYTES)?;
        let mac = URL_SAFE_NO_PAD.decode(mac).ok()?;
        let due = self.mac.clone().chain_update(said.as_bytes());
        due.verify_slice(&mac).ok()?;
        let written = URL_SAFE_NO_PAD.decode(said).ok()?;
        let written: Written = serde_json::from_slice(&written).ok()?;
        if written.log_id != self.log_id {
            return None;
        }
        Some(Claims {
            key_id: written.key_id.parse().ok()?,
            scope: written.scope,
            expires_at: TimestampMs::new(written.expires_at_ms),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledgers_key(byte: u8) -> SecretKey {
        SecretKey::from_seed([byte; 32])
    }

    const LOG: Uuid = Uuid::from_u128(7);
    const NOW: TimestampMs = TimestampMs::new(1_767_225_600_000);

    fn claims() -> Claims {
        Claims {
            key_id: KeyId {
                did: "did:x811:a1b2c3d4-e5f6-4890-abcd-ef1234567890"
                    .parse()
                    .unwrap(),
                key: SecretKey::from_seed([9; 32]).public(),
            },
            scope: Scope::Feed,
            expires_at: NOW.saturating_add_ms(1_000),
        }
    }

    #[test]
    fn ax_44_a_token_says_what_was_signed_for_until_it_expires() {
        let tokens = Tokens::new(LOG, &ledgers_key(1));
        let token = tokens.issue(&claims()).unwrap();
        assert!(token.len() < MAX_BYTES / 2, "{token}");
        assert_eq!(tokens.read(&token, Scope::Feed, NOW), Ok(claims()));
        // Another process of the ledger has the same keys.
        let elsewhere = Tokens::new(LOG, &ledgers_key(1));
        assert_eq!(elsewhere.read(&token, Scope::Feed, NOW), Ok(claims()));
        let other_use = tokens.read(&token, Scope::Explorer, NOW);
        assert_eq!(other_use, Err(TokenFault::NotOurs));
        let last = claims().expires_at;
        let just_before = last.saturating_sub_ms(1);
        assert_eq!(tokens.read(&token, Scope::Feed, just_before), Ok(claims()));
        let expired = tokens.read(&token, Scope::Feed, last);
        assert_eq!(expired, Err(TokenFault::Expired));
    }

    #[test]
    fn ax_44_no_token_of_another_key_or_ledger_and_no_changed_one_is_taken() {
        let tokens = Tokens::new(LOG, &ledgers_key(1));
        let good = tokens.issue(&claims()).unwrap();
        let other_key = Tokens::new(LOG, &ledgers_key(2));
        let other_key = other_key.issue(&claims()).unwrap();
        // Even by the same key: the log is named.
        let other_log = Tokens::new(Uuid::from_u128(8), &ledgers_key(1));
        let other_log = other_log.issue(&claims()).unwrap();
        let (said, mac) = good.split_once('.').unwrap();
        let mut bad = vec![
            other_key,
            other_log,
            String::new(),
            ".".to_owned(),
            said.to_owned(),
            format!("{said}."),
            format!("{said}.{}", &mac[..mac.len() - 2]),
            format!("{good}."),
            format!(".{mac}"),
            "a".repeat(MAX_BYTES + 1),
        ];
        bad.extend((0..good.len()).map(|at| {
            let mut bytes = good.clone().into_bytes();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            String::from_utf8(bytes).unwrap()
        }));
        for token in bad {
            let read = tokens.read(&token, Scope::Feed, NOW);
            assert_eq!(read, Err(TokenFault::NotOurs), "{token}");
        }
    }
}
