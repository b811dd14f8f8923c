//! Moments, as whole milliseconds since the Unix epoch.
//!
//! Envelopes spell them in RFC 3339 with an explicit offset (AX-26), records as integers
//! (record.md section 1). No moment is beyond 2^53 - 1, so that every JSON reader keeps it exact.

mod http_date;

use std::fmt;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;
use serde::{Deserialize, Serialize};

/// A moment: milliseconds since 1970-01-01T00:00:00Z, at most 2^53 - 1.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(try_from = "u64", into = "u64")]
pub struct TimestampMs(u64);

/// A day of UTC, in milliseconds.
const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

impl TimestampMs {
    /// The latest moment that is represented: 2^53 - 1 ms.
    pub const MAX: TimestampMs = TimestampMs((1 << 53) - 1);

    /// The moment `ms` milliseconds after the epoch; beyond [`TimestampMs::MAX`] it is that.
    pub const fn new(ms: u64) -> TimestampMs {
        if ms > TimestampMs::MAX.0 {
            TimestampMs::MAX
        } else {
            TimestampMs(ms)
        }
    }

    /// Milliseconds since the epoch.
    pub const fn as_ms(self) -> u64 {
        self.0
    }

    /// Reads RFC 3339 with an explicit offset and floors to milliseconds (AX-26).
    ///
    /// # Errors
    /// Another form than `YYYY-MM-DDThh:mm:ss[.fraction](Z|±hh:mm)`, a date or time that does not
    /// exist, a leap second (none is planned, and its place on a millisecond scale is ambiguous),
    /// or a moment before 1970.
    pub fn parse_rfc3339(text: &str) -> Result<TimestampMs, TimeError> {
        let (local, offset_minutes) = Fields(text.as_bytes()).date_time()?;
        let local = Offset::UTC
            .to_timestamp(local)
            .map_err(|_| TimeError::OutOfRange)?;
        let ms = local.as_millisecond() - i64::from(offset_minutes) * 60_000;
        u64::try_from(ms)
            .map(TimestampMs)
            .map_err(|_| TimeError::OutOfRange)
    }

    /// RFC 3339 in UTC with `Z` and three fraction digits, the form we emit (AX-26). A moment too
    /// late for a four-digit year is written as the last one that has it in every time zone.
    pub fn to_rfc3339(self) -> String {
        let ms = i64::try_from(self.0).unwrap_or(i64::MAX);
        let moment = Timestamp::from_millisecond(ms).unwrap_or(Timestamp::MAX);
        let date_time = Offset::UTC.to_datetime(moment);
        let (date, time) = (date_time.date(), date_time.time());
        format!(
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
            date.year(),
            date.month(),
            date.day(),
            time.hour(),
            time.minute(),
            time.second(),
            time.millisecond()
        )
    }

    /// Number of its day of UTC, counted from the Unix epoch.
    pub const fn day(self) -> u64 {
        self.0 / DAY_MS
    }

    /// Milliseconds until the next day of UTC begins.
    pub const fn left_of_day_ms(self) -> u64 {
        DAY_MS - self.0 % DAY_MS
    }

    /// This much later, never beyond [`TimestampMs::MAX`].
    pub const fn saturating_add_ms(self, ms: u64) -> TimestampMs {
        TimestampMs::new(self.0.saturating_add(ms))
    }

    /// This much earlier, never before the epoch.
    pub const fn saturating_sub_ms(self, ms: u64) -> TimestampMs {
        TimestampMs(self.0.saturating_sub(ms))
    }

    /// Milliseconds from `earlier` to this moment; 0 when `earlier` is the later one.
    pub const fn since(self, earlier: TimestampMs) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl fmt::Display for TimestampMs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_rfc3339())
    }
}

impl TryFrom<u64> for TimestampMs {
    type Error = TimeError;

