//! Every deviation is an error that names its line.

use super::*;

const HEADER: &str = r#"{"did":"did:x811:019b76da-a800-7000-8000-0000000000d1","format":1,"keys":{"checkpoint":"z6MkiaMbhXHNA4eJVCCj8dbzKzTgYDKf6crKgHVHid1F1WCT","envelope":"z6MktwupdmLXVVqTzCw4i46r4uGyosGXRnR3XjN4Zq7oMMsw","receipt":"z6MkwSD8dBdqcXQzKJZQFPy2hh2izzxskndKCjdmC2dBpfME"},"log_id":"019b76da-a800-7000-8000-000000000811","origin":"ledger.example/1","rules_version":1,"x811_export":1}"#;
const TRAILER: &str = r#"{"head":"7ec90be91d86debc8551cb4b00eb8e70b44a84dc8e51e4f529a753363e9405bf","root":"7ec90be91d86debc8551cb4b00eb8e70b44a84dc8e51e4f529a753363e9405bf","size":2,"x811_trailer":1}"#;

/// What a file reads as: `H`, `R`, `RB` or `T` for items, the line and kind of a fault.
fn read(text: &str) -> Vec<String> {
    Reader::new(text.as_bytes())
        .map(|item| match item {
            Ok(Item::Header(_)) => "H".to_owned(),
            Ok(Item::Record(record)) if record.body.is_some() => "RB".to_owned(),
            Ok(Item::Record(_)) => "R".to_owned(),
            Ok(Item::Trailer { .. }) => "T".to_owned(),
            Err(fault) => {
                let kind = format!("{:?}", fault.kind);
                let name = kind.split(['(', ' ']).next().unwrap_or_default();
                format!("{}@{}:{name}", fault.line, fault.position)
            }
        })
        .collect()
}

#[test]
fn a_whole_export_reads_without_fault() {
    let text = format!("{HEADER}\nr {{}}\nb {{}}\nr {{}}\n{TRAILER}\n");
    assert_eq!(read(&text), ["H", "RB", "R", "T"]);
}

#[test]
fn every_deviation_names_its_line() {
    let spaced = HEADER.replace("\"format\":1", "\"format\": 1");
    let later = HEADER.replace("\"x811_export\":1", "\"x811_export\":2");
    let unknown = TRAILER.replace("\"size\":2", "\"seen\":1,\"size\":2");
    let table: &[(String, &[&str])] = &[
        (String::new(), &["1@0:Header"]),
        (format!("{spaced}\n{TRAILER}\n"), &["1@0:Header", "T"]),
        (format!("{later}\n{TRAILER}\n"), &["1@0:Header", "T"]),
        (format!("r {{}}\n{TRAILER}\n"), &["1@0:Header", "R", "T"]),
        (format!("{HEADER}\nr {{}}\n"), &["H", "R", "3@1:NoTrailer"]),
        (
            format!("{HEADER}\nr {{}}\n{TRAILER}"),
            &["H", "R", "T", "3@1:NoFinalLineFeed"],
        ),
        (
            format!("{HEADER}\nr {{}}\r\n{TRAILER}\n"),
            &["H", "2@0:CarriageReturn", "R", "T"],
        ),
        (
            format!("{HEADER}\nr {{}}\n{TRAILER}\n\n"),
            &["H", "R", "T", "4@1:BehindTrailer"],
        ),
        (
            format!("{HEADER}\n\nr {{}}\n{TRAILER}\n"),
            &["H", "2@0:UnknownPrefix", "R", "T"],
        ),
        (
            format!("{HEADER}\nr {{}}\nx {{}}\n{TRAILER}\n"),
            &["H", "R", "3@1:UnknownPrefix", "T"],
        ),
        (
            format!("{HEADER}\nb {{}}\n{TRAILER}\n"),
            &["H", "2@0:BodyWithoutRecord", "T"],
        ),
        (
            format!("{HEADER}\nr {{}}\nb {{}}\nb {{}}\n{TRAILER}\n"),
            &["H", "RB", "4@1:BodyWithoutRecord", "T"],
        ),
        (
            format!("{HEADER}\n{HEADER}\n{TRAILER}\n"),
            &["H", "2@0:SecondHeader", "T"],
        ),
        (format!("{HEADER}\n{unknown}\n"), &["H", "2@0:Trailer"]),
        (
            format!("{HEADER}\n{{}}\n{TRAILER}\n"),
            &["H", "2@0:Trailer", "T"],
        ),
    ];
    for (text, expected) in table {
        assert_eq!(read(text), *expected, "{text}");
    }
}

#[test]
fn a_line_without_end_is_bounded() {
    let long = "x".repeat(MAX_LINE_BYTES + 1);
    let text = format!("{HEADER}\nr {long}\nr {{}}\n{TRAILER}\n");
    assert_eq!(read(&text), ["H", "2@0:LineTooLong", "R", "T"]);
}
