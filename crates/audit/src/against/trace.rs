//! A trace held against a log or a bundle: its nodes are made anew from the records there, and compared
//! member by member.
//!
//! A trace is of a moment, and nodes are only added: an honest one is the beginning of what follows from a
//! later log. Neither file is audited.

mod records;
mod report;

use std::collections::BTreeSet;
use std::io::BufRead;

use serde_json::{Map, Value};
use x811_protocol::answer::Trace;
use x811_protocol::id::RoundId;
use x811_protocol::key::KeyId;
use x811_protocol::time::TimestampMs;
use x811_protocol::trace::{Act, Claims, Node, SKEW_S, check, verify};

use super::paper::{Opened, Paper};
use super::{AgainstError, unreadable};
use records::{DueNodes, TraceRecords};
use report::TraceFindings;
pub use report::{TraceComparison, TraceDifference, TraceGap};

/// Claims that no record has.
const NOT_OF_RECORDS: [&str; 2] = ["exp", "iat"];

/// Holds `trace` against a log or a bundle; both are named for people.
///
/// # Errors
/// [`AgainstError`] when they cannot be compared, or the signatures of the trace do not hold.
pub fn compare_trace(
    (name, file): (&str, impl BufRead),
    (trace_name, trace): (&str, &Trace),
) -> Result<TraceComparison, AgainstError> {
    let broken = |why| AgainstError::BrokenTrace {
        name: trace_name.to_owned(),
        why,
    };
    let tokens: Vec<&str> = trace.tokens.iter().map(String::as_str).collect();
    let (claims, by) = check(&tokens).map_err(broken)?;
    let verified = verify(trace.wid, &trace.tokens, &trace.own);
    let (Some(by), Some(first)) = (by, claims.first()) else {
        return Err(unreadable(trace_name, "the trace has no tokens".to_owned()));
    };
    let opened = Opened::of(file).map_err(|why| unreadable(name, why))?;
    if !opened.is_export() {
        let why = "a trace is held against an export or a bundle".to_owned();
        return Err(unreadable(name, why));
    }
    let mut records = TraceRecords::of(trace.wid);
    let paper = opened.read(|said| records.take(&said));
    let paper = paper.map_err(|why| unreadable(name, why))?;
    if let Some(ledger) = paper.ledger().filter(|ledger| *ledger != first.iss) {
        return Err(AgainstError::OtherLogs {
            one: trace_name.to_owned(),
            of_one: first.iss.to_string(),
            other: name.to_owned(),
            of_other: ledger.to_string(),
        });
    }
    let latest = records.latest;
    let mut against = AgainstDue {
        claims: &claims,
        due: records.due(),
        is_whole: paper.is_whole(),
        findings: TraceFindings::default(),
        reaches_serving: latest.as_ms() / 1_000 >= first.iat,
        served: TimestampMs::new(first.iat.saturating_mul(1_000)),
        size: paper.size(),
        wid: trace.wid.to_string(),
    };
    against.compare();
    against.signer(by, &paper);
    let findings = against.findings;
    let last = claims.iter().filter_map(position).max().unwrap_or_default();
    let file_signed_by = paper.signer(last.min(paper.size().saturating_sub(1)), &paper);
    let fault = verified.err().map(|fault| fault.to_string());
    let differs = fault.is_some() || !findings.differences.is_empty();
    Ok(TraceComparison {
        trace: trace_name.to_owned(),
        file: name.to_owned(),
        kind: paper.kind,
        nodes: claims.len() as u64,
        compared: findings.compared,
        fault,
        differences: findings.differences,
        differences_left_out: findings.left_out,
        not_checked: findings.not_checked,
        trace_signed_by: by.to_string(),
        is_evidence: differs && file_signed_by.is_some() && paper.is_receipt_key(by.key),
        file_signed_by,
    })
}

