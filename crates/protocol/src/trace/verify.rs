//! A stored trace, held to itself: its form by [`check`], then everything that one member of it says about
//! another. Whoever holds the receipt key can sign any trace, so a signature alone proves no count and no time.
//!
//! | shape | file | what is computed again |
//! |---|---|---|
//! | every one | this one | ids from record hashes, order, times, tokens of agents |
//! | round | `round` | tally and digest from the votes shown, verdict from the tally, attempts |
//! | session, agreement | `agreement` | revisions, terms and their hashes, duration |
//! | contract | `contract` | turns by the machine's own table, terms and their hashes |
//! | texts | `text` | each against the hash beside it |
//!
//! What only the log can show is counted by [`NotShown`].

mod agreement;
mod contract;
mod round;
mod text;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};

use super::content::{Content, PLACE, Place};
use super::round::summary_jti;
use super::{Act, Claims, OwnStep, OwnToken, SKEW_S, TraceFault, Wid, check, check_own, jti};
use crate::key::KeyId;

named! {
    /// A claim that a trace alone cannot show; its text names it in reports.
    #[derive(Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum NotShown {
        /// Whether the records that the nodes name are in the log, there and then.
        Records = "records: whether the log has them, at these positions and times",
        /// Whether the agents signed what is said of their messages.
        Messages = "messages: whether their senders signed what the nodes say of them",
        /// Whether a tally has the participants, weights and quorum of its proposal.
        Participants = "tallies: whether participants, weights and quorum are those of the proposal",
        /// Whether a round was to be decided then.
        Moments = "decisions: whether their moment had come, and what other rounds did to them",
        /// Whether the parameters name the human.
        Humans = "decisions of humans: whether the parameters name whoever decided",
        /// Texts of which there is only the hash, only the text, or the beginning.
        Texts = "texts: those that have no hash beside them, or are known by it alone, and beginnings of long ones",
        /// Terms of which there is only the hash.
        Terms = "terms: those that are known by their hash alone",
        /// Tokens of agents of which there is only the hash.
        OwnTokens = "tokens of agents: those that are known by their hash alone",
        /// Whether the log has more nodes, and when the trace was served.
        End = "end of the trace: when it was served, and whether the log had more nodes then",
    }
}

/// A trace that holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Verified {
    /// The key that signed every token.
    pub by: KeyId,
    /// The claims, in order.
    pub nodes: Vec<Claims>,
    /// Claims that the trace alone cannot show, with their number.
    pub not_checked: BTreeMap<NotShown, u64>,
    /// What became of each token of an agent.
    pub own_steps: Vec<OwnStep>,
}

/// Verifies the trace of that name: form and signatures, and everything that it says twice.
///
/// # Errors
/// The first fault.
pub fn verify(wid: Wid, tokens: &[String], own: &[OwnToken]) -> Result<Verified, TraceFault> {
    let tokens: Vec<&str> = tokens.iter().map(String::as_str).collect();
    let (claims, by) = check(&tokens)?;
    let by = by.ok_or_else(|| TraceFault {
        place: 0,
        why: "the trace has no tokens".to_owned(),
    })?;
    let nodes = claims.iter().enumerate();
    let nodes: Vec<TraceNode<'_>> = nodes
        .map(|(place, claims)| TraceNode::read(place, claims))
        .collect::<Result<_, _>>()?;
    for node in &nodes {
        node.alone(wid)?;
    }
    for pair in nodes.windows(2) {
        if let [before, node] = pair {
            node.behind(before)?;
        }
    }
    let mut counts = Counts::default();
    match nodes.first().map(|node| node.act.area()) {
        Some("consensus") => round::verify(wid, &nodes, &mut counts)?,
        Some("contract") => contract::verify(wid, &nodes, &mut counts)?,
        _ => agreement::verify(wid, &nodes, &mut counts)?,
    }
    let own_steps = check_own(&claims, own)?;
    let named = nodes.iter().filter_map(|node| node.at.ect.as_ref());
    let named = named.map(Vec::len).sum::<usize>();
    counts.add(NotShown::OwnTokens, named.saturating_sub(own_steps.len()));
    counts.add(NotShown::End, 1);
    for node in &nodes {
        // A node that sums up votes has the record of the decision.
        counts.add(NotShown::Records, usize::from(node.act != Act::Votes));
        counts.add(NotShown::Messages, node.content.senders().len());
    }
    Ok(Verified {
        by,
        nodes: claims,
        not_checked: counts.0,
        own_steps,
    })
}