    fn try_from(ms: u64) -> Result<TimestampMs, TimeError> {
        if ms > TimestampMs::MAX.0 {
            Err(TimeError::OutOfRange)
        } else {
            Ok(TimestampMs(ms))
        }
    }
}

impl From<TimestampMs> for u64 {
    fn from(moment: TimestampMs) -> u64 {
        moment.0
    }
}

/// What is left to read of an RFC 3339 text.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    /// The local date and time, floored to milliseconds, and its offset from UTC in minutes.
    fn date_time(mut self) -> Result<(DateTime, i32), TimeError> {
        let year = self.digits(4)?;
        self.one_of(b"-")?;
        let month = self.digits(2)?;
        self.one_of(b"-")?;
        let day = self.digits(2)?;
        self.one_of(b"Tt")?;
        let hour = self.digits(2)?;
        self.one_of(b":")?;
        let minute = self.digits(2)?;
        self.one_of(b":")?;
        let second = self.digits(2)?;
        let nanosecond = self.milliseconds()? * 1_000_000;
        let offset_minutes = self.offset_minutes()?;
        if !self.0.is_empty() {
            return Err(TimeError::Syntax);
        }
        // Two digits always fit an i8; four always fit an i16.
        let [month, day, hour, minute, second] =
            [month, day, hour, minute, second].map(|field| field as i8);
        DateTime::new(year as i16, month, day, hour, minute, second, nanosecond)
            .map(|local| (local, offset_minutes))
            .map_err(|_| TimeError::NoSuchMoment)
    }

    fn digits(&mut self, count: usize) -> Result<i32, TimeError> {
        let (field, rest) = self.0.split_at_checked(count).ok_or(TimeError::Syntax)?;
        self.0 = rest;
        field.iter().try_fold(0, |value, byte| match byte {
            b'0'..=b'9' => Ok(value * 10 + i32::from(byte - b'0')),
            _ => Err(TimeError::Syntax),
        })
    }

    fn one_of(&mut self, allowed: &[u8]) -> Result<u8, TimeError> {
        let (byte, rest) = self.0.split_first().ok_or(TimeError::Syntax)?;
        self.0 = rest;
        if allowed.contains(byte) {
            Ok(*byte)
        } else {
            Err(TimeError::Syntax)
        }
    }

    fn milliseconds(&mut self) -> Result<i32, TimeError> {
        let Some(rest) = self.0.strip_prefix(b".") else {
            return Ok(0);
        };
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if count == 0 {
            return Err(TimeError::Syntax);
        }
        let (fraction, rest) = rest.split_at(count);
        self.0 = rest;
        let digit = |place: usize| fraction.get(place).map_or(0, |byte| i32::from(byte - b'0'));
        Ok(digit(0) * 100 + digit(1) * 10 + digit(2))
    }

    fn offset_minutes(&mut self) -> Result<i32, TimeError> {
        if self.0.is_empty() {
            return Err(TimeError::NoOffset);
        }
        let sign = match self.one_of(b"Zz+-")? {
            b'+' => 1,
            b'-' => -1,
            _ => return Ok(0),
        };
        let hours = self.digits(2)?;
        self.one_of(b":")?;
        let minutes = self.digits(2)?;
        if hours > 23 || minutes > 59 {
            return Err(TimeError::NoSuchMoment);
        }
        Ok(sign * (hours * 60 + minutes))
    }
}

