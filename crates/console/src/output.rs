//! The one place that prints.
//!
//! A verb makes a [`Report`]; `--json` prints it as one JSON value, otherwise it prints itself as
//! plain, aligned lines. Whatever is printed is escaped here (`terminal`), so no verb can
//! forget it. Colours appear only on a terminal.

use std::fmt::Display;
use std::io::{self, BufWriter, IsTerminal, Write};

use anstyle::{AnsiColor, Style};
use serde::Serialize;
use serde_json::ser::Serializer;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::terminal::EscapedJson;
use x811_protocol::shown::{escape, escape_json};

/// Bytes of a report that are printed at once.
const BUFFER_BYTES: usize = 1 << 16;

/// What a verb has to say.
pub trait Report: Serialize {
    /// For a person.
    fn print(&self, out: &mut Out);
}

/// How a heading is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Neither good nor bad.
    Plain,
    /// As it was wished.
    Good,
    /// Neither yet: something is awaited.
    Waiting,
    /// Not as wished.
    Bad,
}

/// Standard output and standard error.
pub struct Out {
    json: bool,
    out: Box<dyn Write>,
    err: Box<dyn Write>,
    fault: Option<io::Error>,
}

impl Out {
    /// Standard output and standard error of the process.
    #[must_use]
    pub fn standard(json: bool) -> Out {
        Out::new(
            json,
            Box::new(anstream::stdout()),
            Box::new(anstream::stderr()),
        )
    }

    /// An output to two writers.
    #[must_use]
    pub fn new(json: bool, out: Box<dyn Write>, err: Box<dyn Write>) -> Out {
        Out {
            json,
            out,
            err,
            fault: None,
        }
    }

    /// Prints JSON from now on.
    pub fn speak_json(&mut self) {
        self.json = true;
    }

    /// Whether a program reads.
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// Whether a person watches, who may want to see how far something is.
    pub fn shows_progress(&self) -> bool {
        !self.json && io::stderr().is_terminal()
    }

    /// Prints what a verb has to say.
    pub fn report(&mut self, report: &impl Report) {
        if self.json {
            self.report_json(report);
        } else {
            report.print(self);
        }
    }

    /// Written as it is made: the audit of a large log has tens of megabytes to say.
    fn report_json(&mut self, report: &impl Report) {
        let mut out = BufWriter::with_capacity(BUFFER_BYTES, &mut self.out);
        let written = report.serialize(&mut Serializer::with_formatter(&mut out, EscapedJson));
        let ended = writeln!(out).and_then(|()| out.flush());
        drop(out);
        match written {
            Ok(()) => self.note(ended),
            Err(error) if error.is_io() => self.note(Err(error.into())),
            Err(error) => {
                let failure = Failure::internal(&format!("the report is no JSON: {error}"));
                self.json_line(&failure.to_json().to_string());
            }
        }
    }

    /// Prints why a verb failed: JSON to standard output, text to standard error.
    pub fn failure(&mut self, failure: &Failure) {
        if self.json {
            self.json_line(&failure.to_json().to_string());
            return;
        }
        let bad = style(Tone::Bad);
        let mut text = format!("{bad}error{bad:#} {}: ", escape(&failure.code));
        // clap's own text has several lines; each is escaped.
        let lines: Vec<_> = failure.message.lines().map(escape).collect();
        text.push_str(&lines.join("\n"));
        if !failure.what_to_do.is_empty() {
            text.push_str("\n  next: ");
            text.push_str(&escape(&failure.what_to_do));
        }
        let written = writeln!(self.err, "{text}").and_then(|()| self.err.flush());
        self.note(written);
    }

    /// Says on standard error what a person should know of something that was done; for a program
    /// the report has it as a member.
    pub fn warning(&mut self, text: impl Display) {
        let waiting = style(Tone::Waiting);
        let text = escape(&text.to_string()).into_owned();
        let written = writeln!(self.err, "{waiting}warning{waiting:#} {text}");
        let written = written.and_then(|()| self.err.flush());
        self.note(written);
    }

    /// A line that says the most important thing.
    pub fn heading(&mut self, tone: Tone, text: impl Display) {
        let style = style(tone);
        self.write(&format!("{style}{}{style:#}", escape(&text.to_string())));
    }

    /// A line of text.
    pub fn line(&mut self, text: impl Display) {
        self.write(&escape(&text.to_string()));
    }

    /// A line that says how far it is; nothing for a program, which waits for the one answer.
    pub fn progress(&mut self, text: impl Display) {
        if !self.json {
            self.line(text);
            let flushed = self.out.flush();
            self.note(flushed);
        }
    }

    /// Text of this program's own, for another program to read: as it is, tabs and all.
    pub fn verbatim(&mut self, text: &str) {
        let written = self.out.write_all(text.as_bytes());
        self.note(written);
    }

    /// An empty line.
    pub fn gap(&mut self) {
        self.write("");
    }

    /// Names and values under each other.
    pub fn fields(&mut self, fields: &[(&str, String)]) {
        let width = fields.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let dim = Style::new().dimmed();
        for (name, value) in fields {
            self.write(&format!("  {dim}{name:<width$}{dim:#}  {}", escape(value)));
        }
    }

