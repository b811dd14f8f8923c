//! What an audit says, in words and figures: the same for a terminal and for a page.

use std::collections::BTreeSet;

use x811_audit::{Cause, FactCounts, Finding, Report};

use super::{agent_keys, attested, extract, terms, trust};

/// How far one kind of thing holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Check {
    /// What was checked.
    pub(super) about: &'static str,
    pub(super) how: &'static str,
    /// It follows from bytes, hashes and signatures.
    pub(super) proven: u64,
    /// It is the ledger's word.
    pub(super) asserted: u64,
    /// It does not hold.
    pub(super) broken: u64,
    /// Nobody could look.
    pub(super) not_checked: u64,
}

impl Check {
    /// Proven, asserted, broken, not checked.
    pub(super) fn counts(&self) -> [u64; 4] {
        [self.proven, self.asserted, self.broken, self.not_checked]
    }
}

/// Breaks of the chain of records.
const OF_THE_CHAIN: &[Cause] = &[
    Cause::FormatBroken,
    Cause::BytesChanged,
    Cause::Missing,
    Cause::Reordered,
    Cause::Duplicated,
    Cause::TimeRanBack,
    Cause::StreamGap,
    Cause::Unreadable,
];

/// Everything that was looked at, in the order it builds on each other.
pub(super) fn checks(report: &Report) -> Vec<Check> {
    let mut checks = vec![
        chain(report),
        Check {
            about: "signatures",
            how: "Every message is signed by the key that its record names.",
            proven: report.signatures_valid,
            asserted: 0,
            broken: report.envelopes.saturating_sub(report.signatures_valid),
            not_checked: 0,
        },
        counted(
            "messages",
            "Each record says of its message what the signed bytes say; asserted where the bytes \
             are not here.",
            report.facts,
        ),
        counted(
            "wallets",
            "The agents' wallets signed for their agents; a contract's word was asked when it was \
             bound, and never again.",
            report.wallets,
        ),
        agent_keys::check(report),
        decisions(report),
        observations(report),
        state_roots(report),
        transfers(report),
    ];
    checks.extend(downtimes(report));
    checks.extend(tail(report));
    checks.extend(erasures(report));
    checks.extend(extract::checks(report));
    checks.extend(rows(report));
    checks.push(trust::check(&report.trust));
    checks
}

fn counted(about: &'static str, how: &'static str, counts: FactCounts) -> Check {
    Check {
        about,
        how,
        proven: counts.proven,
        asserted: counts.asserted,
        broken: counts.broken,
        not_checked: 0,
    }
}

/// Absent where nothing was erased, as in most logs.
fn erasures(report: &Report) -> Option<Check> {
    let how = "What an operator signed to have bodies erased is held to the record, unless an older \
               version wrote it without. Asserted, as no log names operators: that this agent's \
               orders count is the ledger's word.";
    let check = counted("erasures", how, report.erasures);
    (check.counts() != [0; 4]).then_some(check)
}

fn chain(report: &Report) -> Check {
    // What is missing beside the records is counted where it belongs.
    let broken = places_of(&report.findings, |finding| {
        OF_THE_CHAIN.contains(&finding.cause) && finding.field != "checkpoint"
    });
    Check {
        about: "records",
        how: match report.extract {
            None => "Hashed again, each bound to the one before, all under one Merkle root.",
            Some(_) => "Hashed again; each stands in the order of its stream.",
        },
        proven: judged(report).saturating_sub(broken),
        asserted: 0,
        broken,
        not_checked: 0,
    }
}

/// Records that are judged.
fn judged(report: &Report) -> u64 {
    let is_whole = report.tail.is_none();
    let covered = report.as_of.map_or(0, |as_of| as_of.records);
    if is_whole { report.records } else { covered }
}

/// Absent where the ledger says that it was always there.
fn downtimes(report: &Report) -> Option<Check> {
    let records = report.downtimes.records;
    (records > 0).then_some(Check {
        about: "downtimes",
        how: "That the ledger was away, and for how long: at most the silence before. Windows moved by \
              it, on its word alone.",
        proven: 0,
        asserted: records,
        broken: 0,
        not_checked: 0,
    })
}

/// Absent where checkpoints cover everything.
fn tail(report: &Report) -> Option<Check> {
    let tail = report.tail?;
    Some(Check {
        about: "tail",
        how: "Records behind the last checkpoint: nobody's word. They are held against what was before, \
              and nothing of them is counted anywhere else.",
        proven: 0,
        asserted: 0,
        broken: 0,
        not_checked: tail.records,
    })
}

