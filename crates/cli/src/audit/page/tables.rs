//! Tables of figures: what was checked, what was paid, what was erased.

use std::fmt::{self, Display, Formatter};

use x811_audit::Report;
use x811_protocol::event::Level;

use super::super::attested;
use super::super::summary::{Check, checks, ranges, usdc};
use x811_protocol::shown::Escaped;

/// What was checked, and how far it holds.
pub(super) struct Checks<'a>(pub(super) &'a Report);

impl Display for Checks<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(
            "<section aria-labelledby=\"checks\">\n<h2 id=\"checks\">What was checked, and how \
             far it holds</h2>\n<table class=\"counts\">\n<caption>Each thing counts in exactly one column, and \
             nothing is left out.</caption>\n<thead><tr><th scope=\"col\">Checked</th>",
        )?;
        for (name, _) in COLUMNS {
            write!(f, "<th scope=\"col\" class=\"number\">{name}</th>")?;
        }
        f.write_str("</tr></thead>\n<tbody>\n")?;
        for check in checks(self.0) {
            row(&check, f)?;
        }
        if self.0.read_model.is_none() {
            f.write_str(
                "<tr><th scope=\"row\">rows<span class=\"how\">What the ledger answers readers \
                 from: an export has none.</span></th><td colspan=\"4\" class=\"none number\">not \
                 here</td></tr>\n",
            )?;
        }
        f.write_str("</tbody>\n</table>\n</section>\n")
    }
}

/// Name and class of each column of counts.
const COLUMNS: [(&str, &str); 4] = [
    ("proven", "proven"),
    ("asserted", "asserted"),
    ("broken", "broken"),
    ("not checked", "unchecked"),
];

fn row(check: &Check, f: &mut Formatter<'_>) -> fmt::Result {
    let Check { about, how, .. } = check;
    write!(
        f,
        "<tr><th scope=\"row\">{about}<span class=\"how\">{how}</span><span class=\"bar\" \
         aria-hidden=\"true\">"
    )?;
    for ((_, class), count) in COLUMNS.into_iter().zip(check.counts()) {
        if count > 0 {
            write!(f, "<i class=\"{class}\" style=\"flex-grow:{count}\"></i>")?;
        }
    }
    f.write_str("</span></th>")?;
    for ((name, class), count) in COLUMNS.into_iter().zip(check.counts()) {
        let class = match count {
            0 => "none".to_owned(),
            _ => format!("is-{class}"),
        };
        write!(
            f,
            "<td class=\"number {class}\" data-label=\"{name}\">{count}</td>"
        )?;
    }
    f.write_str("</tr>\n")
}

/// What was paid, by network.
pub(super) struct Payments<'a>(pub(super) &'a Report);

impl Display for Payments<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let report = self.0;
        f.write_str("<section aria-labelledby=\"paid\">\n<h2 id=\"paid\">Payments</h2>\n")?;
        if report.paid.is_empty() {
            return f.write_str("<p>The log confirms no payment.</p>\n</section>\n");
        }
        f.write_str(
            "<table>\n<caption>Confirmed payments, by network. Amounts are exact.</caption>\n\
             <thead><tr><th scope=\"col\">Network</th><th scope=\"col\" class=\"number\">\
             Interactions</th><th scope=\"col\" class=\"number\">Paid, USDC</th><th scope=\"col\" \
             class=\"number\">of it fees, USDC</th></tr></thead>\n<tbody>\n",
        )?;
        for (network, paid) in &report.paid {
            let cells = [
                ("interactions", paid.interactions.to_string()),
                ("paid, USDC", usdc(paid.total_micro_usdc)),
                ("of it fees, USDC", usdc(paid.fee_micro_usdc)),
            ];
            let network = Escaped(network);
            write!(f, "<tr><th scope=\"row\"><bdi>{network}</bdi></th>")?;
            for (label, cell) in cells {
                write!(f, "<td class=\"number\" data-label=\"{label}\">{cell}</td>")?;
            }
            f.write_str("</tr>\n")?;
        }
        f.write_str("</tbody>\n</table>\n")?;
        listed(report, f)?;
        f.write_str("</section>\n")
    }
}

/// Each transaction, as far as they are listed.
fn listed(report: &Report, f: &mut Formatter<'_>) -> fmt::Result {
    let more = report.payments_left_out;
    let caption = match more {
        0 => "Each transaction that was paid with.".to_owned(),
        _ => format!(
            "The first {} transactions that were paid with; {more} more are in the log.",
            report.payments.len()
        ),
    };
    write!(
        f,
        "<table>\n<caption>{caption}</caption>\n<thead><tr><th scope=\"col\">Interaction</th><th \
         scope=\"col\">Transaction</th><th scope=\"col\" class=\"number\">USDC</th><th scope=\"col\">\
         Level</th></tr></thead>\n<tbody>\n"
    )?;
    for payment in &report.payments {
        let (interaction, network) = (Escaped(payment.interaction), Escaped(&payment.network));
        let tx_hash = Escaped(payment.tx_hash);
        let amount = usdc(payment.amount_micro_usdc);
        let level = match (payment.is_reversed, payment.level) {
            (true, _) => "reversed",
            (false, Level::Seen) => "seen",
            (false, Level::Confirmed) => "confirmed",
            (false, Level::Safe) => "safe",
            (false, Level::Final) => "final",
        };
        writeln!(
            f,
            "<tr><th scope=\"row\"><code>{interaction}</code><span class=\"how\">position {}, on \
             <bdi>{network}</bdi></span></th><td data-label=\"transaction\"><code>{tx_hash}</code>\
             </td><td class=\"number\" data-label=\"USDC\">{amount}</td><td data-label=\"level\">\
             {level}</td></tr>",
            payment.position
        )?;
    }
    f.write_str("</tbody>\n</table>\n")
}

/// What was erased, by whom and why.
pub(super) struct Erasures<'a>(pub(super) &'a Report);

impl Display for Erasures<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let absent = &self.0.absent_bodies;
        f.write_str("<section aria-labelledby=\"erased\">\n<h2 id=\"erased\">Erasures</h2>\n")?;
        if absent.erasures.is_empty() {
            return f.write_str("<p>No record erased the body of a message.</p>\n</section>\n");
        }
        let bodies = absent.erased;
        write!(
            f,
            "<table>\n<caption>What records erased, {bodies} bodies in all. The records of those \
             messages stand, and what they say of them is asserted.</caption>\n\
             <thead><tr><th scope=\"col\">Record</th><th scope=\"col\">Bodies of</th><th scope=\"col\">By</th><th scope=\"col\">Reason</th></tr></thead>\n\
             <tbody>\n"
        )?;
        for erasure in &absent.erasures {
            let (operator, reason) = (Escaped(&erasure.operator), Escaped(&erasure.reason_code));
            writeln!(
                f,
                "<tr><th scope=\"row\">position {}</th><td data-label=\"bodies of\">{}</td><td \
                 data-label=\"by\"><bdi>{operator}</bdi>, {}</td><td data-label=\"reason\">\
                 <bdi>{reason}</bdi></td></tr>",
                erasure.position,
                ranges(&erasure.positions),
                attested::order(erasure)
            )?;
        }
        f.write_str("</tbody>\n</table>\n</section>\n")
    }
}
