//! Every interaction by itself, as far as a page can show them.

use std::fmt::{self, Display, Formatter};

use x811_audit::{ListedInteraction, Report};

use super::super::csv::paid;
use super::super::listing::sentence;
use super::super::summary::usdc;
use x811_protocol::shown::Escaped;

/// Most that are shown: a browser takes its time for more. Tables (`--csv`) and JSON have them all.
const MAX_SHOWN: usize = 1_000;

/// The interactions that were listed.
pub(super) struct Interactions<'a>(pub(super) &'a Report);

impl Display for Interactions<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Some(listing) = &self.0.listing else {
            return Ok(());
        };
        f.write_str(
            "<section aria-labelledby=\"interactions\">\n<h2 id=\"interactions\">Interactions</h2>\n",
        )?;
        let sums = Escaped(super::capitalised(&sentence(listing)));
        writeln!(f, "<p>{sums}.</p>")?;
        if !listing.period.is_all() {
            f.write_str("<p>Only this list is of that time: the audit is of the whole log.</p>\n")?;
        }
        if listing.interactions.is_empty() {
            return f.write_str("</section>\n");
        }
        f.write_str(
            "<table>\n<caption>In order of their REQUESTs; amounts in USDC.</caption>\n<thead><tr>\
             <th scope=\"col\">Interaction</th><th scope=\"col\">State</th>\
             <th scope=\"col\" class=\"number\">Due</th><th scope=\"col\" class=\"number\">PaidSums</th>\
             </tr></thead>\n<tbody>\n",
        )?;
        for one in listing.interactions.iter().take(MAX_SHOWN) {
            row(one, f)?;
        }
        f.write_str("</tbody>\n</table>\n")?;
        let more = listing.interactions.len().saturating_sub(MAX_SHOWN);
        if more > 0 {
            writeln!(
                f,
                "<p>And {more} more: <code>--csv</code> and <code>--json</code> have them all.</p>"
            )?;
        }
        f.write_str("</section>\n")
    }
}

fn row(one: &ListedInteraction, f: &mut Formatter<'_>) -> fmt::Result {
    let (id, state) = (Escaped(one.interaction), Escaped(one.state));
    let (initiator, provider) = (Escaped(one.initiator), Escaped(one.provider));
    write!(
        f,
        "<tr><th scope=\"row\"><code>{id}</code><span class=\"how\">positions {} to {}; \
         <bdi>{initiator}</bdi> asked <bdi>{provider}</bdi>",
        one.request_position, one.last_position
    )?;
    if let Some(network) = &one.network {
        write!(f, ", paid on <bdi>{}</bdi>", Escaped(network))?;
    }
    write!(f, "</span></th><td data-label=\"state\">{state}")?;
    if let Some(code) = one.code {
        write!(f, ", {}", Escaped(code))?;
    }
    if let Some(code) = one.dispute_code {
        write!(f, ", {}", Escaped(code))?;
    }
    if !one.is_replayed {
        f.write_str("<span class=\"how\">not replayed to its end</span>")?;
    }
    let due = one.due_micro_usdc;
    let due = due.map_or_else(|| "–".to_owned(), |due| usdc(due.as_micro_usdc().into()));
    write!(
        f,
        "</td><td class=\"number\" data-label=\"due\">{due}</td>\
         <td class=\"number\" data-label=\"paid\">{}<span class=\"how\">{}",
        usdc(one.paid_micro_usdc),
        paid(one.paid).replace('_', " ")
    )?;
    for (amount, words) in [
        (one.late_micro_usdc, "late"),
        (one.reversed_micro_usdc, "taken back"),
    ] {
        if amount > 0 {
            write!(f, ", {} {words}", usdc(amount))?;
        }
    }
    f.write_str("</span></td></tr>\n")
}