/// A trace beside the nodes that follow from a file.
struct AgainstDue<'a> {
    claims: &'a [Claims],
    due: DueNodes,
    is_whole: bool,
    findings: TraceFindings,
    /// True if the file has a record of when the trace was served, or later.
    reaches_serving: bool,
    served: TimestampMs,
    /// Records of the log that the file covers.
    size: u64,
    wid: String,
}

impl AgainstDue<'_> {
    fn compare(&mut self) {
        let nodes = std::mem::take(&mut self.due.nodes);
        let pairs = self.pairs(&nodes);
        let mut reached = None;
        for (place, pair) in pairs.iter().enumerate() {
            match pair {
                Some(due) if reached.is_none_or(|before| before < *due) => {
                    reached = Some(*due);
                    self.node(place, &nodes[*due]);
                }
                Some(due) => {
                    let sentence = format!("node {place} stands elsewhere in the log");
                    self.whole(Some(place), position_of(&nodes[*due]), sentence);
                }
                None => self.surplus(place),
            }
        }
        let paired: BTreeSet<usize> = pairs.into_iter().flatten().collect();
        for (place, node) in nodes.iter().enumerate() {
            if !paired.contains(&place) {
                self.missing(node, reached.is_some_and(|reached| place < reached));
            }
        }
        self.findings.gap(TraceGap::Served);
    }

    /// The due node of each node of the trace: of its id, or else in its place.
    fn pairs(&self, nodes: &[Node]) -> Vec<Option<usize>> {
        let by_id = |claims: &Claims| nodes.iter().position(|node| node.jti == claims.jti);
        let mut pairs: Vec<Option<usize>> = self.claims.iter().map(by_id).collect();
        for place in 0..pairs.len() {
            if pairs[place].is_none() && place < nodes.len() && !pairs.contains(&Some(place)) {
                pairs[place] = Some(place);
            }
        }
        pairs
    }

    /// Compares a node member by member.
    fn node(&mut self, place: usize, node: &Node) {
        self.findings.compared += 1;
        let claims = &self.claims[place];
        let due = Claims::of(node, &self.wid, self.served, claims.iss);
        let area = format!("ect_ext.{}", node.act.area());
        let (found, due) = (leaves(claims), leaves(&due));
        let members: BTreeSet<&String> = found.keys().chain(due.keys()).collect();
        for member in members {
            let (found, due) = (found.get(member), due.get(member));
            if found == due || NOT_OF_RECORDS.contains(&member.as_str()) {
                continue;
            }
            let name = member
                .strip_prefix(&area)
                .and_then(|rest| rest.strip_prefix('.'));
            let is_of_body = name.is_some_and(|name| is_of_body(node.act, name));
            if is_of_body && self.due.lacks_body(node) {
                self.findings.gap(TraceGap::TextsHere);
            } else if is_of_body && found.is_none() && !self.reaches_serving {
                self.findings.gap(TraceGap::TextsThere);
            } else {
                self.member(place, node, member, found, due);
            }
        }
    }

    fn member(
        &mut self,
        place: usize,
        node: &Node,
        member: &str,
        found: Option<&Value>,
        due: Option<&Value>,
    ) {
        let shown = |value: Option<&Value>| value.map_or("nothing".to_owned(), Value::to_string);
        let sentence = format!(
            "node {place}, {}: {member} is {} in the trace, and {} by the log",
            node.act,
            shown(found),
            shown(due)
        );
        self.findings.differ(TraceDifference {
            node: Some(place as u64),
            position: position_of(node),
            member: member.to_owned(),
            trace: found.cloned(),
            log: due.cloned(),
            sentence,
        });
    }

    /// A node that does not follow from the file.
    fn surplus(&mut self, place: usize) {
        let claims = &self.claims[place];
        let round = text(claims, "proposal_id").and_then(|id| id.parse::<RoundId>().ok());
        if position(claims).is_some_and(|position| position >= self.size) {
            self.findings.gap(TraceGap::Beyond);
        } else if !self.is_whole && (self.findings.compared == 0 || self.is_elsewhere(round)) {
            self.findings.gap(TraceGap::Elsewhere);
        } else {
            let sentence = format!(
                "node {place}, {}: the log has no such node",
                claims.exec_act
            );
            self.whole(Some(place), position(claims), sentence);
        }
    }

    /// True if the file names a retry that it has not, and that round is it or comes behind it.
    fn is_elsewhere(&mut self, round: Option<RoundId>) -> bool {
        let Some(next) = self.due.retry_elsewhere else {
            return false;
        };
        let mut claims = self.claims.iter();
        let begun = claims.any(|claims| text(claims, "proposal_id") == Some(&next.to_string()));
        begun && round.is_some()
    }

    /// A node that the trace lacks; `is_passed` where the trace has later ones.
    fn missing(&mut self, node: &Node, is_passed: bool) {
        let recorded = node.recorded_at_ms;
        let round = node.said.get("proposal_id").and_then(Value::as_str);
        let mut claims = self.claims.iter();
        let is_of_retry =
            round.is_some() && !claims.any(|claims| text(claims, "proposal_id") == round);
        if recorded > self.served && !is_passed {
            return;
        }
        if is_of_retry && !is_passed {
            self.findings.gap(TraceGap::Retries);
        } else if !is_passed && recorded.saturating_add_ms(SKEW_S * 1_000) >= self.served {
            self.findings.gap(TraceGap::JustBefore);
        } else {
            let sentence = format!("the trace leaves out {}, which the log has", node.act);
            self.whole(None, position_of(node), sentence);
        }
    }

    fn whole(&mut self, place: Option<usize>, position: Option<u64>, sentence: String) {
        self.findings.differ(TraceDifference {
            node: place.map(|place| place as u64),
            position,
            member: String::new(),
            trace: None,
            log: None,
            sentence,
        });
    }

    /// Holds the key that signed the trace to those that the file names.
    fn signer(&mut self, by: KeyId, paper: &Paper) {
        if paper.is_receipt_key(by.key) {
            return;
        }
        if self.reaches_serving {
            let sentence = format!("the trace is signed by {by}, which was never a receipt key");
            self.whole(Some(0), None, sentence);
        } else {
            self.findings.gap(TraceGap::Signer);
        }
    }
}