    /// Rows under a header, each column as wide as its widest cell but the last.
    pub fn table(&mut self, header: &[&str], rows: &[Vec<String>]) {
        let escaped: Vec<Vec<String>> = rows
            .iter()
            .map(|row| row.iter().map(|cell| escape(cell).into_owned()).collect())
            .collect();
        let widths: Vec<usize> = header
            .iter()
            .enumerate()
            .map(|(column, name)| {
                let cells = escaped.iter().filter_map(|row| row.get(column));
                let widest = cells.map(|cell| cell.chars().count()).max().unwrap_or(0);
                widest.max(name.chars().count())
            })
            .collect();
        let dim = Style::new().dimmed();
        let header: Vec<String> = header.iter().map(|name| (*name).to_owned()).collect();
        self.write(&format!("{dim}{}{dim:#}", aligned(&header, &widths)));
        for row in &escaped {
            self.write(&aligned(row, &widths));
        }
    }

    /// The same, or that there are none of what is listed.
    pub fn list(&mut self, what: &str, header: &[&str], rows: impl Iterator<Item = Vec<String>>) {
        let rows: Vec<Vec<String>> = rows.collect();
        match rows.is_empty() {
            true => self.line(format_args!("no {what}")),
            false => self.table(header, &rows),
        }
    }

    /// Ends the output. A reader that went away early, as `head` does, is no failure.
    pub fn finish(mut self, exit: Exit) -> Exit {
        let flushed = self.out.flush();
        self.note(flushed);
        match self.fault {
            Some(fault) if fault.kind() != io::ErrorKind::BrokenPipe => {
                // Where nothing can be printed at all, the exit code still says it.
                let _ = writeln!(
                    self.err,
                    "error output: the answer cannot be printed: {fault}\n  next: print it where there is room"
                );
                Exit::Local
            }
            _ => exit,
        }
    }

    fn json_line(&mut self, json: &str) {
        self.write(&escape_json(json));
    }

    fn write(&mut self, line: &str) {
        let written = writeln!(self.out, "{}", line.trim_end());
        self.note(written);
    }

    fn note(&mut self, written: io::Result<()>) {
        if let Err(fault) = written {
            self.fault.get_or_insert(fault);
        }
    }
}

fn style(tone: Tone) -> Style {
    let bold = Style::new().bold();
    match tone {
        Tone::Plain => bold,
        Tone::Good => bold.fg_color(Some(AnsiColor::Green.into())),
        Tone::Waiting => bold.fg_color(Some(AnsiColor::Yellow.into())),
        Tone::Bad => bold.fg_color(Some(AnsiColor::Red.into())),
    }
}

/// Cells under each other, without blanks at the end.
fn aligned(cells: &[String], widths: &[usize]) -> String {
    let padded: Vec<String> = cells
        .iter()
        .zip(widths)
        .map(|(cell, width)| format!("{cell:<width$}"))
        .collect();
    padded.join("  ").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Hello {
        text: &'static str,
    }

    impl Report for Hello {
        fn print(&self, out: &mut Out) {
            out.heading(Tone::Good, self.text);
            out.fields(&[
                ("text", self.text.to_owned()),
                ("longer name", "x".to_owned()),
            ]);
            out.table(
                &["a", "b"],
                &[vec![self.text.to_owned(), "\x1b[2J".to_owned()]],
            );
            out.line(self.text);
        }
    }

    const EVIL: Hello = Hello {
        text: "a\x1b]0;b\x07\u{202e}c",
    };

    #[test]
    fn whatever_a_report_says_is_escaped() {
        let (mut out, text, _) = Out::captured(false);
        out.report(&EVIL);
        let text = text.text();
        let safe = r"a\u{1b}]0;b\u{7}\u{202e}c";
        assert_eq!(text.matches(safe).count(), 4, "{text}");
        assert!(text.contains(r"\u{1b}[2J"), "{text}");
        assert!(
            text.lines().all(|line| !line.contains(char::is_control)),
            "{text}"
        );
        assert!(text.contains("\n  longer name  x\n"), "{text}");
    }

    #[test]
    fn colours_surround_only_escaped_text() {
        let (mut out, kept, _) = Out::captured(false);
        out.heading(Tone::Good, "\x1b[0mfake");
        assert!(kept.raw().contains(r"\u{1b}[0mfake"), "{:?}", kept.raw());
        assert!(
            kept.raw().starts_with("\x1b[1m\x1b[32m"),
            "{:?}",
            kept.raw()
        );
    }

    #[test]
    fn json_is_one_line_of_the_same_meaning() {
        let (mut out, text, _) = Out::captured(true);
        out.report(&EVIL);
        let text = text.text();
        assert_eq!(text.lines().count(), 1);
        assert!(!text.contains('\u{202e}'));
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["text"], EVIL.text);
    }

    #[test]
    fn failures_go_to_standard_error_or_as_json_to_standard_output() {
        let failure = Failure::local("file", "cannot\x1b read").hint("look");
        let (mut out, text, error) = Out::captured(false);
        out.failure(&failure);
        assert_eq!(text.text(), "");
        assert_eq!(
            error.text(),
            "error file: cannot\\u{1b} read\n  next: look\n"
        );

        let (mut out, text, error) = Out::captured(true);
        out.failure(&failure);
        assert_eq!(error.text(), "");
        let value: serde_json::Value = serde_json::from_str(&text.text()).unwrap();
        assert_eq!(value["error"]["code"], "file");
        assert_eq!(value["error"]["exit"], 4);
    }

    #[test]
    fn a_reader_that_left_is_no_failure_but_a_full_disk_is() {
        struct Failing(io::ErrorKind);
        impl Write for Failing {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(self.0.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        for (kind, expected) in [
            (io::ErrorKind::BrokenPipe, Exit::Ok),
            (io::ErrorKind::StorageFull, Exit::Local),
        ] {
            let mut out = Out::new(false, Box::new(Failing(kind)), Box::new(io::sink()));
            out.line("lost");
            assert_eq!(out.finish(Exit::Ok), expected);
        }
    }
}
