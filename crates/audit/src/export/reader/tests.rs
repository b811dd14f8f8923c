//! Every deviation is an error that names its line.

use super::*;

const HEADER: &str = r#"{"did":"did:x811:019b76da-a800-7000-8000-0000000000d1","format":1,"keys":{"checkpoint":"z6MkiaMbhXHNA4eJVCCj8dbzKzTgYDKf6crKgHVHid1F1WCT","envelope":"z6MktwupdmLXVVqTzCw4i46r4uGyosGXRnR3XjN4Zq7oMMsw","receipt":"z6MkwSD8dBdqcXQzKJZQFPy2hh2izzxskndKCjdmC2dBpfME"},"log_id":"019b76da-a800-7000-8000-000000000811","origin":"ledger.example/1","reader":2,"rules_version":2,"scope":"log","x811_export":2}"#;
const TRAILER: &str = r#"{"head":"7ec90be91d86debc8551cb4b00eb8e70b44a84dc8e51e4f529a753363e9405bf","root":"7ec90be91d86debc8551cb4b00eb8e70b44a84dc8e51e4f529a753363e9405bf","size":2,"x811_trailer":1}"#;

/// What a file reads as: `H`, `R`, `RB` or `T` for items, the line and kind of a fault.
fn read(text: &str) -> Vec<String> {
    Reader::new(text.as_bytes())
        .map(|item| match item {
            Ok(Item::Header(_)) => "H".to_owned(),
            Ok(Item::Record(record)) => {
                let body = record.body.map_or("", |_| "B");
                let path = record.path.map_or("", |_| "P");
                format!("R{body}{path}")
            }
            Ok(Item::Trailer { .. }) => "T".to_owned(),
            Ok(Item::Checkpoint(_)) => "C".to_owned(),
            Ok(Item::Keys(_)) => "K".to_owned(),
            Ok(Item::End(_)) => "E".to_owned(),
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
    let scopeless = HEADER.replace("\"scope\":\"log\",", "");
    let unknown = TRAILER.replace("\"size\":2", "\"seen\":1,\"size\":2");
    let table: &[(String, &[&str])] = &[
        (String::new(), &["1@0:Header"]),
        (format!("{spaced}\n{TRAILER}\n"), &["1@0:Header", "T"]),
        (format!("{scopeless}\n{TRAILER}\n"), &["1@0:Header", "T"]),
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

/// The header of a file of one interaction, or of a log, with that version.
fn header(scope: &str, version: u64) -> String {
    let of_scope = format!("\"scope\":{scope},\"x811_export\":{version}");
    HEADER.replace("\"scope\":\"log\",\"x811_export\":2", &of_scope)
}

const INTERACTION: &str = r#"{"interaction":"0190a1b2-c3d4-7e5f-8901-234567890abc"}"#;

/// A file of another version, an earlier or a later one, is refused with both numbers and the way out.
#[test]
fn rec_1_a_file_of_another_version_is_refused_by_its_number() {
    for (scope, version, is_read) in [
        ("\"log\"", 1, false),
        ("\"log\"", 2, true),
        ("\"log\"", 3, false),
        ("\"log\"", 4, false),
        (INTERACTION, 1, false),
        (INTERACTION, 2, false),
        (INTERACTION, 3, true),
        (INTERACTION, 4, false),
    ] {
        let said = Header::parse(header(scope, version).as_bytes());
        assert_eq!(said.is_ok(), is_read, "{scope} {version}");
        if let Err(why) = said {
            let names = format!("unknown version: `x811_export` is {version}");
            assert!(
                why.contains(&names) && why.contains("this program knows"),
                "{why}"
            );
        }
    }
    let trailer = TRAILER.replace("\"x811_trailer\":1", "\"x811_trailer\":2");
    let why = Trailer::parse(trailer.as_bytes()).unwrap_err();
    assert!(
        why.contains("`x811_trailer` is 2, this program knows 1"),
        "{why}"
    );
}

#[test]
fn each_scope_has_its_letters() {
    let hash = "7ec90be91d86debc8551cb4b00eb8e70b44a84dc8e51e4f529a753363e9405bf";
    let signature = "A".repeat(86);
    let end = format!(
        r#"e {{"last_hash":"{hash}","last_seq":1,"signature":"{signature}","stream":"ledger","tree_size":2}}"#
    );
    let half = end.replace("\"last_seq\":1,", "");
    let unsigned = end.replace(&format!("\"signature\":\"{signature}\","), "");
    let bundle = header(INTERACTION, 3);
    let path = format!("p [\"{hash}\"]");
    let table: &[(String, &[&str])] = &[
        (
            format!("{HEADER}\nr {{}}\nb {{}}\nc \"n\"\nr {{}}\n{TRAILER}\n"),
            &["H", "RB", "C", "R", "T"],
        ),
        (
            format!("{HEADER}\nr {{}}\n{path}\n{end}\nk {{}}\nc n\n{TRAILER}\n"),
            &[
                "H",
                "R",
                "3@1:UnknownPrefix",
                "4@1:UnknownPrefix",
                "5@1:UnknownPrefix",
                "6@1:Unreadable",
                "T",
            ],
        ),
        (
            format!(
                "{bundle}\nc \"n\"\nr {{}}\nb {{}}\n{path}\nr {{}}\n{path}\n{end}\n{TRAILER}\n"
            ),
            &["H", "C", "RBP", "RP", "E", "T"],
        ),
        (
            format!("{bundle}\nr {{}}\n{path}\nb {{}}\n{path}\nc \"n\"\n{TRAILER}\n"),
            &[
                "H",
                "RP",
                "4@1:BodyWithoutRecord",
                "5@1:PathWithoutRecord",
                "6@1:OutOfPlace",
                "C",
                "T",
            ],
        ),
        (
            format!("{bundle}\nk {{}}\n{end}\nr {{}}\np [1]\n{half}\n{unsigned}\n{TRAILER}\n"),
            &[
                "H",
                "2@0:Unreadable",
                "E",
                "4@0:OutOfPlace",
                "R",
                "5@1:Unreadable",
                "6@1:Unreadable",
                "7@1:Unreadable",
                "T",
            ],
        ),
    ];
    for (text, expected) in table {
        assert_eq!(read(text), *expected, "{text}");
    }
}

#[test]
fn lines_of_marks_are_bounded() {
    let bundle = header(INTERACTION, 3);
    let note = "n".repeat(70_000);
    let path = format!("[{}0]", "0,".repeat(3_000));
    let end = format!("{{\"stream\":\"{}\"}}", "s".repeat(2_000));
    for (text, expected) in [
        (
            format!("{HEADER}\nc \"{note}\"\n{TRAILER}\n"),
            ["H", "2@0:Unreadable", "T"],
        ),
        (
            format!("{bundle}\ne {end}\n{TRAILER}\n"),
            ["H", "2@0:Unreadable", "T"],
        ),
        (
            format!("{bundle}\np {path}\n{TRAILER}\n"),
            ["H", "2@0:Unreadable", "T"],
        ),
    ] {
        assert_eq!(read(&text), expected);
    }
}

#[test]
fn a_line_without_end_is_bounded() {
    let long = "x".repeat(MAX_LINE_BYTES + 1);
    let text = format!("{HEADER}\nr {long}\nr {{}}\n{TRAILER}\n");
    assert_eq!(read(&text), ["H", "2@0:LineTooLong", "R", "T"]);
}

#[test]
fn other_kinds_of_files_are_named_and_read_no_further() {
    let packed = [b"\x1f\x8b\x08\0\n".as_slice(), &b"\n".repeat(1_000)].concat();
    let unended = b"\x1f\x8b\x08\0".to_vec();
    let long = [b"\x1f\x8b".as_slice(), &vec![b'x'; MAX_LINE_BYTES + 1]].concat();
    for bytes in [packed, unended, long] {
        let mut reader = Reader::new(&bytes[..]);
        let fault = reader.next().unwrap().unwrap_err();
        assert_eq!((fault.line, fault.position), (1, 0));
        assert!(fault.to_string().contains("gunzip"), "{fault}");
        assert!(reader.next().is_none(), "one sentence says it all");
    }
    let database = Reader::new(&b"SQLite format 3\0\x10\0"[..]).next();
    let fault = database.unwrap().unwrap_err();
    assert!(fault.to_string().contains("data directory"), "{fault}");
}
