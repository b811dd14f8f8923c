//! Under which terms the ledger decided about payments, what changed when, what was paid, and what the
//! rules allowed and people should know.

use x811_audit::{LateLapse, NetworkReport, PaidSums, ParameterChange, Report};
use x811_protocol::parameters::{FinalBy, PayerBindingRule};
use x811_protocol::settlement::level::STAND_IN_BLOCKS;

use super::summary::{ranges, usdc};

/// Largest number of remarks, and of late lapses, on a terminal or a page; JSON lists more.
const SHOWN: usize = 20;

/// Networks as they are in force at the end, by name and terms.
pub(super) fn networks(report: &Report) -> Vec<String> {
    let in_force = report.parameters_in_force.as_ref();
    let Some(last) = in_force.or(report.parameters.last()) else {
        return Vec::new();
    };
    let payer = match last.payer_binding {
        PayerBindingRule::Wallet => "payers are bound to initiators",
        PayerBindingRule::Unchecked => "PAYERS ARE NOT CHECKED",
    };
    let networks = last.networks.iter();
    networks.map(|network| terms(network, payer)).collect()
}

fn terms(network: &NetworkReport, payer: &str) -> String {
    let mut text = format!(
        "{}: chain {}, token {}, confirmed from {} blocks on",
        network.name,
        network.chain_id,
        network.token.to_checksum(),
        network.confirmed_depth
    );
    match network.endpoint_quorum {
        Some(1) => text.push_str(" by the word of one endpoint"),
        Some(quorum) => text.push_str(&format!(" where {quorum} endpoints agree")),
        None => {}
    }
    if let Some(treasury) = network.treasury {
        text.push_str(&format!(", fees may go to {}", treasury.to_checksum()));
    }
    if let Some(limit) = network.safe_above {
        text.push_str(&format!(
            ", above {} USDC when safe",
            limit.to_usdc_decimal()
        ));
    }
    match network.final_by {
        Some(FinalBy::Tag) => text.push_str(", final by the heads that endpoints name"),
        Some(FinalBy::Depth) => text.push_str(&format!(
            ", final from {} blocks on",
            network.confirmed_depth.saturating_add(STAND_IN_BLOCKS)
        )),
        None => {}
    }
    format!("{text}; {payer}")
}

/// Which rules decided, and from where on: `2`, or `1, from position 70 on 2`.
pub(super) fn rules(report: &Report) -> Option<String> {
    let [first, later @ ..] = &report.rules[..] else {
        return None;
    };
    let mut text = first.rules_version.to_string();
    for changed in later {
        let (position, version) = (changed.position, changed.rules_version);
        text.push_str(&format!(", from position {position} on {version}"));
    }
    if report.not_re_decided > 0 {
        text.push_str(", behind them rules that this version does not know");
    }
    Some(text)
}

/// All that the ledger changed of its parameters, and where.
pub(super) fn changes(report: &Report) -> Vec<String> {
    let records = report.parameters.iter();
    let changes = records.flat_map(|record| {
        let changes = record.changes.iter();
        changes.map(|change| format!("position {}: {}", record.position, changed(change)))
    });
    let mut lines: Vec<String> = changes.collect();
    if !report.parameters_left_out_at.is_empty() {
        let positions = ranges(&report.parameters_left_out_at);
        lines.push(format!(
            "position {positions}: parameters were set again; those records say which"
        ));
    }
    lines
}

fn changed(change: &ParameterChange) -> String {
    let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".to_owned());
    let (before, after) = (value(&change.before), value(&change.after));
    format!("{} from {before} to {after}", change.member)
}

/// What the rules in force allowed, and changes no verdict.
pub(super) fn remarks(report: &Report) -> Vec<String> {
    let remarks = report.remarks.iter();
    let remarks = remarks.map(|it| format!("position {}: {}", it.position, it.sentence));
    shortened(remarks.collect(), report.remarks_left_out)
}

/// Late lapses with their lateness.
pub(super) fn late_lapses(report: &Report) -> Vec<String> {
    let lapses = report.late_lapses.iter().map(late_lapse);
    shortened(lapses.collect(), report.late_lapses_left_out)
}

fn late_lapse(late: &LateLapse) -> String {
    let meanwhile = late.resumed_at.map_or_else(String::new, |position| {
        format!(", and the ledger reports downtime at position {position}")
    });
    format!(
        "position {}: {} of {} {} ended at {}; its lapse was recorded {}.{:03} s later{meanwhile}",
        late.position,
        late.window,
        late.kind,
        late.id,
        late.deadline_at_ms.to_rfc3339(),
        late.late_by_ms / 1_000,
        late.late_by_ms % 1_000,
    )
}

