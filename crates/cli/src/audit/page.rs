//! An audit as one HTML page: what an auditor hands to others.
//!
//! The page carries all it needs and asks nobody for anything: no scripts, no fonts, no pictures,
//! and a policy that forbids a browser to load any. Whatever comes from the audited file goes
//! through [`Escaped`].

mod findings;
mod interactions;
mod tables;

use std::fmt::{self, Display, Formatter};

use x811_audit::{Given, Outcome, Report};
use x811_protocol::time::TimestampMs;

use super::network::Hearing;
use super::summary::{as_of, finding_count, interactions, notes, reservations};
use super::{noted, terms, trust};
use findings::Findings;
use interactions::Interactions;
use tables::{Checks, Erasures, Payments};
use x811_protocol::shown::Escaped;

/// The page of one audit.
pub(super) struct Page<'a> {
    /// What was audited, as it was named.
    pub(super) source: &'a str,
    /// What was found.
    pub(super) report: &'a Report,
    /// What endpoints were asked; none where nobody asked any.
    pub(super) network: Option<&'a Hearing>,
    /// When the report was made.
    pub(super) made_at: TimestampMs,
}

impl Display for Page<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.head(f)?;
        self.verdict(f)?;
        f.write_str("<main>\n")?;
        self.log(f)?;
        write!(f, "{}", Findings(self.report))?;
        write!(f, "{}", Checks(self.report))?;
        write!(f, "{}", Payments(self.report))?;
        write!(f, "{}", Interactions(self.report))?;
        write!(f, "{}", Erasures(self.report))?;
        self.limits(f)?;
        self.repeat(f)?;
        f.write_str(WORDS)?;
        f.write_str("</main>\n")?;
        self.foot(f)
    }
}

/// What the columns mean.
const WORDS: &str = r#"<section aria-labelledby="words">
<h2 id="words">What the words mean</h2>
<dl>
<dt class="is-proven">Proven</dt>
<dd>It follows from bytes, hashes and signatures that are here, or from the answer of an endpoint the auditor chose. Nobody has to be believed.</dd>
<dt class="is-asserted">Asserted</dt>
<dd>It is the ledger&#39;s word, chained and signed. What would prove it is not here, or was not asked for.</dd>
<dt class="is-broken">Broken</dt>
<dd>It does not hold. The findings say where, and what was expected.</dd>
<dt class="is-unchecked">Not checked</dt>
<dd>Nobody could look: something before it is broken, this version does not know the rules, or it takes more of the log than is here. It is never counted as good.</dd>
</dl>
</section>
"#;

