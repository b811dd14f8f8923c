//! `x811 trace`: what a decision or an agreement rests on, as tokens that the ledger signed.

mod show;
mod verify;

use std::collections::BTreeMap;

use clap::Subcommand;
use serde::Serialize;
use serde_json::Value;
use x811_client::http::Trace;
use x811_protocol::key::KeyId;
use x811_protocol::trace::{Claims, NotShown, OwnStep, verify as verified};

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};
use x811_protocol::shown::shorten;

/// Most bytes of a kept trace.
pub(crate) const MAX_TRACE_BYTES: usize = 64 << 20;

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Fetch the trace of a round, session, agreement or contract, check it and show it
    Show(show::Args),
    /// Check a trace that was kept, offline: signatures, order, counts, hashes, times, agents' own tokens
    Verify(verify::Args),
}

impl Verb {
    /// Runs the verb.
    pub(crate) async fn run(self, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
        match self {
            Verb::Show(args) => show::run(args, context, out).await,
            Verb::Verify(args) => verify::run(&args, out),
        }
    }
}

/// A trace that holds.
#[derive(Debug, Serialize)]
struct Checked {
    #[serde(flatten)]
    trace: Trace,
    /// Who signed it.
    signed_by: String,
    /// Whether that key was given from elsewhere.
    proven: bool,
    nodes: Vec<Claims>,
    /// What became of agents' own tokens.
    own_steps: Vec<OwnStep>,
    /// Claims that the trace alone cannot show, with their number.
    not_checked: BTreeMap<NotShown, u64>,
}

impl Checked {
    /// Holds every token; `by` is the key that it has to be, where it is known.
    fn of(trace: Trace, by: Option<KeyId>) -> Result<Checked, Failure> {
        let checked = verified(trace.wid, &trace.tokens, &trace.own)
            .map_err(|fault| Failure::untrusted(format!("the trace does not hold: {fault}")))?;
        let found = checked.by;
        if by.is_some_and(|by| by != found) {
            let message = format!("the trace is signed by {found}, which is not the key given");
            return Err(Failure::untrusted(message));
        }
        Ok(Checked {
            trace,
            signed_by: found.to_string(),
            proven: by.is_some(),
            nodes: checked.nodes,
            own_steps: checked.own_steps,
            not_checked: checked.not_checked,
        })
    }
}

/// What `ect_ext` says, whichever member has it.
fn said(claims: &Claims) -> &Value {
    claims.ect_ext.values().next().unwrap_or(&Value::Null)
}

/// What a node says, in a line.
fn says(claims: &Claims) -> String {
    let words = [
        "action_type",
        "capability_type",
        "decision",
        "outcome",
        "reason",
        "window",
    ];
    let said_of = said(claims);
    let said = words.iter().filter_map(|name| said_of[name].as_str());
    shorten(&said.collect::<Vec<_>>().join(", "))
}

/// Who it is of; nobody of what the ledger does by itself.
fn who(claims: &Claims) -> String {
    let names = [
        "proposer",
        "voter",
        "human",
        "closed_by",
        "revoked_by",
        "by",
    ];
    let who = names.iter().find_map(|name| said(claims)[name].as_str());
    shorten(who.unwrap_or("ledger"))
}

impl Report for Checked {
    fn print(&self, out: &mut Out) {
        let heading = format!("trace {}: {} nodes", self.trace.wid, self.nodes.len());
        out.heading(Tone::Good, heading);
        out.fields(&[("signed by", self.signed_by.clone())]);
        out.gap();
        let mut rows: Vec<Vec<String>> = Vec::new();
        for (place, node) in self.nodes.iter().enumerate() {
            let before = self.nodes[..place].iter().enumerate();
            let rests: Vec<String> = before
                .filter(|(_, before)| node.pred.contains(&before.jti))
                .map(|(place, _)| place.to_string())
                .collect();
            rows.push(vec![
                place.to_string(),
                node.recorded_at_ms.to_rfc3339(),
                shorten(&node.exec_act),
                who(node),
                says(node),
                rests.join(" "),
            ]);
        }
        let header = ["node", "recorded", "what", "who", "says", "rests on"];
        out.table(&header, &rows);
        self.print_own(out);
        out.gap();
        for (claim, count) in &self.not_checked {
            out.line(format_args!("not checked: {claim} ({count})"));
        }
        out.line("x811 audit BUNDLE TRACE holds the trace against the log");
        if !self.proven {
            out.line("whose key that is is the trace's own word: give the ledger's with --key");
        }
    }
}

impl Checked {
    /// Agents' own tokens, step by step.
    fn print_own(&self, out: &mut Out) {
        if self.own_steps.is_empty() {
            return;
        }
        out.gap();
        let place = |step: &OwnStep| self.nodes.iter().position(|node| node.jti == step.node);
        let row = |step: &OwnStep| {
            vec![
                place(step).map_or_else(String::new, |place| place.to_string()),
                shorten(&step.by.to_string()),
                shorten(step.key.as_deref().unwrap_or_default()),
                shorten(step.fault.as_deref().unwrap_or("holds")),
            ]
        };
        let rows: Vec<Vec<String>> = self.own_steps.iter().map(row).collect();
        out.table(&["node", "own token of", "by the key", "verdict"], &rows);
    }
}