/// The first lines and the number of the others; `left_out` is the number of those that no output lists.
fn shortened(mut lines: Vec<String>, left_out: u64) -> Vec<String> {
    let more = lines.len().saturating_sub(SHOWN);
    lines.truncate(SHOWN);
    if more > 0 {
        lines.push(format!("and {more} more; --json lists them"));
    }
    if left_out > 0 {
        lines.push(format!(
            "and {left_out} that nothing lists: there are too many"
        ));
    }
    lines
}

/// What came on a network: `0.5 USDC for 2 on base, …`.
pub(super) fn paid(network: &str, paid: &PaidSums) -> String {
    let mut text = format!(
        "{} USDC for {} on {network}, {} of it fees",
        usdc(paid.total_micro_usdc),
        paid.interactions,
        usdc(paid.fee_micro_usdc)
    );
    for (micro_usdc, what) in [
        (paid.late_micro_usdc, "of it late"),
        (paid.reversed_micro_usdc, "more was taken back"),
    ] {
        if micro_usdc > 0 {
            text.push_str(&format!(", {} {what}", usdc(micro_usdc)));
        }
    }
    text
}

/// How long the ledger says that it was away; `None` where it says nothing of it.
pub(super) fn downtimes(report: &Report) -> Option<String> {
    let downtimes = report.downtimes;
    (downtimes.records > 0).then(|| {
        format!(
            "asserted: the ledger says that it was away {} times, {} s in all, and windows moved by that",
            downtimes.records,
            downtimes.total_ms / 1_000
        )
    })
}

#[cfg(test)]
mod tests {
    use x811_audit::{Auditor, ParametersReport, Remark};
    use x811_protocol::time::TimestampMs;

    use super::*;

    fn set(position: u64) -> ParametersReport {
        let change = |number: u64| ParameterChange {
            member: format!("windows.member_{number}_ms"),
            before: Some("1".to_owned()),
            after: Some("2".to_owned()),
        };
        ParametersReport {
            position,
            payer_binding: PayerBindingRule::Wallet,
            networks: Vec::new(),
            changes: (0..30).map(change).collect(),
        }
    }

    #[test]
    fn lc_9_every_change_is_named_with_its_position() {
        let mut report = Auditor::new().finish();
        report.parameters = (1..=30).map(set).collect();
        report.parameters_left_out_at = vec![31, 32, 40];
        let lines = changes(&report);
        assert_eq!(lines.len(), 30 * 30 + 1);
        for position in 1..=30 {
            let of_it = format!("position {position}: windows.");
            let count = lines.iter().filter(|line| line.starts_with(&of_it)).count();
            assert_eq!(count, 30, "{position}");
        }
        assert!(
            lines[900].starts_with("position 31–32, 40: "),
            "{}",
            lines[900]
        );
    }

    #[test]
    fn lc_9_a_late_lapse_is_shown_with_how_late_it_was() {
        let mut report = Auditor::new().finish();
        let late = |resumed_at| LateLapse {
            position: 7,
            window: "the window for an OFFER",
            kind: "interaction",
            id: "int-1".to_owned(),
            deadline_at_ms: TimestampMs::new(1_000),
            late_by_ms: 79_004,
            resumed_at,
        };
        report.late_lapses = vec![late(None), late(Some(6))];
        let line = "position 7: the window for an OFFER of interaction int-1 ended at \
                    1970-01-01T00:00:01.000Z; its lapse was recorded 79.004 s later";
        let down = format!("{line}, and the ledger reports downtime at position 6");
        assert_eq!(late_lapses(&report), [line.to_owned(), down]);
    }

    #[test]
    fn lc_9_remarks_that_nothing_lists_are_counted() {
        let mut report = Auditor::new().finish();
        let remark = |position| Remark {
            position,
            sentence: "odd".to_owned(),
        };
        report.remarks = (0..25).map(remark).collect();
        report.remarks_left_out = 7;
        let lines = remarks(&report);
        assert_eq!(lines.len(), SHOWN + 2);
        assert_eq!(lines[SHOWN], "and 5 more; --json lists them");
        assert!(lines[SHOWN + 1].starts_with("and 7 that nothing lists"));
    }
}
