//! Whether an envelope is of now (AE-89, AE-75).

use super::accepted::AcceptedHeader;
use super::header::Header;
use crate::code::Code;
use crate::id::EnvelopeId;
use crate::refusal::{Kind, Refusal};
use crate::time::TimestampMs;

/// How far the time inside an envelope id may lie from `created`, in milliseconds
/// (ledger-contract.md section 3).
const ID_TIME_TOLERANCE_MS: u64 = 300_000;

/// Checks `created` and `expires` against `now`; a ledger does it on arrival and again at the
/// message's turn (ledger-contract.md section 1), a client does not do it at all for messages its
/// ledger relays (AX-45).
///
/// # Errors
/// X811-2002 when `created` is more than `tolerance_ms` before or after `now` (exactly that much
/// passes), or when `expires` is not after `now` or lies before `created` (AX-21).
pub fn check_times(header: &Header, now: TimestampMs, tolerance_ms: u64) -> Result<(), Refusal> {
    let times = Times {
        created: header.created_ms,
        expires: header.expires_ms,
    };
    times.check(header.id, now, tolerance_ms)
}

impl AcceptedHeader {
    /// [`check_times`], once the message is authentic.
    ///
    /// # Errors
    /// The same.
    pub fn check_times(&self, now: TimestampMs, tolerance_ms: u64) -> Result<(), Refusal> {
        let times = Times {
            created: self.created_ms,
            expires: self.expires_ms,
        };
        times.check(self.id, now, tolerance_ms)
    }

    /// Whether the time inside the id lies within 5 minutes of `created`, as it has to unless the
    /// ledger is lenient with ids (ledger-contract.md section 3, AX-25).
    #[must_use]
    pub fn id_time_fits(&self) -> bool {
        id_time_fits(self.id, self.created_ms)
    }
}

/// Whether the time inside the id, a UUIDv7, lies within 5 minutes of `created`
/// (ledger-contract.md section 3); not for an id of another version.
pub(super) fn id_time_fits(id: EnvelopeId, created: TimestampMs) -> bool {
    id.unix_ms()
        .is_some_and(|id_ms| id_ms.abs_diff(created.as_ms()) <= ID_TIME_TOLERANCE_MS)
}

struct Times {
    created: TimestampMs,
    expires: Option<TimestampMs>,
}

impl Times {
    fn check(&self, id: EnvelopeId, now: TimestampMs, tolerance_ms: u64) -> Result<(), Refusal> {
        let refused = |message: String| {
            Err(Refusal::new(Code::TimestampInvalid, Kind::Authentication, message).related_to(id))
        };
        if self.created.as_ms().abs_diff(now.as_ms()) > tolerance_ms {
            return refused(format!(
                "`created` is more than {} s from the ledger's clock, which shows {}: set your \
                 clock and sign again",
                tolerance_ms / 1_000,
                now.to_rfc3339()
            ));
        }
        match self.expires {
            Some(expires) if expires <= now => refused(format!(
                "the envelope expired before {}, the ledger's clock: sign a new one",
                now.to_rfc3339()
            )),
            Some(expires) if expires < self.created => {
                refused("`expires` is before `created`: set it later and sign again".to_owned())
            }
            _ => Ok(()),
        }
    }
}