/// Why a text or a number is not a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TimeError {
    /// Not the one form of RFC 3339 that is read.
    #[error("not an RFC 3339 time: write it as 2026-01-01T00:00:00.000Z")]
    Syntax,
    /// Without an offset a local time names no moment.
    #[error("the time has no offset: end it with Z or with an offset such as +01:00")]
    NoOffset,
    /// A thirteenth month, a 25th hour, a leap second.
    #[error("there is no such date or time: check month, day, hour, minute, second and offset")]
    NoSuchMoment,
    /// Before the epoch or too far ahead.
    #[error("the time is out of range: use one between 1970 and 9999")]
    OutOfRange,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ax_026_reads_rfc_3339_and_floors_to_milliseconds() {
        let table = [
            ("1970-01-01T00:00:00Z", 0),
            ("2026-01-01T00:00:00.000Z", 1_767_225_600_000),
            ("2026-01-01T01:00:00+01:00", 1_767_225_600_000),
            ("2025-12-31T18:30:00-05:30", 1_767_225_600_000),
            ("2026-01-01t00:00:00.5z", 1_767_225_600_500),
            ("2026-01-01T00:00:00.0009999999999999Z", 1_767_225_600_000),
            ("2026-01-01T00:00:00.123999-00:00", 1_767_225_600_123),
            ("2024-02-29T23:59:59.999Z", 1_709_251_199_999),
        ];
        for (text, ms) in table {
            assert_eq!(
                TimestampMs::parse_rfc3339(text),
                Ok(TimestampMs::new(ms)),
                "{text}"
            );
        }
    }

    #[test]
    fn ax_026_refuses_everything_else() {
        use TimeError::{NoOffset, NoSuchMoment, OutOfRange, Syntax};
        let table = [
            ("", Syntax),
            ("2026-01-01", Syntax),
            ("2026-01-01T00:00Z", Syntax),
            ("20260101T000000Z", Syntax),
            ("2026-01-01 00:00:00Z", Syntax),
            ("2026-01-01T00:00:00,5Z", Syntax),
            ("2026-01-01T00:00:00.Z", Syntax),
            ("2026-01-01T00:00:00Z[UTC]", Syntax),
            ("2026-01-01T00:00:00+0100", Syntax),
            ("+2026-01-01T00:00:00Z", Syntax),
            (" 2026-01-01T00:00:00Z", Syntax),
            ("2026-01-01T00:00:00", NoOffset),
            ("2026-01-01T00:00:00.000", NoOffset),
            ("2025-02-29T00:00:00Z", NoSuchMoment),
            ("2026-13-01T00:00:00Z", NoSuchMoment),
            ("2026-01-01T24:00:00Z", NoSuchMoment),
            ("2016-12-31T23:59:60Z", NoSuchMoment),
            ("2026-01-01T00:00:00+24:00", NoSuchMoment),
            ("1969-12-31T23:59:59.999Z", OutOfRange),
            ("1970-01-01T00:00:00+00:01", OutOfRange),
        ];
        for (text, error) in table {
            assert_eq!(TimestampMs::parse_rfc3339(text), Err(error), "{text}");
        }
    }

    #[test]
    fn ax_026_emits_utc_with_milliseconds_and_reads_it_back() {
        for ms in [0, 1, 999, 1_767_225_600_007, 253_402_207_200_999] {
            let moment = TimestampMs::new(ms);
            assert_eq!(TimestampMs::parse_rfc3339(&moment.to_rfc3339()), Ok(moment));
        }
        assert_eq!(
            TimestampMs::new(1_767_225_600_007).to_rfc3339(),
            "2026-01-01T00:00:00.007Z"
        );
        assert_eq!(TimestampMs::MAX.to_rfc3339(), "9999-12-30T22:00:00.999Z");
    }

    #[test]
    fn rec_1_times_stay_exact_integers() {
        let last = TimestampMs::MAX;
        assert_eq!(last.as_ms(), 9_007_199_254_740_991);
        assert_eq!(last.saturating_add_ms(1), last);
        assert_eq!(TimestampMs::new(u64::MAX), last);
        assert_eq!(
            TimestampMs::new(5).saturating_sub_ms(6),
            TimestampMs::new(0)
        );
        assert_eq!(TimestampMs::new(5).since(TimestampMs::new(2)), 3);
        assert_eq!(TimestampMs::new(2).since(TimestampMs::new(5)), 0);
        assert_eq!(serde_json::to_string(&last).unwrap(), "9007199254740991");
        assert!(serde_json::from_str::<TimestampMs>("9007199254740992").is_err());
    }
}