fn decisions(report: &Report) -> Check {
    let broken = places_of(&report.findings, |finding| finding.cause.is_of_a_decision());
    // A record that the rules do not allow is not replayed either.
    let refused = places(&report.findings, Cause::StateDiffers);
    let not_checked = report.not_replayed.saturating_sub(refused) + report.not_re_decided;
    // They have rows of their own.
    let words = report.observations.total() + report.downtimes.records;
    Check {
        about: "decisions",
        how: "Made again from the records before: rules, deadlines, amounts, the choice of \
              transfers. Not checked: behind a break, or under rules this version does not know.",
        proven: judged(report).saturating_sub(broken + not_checked + words),
        asserted: 0,
        broken,
        not_checked,
    }
}

fn observations(report: &Report) -> Check {
    let observations = &report.observations;
    Check {
        about: "observations",
        how: "Records that rest on what the watcher saw: transactions, heads, looks that found \
              nothing, a network that was silent. The rules fit them; that it was so is asserted, \
              but for payments that an endpoint you chose has too.",
        proven: observations.proven,
        asserted: observations.asserted,
        broken: observations.broken,
        not_checked: 0,
    }
}

fn state_roots(report: &Report) -> Check {
    let roots = report.state_roots;
    Check {
        about: "state roots",
        how: "Recorded every 1,000 records, over the state of everything.",
        proven: roots.proven,
        asserted: 0,
        broken: roots.broken,
        not_checked: roots.asserted,
    }
}

fn transfers(report: &Report) -> Check {
    let transfers = report.transfers;
    Check {
        about: "transfers",
        how: "The transactions that were paid with, or refuted, as the network has them; asserted \
              where nobody asked it, or it cannot say all.",
        proven: transfers.checked + transfers.reversed,
        asserted: transfers.not_checked,
        broken: transfers.differ,
        not_checked: 0,
    }
}

/// Absent where there are none: an export has no rows.
fn rows(report: &Report) -> Option<Check> {
    let check = report.read_model?;
    let compared = check.interactions + check.deliveries + check.subjects + check.agents;
    let causes = &report.findings_by_cause;
    let broken = causes.get(&Cause::ReadModelDiffers).copied();
    let broken = broken.unwrap_or_default();
    Some(Check {
        about: "rows",
        how: "What the ledger answers readers from, compared with the log.",
        proven: compared.saturating_sub(broken),
        asserted: 0,
        broken,
        not_checked: check.not_compared,
    })
}

/// Positions with a finding of this cause.
fn places(findings: &[Finding], cause: Cause) -> u64 {
    places_of(findings, |finding| finding.cause == cause)
}

fn places_of(findings: &[Finding], is_one: impl Fn(&Finding) -> bool) -> u64 {
    let of_these = findings.iter().filter(|finding| is_one(finding));
    let positions: BTreeSet<u64> = of_these.map(|finding| finding.position).collect();
    positions.len() as u64
}

/// Up to where it is judged.
pub(super) fn as_of(report: &Report) -> String {
    match report.as_of {
        None => "no record is under a checkpoint".to_owned(),
        Some(as_of) => format!(
            "as of record {}, {}",
            as_of.records.saturating_sub(1),
            as_of.at_ms.to_rfc3339()
        ),
    }
}

/// How many things are wrong, listed or not.
pub(super) fn finding_count(report: &Report) -> u64 {
    report.findings.len() as u64 + report.findings_left_out
}

/// The verdict in a line.
pub(super) fn verdict(report: &Report) -> String {
    match finding_count(report) {
        0 if report.is_clean() => format!("clean: nothing is wrong, {}", as_of(report)),
        0 => format!(
            "INCOMPLETE: nothing contradicts, but {}, {}",
            match report.undecided.len() {
                1 => "1 thing is not decided".to_owned(),
                count => format!("{count} things are not decided"),
            },
            as_of(report)
        ),
        1 => "BROKEN: 1 thing is wrong".to_owned(),
        count => format!("BROKEN: {count} things are wrong"),
    }
}

/// How much of it has to be believed, and how much nobody looked at: also when it is nothing.
pub(super) fn reservations(report: &Report) -> String {
    let mut checks = checks(report);
    // Said in words: every record of the log, most often, would hide the rest.
    checks.retain(|check| check.about != trust::ABOUT);
    let asserted: u64 = checks.iter().map(|check| check.asserted).sum();
    let not_checked: u64 = checks.iter().map(|check| check.not_checked).sum();
    format!(
        "whose log this is: {}; asserted, the ledger's word alone: {asserted}; not checked: \
         {not_checked}, of it not re-decided: {}",
        trust::word(&report.trust),
        report.not_re_decided
    )
}