#[derive(Default)]
struct Counts(BTreeMap<NotShown, u64>);

impl Counts {
    fn add(&mut self, kind: NotShown, count: usize) {
        if count > 0 {
            *self.0.entry(kind).or_default() += count as u64;
        }
    }
}

/// A node that was read.
struct TraceNode<'a> {
    act: Act,
    at: Place,
    claims: &'a Claims,
    content: Content,
    place: usize,
}

impl<'a> TraceNode<'a> {
    fn read(place: usize, claims: &'a Claims) -> Result<TraceNode<'a>, TraceFault> {
        let fault = |why: String| TraceFault { place, why };
        let act = Act::ALL
            .into_iter()
            .find(|act| act.as_str() == claims.exec_act);
        let act =
            act.ok_or_else(|| fault("its exec_act is none that a ledger writes".to_owned()))?;
        let mut areas = claims.ect_ext.iter();
        let (Some((area, Value::Object(members))), None) = (areas.next(), areas.next()) else {
            return Err(fault("ect_ext must have one object".to_owned()));
        };
        if area != act.area() {
            return Err(fault(format!("ect_ext must have {} alone", act.area())));
        }
        let (at, members): (Map<String, Value>, Map<String, Value>) = members
            .clone()
            .into_iter()
            .partition(|(name, _)| PLACE.contains(&name.as_str()));
        Ok(TraceNode {
            act,
            at: super::content::read(at).map_err(fault)?,
            claims,
            content: Content::read(act, members).map_err(fault)?,
            place,
        })
    }

    fn fault(&self, why: impl Into<String>) -> TraceFault {
        TraceFault {
            place: self.place,
            why: why.into(),
        }
    }

    /// Fails with that sentence unless `holds`.
    fn hold(&self, holds: bool, why: &str) -> Result<(), TraceFault> {
        if holds { Ok(()) } else { Err(self.fault(why)) }
    }

    /// Holds the node to itself.
    fn alone(&self, wid: Wid) -> Result<(), TraceFault> {
        let due = if let Content::Votes(votes) = &self.content {
            summary_jti(votes.proposal_id, votes.chunk)
        } else {
            jti(&[self.at.record_hash.as_bytes()])
        };
        self.hold(self.claims.jti == due, "its jti is not that of its record")?;
        let is_named = self.claims.wid == wid.to_string();
        self.hold(
            is_named,
            "it belongs to another trace than the file is named by",
        )?;
        let recorded_s = self.claims.recorded_at_ms.as_ms() / 1_000;
        self.hold(
            recorded_s <= self.claims.iat.saturating_add(SKEW_S),
            "it was recorded later than the trace was served",
        )?;
        let Some(named) = &self.at.ect else {
            return Ok(());
        };
        self.hold(!named.is_empty(), "its list of tokens of agents is empty")?;
        let mut senders = self.content.senders();
        for token in named {
            let sender = senders.iter().position(|sender| *sender == token.by);
            let sender = sender.ok_or_else(|| {
                self.fault("a token of an agent is not by the sender of a message of the node")
            })?;
            senders.remove(sender);
        }
        Ok(())
    }

    /// Holds the node to the one before it: order of records, times, and when both were served.
    fn behind(&self, before: &TraceNode<'_>) -> Result<(), TraceFault> {
        self.hold(
            self.claims.iat == before.claims.iat,
            "it was served at another time than the nodes before",
        )?;
        self.hold(
            self.claims.recorded_at_ms >= before.claims.recorded_at_ms,
            "it was recorded before the node before it",
        )?;
        if before.act == Act::Votes {
            return self.hold(
                self.is_of_record_of(before),
                "it is of another record than the node before, which sums up its votes",
            );
        }
        if let Content::Revision(_) = self.content {
            // Both follow from the second signature; the agreement's record is the first of the two.
            return self.hold(
                self.at.position.checked_add(1) == Some(before.at.position)
                    && self.claims.recorded_at_ms == before.claims.recorded_at_ms,
                "its record does not stand just before that of the session's close",
            );
        }
        self.hold(
            self.at.position > before.at.position,
            "its position is not behind that of the node before",
        )
    }

    fn is_of_record_of(&self, other: &TraceNode<'_>) -> bool {
        (self.at.position, self.at.record_hash) == (other.at.position, other.at.record_hash)
            && self.claims.recorded_at_ms == other.claims.recorded_at_ms
    }
}