/// The content of a node.
fn content(claims: &Claims) -> Option<&Map<String, Value>> {
    claims.ect_ext.values().next()?.as_object()
}

fn text<'a>(claims: &'a Claims, name: &str) -> Option<&'a str> {
    content(claims)?.get(name)?.as_str()
}

fn position(claims: &Claims) -> Option<u64> {
    content(claims)?.get("position")?.as_u64()
}

fn position_of(node: &Node) -> Option<u64> {
    node.said.get("position").and_then(Value::as_u64)
}

/// True if that member of such a node, or what is below it, rests on the body of a message.
fn is_of_body(act: Act, name: &str) -> bool {
    let of_bodies = act.of_bodies().iter();
    let mut begins = of_bodies.filter_map(|member| name.strip_prefix(member));
    begins.any(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Every member that is no object, by its path. Lists and terms are compared as wholes.
fn leaves(claims: &Claims) -> Map<String, Value> {
    let mut leaves = Map::new();
    if let Ok(value) = serde_json::to_value(claims) {
        below(String::new(), value, &mut leaves);
    }
    leaves
}

fn below(path: String, value: Value, leaves: &mut Map<String, Value>) {
    let is_terms = path.ends_with(".terms") || path.ends_with(".previous_terms");
    match value {
        Value::Object(members) if !is_terms => {
            for (name, value) in members {
                let path = if path.is_empty() {
                    name
                } else {
                    format!("{path}.{name}")
                };
                below(path, value, leaves);
            }
        }
        value @ (Value::Object(_)
        | Value::Array(_)
        | Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)) => drop(leaves.insert(path, value)),
    }
}
