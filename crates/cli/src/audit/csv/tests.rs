//! What a spreadsheet makes of a log that somebody wrote to be opened in one.

use super::super::tests::nowhere;
use super::*;

/// Cells as a reader of RFC 4180 has them.
fn read(text: &str) -> Vec<Vec<String>> {
    let mut rows = vec![vec![String::new()]];
    let (mut is_quoted, mut letters) = (false, text.chars().peekable());
    while let Some(c) = letters.next() {
        let row = rows.last_mut().unwrap();
        let cell = row.last_mut().unwrap();
        match c {
            '"' if is_quoted && letters.peek() == Some(&'"') => {
                letters.next();
                cell.push('"');
            }
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => row.push(String::new()),
            '\r' if !is_quoted => {
                assert_eq!(letters.next(), Some('\n'), "lines end with CR LF");
                rows.push(vec![String::new()]);
            }
            c => cell.push(c),
        }
    }
    assert!(!is_quoted, "every quote is closed");
    assert_eq!(rows.pop().unwrap(), [""], "the last line is ended too");
    rows
}

fn written(cells: &[&str]) -> String {
    let mut bytes = Vec::new();
    write_row(&mut bytes, cells.iter().copied()).unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn lc_9_no_cell_of_a_log_becomes_a_formula_and_every_cell_comes_back() {
    let table = [
        ("plain", "plain"),
        ("", ""),
        ("with, a comma", "with, a comma"),
        ("a \"quoted\" word", "a \"quoted\" word"),
        ("=1+1", "'=1+1"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("  =cmd|' /C calc'!A0", "'  =cmd|' /C calc'!A0"),
        ("＝1", "'＝1"),
        ("'=1", "''=1"),
        ("=HYPERLINK(\"a\",\"b\")", "'=HYPERLINK(\"a\",\"b\")"),
        ("two\r\nlines", r"two\u{d}\nlines"),
        ("\t=1", r"\t=1"),
        ("paid\u{202e}ton", r"paid\u{202e}ton"),
        ("1-2", "1-2"),
    ];
    let cells = table.map(|(cell, _)| cell);
    let expected = table.map(|(_, shown)| shown.to_owned());
    assert_eq!(read(&written(&cells)), [expected.to_vec()]);
    for (cell, _) in table {
        let shown = &read(&written(&[cell]))[0][0];
        let first = shown.chars().find(|c| !c.is_whitespace());
        assert!(!first.is_some_and(|c| OF_FORMULAS.contains(&c)), "{shown}");
    }
}

#[test]
fn a_table_replaces_the_one_of_yesterday_whole_or_not_at_all() {
    let folder = tempfile::TempDir::new().unwrap();
    let place = folder.path().join("books/of the log");
    let source = Path::new("log.x811");
    let report = x811_audit::Auditor::new().finish();
    drop(Tables::of(&place, source).unwrap());
    assert_eq!(std::fs::read_dir(&place).unwrap().count(), 0);
    let tables = Tables::of(&place, source).unwrap();
    assert_eq!(tables.finish(&report).unwrap(), place);
    let findings = std::fs::read_to_string(place.join("findings.csv")).unwrap();
    assert_eq!(read(&findings), [FINDINGS.map(str::to_owned).to_vec()]);

    let is_a_file = folder.path().join("file");
    std::fs::write(&is_a_file, "here").unwrap();
    assert!(Tables::of(&is_a_file, source).is_err());
}

#[derive(Debug, clap::Parser)]
struct Line {
    #[command(flatten)]
    args: super::super::Args,
}

/// A log with every kind of event, with `--csv` and whatever else is asked.
async fn audited(folder: &Path, more: &[&str]) -> serde_json::Value {
    use clap::Parser as _;
    let log = "../../tests/vectors/bundle/log-every-event.x811";
    let log = Path::new(env!("CARGO_MANIFEST_DIR")).join(log);
    let (log, csv) = (log.to_str().unwrap(), folder.to_str().unwrap());
    let line = ["audit", log, "--csv", csv];
    let args = Line::parse_from(line.iter().chain(more)).args;
    let (mut out, text, _) = x811_console::output::Out::captured(true);
    super::super::run(args, &nowhere(), &mut out).await.unwrap();
    serde_json::from_str(&text.text()).unwrap()
}

fn table(folder: &Path, name: &str) -> Vec<Vec<String>> {
    read(&std::fs::read_to_string(folder.join(name)).unwrap())
}

#[tokio::test]
async fn lc_9_tables_say_what_the_report_says_and_a_time_restricts_both() {
    let folder = tempfile::TempDir::new().unwrap();
    let all = audited(folder.path(), &[]).await;
    let listed = all["listing"]["interactions"].as_array().unwrap();
    assert!(listed.len() > 2, "{listed:?}");
    let rows = table(folder.path(), "interactions.csv");
    assert_eq!(rows[0], INTERACTIONS);
    assert_eq!(rows.len(), listed.len() + 1);
    for (row, one) in rows[1..].iter().zip(listed) {
        assert_eq!(row[0], one["interaction"].as_str().unwrap());
        assert_eq!(row[3], one["state"].as_str().unwrap());
    }
    let payments = all["listing"]["payments"].as_array().unwrap().len();
    assert_eq!(table(folder.path(), "payments.csv").len(), payments + 1);
    let providers = all["listing"]["providers"].as_object().unwrap().len();
    assert_eq!(table(folder.path(), "providers.csv").len(), providers + 1);

    let last_at = listed.last().unwrap()["opened_at_ms"].as_u64().unwrap();
    let from = x811_protocol::time::TimestampMs::new(last_at).to_rfc3339();
    let since = audited(folder.path(), &["--from", &from]).await;
    let found = since["listing"]["interactions"].as_array().unwrap();
    let is_later = |one: &&serde_json::Value| one["opened_at_ms"].as_u64().unwrap() >= last_at;
    assert_eq!(found.len(), listed.iter().filter(is_later).count());
    assert!(found.len() < listed.len());
    assert_eq!(
        table(folder.path(), "interactions.csv").len(),
        found.len() + 1
    );
    for member in ["records", "interactions", "paid", "verdict", "findings"] {
        assert_eq!(since[member], all[member], "the audit is of all: {member}");
    }
}