/// Interactions by the state they were left in.
pub(super) fn interactions(report: &Report) -> String {
    let states = report.interactions.iter();
    let mut states: Vec<String> = states
        .map(|(state, count)| format!("{count} {state}"))
        .collect();
    if report.interactions_unknown > 0 {
        states.push(format!("{} unknown", report.interactions_unknown));
    }
    if states.is_empty() {
        return "none".to_owned();
    }
    states.join(", ")
}

/// What the figures do not say.
pub(super) fn notes(report: &Report) -> Vec<String> {
    let mut notes = Vec::new();
    let absent = &report.absent_bodies;
    let table = [
        (
            report.not_replayed,
            "records could not be replayed, because of what is wrong with or before them: nothing \
             is known of their effect",
        ),
        (absent.erasures_left_out, "more records erased bodies"),
        (
            report.notices_owed,
            "notices are still owed to parties; a running ledger issues them",
        ),
    ];
    for (count, what) in table {
        if count > 0 {
            notes.push(format!("{count} {what}"));
        }
    }
    if let Some(check) = report.read_model
        && check.lag_records > 0
    {
        notes.push(format!("the rows lag by {} records", check.lag_records));
    }
    notes.extend(terms::downtimes(report));
    notes.extend(agent_keys::note(report));
    notes.extend(attested::notes(report));
    notes.extend(extract::notes(report));
    notes.push(trust::note(&report.trust, report.records));
    notes.push(end(report));
    notes
}

/// What is known of the end of the log.
fn end(report: &Report) -> String {
    match report.expected_head_position {
        Some(position) if position + 1 == report.records => {
            "the log ends with the head you named".to_owned()
        }
        Some(position) => format!(
            "the head you named is position {position}; {} records followed it",
            report.records.saturating_sub(position + 1)
        ),
        None if report.extract.is_some() => extract::END.to_owned(),
        None => "a log that was cut off at its end looks like a shorter one: note the head, and \
                 give it with --expect-head next time"
            .to_owned(),
    }
}

/// An amount in USDC, which may be more than any one payment.
pub(super) fn usdc(micro_usdc: u128) -> String {
    let text = format!("{}.{:06}", micro_usdc / 1_000_000, micro_usdc % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Positions, those that follow each other as a range.
pub(super) fn ranges(positions: &[u64]) -> String {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for position in positions {
        match runs.last_mut() {
            Some((_, last)) if *position == last.saturating_add(1) => *last = *position,
            Some(_) | None => runs.push((*position, *position)),
        }
    }
    let text = runs.iter().map(|(first, last)| match last - first {
        0 => first.to_string(),
        _ => format!("{first}–{last}"),
    });
    text.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use x811_audit::{Auditor, Downtimes};

    use super::*;

    #[test]
    fn lc_1_4_downtimes_are_asserted_in_a_row_of_their_own_and_counted_once() {
        let mut report = Auditor::new().finish();
        (report.records, report.tail) = (10, None);
        let row = |report: &Report, about: &str| {
            let mut checks = checks(report).into_iter();
            checks.find(|check| check.about == about)
        };
        assert_eq!(row(&report, "downtimes"), None);
        report.downtimes = Downtimes {
            records: 2,
            total_ms: 24_389,
        };
        assert_eq!(row(&report, "downtimes").unwrap().counts(), [0, 2, 0, 0]);
        assert_eq!(row(&report, "decisions").unwrap().counts(), [8, 0, 0, 0]);
        assert!(reservations(&report).contains("the ledger's word alone: 2;"));
        assert!(terms::downtimes(&report).unwrap().contains("24 s in all"));
    }

    #[test]
    fn amounts_of_many_payments_are_written_in_usdc() {
        let table = [
            (0, "0"),
            (1, "0.000001"),
            (1_025_000, "1.025"),
            (u128::from(u64::MAX) * 10, "184467440737095.51615"),
        ];
        for (micro_usdc, text) in table {
            assert_eq!(usdc(micro_usdc), text);
        }
    }

    #[test]
    fn positions_that_follow_each_other_are_a_range() {
        let table: [(&[u64], &str); 4] = [
            (&[], ""),
            (&[7], "7"),
            (&[3, 4, 5, 9], "3–5, 9"),
            (&[5, 4, 4], "5, 4, 4"),
        ];
        for (positions, text) in table {
            assert_eq!(ranges(positions), text);
        }
    }
}
