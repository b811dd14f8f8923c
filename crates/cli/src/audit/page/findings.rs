//! Everything that is wrong, by cause and one by one.

use std::fmt::{self, Display, Formatter};

use x811_audit::{Finding, Report};

use x811_protocol::shown::Escaped;

/// What was found.
pub(super) struct Findings<'a>(pub(super) &'a Report);

impl Display for Findings<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let report = self.0;
        f.write_str("<section aria-labelledby=\"findings\">\n<h2 id=\"findings\">Findings</h2>\n")?;
        for undecided in &report.undecided {
            let sentence = Escaped(&undecided.sentence);
            writeln!(
                f,
                "<p><strong>Not decided:</strong> <bdi>{sentence}</bdi></p>"
            )?;
        }
        if !report.is_broken() {
            return f.write_str("<p>Nothing contradicts.</p>\n</section>\n");
        }
        f.write_str("<ul class=\"causes\" aria-label=\"Findings by cause\">\n")?;
        for (cause, count) in &report.findings_by_cause {
            let cause = Escaped(cause);
            writeln!(f, "<li><span class=\"cause\">{count}</span> {cause}</li>")?;
        }
        f.write_str(
            "</ul>\n<table class=\"found\">\n<caption>In order of position, which is the place in the log, from \
             0.</caption>\n<thead><tr><th scope=\"col\">Where</th><th scope=\"col\">What</th>\
             </tr></thead>\n<tbody>\n",
        )?;
        for finding in &report.findings {
            row(finding, f)?;
        }
        f.write_str("</tbody>\n</table>\n")?;
        if report.findings_left_out > 0 {
            let more = report.findings_left_out;
            writeln!(f, "<p>And {more} more that are not listed.</p>")?;
        }
        f.write_str("</section>\n")
    }
}

fn row(finding: &Finding, f: &mut Formatter<'_>) -> fmt::Result {
    write!(f, "<tr><th scope=\"row\">position {}", finding.position)?;
    if let Some(line) = finding.line {
        write!(f, "<span class=\"how\">line {line} of the file</span>")?;
    }
    if let Some(stream) = &finding.stream {
        let stream = Escaped(stream);
        write!(f, "<span class=\"how\"><bdi>{stream}</bdi></span>")?;
    }
    let (cause, field) = (Escaped(finding.cause), Escaped(&finding.field));
    let sentence = Escaped(&finding.sentence);
    writeln!(
        f,
        "</th><td><span class=\"cause\">{cause}</span> in <code><bdi>{field}</bdi></code>\
         <br><bdi>{sentence}</bdi></td></tr>"
    )
}
