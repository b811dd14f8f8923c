//! HTTP-dates (RFC 9110 section 5.6.7), which the consensus draft writes moments in (CX-5).

use jiff::civil::DateTime;
use jiff::tz::Offset;

use super::{TimeError, TimestampMs};

/// The form that is sent: `Sun, 06 Nov 1994 08:49:37 GMT`.
const IMF_FIXDATE: &str = "%a, %d %b %Y %H:%M:%S GMT";

/// Two obsolete forms that are read: the first has two digits of the year.
const RFC_850: &str = "%A, %d-%b-%y %H:%M:%S GMT";
const RFC_850_BEHIND_THE_WEEKDAY: &str = "%d-%b-%y %H:%M:%S GMT";
const ASCTIME: &str = "%a %b %e %H:%M:%S %Y";

/// How far a century may have to be moved.
const CENTURIES: std::ops::RangeInclusive<i16> = -1..=1;

impl TimestampMs {
    /// Reads one of the three forms of an HTTP-date, or RFC 3339 (CX-5). Of a year in two digits the one
    /// nearest to `near` is meant (round.md).
    ///
    /// # Errors
    /// The text has none of these forms, or is before 1970.
    pub fn parse_http_date(text: &str, near: TimestampMs) -> Result<TimestampMs, TimeError> {
        if text.starts_with(|first: char| first.is_ascii_digit()) {
            return TimestampMs::parse_rfc3339(text);
        }
        for form in [IMF_FIXDATE, ASCTIME] {
            if let Ok(date) = DateTime::strptime(form, text)
                && is_written(date, form, text)
            {
                return moment(date);
            }
        }
        rfc_850(text, near)
    }

    /// The form that is sent: `Sun, 06 Nov 1994 08:49:37 GMT`, floored to seconds.
    pub fn to_http_date(self) -> String {
        let ms = i64::try_from(self.0).unwrap_or(i64::MAX);
        let moment = jiff::Timestamp::from_millisecond(ms).unwrap_or(jiff::Timestamp::MAX);
        let date = Offset::UTC.to_datetime(moment);
        date.strftime(IMF_FIXDATE).to_string()
    }
}

fn rfc_850(text: &str, near: TimestampMs) -> Result<TimestampMs, TimeError> {
    let behind = text.split_once(", ").map(|(_, behind)| behind);
    let date =
        behind.and_then(|behind| DateTime::strptime(RFC_850_BEHIND_THE_WEEKDAY, behind).ok());
    let date = date.ok_or(TimeError::Syntax)?;
    let candidates = CENTURIES.filter_map(|centuries| {
        let year = date.year() + centuries * 100;
        let date = date.with().year(year).build().ok()?;
        Some((moment(date).ok()?, date))
    });
    let distance = |at: TimestampMs| at.since(near).max(near.since(at));
    let nearest = candidates.min_by_key(|(at, _)| distance(*at));
    match nearest {
        Some((at, date)) if is_written(date, RFC_850, text) => Ok(at),
        Some(_) | None => Err(TimeError::Syntax),
    }
}

/// Whether that is how the date is written, weekday and capitals included: the reader of forms is
/// more lenient than RFC 9110.
fn is_written(date: DateTime, form: &str, text: &str) -> bool {
    date.strftime(form).to_string() == text
}

fn moment(date: DateTime) -> Result<TimestampMs, TimeError> {
    let moment = Offset::UTC
        .to_timestamp(date)
        .map_err(|_| TimeError::OutOfRange)?;
    u64::try_from(moment.as_millisecond())
        .map(TimestampMs)
        .map_err(|_| TimeError::OutOfRange)
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: u64 = 784_111_777_000;

    fn near(year: u64) -> TimestampMs {
        TimestampMs::new((year - 1970) * 31_556_952_000)
    }

    #[test]
    fn cx_5_three_forms_of_http_dates_and_rfc_3339_are_one_moment() {
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
            "1994-11-06T08:49:37Z",
        ] {
            let read = TimestampMs::parse_http_date(text, near(1996));
            assert_eq!(read, Ok(TimestampMs::new(AT)), "{text}");
        }
        let written = TimestampMs::new(AT + 999).to_http_date();
        assert_eq!(written, "Sun, 06 Nov 1994 08:49:37 GMT");
    }

    /// The weekday belongs to the century: another reading of the year is no date at all.
    #[test]
    fn cx_5_a_year_of_two_digits_is_the_nearest() {
        let text = "Saturday, 01-Jan-28 00:00:00 GMT";
        let read = TimestampMs::parse_http_date(text, near(2026));
        assert_eq!(read.unwrap().to_rfc3339(), "2028-01-01T00:00:00.000Z");
        assert!(TimestampMs::parse_http_date(text, near(2126)).is_err());
        let text = "Thursday, 01-Jan-28 00:00:00 GMT";
        let read = TimestampMs::parse_http_date(text, near(2126));
        assert_eq!(read.unwrap().to_rfc3339(), "2128-01-01T00:00:00.000Z");
    }

    #[test]
    fn cx_5_nothing_else_is_a_moment() {
        for text in [
            "",
            "Sun, 6 Nov 1994 08:49:37 GMT",
            "sun, 06 Nov 1994 08:49:37 GMT",
            "Mon, 06 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:60 GMT",
            "Sun, 06 Nov 1994 08:49:37 UTC",
            "Sun, 06 Nov 1994 08:49:37 GMT ",
            "Sun Nov 6 08:49:37 1994",
            "Sunday, 06-Nov-1994 08:49:37 GMT",
            "Sun, 06 Nov 1894 08:49:37 GMT",
            "1994-11-06",
            "Sun, 31 Feb 1994 08:49:37 GMT",
        ] {
            let read = TimestampMs::parse_http_date(text, near(1996));
            assert!(read.is_err(), "{text}: {read:?}");
        }
    }
}
