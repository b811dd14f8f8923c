//! The page is whole, says what the report says, and lets nothing through.

use serde_json::Value;
use x811_audit::{
    Auditor, Cause, Cosigned, Erasure, FactCounts, Finding, Given, PaidSums, Payment, Report,
    TransferCounts, Verdict,
};

use x811_protocol::event::Level;
use x811_protocol::evm::TxHash;
use x811_protocol::id::EnvelopeId;

use super::*;

/// The moment 2026-01-01T00:00:00Z.
const NOW: TimestampMs = TimestampMs::new(1_767_225_600_000);

/// Markup, an attribute's end, a comment's end, colours, a turn of the reading order, and hidden
/// text.
const PLANT: &str = "<script>x()</script>\"'--><img src=x onerror=x()>&lt;\u{1b}[31m\u{202e}\u{2066}\
                     \u{200b}\u{0}\n";

fn planted() -> Report {
    let mut report = Auditor::new().finish();
    report.verdict = Outcome::Broken;
    report.ledger = Some(PLANT.to_owned());
    report.trust.verdict = Verdict::Proven;
    report.trust.given = Some(Given::Policy);
    report.trust.checkpoint_vkey = Some(PLANT.to_owned());
    report.trust.cosigned.push(Cosigned {
        witness: PLANT.to_owned(),
        timestamp_s: 1,
    });
    report.interactions.insert(PLANT.to_owned(), 1);
    report.paid.insert(PLANT.to_owned(), PaidSums::default());
    report.payments.push(Payment {
        position: 2,
        interaction: EnvelopeId::from_parts(NOW.as_ms(), &[9; 10]).into(),
        network: PLANT.into(),
        tx_hash: TxHash::from_bytes([7; 32]),
        amount_micro_usdc: 1_500_000,
        level: Level::Safe,
        is_late: false,
        is_reversed: false,
    });
    report.payments_left_out = 4_712;
    report.absent_bodies.erasures.push(Erasure {
        position: 1,
        operator: PLANT.to_owned(),
        is_ordered: false,
        reason_code: PLANT.to_owned(),
        positions: vec![2],
    });
    report.findings.push(Finding {
        position: 3,
        line: Some(4),
        stream: Some(PLANT.to_owned()),
        field: PLANT.to_owned(),
        cause: Cause::BytesChanged,
        sentence: PLANT.to_owned(),
    });
    report.findings_by_cause.insert(Cause::BytesChanged, 1);
    report
}

fn page(source: &str, report: &Report) -> String {
    let page = Page {
        source,
        report,
        network: None,
        made_at: NOW,
    };
    page.to_string()
}

/// Every text of the report, but what only this program writes: hashes, amounts, causes.
fn texts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Value::Object(members) => {
            let ours = [
                "head",
                "root",
                "cause",
                "verdict",
                "given",
                "interaction",
                "tx_hash",
                "amount_micro_usdc",
                "level",
                "total_micro_usdc",
                "fee_micro_usdc",
                "confirmed_micro_usdc",
                "late_micro_usdc",
                "reversed_micro_usdc",
            ];
            let members = members
                .iter()
                .filter(|(name, _)| !ours.contains(&name.as_str()));
            members.for_each(|(_, member)| texts(member, found));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[test]
fn nothing_that_a_hostile_file_carries_comes_through_raw() {
    let report = planted();
    let mut found = Vec::new();
    texts(&serde_json::to_value(&report).unwrap(), &mut found);
    assert!(
        found.len() == 9 && found.iter().all(|text| text == PLANT),
        "plant it in each: {found:?}"
    );
    let page = page(PLANT, &report);
    for raw in ["<script", "<img", "x()>", "\"'", "-->", "\u{1b}", "\u{0}"] {
        assert!(!page.contains(raw), "{raw:?} in {page}");
    }
    let hidden = |c: char| (c.is_control() && c != '\n') || ('\u{200b}'..='\u{2069}').contains(&c);
    let hidden: Vec<char> = page.chars().filter(|c| hidden(*c) && *c != '–').collect();
    assert_eq!(hidden, Vec::<char>::new());
    // Source twice, network three times; ledger, key, witness, state, operator, reason, stream, field, sentence.
    assert_eq!(page.matches("&lt;script&gt;").count(), 14, "{page}");
}

#[test]
fn the_page_asks_nobody_for_anything() {
    let page = page("log.x811", &Auditor::new().finish());
    for word in [
        "http:", "https:", "//", "src=", "url(", "@import", "<link", "<script",
    ] {
        assert!(!page.contains(word), "{word} in {page}");
    }
    assert!(page.contains("default-src 'none'"), "{page}");
}

#[test]
fn every_figure_and_every_finding_is_on_the_page() {
    let mut report = planted();
    report.records = 4_711;
    report.envelopes = 30;
    report.signatures_valid = 29;
    report.facts = FactCounts {
        proven: 27,
        asserted: 2,
        broken: 1,
    };
    report.transfers = TransferCounts {
        checked: 5,
        reversed: 1,
        not_checked: 3,
        differ: 0,
    };
    report.not_re_decided = 17;
    report.observations.asserted = 400;
    report.findings_left_out = 9;
    let page = page("it's here.x811", &report);
    for part in [
        "10 things are wrong",
        "4711 records, read from the first to the last, audited on 2026-01-01 00:00:00 UTC",
        "<td class=\"number is-asserted\" data-label=\"asserted\">2</td>",
        "<td class=\"number is-broken\" data-label=\"broken\">1</td>",
        "<td class=\"number is-proven\" data-label=\"proven\">6</td>",
        "<td class=\"number is-unchecked\" data-label=\"not checked\">17</td>",
        // Decisions: of 4,711 records without those not decided again, and those observed.
        "<td class=\"number is-proven\" data-label=\"proven\">4294</td>",
        "<td class=\"number is-asserted\" data-label=\"asserted\">400</td>",
        "position 3<span class=\"how\">line 4 of the file</span>",
        "<span class=\"cause\">bytes changed</span>",
        "And 9 more that are not listed.",
        "x811 audit &#39;it&#39;&quot;&#39;&quot;&#39;s here.x811&#39; --expect-head 0000",
        "of it not re-decided: 17",
    ] {
        assert!(page.contains(part), "no `{part}` in {page}");
    }
}

#[test]
fn a_clean_log_has_a_clean_page() {
    let page = page("log.x811", &Auditor::new().finish());
    for part in [
        "<div class=\"verdict clean\">",
        "Clean: nothing is wrong",
        "<p>Nothing contradicts.</p>",
        "The log confirms no payment.",
        "No record erased the body of a message.",
    ] {
        assert!(page.contains(part), "no `{part}` in {page}");
    }
    assert!(page.ends_with("</html>\n"));
}
