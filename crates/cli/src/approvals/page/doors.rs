//! Who is let in: a code that is good once, and the session that it opens.

use std::sync::{Mutex, MutexGuard, PoisonError};

use subtle::ConstantTimeEq as _;
use x811_client::entropy::{Entropy, EntropyError};
use x811_protocol::time::TimestampMs;

/// How long a code is good.
const CODE_MS: u64 = 600_000;

/// How long a session is good.
const SESSION_MS: u64 = 3_600_000;

/// The newest code that was not used, and the newest session.
#[derive(Default)]
pub(super) struct Doors(Mutex<Secrets>);

#[derive(Default)]
struct Secrets {
    code: Option<Secret>,
    session: Option<Secret>,
}

/// 32 random bytes in hex, and until when they are good.
struct Secret {
    text: String,
    until_ms: TimestampMs,
}

impl Secret {
    fn new(entropy: &dyn Entropy, now: TimestampMs, good_ms: u64) -> Result<Secret, EntropyError> {
        let bytes = entropy.array::<32>()?;
        Ok(Secret {
            text: bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
            until_ms: now.saturating_add_ms(good_ms),
        })
    }

    /// Takes as long whatever is wrong with it.
    fn is(&self, text: &str, now: TimestampMs) -> bool {
        bool::from(self.text.as_bytes().ct_eq(text.as_bytes())) && now < self.until_ms
    }
}

impl Doors {
    /// A code in place of the one before.
    pub(super) fn code(
        &self,
        entropy: &dyn Entropy,
        now: TimestampMs,
    ) -> Result<String, EntropyError> {
        let code = Secret::new(entropy, now, CODE_MS)?;
        let text = code.text.clone();
        self.secrets().code = Some(code);
        Ok(text)
    }

    /// The session that this code opens, once.
    pub(super) fn enter(
        &self,
        code: &str,
        entropy: &dyn Entropy,
        now: TimestampMs,
    ) -> Result<Option<String>, EntropyError> {
        let mut secrets = self.secrets();
        if !secrets
            .code
            .as_ref()
            .is_some_and(|known| known.is(code, now))
        {
            return Ok(None);
        }
        let session = Secret::new(entropy, now, SESSION_MS)?;
        let text = session.text.clone();
        secrets.code = None;
        secrets.session = Some(session);
        Ok(Some(text))
    }

    pub(super) fn is_inside(&self, session: &str, now: TimestampMs) -> bool {
        let secrets = self.secrets();
        let session = |known: &Secret| known.is(session, now);
        secrets.session.as_ref().is_some_and(session)
    }

    fn secrets(&self) -> MutexGuard<'_, Secrets> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
