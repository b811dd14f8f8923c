//! Which interactions are listed one by one, and what those add up to.

use std::path::PathBuf;

use x811_audit::{Listing, Period};
use x811_protocol::time::TimestampMs;

use super::Audited;
use super::summary::usdc;
use crate::failure::Failure;
use crate::output::Out;

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

#[derive(Debug, Default, clap::Args)]
pub(super) struct ListingArgs {
    /// Also write interactions.csv, payments.csv, providers.csv and findings.csv into this folder, each
    /// whole or not at all
    #[arg(long, value_name = "DIR")]
    pub(super) csv: Option<PathBuf>,
    /// List and add up only interactions opened at this moment (RFC 3339), or on this day of UTC, or
    /// later. The audit itself is of everything all the same
    #[arg(long, value_name = "TIME", value_parser = from)]
    pub(super) from: Option<TimestampMs>,
    /// List and add up only interactions opened before this moment, or on this day of UTC or before
    #[arg(long, value_name = "TIME", value_parser = before)]
    pub(super) to: Option<TimestampMs>,
}

impl ListingArgs {
    /// What is listed; `None` where nobody asks, neither here nor by the form of the report.
    pub(super) fn period(&self, is_wanted: bool) -> Result<Option<Period>, Failure> {
        let period = Period {
            from: self.from,
            before: self.to,
        };
        if let (Some(from), Some(before)) = (self.from, self.to)
            && from >= before
        {
            let message = "--from is not before --to: no time is between them";
            return Err(Failure::usage(message));
        }
        let is_wanted = is_wanted || self.csv.is_some() || !period.is_all();
        Ok(is_wanted.then_some(period))
    }
}

fn from(text: &str) -> Result<TimestampMs, String> {
    match of_day(text) {
        Some(day) => Ok(day),
        None => moment(text),
    }
}

fn before(text: &str) -> Result<TimestampMs, String> {
    match of_day(text) {
        Some(day) => Ok(day.saturating_add_ms(DAY_MS)),
        None => moment(text),
    }
}

/// The beginning of a day that is given as `YYYY-MM-DD`.
fn of_day(text: &str) -> Option<TimestampMs> {
    TimestampMs::parse_rfc3339(&format!("{text}T00:00:00Z")).ok()
}

fn moment(text: &str) -> Result<TimestampMs, String> {
    TimestampMs::parse_rfc3339(text).map_err(|error| {
        format!("{error}: give a day (2026-01-31) or a moment (2026-01-31T12:00:00Z)")
    })
}

/// The sums of what is listed, where a time or a place was named for it.
pub(super) fn print(audited: &Audited, out: &mut Out) {
    let Some(listing) = &audited.report.listing else {
        return;
    };
    if listing.period.is_all() && audited.csv.is_none() {
        return;
    }
    out.gap();
    out.line(sentence(listing));
    if !listing.period.is_all() {
        out.line("  only this list is of that time: the audit is of the whole log");
    }
    if let Some(folder) = &audited.csv {
        out.line(format_args!("  as tables: {}", folder.display()));
    }
}

/// What the listed interactions add up to.
pub(super) fn sentence(listing: &Listing) -> String {
    let total = &listing.total;
    let mut text = format!(
        "listed: {} interactions{}: {} paid, {} not yet, {} no; due {} USDC, paid {}, of it late {}, \
         taken back {}",
        total.interactions,
        opened(listing.period),
        total.paid,
        total.not_yet,
        total.no,
        usdc(total.due_micro_usdc),
        usdc(total.paid_micro_usdc),
        usdc(total.late_micro_usdc),
        usdc(total.reversed_micro_usdc),
    );
    if total.not_replayed > 0 {
        let count = total.not_replayed;
        text.push_str(&format!(
            "; {count} could not be replayed to their end and are in no sum"
        ));
    }
    if listing.unknown > 0 {
        let count = listing.unknown;
        text.push_str(&format!("; of {count} more nothing could be replayed"));
    }
    text
}

fn opened(period: Period) -> String {
    let from = period
        .from
        .map(|at| format!(" from {} on", at.to_rfc3339()));
    let before = period
        .before
        .map(|at| format!(" before {}", at.to_rfc3339()));
    match (from, before) {
        (None, None) => String::new(),
        (from, before) => {
            let words = from.into_iter().chain(before).collect::<String>();
            format!(" opened{words}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_taken_whole_and_a_moment_to_the_millisecond() {
        let at = |text: &str| TimestampMs::parse_rfc3339(text).unwrap();
        let (day, moment) = ("2026-01-31", "2026-01-31T12:00:00+02:00");
        assert_eq!(from(day), Ok(at("2026-01-31T00:00:00Z")));
        assert_eq!(before(day), Ok(at("2026-02-01T00:00:00Z")));
        for read in [from, before] {
            assert_eq!(read(moment), Ok(at("2026-01-31T10:00:00Z")));
            for wrong in [
                "",
                "yesterday",
                "2026-02-30",
                "2026-01-31 12:00",
                "31.1.2026",
            ] {
                assert!(read(wrong).unwrap_err().contains("2026-01-31"), "{wrong}");
            }
        }
    }

    #[test]
    fn no_time_at_all_is_refused() {
        let of = |from: &str, to: &str| ListingArgs {
            csv: None,
            from: Some(super::from(from).unwrap()),
            to: Some(before(to).unwrap()),
        };
        assert!(of("2026-01-02", "2026-01-01").period(false).is_err());
        let day = of("2026-01-01", "2026-01-01").period(false).unwrap();
        assert!(day.is_some_and(|day| !day.is_all()));
        let nothing = ListingArgs::default();
        assert_eq!(nothing.period(false).unwrap(), None);
        assert_eq!(nothing.period(true).unwrap(), Some(Period::default()));
    }
}