impl Page<'_> {
    fn head(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let verdict = self.report.verdict.as_str();
        write!(
            f,
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
             style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n\
             <meta name=\"referrer\" content=\"no-referrer\">\n\
             <title>x811 audit: {verdict}</title>\n<style>\n{}</style>\n</head>\n<body>\n",
            include_str!("page/style.css")
        )
    }

    fn verdict(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let report = self.report;
        let (class, mark, verdict) = match (report.verdict, finding_count(report)) {
            (Outcome::Clean, _) => ("clean", '✓', "Clean: nothing is wrong".to_owned()),
            (Outcome::Incomplete, _) => {
                let verdict = "Incomplete: nothing contradicts, but not everything is decided";
                ("incomplete", '?', verdict.to_owned())
            }
            (Outcome::Broken, 1) => ("unclean", '✗', "Broken: 1 thing is wrong".to_owned()),
            (Outcome::Broken, count) => {
                ("unclean", '✗', format!("Broken: {count} things are wrong"))
            }
        };
        let records = report.records;
        let (whole, read) = match report.extract {
            None => ("an x811 ledger", "read from the first to the last"),
            Some(_) => ("one interaction on an x811 ledger", "taken out of its log"),
        };
        write!(
            f,
            "<header>\n<h1>Audit of {whole}</h1>\n<div class=\"verdict {class}\">\n\
             <strong><span aria-hidden=\"true\">{mark}</span> {verdict}</strong>\n\
             <p>{}; {records} records, {read}, audited on {}.</p>\n<p>{}.</p>\n</div>\n\
             </header>\n",
            capitalised(&as_of(report)),
            moment(self.made_at),
            Escaped(capitalised(&reservations(report)))
        )
    }

    fn log(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let report = self.report;
        f.write_str("<section aria-labelledby=\"log\">\n<h2 id=\"log\">The log</h2>\n<dl>\n")?;
        if let Some(ledger) = &report.ledger {
            let ledger = Escaped(ledger);
            writeln!(f, "<dt>Ledger</dt><dd><code>{ledger}</code></dd>")?;
        }
        if let Some(key) = trust::key(&report.trust) {
            writeln!(f, "<dt>Key</dt><dd><code>{}</code></dd>", Escaped(key))?;
        }
        if let Some(rules) = terms::rules(report) {
            writeln!(f, "<dt>Rules</dt><dd>{}</dd>", Escaped(rules))?;
        }
        let (source, states) = (Escaped(self.source), interactions(report));
        writeln!(f, "<dt>Read from</dt><dd><bdi>{source}</bdi></dd>")?;
        writeln!(f, "<dt>Records</dt><dd>{}</dd>", report.records)?;
        writeln!(f, "<dt>Interactions</dt><dd>{}</dd>", Escaped(states))?;
        for (network, paid) in &report.paid {
            let paid = Escaped(terms::paid(network, paid));
            writeln!(f, "<dt>Paid</dt><dd><bdi>{paid}</bdi></dd>")?;
        }
        for (name, lines) in [
            ("Network", terms::networks(report)),
            ("Changed", terms::changes(report)),
            ("Late lapse", terms::late_lapses(report)),
            ("Remark", terms::remarks(report)),
        ] {
            for line in lines {
                writeln!(f, "<dt>{name}</dt><dd><bdi>{}</bdi></dd>", Escaped(line))?;
            }
        }
        writeln!(f, "<dt>Head</dt><dd><code>{}</code></dd>", report.head)?;
        writeln!(f, "<dt>Root</dt><dd><code>{}</code></dd>", report.root)?;
        f.write_str("</dl>\n</section>\n")
    }

    fn limits(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(
            "<section aria-labelledby=\"limits\">\n<h2 id=\"limits\">What the figures do not say\
             </h2>\n<ul>\n",
        )?;
        let asked = self.network.into_iter().flat_map(Hearing::notes);
        let noted = noted::sentence(self.report);
        for note in asked.chain(notes(self.report)).chain(noted) {
            writeln!(f, "<li>{}.</li>", Escaped(capitalised(&note)))?;
        }
        f.write_str(
            "<li>No audit of one copy can show that the ledger did not write its log anew from \
             some point on: compare the head with one that somebody else noted.</li>\n</ul>\n\
             </section>\n",
        )
    }

    fn repeat(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (source, head) = (Escaped(quoted(self.source)), self.report.head);
        let asking = self.network.map_or("", |_| " --rpc URL");
        let trusting = match self.report.trust.given {
            Some(Given::Key) => " --key VKEY",
            Some(Given::Policy) => " --policy FILE",
            None => "",
        };
        write!(
            f,
            "<section aria-labelledby=\"repeat\">\n<h2 id=\"repeat\">Repeat this audit</h2>\n\
             <p>Take the program from a source you trust, the file from whom you like, and the \
             head from this page. Exit code 0 means clean, and that whose log it is was proven; 20 \
             broken, 22 incomplete, 21 clean by the file's own word for whose it is.</p>\n\
             <pre><code>x811 audit {source} --expect-head {head}{trusting}{asking}</code></pre>\n\
             <p>With <code>--rpc URL</code> it also asks an endpoint of your choice for the \
             transfers.</p>\n</section>\n"
        )
    }

    fn foot(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let version = env!("CARGO_PKG_VERSION");
        write!(
            f,
            "<footer><p>Made by <code>x811 {version}</code> on {}. This page is one file; it loads \
             nothing and runs nothing.</p></footer>\n</body>\n</html>\n",
            moment(self.made_at)
        )
    }
}

/// As a sentence begins.
fn capitalised(note: &str) -> String {
    let mut letters = note.chars();
    let first: String = letters
        .next()
        .into_iter()
        .flat_map(char::to_uppercase)
        .collect();
    format!("{first}{}", letters.as_str())
}

/// A moment for people, to the second.
fn moment(at: TimestampMs) -> String {
    let text = at.to_rfc3339();
    let (date, time) = text.split_once('T').unwrap_or((&text, ""));
    format!("{date} {} UTC", time.get(..8).unwrap_or(time))
}

/// A path as a shell takes it; without a backslash, which is shown doubled.
fn quoted(path: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%".contains(c);
    if !path.is_empty() && path.chars().all(is_plain) {
        return path.to_owned();
    }
    format!("'{}'", path.replace('\'', "'\"'\"'"))
}

#[cfg(test)]
mod tests;
